package kcp

import (
	"reflect"
	"testing"
)

// FuzzCompose includes one manifest in another and holds what must always be so.
func FuzzCompose(f *testing.F) {
	f.Add("composition: {includes: [{source: b/k.yaml, as: b}]}\n"+plainUnit, skillUnits)
	f.Add(composing("  includes: [{source: b/k.yaml}]\n  overrides: [{id: act, path: ../x, kind: skill}]\n  excludes: [{id: text}]\n", plainUnit), skillUnits)
	f.Add(composing("  includes: [{source: b/k.yaml, as: ':'}]\n", "  - {id: text, kind: playbook, load_eligible: true, steps: [{id: s, uses: act}]}\n"),
		"temporal: {superseded_by: act}\ndelegation: {max_depth: 1}\nrelationships: [{from: act, to: text, type: governs}]"+skillUnits)
	f.Fuzz(func(t *testing.T, text, included string) {
		m, _, err := Parse([]byte(text), "d/k.yaml")
		other, _, err2 := Parse([]byte(included), "d/b/k.yaml")
		if err != nil || err2 != nil || m.Composition == nil {
			return
		}
		before, otherBefore := append([]Unit(nil), m.Units...), append([]Unit(nil), other.Units...)
		out, findings := Compose(m, []Included{{Manifest: other}, {Manifest: other, State: IncludeFailed}})
		if !reflect.DeepEqual(m.Units, before) || !reflect.DeepEqual(other.Units, otherBefore) {
			t.Fatal("an argument changed")
		}
		own := map[string]bool{}
		for i := range before {
			own[before[i].ID] = true
			got := out.Units[i]
			if got.LoadEligible.Grants() && !before[i].LoadEligible.Grants() {
				t.Fatal("a local unit got a grant")
			}
			got.LoadEligible = before[i].LoadEligible
			if !reflect.DeepEqual(got, before[i]) {
				t.Fatalf("the local unit %q changed", before[i].ID)
			}
		}
		for i := range out.Units[len(before):] {
			u := &out.Units[len(before)+i]
			if own[u.ID] {
				t.Fatalf("the included unit %q has the id of a local one", u.ID)
			}
			if u.Governed() && u.LoadEligible.Grants() {
				t.Fatalf("the unverified unit %q has a grant", u.ID)
			}
		}
		if out.Composition != nil || out.Digest() != m.Digest() {
			t.Fatal("the result is of another file")
		}
		for _, finding := range findings {
			out.Position(finding.Path)
		}
		Validate(out, ValidateOptions{Rules: Spec})
	})
}
