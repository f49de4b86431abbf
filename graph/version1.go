package graph

import (
	"github.com/writ-dev/writ/artifact"
)

// DefinitionV1 is the document GraphDefinitionV1 (runtime contract, section 2).
type DefinitionV1 struct {
	Version     uint16
	ID          string
	StateSchema string
	Entry       string
	Nodes       []NodeV1
	Transitions []TransitionV1
	Cycles      []CycleV1
	Limits      Limits
}

// NodeV1 is the document NodeDefinitionV1. Reads and Writes are sets: their order
// and duplicates do not matter.
type NodeV1 struct {
	ID       string
	Terminal bool
	Reads    []string
	Writes   []string
}

// TransitionV1 is the document TransitionDefinitionV1.
type TransitionV1 struct {
	ID    string
	From  string
	Route string // any text
	To    string
}

// CycleV1 is the document CycleDefinitionV1. Nodes is a set.
type CycleV1 struct {
	Nodes         []string
	MaxIterations uint32
}

// Limits bound one run. A run may use exactly its limit; one more fails it.
type Limits struct {
	MaxSteps      uint64
	MaxTokens     uint64 // 0 allows none
	MaxCostMicros uint64 // micro-USD; 0 allows none
	TimeoutMillis uint64
}

// DefaultLimits gives the limits of a builder that sets none: 100 steps, 30 s,
// and as many tokens and micro-USD as every implementation can count.
func DefaultLimits() Limits {
	const safe = 1<<53 - 1
	return Limits{MaxSteps: 100, MaxTokens: safe, MaxCostMicros: safe, TimeoutMillis: 30_000}
}

// DecodeV1 reads a GraphDefinitionV1. Source names the text in errors, which are
// *[artifact.DocumentError]. It does not check the graph: see
// [DefinitionV1.Compile].
func DecodeV1(data []byte, source string) (*DefinitionV1, error) {
	return decodeV1(data, source, readDefinitionV1)
}

func readDefinitionV1(f artifact.Field) *DefinitionV1 {
	o := f.Object()
	d := &DefinitionV1{
		Version:     o.Need("version").Uint16(),
		ID:          o.Need("id").Identifier(),
		StateSchema: o.Need("state_schema").Identifier(),
		Entry:       o.Need("entry").Identifier(),
	}
	for _, n := range o.Need("nodes").List() {
		no := n.Object()
		d.Nodes = append(d.Nodes, NodeV1{
			ID:       no.Need("id").Identifier(),
			Terminal: no.Need("terminal").Bool(),
			Reads:    no.Need("reads").Set(),
			Writes:   no.Need("writes").Set(),
		})
		no.RefuseUnknown()
	}
	for _, t := range o.Need("transitions").List() {
		to := t.Object()
		d.Transitions = append(d.Transitions, TransitionV1{
			ID:    to.Need("id").Identifier(),
			From:  to.Need("from").Identifier(),
			Route: to.Need("route").Text(),
			To:    to.Need("to").Identifier(),
		})
		to.RefuseUnknown()
	}
	for _, c := range o.Need("cycles").List() {
		co := c.Object()
		d.Cycles = append(d.Cycles, CycleV1{
			Nodes:         co.Need("nodes").IdentifierSet(),
			MaxIterations: co.Need("max_iterations").Uint32(),
		})
		co.RefuseUnknown()
	}
	d.Limits = readLimitsV1(o.Need("limits"))
	o.RefuseUnknown()
	return d
}

func readLimitsV1(f artifact.Field) Limits {
	o := f.Object()
	defer o.RefuseUnknown()
	return Limits{
		MaxSteps:      o.Need("max_steps").Uint64(),
		MaxTokens:     o.Need("max_tokens").Uint64(),
		MaxCostMicros: o.Need("max_cost_micros").Uint64(),
		TimeoutMillis: o.Need("timeout_ms").Uint64(),
	}
}

// AsValue gives the definition in canonical order, sets sorted.
func (d *DefinitionV1) AsValue() artifact.Value {
	text, number := artifact.StringValue, artifact.UintValue
	nodes := make([]artifact.Value, len(d.Nodes))
	for i, n := range d.Nodes {
		nodes[i] = artifact.ObjectValue(
			member("id", text(n.ID)), member("terminal", artifact.BoolValue(n.Terminal)),
			member("reads", stringSet(n.Reads)), member("writes", stringSet(n.Writes)))
	}
	transitions := make([]artifact.Value, len(d.Transitions))
	for i, t := range d.Transitions {
		transitions[i] = artifact.ObjectValue(
			member("id", text(t.ID)), member("from", text(t.From)),
			member("route", text(t.Route)), member("to", text(t.To)))
	}
	cycles := make([]artifact.Value, len(d.Cycles))
	for i, c := range d.Cycles {
		cycles[i] = artifact.ObjectValue(
			member("nodes", stringSet(c.Nodes)),
			member("max_iterations", number(uint64(c.MaxIterations))))
	}
	return artifact.ObjectValue(
		member("version", number(uint64(d.Version))),
		member("id", text(d.ID)),
		member("state_schema", text(d.StateSchema)),
		member("entry", text(d.Entry)),
		member("nodes", artifact.ArrayValue(nodes...)),
		member("transitions", artifact.ArrayValue(transitions...)),
		member("cycles", artifact.ArrayValue(cycles...)),
		member("limits", artifact.ObjectValue(
			member("max_steps", number(d.Limits.MaxSteps)),
			member("max_tokens", number(d.Limits.MaxTokens)),
			member("max_cost_micros", number(d.Limits.MaxCostMicros)),
			member("timeout_ms", number(d.Limits.TimeoutMillis)))),
	)
}

