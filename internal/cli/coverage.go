package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/internal/draft"
)

type coverageOptions struct {
	*runner
	planFlags
	failUnder given
	json      bool
}

func newCoverage(r *runner) *cobra.Command {
	o := &coverageOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "coverage FILE",
		Short: "plan a file of expected questions, and say which find nothing",
		Long: "coverage plans every line of a file and shows what each question leads to. For those that find nothing it names " +
			"the words of the manifest that are nearest, so that you can add a trigger. A line may say which units it expects: " +
			"how do I install it? => install, !install-v2",
		Example: `writ coverage questions.txt --manifest docs
writ coverage questions.txt --fail-under 90`,
		Annotations: exits("every expectation holds, and enough questions are covered", "an expectation fails, too few questions are covered, or a file cannot be read", wrongUsage),
		RunE: func(cmd *cobra.Command, words []string) error {
			return o.run(cmd, words)
		},
	}
	o.declarePlanning(cmd)
	output := flagGroup{cmd.Flags(), outputGroup}
	output.value(&o.failUnder, "fail-under", "PERCENT", "90", "fail when fewer of the questions are covered")
	output.boolean(&o.json, "json", "print the report as JSON")
	return cmd
}

func (o *coverageOptions) run(cmd *cobra.Command, words []string) error {
	if len(words) != 1 {
		return usagef("Write it like writ coverage questions.txt --manifest docs", "coverage takes one file of questions, and %d are named", len(words))
	}
	threshold, err := o.failUnder.amount("fail-under")
	if err != nil {
		return err
	}
	if threshold.Value < 0 || threshold.Value > 100 {
		return badValue("fail-under", o.failUnder.text, "is not a percentage", o.failUnder.example)
	}
	options, err := o.options(o.runner)
	if err != nil {
		return err
	}
	questions, err := o.questions(cmd, words[0])
	if err != nil {
		return err
	}
	loaded, err := o.source.open(cmd.Context(), o.runner, "")
	if err != nil {
		return err
	}
	rep := &coverageReport{
		CoverageReport: draft.Cover(loaded.Manifest, questions, options),
		source:         loaded.Source, project: loaded.Manifest.Project, questions: words[0], threshold: threshold.Value,
	}
	rep.ok = rep.Failed == 0 && rep.Percent() >= threshold.Value
	return o.present(o.json, rep.document(), func(p *page) { coverageView{p, rep}.write() }, rep.ok)
}

func (o *coverageOptions) questions(cmd *cobra.Command, file string) ([]draft.Question, error) {
	data, _, err := o.readText(cmd.Context(), file, false)
	if err != nil {
		return nil, err
	}
	questions, err := draft.ReadQuestions(string(data))
	var wrong *draft.QuestionError
	switch {
	case errors.As(err, &wrong):
		return nil, fmt.Errorf("%s:%s", file, wrong.Error())
	case err == nil && len(questions) == 0:
		return nil, fmt.Errorf("%s: there are no questions in it; write one a line", file)
	}
	return questions, err
}

// coverageReport is a report with what it is about.
type coverageReport struct {
	*draft.CoverageReport
	source, project, questions string
	threshold                  float64
	ok                         bool
}

// coverageDocument is the JSON form.
type coverageDocument struct {
	Source    string          `json:"source"`
	Project   string          `json:"project"`
	Questions []coveredTask   `json:"questions"`
	Summary   coverageSummary `json:"summary"`
	Never     []string        `json:"unitsNeverFound"`
	OK        bool            `json:"ok"`
}

type coverageSummary struct {
	Questions int     `json:"questions"`
	Covered   int     `json:"covered"`
	Closed    int     `json:"closed"`
	Nothing   int     `json:"nothing"`
	Failed    int     `json:"failedExpectations"`
	Percent   float64 `json:"percent"`
	FailUnder float64 `json:"failUnder"`
}

type coveredTask struct {
	Line     int         `json:"line"`
	Task     string      `json:"task"`
	Outcome  string      `json:"outcome"`
	Selected []foundUnit `json:"selected"`
	Stopped  []foundUnit `json:"stopped"`
	Near     []nearTerm  `json:"near"`
	Failures []string    `json:"failures"`
}

type foundUnit struct {
	ID           string `json:"id"`
	Score        int    `json:"score"`
	LoadEligible bool   `json:"loadEligible"`
	Reason       string `json:"reason,omitzero"`
}

