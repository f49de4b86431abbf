package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/local"
	"github.com/writ-dev/writ/store"
)

type runsOptions struct {
	*runner
	store                          storeFlags
	status, graph, owner, parent   given
	limit, after, at, from, format given
	agent                          agentFlag
	deleted                        bool
}

func newRuns(r *runner) *cobra.Command {
	o := &runsOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "runs [list]",
		Short: "list runs, look at one, delete some",
		Long: "runs lists the runs of a store. Its subcommands show one run: what became of it, its events, its state at any " +
			"event, its graph, its head. They read, and change nothing, but for delete, prune and erase.",
		Example: `writ runs --status suspended
writ runs show refund-o7
writ runs state refund-o7 --at 12
writ runs prune --before 90d --dry-run`,
		Annotations: exits("the runs were listed", "the store cannot be read", wrongUsage),
		RunE: func(cmd *cobra.Command, words []string) error {
			if wantsList(words) {
				return o.list(cmd)
			}
			if known := append(subcommands(cmd), "help"); len(words) == 1 && nearest(words[0], known, 1) == nil {
				return usagef("One run: writ runs show "+shellWord(words[0]), "runs lists runs, and %q is none of its commands", words[0])
			}
			return r.needsSubcommand(cmd, words)
		},
	}
	filter := flagGroup{cmd.Flags(), "Filter"}
	filter.value(&o.status, "status", "STATUS", "suspended", "only runs with one of these: running, suspended, terminated, failed, cancelled, abandoned")
	filter.value(&o.graph, "graph", "HASH", "sha256:...", "only runs of this graph")
	filter.value(&o.owner, "owner", "NAME", "billing", "only runs that belong to this principal")
	filter.value(&o.parent, "parent", "RUN", "refund-o7", "only runs that descend from this one")
	filter.value(&o.limit, "limit", "N", "50", "at most so many")
	filter.value(&o.after, "after", "RUN", "refund-o7", "only ids greater than this one, for the next page")
	filter.boolean(&o.deleted, "deleted", "also what remains of deleted runs")
	o.store.declare(cmd)
	o.store.declareJSON(cmd, "print the list as JSON")
	cmd.AddCommand(o.newShow(), o.newEvents(), o.newState(), o.newGraph(), o.newHead(), newDelete(r), newPrune(r), newErase(r))
	mustComplete(cmd.RegisterFlagCompletionFunc("status", fixed(runStatuses...)))
	return cmd
}

// runStatuses are the statuses that a run may have.
var runStatuses = []string{"running", "suspended", "terminated", "failed", "cancelled", "abandoned"}

// query turns the flags into what the store is asked.
func (o *runsOptions) query() (store.Query, error) {
	q := store.Query{Owner: o.owner.text, Parent: o.parent.text, After: o.after.text, Deleted: o.deleted}
	for _, status := range o.status.list() {
		if !slices.Contains(runStatuses, status) {
			return q, badValue("status", status, "is none of "+strings.Join(runStatuses, ", ")+didYouMean(status, runStatuses, ""), o.status.example)
		}
		q.Status = append(q.Status, store.Status(status))
	}
	if o.graph.set {
		var err error
		if q.Graph, err = artifact.ParseDigest(o.graph.text); err != nil {
			if q.Graph, err = artifact.ParseHexDigest(o.graph.text); err != nil {
				return q, badValue("graph", o.graph.text, "is no hash of a graph", "sha256:, then 64 digits")
			}
		}
	}
	n, err := o.limit.count("limit")
	if err == nil && o.limit.set && n.Value < 1 {
		err = badValue("limit", o.limit.text, "is not a positive number", o.limit.example)
	}
	q.Limit = int(n.Value)
	return q, err
}

// runLine is the JSON form of one run of a list.
type runLine struct {
	Run      string       `json:"run"`
	Status   store.Status `json:"status"`
	Reason   string       `json:"reason,omitempty"`
	Pinned   string       `json:"pinned,omitempty"` // why nobody can continue it here
	Migrated []migration  `json:"migrated,omitempty"`
	Owner    string       `json:"owner,omitempty"`
	Parent   string       `json:"parent,omitempty"`
	Graph    string       `json:"graph"`
	Events   uint64       `json:"events"`
	Started  string       `json:"started"`
	Updated  string       `json:"updated"`
	Deleted  string       `json:"deleted,omitempty"`
}

// runList is what a store has.
type runList struct {
	Runs []runLine `json:"runs"`

	store string
}

