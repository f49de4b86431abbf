package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
)

// The errors of a [FaultyStore].
var (
	ErrInjected = errors.New("injected fault")
	ErrCrashed  = errors.New("the process has crashed")
)

// Fault is what becomes of one write.
type Fault int

// The faults. A write that is refused fails with [ErrInjected] or, if it is
// full, with [store.ErrFull]. A crash makes the write and every later call fail
// with [ErrCrashed] until [FaultyStore.Restart].
const (
	Pass          Fault = iota
	Refuse              // nothing is stored, and the writer learns it
	Full                // the same, for want of space
	Uncertain           // nothing is stored, and the writer learns only that it is uncertain
	UncertainKept       // it is stored, and the writer learns only that it is uncertain
	CrashBefore         // the crash comes before the write is durable: it is lost
	CrashAfter          // the crash comes after, before the writer learns it
)

// Write is one write to a store.
type Write struct {
	N     int    // how many writes came before it, counted across restarts
	Exec  string // the run
	Lease bool   // a lease, not a batch
	Post  bool   // a message, not a batch
	Batch store.Batch
}

// FaultyStore passes calls on to a store and makes chosen writes go wrong. It has
// the inbox of that store, or one that always fails.
type FaultyStore struct {
	inner store.Store
	plan  func(Write) Fault

	mu      sync.Mutex
	writes  int
	crashed bool
}

// Faulty wraps a store. The plan is asked about every write, one at a time; nil
// lets all pass. A crash of the wrapper is one of the process: what the inner
// store acknowledged is durable, so nothing else can be lost.
func Faulty(inner store.Store, plan func(Write) Fault) *FaultyStore {
	if plan == nil {
		plan = func(Write) Fault { return Pass }
	}
	return &FaultyStore{inner: inner, plan: plan}
}

// At is a plan by which the n-th write, from 0, meets the fault.
func At(n int, f Fault) func(Write) Fault {
	return func(w Write) Fault {
		if w.N == n {
			return f
		}
		return Pass
	}
}

// Writes gives the number of writes so far, failed ones included.
func (s *FaultyStore) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// Crashed reports whether a planned crash has happened.
func (s *FaultyStore) Crashed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.crashed
}

// Crash ends the process at this point, between two writes.
func (s *FaultyStore) Crash() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crashed = true
}

// Restart makes the store answer again, with what was durable.
func (s *FaultyStore) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crashed = false
}

func (s *FaultyStore) alive() error {
	if s.Crashed() {
		return ErrCrashed
	}
	return nil
}

// write decides about a write and carries it out. Writes are serialised, so that
// a plan which counts them is about the same write in every schedule of readers.
func (s *FaultyStore) write(w Write, do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.crashed {
		return ErrCrashed
	}
	w.N = s.writes
	s.writes++
	switch f := s.plan(w); f {
	case Pass:
		return do()
	case Refuse:
		return fmt.Errorf("write %d: %w", w.N, ErrInjected)
	case Full:
		return fmt.Errorf("write %d: %w", w.N, store.ErrFull)
	case Uncertain:
		return fmt.Errorf("write %d: %w", w.N, store.ErrUncertain)
	case UncertainKept:
		if err := do(); err != nil {
			return err
		}
		return fmt.Errorf("write %d: %w", w.N, store.ErrUncertain)
	case CrashAfter:
		s.crashed = true
		if err := do(); err != nil {
			return fmt.Errorf("%w, and the write was refused: %v", ErrCrashed, err)
		}
		return ErrCrashed
	default:
		s.crashed = true
		return ErrCrashed
	}
}

// Append implements [store.Store].
func (s *FaultyStore) Append(ctx context.Context, b store.Batch) error {
	return s.write(Write{Exec: b.Exec, Batch: b}, func() error { return s.inner.Append(ctx, b) })
}

// Lease implements [store.Store].
func (s *FaultyStore) Lease(ctx context.Context, exec, owner string, ttl time.Duration) (fence uint64, err error) {
	err = s.write(Write{Exec: exec, Lease: true}, func() error {
		fence, err = s.inner.Lease(ctx, exec, owner, ttl)
		return err
	})
	if err != nil {
		return 0, err
	}
	return fence, nil
}

// Post implements [store.Inbox].
func (s *FaultyStore) Post(ctx context.Context, exec string, m store.Message) (seq uint64, err error) {
	box, ok := s.inner.(store.Inbox)
	if !ok {
		return 0, fmt.Errorf("%T has no inbox", s.inner)
	}
	err = s.write(Write{Exec: exec, Post: true}, func() error {
		seq, err = box.Post(ctx, exec, m)
		return err
	})
	if err != nil {
		return 0, err
	}
	return seq, nil
}

// Posted implements [store.Inbox].
func (s *FaultyStore) Posted(ctx context.Context, exec string, after uint64, n int) ([]store.Message, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	box, ok := s.inner.(store.Inbox)
	if !ok {
		return nil, fmt.Errorf("%T has no inbox", s.inner)
	}
	return box.Posted(ctx, exec, after, n)
}

// Events implements [store.Store].
func (s *FaultyStore) Events(ctx context.Context, exec string, from uint64) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		for r, err := range s.inner.Events(ctx, exec, from) {
			if crash := s.alive(); crash != nil {
				yield(event.Record{}, crash)
				return
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// Head implements [store.Store].
func (s *FaultyStore) Head(ctx context.Context, exec string) (store.Head, error) {
	if err := s.alive(); err != nil {
		return store.Head{}, err
	}
	return s.inner.Head(ctx, exec)
}

// Due implements [store.Store].
func (s *FaultyStore) Due(ctx context.Context, now time.Time, n int) ([]store.Timer, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	return s.inner.Due(ctx, now, n)
}

// List implements [store.Store].
func (s *FaultyStore) List(ctx context.Context, q store.Query) iter.Seq2[store.Summary, error] {
	return func(yield func(store.Summary, error) bool) {
		if err := s.alive(); err != nil {
			yield(store.Summary{}, err)
			return
		}
		s.inner.List(ctx, q)(yield)
	}
}

// Checkpoint implements [store.Store].
func (s *FaultyStore) Checkpoint(ctx context.Context, exec string, seq uint64) ([]byte, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	return s.inner.Checkpoint(ctx, exec, seq)
}

// Blob implements [store.Store].
func (s *FaultyStore) Blob(ctx context.Context, d artifact.Digest) (io.ReadCloser, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	return s.inner.Blob(ctx, d)
}
