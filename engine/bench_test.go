package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/memory"
	"github.com/writ-dev/writ/store/sqlite"
)

// loop is a version 2 graph of one handler that runs n times.
func loop(t testing.TB, n int) *Definition {
	limit := fmt.Sprintf("max_steps: %d", n+2)
	text := replace(graphText("{/n: number}", fmt.Sprintf(`
a: {handler: add, reads: [/n], writes: [/n], routes: {enough: d}, next: a, max_visits: %d}
d: {end: =state.n, reads: [/n]}
`, n+1)), "max_steps: 100", limit, "max_tokens: 10000", "max_tokens: 0")
	handler := func(_ context.Context, in graph.Invocation) (graph.NodeResult, error) {
		v, _ := graph.Lookup(in.State, "/n")
		have, _ := v.Uint()
		o := graph.Outcome{Kind: graph.Continue, Patch: &graph.Patch{BaseRevision: in.Revision, Operations: map[string]graph.Operation{"/n": graph.Set(artifact.UintValue(have + 1))}}}
		if int(have)+1 >= n {
			o.Kind, o.Route = graph.Routed, "enough"
		}
		return graph.NodeResult{Outcome: o}, nil
	}
	return define(t, text, packText, Definition{Handlers: map[string]Handler{"add": {Run: handler}}})
}

// cpuPer reports the processor time of one iteration, which other programs on the
// machine lengthen less than the time on the wall.
func cpuPer(b *testing.B) func() {
	before := cpuTime()
	return func() { b.ReportMetric(float64((cpuTime()-before).Nanoseconds())/float64(b.N), "cpu-ns/op") }
}

