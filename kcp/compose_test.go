package kcp

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// readManifest reads a manifest that must be readable.
func readManifest(t *testing.T, source, text string) *Manifest {
	t.Helper()
	m, _, err := Parse([]byte(text), source)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// composing gives a manifest at the source whose composition and units follow.
func composing(composition, units string) string {
	return "project: p\ncomposition:\n" + composition + "units:\n" + units
}

const plainUnit = "  - {id: own, path: own.md, intent: i}\n"

func unitIDs(m *Manifest) string {
	var list []string
	for i := range m.Units {
		list = append(list, m.Units[i].ID)
	}
	return strings.Join(list, " ")
}

func codesOf(findings []Finding) string {
	var list []string
	for _, f := range findings {
		list = append(list, f.Code)
	}
	return strings.Join(list, " ")
}

func TestComposeOrder(t *testing.T) {
	const a = "units: [{id: x, path: x.md, intent: from a}, {id: y, path: y.md, intent: i}]"
	const b = "units: [{id: x, path: x.md, intent: from b}, {id: 'b:z', path: z.md, intent: i}]"
	both := "  includes: [{source: a/k.yaml}, {source: b/k.yaml}]\n"
	for _, test := range []struct {
		name, composition, units string
		want, codes, intent      string // intent of x
	}{
		{"later wins", both, plainUnit, "own y x b:z", "", "from b"},
		{"order of the list", "  includes: [{source: b/k.yaml}, {source: a/k.yaml}]\n", plainUnit, "own b:z x y", "", "from a"},
		{"override", both + "  overrides: [{id: x, intent: from over}]\n", plainUnit, "own y x b:z", "", "from over"},
		{"exclude", both + "  excludes: [{id: x}, {id: y}]\n", plainUnit, "own b:z", "", ""},
		{"exclude after override", both + "  overrides: [{id: x, intent: o}]\n  excludes: [{id: x}]\n", plainUnit, "own y b:z", "", ""},
		{"local wins", both, "  - {id: x, path: x.md, intent: local}\n", "x y b:z", "", "local"},
		{"local wins over an override", both + "  overrides: [{id: x, intent: o}]\n", "  - {id: x, path: x.md, intent: local}\n", "x y b:z", "", "local"},
		{"an exclude spares the local unit", both + "  excludes: [{id: x}]\n", "  - {id: x, path: x.md, intent: local}\n", "x y b:z", "", "local"},
		{"prefix", "  includes: [{source: a/k.yaml, as: a}]\n", plainUnit, "own a:x a:y", "", ""},
		{"prefixes that collide", "  includes: [{source: a/k.yaml, as: 'c:b'}, {source: b/k.yaml, as: c}]\n", plainUnit, "own c:b:x c:b:y c:x c:b:z", "", ""},
		{"no such target", both + "  overrides: [{id: gone, intent: o}]\n  excludes: [{id: 'a:x'}]\n", plainUnit, "own y x b:z",
			"composition-target-missing composition-target-missing", "from b"},
		{"a local unit is no target", both + "  overrides: [{id: own, intent: o}]\n  excludes: [{id: own}]\n", plainUnit, "own y x b:z",
			"composition-target-missing composition-target-missing", "from b"},
		{"not read", "  includes: [{source: gone.yaml}]\n", plainUnit, "own y x b:z", "", "from b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := readManifest(t, "k.yaml", composing(test.composition, test.units))
			var in []Included
			for _, inc := range m.Composition.Includes {
				text := b
				if inc.Source.Value == "a/k.yaml" {
					text = a
				}
				if inc.Source.Value != "gone.yaml" {
					in = append(in, Included{Manifest: readManifest(t, inc.Source.Value, text)})
				}
			}
			out, findings := Compose(m, in)
			if len(in) == 0 {
				test.want, test.codes, test.intent = "own", "composition-include-failed", ""
			}
			if unitIDs(out) != test.want || codesOf(findings) != test.codes {
				t.Errorf("units %q, findings %q", unitIDs(out), codesOf(findings))
			}
			if u := out.Names().Unit("x"); test.intent != "" && u.Intent != test.intent {
				t.Errorf("x is %q", u.Intent)
			}
			if out.Composition != nil || m.Composition == nil || len(m.Units) != 1 {
				t.Error("the result has a composition, or the argument changed")
			}
		})
	}
}

