package kcp

import "strings"

// checkFederation runs the rules of what refers to other manifests.
func checkFederation(c *checker) {
	for i := range c.m.Manifests {
		r := &c.m.Manifests[i]
		at := refPlace(r)
		apply(c, at, specRefRules, r)
		if r.Temporal != nil {
			apply(c, at.in("temporal"), specRefTemporalRules, r.Temporal)
		}
		if r.AgentIdentity != nil {
			apply(c, at.in("agent_identity"), specIdentityRules, r.AgentIdentity)
		}
		checkBlocks(c, at, blocks{auth: r.Auth})
	}
	for i := range c.m.ExternalRelationships {
		r := &c.m.ExternalRelationships[i]
		apply(c, place{list: "external_relationships", index: r.Index}, specExternalLinkRules, r)
	}
}

var specRefRules = []rule[*Ref]{
	{
		"ref-id-missing", Error, 3,
		"An entry of `manifests` has no `id`.",
		mendRefID,
		func(c *checker, r *Ref) { c.required("id", r.ID, "the entry") },
	},
	{
		"ref-id-characters", Error, 3,
		"The `id` of an entry of `manifests` has characters other than `a-z`, `0-9`, `.` and `-`.",
		mendRefID,
		func(c *checker, r *Ref) {
			if r.ID != "" && !plainID(r.ID, ".-") {
				c.add("id", "id "+show(r.ID)+" has characters other than lower-case letters, digits, dots and hyphens")
			}
		},
	},
	{
		"ref-id-duplicate", Error, 3,
		"Two entries of `manifests` have one `id`.",
		mendRefDuplicate,
		func(c *checker, r *Ref) {
			if r.ID != "" && c.ref(r.ID) != r {
				c.add("id", "another entry before this one has the id "+show(r.ID)+" too")
			}
		},
	},
	{
		"ref-url-missing", Error, 3,
		"An entry of `manifests` has no `url`.",
		mendRefURL,
		func(c *checker, r *Ref) { c.required("url", r.URL, "the entry") },
	},
	{
		"ref-url-insecure", Error, 3,
		"The `url` of an entry of `manifests` is not an `https://` URL.",
		mendRefURL,
		func(c *checker, r *Ref) {
			if r.URL != "" {
				c.https("url", String{Value: r.URL, Set: true})
			}
		},
	},
	{
		"ref-relationship-unknown", Warning, 3,
		"The `relationship` of an entry of `manifests` is not in the vocabulary.",
		"write relationship: child, foundation, governs, peer or archive",
		func(c *checker, r *Ref) { c.oneOf("relationship", r.Relationship, refRelationships...) },
	},
	{
		"ref-update-frequency-unknown", Warning, 3,
		"The `update_frequency` of an entry of `manifests` is not in the vocabulary.",
		"write update_frequency: hourly, daily, weekly, monthly, rarely or never",
		func(c *checker, r *Ref) { c.oneOf("update_frequency", r.UpdateFrequency, frequencies...) },
	},
	{
		"ref-version-policy-unknown", Warning, 3,
		"`version_policy` is not in the vocabulary; agents use `compatible`.",
		"write version_policy: exact, minimum or compatible",
		func(c *checker, r *Ref) { c.oneOf("version_policy", r.VersionPolicy, versionPolicies...) },
	},
	{
		"ref-version-pin-alone", Warning, 3,
		"`version_pin` stands without `version_policy`; agents use `compatible`.",
		"say how to compare: version_policy: exact, minimum or compatible",
		func(c *checker, r *Ref) {
			if r.VersionPin.Value != "" && r.VersionPolicy.Value == "" {
				c.add("version_policy", "the version is pinned, but nothing says how closely")
			}
		},
	},
	{
		"ref-context-empty", Warning, 1,
		"`context` of an entry of `manifests` is an empty list: the entry is valid nowhere.",
		"list the environments, such as context: [prod], or remove context to allow all",
		func(c *checker, r *Ref) {
			if r.Context.Declared && !r.Context.Malformed && len(r.Context.Items) == 0 {
				c.add("context", "context is empty, so the entry is valid in no environment")
			}
		},
	},
}

var specIdentityRules = []rule[*AgentIdentity]{
	{
		"ref-identity-hint-missing", Warning, 1,
		"`agent_identity.required` is true, and `credential_hint` is missing.",
		mendIdentityHint,
		func(c *checker, a *AgentIdentity) {
			if a.Required.Restricts() && a.CredentialHint.Value == "" {
				c.add("credential_hint", "a credential is required, but nothing says which")
			}
		},
	},
	{
		"ref-identity-issuer-unused", Warning, 1,
		"`issuer_hint` stands with a `credential_hint` other than `oauth2`.",
		"write credential_hint: oauth2, or remove issuer_hint",
		func(c *checker, a *AgentIdentity) {
			if a.IssuerHint.Value != "" && a.CredentialHint.Value != "oauth2" {
				c.add("issuer_hint", "issuer_hint is only read when credential_hint is oauth2")
			}
		},
	},
}

