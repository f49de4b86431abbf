package planner

import (
	"fmt"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/match"
)

// gate is one question asked of a unit. What it decides and what it says stand
// side by side, so the plan and its trace cannot drift apart.
type gate struct {
	name string
	// decide stops the unit by giving the reason, or lets it pass with "".
	// The gates from skill_eligibility to access only ever make a unit
	// ineligible to load; strict then stops it.
	decide func(p *pass, c *candidate) string
	// explain says, for the trace, why the unit passed. It is called after the
	// whole plan was made and only for units that reached the gate.
	explain func(p *pass, c *candidate) string
}

// cascade is the order of questions. The first six stop a unit, the next four
// decide whether it may be loaded, the last three run greedily over the ranking.
var cascade = [...]gate{
	{"audience", decideAudience, explainAudience},
	{"not_for", decideNotFor, explainNotFor},
	{"temporal", decideTemporal, explainTemporal},
	{"deprecated", decideDeprecated, func(*pass, *candidate) string { return "not deprecated" }},
	{"supersession", decideSupersession, explainSupersession},
	{"relevance", decideRelevance, explainRelevance},
	{"skill_eligibility", decideProcedure, explainProcedure},
	{"attestation", decideAttestation, explainAttestation},
	{"payment", decidePayment, explainPayment},
	{"access", decideAccess, explainAccess},
	{"strict", decideStrict, explainStrict},
	{"max_units", decideMaxUnits, explainMaxUnits},
	{"money_budget", decideMoney, explainMoney},
	{"context_budget", decideContext, explainContext},
}

// Indices in cascade of the gates that the plan treats specially.
const (
	gateNotFor      = 1
	gateDeprecated  = 3
	gateRelevance   = 5
	gateProcedure   = 6
	gateAttestation = 7
	gatePayment     = 8
	gateAccess      = 9
	gateStrict      = 10
	gateMaxUnits    = 11
	gateMoney       = 12
	gateContext     = 13
	firstGreedy     = gateMaxUnits
)

// closed is what every gate says of a field it cannot understand.
func closed(field, problem string) string {
	return field + " " + problem + " — the gate stays closed"
}

// A unit serves the roles it lists; an empty list serves everyone.
func decideAudience(p *pass, c *candidate) string {
	audience := &c.unit.Audience
	if audience.Malformed {
		return closed("audience", "is not a list of roles")
	}
	if len(audience.Items) == 0 {
		return ""
	}
	role := p.options.Capabilities.Role
	for _, item := range audience.Items {
		if item == role {
			return ""
		}
	}
	return "audience " + artifact.StringList(audience.Items) + " excludes role '" + role + "'"
}

func explainAudience(p *pass, c *candidate) string {
	if len(c.unit.Audience.Items) == 0 {
		return "no audience restriction"
	}
	return "role '" + p.options.Capabilities.Role + "' in " + artifact.StringList(c.unit.Audience.Items)
}

// A unit says what it is not for; the first entry that contains a term of the
// task wins.
func decideNotFor(p *pass, c *candidate) string {
	notFor := &c.unit.NotFor
	if notFor.Malformed {
		return closed("not_for", "is not a list of phrases")
	}
	for _, entry := range notFor.Items {
		if p.containsAny(entry) {
			return "not_for declares it does not serve '" + entry + "'"
		}
	}
	return ""
}

func explainNotFor(_ *pass, c *candidate) string {
	if len(c.unit.NotFor.Items) == 0 {
		return "no not_for declarations"
	}
	return "task terms do not match " + artifact.StringList(c.unit.NotFor.Items)
}

// Both bounds of a window are inclusive; dates are compared as text.
func decideTemporal(p *pass, c *candidate) string {
	t := p.manifest.TemporalOf(c.unit)
	if t == nil {
		return ""
	}
	if problem := temporalProblem(t); problem != "" {
		return problem
	}
	if from := t.ValidFrom.Value; from != "" && match.CompareUTF16(from, p.options.AsOf) > 0 {
		return "not active until " + from
	}
	if until := t.ValidUntil.Value; until != "" && match.CompareUTF16(until, p.options.AsOf) < 0 {
		if t.SupersededBy.Value != "" {
			return "expired " + until + " (superseded by " + t.SupersededBy.Value + ")"
		}
		return "expired " + until
	}
	return ""
}

