package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/storetest"
)

// slot is a write that needs no file: it begins and ends when it is told.
type slot struct {
	request
	begun, end chan bool
}

func newSlot() *slot {
	s := &slot{begun: make(chan bool, 1), end: make(chan bool)}
	s.request = request{alone: true, do: func(*writer) error {
		s.begun <- true
		<-s.end
		return nil
	}}
	return s
}

// submitted gives the answer to a request once there is one.
func submitted(ctx context.Context, s *Store, r *request) <-chan error {
	answer := make(chan error, 1)
	go func() { answer <- s.submit(ctx, r) }()
	return answer
}

var errNone = errors.New("no answer yet")

func peek(answer <-chan error) error {
	synctest.Wait()
	select {
	case err := <-answer:
		return err
	default:
		return errNone
	}
}

// TestContextWhileWaiting ends contexts of writes that wait and of one that was
// taken.
func TestContextWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Store{writer: &writer{}}
		ctx, cancel := context.WithCancel(t.Context())
		leader, waits, next := newSlot(), newSlot(), newSlot()
		first := submitted(ctx, s, &leader.request)
		<-leader.begun
		second := submitted(ctx, s, &waits.request)
		synctest.Wait()
		third := submitted(t.Context(), s, &next.request)
		synctest.Wait()
		cancel()
		if err := peek(second); !errors.Is(err, context.Canceled) {
			t.Errorf("the one that waits: %v", err)
		}
		if err := peek(first); !errors.Is(err, errNone) {
			t.Errorf("the one that writes: %v", err)
		}
		close(leader.end)
		if err := peek(first); err != nil {
			t.Errorf("the one that wrote: %v", err)
		}
		<-next.begun
		close(next.end)
		if err := peek(third); err != nil {
			t.Errorf("the last one: %v", err)
		}
		if len(waits.begun) != 0 {
			t.Error("what was taken back was written")
		}
		if err := s.submit(ctx, &newSlot().request); !errors.Is(err, context.Canceled) {
			t.Errorf("a context that had ended: %v", err)
		}
	})
}

// TestContextOfATakenWrite ends the context of a write that is in the group of
// another caller.
func TestContextOfATakenWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Store{writer: &writer{}}
		ctx, cancel := context.WithCancel(t.Context())
		one, two, three := newSlot(), newSlot(), newSlot()
		first := submitted(t.Context(), s, &one.request)
		<-one.begun
		second := submitted(t.Context(), s, &two.request)
		synctest.Wait()
		third := submitted(ctx, s, &three.request)
		synctest.Wait()
		close(one.end) // two leads, and takes three along
		<-two.begun
		cancel()
		if err := peek(third); !errors.Is(err, errNone) {
			t.Errorf("a write that was taken: %v", err)
		}
		close(two.end)
		<-three.begun
		close(three.end)
		for i, answer := range []<-chan error{first, second, third} {
			if err := peek(answer); err != nil {
				t.Errorf("write %d: %v", i+1, err)
			}
		}
	})
}

// TestCloseWaits closes a queue while one writes and others wait.
func TestCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Store{writer: &writer{}}
		leader := newSlot()
		first := submitted(t.Context(), s, &leader.request)
		<-leader.begun
		second := submitted(t.Context(), s, &newSlot().request)
		synctest.Wait()
		closed := make(chan error, 1)
		go func() {
			s.queue.close()
			closed <- nil
		}()
		if err := peek(second); !errors.Is(err, store.ErrClosed) {
			t.Errorf("the one that waits: %v", err)
		}
		if err := peek(closed); !errors.Is(err, errNone) {
			t.Error("closed while somebody writes")
		}
		if err := s.submit(t.Context(), &newSlot().request); !errors.Is(err, store.ErrClosed) {
			t.Errorf("one that comes late: %v", err)
		}
		close(leader.end)
		if err := peek(first); err != nil {
			t.Errorf("the one that writes: %v", err)
		}
		if err := peek(closed); err != nil {
			t.Error(err)
		}
	})
}

