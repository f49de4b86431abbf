package planner

import (
	"errors"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
)

// PlanDiff is what differs between two plans.
type PlanDiff struct {
	A              PlanHead       `json:"a"`
	B              PlanHead       `json:"b"`
	Identical      bool           `json:"identical"`
	Moves          []Move         `json:"moves"`
	ScoreChanges   []ScoreChange  `json:"scoreChanges"`
	Presence       []Presence     `json:"presence"`
	BudgetShifts   []Shift        `json:"budgetShifts"`
	ReasonChanges  []ReasonChange `json:"reasonChanges"`
	WarningChanges WarningChanges `json:"warningChanges"`
}

// PlanHead identifies one of the two plans.
type PlanHead struct {
	Project string `json:"project"`
	Version string `json:"version"`
	Task    string `json:"task"`
	AsOf    string `json:"asOf"`
}

// Move is a unit that was selected in one plan and skipped in the other.
type Move struct {
	ID        string `json:"id"`
	Direction string `json:"direction"` // selected_to_skipped or skipped_to_selected
	From      Place  `json:"from"`
	To        Place  `json:"to"`
}

// Place is where a unit stood: its score when selected, else the reason.
type Place struct {
	Score  kcp.Number `json:"score,omitzero"`
	Reason kcp.String `json:"reason,omitzero"`
}

