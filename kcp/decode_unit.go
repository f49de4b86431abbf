package kcp

import "fmt"

// Units (specification section 4, planner contract section 2.4).

// unit reads one item of units; index counts every item. An item that is not a
// mapping is dropped with a finding.
func (d *decoder) unit(index int, item int32) {
	if d.items += unitItems; d.items > d.most {
		d.fail(item, "too many units for the size of the manifest; remove the empty ones")
		return
	}
	if d.at(item).kind != kindMap {
		d.dropped(item)
		return
	}
	if len(d.m.Units) >= d.limits.MaxUnits {
		d.fail(item, "manifest has more than %d units; split it, or raise the limit", d.limits.MaxUnits)
		return
	}
	mark := len(d.findings)
	d.m.Units = append(d.m.Units, Unit{Index: index})
	u := &d.m.Units[len(d.m.Units)-1]
	for key, v := range d.fields(item) {
		if key == "id" {
			u.ID = d.identifier(v).Or("")
		} else if !d.unitField(u, key, v) {
			d.unknownUnitField(key, v)
		}
	}
	d.attribute(mark, "unit", u.ID)
}

// reserveUnits makes room for n units, within what the manifest may have.
func (d *decoder) reserveUnits(n int) {
	if n = min(n, d.limits.MaxUnits, len(d.m.Units)+(d.most-d.items)/unitItems+1); n > cap(d.m.Units) {
		units := make([]Unit, len(d.m.Units), n)
		copy(units, d.m.Units)
		d.m.Units = units
	}
}

// unitField reads a field of a unit other than its id, and reports whether the
// format knows the field.
func (d *decoder) unitField(u *Unit, key string, v int32) bool {
	switch key {
	case "path":
		u.Path = d.required(v, "")
	case "intent":
		u.Intent = d.required(v, "")
	case "kind":
		u.Kind = d.str(v)
	case "scope":
		u.Scope = d.str(v)
	case "audience":
		u.Audience = d.restricts(v)
	case "triggers":
		u.Triggers = d.grants(v)
	case "not_for":
		u.NotFor = d.restricts(v)
	case "aliases":
		u.Aliases = d.grants(v)
	case "depends_on":
		u.DependsOn = d.grants(v)
	case "supersedes":
		u.Supersedes = d.str(v)
	case "size_tokens":
		u.SizeTokens = d.size(v)
	case "bytes":
		u.Bytes = d.size(v)
	case "hints":
		u.Hints = d.hints(v)
	case "content_hash":
		u.ContentHash = d.contentHash(v)
	default:
		return d.unitGate(u, key, v) || d.unitDetail(u, key, v)
	}
	return true
}

// unitGate reads the fields that decide whether the unit may be loaded.
func (d *decoder) unitGate(u *Unit, key string, v int32) bool {
	switch key {
	case "not_for_strict":
		u.NotForStrict = d.boolean(v)
	case "deprecated":
		u.Deprecated = d.boolean(v)
	case "load_eligible":
		u.LoadEligible = d.boolean(v)
	case "access":
		u.Access = d.access(v)
	case "auth_scope":
		u.AuthScope = d.str(v)
	case "sensitivity":
		u.Sensitivity = d.str(v)
	case "authority_level":
		u.AuthorityLevel = d.str(v)
	case "temporal":
		u.Temporal = d.temporal(v)
	case "payment":
		u.Payment = d.payment(v)
	case "rate_limits":
		u.RateLimits = d.rateLimits(v)
	case "action_scope":
		u.ActionScope = d.actionScope(v)
	case "steps":
		d.steps(u, v)
	default:
		return false
	}
	return true
}

// unitDetail reads the fields that few units have.
func (d *decoder) unitDetail(u *Unit, key string, v int32) bool {
	details := u.Details
	if details == nil {
		details = d.spareDetails()
	}
	switch key {
	case "format":
		details.Format = d.str(v)
	case "content_type":
		details.ContentType = d.str(v)
	case "language":
		details.Language = d.str(v)
	case "license":
		details.License = d.license(v)
	case "validated":
		details.Validated = d.str(v)
	case "update_frequency":
		details.UpdateFrequency = d.str(v)
	case "indexing":
		details.Indexing = d.indexing(v)
	case "requires_capabilities":
		details.RequiresCapabilities = d.grants(v)
	case "content_structure":
		details.ContentStructure = d.contentStructure(v)
	case "external_depends_on":
		details.ExternalDependsOn = d.externalDependsOn(v)
	default:
		if !d.unitBlock(details, key, v) {
			return false
		}
	}
	if u.Details == nil {
		u.Details, d.spare = details, nil
	}
	return true
}

// spareDetails gives memory that is used only if the field turns out to be one
// of Details.
func (d *decoder) spareDetails() *Details {
	if d.spare == nil {
		d.spare = &Details{}
	}
	return d.spare
}

// unitBlock reads the blocks that replace or refine one of the root.
func (d *decoder) unitBlock(details *Details, key string, v int32) bool {
	switch key {
	case "auth":
		details.Auth = d.auth(v)
	case "delegation":
		details.Delegation = d.delegation(v)
	case "compliance":
		details.Compliance = d.compliance(v)
	case "freshness_policy":
		details.Freshness = d.freshness(v)
	case "visibility":
		details.Visibility = d.visibility(v)
	case "authority":
		details.Authority = d.authority(v)
	case "discovery":
		details.Discovery = d.discovery(v)
	case "charter":
		details.Charter = d.charter(v)
	default:
		return false
	}
	return true
}

