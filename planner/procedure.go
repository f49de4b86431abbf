package planner

import (
	"math"
	"slices"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/match"
)

// canonicalScale ranks authority levels when the manifest declares no scale
// (specification 3.13), least authority first.
var canonicalScale = []string{"observe", "explain", "suggest", "prepare", "commit"}

// Governed procedures: skills and playbooks. A skill acts, a playbook chains
// skills in steps; both need an explicit grant, and a grant on a playbook does
// not compose to the units its steps name.
//
// The questions are asked in a fixed order and all of them are asked, so the
// plan lists every objection; the trace names the first.
func decideProcedure(p *pass, c *candidate) string {
	kind := c.unit.GovernedKind()
	c.object(malformedProcedure(c.unit, kind))
	if kind != "" && (!c.unit.LoadEligible.Grants() || kind != c.unit.Kind.Value) {
		c.object("kind: " + c.unit.Kind.Value + " not invoke-eligible: no explicit eligibility grant")
	}
	steps := kind == "playbook" && c.unit.StepsDeclared
	var violating string
	if steps {
		if c.eligible {
			c.object(p.composeObjection(c.unit))
		}
		if c.eligible {
			violating = p.decideAuthority(c)
		}
	}
	if p.options.Spend.proposes() {
		p.decideSpend(c, steps)
	}
	if len(p.requests) > 0 {
		p.decideDeny(c, steps)
	}
	if steps {
		p.raiseGrants(c, violating)
	}
	return ""
}

func explainProcedure(_ *pass, c *candidate) string {
	switch {
	case c.procedure != "":
		return c.procedure
	case c.unit.Governed():
		return "kind: " + c.unit.Kind.Value + " with explicit eligibility grant"
	}
	return "not a governed procedure"
}

// object refuses the unit for the reason, if there is one, and keeps the first
// for the trace.
func (c *candidate) object(reason string) {
	if reason == "" {
		return
	}
	c.refuse(reason)
	if c.procedure == "" {
		c.procedure = reason
	}
}

// malformedProcedure closes the gate on declarations that cannot be read.
func malformedProcedure(u *kcp.Unit, kind string) string {
	if s := u.ActionScope; s != nil {
		switch {
		case s.Malformed:
			return closed("action_scope", "is not a mapping of lists")
		case s.Spend != nil && (s.Spend.Malformed || s.Spend.AllowedVendors.Malformed):
			return closed("action_scope.spend", "is not a limit that can be checked")
		case s.Deny != nil && (s.Deny.Tools.Malformed || s.Deny.Paths.Malformed || s.Deny.Capabilities.Malformed):
			return closed("action_scope.deny", "is not a mapping of lists")
		}
	}
	if kind == "playbook" && u.StepsMalformed {
		return closed("steps", "is not a list of steps, each with an id")
	}
	return ""
}

// composeObjection finds the first step that uses a unit without a grant of
// its own (specification 4.3c).
func (p *pass) composeObjection(playbook *kcp.Unit) string {
	for i := range playbook.Steps {
		step := &playbook.Steps[i]
		target := p.used(step.Uses.Value)
		if target != nil && !target.LoadEligible.Grants() {
			return "step '" + step.ID + "' uses '" + step.Uses.Value +
				"', which is not invoke-eligible — a grant on a playbook does not compose to the units its steps name (§4.3c)"
		}
	}
	return ""
}

// used gives the unit that a step uses, nil when it names none.
func (p *pass) used(id string) *kcp.Unit {
	if id == "" {
		return nil
	}
	return p.units.Unit(id)
}

// rankOf places a level on the scale, -1 when it is not there.
func (p *pass) rankOf(level string) int { return slices.Index(p.scale, level) }

