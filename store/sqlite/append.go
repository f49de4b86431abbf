package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"fmt"
	"time"

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
	a := &appending{batch: b, now: s.now, cache: s.snapshots}
	var err error
	if a.lines, err = lines(b.Events); err != nil {
		return err
	}
	if b.Next == 1 {
		if a.start, err = store.Summarize(b.Events[0], store.Head{}); err != nil {
			return fmt.Errorf("append: %w: %v", store.ErrInvalid, err)
		}
	}
	if b.Checkpoint != nil {
		if a.point, err = s.prepareSnapshot(ctx, b, a.lines); err != nil {
			return err
		}
		c := *b.Checkpoint
		c.Digest = a.point.digest // so that nothing is hashed while others wait
		a.batch.Checkpoint = &c
	}
	return s.submit(ctx, &request{do: a.do, after: a.remember})
}

// lines gives events as they are stored, each with a line break behind it, which
// none has inside.
func lines(events []event.Record) ([]byte, error) {
	size := len(events)
	for _, r := range events {
		size += len(r.Bytes)
	}
	text := make([]byte, 0, size)
	for _, r := range events {
		if bytes.IndexByte(r.Bytes, '\n') >= 0 {
			return nil, fmt.Errorf("append: %w: event %d holds a line break", store.ErrInvalid, r.Seq)
		}
		text = append(append(text, r.Bytes...), '\n')
	}
	return text, nil
}

// appending is one batch on its way.
type appending struct {
	batch store.Batch
	now   func() time.Time
	cache *snapshotCache
	lines []byte        // the events
	start store.Summary // of the first batch of a run
	point *snapshot     // nil without a checkpoint

	run knownRun // after the batch
}

// remember keeps what the next batch of the run is compared with. Nothing is kept
// of a run that waits or has ended: there may be many, for long.
func (a *appending) remember(w *writer) {
	b := a.batch
	if b.Head.Status == store.Suspended || b.Events[len(b.Events)-1].Type.Ends() {
		delete(w.known, b.Exec)
		a.cache.drop(b.Exec)
		return
	}
	w.remember(b.Exec, a.run)
	switch {
	case a.point == nil:
	case len(a.point.bytes) < smallest:
		a.cache.drop(b.Exec)
	default:
		a.cache.put(b.Exec, a.point.kept)
	}
}

// do writes the batch. Whatever forbids it is found before anything is written,
// except for an intent's key, which is found out by writing it.
func (a *appending) do(w *writer) error {
	b := a.batch
	newest, err := a.advance(w)
	if err != nil {
		return err
	}
	if err := a.writeLog(w, newest); err != nil {
		return err
	}
	if b.Next == 1 {
		s := a.start
		if _, err := w.setStart.exec(s.Graph[:], s.Owner, s.Parent, s.Started.UnixMilli(), a.run.id); err != nil {
			return err
		}
	}
	if err := a.writeIntents(w); err != nil {
		return err
	}
	return a.writeBeside(w)
}

// advance moves the head of the run and gives the sequence of what was its newest
// checkpoint. A run that is known is moved by one statement, if nothing of it but
// the head changes and its row is still as it was; else the row is read. As every
// batch changes the digest, and a lease has an end that only its owner moves, the
// row is as it was if digest, end and fence are.
func (a *appending) advance(w *writer) (newest uint64, err error) {
	b, now := a.batch, a.now()
	last := b.Events[len(b.Events)-1]
	if known, ok := w.known[b.Exec]; ok {
		was := known.head
		h, err := b.Follow(was, now)
		if err == nil && h.Status == was.Status && h.Reason == was.Reason && len(b.Head.Signed) == 0 {
			moved, err := w.moveRun.change(int64(h.Seq), h.Digest[:], int64(h.Checkpoint.Seq), h.Checkpoint.Digest[:], last.AtMS,
				known.id, was.Digest[:], leaseMS(was), int64(was.Fence))
			if err != nil || moved {
				a.run = knownRun{known.id, h}
				return was.Checkpoint.Seq, err
			}
		}
	}
	id, was, err := w.run(b.Exec)
	if err != nil {
		return 0, err
	}
	h, err := b.Follow(was, now)
	if err != nil {
		return 0, &refusal{err}
	}
	if id, err = w.makeRun(id, b.Exec); err != nil {
		return 0, err
	}
	a.run = knownRun{id, h}
	_, err = w.setRun.exec(int64(h.Seq), h.Digest[:], int64(h.Checkpoint.Seq), h.Checkpoint.Digest[:], last.AtMS,
		string(h.Status), h.Reason, h.Signed, id)
	return was.Checkpoint.Seq, err
}

