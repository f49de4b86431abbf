package planner_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/planner"
)

const propertyTask = "alpha beta deploy"

func text(s string) kcp.String    { return kcp.String{Value: s, Set: true} }
func number(x float64) kcp.Number { return kcp.Number{Value: x, Set: true} }

// oneOf draws one of the values, the first most often.
func oneOf[T any](t *rapid.T, label string, values ...T) T {
	return values[rapid.IntRange(0, len(values)-1).Draw(t, label)]
}

func optional(t *rapid.T, label string, values ...string) kcp.String {
	if v := oneOf(t, label, append([]string{""}, values...)...); v != "" {
		return text(v)
	}
	return kcp.String{}
}

func list(t *rapid.T, label string, values ...string) kcp.List {
	items := rapid.SliceOfN(rapid.SampledFrom(values), 0, 2).Draw(t, label)
	return kcp.List{Items: items, Declared: len(items) > 0}
}

var (
	days   = []string{"2025-01-01", "2026-07-05", "2026-07-06", "2026-07-07", "2027-01-01"}
	levels = []string{"observe", "suggest", "prepare", "commit"}
)

// drawUnit makes a well-formed unit that meets many gates.
func drawUnit(t *rapid.T, i int) kcp.Unit {
	u := kcp.Unit{
		Index:      i,
		ID:         fmt.Sprintf("u%d", i),
		Path:       fmt.Sprintf("u%d.md", i),
		Intent:     oneOf(t, "intent", "alpha", "beta alpha", "gamma", "how to deploy"),
		Audience:   list(t, "audience", "agent", "human", "operator"),
		Triggers:   list(t, "triggers", "alpha", "deploy", "zeta"),
		NotFor:     list(t, "not_for", "beta topics", "unrelated", "unrelated"),
		Access:     optional(t, "access", "public", "authenticated", "restricted"),
		Kind:       optional(t, "kind", "knowledge", "skill", "playbook"),
		SizeTokens: oneOf(t, "size", kcp.Number{}, number(10), number(40), number(100)),
	}
	if rapid.Bool().Draw(t, "has window") {
		u.Temporal = &kcp.Temporal{
			ValidFrom:    optional(t, "from", days...),
			ValidUntil:   optional(t, "until", days...),
			SupersededBy: optional(t, "successor", "u0", "u1", "u2", "u3"),
			RecordedAt:   optional(t, "recorded", days...),
		}
	}
	if rapid.Bool().Draw(t, "is paid") {
		u.Payment = &kcp.Payment{MethodsDeclared: true, Methods: []kcp.PaymentMethod{{
			Type:            oneOf(t, "method", "x402", "meter"),
			Currency:        text(oneOf(t, "currency", "USDC", "USDC", "EUR")),
			PricePerRequest: text(oneOf(t, "price", "0.1", "0.25", "0.3", "1")),
		}}}
	}
	drawProcedure(t, &u)
	return u
}

// drawProcedure gives a skill or playbook its scope and steps.
func drawProcedure(t *rapid.T, u *kcp.Unit) {
	if !u.Governed() {
		return
	}
	granted := rapid.Bool().Draw(t, "granted")
	u.LoadEligible = kcp.Bool{Declared: granted, Value: granted}
	u.AuthorityLevel = optional(t, "unit level", levels...)
	u.ActionScope = &kcp.ActionScope{Tools: kcp.List{Items: []string{"ls"}, Declared: true}}
	if rapid.Bool().Draw(t, "has spend") {
		u.ActionScope.Spend = &kcp.Spend{MaxSpend: number(oneOf(t, "max spend", 1.0, 5, 20)), AllowedVendors: list(t, "vendors", "acme", "other"), Currency: text("EUR")}
	}
	if rapid.Bool().Draw(t, "has deny") {
		u.ActionScope.Deny = &kcp.Deny{Tools: list(t, "deny tools", "rm", "ls"), Paths: list(t, "deny paths", "legal/**", "a.txt")}
	}
	if u.Kind.Value == "playbook" {
		u.StepsDeclared = true
		for i := range rapid.IntRange(0, 2).Draw(t, "steps") {
			u.Steps = append(u.Steps, kcp.Step{
				Index: i, ID: fmt.Sprintf("s%d", i), Uses: optional(t, "uses", "u0", "u1", "u2"),
				AuthorityLevel: optional(t, "step level", levels...), Escalation: list(t, "escalation", "requires_approval", "insufficient_authority_level"),
			})
		}
	}
}

