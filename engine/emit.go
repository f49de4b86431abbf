package engine

import (
	"errors"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/store"
)

// emit adds an event of a thread's open attempt, or of the run for nil.
func (t *turn) emit(th *thread, body event.Payload) event.Record {
	h := event.Header{AtMS: t.now}
	if th != nil {
		h.Node, h.Visit, h.Attempt = th.node, th.visit, th.attempt
	}
	return t.add(h, body)
}

func (t *turn) add(h event.Header, body event.Payload) event.Record {
	if t.err != nil {
		return event.Record{}
	}
	if t.arena == nil {
		t.arena = make([]byte, 0, t.p.room.events)
		t.out.Events = make([]event.Record, 0, t.p.room.records)
	}
	r, arena, err := t.chain.AppendInto(t.arena, event.Event{Header: h, Body: body})
	t.arena = arena
	if err != nil {
		t.fail(err)
		return event.Record{}
	}
	t.out.Events = append(t.out.Events, r)
	t.recorded = r.Type == event.TypeCheckpointed
	return r
}

// next gives the sequence of the next event.
func (t *turn) next() uint64 { return t.chain.Head().Seq + 1 }

// announce opens the attempt in the log. The time is that of its beginning,
// which for a handler is before the step that tells of it.
func (t *turn) announce(th *thread) {
	if th.announced {
		return
	}
	th.announced = true
	t.add(event.Header{AtMS: th.fromMS, Node: th.node, Visit: th.visit, Attempt: th.attempt},
		&event.NodeStarted{DeadlineMS: t.deadline(th, t.node(th))})
}

// deadline gives when the attempt is over at the latest: by its own timeout, by
// the deadline of the visit, and by what is left of the run's time.
func (t *turn) deadline(th *thread, n *graph.Node) int64 {
	var at int64
	earliest := func(ms int64, set bool) {
		if set && (at == 0 || ms < at) {
			at = ms
		}
	}
	waits := n.Kind == graph.KindApprove || n.Kind == graph.KindWait
	earliest(th.fromMS+int64(n.TimeoutMillis), n.TimeoutMillis > 0)
	earliest(th.visitMS+int64(n.DeadlineMillis), n.DeadlineMillis > 0)
	if left := t.timeLeft(); !waits && left.Set {
		earliest(th.fromMS+int64(min(left.Value, 1<<40)), true)
	}
	return at
}

// timeLeft gives what is left of the run's time.
func (t *turn) timeLeft() artifact.Optional[uint64] { return t.p.ledger.TimeLeft() }

// tick counts the time since the clock was last looked at, from a given time on,
// unless everything was suspended. It depends on times of the log alone. Where a
// process has died, the time until another one began its work again is left out.
func (t *turn) tick(from, to int64) {
	p := &t.p
	if since := max(p.lastMS, from); p.clock && to > since {
		p.elapsedMS += uint64(to - since)
		p.ledger.Add(policy.Amount{TimeMS: uint64(to - since)})
	}
	p.lastMS = max(p.lastMS, t.now)
}

// redact gives what may be stored of a value, and what the run goes on with: no
// secret gets into the state.
func (t *turn) redact(scope string, v artifact.Value) artifact.Value {
	safe, err := artifact.CanonicalValue(v)
	if err == nil && t.redactor != nil {
		safe, _, err = t.redactor.Redact(scope, safe)
	}
	if t.saltless {
		err = errNoSalt
	}
	if err != nil {
		t.fail(err)
	}
	return safe
}

// errNoSalt keeps a run from storing what its pack redacts.
var errNoSalt = errors.New("the salt of the run's redactions was erased, so nothing more of it can be recorded; cancel or abandon it")

// keep records a document of the run. Its bytes are stored when the class is the
// run's own or one that policy keeps.
func (t *turn) keep(scope, kind, access string, v artifact.Value) event.Recorded {
	var r event.Recorded
	var data []byte
	var err error
	switch {
	case t.saltless:
		err = errNoSalt
	case t.redactor != nil:
		r, data, err = t.redactor.Document(scope, kind, access, v)
	case access == event.AccessRestricted:
		data, err = artifact.CanonicalRuntime(artifact.Value{})
		r = event.NewRecorded(kind, accessRun, data)
		r.Redacted = true // without a salt nothing of it may be recorded
	default:
		data, err = artifact.CanonicalRuntime(v)
		r = event.NewRecorded(kind, access, data)
	}
	if err != nil {
		t.fail(err)
		return r
	}
	if _, kept := t.def.Policy.Retention(access); kept || access == accessRun {
		blob := store.Blob{Digest: r.Digest, Bytes: data}
		if !r.Salt.IsZero() {
			salt := t.p.salt
			blob.Salt = &salt
		}
		t.out.Blobs = append(t.out.Blobs, blob)
	}
	return r
}

// Access classes of the machine's own.
const (
	accessRun    = "run"    // part of the run itself: always kept
	accessEffect = "effect" // of results whose port names none
	accessArgs   = "args"   // of arguments, which are evaluated again where they are needed
)

func (t *turn) budget() event.Budget { return budgetOf(t.p.ledger.Left()) }

func budgetOf(l policy.Limits) event.Budget {
	return event.Budget{Steps: l.Steps, Calls: l.Calls, Tokens: l.Tokens, Units: l.Units, TimeMS: l.TimeMS, Cost: event.Money(l.Cost)}
}

func usageOf(a policy.Amount) event.Usage {
	u := event.Usage{Calls: a.Calls, Tokens: a.Tokens, Units: a.Units, DurationMS: a.DurationMS}
	if len(a.Cost) > 0 {
		u.Cost = event.Money(a.Cost)
	}
	return u
}

func amountOf(u graph.Usage) policy.Amount {
	a := policy.Amount{Tokens: u.Tokens}
	if u.CostMicros > 0 {
		a.Cost = policy.Money{"USD": u.CostMicros}
	}
	return a
}

// setTimer starts a durable timer for a thread.
func (t *turn) setTimer(th *thread, purpose string, due int64) {
	id := "t" + uintText(t.next())
	th.timer = id
	t.emit(th, &event.TimerSet{Timer: id, Purpose: purpose, DueMS: due})
	t.p.timers = append(t.p.timers, timer{id, purpose, th.node, due})
	t.out.Timers = append(t.out.Timers, store.Timer{ID: id, Due: timeOf(due)})
}

// stopTimer ends a thread's timer, if it has one.
func (t *turn) stopTimer(th *thread) {
	if th.timer != "" {
		t.emit(th, &event.TimerStopped{Timer: th.timer})
		t.dropTimer(th)
	}
}

func (t *turn) dropTimer(th *thread) {
	p := &t.p
	for i := range p.timers {
		if p.timers[i].id == th.timer {
			p.timers = append(p.timers[:i], p.timers[i+1:]...)
			break
		}
	}
	t.out.Timers = append(t.out.Timers, store.Timer{ID: th.timer, Stop: true})
	th.timer = ""
}

// text fits an error text into an event.
func (t *turn) text(s string) string {
	if t.redactor != nil {
		s = t.redactor.Text(s)
	}
	return clip(s)
}