// ScoreChange is a unit selected in both plans with another score.
type ScoreChange struct {
	ID     string  `json:"id"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Delta  float64 `json:"delta"`
}

// Presence is a unit that only one plan mentions.
type Presence struct {
	ID   string `json:"id"`
	Side string `json:"side"` // a_only or b_only
}

// Shift is a number of the budget or context block that moved.
type Shift struct {
	Field  string     `json:"field"`
	Before kcp.Number `json:"before,omitzero"`
	After  kcp.Number `json:"after,omitzero"`
}

// ReasonChange is a unit skipped in both plans for another reason.
type ReasonChange struct {
	ID     string `json:"id"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// WarningChanges are the warnings that only one plan has.
type WarningChanges struct {
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
}

// Diff compares plan a with plan b. It looks at which units are selected, at
// scores, skip reasons, budgets and warnings.
func Diff(a, b *LoadPlan) *PlanDiff {
	return diffSummaries(summaryOf(a), summaryOf(b))
}

// DiffArtifacts compares two saved plans. A trace, a tree's root or an answer
// carries its plan under "plan"; that one is compared.
func DiffArtifacts(a, b []byte) (*PlanDiff, error) {
	before, err := readSummary(a)
	if err != nil {
		return nil, &ArtifactError{"first", err}
	}
	after, err := readSummary(b)
	if err != nil {
		return nil, &ArtifactError{"second", err}
	}
	return diffSummaries(before, after), nil
}

// ArtifactError says which of two artifacts could not be read.
type ArtifactError struct {
	Which string // "first" or "second"
	Err   error
}

func (e *ArtifactError) Error() string { return e.Which + " artifact: " + e.Err.Error() }

// Unwrap gives the reason.
func (e *ArtifactError) Unwrap() error { return e.Err }

// planSummary is the part of a plan that Diff looks at.
type planSummary struct {
	Task     string `json:"task"`
	AsOf     string `json:"asOf"`
	Manifest struct {
		Project string `json:"project"`
		Version string `json:"version"`
	} `json:"manifest"`
	Selected []struct {
		ID    string  `json:"id"`
		Score float64 `json:"score"`
	} `json:"selected"`
	Skipped []struct {
		ID     string `json:"id"`
		Reason string `json:"reason"`
	} `json:"skipped"`
	Budget struct {
		Ceiling        kcp.Number `json:"ceiling"`
		ProjectedSpend kcp.Number `json:"projectedSpend"`
		Remaining      kcp.Number `json:"remaining"`
	} `json:"budget"`
	Context struct {
		Ceiling         kcp.Number `json:"ceiling"`
		ProjectedTokens kcp.Number `json:"projectedTokens"`
		Remaining       kcp.Number `json:"remaining"`
	} `json:"context"`
	Warnings []string `json:"warnings"`
}

var errNotAPlan = errors.New("not a plan: expected the JSON output of `plan --json`")

func readSummary(data []byte) (*planSummary, error) {
	v, err := artifact.ParseValue(data)
	if err != nil {
		return nil, err
	}
	if inner, ok := v.Get("plan"); ok && inner.Kind() == artifact.KindObject {
		v = inner
	}
	_, hasTask := v.Get("task")
	if selected, ok := v.Get("selected"); !ok || selected.Kind() != artifact.KindArray || !hasTask {
		return nil, errNotAPlan
	}
	s := new(planSummary)
	if err := artifact.Decode(v.AppendCompact(nil), s, artifact.IgnoreUnknown); err != nil {
		return nil, err
	}
	return s, nil
}

// summaryOf reads a plan as Diff reads a saved one.
func summaryOf(p *LoadPlan) *planSummary {
	s := &planSummary{Task: p.Task, AsOf: p.AsOf, Warnings: p.Warnings}
	s.Manifest.Project, s.Manifest.Version = p.Manifest.Project, p.Manifest.Version
	for i := range p.Selected {
		s.Selected = append(s.Selected, struct {
			ID    string  `json:"id"`
			Score float64 `json:"score"`
		}{p.Selected[i].ID, float64(p.Selected[i].Score)})
	}
	for i := range p.Skipped {
		s.Skipped = append(s.Skipped, struct {
			ID     string `json:"id"`
			Reason string `json:"reason"`
		}{p.Skipped[i].ID, p.Skipped[i].Reason})
	}
	s.Budget.Ceiling, s.Budget.ProjectedSpend, s.Budget.Remaining = p.Budget.Ceiling, p.Budget.ProjectedSpend, p.Budget.Remaining
	s.Context.Ceiling, s.Context.ProjectedTokens, s.Context.Remaining = p.Context.Ceiling, p.Context.ProjectedTokens, p.Context.Remaining
	return s
}

func diffSummaries(a, b *planSummary) *PlanDiff {
	d := &PlanDiff{A: a.head(), B: b.head(), Moves: []Move{}, ScoreChanges: []ScoreChange{}, Presence: []Presence{}, ReasonChanges: []ReasonChange{}}
	inA, inB := a.places(), b.places()
	for _, id := range mentioned(a, b) {
		d.compareUnit(id, inA[id], inB[id])
	}
	d.BudgetShifts = budgetShifts(a, b)
	d.WarningChanges = WarningChanges{Added: missingFrom(a.Warnings, b.Warnings), Removed: missingFrom(b.Warnings, a.Warnings)}
	d.Identical = len(d.Moves)+len(d.ScoreChanges)+len(d.Presence)+len(d.BudgetShifts)+len(d.ReasonChanges)+
		len(d.WarningChanges.Added)+len(d.WarningChanges.Removed) == 0
	return d
}

func (s *planSummary) head() PlanHead {
	return PlanHead{s.Manifest.Project, s.Manifest.Version, s.Task, s.AsOf}
}

// places says where each unit stands. The last entry of an id counts, apart
// for selected and skipped.
func (s *planSummary) places() map[string]Place {
	places := make(map[string]Place, len(s.Selected)+len(s.Skipped))
	for _, e := range s.Skipped {
		places[e.ID] = Place{Reason: kcp.String{Value: e.Reason, Set: true}}
	}
	for _, e := range s.Selected {
		place := places[e.ID]
		place.Score = number(e.Score)
		places[e.ID] = place
	}
	return places
}

// mentioned lists every id once: A's selected, A's skipped, then what is new
// in B.
func mentioned(a, b *planSummary) []string {
	var ids []string
	seen := map[string]bool{}
	add := func(id string) {
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	for _, s := range []*planSummary{a, b} {
		for _, e := range s.Selected {
			add(e.ID)
		}
		for _, e := range s.Skipped {
			add(e.ID)
		}
	}
	return ids
}

func (d *PlanDiff) compareUnit(id string, a, b Place) {
	inA, inB := a.Score.Set || a.Reason.Set, b.Score.Set || b.Reason.Set
	switch {
	case !inB:
		d.Presence = append(d.Presence, Presence{id, "a_only"})
		return
	case !inA:
		d.Presence = append(d.Presence, Presence{id, "b_only"})
		return
	}
	if a.Score.Set && b.Reason.Set {
		d.Moves = append(d.Moves, Move{id, "selected_to_skipped", Place{Score: a.Score}, Place{Reason: b.Reason}})
	}
	if a.Reason.Set && b.Score.Set {
		d.Moves = append(d.Moves, Move{id, "skipped_to_selected", Place{Reason: a.Reason}, Place{Score: b.Score}})
	}
	if a.Score.Set && b.Score.Set && a.Score.Value != b.Score.Value {
		d.ScoreChanges = append(d.ScoreChanges, ScoreChange{id, a.Score.Value, b.Score.Value, b.Score.Value - a.Score.Value})
	}
	if a.Reason.Set && b.Reason.Set && a.Reason.Value != b.Reason.Value {
		d.ReasonChanges = append(d.ReasonChanges, ReasonChange{id, a.Reason.Value, b.Reason.Value})
	}
}

func budgetShifts(a, b *planSummary) []Shift {
	shifts := []Shift{}
	for _, f := range []struct {
		field         string
		before, after kcp.Number
	}{
		{"budget.ceiling", a.Budget.Ceiling, b.Budget.Ceiling},
		{"budget.projectedSpend", a.Budget.ProjectedSpend, b.Budget.ProjectedSpend},
		{"budget.remaining", a.Budget.Remaining, b.Budget.Remaining},
		{"context.ceiling", a.Context.Ceiling, b.Context.Ceiling},
		{"context.projectedTokens", a.Context.ProjectedTokens, b.Context.ProjectedTokens},
		{"context.remaining", a.Context.Remaining, b.Context.Remaining},
	} {
		if f.before != f.after {
			shifts = append(shifts, Shift{f.field, f.before, f.after})
		}
	}
	return shifts
}

// missingFrom lists the entries of list that known lacks, in order.
func missingFrom(known, list []string) []string {
	has := make(map[string]bool, len(known))
	for _, w := range known {
		has[w] = true
	}
	missing := []string{}
	for _, w := range list {
		if !has[w] {
			missing = append(missing, w)
		}
	}
	return missing
}
