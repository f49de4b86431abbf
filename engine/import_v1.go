package engine

import (
	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
)

// ImportV1 gives the position of a version 1 checkpoint, for a [Start] that takes
// it over as a new run. Want are the hashes that the checkpoint must have. Such a
// checkpoint has no visit counts, no elapsed time and nothing that authenticates
// it: counters begin again, and the new run's log begins with its state.
func (m *Machine) ImportV1(c *graph.CheckpointV1, want graph.HashesV1) (Position, error) {
	if err := c.CheckCompatible(want); err != nil {
		return Position{}, err
	}
	if err := m.def.Schema.Validate(c.State.Value); err != nil {
		return Position{}, err
	}
	if m.def.Graph.Node(c.PendingNode) == nil {
		return Position{}, &graph.InvalidGraphError{Text: "pending node missing"}
	}
	t := turn{def: m.def}
	state := c.State
	if err := t.fresh(Start{State: state}); err != nil {
		return Position{}, err
	}
	p := t.p
	p.threads[0].node = c.PendingNode
	p.steps = c.Steps
	p.ledger.Add(policy.Amount{Steps: c.Steps, Tokens: c.Tokens, Cost: policy.Money{"USD": c.CostMicros}})
	p.stateSum = artifact.Sum(state.Value.AppendCompact(nil))
	return p, nil
}