func drawManifest(t *rapid.T, most int) *kcp.Manifest {
	m := &kcp.Manifest{Project: "p", Version: "1.0.0", Source: "p.yaml"}
	for i := range rapid.IntRange(1, most).Draw(t, "units") {
		m.Units = append(m.Units, drawUnit(t, i))
	}
	if rapid.Bool().Draw(t, "attestation") {
		m.Trust = kcp.Trust{Declared: true, Requirements: &kcp.AgentRequirements{
			RequireAttestation: kcp.Bool{Declared: true, Value: true}, TrustedProviders: kcp.List{Items: []string{"tp"}, Declared: true}}}
	}
	return m
}

func drawOptions(t *rapid.T) planner.Options {
	o := planner.Options{
		AsOf:     oneOf(t, "as of", days...),
		KnownAt:  oneOf(t, "known at", append([]string{""}, days...)...),
		Strict:   rapid.Bool().Draw(t, "strict"),
		MaxUnits: oneOf(t, "max units", kcp.Number{}, number(1), number(2)),
		Capabilities: planner.Capabilities{
			Role:           oneOf(t, "role", "agent", "human"),
			PaymentMethods: oneOf(t, "methods", []string{"free"}, []string{"free", "x402"}),
			Credentials:    oneOf(t, "credentials", nil, []string{"key"}),
		},
		ContextBudget: oneOf(t, "context", kcp.Number{}, number(50), number(120)),
		GrantCeiling:  optional(t, "ceiling", levels...),
	}
	if rapid.Bool().Draw(t, "attests") {
		o.Capabilities.AttestationProvider = text("tp")
	}
	if rapid.Bool().Draw(t, "has budget") {
		o.Budget = &planner.Budget{Amount: oneOf(t, "budget", 0, 0.2, 0.4, 1)}
	}
	if rapid.Bool().Draw(t, "spends") {
		o.Spend = &planner.SpendProposal{Amount: number(oneOf(t, "spend", 1.0, 5, 10)), Vendor: optional(t, "vendor", "acme"), Currency: text("EUR")}
	}
	if rapid.Bool().Draw(t, "acts") {
		o.Action = &planner.Action{Tool: text(oneOf(t, "tool", "ls", "rm")), Path: optional(t, "path", "legal/x", "docs/x")}
	}
	return o
}

// eligible lists the units a plan would load.
func eligible(plan *planner.LoadPlan) []string {
	var ids []string
	for _, s := range plan.Selected {
		if s.LoadEligible {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

func TestPlanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, o := drawManifest(t, 6), drawOptions(t)
		plan, trace := planner.Plan(m, propertyTask, o)
		again, _ := planner.Plan(m, propertyTask, o)
		first, _ := plan.JSON("")
		second, _ := again.JSON("")
		if !bytes.Equal(first, second) {
			t.Fatalf("two plans differ:\n%s\n%s", first, second)
		}
		if b := o.Budget; b != nil && plan.Budget.ProjectedSpend.Value > b.Amount+1e-9 {
			t.Fatalf("projected %v exceeds the ceiling %v", plan.Budget.ProjectedSpend.Value, b.Amount)
		}
		if o.ContextBudget.Set && plan.Context.ProjectedTokens.Value > o.ContextBudget.Value+1e-9 {
			t.Fatalf("projected %v tokens exceed the ceiling %v", plan.Context.ProjectedTokens.Value, o.ContextBudget.Value)
		}
		everyUnitOnce(t, m, plan, trace)
		for _, s := range plan.Selected {
			u, _ := m.Lookup(s.ID)
			if s.LoadEligible && u.Access.Value == "restricted" && len(o.Capabilities.Credentials) == 0 {
				t.Fatalf("restricted %s is eligible without a credential", s.ID)
			}
		}
	})
}

// everyUnitOnce checks that a unit is selected, skipped or past the cap, and
// that the trace says the same.
func everyUnitOnce(t *rapid.T, m *kcp.Manifest, plan *planner.LoadPlan, trace *planner.Trace) {
	where := map[string]int{}
	for _, s := range plan.Selected {
		where[s.ID]++
	}
	for _, s := range plan.Skipped {
		where[s.ID]++
	}
	selected := map[string]bool{}
	for _, s := range plan.Selected {
		selected[s.ID] = true
	}
	for _, u := range trace.Units() {
		if u.RejectedBy == "max_units" {
			where[u.ID]++
		}
		if (u.Outcome == planner.OutcomeSelected) != selected[u.ID] {
			t.Fatalf("the trace calls %s %s", u.ID, u.Outcome)
		}
		last := u.Gates[len(u.Gates)-1]
		if last.Passed == (u.RejectedBy != "") {
			t.Fatalf("%s ends at %v but is rejected by %q", u.ID, last, u.RejectedBy)
		}
	}
	for i := range m.Units {
		if id := m.Units[i].ID; where[id] != 1 {
			t.Fatalf("unit %s is in %d places", id, where[id])
		}
	}
}