var specRefTemporalRules = []rule[*Temporal]{
	{
		"ref-temporal-date-malformed", Warning, 1,
		"A date of an entry of `manifests` does not exist or is not ISO 8601.",
		mendDate,
		func(c *checker, t *Temporal) { c.windowDates(t) },
	},
	{
		"ref-temporal-window-inverted", Warning, 1,
		"The window of an entry of `manifests` ends before it starts.",
		mendWindow,
		func(c *checker, t *Temporal) { c.inverted(t) },
	},
	{
		"ref-temporal-expired", Warning, 1,
		"An entry of `manifests` has expired and names no successor.",
		"name the entry that takes its place: superseded_by: <id>, or remove the entry",
		func(c *checker, t *Temporal) { c.expired(t) },
	},
	{
		"ref-temporal-successor-unknown", Warning, 1,
		"`superseded_by` of an entry of `manifests` names no other entry.",
		"name the id of another entry of manifests",
		func(c *checker, t *Temporal) {
			if id := t.SupersededBy.Value; id != "" && c.ref(id) == nil {
				c.add("superseded_by", "superseded_by names "+show(id)+", which is not an entry of manifests")
			}
		},
	},
}

var specExternalDependencyRules = []rule[*ExternalDependency]{
	{
		"external-dependency-incomplete", Error, 3,
		"An entry of `external_depends_on` lacks `manifest` or `unit`.",
		"write both: {manifest: <id of a manifests entry>, unit: <unit id>}",
		func(c *checker, d *ExternalDependency) {
			c.required("manifest", d.Manifest.Value, "the dependency")
			c.required("unit", d.Unit.Value, "the dependency")
		},
	},
	{
		"external-dependency-manifest-unknown", Warning, 3,
		"An entry of `external_depends_on` names a manifest that `manifests` does not list.",
		"add the manifest to manifests, or name an id that is there",
		func(c *checker, d *ExternalDependency) { c.knownRef("manifest", d.Manifest.Value) },
	},
	{
		"external-dependency-on-failure-unknown", Warning, 3,
		"`on_failure` of an external dependency is not in the vocabulary; agents use `skip`.",
		"write on_failure: skip, warn or degrade",
		func(c *checker, d *ExternalDependency) { c.oneOf("on_failure", d.OnFailure, dependencyFaults...) },
	},
}

var specExternalLinkRules = []rule[*ExternalRelationship]{
	{
		"external-relationship-incomplete", Error, 3,
		"An entry of `external_relationships` lacks `from_unit`, `to_unit` or `type`.",
		"write all three: {from_unit: <unit id>, to_manifest: <id>, to_unit: <unit id>, type: governs}",
		func(c *checker, r *ExternalRelationship) {
			c.required("from_unit", r.FromUnit.Value, "the relationship")
			c.required("to_unit", r.ToUnit.Value, "the relationship")
			c.required("type", r.Type.Value, "the relationship")
		},
	},
	{
		"external-relationship-manifest-unknown", Warning, 3,
		"An entry of `external_relationships` names a manifest that `manifests` does not list.",
		"add the manifest to manifests, or name an id that is there",
		func(c *checker, r *ExternalRelationship) {
			c.knownRef("from_manifest", r.FromManifest.Value)
			c.knownRef("to_manifest", r.ToManifest.Value)
		},
	},
	{
		"external-relationship-type-unknown", Warning, 3,
		"The type of an external relationship is not in the vocabulary; agents ignore the relationship.",
		"write type: enables, context, supersedes, contradicts, depends_on or governs",
		func(c *checker, r *ExternalRelationship) {
			if r.Type.Value != "" {
				c.oneOf("type", r.Type, linkTypes...)
			}
		},
	},
}

// knownRef reports an id, if there is one, that no entry of manifests has.
func (c *checker) knownRef(field, id string) {
	if id != "" && c.ref(id) == nil {
		c.add(field, field+" names "+show(id)+", which is not an entry of manifests")
	}
}

// checkComposition runs the rules that one manifest alone can answer. Whether an
// include can be read and is what it claims to be is known when it is loaded.
func checkComposition(c *checker) {
	if c.m.Composition != nil {
		apply(c, place{}.in("composition"), specCompositionRules, c.m.Composition)
	}
}

var specCompositionRules = []rule[*Composition]{
	{
		"composition-include-circular", Error, 1,
		"A manifest includes itself.",
		"remove the include of the manifest itself",
		func(c *checker, b *Composition) {
			if c.m.Source == "" {
				return
			}
			self := ResolveLocation(c.m.Source, lastSegment(c.m.Source))
			for i := range b.Includes {
				source := b.Includes[i].Source.Value
				if source != "" && ResolveLocation(c.m.Source, source) == self {
					c.add(element("includes", b.Includes[i].Index)+".source", "the manifest includes itself")
				}
			}
		},
	},
	{
		"composition-target-missing", Warning, 1,
		"An override or an exclude names a unit that no include can bring.",
		"name the id as it is after the includes, with the prefix of as: <prefix>:<unit id>",
		func(c *checker, b *Composition) {
			for i := range b.Overrides {
				c.composedUnit(element("overrides", b.Overrides[i].Index)+".id", b.Overrides[i].ID.Value, b)
			}
			for i := range b.Excludes {
				c.composedUnit(element("excludes", b.Excludes[i].Index)+".id", b.Excludes[i].ID.Value, b)
			}
		},
	},
}

// composedUnit reports an id that no include can bring: there is none, or each
// puts another prefix before the ids it brings.
func (c *checker) composedUnit(field, id string, b *Composition) {
	for i := range b.Includes {
		as := b.Includes[i].As.Value
		if as == "" || strings.HasPrefix(id, as+":") {
			return
		}
	}
	c.add(field, show(id)+" is a unit of none of the included manifests")
}

// lastSegment gives what follows the last slash.
func lastSegment(location string) string { return location[strings.LastIndexByte(location, '/')+1:] }
