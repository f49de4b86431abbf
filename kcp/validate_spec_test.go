package kcp

import (
	"slices"
	"strings"
	"testing"
)

const today = "2026-07-01"

// root gives a manifest with one faultless unit and the given lines.
func root(lines string) string {
	return "kcp_version: \"0.32\"\nproject: p\nversion: 1.0.0\n" + lines + "\nunits:\n" + item("a", "")
}

// with gives a manifest with one unit "a" that has the given lines.
func with(lines string) string { return units(item("a", lines)) }

// units gives a manifest with the given units.
func units(items ...string) string {
	return "kcp_version: \"0.32\"\nproject: p\nversion: 1.0.0\nunits:\n" + strings.Join(items, "")
}

// item gives one unit with the lines added to, or in place of, the required ones.
func item(id, lines string) string {
	text := "  - id: " + id + "\n"
	for _, field := range []string{"path: docs/a.md", "intent: What is a?", "scope: project", "audience: [agent]"} {
		key, _, _ := strings.Cut(field, ":")
		if !strings.HasPrefix(lines, key+":") && !strings.Contains(lines, "\n"+key+":") {
			text += "    " + field + "\n"
		}
	}
	for line := range strings.SplitSeq(strings.Trim(lines, "\n"), "\n") {
		if line != "" {
			text += "    " + line + "\n"
		}
	}
	return text
}

const (
	grantedSkill = "kind: skill\nload_eligible: true\naction_scope: {tools: [git]}"
	plainSkill   = "kind: skill\naction_scope: {tools: [git]}"
)

// play gives a manifest with a granted skill s, an ungranted skill n, a plain
// unit k and a playbook with the given lines.
func play(lines string) string {
	return units(item("s", grantedSkill), item("n", plainSkill), item("k", ""), item("pb", "kind: playbook\n"+lines))
}

func charter(lines string) string { return with("charter: {" + lines + "}") }

const ceilingSources = "authority_level_scale: [observe, suggest]\ntask_types: [{id: t, authority_level: observe}]\nagents: [{id: g}]\ngrant_ceiling: "

// specCase has a manifest that breaks one rule, and the nearest one that does
// not. With lists other rules that the bad one cannot help breaking.
type specCase struct {
	code      string
	bad, good string
	with      []string
}