func (o *runsOptions) list(cmd *cobra.Command) error {
	q, err := o.query()
	if err != nil {
		return err
	}
	s, err := o.store.open(cmd.Context(), o.runner)
	if err != nil {
		return err
	}
	defer s.Close()
	list := runList{Runs: []runLine{}, store: o.store.path(o.runner)}
	look, err := o.newLook(s)
	if err != nil {
		return err
	}
	for x, err := range s.List(cmd.Context(), q) {
		if err != nil {
			return err
		}
		line, err := look.line(cmd.Context(), x)
		if err != nil {
			return err
		}
		list.Runs = append(list.Runs, line)
	}
	return o.present(o.store.json, list, list.write, true)
}

func (list runList) write(p *page) {
	p.heading("Runs", text("  "+counted(len(list.Runs), "run")+" in "), name(plain, list.store))
	t := &table{indent: 2}
	for _, x := range list.Runs {
		rest := spans(name(bold, x.Run))
		if x.Reason != "" {
			rest = append(rest, text("  "+x.Reason))
		}
		if n := len(x.Migrated); n > 0 {
			rest = append(rest, in(dim, "  migrated by "+x.Migrated[n-1].By+": "+x.Migrated[n-1].Reason))
		}
		if x.Pinned != "" {
			rest = append(rest, in(yellow, "  pinned: "+x.Pinned))
		}
		if x.Deleted != "" {
			rest = append(rest, in(dim, "  deleted "+x.Deleted[:16]+"Z"))
		}
		t.add(spans(runMark(x.Status)), cell(plain, string(x.Status)), cell(dim, strconv.FormatUint(x.Events, 10)), cell(dim, x.Started[:16]+"Z"), rest)
	}
	p.table(t)
}

// sub makes a subcommand that reads one run.
func (o *runsOptions) sub(use, short, long, example string, run func(cmd *cobra.Command, exec string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use + " RUN", Short: short, Long: long, Example: example,
		Annotations:       exits("the run was shown", "there is no such run, or the store cannot be read", wrongUsage),
		Args:              oneRun,
		ValidArgsFunction: o.store.completeRuns(o.runner, 1),
		RunE:              func(cmd *cobra.Command, words []string) error { return run(cmd, words[0]) },
	}
	o.store.declare(cmd)
	return cmd
}

func (o *runsOptions) newShow() *cobra.Command {
	cmd := o.sub("show", "show what became of a run, and its effects",
		"show reads a run's log and says what the run is, what became of it, which effects it asked for and what it waits for. "+
			"It says whether a run was migrated or abandoned, and why nobody can go on with one that is pinned. Of a run that was "+
			"deleted it shows what remains.",
		"writ runs show refund-o7", o.show)
	o.store.declareJSON(cmd, "print it as JSON")
	return cmd
}

func (o *runsOptions) newEvents() *cobra.Command {
	cmd := o.sub("events", "list the events of a run",
		"events lists the log of a run. With --json it prints the stored bytes, one event a line: `writ verify` reads them from a file.",
		`writ runs events refund-o7
writ runs events refund-o7 --json > refund-o7.jsonl`, o.events)
	flagGroup{cmd.Flags(), "Events"}.value(&o.from, "from", "SEQ", "12", "the first event to show")
	o.store.declareJSON(cmd, "print the stored bytes of each event as a line")
	return cmd
}

func (o *runsOptions) newState() *cobra.Command {
	cmd := o.sub("state", "print the state of a run",
		"state rebuilds the state of a run from its log, up to its end or to an event, and prints it as JSON.",
		`writ runs state refund-o7
writ runs state refund-o7 --at 12`, o.state)
	flagGroup{cmd.Flags(), "State"}.value(&o.at, "at", "SEQ", "12", "the event after which the state is wanted (default: the last)")
	return cmd
}

func (o *runsOptions) newGraph() *cobra.Command {
	cmd := o.sub("graph", "draw the graph of a run",
		"graph draws the graph that a run executes, from the copy of the agent that was kept when the run started, and says where the run is.",
		"writ runs graph refund-o7 --format svg > refund.svg", o.drawRun)
	o.agent.declare(cmd)
	declareFormat(cmd, &o.format, graphFormats)
	return cmd
}

