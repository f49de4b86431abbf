package storetest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
)

func testAppend(t *testing.T, b *bench) {
	l := NewLog(t, "run")
	first := l.Batch(l.Start())
	b.append(first)
	b.wantEvents("run", 1)
	second := l.Batch(l.Step("one")...)
	second.Head = store.Mark{Status: store.Suspended, Reason: "approval", Signed: []byte("envelope")}
	b.append(second)
	b.wantEvents("run", 4)
	h := b.head("run")
	if h.Head != l.Head() || h.Status != store.Suspended || h.Reason != "approval" || string(h.Signed) != "envelope" {
		t.Errorf("head %+v", h)
	}
	b.append(l.Batch(l.Step("two")...))
	if h := b.head("run"); h.Status != store.Running || h.Reason != "" || string(h.Signed) != "envelope" {
		t.Errorf("head %+v: want running, and the older signed head", h)
	}
	for from := range uint64(9) {
		want := max(from, 1)
		for r, err := range b.Events(b.ctx(), "run", from) {
			if err != nil || r.Seq != want || r.Exec != "run" || r.Digest != artifact.Sum(r.Bytes) {
				t.Fatalf("from %d: got event %d of %q (%v), want %d", from, r.Seq, r.Exec, err, want)
			}
			want++
		}
		if want != max(8, from) {
			t.Errorf("from %d: ends before event %d", from, want)
		}
	}
	for range b.Events(b.ctx(), "run", 1) {
		break // a reader may stop early
	}
}

