package kcp

// overrideField replaces one field of a unit, as an override names it
// (specification 3.11). What the override writes as null is then not declared.
func overrideField(u, by *Unit, field string) {
	switch field {
	case "path":
		u.Path = by.Path
	case "intent":
		u.Intent = by.Intent
	case "kind":
		u.Kind = by.Kind
	case "scope":
		u.Scope = by.Scope
	case "audience":
		u.Audience = by.Audience
	case "triggers":
		u.Triggers = by.Triggers
	case "not_for":
		u.NotFor = by.NotFor
	case "aliases":
		u.Aliases = by.Aliases
	case "depends_on":
		u.DependsOn = by.DependsOn
	case "supersedes":
		u.Supersedes = by.Supersedes
	case "size_tokens":
		u.SizeTokens = by.SizeTokens
	case "bytes":
		u.Bytes = by.Bytes
	case "hints":
		u.Hints = by.Hints
	case "content_hash":
		u.ContentHash = by.ContentHash
	default:
		overrideGate(u, by, field)
	}
}

func overrideGate(u, by *Unit, field string) {
	switch field {
	case "not_for_strict":
		u.NotForStrict = by.NotForStrict
	case "deprecated":
		u.Deprecated = by.Deprecated
	case "load_eligible":
		u.LoadEligible = by.LoadEligible
	case "access":
		u.Access = by.Access
	case "auth_scope":
		u.AuthScope = by.AuthScope
	case "sensitivity":
		u.Sensitivity = by.Sensitivity
	case "authority_level":
		u.AuthorityLevel = by.AuthorityLevel
	case "temporal":
		u.Temporal = by.Temporal
	case "payment":
		u.Payment = by.Payment
	case "rate_limits":
		u.RateLimits = by.RateLimits
	case "action_scope":
		u.ActionScope = by.ActionScope
	case "steps":
		u.Steps, u.StepsDeclared, u.StepsMalformed = by.Steps, by.StepsDeclared, by.StepsMalformed
	default:
		overrideDetail(u, by, field)
	}
}

func overrideDetail(u, by *Unit, field string) {
	var d, from Details
	if u.Details != nil {
		d = *u.Details // the included manifest keeps its own
	}
	if by.Details != nil {
		from = *by.Details
	}
	u.Details = &d
	switch field {
	case "format":
		d.Format = from.Format
	case "content_type":
		d.ContentType = from.ContentType
	case "language":
		d.Language = from.Language
	case "license":
		d.License = from.License
	case "validated":
		d.Validated = from.Validated
	case "update_frequency":
		d.UpdateFrequency = from.UpdateFrequency
	case "indexing":
		d.Indexing = from.Indexing
	case "requires_capabilities":
		d.RequiresCapabilities = from.RequiresCapabilities
	case "content_structure":
		d.ContentStructure = from.ContentStructure
	case "external_depends_on":
		d.ExternalDependsOn = from.ExternalDependsOn
	default:
		overrideBlock(&d, &from, field)
	}
}

func overrideBlock(d, from *Details, field string) {
	switch field {
	case "auth":
		d.Auth = from.Auth
	case "delegation":
		d.Delegation = from.Delegation
	case "compliance":
		d.Compliance = from.Compliance
	case "freshness_policy":
		d.Freshness = from.Freshness
	case "visibility":
		d.Visibility = from.Visibility
	case "authority":
		d.Authority = from.Authority
	case "discovery":
		d.Discovery = from.Discovery
	case "charter":
		d.Charter = from.Charter
	}
}
