package storetest

import (
	"testing"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
)

func (b *bench) list(q store.Query) (ids string) {
	b.t.Helper()
	for s, err := range b.List(b.ctx(), q) {
		if err != nil {
			b.t.Fatal(err)
		}
		ids += s.Exec + " "
	}
	return ids
}

func testList(t *testing.T, b *bench) {
	for _, exec := range []string{"c", "a", "B", "b"} {
		l := NewLog(t, exec)
		if exec == "b" {
			l.graph = artifact.Sum([]byte("special"))
		}
		b.append(l.Batch(l.Start()))
		switch exec {
		case "a":
			b.append(l.Batch(l.End()...))
		case "c":
			step := l.Batch(l.Step("s")...)
			step.Head = store.Mark{Status: store.Suspended, Reason: "why"}
			b.append(step)
		}
	}
	for _, c := range []struct {
		query store.Query
		want  string
	}{
		{store.Query{}, "B a b c "},
		{store.Query{Status: []store.Status{store.Running}}, "B b "},
		{store.Query{Status: []store.Status{store.Terminated, store.Suspended}}, "a c "},
		{store.Query{Graph: artifact.Sum([]byte("special"))}, "b "},
		{store.Query{Owner: "owner"}, "B a b c "},
		{store.Query{Owner: "nobody"}, ""},
		{store.Query{Parent: "nothing"}, ""},
		{store.Query{After: "a"}, "b c "},
		{store.Query{After: "a", Limit: 1}, "b "},
		{store.Query{Limit: 2}, "B a "},
	} {
		if got := b.list(c.query); got != c.want {
			t.Errorf("%+v: %q, want %q", c.query, got, c.want)
		}
	}
	for s, err := range b.List(b.ctx(), store.Query{After: "b"}) {
		if err != nil {
			t.Fatal(err)
		}
		if s.Seq != 4 || s.Status != store.Suspended || s.Reason != "why" || s.Owner != "owner" ||
			!s.Started.Equal(time.Unix(1, 0)) || !s.Updated.Equal(time.Unix(4, 0)) || !s.Deleted.IsZero() {
			t.Errorf("summary %+v", s)
		}
	}
	for range b.List(b.ctx(), store.Query{}) {
		break
	}
}

func testDelete(t *testing.T, b *bench) {
	l := NewLog(t, "run")
	start := l.Batch(l.Start())
	start.Blobs = []store.Blob{blob("only here"), blob("shared")}
	start.Timers = []store.Timer{{ID: "t", Due: b.clock.Now()}}
	start.Intents = []store.Intent{{Key: "k", Seq: 1}}
	b.append(checkpoint(start, "checkpoint"))
	other := NewLog(t, "other")
	batch := other.Batch(other.Start())
	batch.Blobs = []store.Blob{blob("shared")}
	b.append(batch)

	_, err := b.Delete(b.ctx(), "run", false)
	b.wantErr(err, store.ErrRunning)
	fence := b.lease("run", "worker", time.Minute)
	_, err = b.Delete(b.ctx(), "run", true)
	b.wantErr(err, store.ErrLeased)
	b.append(fenced(l.Batch(l.End()...), fence))
	b.lease("run", "worker", 0)
	b.wantEvents("run", 3)
	tomb, err := b.Delete(b.ctx(), "run", false)
	if err != nil {
		t.Fatal(err)
	}
	if tomb.Head != l.Head() || tomb.Status != store.Terminated || !tomb.Deleted.Equal(b.clock.Now()) {
		t.Errorf("tombstone %+v", tomb)
	}
	if h := b.head("run"); h.Head != l.Head() || !h.Deleted.Equal(tomb.Deleted) || len(h.Intents) != 0 || h.Checkpoint.Seq != 0 {
		t.Errorf("head of a tombstone %+v", h)
	}
	for _, err := range b.Events(b.ctx(), "run", 1) {
		b.wantErr(err, store.ErrDeleted)
	}
	if _, err := b.read("only here"); err == nil {
		t.Error("a blob is still there")
	}
	_, err = b.Checkpoint(b.ctx(), "run", 1)
	b.wantErr(err, store.ErrDeleted)
	b.wantBlob("shared")
	if due, err := b.Due(b.ctx(), b.clock.Now(), 9); err != nil || len(due) != 0 {
		t.Errorf("timers of a deleted run: %v, %v", due, err)
	}
	_, err = b.Delete(b.ctx(), "run", true)
	b.wantErr(err, store.ErrDeleted)
	_, err = b.Lease(b.ctx(), "run", "worker", time.Minute)
	b.wantErr(err, store.ErrDeleted)
	again := NewLog(t, "run") // an id is used once
	b.wantErr(b.try(again.Batch(again.Start())), store.ErrDeleted)
	if got := b.list(store.Query{}); got != "other " {
		t.Errorf("listed %q", got)
	}
	if got := b.list(store.Query{Deleted: true}); got != "other run " {
		t.Errorf("with tombstones %q", got)
	}
	if _, err := b.Delete(b.ctx(), "other", true); err != nil { // not ended, but forced
		t.Error(err)
	}
	if _, err := b.read("shared"); err == nil {
		t.Error("the last run that referred to it is gone, the blob is not")
	}
}