// run gives the number and the head of a run, zero if there is none. The head
// has no intents.
func (w *writer) run(exec string) (id int64, h store.Head, err error) {
	found, err := w.selectRun.row(exec)
	if err == nil && found != nil {
		id, h, err = scanRun(found)
	}
	h.Exec = exec
	return id, h, err
}

// scanRun reads runColumns, and what more was selected after them.
func scanRun(r interface{ Scan(...any) error }, more ...any) (id int64, h store.Head, err error) {
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

// leaseMS is when the lease of a run ends, as it is stored.
func leaseMS(h store.Head) int64 {
	if h.Owner == "" {
		return 0
	}
	return h.Expires.UnixMilli()
}

func (w *writer) makeRun(id int64, exec string) (int64, error) {
	if id != 0 {
		return id, nil
	}
	result, err := w.insertRun.exec(exec)
	if err != nil {
		return 0, err
	}
	if id, err = result.LastInsertId(); err == nil && id > largestRun {
		err = store.ErrFull
	}
	return id, err
}

func key(run int64, seq uint64) int64 { return run<<32 | int64(seq) }

// writeLog writes the row of the batch: its checkpoint as it was prepared if the
// run's newest one is still the one that it was compared with, and whole otherwise.
func (a *appending) writeLog(w *writer, newest uint64) error {
	args := make([]driver.Value, 9)
	args[0], args[1] = key(a.run.id, a.batch.Next), a.lines
	if p := a.point; p != nil {
		if p.base != 0 && p.follows != newest {
			p.whole()
		}
		copy(args[2:], []driver.Value{int64(p.seq), p.digest[:], int64(p.rank), int64(p.base), int64(p.form), int64(len(p.bytes)), p.data})
	}
	_, err := w.insertLog.exec(args...)
	return err
}

// writeIntents fails for keys that were used and for outcomes of what is not open.
func (a *appending) writeIntents(w *writer) error {
	for _, in := range a.batch.Intents {
		var new bool
		var err error
		if in.Done {
			new, err = w.closeIntent.change(a.run.id, in.Key)
		} else {
			new, err = w.insertIntent.change(a.run.id, in.Key, int64(in.Seq))
		}
		if err == nil && !new {
			err = fmt.Errorf("append to %s: %w: an intent is there already, or is not open", a.batch.Exec, store.ErrConflict)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *appending) writeBeside(w *writer) error {
	run := a.run.id
	for _, c := range a.batch.Blobs {
		if _, err := w.putBlob.exec(c.Digest[:], nonNil(c.Bytes)); err != nil {
			return err
		}
		if _, err := w.holdBlob.exec(run, c.Digest[:]); err != nil {
			return err
		}
	}
	if err := w.takeMessages(run, a.batch); err != nil {
		return err
	}
	if a.run.head.Status.Ended() {
		return w.dropOpen(run)
	}
	for _, t := range a.batch.Timers {
		var err error
		if t.Stop {
			_, err = w.dropTimer.exec(run, t.ID)
		} else {
			_, err = w.setTimer.exec(run, t.ID, t.Due.UnixMilli())
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

// Lease implements [store.Store].
func (s *Store) Lease(ctx context.Context, exec, owner string, ttl time.Duration) (fence uint64, err error) {
	if err := store.CheckLease(exec, owner); err != nil {
		return 0, err
	}
	var run knownRun
	r := &request{do: func(w *writer) error {
		id, have, err := w.run(exec)
		if err != nil {
			return err
		}
		after, err := have.Take(owner, ttl, s.now())
		if err != nil {
			return &refusal{err}
		}
		if id == 0 && ttl <= 0 {
			return nil // nothing to give up
		}
		if id, err = w.makeRun(id, exec); err != nil {
			return err
		}
		run, fence = knownRun{id, after}, after.Fence
		_, err = w.setLease.exec(after.Owner, leaseMS(after), int64(after.Fence), id)
		return err
	}}
	r.after = func(w *writer) {
		if run.head.Owner != "" {
			w.remember(exec, run) // whoever has the lease is about to append
		} else {
			delete(w.known, exec)
		}
	}
	if err := s.submit(ctx, r); err != nil {
		return 0, err
	}
	return fence, nil
}

var _ interface {
	store.Store
	store.Remover
} = (*Store)(nil)
