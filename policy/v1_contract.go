package policy

import (
	"slices"

	"github.com/writ-dev/writ/artifact"
)

// SatisfiesV1 evaluates the contract language of version 1: the keywords type,
// required, properties, const and maximum of JSON Schema, and nothing else. It is
// exact, including what it lets pass: see [ContractGaps].
func SatisfiesV1(schema, v artifact.Value) bool {
	if schema.Kind() != artifact.KindObject {
		return false
	}
	if t, ok := schema.Get("type"); ok && t.Kind() == artifact.KindString && t.Text() != v.Kind().String() {
		return false
	}
	if list, ok := schema.Get("required"); ok && list.Kind() == artifact.KindArray && !hasRequired(list, v) {
		return false
	}
	if properties, ok := schema.Get("properties"); ok && v.Kind() == artifact.KindObject {
		for _, m := range properties.Members() {
			member, there := v.Get(m.Name)
			if there && !SatisfiesV1(m.Value, member) {
				return false
			}
		}
	}
	if fixed, ok := schema.Get("const"); ok && !equalV1(fixed, v) {
		return false
	}
	if limit, ok := schema.Get("maximum"); ok && limit.Kind() == artifact.KindNumber && v.Kind() == artifact.KindNumber {
		most, _ := limit.Float()
		x, _ := v.Float()
		return x <= most
	}
	return true
}

// relaxV1 gives the constraint that permits what the given one does and v, and as
// little else as the language can say. A schema that is no object permits nothing.
func relaxV1(schema, v artifact.Value) artifact.Value {
	if schema.Kind() != artifact.KindObject {
		only := object(artifact.Member{Name: "type", Value: artifact.StringValue(v.Kind().String())})
		if v.IsNull() {
			return only
		}
		return only.With("const", v)
	}
	if t, ok := schema.Get("type"); ok && t.Kind() == artifact.KindString && t.Text() != v.Kind().String() {
		schema = schema.Without("type")
	}
	if list, ok := schema.Get("required"); ok && list.Kind() == artifact.KindArray && !hasRequired(list, v) {
		kept := slices.DeleteFunc(slices.Clone(list.Elements()), func(name artifact.Value) bool {
			_, there := v.Get(name.Text())
			return name.Kind() != artifact.KindString || !there
		})
		schema = withList(schema, "required", artifact.ArrayValue(kept...))
	}
	if properties, ok := schema.Get("properties"); ok && v.Kind() == artifact.KindObject {
		for _, m := range properties.Members() {
			if member, there := v.Get(m.Name); there && !SatisfiesV1(m.Value, member) {
				properties = properties.With(m.Name, relaxV1(m.Value, member))
			}
		}
		schema = schema.With("properties", properties)
	}
	if fixed, ok := schema.Get("const"); ok && !equalV1(fixed, v) {
		schema = schema.Without("const")
		if fixed.Kind() == v.Kind() {
			schema = schema.With("type", artifact.StringValue(v.Kind().String()))
		}
	}
	if limit, ok := schema.Get("maximum"); ok && !SatisfiesV1(object(artifact.Member{Name: "maximum", Value: limit}), v) {
		schema = schema.With("maximum", v)
	}
	return schema
}

func hasRequired(list, v artifact.Value) bool {
	for _, name := range list.Elements() {
		if name.Kind() != artifact.KindString {
			return false
		}
		if _, there := v.Get(name.Text()); !there {
			return false
		}
	}
	return true
}

// equalV1 is deep equality in which an integer never equals a float.
func equalV1(a, b artifact.Value) bool {
	if a.Kind() != b.Kind() || a.Len() != b.Len() {
		return false
	}
	switch a.Kind() {
	case artifact.KindNumber:
		if isFloatV1(a) != isFloatV1(b) {
			return false
		}
		if isFloatV1(a) {
			x, _ := a.Float()
			y, _ := b.Float()
			return x == y
		}
		return a.Equal(b)
	case artifact.KindArray:
		return slices.EqualFunc(a.Elements(), b.Elements(), equalV1)
	case artifact.KindObject:
		for _, m := range a.Members() {
			other, there := b.Get(m.Name)
			if !there || !equalV1(m.Value, other) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}

// isFloatV1 reports whether version 1 keeps a number as a float: everything that
// is not an integer of 64 bits.
func isFloatV1(v artifact.Value) bool {
	_, signed := v.Int()
	_, unsigned := v.Uint()
	return !signed && !unsigned || v.Text() == "-0"
}

// Gap is a place in a constraint that version 1 does not apply, although a
// reader takes it for a rule.
type Gap struct {
	Pointer string // RFC 6901, into the constraint
	Message string
}

// ContractGaps lists what version 1 ignores in a schema of its contract
// language, in the order of the document. A schema without gaps means the same
// under JSON Schema, except that const tells 1 from 1.0.
func ContractGaps(schema artifact.Value) []Gap { return contractGaps(schema, "") }

func contractGaps(schema artifact.Value, pointer string) []Gap {
	var gaps []Gap
	for _, m := range schema.Members() {
		at := artifact.PointerTo(pointer, m.Name)
		switch m.Name {
		case "type":
			if m.Value.Kind() == artifact.KindArray {
				gaps = append(gaps, Gap{at, "a list of types is ignored; write one type"})
			}
			if m.Value.Kind() == artifact.KindString && !slices.Contains(v1Types, m.Value.Text()) {
				gaps = append(gaps, Gap{at, "an unknown type refuses every value" + artifact.Suggest(m.Value.Text(), v1Types)})
			}
		case "properties":
			for _, p := range m.Value.Members() {
				gaps = append(gaps, contractGaps(p.Value, artifact.PointerTo(at, p.Name))...)
			}
		case "required":
			if m.Value.Kind() != artifact.KindArray {
				gaps = append(gaps, Gap{at, "is ignored unless it is a list"})
			}
		case "maximum":
			if m.Value.Kind() != artifact.KindNumber {
				gaps = append(gaps, Gap{at, "is ignored unless it is a number"})
			}
		case "const", "title", "description", "$comment":
		default:
			gaps = append(gaps, Gap{at, "keyword is ignored by version 1; use a version 2 pack"})
		}
	}
	return gaps
}

var v1Types = []string{"object", "array", "string", "number", "boolean", "null"}
