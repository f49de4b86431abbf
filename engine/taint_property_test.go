package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
)

// TestTaintIsSoundAndPrecise draws graphs of sets, effects, handlers, waits and
// forks, and looks at the arguments of every tool call.
//
// Precise: the marks are those of a second implementation, which keeps a tree and
// takes what an expression depends on from the generator. Sound: where another
// answer of a model (a tool, a retrieval, somebody outside) gives another
// argument, the argument is marked as theirs. Durable: a run that is restored from
// its checkpoint after every step leaves the same bytes, and replays.
func TestTaintIsSoundAndPrecise(tb *testing.T) {
	compared, changed := 0, 0
	rapid.Check(tb, func(t *rapid.T) {
		g := &taintGraph{t: t}
		steps := append(g.sequence(taintPaths, 2), g.step("tool", taintPaths))
		kept := rapid.Bool().Draw(t, "results are kept")
		d := defineTaint(tb, steps, kept)
		run := runTaint(t, d, taintAnswers, false)

		want := map[string]shade{}
		walkShades(steps, shade{}, run.wrote, want)
		for id, call := range run.calls {
			for pointer, taint := range want[id].pointers() {
				compared++
				if got := call.Taint.At(pointer); got != taint {
					t.Fatalf("%s\n%s: %q is from %s, want %s (marks %s)", d.Graph.Canonical, id, pointer, got, taint, call.Taint.Value())
				}
			}
		}
		if again := runTaint(t, d, taintAnswers, true); again.log != run.log {
			t.Fatalf("%s\nanother log after restoring", d.Graph.Canonical)
		}
		run.replay(t, d, kept)

		for kind, source := range taintSources {
			other := maps.Clone(taintAnswers)
			other[kind] += 13
			second := runTaint(t, d, other, false)
			for id, call := range run.calls {
				for pointer := range want[id].pointers() {
					a, _ := graph.Lookup(call.Args, pointer)
					b, _ := graph.Lookup(second.calls[id].Args, pointer)
					if a.Equal(b) {
						continue
					}
					changed++
					if !call.Taint.At(pointer).Has(source) || !second.calls[id].Taint.At(pointer).Has(source) {
						t.Fatalf("%s\n%s: %q is %s or %s, as %s says, but marked %s", d.Graph.Canonical, id, pointer, a, b, kind, call.Taint.Value())
					}
				}
			}
		}
	})
	if compared == 0 || changed == 0 {
		tb.Error("nothing was compared")
	}
	tb.Logf("%d arguments compared, %d changed with a source", compared, changed)
}

// The state, and what can be written of it. Each path keeps its type, so that no
// expression fails: a failure is control flow.
const (
	taintStart = `{"a":{"x":1,"y":{"z":2}},"b":{},"c":3,"d":[4,5],"m":6,"t":7}`
	taintShape = `{/a: object, /b: object, /c: number, /d: array, /m: number, /t: number}`
)

var taintPaths = []string{"/a", "/a/x", "/a/y", "/a/y/z", "/b", "/b/k", "/c", "/d", "/m", "/t"}