func TestComposeWithoutComposition(t *testing.T) {
	m := readManifest(t, "k.yaml", "units: [{id: x}]")
	if out, findings := Compose(m, nil); out != m || findings != nil {
		t.Error("a manifest without composition changed")
	}
}

func TestComposePrefixesReferences(t *testing.T) {
	other := readManifest(t, "b/k.yaml", `
discovery: {contradicted_by: y}
relationships: [{from: x, to: y, type: enables}, {from: x, to: gone, type: enables}]
units:
  - {id: x, path: x.md, intent: i, aliases: [ex, own, nick], depends_on: [y], supersedes: y, temporal: {superseded_by: y},
     hints: {summary_unit: y, summary_of: y, chunk_of: y}, kind: playbook, steps: [{id: s, uses: y, depends_on: [r]}]}
  - {id: y, path: y.md, intent: i}
`)
	before := unitIDs(other) + other.Units[0].Hints.ChunkOf.Value + other.Units[0].Steps[0].Uses.Value
	m := readManifest(t, "k.yaml", composing("  includes: [{source: b/k.yaml, as: b}]\n", "  - {id: own, path: own.md, intent: i, aliases: ['b:nick']}\n"))
	out, _ := Compose(m, []Included{{Manifest: other}})
	u := out.Names().Unit("b:x")
	got := []string{u.DependsOn.Items[0], u.Supersedes.Value, u.Temporal.SupersededBy.Value, u.Hints.SummaryUnit.Value,
		u.Hints.SummaryOf.Value, u.Hints.ChunkOf.Value, u.Steps[0].Uses.Value, u.Details.Discovery.ContradictedBy.Value}
	if i := slices.IndexFunc(got, func(id string) bool { return id != "b:y" }); i >= 0 {
		t.Errorf("reference %d of %q has another prefix", i, got)
	}
	if u.Steps[0].DependsOn.Items[0] != "r" {
		t.Error("the id of a step got a prefix")
	}
	if want := []string{"b:ex", "b:own"}; !slices.Equal(u.Aliases.Items, want) {
		t.Errorf("aliases %q; one that the manifest uses itself must go", u.Aliases.Items)
	}
	if len(out.Relationships) != 1 || out.Relationships[0].From.Value != "b:x" || out.Relationships[0].To.Value != "b:y" {
		t.Errorf("relationships %v", out.Relationships)
	}
	if before != unitIDs(other)+other.Units[0].Hints.ChunkOf.Value+other.Units[0].Steps[0].Uses.Value {
		t.Error("the included manifest changed")
	}
}

func TestComposeAliasIsNoTarget(t *testing.T) {
	m := readManifest(t, "k.yaml", composing("  includes: [{source: b/k.yaml}]\n  overrides: [{id: nick, intent: o}]\n  excludes: [{id: nick}]\n", plainUnit))
	out, findings := Compose(m, []Included{{Manifest: readManifest(t, "b/k.yaml", "units: [{id: x, aliases: [nick], intent: i}]")}})
	if out.Names().Unit("x").Intent != "i" || codesOf(findings) != "composition-target-missing composition-target-missing" {
		t.Errorf("an alias was taken for an id: %v", findings)
	}
}