// temporalProblem says what makes a window impossible to judge.
func temporalProblem(t *kcp.Temporal) string {
	if t.Malformed {
		return closed("temporal", "is not a window of dates")
	}
	if v := t.ValidFrom.Value; v != "" && !kcp.ValidDate(v) {
		return closed("valid_from", "'"+v+"' is not a date")
	}
	if v := t.ValidUntil.Value; v != "" && !kcp.ValidDate(v) {
		return closed("valid_until", "'"+v+"' is not a date")
	}
	return ""
}

// activeAt reports whether the unit's window holds the date.
func (p *pass) activeAt(u *kcp.Unit) bool {
	t := p.manifest.TemporalOf(u)
	if t == nil {
		return true
	}
	return temporalProblem(t) == "" &&
		(t.ValidFrom.Value == "" || match.CompareUTF16(t.ValidFrom.Value, p.options.AsOf) <= 0) &&
		(t.ValidUntil.Value == "" || match.CompareUTF16(t.ValidUntil.Value, p.options.AsOf) >= 0)
}

func explainTemporal(p *pass, c *candidate) string {
	if p.manifest.TemporalOf(c.unit) == nil {
		return "no temporal constraint"
	}
	return "active as-of " + p.options.AsOf
}

func decideDeprecated(_ *pass, c *candidate) string {
	if c.unit.Deprecated.Restricts() {
		return "deprecated"
	}
	return ""
}

// A unit gives way to a successor that could be selected today. Every member
// of a cycle gives way, since none of them is the current one.
func decideSupersession(p *pass, c *candidate) string {
	successor := p.successorOf(c.unit)
	if successor == "" {
		return ""
	}
	if p.cyclic[c.unit] {
		return "superseded by " + successor + " (supersession cycle: no unit of it is current)"
	}
	if target := p.units.Resolve(successor); target != nil && p.selectable(target) {
		return "superseded by " + successor + " (successor active)"
	}
	return ""
}

func explainSupersession(p *pass, c *candidate) string {
	if successor := p.successorOf(c.unit); successor != "" {
		return "successor '" + successor + "' not active"
	}
	return "no supersession declared"
}

func (p *pass) successorOf(u *kcp.Unit) string {
	if t := p.manifest.TemporalOf(u); t != nil {
		return t.SupersededBy.Value
	}
	return ""
}

// selectable reports whether a successor could stand in for what it supersedes.
func (p *pass) selectable(u *kcp.Unit) bool {
	if u.Deprecated.Restricts() || !p.activeAt(u) || u.Audience.Malformed {
		return false
	}
	if len(u.Audience.Items) == 0 {
		return true
	}
	for _, item := range u.Audience.Items {
		if item == p.options.Capabilities.Role {
			return true
		}
	}
	return false
}

// A unit without a single term of the task is not relevant.
func decideRelevance(p *pass, c *candidate) string {
	r := p.score(c.unit)
	if r.score == 0 {
		return "no task-relevance match"
	}
	if len(p.slab) == 0 {
		p.slab = make([]evaluation, slabSize)
	}
	c.evaluation, p.slab = &p.slab[0], p.slab[1:]
	*c.evaluation = evaluation{relevance: r, eligible: true}
	return ""
}

// slabSize is how many evaluations are allocated at once.
const slabSize = 128

func explainRelevance(p *pass, c *candidate) string {
	return fmt.Sprintf("score %d: %s", c.score, strings.Join(p.wording.reasons(c.relevance), "; "))
}

// refuse makes the unit ineligible and says why.
func (c *candidate) refuse(reason string) {
	c.eligible = false
	c.remarks = append(c.remarks, reason)
}

// Strict drops what may not be loaded. The reason is the last one given, which
// is what plans of other implementations carry.
func decideStrict(p *pass, c *candidate) string {
	if !p.options.Strict || c.eligible {
		return ""
	}
	return c.remarks[len(c.remarks)-1]
}

func explainStrict(p *pass, _ *candidate) string {
	if p.options.Strict {
		return "load-eligible under strict mode"
	}
	return "non-strict mode"
}
