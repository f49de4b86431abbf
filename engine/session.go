package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
)

// session drives one run in this process, under a lease, from one input until the
// run waits for somebody or is over. Everything in it belongs to the goroutine of
// [session.run], except the queue.
type session struct {
	e     *Engine
	exec  string
	m     *Machine
	p     Position
	fence uint64
	renew int64 // when the lease is renewed, in ms since 1970

	jobs    map[string]*job
	results chan result
	held    []result // outcomes of handlers that wait for others of lower rank
	tries   map[string]int
	issued  []Issued

	// Guarded by the engine's mutex.
	queue  []posted
	signal chan struct{}
	closed bool
}

// posted is an input from another call, and who waits for the answer.
type posted struct {
	what Happening
	done chan answer
}

type answer struct {
	report Report
	err    error
	again  bool // the session was closing: ask once more
}

// errOpen means that another call opened a session for the run first.
var errOpen = errors.New("a session is open")

// post gives an input to the session that has the run, if there is one.
func (e *Engine) post(exec string, what Happening) (<-chan answer, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sessions[exec]
	if s == nil {
		return nil, false
	}
	done := make(chan answer, 1)
	s.queue = append(s.queue, posted{what, done})
	select {
	case s.signal <- struct{}{}:
	default:
	}
	return done, true
}

// open takes the lease of a run.
func (e *Engine) open(ctx context.Context, exec string, d *Definition) (*session, error) {
	s := &session{
		e: e, exec: exec, jobs: map[string]*job{}, results: make(chan result, 16), tries: map[string]int{}, signal: make(chan struct{}, 1),
	}
	if d != nil {
		s.m = NewMachine(d)
	}
	e.mu.Lock()
	if e.sessions[exec] != nil {
		e.mu.Unlock()
		return nil, errOpen
	}
	e.sessions[exec] = s
	e.mu.Unlock()
	fence, err := e.c.Store.Lease(ctx, exec, e.c.Owner, e.c.Lease)
	if err != nil {
		s.forget()
		return nil, err
	}
	s.fence = fence
	s.renew = e.now() + e.c.Lease.Milliseconds()/3
	return s, nil
}

func (e *Engine) now() int64 { return e.c.Clock.Now().UnixMilli() }

// forget removes the session. Whoever posted to it is sent to the next one.
func (s *session) forget() {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	s.closed = true
	delete(s.e.sessions, s.exec)
	for _, q := range s.queue {
		q.done <- answer{again: true}
	}
	s.queue = nil
}

// close stops what is under way and gives the lease up.
func (s *session) close(ctx context.Context) {
	for _, j := range s.jobs {
		j.cancel()
	}
	if s.fence != 0 {
		// The lease ends by itself if this fails.
		_, _ = s.e.c.Store.Lease(context.WithoutCancel(ctx), s.exec, s.e.c.Owner, 0)
	}
	s.forget()
}

// load reads the newest checkpoint and nothing else of the log but the event that
// names it.
func (s *session) load(ctx context.Context, as *Definition) error {
	head, err := s.e.c.Store.Head(ctx, s.exec)
	if err != nil {
		return err
	}
	data, err := s.e.newest(ctx, head)
	if err != nil {
		return err
	}
	if err := s.e.authentic(ctx, head); err != nil {
		return err
	}
	def, err := s.e.definitionOf(s.exec, data, as)
	if err != nil {
		return err
	}
	s.m = NewMachine(def)
	if s.p, err = s.m.Restore(data, head.Head); err != nil {
		return err
	}
	s.p.ended = head.Status.Ended()
	if !s.p.saltRef.IsZero() {
		salt, err := readBlob(ctx, s.e.c.Store, s.p.saltRef)
		if err != nil && !errors.Is(err, store.ErrDeleted) && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		copy(s.p.salt[:], salt)
	}
	return nil
}