func testAppendRefuses(t *testing.T, b *bench) {
	l := NewLog(t, "run")
	start := l.Start()
	b.append(l.Batch(start))
	steps := l.Step("one")
	other := NewLog(t, "other").Start()
	changed := steps[0]
	changed.Bytes = bytes.Replace(changed.Bytes, []byte("work"), []byte("play"), 1)
	good := func() store.Batch { return l.Batch(steps...) }
	for name, change := range map[string]func(*store.Batch){
		"no events":          func(b *store.Batch) { b.Events = nil },
		"bad id":             func(b *store.Batch) { b.Exec = "a b" },
		"empty id":           func(b *store.Batch) { b.Exec = "" },
		"other run's event":  func(b *store.Batch) { b.Events = []event.Record{other} },
		"changed bytes":      func(b *store.Batch) { b.Events = []event.Record{changed} },
		"events swapped":     func(b *store.Batch) { b.Events = []event.Record{steps[1], steps[0]} },
		"a gap":              func(b *store.Batch) { b.Events = []event.Record{steps[0], steps[2]} },
		"second start":       func(b *store.Batch) { b.Events = []event.Record{start} },
		"blob of other text": func(b *store.Batch) { b.Blobs = []store.Blob{{Digest: artifact.Sum([]byte("x")), Bytes: []byte("y")}} },
		"checkpoint outside": func(b *store.Batch) { b.Checkpoint = &store.Checkpoint{Seq: 1, Bytes: []byte("c")} },
		"other checkpoint": func(b *store.Batch) {
			b.Checkpoint = &store.Checkpoint{Seq: 2, Bytes: []byte("c"), Digest: artifact.Sum(nil)}
		},
		"empty checkpoint": func(b *store.Batch) { b.Checkpoint = &store.Checkpoint{Seq: 2} },
		"empty key":        func(b *store.Batch) { b.Intents = []store.Intent{{}} },
		"long key":         func(b *store.Batch) { b.Intents = []store.Intent{{Key: strings.Repeat("k", store.MaxKey+1)}} },
		"timer without id": func(b *store.Batch) { b.Timers = []store.Timer{{Due: time.Unix(1, 0)}} },
		"status of an end": func(b *store.Batch) { b.Head.Status = store.Terminated },
		"long reason":      func(b *store.Batch) { b.Head.Reason = strings.Repeat("r", store.MaxReason+1) },
	} {
		batch := good()
		change(&batch)
		if err := b.try(batch); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	b.wantEvents("run", 1)
	b.append(good())
	b.wantEvents("run", 4)
}

func testConflict(t *testing.T, b *bench) {
	l := NewLog(t, "run")
	start := l.Start()
	b.append(l.Batch(start))
	b.wantErr(b.try(l.Batch(start)), store.ErrConflict)
	steps := l.Step("one")
	late := l.Batch(steps[1:]...)
	err := b.try(late)
	var conflict *store.ConflictError
	if !errors.As(err, &conflict) || conflict.Next != 2 || conflict.Wanted != 3 {
		t.Errorf("got %v, want a conflict at 2 with a batch for 3", err)
	}
	fork := NewLog(t, "run") // another history of the same run
	fork.graph = artifact.Sum([]byte("another graph"))
	fork.Start()
	b.wantErr(b.try(l.Batch(fork.Step("else")...)), store.ErrConflict)
	b.append(l.Batch(steps...))
	b.wantErr(b.try(l.Batch(steps...)), store.ErrConflict)
	b.wantEvents("run", 4)
}

func testEnded(t *testing.T, b *bench) {
	l := NewLog(t, "run")
	start, end := l.Start(), l.End()
	batch := l.Batch(append([]event.Record{start}, end...)...)
	batch.Timers = []store.Timer{{ID: "left", Due: b.clock.Now()}}
	batch.Head.Status = store.Suspended
	b.append(batch)
	if h := b.head("run"); h.Status != store.Terminated {
		t.Errorf("status %q, want the one of the last event", h.Status)
	}
	if due, err := b.Due(b.ctx(), b.clock.Now().Add(time.Hour), 9); err != nil || len(due) != 0 {
		t.Errorf("an ended run keeps timers: %v, %v", due, err)
	}
	more := NewLog(t, "run")
	chain, err := event.NewChain(l.Head())
	if err != nil {
		t.Fatal(err)
	}
	more.chain = chain
	b.wantErr(b.try(more.Batch(more.Step("after the end")...)), store.ErrEnded)
	b.wantEvents("run", 3)
}

func testOrder(t *testing.T, b *bench) {
	// More events than any page that a reader may use.
	const steps = 700
	l := NewLog(t, "run")
	records := []event.Record{l.Start()}
	for i := range steps {
		records = append(records, l.Step(name("step %d", i))...)
	}
	for chunk := range slices.Chunk(records, 97) {
		b.append(l.Batch(chunk...))
	}
	b.wantEvents("run", uint64(len(records)))
	next := uint64(1000)
	for r, err := range b.Events(b.ctx(), "run", next) {
		if err != nil || r.Seq != next {
			t.Fatalf("got event %d (%v), want %d", r.Seq, err, next)
		}
		next++
	}
	if next != uint64(len(records))+1 {
		t.Errorf("the log ends before %d", next)
	}
}

func testLargeBatch(t *testing.T, b *bench) {
	l := NewLog(t, "run")
	records := []event.Record{l.Start()}
	for i := range 1500 {
		records = append(records, l.Step(name("%d", i))...)
	}
	batch := l.Batch(records...)
	for i := range 300 {
		batch.Blobs = append(batch.Blobs, blob(name("blob %d", i)))
		batch.Intents = append(batch.Intents, store.Intent{Key: name("key %d", i), Seq: 1})
		batch.Timers = append(batch.Timers, store.Timer{ID: name("t%d", i), Due: b.clock.Now()})
	}
	large := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
	batch.Blobs = append(batch.Blobs, blob(large))
	b.append(checkpoint(batch, large+"!"))
	b.wantEvents("run", uint64(len(records)))
	b.wantBlob(large)
	b.wantCheckpoint("run", uint64(len(records)), large+"!")
	b.wantBlob("blob 299")
	if h := b.head("run"); len(h.Intents) != 300 {
		t.Errorf("%d open intents", len(h.Intents))
	}
	tooMany := store.Batch{Exec: "run", Next: l.Head().Seq + 1, Events: make([]event.Record, store.MaxEvents+1)}
	b.wantErr(b.try(tooMany), store.ErrInvalid)
}

func testHostileIDs(t *testing.T, b *bench) {
	ids := []string{
		".", "..", "../../x", "/etc/passwd", "a/b", "a/../b", "//", "-", "--help", "CON", "a.lock",
		strings.Repeat("x", 128), strings.Repeat("../", 42), "A", "a",
	}
	for i, id := range ids {
		l := NewLog(t, id)
		fence := b.lease(id, "worker", time.Minute)
		b.append(checkpoint(fenced(l.Batch(l.Start()), fence), name("checkpoint %d", i)))
		b.append(fenced(l.Batch(l.Step("s")...), fence))
	}
	for i, id := range ids {
		b.wantEvents(id, 4)
		b.wantCheckpoint(id, 1, name("checkpoint %d", i))
	}
	var listed []string
	for s, err := range b.List(b.ctx(), store.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, s.Exec)
	}
	slices.Sort(ids)
	if !slices.Equal(listed, ids) {
		t.Errorf("listed %q", listed)
	}
	for _, bad := range []string{"", "a b", "a\x00b", "ä", "a\nb", "a:b", `a\b`, strings.Repeat("x", 129)} {
		if _, err := b.Lease(b.ctx(), bad, "worker", time.Minute); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("lease of %q: %v", bad, err)
		}
		if _, err := b.Head(b.ctx(), bad); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("head of %q: %v", bad, err)
		}
	}
}

