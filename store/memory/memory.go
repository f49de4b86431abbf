// Package memory is a store that lives in the process: for tests, simulations
// and runs that nobody needs afterwards. It passes the same suite as every other
// store, except that nothing survives the process.
package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
)

// Store implements [store.Store], [store.Remover] and [store.Inbox]. Make one with
// [New].
type Store struct {
	now func() time.Time

	mu     sync.RWMutex
	closed bool
	runs   map[string]*run
	blobs  map[artifact.Digest]*blob
	posted uint64 // sequence of the newest message
}

type run struct {
	head    store.Head // without intents
	log     []batch    // as they came
	summary store.Summary
	intents map[string]store.Intent
	timers  map[string]time.Time
	blobs   map[artifact.Digest]bool
	inbox   []store.Message // oldest first
}

// batch is one as it is kept: in few pieces, since there are many.
type batch struct {
	first      uint64   // sequence of its first event
	text       []byte   // the events, one behind the other
	ends       []uint32 // where each ends
	point      uint64   // the event of its checkpoint; 0 for none
	checkpoint []byte
}

func batchOf(b store.Batch) batch {
	size := 0
	for _, e := range b.Events {
		size += len(e.Bytes)
	}
	kept := batch{first: b.Next, text: make([]byte, 0, size), ends: make([]uint32, 0, len(b.Events))}
	for _, e := range b.Events {
		kept.text = append(kept.text, e.Bytes...)
		kept.ends = append(kept.ends, uint32(len(kept.text)))
	}
	if b.Checkpoint != nil {
		kept.point, kept.checkpoint = b.Checkpoint.Seq, b.Checkpoint.Bytes
	}
	return kept
}

// event gives the i-th event.
func (b batch) event(i int) (event.Record, error) {
	begin := uint32(0)
	if i > 0 {
		begin = b.ends[i-1]
	}
	return event.Read(b.text[begin:b.ends[i]:b.ends[i]])
}

// from gives the batches from the one with that sequence on.
func (r *run) from(seq uint64) []batch {
	i, found := slices.BinarySearchFunc(r.log, seq, func(b batch, seq uint64) int { return cmp.Compare(b.first, seq) })
	if !found {
		i--
	}
	return r.log[max(i, 0):]
}

type blob struct {
	bytes  []byte
	erased bool
	runs   int // that refer to it
}

// New gives an empty store. The clock decides about leases; nil is time.Now.
func New(now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	return &Store{now: now, runs: map[string]*run{}, blobs: map[artifact.Digest]*blob{}}
}