type nearTerm struct {
	Term  string     `json:"term"`
	Words []nearWord `json:"words"`
}

type nearWord struct {
	Word  string   `json:"word"`
	Units []string `json:"units"`
}

func (rep *coverageReport) document() coverageDocument {
	d := coverageDocument{Source: rep.source, Project: rep.project, OK: rep.ok, Never: asList(rep.NeverFound), Questions: []coveredTask{}}
	d.Summary = coverageSummary{len(rep.Answers), rep.Covered, rep.Closed, rep.Nothing, rep.Failed, rep.Percent(), rep.threshold}
	for i := range rep.Answers {
		a := &rep.Answers[i]
		t := coveredTask{Line: a.Line, Task: a.Task, Outcome: a.Outcome, Failures: asList(a.Failures)}
		t.Selected, t.Stopped, t.Near = foundUnits(a.Selected), foundUnits(a.Stopped), []nearTerm{}
		for _, n := range a.Near {
			term := nearTerm{n.Term, []nearWord{}}
			for _, w := range n.Words {
				term.Words = append(term.Words, nearWord(w))
			}
			t.Near = append(t.Near, term)
		}
		d.Questions = append(d.Questions, t)
	}
	return d
}

func foundUnits(list []draft.Found) []foundUnit {
	units := make([]foundUnit, len(list))
	for i, f := range list {
		units[i] = foundUnit(f)
	}
	return units
}

// asList gives a list that JSON shows as one, empty or not.
func asList(list []string) []string { return append([]string{}, list...) }

// coverageView writes a report for a person.
type coverageView struct {
	*page
	rep *coverageReport
}

func (v coverageView) write() {
	v.blank()
	v.line(0, in(bold, "Coverage "), name(plain, v.rep.source), in(dim, " · "+v.rep.project+" · "+counted(len(v.rep.Answers), "question")))
	v.blank()
	t := &table{indent: 2}
	for i := range v.rep.Answers {
		a := &v.rep.Answers[i]
		t.add(spans(outcomeMark(a), space, text(a.Task)), v.leadsTo(a))
	}
	v.questions(t)
	v.writeGrid()
	v.writeNothing()
	v.writeFailures()
	v.writeNever()
	v.blank()
	v.writeVerdict()
}

func outcomeMark(a *draft.Answer) span {
	switch {
	case len(a.Failures) > 0, a.Outcome == draft.Nothing:
		return markBad
	case a.Outcome == draft.Closed:
		return markBlocked
	}
	return markGood
}

// questions writes each question with what it leads to below it. A question is
// prose and may be long, so it gets the whole line.
func (v coverageView) questions(t *table) {
	for _, r := range t.rows {
		v.hang(2, 4, r[0]...)
		v.hang(4, 6, r[1]...)
	}
}

// shownUnits bounds the units that are named for a question.
const shownUnits = 4

func (v coverageView) leadsTo(a *draft.Answer) []span {
	if len(a.Selected) == 0 && len(a.Stopped) == 0 {
		return spans(in(dim, "nothing"))
	}
	var list []span
	comma := func() {
		if len(list) > 0 {
			list = append(list, text(", "))
		}
	}
	for _, f := range a.Selected[:min(shownUnits, len(a.Selected))] {
		comma()
		switch {
		case f.LoadEligible:
			list = append(list, name(plain, f.ID), in(dim, fmt.Sprintf(" %d", f.Score)))
		case a.Outcome == draft.Covered:
			list = append(list, name(yellow, markBlocked.text+" "+f.ID))
		default:
			list = append(list, name(yellow, markBlocked.text+" "+f.ID), in(dim, " must not be loaded: "+f.Reason))
		}
	}
	if more := len(a.Selected) - shownUnits; more > 0 {
		list = append(list, in(dim, fmt.Sprintf(", %d more", more)))
	}
	if a.Outcome == draft.Covered {
		return list
	}
	for _, f := range a.Stopped[:min(shownUnits, len(a.Stopped))] {
		comma()
		list = append(list, name(yellow, f.ID), in(dim, " "+f.Reason))
	}
	return list
}

