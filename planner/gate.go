package planner

import (
	"fmt"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
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

// Both bounds of a window are inclusive; dates are compared as text. Under
// KnownAt a unit that was recorded later is stopped here too.
func decideTemporal(p *pass, c *candidate) string {
	t := p.view.TemporalOf(c.unit)
	switch t.On(p.options.AsOf) {
	case kcp.WindowUnreadable:
		return windowProblem(t)
	case kcp.WindowFuture:
		return "not active until " + t.ValidFrom.Value
	case kcp.WindowPast:
		if t.SupersededBy.Value != "" {
			return "expired " + t.ValidUntil.Value + " (superseded by " + t.SupersededBy.Value + ")"
		}
		return "expired " + t.ValidUntil.Value
	}
	if !p.view.Known(c.unit) {
		return unknownReason(t, p.options.KnownAt)
	}
	return ""
}

// windowProblem says what makes a window impossible to judge.
func windowProblem(t *kcp.Temporal) string {
	if t.Malformed {
		return closed("temporal", "is not a window of dates")
	}
	if v := t.ValidFrom.Value; v != "" && !kcp.ValidDate(v) {
		return closed("valid_from", "'"+v+"' is not a date")
	}
	return closed("valid_until", "'"+t.ValidUntil.Value+"' is not a date")
}

// unknownReason says why a unit does not count as known.
func unknownReason(t *kcp.Temporal, knownAt string) string {
	at := t.RecordedAt.Value
	switch {
	case !kcp.ValidDate(at):
		return closed("recorded_at", "'"+at+"' is not a date")
	case !kcp.ValidDate(knownAt):
		return "recorded " + at + ", and '" + knownAt + "' is not a date to compare with"
	}
	return "not recorded until " + at + " (plan as known at " + knownAt + ")"
}

func explainTemporal(p *pass, c *candidate) string {
	t := p.view.TemporalOf(c.unit)
	if t == nil {
		return "no temporal constraint"
	}
	detail := "active as-of " + p.options.AsOf
	if p.options.KnownAt == "" {
		return detail
	}
	if t.RecordedAt.Value == "" {
		return detail + ", no recorded_at"
	}
	return detail + ", recorded " + t.RecordedAt.Value
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
	s := p.view.Supersession(c.unit, p.options.Capabilities.Role)
	switch {
	case !s.Acts:
		return ""
	case s.Cycle:
		return "superseded by " + s.By + " (supersession cycle: no unit of it is current)"
	}
	return "superseded by " + s.By + " (successor active)"
}

func explainSupersession(p *pass, c *candidate) string {
	if t := p.view.TemporalOf(c.unit); t != nil && t.SupersededBy.Value != "" {
		return "successor '" + t.SupersededBy.Value + "' not active"
	}
	return "no supersession declared"
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
