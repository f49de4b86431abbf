package kcp

// The root fields (specification section 3, planner contract section 2.4).

// root reads a whole root mapping.
func (d *decoder) root(i int32) {
	for key, v := range d.fields(i) {
		d.rootField(key, v)
	}
}

// rootPair reads one field for a reader that has the root piece by piece.
func (d *decoder) rootPair(key string, i int32) {
	d.path = append(d.path[:0], step{key: key})
	d.rootField(key, i)
	d.path = d.path[:0]
}

// unitItem reads one item of units for a reader that has them one by one.
func (d *decoder) unitItem(index int, item int32) {
	d.path = append(d.path[:0], step{key: "units"}, step{index: index})
	d.unit(index, item)
	d.path = d.path[:0]
}

func (d *decoder) rootField(key string, i int32) {
	switch m := d.m; key {
	case "project":
		m.Project = d.required(i, m.Project)
	case "version":
		m.Version = d.required(i, m.Version)
	case "kcp_version":
		m.KCPVersion = d.str(i)
	case "updated":
		m.Updated = d.str(i)
	case "language":
		m.Language = d.str(i)
	case "license":
		m.License = d.license(i)
	case "indexing":
		m.Indexing = d.indexing(i)
	case "units":
		d.units(i)
	case "manifests":
		d.refs(i)
	case "relationships":
		d.relationships(i)
	case "external_relationships":
		d.externalRelationships(i)
	case "not_for":
		m.NotFor = d.restricts(i)
	case "hints":
		m.Hints = d.rootHints(i)
	case "composition":
		m.Composition = d.composition(i)
	default:
		d.rootPolicy(key, i)
	}
}

// rootPolicy reads the root fields that say who may use the knowledge and how.
func (d *decoder) rootPolicy(key string, i int32) {
	switch m := d.m; key {
	case "trust":
		d.trust(i)
	case "signing":
		m.Signing = d.signing(i)
	case "serving":
		m.Serving = d.serving(i)
	case "payment":
		m.Payment = d.payment(i)
	case "rate_limits":
		m.RateLimits = d.rateLimits(i)
	case "temporal":
		m.Temporal = d.temporal(i)
	case "discovery":
		m.Discovery = d.discovery(i)
	case "freshness_policy":
		m.Freshness = d.freshness(i)
	case "visibility":
		m.Visibility = d.visibility(i)
	case "authority":
		m.Authority = d.authority(i)
	case "auth":
		m.Auth = d.auth(i)
	case "delegation":
		m.Delegation = d.delegation(i)
	case "compliance":
		m.Compliance = d.compliance(i)
	case "authority_level_scale":
		m.AuthorityLevelScale = d.grants(i)
	case "task_types":
		d.taskTypes(i)
	case "agents":
		d.agents(i)
	case "grant_ceiling":
		m.GrantCeiling = d.grantCeiling(i)
	}
}

// finish settles what depends on several root fields.
func (d *decoder) finish() (*Manifest, []Finding, error) {
	if d.err != nil {
		return nil, nil, d.err
	}
	if d.m.Signing == nil {
		d.m.Signing = d.legacy
	}
	if len(d.m.Units) == 0 {
		d.m.Units = nil // the same, whatever room was made
	}
	return d.m, d.findings, nil
}

func (d *decoder) units(i int32) {
	if !d.isList(i) {
		return
	}
	count := 0
	for e := d.at(i).first; e != 0; e = d.t.nodes[e].next {
		count++
	}
	d.reserveUnits(count)
	for index, e := range d.elements(i) {
		d.unit(index, e)
	}
}

func (d *decoder) refs(i int32) {
	for index, item := range d.mappings(i) {
		mark := len(d.findings)
		r := d.ref(item)
		r.Index = index
		d.m.Manifests = append(d.m.Manifests, r)
		d.attribute(mark, "manifest ref", r.ID)
	}
}

// ref reads one entry of manifests (specification section 3.6).
func (d *decoder) ref(item int32) (r Ref) {
	for key, v := range d.fields(item) {
		switch key {
		case "id":
			r.ID = d.identifier(v).Or("")
		case "url":
			r.URL = d.required(v, "")
		case "label":
			r.Label = d.str(v)
		case "relationship":
			r.Relationship = d.str(v)
		case "local_mirror":
			r.LocalMirror = d.str(v)
		case "context":
			r.Context = d.restricts(v)
		case "agent_identity":
			r.AgentIdentity = d.agentIdentity(v)
		case "version_pin":
			r.VersionPin = d.str(v)
		case "version_policy":
			r.VersionPolicy = d.str(v)
		case "update_frequency":
			r.UpdateFrequency = d.str(v)
		case "auth":
			r.Auth = d.auth(v)
		case "temporal":
			r.Temporal = d.temporal(v)
		}
	}
	return r
}

func (d *decoder) agentIdentity(i int32) *AgentIdentity {
	switch d.block(i) {
	case blockAbsent:
		return nil
	case blockMalformed:
		return &AgentIdentity{Malformed: true}
	}
	a := &AgentIdentity{}
	for key, v := range d.fields(i) {
		switch key {
		case "required":
			a.Required = d.boolean(v)
		case "credential_hint":
			a.CredentialHint = d.str(v)
		case "issuer_hint":
			a.IssuerHint = d.str(v)
		case "docs_url":
			a.DocsURL = d.str(v)
		}
	}
	return a
}

