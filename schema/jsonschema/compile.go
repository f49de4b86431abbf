package jsonschema

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/schema"
)

// Compiler compiles schemas. The zero value is ready and is what packs use.
type Compiler struct {
	// AllowFormat takes the keyword format as a remark, as the specification
	// does by default. Set it for schemas that somebody else wrote, such as
	// those of proxied tools: format is then not checked. Default: format is
	// refused, since a reader of a pack takes it for a rule.
	AllowFormat bool
}

// New gives the compiler that packs and graphs use.
func New() schema.Compiler { return Compiler{} }

// Compile implements [schema.Compiler].
func (c Compiler) Compile(source artifact.Value) (schema.Schema, error) {
	r := &reader{compiler: c, root: source, nodes: map[string]*node{}, keywords: keywords()}
	root := r.node(source, "", 0)
	r.resolve()
	if len(r.problems) == 0 {
		r.refuseLoops()
	}
	if len(r.problems) > 0 {
		return nil, &schema.Error{Problems: r.problems}
	}
	return compiled{root}, nil
}

// reader builds nodes and collects problems.
type reader struct {
	compiler Compiler
	root     artifact.Value
	keywords map[string]reading
	nodes    map[string]*node // by pointer
	order    []*node
	problems []schema.Problem
}

func (r *reader) report(pointer, format string, args ...any) {
	r.problems = append(r.problems, schema.Problem{Pointer: pointer, Message: fmt.Sprintf(format, args...)})
}

// node reads one subschema. It never gives nil.
func (r *reader) node(v artifact.Value, pointer string, depth int) *node {
	n := &node{pointer: pointer}
	r.nodes[pointer] = n
	r.order = append(r.order, n)
	switch {
	case depth > artifact.MaxDepth:
		r.report(pointer, "nested more than %d levels deep", artifact.MaxDepth)
	case v.Kind() == artifact.KindBool:
		n.never = !v.Bool()
	case v.Kind() != artifact.KindObject:
		r.report(pointer, "is %s; a schema is an object, true or false", article(v.Kind()))
	default:
		for _, m := range v.Members() {
			r.keyword(n, m, artifact.PointerTo(pointer, m.Name), depth)
		}
		r.refuseIdle(v, pointer)
		n.finish()
	}
	return n
}

// finish puts what belongs together in order, whatever the order of the text.
func (n *node) finish() {
	if n.logic != nil {
		l := n.logic
		n.sameHere = slices.Concat(n.sameHere, l.all, l.some, l.one, []*node{l.not, l.test, l.then, l.otherwise})
	}
	if n.object != nil {
		for _, d := range n.object.dependentSchemas {
			n.sameHere = append(n.sameHere, d.node)
		}
	}
	n.sameHere = slices.DeleteFunc(n.sameHere, func(m *node) bool { return m == nil })
}

// refuseIdle reports keywords that do nothing without another one.
func (r *reader) refuseIdle(v artifact.Value, pointer string) {
	for _, idle := range [][2]string{{"then", "if"}, {"else", "if"}, {"minContains", "contains"}, {"maxContains", "contains"}} {
		_, there := v.Get(idle[0])
		if _, needed := v.Get(idle[1]); there && !needed {
			r.report(artifact.PointerTo(pointer, idle[0]), "does nothing without %q", idle[1])
		}
	}
}

// remarks are keywords that say nothing about a value.
var remarks = []string{
	"$comment", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly",
}

// unenforced are keywords of the specification that this package does not
// check, each with what to write instead.
var unenforced = map[string]string{
	"format":                "is not checked; use pattern",
	"contentEncoding":       "is not checked; use pattern",
	"contentMediaType":      "is not checked; use pattern",
	"contentSchema":         "is not checked",
	"unevaluatedItems":      "is not checked; use items with prefixItems",
	"unevaluatedProperties": "is not checked; use additionalProperties",
	"additionalItems":       "is of an older draft; use items with prefixItems",
	"dependencies":          "is of an older draft; use dependentRequired or dependentSchemas",
	"$anchor":               "is not followed; refer by #/$defs/name",
	"$dynamicAnchor":        "is not followed; refer by #/$defs/name",
	"$dynamicRef":           "is not followed; use $ref with #/$defs/name",
	"$recursiveRef":         "is not followed; use $ref with #",
	"$vocabulary":           "belongs to a meta-schema",
}