// Encode gives the canonical bytes.
func (d *DefinitionV1) Encode() []byte { return d.AsValue().AppendCompact(nil) }

// Digest gives the graph hash: the digest of the canonical bytes. Version 1
// documents write it with [artifact.Digest.Hex].
func (d *DefinitionV1) Digest() artifact.Digest { return artifact.Sum(d.Encode()) }

// Check gives nil for a graph that the reference accepts, else the
// *[InvalidGraphError] of the first rule that it breaks, in the order and with
// the texts of the runtime contract, section 2.1.
func (d *DefinitionV1) Check() error {
	if text := d.violation(); text != "" {
		return &InvalidGraphError{text}
	}
	return nil
}

func (d *DefinitionV1) violation() string {
	if d.Version != 1 || d.Limits.MaxSteps == 0 || d.Limits.TimeoutMillis == 0 {
		return "unsupported version or unbounded limits"
	}
	index := make(map[string]int, len(d.Nodes))
	terminal := false
	for i, n := range d.Nodes {
		if _, ok := index[n.ID]; ok {
			return "duplicate node id"
		}
		index[n.ID] = i
		terminal = terminal || n.Terminal
	}
	entry, ok := index[d.Entry]
	if !ok {
		return "entry node is not declared"
	}
	if !terminal {
		return "at least one terminal node is required"
	}
	links, text := d.links(index)
	switch {
	case text != "":
		return text
	case !allReached(reachable(links, entry)):
		return "unreachable node"
	case d.unboundedCycle() >= 0:
		return "cycles must be explicit and bounded"
	case len(d.undeclaredCycles(index, links)) > 0:
		return "cycle is not explicitly declared"
	}
	return ""
}

// links gives the transitions as edges between node indexes.
func (d *DefinitionV1) links(index map[string]int) (links adjacency, violation string) {
	ids := make(map[string]bool, len(d.Transitions))
	for _, t := range d.Transitions {
		if ids[t.ID] {
			return links, "duplicate transition id"
		}
		ids[t.ID] = true
	}
	type choice struct {
		from  int
		route string
	}
	routes := make(map[choice]bool, len(d.Transitions))
	edges := make([][2]int, 0, len(d.Transitions))
	for _, t := range d.Transitions {
		from, fromOK := index[t.From]
		to, toOK := index[t.To]
		if !fromOK || !toOK {
			return links, "transition endpoint is not declared"
		}
		if routes[choice{from, t.Route}] {
			return links, "duplicate route from node"
		}
		routes[choice{from, t.Route}] = true
		edges = append(edges, [2]int{from, to})
	}
	return newAdjacency(len(d.Nodes), edges), ""
}

// unboundedCycle gives the index of the first cycle without members or bound, or
// -1.
func (d *DefinitionV1) unboundedCycle() int {
	for i, c := range d.Cycles {
		if c.MaxIterations == 0 || len(c.Nodes) == 0 {
			return i
		}
	}
	return -1
}

// undeclaredCycles gives the indexes of the transitions that lie on a cycle (the
// target can reach the source) without both ends in one declared cycle.
func (d *DefinitionV1) undeclaredCycles(index map[string]int, links adjacency) []int {
	member := make([]map[int]bool, len(d.Nodes)) // the declared cycles of a node
	for c, cycle := range d.Cycles {
		for _, id := range cycle.Nodes {
			if i, ok := index[id]; ok {
				if member[i] == nil {
					member[i] = map[int]bool{}
				}
				member[i][c] = true
			}
		}
	}
	known := map[[2]int]bool{}
	declared := func(from, to int) bool {
		if len(member[to]) < len(member[from]) {
			from, to = to, from
		}
		answer, ok := known[[2]int{from, to}]
		if !ok {
			for c := range member[from] {
				answer = answer || member[to][c]
			}
			known[[2]int{from, to}] = answer
		}
		return answer
	}
	component := components(links)
	var undeclared []int
	for i, t := range d.Transitions {
		from, to := index[t.From], index[t.To]
		if component[from] == component[to] && !declared(from, to) {
			undeclared = append(undeclared, i)
		}
	}
	return undeclared
}
