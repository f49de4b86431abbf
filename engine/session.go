package engine

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
)

// session drives one run in this process, under a lease, from one input until the
// run waits for somebody or is over. Everything in it belongs to the goroutine that
// the loop is on, see loop.go, except what the engine's mutex guards.
type session struct {
	e     *Engine
	exec  string
	m     *Machine
	p     Position
	fence uint64
	renew int64 // when the lease is renewed, in ms since 1970

	jobs    map[string]*job
	next    *pending // the only job, not begun yet
	results chan result
	held    []result // outcomes of handlers that wait for others of lower rank
	tries   map[string]int
	issued  []Issued
	inbox   inbox

	err       error    // that ends the session
	refusal   *Refusal // of the first input
	duplicate bool     // so was the first input
	goOn      func()   // the loop
	end       chan ended
	signal    chan struct{} // something came up
	gone      chan struct{} // closed when the session is over

	// Guarded by the engine's mutex.
	queue     []posted
	busy      *job  // that the goroutine of the loop is inside of
	alarm     int64 // when the loop is nudged, in ms since 1970; 0 for never
	stopAlarm func()
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
	s.nudgeLocked()
	return done, true
}

// open takes the lease of a run.
func (e *Engine) open(ctx context.Context, exec string, d *Definition) (*session, error) {
	s := &session{
		e: e, exec: exec, jobs: map[string]*job{}, results: make(chan result), tries: map[string]int{},
		end: make(chan ended, 1), signal: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	s.inbox.box, _ = e.c.Store.(store.Inbox)
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
	s.disarm()
	close(s.gone)
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

var errDuplicate = errors.New("delivered before")

// step gives the machine an input and makes what follows durable before it is
// done.
func (s *session) step(ctx context.Context, what Happening) error {
	mint := &minter{random: s.e.c.Random, exec: s.exec}
	out, err := s.m.Step(s.p, Input{NowMS: s.e.now(), What: what, Mint: mint})
	switch {
	case err != nil:
		return &stepError{err}
	case mint.err != nil:
		return mint.err
	case out.Refusal != nil:
		return out.Refusal
	case out.Duplicate:
		return errDuplicate
	}
	if len(out.Events) > 0 {
		b := out.Batch(s.fence)
		b.Taken = s.inbox.taking
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
