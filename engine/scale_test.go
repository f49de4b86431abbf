package engine

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/sqlite"
)

// readCounter counts the events that are read.
type readCounter struct {
	store.Store
	events int
}

func (s *readCounter) Events(ctx context.Context, exec string, from uint64) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		for r, err := range s.Store.Events(ctx, exec, from) {
			s.events++
			if !yield(r, err) {
				return
			}
		}
	}
}

// TestResumeDoesNotReadTheLog takes up a run behind some thousand events and
// counts what is read of them.
func TestResumeDoesNotReadTheLog(t *testing.T) {
	d := define(t, replace(graphText("{/n: number}", `
a: {handler: add, reads: [/n], writes: [/n], next: b}
b: {set: {}, reads: [/n], cases: [{when: state.n < 800, to: a}], next: w, max_visits: 1000}
w: {wait: {event: paid}, set: {}, next: d}
d: {end: =state.n, reads: [/n]}
`), "max_steps: 100", "max_steps: 5000"), packText, Definition{Handlers: map[string]Handler{"add": {Run: add("/n")}}})
	l := newLab(t, nil, d)
	r := l.start(d, "run", `{"n":0}`)
	if r.Status != store.Suspended || r.Head.Seq < 4000 {
		t.Fatal(r.Status, r.Head.Seq, r.Error)
	}
	counting := &readCounter{Store: l.store}
	l.store = counting
	l.restart(d)
	r, err := l.e.Signal(t.Context(), "run", Signal{Name: "paid", ID: "1"})
	wants(t, "result", fmt.Sprint(r.Result, " ", err), "800 <nil>")
	if counting.events > 3 {
		t.Errorf("%d events read of %d", counting.events, r.Head.Seq)
	}
}

// TestTenThousandSuspendedRuns counts goroutines and memory of runs that wait.
func TestTenThousandSuspendedRuns(t *testing.T) {
	n := 10_000
	if testing.Short() || raceEnabled {
		n = 300
	}
	d := define(t, graphText("{/n: number?}", "a: {wait: {event: paid}, timeout: 2d, set: {/n: 1}, next: d, routes: {timeout: d}}\nd: {end: 1}"), packText, Definition{})
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "writ.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	e, err := New(Config{Store: st, Definitions: []*Definition{d}})
	if err != nil {
		t.Fatal(err)
	}
	start := func(from, runs int) {
		var all sync.WaitGroup
		for worker := range 64 {
			all.Go(func() {
				for i := worker; i < runs; i += 64 {
					r, err := e.Start(t.Context(), Request{Exec: fmt.Sprint("run-", from+i), Definition: d, State: value(`{}`)})
					if err != nil || r.Status != store.Suspended {
						t.Error(i, r.Status, err)
					}
				}
			})
		}
		all.Wait()
	}
	start(0, 640) // pages, pools and statements that one run needs too
	before, goroutines := heap(), runtime.NumGoroutine()
	start(640, n)
	grown := int64(heap()) - int64(before)
	if more := runtime.NumGoroutine() - goroutines; more > 0 {
		t.Errorf("%d goroutines more", more)
	}
	if len(e.sessions) != 0 {
		t.Errorf("%d sessions", len(e.sessions))
	}
	t.Logf("%d suspended runs: the heap grew by %d bytes", n, grown)
	if grown > 1<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestLargeState resumes a state of several megabytes, and ends a run whose patch
// is too large for an event.
func TestLargeState(t *testing.T) {
	grow := func(bytes int) graph.Handler {
		return func(_ context.Context, in graph.Invocation) (graph.NodeResult, error) {
			patch := &graph.Patch{BaseRevision: in.Revision, Operations: map[string]graph.Operation{
				"/" + in.Node: graph.Set(artifact.StringValue(strings.Repeat("x", bytes))),
			}}
			return graph.NodeResult{Outcome: graph.Outcome{Kind: graph.Continue, Patch: patch}}, nil
		}
	}
	for _, c := range []struct {
		bytes int
		want  string
	}{{3 << 20, "terminated "}, {6 << 20, "failed invalid_patch"}} {
		d := define(t, graphText("{/a: string?, /b: string?, /c: string?}", `
a: {handler: grow, writes: [/a], next: b}
b: {handler: grow, writes: [/b], next: c}
c: {handler: grow, writes: [/c], next: w}
w: {wait: {event: paid}, set: {}, next: d}
d: {end: 1}
`), packText, Definition{Handlers: map[string]Handler{"grow": {Run: grow(c.bytes)}}})
		l := newLab(t, nil, d)
		r := l.start(d, "run", `{}`)
		if r.Status == store.Suspended {
			l.restart(d)
			var err error
			if r, err = l.e.Signal(t.Context(), "run", Signal{Name: "paid", ID: "1"}); err != nil {
				t.Fatal(err)
			}
		}
		wants(t, "end", fmt.Sprint(string(r.Status)+" ", r.Code), c.want)
	}
}
