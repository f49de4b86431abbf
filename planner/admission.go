package planner

import (
	"slices"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
)

// attestation says what the manifest asks of the agent, and whether it can.
// Requirements that cannot be read are taken to be there.
func attestation(m *kcp.Manifest, who Capabilities) TrustNote {
	req := m.Trust.Requirements
	required := m.Trust.Malformed || req != nil && (req.Malformed || req.RequireAttestation.Restricts())
	if !required {
		return TrustNote{AgentCanAttest: true, Note: "no manifest-level attestation requirement"}
	}
	provider := who.AttestationProvider.Value
	if req != nil && provider != "" && slices.Contains(req.TrustedProviders.Items, provider) {
		return TrustNote{true, true, "manifest requires attestation; the agent can present it"}
	}
	return TrustNote{true, false, "manifest requires attestation; the agent CANNOT — restricted units are gated"}
}

// access is who may fetch a unit, never what it costs.
type access int

const (
	accessPublic access = iota
	accessAuthenticated
	accessRestricted
)

// accessOf reads a unit's access. A word the specification does not know is
// the most restrictive one.
func accessOf(u *kcp.Unit) access {
	switch {
	case !u.Access.Set || u.Access.Value == "public":
		return accessPublic
	case u.Access.Value == "authenticated":
		return accessAuthenticated
	}
	return accessRestricted
}

const attestationRefusal = "restricted: requires attestation the agent cannot present"

func decideAttestation(p *pass, c *candidate) string {
	if p.trust.RequiresAttestation && !p.trust.AgentCanAttest && accessOf(c.unit) == accessRestricted {
		c.unattested = true
		c.refuse(attestationRefusal)
	}
	return ""
}

func explainAttestation(p *pass, c *candidate) string {
	switch {
	case c.unattested:
		return attestationRefusal + ineligible
	case p.trust.RequiresAttestation && accessOf(c.unit) == accessRestricted:
		return "agent can present required attestation"
	}
	return "no attestation required"
}

// ineligible ends the detail of a gate that passed a unit but closed loading.
const ineligible = " (loadEligible=false)"

// decideAccess asks for a credential, for a path below the manifest and for an
// id that names one unit only.
func decideAccess(p *pass, c *candidate) string {
	if problem := p.locatorProblem(c.unit); problem != "" {
		c.unlocated = true
		c.refuse(problem)
	}
	level := accessOf(c.unit)
	if level == accessPublic || len(p.options.Capabilities.Credentials) > 0 {
		return ""
	}
	c.uncredited = true
	reason := "access '" + c.unit.Access.Value + "': agent holds no credentials"
	if level == accessRestricted {
		c.eligible = false
	}
	c.remarks = append(c.remarks, reason)
	if c.payment.is("x402") {
		c.remarks = append(c.remarks, "hint: '"+c.unit.Access.Value+
			"' + x402 — if this unit is anonymous-paid the manifest should mark it public (spec §4.11, v0.25.1)")
	}
	return ""
}

func explainAccess(p *pass, c *candidate) string {
	switch {
	case c.unlocated:
		return p.locatorProblem(c.unit) + ineligible
	case c.uncredited && accessOf(c.unit) == accessRestricted:
		return "access '" + c.unit.Access.Value + "': agent holds no credentials" + ineligible
	case c.uncredited:
		return "access '" + c.unit.Access.Value + "': agent holds no credentials"
	case c.unit.Access.Value != "":
		return "access '" + c.unit.Access.Value + "' — agent has credentials"
	}
	return "public access"
}

// locatorProblem says why loading the unit by its id or path would not be
// safe. A missing path is no danger: there is nothing to load.
func (p *pass) locatorProblem(u *kcp.Unit) string {
	if p.units.Shared(u.ID) {
		return "unit id '" + u.ID + "' is declared " + artifact.FormatNumber(float64(p.units.Times(u.ID))) + " times — none of them can be meant"
	}
	if u.Path == "" {
		return ""
	}
	if problem := kcp.SafeUnitPath(u.Path); problem != "" {
		return "unsafe path '" + u.Path + "': " + problem
	}
	return ""
}
