package graph_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/expr"
	"github.com/writ-dev/writ/expr/cel"
	"github.com/writ-dev/writ/graph"
)

// documented gives the graph that the package comment shows.
func documented(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(text), "graph is JSON or YAML:\n//\n")
	if !ok {
		t.Fatal("the package comment has no example")
	}
	var b strings.Builder
	for line := range strings.Lines(after) {
		code, ok := strings.CutPrefix(line, "//\t")
		if !ok {
			break
		}
		b.WriteString(code)
	}
	return []byte(b.String())
}

// TestDocumentedGraph compiles and evaluates the example with the real condition
// language.
func TestDocumentedGraph(t *testing.T) {
	c, found, err := graph.Compile(documented(t), "doc.go", graph.Options{Expr: cel.Compiler{}})
	if err != nil || len(found) > 0 {
		t.Fatalf("error %v, findings %v", err, found)
	}
	state, err := artifact.ParseValue([]byte(`{"order":{"id":"o1","text":"broken","cents":9000}}`))
	if err != nil {
		t.Fatal(err)
	}
	result, err := artifact.ParseValue([]byte(`{"text":"refund"}`))
	if err != nil {
		t.Fatal(err)
	}
	n := c.Node("classify")
	args, err := n.EvalArgs(graph.Scope{State: state, Visit: 1})
	if want := `{"prompt":"Refund or not? broken"}`; err != nil || args.String() != want {
		t.Errorf("args %s, error %v", args, err)
	}
	edge, ok, err := n.Decide(graph.Scope{State: state, Result: result, Visit: 1})
	if err != nil || !ok || edge.To != "ask" {
		t.Errorf("decides %v, %v, %v", edge, ok, err)
	}
	patch, err := n.EvalPatch(graph.Scope{State: state, Result: result, Visit: 1}, 0)
	if want := `{"base_revision":0,"operations":{"/verdict":{"Set":"refund"}}}`; err != nil || string(patch.Encode()) != want {
		t.Errorf("patch %s, error %v", patch.Encode(), err)
	}
}

// TestReadsOfRealExpressions holds what real expressions read against reads.
func TestReadsOfRealExpressions(t *testing.T) {
	const text = `
version: 2
id: g
state: {/items: array, /user: object}
entry: n
limits: {max_steps: 9, timeout: 1m}
nodes:
  n:
    tool: t
    reads: [/items]
    args: {ok: "=state.items.filter(i, i.price > 3)", bad: "=has(state.user.name) ? state.user.name : 'x'"}
    next: e
  e: {end: null}
`
	_, found, err := graph.Compile([]byte(text), "g.yaml", graph.Options{Expr: cel.Compiler{}})
	if err == nil || len(found) != 1 || found[0].Code != graph.CodeUndeclaredRead || !strings.Contains(found[0].Text, "/user/name") {
		t.Errorf("error %v, findings %v", err, found)
	}
	_, found, err = graph.Compile([]byte(strings.Replace(text, "[/items]", "[/items, /user/name]", 1)), "g.yaml", graph.Options{Expr: cel.Compiler{}})
	if err != nil {
		t.Errorf("error %v, findings %v", err, found)
	}
}

