package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/local"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/sqlite"
)

type abandonOptions struct {
	*runner
	store  storeFlags
	sign   signFlag
	person personFlag
	reason given
}

func newAbandon(r *runner) *cobra.Command {
	o := &abandonOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "abandon RUN --reason TEXT",
		Short: "end a run that nobody can continue",
		Long: "abandon ends a run whose agent is gone, or that is pinned to a definition that nobody has. It needs no agent file and " +
			"waits for nothing: what became of an effect that was under way stays unknown. Where the agent is at hand, `writ cancel` " +
			"ends a run in order, and `writ migrate` lets it go on under another definition.",
		Example:           `writ abandon refund-o7 --reason "its agent was withdrawn"`,
		Annotations:       exits("the run is abandoned", "the run is over already, or another process has it", wrongUsage),
		Args:              oneRun,
		ValidArgsFunction: o.store.completeRuns(r, 1),
		RunE:              func(cmd *cobra.Command, words []string) error { return o.run(cmd.Context(), words[0]) },
	}
	flagGroup{cmd.Flags(), "Abandon"}.value(&o.reason, "reason", "TEXT", `"its agent was withdrawn"`, "why, for the record")
	o.person.declare(cmd, "who says so")
	o.sign.declare(cmd)
	o.store.declare(cmd)
	o.store.declareJSON(cmd, "print the new events as lines of JSON, then a report")
	return cmd
}

func (o *abandonOptions) run(ctx context.Context, exec string) error {
	if err := needReason(&o.reason, "abandon"); err != nil {
		return err
	}
	signing, err := o.sign.keys(o.runner)
	if err != nil {
		return err
	}
	s, err := o.store.open(ctx, o.runner)
	if err != nil {
		return err
	}
	defer s.Close()
	watch := o.watchRun(o.store.json)
	e, err := local.NewEngine(s, nil, local.Options{Now: o.Now, Random: o.Random, Observe: watch.see, Sign: signing})
	if err != nil {
		return err
	}
	who := o.person.who()
	report, err := e.Abandon(ctx, exec, engine.Abandon{By: who.name, Method: who.method, Reason: o.reason.text})
	if err != nil && !refusedInput(err) {
		return runError(ctx, s, exec, err)
	}
	ended := watch.end(ctx, s, report, err)
	if err == nil && errors.Is(ended, errNegative) {
		o.leftBehind(ctx, s, exec)
		return nil // it was to end so
	}
	return ended
}

// needReason refuses a command that leaves no reason in the record.
func needReason(f *given, command string) error {
	if strings.TrimSpace(f.text) == "" {
		return usagef("It stands in the record: --reason "+f.example, "%s needs a reason", command)
	}
	return nil
}

// leftBehind names the runs that an abandoned run called and that go on.
func (o *abandonOptions) leftBehind(ctx context.Context, s *sqlite.Store, exec string) {
	open := []store.Status{store.Running, store.Suspended}
	for x, err := range s.List(ctx, store.Query{Parent: exec, Status: open}) {
		if err != nil {
			return
		}
		if link, err := local.Caller(ctx, s, x.Exec); err == nil && link != nil {
			o.hint("The run " + x.Exec + ", which it called, is not over: writ abandon " + shellWord(x.Exec) + " --reason TEXT")
		}
	}
}

type migrateOptions struct {
	*runner
	store  storeFlags
	sign   signFlag
	person personFlag
	agent  given
	reason given
	check  bool
}

func newMigrate(r *runner) *cobra.Command {
	o := &migrateOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "migrate RUN --agent FILE --reason TEXT",
		Short: "move a run to the definition of another agent file",
		Long: "migrate lets a run that is not over go on with another agent file than the one it began with: another graph, schema, pack, " +
			"policy or other tools. Every node where the run stands must be there, the state must fit the schema, and no effect or call " +
			"may be under way. The log says who did it, why, and to what. The copy of the agent beside the store is replaced; the one of " +
			"before is kept for replays. --check says what differs and whether the run can be moved, and moves nothing.",
		Example: `writ migrate refund-o7 --agent refund.yaml --check
writ migrate refund-o7 --agent refund.yaml --reason "the limit was raised"`,
		Annotations:       exits("the run is migrated, or with --check: it can be", "it cannot be migrated, or another process has it", wrongUsage),
		Args:              oneRun,
		ValidArgsFunction: o.store.completeRuns(r, 1),
		RunE:              func(cmd *cobra.Command, words []string) error { return o.run(cmd.Context(), words[0]) },
	}
	migrate := flagGroup{cmd.Flags(), "Migrate"}
	migrate.value(&o.agent, "agent", "FILE", "agent.yaml", "the agent file with which the run is to go on")
	migrate.value(&o.reason, "reason", "TEXT", `"the limit was raised"`, "why, for the record")
	migrate.boolean(&o.check, "check", "say what differs and whether it can be done, and do nothing")
	o.person.declare(cmd, "who does it")
	o.sign.declare(cmd)
	o.store.declare(cmd)
	o.store.declareJSON(cmd, "print what differs, then the report, as lines of JSON")
	return cmd
}

// definitionChange is one part of a definition that differs.
type definitionChange struct {
	Part string          `json:"part"`
	From artifact.Digest `json:"from"`
	To   artifact.Digest `json:"to"`
}

// changesOf says what differs between two definitions.
func changesOf(a, b event.Definition) []definitionChange {
	list := []definitionChange{}
	for _, x := range []definitionChange{
		{"graph", a.Graph, b.Graph}, {"schema", a.Schema, b.Schema}, {"pack", a.Pack, b.Pack}, {"policy", a.Policy, b.Policy},
		{"nodes", a.Nodes, b.Nodes}, {"contracts", a.Contract, b.Contract},
	} {
		if x.From != x.To {
			list = append(list, x)
		}
	}
	return list
}