// Close makes every later call fail with [store.ErrClosed].
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// Append implements [store.Store].
func (s *Store) Append(ctx context.Context, b store.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := b.Validate(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	r := s.runs[b.Exec]
	if r == nil {
		r = newRun(b.Exec)
	}
	after, err := b.Follow(r.head, s.now())
	if err != nil {
		return err
	}
	if err := r.checkIntents(b); err != nil {
		return err
	}
	if err := r.checkTaken(b); err != nil {
		return err
	}
	if len(b.Events) == 0 {
		r.take(b.Taken)
		return nil
	}
	summary := r.summary
	if b.Next == 1 {
		if summary, err = store.Summarize(b.Events[0], after); err != nil {
			return fmt.Errorf("append: %w: %v", store.ErrInvalid, err)
		}
	}
	s.runs[b.Exec] = r // from here on nothing fails
	summary.Head, summary.Status, summary.Reason = after.Head, after.Status, after.Reason
	summary.Updated = time.UnixMilli(b.Events[len(b.Events)-1].AtMS)
	r.head, r.summary = after, summary
	s.keep(r, b)
	return nil
}

func newRun(exec string) *run {
	return &run{
		head:    store.Head{Head: event.Head{Exec: exec}},
		intents: map[string]store.Intent{},
		timers:  map[string]time.Time{},
		blobs:   map[artifact.Digest]bool{},
	}
}

func (r *run) checkIntents(b store.Batch) error {
	next := map[string]store.Intent{} // as the batch so far leaves them
	for _, in := range b.Intents {
		was, known := next[in.Key]
		if !known {
			was, known = r.intents[in.Key]
		}
		if known && !in.Done || in.Done && (!known || was.Done) {
			return fmt.Errorf("append to %s: %w: an intent is there already, or is not open", b.Exec, store.ErrConflict)
		}
		was.Done = in.Done
		next[in.Key] = was
	}
	return nil
}

func (s *Store) keep(r *run, b store.Batch) {
	if len(b.Events) > 0 {
		r.log = append(r.log, batchOf(b))
	}
	for _, in := range b.Intents {
		if in.Done {
			in.Seq = r.intents[in.Key].Seq
		}
		r.intents[in.Key] = in
	}
	for _, t := range b.Timers {
		if delete(r.timers, t.ID); !t.Stop {
			r.timers[t.ID] = t.Due.Truncate(time.Millisecond)
		}
	}
	r.take(b.Taken)
	if r.head.Status.Ended() {
		clear(r.timers)
		r.inbox = nil
	}
	for _, c := range b.Blobs {
		s.put(r, c.Digest, c.Bytes)
	}
}

func (s *Store) put(r *run, d artifact.Digest, data []byte) {
	c := s.blobs[d]
	if c == nil {
		c = &blob{}
		s.blobs[d] = c
	}
	if c.bytes == nil {
		c.bytes, c.erased = append([]byte{}, data...), false
	}
	if !r.blobs[d] {
		r.blobs[d] = true
		c.runs++
	}
}

// Events implements [store.Store].
func (s *Store) Events(ctx context.Context, exec string, from uint64) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		s.mu.RLock()
		log, err := s.log(exec, from)
		s.mu.RUnlock()
		if err != nil {
			yield(event.Record{}, err)
			return
		}
		for _, b := range log {
			for i := range b.ends {
				if b.first+uint64(i) < from {
					continue
				}
				e, err := b.event(i)
				if err == nil {
					err = ctx.Err()
				}
				if err != nil {
					yield(event.Record{}, err)
					return
				}
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

func (s *Store) log(exec string, from uint64) ([]batch, error) {
	r, err := s.find(exec)
	if err != nil {
		return nil, err
	}
	if !r.head.Deleted.IsZero() {
		return nil, fmt.Errorf("events of %s: %w", exec, store.ErrDeleted)
	}
	return r.from(from), nil
}

// Checkpoint implements [store.Store].
func (s *Store) Checkpoint(_ context.Context, exec string, seq uint64) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r, err := s.find(exec)
	if err != nil {
		return nil, err
	}
	if !r.head.Deleted.IsZero() {
		return nil, fmt.Errorf("checkpoint at event %d of %s: %w", seq, exec, store.ErrDeleted)
	}
	if log := r.from(seq); seq > 0 && len(log) > 0 && log[0].point == seq {
		return bytes.Clone(log[0].checkpoint), nil
	}
	return nil, fmt.Errorf("checkpoint at event %d of %s: %w", seq, exec, store.ErrNotFound)
}

// find gives a run that has events, or had.
func (s *Store) find(exec string) (*run, error) {
	if s.closed {
		return nil, store.ErrClosed
	}
	r := s.runs[exec]
	if r == nil || r.head.Seq == 0 {
		return nil, fmt.Errorf("run %.130q: %w", exec, store.ErrNotFound)
	}
	return r, nil
}

// Head implements [store.Store].
func (s *Store) Head(_ context.Context, exec string) (store.Head, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r, err := s.find(exec)
	if err != nil {
		return store.Head{}, err
	}
	h := r.head
	h.Signed = bytes.Clone(h.Signed)
	if !h.Leased(s.now()) {
		h.Owner = ""
	}
	for _, in := range r.intents {
		if !in.Done {
			h.Intents = append(h.Intents, in)
		}
	}
	slices.SortFunc(h.Intents, func(a, b store.Intent) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Key, b.Key))
	})
	return h, nil
}

// Lease implements [store.Store].
func (s *Store) Lease(ctx context.Context, exec, owner string, ttl time.Duration) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := store.CheckLease(exec, owner); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, store.ErrClosed
	}
	r := s.runs[exec]
	if r == nil {
		r = newRun(exec)
	}
	after, err := r.head.Take(owner, ttl, s.now())
	if err != nil {
		return 0, err
	}
	if r.head = after; after.Fence > 0 {
		s.runs[exec] = r
	}
	return after.Fence, nil
}

// Due implements [store.Store].
func (s *Store) Due(_ context.Context, now time.Time, n int) ([]store.Timer, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, store.ErrClosed
	}
	var due []store.Timer
	for exec, r := range s.runs {
		for id, at := range r.timers {
			if !at.After(now) {
				due = append(due, store.Timer{Exec: exec, ID: id, Due: at})
			}
		}
	}
	slices.SortFunc(due, func(a, b store.Timer) int {
		return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Exec, b.Exec), cmp.Compare(a.ID, b.ID))
	})
	return due[:min(len(due), max(n, 0))], nil
}

// List implements [store.Store].
func (s *Store) List(ctx context.Context, q store.Query) iter.Seq2[store.Summary, error] {
	return func(yield func(store.Summary, error) bool) {
		s.mu.RLock()
		closed := s.closed
		var found []store.Summary
		for _, exec := range artifact.SortedNames(s.runs) {
			r := s.runs[exec]
			if exec > q.After && r.head.Seq > 0 && q.Selects(r.summary) && (q.Limit <= 0 || len(found) < q.Limit) {
				found = append(found, r.summary)
			}
		}
		s.mu.RUnlock()
		if closed {
			yield(store.Summary{}, store.ErrClosed)
			return
		}
		for _, found := range found {
			if err := ctx.Err(); err != nil {
				yield(store.Summary{}, err)
				return
			}
			if !yield(found, nil) {
				return
			}
		}
	}
}

// Blob implements [store.Store].
func (s *Store) Blob(_ context.Context, d artifact.Digest) (io.ReadCloser, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, store.ErrClosed
	}
	c := s.blobs[d]
	switch {
	case c == nil:
		return nil, fmt.Errorf("blob %s: %w", d, store.ErrNotFound)
	case c.erased:
		return nil, fmt.Errorf("blob %s: %w", d, store.ErrDeleted)
	}
	return io.NopCloser(bytes.NewReader(bytes.Clone(c.bytes))), nil // Erase overwrites
}
