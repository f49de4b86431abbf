package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/planner"
)

type diffOptions struct {
	*runner
	dates dateFlags
	json  bool
}

func newDiff(r *runner) *cobra.Command {
	o := &diffOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "diff A B | --as-of DATE --as-of DATE [TASK...]",
		Short: "say what differs between two saved plans, or two dates",
		Long: "diff compares two files that `writ plan --json` wrote: which units moved, came and went, which scores, " +
			"reasons, budgets and warnings changed. One of the files may be -, for standard input. Nothing that the files name is read. " +
			"With --as-of or --known-at given twice it compares two dates of one manifest instead: which units become " +
			"current, expire or are superseded, and why; with a task also how its plan changes.",
		Example: `writ diff before.json after.json
writ plan "rotate a key" --json | writ diff before.json -
writ diff --manifest regulation --as-of 2026-06-30 --as-of 2026-07-01 "storage temperature"
writ diff --manifest regulation --as-of 2026-07-01 --known-at 2025-06-30 --known-at 2026-06-30`,
		Annotations: exits("nothing differs", "something differs, or a file cannot be read or verified", wrongUsage),
		RunE: func(cmd *cobra.Command, words []string) error {
			if o.dates.asked(cmd) {
				return o.runDates(cmd, words)
			}
			return o.run(words)
		},
	}
	o.dates.declare(cmd)
	flagGroup{cmd.Flags(), outputGroup}.boolean(&o.json, "json", "print the difference as JSON")
	return cmd
}

func (o *diffOptions) run(words []string) error {
	switch {
	case len(words) != 2:
		return usagef("Write it like writ diff before.json after.json", "diff compares two files, and %d are named", len(words))
	case words[0] == "-" && words[1] == "-":
		return usagef("Write it like writ diff before.json -", "only one of the two files can be standard input")
	}
	before, err := o.readArtifact(words[0])
	if err != nil {
		return err
	}
	after, err := o.readArtifact(words[1])
	if err != nil {
		return err
	}
	diff, err := planner.DiffArtifacts(before, after)
	if err != nil {
		return nameArtifact(err, words)
	}
	return o.present(o.json, diff, func(p *page) { diffView{p, diff}.write() }, diff.Identical)
}

// nameArtifact puts the name of the file before what is wrong with it.
func nameArtifact(err error, words []string) error {
	var bad *planner.ArtifactError
	if !errors.As(err, &bad) {
		return err
	}
	file := words[0]
	if bad.Which == "second" {
		file = words[1]
	}
	return inFile(file, bad.Err)
}

// inFile gives an error its place: FILE:LINE:COL where the line is known.
func inFile(file string, err error) error {
	var syntax *artifact.SyntaxError
	if errors.As(err, &syntax) {
		where := ""
		if syntax.Pointer != "" {
			where = " at " + syntax.Pointer
		}
		return fmt.Errorf("%s:%d:%d: %s%s", file, syntax.Line, syntax.Column, syntax.Problem, where)
	}
	return fmt.Errorf("%s: %w", file, err)
}

// diffView writes a difference for a person.
type diffView struct {
	*page
	diff *planner.PlanDiff
}

func (v diffView) write() {
	v.heading("Plan diff")
	t := &table{indent: 2}
	for _, side := range []struct {
		title string
		head  planner.PlanHead
	}{{"A", v.diff.A}, {"B", v.diff.B}} {
		t.add(cell(bold, side.title), spans(name(plain, side.head.Project), text(" "+side.head.Version), in(dim, " · as of "+side.head.AsOf+" · "+side.head.Task)))
	}
	v.table(t)
	v.writeChanges()
	v.blank()
	if v.diff.Identical {
		v.line(0, markGood, space, in(bold, "identical"))
		return
	}
	v.line(0, markBad, space, in(bold, "different"))
}

// writeChanges writes what is different.
func (v diffView) writeChanges() {
	v.writeMoves()
	v.writePresence()
	v.writeScores()
	v.writeShifts()
	v.writeReasons()
	v.writeWarnings()
}

func (v diffView) section(title string, n int, t *table) {
	if n == 0 {
		return
	}
	v.heading(title, in(dim, fmt.Sprintf(" %d", n)))
	t.indent = 2
	v.table(t)
}

func (v diffView) writeMoves() {
	t := &table{}
	for _, m := range v.diff.Moves {
		now := spans(in(green, "selected"), text(", score "+artifact.FormatNumber(m.To.Score.Value)+"; was skipped: "+m.From.Reason.Value))
		mark := span{text: "+", style: green}
		if m.Direction == "selected_to_skipped" {
			mark = span{text: "-", style: red}
			now = spans(in(red, "skipped"), text(": "+m.To.Reason.Value+"; was selected, score "+artifact.FormatNumber(m.From.Score.Value)))
		}
		t.add(spans(mark, space, name(bold, m.ID)), now)
	}
	v.section("Moved", len(v.diff.Moves), t)
}

func (v diffView) writePresence() {
	t := &table{}
	for _, e := range v.diff.Presence {
		if e.Side == "b_only" {
			t.add(spans(span{text: "+", style: green}, space, name(bold, e.ID)), spans(text("only in B")))
		} else {
			t.add(spans(span{text: "-", style: red}, space, name(bold, e.ID)), spans(text("only in A")))
		}
	}
	v.section("In one plan only", len(v.diff.Presence), t)
}

func (v diffView) writeScores() {
	t := &table{}
	for _, s := range v.diff.ScoreChanges {
		look, sign := red, ""
		if s.Delta > 0 {
			look, sign = green, "+"
		}
		t.add(cell(bold, s.ID), spans(text(artifact.FormatNumber(s.Before)+" → "+artifact.FormatNumber(s.After)+" "), in(look, sign+artifact.FormatNumber(s.Delta))))
	}
	v.section("Scores", len(v.diff.ScoreChanges), t)
}

func (v diffView) writeShifts() {
	t := &table{}
	for _, s := range v.diff.BudgetShifts {
		t.add(cell(plain, s.Field), spans(text(orDash(s.Before)+" → "+orDash(s.After))))
	}
	v.section("Budgets", len(v.diff.BudgetShifts), t)
}

func orDash(n kcp.Number) string {
	if !n.Set {
		return "—"
	}
	return grouped(n.Value)
}

func (v diffView) writeReasons() {
	t := &table{}
	for _, c := range v.diff.ReasonChanges {
		t.add(cell(bold, c.ID), spans(text(c.After), in(dim, "; was: "+c.Before)))
	}
	v.section("Reasons", len(v.diff.ReasonChanges), t)
}

func (v diffView) writeWarnings() {
	t := &table{}
	for _, w := range v.diff.WarningChanges.Added {
		t.add(spans(span{text: "+", style: green}), spans(text(w)))
	}
	for _, w := range v.diff.WarningChanges.Removed {
		t.add(spans(span{text: "-", style: red}), spans(text(w)))
	}
	v.section("Warnings", len(t.rows), t)
}
