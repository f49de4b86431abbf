// Package exec performs effects by running programs.
//
// Open it at [New], which takes the [Command]s that a host offers; [Port.Do] runs
// one, and [Port.Tools] tells an engine how policy is to judge them. A program
// runs only where the pack grants the command of that name, names the same
// program, and allows its arguments.
//
// Granting a program is granting all that it can do: whoever may run git may run
// what its hooks and configuration name. What this package holds to is that
// nothing else is granted with it:
//
//   - The program is an absolute path. PATH is not searched and no shell reads the
//     arguments. A path that is a symbolic link is followed, since that is what
//     most systems have in /usr/bin; name the digest of the file to pin it.
//   - The environment has the variables that are listed, and no others.
//   - Only standard input, output and error are open.
//   - The program gets a process group of its own, on Windows a job. However it
//     ends, all that is left of the group is ended. A process that leaves the
//     group on purpose, as daemons do, is not found; on Windows neither is one that
//     is started before the program is in its job.
//   - Output beyond the cap is read and dropped.
//
// The arguments of an effect are an object:
//
//	{"args": ["--max-count=5", "main"], "stdin": "text"}
//
// both optional. The result has exit_code, signal ("" if none ended it), stdout
// and stderr, stdout_bytes and stderr_bytes (what the program wrote), truncated
// (whether one of them is longer than what is here), and stdout_encoding and
// stderr_encoding: text, or base64 for output that is not UTF-8. For a command
// with JSON, json is what stdout says.
package exec

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/policy"
)

// Command is a program that runs may be granted, by its name in the pack.
type Command struct {
	Program string   // absolute path, the same that the pack names
	Args    []string // before those of the effect
	Dir     string   // absolute path of the working directory

	Env     []string          // variables that are passed on, where the host has them
	Set     map[string]string // variables with these values
	Secrets map[string]string // variables with the secrets of these handles

	Digest artifact.Digest // of the program's file, looked at before each start; zero for any

	ExitCodes []int // that are results; others are failures. Nil for 0 only
	JSON      bool  // stdout is one JSON document, or the effect has failed

	// Grace is how long a program that is to end may take after it was told so
	// (SIGTERM) and before it is ended. 0 ends it at once, as on Windows always.
	Grace time.Duration

	// Idempotent says that running it again under the same key does no harm.
	Idempotent bool
}

// Options are what commands share.
type Options struct {
	// LookupEnv gives a variable of the host; nil for [os.LookupEnv].
	LookupEnv func(name string) (string, bool)
	// Secret gives the secret of a handle; nil when there are none. Its error must
	// not quote the secret.
	Secret func(ctx context.Context, handle string) (string, error)
}

// Name is what the engine calls this port.
const Name = "exec"

// Port runs commands. It is safe for concurrent use.
type Port struct {
	commands map[string]Command
	options  Options
}

// New checks the commands, and gives the port that runs them. The error names
// everything that is wrong.
func New(commands map[string]Command, o Options) (*Port, error) {
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	var problems []error
	for _, name := range artifact.SortedNames(commands) {
		c := commands[name]
		for _, p := range c.Check() {
			problems = append(problems, fmt.Errorf("command %s: %s", name, p.Text))
		}
		if len(c.Secrets) > 0 && o.Secret == nil {
			problems = append(problems, fmt.Errorf("command %s: it has secrets, and there is nothing to give them", name))
		}
	}
	if problems != nil {
		return nil, errors.Join(problems...)
	}
	return &Port{maps.Clone(commands), o}, nil
}

// Check lists everything that is wrong with the command. Pointers name its fields,
// such as /program and /set/LANG.
func (c Command) Check() []artifact.Problem {
	var list []artifact.Problem
	say := func(pointer, format string, args ...any) {
		list = append(list, artifact.Problem{Pointer: pointer, Text: fmt.Sprintf(format, args...)})
	}
	switch {
	case !filepath.IsAbs(c.Program) || filepath.Clean(c.Program) != c.Program:
		say("/program", "program %.80q: write an absolute path without . and .. parts", c.Program)
	case runtime.GOOS == "windows" && isBatch(c.Program):
		say("/program", "a batch file reads its arguments as a shell does; name the program that it runs")
	}
	if !filepath.IsAbs(c.Dir) {
		say("/dir", "working directory %.80q: write an absolute path", c.Dir)
	}
	seen := map[string]bool{}
	variable := func(pointer, name string) {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			say(pointer, "environment variable %.80q: write a name", name)
		case seen[name]:
			say(pointer, "environment variable %.80q is there twice", name)
		}
		seen[name] = true
	}
	for _, name := range c.Env {
		variable("/env", name)
	}
	for _, name := range artifact.SortedNames(c.Set) {
		variable(artifact.PointerTo("/set", name), name)
	}
	for _, name := range artifact.SortedNames(c.Secrets) {
		variable(artifact.PointerTo("/secrets", name), name)
	}
	return list
}

func isBatch(program string) bool {
	switch strings.ToLower(filepath.Ext(program)) {
	case ".bat", ".cmd":
		return true
	}
	return false
}

// variables lists the names of all variables that the program gets, sorted
// within their groups.
func (c Command) variables() []string {
	names := append(slices.Clone(c.Env), artifact.SortedNames(c.Set)...)
	return append(names, artifact.SortedNames(c.Secrets)...)
}

// request is what the arguments of an effect ask for.
type request struct {
	args  []string
	stdin string
}

func readRequest(args artifact.Value) (request, error) {
	r := artifact.NewReader(artifact.DocumentOf(args, "arguments"))
	if args.IsNull() {
		return request{}, nil
	}
	o := r.Root().Object()
	var q request
	for _, a := range o.May("args").List() {
		q.args = append(q.args, a.Text())
	}
	q.stdin = o.May("stdin").Text()
	o.RefuseUnknown()
	return q, r.Err()
}

// Tools gives how each command is authorized.
func (p *Port) Tools() map[string]engine.Tool {
	tools := make(map[string]engine.Tool, len(p.commands))
	for name, c := range p.commands {
		tools[name] = engine.Tool{Port: Name, Kind: policy.KindExec, Shape: c.Shape}
	}
	return tools
}

// Shape tells policy which program is to run, with which arguments and variables,
// and where each argument comes from. It looks at nothing but the command and the
// call. Its error says what is wrong with the arguments.
func (c Command) Shape(call policy.Call) (policy.Call, error) {
	q, err := readRequest(call.Args)
	if err != nil {
		return call, err
	}
	call.Program, call.Env = c.Program, c.variables()
	call.Argv = make([]policy.ProgramInput, 0, len(c.Args)+len(q.args))
	for _, a := range c.Args {
		call.Argv = append(call.Argv, policy.ProgramInput{Text: a})
	}
	for i, a := range q.args {
		taint := call.Taint.At(fmt.Sprintf("/args/%d", i))
		call.Argv = append(call.Argv, policy.ProgramInput{Text: a, Taint: taint})
	}
	return call, nil
}
