package kcp

import (
	"strconv"
	"strings"
)

// checkSpec runs the rules of the specification. Each area has a table of rules
// and a file: the manifest and what links it (here), units, blocks that stand
// both at the root and in a unit, skills and playbooks, authority, federation.
func checkSpec(c *checker) {
	root := place{}
	c.superseded = supersededIDs(c.m)
	apply(c, root, specRootRules, c.m)
	checkRootBlocks(c, root)
	for i := range c.m.Units {
		checkUnit(c, &c.m.Units[i])
	}
	apply(c, root, specCycleRules, c.m)
	checkLinks(c)
	checkAuthorityLevels(c)
	checkFederation(c)
	checkComposition(c)
}

// checkRootBlocks runs the rules of the blocks that a unit may replace.
func checkRootBlocks(c *checker, root place) {
	m := c.m
	checkBlocks(c, root, blocks{
		indexing:   m.Indexing,
		payment:    m.Payment,
		rateLimits: m.RateLimits,
		auth:       m.Auth,
		delegation: m.Delegation,
		compliance: m.Compliance,
		visibility: m.Visibility,
		authority:  m.Authority,
		discovery:  m.Discovery,
	})
	apply(c, root.in("trust"), specTrustRules, &m.Trust)
	apply(c, root, specServingRules, m)
}

var specRootRules = []rule[*Manifest]{
	{
		"project-missing", Error, 1,
		"`project` is missing or empty.",
		"name the project: project: my-project",
		func(c *checker, m *Manifest) {
			if m.Project == "" || m.Project == unnamedProject {
				c.add("project", "the manifest does not name its project")
			}
		},
	},
	{
		"units-missing", Error, 1,
		"`units` is missing or empty.",
		mendUnits,
		func(c *checker, m *Manifest) {
			if len(m.Units) == 0 {
				c.add("units", "the manifest declares no units, so there is nothing to read")
			}
		},
	},
	{
		"kcp-version-missing", Warning, 1,
		"`kcp_version` is missing.",
		mendKCPVersion,
		func(c *checker, m *Manifest) {
			if m.KCPVersion.Value == "" {
				c.add("kcp_version", "the manifest does not say which version of the specification it follows")
			}
		},
	},
	{
		"kcp-version-unknown", Warning, 1,
		"`kcp_version` is not a version of the specification. An unquoted `0.30` reads as 0.3.",
		mendKCPVersion,
		func(c *checker, m *Manifest) {
			if v := m.KCPVersion.Value; v != "" && !knownVersion(v) {
				c.add("kcp_version", "there is no specification version "+show(v)+"; agents will read the manifest as the closest one they know")
			}
		},
	},
	{
		"version-missing", Warning, 1,
		"`version`, the manifest's own version, is missing.",
		`add the manifest's own version: version: "1.0.0"`,
		func(c *checker, m *Manifest) {
			if m.Version == "" || m.Version == unsetVersion {
				c.add("version", "the manifest has no version of its own, so readers cannot tell one edition from the next")
			}
		},
	},
	{
		"updated-malformed", Warning, 1,
		"`updated` is not a date.",
		mendDate,
		func(c *checker, m *Manifest) { c.day("updated", m.Updated) },
	},
	{
		"auth-missing", Warning, 3,
		"A unit needs authentication, and neither the unit nor the manifest has an `auth` block.",
		"say how to authenticate: auth: {methods: [{type: oauth2, issuer: https://login.example.com}]}",
		func(c *checker, m *Manifest) {
			if u := firstProtected(m, func(a *Auth) bool { return a == nil }); u != nil {
				c.add("auth", "unit "+show(u.ID)+" is "+u.Access.Value+", but nothing says how an agent may authenticate")
			}
		},
	},
	{
		"auth-only-none", Warning, 3,
		"A unit needs authentication, and the only method offered is `none`.",
		"add a method that identifies the agent, such as oauth2 or api_key, or make the unit public",
		func(c *checker, m *Manifest) {
			if u := firstProtected(m, onlyNone); u != nil {
				c.add("auth.methods", "unit "+show(u.ID)+" is "+u.Access.Value+", but the only way to authenticate is none, which never satisfies it")
			}
		},
	},
}