var specCases = []specCase{
	{code: "project-missing", bad: strings.Replace(with(""), "project: p\n", "", 1), good: with("")},
	{code: "project-missing", bad: strings.Replace(with(""), "project: p\n", "project: ''\n", 1), good: with("")},
	{code: "units-missing", bad: "kcp_version: \"0.32\"\nproject: p\nversion: 1.0.0\nunits: []\n", good: with("")},
	{code: "kcp-version-missing", bad: strings.Replace(with(""), "kcp_version: \"0.32\"\n", "", 1), good: with("")},
	{code: "kcp-version-unknown", bad: strings.Replace(with(""), "\"0.32\"", "\"0.15\"", 1), good: strings.Replace(with(""), "\"0.32\"", "\"0.1\"", 1)},
	{code: "kcp-version-unknown", bad: strings.Replace(with(""), "\"0.32\"", "\"0.01\"", 1), good: with("")},
	{code: "version-missing", bad: strings.Replace(with(""), "version: 1.0.0\n", "", 1), good: with("")},
	{code: "updated-malformed", bad: root("updated: 2026-02-30"), good: root("updated: 2026-02-28")},
	{code: "auth-missing", bad: with("access: restricted"), good: with("access: restricted\nauth: {methods: [{type: oauth2}]}")},
	{code: "auth-only-none", bad: with("access: authenticated\nauth: {methods: [{type: none}]}"), good: with("access: authenticated\nauth: {methods: [{type: none}, {type: api_key}]}")},
	{code: "serving-url-invalid", bad: root("serving: {mcp: ['https://']}"), good: root("serving: {mcp: ['https://h/x']}")},

	{code: "publisher-url-insecure", bad: root("trust: {provenance: {publisher_url: 'http://h'}}"), good: root("trust: {provenance: {publisher_url: 'https://h'}}")},
	{code: "publisher-did-malformed", bad: root("trust: {provenance: {publisher_did: 'web:h'}}"), good: root("trust: {provenance: {publisher_did: 'did:web:h'}}")},
	{code: "receipt-format-missing", bad: root("trust: {audit: {provides_access_receipts: true}}"), good: root("trust: {audit: {provides_access_receipts: true, receipt_format: jws}}")},
	{code: "attestation-url-insecure", bad: root("trust: {agent_requirements: {attestation_jwks: 'http://h'}}"), good: root("trust: {agent_requirements: {attestation_jwks: 'https://h'}}")},
	{code: "attestation-without-means", bad: root("trust: {agent_requirements: {require_attestation: true}}"), good: root("trust: {agent_requirements: {require_attestation: true, attestation_url: 'https://h'}}")},
	{code: "attestation-propagates-nowhere", bad: root("trust: {agent_requirements: {propagate_to_governed: true}}"), good: root("trust: {agent_requirements: {propagate_to_governed: true}}\nmanifests: [{id: m, url: 'https://h/k', relationship: governs}]")},

	{code: "relationship-incomplete", bad: root("relationships: [{from: a, to: a}]"), good: root("relationships: [{from: a, to: a, type: enables}]")},
	{code: "relationship-unit-unknown", bad: root("relationships: [{from: a, to: x, type: enables}]"), good: root("relationships: [{from: a, to: a, type: enables}]")},
	{code: "relationship-type-unknown", bad: root("relationships: [{from: a, to: a, type: destroys}]"), good: root("relationships: [{from: a, to: a, type: governs}]")},

	{code: "unit-id-missing", bad: units(item("''", "")), good: with("")},
	{code: "unit-path-missing", bad: with("path: ''"), good: with("")},
	{code: "unit-path-absolute", bad: with("path: /etc/passwd"), good: with("path: etc/passwd")},
	{code: "unit-path-absolute", bad: with(`path: '\srv\x'`), good: with("")},
	{code: "unit-path-absolute", bad: with(`path: 'C:\x'`), good: with("")},
	{code: "unit-path-absolute", bad: with("path: 'https://h/x'"), good: with("path: 'adr:1.md'")},
	{code: "unit-path-escapes", bad: with("path: ../x"), good: with("path: a/../x")},
	{code: "unit-path-escapes", bad: with("path: a/../../x"), good: with("path: a/./x")},
	{code: "unit-path-escapes", bad: with(`path: 'a\..\..\x'`), good: with("path: a..b")},
	{code: "unit-path-is-root", bad: with("path: ."), good: with("path: ./a")},
	{code: "unit-path-is-root", bad: with("path: a/.."), good: with("")},
	{code: "unit-intent-missing", bad: with("intent: ''"), good: with("")},
	{code: "unit-scope-unknown", bad: with("scope: team"), good: with("scope: ~")},
	{code: "unit-scope-unknown", bad: with("scope: ''"), good: with("scope: module")},
	{code: "unit-audience-missing", bad: with("audience: []"), good: with("")},
	{code: "unit-id-duplicate", bad: units(item("a", ""), item("a", "")), good: units(item("a", ""), item("b", ""))},
	{code: "unit-id-characters", bad: units(item("A_b", "")), good: units(item("a.b-1", ""))},
	{code: "unit-path-not-found", bad: with("path: gone.md"), good: with("path: docs/b.md")},
	{code: "unit-audience-unknown", bad: with("audience: [agent, alien]"), good: with("audience: [agent, devops]")},
	{code: "unit-kind-unknown", bad: with("kind: reference"), good: with("kind: policy")},
	{code: "unit-access-unknown", bad: with("access: secret"), good: with("access: public")},
	{code: "unit-auth-scope-unused", bad: with("auth_scope: read"), good: with("auth_scope: read\naccess: restricted\nauth: {methods: [{type: did}]}")},
	{code: "unit-sensitivity-unknown", bad: with("sensitivity: secret"), good: with("sensitivity: internal")},
	{code: "unit-depends-on-unknown", bad: with("depends_on: [gone]"), good: units(item("a", "depends_on: [b]"), item("b", ""))},
	{code: "unit-depends-on-unknown", bad: units(item("a", "depends_on: [bee]"), item("b", "aliases: [bee]")), good: with("")},
	{code: "unit-not-for-strict-alone", bad: with("not_for_strict: false"), good: with("not_for_strict: true\nnot_for: [tax]")},
	{code: "unit-deprecated-without-successor", bad: with("deprecated: true"), good: units(item("a", "deprecated: true"), item("b", "supersedes: a"))},
	{code: "unit-deprecated-without-successor", bad: with("deprecated: true\nsupersedes: a"), good: root("relationships: [{from: b, to: a, type: supersedes}]") + "    deprecated: true\n" + item("b", "")},
	{code: "trigger-too-long", bad: with("triggers: [" + strings.Repeat("å", 61) + "]"), good: with("triggers: [" + strings.Repeat("å", 60) + "]")},
	{code: "triggers-too-many", bad: with("triggers: [" + strings.Repeat("t, ", 21) + "]"), good: with("triggers: [" + strings.Repeat("t, ", 20) + "]")},
	{code: "alias-characters", bad: with("aliases: [-x]"), good: with("aliases: [x_1.b]")},
	{code: "alias-duplicate", bad: with("aliases: [a]"), good: with("aliases: [b]")},
	{code: "alias-duplicate", bad: units(item("a", "aliases: [x]"), item("b", "aliases: [x]")), good: units(item("a", "aliases: [x]"), item("b", "aliases: [y]"))},
	{code: "alias-duplicate", bad: with("aliases: [x, x]"), good: with("aliases: [x, y]")},
	{code: "aliases-too-many", bad: with("aliases: [" + numbered(101) + "]"), good: with("aliases: [" + numbered(100) + "]")},
	{code: "unit-format-unknown", bad: with("format: doc"), good: with("format: pdf")},
	{code: "unit-validated-malformed", bad: with("validated: 2026-1-5"), good: with("validated: 2026-01-05")},
	{code: "unit-update-frequency-unknown", bad: with("update_frequency: yearly"), good: with("update_frequency: rarely")},

	{code: "hint-summary-unit-missing", bad: with("hints: {summary_available: true}"), good: with("hints: {summary_available: false}")},
	{code: "hint-summary-unit-unknown", bad: with("hints: {summary_unit: x}"), good: units(item("a", "hints: {summary_unit: b}"), item("b", ""))},
	{code: "hint-summary-of-unannounced", bad: units(item("a", ""), item("b", "hints: {summary_of: a}")), good: units(item("a", "hints: {summary_available: true, summary_unit: b}"), item("b", "hints: {summary_of: a}"))},
	{code: "hint-chunk-of-unknown", bad: with("hints: {chunk_of: x}"), good: with("hints: {chunk_of: a}")},
	{code: "hint-chunk-index-alone", bad: with("hints: {chunk_index: 1}"), good: with("hints: {chunk_index: 1, chunk_of: a}")},
	{code: "hint-chunk-index-range", bad: with("hints: {chunk_index: 3, total_chunks: 2, chunk_of: a}"), good: with("hints: {chunk_index: 2, total_chunks: 2, chunk_of: a}")},

	{code: "temporal-date-malformed", bad: with("temporal: {valid_from: 2026-02-30}"), good: with("temporal: {valid_from: 2026-02-28T10:00:00Z}")},
	{code: "temporal-date-malformed", bad: with("temporal: {recorded_at: soon}"), good: with("")},
	{code: "temporal-window-inverted", bad: with("temporal: {valid_from: 2027-02-01, valid_until: 2027-01-31}"), good: with("temporal: {valid_from: 2027-01-31T10:00Z, valid_until: 2027-01-31}")},
	{code: "temporal-expired", bad: with("temporal: {valid_until: 2026-06-30T23:00Z}"), good: with("temporal: {valid_until: 2026-07-01}")},
	{code: "temporal-expired", bad: root("temporal: {valid_until: 2026-06-30}"), good: units(item("a", "temporal: {valid_until: 2026-06-30, superseded_by: b}"), item("b", ""))},
	{code: "temporal-successor-unknown", bad: with("temporal: {superseded_by: gone}"), good: with("temporal: {superseded_by: 'other:x'}")},
	{code: "temporal-successor-unknown", bad: with("temporal: {superseded_by: bee}"), good: units(item("a", "temporal: {superseded_by: bee}"), item("b", "aliases: [bee]"))},
	{code: "temporal-cycle", bad: with("temporal: {superseded_by: a}"), good: with("")},
	{code: "temporal-cycle", bad: units(item("a", "temporal: {superseded_by: b}"), item("b", "temporal: {superseded_by: a}")), good: units(item("a", "temporal: {superseded_by: b}"), item("b", ""))},
	{code: "temporal-cycle", bad: root("temporal: {superseded_by: a}"), good: with("")},

	{code: "indexing-unknown", bad: root("indexing: closed"), good: with("indexing: {allow: [read]}")},
	{code: "payment-tier-without-paid-method", bad: root("payment: {default_tier: metered, methods: [{type: free}]}"), good: root("payment: {default_tier: metered, methods: [{type: free}, {type: meter}]}")},
	{code: "payment-method-unknown", bad: with("payment: {methods: [{type: gold}]}"), good: with("payment: {methods: [{type: subscription}]}")},
	{code: "payment-method-unknown", bad: with("payment: {methods: [{}]}"), good: with("payment: {methods: []}")},
	{code: "payment-x402-incomplete", bad: with("payment: {methods: [{type: x402, currency: USDC}]}"), good: with("payment: {methods: [{type: x402, currency: USDC, price_per_request: '0.01'}]}")},
	{code: "payment-price-malformed", bad: with("payment: {methods: [{type: x402, currency: USDC, price_per_request: '0,01'}]}"), good: with("payment: {methods: [{type: x402, currency: USDC, price_per_request: '12'}]}")},
	{code: "rate-limits-backoff-unknown", bad: root("rate_limits: {backoff: random}"), good: root("rate_limits: {backoff: linear}")},
	{code: "auth-methods-unrecognized", bad: root("auth: {methods: [{type: magic}]}"), good: root("auth: {methods: [{type: magic}, {type: spiffe}]}")},
	{code: "human-in-the-loop-malformed", bad: root("delegation: {human_in_the_loop: true}"), good: root("delegation: {human_in_the_loop: {required: true}}")},
	{code: "approval-mechanism-unknown", bad: with("delegation: {human_in_the_loop: {approval_mechanism: sometimes}}"), good: with("delegation: {human_in_the_loop: {approval_mechanism: uma}}")},
	{code: "delegation-depth-exceeds-root", bad: root("delegation: {max_depth: 2}") + "    delegation: {max_depth: 3}\n", good: root("delegation: {max_depth: 2}") + "    delegation: {max_depth: 2}\n"},
	{code: "compliance-sensitivity-unknown", bad: root("compliance: {sensitivity: secret}"), good: with("compliance: {sensitivity: restricted}")},
	{code: "visibility-default-unknown", bad: with("visibility: {default: secret}"), good: with("visibility: {default: internal}")},
	{code: "visibility-condition-incomplete", bad: with("visibility: {conditions: [{when: {environment: dev}}]}"), good: with("visibility: {conditions: [{when: {environment: dev}, then: {requires_auth: true}}]}")},
	{code: "visibility-sensitivity-unknown", bad: with("visibility: {conditions: [{when: {environment: dev}, then: {sensitivity: low}}]}"), good: with("visibility: {conditions: [{when: {environment: dev}, then: {sensitivity: public}}]}")},
	{code: "authority-value-unknown", bad: with("authority: {deploy: maybe}"), good: with("authority: {deploy: requires_approval}")},
	{code: "authority-value-unknown", bad: with("visibility: {conditions: [{when: {environment: dev}, then: {authority: {read: yes}}}]}"), good: root("authority: {read: denied}")},
	{code: "discovery-status-unknown", bad: root("discovery: {verification_status: verifed}"), good: root("discovery: {verification_status: verified}")},
	{code: "discovery-source-unknown", bad: with("discovery: {source: hearsay}"), good: with("discovery: {source: openapi}")},
	{code: "discovery-rumored-confidence", bad: with("discovery: {verification_status: rumored, confidence: 0.5}"), good: with("discovery: {verification_status: rumored, confidence: 0.4}")},
	{code: "discovery-declared-confidence", bad: with("discovery: {verification_status: declared, confidence: 0.8}"), good: with("discovery: {verification_status: declared, confidence: 0.5}")},
	{code: "discovery-verified-confidence", bad: with("discovery: {verification_status: verified, verified_by: x, confidence: 0.7}"), good: with("discovery: {verification_status: verified, verified_by: x, confidence: 0.8}")},
	{code: "discovery-verified-by-missing", bad: with("discovery: {verification_status: verified}"), good: with("discovery: {verification_status: observed}")},
	{code: "discovery-verified-at-unexpected", bad: with("discovery: {verification_status: observed, verified_at: 2026-01-01}"), good: with("discovery: {verification_status: deprecated, verified_at: 2026-01-01}")},
	{code: "discovery-contradiction-unknown", bad: with("discovery: {contradicted_by: gone}"), good: units(item("a", "discovery: {contradicted_by: b}"), item("b", ""))},
	{code: "discovery-contradiction-unknown", bad: with("discovery: {contradicted_by: [a]}"), good: with("")},
	{code: "content-hash-algorithm-unknown", bad: with("content_hash: {algorithm: md5, value: ab}"), good: with("content_hash: {algorithm: sha384, value: AB}")},
	{code: "content-hash-algorithm-unknown", bad: with("content_hash: sha256"), good: with(""), with: []string{"content-hash-value-malformed"}},
	{code: "content-hash-value-malformed", bad: with("content_hash: {algorithm: sha256, value: 'sha256:ab'}"), good: with("content_hash: {algorithm: sha256, value: ab}")},
	{code: "content-structure-primary-unknown", bad: with("content_structure: {primary: hologram}"), good: with("content_structure: {primary: prose}")},
	{code: "content-structure-contains-unknown", bad: with("content_structure: {contains: [table, hologram]}"), good: with("content_structure: {contains: table}")},
	{code: "content-structure-density-unknown", bad: with("content_structure: {density: verbose}"), good: with("content_structure: {density: dense}")},

	{code: "load-eligible-on-plain-unit", bad: with("load_eligible: false"), good: with("load_eligible: ~")},
	{code: "skill-eligible-without-scope", bad: with("kind: skill\nload_eligible: true"), good: with("kind: skill")},
	{code: "deny-malformed", bad: play("action_scope: {deny: all}\nsteps: [{id: x, uses: s}]"), good: play("action_scope: {tools: [git]}\nsteps: [{id: x, uses: s}]")},
	{code: "deny-malformed", bad: play("action_scope: {deny: {paths: {a: b}}}\nsteps: [{id: x, uses: s}]"), good: play("action_scope: {deny: {paths: a}}\nsteps: [{id: x, uses: s}]"), with: []string{"deny-empty"}},
	{code: "deny-empty", bad: with("kind: skill\naction_scope: {deny: {}}"), good: with("action_scope: {deny: {}}")},
	{code: "deny-overrides-allow", bad: with("kind: skill\naction_scope: {paths: [a, b], deny: {paths: [b]}}"), good: with("kind: skill\naction_scope: {paths: [a/**], deny: {paths: [a/b]}}")},
	{code: "steps-on-other-kind", bad: with("steps: [{id: x, action: y}]"), good: with("")},
	{code: "playbook-steps-missing", bad: play("steps: []"), good: play("steps: [{id: x, uses: s}]")},
	{code: "playbook-eligible-with-inline-step", bad: play("load_eligible: true\nsteps: [{id: x, action: y}]"), good: play("load_eligible: true\nsteps: [{id: x, uses: s, action: y}]"), with: []string{"playbook-inline-steps"}},
	{code: "playbook-inline-steps", bad: play("steps: [{id: x, action: y}]"), good: play("steps: [{id: x, uses: s}]")},
	{code: "playbook-scope-unverified", bad: play("action_scope: {tools: [git]}\nsteps: [{id: x, action: y}]"), good: play("action_scope: {tools: [git]}\nsteps: [{id: x, uses: s}]"), with: []string{"playbook-inline-steps"}},
	{code: "step-depends-on-cycle", bad: play("steps: [{id: x, uses: s, depends_on: [y]}, {id: y, uses: s, depends_on: [x]}]"), good: play("steps: [{id: x, uses: s, depends_on: [y]}, {id: y, uses: s}]")},
	{code: "step-depends-on-cycle", bad: play("steps: [{id: x, uses: s, depends_on: [x]}]"), good: play("steps: [{id: x, uses: s, depends_on: []}]")},
	{code: "step-self-nullified", bad: play("action_scope: {deny: {tools: [git]}}\nsteps: [{id: x, uses: s}]"), good: play("action_scope: {deny: {tools: [rm]}}\nsteps: [{id: x, uses: s}]")},
	{code: "step-id-duplicate", bad: play("steps: [{id: x, uses: s}, {id: x, uses: s}]"), good: play("steps: [{id: x, uses: s}, {id: y, uses: s}]")},
	{code: "step-without-work", bad: play("steps: [{id: x}]"), good: play("steps: [{id: x, uses: s}]")},
	{code: "step-depends-on-unknown", bad: play("steps: [{id: x, uses: s, depends_on: [gone]}]"), good: play("steps: [{id: x, uses: s}]")},
	{code: "step-uses-unknown", bad: play("steps: [{id: x, uses: gone}]"), good: play("steps: [{id: x, uses: s}]")},
	{code: "step-uses-unverified", bad: play("steps: [{id: x, uses: gone}]") + "composition: {includes: [{source: b.yaml}]}\n", good: play("steps: [{id: x, uses: s}]") + "composition: {includes: [{source: b.yaml}]}\n"},
	{code: "step-uses-playbook", bad: play("steps: [{id: x, uses: pb}]"), good: play("steps: [{id: x, uses: s}]")},
	{code: "step-uses-unusable-kind", bad: units(item("e", "kind: service"), item("pb", "kind: playbook\nsteps: [{id: x, uses: e}]")), good: play("steps: [{id: x, uses: s}]")},
	{code: "step-uses-ineligible", bad: play("load_eligible: true\nsteps: [{id: x, uses: n}]"), good: play("load_eligible: true\nsteps: [{id: x, uses: s}]")},
	{code: "step-uses-ineligible-ungranted", bad: play("steps: [{id: x, uses: n}]"), good: play("steps: [{id: x, uses: s}]")},
	{code: "step-uses-not-skill", bad: play("steps: [{id: x, uses: k}]"), good: play("steps: [{id: x, uses: s}]"), with: []string{"step-uses-ineligible-ungranted"}},
	{code: "step-on-failure-unknown", bad: play("steps: [{id: x, uses: s, on_failure: retry}]"), good: play("steps: [{id: x, uses: s, on_failure: escalate}]")},
	{code: "step-authority-missing", bad: units(item("w", "kind: skill\nload_eligible: true\naction_scope: {paths: [a]}"), item("pb", "kind: playbook\nsteps: [{id: x, uses: w}]")), good: units(item("w", "kind: skill\nload_eligible: true\naction_scope: {paths: [a]}"), item("pb", "kind: playbook\nsteps: [{id: x, uses: w, authority_level: prepare}]"))},

	{code: "charter-on-other-kind", bad: with("kind: policy\ncharter: {scope: {never: [x]}, authority: CFO}"), good: with("kind: knowledge\ncharter: {scope: {never: [x]}, authority: CFO}")},
	{code: "charter-scope-missing", bad: charter("authority: CFO"), good: charter("scope: {never: [x]}, authority: CFO")},
	{code: "charter-authority-missing", bad: charter("scope: {never: [x]}"), good: charter("scope: {never: [x]}, authority: CFO")},
	{code: "charter-never-missing", bad: charter("scope: {never: []}, authority: CFO"), good: charter("scope: {never: [x]}, authority: CFO")},
	{code: "charter-rule-id-duplicate", bad: charter("scope: {never: [x]}, authority: CFO, rules: [{id: r, text: t}, {id: r, text: t}]"), good: charter("scope: {never: [x]}, authority: CFO, rules: [{id: r, text: t}, {id: q, text: t}]")},
	{code: "charter-propose-and-never", bad: charter("scope: {propose: [x], never: [x]}, authority: CFO"), good: charter("scope: {propose: [y], never: [x]}, authority: CFO")},
	{code: "charter-escalation-unaddressed", bad: charter("scope: {never: [x]}, authority: CFO, rules: [{id: r, text: t, decision: Escalate}]"), good: charter("scope: {never: [x]}, authority: CFO, authority_required: CFO, rules: [{id: r, text: t, decision: Escalate}]")},
	{code: "charter-propose-executes", bad: charter("scope: {propose: [Pay invoices], never: [x]}, authority: CFO"), good: charter("scope: {propose: [payment orders], never: [x]}, authority: CFO")},
	{code: "charter-persona-quoted", bad: charter("scope: {never: [x]}, authority: CFO, persona: Lara, rules: [{id: r, text: Lara decides}]"), good: charter("scope: {never: [x]}, authority: CFO, persona: Lara")},

	{code: "task-type-id-missing", bad: root("task_types: [{intent: i}]"), good: root("task_types: [{id: t}]")},
	{code: "task-type-id-duplicate", bad: root("task_types: [{id: t}, {id: t}]"), good: root("task_types: [{id: t}, {id: u}]")},
	{code: "agent-id-missing", bad: root("agents: [{name: n}]"), good: root("agents: [{id: t}]")},
	{code: "agent-id-duplicate", bad: root("agents: [{id: t}, {id: t}]"), good: root("agents: [{id: t}, {id: u}]")},
	{code: "authority-level-unknown", bad: with("authority_level: god"), good: with("authority_level: commit")},
	{code: "authority-level-unknown", bad: root("authority_level_scale: [low]\nagents: [{id: t, authority_level: commit}]"), good: root("authority_level_scale: [low]\nagents: [{id: t, authority_level: low}]")},
	{code: "authority-ceiling-undeclared", bad: root("authority_level_scale: [low]\ntask_types: [{id: t}]"), good: root("authority_level_scale: [low]\ntask_types: [{id: t, authority_level: low}]")},
	{code: "ceiling-source-id-missing", bad: root(ceilingSources + "{sources: [{unit_ref: a}]}"), good: root(ceilingSources + "{sources: [{id: x, unit_ref: a}]}")},
	{code: "ceiling-source-id-duplicate", bad: root(ceilingSources + "{sources: [{id: x, unit_ref: a}, {id: x, agent_ref: g}]}"), good: root(ceilingSources + "{sources: [{id: x, unit_ref: a}, {id: y, agent_ref: g}]}")},
	{code: "ceiling-source-ambiguous", bad: root(ceilingSources + "{sources: [{id: x, unit_ref: a, agent_ref: g}]}"), good: root(ceilingSources + "{sources: [{id: x, task_type_ref: t}]}")},
	{code: "ceiling-source-ambiguous", bad: root(ceilingSources + "{sources: [{id: x, unit_ref: a, authority_level: observe}]}"), good: root(ceilingSources + "{sources: [{id: x, authority_level: observe}]}")},
	{code: "ceiling-source-empty", bad: root(ceilingSources + "{sources: [{id: x}]}"), good: root(ceilingSources + "{sources: []}")},
	{code: "ceiling-source-ref-unknown", bad: root(ceilingSources + "{sources: [{id: x, task_type_ref: gone}]}"), good: root(ceilingSources + "{sources: [{id: x, task_type_ref: t}]}")},
	{code: "ceiling-mandatory-source-missing", bad: root(ceilingSources + "{sources: [], mandatory_sources: [x]}"), good: root(ceilingSources + "{sources: [{id: x, unit_ref: a}], mandatory_sources: [x]}")},

	{code: "ref-id-missing", bad: root("manifests: [{url: 'https://h/k'}]"), good: root("manifests: [{id: m, url: 'https://h/k'}]")},
	{code: "ref-id-characters", bad: root("manifests: [{id: M_m, url: 'https://h/k'}]"), good: root("manifests: [{id: m.1-m, url: 'https://h/k'}]")},
	{code: "ref-id-duplicate", bad: root("manifests: [{id: m, url: 'https://h/k'}, {id: m, url: 'https://h/l'}]"), good: root("manifests: [{id: m, url: 'https://h/k'}, {id: n, url: 'https://h/l'}]")},
	{code: "ref-url-missing", bad: root("manifests: [{id: m}]"), good: root("manifests: [{id: m, url: 'https://h/k'}]")},
	{code: "ref-url-insecure", bad: root("manifests: [{id: m, url: ../k.yaml}]"), good: root("manifests: [{id: m, url: 'https://h/k'}]")},
	{code: "ref-relationship-unknown", bad: ref("relationship: component"), good: ref("relationship: archive")},
	{code: "ref-update-frequency-unknown", bad: ref("update_frequency: yearly"), good: ref("update_frequency: hourly")},
	{code: "ref-version-policy-unknown", bad: ref("version_pin: 1.0.0, version_policy: latest"), good: ref("version_pin: 1.0.0, version_policy: exact")},
	{code: "ref-version-pin-alone", bad: ref("version_pin: 1.0.0"), good: ref("version_policy: minimum")},
	{code: "ref-context-empty", bad: ref("context: []"), good: ref("context: [prod]")},
	{code: "ref-identity-hint-missing", bad: ref("agent_identity: {required: true}"), good: ref("agent_identity: {required: true, credential_hint: api_key}")},
	{code: "ref-identity-issuer-unused", bad: ref("agent_identity: {credential_hint: api_key, issuer_hint: x}"), good: ref("agent_identity: {credential_hint: oauth2, issuer_hint: x}")},
	{code: "ref-temporal-date-malformed", bad: ref("temporal: {valid_from: soon}"), good: ref("temporal: {valid_from: 2026-01-01}")},
	{code: "ref-temporal-window-inverted", bad: ref("temporal: {valid_from: 2027-01-02, valid_until: 2027-01-01}"), good: ref("temporal: {valid_from: 2027-01-01, valid_until: 2027-01-01}")},
	{code: "ref-temporal-expired", bad: ref("temporal: {valid_until: 2026-06-30}"), good: ref("temporal: {valid_until: 2026-07-01}")},
	{code: "ref-temporal-successor-unknown", bad: ref("temporal: {superseded_by: a}"), good: ref("temporal: {superseded_by: n}")},
	{code: "ref-temporal-cycle", bad: ref("temporal: {superseded_by: m}"), good: ref("temporal: {superseded_by: n}")},
	{code: "external-dependency-incomplete", bad: depends("manifest: m"), good: depends("manifest: m, unit: u")},
	{code: "external-dependency-manifest-unknown", bad: depends("manifest: x, unit: u"), good: depends("manifest: m, unit: u")},
	{code: "external-dependency-on-failure-unknown", bad: depends("manifest: m, unit: u, on_failure: retry"), good: depends("manifest: m, unit: u, on_failure: degrade")},
	{code: "external-relationship-incomplete", bad: relates("to_manifest: m, to_unit: u, type: governs"), good: relates("from_unit: a, to_manifest: m, to_unit: u, type: governs")},
	{code: "external-relationship-manifest-unknown", bad: relates("from_unit: a, to_manifest: x, to_unit: u, type: governs"), good: relates("from_unit: a, from_manifest: m, to_unit: u, type: governs")},
	{code: "external-relationship-type-unknown", bad: relates("from_unit: a, to_manifest: m, to_unit: u, type: owns"), good: relates("from_unit: a, to_manifest: m, to_unit: u, type: context")},
	{code: "composition-include-circular", bad: root("composition: {includes: [{source: ./sub/../knowledge.yaml}]}"), good: root("composition: {includes: [{source: base/knowledge.yaml}]}")},
	{code: "composition-target-missing", bad: root("composition: {includes: [{source: b.yaml, as: b}], excludes: [{id: 'c:x'}]}"), good: root("composition: {includes: [{source: b.yaml, as: b}], excludes: [{id: 'b:x'}]}")},
	{code: "composition-target-missing", bad: root("composition: {overrides: [{id: x}]}"), good: root("composition: {includes: [{source: b.yaml}], overrides: [{id: x}]}")},
}