func readBlob(ctx context.Context, st store.Store, d artifact.Digest) ([]byte, error) {
	r, err := st.Blob(ctx, d)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// newest reads the checkpoint that a head names.
func (e *Engine) newest(ctx context.Context, head store.Head) ([]byte, error) {
	data, err := e.c.Store.Checkpoint(ctx, head.Exec, head.Checkpoint.Seq)
	if err == nil && artifact.Sum(data) != head.Checkpoint.Digest {
		err = ErrTampered
	}
	if err != nil {
		return nil, fmt.Errorf("run %s, checkpoint at event %d: %w", head.Exec, head.Checkpoint.Seq, err)
	}
	return data, nil
}

// authentic holds the newest checkpoint against the log: the event that announced
// it names its digest, and is the last one.
func (e *Engine) authentic(ctx context.Context, head store.Head) error {
	for r, err := range e.c.Store.Events(ctx, head.Exec, head.Checkpoint.Seq) {
		if err != nil {
			return err
		}
		x, err := r.Decode()
		if err != nil {
			return err
		}
		announced, ok := x.Body.(*event.Checkpointed)
		if ok && announced.Checkpoint == head.Checkpoint.Digest && r.Seq == head.Seq && r.Digest == head.Digest || x.Type.Ends() {
			return nil
		}
		break
	}
	return fmt.Errorf("run %s, event %d: %w", head.Exec, head.Checkpoint.Seq, ErrTampered)
}

// definitionOf finds the definition that a checkpoint names.
func (e *Engine) definitionOf(exec string, checkpoint []byte, as *Definition) (*Definition, error) {
	if as != nil {
		return as, nil
	}
	want, err := peekDefinition(checkpoint)
	if err != nil {
		return nil, fmt.Errorf("checkpoint of %s: %w", exec, err)
	}
	if d := e.definition(sumOf(want)); d != nil {
		return d, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	pinned := &PinnedError{Exec: exec, Definition: want, Differs: []string{"everything"}}
	best := 7
	for _, d := range e.defs {
		if diff := differences(want, d.digests); len(diff) < best {
			best, pinned.Differs = len(diff), diff
		}
	}
	return nil, pinned
}

func peekDefinition(checkpoint []byte) (event.Definition, error) {
	r, err := checkpointReader(checkpoint, "checkpoint")
	if err != nil {
		return event.Definition{}, err
	}
	d := readDefinition(r.Root().Object().Need("definition"))
	return d, r.Err()
}

// run is the loop: an input, one append, what follows from it, the next input.
func (s *session) run(ctx context.Context, first Happening) (Report, error) {
	if _, starting := first.(Start); !starting && first != (Recover{}) && !isRescue(first) {
		if err := s.step(ctx, Recover{}); err != nil {
			s.close(ctx)
			return Report{Exec: s.exec}, err
		}
	}
	err := s.step(ctx, first)
	duplicate := false
	var refusal *Refusal
	if errors.As(err, &refusal) {
		err = nil
	} else if errors.Is(err, errDuplicate) {
		err, duplicate = nil, true
	}
	for err == nil {
		var more bool
		if more, err = s.turn(ctx); !more {
			break
		}
	}
	report, reportErr := s.report(context.WithoutCancel(ctx))
	report.Duplicate = duplicate
	parent := s.p.parent
	s.close(ctx)
	if err == nil && report.Status.Ended() && parent != "" {
		s.e.returned(ctx, parent, report)
	}
	switch {
	case err != nil:
		return report, err
	case refusal != nil:
		return report, refusal
	}
	return report, reportErr
}

var errDuplicate = errors.New("delivered before")

// step gives the machine an input and makes what follows durable before it is
// done.
func (s *session) step(ctx context.Context, what Happening) error {
	mint := &minter{random: s.e.c.Random, exec: s.exec}
	out, err := s.m.Step(s.p, Input{NowMS: s.e.now(), What: what, Mint: mint})
	switch {
	case err != nil:
		return err
	case mint.err != nil:
		return mint.err
	case out.Refusal != nil:
		return out.Refusal
	case out.Duplicate:
		return errDuplicate
	}
	if len(out.Events) > 0 {
		b := out.Batch(s.fence)
		if len(s.e.c.Sign) > 0 && out.Status != store.Running {
			if b.Head.Signed, err = event.SignHead(out.Position.head, s.e.c.Sign...); err != nil {
				return err
			}
		}
		if err := s.append(ctx, b); err != nil {
			return err
		}
	}
	s.p = out.Position
	s.issued = append(s.issued, mint.issued...)
	if s.e.c.Tokens != nil {
		for _, issued := range mint.issued {
			s.e.c.Tokens(issued)
		}
	}
	s.dispatch(ctx, out)
	return nil
}

// append stores a batch. Where the store cannot say whether it did, its head can.
func (s *session) append(ctx context.Context, b store.Batch) error {
	ctx = context.WithoutCancel(ctx)
	last := b.Events[len(b.Events)-1]
	for attempt := 0; ; attempt++ {
		err := s.e.c.Store.Append(ctx, b)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, store.ErrFenced), errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrEnded):
			return fmt.Errorf("%w: %w", ErrLost, err)
		case attempt >= 3 || !errors.Is(err, store.ErrUncertain) && !errors.Is(err, store.ErrBusy):
			return fmt.Errorf("run %s stays at event %d: %w", s.exec, b.Next-1, err)
		}
		head, headErr := s.e.c.Store.Head(ctx, s.exec)
		if headErr == nil && head.Seq == last.Seq && head.Digest == last.Digest {
			return nil
		}
	}
}

