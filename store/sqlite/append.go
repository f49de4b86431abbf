package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
)

// Append implements [store.Store].
func (s *Store) Append(ctx context.Context, b store.Batch) error {
	if err := b.Validate(); err != nil {
		return err
	}
	if b.Next+uint64(len(b.Events)) > largestSeq {
		return fmt.Errorf("append to %s: %w: more than %d events", b.Exec, store.ErrInvalid, largestSeq)
	}
	if len(b.Events) == 0 {
		return s.take(ctx, b)
	}
	a := &appending{batch: b, now: s.now}
	if b.Next == 1 {
		var err error
		if a.start, err = store.Summarize(b.Events[0], store.Head{}); err != nil {
			return fmt.Errorf("append: %w: %v", store.ErrInvalid, err)
		}
	}
	if b.Checkpoint != nil {
		var err error
		if a.point, err = s.prepareSnapshot(ctx, b); err != nil {
			return err
		}
		c := *b.Checkpoint
		c.Digest = a.point.digest // so that the committer hashes nothing
		a.batch.Checkpoint = &c
	}
	return s.submit(ctx, &request{do: a.do, after: func() { a.remember(s.snapshots) }})
}

// remember keeps the checkpoint for the next one to be compared with. Nothing is
// kept of a run that waits or has ended: there may be many, for long.
func (a *appending) remember(c *snapshotCache) {
	b := a.batch
	switch {
	case b.Head.Status == store.Suspended || b.Events[len(b.Events)-1].Type.Ends():
		c.drop(b.Exec)
	case a.point == nil:
	case len(a.point.bytes) < smallest:
		c.drop(b.Exec)
	default:
		c.put(b.Exec, a.point.kept)
	}
}

// appending is one batch on its way.
type appending struct {
	batch store.Batch
	now   func() time.Time
	start store.Summary // of the first batch of a run
	point *snapshot     // nil without a checkpoint
}

// do checks everything before it writes anything.
func (a *appending) do(w *writer) error {
	b := a.batch
	run, have, err := w.run(b.Exec)
	if err != nil {
		return err
	}
	after, err := b.Follow(have, a.now())
	if err != nil {
		return &refusal{err}
	}
	if err := w.checkIntents(run, b); err != nil {
		return err
	}
	if err := w.checkTaken(run, b); err != nil {
		return err
	}
	if run, err = w.makeRun(run, b.Exec); err != nil {
		return err
	}
	if err := w.writeLog(run, after, b); err != nil {
		return err
	}
	if b.Next == 1 {
		s := a.start
		if _, err := w.setStart.Exec(s.Graph[:], s.Owner, s.Parent, s.Started.UnixMilli(), run); err != nil {
			return err
		}
	}
	if a.point != nil {
		if err := w.writePoint(run, have.Checkpoint.Seq, a.point); err != nil {
			return err
		}
	}
	return w.writeBeside(run, after, b)
}

// run gives the number and the head of a run, zero if there is none. The head
// has no intents.
func (w *writer) run(exec string) (id int64, h store.Head, err error) {
	id, h, err = scanRun(w.selectRun.QueryRow(exec))
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	h.Exec = exec
	return id, h, err
}

// row is what both *sql.Row and *sql.Rows are.
type row interface{ Scan(...any) error }

// scanRun reads runColumns, and what more was selected after them.
func scanRun(r row, more ...any) (id int64, h store.Head, err error) {
	var digest, pointSum []byte
	var leaseMS, deleteMS int64
	err = r.Scan(append([]any{
		&id, &h.Seq, &digest, &h.Status, &h.Reason, &h.Signed, &h.Checkpoint.Seq, &pointSum,
		&h.Owner, &leaseMS, &h.Fence, &deleteMS,
	}, more...)...)
	copy(h.Digest[:], digest)
	copy(h.Checkpoint.Digest[:], pointSum)
	if h.Owner != "" {
		h.Expires = time.UnixMilli(leaseMS)
	}
	if deleteMS != 0 {
		h.Deleted = time.UnixMilli(deleteMS)
	}
	return id, h, err
}

func (w *writer) makeRun(id int64, exec string) (int64, error) {
	if id != 0 {
		return id, nil
	}
	result, err := w.insertRun.Exec(exec)
	if err != nil {
		return 0, err
	}
	if id, err = result.LastInsertId(); err == nil && id > largestRun {
		err = store.ErrFull
	}
	return id, err
}

func key(run int64, seq uint64) int64 { return run<<32 | int64(seq) }