var (
	taintAnswers = map[string]uint64{"model": 1, "tool": 2, "retrieve": 3, "wait": 4}
	taintSources = map[string]policy.Taint{
		"model": policy.FromModel, "tool": policy.FromTool, "retrieve": policy.FromKnowledge, "wait": policy.FromRequest,
	}
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
			if p != "/a" && p != "/a/y" && p != "/b" && p != "/d" && !slices.Contains(s.writes, p) {
				s.writes = append(s.writes, p)
			}
		}
		slices.Sort(s.writes)
		return s
	}
	if kind != "set" && kind != "wait" {
		s.args = &taintTemplate{names: []string{"id", "p", "q", "s/t"}, list: []*taintTemplate{
			{source: "'" + s.id + "'"}, g.value(1, false), {list: []*taintTemplate{g.value(1, false), {names: []string{"r"}, list: []*taintTemplate{g.value(2, false)}}}},
			g.valueFor(g.pick("/a", "/d", "/c"), false),
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

// valueFor draws a value of the type that a path has.
func (g *taintGraph) valueFor(path string, result bool) *taintTemplate {
	one := func() *taintTemplate { return g.value(1, result) }
	built := func(format string, parts ...*taintTemplate) *taintTemplate {
		x := &taintTemplate{}
		sources := make([]any, len(parts))
		for i, p := range parts {
			sources[i] = p.sourceText()
			x.deps, x.result = append(x.deps, p.deps...), x.result || p.result
		}
		x.source = fmt.Sprintf(format, sources...)
		return x
	}
	object := func(names []string, list ...*taintTemplate) *taintTemplate {
		return &taintTemplate{names: names, list: list}
	}
	copied := g.pick("copy", "expression", "template", "template")
	switch path {
	case "/a":
		switch copied {
		case "copy":
			return &taintTemplate{source: "state.a", deps: []string{"/a"}}
		case "expression":
			return built(`{"x": %s, "y": {"z": %s}}`, one(), one())
		}
		return object([]string{"x", "y"}, one(), object([]string{"z"}, one()))
	case "/a/y":
		switch copied {
		case "copy":
			return &taintTemplate{source: "state.a.y", deps: []string{"/a/y"}}
		case "expression":
			return built(`{"z": %s}`, one())
		}
		return object([]string{"z"}, one())
	case "/b":
		switch copied {
		case "copy":
			return &taintTemplate{source: "state.b", deps: []string{"/b"}}
		case "expression":
			return object([]string{})
		}
		return object([]string{"k"}, one())
	case "/d":
		switch copied {
		case "copy":
			return &taintTemplate{source: "state.d", deps: []string{"/d"}}
		case "expression":
			return built(`[%s, %s]`, one(), one())
		}
		return &taintTemplate{list: []*taintTemplate{one(), one()}}
	}
	return one()
}

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

// defineTaint compiles a drawn graph, without the tool that runTaint gives it.
func defineTaint(t testing.TB, steps []taintStep, kept bool) *Definition {
	var b strings.Builder
	emitSteps(&b, steps, "end")
	b.WriteString("end: {end: done}\n")
	text := strings.Replace(graphText(taintShape, "a: {set: {}, next: "+steps[0].id+"}\n"+b.String()), "max_steps: 100", "max_steps: 1000", 1)
	pack := strings.Replace(packText, "tools:\n", "tools:\n  sink: {}\n", 1)
	if kept {
		pack += "blobs: {effect: 30d}\n"
	}
	return define(t, text, pack, Definition{
		Handlers: map[string]Handler{"opaque": {Run: opaque}}, Tools: map[string]Tool{"sink": {Port: "tool", Kind: policy.KindTool}},
	})
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

// opaque writes a number that depends on all that it sees, to one of the paths
// that it may write, which are its arguments, to all or to none.
func opaque(_ context.Context, in graph.Invocation) (graph.NodeResult, error) {
	sum := sumOfNumbers(in.State)
	patch := &graph.Patch{BaseRevision: in.Revision, Operations: map[string]graph.Operation{}}
	for i, path := range in.Args.Elements() {
		if sum%3 == 0 || sum%3 == uint64(i)+1 {
			patch.Operations[path.Text()] = graph.Set(artifact.UintValue(sum % 97))
		}
	}
	if len(patch.Operations) == 0 {
		patch = nil
	}
	return graph.NodeResult{Outcome: graph.Outcome{Kind: graph.Continue, Patch: patch}}, nil
}

func sumOfNumbers(v artifact.Value) uint64 {
	n, _ := v.Uint()
	for _, e := range v.Elements() {
		n += sumOfNumbers(e)
	}
	for _, m := range v.Members() {
		n += uint64(len(m.Name)) + sumOfNumbers(m.Value)
	}
	return n
}

// taintRun is what a run left.
type taintRun struct {
	calls   map[string]policy.Call     // of tools, by node
	wrote   map[string]map[string]bool // by handlers, by node and path
	log     string
	records []event.Record
	content content
}

// runTaint drives a machine. Restoring, each step begins from a checkpoint.
func runTaint(t *rapid.T, d *Definition, answers map[string]uint64, restoring bool) *taintRun {
	r := &taintRun{calls: map[string]policy.Call{}, wrote: map[string]map[string]bool{}, content: content{}}
	def := *d
	def.Tools = map[string]Tool{"sink": {Port: "tool", Kind: policy.KindTool, Shape: func(c policy.Call) (policy.Call, error) {
		id, _ := c.Args.Get("id")
		r.calls[id.Text()] = c
		return c, nil
	}}}
	m := NewMachine(&def)
	var queue []Happening
	p := Position{}
	var what Happening = Start{Exec: "run", Method: event.MethodSystem, State: graph.Snapshot{SchemaID: d.Schema.ID, Value: value(taintStart)}}
	for {
		out, err := m.Step(p, Input{NowMS: 1, What: what})
		if err != nil || out.Refusal != nil {
			t.Fatalf("%s\n%T: %v %v", d.Graph.Canonical, what, err, out.Refusal)
		}
		r.keep(out)
		if p = out.Position; p.ended {
			break
		}
		if restoring && out.Checkpoint != nil {
			if p, err = m.Restore(out.Checkpoint.Bytes, out.Position.head); err != nil {
				t.Fatalf("%s\nrestore: %v", d.Graph.Canonical, err)
			}
		}
		for _, w := range out.Work {
			done := NodeDone{Node: w.Node, Visit: w.Visit, Attempt: w.Attempt, StartedMS: 1}
			done.Result, _ = opaque(context.Background(), w.Invocation)
			r.wrote[w.Node] = map[string]bool{}
			if patch := done.Result.Outcome.Patch; patch != nil {
				for path := range patch.Operations {
					r.wrote[w.Node][path] = true
				}
			}
			queue = append(queue, done)
		}
		for _, e := range out.Effects {
			n := (answers[e.Kind.String()] + sumOfNumbers(e.Args)) % 97
			queue = append(queue, EffectDone{Key: e.Key, Outcome: Outcome{Result: artifact.ObjectValue(member("n", artifact.UintValue(n)))}})
		}
		if len(queue) == 0 {
			for i := range p.threads {
				if th := &p.threads[i]; th.phase == waiting {
					queue = append(queue, Signal{
						Name: "paid", Key: artifact.StringValue(th.node), ID: th.node,
						Payload: artifact.ObjectValue(member("n", artifact.UintValue(answers["wait"]))),
					})
				}
			}
		}
		if len(queue) == 0 {
			what = Recover{}
			if !p.Ready() {
				t.Fatalf("%s\nthe run stands at %v", d.Graph.Canonical, p.Pending())
			}
			continue
		}
		what, queue = queue[0], queue[1:]
	}
	if last := r.records[len(r.records)-1]; last.Type != event.TypeTerminated {
		t.Fatalf("%s\nthe run ends with %s", d.Graph.Canonical, last.Bytes)
	}
	return r
}

func (r *taintRun) keep(out Out) {
	for _, rec := range out.Events {
		r.log += string(rec.Bytes) + "\n"
		r.records = append(r.records, rec)
	}
	r.content.add(out)
}

// replay works the log out again, with the results of effects or without.
func (r *taintRun) replay(t *rapid.T, d *Definition, kept bool) {
	for _, mode := range []Mode{VerifyOnly, MockedEffects} {
		v, err := Replay(context.Background(), records(r.records), ReplayOptions{Mode: mode, Definitions: []*Definition{d}, Content: r.content})
		if err != nil || v.Divergence != nil || kept && !v.Faithful() || int(v.Events) != len(r.records) {
			t.Fatalf("%s\n%s: %v %v %d of %d events", d.Graph.Canonical, mode, err, v.Divergence, v.Events, len(r.records))
		}
	}
}

// shade is where a value comes from, and what is in it as far as it was given
// part by part.
type shade struct {
	taint policy.Taint
	in    map[string]shade
}

func (s shade) all() policy.Taint {
	taint := s.taint
	for _, below := range s.in {
		taint |= below.all()
	}
	return taint
}

func (s shade) at(pointer string) policy.Taint {
	for _, token := range tokensOf(pointer) {
		below, ok := s.in[token]
		if !ok {
			return s.taint
		}
		s = below
	}
	return s.all()
}

func tokensOf(pointer string) []string {
	if pointer == "" {
		return nil
	}
	return strings.Split(pointer[1:], "/")
}

// with gives the shade with another one at a path.
func (s shade) with(tokens []string, x shade) shade {
	if len(tokens) == 0 {
		return x
	}
	in := maps.Clone(s.in)
	if in == nil {
		in = map[string]shade{}
	}
	below, ok := in[tokens[0]]
	if !ok {
		below = shade{taint: s.taint}
	}
	in[tokens[0]] = below.with(tokens[1:], x)
	return shade{s.taint, in}
}

// get gives the shade at a path, as with would put it back.
func (s shade) get(tokens []string) shade {
	for _, token := range tokens {
		below, ok := s.in[token]
		if !ok {
			return shade{taint: s.taint}
		}
		s = below
	}
	return s
}

// joined gives the shade with more taint on all of it.
func (s shade) joined(taint policy.Taint) shade {
	x := shade{s.taint | taint, nil}
	for name, below := range s.in {
		x = x.with([]string{name}, below.joined(taint))
	}
	return x
}

// pointers gives every pointer that the shade knows, with the taint there.
func (s shade) pointers() map[string]policy.Taint {
	found := map[string]policy.Taint{}
	var walk func(s shade, pointer string)
	walk = func(s shade, pointer string) {
		found[pointer] = s.all()
		for name, below := range s.in {
			walk(below, artifact.PointerTo(pointer, name))
		}
	}
	walk(s, "")
	return found
}

func (x *taintTemplate) shade(state shade, result policy.Taint) shade {
	s := shade{in: map[string]shade{}}
	for i, e := range x.list {
		name := fmt.Sprint(i)
		if x.names != nil {
			name = x.names[i]
		}
		s.in[name] = e.shade(state, result)
	}
	for _, p := range x.deps {
		s.taint |= state.at(p)
	}
	if x.result {
		s.taint |= result
	}
	return s
}

// walkShades is the second implementation: what the state is made of, node by node.
func walkShades(steps []taintStep, state shade, wrote map[string]map[string]bool, calls map[string]shade) shade {
	for _, s := range steps {
		switch s.kind {
		case "fork":
			after := state
			for _, branch := range s.branches {
				own := walkShades(branch, state, wrote, calls)
				for _, path := range writesOf(branch) {
					after = after.with(tokensOf(path), own.get(tokensOf(path)))
				}
			}
			state = after
		case "handler":
			var seen policy.Taint
			for _, read := range s.reads {
				seen |= state.at(strings.TrimSuffix(read, "/0")) // the array is shown whole
			}
			after := state
			for _, path := range s.writes {
				x := shade{taint: seen}
				if !wrote[s.id][path] {
					x = state.get(tokensOf(path)).joined(seen)
				}
				after = after.with(tokensOf(path), x)
			}
			state = after
		default:
			result := taintSources[s.kind]
			if s.args != nil {
				calls[s.id] = s.args.shade(state, 0)
				result |= calls[s.id].all()
			}
			after := state
			for _, x := range s.set {
				after = after.with(tokensOf(x.path), x.value.shade(state, result))
			}
			state = after
		}
	}
	return state
}

func writesOf(steps []taintStep) []string {
	var paths []string
	for _, s := range steps {
		for _, x := range s.set {
			paths = append(paths, x.path)
		}
		paths = append(paths, s.writes...)
		for _, branch := range s.branches {
			paths = append(paths, writesOf(branch)...)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
