package engine

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
)

// Verified is what [Engine.Verify] found out about one log and what is stored
// beside it.
type Verified struct {
	event.Report
	Caller  string // the run that called this one; "" for the one that was asked about
	Problem string // how it differs from what its caller or the store says; "" for nothing

	Contents int      // documents of the log that are kept, and are what it says
	Gone     int      // documents of the log that are not kept
	Signed   int      // decisions whose signatures hold
	Damaged  []Damage // what is stored and is not what the log says
}

// Damage is something that was changed beside the log.
type Damage struct {
	Seq  uint64 // of the event that names it
	What string // and what is wrong with it
}

// Verify checks the chain of a run's log against its signed head and the given
// anchors, holds what is stored beside it against what it says, and does the same
// for all runs that it called, whose heads its own log names. The run itself comes
// first. It works nothing out again: see [Engine.Replay].
func (e *Engine) Verify(ctx context.Context, exec string, anchors []event.Head, trusted ...ed25519.PublicKey) ([]Verified, error) {
	first, returned, err := e.verifyOne(ctx, exec, anchors, trusted)
	if err != nil {
		return nil, err
	}
	all := []Verified{first}
	for i := 0; i < len(returned); i++ {
		r := returned[i]
		v, below, err := e.verifyOne(ctx, r.Exec, []event.Head{{Exec: r.Exec, Seq: r.Events, Digest: r.Head}}, trusted)
		if err != nil {
			all = append(all, Verified{Report: event.Report{Exec: r.Exec}, Caller: r.caller, Problem: err.Error()})
			continue
		}
		v.Caller = r.caller
		if !v.Complete {
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

func (e *Engine) verifyOne(ctx context.Context, exec string, anchors []event.Head, trusted []ed25519.PublicKey) (Verified, []calledRun, error) {
	head, err := e.c.Store.Head(ctx, exec)
	if err != nil {
		return Verified{}, nil, err
	}
	o := event.VerifyOptions{Exec: exec, Stored: &head.Head, Anchors: anchors, Trusted: trusted}
	if len(head.Signed) > 0 && len(trusted) > 0 {
		o.Signed = [][]byte{head.Signed}
	}
	var returned []calledRun
	var last event.Event
	beside := beside{ctx: ctx, s: e.c.Store}
	records := func(yield func([]byte, error) bool) {
		for r, err := range e.c.Store.Events(ctx, exec, 1) {
			if err == nil {
				if x, err := r.Decode(); err == nil {
					last = x
					if b, ok := x.Body.(*event.CallReturned); ok && b.Events > 0 {
						returned = append(returned, calledRun{b, exec})
					}
					beside.check(x)
				}
			}
			if !yield(r.Bytes, err) {
				return
			}
		}
	}
	v := Verified{}
	if v.Report, err = event.Verify(records, o); err != nil {
		return v, returned, err
	}
	beside.checkpoint(exec)
	v.Contents, v.Gone, v.Signed, v.Damaged = beside.contents, beside.gone, beside.signed, beside.damaged
	ends := last.Body != nil && last.Type.Ends()
	if v.Intact && (ends && head.Status != statusOf(last.Type) || !ends && head.Status.Ended()) {
		v.Problem = "the store says that the run is " + string(head.Status) + ", and the log does not"
	}
	return v, returned, beside.err
}

// beside holds what is stored beside a log against it.
type beside struct {
	ctx                    context.Context
	s                      store.Store
	contents, gone, signed int
	damaged                []Damage
	newest                 event.Event // that announces a checkpoint
	err                    error       // of the store
}

// checkpoint holds the newest announced checkpoint, from which the run goes on,
// against the log.
func (b *beside) checkpoint(exec string) {
	announced, ok := b.newest.Body.(*event.Checkpointed)
	if !ok {
		return
	}
	data, err := b.s.Checkpoint(b.ctx, exec, b.newest.Seq)
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrDamaged), err == nil && artifact.Sum(data) != announced.Checkpoint:
		b.damaged = append(b.damaged, Damage{b.newest.Seq, "the checkpoint was changed in the store"})
	case err != nil:
		b.err = cmp.Or(b.err, err)
	}
}

func (b *beside) check(e event.Event) {
	if e.Type == event.TypeCheckpointed {
		b.newest = e
	}
	for _, r := range event.Contents(e.Body) {
		data, sum, err := b.read(r)
		switch decided, isDecision := e.Body.(*event.ApprovalDecided); {
		case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrDeleted):
			b.gone++
		case err != nil && !errors.Is(err, store.ErrDamaged):
			b.err = cmp.Or(b.err, err)
		case err != nil || sum != r.Digest:
			b.damaged = append(b.damaged, Damage{e.Seq, "the " + r.Kind + " of " + string(e.Type) + " was changed in the store"})
		case isDecision:
			if err := checkSignature(decided, data); err != nil {
				b.damaged = append(b.damaged, Damage{e.Seq, err.Error()})
				continue
			}
			b.signed++
			b.contents++
		default:
			b.contents++
		}
	}
}

// read gives the bytes of a document and the digest that they have. It fails too if
// they can only be checked with a salt that is gone.
func (b *beside) read(r event.Recorded) (data []byte, sum artifact.Digest, err error) {
	var salt event.Salt
	if !r.Salt.IsZero() {
		kept, err := readBlob(b.ctx, b.s, r.Salt)
		if err != nil {
			return nil, sum, err
		}
		if copy(salt[:], kept); salt.Ref() != r.Salt {
			return nil, sum, store.ErrDamaged
		}
	}
	data, err = readBlob(b.ctx, b.s, r.Digest)
	if r.Salt.IsZero() {
		return data, artifact.Sum(data), err
	}
	return data, salt.Digest(data), err
}
