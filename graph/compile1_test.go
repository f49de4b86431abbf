package graph

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// version1 makes a version 1 graph of the given parts; empty parts are those of a
// sound graph a -> b.
func version1(nodes, transitions, cycles, limits string) string {
	or := func(s, fallback string) string {
		if s == "" {
			return fallback
		}
		return s
	}
	return fmt.Sprintf("{\"version\":1,\"id\":\"g\",\"state_schema\":\"s\",\"entry\":\"a\",\n\"nodes\":[%s],\n\"transitions\":[%s],\n\"cycles\":[%s],\n\"limits\":{%s}}",
		or(nodes, node1("a", false)+","+node1("b", true)), or(transitions, edge1("a", "continue", "b")), cycles,
		or(limits, `"max_steps":1,"max_tokens":0,"max_cost_micros":0,"timeout_ms":1`))
}

func node1(id string, terminal bool, paths ...string) string {
	list := "[]"
	if len(paths) > 0 {
		list = `["` + strings.Join(paths, `","`) + `"]`
	}
	return fmt.Sprintf(`{"id":%q,"terminal":%v,"reads":%s,"writes":%s}`, id, terminal, list, list)
}

func edge1(from, route, to string) string {
	return fmt.Sprintf(`{"id":"%s.%s.%s","from":%q,"route":%q,"to":%q}`, from, route, to, from, route, to)
}

// TestVersion1Diagnostics has one failing graph for each diagnostic. Warnings are
// graphs that the reference accepts.
func TestVersion1Diagnostics(t *testing.T) {
	schema := &Schema{Version: 1, ID: "s", Paths: map[string]Type{"/x": TypeObject, "/y": TypeNumber}}
	ab := node1("a", false) + "," + node1("b", true)
	loop := edge1("a", "continue", "b") + "," + edge1("a", "again", "a")
	for _, c := range []struct {
		severity Severity
		code     Code
		text     string
		want     string
	}{
		{Error, CodeUnsupported, strings.Replace(version1("", "", "", ""), `"version":1`, `"version":7`, 1), "1:12: version 7 is not supported"},
		{Error, CodeUnsupported, version1("", "", "", `"max_steps":0,"max_tokens":0,"max_cost_micros":0,"timeout_ms":1`), "max_steps 0"},
		{Error, CodeUnsupported, version1("", "", "", `"max_steps":1,"max_tokens":0,"max_cost_micros":0,"timeout_ms":0`), "timeout_ms 0"},
		{Error, CodeDuplicateNode, version1(ab+","+node1("a", false), "", "", ""), `node id "a" is that of node 0 too`},
		{Error, CodeUnknownEntry, strings.Replace(version1("", "", "", ""), `"entry":"a"`, `"entry":"c"`, 1), `entry "c" is not a node`},
		{Error, CodeNoTerminal, version1(node1("a", false)+","+node1("b", false), "", "", ""), "no node is terminal"},
		{Error, CodeDuplicateTransition, version1("", strings.Replace(loop, "a.again.a", "a.continue.b", 1), "", ""), `transition id "a.continue.b" appears twice`},
		{Error, CodeUnknownNode, version1("", loop+","+edge1("z", "x", "y"), "", ""), `to: "y" is not a node`},
		{Error, CodeDuplicateRoute, version1("", edge1("a", "continue", "b")+","+edge1("a", "continue", "a"), "", ""), `route "continue" leaves node "a" twice`},
		{Error, CodeUnreachable, version1(ab+","+node1("c", true), "", "", ""), `no path leads from the entry to node "c"`},
		{Error, CodeUnboundedCycle, version1("", "", `{"nodes":[],"max_iterations":0}`, ""), "a cycle needs nodes"},
		{Error, CodeUndeclaredCycle, version1("", loop, "", ""), `transition "a.again.a" closes a cycle`},
		{Warning, CodeUnknownMember, version1("", loop, `{"nodes":["a","z"],"max_iterations":2}`, ""), `"z" is not a node`},
		{Warning, CodeOverlappingCycles, version1("", loop, `{"nodes":["a"],"max_iterations":2},{"nodes":["a"],"max_iterations":3}`, ""), `node "a" is in an earlier cycle`},
		{Warning, CodeNoCycle, version1("", "", `{"nodes":["a"],"max_iterations":2}`, ""), `node "a" lies on no cycle`},
		{Warning, CodeUnreachableTerminal, version1(ab+","+node1("c", false), edge1("a", "continue", "b")+","+edge1("a", "x", "c"), "", ""), `no path leads from node "c" to a terminal node`},
		{Warning, CodeTerminalWithEdges, version1(ab+","+node1("c", true), edge1("a", "continue", "b")+","+edge1("b", "x", "c"), "", ""), `node "b" is terminal and has transitions`},
		{Warning, CodeMissingContinue, version1("", edge1("a", "x", "b"), "", ""), `node "a" has no route "continue"`},
		{Warning, CodeMalformedPointer, version1(node1("a", false, "x")+","+node1("b", true), "", "", ""), `"x" never resolves`},
		{Warning, CodeMalformedPointer, version1(node1("a", false, "/x~1")+","+node1("b", true), "", "", ""), `"/x~1" can never be written`},
		{Warning, CodeUndeclaredPath, version1(node1("a", false, "/z")+","+node1("b", true), "", "", ""), `the state schema has no path /z`},
		{Warning, CodeSchemaMismatch, strings.Replace(version1("", "", "", ""), `"state_schema":"s"`, `"state_schema":"r"`, 1), `state_schema is "r", but the schema in use is "s"`},
	} {
		t.Run(c.want, func(t *testing.T) {
			compiled, found, err := Compile([]byte(c.text), "g", Options{Schema: schema})
			expectFinding(t, found, c.severity, c.code, c.want)
			if c.severity == Warning && (err != nil || compiled == nil) {
				t.Errorf("refused: %v", err)
			}
			var typed *InvalidGraphError
			if c.severity == Error && !errors.As(err, &typed) {
				t.Errorf("error %v (%T)", err, err)
			}
		})
	}
	if _, found, err := Compile([]byte(version1(node1("a", false, "/x", "/x/deep", "/y")+","+node1("b", true), "", "", "")), "g", Options{Schema: schema}); err != nil || len(found) != 0 {
		t.Errorf("a sound graph has %v, error %v", found, err)
	}
}

