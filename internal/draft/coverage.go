package draft

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/planner"
)

// Question is one line of a file of expected questions.
type Question struct {
	Line   int // from 1
	Task   string
	Expect []Expectation
}

// Expectation is a unit that a question must find, or must not.
type Expectation struct {
	ID  string
	Not bool
}

// QuestionError is a line that cannot be understood.
type QuestionError struct {
	Line    int
	Problem string
}

func (e *QuestionError) Error() string { return fmt.Sprintf("%d: %s", e.Line, e.Problem) }

// ReadQuestions reads one question a line:
//
//	# a comment
//	how do I install it?
//	how do I install it? => install, !install-v2
//
// Behind => stand the ids of units that the plan must select; one with ! must
// not be selected. Blank lines count for nothing.
func ReadQuestions(text string) ([]Question, error) {
	var list []Question
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(strings.ToValidUTF8(text, "\ufffd"), "\ufeff")) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		task, expected, has := strings.Cut(line, "=>")
		q := Question{Line: number, Task: strings.TrimSpace(task)}
		if q.Task == "" {
			return nil, &QuestionError{number, "there is no question before =>"}
		}
		if has {
			var err error
			if q.Expect, err = expectations(expected, number); err != nil {
				return nil, err
			}
		}
		list = append(list, q)
	}
	return list, nil
}

func expectations(text string, line int) ([]Expectation, error) {
	var list []Expectation
	for id := range strings.SplitSeq(text, ",") {
		id, not := strings.CutPrefix(strings.TrimSpace(id), "!")
		if id = strings.TrimSpace(id); id == "" {
			return nil, &QuestionError{line, "there is no unit id behind =>; write one, such as => install"}
		}
		list = append(list, Expectation{id, not})
	}
	return list, nil
}

// The outcomes of a question.
const (
	Covered = "covered" // at least one unit is selected and may be loaded
	Closed  = "closed"  // units are about the question, and none may be loaded
	Nothing = "nothing" // no unit is about the question
)

// Answer says what one question finds.
type Answer struct {
	Question
	Outcome  string
	Selected []Found
	Stopped  []Found // at most mostStopped units that are about the question and are not selected
	Near     []Near  // for the words of a question that finds nothing
	Failures []string
}

// Found is a unit that a question leads to.
type Found struct {
	ID           string
	Score        int
	LoadEligible bool
	Reason       string // why it is not selected, or may not be loaded
}

// Near are the words of the manifest that are nearest to a word of a question.
type Near struct {
	Term  string
	Words []NearWord
}

// NearWord is a word of triggers and intents, and the first units that have it.
type NearWord struct {
	Word  string
	Units []string
}

// CoverageReport is the coverage of a manifest by questions.
type CoverageReport struct {
	Answers                  []Answer
	Covered, Closed, Nothing int
	Failed                   int      // questions with an expectation that does not hold
	NeverFound               []string // ids of units that no question leads to
}

// Percent is the share of the questions that are covered, 100 when there are
// none.
func (r *CoverageReport) Percent() float64 {
	if len(r.Answers) == 0 {
		return 100
	}
	return 100 * float64(r.Covered) / float64(len(r.Answers))
}

// Cover plans every question with the same options.
func Cover(m *kcp.Manifest, questions []Question, o planner.Options) *CoverageReport {
	c := &coverage{manifest: m, ids: map[string]bool{}, found: map[string]bool{}, report: &CoverageReport{}}
	for i := range m.Units {
		c.ids[m.Units[i].ID] = true
	}
	for _, q := range questions {
		plan, trace := planner.Plan(m, q.Task, o)
		c.add(c.answer(q, plan, trace))
	}
	for i := range m.Units {
		if id := m.Units[i].ID; !c.found[id] && !slices.Contains(c.report.NeverFound, id) {
			c.report.NeverFound = append(c.report.NeverFound, id)
		}
	}
	return c.report
}

type coverage struct {
	manifest *kcp.Manifest
	ids      map[string]bool
	found    map[string]bool
	words    *vocabulary // of the manifest, once a question finds nothing
	report   *CoverageReport
}

func (c *coverage) add(a Answer) {
	switch a.Outcome {
	case Covered:
		c.report.Covered++
	case Closed:
		c.report.Closed++
	default:
		c.report.Nothing++
	}
	if len(a.Failures) > 0 {
		c.report.Failed++
	}
	c.report.Answers = append(c.report.Answers, a)
}

// mostStopped bounds the units that are named for one question.
const mostStopped = 5

func (c *coverage) answer(q Question, plan *planner.LoadPlan, trace *planner.Trace) Answer {
	a := Answer{Question: q, Outcome: Nothing}
	for i := range plan.Selected {
		s := &plan.Selected[i]
		c.found[s.ID] = true
		f := Found{ID: s.ID, Score: s.Score, LoadEligible: s.LoadEligible}
		if !f.LoadEligible {
			f.Reason = s.Reasons[len(s.Reasons)-1]
		}
		a.Selected = append(a.Selected, f)
		switch {
		case s.LoadEligible:
			a.Outcome = Covered
		case a.Outcome == Nothing:
			a.Outcome = Closed
		}
	}
	about := c.stopped(&a, trace)
	if about && a.Outcome == Nothing {
		a.Outcome = Closed
	}
	if a.Outcome == Nothing {
		if c.words == nil {
			c.words = newVocabulary(c.manifest)
		}
		a.Near = c.words.near(trace.Terms())
	}
	a.Failures = c.failures(&a)
	return a
}

// stopped lists units that the question is about and that the plan leaves out.
// The gates before relevance do not score, so those units are scored by the
// words alone.
func (c *coverage) stopped(a *Answer, trace *planner.Trace) bool {
	about := false
	terms := trace.Terms()
	for i, u := range trace.Units() {
		if u.Outcome == planner.OutcomeSelected || u.RejectedBy == "relevance" {
			continue
		}
		if u.Score == 0 && !mentions(&c.manifest.Units[i], terms) {
			continue
		}
		about = true
		if len(a.Stopped) < mostStopped {
			a.Stopped = append(a.Stopped, Found{ID: u.ID, Score: u.Score, Reason: u.RejectedBy + ": " + u.Gates[len(u.Gates)-1].Detail})
		}
	}
	return about
}

// failures says which expectations do not hold.
func (c *coverage) failures(a *Answer) []string {
	var list []string
	for _, e := range a.Expect {
		selected := slices.ContainsFunc(a.Selected, func(f Found) bool { return f.ID == e.ID })
		stopped := slices.IndexFunc(a.Stopped, func(f Found) bool { return f.ID == e.ID })
		switch {
		case !c.ids[e.ID]:
			list = append(list, "there is no unit "+e.ID)
		case e.Not && selected:
			list = append(list, e.ID+" must not be selected, and is")
		case e.Not || selected:
		case stopped >= 0:
			list = append(list, e.ID+" is not selected; "+a.Stopped[stopped].Reason)
		default:
			list = append(list, e.ID+" is not selected; none of its words is in the question")
		}
	}
	return list
}
