package graph

import (
	"slices"

	"github.com/writ-dev/writ/artifact"
)

// Type is the JSON type of a state path.
type Type string

// The types, as version 1 schemas spell them.
const (
	TypeNull   Type = "Null"
	TypeBool   Type = "Bool"
	TypeNumber Type = "Number"
	TypeString Type = "String"
	TypeArray  Type = "Array"
	TypeObject Type = "Object"
)

// types is indexed by [artifact.Kind].
var types = [...]Type{TypeNull, TypeBool, TypeNumber, TypeString, TypeArray, TypeObject}

// TypeOf gives the type of a value.
func TypeOf(v artifact.Value) Type { return types[v.Kind()] }

// Schema is the document StateSchemaV1 (runtime contract, section 3.1): which
// paths of the state must be there and which types paths have. Paths that it
// does not list are unconstrained.
type Schema struct {
	Version  uint16
	ID       string
	Paths    map[string]Type // RFC 6901 pointer to type
	Required []string        // RFC 6901 pointers, sorted
}

// Validate checks a value: the schema's version, then the required paths, then
// the types, each in byte order. The error is a *[SchemaViolationError] for the
// first that fails. A null that is present counts as present.
func (s *Schema) Validate(v artifact.Value) error {
	if s.Version != 1 {
		return &SchemaViolationError{"unsupported schema version"}
	}
	for _, path := range sorted(s.Required) {
		if _, ok := Lookup(v, path); !ok {
			return &SchemaViolationError{"missing required path " + path}
		}
	}
	for _, path := range artifact.SortedNames(s.Paths) {
		if at, ok := Lookup(v, path); ok && TypeOf(at) != s.Paths[path] {
			return &SchemaViolationError{"wrong type at " + path}
		}
	}
	return nil
}

func sorted(list []string) []string {
	if slices.IsSorted(list) {
		return list
	}
	return slices.Sorted(slices.Values(list))
}

// DecodeSchema reads a StateSchemaV1. Source names the text in errors, which are
// *[artifact.DocumentError].
func DecodeSchema(data []byte, source string) (*Schema, error) {
	return decodeV1(data, source, readSchema)
}

func readSchema(f artifact.Field) *Schema {
	o := f.Object()
	s := &Schema{Version: o.Need("version").Uint16(), ID: o.Need("id").Identifier(), Paths: map[string]Type{}}
	for path, t := range o.Need("paths").Map() {
		s.Paths[path] = Type(t.Enum("Null", "Bool", "Number", "String", "Array", "Object"))
	}
	s.Required = o.Need("required").Set()
	o.RefuseUnknown()
	return s
}

// AsValue gives the schema in canonical order.
func (s *Schema) AsValue() artifact.Value {
	paths := make([]artifact.Member, 0, len(s.Paths))
	for _, path := range artifact.SortedNames(s.Paths) {
		paths = append(paths, member(path, artifact.StringValue(string(s.Paths[path]))))
	}
	return artifact.ObjectValue(
		member("version", artifact.UintValue(uint64(s.Version))),
		member("id", artifact.StringValue(s.ID)),
		member("paths", artifact.ObjectValue(paths...)),
		member("required", stringSet(s.Required)),
	)
}

// Encode gives the canonical bytes.
func (s *Schema) Encode() []byte { return s.AsValue().AppendCompact(nil) }

// Snapshot is the document StateSnapshot (runtime contract, section 3.2): the
// state at one revision. It is immutable: [Reduce] gives the next one.
type Snapshot struct {
	SchemaID   string
	Revision   uint64
	Value      artifact.Value // in the form of [artifact.CanonicalValue]
	Provenance *Provenance    // who wrote this revision; nil for an initial state
}

// Provenance is the document ProvenanceV1.
type Provenance struct {
	ExecutionID   string
	NodeID        string
	EventSequence uint64
}

// NewSnapshot gives the initial state at revision 0. A number out of range and
// nesting beyond 120 levels are errors.
func NewSnapshot(schemaID string, v artifact.Value) (Snapshot, error) {
	if depth(v) > maxStateDepth {
		return Snapshot{}, &SchemaViolationError{"state is nested too deep"}
	}
	canonical, err := artifact.CanonicalValue(v)
	if err != nil {
		return Snapshot{}, &SchemaViolationError{err.Error()}
	}
	return Snapshot{SchemaID: schemaID, Value: canonical}, nil
}

// depth gives the nesting of v, at most one more than [artifact.MaxDepth].
func depth(v artifact.Value) int { return depthBelow(v, 0) }

func depthBelow(v artifact.Value, above int) int {
	if v.Kind() < artifact.KindArray || above > artifact.MaxDepth {
		return above
	}
	deepest := above + 1
	for _, e := range v.Elements() {
		deepest = max(deepest, depthBelow(e, above+1))
	}
	for _, m := range v.Members() {
		deepest = max(deepest, depthBelow(m.Value, above+1))
	}
	return deepest
}

// DecodeSnapshot reads a StateSnapshot.
func DecodeSnapshot(data []byte, source string) (*Snapshot, error) {
	return decodeV1(data, source, func(f artifact.Field) *Snapshot {
		s := readSnapshot(f)
		return &s
	})
}

func readSnapshot(f artifact.Field) Snapshot {
	o := f.Object()
	s := Snapshot{
		SchemaID: o.Need("schema_id").Identifier(),
		Revision: o.Need("revision").Uint64(),
		Value:    o.Need("value").Value(),
	}
	if p := o.May("provenance"); p.Present() {
		po := p.Object()
		s.Provenance = &Provenance{
			ExecutionID:   po.Need("execution_id").Identifier(),
			NodeID:        po.Need("node_id").Identifier(),
			EventSequence: po.Need("event_sequence").Uint64(),
		}
		po.RefuseUnknown()
	}
	o.RefuseUnknown()
	return s
}

// AsValue gives the document in canonical order.
func (s Snapshot) AsValue() artifact.Value {
	provenance := artifact.Value{}
	if p := s.Provenance; p != nil {
		provenance = artifact.ObjectValue(
			member("execution_id", artifact.StringValue(p.ExecutionID)),
			member("node_id", artifact.StringValue(p.NodeID)),
			member("event_sequence", artifact.UintValue(p.EventSequence)),
		)
	}
	return artifact.ObjectValue(
		member("schema_id", artifact.StringValue(s.SchemaID)),
		member("revision", artifact.UintValue(s.Revision)),
		member("value", s.Value),
		member("provenance", provenance),
	)
}

// Encode gives the canonical bytes.
func (s Snapshot) Encode() []byte { return s.AsValue().AppendCompact(nil) }

// decodeV1 reads one version 1 document.
func decodeV1[T any](data []byte, source string, read func(artifact.Field) *T) (*T, error) {
	doc, err := artifact.ParseVersion1(data, source)
	if err != nil {
		return nil, err
	}
	r := artifact.NewFirstReader(doc)
	v := read(r.Root())
	if err := r.Err(); err != nil {
		return nil, err
	}
	return v, nil
}

func member(name string, v artifact.Value) artifact.Member {
	return artifact.Member{Name: name, Value: v}
}

// stringSet gives a list of strings as a set: sorted by bytes, deduplicated.
func stringSet(list []string) artifact.Value {
	set := slices.Compact(sorted(slices.Clone(list)))
	values := make([]artifact.Value, len(set))
	for i, s := range set {
		values[i] = artifact.StringValue(s)
	}
	return artifact.ArrayValue(values...)
}
