package kcp

// Blocks about trust, identity and authority.

// trust reads the root trust block (specification 3.2) and what it offers for
// signing.
func (d *decoder) trust(i int32) {
	t := &d.m.Trust
	t.Malformed = d.block(i) == blockMalformed
	t.Declared = !d.isNull(i)
	for key, v := range d.fields(i) {
		switch key {
		case "provenance":
			t.Provenance = d.provenance(v)
		case "audit":
			t.Audit = d.audit(v)
		case "content_integrity":
			t.ContentIntegrity = d.contentIntegrity(v)
		case "agent_requirements":
			t.Requirements = d.agentRequirements(v)
		}
	}
}

func (d *decoder) agentRequirements(i int32) *AgentRequirements {
	switch d.block(i) {
	case blockAbsent:
		return nil
	case blockMalformed:
		return &AgentRequirements{Malformed: true}
	}
	r := &AgentRequirements{}
	for key, v := range d.fields(i) {
		switch key {
		case "require_attestation":
			r.RequireAttestation = d.boolean(v)
		case "trusted_providers":
			r.TrustedProviders = d.grants(v)
		case "attestation_url":
			r.AttestationURL = d.str(v)
		case "attestation_jwks":
			r.AttestationJWKS = d.str(v)
		case "propagate_to_governed":
			r.PropagateToGoverned = d.boolean(v)
		}
	}
	return r
}

func (d *decoder) provenance(i int32) *Provenance {
	if d.block(i) != blockMap {
		return nil
	}
	p := &Provenance{}
	for key, v := range d.fields(i) {
		switch key {
		case "publisher":
			p.Publisher = d.str(v)
		case "publisher_url":
			p.PublisherURL = d.str(v)
		case "publisher_did":
			p.PublisherDID = d.str(v)
		case "contact":
			p.Contact = d.str(v)
		}
	}
	return p
}

func (d *decoder) audit(i int32) *Audit {
	if d.block(i) != blockMap {
		return nil
	}
	a := &Audit{}
	for key, v := range d.fields(i) {
		switch key {
		case "agent_must_log":
			a.AgentMustLog = d.boolean(v)
		case "require_trace_context":
			a.RequireTraceContext = d.boolean(v)
		case "provides_access_receipts":
			a.ProvidesAccessReceipts = d.boolean(v)
		case "receipt_format":
			a.ReceiptFormat = d.str(v)
		}
	}
	return a
}

func (d *decoder) contentIntegrity(i int32) *ContentIntegrity {
	if d.block(i) != blockMap {
		return nil
	}
	c := &ContentIntegrity{}
	for key, v := range d.fields(i) {
		switch key {
		case "manifest_hash":
			c.ManifestHash = d.contentHash(v)
		case "signature_file":
			c.Signature = d.str(v)
		case "signing":
			c.Signing = d.integritySigning(v)
		}
	}
	if d.legacy != nil && c.Signature.Set {
		d.legacy.Signature = c.Signature
	}
	return c
}

// integritySigning reads trust.content_integrity.signing. Up to version 0.20 it
// carried what the root signing block carries now, under partly other names.
func (d *decoder) integritySigning(i int32) *IntegritySigning {
	if d.block(i) != blockMap {
		return nil
	}
	s := &IntegritySigning{}
	legacy := &Signing{Legacy: true}
	var algorithm String
	for key, v := range d.fields(i) {
		switch key {
		case "enabled":
			s.Enabled = d.boolean(v)
		case "method":
			s.Method = d.str(v)
		case "verification_url":
			s.VerificationURL = d.str(v)
		case "key_id":
			s.KeyID = d.str(v)
		case "algorithm":
			algorithm = d.str(v)
		case "scheme":
			legacy.Scheme = d.str(v)
		case "public_key":
			legacy.PublicKey = d.str(v)
		case "signature":
			legacy.Signature = d.str(v)
		}
	}
	if algorithm.Set {
		legacy.Scheme = algorithm
	}
	legacy.KeyID = s.KeyID
	d.legacy = legacy
	return s
}

// signing reads the root signing block; without one the legacy block counts.
func (d *decoder) signing(i int32) *Signing {
	if d.block(i) != blockMap {
		return nil
	}
	s := &Signing{}
	for key, v := range d.fields(i) {
		switch key {
		case "scheme":
			s.Scheme = d.str(v)
		case "scope":
			s.Scope = d.str(v)
		case "public_key":
			s.PublicKey = d.str(v)
		case "signature":
			s.Signature = d.str(v)
		case "key_id":
			s.KeyID = d.str(v)
		}
	}
	return s
}

// serving reads where the publisher serves the manifest (specification 3.12). A
// list that is not one counts as no statement.
func (d *decoder) serving(i int32) *Serving {
	if d.block(i) != blockMap {
		return nil
	}
	s := &Serving{}
	for key, v := range d.fields(i) {
		switch key {
		case "manifest":
			s.Manifest = d.grants(v)
		case "mcp":
			s.MCP = d.grants(v)
		}
	}
	return s
}

// auth reads accepted ways to authenticate (specification 3.3).
func (d *decoder) auth(i int32) *Auth {
	if d.block(i) != blockMap {
		return nil
	}
	a := &Auth{}
	for key, v := range d.fields(i) {
		if key != "methods" {
			continue
		}
		a.MethodsDeclared = d.at(v).kind == kindList
		for _, item := range d.mappings(v) {
			a.Methods = append(a.Methods, d.authMethod(item))
		}
	}
	return a
}

