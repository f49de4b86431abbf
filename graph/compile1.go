package graph

import (
	"fmt"
	"slices"

	"github.com/writ-dev/writ/artifact"
)

func compileVersion1(doc *artifact.Document, o Options) (*Compiled, []Finding, error) {
	r := artifact.NewReader(doc)
	d := readDefinitionV1(r.Root())
	if err := r.Err(); err != nil {
		return nil, findingsOf(err), err
	}
	f := &findings{doc: doc}
	checkVersion1(f, d, o)
	if err := d.Check(); err != nil {
		return nil, f.sorted(), err
	}
	return d.compiled(o), f.sorted(), nil
}

// compiled gives the shared form of a graph that Check accepts.
func (d *DefinitionV1) compiled(o Options) *Compiled {
	c := &Compiled{
		Version: 1, ID: d.ID, SchemaID: d.StateSchema, Schema: o.Schema, Limits: d.Limits,
		Canonical: d.Encode(), Nodes: make([]Node, len(d.Nodes)),
	}
	c.Digest = artifact.Sum(c.Canonical)
	for i, n := range d.Nodes {
		c.Nodes[i].NodeDefinition = NodeDefinition{
			ID: n.ID, Kind: KindHandler, Name: n.ID, Reads: n.Reads, Writes: n.Writes,
		}
		c.Nodes[i].Terminal = n.Terminal
	}
	c.finish()
	for _, t := range d.Transitions {
		n := c.Node(t.From)
		n.Edges = append(n.Edges, Edge{Route: t.Route, To: t.To})
		if t.Route == RouteContinue {
			n.Next = t.To
		} else {
			n.Routes = append(n.Routes, Edge{Route: t.Route, To: t.To})
		}
	}
	for _, cycle := range slices.Backward(d.Cycles) { // the first declaration counts
		for _, id := range cycle.Nodes {
			if n := c.Node(id); n != nil {
				n.MaxVisits = cycle.MaxIterations
			}
		}
	}
	c.finish()
	for i := range c.Nodes {
		slices.SortFunc(c.Nodes[i].Routes, func(a, b Edge) int { return compareText(a.Route, b.Route) })
	}
	c.Entry = c.Node(d.Entry)
	return c
}

// checkVersion1 says all that is wrong with a version 1 graph. Errors are what
// the reference refuses, only that it stops at the first.
func checkVersion1(f *findings, d *DefinitionV1, o Options) {
	if d.Version != 1 {
		f.fail(CodeUnsupported, "/version", "version %d is not supported; write 1", d.Version)
	}
	if d.Limits.MaxSteps == 0 {
		f.fail(CodeUnsupported, "/limits/max_steps", "max_steps 0 allows no step")
	}
	if d.Limits.TimeoutMillis == 0 {
		f.fail(CodeUnsupported, "/limits/timeout_ms", "timeout_ms 0 allows no time")
	}
	index := make(map[string]int, len(d.Nodes))
	terminal := false
	for i, n := range d.Nodes {
		if first, ok := index[n.ID]; ok {
			f.fail(CodeDuplicateNode, fmt.Sprintf("/nodes/%d/id", i), "node id %q is that of node %d too", n.ID, first)
			continue
		}
		index[n.ID] = i
		terminal = terminal || n.Terminal
	}
	if _, ok := index[d.Entry]; !ok {
		f.fail(CodeUnknownEntry, "/entry", "entry %q is not a node%s", d.Entry, artifact.Suggest(d.Entry, artifact.SortedNames(index)))
	}
	if !terminal {
		f.fail(CodeNoTerminal, "/nodes", "no node is terminal, so nothing ends a run")
	}
	links := checkTransitions(f, d, index)
	checkReach(f, d, index, links)
	checkCycles(f, d, index, links)
	checkPathsV1(f, d, o.Schema)
	if o.Schema != nil && o.Schema.ID != d.StateSchema {
		f.warn(CodeSchemaMismatch, "/state_schema", "state_schema is %q, but the schema in use is %q", d.StateSchema, o.Schema.ID)
	}
}

// checkTransitions reports bad transitions and gives the edges of the others.
func checkTransitions(f *findings, d *DefinitionV1, index map[string]int) adjacency {
	ids, routes := map[string]bool{}, map[Edge]bool{}
	var edges [][2]int
	for i, t := range d.Transitions {
		at := fmt.Sprintf("/transitions/%d", i)
		if ids[t.ID] {
			f.fail(CodeDuplicateTransition, at+"/id", "transition id %q appears twice", t.ID)
		}
		ids[t.ID] = true
		from, fromOK := index[t.From]
		to, toOK := index[t.To]
		for _, end := range []struct {
			name, id string
			ok       bool
		}{{"from", t.From, fromOK}, {"to", t.To, toOK}} {
			if !end.ok {
				f.fail(CodeUnknownNode, at+"/"+end.name, "%s: %q is not a node", end.name, end.id)
			}
		}
		if routes[Edge{t.From, t.Route}] {
			f.fail(CodeDuplicateRoute, at, "route %q leaves node %q twice", t.Route, t.From)
		}
		routes[Edge{t.From, t.Route}] = true
		if fromOK && toOK {
			edges = append(edges, [2]int{from, to})
		}
	}
	return newAdjacency(len(d.Nodes), edges)
}

