package kcp

import "strings"

// blocks are those that may stand at the root, in a unit or in both. A nil block
// is not declared there; what a unit inherits is checked once, at the root.
type blocks struct {
	indexing   *Indexing
	payment    *Payment
	rateLimits *RateLimits
	auth       *Auth
	delegation *Delegation
	compliance *Compliance
	visibility *Visibility
	authority  *Authority
	discovery  *Discovery
}

func checkBlocks(c *checker, at place, b blocks) {
	if b.indexing != nil {
		apply(c, at, specIndexingRules, b.indexing)
	}
	if b.payment != nil {
		apply(c, at.in("payment"), specPaymentRules, b.payment)
		eachPaymentMethod(at, b.payment, func(at place, method *PaymentMethod) {
			apply(c, at, specPaymentMethodRules, method)
		})
	}
	if b.rateLimits != nil {
		apply(c, at.in("rate_limits"), specRateLimitRules, b.rateLimits)
	}
	if b.auth != nil {
		apply(c, at.in("auth"), specAuthRules, b.auth)
	}
	if b.delegation != nil {
		apply(c, at.in("delegation"), specDelegationRules, b.delegation)
	}
	if b.compliance != nil {
		apply(c, at.in("compliance"), specComplianceRules, b.compliance)
	}
	if b.visibility != nil {
		checkVisibility(c, at.in("visibility"), b.visibility)
	}
	if b.authority != nil {
		apply(c, at.in("authority"), specAuthorityRules, b.authority)
	}
	if b.discovery != nil {
		apply(c, at.in("discovery"), specDiscoveryRules, b.discovery)
	}
}

var specIndexingRules = []rule[*Indexing]{
	{
		"indexing-unknown", Warning, 3,
		"`indexing` is one word that is not in the vocabulary.",
		"write indexing: open, read-only, no-train or none, or a mapping with allow and deny",
		func(c *checker, i *Indexing) { c.oneOf("indexing", i.Shorthand, indexings...) },
	},
}

var specPaymentRules = []rule[*Payment]{
	{
		"payment-tier-without-paid-method", Warning, 2,
		"`default_tier` is `metered` or `subscription`, and every method is `free`.",
		"add the method by which agents pay, or write default_tier: free",
		func(c *checker, p *Payment) {
			tier := p.DefaultTier.Value
			if (tier == "metered" || tier == "subscription") && allFree(p.Methods) {
				c.add("default_tier", "default_tier is "+tier+", but every payment method is free")
			}
		},
	},
}

// allFree reports whether there are methods and all are free.
func allFree(methods []PaymentMethod) bool {
	for i := range methods {
		if methods[i].Type != "free" {
			return false
		}
	}
	return len(methods) > 0
}

// eachPaymentMethod calls do with the place of each method; p may be nil.
func eachPaymentMethod(at place, p *Payment, do func(place, *PaymentMethod)) {
	if p == nil {
		return
	}
	for i := range p.Methods {
		do(at.item("payment.methods", i), &p.Methods[i])
	}
}

var specPaymentMethodRules = []rule[*PaymentMethod]{
	{
		"payment-method-unknown", Warning, 2,
		"The `type` of a payment method is missing or not in the vocabulary.",
		mendPaymentMethod,
		func(c *checker, p *PaymentMethod) {
			if p.Type == "" {
				c.add("type", "the payment method does not say how to pay")
				return
			}
			c.oneOf("type", String{Value: p.Type, Set: true}, paymentMethods...)
		},
	},
	{
		"payment-x402-incomplete", Warning, 3,
		"An `x402` method has no `price_per_request` or no `currency`.",
		mendX402,
		func(c *checker, p *PaymentMethod) {
			if p.Type == "x402" {
				c.required("price_per_request", p.PricePerRequest.Value, "the x402 method")
				c.required("currency", p.Currency.Value, "the x402 method")
			}
		},
	},
	{
		"payment-price-malformed", Warning, 3,
		"`price_per_request` is not a plain decimal number. writ never pays such a price.",
		`write digits with a decimal point, and quote them: price_per_request: "0.01"`,
		func(c *checker, p *PaymentMethod) {
			if price := p.PricePerRequest.Value; price != "" && !plainDecimal(price) {
				c.add("price_per_request", "price_per_request is "+show(price)+", which is not a plain decimal number")
			}
		},
	},
}

