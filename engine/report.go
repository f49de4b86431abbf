package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
)

// Status says what became of a run so far. It reads the newest checkpoint and the
// last event, and drives nothing.
func (e *Engine) Status(ctx context.Context, exec string) (Report, error) {
	head, err := e.c.Store.Head(ctx, exec)
	if err != nil {
		return Report{Exec: exec}, err
	}
	report := Report{Exec: exec, Status: head.Status, Reason: head.Reason, Head: head.Head}
	data, err := e.newest(ctx, head)
	if err != nil {
		return report, err
	}
	def, err := e.definitionOf(exec, data, nil)
	if errors.As(err, &report.Pinned) {
		report.Reason, report.Definition = err.Error(), report.Pinned.Definition
		return report, nil
	}
	if err != nil {
		return report, err
	}
	if err := e.authentic(ctx, head); err != nil {
		return report, err
	}
	p, err := NewMachine(def).Restore(data, head.Head)
	if err != nil {
		return report, err
	}
	return report, e.fill(ctx, &report, &p)
}

// report gives the report of the session's run.
func (s *session) report(ctx context.Context) (Report, error) {
	r := Report{Exec: s.exec, Head: s.p.head, Issued: s.issued}
	if s.p.exec == "" {
		return r, nil
	}
	r.Status, r.Reason = s.p.Status()
	return r, s.e.fill(ctx, &r, &s.p)
}

func (e *Engine) fill(ctx context.Context, r *Report, p *Position) error {
	r.State, r.Steps, r.Used, r.ElapsedMS, r.Proposals = p.state, p.steps, p.ledger.Used(), p.elapsedMS, p.Proposals()
	r.Definition = p.definition
	if !p.ended {
		return nil
	}
	for rec, err := range e.c.Store.Events(ctx, r.Exec, p.head.Seq) {
		if err != nil {
			return err
		}
		last, err := rec.Decode()
		if err != nil {
			return err
		}
		r.Status = statusOf(last.Type)
		if end := endOf(last.Body); end == nil || end.State != p.stateSum {
			return fmt.Errorf("run %s, event %d: %w", r.Exec, last.Seq, ErrTampered)
		}
		switch end := last.Body.(type) {
		case *event.Terminated:
			if r.Result, err = e.readValue(ctx, end.Result.Digest); err != nil && !errors.Is(err, store.ErrDeleted) {
				return err
			}
		case *event.Failed:
			r.Code, r.Error = end.Code, end.Error
		case *event.Abandoned:
			r.Error = end.Reason
		}
		return nil
	}
	return nil
}

func (e *Engine) readValue(ctx context.Context, d artifact.Digest) (artifact.Value, error) {
	data, err := readBlob(ctx, e.c.Store, d)
	if err != nil {
		return artifact.Value{}, err
	}
	return artifact.ParseValue(data)
}

// Shown gives the exact bytes that an open approval is about. Their digest is the
// proposal's.
func (e *Engine) Shown(ctx context.Context, proposal artifact.Digest) ([]byte, error) {
	return readBlob(ctx, e.c.Store, proposal)
}

// endOf gives what the last event of a run says about the whole; nil for others.
func endOf(p event.Payload) *event.End {
	switch p := p.(type) {
	case *event.Terminated:
		return &p.End
	case *event.Failed:
		return &p.End
	case *event.Cancelled:
		return &p.End
	case *event.Abandoned:
		return &p.End
	}
	return nil
}
