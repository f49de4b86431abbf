package engine

import (
	"context"
	"crypto/ed25519"
	"fmt"

	"github.com/writ-dev/writ/event"
)

// Verified is what [Engine.Verify] found out about one log.
type Verified struct {
	event.Report
	Caller  string // the run that called this one; "" for the one that was asked about
	Problem string // how its end differs from what its caller recorded; "" for nothing
}

// Verify checks the chain of a run's log against its signed head and the given
// anchors, and in the same way the logs of all runs that it called, whose heads its
// own log names. The run itself comes first.
func (e *Engine) Verify(ctx context.Context, exec string, anchors []event.Head, trusted ...ed25519.PublicKey) ([]Verified, error) {
	first, returned, err := e.verifyOne(ctx, exec, anchors, trusted)
	if err != nil {
		return nil, err
	}
	all := []Verified{{Report: first}}
	for i := 0; i < len(returned); i++ {
		r := returned[i]
		report, below, err := e.verifyOne(ctx, r.Exec, []event.Head{{Exec: r.Exec, Seq: r.Events, Digest: r.Head}}, trusted)
		if err != nil {
			all = append(all, Verified{Report: event.Report{Exec: r.Exec}, Caller: r.caller, Problem: err.Error()})
			continue
		}
		v := Verified{Report: report, Caller: r.caller}
		if !report.Complete {
			v.Problem = fmt.Sprintf("%s recorded that it ended with event %d", r.caller, r.Events)
		}
		all = append(all, v)
		returned = append(returned, below...)
	}
	return all, nil
}

// calledRun is the end of a called run as its caller recorded it.
type calledRun struct {
	*event.CallReturned
	caller string
}

func (e *Engine) verifyOne(ctx context.Context, exec string, anchors []event.Head, trusted []ed25519.PublicKey) (event.Report, []calledRun, error) {
	head, err := e.c.Store.Head(ctx, exec)
	if err != nil {
		return event.Report{}, nil, err
	}
	o := event.VerifyOptions{Exec: exec, Stored: &head.Head, Anchors: anchors, Trusted: trusted}
	if len(head.Signed) > 0 && len(trusted) > 0 {
		o.Signed = [][]byte{head.Signed}
	}
	var returned []calledRun
	records := func(yield func([]byte, error) bool) {
		for r, err := range e.c.Store.Events(ctx, exec, 1) {
			if err == nil && r.Type == event.TypeCallReturned {
				if x, err := r.Decode(); err == nil {
					if b := x.Body.(*event.CallReturned); b.Events > 0 {
						returned = append(returned, calledRun{b, exec})
					}
				}
			}
			if !yield(r.Bytes, err) {
				return
			}
		}
	}
	report, err := event.Verify(records, o)
	return report, returned, err
}
