package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/local"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/sqlite"
)

type workOptions struct {
	*runner
	store          storeFlags
	sign           signFlag
	poll, parallel given
	once           bool
}

func newWork(r *runner) *cobra.Command {
	o := &workOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "work [AGENT...]",
		Short: "drive the runs of a store whose time has come",
		Long: "work drives what nobody drives: runs whose timers are due, retries, and runs whose process died. Each run goes on with the " +
			"copy of its agent that was kept beside the store, so no run gets at the tools of another agent. With agent files it drives " +
			"only runs of agents with their ids, and of those without a copy the ones that have their definition. It ends when it is " +
			"interrupted, and leaves every run whole. Tokens of approvals are not printed: ask for fresh ones with `writ approvals reissue`.",
		Example: `writ work
writ work refund.yaml --parallel 4
writ work --once --json`,
		Annotations: exits("it was told to end, or with --once: all that was due was driven",
			"with --once: a run that is due could not be driven; or the store cannot be used", wrongUsage),
		RunE: func(cmd *cobra.Command, words []string) error { return o.run(cmd.Context(), words) },
	}
	work := flagGroup{cmd.Flags(), "Work"}
	work.boolean(&o.once, "once", "drive what is due now, and end")
	work.value(&o.poll, "poll", "DURATION", "5s", "how often to look for what is due (default 1s)")
	work.value(&o.parallel, "parallel", "N", "4", "drive so many runs at once (default 16)")
	o.sign.declare(cmd)
	o.store.declare(cmd)
	o.store.declareJSON(cmd, "print a report for each run that moved, one a line")
	return cmd
}

// Defaults and bounds of a worker.
const (
	usualParallel = 16
	mostParallel  = 1024
	longestPoll   = time.Hour
)

func (o *workOptions) run(ctx context.Context, words []string) error {
	worker := engine.Worker{Clock: workClock{now: o.Now}, Parallel: usualParallel}
	if err := o.limits(&worker); err != nil {
		return err
	}
	signing, err := o.sign.keys(o.runner)
	if err != nil {
		return err
	}
	settings := local.Options{Now: o.Now, Random: o.Random, Sign: signing}
	var named []*local.Agent
	for _, word := range words {
		a, err := readAgent(word, settings)
		if err != nil {
			return err
		}
		named = append(named, a)
	}
	s, err := o.store.open(ctx, o.runner)
	if err != nil {
		return err
	}
	defer s.Close()
	fleet, err := local.NewFleet(o.store.path(o.runner), s, settings, named...)
	if err != nil {
		return err
	}
	w := &workers{runner: o.runner, json: o.store.json, store: s, fleet: fleet, told: map[string]string{}}
	worker.Store, worker.Drive = s, w.drive
	ctx, stop := interruptible(ctx)
	defer stop()
	if !o.once {
		w.greet(o.store.path(o.runner))
		return worker.Work(ctx)
	}
	err = worker.Once(ctx)
	if err == nil && len(w.told) > 0 {
		return errNegative
	}
	return err
}

// limits reads the flags of the worker.
func (o *workOptions) limits(w *engine.Worker) error {
	if o.poll.set {
		ms, ok := policy.ParseDuration(o.poll.text)
		w.Poll = time.Duration(ms) * time.Millisecond
		if !ok || w.Poll <= 0 || w.Poll > longestPoll {
			return badValue("poll", o.poll.text, "is no duration up to 1h, such as 500ms or 5s", o.poll.example)
		}
	}
	n, err := o.parallel.count("parallel")
	if err == nil && n.Set && (n.Value < 1 || n.Value > mostParallel) {
		err = badValue("parallel", o.parallel.text, fmt.Sprintf("is not a number from 1 to %d", mostParallel), o.parallel.example)
	}
	if n.Set {
		w.Parallel = int(n.Value)
	}
	return err
}

// workClock is the machine's clock with the time of the streams.
type workClock struct {
	engine.SystemClock
	now func() time.Time
}

// Now implements [engine.Clock].
func (c workClock) Now() time.Time { return c.now() }

// workers drive runs side by side and say what became of each.
type workers struct {
	*runner
	json  bool
	store *sqlite.Store
	fleet *local.Fleet

	mu   sync.Mutex
	told map[string]string // what was said about runs that cannot be driven
}

func (w *workers) greet(path string) {
	if w.json || !w.OutTerminal {
		return
	}
	p := w.newPage()
	p.line(0, in(bold, "Work "), name(plain, path), in(dim, " · interrupt to end"))
	fmt.Fprint(w.Err, p.b.String())
}

// drive takes up one run. What is wrong with a run is said once, and ends the work
// only if it is wrong with the store.
func (w *workers) drive(ctx context.Context, exec string) error {
	before, err := w.store.Head(ctx, exec)
	if err != nil {
		return w.trouble(ctx, exec, err)
	}
	e, err := w.fleet.Engine(ctx, exec)
	if err != nil {
		return w.trouble(ctx, exec, err)
	}
	report, err := e.Drive(ctx, exec)
	if err != nil {
		return w.trouble(ctx, exec, err)
	}
	if report.Head.Seq == before.Seq {
		return nil
	}
	l, err := readRun(context.WithoutCancel(ctx), w.store, exec, 0)
	if err != nil {
		return w.trouble(ctx, exec, err)
	}
	report.Issued = nil // a worker's output is a log that many read
	return w.tell(reportOf(report, l))
}

// trouble says once why a run was not driven. What the next round or somebody else
// deals with is no trouble.
func (w *workers) trouble(ctx context.Context, exec string, err error) error {
	if errors.Is(err, store.ErrLeased) {
		return err // the worker knows that somebody else has it
	}
	for _, usual := range []error{local.ErrNotNamed, engine.ErrStopped, engine.ErrLost, store.ErrDeleted, store.ErrBusy} {
		if errors.Is(err, usual) {
			return nil
		}
	}
	if ctx.Err() != nil || refusedInput(err) {
		return nil
	}
	for _, fatal := range []error{store.ErrClosed, store.ErrFull, store.ErrDamaged, store.ErrForeign, store.ErrTooNew} {
		if errors.Is(err, fatal) {
			return err
		}
	}
	text, hint := "run "+exec+" is left alone: "+err.Error(), ""
	switch {
	case errors.Is(err, local.ErrNotKept):
		text, hint = "run "+exec+" is left alone: its agent is not kept here", "Name its agent file: writ work agent.yaml. Or: writ abandon "+shellWord(exec)+" --reason TEXT"
	case errors.As(err, new(*engine.PinnedError)):
		hint = "writ migrate " + shellWord(exec) + " --agent agent.yaml --reason TEXT, or writ abandon " + shellWord(exec) + " --reason TEXT"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.told[exec] == text {
		return nil
	}
	w.told[exec] = text
	w.say(text)
	if hint != "" {
		w.hint(hint)
	}
	return nil
}

// tell writes what became of a run, at once.
func (w *workers) tell(rep runReport) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.told, rep.Run)
	if w.json {
		line, err := artifact.EncodeCompact(rep)
		if err == nil {
			_, err = w.Out.Write(append(line, '\n'))
		}
		return err
	}
	p := w.newPage()
	words := rep.Reason
	switch {
	case rep.Error != "":
		words = rep.Error
	case rep.Status == store.Terminated:
		words = rep.Result.String()
	}
	p.hang(0, 4, in(dim, w.Now().Format("15:04:05")), text("  "), runMark(rep.Status), space, in(bold, string(rep.Status)), text("  "),
		name(plain, rep.Run), text("  "+words))
	_, err := w.Out.Write([]byte(p.b.String()))
	return err
}
