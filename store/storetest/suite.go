// Package storetest is the suite that every store passes, and stores that fail on
// purpose.
//
// A driver's test calls [Run], and [RunDurable] if its content outlives the
// process. [Faulty] wraps a store and makes chosen writes fail, get lost, or be
// the last before a crash; the engine is tested on top of it.
package storetest

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
)

// Open gives a new, empty store that reads the time from now. It registers its
// own cleanup.
type Open func(t *testing.T, now func() time.Time) store.Store

// OpenAt gives the store in a folder: the same content whenever the folder is
// the same.
type OpenAt func(t *testing.T, dir string, now func() time.Time) store.Store

// Clock is a time that moves only when told. The zero value stands at the
// beginning of 1970.
type Clock struct {
	mu sync.Mutex
	at time.Duration
}

// Now gives the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Unix(0, 0).Add(c.at)
}

// Advance moves the time.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at += d
}

// Run tests a store. The store must be a [store.Remover] too. Tests of the inbox
// are skipped unless it is a [store.Inbox].
func Run(t *testing.T, open Open) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *bench)
	}{
		{"Append", testAppend},
		{"AppendRefuses", testAppendRefuses},
		{"Conflict", testConflict},
		{"Ended", testEnded},
		{"Order", testOrder},
		{"LargeBatch", testLargeBatch},
		{"HostileIDs", testHostileIDs},
		{"NotFound", testNotFound},
		{"Context", testContext},
		{"Lease", testLease},
		{"Fencing", testFencing},
		{"Intents", testIntents},
		{"Timers", testTimers},
		{"Blobs", testBlobs},
		{"Checkpoints", testCheckpoints},
		{"Atomicity", testAtomicity},
		{"List", testList},
		{"Delete", testDelete},
		{"Prune", testPrune},
		{"Erase", testErase},
		{"Errors", testErrorsHideContent},
		{"Racers", testRacers},
		{"ManyRuns", testManyRuns},
		{"Readers", testReaders},
		{"Inbox", testInbox},
		{"Taken", testTaken},
		{"InboxRefuses", testInboxRefuses},
		{"Posters", testPosters},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := &Clock{}
			clock.Advance(24 * time.Hour)
			s := open(t, clock.Now)
			remover, ok := s.(store.Remover)
			if !ok {
				t.Fatalf("%T is no store.Remover", s)
			}
			c.test(t, &bench{Store: s, Remover: remover, clock: clock, t: t})
		})
	}
}

// RunDurable tests that a store finds again what it stored.
func RunDurable(t *testing.T, open OpenAt) {
	clock := &Clock{}
	clock.Advance(24 * time.Hour)
	dir := t.TempDir()
	reopen := func() *bench {
		s := open(t, dir, clock.Now)
		return &bench{Store: s, Remover: s.(store.Remover), clock: clock, t: t}
	}
	b := reopen()
	l := NewLog(t, "run")
	fence := b.lease("run", "worker", time.Minute)
	first := checkpoint(fenced(l.Batch(l.Start()), fence), "checkpoint")
	first.Intents = []store.Intent{{Key: "open", Seq: 1}}
	first.Timers = []store.Timer{{ID: "timer", Due: clock.Now()}}
	first.Blobs = []store.Blob{blob("content")}
	first.Head = store.Mark{Status: store.Suspended, Reason: "approval", Signed: []byte("signed")}
	b.append(first)
	b.append(fenced(l.Batch(l.Step("one")...), fence))
	before := b.head("run")
	next := b.fillInbox()
	b.close()

	b = reopen()
	if after := b.head("run"); !sameHead(before, after) {
		t.Errorf("head before %+v, after %+v", before, after)
	}
	b.wantEvents("run", 4)
	b.wantBlob("content")
	b.wantCheckpoint("run", 1, "checkpoint")
	b.wantInbox(next)
	if due, err := b.Due(b.ctx(), clock.Now(), 9); err != nil || len(due) != 1 {
		t.Errorf("due timers: %v, %v", due, err)
	}
	b.wantErr(b.try(l.Batch(l.Step("unfenced")...)), store.ErrFenced)
	clock.Advance(time.Hour)
	if again := b.lease("run", "other", time.Minute); again <= fence {
		t.Errorf("fence %d after %d", again, fence)
	}
	b.close()
}

func sameHead(a, b store.Head) bool {
	return a.Head == b.Head && a.Status == b.Status && a.Reason == b.Reason && string(a.Signed) == string(b.Signed) &&
		a.Checkpoint.Seq == b.Checkpoint.Seq && a.Checkpoint.Digest == b.Checkpoint.Digest &&
		slices.Equal(a.Intents, b.Intents) && a.Fence == b.Fence && a.Owner == b.Owner && a.Expires.Equal(b.Expires)
}

// bench is a store under test with short ways to use it.
type bench struct {
	store.Store
	store.Remover
	clock *Clock
	t     *testing.T
}

func (b *bench) ctx() context.Context { return b.t.Context() }

func (b *bench) close() {
	b.t.Helper()
	if c, ok := b.Store.(io.Closer); ok {
		if err := c.Close(); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bench) try(batch store.Batch) error { return b.Append(b.ctx(), batch) }

func (b *bench) append(batch store.Batch) {
	b.t.Helper()
	if err := b.try(batch); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) lease(exec, owner string, ttl time.Duration) uint64 {
	b.t.Helper()
	fence, err := b.Lease(b.ctx(), exec, owner, ttl)
	if err != nil {
		b.t.Fatal(err)
	}
	return fence
}

func (b *bench) head(exec string) store.Head {
	b.t.Helper()
	h, err := b.Head(b.ctx(), exec)
	if err != nil {
		b.t.Fatal(err)
	}
	return h
}

func (b *bench) wantErr(got, want error) {
	b.t.Helper()
	if !errors.Is(got, want) {
		b.t.Errorf("got error %v, want %v", got, want)
	}
}

// wantEvents checks that the run has n events which are a chain up to its head.
func (b *bench) wantEvents(exec string, n uint64) {
	b.t.Helper()
	h := b.head(exec)
	report, err := event.Verify(event.Bytes(b.Events(b.ctx(), exec, 0)), event.VerifyOptions{Exec: exec, Stored: &h.Head})
	if err != nil {
		b.t.Fatal(err)
	}
	if !report.Intact || report.Head.Seq != n {
		b.t.Errorf("%s: %d events, %s; want %d", exec, report.Head.Seq, report.Verdict(), n)
	}
}

func (b *bench) read(text string) (string, error) {
	r, err := b.Blob(b.ctx(), artifact.Sum([]byte(text)))
	if err != nil {
		return "", err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	return string(data), err
}

func (b *bench) wantCheckpoint(exec string, seq uint64, text string) {
	b.t.Helper()
	got, err := b.Checkpoint(b.ctx(), exec, seq)
	if err != nil || string(got) != text {
		b.t.Errorf("checkpoint at event %d of %s: got %.40q, %v; want %.40q", seq, exec, got, err, text)
	}
}

func (b *bench) wantBlob(text string) {
	b.t.Helper()
	got, err := b.read(text)
	if err != nil || got != text {
		b.t.Errorf("blob %.40q: got %.40q, %v", text, got, err)
	}
}