// TestVersion1ErrorsMatchFindings: the reference's first failure is always among
// the findings, and a graph without an error among them is accepted.
func TestVersion1ErrorsMatchFindings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDefinition(t)
		refused := d.Check() != nil
		c, found, err := d.Compile(Options{})
		hasError := false
		for _, f := range found {
			hasError = hasError || f.Severity == Error
		}
		if refused != (err != nil) || refused != hasError || refused != (c == nil) {
			t.Fatalf("refused %v, error %v, findings %v", refused, err, found)
		}
	})
}

// drawDefinition draws a small graph, sound or not.
func drawDefinition(t *rapid.T) *DefinitionV1 {
	ids := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
	d := &DefinitionV1{Version: 1, ID: "g", StateSchema: "s", Entry: "a", Limits: Limits{1, 0, 0, 1}}
	n := rapid.IntRange(1, 5).Draw(t, "nodes")
	for i := range n {
		d.Nodes = append(d.Nodes, NodeV1{ID: string(rune('a' + i)), Terminal: i == n-1})
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "transitions") {
		d.Transitions = append(d.Transitions, TransitionV1{
			ID: fmt.Sprint("t", i), From: ids.Draw(t, "from"), To: ids.Draw(t, "to"),
			Route: rapid.SampledFrom([]string{"continue", "x", "y"}).Draw(t, "route"),
		})
	}
	for range rapid.IntRange(0, 3).Draw(t, "cycles") {
		d.Cycles = append(d.Cycles, CycleV1{
			Nodes:         rapid.SliceOfN(ids, 0, 4).Draw(t, "members"),
			MaxIterations: uint32(rapid.IntRange(0, 3).Draw(t, "bound")),
		})
	}
	return d
}