func (d *decoder) authMethod(item int32) (m AuthMethod) {
	for key, v := range d.fields(item) {
		switch key {
		case "type":
			m.Type = d.str(v)
		case "issuer":
			m.Issuer = d.str(v)
		case "scopes":
			m.Scopes = d.grants(v)
		case "header":
			m.Header = d.str(v)
		case "registration_url":
			m.RegistrationURL = d.str(v)
		case "trust_domain":
			m.TrustDomain = d.str(v)
		case "supported_methods":
			m.SupportedMethods = d.grants(v)
		case "key_id":
			m.KeyID = d.str(v)
		case "algorithm":
			m.Algorithm = d.str(v)
		}
	}
	return m
}

// delegation reads how far authority may be passed on (specification 3.4).
func (d *decoder) delegation(i int32) *Delegation {
	if d.block(i) != blockMap {
		return nil
	}
	x := &Delegation{}
	for key, v := range d.fields(i) {
		switch key {
		case "max_depth":
			x.MaxDepth = d.number(v)
		case "require_capability_attenuation":
			x.RequireCapabilityAttenuation = d.boolean(v)
		case "require_delegation_proof":
			x.RequireDelegationProof = d.boolean(v)
		case "audit_chain":
			x.AuditChain = d.boolean(v)
		case "human_in_the_loop":
			x.HumanInTheLoop = d.humanInTheLoop(v)
		}
	}
	return x
}

func (d *decoder) humanInTheLoop(i int32) *HumanInTheLoop {
	switch d.block(i) {
	case blockAbsent:
		return nil
	case blockMalformed:
		return &HumanInTheLoop{Malformed: true}
	}
	h := &HumanInTheLoop{}
	for key, v := range d.fields(i) {
		switch key {
		case "required":
			h.Required = d.boolean(v)
		case "approval_mechanism":
			h.ApprovalMechanism = d.str(v)
		case "docs_url":
			h.DocsURL = d.str(v)
		}
	}
	return h
}

// compliance reads regulatory metadata (specification 3.5).
func (d *decoder) compliance(i int32) *Compliance {
	if d.block(i) != blockMap {
		return nil
	}
	c := &Compliance{}
	for key, v := range d.fields(i) {
		switch key {
		case "data_residency":
			c.DataResidency = d.restricts(v)
		case "regulations":
			c.Regulations = d.restricts(v)
		case "sensitivity":
			c.Sensitivity = d.str(v)
		case "restrictions":
			c.Restrictions = d.restricts(v)
		}
	}
	return c
}

// visibility adapts sensitivity to environment and role (specification 4.16).
func (d *decoder) visibility(i int32) *Visibility {
	if d.block(i) != blockMap {
		return nil
	}
	x := &Visibility{}
	for key, v := range d.fields(i) {
		switch key {
		case "default":
			x.Default = d.str(v)
		case "conditions":
			for index, item := range d.mappings(v) {
				x.Conditions = append(x.Conditions, d.condition(index, item))
			}
		}
	}
	return x
}

func (d *decoder) condition(index int, item int32) VisibilityCondition {
	c := VisibilityCondition{Index: index}
	for key, v := range d.fields(item) {
		switch key {
		case "when":
			c.WhenDeclared = d.block(v) != blockAbsent
			for key, v := range d.fields(v) {
				switch key {
				case "environment":
					c.Environment = d.either(v)
				case "agent_role":
					c.AgentRole = d.either(v)
				}
			}
		case "then":
			c.ThenDeclared = d.block(v) != blockAbsent
			for key, v := range d.fields(v) {
				switch key {
				case "sensitivity":
					c.Sensitivity = d.str(v)
				case "requires_auth":
					c.RequiresAuth = d.boolean(v)
				case "authority":
					c.ThenAuthority = d.authority(v)
				}
			}
		}
	}
	return c
}

// authority says what an agent may do on its own (specification 4.17).
func (d *decoder) authority(i int32) *Authority {
	if d.block(i) != blockMap {
		return nil
	}
	a := &Authority{}
	for key, v := range d.fields(i) {
		a.Actions = append(a.Actions, AuthorityAction{Name: key, Value: d.str(v)})
	}
	return a
}

// charter reads an agent charter (RFC-0031).
func (d *decoder) charter(i int32) *Charter {
	switch d.block(i) {
	case blockAbsent:
		return nil
	case blockMalformed:
		return &Charter{Malformed: true}
	}
	c := &Charter{}
	for key, v := range d.fields(i) {
		switch key {
		case "scope":
			d.charterScope(c, v)
		case "authority":
			c.Authority = d.str(v)
		case "rules":
			for index, item := range d.mappings(v) {
				c.Rules = append(c.Rules, d.charterRule(index, item))
			}
		case "escalate_when":
			c.EscalateWhen = d.grants(v)
		case "authority_required":
			c.AuthorityRequired = d.str(v)
		case "persona":
			c.Persona = d.str(v)
		}
	}
	return c
}

func (d *decoder) charterScope(c *Charter, i int32) {
	switch d.block(i) {
	case blockAbsent:
		return
	case blockMalformed:
		c.Malformed = true
	}
	c.ScopeDeclared = true
	for key, v := range d.fields(i) {
		switch key {
		case "read":
			c.Read = d.grants(v)
		case "propose":
			c.Propose = d.grants(v)
		case "never":
			c.Never = d.restricts(v)
		}
	}
}

func (d *decoder) charterRule(index int, item int32) CharterRule {
	r := CharterRule{Index: index}
	for key, v := range d.fields(item) {
		switch key {
		case "id":
			r.ID = d.identifier(v)
		case "text":
			r.Text = d.str(v)
		case "decision":
			r.Decision = d.str(v)
		case "authority_required":
			r.AuthorityRequired = d.str(v)
		}
	}
	return r
}
