package kcp

import (
	"slices"
	"strings"

	"github.com/writ-dev/writ/match"
)

// checkAgent runs the reference agent's lint (planner contract section 15). The
// order of the tables is the order of its findings; the messages are its own.
func checkAgent(c *checker) {
	c.o.Level = 0
	apply(c, place{}, agentHeadRules, c.m)
	for i := range c.m.Units {
		u := &c.m.Units[i]
		apply(c, unitPlace(u), agentUnitRules, u)
		eachPaymentMethod(unitPlace(u), u.Payment, func(at place, method *PaymentMethod) {
			apply(c, at, agentMethodRules, method)
		})
	}
	for i := range c.m.Units {
		u := &c.m.Units[i]
		at := unitPlace(u)
		at.bare = true
		apply(c, at, agentSuccessorRules, u)
	}
	for i := range c.m.Manifests {
		r := &c.m.Manifests[i]
		apply(c, refPlace(r), agentRefRules, r)
	}
	apply(c, place{}, agentTrustRules, c.m)
}

var agentHeadRules = []rule[*Manifest]{
	{
		"project-missing", Warning, 1,
		"`project` is missing.",
		"name the project: project: my-project",
		func(c *checker, m *Manifest) {
			if m.Project == unnamedProject {
				c.add("project", "missing 'project'")
			}
		},
	},
	{
		"version-missing", Warning, 1,
		"`version`, the manifest's own version, is missing.",
		`add the manifest's own version: version: "1.0.0"`,
		func(c *checker, m *Manifest) {
			if m.Version == unsetVersion {
				c.add("version", "missing 'version'")
			}
		},
	},
	{
		"kcp-version-missing", Warning, 1,
		"`kcp_version` is missing.",
		mendKCPVersion,
		func(c *checker, m *Manifest) {
			if m.KCPVersion.Value == "" {
				c.add("kcp_version", "missing 'kcp_version' — agents cannot tell which spec revision this targets")
			}
		},
	},
	{
		"units-missing", Warning, 1,
		"The manifest declares no units.",
		mendUnits,
		func(c *checker, m *Manifest) {
			if len(m.Units) == 0 {
				c.add("units", "declares no units — nothing for an agent to navigate")
			}
		},
	},
}