func testNotFound(t *testing.T, b *bench) {
	_, err := b.Head(b.ctx(), "absent")
	b.wantErr(err, store.ErrNotFound)
	_, err = b.read("absent")
	b.wantErr(err, store.ErrNotFound)
	_, err = b.Checkpoint(b.ctx(), "absent", 1)
	b.wantErr(err, store.ErrNotFound)
	for _, err := range b.Events(b.ctx(), "absent", 1) {
		b.wantErr(err, store.ErrNotFound)
	}
	_, err = b.Delete(b.ctx(), "absent", true)
	b.wantErr(err, store.ErrNotFound)
	b.wantErr(b.Erase(b.ctx(), artifact.Sum([]byte("absent"))), store.ErrNotFound)
	b.lease("leased", "worker", time.Minute) // a lease alone makes no run
	_, err = b.Head(b.ctx(), "leased")
	b.wantErr(err, store.ErrNotFound)
	_, err = b.Checkpoint(b.ctx(), "leased", 0)
	b.wantErr(err, store.ErrNotFound)
	for s := range b.List(b.ctx(), store.Query{Deleted: true}) {
		t.Errorf("listed %q", s.Exec)
	}
}

func testContext(t *testing.T, b *bench) {
	ended, cancel := context.WithCancel(b.ctx())
	cancel()
	l := NewLog(t, "run")
	batch := l.Batch(l.Start())
	if err := b.Append(ended, batch); !errors.Is(err, context.Canceled) {
		t.Errorf("append: %v", err)
	}
	if _, err := b.Lease(ended, "run", "worker", time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("lease: %v", err)
	}
	if _, err := b.Head(b.ctx(), "run"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("something was stored: %v", err)
	}
	b.append(batch)
}

// testErrorsHideContent plants a secret everywhere in batches that are refused.
func testErrorsHideContent(t *testing.T, b *bench) {
	const secret = "hunter2-hunter2"
	l := NewLog(t, "run")
	b.append(l.Batch(l.Start()))
	steps := l.Step(secret)
	broken := steps[1]
	broken.Bytes = append(bytes.Clone(broken.Bytes), secret...)
	for _, batch := range []store.Batch{
		l.Batch(broken),
		{Exec: "run", Next: 9, Events: steps},
		{Exec: "run", Next: 2, Events: steps, Blobs: []store.Blob{{Digest: artifact.Sum(nil), Bytes: []byte(secret)}}},
		{Exec: "run", Next: 2, Events: steps, Timers: []store.Timer{{ID: secret + " "}}},
		{Exec: "run", Next: 2, Events: steps, Intents: []store.Intent{{Key: secret, Seq: 2, Done: true}}},
		{Exec: "run", Next: 2, Events: steps, Fence: 7, Blobs: []store.Blob{blob(secret)}},
	} {
		err := b.try(batch)
		if err == nil {
			t.Fatal("a bad batch was accepted")
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error quotes content: %v", err)
		}
	}
}