// knownVersion reports whether v is 0.1 to 0.32 without 0.15, as text.
func knownVersion(v string) bool {
	minor, ok := strings.CutPrefix(v, "0.")
	n, err := strconv.Atoi(minor)
	return ok && err == nil && n >= 1 && n <= newestMinor && n != skippedMinor && strconv.Itoa(n) == minor
}

// firstProtected gives the first unit that needs authentication and whose auth,
// its own or the manifest's, is lacking.
func firstProtected(m *Manifest, lacking func(*Auth) bool) *Unit {
	for i := range m.Units {
		u := &m.Units[i]
		if u.Access.Value != "authenticated" && u.Access.Value != "restricted" {
			continue
		}
		auth := m.Auth
		if u.Details != nil && u.Details.Auth != nil {
			auth = u.Details.Auth
		}
		if lacking(auth) {
			return u
		}
	}
	return nil
}

func onlyNone(a *Auth) bool {
	if a == nil || len(a.Methods) == 0 {
		return false
	}
	for i := range a.Methods {
		if a.Methods[i].Type.Value != "none" {
			return false
		}
	}
	return true
}

var specServingRules = []rule[*Manifest]{
	{
		"serving-url-invalid", Error, 3,
		"A `serving` entry is not an absolute `https://` URL.",
		mendServing,
		func(c *checker, m *Manifest) {
			eachServingURL(m, func(list, field, entry string) {
				if !isHTTPS(entry) {
					c.add(field, list+" lists "+show(entry)+", which is not an https address")
				}
			})
		},
	},
}

// eachServingURL calls do with the list, the field and the text of each entry.
func eachServingURL(m *Manifest, do func(list, field, entry string)) {
	if m.Serving == nil {
		return
	}
	for i, entry := range m.Serving.Manifest.Items {
		do("serving.manifest", element("serving.manifest", i), entry)
	}
	for i, entry := range m.Serving.MCP.Items {
		do("serving.mcp", element("serving.mcp", i), entry)
	}
}

var specTrustRules = []rule[*Trust]{
	{
		"publisher-url-insecure", Warning, 2,
		"`trust.provenance.publisher_url` is not an `https://` URL.",
		"write the publisher's address with https://",
		func(c *checker, t *Trust) {
			if p := t.Provenance; p != nil {
				c.https("provenance.publisher_url", p.PublisherURL)
			}
		},
	},
	{
		"publisher-did-malformed", Warning, 2,
		"`trust.provenance.publisher_did` does not start with `did:`.",
		"write a decentralized identifier: did:web:example.com",
		func(c *checker, t *Trust) {
			if p := t.Provenance; p != nil && p.PublisherDID.Set && !strings.HasPrefix(p.PublisherDID.Value, "did:") {
				c.add("provenance.publisher_did", show(p.PublisherDID.Value)+" is not a decentralized identifier, which starts with did:")
			}
		},
	},
	{
		"receipt-format-missing", Warning, 3,
		"`provides_access_receipts` is true, and `receipt_format` is missing.",
		"name the format: receipt_format: jws, vc or the address of its description",
		func(c *checker, t *Trust) {
			if a := t.Audit; a != nil && a.ProvidesAccessReceipts.Grants() && a.ReceiptFormat.Value == "" {
				c.add("audit.receipt_format", "access receipts are promised, but nothing says in which format")
			}
		},
	},
	{
		"attestation-url-insecure", Warning, 3,
		"`attestation_url` or `attestation_jwks` is not an `https://` URL.",
		"write the address with https://",
		func(c *checker, t *Trust) {
			if r := t.Requirements; r != nil {
				c.https("agent_requirements.attestation_url", r.AttestationURL)
				c.https("agent_requirements.attestation_jwks", r.AttestationJWKS)
			}
		},
	},
	{
		"attestation-without-means", Warning, 3,
		"`require_attestation` is true, and there are neither `trusted_providers` nor an `attestation_url`.",
		"list trusted_providers or add attestation_url, or remove require_attestation",
		func(c *checker, t *Trust) {
			if r := t.Requirements; r != nil && r.RequireAttestation.Restricts() &&
				len(r.TrustedProviders.Items) == 0 && r.AttestationURL.Value == "" {
				c.add("agent_requirements.require_attestation", "agents must attest who they are, but nothing says whom you would believe, so none can qualify")
			}
		},
	},
	{
		"attestation-propagates-nowhere", Warning, 3,
		"`propagate_to_governed` is true, and the manifest governs nothing.",
		"declare what the manifest governs (a relationship of type governs), or remove propagate_to_governed",
		func(c *checker, t *Trust) {
			if r := t.Requirements; r != nil && r.PropagateToGoverned.Grants() && !governs(c.m) {
				c.add("agent_requirements.propagate_to_governed", "the requirements pass on to governed manifests, but this manifest governs none")
			}
		},
	},
}

