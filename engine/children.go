package engine

import (
	"context"
	"errors"

	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/store"
)

// startCall begins a called run, or looks after one that was begun before, beside
// the run that called it.
func (s *session) startCall(ctx context.Context, c Call) {
	key := "call " + c.Exec
	if s.jobs[key] != nil {
		return
	}
	e := s.e
	s.launch(ctx, &job{key: key, call: true, startedMS: e.now()}, func(ctx context.Context) result {
		report, err := e.child(ctx, c)
		var denied *DeniedError
		switch {
		case errors.As(err, &denied):
			return result{what: CallDone{Exec: c.Exec, Outcome: event.EndFailed, Error: err.Error(), Head: unbegun(c)}}
		case err == nil && report.Status.Ended():
			return result{what: callDone(report)}
		}
		return result{} // it waits; its end wakes the caller
	})
}

// unbegun is the head of a called run that policy did not admit: the call itself.
func unbegun(c Call) event.Head { return event.Head{Exec: c.Exec, Seq: 0, Digest: c.Parent.Digest} }

// child drives a called run.
func (e *Engine) child(ctx context.Context, c Call) (Report, error) {
	if c.Resumed {
		report, err := e.Status(ctx, c.Exec)
		if err == nil && report.Status.Ended() {
			return report, nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return e.Drive(ctx, c.Exec)
		}
	}
	if err := e.Register(c.Definition); err != nil {
		return Report{}, err
	}
	state, err := graph.NewSnapshot(c.Definition.Schema.ID, c.State)
	if err != nil {
		return Report{}, err
	}
	link := c.Parent
	return e.start(ctx, c.Definition, Start{
		Exec: c.Exec, State: state, Taint: c.Taint, Owner: c.Owner, By: c.By.Name, Key: c.By.Credential, Method: c.Method, Parent: &link, Bounds: c.Limits,
	})
}

// callDone turns the end of a called run into an input of the caller.
func callDone(r Report) CallDone {
	return CallDone{Exec: r.Exec, Outcome: string(r.Status), Head: r.Head, Result: r.Result, Error: r.Error, Used: r.Used}
}

// returned tells the caller of a run that it has ended. If that fails, the caller
// finds out when it is driven again.
func (e *Engine) returned(ctx context.Context, parent string, r Report) {
	if done, ok := e.post(parent, callDone(r)); ok {
		_ = done // the session of the caller goes on by itself
		return
	}
	_, _ = e.tell(ctx, parent, Recover{})
}

// cancelCall cancels a called run because its caller is ending.
func (s *session) cancelCall(ctx context.Context, exec string) {
	key := "cancel " + exec
	if s.jobs[key] != nil {
		return
	}
	e := s.e
	s.launch(ctx, &job{key: key, call: true, startedMS: e.now()}, func(ctx context.Context) result {
		report, err := e.Cancel(ctx, exec, Cancel{Reason: "the calling run is ending"})
		if err == nil && report.Posted {
			report, err = e.Await(ctx, report, 0)
		}
		if err == nil && !report.Status.Ended() {
			report, err = e.Drive(ctx, exec)
		}
		var refusal *Refusal
		if errors.As(err, &refusal) {
			report, err = e.Status(ctx, exec)
		}
		switch {
		case errors.Is(err, store.ErrNotFound):
			return result{what: CallDone{Exec: exec, Outcome: event.EndCancelled, Head: event.Head{Digest: s.p.stateSum}}}
		case err != nil || !report.Status.Ended():
			return result{}
		}
		return result{what: callDone(report)}
	})
}
