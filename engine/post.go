package engine

import (
	"context"
	"errors"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
)

// posting is what a report knows of its message.
type posting struct {
	what Happening
	seq  uint64 // of the message
	from uint64 // the first event that may be its effect
}

// deliver posts an input for a run that another process has. What that process
// would refuse as the run stands is refused here.
func (e *Engine) deliver(ctx context.Context, exec string, what Happening, leased error) (Report, error) {
	box, ok := e.c.Store.(store.Inbox)
	if !ok || !mayPost(what) {
		return Report{Exec: exec}, leased
	}
	report, m, err := e.address(ctx, exec, what)
	if err != nil || report.Duplicate {
		return report, err
	}
	seq, err := e.put(ctx, box, exec, m)
	if err != nil {
		report.Kept = false
		return report, err
	}
	report.Posted, report.posting = true, posting{what, seq, report.Head.Seq + 1}
	return e.follow(ctx, report)
}

// mayPost reports whether an input has a message.
func mayPost(what Happening) bool {
	switch what.(type) {
	case Cancel, Signal, Decide, Resume:
		return true
	}
	return false
}

// address reads the run as it is in the store, puts the input into a message, and
// tries what will be read from that on the run. It stores nothing.
func (e *Engine) address(ctx context.Context, exec string, what Happening) (Report, store.Message, error) {
	s := &session{e: e, exec: exec}
	err := s.load(ctx, nil)
	var pinned *PinnedError
	if cancel, ok := what.(Cancel); ok && errors.As(err, &pinned) {
		// Whoever has the run has its definition; a cancel needs nothing of it.
		report, err := e.Status(ctx, exec)
		if err != nil {
			return report, store.Message{}, err
		}
		m, err := cancelMessage(cancel)
		return report, m, err
	}
	if err != nil {
		return Report{Exec: exec}, store.Message{}, err
	}
	report, err := s.report(ctx)
	if err != nil {
		return report, store.Message{}, err
	}
	m, err := s.m.Message(s.p, what)
	if err != nil {
		return report, m, err
	}
	read, err := ReadMessage(m)
	if err != nil {
		return report, m, err
	}
	out, err := s.m.Step(s.p, Input{NowMS: e.now(), What: read})
	switch {
	case err != nil:
		return report, store.Message{}, err
	case out.Duplicate:
		report.Duplicate = true
		return report, store.Message{}, nil
	case out.Refusal != nil && !s.m.early(&s.p, what, out.Refusal):
		return report, store.Message{}, out.Refusal
	}
	report.Kept = out.Refusal != nil
	return report, m, nil
}

// Await waits until whoever has the run has taken what a report says is posted, and
// gives the report of the run then: for a cancel, when the run is over. It looks
// every [Config.Poll], for at most the given time; 0 is no limit. When nobody has the
// run any more it drives the run itself, as long as that takes. An input that was
// refused, because the run had gone on meanwhile, gives its *[Refusal]. When the time
// is up or the context ends first, the report still says that it is posted.
func (e *Engine) Await(ctx context.Context, r Report, limit time.Duration) (Report, error) {
	for waited := time.Duration(0); r.Posted && r.posting.what != nil && (limit <= 0 || waited < limit); waited += e.c.Poll {
		if !pause(ctx, e.c.Clock, e.c.Poll) {
			break
		}
		var err error
		if r, err = e.follow(ctx, r); err != nil {
			return r, err
		}
	}
	return r, nil
}

// pause waits for a time. It gives false when the context ends first.
func pause(ctx context.Context, c Clock, d time.Duration) bool {
	tick := make(chan struct{})
	stop := c.AfterFunc(d, func() { close(tick) })
	defer stop()
	select {
	case <-tick:
		return true
	case <-ctx.Done():
		return false
	}
}

// follow looks once at what became of a message. The process that had the run may
// have let it go too soon to see it: then nobody has the run, and this one drives it.
// A process that lets it go later looks after that, see [session.afterwards].
// What whoever drives a run leaves in the inbox is an event that is early.
func (e *Engine) follow(ctx context.Context, r Report) (Report, error) {
	reading := context.WithoutCancel(ctx)
	head, err := e.c.Store.Head(reading, r.Exec)
	if err != nil {
		return r, err
	}
	drives := head.Owner == "" && !head.Status.Ended()
	if drives {
		drove, err := e.tell(ctx, r.Exec, Recover{})
		r.Issued = append(r.Issued, drove.Issued...)
		if errors.Is(err, ErrStopped) || !errors.Is(err, store.ErrLeased) && serious(err) != nil {
			return r, err
		}
		drives = err == nil
	}
	list, err := e.c.Store.(store.Inbox).Posted(reading, r.Exec, r.posting.seq-1, 1)
	switch {
	case err != nil:
		return r, err
	case len(list) == 0 || list[0].Seq != r.posting.seq:
		return e.outcome(reading, r)
	case drives:
		now, err := e.Status(reading, r.Exec)
		now.Issued, now.Kept = r.Issued, true
		return now, err
	}
	return r, nil
}

// outcome says what became of a message that is not in the inbox any more.
func (e *Engine) outcome(ctx context.Context, r Report) (Report, error) {
	taken := false
	for rec, err := range e.c.Store.Events(ctx, r.Exec, r.posting.from) {
		if err != nil {
			return r, err
		}
		x, err := rec.Decode()
		if err != nil {
			return r, err
		}
		if isEffect(x.Body, r.posting.what) {
			taken = true
			break
		}
	}
	now, err := e.Status(ctx, r.Exec)
	now.Issued = r.Issued
	if err != nil {
		return now, err
	}
	if !taken {
		return e.refused(ctx, now, r.posting.what)
	}
	if _, ok := r.posting.what.(Cancel); ok && !now.Status.Ended() {
		now.Posted, now.posting = true, r.posting
	}
	return now, nil
}

// refused gives the refusal of a message that led to nothing: what was right when it
// was posted is refused as the run stands now.
func (e *Engine) refused(ctx context.Context, r Report, what Happening) (Report, error) {
	now, _, err := e.address(ctx, r.Exec, what)
	r.Duplicate = now.Duplicate
	if err == nil && !now.Duplicate {
		err = &Refusal{Code: RefusedStale, Message: "the run had gone on when it came to this"}
	}
	return r, err
}

// isEffect reports whether an event is what a posted input leads to first.
func isEffect(body event.Payload, what Happening) bool {
	switch w := what.(type) {
	case Cancel:
		_, ok := body.(*event.CancelRequested)
		return ok
	case Signal:
		key, _ := artifact.CanonicalValue(w.Key)
		x, ok := body.(*event.EventReceived)
		return ok && x.Wait == waitName(w.Name, key) && x.ID == clip(w.ID)
	case Decide:
		credential := w.Key
		if w.Method == event.MethodToken {
			credential = w.Token
		}
		x, ok := body.(*event.ApprovalDecided)
		return ok && x.Proposal == w.Proposal && x.Credential == credential && x.Approver == clip(w.Approver) &&
			(x.Decision == event.DecisionApprove) == w.Approve
	case Resume:
		x, ok := body.(*event.ApprovalDecided)
		return ok && x.Credential == w.Token
	}
	return false
}
