package cli

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/federation"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/planner"
)

type whyOptions struct {
	*runner
	planFlags
	following followFlags
	json      bool
}

func newWhy(r *runner) *cobra.Command {
	o := &whyOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "why UNIT TASK...",
		Short: "say what stopped a unit, and what opens it",
		Long: "why plans the task and explains one unit, named by its id or an alias: the verdict of every gate, and for a " +
			"unit that may not be loaded the smallest change of your options that opens it, as flags to paste. Each " +
			"change was tried by planning again. With --follow the unit may be one of a manifest that this one refers to.",
		Example: `writ why deploy-guide "how do we deploy a release?"
writ why tide-feed "tide level" --manifest harbour --budget 0.01`,
		Annotations: exits("the unit was explained, whatever its verdict", "there is no such unit, or the manifest cannot be read or verified", wrongUsage),
		RunE: func(cmd *cobra.Command, words []string) error {
			return o.run(cmd, words)
		},
		ValidArgsFunction: o.completeUnit,
	}
	o.declare(cmd)
	o.following.declare(cmd, &o.source)
	flagGroup{cmd.Flags(), outputGroup}.boolean(&o.json, "json", "print the explanation as JSON")
	return cmd
}

func (o *whyOptions) run(cmd *cobra.Command, words []string) error {
	if len(words) == 0 {
		return usagef(`Write it like writ why deploy-guide "how do we deploy a release?"`, "the unit is missing")
	}
	task, err := o.taskOf(cmd, words[1:])
	if err != nil {
		return err
	}
	options, err := o.options(o.runner)
	if err != nil {
		return err
	}
	walk, follow, err := o.following.options(o.runner)
	if err != nil {
		return err
	}
	if follow {
		walk.Plan = options
		return o.runTree(cmd.Context(), task, words[0], walk)
	}
	loaded, err := o.source.open(cmd.Context(), o.runner, "")
	if err != nil {
		return err
	}
	return o.explain(loaded.Manifest, task, words[0], options, "")
}

// runTree explains the first unit of that name in the tree.
func (o *whyOptions) runTree(ctx context.Context, task, unit string, walk federation.Options) error {
	tree, err := o.walk(ctx, &o.planFlags, task, walk)
	if err != nil {
		return err
	}
	for _, n := range tree.All() {
		if n.Plan == nil {
			continue
		}
		if _, declared := n.Loaded.Manifest.Lookup(unit); declared {
			return o.explain(n.Loaded.Manifest, task, unit, nodeOptions(walk.Plan, n), n.Location)
		}
	}
	var names []string
	for _, n := range tree.All() {
		if n.Plan != nil {
			names = append(names, unitNames(n.Loaded.Manifest)...)
		}
	}
	return noSuchUnit("none of the "+counted(len(federation.Plans(tree)), "manifest")+" that were read declares", unit, names)
}

// explain prints the explanation; place is where the unit was found, if that is
// worth saying.
func (o *whyOptions) explain(m *kcp.Manifest, task, unit string, options planner.Options, place string) error {
	explanation, err := planner.Why(m, task, options, unit)
	if err != nil {
		return unknownUnit(m, unit, err)
	}
	if o.json {
		return o.printDocument(placedExplanation{explanation, place})
	}
	_, trace := planner.Plan(m, task, options)
	units := trace.Units()
	p := o.newPage()
	i := slices.IndexFunc(units, func(u planner.UnitTrace) bool { return u.ID == explanation.Unit })
	whyView{p, explanation, &units[i], place}.write()
	o.print(p)
	return nil
}

// placedExplanation is an explanation with the manifest that it is about, where
// several were read.
type placedExplanation struct {
	*planner.Explanation
	Source string `json:"source,omitzero"`
}

// unknownUnit adds ids that may have been meant.
func unknownUnit(m *kcp.Manifest, typed string, err error) error {
	var unknown *planner.UnknownUnitError
	if !errors.As(err, &unknown) {
		return err
	}
	return noSuchUnit(m.Source+" declares no", typed, unitNames(m))
}