var agentUnitRules = []rule[*Unit]{
	{
		"unit-id-missing", Error, 1,
		"A unit has no `id`.",
		mendUnitID,
		func(c *checker, u *Unit) {
			if u.ID == "" {
				c.add("id", "missing 'id'")
			}
		},
	},
	{
		"unit-id-duplicate", Error, 1,
		"Two units have one `id`.",
		mendDuplicateID,
		func(c *checker, u *Unit) {
			if u.ID != "" && c.unit(u.ID) != u {
				c.add("id", "duplicate unit id")
			}
		},
	},
	{
		"unit-path-unsafe", Error, 1,
		"A unit's `path` is missing, is a URL, is absolute or contains `..`.",
		"write the path of a file below the manifest's folder, with /: docs/guide.md",
		func(c *checker, u *Unit) {
			if problem := referencePathProblem(u.Path); problem != "" {
				c.add("path", problem)
			}
		},
	},
	{
		"unit-path-not-found", Error, 1,
		"A unit's `path` names no file or folder. Checked for local manifests only.",
		mendPathNotFound,
		func(c *checker, u *Unit) {
			if c.pathMissing(u) {
				c.add("path", "path '"+u.Path+"' does not exist")
			}
		},
	},
	{
		"unit-intent-missing", Error, 1,
		"A unit has no `intent`.",
		mendIntent,
		func(c *checker, u *Unit) {
			if u.Intent == "" {
				c.add("intent", "missing 'intent' — intent is the primary navigation signal")
			}
		},
	},
	{
		"unit-triggers-missing", Warning, 1,
		"A unit has no `triggers`, so only its intent leads to it.",
		"list the words people use when they need this unit: triggers: [refund, chargeback]",
		func(c *checker, u *Unit) {
			if len(u.Triggers.Items) == 0 {
				c.add("triggers", "no 'triggers' — unit is only findable through its intent text")
			}
		},
	},
	{
		"unit-audience-missing", Warning, 1,
		"A unit has no `audience`.",
		mendAudience,
		func(c *checker, u *Unit) {
			if len(u.Audience.Items) == 0 {
				c.add("audience", "no 'audience' — declare who this unit serves (e.g. [agent, human])")
			}
		},
	},
	{
		"unit-access-unknown", Warning, 1,
		"`access` is not `public`, `authenticated` or `restricted`. writ treats it as restricted.",
		mendAccess,
		func(c *checker, u *Unit) {
			if a := u.Access.Value; a != "" && !contains(accessLevels, a) {
				c.add("access", "unknown access '"+a+"' (expected public/authenticated/restricted)")
			}
		},
	},
	{
		"unit-kind-unknown", Warning, 1,
		"`kind` is not a kind of unit.",
		mendKind,
		func(c *checker, u *Unit) {
			if k := u.Kind.Value; k != "" && !contains(kinds, k) {
				c.add("kind", "unknown kind '"+k+"' — not a §4.3a kind (knowledge/schema/service/policy/executable/skill/playbook); "+
					"parsers ignore it and the unit loads as plain knowledge. If 'skill' was meant, "+
					"note action_scope/load_eligible/skill_eligibility will NOT apply as written")
			}
		},
	},
	{
		"temporal-date-malformed", Error, 1,
		"`temporal.valid_from` or `valid_until` is not a date. writ keeps such a unit out of every plan.",
		mendDate,
		agentDates,
	},
	{
		"temporal-window-inverted", Error, 1,
		"`temporal.valid_until` comes before `valid_from`.",
		mendWindow,
		func(c *checker, u *Unit) {
			if t := u.Temporal; t != nil && t.ValidFrom.Value != "" && t.ValidUntil.Value != "" &&
				match.UTF16Less(t.ValidUntil.Value, t.ValidFrom.Value) {
				c.add("temporal.valid_until", "temporal window ends ("+t.ValidUntil.Value+") before it starts ("+t.ValidFrom.Value+")")
			}
		},
	},
	{
		"temporal-expired", Warning, 1,
		"The unit has expired and names no successor.",
		mendExpired,
		func(c *checker, u *Unit) {
			t := u.Temporal
			if t == nil || c.o.Now == "" || t.SupersededBy.Value != "" || !looksLikeISODate(t.ValidUntil.Value) {
				return
			}
			if match.UTF16Less(t.ValidUntil.Value, c.o.Now) {
				c.add("temporal.valid_until", "expired "+t.ValidUntil.Value+
					" with no 'superseded_by' — agents get a dead end instead of a successor")
			}
		},
	},
	{
		"not-for-own-vocabulary", Warning, 2,
		"A `not_for` entry contains words of the unit's own intent or triggers, so it gates the unit against the questions it answers.",
		`name the excluded topic in its own words, such as "accounting", and leave out this unit's words`,
		agentOwnVocabulary,
	},
	{
		"skill-eligible-without-scope", Error, 2,
		"A skill with `load_eligible: true` lists nothing that it may touch.",
		mendScope,
		func(c *checker, u *Unit) {
			if u.Kind.Value == "skill" && u.LoadEligible.Grants() && scopeEmpty(u.ActionScope) {
				c.add("action_scope", "kind: skill is load_eligible but declares no action_scope — a governed skill authorizes nothing "+
					"until it lists the tools/paths/capabilities it may touch (fail-closed, #100)")
			}
		},
	},
	{
		"skill-without-scope", Warning, 2,
		"A skill lists nothing that it may touch.",
		mendScope,
		func(c *checker, u *Unit) {
			if u.Kind.Value == "skill" && !u.LoadEligible.Grants() && scopeEmpty(u.ActionScope) {
				c.add("action_scope", "kind: skill declares no action_scope — it authorizes nothing "+
					"and can never be invoked until it declares one (fail-closed, #100)")
			}
		},
	},
	{
		"deny-empty", Warning, 2,
		"`action_scope.deny` is declared and empty.",
		mendDenyEmpty,
		func(c *checker, u *Unit) {
			if deny := declaredDeny(u); deny != nil && denyEmpty(deny) {
				c.add("action_scope.deny", "action_scope.deny is declared but empty — it prohibits nothing ("+agentSection(u)+")")
			}
		},
	},
	{
		"deny-overrides-allow", Warning, 2,
		"One token stands both in `action_scope` and in its `deny`. The deny wins.",
		mendDenyConflict,
		func(c *checker, u *Unit) {
			eachDenyConflict(u, func(dimension string, index int, token string) {
				c.add(element("action_scope.deny."+dimension, index), "action_scope."+dimension+" allows '"+token+"' while deny."+dimension+
					" denies it — the allow entry is neutralized; deny overrides allow, fail-closed ("+agentSection(u)+")")
			})
		},
	},
	{
		"step-self-nullified", Warning, 3,
		"Everything that a step's unit allows on one dimension is denied by the playbook or by the unit itself.",
		mendNullified,
		func(c *checker, u *Unit) {
			eachNullifiedStep(c, u, func(s *Step, dimension string) {
				c.add(element("steps", s.Index), "step '"+s.ID+"': every '"+dimension+"' entry '"+s.Uses.Value+
					"' allows is denied by the effective deny (playbook ∪ skill) — the step is self-nullified on '"+dimension+
					"' (§4.3b, RFC-0030)")
			})
		},
	},
}