// decideAuthority resolves the playbook's ceiling and refuses the first step
// above it, whose id it gives (specification 3.13).
func (p *pass) decideAuthority(c *candidate) (violating string) {
	ceiling, source, found := "", "", false
	for _, s := range []struct {
		level kcp.String
		name  string
	}{{c.unit.AuthorityLevel, "playbook authority_level"}, {p.options.GrantCeiling, "agent grant_ceiling"}} {
		if s.level.Set && (!found || p.rankOf(s.level.Value) < p.rankOf(ceiling)) {
			ceiling, source, found = s.level.Value, s.name, true
		}
	}
	if !found {
		return ""
	}
	c.marker().Authority = &AuthorityCeiling{Ceiling: ceiling, BindingSource: source}
	for i := range c.unit.Steps {
		step := &c.unit.Steps[i]
		if !step.AuthorityLevel.Set {
			continue
		}
		if r := p.rankOf(step.AuthorityLevel.Value); r < 0 || r > p.rankOf(ceiling) {
			c.object("step '" + step.ID + "' requires '" + step.AuthorityLevel.Value +
				"' authority, above the resolved ceiling '" + ceiling + "' (bound by " + source + ") — §3.13")
			return step.ID
		}
	}
	return ""
}

// spendScope is a spend limit and the step it binds.
type spendScope struct {
	step  string
	limit *kcp.Spend
}

// spendScopes lists the limits on a unit's purchases. A step that uses a unit
// is bound by that unit's limit, an inline step by the playbook's own.
func (p *pass) spendScopes(u *kcp.Unit, steps bool) []spendScope {
	own := spendOf(u)
	if !steps {
		if own == nil {
			return nil
		}
		return []spendScope{{u.ID, own}}
	}
	var scopes []spendScope
	for i := range u.Steps {
		step := &u.Steps[i]
		limit := own
		if step.Uses.Value != "" {
			limit = spendOf(p.used(step.Uses.Value))
		}
		if limit != nil {
			scopes = append(scopes, spendScope{step.ID, limit})
		}
	}
	return scopes
}

func spendOf(u *kcp.Unit) *kcp.Spend {
	if u == nil || u.ActionScope == nil {
		return nil
	}
	return u.ActionScope.Spend
}

// decideSpend holds a proposed purchase against every limit (specification
// 4.3a.1) and records the one that binds: the first violated, else the lowest.
func (p *pass) decideSpend(c *candidate, steps bool) {
	scopes := p.spendScopes(c.unit, steps)
	if len(scopes) == 0 {
		return
	}
	binding, violation := scopes[0], ""
	for _, s := range scopes {
		if violation = spendViolation(s.limit, p.options.Spend); violation != "" {
			binding = s
			break
		}
		if ceilingOf(s.limit) < ceilingOf(binding.limit) {
			binding = s
		}
	}
	c.marker().Spend = &SpendLimit{
		MaxSpend:       binding.limit.MaxSpend,
		AllowedVendors: binding.limit.AllowedVendors.Items,
		Currency:       binding.limit.Currency,
		BindingSource:  "step '" + binding.step + "' action_scope.spend",
	}
	if violation != "" && c.eligible {
		c.object("step '" + binding.step + "' " + violation + " — §4.3a.1")
	}
}

func ceilingOf(s *kcp.Spend) float64 {
	if s.MaxSpend.Set {
		return s.MaxSpend.Value
	}
	return math.Inf(1)
}

// tolerance absorbs the noise of binary fractions when amounts are compared.
const tolerance = 1e-9

func spendViolation(limit *kcp.Spend, proposal *SpendProposal) string {
	vendors := limit.AllowedVendors.Items
	if v := proposal.Vendor; v.Set && len(vendors) > 0 && !slices.Contains(vendors, v.Value) {
		return "names vendor '" + v.Value + "', outside allowed_vendors " + artifact.StringList(vendors)
	}
	if !proposal.Amount.Set || !limit.MaxSpend.Set {
		return ""
	}
	amount := artifact.FormatNumber(proposal.Amount.Value)
	if pc, lc := proposal.Currency, limit.Currency; pc.Set && lc.Set && pc.Value != lc.Value {
		return "proposed " + amount + " " + pc.Value + " cannot be checked against a " + lc.Value + " ceiling (currency mismatch)"
	}
	if proposal.Amount.Value > limit.MaxSpend.Value+tolerance {
		return "proposed spend " + amount + " exceeds max_spend " + artifact.FormatNumber(limit.MaxSpend.Value)
	}
	return ""
}

