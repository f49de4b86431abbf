package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
)

func testLease(t *testing.T, b *bench) {
	l := NewLog(t, "run")
	one := b.lease("run", "a", time.Minute)
	if one == 0 {
		t.Error("fence 0 is that of no lease")
	}
	_, err := b.Lease(b.ctx(), "run", "b", time.Minute)
	b.wantErr(err, store.ErrLeased)
	b.clock.Advance(50 * time.Second)
	if again := b.lease("run", "a", time.Minute); again != one {
		t.Errorf("renewing gave fence %d after %d", again, one)
	}
	b.clock.Advance(50 * time.Second) // the renewed lease is still in force
	b.append(fenced(l.Batch(l.Start()), one))
	if h := b.head("run"); h.Owner != "a" || h.Fence != one || !h.Expires.Equal(b.clock.Now().Add(10*time.Second)) {
		t.Errorf("head %+v", h)
	}
	b.clock.Advance(10 * time.Second) // to the millisecond at which it ends
	if h := b.head("run"); h.Owner != "" {
		t.Errorf("owner %q of a lease that has ended", h.Owner)
	}
	two := b.lease("run", "a", time.Minute)
	if two <= one {
		t.Errorf("fence %d after %d ended", two, one)
	}
	if _, err := b.Lease(b.ctx(), "run", "b", 0); err == nil {
		t.Error("b gave up a's lease")
	}
	b.lease("run", "a", 0)
	if three := b.lease("run", "b", time.Minute); three <= two {
		t.Errorf("fence %d after %d was given up", three, two)
	}
}

func testFencing(t *testing.T, b *bench) {
	l := NewLog(t, "run")
	start := l.Batch(l.Start())
	old := b.lease("run", "paused", time.Minute)
	b.wantErr(b.try(start), store.ErrFenced) // no fence while somebody has the lease
	b.wantErr(b.try(fenced(start, old+1)), store.ErrFenced)
	b.append(fenced(start, old))
	step := l.Batch(l.Step("one")...)

	b.clock.Advance(2 * time.Minute) // paused past its lease, and nobody took over
	b.wantErr(b.try(fenced(step, old)), store.ErrFenced)
	current := b.lease("run", "other", time.Minute)
	b.wantErr(b.try(fenced(step, old)), store.ErrFenced)
	b.append(fenced(step, current))
	late := l.Batch(l.Step("two")...)
	b.wantErr(b.try(fenced(late, old)), store.ErrFenced)
	b.clock.Advance(2 * time.Minute)
	b.append(late) // without a lease while there is none
	b.wantEvents("run", 7)
}

func testIntents(t *testing.T, b *bench) {
	l := NewLog(t, "run")
	batch := l.Batch(l.Start())
	batch.Intents = []store.Intent{{Key: "b", Seq: 1}, {Key: "a", Seq: 1}}
	b.append(batch)
	want := func(keys ...string) {
		t.Helper()
		open := b.head("run").Intents
		var got []string
		for _, in := range open {
			got = append(got, in.Key)
			if in.Seq == 0 || in.Done {
				t.Errorf("open intent %+v", in)
			}
		}
		if name("%q", got) != name("%q", keys) {
			t.Errorf("open intents %q, want %q", got, keys)
		}
	}
	want("a", "b")
	step := l.Batch(l.Step("one")...)
	step.Intents = []store.Intent{{Key: "a", Seq: 2}}
	b.wantErr(b.try(step), store.ErrConflict) // a is open
	step.Intents = []store.Intent{{Key: "c", Done: true}}
	b.wantErr(b.try(step), store.ErrConflict) // c is not
	step.Intents = []store.Intent{{Key: "c", Seq: 2}, {Key: "c", Seq: 2}}
	b.wantErr(b.try(step), store.ErrConflict) // twice in one batch
	step.Intents = []store.Intent{{Key: "a", Done: true}, {Key: "c", Seq: 2}}
	b.append(step)
	want("b", "c")
	step = l.Batch(l.Step("two")...)
	step.Intents = []store.Intent{{Key: "a", Seq: 5}}
	b.wantErr(b.try(step), store.ErrConflict) // a key is used once, for good
	step.Intents = []store.Intent{{Key: "a", Done: true}}
	b.wantErr(b.try(step), store.ErrConflict) // one outcome only
	step.Intents = []store.Intent{{Key: "d", Seq: 5}, {Key: "d", Done: true}, {Key: "b", Done: true}}
	b.append(step)
	want("c")
	b.wantEvents("run", 7)

	other := NewLog(t, "other") // keys are those of a run
	batch = other.Batch(other.Start())
	batch.Intents = []store.Intent{{Key: "a", Seq: 1}}
	b.append(batch)
}

