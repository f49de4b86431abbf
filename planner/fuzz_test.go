package planner_test

import (
	"bytes"
	"testing"

	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/planner"
)

// FuzzPlan plans whatever parses: no manifest may end a plan, give two plans,
// or let a restricted unit through without a credential.
func FuzzPlan(f *testing.F) {
	f.Add([]byte(whyManifest), "alpha deploy", "2026-07-06")
	f.Add([]byte("units: [{id: a, intent: alpha, temporal: {superseded_by: a}}]"), "alpha", "")
	f.Add([]byte("units: [{id: a, kind: playbook, steps: [{id: s, uses: a, escalation: x}], action_scope: {deny: {paths: ['?']}}}]"), "a b c", "x")
	f.Fuzz(func(t *testing.T, data []byte, task, asOf string) {
		m, _, err := kcp.Parse(data, "fuzz.yaml")
		if err != nil || len(m.Units) > 50 {
			return
		}
		o := planner.Options{AsOf: asOf, Budget: &planner.Budget{Amount: 1}, ContextBudget: number(100), GrantCeiling: text("suggest"),
			Spend: &planner.SpendProposal{Amount: number(1), Vendor: text("acme")}, Action: &planner.Action{Path: text("a/../b"), Tool: text("rm")},
			Capabilities: planner.Capabilities{PaymentMethods: []string{"free", "x402"}}}
		plan, trace := planner.Plan(m, task, o)
		first, err := plan.JSON("")
		if err != nil {
			t.Fatal(err)
		}
		again, _ := planner.Plan(m, task, o)
		if second, _ := again.JSON(""); !bytes.Equal(first, second) {
			t.Fatal("two plans differ")
		}
		if _, err := trace.JSON(""); err != nil {
			t.Fatal(err)
		}
		for _, s := range plan.Selected {
			if u := m.Names().Unit(s.ID); s.LoadEligible && u.Access.Set && u.Access.Value != "public" && u.Access.Value != "authenticated" {
				t.Fatalf("%s is eligible without a credential", s.ID)
			}
			if s.LoadEligible {
				if _, err := planner.Why(m, task, o, s.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
		if v, err := planner.Recheck(first, m); err != nil || v.Status != planner.Identical {
			t.Fatalf("%+v %v", v, err)
		}
	})
}
