package graph

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/expr"
)

// maxExpressions bounds the expressions of one graph, because compiling one costs
// far more than reading it.
const maxExpressions = 20_000

func compileVersion2(doc *artifact.Document, o Options) (*Compiled, []Finding, error) {
	f := &findings{doc: doc}
	r := artifact.NewReader(doc)
	d := readDefinition(r.Root())
	f.list = findingsOf(r.Err())
	decoded := len(f.list) == 0

	c := d.compiled(o)
	checkNodes(f, d, c)
	checkPaths(f, d, c)
	compileExpressions(f, c, o.Expr)
	if decoded && f.err() == nil {
		// Rules about the whole graph would only repeat what is wrong with its parts.
		links := c.links()
		checkEnds(f, c, links)
		checkBounds(f, c)
		checkForks(f, c, links)
	}
	if err := f.err(); err != nil {
		return nil, f.sorted(), err
	}
	return c, f.sorted(), nil
}

// compiled gives the shared form; it is whole only if the checks find no error.
func (d *Definition) compiled(o Options) *Compiled {
	c := &Compiled{
		Version: 2, ID: d.ID, SchemaID: d.SchemaID(), Schema: o.Schema, Limits: d.Limits,
		Canonical: d.Encode(), Nodes: make([]Node, len(d.Nodes)),
	}
	c.Digest = artifact.Sum(c.Canonical)
	if d.State != nil {
		c.Schema = d.State.Schema(c.SchemaID)
	}
	for i, def := range d.Nodes {
		n := &c.Nodes[i]
		n.NodeDefinition, n.EnforceReads, n.Terminal = def, true, def.Kind == KindEnd
		if def.Next != "" {
			n.Edges = append(n.Edges, Edge{RouteContinue, def.Next})
		}
		for _, k := range def.Cases {
			if e := (Edge{k.Route(), k.To}); !slices.Contains(n.Edges, e) {
				n.Edges = append(n.Edges, e)
			}
		}
		n.Edges = append(n.Edges, def.Routes...)
		for _, b := range def.Branches {
			n.Edges = append(n.Edges, Edge{b, b})
		}
	}
	c.finish()
	c.Entry = c.Node(d.Entry)
	return c
}

// links gives the edges between node indexes; edges to unknown nodes are left
// out.
func (c *Compiled) links() adjacency {
	var edges [][2]int
	for i := range c.Nodes {
		for _, e := range c.Nodes[i].Edges {
			if to, ok := c.index[e.To]; ok {
				edges = append(edges, [2]int{i, to})
			}
		}
	}
	return newAdjacency(len(c.Nodes), edges)
}

func nodePointer(id string) string { return artifact.PointerTo("/nodes", id) }

// checkNodes reports what is wrong with a node by itself and with the names that
// it uses.
func checkNodes(f *findings, d *Definition, c *Compiled) {
	ids := artifact.SortedNames(c.index)
	unknown := func(pointer, id string) {
		if _, ok := c.index[id]; !ok && id != "" {
			f.fail(CodeUnknownNode, pointer, "%q is not a node%s", id, artifact.Suggest(id, ids))
		}
	}
	if _, ok := c.index[d.Entry]; !ok && d.Entry != "" {
		f.fail(CodeUnknownEntry, "/entry", "entry %q is not a node%s", d.Entry, artifact.Suggest(d.Entry, ids))
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		at := nodePointer(n.ID)
		unknown(at+"/next", n.Next)
		for k, entry := range n.Cases {
			unknown(fmt.Sprintf("%s/cases/%d/to", at, k), entry.To)
		}
		for _, r := range n.Routes {
			unknown(artifact.PointerTo(at+"/routes", r.Route), r.To)
		}
		for k, b := range n.Branches {
			unknown(fmt.Sprintf("%s/fork/%d", at, k), b)
		}
		checkRoutes(f, n, at)
		if n.Kind == KindModel && d.Limits.MaxTokens == 0 {
			f.warn(CodeNoBudget, at, "node %q calls a model, but limits.max_tokens allows no token", n.ID)
		}
		if n.Kind == KindJoin {
			if fork := c.Node(n.Name); fork == nil || fork.Kind != KindFork {
				f.fail(CodeBadFork, at+"/join", "join names the fork that it ends; %q is not a fork%s", n.Name, artifact.Suggest(n.Name, forkIDs(c)))
			}
		}
	}
}

