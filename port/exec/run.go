package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
)

// drain is how long output is awaited after the program and its group have
// ended. Only a process that has left the group can hold it open.
const drain = 2 * time.Second

// Do runs a command and waits until it and its process group have ended. It gives
// a failed outcome for a program that cannot be started, that ends otherwise than
// its command allows, and that is still running at the end of ctx or of the time
// that the permit gives. There is no unknown outcome: Do always knows how the
// program ended, and therefore gives no error.
func (p *Port) Do(ctx context.Context, e engine.Effect) (engine.Outcome, error) {
	c, ok := p.commands[e.Name]
	if !ok {
		return engine.Failed(graph.ClassInvalid, "there is no command "+e.Name), nil
	}
	if e.Permit.Kind != policy.KindExec || e.Permit.Name != e.Name {
		return engine.Failed(graph.ClassInvalid, "command "+e.Name+" has no permit"), nil
	}
	q, err := readRequest(e.Args)
	if err != nil {
		return engine.Failed(graph.ClassInvalid, err.Error()), nil
	}
	ctx, cancel := e.Bound(ctx)
	defer cancel()
	r := run{Command: c, request: q, cap: e.Permit.OutputBytes}
	if r.cap == 0 {
		r.cap = policy.DefaultOutputBytes
	}
	if err := r.prepare(ctx, p.options); err != nil {
		return engine.Failed(graph.ClassInternal, r.secrets.Text(err.Error())), nil
	}
	begin := time.Now()
	o := r.perform(ctx)
	o.Usage = policy.Amount{Calls: 1, DurationMS: uint64(time.Since(begin).Milliseconds())}
	return o, nil
}

// Idempotent reports whether the effect may be performed again under its key.
func (p *Port) Idempotent(e engine.Effect) bool { return p.commands[e.Name].Idempotent }

// run is one run of a program.
type run struct {
	Command
	request
	cap     uint64
	env     []string
	secrets event.Scrubber

	stdout, stderr output
}

// prepare collects the environment and looks at the program's file.
func (r *run) prepare(ctx context.Context, o Options) error {
	r.env = []string{}
	for _, name := range r.Env {
		if value, ok := o.LookupEnv(name); ok {
			r.env = append(r.env, name+"="+value)
		}
	}
	for name, value := range r.Set {
		r.env = append(r.env, name+"="+value)
	}
	for name, handle := range r.Secrets {
		value, err := o.Secret(ctx, handle)
		if err != nil {
			return fmt.Errorf("secret %s: %w", handle, err)
		}
		r.secrets.Learn(value)
		r.env = append(r.env, name+"="+value)
	}
	slices.Sort(r.env)
	if r.Digest.IsZero() {
		return nil
	}
	data, err := os.ReadFile(r.Program)
	if err != nil {
		return fmt.Errorf("read the program: %w", err)
	}
	if artifact.Sum(data) != r.Digest {
		return errors.New("the program's file has another digest than its command names")
	}
	return nil
}

// perform starts the program, waits for it and ends what is left of its group.
func (r *run) perform(ctx context.Context) engine.Outcome {
	if ctx.Err() != nil {
		return r.ended(ctx, "")
	}
	r.stdout.cap, r.stderr.cap = r.cap, r.cap
	r.stdout.slack, r.stderr.slack = uint64(r.secrets.Longest()), uint64(r.secrets.Longest())
	cmd := &exec.Cmd{
		Path: r.Program, Args: append(append([]string{r.Program}, r.Args...), r.args...), Dir: r.Dir, Env: r.env,
		Stdout: &r.stdout, Stderr: &r.stderr, WaitDelay: drain, SysProcAttr: groupAttributes(),
	}
	if r.stdin != "" {
		cmd.Stdin = strings.NewReader(r.stdin)
	}
	g, exited, err := start(cmd)
	if err != nil {
		return engine.Failed(graph.ClassInternal, "the program cannot be started: "+r.secrets.Text(err.Error()))
	}
	stopped := r.untilExit(ctx, g, exited)
	err = cmd.Wait()
	g.close()
	if stopped {
		return r.ended(ctx, signalOf(cmd.ProcessState))
	}
	return r.outcome(cmd.ProcessState, err)
}

