package graph

import "github.com/writ-dev/writ/artifact"

// CheckpointV1 is the document of that name (runtime contract, section 6): the
// node that runs next, the state it runs from and the totals so far. The five
// hashes are opaque texts here.
type CheckpointV1 struct {
	Version     uint16
	ExecutionID string
	Hashes      HashesV1
	State       Snapshot
	PendingNode string
	EventCursor uint64 // sequence of the event that announced the checkpoint
	Steps       uint64
	Tokens      uint64
	CostMicros  uint64
}

// HashesV1 name the artifacts that a version 1 checkpoint belongs to.
type HashesV1 struct {
	Graph              string
	Pack               string
	Policy             string
	NodeImplementation string
	Contract           string
}

// CheckCompatible gives nil if the checkpoint has version 1 and exactly the given
// hashes, else a *[CheckpointIncompatibleError].
func (c *CheckpointV1) CheckCompatible(want HashesV1) error {
	if c.Version != 1 || c.Hashes != want {
		return &CheckpointIncompatibleError{"graph, pack, policy, node implementation, or contract hash mismatch"}
	}
	return nil
}

// DecodeCheckpointV1 reads a CheckpointV1.
func DecodeCheckpointV1(data []byte, source string) (*CheckpointV1, error) {
	return decodeV1(data, source, func(f artifact.Field) *CheckpointV1 {
		o := f.Object()
		c := &CheckpointV1{
			Version:     o.Need("version").Uint16(),
			ExecutionID: o.Need("execution_id").Identifier(),
			Hashes: HashesV1{
				Graph:              o.Need("graph_hash").Text(),
				Pack:               o.Need("pack_hash").Text(),
				Policy:             o.Need("policy_hash").Text(),
				NodeImplementation: o.Need("node_implementation_hash").Text(),
				Contract:           o.Need("contract_hash").Text(),
			},
			State:       readSnapshot(o.Need("state")),
			PendingNode: o.Need("pending_node").Identifier(),
			EventCursor: o.Need("event_cursor").Uint64(),
			Steps:       o.Need("steps").Uint64(),
			Tokens:      o.Need("tokens").Uint64(),
			CostMicros:  o.Need("cost_micros").Uint64(),
		}
		o.RefuseUnknown()
		return c
	})
}

// Encode gives the canonical bytes.
func (c *CheckpointV1) Encode() []byte {
	text, number := artifact.StringValue, artifact.UintValue
	return artifact.ObjectValue(
		member("version", number(uint64(c.Version))),
		member("execution_id", text(c.ExecutionID)),
		member("graph_hash", text(c.Hashes.Graph)),
		member("pack_hash", text(c.Hashes.Pack)),
		member("policy_hash", text(c.Hashes.Policy)),
		member("node_implementation_hash", text(c.Hashes.NodeImplementation)),
		member("contract_hash", text(c.Hashes.Contract)),
		member("state", c.State.AsValue()),
		member("pending_node", text(c.PendingNode)),
		member("event_cursor", number(c.EventCursor)),
		member("steps", number(c.Steps)),
		member("tokens", number(c.Tokens)),
		member("cost_micros", number(c.CostMicros)),
	).AppendCompact(nil)
}