// unknownUnitField reports a key that is probably a misspelt field of a unit
// (format section 2). Any other unknown key is ignored, as the format demands.
func (d *decoder) unknownUnitField(key string, v int32) {
	known, ok := d.similar[key]
	if !ok {
		known = similarUnitField(key)
		if len(d.similar) < maxFindings {
			d.similar[key] = known
		}
	}
	if known != "" {
		d.warn(v, "unknown-field",
			fmt.Sprintf("unknown field %q, which looks like %q; it is ignored", excerpt(key), known),
			"write "+known+", or give an extension a prefix such as x-")
	}
}

// temporal reads a validity window. It is kept when malformed, so that its gate
// can close.
func (d *decoder) temporal(i int32) *Temporal {
	switch d.block(i) {
	case blockAbsent:
		return nil
	case blockMalformed:
		return &Temporal{Malformed: true}
	}
	t := &Temporal{}
	for key, v := range d.fields(i) {
		var field *String
		switch key {
		case "valid_from":
			field = &t.ValidFrom
		case "valid_until":
			field = &t.ValidUntil
		case "recorded_at":
			field = &t.RecordedAt
		case "superseded_by":
			field = &t.SupersededBy
		default:
			continue
		}
		*field = d.str(v)
		if d.at(v).kind != kindScalar {
			t.Malformed = true
		}
	}
	return t
}

// actionScope reads what a governed procedure may touch (specification 4.3a).
func (d *decoder) actionScope(i int32) *ActionScope {
	switch d.block(i) {
	case blockAbsent:
		return nil
	case blockMalformed:
		return &ActionScope{Malformed: true}
	}
	s := &ActionScope{}
	for key, v := range d.fields(i) {
		switch key {
		case "tools":
			s.Tools = d.grants(v)
		case "paths":
			s.Paths = d.grants(v)
		case "capabilities":
			s.Capabilities = d.grants(v)
		case "spend":
			switch d.block(v) {
			case blockMap:
				s.Spend = d.spend(v)
			case blockMalformed:
				s.Malformed = true
			}
		case "deny":
			switch d.block(v) {
			case blockMap:
				s.Deny = d.deny(v)
			case blockMalformed:
				s.Malformed = true
			}
		}
	}
	return s
}

func (d *decoder) spend(i int32) *Spend {
	s := &Spend{}
	for key, v := range d.fields(i) {
		switch key {
		case "max_spend":
			s.MaxSpend = d.size(v)
			s.Malformed = !s.MaxSpend.Set && !d.isNull(v)
		case "allowed_vendors":
			s.AllowedVendors = d.restricts(v)
		case "currency":
			s.Currency = d.str(v)
		}
	}
	return s
}

func (d *decoder) deny(i int32) *Deny {
	deny := &Deny{}
	for key, v := range d.fields(i) {
		switch key {
		case "tools":
			deny.Tools = d.restricts(v)
		case "paths":
			deny.Paths = d.restricts(v)
		case "capabilities":
			deny.Capabilities = d.restricts(v)
		}
	}
	return deny
}

// steps reads the steps of a playbook (specification 4.3b). A step without an
// id is dropped with a finding.
func (d *decoder) steps(u *Unit, i int32) {
	isList := d.at(i).kind == kindList
	u.StepsDeclared = isList
	u.StepsMalformed = !isList && !d.isNull(i)
	entries := 0
	for e := d.at(i).first; isList && e != 0; e = d.t.nodes[e].next {
		entries++
	}
	for index, item := range d.mappings(i) {
		s, ok := d.step(item)
		if !ok {
			d.warn(item, "entry-dropped",
				fmt.Sprintf("%s has no id; it is left out", d.field()),
				"give the step an id that is unique in its playbook")
			continue
		}
		s.Index = index
		u.Steps = append(u.Steps, s)
	}
	if len(u.Steps) < entries {
		u.StepsMalformed = true // what was left out might have needed a grant
	}
}

// access reads one word. What is no scalar stands for itself under a name that
// nobody can hold a credential for, so that it restricts.
func (d *decoder) access(i int32) String {
	word := d.str(i)
	if word.Set && d.at(i).kind != kindScalar {
		word.Value = "(not a word)"
	}
	return word
}

func (d *decoder) step(item int32) (s Step, hasID bool) {
	for key, v := range d.fields(item) {
		switch key {
		case "id":
			hasID = true
			s.ID = d.identifier(v).Or("")
			if d.isNull(v) {
				s.ID = "null"
			}
		case "uses":
			s.Uses = d.str(v)
		case "action":
			s.Action = d.str(v)
		case "authority_level":
			s.AuthorityLevel = d.str(v)
		case "success_condition":
			s.SuccessCondition = d.str(v)
		case "on_failure":
			s.OnFailure = d.str(v)
		case "timeout":
			s.Timeout = d.str(v)
		case "depends_on":
			s.DependsOn = d.grants(v)
		case "escalation":
			s.Escalation = d.escalation(v)
		}
	}
	return s, hasID
}

// escalation reads one trigger or a list of them. Another value is a list that
// nothing is known about.
func (d *decoder) escalation(i int32) List {
	n := d.at(i)
	kind := typeString
	if n.kind == kindScalar && n.plain {
		kind, _ = scalarTypeOf(n.text)
	}
	if n.kind == kindList || n.kind == kindScalar && (kind == typeString || kind == typeNull) {
		return d.either(i)
	}
	d.isList(i)
	return List{Declared: true, Malformed: true}
}