// start starts the program in a group of its own. The channel is closed when it has
// exited.
func start(cmd *exec.Cmd) (g group, exited <-chan struct{}, err error) {
	started, done := make(chan error, 1), make(chan struct{})
	go func() {
		// On Linux the program is ended with the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		sealFiles()
		err := cmd.Start()
		if err == nil {
			g, err = newGroup(cmd.Process)
		}
		started <- err
		if err == nil {
			g.await()
		}
		close(done)
	}()
	err = <-started
	if err != nil && cmd.Process != nil {
		_ = cmd.Process.Kill() // without a group it may not run
		_ = cmd.Wait()
	}
	return g, done, err
}

// untilExit returns when the program has exited and nothing of its group runs any
// more. It reports whether that was because ctx ended.
func (r *run) untilExit(ctx context.Context, g group, exited <-chan struct{}) (stopped bool) {
	select {
	case <-exited:
	case <-ctx.Done():
		stopped = true
		if r.Grace > 0 && g.terminate() {
			timer := time.NewTimer(r.Grace)
			select {
			case <-exited:
			case <-timer.C:
			}
			timer.Stop()
		}
	}
	g.kill()
	<-exited
	return stopped
}

// outcome says how the program ended by itself.
func (r *run) outcome(state *os.ProcessState, err error) engine.Outcome {
	signal := signalOf(state)
	switch {
	case signal != "":
		return r.failed("the program was ended by "+signal, graph.ClassInternal)
	case !slices.Contains(r.ExitCodes, state.ExitCode()) && (r.ExitCodes != nil || state.ExitCode() != 0):
		return r.failed(fmt.Sprintf("the program exited with %d", state.ExitCode()), graph.ClassInternal)
	case err != nil && !errors.As(err, new(*exec.ExitError)) && !errors.Is(err, exec.ErrWaitDelay):
		return engine.Failed(graph.ClassInternal, "the program's streams broke: "+r.secrets.Text(err.Error()))
	}
	return r.result(state.ExitCode())
}

// ended is the outcome of a program that had to stop.
func (r *run) ended(ctx context.Context, signal string) engine.Outcome {
	by := ""
	if signal != "" {
		by = " by " + signal
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return r.failed("the program was ended"+by+" at its deadline", graph.ClassTimeout)
	}
	return r.failed("the program was ended"+by+" with the run", graph.ClassCancelled)
}

// failed gives a failure with the end of what the program wrote as error.
func (r *run) failed(text, class string) engine.Outcome {
	if tail := r.stderr.tail(r.secrets.Text); tail != "" {
		text += ": " + tail
	}
	return engine.Failed(class, text)
}

func (r *run) result(code int) engine.Outcome {
	out, outEncoding := r.stdout.text(r.secrets.Text)
	errOut, errEncoding := r.stderr.text(r.secrets.Text)
	members := []artifact.Member{
		{Name: "exit_code", Value: artifact.IntValue(int64(code))},
		{Name: "signal", Value: artifact.StringValue("")},
		{Name: "stdout", Value: artifact.StringValue(out)},
		{Name: "stdout_encoding", Value: artifact.StringValue(outEncoding)},
		{Name: "stdout_bytes", Value: artifact.UintValue(r.stdout.written)},
		{Name: "stderr", Value: artifact.StringValue(errOut)},
		{Name: "stderr_encoding", Value: artifact.StringValue(errEncoding)},
		{Name: "stderr_bytes", Value: artifact.UintValue(r.stderr.written)},
		{Name: "truncated", Value: artifact.BoolValue(r.stdout.truncated() || r.stderr.truncated())},
	}
	if r.JSON {
		if r.stdout.truncated() {
			return engine.Failed(graph.ClassInvalid, fmt.Sprintf("stdout is longer than %d bytes, so it is no whole document", r.cap))
		}
		v, err := artifact.ParseValue([]byte(out))
		if err != nil {
			return engine.Failed(graph.ClassInvalid, "stdout is not JSON: "+r.secrets.Text(err.Error()))
		}
		members = append(members, artifact.Member{Name: "json", Value: v})
	}
	return engine.Outcome{Result: artifact.ObjectValue(members...)}
}

var _ engine.Port = (*Port)(nil)