func noSuchUnit(who, typed string, names []string) error {
	near := nearest(typed, names, 3)
	if len(near) == 0 {
		return errors.New(who + " unit '" + typed + "'")
	}
	return errors.New(who + " unit '" + typed + "'; did you mean " + strings.Join(near, ", ") + "?")
}

// unitNames lists all ids, then all aliases.
func unitNames(m *kcp.Manifest) []string {
	var names []string
	for i := range m.Units {
		names = append(names, m.Units[i].ID)
	}
	for i := range m.Units {
		names = append(names, m.Units[i].Aliases.Items...)
	}
	return names
}

// completeUnit offers the unit ids of the manifest for the first word.
func (o *whyOptions) completeUnit(cmd *cobra.Command, words []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(words) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	o.source.noVerify = true // completing decides nothing
	if location, err := o.source.location(""); err == nil {
		o.source.local = !isAddress(location) // nor does a key press dial what a file includes
	}
	loaded, err := o.source.open(cmd.Context(), o.runner, "")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var offers []cobra.Completion
	for i := range loaded.Manifest.Units {
		u := &loaded.Manifest.Units[i]
		if strings.HasPrefix(u.ID, typed) && u.ID == visible(u.ID) {
			offers = append(offers, cobra.CompletionWithDesc(u.ID, visible(strings.TrimSpace(u.Intent))))
		}
	}
	return offers, cobra.ShellCompDirectiveNoFileComp
}

// whyView writes an explanation for a person.
type whyView struct {
	*page
	why   *planner.Explanation
	unit  *planner.UnitTrace
	place string
}

func (v whyView) write() {
	v.blank()
	v.line(0, v.verdict()...)
	if v.place != "" {
		v.hang(2, 4, in(dim, "in "), name(cyan, v.place))
	}
	if v.why.Reason != "" {
		v.blank()
		v.line(2, text(v.why.Reason))
	}
	v.heading("Gates")
	t := &table{indent: 2}
	for g, verdict := range v.unit.Gates {
		detail := strings.TrimSpace(strings.TrimSuffix(verdict.Detail, ineligible))
		t.add(spans(gateMark(v.unit.Gates, g), space, in(plain, verdict.Gate)), spans(text(detail)))
	}
	v.table(t)
	if rest := planner.GateNames()[len(v.unit.Gates):]; len(rest) > 0 {
		v.hang(2, 4, markNote, in(dim, " not asked: "+strings.Join(rest, ", ")))
	}
	v.writeOpening()
}

func (v whyView) verdict() []span {
	id := name(bold, v.why.Unit)
	score := in(dim, "  score "+strconv.Itoa(v.why.Score))
	switch {
	case v.why.Outcome == planner.OutcomeSelected && v.why.LoadEligible:
		return spans(markOpen, space, id, text(" is selected and may be loaded"), score)
	case v.why.Outcome == planner.OutcomeSelected:
		return spans(markBlocked, space, id, text(" is selected, but "), in(yellow, v.why.Gate), text(" keeps it from being loaded"), score)
	}
	return spans(markBad, space, id, text(" was stopped by "), in(red, v.why.Gate))
}

// writeOpening says what would open the unit.
func (v whyView) writeOpening() {
	if len(v.why.Changes) > 0 {
		v.heading("To open it", text(", change"))
		v.writeChanges(v.why.Changes)
		for _, other := range v.why.Alternatives {
			v.blank()
			v.line(2, in(dim, "or"))
			v.blank()
			v.writeChanges(other)
		}
	}
	if v.why.Remedy != "" {
		v.heading("To open it")
		v.line(2, text(v.why.Remedy))
	}
}

// writeChanges writes the flags on one line, to be pasted, and below them what
// each option was.
func (v whyView) writeChanges(changes []planner.Change) {
	var flags []span
	t := &table{indent: 4}
	for i, c := range changes {
		if i > 0 {
			flags = append(flags, text(" "))
		}
		flags = append(flags, name(green, c.Flag))
		t.add(cell(dim, c.Option), spans(in(dim, orNothing(c.From)+" → "+orNothing(c.To))))
	}
	v.hang(2, 4, flags...)
	v.table(t)
}

func orNothing(setting string) string {
	if setting == "" {
		return "none"
	}
	return setting
}