// checkReach reports nodes without a way from the entry or to a terminal node,
// terminal nodes that go on and others that have no ordinary successor.
func checkReach(f *findings, d *DefinitionV1, index map[string]int, links adjacency) {
	at := func(i int) string { return fmt.Sprintf("/nodes/%d", i) }
	if entry, ok := index[d.Entry]; ok {
		for i, seen := range reachable(links, entry) {
			if !seen && index[d.Nodes[i].ID] == i {
				f.fail(CodeUnreachable, at(i), "no path leads from the entry to node %q", d.Nodes[i].ID)
			}
		}
	}
	var terminals []int
	for i, n := range d.Nodes {
		if n.Terminal {
			terminals = append(terminals, i)
		}
	}
	continues := map[string]bool{}
	for _, t := range d.Transitions {
		if t.Route == RouteContinue {
			continues[t.From] = true
		}
	}
	ends := reachable(links.reversed(), terminals...)
	for i, n := range d.Nodes {
		switch {
		case n.Terminal && len(links.targets(i)) > 0:
			f.warn(CodeTerminalWithEdges, at(i), "node %q is terminal and has transitions", n.ID)
		case n.Terminal:
		case !ends[i]:
			f.warn(CodeUnreachableTerminal, at(i), "no path leads from node %q to a terminal node", n.ID)
		case !continues[n.ID]:
			f.warn(CodeMissingContinue, at(i), "node %q has no route %q; a run fails if it gives no route of its own", n.ID, RouteContinue)
		}
	}
}

func checkCycles(f *findings, d *DefinitionV1, index map[string]int, links adjacency) {
	component := components(links)
	size := map[int]int{}
	loops := map[int]bool{}
	for i := range links.len() {
		size[component[i]]++
		loops[i] = slices.Contains(links.targets(i), i)
	}
	declared := map[string]bool{}
	for i, cycle := range d.Cycles {
		at := fmt.Sprintf("/cycles/%d", i)
		if cycle.MaxIterations == 0 || len(cycle.Nodes) == 0 {
			f.fail(CodeUnboundedCycle, at, "a cycle needs nodes and max_iterations of at least 1")
		}
		for _, id := range cycle.Nodes {
			n, ok := index[id]
			switch {
			case !ok:
				f.warn(CodeUnknownMember, at+"/nodes", "%q is not a node", id)
			case declared[id]:
				f.warn(CodeOverlappingCycles, at+"/nodes", "node %q is in an earlier cycle, and only that one bounds it", id)
			case size[component[n]] == 1 && !loops[n]:
				f.warn(CodeNoCycle, at+"/nodes", "node %q lies on no cycle; its visits are bounded all the same", id)
			}
			declared[id] = true
		}
	}
	known := slices.DeleteFunc(slices.Clone(d.Transitions), func(t TransitionV1) bool {
		_, from := index[t.From]
		_, to := index[t.To]
		return !from || !to
	})
	if len(known) != len(d.Transitions) {
		return // the indexes of transitions would be wrong
	}
	for _, i := range d.undeclaredCycles(index, links) {
		f.fail(CodeUndeclaredCycle, fmt.Sprintf("/transitions/%d", i),
			"transition %q closes a cycle that no declared cycle contains whole", d.Transitions[i].ID)
	}
}

func checkPathsV1(f *findings, d *DefinitionV1, schema *Schema) {
	var known *knownPaths
	if schema != nil {
		known = newKnownPaths(append(artifact.SortedNames(schema.Paths), schema.Required...))
	}
	for i, n := range d.Nodes {
		at := fmt.Sprintf("/nodes/%d", i)
		for _, path := range n.Reads {
			switch {
			case !readable(path):
				f.warn(CodeMalformedPointer, at+"/reads", "%q never resolves; a JSON pointer begins with /", path)
			case !known.has(path):
				f.warn(CodeUndeclaredPath, at+"/reads", "the state schema has no path %s", path)
			}
		}
		for _, path := range n.Writes {
			switch {
			case !writable(path):
				f.warn(CodeMalformedPointer, at+"/writes", "%q can never be written; %s", path, writableRule)
			case !known.has(path):
				f.warn(CodeUndeclaredPath, at+"/writes", "the state schema has no path %s", path)
			}
		}
	}
}

const writableRule = "a written path begins with /, goes through objects, and has no ~ and no empty part"

// knownPaths answers whether a schema knows a path: one of its own, above one or
// below one. The nil set knows every path.
type knownPaths struct {
	exact map[string]bool
	above map[string]bool
}

func newKnownPaths(paths []string) *knownPaths {
	k := &knownPaths{exact: map[string]bool{}, above: map[string]bool{"": true}}
	for _, path := range paths {
		if len(path) > maxPath {
			continue
		}
		k.exact[path] = true
		for i := range len(path) {
			if path[i] == '/' {
				k.above[path[:i]] = true
			}
		}
	}
	return k
}

func (k *knownPaths) has(path string) bool {
	if k == nil || k.above[path] || len(path) > maxPath {
		return true
	}
	for i := range len(path) {
		if path[i] == '/' && i > 0 && k.exact[path[:i]] {
			return true
		}
	}
	return k.exact[path] || k.exact[""]
}
