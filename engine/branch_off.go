package engine

import (
	"context"
	"fmt"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
)

// Fork begins a new run from a checkpoint of another one: the state, counters and
// budget are those of then, and what was open there begins anew. The new run is
// linked to the event that announced the checkpoint. Exec may be "".
func (e *Engine) Fork(ctx context.Context, parent string, seq uint64, exec, by string) (Report, error) {
	announced, data, err := e.checkpointAt(ctx, parent, seq)
	if err != nil {
		return Report{}, err
	}
	def, err := e.definitionOf(parent, data, nil)
	if err != nil {
		return Report{}, err
	}
	link := event.Link{Kind: event.LinkFork, Exec: parent, Seq: announced.Seq, Digest: announced.Digest}
	from, err := NewMachine(def).Restore(data, event.Head{Exec: parent, Seq: link.Seq, Digest: link.Digest})
	if err != nil {
		return Report{}, err
	}
	return e.start(ctx, def, Start{Exec: exec, Owner: from.owner, By: by, Method: methodOf(by), Parent: &link, From: &from, linked: announced.Bytes})
}

// checkpointAt finds the first checkpoint at or after a sequence, and the event
// that announced it.
func (e *Engine) checkpointAt(ctx context.Context, exec string, seq uint64) (event.Record, []byte, error) {
	for r, err := range e.c.Store.Events(ctx, exec, seq) {
		if err != nil {
			return r, nil, err
		}
		if r.Type != event.TypeCheckpointed {
			continue
		}
		x, err := r.Decode()
		if err != nil {
			return r, nil, err
		}
		data, err := e.c.Store.Checkpoint(ctx, exec, r.Seq)
		if err == nil && artifact.Sum(data) != x.Body.(*event.Checkpointed).Checkpoint {
			err = fmt.Errorf("fork %s at event %d: %w", exec, r.Seq, ErrTampered)
		}
		return r, data, err
	}
	return event.Record{}, nil, fmt.Errorf("fork %s: no checkpoint at or after event %d: %w", exec, seq, store.ErrNotFound)
}
