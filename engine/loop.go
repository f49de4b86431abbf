package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/writ-dev/writ/store"
)

// A session's loop is on one goroutine at a time. Where a single handler or
// effect is under way, the loop does it itself, without handing over to another
// goroutine and back. If something comes up meanwhile that cannot wait for it (an
// input, a deadline, the lease, the end of the context), the loop goes on on a
// goroutine of its own, and the one inside the job only delivers the outcome.

// ended is what the caller of a session gets.
type ended struct {
	report Report
	err    error
}

// run gives the session its first input and drives the run until it waits for
// somebody or is over.
func (s *session) run(ctx context.Context, first Happening) (Report, error) {
	s.goOn = func() { s.loop(ctx) }
	release := context.AfterFunc(ctx, s.nudge)
	defer release()
	go s.begin(ctx, first)
	end := <-s.end
	return end.report, end.err
}

func (s *session) begin(ctx context.Context, first Happening) {
	_, starting := first.(Start)
	if starting {
		s.inbox.lookMS = s.e.now() + s.pollMS() // nobody knows of the run yet
	}
	if !starting && first != (Recover{}) && !isRescue(first) {
		if err := s.step(ctx, Recover{}); err != nil {
			s.close(ctx)
			s.end <- ended{Report{Exec: s.exec}, err}
			return
		}
	}
	s.inbox.kept, s.err = s.keep(ctx, first, s.step(ctx, first))
	if errors.As(s.err, &s.refusal) {
		s.err = nil
	} else if errors.Is(s.err, errDuplicate) {
		s.err, s.duplicate = nil, true
	}
	s.loop(ctx)
}

// pace is how a loop goes on after a turn.
type pace uint8

const (
	again     pace = iota // with the next turn
	over                  // not at all: nothing more can happen here
	elsewhere             // on another goroutine
)

// loop takes one thing after the other that happens: an input, one append, what
// follows from it, the next input.
func (s *session) loop(ctx context.Context) {
	for s.err == nil {
		next, err := s.turn(ctx)
		if next == elsewhere {
			return
		}
		if s.err = err; next == over {
			break
		}
	}
	report, err := s.report(context.WithoutCancel(ctx))
	report.Duplicate, report.Kept = s.duplicate, s.holds(s.inbox.kept)
	parent := s.p.parent
	s.close(ctx)
	if s.err == nil && report.Status.Ended() && parent != "" {
		s.e.returned(ctx, parent, report)
	}
	if s.err == nil {
		report = s.afterwards(ctx, report)
	}
	switch {
	case s.err != nil:
		err = s.err
	case s.refusal != nil:
		err = s.refusal
	}
	s.end <- ended{report, err}
}

// turn takes the next thing that happens, and waits for it if need be.
func (s *session) turn(ctx context.Context) (pace, error) {
	if s.p.ready() {
		return again, s.quiet(s.step(ctx, Recover{}))
	}
	if r, ok := s.deliverable(); ok {
		return again, s.take(ctx, r)
	}
	now := s.e.now()
	if due := s.p.waking(now); due != "" {
		return again, s.quiet(s.step(ctx, TimerDue{due}))
	}
	wake := s.nextWake()
	if wake <= now {
		return again, s.wake(ctx, now)
	}
	if l, ok := s.letter(); ok {
		return again, s.receive(ctx, l)
	}
	if q, ok := s.pop(); ok {
		return again, s.answer(ctx, q)
	}
	if s.idle() {
		if more, err := s.lastLook(ctx, now); more || err != nil {
			return again, err
		}
		if s.settled() {
			return over, nil
		}
		return again, nil
	}
	if ctx.Err() != nil {
		return over, fmt.Errorf("%w: %w", ErrStopped, context.Cause(ctx))
	}
	if s.next != nil {
		return s.inside(wake, now), nil
	}
	s.e.mu.Lock()
	s.arm(wake, now)
	s.e.mu.Unlock()
	select {
	case r := <-s.results:
		s.collect(r)
	case <-s.signal:
	case <-ctx.Done():
	}
	return again, nil
}

// inside does the only job at hand on the goroutine of the loop.
func (s *session) inside(wake, now int64) pace {
	next := s.next
	s.e.mu.Lock()
	if len(s.queue) > 0 {
		s.e.mu.Unlock()
		return again
	}
	s.arm(wake, now)
	s.next, s.busy = nil, next.job
	s.e.mu.Unlock()
	r := next.do()
	s.e.mu.Lock()
	mine := s.busy == next.job
	if mine {
		s.busy = nil
	}
	s.e.mu.Unlock()
	if !mine {
		s.deliver(r)
		return elsewhere
	}
	s.collect(r)
	return again
}

// nudge lets the loop look at what has come up, on another goroutine if the one
// that it is on is inside a job.
func (s *session) nudge() {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	s.nudgeLocked()
}

