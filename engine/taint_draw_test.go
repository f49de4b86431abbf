package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// taintStep is a node of a drawn graph.
type taintStep struct {
	id, kind string         // set, handler, wait, tool, model, retrieve or fork
	args     *taintTemplate // tool, model, retrieve
	set      []taintSet
	reads    []string // handler
	writes   []string // handler
	branches [][]taintStep
}

type taintSet struct {
	path  string
	value *taintTemplate
}

// taintTemplate is a value: an expression, a number, or a list or object of them.
type taintTemplate struct {
	source string // of an expression
	deps   []string
	result bool
	number int
	list   []*taintTemplate
	names  []string // of an object's members, which are in list
}

func (x *taintTemplate) text() string {
	switch {
	case x.source != "":
		return fmt.Sprintf("%q", "="+x.source)
	case x.list == nil && x.names == nil:
		return fmt.Sprint(x.number)
	}
	parts := make([]string, len(x.list))
	for i, e := range x.list {
		parts[i] = e.text()
		if x.names != nil {
			parts[i] = fmt.Sprintf("%q: %s", x.names[i], parts[i])
		}
	}
	if x.names != nil {
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// taintGraph draws a graph.
type taintGraph struct {
	t     *rapid.T
	nodes int
}

func (g *taintGraph) pick(words ...string) string { return rapid.SampledFrom(words).Draw(g.t, "pick") }

func (g *taintGraph) sequence(paths []string, forks int) []taintStep {
	var steps []taintStep
	for range rapid.IntRange(1, 4).Draw(g.t, "steps") {
		kind := g.pick("set", "set", "set", "handler", "handler", "wait", "tool", "model", "retrieve", "fork")
		if kind == "fork" && (forks == 0 || len(paths) < 4) {
			kind = "set"
		}
		if kind != "fork" {
			steps = append(steps, g.step(kind, paths))
			continue
		}
		s := taintStep{id: g.id(), kind: "fork"}
		for _, part := range splitPaths(paths, rapid.IntRange(1, 2).Draw(g.t, "split")) {
			s.branches = append(s.branches, g.sequence(part, forks-1))
		}
		steps = append(steps, s)
	}
	return steps
}

// splitPaths gives two disjoint parts of the paths: no path of one is in a path of
// the other.
func splitPaths(paths []string, by int) [][]string {
	groups := map[byte][]string{}
	for _, p := range paths {
		groups[p[1]] = append(groups[p[1]], p)
	}
	parts := make([][]string, 2)
	for i, letter := range slices.Sorted(maps.Keys(groups)) {
		k := min(1, i/by%2)
		parts[k] = append(parts[k], groups[letter]...)
	}
	return slices.DeleteFunc(parts, func(p []string) bool { return p == nil })
}

func (g *taintGraph) id() string { g.nodes++; return fmt.Sprintf("n%03d", g.nodes) }

func (g *taintGraph) step(kind string, paths []string) taintStep {
	s := taintStep{id: g.id(), kind: kind}
	if kind == "handler" {
		s.reads = []string{g.pick("/a", "/a/x", "/b", "/d/0", "/d/0", "/c"), g.pick("/m", "/t", "/a/y/z")}
		slices.Sort(s.reads)
		for range rapid.IntRange(1, 4).Draw(g.t, "writes") {
			p := rapid.SampledFrom(paths).Draw(g.t, "write")
			if taintFrames[p] == "" && !slices.Contains(s.writes, p) {
				s.writes = append(s.writes, p)
			}
		}
		slices.Sort(s.writes)
		return s
	}
	if kind != "set" && kind != "wait" {
		deep := &taintTemplate{names: []string{"r"}, list: []*taintTemplate{g.value(2, false)}}
		s.args = &taintTemplate{names: []string{"id", "p", "q", "s/t"}, list: []*taintTemplate{
			{source: "'" + s.id + "'"}, g.value(1, false), {list: []*taintTemplate{g.value(1, false), deep}}, g.valueFor(g.pick("/a", "/d", "/c"), false),
		}}
	}
	for range rapid.IntRange(0, 3).Draw(g.t, "sets") {
		p := rapid.SampledFrom(paths).Draw(g.t, "path")
		if slices.ContainsFunc(s.set, func(x taintSet) bool { return overlaps(x.path, p) }) {
			continue
		}
		s.set = append(s.set, taintSet{p, g.valueFor(p, kind != "set")})
	}
	return s
}

func overlaps(a, b string) bool {
	return strings.HasPrefix(a+"/", b+"/") || strings.HasPrefix(b+"/", a+"/")
}

// valueFor draws a value of the type that a path has: a copy, an expression that
// builds it, or a template with a constant frame.
func (g *taintGraph) valueFor(path string, result bool) *taintTemplate {
	one := func() *taintTemplate { return g.value(1, result) }
	frame, ok := taintFrames[path]
	if !ok {
		return one()
	}
	switch g.pick("copy", "expression", "template", "template") {
	case "copy":
		return &taintTemplate{source: "state" + strings.ReplaceAll(path, "/", "."), deps: []string{path}}
	case "expression":
		parts := make([]*taintTemplate, strings.Count(frame, "%s"))
		for i := range parts {
			parts[i] = one()
		}
		return joinedSource(frame, nil, parts...)
	}
	switch path {
	case "/a":
		return &taintTemplate{names: []string{"x", "y"}, list: []*taintTemplate{one(), {names: []string{"z"}, list: []*taintTemplate{one()}}}}
	case "/a/y":
		return &taintTemplate{names: []string{"z"}, list: []*taintTemplate{one()}}
	case "/b":
		return &taintTemplate{names: []string{"k"}, list: []*taintTemplate{one()}}
	}
	return &taintTemplate{list: []*taintTemplate{one(), one()}}
}

// taintFrames are the paths that hold more than a number.
var taintFrames = map[string]string{"/a": `{"x": %s, "y": {"z": %s}}`, "/a/y": `{"z": %s}`, "/b": `{}`, "/d": `[%s, %s]`}

func (x *taintTemplate) sourceText() string {
	if x.source == "" {
		return fmt.Sprint(x.number)
	}
	return x.source
}

// value draws a whole number: a constant, or an expression.
func (g *taintGraph) value(depth int, result bool) *taintTemplate {
	kind := g.pick("constant", "read", "read", "read", "sum", "if", "macro", "hidden")
	if result && g.pick("result", "other") == "result" {
		return &taintTemplate{source: "result.n", result: true}
	}
	if depth == 0 && kind != "constant" {
		kind = "read"
	}
	part := func() *taintTemplate { return g.value(depth-1, result) }
	switch kind {
	case "read":
		read := rapid.SampledFrom(taintReads).Draw(g.t, "read")
		return &taintTemplate{source: read.source, deps: read.deps}
	case "sum":
		return joinedSource("(%s + %s) %% 97", nil, part(), part())
	case "if":
		return joinedSource("(%s < %s ? %s : 8)", nil, part(), part(), part())
	case "macro":
		return joinedSource("state.d.map(x, (x + %s) %% 97)[0]", []string{"/d"}, part())
	case "hidden":
		return joinedSource("[1, %s].map(state, (.state.c + state) %% 97)[1]", []string{"/c"}, part())
	}
	return &taintTemplate{number: rapid.IntRange(0, 9).Draw(g.t, "number")}
}

func joinedSource(format string, deps []string, parts ...*taintTemplate) *taintTemplate {
	x := &taintTemplate{deps: deps}
	sources := make([]any, len(parts))
	for i, p := range parts {
		sources[i] = p.sourceText()
		x.deps, x.result = append(x.deps, p.deps...), x.result || p.result
	}
	x.source = fmt.Sprintf(format, sources...)
	return x
}

var taintReads = []struct {
	source string
	deps   []string
}{
	{"state.a.x", []string{"/a/x"}}, {"state.a.y.z", []string{"/a/y/z"}}, {"state.c", []string{"/c"}}, {"state.m", []string{"/m"}},
	{"state.t", []string{"/t"}}, {"state.d[1]", []string{"/d"}}, {"size(state.d)", []string{"/d"}}, {"size(state.b)", []string{"/b"}},
	{"(has(state.b.k) ? state.b.k : 3)", []string{"/b/k"}}, {`state["c"]`, []string{""}}, {"size(state)", []string{""}},
	{"int(visit)", nil}, {"state.d.filter(x, x > 3).size()", []string{"/d"}},
}

func emitSteps(b *strings.Builder, steps []taintStep, next string) {
	for i, s := range steps {
		to := next
		if i+1 < len(steps) {
			to = steps[i+1].id
		}
		var set []string
		for _, x := range s.set {
			set = append(set, fmt.Sprintf("%q: %s", x.path, x.value.text()))
		}
		body := map[string]string{
			"set": `set: {%s}, reads: [""]`, "wait": "wait: {event: paid, key: " + s.id + `}, reads: [""], set: {%s}`, "handler": "handler: opaque",
			"tool": `tool: sink, reads: [""], set: {%s}`, "model": `model: fast, reads: [""], set: {%s}`, "retrieve": `retrieve: docs, reads: [""], set: {%s}`,
		}[s.kind]
		if strings.Contains(body, "%s") {
			body = fmt.Sprintf(body, strings.Join(set, ", "))
		}
		if s.args != nil {
			body += ", args: " + s.args.text()
		}
		switch s.kind {
		case "handler":
			writes := strings.Join(s.writes, ", ")
			fmt.Fprintf(b, "%s: {%s, args: [%s], reads: [%s], writes: [%s], next: %s}\n", s.id, body, writes, strings.Join(s.reads, ", "), writes, to)
		case "fork":
			var first []string
			for _, branch := range s.branches {
				first = append(first, branch[0].id)
				emitSteps(b, branch, s.id+"j")
			}
			fmt.Fprintf(b, "%s: {fork: [%s]}\n%sj: {join: %s, next: %s}\n", s.id, strings.Join(first, ", "), s.id, s.id, to)
		default:
			fmt.Fprintf(b, "%s: {%s, next: %s}\n", s.id, body, to)
		}
	}
}
