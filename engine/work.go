package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/writ-dev/writ/store"
)

// Work drives runs until the context ends: those whose timers are due, and those
// that nobody drives any more, such as after a crash. One timer serves all runs.
func (e *Engine) Work(ctx context.Context) error {
	var next time.Time
	for ctx.Err() == nil {
		now := e.c.Clock.Now()
		if !now.Before(next) {
			if err := e.recoverRuns(ctx); err != nil {
				return err
			}
			next = now.Add(e.c.Lease)
		}
		if err := e.DriveDue(ctx); err != nil {
			return err
		}
		tick := make(chan struct{})
		stop := e.c.Clock.AfterFunc(e.c.Poll, func() { close(tick) })
		select {
		case <-tick:
		case <-ctx.Done():
		}
		stop()
	}
	return nil
}

// recoverRuns takes up the runs that are running and have no lease in force.
func (e *Engine) recoverRuns(ctx context.Context) error {
	var execs []string
	for s, err := range e.c.Store.List(ctx, store.Query{Status: []store.Status{store.Running}}) {
		if err != nil {
			return err
		}
		execs = append(execs, s.Exec)
	}
	return e.driveAll(ctx, execs)
}

// DriveDue drives every run with a timer that is due, and gives when all of them
// wait again.
func (e *Engine) DriveDue(ctx context.Context) error {
	due, err := e.c.Store.Due(ctx, e.c.Clock.Now(), 4*e.c.Parallel)
	if err != nil {
		return err
	}
	var execs []string
	seen := map[string]bool{}
	for _, t := range due {
		if !seen[t.Exec] {
			seen[t.Exec] = true
			execs = append(execs, t.Exec)
		}
	}
	return e.driveAll(ctx, execs)
}

// driveAll drives runs side by side. Runs of others, and runs whose definition is
// not loaded, are left alone.
func (e *Engine) driveAll(ctx context.Context, execs []string) error {
	slots := make(chan struct{}, e.c.Parallel)
	errs := make(chan error, len(execs))
	var all sync.WaitGroup
	for _, exec := range execs {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			_, err := e.Drive(ctx, exec)
			errs <- e.serious(err)
		})
	}
	all.Wait()
	close(errs)
	var first error
	for err := range errs {
		if first == nil {
			first = err
		}
	}
	return first
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
