// Package store is where runs are kept: the interface that an engine needs of a
// store, and what every store checks alike.
//
// A [Store] keeps, for each execution, a log of events that only grows, and
// beside it the newest checkpoint, open effect intents, timers and blobs. All of
// a [Batch] is stored in one transaction or none of it. Drivers are packages
// below this one: store/sqlite is the default. A driver passes the suite of
// store/storetest and uses [Batch.Validate] and [Batch.Follow], so that all refuse
// the same batches for the same reasons.
//
// Execution ids may look like paths; a store never makes a path of one. No error
// quotes content.
package store

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
)

// Store keeps runs. All methods may be called concurrently, also from several
// processes where the driver allows it. What a method returned without an error
// survives a crash.
type Store interface {
	// Append stores all of b or nothing. It fails with [ErrConflict] if b.Next is
	// not the next sequence, with [ErrFenced] if b.Fence is not that of the lease
	// that is in force, with [ErrEnded] or [ErrDeleted] if the run is over or gone,
	// with [ErrInvalid] if b contradicts itself, with [ErrFull], and with [ErrBusy]
	// while another process holds the store for too long. With [ErrUncertain], and only then, it is unknown whether b was stored; Head tells.
	// A context that ends while b is being stored does not interrupt it.
	Append(ctx context.Context, b Batch) error

	// Events gives the events of a run from sequence from (0 and 1 are the same).
	// Each is in its place: sequences have no gaps. What is appended meanwhile may
	// or may not be given. [ErrNotFound] and [ErrDeleted] come as its only element.
	Events(ctx context.Context, exec string, from uint64) iter.Seq2[event.Record, error]

	// Head gives what is known of a run without reading its log. It fails with
	// [ErrNotFound]. The head of a deleted run is its tombstone.
	Head(ctx context.Context, exec string) (Head, error)

	// Lease gives owner the sole right to append to a run for ttl, and the fence
	// that its batches must carry. The run need not exist yet. Asking again while
	// the lease is in force renews it and gives the same fence; after it has ended,
	// a higher one. A ttl of 0 or less gives the lease up, if it is owner's. It
	// fails with [ErrLeased] while somebody else has the lease, and with
	// [ErrDeleted].
	Lease(ctx context.Context, exec, owner string, ttl time.Duration) (fence uint64, err error)

	// Due gives at most n timers that are due at now, ordered by due time, then by
	// run and id. They stay until a batch removes them.
	Due(ctx context.Context, now time.Time, n int) ([]Timer, error)

	// List gives the runs that q asks for, ordered by execution id in byte order.
	List(ctx context.Context, q Query) iter.Seq2[Summary, error]

	// Checkpoint gives the bytes of the checkpoint that was stored at event seq of
	// a run, as they were given: the caller holds them against the digest that it
	// knows. It fails with [ErrNotFound] if there is none at that event, and with
	// [ErrDeleted] if the run is gone.
	Checkpoint(ctx context.Context, exec string, seq uint64) ([]byte, error)

	// Blob gives the content of a blob under its digest. It fails with
	// [ErrNotFound], and with [ErrDeleted] for content that was erased.
	Blob(ctx context.Context, d artifact.Digest) (io.ReadCloser, error)
}

// Remover is the part of a store that deletes. It is not for an engine.
type Remover interface {
	// Delete removes the content of a run that has ended, or that has no lease in
	// force when force is set. Blobs that another run refers to stay. What remains
	// is a tombstone: id, status, number of events and final digest. The id is
	// never used again. It fails with [ErrNotFound], [ErrDeleted], [ErrRunning] and
	// [ErrLeased].
	Delete(ctx context.Context, exec string, force bool) (Head, error)

	// Prune deletes the runs that ended before the given time, at most n of them,
	// oldest first, and says how many.
	Prune(ctx context.Context, endedBefore time.Time, n int) (int, error)

	// Erase overwrites the content of a blob, such as a salt, in every file of the
	// store. The digest remains known as erased. Checkpoints cannot be erased; they
	// go with their run. It fails with [ErrNotFound].
	Erase(ctx context.Context, d artifact.Digest) error
}

// Status says what a run is doing, as far as the store knows it.
type Status string

// The statuses. A store derives those of ended runs from the log; the writer
// says whether a run is running or suspended.
const (
	Running    Status = "running"
	Suspended  Status = "suspended"
	Terminated Status = "terminated"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
	Abandoned  Status = "abandoned"
)

// Ended reports whether nothing can be appended any more.
func (s Status) Ended() bool {
	return s == Terminated || s == Failed || s == Cancelled || s == Abandoned
}

// Head is what a store knows of a run.
type Head struct {
	event.Head
	Status     Status
	Reason     string     // why it is suspended, as the last batch said
	Signed     []byte     // newest signed head (see event.SignHead); may be older than Head
	Checkpoint Checkpoint // the newest one, without its bytes; Seq 0 for none
	Intents    []Intent   // open ones, by sequence and key
	Owner      string     // of the lease; "" if none is in force
	Fence      uint64     // of the newest lease
	Expires    time.Time  // of the lease
	Deleted    time.Time  // when the run became a tombstone; zero if it did not
}

// Query selects runs. The zero value selects all that are not deleted.
type Query struct {
	Status  []Status        // any of these; nil for all
	Graph   artifact.Digest // of the definition; zero for all
	Owner   string          // the principal to whom the run belongs; "" for all
	Parent  string          // execution id of the run it descends from; "" for all
	After   string          // only ids greater than this one, for the next page
	Limit   int             // 0 for no limit
	Deleted bool            // tombstones too
}

// Selects reports whether the query, apart from After and Limit, asks for s.
func (q Query) Selects(s Summary) bool {
	switch {
	case len(q.Status) > 0 && !slices.Contains(q.Status, s.Status):
	case !q.Graph.IsZero() && q.Graph != s.Graph:
	case q.Owner != "" && q.Owner != s.Owner:
	case q.Parent != "" && q.Parent != s.Parent:
	case !q.Deleted && !s.Deleted.IsZero():
	default:
		return true
	}
	return false
}

// Summarize gives what a list says of a run, from its first event and its head.
// The time of the last event is not in either.
func Summarize(first event.Record, h Head) (Summary, error) {
	s := Summary{Head: h.Head, Status: h.Status, Reason: h.Reason, Deleted: h.Deleted}
	e, err := first.Decode()
	if err != nil {
		return s, fmt.Errorf("first event of %s: %w", h.Exec, err)
	}
	s.Started = time.UnixMilli(e.AtMS)
	if started, ok := e.Body.(*event.Started); ok {
		s.Graph, s.Owner = started.Graph, started.Owner
		if started.Parent != nil {
			s.Parent = started.Parent.Exec
		}
	}
	return s, nil
}

// Summary is one run of a list. What concerns the start is from its first event.
type Summary struct {
	event.Head
	Status  Status
	Reason  string
	Graph   artifact.Digest
	Owner   string // the principal
	Parent  string
	Started time.Time
	Updated time.Time // of the last event
	Deleted time.Time
}
