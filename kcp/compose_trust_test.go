package kcp

import (
	"strings"
	"testing"
)

const skillUnits = `
units:
  - {id: act, path: a.md, intent: i, kind: skill, load_eligible: true, action_scope: {tools: [t]}}
  - {id: play, path: p.md, intent: i, kind: playbook, load_eligible: true, steps: [{id: s, uses: act}]}
  - {id: text, path: t.md, intent: i}
`

func grants(t *testing.T, m *Manifest, id string) bool {
	t.Helper()
	u := m.Names().Unit(id)
	if u == nil {
		t.Fatalf("there is no unit %s", id)
	}
	return u.LoadEligible.Grants()
}

func TestComposeWithholdsGrants(t *testing.T) {
	regrant := "  overrides: [{id: 'b:act', load_eligible: true}, {id: 'b:text', kind: skill, load_eligible: true}]\n"
	for _, test := range []struct {
		name, root, other, more string
		state                   IncludeState
		want                    bool
	}{
		{"verified", "", "", "", IncludeVerified, true},
		{"unverified", "", "", "", IncludeUnverified, false},
		{"an override gives nothing back", "", "", regrant, IncludeUnverified, false},
		{"another scale", "", "authority_level_scale: [commit, observe]\n", "", IncludeVerified, false},
		{"the same scale", "authority_level_scale: [a, b]\n", "authority_level_scale: [a, b]\n", "", IncludeVerified, true},
		{"the usual scale, written out", "", "authority_level_scale: [observe, explain, suggest, prepare, commit]\n", "", IncludeVerified, true},
	} {
		m := readManifest(t, "k.yaml", test.root+composing("  includes: [{source: b.yaml, as: b}]\n"+test.more, plainUnit))
		out, findings := Compose(m, []Included{{Manifest: readManifest(t, "b.yaml", test.other+skillUnits), State: test.state}})
		if grants(t, out, "b:act") != test.want || grants(t, out, "b:play") != test.want {
			t.Errorf("%s: act %v, play %v", test.name, grants(t, out, "b:act"), grants(t, out, "b:play"))
		}
		if (codesOf(findings) == "composition-unverified") == test.want {
			t.Errorf("%s: findings %q", test.name, codesOf(findings))
		}
		if text := out.Names().Unit("b:text"); text.Governed() && text.LoadEligible.Grants() || !text.Governed() && text.LoadEligible.Declared {
			t.Errorf("%s: text has the grant %+v", test.name, text.LoadEligible)
		}
	}
}

func TestComposeFailed(t *testing.T) {
	m := readManifest(t, "k.yaml", composing("  includes: [{source: a.yaml}, {source: b.yaml}]\n", plainUnit))
	loose := readManifest(t, "a.yaml", "units: [{id: act, intent: loose}, {id: other, intent: i}]")
	out, findings := Compose(m, []Included{{Manifest: loose, State: IncludeVerified},
		{Manifest: readManifest(t, "b.yaml", skillUnits), State: IncludeFailed, Problem: "integrity.manifest_hash: expected 1, observed 2"}})
	if unitIDs(out) != "own other" {
		t.Errorf("units %q; what a failed include replaces must not come back", unitIDs(out))
	}
	if len(findings) != 1 || !strings.HasSuffix(findings[0].Message, "integrity.manifest_hash: expected 1, observed 2") ||
		findings[0].Pos.Line != 3 || findings[0].Severity != Warning {
		t.Errorf("findings %+v", findings)
	}
	_, findings = Compose(m, []Included{{}, {State: IncludeFailed, Circular: true, Problem: "circular includes: a includes b"}})
	if codesOf(findings) != "composition-include-failed composition-include-circular" || findings[1].Severity != Error {
		t.Errorf("findings %+v", findings)
	}
}

// A local unit with its deny list cannot be touched by what is included, nor by
// an override.
func TestComposeKeepsLocalDeny(t *testing.T) {
	const local = "  - {id: act, path: a.md, intent: i, kind: skill, load_eligible: true, action_scope: {tools: [t], deny: {tools: [rm]}}}\n"
	m := readManifest(t, "k.yaml", composing("  includes: [{source: b.yaml}]\n  overrides: [{id: act, action_scope: {tools: [rm]}}]\n  excludes: [{id: act}]\n", local))
	out, _ := Compose(m, []Included{{Manifest: readManifest(t, "b.yaml", skillUnits), State: IncludeVerified}})
	u := out.Names().Unit("act")
	if u.ActionScope.Deny == nil || u.ActionScope.Deny.Tools.Items[0] != "rm" || out.Names().Shared("act") || !u.LoadEligible.Grants() {
		t.Errorf("the local unit is %+v", u)
	}
	if grants(t, out, "play") {
		t.Error("an included playbook uses a skill of another manifest")
	}
}

func TestComposeForeignSteps(t *testing.T) {
	playbook := func(uses string) string {
		return "  - {id: run, path: r.md, intent: i, kind: playbook, load_eligible: true, steps: [{id: s, uses: '" + uses + "'}]}\n" +
			"  - {id: mine, path: m.md, intent: i, kind: skill, load_eligible: true, action_scope: {tools: [t]}}\n"
	}
	for uses, want := range map[string]bool{"mine": true, "b:act": false, "gone": false, "": true} {
		m := readManifest(t, "k.yaml", composing("  includes: [{source: b.yaml, as: b}]\n", playbook(uses)))
		out, findings := Compose(m, []Included{{Manifest: readManifest(t, "b.yaml", skillUnits), State: IncludeVerified}})
		if grants(t, out, "run") != want || (codesOf(findings) == "") != want || !grants(t, m, "run") {
			t.Errorf("uses %q: %v, findings %q", uses, grants(t, out, "run"), codesOf(findings))
		}
	}
}

func TestComposeAttestation(t *testing.T) {
	const units = "units: [{id: secret, access: restricted, intent: i}, {id: odd, access: vip, intent: i}, {id: open, intent: i}]"
	const asks = "trust: {agent_requirements: {require_attestation: true, trusted_providers: [a, b]}}\n"
	for root, want := range map[string]string{
		"": "own open", asks: "own secret odd open",
		"trust: {agent_requirements: {require_attestation: true, trusted_providers: [a]}}\n":    "own secret odd open",
		"trust: {agent_requirements: {require_attestation: true, trusted_providers: [a, c]}}\n": "own open",
	} {
		m := readManifest(t, "k.yaml", root+composing("  includes: [{source: b.yaml}]\n", plainUnit))
		out, findings := Compose(m, []Included{{Manifest: readManifest(t, "b.yaml", asks+units), State: IncludeVerified}})
		if unitIDs(out) != want || (codesOf(findings) == "composition-attestation") != (want == "own open") {
			t.Errorf("%q: units %q, findings %q", root, unitIDs(out), codesOf(findings))
		}
	}
}

// An id that one include declares twice stays ambiguous.
func TestComposeKeepsDuplicates(t *testing.T) {
	m := readManifest(t, "k.yaml", composing("  includes: [{source: b.yaml}]\n", plainUnit))
	out, _ := Compose(m, []Included{{Manifest: readManifest(t, "b.yaml", "units: [{id: x}, {id: x}]")}})
	if !out.Names().Shared("x") {
		t.Error("one of two units with an id was chosen")
	}
}
