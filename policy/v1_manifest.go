package policy

import "github.com/writ-dev/writ/artifact"

// ParseManifest reads the JSON form of a version 1 pack, strictly. Source names
// the text in errors. Whether the pack may be used is for [DeclarationV1.Check]
// to say.
func ParseManifest(data []byte, source string) (ManifestV1, error) {
	m, err := parseManifest(data, source)
	if err != nil {
		return ManifestV1{}, packLoad(err.Error())
	}
	return m, nil
}

func parseManifest(data []byte, source string) (ManifestV1, error) {
	return decodeV1(data, source, func(o *artifact.Object) ManifestV1 {
		var m ManifestV1
		m.Version, m.ID = o.Need("version").Uint16(), o.Need("id").Identifier()
		metadata := o.Need("metadata").Object()
		m.Name, m.Description = metadata.Need("name").Text(), metadata.Need("description").Text()
		metadata.RefuseUnknown()
		m.Agents = map[string]AgentV1{}
		for id, f := range o.Need("agents").Map() {
			m.Agents[id] = readAgentV1(f)
		}
		m.readAuthority(o)
		return m
	})
}

// ParseDeclaration reads the authority half of a manifest as a document of its
// own. Errors are those of the reader, with positions.
func ParseDeclaration(data []byte, source string) (DeclarationV1, error) {
	return decodeV1(data, source, func(o *artifact.Object) DeclarationV1 {
		d := DeclarationV1{Version: o.Need("version").Uint16(), ID: o.Need("id").Identifier()}
		d.readAuthority(o)
		return d
	})
}

// decodeV1 reads one version 1 contract that refuses unknown members.
func decodeV1[T any](data []byte, source string, read func(*artifact.Object) T) (T, error) {
	var zero T
	doc, err := artifact.ParseVersion1(data, source)
	if err != nil {
		return zero, err
	}
	r := artifact.NewFirstReader(doc)
	o := r.Root().Object()
	v := read(o)
	o.RefuseUnknown()
	if err := r.Err(); err != nil {
		return zero, err
	}
	return v, nil
}

func readAgentV1(f artifact.Field) AgentV1 {
	o := f.Object()
	a := AgentV1{
		Graph: o.Need("graph").Identifier(), Definition: o.Need("definition").Text(),
		Capabilities: o.Need("capabilities").IdentifierSet(), Namespaces: o.Need("namespaces").IdentifierSet(),
	}
	o.RefuseUnknown()
	return a
}

func (d *DeclarationV1) readAuthority(o *artifact.Object) {
	d.Tools, d.Namespaces = o.Need("tools").IdentifierSet(), o.Need("namespaces").IdentifierSet()
	for tool, f := range o.Need("argument_constraints").Map() {
		checkName(f, tool)
		d.ArgumentConstraints = append(d.ArgumentConstraints, Constraint{tool, f.Value()})
	}
	budget := o.Need("budget").Object()
	d.Budget = BudgetV1{
		MaxCalls: budget.Need("max_calls").Uint64(), MaxUnits: budget.Need("max_units").Uint64(),
		MaxDurationMS: budget.Need("max_duration_ms").Uint64(),
	}
	budget.RefuseUnknown()
	d.CapabilityBindings = map[string]string{}
	for capability, f := range o.Need("capability_bindings").Map() {
		checkName(f, capability)
		d.CapabilityBindings[capability] = f.Text()
	}
}

// checkName reports a map key that is no identifier.
func checkName(f artifact.Field, name string) {
	if err := artifact.CheckIdentifier(name); err != nil {
		f.ReportName("%v: a name has 1 to %d of the characters A-Z a-z 0-9 - _ . /", err, artifact.MaxIdentifier)
	}
}