func testPrune(t *testing.T, b *bench) {
	for i, exec := range []string{"three", "two", "one", "open"} {
		l := NewLog(t, exec)
		records := []event.Record{l.Start()}
		for range 3 - i {
			records = append(records, l.Step("s")...)
		}
		if exec != "open" {
			records = append(records, l.End()...)
		}
		b.append(l.Batch(records...))
	}
	// The last events are at 1s per event: one at 6s, two at 9s, three at 12s.
	prune := func(before time.Duration, n, want int, left string) {
		t.Helper()
		got, err := b.Prune(b.ctx(), time.Unix(0, 0).Add(before), n)
		if err != nil || got != want {
			t.Errorf("pruned %d, %v; want %d", got, err, want)
		}
		if list := b.list(store.Query{}); list != left {
			t.Errorf("left %q, want %q", list, left)
		}
	}
	prune(6*time.Second, 9, 0, "one open three two ")
	prune(time.Hour, 1, 1, "open three two ")
	prune(9500*time.Millisecond, 9, 1, "open three ")
	b.lease("three", "reader", time.Minute)
	prune(time.Hour, 9, 0, "open three ")
	b.clock.Advance(time.Hour)
	prune(time.Hour, 9, 1, "open ")
	if h := b.head("one"); h.Seq != 6 || h.Deleted.IsZero() {
		t.Errorf("tombstone %+v", h)
	}
}

func testErase(t *testing.T, b *bench) {
	salt := event.Salt{7, 7, 7}
	l := NewLog(t, "run")
	start := l.Batch(l.Start())
	start.Blobs = []store.Blob{{Digest: salt.Ref(), Bytes: salt[:]}, blob("stays")}
	b.append(checkpoint(start, "checkpoint"))
	b.wantErr(b.Erase(b.ctx(), artifact.Sum([]byte("checkpoint"))), store.ErrNotFound)
	b.wantCheckpoint("run", 1, "checkpoint")
	for range 2 { // erasing twice is no error
		if err := b.Erase(b.ctx(), salt.Ref()); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.Blob(b.ctx(), salt.Ref())
	b.wantErr(err, store.ErrDeleted)
	b.wantBlob("stays")
	b.wantEvents("run", 1)
	step := l.Batch(l.Step("s")...)
	step.Blobs = []store.Blob{{Digest: salt.Ref(), Bytes: salt[:]}}
	b.append(step)
	if _, err := b.Blob(b.ctx(), salt.Ref()); err != nil {
		t.Errorf("stored again after it was erased: %v", err)
	}
}
