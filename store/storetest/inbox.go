package storetest

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/store"
)

// inbox gives the inbox of the store under test; without one the test is skipped.
func (b *bench) inbox() store.Inbox {
	box, ok := b.Store.(store.Inbox)
	if !ok {
		b.t.Skipf("%T has no inbox", b.Store)
	}
	return box
}

func message(id string) store.Message { return store.Message{ID: id, Body: []byte("body of " + id)} }

// post posts messages that are accepted and gives the sequence of the last one.
func (b *bench) post(exec string, ids ...string) (seq uint64) {
	b.t.Helper()
	for _, id := range ids {
		var err error
		if seq, err = b.inbox().Post(b.ctx(), exec, message(id)); err != nil {
			b.t.Fatal(err)
		}
	}
	return seq
}

// wantPosted checks which messages there are above a sequence. It gives their
// sequences.
func (b *bench) wantPosted(exec string, after uint64, n int, want string) (seqs []uint64) {
	b.t.Helper()
	list, err := b.inbox().Posted(b.ctx(), exec, after, n)
	if err != nil {
		b.t.Fatal(err)
	}
	got := ""
	for _, m := range list {
		text := "body of " + m.ID
		if exec == "" {
			got, text = got+m.Exec+".", ""
		} else if m.Exec != exec {
			b.t.Errorf("a message of %q in the inbox of %q", m.Exec, exec)
		}
		got += m.ID + " "
		if string(m.Body) != text {
			b.t.Errorf("message %s has the body %q, want %q", m.ID, m.Body, text)
		}
		if m.Seq <= after {
			b.t.Errorf("message %s has the sequence %d, not above %d", m.ID, m.Seq, after)
		}
		after = m.Seq
		seqs = append(seqs, m.Seq)
	}
	if got != want {
		b.t.Errorf("inbox of %q: %q, want %q", exec, got, want)
	}
	return seqs
}

func testInbox(t *testing.T, b *bench) {
	l, other := NewLog(t, "run"), NewLog(t, "other")
	b.append(l.Batch(l.Start()))
	b.append(other.Batch(other.Start()))
	fence := b.lease("run", "worker", time.Minute)
	b.post("run", "b", "a") // whoever has the lease
	if again := b.post("run", "b"); again != b.wantPosted("run", 0, 9, "b a ")[0] {
		t.Errorf("the message that is there has another sequence: %d", again)
	}
	b.post("other", "b")
	first := b.post("run", "c") - 3
	b.wantPosted("run", 0, 2, "b a ")
	b.wantPosted("run", first+1, 9, "c ")
	b.wantPosted("", 0, 9, "run.b run.a other.b run.c ")
	b.wantPosted("", first+1, 1, "other.b ")
	b.wantPosted("", first+9, 9, "")
	b.wantPosted("run", 0, 0, "")
	b.wantPosted("absent", 0, 9, "")

	seqs := b.wantPosted("run", 0, 9, "b a c ")
	step := fenced(l.Batch(l.Step("one")...), fence)
	step.Taken = []uint64{seqs[1]}
	b.append(step)
	b.wantPosted("run", 0, 9, "b c ")
	b.wantPosted("other", 0, 9, "b ")
	if newer := b.post("run", "a"); newer <= seqs[2] { // it was taken: this is another one
		t.Errorf("sequence %d after %d", newer, seqs[2])
	}
	b.wantPosted("run", seqs[2], 9, "a ")
}

