package graph

import (
	"slices"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/expr"
)

// Compiled is a checked graph in the one form that both versions share. It is
// what an engine drives, and it is immutable: share it freely, write to no part
// of it.
//
// A version 1 graph arrives as handler nodes named after themselves. Its runs end
// where a handler says so; it has no expressions, and its handlers see the whole
// state. In a version 2 graph only end nodes end a run and reads are enforced.
type Compiled struct {
	Version  uint16 // of the document, 1 or 2
	ID       string
	SchemaID string
	Schema   *Schema // nil when neither the graph nor the options gave it
	Limits   Limits

	Canonical []byte          // the canonical bytes of the document
	Digest    artifact.Digest // the graph's hash: Hex in version 1, String in version 2

	Entry *Node
	Nodes []Node // version 1: in the order of the document; version 2: by id

	index map[string]int
}

// Node is a node with everything that is known before a run. The fields of the
// definition hold for both versions; see [NodeDefinition].
type Node struct {
	NodeDefinition

	Index    int  // in Nodes
	Terminal bool // version 1: the flag, which the reference does not consult; version 2: an end node

	// Edges are all ways on, sorted by route: next as "continue", the cases, the
	// routes, and a fork's branches by the id of their first node.
	Edges []Edge

	// EnforceReads says that the node sees no more of the state than its reads:
	// always in version 2, never in version 1.
	EnforceReads bool

	// Fork is set on fork nodes, Join on join nodes.
	Fork *Fork
	Join *Node // the fork that a join node ends

	// Branch is the innermost branch that the node belongs to, nil outside of all
	// branches. A join node belongs to the branch around its fork.
	Branch *Branch

	// ArgsFlow and SetFlow say on what the values of Args and Set depend: one entry
	// for each expression, by the pointer of its value in the arguments or in the
	// state. What no entry covers is constant. Cases are not in it: they choose a
	// way, and give no value.
	ArgsFlow, SetFlow []Flow

	programsBefore, programsAfter programs
}

// Edge is one way on from a node.
type Edge struct {
	Route string
	To    string
}

// Fork is the parallel part behind a fork node. Each branch starts from the state
// at the fork and never sees what another one writes; a branch is done when it
// comes to the join. Then [Merge] joins the branches' net patches (see
// [Difference]) into one. The branches' write sets are disjoint.
type Fork struct {
	Branches []*Branch // in the order of the document, which is the order of merging
	Join     *Node
}

// Branch is one parallel branch: the nodes between a fork and its join.
type Branch struct {
	Name   string // the id of its first node
	Fork   *Node
	Nodes  []string // sorted, nested branches included
	Writes []string // of all its nodes, sorted
	Parent *Branch  // the branch around the fork; nil at the top
}

// Node gives the node of that id, or nil.
func (c *Compiled) Node(id string) *Node {
	i, ok := c.index[id]
	if !ok {
		return nil
	}
	return &c.Nodes[i]
}

// Successor gives the node behind a route.
func (n *Node) Successor(route string) (to string, ok bool) {
	i, ok := slices.BinarySearchFunc(n.Edges, route, func(e Edge, route string) int { return compareText(e.Route, route) })
	if !ok {
		return "", false
	}
	return n.Edges[i].To, true
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// View gives what the node sees of the state.
func (n *Node) View(state artifact.Value) artifact.Value {
	if !n.EnforceReads {
		return state
	}
	return Project(state, n.Reads)
}

// CycleLimit gives the most visits that one run may pay to a node, and false if
// the graph sets none: in version 1 the bound of the first declared cycle with
// the node, in version 2 max_visits.
func (c *Compiled) CycleLimit(id string) (uint32, bool) {
	n := c.Node(id)
	if n == nil || n.MaxVisits == 0 {
		return 0, false
	}
	return n.MaxVisits, true
}

// Options are what compilation takes beside the document. The zero value works.
type Options struct {
	// Expr compiles the expressions of version 2 graphs. Without it they are not
	// checked, and a graph that has any cannot run.
	Expr expr.Compiler

	// Schema is the state schema that the graph will run with. It is needed to
	// check paths when the graph does not declare its state.
	Schema *Schema
}

// Compile reads and checks a graph of either version and gives everything that is
// wrong with it at once, in the order of the text. Source names the text.
//
// A version 2 graph with a finding of severity [Error] is refused with an
// *[artifact.DocumentError] that holds them all. A version 1 graph (always JSON)
// is refused exactly where the reference refuses it, with the same
// *[InvalidGraphError] or, when it cannot be decoded, an
// *[artifact.DocumentError]; what only version 2 refuses is a warning there.
func Compile(data []byte, source string, o Options) (*Compiled, []Finding, error) {
	if doc := version1Document(data, source); doc != nil {
		return compileVersion1(doc, o)
	}
	doc, err := artifact.ParseDocument(data, source)
	if err != nil {
		return nil, findingsOf(err), err
	}
	return compileVersion2(doc, o)
}

// Compile checks a graph that was made in Go; see [Compile] of the package.
func (d *DefinitionV1) Compile(o Options) (*Compiled, []Finding, error) {
	return Compile(d.Encode(), d.ID, o)
}

// Compile checks a graph that was made in Go; see [Compile] of the package.
func (d *Definition) Compile(o Options) (*Compiled, []Finding, error) {
	return compileVersion2(artifact.DocumentOf(d.AsValue(), d.ID), o)
}

// version1Document gives the document if it is for the version 1 reader, which is
// JSON with any version but 2: that reader then says what is wrong with it.
func version1Document(data []byte, source string) *artifact.Document {
	doc, err := artifact.ParseVersion1(data, source)
	if err != nil {
		return nil
	}
	version := artifact.NewFirstReader(doc).Root().Object().May("version")
	if version.Kind() == artifact.KindNumber && version.Value().Text() == "2" {
		return nil
	}
	return doc
}

// finish completes what both versions have in common.
func (c *Compiled) finish() {
	c.index = make(map[string]int, len(c.Nodes))
	for i := range c.Nodes {
		n := &c.Nodes[i]
		n.Index = i
		c.index[n.ID] = i
		slices.SortFunc(n.Edges, func(a, b Edge) int { return compareText(a.Route, b.Route) })
	}
}
