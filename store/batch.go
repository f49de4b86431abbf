package store

import (
	"fmt"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
)

// Limits on one batch.
const (
	MaxEvents     = 10_000
	MaxBlob       = 64 << 20 // bytes of one blob
	MaxCheckpoint = 64 << 20 // bytes of one checkpoint
	MaxBatch      = 256 << 20
	MaxKey        = 1024 // bytes of an intent's key
	MaxReason     = 4096 // bytes
)

// Batch is everything that becomes durable together. A store may keep what is in
// it, so nothing of it is changed once it was given to one.
type Batch struct {
	Exec       string
	Next       uint64         // the sequence that the writer expects to be next, from 1
	Fence      uint64         // of the writer's lease; 0 is allowed while no lease is in force
	Events     []event.Record // they continue the log at Next; none in a batch that only takes messages
	Checkpoint *Checkpoint    // replaces the newest one; nil for none
	Intents    []Intent
	Timers     []Timer
	Blobs      []Blob
	Head       Mark

	// Taken are the sequences of messages that leave the run's inbox: the batch is
	// what they led to or, without events, says that they led to nothing. One that
	// is not there is an [ErrConflict], so that each is taken once. A store without
	// an [Inbox] has none to give.
	Taken []uint64
}

// Mark is what the writer says about the run after the batch.
type Mark struct {
	Status Status // Running or Suspended; "" is Running. Ignored after the last event
	Reason string // of a suspension
	Signed []byte // signed head of the batch's last event; nil for none
}

// Checkpoint is from where a run continues. Older ones stay readable, see
// [Store.Checkpoint].
type Checkpoint struct {
	Seq    uint64          // the event that announced it, one of the batch
	Digest artifact.Digest // of Bytes; may be zero in a batch
	Bytes  []byte          // the store does not look into them
}

// Intent is an effect under way. A key is new in its run, for good: a second
// intent with it is an [ErrConflict], whatever became of the first.
type Intent struct {
	Key  string
	Seq  uint64 // of the event that requested it
	Done bool   // in a batch: the open intent with this key has its outcome
}

// Timer wakes a run.
type Timer struct {
	Exec string // set by the store when it gives one
	ID   string // unique in the run
	Due  time.Time
	Stop bool // in a batch: remove the timer; it need not exist
}

// Blob is content by its digest. Storing it again changes nothing; if it was
// erased, it is there again.
type Blob struct {
	Digest artifact.Digest
	Bytes  []byte
	Salt   *event.Salt // if set, Digest is salted with it; the salt is a blob of its own
}

// Follow refuses a batch that its run's head or the lease forbids, and gives the
// head that results. Of the parts beside the log it does the checkpoint, not the
// intents. The batch is valid, see [Batch.Validate].
func (b Batch) Follow(have Head, now time.Time) (Head, error) {
	switch {
	case !have.Deleted.IsZero():
		return Head{}, fmt.Errorf("append to %s: %w", b.Exec, ErrDeleted)
	case b.Fence != have.Fence && b.Fence != 0, b.Fence != 0 && !have.Leased(now), b.Fence == 0 && have.Leased(now):
		return Head{}, fmt.Errorf("append to %s: %w", b.Exec, ErrFenced)
	case have.Status.Ended():
		return Head{}, fmt.Errorf("append to %s: %w", b.Exec, ErrEnded)
	case b.Next != have.Seq+1:
		return Head{}, &ConflictError{Exec: b.Exec, Next: have.Seq + 1, Wanted: b.Next}
	case len(b.Events) == 0:
		return have, nil
	case b.Events[0].Prev != have.Digest:
		return Head{}, fmt.Errorf("append to %s: %w: the first event does not continue the log", b.Exec, ErrConflict)
	}
	last := b.Events[len(b.Events)-1]
	after := have
	after.Head = event.Head{Exec: b.Exec, Seq: last.Seq, Digest: last.Digest}
	after.Status, after.Reason = b.status(last.Type), b.Head.Reason
	if len(b.Head.Signed) > 0 {
		after.Signed = b.Head.Signed
	}
	if c := b.Checkpoint; c != nil {
		after.Checkpoint = Checkpoint{Seq: c.Seq, Digest: c.Digest}
		if c.Digest.IsZero() {
			after.Checkpoint.Digest = artifact.Sum(c.Bytes)
		}
	}
	return after, nil
}