// These run for each method in turn.
var agentMethodRules = []rule[*PaymentMethod]{
	{
		"payment-method-type-missing", Error, 2,
		"A payment method has no `type`.",
		mendPaymentMethod,
		func(c *checker, p *PaymentMethod) {
			if p.Type == "" {
				c.add("", "payment method missing 'type'")
			}
		},
	},
	{
		"payment-x402-incomplete", Warning, 3,
		"An `x402` method has no `price_per_request` or no `currency`.",
		mendX402,
		func(c *checker, p *PaymentMethod) {
			if p.Type == "x402" && (p.PricePerRequest.Value == "" || p.Currency.Value == "") {
				c.add("", "x402 payment method should declare 'price_per_request' and 'currency'")
			}
		},
	},
}

var agentSuccessorRules = []rule[*Unit]{
	{
		"temporal-successor-unknown", Error, 1,
		"`temporal.superseded_by` names no unit of this manifest.",
		mendSuccessor,
		func(c *checker, u *Unit) {
			if u.Temporal == nil || u.Temporal.SupersededBy.Value == "" {
				return
			}
			if id := u.Temporal.SupersededBy.Value; c.unit(id) == nil {
				c.add("temporal.superseded_by", "temporal.superseded_by references unknown unit '"+id+"'")
			}
		},
	},
}

var agentRefRules = []rule[*Ref]{
	{
		"ref-id-missing", Error, 1,
		"An entry of `manifests` has no `id`.",
		mendRefID,
		func(c *checker, r *Ref) {
			if r.ID == "" {
				c.add("id", "missing 'id'")
			}
		},
	},
	{
		"ref-id-duplicate", Error, 1,
		"Two entries of `manifests` have one `id`.",
		mendRefDuplicate,
		func(c *checker, r *Ref) {
			if r.ID != "" && c.ref(r.ID) != r {
				c.add("id", "duplicate manifest ref id")
			}
		},
	},
	{
		"ref-url-missing", Error, 1,
		"An entry of `manifests` has no `url`.",
		mendRefURL,
		func(c *checker, r *Ref) {
			if r.URL == "" {
				c.add("url", "missing 'url'")
			}
		},
	},
	{
		"ref-url-insecure", Warning, 1,
		"The `url` of an entry of `manifests` does not start with `https://`.",
		mendRefURL,
		func(c *checker, r *Ref) {
			if r.URL != "" && !strings.HasPrefix(r.URL, "https://") {
				c.add("url", "url is not https — agents should fetch federation over TLS")
			}
		},
	},
	{
		"ref-identity-hint-missing", Warning, 1,
		"`agent_identity.required` is true, and `credential_hint` is missing.",
		mendIdentityHint,
		func(c *checker, r *Ref) {
			if a := r.AgentIdentity; a != nil && a.Required.Restricts() && a.CredentialHint.Value == "" {
				c.add("agent_identity.credential_hint",
					"agent_identity.required without 'credential_hint' — agents cannot plan credential acquisition")
			}
		},
	},
}