func TestComposePaths(t *testing.T) {
	for _, test := range []struct{ base, included, path, want string }{
		{"k.yaml", "k2.yaml", "x.md", "x.md"},
		{"k.yaml", "b/k.yaml", "./c/x.md", "b/c/x.md"},
		{"d/k.yaml", "d/b/k.yaml", "x.md", "b/x.md"},
		{"../d/k.yaml", "../d/b/k.yaml", "x.md", "b/x.md"},
		{"/d/k.yaml", "/d/b/k.yaml", "x.md", "b/x.md"},
		{"/k.yaml", "/b/k.yaml", "x.md", "b/x.md"},
		{"https://a.example/d/k.yaml", "https://a.example/d/b/k.yaml?v=1", "x.md", "b/x.md"},
		{"https://a.example/d/k.yaml", "https://a.example/d/k2.yaml", "x.md", "x.md"},
		// Out of the folder: refused.
		{"d/k.yaml", "k.yaml", "x.md", ""},
		{"k.yaml", "../k.yaml", "x.md", ""},
		{"k.yaml", "/b/k.yaml", "x.md", ""},
		{"d/k.yaml", "dd/k.yaml", "x.md", ""},
		{"../k.yaml", "../../x/k.yaml", "x.md", ""},
		{"k.yaml", "https://a.example/k.yaml", "x.md", ""},
		{"https://a.example/d/k.yaml", "https://b.example/d/k.yaml", "x.md", ""},
		{"https://a.example/d/k.yaml", "http://a.example/d/k.yaml", "x.md", ""},
		{"https://a.example/d/k.yaml", "https://a.example/k.yaml", "x.md", ""},
		{"https://a.example/d/k.yaml", "https://a.example/d/%2e%2e/e/k.yaml", "x.md", ""},
		// Refused in the included manifest, so refused here.
		{"k.yaml", "b/k.yaml", "../own.md", ""},
		{"k.yaml", "b/k.yaml", "%2e%2e/own.md", ""},
		{"k.yaml", "b/k.yaml", "/etc/passwd", ""},
		{"k.yaml", "b/k.yaml", `..\own.md`, ""},
		{"k.yaml", "b/k.yaml", "https://b.example/x", ""},
		{"k.yaml", "b/k.yaml", "", ""},
	} {
		m := readManifest(t, test.base, composing("  includes: [{source: x}]\n", plainUnit))
		other := readManifest(t, test.included, fmt.Sprintf("units: [{id: x, intent: i, path: %q}]", test.path))
		out, findings := Compose(m, []Included{{Manifest: other}})
		got := out.Names().Unit("x").Path
		switch {
		case test.want != "" && got != test.want, test.want == "" && SafeUnitPath(got) == "":
			t.Errorf("%s in %s from %s: %q", test.path, test.included, test.base, got)
		case test.want == "" && SafeUnitPath(test.path) == "" && codesOf(findings) != "composition-path-escapes":
			t.Errorf("%s from %s: findings %q", test.included, test.base, codesOf(findings))
		}
	}
}

func TestComposeDefaults(t *testing.T) {
	const root = `
language: de
license: MIT
indexing: no-train
temporal: {valid_from: "2026-01-01", valid_until: "2026-12-31"}
discovery: {source: manual, confidence: 0.5}
payment: {default_tier: metered}
rate_limits: {default: {requests_per_minute: 3}}
freshness_policy: {max_age_days: 9}
visibility: {default: internal}
authority: {read: denied}
auth: {methods: [{type: none}]}
delegation: {max_depth: 2, audit_chain: true}
compliance: {sensitivity: internal}
units:
  - {id: bare, path: a.md, intent: i}
  - {id: own, path: b.md, intent: i, language: fr, temporal: {valid_until: "2027-12-31"}, payment: {default_tier: free},
     discovery: {source: web}, delegation: {max_depth: 5}, compliance: {sensitivity: public}, visibility: {default: public}}
`
	m := readManifest(t, "k.yaml", "language: en\npayment: {default_tier: subscription}\n"+composing("  includes: [{source: b/k.yaml, as: b}]\n", plainUnit))
	out, _ := Compose(m, []Included{{Manifest: readManifest(t, "b/k.yaml", root)}})
	bare, own := out.Names().Unit("b:bare"), out.Names().Unit("b:own")
	d := bare.Details
	if d.Language.Value != "de" || d.License == nil || d.Indexing == nil || bare.Temporal.ValidFrom.Value != "2026-01-01" ||
		d.Discovery.Source.Value != "manual" || bare.Payment.DefaultTier.Value != "metered" || bare.RateLimits == nil ||
		d.Freshness == nil || d.Visibility == nil || d.Authority == nil || d.Auth == nil || d.Delegation == nil || d.Compliance == nil {
		t.Errorf("a default did not travel: %+v %+v", bare, d)
	}
	d = own.Details
	if d.Language.Value != "fr" || own.Temporal.ValidFrom.Value != "2026-01-01" || own.Temporal.ValidUntil.Value != "2027-12-31" ||
		own.Payment.DefaultTier.Value != "free" || d.Discovery.Source.Value != "web" || d.Discovery.Confidence.Value != .5 ||
		d.Delegation.MaxDepth.Value != 2 || !d.Delegation.AuditChain.Value || d.Compliance.Sensitivity.Value != "public" ||
		d.Visibility.Default.Value != "public" {
		t.Errorf("a default replaced what the unit says, or did not reach it: %+v %+v", own, d)
	}
	if u := out.Names().Unit("own"); u.Details != nil || u.Payment != nil {
		t.Error("the defaults of an include reached a unit of the manifest itself")
	}
}