// dialects are the values of $schema whose meaning is that of this package.
var dialects = []string{
	"https://json-schema.org/draft/2020-12/schema",
	"http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema",
}

func (r *reader) keyword(n *node, m artifact.Member, at string, depth int) {
	read, known := r.keywords[m.Name]
	switch {
	case known:
		read(r, n, m.Value, at, depth)
	case slices.Contains(remarks, m.Name):
	case m.Name == "format" && r.compiler.AllowFormat:
	case m.Name == "$schema":
		if !slices.Contains(dialects, m.Value.Text()) {
			r.report(at, "unknown dialect %.60s; write %q", m.Value, dialects[0])
		}
	case m.Name == "$id":
		if n.pointer != "" {
			r.report(at, "is read at the top of a document only; refer by #/$defs/name")
		}
	case unenforced[m.Name] != "":
		r.report(at, "keyword %q %s", m.Name, unenforced[m.Name])
	default:
		r.report(at, "unknown keyword %q%s", m.Name, artifact.Suggest(m.Name, r.keywordNames()))
	}
}

func (r *reader) keywordNames() []string {
	names := make([]string, 0, len(r.keywords))
	for name := range r.keywords {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// resolve finds the targets of references, compiling those that stand under
// keywords of no meaning, such as #/$defs/a/b.
func (r *reader) resolve() {
	for i := 0; i < len(r.order); i++ {
		n := r.order[i]
		if n.refPointer == "" {
			continue
		}
		at := artifact.PointerTo(n.pointer, "$ref")
		target := strings.TrimPrefix(n.refPointer, "#")
		if n.ref = r.nodes[target]; n.ref == nil {
			v, ok := find(r.root, target)
			if !ok {
				r.report(at, "there is no schema at %q", n.refPointer)
				continue
			}
			n.ref = r.node(v, target, strings.Count(target, "/"))
		}
		n.sameHere = append(n.sameHere, n.ref)
	}
}

func find(v artifact.Value, pointer string) (artifact.Value, bool) {
	if pointer == "" {
		return v, true
	}
	for _, token := range strings.Split(pointer[1:], "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		ok := false
		if v.Kind() == artifact.KindArray {
			i, err := strconv.Atoi(token)
			if ok = err == nil && i >= 0 && i < v.Len(); ok {
				v = v.Elements()[i]
			}
		} else {
			v, ok = v.Get(token)
		}
		if !ok {
			return artifact.Value{}, false
		}
	}
	return v, true
}

// refuseLoops reports a schema that applies to a value because it applies to
// that value, which no evaluation ends.
func (r *reader) refuseLoops() {
	const (
		entered = 1 + iota
		left
	)
	state := map[*node]int{}
	type step struct {
		n    *node
		next int
	}
	for _, start := range r.order {
		if state[start] != 0 {
			continue
		}
		state[start] = entered
		for stack := []step{{n: start}}; len(stack) > 0; {
			top := &stack[len(stack)-1]
			if top.next == len(top.n.sameHere) {
				state[top.n] = left
				stack = stack[:len(stack)-1]
				continue
			}
			child := top.n.sameHere[top.next]
			top.next++
			switch state[child] {
			case entered:
				r.report(child.pointer, "refers back to itself for the same value; go through properties or items")
				return
			case 0:
				state[child] = entered
				stack = append(stack, step{n: child})
			}
		}
	}
}

func article(k artifact.Kind) string {
	switch k {
	case artifact.KindNull:
		return "null"
	case artifact.KindArray, artifact.KindObject:
		return "an " + k.String()
	}
	return "a " + k.String()
}

func (r *reader) pattern(text string, at string) *regexp.Regexp {
	p, err := regexp.Compile(text)
	if err != nil {
		r.report(at, "%v; patterns have RE2 syntax, without look-around and back-references",
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return regexp.MustCompile(`\z\A.`)
	}
	return p
}
