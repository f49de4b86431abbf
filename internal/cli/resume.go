package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/local"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/sqlite"
)

// driver drives a run that exists, with the agent that it began with.
type driver struct {
	*runner
	store *storeFlags
	agent *agentFlag
	sign  *signFlag
	at    uint64 // the event from which a run is forked; 0 for any other command
}

// drive opens everything, tells the engine something and shows what became of it.
func (d driver) drive(ctx context.Context, exec string, tell func(context.Context, *local.Runtime, *local.Agent) (engine.Report, error)) error {
	signing, err := d.sign.keys(d.runner)
	if err != nil {
		return err
	}
	s, err := d.store.open(ctx, d.runner)
	if err != nil {
		return err
	}
	defer s.Close()
	agent, err := d.agentOf(ctx, s, exec)
	if err != nil {
		return grantHint(err)
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	watch := d.watchRun(d.store.json)
	e, err := local.NewEngine(s, agent, local.Options{Now: d.Now, Random: d.Random, Observe: watch.see, Sign: signing})
	if err != nil {
		return err
	}
	report, err := tell(ctx, &local.Runtime{Store: s, Engine: e}, agent)
	var pinned *engine.PinnedError
	switch {
	case errors.As(err, &pinned), errors.Is(err, store.ErrLeased):
		return runError(ctx, s, exec, err)
	case err != nil && report.Exec == "":
		return err
	}
	return watch.end(ctx, s, report, err)
}

// agentOf gives the agent that a run has, or had at the event of a fork.
func (d driver) agentOf(ctx context.Context, s *sqlite.Store, exec string) (*local.Agent, error) {
	path := d.store.path(d.runner)
	agent, err := d.agent.of(ctx, d.runner, s, path, exec)
	if err != nil || d.at == 0 {
		return agent, err
	}
	before, err := d.agent.before(ctx, d.runner, s, path, exec)
	if err != nil || len(before) == 0 {
		return agent, err
	}
	l, err := readRun(ctx, s, exec, d.at)
	for _, a := range before {
		if err == nil && a.Definition.Digests() == l.definition {
			return a, nil
		}
	}
	return agent, err
}

// interruptible gives a context that ends when the user interrupts the program, so
// that a run is put down in order: its lease is given up, and it goes on later.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// leasedError says until when a run belongs to another process. One that has ended
// without a word keeps its lease until then.
func leasedError(ctx context.Context, s store.Store, exec string) error {
	head, err := s.Head(ctx, exec)
	if err != nil {
		return err
	}
	return hintedError{
		fmt.Errorf("another process has run %s until %s, unless it goes on with it", exec, timeText(head.Expires.UnixMilli())),
		"If that process has ended, try again then.",
	}
}

type resumeOptions struct {
	*runner
	sign    signFlag
	store   storeFlags
	agent   agentFlag
	person  personFlag
	event   given
	key     given
	payload given
	id      given
	token   given
	input   given
	settle  given
	result  given
	failed  given
	wait    waitFlag
}

func newResume(r *runner) *cobra.Command {
	o := &resumeOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "let a run go on",
		Long: "resume takes a run up where its log ends: after a crash, or when its time has come. With --event it delivers an event from " +
			"outside, with --token an input, with --settle what a person knows of an effect whose outcome nobody recorded. The run " +
			"goes on with the agent file that it began with. An event that comes before the run waits for it is kept until it does. " +
			"An event or an input for a run that another process has is given to that process.",
		Example: `writ resume refund-o7
writ resume order-3 --event paid --key '"o3"' --payload '{"by": "card"}' --event-id pay-77
writ resume refund-o7 --settle KEY --result '{"done": true}'`,
		Annotations:       toldExits(),
		Args:              oneRun,
		ValidArgsFunction: o.store.completeRuns(o.runner, 1),
		RunE:              func(cmd *cobra.Command, words []string) error { return o.run(cmd.Context(), words[0]) },
	}
	happened := flagGroup{cmd.Flags(), "Event"}
	happened.value(&o.event, "event", "NAME", "paid", "the event that has happened")
	happened.value(&o.key, "key", "JSON", `'"o7"'`, "what tells events of one name apart")
	happened.value(&o.payload, "payload", "JSON", `'{"by": "card"}'`, "what the event says: JSON or YAML, or @FILE")
	happened.value(&o.id, "event-id", "ID", "pay-77", "the event's own id: a second delivery of one id has no effect")
	input := flagGroup{cmd.Flags(), "Input"}
	input.value(&o.token, "token", "TOKEN", "wt_...", "the token of the input that the run waits for")
	input.value(&o.input, "input", "JSON", `'{"n": 1}'`, "the input: JSON or YAML, or @FILE")
	effect := flagGroup{cmd.Flags(), "Effect"}
	effect.value(&o.settle, "settle", "KEY", "3f2a...", "say what became of the effect with this key")
	effect.value(&o.result, "result", "JSON", `'{"done": true}'`, "it happened, with this result")
	effect.value(&o.failed, "failed", "TEXT", `"it never arrived"`, "it did not happen, because")
	o.person.declare(cmd, "who says so")
	o.wait.declare(cmd)
	o.agent.declare(cmd)
	o.sign.declare(cmd)
	o.store.declare(cmd)
	o.store.declareJSON(cmd, "print the new events as lines of JSON, then a report")
	return cmd
}