var agentTrustRules = []rule[*Manifest]{
	{
		"attestation-without-providers", Error, 3,
		"`require_attestation` is true, and `trusted_providers` is empty: no agent can qualify.",
		"list the providers you trust under trust.agent_requirements.trusted_providers, or remove require_attestation",
		func(c *checker, m *Manifest) {
			if r := m.Trust.Requirements; r != nil && r.RequireAttestation.Restricts() && len(r.TrustedProviders.Items) == 0 {
				c.add("trust.agent_requirements.trusted_providers",
					"require_attestation with no trusted_providers — no agent can ever qualify (permanently fail-closed)")
			}
		},
	},
	{
		"signing-scheme-unsupported", Warning, 3,
		"`signing.scheme` is not `ed25519`.",
		"sign with ed25519 and write scheme: ed25519",
		func(c *checker, m *Manifest) {
			if s := m.Signing; s != nil && !isEd25519(s.Scheme.Value) {
				c.add("signing.scheme", "signing scheme '"+s.Scheme.Value+"' is not one this agent can verify (ed25519)")
			}
		},
	},
	{
		"serving-url-invalid", Error, 3,
		"A `serving` entry is not an absolute `https://` URL.",
		mendServing,
		func(c *checker, m *Manifest) {
			eachServingURL(m, func(list, field, entry string) {
				switch {
				case !strings.HasPrefix(entry, "https://"):
					c.add(field, list+" entry '"+entry+"' must be an absolute https:// URL (§3.12)")
				case !isHTTPS(entry):
					c.add(field, list+" entry '"+entry+"' is not a valid URL (§3.12)")
				}
			})
		},
	},
	{
		"serving-unsigned", Warning, 3,
		"`serving` is declared without `signing`, so whoever copies the manifest can change it.",
		"sign the manifest and add a signing block, or remove serving",
		func(c *checker, m *Manifest) {
			if m.Serving != nil && m.Signing == nil {
				c.add("serving", "serving block declared without a signing block — an unsigned binding can be stripped or altered "+
					"by a re-hoster (§3.12 recommends signing)")
			}
		},
	},
}

// agentDates tests the shape of a date only, as the reference does.
func agentDates(c *checker, u *Unit) {
	if u.Temporal == nil {
		return
	}
	report := func(field string, value String) {
		if value.Value != "" && !looksLikeISODate(value.Value) {
			c.addHint("temporal."+field, "temporal."+field+" '"+value.Value+"' is not an ISO date", mendDate)
		}
	}
	report("valid_from", u.Temporal.ValidFrom)
	report("valid_until", u.Temporal.ValidUntil)
}

// looksLikeISODate reports whether s is four, two and two digits with hyphens,
// and anything on the same line after a T or a blank.
func looksLikeISODate(s string) bool {
	const form = "0000-00-00"
	if len(s) < len(form) {
		return false
	}
	for i := range len(form) {
		if digit := s[i] >= '0' && s[i] <= '9'; form[i] == '0' && !digit || form[i] == '-' && s[i] != '-' {
			return false
		}
	}
	rest := s[len(form):]
	return rest == "" || (rest[0] == 'T' || rest[0] == ' ') && !strings.ContainsAny(rest, "\n\r\u2028\u2029")
}

// agentOwnVocabulary looks in each not_for entry for words of the unit itself.
func agentOwnVocabulary(c *checker, u *Unit) {
	if len(u.NotFor.Items) == 0 {
		return
	}
	vocabulary := match.Terms(u.Intent)
	for _, trigger := range u.Triggers.Items {
		vocabulary = append(vocabulary, match.Terms(trigger)...)
	}
	slices.SortFunc(vocabulary, match.CompareUTF16)
	vocabulary = slices.Compact(vocabulary)
	for i, entry := range u.NotFor.Items {
		if !c.afford(len(vocabulary)) {
			return
		}
		lower := match.Lower(entry)
		var hits []string
		for _, word := range vocabulary {
			if strings.Contains(lower, word) {
				hits = append(hits, word)
			}
		}
		if len(hits) > 0 {
			c.add(element("not_for", i), "not_for '"+entry+"' contains the unit's own vocabulary ("+strings.Join(hits, ", ")+
				") — term matching will gate this unit against its most natural questions; name the excluded topic in its own words "+
				`(e.g. "CCPA", "accounting"), never as a negation of this unit's topic ("non-X", "outside X")`)
		}
	}
}

// agentSection names the section that defines the unit's deny.
func agentSection(u *Unit) string {
	if u.Kind.Value == "playbook" {
		return "§4.3b"
	}
	return "§4.3a"
}
