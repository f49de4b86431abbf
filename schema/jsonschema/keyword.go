package jsonschema

import (
	"maps"
	"slices"
	"strconv"

	"github.com/writ-dev/writ/artifact"
)

// reading is what reads one keyword into a node; at is the keyword's pointer.
type reading func(r *reader, n *node, v artifact.Value, at string, depth int)

// keywords gives everything that is enforced. It is a function, since a schema
// inside a schema reads keywords again.
func keywords() map[string]reading {
	all := scalarKeywords()
	maps.Copy(all, compoundKeywords())
	return all
}

// scalarKeywords are about any value, numbers and strings.
func scalarKeywords() map[string]reading {
	return map[string]reading{
		"$ref": (*reader).reference, "$defs": (*reader).definitions, "definitions": (*reader).definitions,
		"type": (*reader).types, "enum": (*reader).enum, "const": (*reader).fixed,

		"minimum":          bound(func(b *numbers) **decimal { return &b.minimum }),
		"maximum":          bound(func(b *numbers) **decimal { return &b.maximum }),
		"exclusiveMinimum": bound(func(b *numbers) **decimal { return &b.exclusiveMinimum }),
		"exclusiveMaximum": bound(func(b *numbers) **decimal { return &b.exclusiveMaximum }),
		"multipleOf":       bound(func(b *numbers) **decimal { return &b.multipleOf }),

		"minLength": counting(func(n *node) *int { return &n.needText().length.min }),
		"maxLength": counting(func(n *node) *int { return &n.needText().length.max }),
		"pattern": func(r *reader, n *node, v artifact.Value, at string, _ int) {
			if r.isText(v, at) {
				n.needText().pattern = r.pattern(v.Text(), at)
			}
		},
	}
}

// compoundKeywords are about arrays and objects, and join schemas.
func compoundKeywords() map[string]reading {
	return map[string]reading{
		"minItems":    counting(func(n *node) *int { return &n.needArray().count.min }),
		"maxItems":    counting(func(n *node) *int { return &n.needArray().count.max }),
		"minContains": counting(func(n *node) *int { return &n.needArray().matches.min }),
		"maxContains": counting(func(n *node) *int { return &n.needArray().matches.max }),
		"uniqueItems": func(r *reader, n *node, v artifact.Value, at string, _ int) {
			if v.Kind() != artifact.KindBool {
				r.report(at, "is %s; write true or false", article(v.Kind()))
			}
			n.needArray().unique = v.Bool()
		},
		"items":       single(func(n *node) **node { return &n.needArray().items }),
		"contains":    single(func(n *node) **node { return &n.needArray().contains }),
		"prefixItems": several(func(n *node) *[]*node { return &n.needArray().prefix }),

		"minProperties":        counting(func(n *node) *int { return &n.needObject().count.min }),
		"maxProperties":        counting(func(n *node) *int { return &n.needObject().count.max }),
		"required":             (*reader).required,
		"properties":           (*reader).properties,
		"patternProperties":    (*reader).patternProperties,
		"additionalProperties": single(func(n *node) **node { return &n.needObject().additional }),
		"propertyNames":        single(func(n *node) **node { return &n.needObject().names }),
		"dependentRequired":    (*reader).dependentRequired,
		"dependentSchemas":     (*reader).dependentSchemas,

		"allOf": several(func(n *node) *[]*node { return &n.needLogic().all }),
		"anyOf": several(func(n *node) *[]*node { return &n.needLogic().some }),
		"oneOf": several(func(n *node) *[]*node { return &n.needLogic().one }),
		"not":   single(func(n *node) **node { return &n.needLogic().not }),
		"if":    single(func(n *node) **node { return &n.needLogic().test }),
		"then":  single(func(n *node) **node { return &n.needLogic().then }),
		"else":  single(func(n *node) **node { return &n.needLogic().otherwise }),
	}
}

var anyCount = span{-1, -1}

func (n *node) needNumbers() *numbers {
	if n.numbers == nil {
		n.numbers = &numbers{shown: map[string]string{}}
	}
	return n.numbers
}

func (n *node) needText() *text {
	if n.text == nil {
		n.text = &text{length: anyCount}
	}
	return n.text
}

func (n *node) needArray() *array {
	if n.array == nil {
		n.array = &array{count: anyCount, matches: anyCount}
	}
	return n.array
}

func (n *node) needObject() *object {
	if n.object == nil {
		n.object = &object{count: anyCount}
	}
	return n.object
}

func (n *node) needLogic() *logic {
	if n.logic == nil {
		n.logic = &logic{}
	}
	return n.logic
}

func (r *reader) isKind(v artifact.Value, kind artifact.Kind, at string) bool {
	if v.Kind() != kind {
		r.report(at, "is %s; write %s", article(v.Kind()), article(kind))
	}
	return v.Kind() == kind
}

func (r *reader) isText(v artifact.Value, at string) bool {
	return r.isKind(v, artifact.KindString, at)
}

func bound(field func(*numbers) **decimal) reading {
	return func(r *reader, n *node, v artifact.Value, at string, _ int) {
		if !r.isKind(v, artifact.KindNumber, at) {
			return
		}
		d := parseDecimal(v.Text())
		b := n.needNumbers()
		b.shown[at[len(n.pointer)+1:]] = v.Text()
		*field(b) = &d
		if b.multipleOf == &d && d.sign() <= 0 {
			r.report(at, "is %s; a multiple is of a number above 0", v.Text())
		}
	}
}