// TestCyclesAgreeWithReachability holds the linear check against the contract's
// words: the target of a transition can reach its source.
func TestCyclesAgreeWithReachability(t *testing.T) {
	refused := 0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "nodes")
		edges := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [2]int {
			return [2]int{rapid.IntRange(0, n-1).Draw(t, "from"), rapid.IntRange(0, n-1).Draw(t, "to")}
		}), 0, 14).Draw(t, "edges")
		links := newAdjacency(n, edges)
		component := components(links)
		for _, e := range edges {
			naive := reachable(links, e[1])[e[0]]
			if fast := component[e[0]] == component[e[1]]; fast != naive {
				t.Fatalf("edge %v: component says %v, reachability %v", e, fast, naive)
			}
			if naive {
				refused++
			}
		}
	})
	if refused == 0 {
		t.Error("no graph had a cycle")
	}
}

func TestVersion1Compiled(t *testing.T) {
	text := version1(node1("a", false, "/x")+","+node1("b", true),
		edge1("a", "continue", "b")+","+edge1("a", "again", "a"),
		`{"nodes":["a","b"],"max_iterations":2},{"nodes":["a"],"max_iterations":9}`, "")
	c, _, err := Compile([]byte(text), "g", Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := c.Node("a")
	if to, ok := a.Successor("again"); !ok || to != "a" || a.Next != "b" || a.Kind != KindHandler || a.Name != "a" || a.EnforceReads {
		t.Errorf("node %+v", a)
	}
	for id, want := range map[string]uint32{"a": 2, "b": 2} {
		if got, ok := c.CycleLimit(id); !ok || got != want {
			t.Errorf("cycle limit of %s is %d", id, got)
		}
	}
	if edge, ok, err := a.Decide(Scope{}); err != nil || !ok || edge.To != "b" {
		t.Errorf("decides %v %v %v", edge, ok, err)
	}
	if _, ok, err := c.Node("b").Decide(Scope{}); err != nil || ok {
		t.Error("a node without edges goes on")
	}
}

// large makes a graph of n nodes in a row with n more edges: back to every tenth
// node within a declared cycle, else two ahead.
func large(n int) *DefinitionV1 {
	d := &DefinitionV1{Version: 1, ID: "large", StateSchema: "s", Entry: "n0", Limits: DefaultLimits()}
	id := func(i int) string { return fmt.Sprint("n", i) }
	for i := range n {
		d.Nodes = append(d.Nodes, NodeV1{ID: id(i), Terminal: i == n-1, Reads: []string{"/a"}, Writes: []string{"/a"}})
		add := func(route string, to int) {
			d.Transitions = append(d.Transitions, TransitionV1{ID: fmt.Sprintf("%s.%s", id(i), route), From: id(i), Route: route, To: id(to)})
		}
		add("continue", min(i+1, n-1))
		if i%10 == 9 {
			add("again", i-9)
		} else {
			add("skip", min(i+2, n-1))
		}
		if i%10 == 0 {
			c := CycleV1{MaxIterations: 3}
			for k := i; k < min(i+10, n); k++ {
				c.Nodes = append(c.Nodes, id(k))
			}
			d.Cycles = append(d.Cycles, c)
		}
	}
	// The last node would loop; end it.
	d.Transitions = append(d.Transitions[:2*n-2], TransitionV1{ID: "x", From: id(n - 2), Route: "x", To: id(n - 1)}, TransitionV1{ID: "y", From: id(n - 2), Route: "y", To: id(n - 1)})
	return d
}

// BenchmarkCompile reads, checks and hashes a graph of 10,000 nodes and 20,000
// edges from its text; the goal is one second.
func BenchmarkCompile(b *testing.B) {
	b.Run("version1", func(b *testing.B) {
		d := large(10_000)
		text := d.Encode()
		b.ReportMetric(float64(len(d.Transitions)), "edges")
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, _, err := Compile(text, "g", Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("version2", func(b *testing.B) {
		def := &Definition{ID: "large", Entry: "n0", Limits: DefaultLimits()}
		for i := range 10_000 {
			id := func(k int) string { return fmt.Sprintf("n%d", min(k, 9_999)) }
			n := NodeDefinition{ID: id(i), Kind: KindHandler, Name: "h", Reads: []string{"/a"}, Writes: []string{"/a"},
				Next: id(i + 1), Routes: []Edge{{"skip", id(i + 2)}}}
			if i == 9_999 {
				n = NodeDefinition{ID: id(i), Kind: KindEnd}
			}
			def.Nodes = append(def.Nodes, n)
		}
		text := def.Encode()
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, _, err := Compile(text, "g", Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
