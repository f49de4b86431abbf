package graph

import (
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// Kind says what a node does.
type Kind string

// The kinds of nodes.
const (
	KindHandler  Kind = "handler"  // runs a function of the host
	KindTool     Kind = "tool"     // calls a tool
	KindModel    Kind = "model"    // calls a model
	KindRetrieve Kind = "retrieve" // plans and loads knowledge
	KindApprove  Kind = "approve"  // waits for a person's decision
	KindWait     Kind = "wait"     // waits for an event or a time
	KindCall     Kind = "call"     // runs another graph
	KindFork     Kind = "fork"     // starts parallel branches
	KindJoin     Kind = "join"     // ends them and merges their writes
	KindSet      Kind = "set"      // changes the state and decides, nothing else
	KindEnd      Kind = "end"      // ends the run with a result or as failed
)

// Outcomes that a node may route by, besides the routes that a handler names.
const (
	RouteContinue  = "continue"  // the ordinary successor: next in version 2
	RouteFailed    = "failed"    // no attempt is left, or the failure is not retried
	RouteTimeout   = "timeout"   // the timeout or the deadline has passed
	RouteDenied    = "denied"    // refused, by policy or by a person
	RouteExhausted = "exhausted" // the node was to be visited more than max_visits times
)

// Definition is a version 2 graph as its author wrote it. The package comment
// describes the wire form; [Decode] reads it, [Definition.Encode] writes the
// canonical form of it.
type Definition struct {
	ID          string
	Description string
	StateSchema string // id of the state schema; the graph's own id when State is given without
	State       Shape  // may be nil: the schema is then supplied beside the graph
	Entry       string
	Limits      Limits
	Nodes       []NodeDefinition // sorted by id
}

// NodeDefinition is one node of a [Definition]. Fields that do not apply to its
// kind are zero.
type NodeDefinition struct {
	ID          string
	Description string
	Kind        Kind

	// Name is what performs the node: the handler's name, the tool's id, the
	// model's or knowledge's name, the action to approve, the event to wait for
	// (empty when waiting for a time), the graph to call, the fork to join.
	Name string

	// Reads are the parts of the state that the node sees, as RFC 6901 pointers,
	// sorted.
	Reads []string

	// Args is what the node works on, a template (see [Node.EvalArgs]): the
	// arguments of handler, tool, model and retrieve; the child's initial state of
	// call; what approve shows; the result of end, or its message when Failure.
	Args artifact.Value

	Reserve Usage // the most that one attempt may use: tool, model, retrieve, handler

	// Set gives templates for the paths that the node writes, sorted by path.
	Set []Assignment
	// Writes are the paths that the node may write, sorted: those of Set, and for
	// a handler those that it declares.
	Writes []string

	Cases  []Case // tried in order; the first that holds decides
	Next   string // the ordinary successor
	Routes []Edge // by outcome, sorted

	MaxVisits      uint32 // visits in one run; 0 is no bound of its own
	Retry          Retry
	TimeoutMillis  uint64 // of one attempt, or of the wait for a person or event; 0 is none
	DeadlineMillis uint64 // of one visit with all its attempts; 0 is none

	Quorum    uint32          // approve: distinct approvers, at least 1
	Answer    Shape           // approve: what the decision carries
	Key       artifact.Value  // wait: template that tells events of one name apart; null is none
	ForMillis uint64          // wait: a length of time
	Until     artifact.Value  // wait: template for a time in ms since 1970; null is none
	Digest    artifact.Digest // call: the exact graph; zero leaves it to the host
	Authority Authority       // call: what the child may do, within the parent's
	Returns   Shape           // call: what the child's result must be
	Branches  []string        // fork: the first node of each branch, in order of merging
	Failure   bool            // end: the run ends as failed
}

// Usage is an amount of what a run spends.
type Usage struct {
	Tokens     uint64
	CostMicros uint64 // micro-USD
}

// Assignment gives the template for one written path.
type Assignment struct {
	Path  string
	Value artifact.Value
}

// Case is a conditional successor.
type Case struct {
	Name string // the route's name; empty stands for the id of To
	When string // an expression that gives a boolean
	To   string
}

// Authority narrows what a called graph may do. An absent field leaves the
// parent's.
type Authority struct {
	Capabilities  artifact.Optional[[]string]
	Namespaces    artifact.Optional[[]string]
	MaxSteps      artifact.Optional[uint64]
	MaxTokens     artifact.Optional[uint64]
	MaxCostMicros artifact.Optional[uint64]
}

// Shape says what an object looks like: the paths that it has and their types.
// It is sorted by path. Paths that it does not list are free.
type Shape []ShapePath

// ShapePath is one path of a [Shape].
type ShapePath struct {
	Path     string // RFC 6901
	Type     Type   // empty for any
	Optional bool
}

// Schema gives the shape as a version 1 schema.
func (s Shape) Schema(id string) *Schema {
	schema := &Schema{Version: 1, ID: id, Paths: map[string]Type{}, Required: []string{}}
	for _, p := range s {
		if p.Type != "" {
			schema.Paths[p.Path] = p.Type
		}
		if !p.Optional {
			schema.Required = append(schema.Required, p.Path)
		}
	}
	return schema
}

// Validate checks a value; the error is a *[SchemaViolationError].
func (s Shape) Validate(v artifact.Value) error { return s.Schema("").Validate(v) }

// Digest gives the digest of the shape's canonical bytes, which an approval is
// bound to.
func (s Shape) Digest() artifact.Digest { return artifact.Sum(s.value().AppendCompact(nil)) }

// String gives the shape for people: "/hint string?, /send bool".
func (s Shape) String() string {
	members := s.value().Members()
	words := make([]string, len(members))
	for i, m := range members {
		words[i] = m.Name + " " + m.Value.Text()
	}
	return strings.Join(words, ", ")
}

// Paths gives the declared paths, sorted.
func (s Shape) Paths() []string {
	paths := make([]string, len(s))
	for i, p := range s {
		paths[i] = p.Path
	}
	return paths
}

// SchemaID gives the id of the state schema.
func (d *Definition) SchemaID() string {
	if d.StateSchema == "" {
		return d.ID
	}
	return d.StateSchema
}

// Node gives the node of that id, or nil.
func (d *Definition) Node(id string) *NodeDefinition {
	i, ok := slices.BinarySearchFunc(d.Nodes, id, func(n NodeDefinition, id string) int {
		switch {
		case n.ID < id:
			return -1
		case n.ID > id:
			return 1
		}
		return 0
	})
	if !ok {
		return nil
	}
	return &d.Nodes[i]
}
