package storetest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
)

// testRacers lets workers extend one run from whatever head they see. Each
// sequence must be won by exactly one.
func testRacers(t *testing.T, b *bench) {
	const workers, goal = 8, 40
	l := NewLog(t, "run")
	b.append(l.Batch(l.Start()))
	var mu sync.Mutex
	won := map[uint64]int{}
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for {
				h, err := b.Head(b.ctx(), "run")
				if err != nil {
					t.Error(err)
					return
				}
				if h.Seq >= goal {
					return
				}
				r, err := note(h.Head, worker)
				if err != nil {
					t.Error(err)
					return
				}
				switch err := b.try(l.Batch(r)); {
				case err == nil:
					mu.Lock()
					won[r.Seq]++
					mu.Unlock()
				case !errors.Is(err, store.ErrConflict):
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	last := b.head("run").Seq
	for seq := uint64(2); seq <= last; seq++ {
		if won[seq] != 1 {
			t.Errorf("event %d was appended by %d workers", seq, won[seq])
		}
	}
	b.wantEvents("run", last)
}

// note gives an event that may stand anywhere and differs between workers.
func note(h event.Head, worker int) (event.Record, error) {
	chain, err := event.NewChain(h)
	if err != nil {
		return event.Record{}, err
	}
	return chain.Append(event.Event{Body: &event.TimerSet{Timer: name("w%d.%d", worker, h.Seq), Purpose: "race"}})
}

// testManyRuns lets many runs append at once, some of them batches that are
// refused: a neighbour in one commit must not matter.
func testManyRuns(t *testing.T, b *bench) {
	const runs, steps = 32, 20
	var group sync.WaitGroup
	for i := range runs {
		exec := name("run-%02d", i)
		l := NewLog(t, exec)
		batches := []store.Batch{l.Batch(l.Start())}
		for s := range steps {
			batch := checkpoint(l.Batch(l.Step(name("step %d of %s", s, exec))...), name("%d of %s", s, exec))
			batch.Intents = []store.Intent{{Key: name("key %d", s), Seq: batch.Next}}
			batch.Blobs = []store.Blob{blob(name("shared %d", s))}
			batches = append(batches, batch)
		}
		group.Go(func() {
			for n, batch := range batches {
				if i%4 == 0 && n > 0 {
					twice := batch
					twice.Intents = append(twice.Intents[:1:1], batch.Intents[0])
					if err := b.try(twice); !errors.Is(err, store.ErrConflict) {
						t.Errorf("%s: an intent twice: %v", exec, err)
					}
				}
				if err := b.try(batch); err != nil {
					t.Errorf("%s: %v", exec, err)
					return
				}
				if i%4 == 1 {
					if err := b.try(batch); !errors.Is(err, store.ErrConflict) {
						t.Errorf("%s: a batch twice: %v", exec, err)
					}
				}
			}
		})
	}
	group.Wait()
	for i := range runs {
		b.wantEvents(name("run-%02d", i), 1+3*steps)
	}
	b.wantCheckpoint("run-07", 1+3*steps, name("%d of run-07", steps-1))
	b.wantBlob("shared 0")
}

// testReaders reads while a writer appends: a reader sees whole batches.
func testReaders(t *testing.T, b *bench) {
	const steps = 60
	l := NewLog(t, "run")
	b.append(l.Batch(l.Start()))
	batches := make([]store.Batch, steps)
	for i := range batches {
		batches[i] = l.Batch(l.Step("s")...)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for seen := uint64(0); seen < 1+3*steps; {
				h, err := b.Head(b.ctx(), "run")
				if err != nil || h.Seq < seen || (h.Seq-1)%3 != 0 {
					t.Errorf("head %d after %d, %v", h.Seq, seen, err)
					return
				}
				n := uint64(0)
				for r, err := range b.Events(b.ctx(), "run", 1) {
					if n++; err != nil || r.Seq != n {
						t.Errorf("event %d in place %d, %v", r.Seq, n, err)
						return
					}
				}
				if n < h.Seq {
					t.Errorf("%d events after a head at %d", n, h.Seq)
					return
				}
				seen = h.Seq
				if _, err := b.Due(b.ctx(), time.Unix(0, 0), 1); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, batch := range batches {
		b.append(batch)
	}
	group.Wait()
}