// TestOverrideEveryField overrides each field that the decoder reads, one at a time.
func TestOverrideEveryField(t *testing.T) {
	values := map[string]string{}
	for _, field := range unitFields {
		values[field] = "v"
	}
	for _, field := range []string{"aliases", "audience", "triggers", "not_for", "depends_on", "requires_capabilities"} {
		values[field] = "[v]"
	}
	for _, field := range []string{"load_eligible", "deprecated", "not_for_strict"} {
		values[field] = "true"
	}
	for _, field := range []string{"size_tokens", "bytes"} {
		values[field] = "7"
	}
	for field, value := range map[string]string{
		"action_scope": "{tools: [t]}", "steps": "[{id: s}]", "hints": "{token_estimate: 1}", "payment": "{default_tier: free}",
		"rate_limits": "{default: {requests_per_minute: 1}}", "delegation": "{max_depth: 1}", "compliance": "{sensitivity: s}",
		"auth": "{methods: [{type: none}]}", "external_depends_on": "[{manifest: m, unit: u}]", "freshness_policy": "{max_age_days: 1}",
		"visibility": "{default: public}", "authority": "{read: denied}", "discovery": "{source: s}", "content_structure": "{primary: p}",
		"content_hash": "{algorithm: sha256}", "temporal": "{valid_from: d}", "charter": "{authority: a}",
	} {
		values[field] = value
	}
	for field, value := range values {
		if field == "id" {
			continue
		}
		m := readManifest(t, "k.yaml", composing("  includes: [{source: b.yaml}]\n  overrides: [{id: x, "+field+": "+value+"}]\n", plainUnit))
		out, _ := Compose(m, []Included{{Manifest: readManifest(t, "b.yaml", "units: [{id: x}]"), State: IncludeVerified}})
		want := readManifest(t, "b.yaml", "units: [{id: x, "+field+": "+value+"}]").Units[0]
		want.Index = 1
		if got := *out.Names().Unit("x"); !reflect.DeepEqual(got, want) || reflect.DeepEqual(got, Unit{ID: "x", Index: 1}) {
			t.Errorf("%s: %+v", field, got)
		}
	}
}

func TestComposePositions(t *testing.T) {
	m := readManifest(t, "k.yaml", "units:\n  - {id: a, path: a.md, intent: i}\n  - not a unit\ncomposition:\n  includes:\n    - {source: b.yaml}\n    - source: c.yaml\n")
	out, _ := Compose(m, []Included{
		{Manifest: readManifest(t, "b.yaml", "\n\n\nunits: [{id: b, path: b.md}]")},
		{Manifest: readManifest(t, "c.yaml", "units: [{id: c, path: c.md}]")},
	})
	for id, line := range map[string]int{"a": 2, "b": 6, "c": 7} {
		u := out.Names().Unit(id)
		if got := out.Position(fmt.Sprintf("units[%d].path", u.Index)); got.Line != line {
			t.Errorf("%s is at %v", id, got)
		}
	}
	if out.Digest() != m.Digest() || out.Source != m.Source {
		t.Error("the composed manifest is of another source")
	}
	if got := out.Position("units[99].path"); got.Line != 2 {
		t.Errorf("an item that is nowhere is at %v", got)
	}
}
