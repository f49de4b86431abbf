package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/planner"
	"github.com/writ-dev/writ/search"
)

// repeated is a flag that may be given more than once.
type repeated struct {
	given
	all []string
}

// Set adds a value.
func (g *repeated) Set(text string) error {
	if err := g.given.Set(text); err != nil {
		return err
	}
	g.all = append(g.all, text)
	return nil
}

func (g flagGroup) repeated(v *repeated, name, metavar, example, usage string) {
	v.metavar, v.example = metavar, example
	g.set.Var(v, name, usage)
	g.mark(name)
}

// dateFlags say which two moments of one manifest are compared.
type dateFlags struct {
	asOf, knownAt repeated
	plan          planFlags
}

func (f *dateFlags) declare(cmd *cobra.Command) {
	dates := flagGroup{cmd.Flags(), "Two dates of one manifest"}
	dates.repeated(&f.asOf, "as-of", "DATE", "2026-07-06", "the dates to compare, given twice (default today, in UTC, for both)")
	dates.repeated(&f.knownAt, "known-at", "DATE", "2025-06-30", "with what had been recorded by then; given twice, by each")
	f.plan.declare(cmd)
}

// asked reports whether two dates are to be compared, and not two files: the
// command line has a flag that files have no use for.
func (f *dateFlags) asked(cmd *cobra.Command) bool {
	other := false
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		other = other || flag.Name != "json" && cmd.InheritedFlags().Lookup(flag.Name) == nil
	})
	return other
}

// moments gives the two moments. A date that is given once holds for both.
func (f *dateFlags) moments(r *runner) (a, b kcp.Moment, err error) {
	const example = "Write it like writ diff --manifest docs --as-of 2026-06-30 --as-of 2026-07-01"
	today := r.today()
	a, b = kcp.Moment{AsOf: today}, kcp.Moment{AsOf: today}
	for _, flag := range []struct {
		name          string
		value         *repeated
		before, after *string
	}{{"as-of", &f.asOf, &a.AsOf, &b.AsOf}, {"known-at", &f.knownAt, &a.KnownAt, &b.KnownAt}} {
		all := flag.value.all
		if len(all) > 2 {
			return a, b, usagef(example, "two dates are compared, and --%s is given %d times", flag.name, len(all))
		}
		for _, text := range all {
			if !kcp.ValidDate(text) {
				return a, b, badValue(flag.name, text, "is not a calendar date (YYYY-MM-DD)", flag.value.example)
			}
		}
		if len(all) > 0 {
			*flag.before, *flag.after = all[0], all[len(all)-1]
		}
	}
	if len(f.asOf.all) < 2 && len(f.knownAt.all) < 2 {
		return a, b, usagef(example, "two dates are needed: give --as-of or --known-at twice")
	}
	return a, b, nil
}

// datesDiff is the JSON form of what changed between two moments.
type datesDiff struct {
	Source    string            `json:"source"`
	A         dateHead          `json:"a"`
	B         dateHead          `json:"b"`
	Identical bool              `json:"identical"`
	Units     []unitChange      `json:"units"`
	Sources   []sourceChange    `json:"manifests"`
	Plans     *planner.PlanDiff `json:"plans,omitzero"` // with a task
}

type dateHead struct {
	AsOf    string `json:"as_of"`
	KnownAt string `json:"known_at,omitzero"`
}

type unitChange struct {
	UnitID string        `json:"unit_id"`
	From   search.Status `json:"from"`
	To     search.Status `json:"to"`
	Why    string        `json:"why"`
}

type sourceChange struct {
	ID     string `json:"id"`
	Served bool   `json:"served"`
}

