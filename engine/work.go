package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/writ-dev/writ/store"
)

// Work drives runs until the context ends: those whose timers are due, those that
// nobody drives any more, such as after a crash, and those to which something was
// posted that nobody has seen. One timer serves all runs, and a run that takes long
// holds up no other.
func (e *Engine) Work(ctx context.Context) error {
	w := e.crew()
	ctx, cancel := context.WithCancel(ctx)
	defer w.all.Wait()
	defer cancel()
	for ctx.Err() == nil {
		if err := w.round(ctx); err != nil {
			return err
		}
		e.pause(ctx)
	}
	return nil
}

// DriveDue drives every run with a timer that is due, and gives when all of them
// wait again.
func (e *Engine) DriveDue(ctx context.Context) error {
	w := e.crew()
	err := w.driveDue(ctx)
	w.all.Wait()
	return errors.Join(err, w.failed())
}

// crew drives runs side by side. Runs of others, and runs whose definition is not
// loaded, are left alone.
type crew struct {
	e     *Engine
	slots chan struct{}
	all   sync.WaitGroup
	next  time.Time // when to look for runs that nobody drives
	after uint64    // the newest message that was noticed

	mu    sync.Mutex
	busy  map[string]bool
	later map[string]bool // runs with messages, which somebody had when they were noticed
	err   error
}

func (e *Engine) crew() *crew {
	return &crew{e: e, slots: make(chan struct{}, e.c.Parallel), busy: map[string]bool{}, later: map[string]bool{}}
}

// round looks for runs to drive.
func (w *crew) round(ctx context.Context) error {
	now := w.e.c.Clock.Now()
	if !now.Before(w.next) {
		w.next = now.Add(w.e.c.Lease)
		if err := w.recoverRuns(ctx); err != nil {
			return err
		}
	}
	if err := w.driveDue(ctx); err != nil {
		return err
	}
	if err := w.driveMail(ctx); err != nil {
		return err
	}
	return w.failed()
}

// recoverRuns takes up the runs that are running and have no lease in force, and
// those that may have been left with a message.
func (w *crew) recoverRuns(ctx context.Context) error {
	for s, err := range w.e.c.Store.List(ctx, store.Query{Status: []store.Status{store.Running}}) {
		if err != nil {
			return err
		}
		w.drive(ctx, s.Exec, false)
	}
	w.mu.Lock()
	later := w.later
	w.later = map[string]bool{}
	w.mu.Unlock()
	for exec := range later {
		w.drive(ctx, exec, true)
	}
	return nil
}

func (w *crew) driveDue(ctx context.Context) error {
	due, err := w.e.c.Store.Due(ctx, w.e.c.Clock.Now(), 4*w.e.c.Parallel)
	for _, t := range due {
		w.drive(ctx, t.Exec, false)
	}
	return err
}

// driveMail takes up the runs to which something was posted since the last round.
func (w *crew) driveMail(ctx context.Context) error {
	box, ok := w.e.c.Store.(store.Inbox)
	if !ok {
		return nil
	}
	for n := store.MaxMessages; ; {
		list, err := box.Posted(ctx, "", w.after, n)
		for _, m := range list {
			w.after = m.Seq
			w.drive(ctx, m.Exec, true)
		}
		if err != nil || len(list) < n {
			return err
		}
	}
}

// drive drives a run beside the others, unless it is being driven. With mail set it
// is tried again later if somebody has it: whoever that is may die before it looks.
func (w *crew) drive(ctx context.Context, exec string, mail bool) {
	if !w.begins(exec, mail) {
		return
	}
	select {
	case w.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	w.all.Go(func() {
		_, err := w.e.Drive(ctx, exec)
		<-w.slots
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.busy, exec)
		if mail && errors.Is(err, store.ErrLeased) {
			w.later[exec] = true
		}
		if err = w.e.serious(err); w.err == nil {
			w.err = err
		}
	})
}

// begins reports whether the crew is to drive a run that nobody here drives.
func (w *crew) begins(exec string, mail bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[exec] || w.e.drives(exec) {
		if mail {
			w.later[exec] = true
		}
		return false
	}
	w.busy[exec] = true
	return true
}

// failed gives the first serious error.
func (w *crew) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// drives reports whether a session of this engine has the run.
func (e *Engine) drives(exec string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sessions[exec] != nil
}

// serious drops the errors that another worker, a person or the next round deals
// with.
func (e *Engine) serious(err error) error {
	var refusal *Refusal
	var pinned *PinnedError
	switch {
	case errors.As(err, &refusal), errors.As(err, &pinned), errors.Is(err, ErrStopped), errors.Is(err, ErrLost),
		errors.Is(err, store.ErrLeased), errors.Is(err, store.ErrDeleted), errors.Is(err, ErrTampered):
		return nil
	}
	return err
}
