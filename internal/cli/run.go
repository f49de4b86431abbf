package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
	notes[exitNote] += suspendedNote
	return notes
}

// suspendedNote lists the exit code of commands that leave a run waiting.
const suspendedNote = "\n3  the run is suspended: it waits for a person, an event or a time"

type runOptions struct {
	*runner
	store  storeFlags
	person personFlag
	input  given
	id     given
	owner  given
	sign   signFlag
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
	run.boolean(&o.check, "check", "check the agent file and its manifests, and start nothing")
	o.person.declare(cmd, "who starts the run, and therefore cannot approve it")
	o.sign.declare(cmd)
	o.store.declare(cmd)
	o.store.declareJSON(cmd, "print the events as lines of JSON as they become durable, then a report")
	return cmd
}

func (o *runOptions) run(ctx context.Context, words []string) error {
	if len(words) != 1 {
		return usagef("Write it like writ run agent.yaml", "run takes one agent file, and %d are named", len(words))
	}
	if err := checkID(&o.id); err != nil {
		return err
	}
	signing, err := o.sign.keys(o.runner)
	if err != nil {
		return err
	}
	watch := o.watchRun(o.store.json)
	settings := local.Options{Now: o.Now, Random: o.Random, Observe: watch.see, Sign: signing}
	agent, err := readAgent(words[0], settings)
	if err != nil {
		return err
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
		known, err := agent.CheckKnowledge(ctx)
		if err != nil {
			return err
		}
		o.warn(agent, secrets)
		return o.writeChecked(agent, known)
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
	exec, err := newID(ctx, rt, &o.id, agent.ID, settings)
	if err != nil {
		return err
	}
	who := o.person.who()
	owner := who.name
	if o.owner.set {
		owner = o.owner.text
	}
	report, err := begin(ctx, rt, path, exec, agent, func() (engine.Report, error) {
		return rt.Engine.Start(ctx, engine.Request{
			Exec: exec, Definition: agent.Definition, State: state, Owner: owner, By: who.name, Method: who.method, Agent: agent.Digest,
		})
	})
	return watch.end(ctx, rt.Store, report, err)
}

// newID draws an id, or takes the one that was given if no run has it.
func newID(ctx context.Context, rt *local.Runtime, given *given, agent string, settings local.Options) (string, error) {
	if !given.set {
		return local.NewID(agent, settings)
	}
	id := given.text
	head, err := rt.Store.Head(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return id, nil
	case err != nil:
		return "", err
	case !head.Deleted.IsZero():
		return "", hintedError{errors.New("there was a run " + id + ", and the id of a deleted run is not used again"), "Give it another one, or let one be drawn."}
	case head.Status.Ended():
		return "", hintedError{errors.New("there is a run " + id + " already, and it is over"), "Look at it: writ runs show " + shellWord(id)}
	}
	return "", hintedError{errors.New("there is a run " + id + " already"), "Go on with it: writ resume " + shellWord(id)}
}

// checkID refuses an id that no run can have.
func checkID(id *given) error {
	if id.set && artifact.CheckIdentifier(id.text) != nil {
		return badValue("id", id.text, "is no identifier: letters, digits and - _ . / only, at most 128", id.example)
	}
	return nil
}

// begin keeps the agent for a new run and starts it. Where it is refused, nothing
// of it stays.
func begin(ctx context.Context, rt *local.Runtime, path, id string, agent *local.Agent, start func() (engine.Report, error)) (engine.Report, error) {
	if err := agent.Keep(path, id); err != nil {
		return engine.Report{}, err
	}
	report, err := start()
	if err != nil {
		if _, missing := rt.Store.Head(context.WithoutCancel(ctx), id); errors.Is(missing, store.ErrNotFound) {
			err = errors.Join(err, local.Forget(path, id))
		}
	}
	return report, err
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
func (o *runOptions) writeChecked(a *local.Agent, known []local.Known) error {
	d := a.Definition.Digests()
	document := map[string]any{
		"agent": a.Digest.String(), "graph": d.Graph.String(), "pack": d.Pack.String(), "policy": d.Policy.String(), "id": a.ID,
	}
	if len(known) > 0 {
		document["knowledge"] = knownDocument(known)
	}
	return o.present(o.store.json, document, func(p *page) {
		p.heading("Agent ", name(plain, a.Source))
		p.line(0, markGood, space, in(bold, a.ID), text("  "+counted(len(a.Graph.Nodes), "node")+"; the pack "+a.Policy.Pack().ID+" grants all that they need"))
		p.digests("agent", a.Digest.String(), "graph", d.Graph.String(), "pack", d.Pack.String(), "policy", d.Policy.String())
		if len(known) == 0 {
			return
		}
		p.heading("Knowledge")
		t := &table{indent: 2}
		for _, k := range known {
			t.add(cell(bold, k.Name), cell(plain, counted(len(k.Manifest.Units), "unit")), cell(plain, string(k.Signature.Status)), spans(in(dim, k.Digest.String())))
		}
		p.table(t)
	}, true)
}

// readAgent reads an agent file that a person names.
func readAgent(file string, o local.Options) (*local.Agent, error) {
	a, err := local.ReadAgent(file, o)
	if err == nil {
		return a, nil
	}
	info, missing := os.Stat(file)
	switch {
	case errors.Is(missing, fs.ErrNotExist):
		if near := nearest(filepath.Base(file), namesIn(filepath.Dir(file)), 1); near != nil {
			err = hintedError{err, "Did you mean " + shellWord(filepath.Join(filepath.Dir(file), near[0])) + "?"}
		}
	case missing == nil && info.IsDir():
		err = hintedError{err, "Name the agent file in it, such as " + shellWord(filepath.Join(file, "agent.yaml"))}
	}
	return nil, grantHint(err)
}

// namesIn gives the names in a folder; none if it cannot be read.
func namesIn(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// knownDocument is the JSON form of the knowledge that an agent may read.
func knownDocument(known []local.Known) map[string]any {
	document := map[string]any{}
	for _, k := range known {
		document[k.Name] = map[string]any{"digest": k.Digest.String(), "units": len(k.Manifest.Units), "signature": k.Signature.Status}
	}
	return document
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