func ref(fields string) string {
	return root("manifests: [{id: m, url: 'https://h/k', " + fields + "}, {id: n, url: 'https://h/n'}]")
}

func depends(fields string) string {
	return root("manifests: [{id: m, url: 'https://h/k'}]") + "    external_depends_on: [{" + fields + "}]\n"
}

func relates(fields string) string {
	return root("manifests: [{id: m, url: 'https://h/k'}]\nexternal_relationships: [{" + fields + "}]")
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("x" + strings.Repeat("y", i) + ", ")
	}
	return b.String()
}

func specFindings(t *testing.T, text string, o ValidateOptions) []Finding {
	t.Helper()
	m, _, err := Parse([]byte(text), "team/knowledge.yaml")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	o.Rules, o.Now = Spec, today
	o.Exists = func(path string) bool { return path != "gone.md" }
	return Validate(m, o)
}

func codes(findings []Finding) []string {
	var list []string
	for _, f := range findings {
		list = append(list, f.Code)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func TestSpecRules(t *testing.T) {
	described := map[string]ruleText{}
	for _, r := range specRuleTexts() {
		described[r.code] = r
	}
	covered := map[string]bool{}
	for _, test := range specCases {
		covered[test.code] = true
		if _, ok := described[test.code]; !ok {
			t.Errorf("no rule has the code %s", test.code)
		}
		want := append([]string{test.code}, test.with...)
		slices.Sort(want)
		findings := specFindings(t, test.bad, ValidateOptions{})
		if got := codes(findings); !slices.Equal(got, want) {
			t.Errorf("%s: the bad manifest gives %v, want %v\n%s", test.code, got, want, test.bad)
		}
		for _, f := range findings {
			if f.Severity != described[f.Code].severity || f.Message == "" || f.Hint == "" || f.Pos.Line == 0 || f.Path == "" {
				t.Errorf("%s: incomplete finding %+v", test.code, f)
			}
		}
		if got := codes(specFindings(t, test.good, ValidateOptions{})); len(got) > 0 {
			t.Errorf("%s: the good manifest gives %v\n%s", test.code, got, test.good)
		}
	}
	for code := range described {
		if !covered[code] {
			t.Errorf("no case for %s", code)
		}
	}
	t.Logf("%d rules, %d cases", len(described), len(specCases))
}
