package policy

import (
	"cmp"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/schema"
)

// keyword changes one keyword of a schema object so that the value passes. One
// that was changed for another value already may need nothing.
func (r *relaxation) keyword(node artifact.Value, keyword string, v schema.Violation, value artifact.Value) artifact.Value {
	have, there := node.Get(keyword)
	switch keyword {
	case "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum":
		return r.bound(node, keyword, v, value)
	case "const":
		return r.fixed(node, v, value)
	}
	if !there {
		return node
	}
	switch keyword {
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		return node.With(keyword, r.count(have, keyword, v, value))
	case "type":
		return node.With(keyword, r.types(have, v, value))
	case "enum":
		return node.With(keyword, r.include(have, v, value))
	case "required":
		return withList(node, keyword, r.present(have, v, value))
	case "dependentRequired":
		for _, m := range have.Members() {
			if _, applies := value.Get(m.Name); applies {
				have = withList(have, m.Name, r.present(m.Value, v, value))
			}
		}
		return node.With(keyword, have)
	case "additionalProperties":
		return r.member(node, v, value)
	case "propertyNames":
		r.say("add the name of a member to %s", v.Rule)
		name := artifact.StringValue(lastToken(v.Pointer))
		return node.With(keyword, besides(have, name))
	case "anyOf":
		return r.alternative(node, v, value)
	case "contains", "maxContains":
		return r.orElse(node, v, value, "contains", "minContains", "maxContains")
	case "pattern", "multipleOf", "uniqueItems", "not", "oneOf":
		return r.orElse(node, v, value, keyword)
	}
	return node.With(keyword, r.never(have, v, value)) // a schema, and no value passes it
}

// bound moves a bound to the value. A bound that excludes its own value becomes
// one that does not.
func (r *relaxation) bound(node artifact.Value, keyword string, v schema.Violation, value artifact.Value) artifact.Value {
	plain, isBeyond := "maximum", func(a, b float64) bool { return a >= b }
	if keyword == "minimum" || keyword == "exclusiveMinimum" {
		plain, isBeyond = "minimum", func(a, b float64) bool { return a <= b }
	}
	if !r.mayQuote(v.Pointer) {
		return node
	}
	if _, exclusive := node.Get(keyword); keyword != plain && exclusive {
		r.say("put %s %s in place of %s", plain, value, v.Rule)
		return node.Without(keyword).With(plain, value)
	}
	have, _ := node.Get(plain)
	bound, _ := have.Float()
	if x, _ := value.Float(); !isBeyond(x, bound) {
		return node
	}
	r.say("move %s to %s", v.Rule, value)
	return node.With(plain, value)
}

// count moves a bound of a length to that of the value.
func (r *relaxation) count(have artifact.Value, keyword string, v schema.Violation, value artifact.Value) artifact.Value {
	length := value.Len()
	if value.Kind() == artifact.KindString {
		length = utf8.RuneCountInString(value.Text())
	}
	bound, _ := have.Float()
	if isLeast := keyword[:3] == "min"; isLeast && float64(length) >= bound || !isLeast && float64(length) <= bound {
		return have
	}
	r.say("move %s to %d", v.Rule, length)
	return artifact.UintValue(uint64(length))
}

// types adds the type of the value.
func (r *relaxation) types(have artifact.Value, v schema.Violation, value artifact.Value) artifact.Value {
	list := have.Elements()
	if have.Kind() != artifact.KindArray {
		list = []artifact.Value{have}
	}
	name := value.Kind().String()
	if x, ok := value.Float(); value.Kind() == artifact.KindNumber && ok && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		name = "integer"
	} else if _, whole := value.Int(); whole {
		name = "integer"
	}
	added := artifact.StringValue(name)
	if slices.ContainsFunc(list, added.Equal) {
		return have
	}
	r.say("add %s to %s", name, v.Rule)
	return artifact.ArrayValue(append(slices.Clone(list), added)...)
}

// include adds the value to a list of values.
func (r *relaxation) include(have artifact.Value, v schema.Violation, value artifact.Value) artifact.Value {
	if slices.ContainsFunc(have.Elements(), value.Equal) || !r.mayQuote(v.Pointer) {
		return have
	}
	r.say("add a value to %s", v.Rule)
	return including(have, value)
}

func including(list, value artifact.Value) artifact.Value {
	if slices.ContainsFunc(list.Elements(), value.Equal) {
		return list
	}
	return artifact.ArrayValue(append(slices.Clone(list.Elements()), value)...)
}

// fixed makes a list of the one value that passes and this one.
func (r *relaxation) fixed(node artifact.Value, v schema.Violation, value artifact.Value) artifact.Value {
	have, there := node.Get("const")
	list, isList := node.Get("enum")
	switch {
	case !there && isList: // was made of const a moment ago
		return node.With("enum", r.include(list, v, value))
	case !there || !r.mayQuote(v.Pointer):
		return node
	case isList:
		return r.orElse(node, v, value, "const")
	}
	r.say("put a list of two values in place of %s", v.Rule)
	return node.Without("const").With("enum", artifact.ArrayValue(have, value))
}

