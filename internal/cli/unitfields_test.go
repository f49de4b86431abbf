package cli

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/internal/draft"
	"github.com/writ-dev/writ/kcp"
)

// TestUnitFieldsAreTheFormat holds what `writ unit --json` prints against the
// format: read as a unit again, it is the same unit.
func TestUnitFieldsAreTheFormat(t *testing.T) {
	var files []string
	for _, pattern := range []string{"testdata/*.yaml", "testdata/*/knowledge.yaml", "../../examples/*/knowledge.yaml", "../../knowledge.yaml"} {
		found, _ := filepath.Glob(pattern)
		files = append(files, found...)
	}
	units := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, findings, err := kcp.Parse(data, file)
		if err != nil || len(findings) > 0 {
			continue // malformed values have no other form
		}
		for i := range m.Units {
			sameUnit(t, m, &m.Units[i])
			units++
		}
	}
	m, _, err := kcp.Parse([]byte(everyField), "every.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sameUnit(t, m, &m.Units[0])
	if units < 40 {
		t.Errorf("only %d units", units)
	}
}

// sameUnit reads a unit again from what is printed of it, without the root's
// defaults.
func sameUnit(t *testing.T, m *kcp.Manifest, u *kcp.Unit) {
	t.Helper()
	fields, malformed := unitFields(&kcp.Manifest{}, u)
	if len(malformed) > 0 {
		t.Errorf("%s: %q malformed", u.ID, malformed)
	}
	members := make([]artifact.Member, len(fields))
	for i, f := range fields {
		members[i] = artifact.Member{Name: f.name, Value: f.value}
	}
	text := append([]byte(`{"project": "p", "units": [`), artifact.ObjectValue(members...).AppendCompact(nil)...)
	again, findings, err := kcp.Parse(append(text, "]}"...), "again.yaml")
	if err != nil || len(findings) > 0 {
		t.Fatalf("%s %s: %v %v\n%s", m.Source, u.ID, err, findings, text)
	}
	want := *u
	want.Index = 0
	if d := cmp.Diff(want, again.Units[0]); d != "" {
		t.Errorf("%s %s: %s\n%s", m.Source, u.ID, d, text)
	}
}

func TestInheritedFields(t *testing.T) {
	m, _, err := kcp.Parse([]byte(`
project: p
language: en
temporal: {valid_from: "2024-01-01", recorded_at: "2023-01-01"}
discovery: {confidence: 0.5}
payment: {methods: [{type: free}]}
visibility: {default: internal}
units:
  - {id: a, path: a.md, intent: A, temporal: {valid_from: "2025-01-01"}, payment: {default_tier: free}}
  - {id: b, path: b.md, intent: B, language: de}
`), "p.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{
		{"discovery.confidence", "language", "temporal.recorded_at", "visibility"},
		{"discovery.confidence", "payment", "temporal.recorded_at", "temporal.valid_from", "visibility"},
	} {
		var got []string
		fields, _ := unitFields(m, &m.Units[i])
		for _, f := range fields {
			got = append(got, f.inherited...)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s inherits %q, want %q", m.Units[i].ID, got, want)
		}
	}
	if m.Units[1].Details == nil || m.Units[1].Details.Visibility != nil || m.Units[0].Temporal.RecordedAt.Set {
		t.Error("the manifest was changed")
	}
}

func TestFormatName(t *testing.T) {
	for name, want := range map[string]string{
		"ID": "id", "NotForStrict": "not_for_strict", "DocsURL": "docs_url", "PlansURL": "plans_url",
		"SPDX": "spdx", "KeyID": "key_id", "HumanInTheLoop": "human_in_the_loop", "MCP": "mcp", "URLs": "ur_ls",
	} {
		if got := draft.FieldName(name); got != want {
			t.Errorf("formatName(%q) = %q, want %q", name, got, want)
		}
	}
}

const everyField = `
project: every
units:
  - id: u
    path: u.md
    intent: Everything
    kind: playbook
    scope: module
    audience: [agent]
    triggers: [t]
    not_for: [n]
    aliases: [v]
    not_for_strict: true
    deprecated: false
    load_eligible: true
    access: restricted
    auth_scope: s
    sensitivity: internal
    size_tokens: 10
    bytes: 20
    authority_level: prepare
    supersedes: w
    depends_on: [x]
    format: markdown
    content_type: text/markdown
    language: de
    license: {spdx: MIT, url: "https://l.example", attribution_required: true}
    validated: "2026-01-01"
    update_frequency: daily
    indexing: {allow: [read], deny: [train], attribution_required: false}
    requires_capabilities: ["tool:x"]
    content_structure: {primary: prose, contains: [code], density: dense}
    external_depends_on: [{manifest: m, unit: y, on_failure: warn}]
    temporal: {valid_from: "2026-01-01", valid_until: "2027-01-01", recorded_at: "2025-01-01", superseded_by: z}
    content_hash: {algorithm: sha256, value: "00"}
    hints: {token_estimate: 1, token_estimate_method: measured, size_bytes: 2, load_strategy: lazy, priority: critical, density: dense, summary_available: true, summary_unit: s, summary_of: o, partial_load_supported: true, chunked: true, chunk_count: 2, chunk_of: c, chunk_index: 1, total_chunks: 2, chunk_topic: t}
    payment: {default_tier: free, billing_contact: b, methods: [{type: x402, currency: EUR, price_per_request: "0.1", networks: [n], wallet: w, provider: p, plans_url: "https://p.example", free_tier: true, free_requests_per_day: 3, upgrade_url: "https://u.example"}]}
    rate_limits: {default: {requests_per_minute: 1, requests_per_hour: 2, requests_per_day: unlimited}, authenticated: {requests_per_day: 3}, premium: {requests_per_day: 4}, backoff: exponential, tokens: {default: {tokens_per_minute: 5, tokens_per_day: 6}, premium: {tokens_per_day: 7}}, headers: {remaining: r, reset: e, retry_after: a}}
    auth: {methods: [{type: oauth2, issuer: i, scopes: [s], header: h, registration_url: "https://r.example", trust_domain: t, supported_methods: [m], key_id: k, algorithm: a}]}
    delegation: {max_depth: 1, require_capability_attenuation: true, require_delegation_proof: false, audit_chain: true, human_in_the_loop: {required: true, approval_mechanism: uma, docs_url: "https://d.example"}}
    compliance: {data_residency: [EU], regulations: [GDPR], sensitivity: internal, restrictions: [r]}
    freshness_policy: {max_age_days: 1, on_stale: warn, review_contact: c}
    visibility: {default: public, conditions: [{when: {environment: [prod], agent_role: [a]}, then: {sensitivity: internal, requires_auth: true, authority: {read: denied}}}]}
    authority: {read: initiative, custom: denied}
    discovery: {verification_status: verified, source: manual, observed_at: "2026-01-01", verified_at: "2026-01-02", confidence: 0.9, contradicted_by: c, verified_by: v, evidence: e}
    charter: {scope: {read: [r], propose: [p], never: [n]}, authority: a, rules: [{id: r1, text: t, decision: d, authority_required: q}], escalate_when: [w], authority_required: z, persona: p}
    action_scope: {tools: [t], paths: [p], capabilities: [c], spend: {max_spend: 1, allowed_vendors: [v], currency: EUR}, deny: {tools: [d], paths: [e], capabilities: [f]}}
    steps: [{id: s, uses: u2, action: a, authority_level: observe, success_condition: c, on_failure: abort, timeout: 5m, depends_on: [q], escalation: [requires_approval]}]
`