// check refuses flags that do not go together.
func (o *resumeOptions) check() error {
	ways := 0
	for _, f := range []given{o.event, o.token, o.settle} {
		if f.set {
			ways++
		}
	}
	switch {
	case ways > 1:
		return usagef("", "--event, --token and --settle are different things; give one")
	case !o.event.set && (o.key.set || o.payload.set || o.id.set):
		return usagef("Name the event with --event.", "--key, --payload and --event-id are about an event")
	case o.input.set && !o.token.set:
		return usagef("The token was shown when the run was suspended.", "--input needs --token")
	case o.settle.set && o.result.set == o.failed.set:
		return usagef("", "--settle needs one of --result and --failed")
	case !o.settle.set && (o.result.set || o.failed.set):
		return usagef("", "--result and --failed are about an effect; name it with --settle")
	}
	return o.wait.check()
}

func (o *resumeOptions) run(ctx context.Context, exec string) error {
	if err := o.check(); err != nil {
		return err
	}
	key, err := o.jsonFlag(&o.key, "key")
	if err != nil {
		return err
	}
	payload, err := o.jsonFlag(&o.payload, "payload")
	if err != nil {
		return err
	}
	input, err := o.jsonFlag(&o.input, "input")
	if err != nil {
		return err
	}
	outcome, err := o.outcome()
	if err != nil {
		return err
	}
	who := o.person.who()
	d := driver{o.runner, &o.store, &o.agent, &o.sign, 0}
	return d.drive(ctx, exec, func(ctx context.Context, rt *local.Runtime, agent *local.Agent) (engine.Report, error) {
		if err := agent.CheckSecrets(local.Options{}); err != nil {
			return engine.Report{}, err
		}
		switch {
		case o.event.set:
			report, err := rt.Engine.Signal(ctx, exec, engine.Signal{
				Name: o.event.text, Key: key, ID: o.id.text, Payload: payload, By: who.name, Method: who.method,
			})
			if report.Duplicate {
				o.say("the event " + o.id.text + " was delivered before; nothing happens")
			}
			o.sayKept(report, key)
			return o.wait.taken(ctx, rt.Engine, report, err)
		case o.token.set:
			report, err := rt.Engine.Resume(ctx, exec, o.token.text, input, who.name)
			return o.wait.taken(ctx, rt.Engine, report, err)
		case o.settle.set:
			return rt.Engine.Settle(ctx, exec, o.settle.text, outcome, who.name)
		}
		return rt.Engine.Drive(ctx, exec)
	})
}

// outcome is what a person knows of an effect.
func (o *resumeOptions) outcome() (engine.Outcome, error) {
	if o.failed.set {
		return engine.Outcome{Failed: true, Class: graph.ClassInternal, Error: o.failed.text}, nil
	}
	result, err := o.jsonFlag(&o.result, "result")
	return engine.Outcome{Result: result}, err
}

type cancelOptions struct {
	*runner
	sign   signFlag
	store  storeFlags
	agent  agentFlag
	person personFlag
	reason given
	wait   waitFlag
}