func (o *runsOptions) show(cmd *cobra.Command, exec string) error {
	ctx := cmd.Context()
	s, err := o.store.open(ctx, o.runner)
	if err != nil {
		return err
	}
	defer s.Close()
	head, err := s.Head(ctx, exec)
	if err != nil {
		return runError(ctx, s, exec, err)
	}
	if !head.Deleted.IsZero() {
		t := tombstoneOf(head)
		return o.present(o.store.json, t, t.write, true)
	}
	l, err := readRun(ctx, s, exec, 0)
	if err != nil {
		return err
	}
	v := runShown(head, l)
	if v.Inbox, err = inboxOf(ctx, s, exec); err != nil {
		return err
	}
	look, err := o.newLook(s)
	if err != nil {
		return err
	}
	if l.end == nil {
		_, v.Pinned = look.status(ctx, exec)
	}
	return o.present(o.store.json, v, v.write, true)
}

func (o *runsOptions) events(cmd *cobra.Command, exec string) error {
	from, err := o.from.count("from")
	if err != nil || o.from.set && from.Value < 1 {
		return badValue("from", o.from.text, "is not a positive whole number", o.from.example)
	}
	s, err := o.store.open(cmd.Context(), o.runner)
	if err != nil {
		return err
	}
	defer s.Close()
	p := o.newPage()
	t := &table{indent: 2}
	for rec, err := range s.Events(cmd.Context(), exec, uint64(from.Value)) {
		if err != nil {
			return runError(cmd.Context(), s, exec, err)
		}
		if o.store.json {
			o.out.Write(append(rec.Bytes, '\n'))
			continue
		}
		e, err := rec.Decode()
		if err != nil {
			return runError(cmd.Context(), s, exec, err)
		}
		t.add(cell(dim, strconv.FormatUint(e.Seq, 10)), cell(bold, e.Node), cell(cyan, string(e.Type)), prose(eventWords(e)))
	}
	if !o.store.json {
		p.heading("Events ", name(plain, exec))
		p.table(t)
		o.print(p)
	}
	return nil
}

func (o *runsOptions) state(cmd *cobra.Command, exec string) error {
	at, err := o.at.count("at")
	if err != nil || o.at.set && at.Value < 1 {
		return badValue("at", o.at.text, "is not a positive whole number", o.at.example)
	}
	s, err := o.store.open(cmd.Context(), o.runner)
	if err != nil {
		return err
	}
	defer s.Close()
	l, err := readRun(cmd.Context(), s, exec, uint64(at.Value))
	if err != nil {
		return err
	}
	if l.last.Seq < uint64(at.Value) {
		return fmt.Errorf("run %s has %s", exec, counted(l.last.Seq, "event"))
	}
	for _, note := range l.notes {
		o.say("run " + exec + ": " + note)
	}
	if err := o.printDocument(l.state.Value); err != nil || len(l.notes) == 0 {
		return err
	}
	return errNegative
}

func (o *runsOptions) drawRun(cmd *cobra.Command, exec string) error {
	if err := checkFormat(&o.format, graphFormats); err != nil {
		return err
	}
	s, err := o.store.open(cmd.Context(), o.runner)
	if err != nil {
		return err
	}
	defer s.Close()
	l, err := readRun(cmd.Context(), s, exec, 0)
	if err != nil {
		return err
	}
	a, err := o.agent.of(cmd.Context(), o.runner, s, o.store.path(o.runner), exec)
	if err != nil {
		return err
	}
	drawn := graphOf(a, l.definition.Graph)
	if drawn == nil {
		return fmt.Errorf("run %s executes the graph %s, and the agent file has %s", exec, l.definition.Graph, a.Graph.Digest)
	}
	o.drawGraph(drawn, o.format.text)
	if o.format.text == "" || o.format.text == "text" {
		o.writePlace(l)
	}
	return nil
}

// writePlace says where a run is.
func (o *runsOptions) writePlace(l *runLog) {
	p := o.newPage()
	p.blank()
	switch {
	case l.end != nil:
		p.line(0, text("The run is over: "+string(l.last.Type)))
	default:
		p.line(0, text("The run is at "), name(bold, l.last.Node))
	}
	o.print(p)
}

// prose is a last cell; nothing is no cell.
func prose(words string) []span {
	if words == "" {
		return nil
	}
	return spans(text(words))
}

// graphOf gives the graph of an agent that has a digest, or nil.
func graphOf(a *local.Agent, digest artifact.Digest) *graph.Compiled {
	if a.Graph.Digest == digest {
		return a.Graph
	}
	for _, c := range a.Graphs {
		if c.Graph.Digest == digest {
			return c.Graph
		}
	}
	return nil
}
