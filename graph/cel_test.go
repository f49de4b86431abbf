package graph_test

import (
	"os"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
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