func forkIDs(c *Compiled) []string {
	var ids []string
	for i := range c.Nodes {
		if c.Nodes[i].Kind == KindFork {
			ids = append(ids, c.Nodes[i].ID)
		}
	}
	return ids
}

func checkRoutes(f *findings, n *Node, at string) {
	for i := 1; i < len(n.Edges); i++ {
		if a, b := n.Edges[i-1], n.Edges[i]; a.Route == b.Route {
			f.fail(CodeDuplicateRoute, at, "route %q of node %q leads to both %q and %q; give the case a name of its own", a.Route, n.ID, a.To, b.To)
		}
	}
	hasContinue := n.Next != ""
	switch {
	case n.Kind == "" || n.Kind == KindEnd || n.Kind == KindFork || hasContinue:
	case n.Kind == KindHandler:
		if !slices.ContainsFunc(n.Routes, func(r Edge) bool { return !slices.Contains(outcomes[KindHandler], r.Route) }) {
			f.fail(CodeMissingContinue, at, "node %q has neither next nor a route of its own; give it one", n.ID)
		}
	default:
		f.fail(CodeMissingContinue, at, "node %q has no next, so a run may have no way on; add it", n.ID)
	}
	if _, ok := n.Successor(RouteExhausted); ok && n.MaxVisits == 0 {
		f.fail(CodeMissingBound, at+"/routes/exhausted", "exhausted is taken when max_visits is used up; add max_visits")
	}
}

// checkPaths holds reads and writes against the grammars and the state schema.
func checkPaths(f *findings, d *Definition, c *Compiled) {
	var known *knownPaths
	switch {
	case d.State != nil:
		known = newKnownPaths(d.State.Paths())
	case c.Schema != nil:
		known = newKnownPaths(append(artifact.SortedNames(c.Schema.Paths), c.Schema.Required...))
	}
	if c.Schema != nil && c.Schema.ID != c.SchemaID {
		f.fail(CodeSchemaMismatch, "/state_schema", "state_schema is %q, but the schema in use is %q", c.SchemaID, c.Schema.ID)
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		at := nodePointer(n.ID)
		for _, path := range n.Reads {
			checkPath(f, at+"/reads", path, readable(path), "it begins with /, and ~ is written ~0", known)
		}
		written := map[string]bool{}
		for _, path := range n.Writes {
			pointer := at + "/writes"
			if n.Kind != KindHandler {
				pointer = artifact.PointerTo(at+"/set", path)
			}
			checkPath(f, pointer, path, writable(path), writableRule, known)
			if len(path) > maxPath || n.Kind == KindHandler {
				continue
			}
			for above := parent(path); above != ""; above = parent(above) {
				if written[above] {
					f.fail(CodeOverlappingWrites, pointer, "set already gives %s, which %s is in; set one of them", above, path)
				}
			}
			written[path] = true // in byte order, so a path comes before those in it
		}
	}
}

func checkPath(f *findings, at, path string, wellFormed bool, rule string, known *knownPaths) {
	switch {
	case len(path) > maxPath:
		f.fail(CodeMalformedPointer, at, "path %.40q has %d bytes; at most %d are read", path, len(path), maxPath)
	case !wellFormed:
		f.fail(CodeMalformedPointer, at, "%q is not a path: %s", path, rule)
	case !known.has(path):
		f.fail(CodeUndeclaredPath, at, "the state has no path %s; declare it, or correct it", path)
	}
}

// checkEnds reports nodes without a way from the entry, or to an end.
func checkEnds(f *findings, c *Compiled, links adjacency) {
	var ends []int
	for i := range c.Nodes {
		if c.Nodes[i].Kind == KindEnd {
			ends = append(ends, i)
		}
	}
	if len(ends) == 0 {
		f.fail(CodeNoTerminal, "/nodes", "no node ends the run; add one with end or fail")
	}
	out := reachable(links.reversed(), ends...)
	for i, seen := range reachable(links, c.Entry.Index) {
		n := &c.Nodes[i]
		switch {
		case !seen:
			f.fail(CodeUnreachable, nodePointer(n.ID), "no path leads from the entry to node %q", n.ID)
		case !out[i] && len(ends) > 0:
			f.fail(CodeUnreachableTerminal, nodePointer(n.ID), "no path leads from node %q to an end", n.ID)
		}
	}
}

