package event

import "github.com/writ-dev/writ/artifact"

// Definition is what a run executes, by digest. The writer computes the digests;
// nobody supplies them.
type Definition struct {
	Graph    artifact.Digest // of the graph definition
	Schema   artifact.Digest // of the state schema
	Pack     artifact.Digest // of the pack's declaration
	Policy   artifact.Digest // of the policy compiled from it
	Nodes    artifact.Digest // of the list of node implementations and their versions
	Contract artifact.Digest // of the list of contracts in use and their versions
}

func (d *Definition) fields(c *coder) {
	c.digest("graph", &d.Graph)
	c.digest("schema", &d.Schema)
	c.digest("pack", &d.Pack)
	c.digest("policy", &d.Policy)
	c.digest("nodes", &d.Nodes)
	c.digest("contract", &d.Contract)
}

// The kinds of a [Link] and of a call.
const (
	LinkFork     = "fork"     // a new run from a checkpoint of another
	LinkSubgraph = "subgraph" // a node of the parent runs a graph
	LinkHandoff  = "handoff"  // the parent hands its task over, under narrowed authority
)

// Link names an event of another run.
type Link struct {
	Kind   string          // fork, subgraph or handoff
	Exec   string          // the other run
	Seq    uint64          // of the event
	Digest artifact.Digest // of the event's bytes
}

// Started is the first event of every run and occurs nowhere else.
type Started struct {
	Definition
	Semantics uint64          // version of the rules by which events follow from a definition
	Revision  uint64          // of the initial state; 0 unless it comes from another run
	State     artifact.Digest // of the initial state's value
	Parent    *Link           // what this run descends from; nil for none
	Owner     string          // the principal to whom the run belongs
	By        string          // who started it; cannot decide its approvals
	Method    string          // how By is known: see the Method constants
	Limits    Budget          // the effective limits of the run
}

func (*Started) Type() Type { return TypeStarted }

func (p *Started) fields(c *coder) {
	p.Definition.fields(c)
	c.uint("semantics", &p.Semantics)
	c.uint("revision", &p.Revision)
	c.digest("state", &p.State)
	c.optLink("parent", &p.Parent)
	c.text("owner", &p.Owner)
	c.text("by", &p.By)
	choice(c, "method", &p.Method, methods[:]...)
	c.budget("limits", &p.Limits)
}

func (c *coder) optLink(name string, l **Link) {
	c.member(name)
	if c.null(*l == nil) {
		return
	}
	if c.reading {
		*l = new(Link)
	}
	c.open()
	choice(c, "kind", &(*l).Kind, LinkFork, LinkSubgraph, LinkHandoff)
	c.id("exec", &(*l).Exec)
	c.uint("seq", &(*l).Seq)
	c.digest("digest", &(*l).Digest)
	c.end()
}

// NodeStarted opens an attempt: the first of a new visit, or the one that a
// [Retrying] announced. Visits of a node count from 1; in a fork they go on from
// where the checkpoint was. After a crash the open attempt goes on without
// another event. The attempt stays open until a [Routed], a [Retrying] or
// the end of the run; a [Suspended] interrupts it.
type NodeStarted struct {
	DeadlineMS int64 // when the attempt is over at the latest, since 1970; 0 for never
}

func (*NodeStarted) Type() Type { return TypeNodeStarted }

func (p *NodeStarted) fields(c *coder) { c.optMillis("deadline_ms", &p.DeadlineMS) }

// StatePatched changes the state. It belongs to an open attempt, except that one
// without a node may follow a [Migrated] directly. All patches of a run are
// numbered in the order of the log, those of parallel branches too: their write
// sets are disjoint, so State is always that of the whole run.
type StatePatched struct {
	Revision uint64          // of the state after the patch: one more than before
	Patch    JSON            // base revision and operations, canonical
	State    artifact.Digest // of the state's value after the patch
}

func (*StatePatched) Type() Type { return TypeStatePatched }

func (p *StatePatched) fields(c *coder) {
	c.uint("revision", &p.Revision)
	c.json("patch", &p.Patch)
	c.digest("state", &p.State)
}

// How a node chose its route.
const (
	OutcomeContinue = "continue" // the node took its one way on
	OutcomeRoute    = "route"    // the node named the route
)

// Routed ends an attempt with success, and with it a step. Every effect and call
// of the visit has an outcome by then.
type Routed struct {
	Outcome string // continue or route
	Route   string
	To      string // the node that comes next
	Usage   Usage  // of the attempt, without its effects
	Left    Budget
}

func (*Routed) Type() Type { return TypeRouted }

func (p *Routed) fields(c *coder) {
	choice(c, "outcome", &p.Outcome, OutcomeContinue, OutcomeRoute)
	c.text("route", &p.Route)
	c.id("to", &p.To)
	c.usage("usage", &p.Usage)
	c.budget("left", &p.Left)
}

// Retrying ends an attempt with a failure that another attempt may mend. The
// header names the failed attempt. Its usage is charged.
type Retrying struct {
	Attempt uint32 // the one that comes next
	DelayMS uint64 // before it starts
	Class   string // of the failure, as retry policies name them
	Error   string
	Usage   Usage // of the failed attempt, without its effects
	Left    Budget
}

func (*Retrying) Type() Type { return TypeRetrying }

func (p *Retrying) fields(c *coder) {
	c.uint32("attempt", &p.Attempt)
	c.uint("delay_ms", &p.DelayMS)
	c.text("class", &p.Class)
	c.text("error", &p.Error)
	c.usage("usage", &p.Usage)
	c.budget("left", &p.Left)
}

// Checkpointed announces a checkpoint that is stored in the same transaction.
// It may stand anywhere between start and end.
type Checkpointed struct {
	Checkpoint artifact.Digest // of the checkpoint's bytes, a blob
	State      artifact.Digest // of the state's value
	Revision   uint64
	Pending    []string // the nodes that run next, or are open
}

func (*Checkpointed) Type() Type { return TypeCheckpointed }

func (p *Checkpointed) fields(c *coder) {
	c.digest("checkpoint", &p.Checkpoint)
	c.digest("state", &p.State)
	c.uint("revision", &p.Revision)
	c.ids("pending", &p.Pending)
}