// TestOneAtATime lets many write at once: each write happens once, and never two at
// a time.
func TestOneAtATime(t *testing.T) {
	s := &Store{writer: &writer{}}
	const callers, writes = 50, 40
	inside, total := 0, 0 // guarded by the turn to write
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range writes {
				err := s.submit(t.Context(), &request{alone: true, do: func(*writer) error {
					if inside++; inside != 1 {
						t.Error("two write at once")
					}
					total++
					inside--
					return nil
				}})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if total != callers*writes {
		t.Errorf("%d writes, want %d", total, callers*writes)
	}
	s.queue.close()
}

// TestFaultOfOne writes a group of which some cannot be written, each for a reason
// that is found after it has written something. They fail alone.
func TestFaultOfOne(t *testing.T) {
	s, err := openSteps(t, filepath.Join(t.TempDir(), "writ.db"), migrations)
	if err != nil {
		t.Fatal(err)
	}
	var group []*request
	for i := range 9 {
		l := storetest.NewLog(t, fmt.Sprint("run-", i))
		b := l.Batch(l.Start())
		b.Intents = []store.Intent{{Key: "once", Seq: 1}}
		if i%4 == 1 {
			b.Intents = append(b.Intents, store.Intent{Key: "once", Seq: 1})
		}
		text, err := lines(b.Events)
		if err != nil {
			t.Fatal(err)
		}
		group = append(group, &request{do: (&appending{batch: b, now: time.Now, cache: s.snapshots, lines: text}).do})
	}
	s.writer.write(group)
	for i, r := range group {
		h, err := s.Head(t.Context(), fmt.Sprint("run-", i))
		if i%4 == 1 {
			if !errors.Is(r.err, store.ErrConflict) || !errors.Is(err, store.ErrNotFound) {
				t.Errorf("run %d: %v; head %+v, %v", i, r.err, h, err)
			}
		} else if r.err != nil || err != nil || h.Seq != 1 || len(h.Intents) != 1 {
			t.Errorf("run %d: %v; head %+v, %v", i, r.err, h, err)
		}
	}
}

// TestBusy holds the lock of the file: a group learns it at once, not one after the
// other.
func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "writ.db")
	other, err := openSteps(t, path, migrations)
	if err != nil {
		t.Fatal(err)
	}
	s, err := open(t.Context(), path, &Options{Busy: time.Millisecond}, migrations)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := other.writer.begin.exec(); err != nil {
		t.Fatal(err)
	}
	written := 0
	group := make([]*request, 20)
	for i := range group {
		group[i] = &request{do: func(*writer) error {
			written++
			return nil
		}}
	}
	s.writer.write(group)
	for _, r := range group {
		if !errors.Is(r.err, store.ErrBusy) {
			t.Errorf("got %v", r.err)
		}
	}
	if written != 0 {
		t.Errorf("%d wrote", written)
	}
	if _, err := other.writer.rollback.exec(); err != nil {
		t.Fatal(err)
	}
	s.writer.write(group)
	if written != len(group) || group[0].err != nil {
		t.Errorf("%d wrote, %v", written, group[0].err)
	}
}

// TestOtherProcess lets one store write to a run behind the back of another one that
// remembers it. The second one refuses and accepts what it would if it had
// remembered nothing.
func TestOtherProcess(t *testing.T) {
	clock := &storetest.Clock{}
	clock.Advance(time.Hour)
	path := filepath.Join(t.TempDir(), "writ.db")
	var stores [2]*Store
	for i := range stores {
		s, err := open(t.Context(), path, &Options{Now: clock.Now}, migrations)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		stores[i] = s
	}
	here, there := stores[0], stores[1]
	l := storetest.NewLog(t, "run")
	var fence uint64
	try := func(s *Store, b store.Batch, want error) {
		t.Helper()
		b.Fence = fence
		if err := s.Append(t.Context(), b); !errors.Is(err, want) {
			t.Fatalf("events from %d: got %v, want %v", b.Next, err, want)
		}
		if h, err := here.Head(t.Context(), "run"); err != nil || want == nil && h.Head != l.Head() {
			t.Fatalf("head %+v, %v", h, err)
		}
	}
	try(here, l.Batch(l.Start()), nil)
	try(here, l.Batch(l.Step("here")...), nil)

	steps := l.Step("there") // somebody else appended
	try(there, l.Batch(steps...), nil)
	err := here.Append(t.Context(), l.Batch(steps...))
	var conflict *store.ConflictError
	if !errors.As(err, &conflict) || conflict.Next != 8 || conflict.Wanted != 5 {
		t.Errorf("the same batch here: %v", err)
	}
	try(here, l.Batch(l.Step("again here")...), nil)

	next := l.Step("under a lease") // somebody else took the lease
	other, err := there.Lease(t.Context(), "run", "there", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	try(here, l.Batch(next...), store.ErrFenced)
	fence = other
	try(there, l.Batch(next...), nil)
	try(here, l.Batch(l.Step("with the fence")...), nil)
	next = l.Step("after the lease was given up")
	if _, err := there.Lease(t.Context(), "run", "there", 0); err != nil {
		t.Fatal(err)
	}
	try(here, l.Batch(next...), store.ErrFenced)
	fence = 0
	try(here, l.Batch(next...), nil)

	suspended := l.Batch(l.Step("suspended")...) // somebody else said what it waits for
	suspended.Head = store.Mark{Status: store.Suspended, Reason: "approval"}
	try(there, suspended, nil)
	try(here, l.Batch(l.Step("running")...), nil)
	if h, err := here.Head(t.Context(), "run"); err != nil || h.Status != store.Running || h.Reason != "" {
		t.Errorf("head %+v, %v", h, err)
	}

	next = l.Step("after the end of everything") // somebody else deleted it
	if _, err := there.Delete(t.Context(), "run", true); err != nil {
		t.Fatal(err)
	}
	try(here, l.Batch(next...), store.ErrDeleted)
}

// TestKnownIsBounded remembers more runs than there is room for.
func TestKnownIsBounded(t *testing.T) {
	w := &writer{known: map[string]knownRun{}}
	for i := range maxKnown + 10 {
		w.remember(fmt.Sprint(i), knownRun{id: int64(i)})
		w.remember("always again", knownRun{id: int64(i)})
	}
	if len(w.known) != maxKnown || w.known["always again"].id != maxKnown+9 {
		t.Errorf("%d runs are remembered", len(w.known))
	}
}

// TestLineBreak refuses an event that would be two lines.
func TestLineBreak(t *testing.T) {
	s, err := openSteps(t, filepath.Join(t.TempDir(), "writ.db"), migrations)
	if err != nil {
		t.Fatal(err)
	}
	l := storetest.NewLog(t, "run")
	start := l.Start()
	broken, err := event.Read(append(start.Bytes[:len(start.Bytes)-1:len(start.Bytes)-1], "\n}"...))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), l.Batch(broken)); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if err := s.Append(t.Context(), l.Batch(start)); err != nil {
		t.Error(err)
	}
}