// testTaken takes messages in every way that is refused, and then each once.
func testTaken(t *testing.T, b *bench) {
	l, other := NewLog(t, "run"), NewLog(t, "other")
	b.append(l.Batch(l.Start()))
	b.append(other.Batch(other.Start()))
	b.post("other", "x")
	theirs := b.wantPosted("other", 0, 9, "x ")[0]
	b.post("run", "a", "b")
	seqs := b.wantPosted("run", 0, 9, "a b ")
	fence := b.lease("run", "worker", time.Minute)
	step := fenced(checkpoint(l.Batch(l.Step("one")...), "checkpoint"), fence)
	for name, c := range map[string]struct {
		change func(*store.Batch)
		want   error
	}{
		"not there":      {func(b *store.Batch) { b.Taken = []uint64{seqs[0], seqs[1] + 1} }, store.ErrConflict},
		"another run's":  {func(b *store.Batch) { b.Taken = []uint64{theirs} }, store.ErrConflict},
		"without lease":  {func(b *store.Batch) { b.Taken, b.Fence = seqs, 0 }, store.ErrFenced},
		"too many":       {func(b *store.Batch) { b.Taken = make([]uint64, store.MaxMessages+1) }, store.ErrInvalid},
		"nothing at all": {func(b *store.Batch) { b.Events, b.Checkpoint = nil, nil }, store.ErrInvalid},
		"no events":      {func(b *store.Batch) { b.Taken, b.Events = seqs, nil }, store.ErrInvalid}, // but a checkpoint
		"only a mark": {func(b *store.Batch) {
			b.Taken, b.Events, b.Checkpoint, b.Head = seqs, nil, nil, store.Mark{Status: store.Suspended}
		}, store.ErrInvalid},
	} {
		batch := step
		c.change(&batch)
		if err := b.try(batch); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		b.wantPosted("run", 0, 9, "a b ")
		b.wantPosted("other", 0, 9, "x ")
		b.wantEvents("run", 1)
	}
	step.Taken = seqs[:1]
	b.append(step)
	b.wantPosted("run", 0, 9, "b ")
	before := b.head("run")
	drop := store.Batch{Exec: "run", Next: before.Seq + 1, Fence: fence, Taken: seqs[:1]}
	b.wantErr(b.try(drop), store.ErrConflict) // it was taken
	drop.Taken = seqs[1:]
	late := drop
	late.Next--
	b.wantErr(b.try(late), store.ErrConflict)
	late.Next, late.Fence = drop.Next, fence+1
	b.wantErr(b.try(late), store.ErrFenced)
	b.append(drop)
	b.wantPosted("run", 0, 9, "")
	if after := b.head("run"); !sameHead(before, after) {
		t.Errorf("a batch without events changed the head from %+v to %+v", before, after)
	}
}