// governs reports whether the manifest claims to govern a unit or a manifest.
func governs(m *Manifest) bool {
	for i := range m.Relationships {
		if m.Relationships[i].Type.Value == "governs" {
			return true
		}
	}
	for i := range m.ExternalRelationships {
		if m.ExternalRelationships[i].Type.Value == "governs" {
			return true
		}
	}
	for i := range m.Manifests {
		if m.Manifests[i].Relationship.Value == "governs" {
			return true
		}
	}
	return false
}

// checkLinks runs the rules of relationships between units.
func checkLinks(c *checker) {
	for i := range c.m.Relationships {
		r := &c.m.Relationships[i]
		apply(c, place{list: "relationships", index: r.Index}, specLinkRules, r)
	}
}

var specLinkRules = []rule[*Relationship]{
	{
		"relationship-incomplete", Warning, 3,
		"A relationship lacks `from`, `to` or `type`.",
		"write all three: {from: <unit id>, to: <unit id>, type: enables}",
		func(c *checker, r *Relationship) {
			c.required("from", r.From.Value, "the relationship")
			c.required("to", r.To.Value, "the relationship")
			c.required("type", r.Type.Value, "the relationship")
		},
	},
	{
		"relationship-unit-unknown", Warning, 3,
		"A relationship names a unit that the manifest does not declare. Aliases do not count.",
		"name the id of a unit that this manifest declares",
		func(c *checker, r *Relationship) {
			c.knownUnit("from", r.From.Value)
			c.knownUnit("to", r.To.Value)
		},
	},
	{
		"relationship-type-unknown", Warning, 3,
		"The type of a relationship is not in the vocabulary; agents ignore the relationship.",
		"write type: enables, context, supersedes, contradicts, depends_on or governs",
		func(c *checker, r *Relationship) {
			if r.Type.Value != "" {
				c.oneOf("type", r.Type, linkTypes...)
			}
		},
	},
}

// knownUnit reports an id, if there is one, that no unit has.
func (c *checker) knownUnit(field, id string) {
	if id != "" && c.unit(id) == nil {
		c.add(field, field+" names "+show(id)+", which is not a unit of this manifest")
	}
}

// required reports an empty value.
func (c *checker) required(field, value, owner string) {
	if value == "" {
		c.add(field, owner+" has no "+field)
	}
}

// https reports a declared value that is not an https URL.
func (c *checker) https(field string, value String) {
	if value.Set && !isHTTPS(value.Value) {
		c.add(field, show(value.Value)+" is not an https address")
	}
}

// day reports a declared value that is not a calendar day.
func (c *checker) day(field string, value String) {
	if value.Set && (len(value.Value) != len("2026-01-31") || !ValidDate(value.Value)) {
		c.add(field, field+" is "+show(value.Value)+", which is not a date of the form YYYY-MM-DD")
	}
}