// TestFlow says of real expressions, at every place that gives a value, on what
// they depend.
func TestFlow(t *testing.T) {
	const head = "version: 2\nid: g\nstate: {/a: object?, /b: any?, /l: array?}\nentry: n\nlimits: {max_steps: 9, max_tokens: 9, timeout: 1m}\nnodes:\n"
	const end = "  e: {end: null}\n"
	for _, c := range []struct{ node, args, set string }{
		{`{tool: t, args: {a: [1, "x"], b: x=y}, next: e}`, ``, ``},
		{`{tool: t, reads: [/a], args: {v: ["-v", "=state.a.text"]}, next: e}`, `/v/1 <- /a/text`, ``},
		{`{tool: t, reads: [/a, /b], args: {v: {"x/y": ["=state.b", {"~": "='k' + state.a.k"}]}}, next: e}`, `/v/x~1y/0 <- /b; /v/x~1y/1/~0 <- /a/k`, ``},
		{`{tool: t, reads: [/a], args: "=state.a", next: e}`, ` <- /a`, ``},
		{`{tool: t, reads: [""], args: {v: "=state", w: "=state[state.b]", x: "=size(state)"}, next: e}`, `/v <- ; /w <- ; /x <- `, ``},
		{`{tool: t, reads: [/l, /b], args: {v: "=state.l[state.b].text", w: "=state.l[0]"}, next: e}`, `/v <- /b /l; /w <- /l`, ``},
		{`{tool: t, reads: [/a, /b], args: {v: "=has(state.a.x) ? 1 : 2", w: "=state.b == 1 ? 'x' : 'y'"}, next: e}`, `/v <- /a/x; /w <- /b`, ``},
		{`{tool: t, reads: [/l, /b], args: {v: "=state.l.map(state, .state.b)", w: "=state.l.filter(x, x != 'y')"}, next: e}`, `/v <- /b /l; /w <- /l`, ``},
		{`{tool: t, args: {v: =visit, w: "=1 + 2", x: "=[1].map(state, state)"}, next: e}`, `/v <- visit; /w <- nothing; /x <- nothing`, ``},
		{"{tool: t, reads: [/a], args: {v: \"=state.a.`x/y`\"}, next: e}", `/v <- /a/x~1y`, ``},
		{`{tool: t, reads: [/b], set: {/a: {k: 1, r: =result.x, s: [=state.b, =result]}, /b: fixed, /l: "=[visit]"}, next: e}`, ``,
			`/a/r <- result; /a/s/0 <- /b; /a/s/1 <- result; /l <- visit`},
		{`{model: m, reads: [/b], set: {/a: "={'x': result.text, 'y': state.b}"}, cases: [{when: "result.text == state.b", to: e}], next: e}`, ``, `/a <- /b result`},
		{`{approve: x, reads: [/b], show: {v: =state.b}, set: {/a: =result}, next: e, routes: {denied: e}}`, `/v <- /b`, `/a <- result`},
		{`{call: c, reads: [/b], args: {x: =state.b}, set: {/a: =result}, next: e}`, `/x <- /b`, `/a <- result`},
		{`{handler: h, reads: [/b], args: {x: =state.b}, writes: [/a], next: e}`, `/x <- /b`, ``},
		{`{end: {x: =state.b}, reads: [/b]}`, `/x <- /b`, ``},
	} {
		text := head + "  n: " + c.node + "\n"
		if strings.Contains(c.node, "next: e") {
			text += end
		}
		compiled, found, err := graph.Compile([]byte(text), "g.yaml", graph.Options{Expr: cel.Compiler{}})
		if err != nil {
			t.Errorf("%s: %v %v", c.node, err, found)
			continue
		}
		n := compiled.Node("n")
		if got := flowText(n.ArgsFlow); got != c.args {
			t.Errorf("%s\nargs %q\nwant %q", c.node, got, c.args)
		}
		if got := flowText(n.SetFlow); got != c.set {
			t.Errorf("%s\nset  %q\nwant %q", c.node, got, c.set)
		}
	}
}

func flowText(flows []graph.Flow) string {
	var list []string
	for _, f := range flows {
		from := f.State
		for _, word := range []struct {
			is   bool
			text string
		}{{f.Seen, "all"}, {f.Result, "result"}, {f.Visit, "visit"}} {
			if word.is {
				from = append(slices.Clip(from), word.text)
			}
		}
		if len(from) == 0 {
			from = []string{"nothing"}
		}
		list = append(list, f.Pointer+" <- "+strings.Join(from, " "))
	}
	return strings.Join(list, "; ")
}

// silent is a condition language that does not tell what its programs read.
type silent struct{ expr.Compiler }

type silentProgram struct{ expr.Program }

func (s silent) Compile(source string, vars []expr.Var) (expr.Program, error) {
	p, err := s.Compiler.Compile(source, vars)
	return silentProgram{p}, err
}

func (silentProgram) References() []expr.Reference { return nil }

// TestUnknownFlow takes what a program does not tell for everything.
func TestUnknownFlow(t *testing.T) {
	text := "version: 2\nid: g\nstate: {/a: any?}\nentry: n\nlimits: {max_steps: 9, timeout: 1m}\nnodes:\n" +
		"  n: {tool: t, reads: [/a], args: {x: \"='constant'\", y: constant}, set: {/a: \"='constant'\"}, next: e}\n  e: {end: null}\n"
	c, found, err := graph.Compile([]byte(text), "g.yaml", graph.Options{Expr: silent{cel.Compiler{}}})
	if err != nil {
		t.Fatal(err, found)
	}
	n := c.Node("n")
	if got := flowText(n.ArgsFlow) + "; " + flowText(n.SetFlow); got != "/x <- all result visit; /a <- all result visit" {
		t.Errorf("flow %q", got)
	}
}