func (s *session) nudgeLocked() {
	if s.busy != nil {
		s.busy = nil
		go s.goOn()
		return
	}
	select {
	case s.signal <- struct{}{}:
	default:
	}
}

// arm sees to it that the loop is nudged at a time, or earlier. It has one alarm:
// one that rings too early costs a turn, and deadlines mostly move away from it.
func (s *session) arm(at, now int64) {
	if s.alarm != 0 && s.alarm <= at {
		return
	}
	s.disarm()
	s.alarm = at
	s.stopAlarm = s.e.c.Clock.AfterFunc(time.Duration(at-now)*time.Millisecond, func() {
		s.e.mu.Lock()
		defer s.e.mu.Unlock()
		if s.alarm == at {
			s.alarm = 0
			s.nudgeLocked()
		}
	})
}

func (s *session) disarm() {
	if s.alarm != 0 {
		s.stopAlarm()
		s.alarm = 0
	}
}

// quiet drops refusals of inputs that nobody waits for: something else was
// faster.
func (s *session) quiet(err error) error {
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return nil
	}
	return err
}

// idle reports whether the run waits for nothing that this process brings about.
func (s *session) idle() bool {
	if s.p.ended {
		return true
	}
	if len(s.jobs) > 0 {
		return false
	}
	status, _ := s.p.Status()
	return status == store.Suspended || !s.p.retries()
}

// retries reports whether a thread waits for its next attempt.
func (p *Position) retries() bool {
	return slices.ContainsFunc(p.threads, func(t thread) bool { return t.phase == retry })
}

// ready reports whether a thread has a node to enter.
func (p *Position) ready() bool {
	return !p.ended && p.ending == nil && slices.ContainsFunc(p.threads, func(t thread) bool { return t.phase == 0 })
}

// waking gives the timer that lets a run go on that is not ending; "" for none.
func (p *Position) waking(nowMS int64) string {
	if p.ended || p.ending != nil {
		return ""
	}
	if next := p.NextDue(); next == 0 || next > nowMS {
		return ""
	}
	return p.DueTimers(nowMS)[0]
}

// settled ends the session, unless something was posted meanwhile.
func (s *session) settled() bool {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	return len(s.queue) == 0
}

func (s *session) pop() (posted, bool) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if len(s.queue) == 0 {
		return posted{}, false
	}
	q := s.queue[0]
	s.queue = s.queue[1:]
	return q, true
}

// answer takes an input that another call posted.
func (s *session) answer(ctx context.Context, q posted) error {
	s.issued = nil
	kept, err := s.keep(ctx, q.what, s.step(ctx, q.what))
	report, _ := s.report(ctx)
	report.Kept = kept != 0
	var refusal *Refusal
	switch {
	case errors.Is(err, errDuplicate):
		report.Duplicate, err = true, nil
		q.done <- answer{report: report}
	case errors.As(err, &refusal):
		q.done <- answer{report: report, err: err}
		return nil
	default:
		q.done <- answer{report: report, err: err}
	}
	return err
}

// nextWake gives when the session has to look at the clock again: for a timer, a
// deadline, the lease or the inbox.
func (s *session) nextWake() int64 {
	next := min(s.renew, s.nextLook())
	if due := s.p.NextDue(); due > 0 && !s.p.ended && s.p.ending == nil {
		next = min(next, due)
	}
	for _, j := range s.jobs {
		switch {
		case j.done || j.givenUp:
		case j.overdue:
			next = min(next, j.giveUpMS)
		case j.deadlineMS > 0:
			next = min(next, j.deadlineMS)
		}
	}
	return next
}

// wake renews the lease, looks into the inbox and gives up on what is past its
// deadline.
func (s *session) wake(ctx context.Context, now int64) error {
	if now >= s.renew {
		fence, err := s.e.c.Store.Lease(ctx, s.exec, s.e.c.Owner, s.e.c.Lease)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrLost, err)
		}
		if fence != s.fence {
			return fmt.Errorf("%w: the lease ended before it was renewed", ErrLost)
		}
		s.renew = now + s.e.c.Lease.Milliseconds()/3
	}
	if now >= s.nextLook() {
		_ = s.look(ctx, now) // what it cannot read, the next look or the next append says
	}
	for _, j := range s.ordered() {
		if err := s.expire(ctx, j, now); err != nil {
			return err
		}
	}
	return nil
}

// expire tells a job whose deadline has passed to end, and gives it up: a handler
// at once, since its outcome is known; an effect when its port has had time to
// say what became of it.
func (s *session) expire(ctx context.Context, j *job, now int64) error {
	if j.done || j.givenUp || j.deadlineMS <= 0 || now < j.deadlineMS {
		return nil
	}
	if !j.overdue {
		j.overdue, j.giveUpMS = true, now
		if !j.handler && !j.call {
			j.giveUpMS = now + lastWordMS
		}
		j.expire()
	}
	if now < j.giveUpMS {
		return nil
	}
	j.givenUp = true
	return s.giveUp(ctx, j, "no outcome before the deadline")
}