func (b Batch) status(last event.Type) Status {
	switch last {
	case event.TypeTerminated:
		return Terminated
	case event.TypeFailed:
		return Failed
	case event.TypeCancelled:
		return Cancelled
	case event.TypeAbandoned:
		return Abandoned
	}
	if b.Head.Status == Suspended {
		return Suspended
	}
	return Running
}

// Validate refuses a batch that contradicts itself or breaks a limit, with
// [ErrInvalid]. It hashes everything but sealed events, so it is done before any
// lock is taken.
func (b Batch) Validate() error {
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("append: %w: %s", ErrInvalid, fmt.Sprintf(format, args...))
	}
	switch {
	case artifact.CheckIdentifier(b.Exec) != nil:
		return invalid("the execution id is not an identifier")
	case len(b.Events) > MaxEvents:
		return invalid("%d events, want 1 to %d", len(b.Events), MaxEvents)
	case len(b.Taken) > MaxMessages:
		return invalid("%d messages are taken, an inbox has at most %d", len(b.Taken), MaxMessages)
	case len(b.Events) == 0:
		if problem := b.onlyTakes(); problem != "" {
			return invalid("%s", problem)
		}
		return nil
	case b.Head.Status != "" && b.Head.Status != Running && b.Head.Status != Suspended:
		return invalid("status %q", b.Head.Status)
	case len(b.Head.Reason) > MaxReason:
		return invalid("the reason is longer than %d bytes", MaxReason)
	}
	size := 0
	for i, r := range b.Events {
		if problem := b.checkEvent(i, r); problem != "" {
			return invalid("event %d: %s", b.Next+uint64(i), problem)
		}
		size += len(r.Bytes)
	}
	for _, blob := range b.Blobs {
		if problem := blob.check(); problem != "" {
			return invalid("blob: %s", problem)
		}
		size += len(blob.Bytes)
	}
	if c := b.Checkpoint; c != nil {
		size += len(c.Bytes)
	}
	if size > MaxBatch {
		return invalid("%d bytes, more than %d", size, MaxBatch)
	}
	if problem := b.checkBeside(); problem != "" {
		return invalid("%s", problem)
	}
	return nil
}

// checkBeside checks what is stored beside the log.
func (b Batch) checkBeside() string {
	if c := b.Checkpoint; c != nil {
		if c.Seq < b.Next || c.Seq >= b.Next+uint64(len(b.Events)) {
			return "the checkpoint is not at an event of the batch"
		}
		if len(c.Bytes) > MaxCheckpoint || len(c.Bytes) == 0 {
			return fmt.Sprintf("the checkpoint has %d bytes, want 1 to %d", len(c.Bytes), MaxCheckpoint)
		}
		if !c.Digest.IsZero() && c.Digest != artifact.Sum(c.Bytes) {
			return "the checkpoint's digest is not that of its bytes"
		}
	}
	for _, in := range b.Intents {
		if in.Key == "" || len(in.Key) > MaxKey {
			return fmt.Sprintf("an intent's key has %d bytes, want 1 to %d", len(in.Key), MaxKey)
		}
	}
	for _, t := range b.Timers {
		if artifact.CheckIdentifier(t.ID) != nil {
			return "a timer's id is not an identifier"
		}
	}
	return ""
}

func (b Batch) checkEvent(i int, r event.Record) string {
	if !r.Sealed() {
		read, err := event.Read(r.Bytes)
		if err != nil {
			return err.Error()
		}
		if read.Header != r.Header || read.Digest != r.Digest {
			return "header or digest is not that of its bytes"
		}
	}
	switch {
	case r.Exec != b.Exec:
		return "belongs to another run"
	case r.Seq != b.Next+uint64(i):
		return "is out of sequence"
	case i > 0 && r.Prev != b.Events[i-1].Digest:
		return "does not name the event before"
	case i+1 < len(b.Events) && r.Type.Ends():
		return "ends the run, and more follows"
	case (r.Type == event.TypeStarted) != (r.Seq == 1):
		return "a run starts with started, once"
	}
	return ""
}

func (b Blob) check() string {
	if len(b.Bytes) > MaxBlob {
		return fmt.Sprintf("has more than %d bytes", MaxBlob)
	}
	digest := artifact.Sum(b.Bytes)
	if b.Salt != nil {
		digest = b.Salt.Digest(b.Bytes)
	}
	if digest != b.Digest {
		return "the digest is not that of its bytes"
	}
	return ""
}
