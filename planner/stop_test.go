package planner_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/planner"
)

// TestStopsSayWhatThePlanSays: every unit is either selected and eligible or
// stopped, each once, and the gate and reason are those of Why.
func TestStopsSayWhatThePlanSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, o := drawManifest(t, 6), drawOptions(t)
		plan, trace := planner.Plan(m, propertyTask, o)
		selected, open := map[string]bool{}, 0
		for _, s := range plan.Selected {
			selected[s.ID] = true
			if s.LoadEligible {
				open++
			}
		}
		stops := 0
		for s := range trace.Stops() {
			stops++
			why, err := planner.Why(m, propertyTask, o, s.ID)
			if err != nil {
				t.Fatal(err)
			}
			if s.Gate == "" || s.Gate != why.Gate || s.Reason != why.Reason || s.Selected != selected[s.ID] {
				t.Fatalf("%+v, the plan selects it: %v, why: %s: %s", s, selected[s.ID], why.Gate, why.Reason)
			}
			if s.Relevant != relevant(m, s.ID) {
				t.Fatalf("%+v", s)
			}
		}
		if stops+open != len(m.Units) {
			t.Fatalf("%d stopped and %d to load, of %d units", stops, open, len(m.Units))
		}
	})
}

// relevant reports whether a unit would be in a plan if only relevance mattered.
func relevant(m *kcp.Manifest, id string) bool {
	i := slices.IndexFunc(m.Units, func(u kcp.Unit) bool { return u.ID == id })
	u := m.Units[i]
	alone := &kcp.Manifest{Units: []kcp.Unit{{ID: u.ID, Path: u.Path, Intent: u.Intent, Triggers: u.Triggers}}}
	plan, _ := planner.Plan(alone, propertyTask, planner.Options{})
	return len(plan.Selected) == 1
}

// TestStopsEnd: whoever breaks off the loop gets no more.
func TestStopsEnd(t *testing.T) {
	_, trace := planner.Plan(parse(t, "project: p\nunits:\n  - {id: a, path: a.md, intent: x}\n  - {id: b, path: b.md, intent: x}\n", "m"), "task", planner.Options{})
	seen := 0
	for s := range trace.Stops() {
		if seen++; s.ID != "a" || s.Gate != "relevance" {
			t.Errorf("%+v", s)
		}
		break
	}
	if seen != 1 {
		t.Errorf("%d stops", seen)
	}
}
