package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/writ-dev/writ/store"
)

// Worker drives the runs of a store: those whose timers are due, those that nobody
// drives any more, such as after a crash, and those to which something was posted
// that nobody has looked at. One timer serves all runs. Which engine a run is driven
// with is decided by whoever makes the worker.
type Worker struct {
	Store    store.Store
	Clock    Clock         // nil is the machine's
	Poll     time.Duration // how often it looks for what is due; 0 is 1 s
	Lease    time.Duration // how often it looks for runs that nobody drives; 0 is 30 s
	Parallel int           // runs that are driven at once; 0 is 64

	// Drive takes one run up until it waits again or is over. A run is given again
	// in a later round if it is still due. An error ends the work, except for
	// [store.ErrLeased]: somebody else has the run.
	Drive func(ctx context.Context, exec string) error
}

// Work drives runs until the context ends. A run that takes long does not hold up
// the others. It returns when no run is driven any more.
func (w Worker) Work(ctx context.Context) error {
	s := w.shift(ctx)
	var next time.Time
	for s.ctx.Err() == nil {
		if now := s.Clock.Now(); !now.Before(next) {
			s.recover(map[string]bool{})
			s.again()
			next = now.Add(s.Lease)
		}
		s.due(map[string]bool{})
		s.posted(map[string]bool{})
		pause(s.ctx, s.Clock, s.Poll)
	}
	return s.end()
}

// Once drives what is due now, what nobody drives and what something was posted to,
// each run once, and returns when all of them wait again or are over.
func (w Worker) Once(ctx context.Context) error {
	s := w.shift(ctx)
	seen := map[string]bool{}
	s.recover(seen)
	s.due(seen)
	s.posted(seen)
	return s.end()
}

// DriveDue is [Worker.Once] without the runs that nobody drives.
func (w Worker) DriveDue(ctx context.Context) error {
	s := w.shift(ctx)
	s.due(map[string]bool{})
	return s.end()
}

// shift is a worker at work.
type shift struct {
	Worker
	ctx   context.Context
	stop  context.CancelCauseFunc
	slots chan struct{}
	all   sync.WaitGroup
	after uint64 // the newest message that was noticed

	mu     sync.Mutex
	driven map[string]bool // the runs under way
	mail   map[string]bool // runs to which something was posted
	later  map[string]bool // those of them that somebody had
	failed error           // the first error
}

func (w Worker) shift(ctx context.Context) *shift {
	if w.Clock == nil {
		w.Clock = SystemClock{}
	}
	w.Poll = orDefault(w.Poll, time.Second)
	w.Lease = orDefault(w.Lease, 30*time.Second)
	w.Parallel = orDefault(w.Parallel, 64)
	s := &shift{Worker: w, slots: make(chan struct{}, w.Parallel), driven: map[string]bool{}, mail: map[string]bool{}, later: map[string]bool{}}
	s.ctx, s.stop = context.WithCancelCause(ctx)
	return s
}

// end waits for the runs that are under way.
func (s *shift) end() error {
	s.all.Wait()
	s.stop(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// fail ends the work. What goes wrong after its end comes of that.
func (s *shift) fail(err error) {
	if err == nil || s.ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
		s.stop(err)
	}
}

// recover takes up the runs that are running and have no lease in force.
func (s *shift) recover(seen map[string]bool) {
	for x, err := range s.Store.List(s.ctx, store.Query{Status: []store.Status{store.Running}}) {
		if err != nil {
			s.fail(err)
			return
		}
		seen[x.Exec] = true
		s.take(x.Exec)
	}
}

// due takes up every run with a timer that is due and that was not seen. Timers of
// runs that others have, or that cannot be driven, stay due: it looks behind them.
func (s *shift) due(seen map[string]bool) {
	now := s.Clock.Now()
	for n := 4 * s.Parallel; s.ctx.Err() == nil; {
		due, err := s.Store.Due(s.ctx, now, n)
		if err != nil {
			s.fail(err)
			return
		}
		fresh := false
		for _, t := range due {
			if !seen[t.Exec] {
				seen[t.Exec], fresh = true, true
				s.take(t.Exec)
			}
		}
		if len(due) < n {
			return
		}
		if !fresh {
			n *= 2
		}
	}
}

// take drives a run beside the others, unless it is driven already. It waits until
// there is room for one more.
func (s *shift) take(exec string) {
	s.mu.Lock()
	busy := s.driven[exec]
	s.driven[exec] = true
	s.mu.Unlock()
	if busy {
		return
	}
	select {
	case s.slots <- struct{}{}:
	case <-s.ctx.Done():
		return
	}
	s.all.Go(func() {
		defer func() { <-s.slots }()
		s.fail(s.drove(exec, s.Drive(s.ctx, exec)))
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.driven, exec)
	})
}

// Work drives the runs of the engine's store that have one of its definitions,
// until the context ends: see [Worker.Work].
func (e *Engine) Work(ctx context.Context) error { return e.worker().Work(ctx) }

// DriveDue drives every run with a timer that is due, and gives when all of them
// wait again.
func (e *Engine) DriveDue(ctx context.Context) error { return e.worker().DriveDue(ctx) }

// worker leaves runs of others, and runs whose definition is not loaded, alone.
func (e *Engine) worker() Worker {
	return Worker{
		Store: e.c.Store, Clock: e.c.Clock, Poll: e.c.Poll, Lease: e.c.Lease, Parallel: e.c.Parallel,
		Drive: func(ctx context.Context, exec string) error {
			_, err := e.Drive(ctx, exec)
			return serious(err)
		},
	}
}

// serious drops the errors that another worker, a person or the next round deals
// with.
func serious(err error) error {
	var refusal *Refusal
	var pinned *PinnedError
	switch {
	case errors.As(err, &refusal), errors.As(err, &pinned), errors.Is(err, ErrStopped), errors.Is(err, ErrLost),
		errors.Is(err, store.ErrDeleted), errors.Is(err, ErrTampered):
		return nil
	}
	return err
}