// runDates compares two moments of one manifest, and the plans of a task on both
// when there is one.
func (o *diffOptions) runDates(cmd *cobra.Command, words []string) error {
	before, after, err := o.dates.moments(o.runner)
	if err != nil {
		return err
	}
	options, err := o.dates.plan.options(o.runner)
	if err != nil {
		return err
	}
	loaded, err := o.dates.plan.source.open(cmd.Context(), o.runner, "")
	if err != nil {
		return err
	}
	m := loaded.Manifest
	role := o.dates.plan.role.text
	units, sources := search.Changes(m, before, after, role)
	d := &datesDiff{Source: loaded.Source, A: dateHead{before.AsOf, before.KnownAt}, B: dateHead{after.AsOf, after.KnownAt}}
	for _, c := range units {
		d.Units = append(d.Units, unitChange{c.Unit.ID, c.From, c.To, c.Why})
	}
	for _, c := range sources {
		d.Sources = append(d.Sources, sourceChange{c.Ref.ID, c.Served})
	}
	d.Identical = len(units)+len(sources) == 0
	if task := strings.Join(words, " "); task != "" || o.dates.plan.task.text != "" {
		d.Plans = o.plansOf(m, task, options, before, after)
		d.Identical = d.Identical && d.Plans.Identical
	}
	return o.present(o.json, d, func(p *page) { datesView{p, m, d}.write() }, d.Identical)
}

// plansOf compares the plans of one task at two moments.
func (o *diffOptions) plansOf(m *kcp.Manifest, task string, options planner.Options, before, after kcp.Moment) *planner.PlanDiff {
	if o.dates.plan.task.text != "" {
		task = o.dates.plan.task.text
	}
	options.AsOf, options.KnownAt = before.AsOf, before.KnownAt
	a, _ := planner.Plan(m, task, options)
	options.AsOf, options.KnownAt = after.AsOf, after.KnownAt
	b, _ := planner.Plan(m, task, options)
	return planner.Diff(a, b)
}

// datesView writes the difference for a person.
type datesView struct {
	*page
	manifest *kcp.Manifest
	diff     *datesDiff
}

func (v datesView) write() {
	v.heading("Changes ", name(plain, v.manifest.Project), text(" "+v.manifest.Version))
	t := &table{indent: 2}
	for _, side := range []struct {
		title string
		head  dateHead
	}{{"A", v.diff.A}, {"B", v.diff.B}} {
		t.add(cell(bold, side.title), momentSpans(kcp.Moment{AsOf: side.head.AsOf, KnownAt: side.head.KnownAt}))
	}
	v.table(t)
	for _, group := range []struct {
		title string
		to    search.Status
	}{
		{"Current", search.Current}, {"Superseded", search.Superseded}, {"Expired", search.Expired},
		{"Not valid yet", search.Future}, {"Not recorded yet", search.Unrecorded}, {"Never valid", search.Unreadable},
	} {
		v.writeGroup(group.title, group.to)
	}
	v.writeSources()
	if v.diff.Plans != nil {
		diffView{v.page, v.diff.Plans}.write()
		return
	}
	v.blank()
	if v.diff.Identical {
		v.line(0, markGood, space, in(bold, "nothing changes"))
		return
	}
	v.line(0, markBad, space, in(bold, counted(len(v.diff.Units)+len(v.diff.Sources), "change")))
}

func (v datesView) writeGroup(title string, to search.Status) {
	t := &table{indent: 2}
	for _, c := range v.diff.Units {
		if c.To == to {
			t.add(spans(statusMark(to), space, name(bold, c.UnitID)), spans(text(c.Why), in(dim, "; was "+statusWords(c.From))))
		}
	}
	if len(t.rows) > 0 {
		v.heading(title, in(dim, fmt.Sprintf(" %d", len(t.rows))))
		v.table(t)
	}
}

// statusWords puts a status into words for a person.
func statusWords(s search.Status) string {
	switch s {
	case search.Future:
		return "not valid yet"
	case search.Unrecorded:
		return "not recorded yet"
	case search.Unreadable:
		return "never valid"
	}
	return string(s)
}

func (v datesView) writeSources() {
	if len(v.diff.Sources) == 0 {
		return
	}
	v.heading("Federated manifests", in(dim, fmt.Sprintf(" %d", len(v.diff.Sources))))
	t := &table{indent: 2}
	for _, c := range v.diff.Sources {
		if c.Served {
			t.add(spans(markFollow, space, name(bold, c.ID)), spans(text("is valid now")))
		} else {
			t.add(spans(markNote, space, name(bold, c.ID)), spans(text("is valid no more")))
		}
	}
	v.table(t)
}
