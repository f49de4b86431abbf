package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/schema"
)

// relaxation finds the change of a JSON Schema that lets some arguments pass and
// as little else as possible. What passed before passes after it. Bounds are moved
// to the value and names dropped from what is required; what no bound expresses,
// such as a pattern, stays, with the value beside it.
type relaxation struct {
	compiler  schema.Compiler
	schema    artifact.Value // as far as it is changed
	arguments artifact.Value
	redact    []string // typed pointers whose values must not be quoted
	words     []string // what is done, without values
	quoted    string   // what is redacted and would be quoted; empty for nothing
	planned   *Planned // when arguments may be unknown; nil for none
	unknown   string   // what is unknown and would be quoted; empty for nothing
}

// maxRelaxations bounds how often a schema is looked at again: a change may bring
// to light what is wrong further down.
const maxRelaxations = 8

// run changes the schema. It gives false when the arguments still do not pass.
func (r *relaxation) run() bool {
	source := r.schema
	if r.passesByParts() || r.quoted != "" || r.unknown != "" {
		return r.quoted == "" && r.unknown == ""
	}
	r.schema, r.words = source, nil
	if r.schema.Kind() != artifact.KindObject || mentions(r.schema, "$ref", "#") {
		return false
	}
	var keywords []string
	for _, m := range r.schema.Members() {
		if !slices.Contains([]string{"$schema", "$id", "$defs", "definitions"}, m.Name) {
			keywords = append(keywords, m.Name)
		}
	}
	r.schema = r.orElse(r.schema, schema.Violation{}, r.arguments, keywords...)
	violations, ok := r.violations()
	return ok && violations == nil
}

// passesByParts changes one keyword after the other. It leaves alone a schema that
// could come to refuse more: one that both refers to its parts and rules some out.
func (r *relaxation) passesByParts() bool {
	if mentions(r.schema, "$ref", "") && mentions(r.schema, "not", "", "if", "", "oneOf", "", "maxContains", "") {
		return false
	}
	for range maxRelaxations {
		violations, ok := r.violations()
		if !ok || violations == nil {
			return ok
		}
		before := r.schema
		for _, v := range violations {
			r.relax(v)
		}
		if r.schema.Equal(before) {
			return false
		}
	}
	return false
}

func (r *relaxation) violations() ([]schema.Violation, bool) {
	s, err := r.compiler.Compile(r.schema)
	if err != nil {
		return nil, false
	}
	return s.Validate(r.arguments), true
}

// mentions reports whether v has, at any depth, one of some members: pairs of a
// name and a text, which is any value when empty.
func mentions(v artifact.Value, pairs ...string) bool {
	for i := 0; i < len(pairs); i += 2 {
		if m, ok := v.Get(pairs[i]); ok && (pairs[i+1] == "" || m.Text() == pairs[i+1]) {
			return true
		}
	}
	return slices.ContainsFunc(v.Elements(), func(e artifact.Value) bool { return mentions(e, pairs...) }) ||
		slices.ContainsFunc(v.Members(), func(m artifact.Member) bool { return mentions(m.Value, pairs...) })
}

// splitRule splits the pointer of a rule into that of its schema and the keyword,
// which is empty when the schema itself is the rule: false.
func splitRule(rule string) (node, keyword string) {
	isName := false
	for at := 0; at < len(rule); {
		end := len(rule)
		if i := strings.IndexByte(rule[at+1:], '/'); i >= 0 {
			end = at + 1 + i
		}
		token := rule[at+1 : end]
		switch {
		case isName:
			isName = false
		case end == len(rule):
			return rule[:at], unescape(token)
		default:
			isName = slices.Contains([]string{
				"properties", "patternProperties", "dependentSchemas", "$defs", "definitions", "allOf", "anyOf", "oneOf", "prefixItems",
			}, token)
		}
		at = end
	}
	return rule, ""
}

// valueAt gives the value at an RFC 6901 pointer.
func valueAt(v artifact.Value, pointer string) (artifact.Value, bool) {
	for pointer != "" {
		token, rest, more := strings.Cut(pointer[1:], "/")
		pointer = ""
		if more {
			pointer = "/" + rest
		}
		ok := false
		if i, isIndex := arrayIndex(token); v.Kind() == artifact.KindArray {
			if ok = isIndex && i < v.Len(); ok {
				v = v.Elements()[i]
			}
		} else {
			v, ok = v.Get(unescape(token))
		}
		if !ok {
			return artifact.Value{}, false
		}
	}
	return v, true
}

// lastToken gives the name at the end of an RFC 6901 pointer.
func lastToken(pointer string) string {
	return unescape(pointer[strings.LastIndexByte(pointer, '/')+1:])
}

// relax undoes one violation, as far as the rule is still there.
func (r *relaxation) relax(v schema.Violation) {
	pointer, keyword := splitRule(v.Rule)
	node, ok := valueAt(r.schema, pointer)
	value, found := valueAt(r.arguments, v.Pointer)
	if !ok || !found {
		return
	}
	if keyword == "" {
		node = r.never(node, v, value)
	} else {
		node = r.keyword(node, keyword, v, value)
	}
	r.schema = replaceAt(r.schema, pointer, node)
}

func (r *relaxation) say(format string, args ...any) {
	if words := fmt.Sprintf(format, args...); !slices.Contains(r.words, words) {
		r.words = append(r.words, words)
	}
}

// mayQuote reports whether a change may hold the value at a pointer. One that the
// pack redacts is noted, and so is one that is not known.
func (r *relaxation) mayQuote(pointer string) bool {
	if r.isUnknown(pointer) {
		r.unknown = cmp.Or(r.unknown, pointer, "the arguments")
		return false
	}
	for _, redacted := range r.redact {
		at, ok := strings.CutPrefix(redacted, "args:")
		if ok && artifact.PointersOverlap(pointer, at) {
			r.quoted = cmp.Or(r.quoted, pointer, "the arguments")
			return false
		}
	}
	return true
}

func (r *relaxation) isUnknown(pointer string) bool {
	return r.planned != nil && r.planned.hasUnknown(pointer)
}