// checkBounds reports cycles on which no node has max_visits. A node bounds the
// cycles that leave it by any route but exhausted, which is taken without limit.
func checkBounds(f *findings, c *Compiled) {
	var edges [][2]int
	for i := range c.Nodes {
		for _, e := range c.Nodes[i].Edges {
			if c.Nodes[i].MaxVisits == 0 || e.Route == RouteExhausted {
				edges = append(edges, [2]int{i, c.index[e.To]})
			}
		}
	}
	unbounded := newAdjacency(len(c.Nodes), edges)
	component := components(unbounded)
	members := map[int][]string{}
	for i := range c.Nodes {
		members[component[i]] = append(members[component[i]], c.Nodes[i].ID)
	}
	reported := map[int]bool{}
	for i := range c.Nodes {
		k := component[i]
		if reported[k] || len(members[k]) == 1 && !slices.Contains(unbounded.targets(i), i) {
			continue
		}
		reported[k] = true
		f.fail(CodeUnboundedCycle, nodePointer(c.Nodes[i].ID),
			"%s form a cycle without a bound; give one of them max_visits", listed(members[k]))
	}
}

// listed names up to a few ids.
func listed(ids []string) string {
	const most = 6
	if len(ids) == 1 {
		return "node " + ids[0]
	}
	more := ""
	if len(ids) > most {
		more = fmt.Sprintf(" and %d more", len(ids)-most)
		ids = ids[:most]
	}
	return "nodes " + strings.Join(ids, ", ") + more
}

// compileExpressions compiles every expression of the graph and holds what it
// reads against the node's reads.
func compileExpressions(f *findings, c *Compiled, compiler expr.Compiler) {
	if compiler == nil {
		return
	}
	total := 0
	for i := range c.Nodes {
		n := &c.Nodes[i]
		e := expressions{f: f, n: n, at: nodePointer(n.ID), compiler: compiler}
		e.compile()
		if total += e.count; total > maxExpressions {
			f.fail(CodeTooMany, "/nodes", "graph has more than %d expressions", maxExpressions)
			return
		}
	}
}

// expressions compiles those of one node.
type expressions struct {
	f        *findings
	n        *Node
	at       string
	compiler expr.Compiler
	count    int
}

func (e *expressions) compile() {
	n := e.n
	n.programsBefore, n.programsAfter = programs{}, programs{}
	before := func(pointer, source string) { e.one(n.programsBefore, varsBefore, pointer, source) }
	after := func(pointer, source string) { e.one(n.programsAfter, varsAfter, pointer, source) }
	args := map[Kind]string{KindApprove: "show", KindEnd: "end"}[n.Kind]
	switch {
	case n.Failure:
		args = "fail"
	case args == "":
		args = "args"
	}
	walkTemplate(n.Args, e.at+"/"+args, before)
	n.ArgsFlow = n.programsBefore.flows(n.Args, "")
	walkTemplate(n.Key, e.at+"/wait/key", before)
	walkTemplate(n.Until, e.at+"/wait/until", before)
	for _, a := range n.Set {
		walkTemplate(a.Value, artifact.PointerTo(e.at+"/set", a.Path), after)
		n.SetFlow = append(n.SetFlow, n.programsAfter.flows(a.Value, a.Path)...)
	}
	for i, k := range n.Cases {
		pointer := fmt.Sprintf("%s/cases/%d/when", e.at, i)
		after(pointer, k.When)
		if p, ok := n.programsAfter[k.When]; ok && p.Type() != expr.Any && p.Type() != expr.Bool {
			e.f.fail(CodeNotBoolean, pointer, "condition gives a %s; it must give true or false", p.Type())
		}
	}
}

func (e *expressions) one(into programs, vars []expr.Var, pointer, source string) {
	e.count++
	if _, done := into[source]; done || e.count > maxExpressions {
		return
	}
	if len(source) > expr.MaxSource {
		e.f.fail(CodeBadExpression, pointer, "expression has %d bytes; at most %d are read", len(source), expr.MaxSource)
		return
	}
	compiled, err := e.compiler.Compile(source, vars)
	if err != nil {
		var bad *expr.Error
		if errors.As(err, &bad) {
			e.f.fail(CodeBadExpression, pointer, "expression %.80q, character %d: %s", source, bad.Column, bad.Problem)
			return
		}
		e.f.fail(CodeBadExpression, pointer, "expression %.80q: %v", source, err)
		return
	}
	flow := flowOf(compiled)
	into[source] = program{compiled, flow}
	for _, path := range flow.State {
		if !covered(path, e.n.Reads) {
			what := path
			if what == "" {
				what = "the whole state"
			}
			e.f.fail(CodeUndeclaredRead, pointer, "expression reads %s; add %q to reads", what, path)
		}
	}
}