func testInboxRefuses(t *testing.T, b *bench) {
	box := b.inbox()
	try := func(exec string, m store.Message, want error) {
		t.Helper()
		if _, err := box.Post(b.ctx(), exec, m); !errors.Is(err, want) {
			t.Errorf("post to %s: %v, want %v", exec, err, want)
		}
	}
	l := NewLog(t, "run")
	b.lease("leased", "worker", time.Minute)
	try("absent", message("a"), store.ErrNotFound)
	try("leased", message("a"), store.ErrNotFound) // a lease alone makes no run
	try("", message("a"), store.ErrNotFound)
	b.append(l.Batch(l.Start()))
	try("run", store.Message{}, store.ErrInvalid)
	try("run", store.Message{ID: strings.Repeat("i", store.MaxMessageID+1)}, store.ErrInvalid)
	try("run", store.Message{ID: "a", Body: make([]byte, store.MaxMessage+1)}, store.ErrInvalid)
	try("run", store.Message{ID: "a", Spare: store.MaxMessages}, store.ErrInvalid)
	try("run", store.Message{ID: "a", Spare: -1}, store.ErrInvalid)
	b.wantPosted("run", 0, 9, "")

	const spare = 6
	polite := func(id string) store.Message {
		return store.Message{ID: id, Body: []byte("body of " + id), Spare: spare}
	}
	for i := range store.MaxMessages - spare {
		if _, err := box.Post(b.ctx(), "run", polite(name("m%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	try("run", polite("one more"), store.ErrInboxFull)
	try("run", polite("m7"), nil) // it is there
	for i := range spare {
		b.post("run", name("urgent %d", i))
	}
	try("run", message("one more"), store.ErrInboxFull)
	if list, err := box.Posted(b.ctx(), "run", 0, 2*store.MaxMessages); err != nil || len(list) != store.MaxMessages {
		t.Errorf("%d messages, %v", len(list), err)
	}

	b.append(l.Batch(l.End()...)) // what is left goes with the end
	b.wantPosted("run", 0, 9, "")
	b.wantPosted("", 0, 9, "")
	try("run", message("late"), store.ErrEnded)
	if _, err := b.Delete(b.ctx(), "run", false); err != nil {
		t.Fatal(err)
	}
	try("run", message("later"), store.ErrDeleted)

	open := NewLog(t, "open")
	b.append(open.Batch(open.Start()))
	b.post("open", "a")
	if _, err := b.Delete(b.ctx(), "open", true); err != nil {
		t.Fatal(err)
	}
	b.wantPosted("open", 0, 9, "")
	b.wantPosted("", 0, 9, "")
}

// testPosters lets several post at once, some of them the same, while a worker
// takes what comes. Each message is taken once.
func testPosters(t *testing.T, b *bench) {
	const posters, each = 6, 30
	box := b.inbox()
	l := NewLog(t, "run")
	b.append(l.Batch(l.Start()))
	fence := b.lease("run", "worker", time.Minute)
	var group sync.WaitGroup
	for p := range posters {
		group.Go(func() {
			for i := range each {
				id := name("%d of poster %d", i, p/2) // two of them post the same
				if _, err := box.Post(b.ctx(), "run", message(id)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	posted := make(chan struct{})
	go func() {
		group.Wait()
		close(posted)
	}()
	taken := map[string]int{}
	for after, done := uint64(0), false; ; {
		list, err := box.Posted(b.ctx(), "run", after, 7)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 && done {
			break
		}
		for _, m := range list {
			after = m.Seq
			taken[m.ID]++
			step := fenced(l.Batch(l.Step(m.ID)...), fence)
			step.Taken = []uint64{m.Seq}
			b.append(step)
			b.wantErr(b.try(store.Batch{Exec: "run", Next: l.Head().Seq + 1, Fence: fence, Taken: step.Taken}), store.ErrConflict)
		}
		select {
		case <-posted:
			done = true
		default:
		}
	}
	// A message that was taken before the other poster of it came is another one.
	for id, n := range taken {
		if n > 2 {
			t.Errorf("%q was taken %d times, and posted twice", id, n)
		}
	}
	if len(taken) != posters/2*each {
		t.Errorf("%d messages were taken, %d were posted", len(taken), posters/2*each)
	}
	b.wantPosted("run", 0, 9, "")
}

// fillInbox leaves messages in a run of their own, and gives its next batch. It
// does nothing where there is no inbox.
func (b *bench) fillInbox() (next store.Batch) {
	if _, ok := b.Store.(store.Inbox); !ok {
		return store.Batch{}
	}
	l := NewLog(b.t, "inbox")
	b.append(l.Batch(l.Start()))
	b.post("inbox", "taken", "left")
	step := l.Batch(l.Step("one")...)
	step.Taken = b.wantPosted("inbox", 0, 1, "taken ")
	b.append(step)
	b.post("inbox", "last")
	return l.Batch(l.Step("two")...)
}

// wantInbox checks what fillInbox left, and that sequences go on.
func (b *bench) wantInbox(next store.Batch) {
	b.t.Helper()
	if next.Events == nil {
		return
	}
	seqs := b.wantPosted("inbox", 0, 9, "left last ")
	next.Taken = seqs
	b.append(next)
	if newer := b.post("inbox", "newer"); newer <= slices.Max(seqs) {
		b.t.Errorf("sequence %d after %d was taken", newer, slices.Max(seqs))
	}
}