func differences(a, b event.Definition) []string {
	parts := []string{}
	for _, c := range changesOf(a, b) {
		parts = append(parts, c.Part)
	}
	return parts
}

// move is what migrate prints before the report.
type move struct {
	Kind    string             `json:"kind"` // migration
	Run     string             `json:"run"`
	Agent   string             `json:"agent"`
	Differs []definitionChange `json:"differs"`
	Refused string             `json:"refused,omitempty"`
}

func (m move) write(p *page) {
	p.heading("Migrate ", name(plain, m.Run), text(" to "), name(plain, m.Agent))
	if len(m.Differs) == 0 {
		p.line(2, text("Nothing of the definition differs: tools or models may."))
	}
	t := &table{indent: 2}
	for _, c := range m.Differs {
		t.add(cell(bold, c.Part), spans(name(dim, abbreviated(c.From.Hex())), text(" → "), name(plain, abbreviated(c.To.Hex()))))
	}
	p.table(t)
}

func (o *migrateOptions) run(ctx context.Context, exec string) error {
	if !o.agent.set {
		return usagef("Write it like "+`writ migrate `+shellWord(exec)+` --agent agent.yaml --reason "the limit was raised"`, "migrate needs the agent file to move to: --agent FILE")
	}
	if !o.check {
		if err := needReason(&o.reason, "migrate"); err != nil {
			return err
		}
	}
	signing, err := o.sign.keys(o.runner)
	if err != nil {
		return err
	}
	watch := o.watchRun(o.store.json)
	settings := local.Options{Now: o.Now, Random: o.Random, Observe: watch.see, Sign: signing}
	agent, err := readAgent(o.agent.text, settings)
	if err != nil {
		return err
	}
	s, err := o.store.open(ctx, o.runner)
	if err != nil {
		return err
	}
	defer s.Close()
	m, refusal, err := o.look(ctx, s, exec, agent)
	if err != nil {
		return err
	}
	if o.check || refusal != nil {
		return o.checked(m, refusal)
	}
	if err := o.announce(m); err != nil {
		return err
	}
	return o.move(ctx, s, exec, agent, settings, watch)
}

// look works out, without changing anything, what differs and whether the machine
// would refuse.
func (o *migrateOptions) look(ctx context.Context, s *sqlite.Store, exec string, agent *local.Agent) (move, *engine.Refusal, error) {
	m := move{Kind: "migration", Run: exec, Agent: o.agent.text}
	l, err := readRun(ctx, s, exec, 0)
	if err != nil {
		return m, nil, err
	}
	if p := l.started.Parent; p != nil && p.Kind != event.LinkFork {
		return m, nil, hintedError{
			fmt.Errorf("run %s was called by %s, and has the authority that it was given there", exec, p.Exec), "Migrate the run that called it.",
		}
	}
	if l.end != nil {
		return m, nil, fmt.Errorf("run %s is over: %s", exec, l.last.Type)
	}
	m.Differs = changesOf(l.definition, agent.Definition.Digests())
	if kept, err := local.Kept(o.store.path(o.runner), exec, local.Options{Now: o.Now}); err == nil && maps.EqualFunc(kept.Files, agent.Files, bytes.Equal) {
		return m, nil, fmt.Errorf("run %s has this agent already", exec)
	}
	head, err := s.Head(ctx, exec)
	if err != nil {
		return m, nil, err
	}
	checkpoint, err := newestCheckpoint(ctx, s, head)
	if err != nil {
		return m, nil, runError(ctx, s, exec, err)
	}
	machine := engine.NewMachine(agent.Definition)
	position, err := machine.Restore(checkpoint, head.Head)
	if err != nil {
		return m, nil, err
	}
	out, err := machine.Step(position, engine.Input{NowMS: o.Now().UnixMilli(), What: engine.Migrate{Reason: o.reason.text, Method: event.MethodAsserted}})
	if out.Refusal != nil {
		m.Refused = out.Refusal.Error()
	}
	return m, out.Refusal, err
}

// checked says what was found out; nothing was changed.
func (o *migrateOptions) checked(m move, refusal *engine.Refusal) error {
	if refusal != nil {
		o.say("run " + m.Run + " stays as it is: " + refusal.Error())
	}
	return o.present(o.store.json, m, func(p *page) {
		m.write(p)
		if refusal == nil {
			p.line(0, markGood, space, text("The run can be migrated."))
		}
	}, refusal == nil)
}

// announce prints what differs before the run moves.
func (o *migrateOptions) announce(m move) error {
	if o.store.json {
		if err := o.printLine(m); err != nil {
			return err
		}
		defer o.out.Reset()
		return o.flush() // the events follow at once
	}
	p := o.newPage()
	m.write(p)
	o.print(p)
	return nil
}

func (o *migrateOptions) move(ctx context.Context, s *sqlite.Store, exec string, agent *local.Agent, settings local.Options, watch *runWatch) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	e, err := local.NewEngine(s, agent, settings)
	if err != nil {
		return err
	}
	who := o.person.who()
	report, err := e.Migrate(ctx, exec, agent.Definition, engine.Migrate{By: who.name, Method: who.method, Reason: o.reason.text})
	if err != nil && !refusedInput(err) && !errors.Is(err, engine.ErrStopped) {
		return runError(ctx, s, exec, err)
	}
	if !refusedInput(err) {
		if err := agent.KeepNext(o.store.path(o.runner), exec); err != nil {
			return err
		}
	}
	ended := watch.end(ctx, s, report, err)
	if err == nil && (errors.Is(ended, errNegative) || errors.Is(ended, errSuspended)) {
		return nil // it was moved, whatever became of it
	}
	return ended
}