func testTimers(t *testing.T, b *bench) {
	base := b.clock.Now()
	logs := map[string]*Log{}
	for _, exec := range []string{"y", "x"} {
		l := NewLog(t, exec)
		logs[exec] = l
		batch := l.Batch(l.Start())
		batch.Timers = []store.Timer{
			{ID: "late", Due: base.Add(2 * time.Hour)},
			{ID: "soon", Due: base.Add(time.Hour)},
			{ID: "gone", Due: base}, {ID: "gone", Stop: true}, {ID: "never", Stop: true},
		}
		b.append(batch)
	}
	want := func(at time.Duration, n int, timers string) {
		t.Helper()
		due, err := b.Due(b.ctx(), base.Add(at), n)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, d := range due {
			got += d.Exec + "." + d.ID + name("@%s ", d.Due.Sub(base))
		}
		if got != timers {
			t.Errorf("due after %s: %q, want %q", at, got, timers)
		}
	}
	want(time.Hour-time.Millisecond, 9, "")
	want(time.Hour, 9, "x.soon@1h0m0s y.soon@1h0m0s ")
	want(5*time.Hour, 3, "x.soon@1h0m0s y.soon@1h0m0s x.late@2h0m0s ")
	want(5*time.Hour, 0, "")
	step := logs["x"].Batch(logs["x"].Step("fired")...)
	step.Timers = []store.Timer{{ID: "soon", Stop: true}, {ID: "late", Due: base.Add(90 * time.Minute)}}
	b.append(step)
	want(100*time.Minute, 9, "y.soon@1h0m0s x.late@1h30m0s ")
}

func testBlobs(t *testing.T, b *bench) {
	salt := event.Salt{1}
	salted := store.Blob{Digest: salt.Digest([]byte("secret")), Bytes: []byte("secret"), Salt: &salt}
	l := NewLog(t, "run")
	batch := l.Batch(l.Start())
	batch.Blobs = []store.Blob{blob(""), blob("one"), blob("one"), blob("\x00\xff"), salted}
	b.append(batch)
	for _, text := range []string{"", "one", "\x00\xff"} {
		b.wantBlob(text)
	}
	if _, err := b.read("secret"); err == nil {
		t.Error("a salted blob is found by its plain digest")
	}
	r, err := b.Blob(b.ctx(), salted.Digest)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	wrong := event.Salt{2}
	step := l.Batch(l.Step("s")...)
	step.Blobs = []store.Blob{{Digest: salted.Digest, Bytes: salted.Bytes, Salt: &wrong}}
	b.wantErr(b.try(step), store.ErrInvalid)
	step.Blobs = []store.Blob{blob("one"), blob("two")} // one is there already
	b.append(step)
	b.wantBlob("one")
	b.wantBlob("two")
}