// plainDecimal reports whether s is digits, optionally followed by a point and
// more digits.
func plainDecimal(s string) bool {
	whole, fraction, point := strings.Cut(s, ".")
	return digits(whole) && (!point || digits(fraction))
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

var specRateLimitRules = []rule[*RateLimits]{
	{
		"rate-limits-backoff-unknown", Warning, 3,
		"`rate_limits.backoff` is not in the vocabulary.",
		"write backoff: linear, exponential or none",
		func(c *checker, r *RateLimits) { c.oneOf("backoff", r.Backoff, backoffs...) },
	},
}

var specAuthRules = []rule[*Auth]{
	{
		"auth-methods-unrecognized", Warning, 3,
		"No entry of `auth.methods` has a type that agents know.",
		"offer at least one of none, oauth2, api_key, bearer_token, spiffe, did, http_signature",
		func(c *checker, a *Auth) {
			if !a.MethodsDeclared {
				return
			}
			for i := range a.Methods {
				if contains(authMethods, a.Methods[i].Type.Value) {
					return
				}
			}
			c.add("methods", "agents know none of the ways to authenticate that are offered")
		},
	},
}

var specDelegationRules = []rule[*Delegation]{
	{
		"human-in-the-loop-malformed", Error, 3,
		"`delegation.human_in_the_loop` is not a mapping.",
		"write a mapping: human_in_the_loop: {required: true, approval_mechanism: oauth_consent}",
		func(c *checker, d *Delegation) {
			if d.HumanInTheLoop != nil && d.HumanInTheLoop.Malformed {
				c.add("human_in_the_loop", "human_in_the_loop is not a mapping, so nobody can tell when a person must approve")
			}
		},
	},
	{
		"approval-mechanism-unknown", Error, 3,
		"`approval_mechanism` is not in the vocabulary.",
		"write approval_mechanism: oauth_consent, uma or custom",
		func(c *checker, d *Delegation) {
			if d.HumanInTheLoop != nil {
				c.oneOf("human_in_the_loop.approval_mechanism", d.HumanInTheLoop.ApprovalMechanism, approvals...)
			}
		},
	},
}

var specUnitDelegationRules = []rule[*Delegation]{
	{
		"delegation-depth-exceeds-root", Error, 3,
		"A unit's `delegation.max_depth` is greater than the manifest's. A unit may only tighten it.",
		"lower the unit's max_depth to the manifest's or below",
		func(c *checker, d *Delegation) {
			root := c.m.Delegation
			if root != nil && root.MaxDepth.Set && d.MaxDepth.Set && d.MaxDepth.Value > root.MaxDepth.Value {
				c.add("max_depth", "the unit lets authority pass on further than the manifest does")
			}
		},
	},
}

var specComplianceRules = []rule[*Compliance]{
	{
		"compliance-sensitivity-unknown", Error, 3,
		"`compliance.sensitivity` is not in the vocabulary.",
		"write sensitivity: public, internal, confidential or restricted",
		func(c *checker, b *Compliance) { c.oneOf("sensitivity", b.Sensitivity, sensitivities...) },
	},
}

func checkVisibility(c *checker, at place, v *Visibility) {
	apply(c, at, specVisibilityRules, v)
	for i := range v.Conditions {
		condition := &v.Conditions[i]
		at := at.item("conditions", condition.Index)
		apply(c, at, specConditionRules, condition)
		if condition.ThenAuthority != nil {
			apply(c, at.in("then.authority"), specAuthorityRules, condition.ThenAuthority)
		}
	}
}

var specVisibilityRules = []rule[*Visibility]{
	{
		"visibility-default-unknown", Warning, 3,
		"`visibility.default` is not a sensitivity.",
		"write default: public, internal, confidential or restricted",
		func(c *checker, v *Visibility) { c.oneOf("default", v.Default, sensitivities...) },
	},
}

var specConditionRules = []rule[*VisibilityCondition]{
	{
		"visibility-condition-incomplete", Warning, 3,
		"A visibility condition lacks `when` or `then`.",
		"write both: {when: {environment: production}, then: {sensitivity: confidential}}",
		func(c *checker, v *VisibilityCondition) {
			if !v.WhenDeclared || !v.ThenDeclared {
				c.add("", "the condition needs both when and then")
			}
		},
	},
	{
		"visibility-sensitivity-unknown", Warning, 3,
		"`then.sensitivity` of a visibility condition is not a sensitivity.",
		"write sensitivity: public, internal, confidential or restricted",
		func(c *checker, v *VisibilityCondition) { c.oneOf("then.sensitivity", v.Sensitivity, sensitivities...) },
	},
}

var specAuthorityRules = []rule[*Authority]{
	{
		"authority-value-unknown", Warning, 2,
		"The value of an `authority` action is not in the vocabulary.",
		"write initiative, requires_approval or denied",
		func(c *checker, a *Authority) {
			for i := range a.Actions {
				c.oneOf(a.Actions[i].Name, a.Actions[i].Value, permissions...)
			}
		},
	},
}

var specDiscoveryRules = []rule[*Discovery]{
	{
		"discovery-status-unknown", Warning, 2,
		"`discovery.verification_status` is not in the vocabulary.",
		"write verification_status: rumored, declared, observed, verified or deprecated",
		func(c *checker, d *Discovery) { c.oneOf("verification_status", d.VerificationStatus, verifications...) },
	},
	{
		"discovery-source-unknown", Warning, 2,
		"`discovery.source` is not in the vocabulary.",
		"write source: manual, web_traversal, openapi, llm_inference or manifest-self-description",
		func(c *checker, d *Discovery) { c.oneOf("source", d.Source, discoverySources...) },
	},
}

// The conditions among the fields of discovery are checked in a unit's own block
// only, as validators do: a default alone claims nothing about any unit.
var specUnitDiscoveryRules = []rule[*Discovery]{
	{
		"discovery-rumored-confidence", Error, 2,
		"`verification_status: rumored` with a `confidence` of 0.5 or more.",
		"lower confidence below 0.5, or check the claim and write observed or verified",
		func(c *checker, d *Discovery) {
			if d.VerificationStatus.Value == "rumored" && d.Confidence.Set && !(d.Confidence.Value < rumoredBelow) {
				c.add("confidence", "a rumour cannot have a confidence of 0.5 or more")
			}
		},
	},
	{
		"discovery-declared-confidence", Warning, 2,
		"`verification_status: declared` with a `confidence` outside 0.5 to 0.8.",
		"set confidence from 0.5 to below 0.8",
		func(c *checker, d *Discovery) {
			if d.VerificationStatus.Value == "declared" && d.Confidence.Set &&
				!(d.Confidence.Value >= rumoredBelow && d.Confidence.Value < declaredBelow) {
				c.add("confidence", "what a manifest says about itself deserves a confidence from 0.5 to below 0.8")
			}
		},
	},
	{
		"discovery-verified-confidence", Warning, 2,
		"`verification_status: verified` with a `confidence` below 0.8.",
		"raise confidence to 0.8 or more, or write verification_status: observed",
		func(c *checker, d *Discovery) {
			if d.VerificationStatus.Value == "verified" && d.Confidence.Set && !(d.Confidence.Value >= verifiedAtLeast) {
				c.add("confidence", "what is verified deserves a confidence of 0.8 or more")
			}
		},
	},
	{
		"discovery-verified-by-missing", Warning, 2,
		"`verification_status: verified` without `verified_by`.",
		"say who verified it: verified_by: <name or key>",
		func(c *checker, d *Discovery) {
			if d.VerificationStatus.Value == "verified" && d.VerifiedBy.Value == "" {
				c.add("verified_by", "the claim is verified, but nothing says by whom")
			}
		},
	},
	{
		"discovery-verified-at-unexpected", Warning, 2,
		"`verified_at` is set on a claim that is only rumored, declared or observed.",
		"remove verified_at, or write verification_status: verified",
		func(c *checker, d *Discovery) {
			status := d.VerificationStatus.Value
			if d.VerifiedAt.Value != "" && (status == "rumored" || status == "declared" || status == "observed") {
				c.add("verified_at", "the claim has a date of verification, but is only "+status)
			}
		},
	},
	{
		"discovery-contradiction-unknown", Warning, 2,
		"`contradicted_by` is not one unit id, or names no unit of the manifest.",
		"name the id of one unit that this manifest declares",
		func(c *checker, d *Discovery) {
			if d.Malformed {
				c.add("contradicted_by", "contradicted_by is not the id of one unit")
				return
			}
			c.knownUnit("contradicted_by", d.ContradictedBy.Value)
		},
	},
}

var specContentHashRules = []rule[*ContentHash]{
	{
		"content-hash-algorithm-unknown", Error, 2,
		"`content_hash.algorithm` is missing or not in the vocabulary.",
		"write a mapping: content_hash: {algorithm: sha256, value: <hex digest>}",
		func(c *checker, h *ContentHash) {
			if h.Algorithm.Value == "" {
				c.add("algorithm", "content_hash does not say with which algorithm it was made")
				return
			}
			c.oneOf("algorithm", h.Algorithm, hashAlgorithms...)
		},
	},
	{
		"content-hash-value-malformed", Error, 2,
		"`content_hash.value` is missing or not hexadecimal.",
		"write the digest in hexadecimal, as sha256sum prints it",
		func(c *checker, h *ContentHash) {
			if v := h.Value.Value; v == "" || strings.Trim(v, "0123456789abcdefABCDEF") != "" {
				c.add("value", "content_hash has no hexadecimal digest")
			}
		},
	},
}

var specContentStructureRules = []rule[*ContentStructure]{
	{
		"content-structure-primary-unknown", Warning, 2,
		"`content_structure.primary` is not in the vocabulary.",
		"write primary: prose, table, code, list, diagram, reference or mixed",
		func(c *checker, s *ContentStructure) { c.oneOf("primary", s.Primary, contentShapes...) },
	},
	{
		"content-structure-contains-unknown", Warning, 2,
		"An entry of `content_structure.contains` is not in the vocabulary.",
		"use prose, table, code, list, diagram, reference or mixed",
		func(c *checker, s *ContentStructure) { c.eachOf("contains", s.Contains, contentShapes...) },
	},
	{
		"content-structure-density-unknown", Warning, 2,
		"`content_structure.density` is not in the vocabulary.",
		"write density: sparse, normal or dense",
		func(c *checker, s *ContentStructure) { c.oneOf("density", s.Density, contentDensities...) },
	},
}
