// Package cli is the command line of writ.
//
// [Run] is the whole program with its surroundings passed in, so that a test
// drives it in-process. A command is an options struct, a constructor that
// declares its flags, and a run method, in the file that bears its name. What
// a person reads is composed in page.go and, for plans, in planview.go and
// traceview.go.
//
// The rules of the streams: what was asked for goes to standard output, whole
// or not at all; everything else goes to standard error. Nothing that a
// document says reaches either of them unescaped.
package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/writ-dev/writ/artifact"
)

// Exit codes. They are part of the interface: docs/cli.md lists them by command.
const (
	exitGood     = 0
	exitNegative = 1 // a negative verdict, or the command could not be carried out
	exitUsage    = 2 // the command line is wrong; nothing was run
)

// Streams are what a command may touch of its surroundings. The zero values of
// Width and Env stand for an unknown terminal and an empty environment.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer

	OutTerminal bool                    // whether Out is a terminal
	ErrTerminal bool                    // whether Err is one that obeys escape sequences
	Width       int                     // of the terminal in columns, 0 when unknown
	Env         func(key string) string // like os.Getenv
	Now         func() time.Time
	Random      io.Reader // of keys, tokens and the ids of runs; nil for the system's

	// Build is the version that was stamped into the binary, empty when none was.
	Build string
}

// Run carries out one command line, without the program's name, and gives the
// exit code.
func Run(ctx context.Context, args []string, s Streams) int {
	if s.Env == nil {
		s.Env = func(string) string { return "" }
	}
	r := &runner{Streams: s, args: args}
	err := r.execute(ctx)
	if err == nil || errors.Is(err, errNegative) || errors.Is(err, errSuspended) {
		if flushErr := r.flush(); flushErr != nil {
			err = flushErr
		}
	}
	return r.report(err)
}

// runner is one command line under way.
type runner struct {
	Streams
	args  []string
	color given // the --color flag

	// out collects standard output, so that a command which fails half-way has
	// written nothing.
	out bytes.Buffer
}

func (r *runner) execute(ctx context.Context) error {
	root := newRoot(r)
	root.SetArgs(r.args)
	if len(r.args) == 0 {
		r.usage(root)
		return errUsageShown
	}
	if err := unknownCommand(root, r.args[0]); err != nil {
		return err
	}
	return root.ExecuteContext(ctx)
}

// flush writes what was collected. A reader that has gone away is no failure
// worth a message.
func (r *runner) flush() error {
	_, err := r.Out.Write(r.out.Bytes())
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe):
		return errNegative
	}
	return fmt.Errorf("cannot write to standard output: %w", err)
}

// report says on standard error what went wrong, and gives the exit code.
func (r *runner) report(err error) int {
	var wrong *usageError
	switch {
	case err == nil:
		return exitGood
	case errors.Is(err, errNegative):
		return exitNegative
	case errors.Is(err, errSuspended):
		return exitSuspended
	case errors.Is(err, errUsageShown):
		if err := r.flush(); err != nil {
			r.say(err.Error())
		}
		return exitUsage
	case errors.As(err, &wrong):
		r.say(wrong.problem)
		if wrong.hint != "" {
			r.hint(wrong.hint)
		}
		return exitUsage
	}
	r.sayAll(err)
	return exitNegative
}

// sayAll writes each problem on a line of its own, and what to do about it.
func (r *runner) sayAll(err error) {
	var document *artifact.DocumentError
	var grants *refusedGrants
	var hinted hintedError
	joined, several := err.(interface{ Unwrap() []error })
	switch {
	case several:
		for _, e := range joined.Unwrap() {
			r.sayAll(e)
		}
	case errors.As(err, &grants):
		for _, line := range grants.lines {
			r.say(line)
		}
		for _, hint := range grants.hints {
			r.hint(hint)
		}
	case errors.As(err, &hinted):
		r.sayAll(hinted.error)
		r.hint(hinted.hint)
	case errors.As(err, &document):
		for _, p := range document.Problems {
			r.say((&artifact.DocumentError{Source: document.Source, Problems: []artifact.Problem{p}}).Error())
		}
	default:
		r.say(err.Error())
	}
}

// say writes one line about a problem.
func (r *runner) say(problem string) { fmt.Fprintln(r.Err, "writ: "+visible(problem)) }

// hint writes one line on what to do about it.
func (r *runner) hint(text string) { fmt.Fprintln(r.Err, "      "+visible(text)) }

// errNegative ends a command whose output already says that the verdict is
// negative.
var errNegative = errors.New("negative verdict")

// errUsageShown ends a command line that asked for nothing.
var errUsageShown = errors.New("usage shown")

// usageError is a command line that cannot be understood.
type usageError struct{ problem, hint string }

func (e *usageError) Error() string { return e.problem }

func usagef(hint, format string, a ...any) error {
	return &usageError{problem: fmt.Sprintf(format, a...), hint: hint}
}