func testCheckpoints(t *testing.T, b *bench) {
	l := NewLog(t, "run")
	b.append(checkpoint(l.Batch(l.Start()), "checkpoint 0"))
	texts := map[uint64]string{1: "checkpoint 0"}
	filler := name("%01000d", 7)
	for i := range 40 {
		// Larger and smaller ones, with parts in common and without.
		text := name("%d|%s|%s", i, filler[:i*25], filler[i*25:])
		if i%7 == 0 {
			text = name("%d", i)
		}
		step := l.Batch(l.Step(text)...)
		step = checkpoint(step, text)
		if i%5 == 0 {
			step.Checkpoint.Seq = step.Next + 1 // not always the last event
		}
		b.append(step)
		texts[step.Checkpoint.Seq] = text
		h := b.head("run")
		if h.Checkpoint.Seq != step.Checkpoint.Seq || h.Checkpoint.Digest != artifact.Sum([]byte(text)) {
			t.Fatalf("checkpoint %+v at event %d", h.Checkpoint, h.Seq)
		}
		b.append(l.Batch(l.Step("without a checkpoint")...))
	}
	if h := b.head("run"); h.Checkpoint.Seq != h.Seq-3 {
		t.Errorf("checkpoint at %d, log at %d", h.Checkpoint.Seq, h.Seq)
	}
	other := NewLog(t, "other") // the same place of another run
	b.append(checkpoint(other.Batch(other.Start()), "of the other run"))
	for seq := range l.Head().Seq + 9 {
		if text, ok := texts[seq]; ok {
			b.wantCheckpoint("run", seq, text) // older ones too
			continue
		}
		_, err := b.Checkpoint(b.ctx(), "run", seq)
		b.wantErr(err, store.ErrNotFound)
	}
	b.wantCheckpoint("other", 1, "of the other run")
	if _, err := b.read("of the other run"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a checkpoint as a blob: %v", err)
	}
	if _, err := b.Delete(b.ctx(), "run", true); err != nil {
		t.Fatal(err)
	}
	for seq := range uint64(5) {
		_, err := b.Checkpoint(b.ctx(), "run", seq)
		b.wantErr(err, store.ErrDeleted)
	}
	b.wantCheckpoint("other", 1, "of the other run")
}

// testAtomicity makes each part of a batch the one that is refused, and checks
// that nothing of it was stored.
func testAtomicity(t *testing.T, b *bench) {
	l := NewLog(t, "run")
	first := l.Batch(l.Start())
	first.Intents = []store.Intent{{Key: "used", Seq: 1}}
	first.Timers = []store.Timer{{ID: "kept", Due: b.clock.Now()}}
	b.append(checkpoint(first, "before"))
	before := b.head("run")
	whole := checkpoint(l.Batch(l.Step("step")...), "after")
	whole.Blobs = []store.Blob{blob("new blob")}
	whole.Timers = []store.Timer{{ID: "new", Due: b.clock.Now()}, {ID: "kept", Stop: true}}
	whole.Intents = []store.Intent{{Key: "new", Seq: 2}, {Key: "used", Done: true}}
	whole.Head = store.Mark{Status: store.Suspended, Reason: "new", Signed: []byte("new")}
	for part, spoil := range map[string]func(*store.Batch){
		"sequence":     func(b *store.Batch) { b.Next++ },
		"fence":        func(b *store.Batch) { b.Fence = 99 },
		"last intent":  func(b *store.Batch) { b.Intents = append(b.Intents, store.Intent{Key: "used", Seq: 2}) },
		"first intent": func(b *store.Batch) { b.Intents = append([]store.Intent{{Key: "x", Done: true}}, b.Intents...) },
		"last blob":    func(b *store.Batch) { b.Blobs = append(b.Blobs, store.Blob{}) },
	} {
		batch := whole
		spoil(&batch)
		if b.try(batch) == nil {
			t.Fatalf("%s: a bad batch was accepted", part)
		}
		if after := b.head("run"); !sameHead(before, after) {
			t.Errorf("%s: the head is %+v", part, after)
		}
		if due, err := b.Due(b.ctx(), b.clock.Now(), 9); err != nil || len(due) != 1 || due[0].ID != "kept" {
			t.Errorf("%s: timers %v, %v", part, due, err)
		}
		if _, err := b.read("new blob"); err == nil {
			t.Errorf("%s: the blob was stored", part)
		}
		if _, err := b.Checkpoint(b.ctx(), "run", whole.Checkpoint.Seq); err == nil {
			t.Errorf("%s: the checkpoint was stored", part)
		}
		b.wantEvents("run", 1)
	}
	b.append(whole)
	b.wantEvents("run", 4)
	b.wantBlob("new blob")
	b.wantCheckpoint("run", 4, "after")
}