// present keeps the names of a list that the value has.
func (r *relaxation) present(have artifact.Value, v schema.Violation, value artifact.Value) artifact.Value {
	var kept []artifact.Value
	for _, name := range have.Elements() {
		if _, there := value.Get(name.Text()); there {
			kept = append(kept, name)
		} else {
			r.say("drop %s from %s", name.Text(), v.Rule)
		}
	}
	return artifact.ArrayValue(kept...)
}

// withList gives an object with a list, and without the member when it is empty.
func withList(v artifact.Value, name string, list artifact.Value) artifact.Value {
	if list.Len() == 0 {
		return v.Without(name)
	}
	return v.With(name, list)
}

// member names a member that no keyword knows, with its value.
func (r *relaxation) member(node artifact.Value, v schema.Violation, value artifact.Value) artifact.Value {
	unknown := r.isUnknown(v.Pointer)
	if !unknown && !r.mayQuote(v.Pointer) {
		return node
	}
	properties, ok := node.Get("properties")
	if !ok {
		properties = artifact.ObjectValue()
	}
	name := lastToken(v.Pointer)
	known, there := properties.Get(name)
	if unknown && !there { // a member that is known is not one too many
		r.say("add the member %s beside %s", name, v.Rule)
		return node.With("properties", properties.With(name, artifact.ObjectValue()))
	}
	r.say("add the member %s, with this value, beside %s", name, v.Rule)
	return node.With("properties", properties.With(name, besides(known, value)))
}

// never gives, in place of a schema that no value passes, one that this value
// passes.
func (r *relaxation) never(have artifact.Value, v schema.Violation, value artifact.Value) artifact.Value {
	isNever := have.Kind() == artifact.KindBool && !have.Bool()
	if !isNever && !isOnly(have, "enum") || !r.mayQuote(v.Pointer) {
		return have
	}
	r.say("permit this value at %s", cmp.Or(v.Rule, "its root"))
	return besides(have, value)
}

// besides gives a schema that permits what another one does and one more value. A
// schema that is no object permits nothing.
func besides(s, value artifact.Value) artifact.Value {
	list, _ := s.Get("enum")
	switch {
	case s.Kind() != artifact.KindObject || isOnly(s, "enum"):
		return artifact.ObjectValue(artifact.Member{Name: "enum", Value: including(list, value)})
	case isOnly(s, "anyOf"):
		anyOf, _ := s.Get("anyOf")
		return s.With("anyOf", alternatives(anyOf, value))
	}
	return artifact.ObjectValue(artifact.Member{Name: "anyOf", Value: alternatives(artifact.ArrayValue(s), value)})
}

func isOnly(s artifact.Value, keyword string) bool {
	_, there := s.Get(keyword)
	return there && s.Len() == 1
}

// alternatives adds a value to a list of alternatives, the last of which may be a
// list of such values.
func alternatives(list, value artifact.Value) artifact.Value {
	all := slices.Clone(list.Elements())
	if last := len(all) - 1; last >= 0 && isOnly(all[last], "enum") {
		all[last] = besides(all[last], value)
		return artifact.ArrayValue(all...)
	}
	return artifact.ArrayValue(append(all, besides(artifact.Value{}, value))...)
}

// alternative permits the value besides the alternatives that there are.
func (r *relaxation) alternative(node artifact.Value, v schema.Violation, value artifact.Value) artifact.Value {
	if !r.mayQuote(v.Pointer) {
		return node
	}
	r.say("permit this value besides %s", v.Rule)
	anyOf, _ := node.Get("anyOf")
	return node.With("anyOf", alternatives(anyOf, value))
}

// orElse takes some keywords out of a schema object and demands that either they
// hold, or the value is this one.
func (r *relaxation) orElse(node artifact.Value, v schema.Violation, value artifact.Value, keywords ...string) artifact.Value {
	if !r.mayQuote(v.Pointer) {
		return node
	}
	moved := artifact.ObjectValue()
	for _, k := range keywords {
		if have, ok := node.Get(k); ok {
			moved, node = moved.With(k, have), node.Without(k)
		}
	}
	r.say("permit this value besides %s", cmp.Or(v.Rule, "all of it"))
	either := alternatives(artifact.ArrayValue(moved), value)
	if _, taken := node.Get("anyOf"); !taken {
		return node.With("anyOf", either)
	}
	all, _ := node.Get("allOf")
	return node.With("allOf", artifact.ArrayValue(append(slices.Clone(all.Elements()), artifact.ObjectValue(artifact.Member{Name: "anyOf", Value: either}))...))
}