// What was recorded later changes nothing that a plan loads.
func TestLaterRecordsDoNotLeak(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, o := drawManifest(t, 6), drawOptions(t)
		if o.KnownAt == "" {
			o.KnownAt = "2026-07-05"
		}
		with, _ := planner.Plan(m, propertyTask, o)
		view := m.View(kcp.Moment{KnownAt: o.KnownAt})
		then := *m
		then.Units = nil
		for i := range m.Units {
			if view.Known(&m.Units[i]) {
				then.Units = append(then.Units, m.Units[i])
			}
		}
		for i := range then.Units {
			if slices.ContainsFunc(then.Units[i].Steps, func(s kcp.Step) bool { return s.Uses.Set }) {
				return // a step may name a unit of any age
			}
		}
		without, _ := planner.Plan(&then, propertyTask, o)
		if d := cmp.Diff(without.Selected, with.Selected); d != "" {
			t.Fatal(d)
		}
	})
}

// A deny or a lower ceiling never opens anything. Caps are lifted, since one
// unit's refusal rightly leaves room for another.
func TestDenyAndCeilingNeverOpen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, o := drawManifest(t, 6), drawOptions(t)
		o.MaxUnits, o.Budget, o.ContextBudget = number(math.NaN()), nil, kcp.Number{}
		before, _ := planner.Plan(m, propertyTask, o)

		lower := o
		lower.GrantCeiling = text("observe")
		after, _ := planner.Plan(m, propertyTask, lower)
		opensNothing(t, "a lower ceiling", before, after)

		denied := *m
		denied.Units = slices.Clone(m.Units)
		i := rapid.IntRange(0, len(m.Units)-1).Draw(t, "denied unit")
		if scope := denied.Units[i].ActionScope; scope != nil {
			changed := *scope
			deny := kcp.Deny{}
			if scope.Deny != nil {
				deny = *scope.Deny
			}
			deny.Tools = kcp.List{Items: append(slices.Clone(deny.Tools.Items), "ls", "rm"), Declared: true}
			changed.Deny = &deny
			denied.Units[i].ActionScope = &changed
		}
		after, _ = planner.Plan(&denied, propertyTask, o)
		opensNothing(t, "a deny", before, after)
	})
}

func opensNothing(t *rapid.T, what string, before, after *planner.LoadPlan) {
	open := eligible(before)
	for _, id := range eligible(after) {
		if !slices.Contains(open, id) {
			t.Fatalf("%s opened %s", what, id)
		}
	}
}

// A plan changes neither the manifest nor the caller's options.
func TestPlanLeavesItsInputsAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		draw := func(t *rapid.T) *kcp.Manifest { return drawManifest(t, 4) }
		m := rapid.Custom(draw).Example(int(seed % 1000))
		same := rapid.Custom(draw).Example(int(seed % 1000))
		o := drawOptions(t)
		before, _ := artifact.Encode(planner.EchoedOptions{Capabilities: o.Capabilities, Budget: o.Budget, Spend: o.Spend, Action: o.Action})
		planner.Plan(m, propertyTask, o)
		for i := range m.Units {
			planner.Why(m, propertyTask, o, m.Units[i].ID)
		}
		after, _ := artifact.Encode(planner.EchoedOptions{Capabilities: o.Capabilities, Budget: o.Budget, Spend: o.Spend, Action: o.Action})
		if d := cmp.Diff(same, m, cmp.AllowUnexported(kcp.Manifest{})); d != "" {
			t.Fatal(d)
		}
		if !bytes.Equal(before, after) {
			t.Fatalf("options changed: %s %s", before, after)
		}
	})
}

// A saved plan replays, and one with a single field edited drifts in it.
func TestRecheckProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, o := drawManifest(t, 5), drawOptions(t)
		plan, _ := planner.Plan(m, propertyTask, o)
		saved, err := plan.JSON(oneOf(t, "correlation", "", "req-7"))
		if err != nil {
			t.Fatal(err)
		}
		v, err := planner.Recheck(saved, m)
		if err != nil || v.Status != planner.Identical {
			t.Fatalf("%+v %v\n%s", v, err, saved)
		}
		edited := *plan
		edited.Warnings = append(slices.Clone(plan.Warnings), "edited")
		saved, _ = edited.JSON("")
		v, err = planner.Recheck(saved, m)
		if err != nil || v.Status != planner.Drifted || !slices.Equal(v.Fields, []string{"warnings"}) {
			t.Fatalf("%+v %v", v, err)
		}
	})
}