// writeNothing names the nearest words for questions that find nothing.
func (v coverageView) writeNothing() {
	titled := false
	for i := range v.rep.Answers {
		a := &v.rep.Answers[i]
		if a.Outcome != draft.Nothing {
			continue
		}
		if !titled {
			v.heading("Nearest words", in(dim, "  add one of yours to the triggers of the unit that answers"))
			titled = true
		}
		v.hang(2, 4, in(bold, a.Task))
		for _, n := range a.Near {
			v.hang(4, 6, nearSpans(n)...)
		}
		if len(a.Near) == 0 {
			v.hang(4, 6, in(dim, "none of its words counts for matching"))
		}
	}
}

func nearSpans(n draft.Near) []span {
	list := spans(name(cyan, n.Term), text(" → "))
	if len(n.Words) == 0 {
		return append(list, in(dim, "no word like it"))
	}
	for i, w := range n.Words {
		if i > 0 {
			list = append(list, text(", "))
		}
		list = append(list, name(plain, w.Word), in(dim, " in "+strings.Join(w.Units, ", ")))
	}
	return list
}

func (v coverageView) writeFailures() {
	if v.rep.Failed == 0 {
		return
	}
	v.heading("Expectations that fail", in(dim, fmt.Sprintf("  %d", v.rep.Failed)))
	for i := range v.rep.Answers {
		a := &v.rep.Answers[i]
		for _, problem := range a.Failures {
			v.hang(2, 4, markBad, space, name(cyan, fmt.Sprintf("%s:%d", v.rep.questions, a.Line)), space, text(problem))
		}
	}
}

func (v coverageView) writeNever() {
	if len(v.rep.NeverFound) == 0 {
		return
	}
	v.heading("Units that no question leads to", in(dim, fmt.Sprintf("  %d", len(v.rep.NeverFound))))
	v.line(2, text(strings.Join(v.rep.NeverFound, ", ")))
}

func (v coverageView) writeVerdict() {
	counts := fmt.Sprintf("  %d of %d questions covered, %.0f%%", v.rep.Covered, len(v.rep.Answers), v.rep.Percent())
	if v.rep.Closed > 0 {
		counts += fmt.Sprintf(" · %d closed", v.rep.Closed)
	}
	if v.rep.Nothing > 0 {
		counts += fmt.Sprintf(" · %d nothing", v.rep.Nothing)
	}
	switch {
	case v.rep.Failed > 0:
		v.line(0, markBad, space, in(bold, "failed"), text(counts))
	case !v.rep.ok:
		v.line(0, markBad, space, in(bold, fmt.Sprintf("under %g%%", v.rep.threshold)), text(counts))
	default:
		v.line(0, markGood, space, in(bold, "good"), text(counts))
	}
}

// mostColumns bounds the grid: beyond it nobody follows a column.
const mostColumns = 24

// writeGrid draws which question leads to which unit, where that fits.
func (v coverageView) writeGrid() {
	var units []string
	column := map[string]int{}
	for i := range v.rep.Answers {
		for _, f := range v.rep.Answers[i].Selected {
			if _, ok := column[f.ID]; !ok {
				column[f.ID] = len(units)
				units = append(units, f.ID)
			}
		}
	}
	stairs := 0
	for i, id := range units {
		stairs = max(stairs, 2*i+columns(visible(id)))
	}
	const left = len("  0000")
	if len(units) < 2 || len(units) > mostColumns || left+gutter+stairs > v.width {
		return
	}
	v.heading("Grid", in(dim, "  lines of the file and units"))
	for i, id := range units {
		v.pad(left + gutter)
		v.put(in(dim, strings.Repeat("│ ", i)))
		v.put(name(plain, id))
		v.blank()
	}
	for i := range v.rep.Answers {
		v.gridRow(&v.rep.Answers[i], column, len(units), left)
	}
}

func (v coverageView) gridRow(a *draft.Answer, column map[string]int, n, left int) {
	marks := make([]span, n)
	for i := range marks {
		marks[i] = markNote
	}
	for _, f := range a.Selected {
		marks[column[f.ID]] = span{text: "●", style: green}
		if !f.LoadEligible {
			marks[column[f.ID]] = markBlocked
		}
	}
	v.put(in(dim, fmt.Sprintf("%*d", left, a.Line)))
	v.pad(gutter)
	for i, m := range marks {
		if i > 0 {
			v.put(space)
		}
		v.put(m)
	}
	v.blank()
}
