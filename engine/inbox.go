package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/writ-dev/writ/store"
)

// inbox is what a session knows of the inbox of its run. Whoever has the lease
// takes messages: as the loop comes by every [Config.Poll], last before it gives
// the lease up, and once more after that, since a message that was posted in
// between was posted to somebody who had the lease. Events that come before their
// wait are held; they stay in the store until the run comes to it.
type inbox struct {
	box    store.Inbox // nil where the store has none
	after  uint64      // the newest message that was looked at
	lookMS int64       // when to look again, in ms since 1970
	held   []letter    // that were looked at and not taken, oldest first
	taking []uint64    // in the step under way
	kept   uint64      // the message that the first input became; 0 for none
}

// letter is a message that was read.
type letter struct {
	seq  uint64
	what Happening // nil for one that cannot be read
	wait string    // of a signal: what it is waited for as
	mark string    // of a signal: how it is remembered; "" for never
}

func letterOf(m store.Message) letter {
	l := letter{seq: m.Seq}
	l.what, _ = ReadMessage(m)
	if in, ok := l.what.(Signal); ok {
		l.wait = waitName(in.Name, in.Key)
		if in.ID != "" {
			l.mark = eventMark(in.ID)
		}
	}
	return l
}

// takes reports whether the run can be told of a message now. An event that it does
// not wait for has to wait itself.
func (p *Position) takes(l letter) bool {
	if l.wait == "" {
		return true
	}
	return l.mark != "" && slices.Contains(p.seen, l.mark) || p.ending == nil &&
		slices.ContainsFunc(p.threads, func(th thread) bool { return th.phase == waiting && th.waitName == l.wait })
}

func (s *session) pollMS() int64 { return max(1, s.e.c.Poll.Milliseconds()) }

// nextLook gives when the session has to look into the inbox.
func (s *session) nextLook() int64 {
	if s.inbox.box == nil || s.p.ended {
		return math.MaxInt64
	}
	return s.inbox.lookMS
}

// look reads what was posted since the last time.
func (s *session) look(ctx context.Context, now int64) error {
	b := &s.inbox
	b.lookMS = now + s.pollMS()
	list, err := b.box.Posted(context.WithoutCancel(ctx), s.exec, b.after, store.MaxMessages)
	for _, m := range list {
		b.after = m.Seq
		b.held = append(b.held, letterOf(m))
	}
	return err
}

// lastLook reports whether there is something to take before the session ends.
func (s *session) lastLook(ctx context.Context, now int64) (bool, error) {
	if s.inbox.box == nil || s.p.ended {
		return false, nil
	}
	if err := s.look(ctx, now); err != nil {
		return false, err
	}
	return slices.ContainsFunc(s.inbox.held, s.p.takes), nil
}

// letter gives the oldest message that the run can be told of.
func (s *session) letter() (letter, bool) {
	b := &s.inbox
	if len(b.held) == 0 || s.p.ended {
		return letter{}, false
	}
	i := slices.IndexFunc(b.held, s.p.takes)
	if i < 0 {
		return letter{}, false
	}
	l := b.held[i]
	b.held = slices.Delete(b.held, i, i+1)
	return l, true
}

// receive tells the machine of a message. The append of the step takes it out of
// the inbox. One that is refused is taken out too: whoever posted it and still
// waits finds it gone without an effect, see [Engine.Await].
func (s *session) receive(ctx context.Context, l letter) error {
	if l.what == nil {
		s.drop(ctx, l.seq)
		return nil
	}
	s.inbox.taking = []uint64{l.seq}
	err := s.step(ctx, l.what)
	s.inbox.taking = nil
	var refusal *Refusal
	var broken *stepError
	if errors.As(err, &refusal) || errors.As(err, &broken) || errors.Is(err, errDuplicate) {
		s.drop(ctx, l.seq)
		return nil
	}
	return err
}

// stepError is the machine's own: the input cannot be taken in any state of the
// store.
type stepError struct{ error }

func (e *stepError) Unwrap() error { return e.error }

// drop takes a message out of the inbox that leads to nothing. If that fails, it is
// refused again by whoever looks next.
func (s *session) drop(ctx context.Context, seq uint64) {
	_ = s.e.c.Store.Append(context.WithoutCancel(ctx), store.Batch{
		Exec: s.exec, Next: s.p.head.Seq + 1, Fence: s.fence, Taken: []uint64{seq},
	})
}

// keep puts a signal that the run does not wait for yet into its inbox, and gives
// what is left of the error: nil when it is kept.
func (s *session) keep(ctx context.Context, what Happening, err error) (seq uint64, _ error) {
	var refusal *Refusal
	if s.inbox.box == nil || !errors.As(err, &refusal) || !s.m.early(&s.p, what, refusal) {
		return 0, err
	}
	m, err := s.m.Message(s.p, what)
	if err != nil {
		return 0, err
	}
	return s.e.put(ctx, s.inbox.box, s.exec, m)
}

// holds reports whether an early event is still in the inbox.
func (s *session) holds(seq uint64) bool {
	return seq != 0 && !s.p.ended && (seq > s.inbox.after || slices.ContainsFunc(s.inbox.held, func(l letter) bool { return l.seq == seq }))
}

// put posts a message, and turns the store's no into a refusal.
func (e *Engine) put(ctx context.Context, box store.Inbox, exec string, m store.Message) (uint64, error) {
	if m.ID == "" {
		text, err := randomText(e.c.Random)
		if err != nil {
			return 0, err
		}
		m.ID = "event." + text
	}
	seq, err := box.Post(ctx, exec, m)
	switch {
	case errors.Is(err, store.ErrInboxFull):
		return 0, &Refusal{Code: RefusedFull, Message: "the inbox of the run is full"}
	case errors.Is(err, store.ErrEnded):
		return 0, &Refusal{Code: RefusedEnded, Message: "the run has ended"}
	case err != nil:
		return 0, fmt.Errorf("post to %s: %w", exec, err)
	}
	return seq, nil
}

// afterwards looks into the inbox once more, now that the lease is given up: what
// was posted before that went to this process, and after that to nobody who looks.
// It gives the report of the run by then.
func (s *session) afterwards(ctx context.Context, r Report) Report {
	if s.inbox.box == nil || r.Status.Ended() {
		return r
	}
	list, err := s.inbox.box.Posted(context.WithoutCancel(ctx), s.exec, s.inbox.after, 1)
	if err != nil || len(list) == 0 {
		return r
	}
	next, err := s.e.tell(ctx, s.exec, Recover{})
	if err != nil {
		return r // whoever has the run by now takes them
	}
	next.Issued = append(r.Issued, next.Issued...)
	next.Duplicate, next.Kept = r.Duplicate, r.Kept
	return next
}
