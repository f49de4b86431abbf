package store

import (
	"context"
	"fmt"
)

// Limits on the inbox of one run.
const (
	MaxMessages  = 256
	MaxMessage   = 1 << 20 // bytes of one body
	MaxMessageID = 128     // bytes
)

// Message is an input for a run, from somebody who does not have its lease.
type Message struct {
	Exec string // set by the store when it gives one
	Seq  uint64 // the same: where it stands among all messages of the store
	ID   string // tells it apart from the others in the inbox of its run
	Body []byte // the store does not look into it

	// Spare is how many places the message leaves free in the inbox, for others
	// that matter more. It is not stored.
	Spare int
}

// Inbox is the part of a store that takes messages for runs. A batch removes them,
// see [Batch.Taken]; so do the end of their run and its deletion.
type Inbox interface {
	// Post puts a message into the inbox of a run and gives its sequence, which is
	// higher than that of every message that could be seen before. It needs no
	// lease. If a message with the same id is there, nothing changes and its
	// sequence is given. It fails with [ErrNotFound], [ErrEnded] and [ErrDeleted],
	// with [ErrInboxFull], with [ErrInvalid] for a message that breaks a limit, and
	// otherwise as Append does.
	Post(ctx context.Context, exec string, m Message) (seq uint64, err error)

	// Posted gives at most n messages with sequences above after, in their order:
	// those of one run, or for an empty exec those of all runs without their bodies.
	Posted(ctx context.Context, exec string, after uint64, n int) ([]Message, error)
}

// Check refuses a message that breaks a limit, with [ErrInvalid].
func (m Message) Check() error {
	switch {
	case m.ID == "" || len(m.ID) > MaxMessageID:
		return fmt.Errorf("post: %w: the id has %d bytes, want 1 to %d", ErrInvalid, len(m.ID), MaxMessageID)
	case len(m.Body) > MaxMessage:
		return fmt.Errorf("post: %w: the body has %d bytes, more than %d", ErrInvalid, len(m.Body), MaxMessage)
	case m.Spare < 0 || m.Spare >= MaxMessages:
		return fmt.Errorf("post: %w: no inbox has %d places to spare", ErrInvalid, m.Spare)
	}
	return nil
}

// Accept says whether a run takes a message that is not there yet, beside have
// others. The message was checked, see [Message.Check].
func (h Head) Accept(m Message, have int) error {
	switch {
	case h.Seq == 0:
		return fmt.Errorf("post to %.130q: %w", h.Exec, ErrNotFound)
	case !h.Deleted.IsZero():
		return fmt.Errorf("post to %s: %w", h.Exec, ErrDeleted)
	case h.Status.Ended():
		return fmt.Errorf("post to %s: %w", h.Exec, ErrEnded)
	case have >= MaxMessages-m.Spare:
		return fmt.Errorf("post to %s: %w: it has %d messages", h.Exec, ErrInboxFull, have)
	}
	return nil
}

// onlyTakes refuses a batch without events that would do more than take messages.
func (b Batch) onlyTakes() string {
	switch {
	case len(b.Taken) == 0:
		return fmt.Sprintf("no events, want 1 to %d", MaxEvents)
	case b.Checkpoint != nil || len(b.Intents)+len(b.Timers)+len(b.Blobs) > 0:
		return "a batch without events does more than take messages"
	case b.Head.Status != "" || b.Head.Reason != "" || len(b.Head.Signed) > 0:
		return "a batch without events marks the head"
	}
	return ""
}