func (d *decoder) relationships(i int32) {
	for index, item := range d.mappings(i) {
		r := Relationship{Index: index}
		for key, v := range d.fields(item) {
			switch key {
			case "from":
				r.From = d.str(v)
			case "to":
				r.To = d.str(v)
			case "type":
				r.Type = d.str(v)
			}
		}
		d.m.Relationships = append(d.m.Relationships, r)
	}
}

func (d *decoder) externalRelationships(i int32) {
	for index, item := range d.mappings(i) {
		r := ExternalRelationship{Index: index}
		for key, v := range d.fields(item) {
			switch key {
			case "from_manifest":
				r.FromManifest = d.str(v)
			case "from_unit":
				r.FromUnit = d.str(v)
			case "to_manifest":
				r.ToManifest = d.str(v)
			case "to_unit":
				r.ToUnit = d.str(v)
			case "type":
				r.Type = d.str(v)
			}
		}
		d.m.ExternalRelationships = append(d.m.ExternalRelationships, r)
	}
}

func (d *decoder) rootHints(i int32) *RootHints {
	if d.block(i) != blockMap {
		return nil
	}
	h := &RootHints{}
	for key, v := range d.fields(i) {
		switch key {
		case "total_token_estimate":
			h.TotalTokenEstimate = d.size(v)
		case "unit_count":
			h.UnitCount = d.size(v)
		case "recommended_entry_point":
			h.RecommendedEntryPoint = d.str(v)
		case "has_summaries":
			h.HasSummaries = d.boolean(v)
		case "has_chunks":
			h.HasChunks = d.boolean(v)
		}
	}
	return h
}

// composition reads the composition block (specification section 3.11).
func (d *decoder) composition(i int32) *Composition {
	if d.block(i) != blockMap {
		return nil
	}
	c := &Composition{}
	for key, v := range d.fields(i) {
		switch key {
		case "includes":
			for index, item := range d.mappings(v) {
				c.Includes = append(c.Includes, d.include(index, item))
			}
		case "overrides":
			for index, item := range d.mappings(v) {
				c.Overrides = append(c.Overrides, d.override(index, item))
			}
		case "excludes":
			for index, item := range d.mappings(v) {
				c.Excludes = append(c.Excludes, Exclude{Index: index, ID: d.idOf(item)})
			}
		}
	}
	return c
}

func (d *decoder) idOf(item int32) (id String) {
	for key, v := range d.fields(item) {
		if key == "id" {
			id = d.identifier(v)
		}
	}
	return id
}

func (d *decoder) include(index int, item int32) Include {
	in := Include{Index: index}
	for key, v := range d.fields(item) {
		switch key {
		case "source":
			in.Source = d.str(v)
		case "as":
			in.As = d.str(v)
		case "integrity":
			in.Integrity = d.block(v) != blockAbsent
			for key, v := range d.fields(v) {
				switch key {
				case "manifest_hash":
					in.ManifestHash = d.contentHash(v)
				case "expected_signer":
					in.ExpectedSigner = d.str(v)
				}
			}
		}
	}
	return in
}

func (d *decoder) override(index int, item int32) Override {
	o := Override{Index: index}
	o.Unit.Index = index
	for key, v := range d.fields(item) {
		if key != "id" && d.unitField(&o.Unit, key, v) {
			o.Fields = append(o.Fields, key)
		}
		if key == "id" {
			o.ID = d.identifier(v)
		}
	}
	o.Unit.ID = o.ID.Or("")
	return o
}

// taskTypes, agents and grantCeiling read the authority levels of
// specification section 3.13.
func (d *decoder) taskTypes(i int32) {
	for index, item := range d.mappings(i) {
		t := TaskType{Index: index}
		for key, v := range d.fields(item) {
			switch key {
			case "id":
				t.ID = d.identifier(v)
			case "intent":
				t.Intent = d.str(v)
			case "authority_level":
				t.AuthorityLevel = d.str(v)
			case "confidence_threshold":
				t.ConfidenceThreshold = d.number(v)
			}
		}
		d.m.TaskTypes = append(d.m.TaskTypes, t)
	}
}

func (d *decoder) agents(i int32) {
	for index, item := range d.mappings(i) {
		a := AgentRole{Index: index}
		for key, v := range d.fields(item) {
			switch key {
			case "id":
				a.ID = d.identifier(v)
			case "name":
				a.Name = d.str(v)
			case "authority_level":
				a.AuthorityLevel = d.str(v)
			}
		}
		d.m.Agents = append(d.m.Agents, a)
	}
}

func (d *decoder) grantCeiling(i int32) *GrantCeiling {
	if d.block(i) != blockMap {
		return nil
	}
	g := &GrantCeiling{}
	for key, v := range d.fields(i) {
		switch key {
		case "sources":
			for index, item := range d.mappings(v) {
				g.Sources = append(g.Sources, d.ceilingSource(index, item))
			}
		case "mandatory_sources":
			g.MandatorySources = d.grants(v)
		}
	}
	return g
}

func (d *decoder) ceilingSource(index int, item int32) CeilingSource {
	s := CeilingSource{Index: index}
	for key, v := range d.fields(item) {
		switch key {
		case "id":
			s.ID = d.identifier(v)
		case "authority_level":
			s.AuthorityLevel = d.str(v)
		case "unit_ref":
			s.UnitRef = d.str(v)
		case "task_type_ref":
			s.TaskTypeRef = d.str(v)
		case "agent_ref":
			s.AgentRef = d.str(v)
		}
	}
	return s
}