// BenchmarkMachineStep is one handler step without store and goroutines.
func BenchmarkMachineStep(b *testing.B) {
	d := loop(b, b.N+10)
	m := NewMachine(d)
	out, err := m.Step(Position{}, Input{NowMS: 1, What: Start{Exec: "run", Method: "system", State: graph.Snapshot{SchemaID: d.Schema.ID, Value: value(`{"n":0}`)}}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	defer cpuPer(b)()
	for range b.N {
		w := out.Work[0]
		r, _ := d.Handlers["add"].Run(context.Background(), w.Invocation)
		out, err = m.Step(out.Position, Input{NowMS: 1, What: NodeDone{Node: w.Node, Visit: w.Visit, Attempt: w.Attempt, StartedMS: 1, Result: r}})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMemoryStep is one step of the embedded driver on a store in memory: no
// sync, everything else. Of several runs side by side the steps of all count.
func BenchmarkMemoryStep(b *testing.B) {
	for _, c := range []struct {
		name string
		runs int
		loop func(testing.TB, int) *Definition
	}{{"handler", 1, loop}, {"chained effect", 1, effectLoop}, {"handlers of 4 runs", 4, loop}} {
		b.Run(c.name, func(b *testing.B) {
			d := c.loop(b, b.N/c.runs+1)
			e, err := New(Config{Store: memory.New(nil), Ports: counting})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			defer cpuPer(b)()
			var all sync.WaitGroup
			for i := range c.runs {
				all.Go(func() {
					r, err := e.Start(b.Context(), Request{Exec: fmt.Sprint("run-", i), Definition: d, State: value(`{"n":0}`)})
					if err != nil || r.Error != "" {
						b.Error(err, r.Error)
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
		})
	}
}

// counting is a port that does nothing and says one.
var counting = map[string]Port{"tool": PortFunc(func(context.Context, Effect) (Outcome, error) {
	return Outcome{Result: value(`{"n":1}`)}, nil
})}

// BenchmarkSHA256 is one KiB, for comparison.
func BenchmarkSHA256(b *testing.B) {
	data := make([]byte, 1024)
	defer cpuPer(b)()
	for b.Loop() {
		artifact.Sum(data)
	}
}

// BenchmarkDurableStep is a handler step on SQLite against one append and
// fdatasync of as many bytes, taken alternately in runs of 50. The metric ratio is
// that of the medians.
func BenchmarkDurableStep(b *testing.B) {
	for _, kind := range []string{"handler", "chained effect"} {
		b.Run(kind, func(b *testing.B) {
			dir := b.TempDir()
			st, err := sqlite.Open(b.Context(), filepath.Join(dir, "writ.db"), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer st.Close()
			f, err := os.OpenFile(filepath.Join(dir, "plain"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			timed := &timedStore{Store: st}
			d := loop(b, b.N)
			if kind != "handler" {
				d = effectLoop(b, b.N)
			}
			e, err := New(Config{Store: timed, Ports: counting})
			if err != nil {
				b.Fatal(err)
			}
			var plain []time.Duration
			timed.between = func(b2 store.Batch) {
				began := time.Now()
				for _, r := range b2.Events {
					f.Write(r.Bytes)
				}
				fdatasync(f)
				plain = append(plain, time.Since(began))
			}
			b.ResetTimer()
			r, err := e.Start(b.Context(), Request{Exec: "run", Definition: d, State: value(`{"n":0}`)})
			if err != nil || r.Error != "" {
				b.Fatal(err, r.Error)
			}
			step, sync := timed.medianStep(), median(plain)
			b.ReportMetric(float64(step.Microseconds()), "p50-us")
			b.ReportMetric(float64(sync.Microseconds()), "sync-us")
			b.ReportMetric(float64(step)/float64(sync), "ratio")
		})
	}
}

// timedStore measures from the end of one append to the end of the next: a whole
// step. What is done between two is not counted.
type timedStore struct {
	store.Store
	between func(store.Batch)
	last    time.Time
	steps   []time.Duration
}

func (s *timedStore) Append(ctx context.Context, b store.Batch) error {
	err := s.Store.Append(ctx, b)
	if !s.last.IsZero() {
		s.steps = append(s.steps, time.Since(s.last))
	}
	s.between(b)
	s.last = time.Now()
	return err
}

func (s *timedStore) medianStep() time.Duration { return median(s.steps) }

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 1
	}
	slices.Sort(d)
	return d[len(d)/2]
}

// effectLoop is a chain of n effects, each one append.
func effectLoop(t testing.TB, n int) *Definition {
	return define(t, replace(graphText("{/n: number}", fmt.Sprintf(`
a: {tool: count, reads: [/n], args: {from: =state.n}, set: {/n: =state.n + result.n}, cases: [{when: state.n >= %d, to: d}], next: a, max_visits: %d}
d: {end: =state.n, reads: [/n]}
`, n, n+1)), "max_steps: 100", fmt.Sprintf("max_steps: %d", n+2)), packText, Definition{})
}

// BenchmarkConcurrentRuns is 64 runs at once on SQLite: group commit.
func BenchmarkConcurrentRuns(b *testing.B) {
	st, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "writ.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	e, err := New(Config{Store: st})
	if err != nil {
		b.Fatal(err)
	}
	const runs = 64
	d := loop(b, b.N/runs+1)
	events := make([]uint64, runs)
	b.ResetTimer()
	var all sync.WaitGroup
	for i := range runs {
		all.Go(func() {
			r, err := e.Start(b.Context(), Request{Exec: fmt.Sprint("run-", i), Definition: d, State: value(`{"n":0}`)})
			if err != nil || r.Error != "" {
				b.Error(err, r.Error)
			}
			events[i] = r.Head.Seq
		})
	}
	all.Wait()
	total := uint64(0)
	for _, n := range events {
		total += n
	}
	b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
}

// BenchmarkReplay is the full verification of a log: chain, order, and every event
// worked out again.
func BenchmarkReplay(b *testing.B) {
	const steps = 2000
	st := memory.New(nil)
	d := loop(b, steps)
	e, err := New(Config{Store: st})
	if err != nil {
		b.Fatal(err)
	}
	r, err := e.Start(b.Context(), Request{Exec: "run", Definition: d, State: value(`{"n":0}`)})
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	defer cpuPer(b)()
	for b.Loop() {
		v, err := e.Replay(b.Context(), "run", ReplayOptions{})
		if err != nil || !v.Faithful() || v.Events != r.Head.Seq {
			b.Fatal(err, v.Divergence)
		}
	}
	b.ReportMetric(float64(r.Head.Seq)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkResumeLongLog opens a file with a run that waits behind a million
// events, and takes the run up.
func BenchmarkResumeLongLog(b *testing.B) {
	const events = 1_000_000
	visits := events/3 + 1
	d := define(b, replace(graphText("{/n: number}", fmt.Sprintf(`
a: {set: {/n: =state.n + 1}, reads: [/n], cases: [{when: state.n < %d, to: a}], next: w, max_visits: %d}
w: {wait: {event: paid}, set: {}, next: d}
d: {end: =state.n, reads: [/n]}
`, visits, visits+1)), "max_steps: 100", fmt.Sprintf("max_steps: %d", visits+10)), packText, Definition{})
	path := filepath.Join(b.TempDir(), "writ.db")
	open := func() (*Engine, func()) {
		st, err := sqlite.Open(b.Context(), path, nil)
		if err != nil {
			b.Fatal(err)
		}
		e, err := New(Config{Store: st, Definitions: []*Definition{d}})
		if err != nil {
			b.Fatal(err)
		}
		return e, func() { st.Close() }
	}
	e, done := open()
	r, err := e.Start(b.Context(), Request{Exec: "run", Definition: d, State: value(`{"n":0}`)})
	done()
	if err != nil || r.Head.Seq < events || r.Status != store.Suspended {
		b.Fatal(err, r.Head.Seq, r.Status, r.Error)
	}
	for b.Loop() {
		e, done := open()
		if r, err = e.Drive(b.Context(), "run"); err != nil || r.Status != store.Suspended {
			b.Fatal(err, r.Status)
		}
		done()
	}
	b.ReportMetric(float64(r.Head.Seq), "events")
}