func newCancel(r *runner) *cobra.Command {
	o := &cancelOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "cancel RUN",
		Short: "end a run that is not over",
		Long: "cancel ends a run: a node that is under way is stopped, questions are withdrawn, and the log says who asked for it and " +
			"why. What has happened is not undone. A run that another process has is cancelled by that process, within a second.",
		Example:           `writ cancel refund-o7 --reason "the customer called"`,
		Annotations:       cancelExits(),
		Args:              oneRun,
		ValidArgsFunction: o.store.completeRuns(o.runner, 1),
		RunE: func(cmd *cobra.Command, words []string) error {
			if err := o.wait.check(); err != nil {
				return err
			}
			who := o.person.who()
			d, cancelled := driver{o.runner, &o.store, &o.agent, &o.sign, 0}, false
			err := d.drive(cmd.Context(), words[0], func(ctx context.Context, rt *local.Runtime, _ *local.Agent) (engine.Report, error) {
				report, err := rt.Engine.Cancel(ctx, words[0], engine.Cancel{By: who.name, Method: who.method, Reason: o.reason.text})
				report, err = o.wait.taken(ctx, rt.Engine, report, err)
				cancelled = err == nil && report.Status == store.Cancelled
				return report, err
			})
			if cancelled && errors.Is(err, errNegative) {
				return nil // the end that was asked for is a good one
			}
			return err
		},
	}
	flagGroup{cmd.Flags(), "Cancel"}.value(&o.reason, "reason", "TEXT", `"the customer called"`, "why, for the record")
	o.person.declare(cmd, "who asks for it")
	o.wait.declare(cmd)
	o.agent.declare(cmd)
	o.sign.declare(cmd)
	o.store.declare(cmd)
	o.store.declareJSON(cmd, "print the new events as lines of JSON, then a report")
	return cmd
}

func cancelExits() map[string]string {
	notes := exits("the run is cancelled", "the run is over already, or cannot be cancelled", wrongUsage)
	notes[exitNote] += "\n3  another process has the run and has not ended it yet; it was told"
	return notes
}

type forkOptions struct {
	*runner
	sign   signFlag
	store  storeFlags
	agent  agentFlag
	person personFlag
	at     given
	id     given
}

func newFork(r *runner) *cobra.Command {
	o := &forkOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "fork RUN --at SEQ",
		Short: "start a new run from a point of another",
		Long: "fork starts a new run from the first checkpoint at or after an event: with the state, the counters and the budget of then. " +
			"What was open there begins anew, and effects from there on happen again. The new run is linked to the old one, which " +
			"stays as it is.",
		Example:           "writ fork refund-o7 --at 12 --id refund-o7-again",
		Annotations:       runExits(),
		Args:              oneRun,
		ValidArgsFunction: o.store.completeRuns(o.runner, 1),
		RunE:              func(cmd *cobra.Command, words []string) error { return o.run(cmd.Context(), words[0]) },
	}
	fork := flagGroup{cmd.Flags(), "Fork"}
	fork.value(&o.at, "at", "SEQ", "12", "the event from which the new run starts")
	fork.value(&o.id, "id", "RUN", "refund-o7-again", "the id of the new run (default: one is drawn)")
	o.person.declare(cmd, "who starts the new run")
	o.agent.declare(cmd)
	o.sign.declare(cmd)
	o.store.declare(cmd)
	o.store.declareJSON(cmd, "print the new events as lines of JSON, then a report")
	return cmd
}

func (o *forkOptions) run(ctx context.Context, exec string) error {
	at, err := o.at.count("at")
	if err != nil || at.Value < 1 {
		return usagef("`writ runs events "+exec+"` lists them.", "fork needs an event: --at SEQ, such as --at 12")
	}
	if err := checkID(&o.id); err != nil {
		return err
	}
	who := o.person.who()
	path := o.store.path(o.runner)
	d := driver{o.runner, &o.store, &o.agent, &o.sign, uint64(at.Value)}
	return d.drive(ctx, exec, func(ctx context.Context, rt *local.Runtime, agent *local.Agent) (engine.Report, error) {
		id, err := newID(ctx, rt, &o.id, exec+"-fork", local.Options{Random: o.Random})
		if err == nil {
			err = agent.CheckSecrets(local.Options{})
		}
		if err != nil {
			return engine.Report{}, err
		}
		report, err := begin(ctx, rt, path, id, agent, func() (engine.Report, error) {
			return rt.Engine.Fork(ctx, exec, uint64(at.Value), id, who.name)
		})
		if errors.Is(err, store.ErrNotFound) {
			err = hintedError{fmt.Errorf("run %s has no checkpoint at or after event %d", exec, uint64(at.Value)), "Its events: writ runs events " + shellWord(exec)}
		}
		return report, err
	})
}
