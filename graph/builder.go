package graph

import (
	"context"
	"errors"
	"fmt"
)

// Builder makes a version 1 graph of typed handlers. The graph's hash is that of
// the same graph written by hand. Errors are kept until [Builder.Build].
type Builder struct {
	Limits Limits // DefaultLimits unless set

	def      DefinitionV1
	handlers map[string]Handler
	errs     []error
}

// NewBuilder begins a graph over states of a schema. The first node that is added
// is the entry.
func NewBuilder(id, stateSchema string) *Builder {
	return &Builder{
		Limits:   DefaultLimits(),
		def:      DefinitionV1{Version: 1, ID: id, StateSchema: stateSchema},
		handlers: map[string]Handler{},
	}
}

// NodeOf is a node that has been added, with the view S.
type NodeOf[S any] struct {
	b     *Builder
	index int
	id    string
}

// Target is a node that an edge may lead to: any [NodeOf].
type Target interface{ target() string }

func (n *NodeOf[S]) target() string { return n.id }

// AddNode adds a node whose reads and writes are those of the view S.
func AddNode[S any](b *Builder, id string, handle func(context.Context, *View[S]) (Exit[S], error)) *NodeOf[S] {
	l, err := layoutOf[S]()
	if err != nil {
		b.errs = append(b.errs, fmt.Errorf("node %s: %w", id, err))
	}
	if len(b.def.Nodes) == 0 {
		b.def.Entry = id
	}
	b.def.Nodes = append(b.def.Nodes, NodeV1{ID: id, Reads: l.reads, Writes: l.writes})
	b.handlers[id] = handlerOf(l, handle)
	return &NodeOf[S]{b, len(b.def.Nodes) - 1, id}
}

// Next gives the ordinary successor.
func (n *NodeOf[S]) Next(to Target) *NodeOf[S] { return n.edge(RouteContinue, to) }

// On gives the successor for a route.
func (n *NodeOf[S]) On(r RouteOf[S], to Target) *NodeOf[S] { return n.edge(r.name, to) }

func (n *NodeOf[S]) edge(route string, to Target) *NodeOf[S] {
	id := fmt.Sprintf("%s.%s.%s", n.id, route, to.target())
	n.b.def.Transitions = append(n.b.def.Transitions, TransitionV1{ID: id, From: n.id, Route: route, To: to.target()})
	return n
}

// Terminal marks a node at which the run may end.
func (n *NodeOf[S]) Terminal() *NodeOf[S] {
	n.b.def.Nodes[n.index].Terminal = true
	return n
}

// Cycle declares that the nodes form a cycle, each visited at most so often.
func (b *Builder) Cycle(maxIterations uint32, nodes ...Target) *Builder {
	c := CycleV1{MaxIterations: maxIterations}
	for _, n := range nodes {
		c.Nodes = append(c.Nodes, n.target())
	}
	b.def.Cycles = append(b.def.Cycles, c)
	return b
}

// Built is a graph with its handlers.
type Built struct {
	Definition *DefinitionV1
	Compiled   *Compiled
	Findings   []Finding          // warnings
	Handlers   map[string]Handler // by node id
}

// Build checks the graph; see [Compile] for its errors.
func (b *Builder) Build(o Options) (*Built, error) {
	if len(b.errs) > 0 {
		return nil, fmt.Errorf("build graph %s: %w", b.def.ID, errors.Join(b.errs...))
	}
	def := b.def
	def.Limits = b.Limits
	compiled, findings, err := def.Compile(o)
	if err != nil {
		return nil, fmt.Errorf("build graph %s: %w", b.def.ID, err)
	}
	return &Built{&def, compiled, findings, b.handlers}, nil
}
