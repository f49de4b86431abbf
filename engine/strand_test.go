package engine

import (
	"context"
	"io"
	"iter"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/memory"
)

// gate lets the calls of several engines to their store happen in an order that a
// seed decides.
type gate struct {
	mu      sync.Mutex
	waiting []chan struct{}
}

func (g *gate) pass() {
	turn := make(chan struct{})
	g.mu.Lock()
	g.waiting = append(g.waiting, turn)
	g.mu.Unlock()
	<-turn
}

// shuffle lets one call after the other through until all is done.
func (g *gate) shuffle(rng *rand.Rand, done func() bool) {
	for {
		synctest.Wait()
		g.mu.Lock()
		n := len(g.waiting)
		if n == 0 && done() {
			g.mu.Unlock()
			return
		}
		if n == 0 {
			g.mu.Unlock()
			time.Sleep(time.Millisecond) // everybody waits for the time
			continue
		}
		i := rng.IntN(n)
		turn := g.waiting[i]
		g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
		g.mu.Unlock()
		close(turn)
	}
}

// gated is a store behind a gate.
type gated struct {
	*memory.Store
	gate *gate
}

func (s gated) Append(ctx context.Context, b store.Batch) error {
	s.gate.pass()
	return s.Store.Append(ctx, b)
}

func (s gated) Lease(ctx context.Context, exec, owner string, ttl time.Duration) (uint64, error) {
	s.gate.pass()
	return s.Store.Lease(ctx, exec, owner, ttl)
}

func (s gated) Head(ctx context.Context, exec string) (store.Head, error) {
	s.gate.pass()
	return s.Store.Head(ctx, exec)
}

func (s gated) Events(ctx context.Context, exec string, from uint64) iter.Seq2[event.Record, error] {
	s.gate.pass()
	return s.Store.Events(ctx, exec, from)
}

func (s gated) Checkpoint(ctx context.Context, exec string, seq uint64) ([]byte, error) {
	s.gate.pass()
	return s.Store.Checkpoint(ctx, exec, seq)
}

func (s gated) Blob(ctx context.Context, d artifact.Digest) (io.ReadCloser, error) {
	s.gate.pass()
	return s.Store.Blob(ctx, d)
}

func (s gated) Post(ctx context.Context, exec string, m store.Message) (uint64, error) {
	s.gate.pass()
	return s.Store.Post(ctx, exec, m)
}

func (s gated) Posted(ctx context.Context, exec string, after uint64, n int) ([]store.Message, error) {
	s.gate.pass()
	return s.Store.Posted(ctx, exec, after, n)
}

// TestNoMessageIsStranded lets two processes tell one run something at once, in a
// thousand orders of all that they ask of the store. Nobody else drives the run:
// whatever one of them posts, one of the two has to take.
func TestNoMessageIsStranded(t *testing.T) {
	d := define(t, graphText("{/n: any?}", `
a: {wait: {event: shipped}, next: b}
b: {wait: {event: paid}, set: {/n: =result}, next: d}
d: {end: =state.n, reads: [/n]}
`), packText, Definition{})
	posted, kept := 0, 0
	for seed := range uint64(1000) {
		synctest.Test(t, func(t *testing.T) {
			g := &gate{}
			st := memory.New(nil)
			l := &lab{t: t, store: st}
			l.restart(d)
			l.start(d, "run", `{}`)
			last := Cancel{By: "bob"}
			ends := seed%2 == 0 // the second input ends the run, or is an event
			var done sync.WaitGroup
			var mu sync.Mutex
			tell := func(owner string, what func(e *Engine) (Report, error)) {
				e := l.beside(owner, gated{st, g}, d)
				done.Go(func() {
					r, err := what(e)
					mu.Lock()
					defer mu.Unlock()
					if err != nil && !(ends && isRefused(err, RefusedEnded)) {
						t.Errorf("seed %d, %s: %v", seed, owner, err)
					}
					if r.Posted {
						posted++
					}
					if r.Kept {
						kept++
					}
				})
			}
			tell("one", func(e *Engine) (Report, error) {
				return e.Signal(t.Context(), "run", Signal{Name: "shipped", ID: "s1"})
			})
			tell("two", func(e *Engine) (Report, error) {
				if ends {
					return e.Cancel(t.Context(), "run", last)
				}
				return e.Signal(t.Context(), "run", Signal{Name: "paid", ID: "p1", Payload: value(`1`)})
			})
			over := make(chan struct{})
			go func() { done.Wait(); close(over) }()
			g.shuffle(rand.New(rand.NewPCG(seed, 1)), func() bool {
				select {
				case <-over:
					return true
				default:
					return false
				}
			})
			want, events := store.Terminated, 2
			if ends {
				want, events = store.Cancelled, 1
			}
			r, err := l.e.Status(t.Context(), "run")
			if err != nil || r.Status != want || len(l.inbox("run")) != 0 {
				t.Errorf("seed %d: %s %s, %v, left %q", seed, r.Status, r.Reason, err, l.inbox("run"))
			}
			if n := count(logOf(t, st, "run"), event.TypeEventReceived); n > events || !ends && n != events {
				t.Errorf("seed %d: %d events were received", seed, n)
			}
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%d inputs were posted, %d events were kept", posted, kept)
	if posted < 100 || kept < 100 {
		t.Errorf("the orders tell little: %d inputs were posted, %d events were kept", posted, kept)
	}
}