func counting(field func(*node) *int) reading {
	return func(r *reader, n *node, v artifact.Value, at string, _ int) {
		count, ok := 0, v.Kind() == artifact.KindNumber
		if ok {
			count, ok = parseDecimal(v.Text()).count()
		}
		if !ok {
			r.report(at, "is %.40s; write a whole number from 0 up", v)
		}
		*field(n) = count
	}
}

func single(field func(*node) **node) reading {
	return func(r *reader, n *node, v artifact.Value, at string, depth int) {
		*field(n) = r.node(v, at, depth+1)
	}
}

func several(field func(*node) *[]*node) reading {
	return func(r *reader, n *node, v artifact.Value, at string, depth int) {
		if !r.isKind(v, artifact.KindArray, at) {
			return
		}
		if v.Len() == 0 {
			r.report(at, "is empty; write at least one schema")
		}
		for i, e := range v.Elements() {
			*field(n) = append(*field(n), r.node(e, at+"/"+strconv.Itoa(i), depth+1))
		}
	}
}

func (r *reader) reference(n *node, v artifact.Value, at string, _ int) {
	if !r.isText(v, at) {
		return
	}
	target := v.Text()
	if target != "#" && (len(target) < 2 || target[:2] != "#/") {
		r.report(at, "%.80q leaves the document, and files and addresses are never read; refer by # or #/$defs/name", target)
		return
	}
	n.refPointer = target
}

func (r *reader) definitions(_ *node, v artifact.Value, at string, depth int) {
	if r.isKind(v, artifact.KindObject, at) {
		for _, m := range v.Members() {
			r.node(m.Value, artifact.PointerTo(at, m.Name), depth+2)
		}
	}
}

func (r *reader) types(n *node, v artifact.Value, at string, _ int) {
	list := []artifact.Value{v}
	if v.Kind() == artifact.KindArray {
		if list = v.Elements(); len(list) == 0 {
			r.report(at, "is empty; write at least one type")
		}
	}
	for _, e := range list {
		i := slices.Index(typeNames, e.Text())
		switch {
		case e.Kind() != artifact.KindString || i < 0:
			r.report(at, "unknown type %.40s%s", e, artifact.Suggest(e.Text(), typeNames))
		case n.types&(1<<i) != 0:
			r.report(at, "%s appears twice; keep one", e.Text())
		default:
			n.types |= 1 << i
		}
	}
}

func (r *reader) enum(n *node, v artifact.Value, at string, _ int) {
	if !r.isKind(v, artifact.KindArray, at) {
		return
	}
	if v.Len() == 0 {
		r.report(at, "is empty, so that no value would pass; write the values, or false for the schema")
	}
	n.enum = v.Elements()
}

func (r *reader) fixed(n *node, v artifact.Value, _ string, _ int) { n.fixed = &v }

func (r *reader) names(v artifact.Value, at string) []string {
	if !r.isKind(v, artifact.KindArray, at) {
		return nil
	}
	var list []string
	for _, e := range v.Elements() {
		switch {
		case e.Kind() != artifact.KindString:
			r.report(at, "holds %s; write names as strings", article(e.Kind()))
		case slices.Contains(list, e.Text()):
			r.report(at, "%q appears twice; keep one", e.Text())
		default:
			list = append(list, e.Text())
		}
	}
	return list
}

func (r *reader) required(n *node, v artifact.Value, at string, _ int) {
	n.needObject().required = r.names(v, at)
}

func (r *reader) properties(n *node, v artifact.Value, at string, depth int) {
	if !r.isKind(v, artifact.KindObject, at) {
		return
	}
	o := n.needObject()
	o.properties = make(map[string]*node, v.Len())
	for _, m := range v.Members() {
		o.properties[m.Name] = r.node(m.Value, artifact.PointerTo(at, m.Name), depth+2)
	}
}

func (r *reader) patternProperties(n *node, v artifact.Value, at string, depth int) {
	if !r.isKind(v, artifact.KindObject, at) {
		return
	}
	for _, m := range v.Members() {
		to := artifact.PointerTo(at, m.Name)
		o := n.needObject()
		o.patterns = append(o.patterns, matched{r.pattern(m.Name, to), r.node(m.Value, to, depth+2)})
	}
}

func (r *reader) dependentRequired(n *node, v artifact.Value, at string, _ int) {
	if !r.isKind(v, artifact.KindObject, at) {
		return
	}
	for _, m := range v.Members() {
		o := n.needObject()
		o.dependentRequired = append(o.dependentRequired, dependency{m.Name, r.names(m.Value, artifact.PointerTo(at, m.Name))})
	}
}

func (r *reader) dependentSchemas(n *node, v artifact.Value, at string, depth int) {
	if !r.isKind(v, artifact.KindObject, at) {
		return
	}
	for _, m := range v.Members() {
		o := n.needObject()
		o.dependentSchemas = append(o.dependentSchemas, named{m.Name, r.node(m.Value, artifact.PointerTo(at, m.Name), depth+2)})
	}
}
