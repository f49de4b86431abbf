package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/agentfile"
	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/local"
	"github.com/writ-dev/writ/store"
)

// exitSuspended is the exit code of a command whose run waits for somebody.
const exitSuspended = 3

// errSuspended ends such a command. Its output says what the run waits for.
var errSuspended = errors.New("the run is suspended")

// runExits lists the exit codes of commands that drive a run.
func runExits() map[string]string {
	notes := exits("the run terminated", "the run failed or was cancelled, or it was refused and nothing was started", wrongUsage)
	notes[exitNote] += "\n3  the run is suspended: it waits for a person, an event or a time"
	return notes
}

type runOptions struct {
	*runner
	store  storeFlags
	person personFlag
	input  given
	id     given
	owner  given
	check  bool
}

func newRun(r *runner) *cobra.Command {
	o := &runOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "run AGENT",
		Short: "run an agent file",
		Long: "run reads an agent file, checks everything about it and starts a run: until it ends, or waits for a person, an " +
			"event or a time. What happens is durable before anything follows from it, so a run that was interrupted goes on " +
			"with `writ resume`. A file, an input or a pack that is wrong is refused before anything is started.",
		Example: `writ run refund.yaml --input '{"order": {"id": "o7", "cents": 900}}'
writ run refund.yaml --input @order.json --json
writ run refund.yaml --check`,
		Annotations: runExits(),
		RunE: func(cmd *cobra.Command, words []string) error {
			return o.run(cmd.Context(), words)
		},
	}
	run := flagGroup{cmd.Flags(), "Run"}
	run.value(&o.input, "input", "JSON", `'{"order": "o7"}'`, "what the run is started with: JSON or YAML, or @FILE")
	run.value(&o.id, "id", "RUN", "refund-o7", "the id of the run (default: one is drawn)")
	run.value(&o.owner, "owner", "NAME", "billing", "to whom the run belongs (default: whoever starts it)")
	run.boolean(&o.check, "check", "check the agent file, and start nothing")
	o.person.declare(cmd, "who starts the run, and therefore cannot approve it")
	o.store.declare(cmd)
	o.store.declareJSON(cmd, "print the events as lines of JSON as they become durable, then a report")
	return cmd
}

func (o *runOptions) run(ctx context.Context, words []string) error {
	if len(words) != 1 {
		return usagef("Write it like writ run agent.yaml", "run takes one agent file, and %d are named", len(words))
	}
	if o.id.set {
		if err := artifact.CheckIdentifier(o.id.text); err != nil {
			return badValue("id", o.id.text, "is no identifier: letters, digits and - _ . / only, at most 128", o.id.example)
		}
	}
	watch := o.watchRun(o.store.json)
	settings := local.Options{Now: o.Now, Random: o.Random, Observe: watch.see}
	agent, err := local.ReadAgent(words[0], settings)
	if err != nil {
		return grantHint(err)
	}
	input, err := o.documentFlag(&o.input, "input")
	if err != nil {
		return err
	}
	var state artifact.Value
	if o.input.set || !o.check {
		if state, err = agent.State(input); err != nil {
			if !o.input.set {
				err = hintedError{err, "Give it with --input '{...}', or --input @FILE."}
			}
			return err
		}
	}
	secrets := agent.CheckSecrets(settings)
	if o.check {
		o.warn(agent, secrets)
		return o.writeChecked(agent)
	}
	if secrets != nil {
		return secrets
	}
	return o.start(ctx, agent, state, settings, watch)
}

func (o *runOptions) start(ctx context.Context, agent *local.Agent, state artifact.Value, settings local.Options, watch *runWatch) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	path := o.store.path(o.runner)
	rt, err := local.Open(ctx, path, agent, settings)
	if err != nil {
		return err
	}
	defer rt.Close()
	exec, err := o.newID(ctx, rt, agent, settings)
	if err != nil {
		return err
	}
	if err := agent.Keep(path, exec); err != nil {
		return err
	}
	who := o.person.who()
	owner := who.name
	if o.owner.set {
		owner = o.owner.text
	}
	report, err := rt.Engine.Start(ctx, engine.Request{
		Exec: exec, Definition: agent.Definition, State: state, Owner: owner, By: who.name, Method: who.method, Agent: agent.Digest,
	})
	return watch.end(ctx, rt.Store, report, err)
}

// newID draws an id, or takes the one that was given if no run has it.
func (o *runOptions) newID(ctx context.Context, rt *local.Runtime, agent *local.Agent, settings local.Options) (string, error) {
	if !o.id.set {
		return local.NewID(agent.ID, settings)
	}
	if _, err := rt.Store.Head(ctx, o.id.text); !errors.Is(err, store.ErrNotFound) {
		if err == nil {
			return "", hintedError{errors.New("there is a run " + o.id.text + " already"), "Go on with it: writ resume " + o.id.text}
		}
		return "", err
	}
	return o.id.text, nil
}

// warn says what compiling found besides errors, and which secrets a run would lack
// here: where agents are checked there often are none.
func (o *runOptions) warn(a *local.Agent, secrets error) {
	for _, w := range a.Warnings {
		o.say(placeText(w.Source, w.Line, w.Column) + ": warning: " + w.Text)
	}
	var missing *artifact.DocumentError
	if errors.As(secrets, &missing) {
		for _, p := range missing.Problems {
			o.say(placeText(missing.Source, p.Line, p.Column) + ": warning: " + p.Text)
		}
	}
}

// writeChecked says that an agent file can be run.
func (o *runOptions) writeChecked(a *local.Agent) error {
	d := a.Definition.Digests()
	if o.store.json {
		return o.printDocument(map[string]string{
			"agent": a.Digest.String(), "graph": d.Graph.String(), "pack": d.Pack.String(), "policy": d.Policy.String(), "id": a.ID,
		})
	}
	p := o.newPage()
	p.heading("Agent ", name(plain, a.Source))
	p.line(0, markGood, space, in(bold, a.ID), text("  "+counted(len(a.Graph.Nodes), "node")+"; the pack "+a.Policy.Pack().ID+" grants all that they need"))
	p.digests("agent", a.Digest.String(), "graph", d.Graph.String(), "pack", d.Pack.String(), "policy", d.Policy.String())
	o.print(p)
	return nil
}

// grantHint shows, for a pack that grants too little, what would be enough.
func grantHint(err error) error {
	var missing *agentfile.GrantError
	if !errors.As(err, &missing) {
		return err
	}
	document := &refusedGrants{pack: missing.Pack}
	seen := map[string]bool{}
	for _, m := range missing.Missing {
		document.lines = append(document.lines, m.String())
		fix := m.Denial.Fix
		if fix == nil || seen[fix.Words+fix.YAML] {
			continue
		}
		seen[fix.Words+fix.YAML] = true
		document.hints = append(document.hints, "in the pack "+missing.Pack+": "+fix.Words)
		for line := range strings.Lines(fix.YAML) {
			document.hints = append(document.hints, "    "+strings.TrimSuffix(line, "\n"))
		}
	}
	return document
}

// refusedGrants is a pack that grants less than the graph needs.
type refusedGrants struct {
	pack         string
	lines, hints []string
}

func (e *refusedGrants) Error() string { return strings.Join(e.lines, "\n") }