// turn waits for the next thing that happens and takes it. It gives false when
// nothing more can happen here.
func (s *session) turn(ctx context.Context) (more bool, err error) {
	if s.p.ready() {
		return true, s.quiet(s.step(ctx, Recover{}))
	}
	if r, ok := s.deliverable(); ok {
		return true, s.take(ctx, r)
	}
	now := s.e.now()
	if due := s.p.DueTimers(now); len(due) > 0 && !s.p.ended {
		return true, s.quiet(s.step(ctx, TimerDue{due[0]}))
	}
	if q, ok := s.pop(); ok {
		return true, s.answer(ctx, q)
	}
	if s.idle() {
		return !s.settled(), nil
	}
	wait, stop := s.e.c.Clock.After(time.Duration(s.nextWake(now)-now) * time.Millisecond)
	defer stop()
	select {
	case r := <-s.results:
		s.collect(r)
	case <-s.signal:
	case <-wait:
		return true, s.wake(ctx)
	case <-ctx.Done():
		return false, fmt.Errorf("%w: %w", ErrStopped, context.Cause(ctx))
	}
	return true, nil
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
	status, _ := s.p.Status()
	return len(s.jobs) == 0 && (status == store.Suspended || !s.p.retries())
}

// retries reports whether a thread waits for its next attempt.
func (p *Position) retries() bool {
	return slices.ContainsFunc(p.threads, func(t thread) bool { return t.phase == retry })
}

// ready reports whether a thread has a node to enter.
func (p *Position) ready() bool {
	return !p.ended && p.ending == nil && slices.ContainsFunc(p.threads, func(t thread) bool { return t.phase == 0 })
}

// settled ends the session, unless something was posted meanwhile.
func (s *session) settled() bool {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if len(s.queue) > 0 {
		return false
	}
	s.closed = true
	return true
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
	err := s.step(ctx, q.what)
	report, _ := s.report(ctx)
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
// deadline or the lease.
func (s *session) nextWake(now int64) int64 {
	next := s.renew
	if due := s.p.NextDue(); due > 0 && !s.p.ended {
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
	return max(next, now)
}

// wake renews the lease and gives up on what is past its deadline.
func (s *session) wake(ctx context.Context) error {
	now := s.e.now()
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