func (w *writer) writeLog(run int64, after store.Head, b store.Batch) error {
	for _, r := range b.Events {
		if _, err := w.insertEvent.Exec(key(run, r.Seq), r.Bytes); err != nil {
			return err
		}
	}
	last := b.Events[len(b.Events)-1]
	_, err := w.setRun.Exec(int64(after.Seq), after.Digest[:], string(after.Status), after.Reason, after.Signed,
		int64(after.Checkpoint.Seq), after.Checkpoint.Digest[:], last.AtMS, run)
	return err
}

// checkIntents refuses keys that were used and outcomes of what is not open.
func (w *writer) checkIntents(run int64, b store.Batch) error {
	const unknown, open, done = -1, 0, 1
	states := map[string]int{}
	for _, in := range b.Intents {
		state, seen := states[in.Key]
		if !seen {
			switch err := w.selectIntent.QueryRow(run, in.Key).Scan(&state); {
			case errors.Is(err, sql.ErrNoRows):
				state = unknown
			case err != nil:
				return err
			}
		}
		if in.Done != (state == open) || state == done {
			return &refusal{fmt.Errorf("append to %s: %w: an intent is there already, or is not open", b.Exec, store.ErrConflict)}
		}
		states[in.Key] = open
		if in.Done {
			states[in.Key] = done
		}
	}
	return nil
}

func (w *writer) writeBeside(run int64, after store.Head, b store.Batch) error {
	for _, in := range b.Intents {
		var err error
		if in.Done {
			_, err = w.closeIntent.Exec(run, in.Key)
		} else {
			_, err = w.insertIntent.Exec(run, in.Key, int64(in.Seq), 0)
		}
		if err != nil {
			return err
		}
	}
	for _, c := range b.Blobs {
		if _, err := w.putBlob.Exec(c.Digest[:], nonNil(c.Bytes)); err != nil {
			return err
		}
		if _, err := w.holdBlob.Exec(run, c.Digest[:]); err != nil {
			return err
		}
	}
	if err := w.takeMessages(run, b.Taken); err != nil {
		return err
	}
	if after.Status.Ended() {
		return w.dropOpen(run)
	}
	for _, t := range b.Timers {
		var err error
		if t.Stop {
			_, err = w.dropTimer.Exec(run, t.ID)
		} else {
			_, err = w.setTimer.Exec(run, t.ID, t.Due.UnixMilli())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// nonNil keeps empty content apart from content that was erased.
func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// writePoint stores a checkpoint as it was prepared if the run's newest one is
// still the one it was compared with, and whole otherwise.
func (w *writer) writePoint(run int64, newest uint64, p *snapshot) error {
	if p.base != 0 && p.follows != newest {
		p.whole()
	}
	_, err := w.insertPoint.Exec(key(run, p.kept.seq), pointHash(p.kept.digest), p.kept.digest[:], p.kept.rank,
		int64(p.base), int64(p.first), int64(p.last), p.form, len(p.kept.bytes), p.data)
	return err
}

func pointHash(d artifact.Digest) int64 { return int64(binary.BigEndian.Uint64(d[:8])) }

// Lease implements [store.Store].
func (s *Store) Lease(ctx context.Context, exec, owner string, ttl time.Duration) (fence uint64, err error) {
	if err := store.CheckLease(exec, owner); err != nil {
		return 0, err
	}
	err = s.submit(ctx, &request{do: func(w *writer) error {
		run, have, err := w.run(exec)
		if err != nil {
			return err
		}
		after, err := have.Take(owner, ttl, s.now())
		if err != nil {
			return &refusal{err}
		}
		if run == 0 && ttl <= 0 {
			return nil // nothing to give up
		}
		if run, err = w.makeRun(run, exec); err != nil {
			return err
		}
		fence = after.Fence
		ends := int64(0)
		if after.Owner != "" {
			ends = after.Expires.UnixMilli()
		}
		_, err = w.setLease.Exec(after.Owner, ends, int64(after.Fence), run)
		return err
	}})
	if err != nil {
		return 0, err
	}
	return fence, nil
}

var _ interface {
	store.Store
	store.Remover
} = (*Store)(nil)

// recordAt gives the record in its place, or ErrDamaged.
func recordAt(bytes []byte, exec string, seq uint64) (event.Record, error) {
	r, err := event.Read(bytes)
	if err != nil || r.Exec != exec || r.Seq != seq {
		return event.Record{}, fmt.Errorf("event %d of %s: %w", seq, exec, store.ErrDamaged)
	}
	return r, nil
}