// denyPair is one place where a proposed action may be denied.
type denyPair struct {
	step            string
	playbook, skill *kcp.Deny
	skillName       string
}

func (p *pass) denyPairs(u *kcp.Unit, steps bool) []denyPair {
	if !steps {
		return []denyPair{{step: u.ID, skill: denyOf(u), skillName: u.ID}}
	}
	pairs := make([]denyPair, 0, len(u.Steps))
	for i := range u.Steps {
		step := &u.Steps[i]
		pairs = append(pairs, denyPair{step.ID, denyOf(u), denyOf(p.used(step.Uses.Value)), step.Uses.Value})
	}
	return pairs
}

func denyOf(u *kcp.Unit) *kcp.Deny {
	if u == nil || u.ActionScope == nil {
		return nil
	}
	return u.ActionScope.Deny
}

// decideDeny refuses a unit whose proposed action a deny names. A deny is
// final: no grant, approval or escalation enacts it (specification 4.3b).
func (p *pass) decideDeny(c *candidate, steps bool) {
	for _, pair := range p.denyPairs(c.unit, steps) {
		for _, r := range p.requests {
			source := pair.source(r)
			if source == "" {
				continue
			}
			c.object("step '" + pair.step + "' attempts '" + r.token + "' (" + r.dimension + "), denied by " + source +
				" — refused finally, not grantable (§4.3b, RFC-0030)")
			c.marker().ProhibitedAttempts = []Prohibited{{
				Step: pair.step, Dimension: r.dimension, Token: r.token, BindingSource: source,
				Note: "prohibited attempt: '" + r.token + "' (" + r.dimension + ") matches " + source +
					" — refused finally, not grantable; a grant against this event records acknowledgement and does not enact (§4.3b, RFC-0030)",
			}}
			return
		}
	}
}

// source names the deny lists that hold the token, "" when none does.
func (d denyPair) source(r request) string {
	byPlaybook, bySkill := denies(d.playbook, r), denies(d.skill, r)
	skill := "skill '" + d.skillName + "' action_scope.deny"
	switch {
	case byPlaybook && bySkill:
		return "playbook action_scope.deny and " + skill
	case byPlaybook:
		return "playbook action_scope.deny"
	case bySkill:
		return skill
	}
	return ""
}

func denies(d *kcp.Deny, r request) bool {
	if d == nil {
		return false
	}
	switch r.dimension {
	case "tools":
		return slices.Contains(d.Tools.Items, r.token)
	case "capabilities":
		return slices.Contains(d.Capabilities.Items, r.token)
	}
	return slices.ContainsFunc(d.Paths.Items, func(entry string) bool { return match.DenyPath(entry, r.token) })
}

// raiseGrants lists the steps that need a person's grant before they are
// enacted (specification 3.14). It opens and closes nothing.
func (p *pass) raiseGrants(c *candidate, violating string) {
	var prohibited []string
	if c.markers != nil {
		for _, attempt := range c.markers.ProhibitedAttempts {
			prohibited = append(prohibited, attempt.Step)
		}
	}
	for i := range c.unit.Steps {
		step := &c.unit.Steps[i]
		var fired []string
		for _, trigger := range step.Escalation.Items {
			if trigger != "insufficient_authority_level" || violating != "" && step.ID == violating {
				fired = append(fired, trigger)
			}
		}
		if len(fired) == 0 || slices.Contains(prohibited, step.ID) {
			continue
		}
		c.marker().GrantRequests = append(c.marker().GrantRequests, GrantRequest{
			Step: step.ID, Triggers: fired,
			Note: "step '" + step.ID + "' declares escalation " + artifact.StringList(fired) +
				" — a grant is owed before enactment (not auto-approved) — §3.14",
		})
	}
}
