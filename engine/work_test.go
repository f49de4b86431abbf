package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/sqlite"
)

// TestWorkDrivesWhatIsDue leaves runs to a worker: one that waits for a time, one
// whose process died, and one that nobody may touch.
func TestWorkDrivesWhatIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := define(t, graphText("{/n: number?}", `
a: {tool: count, set: {/n: =result.n}, next: b}
b: {wait: {for: 90m}, next: d}
d: {end: =state.n, reads: [/n]}
`), packText, Definition{})
		port := &counter{idempotent: true}
		l := newLab(t, map[string]Port{"tool": port}, d)
		wants(t, "waits", l.start(d, "waits", `{}`).Status, store.Suspended)

		ctx, kill := context.WithCancel(t.Context())
		dying, err := New(Config{Store: l.store, Definitions: []*Definition{d}, Owner: "dying", Ports: map[string]Port{
			"tool": PortFunc(func(ctx context.Context, e Effect) (Outcome, error) {
				kill()
				<-ctx.Done()
				time.Sleep(time.Hour)
				return Outcome{}, ctx.Err()
			}),
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dying.Start(ctx, Request{Exec: "died", Definition: d, State: value(`{}`)}); !errors.Is(err, ErrStopped) {
			t.Fatal(err)
		}

		l.restart(d)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- l.e.Work(ctx) }()
		time.Sleep(4 * time.Hour)
		synctest.Wait()
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		for exec, want := range map[string]string{"waits": "terminated1", "died": "terminated2"} {
			r, err := l.e.Status(t.Context(), exec)
			wants(t, exec, fmt.Sprint(r.Status, r.Result, " ", err), want+" <nil>")
			l.events(exec)
		}
	})
}

// TestLeaseIsRenewedInsideANode runs a handler for longer than the lease.
func TestLeaseIsRenewedInsideANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(_ context.Context, in graph.Invocation) (graph.NodeResult, error) {
			time.Sleep(5 * time.Minute)
			return graph.NodeResult{Outcome: graph.Outcome{Kind: graph.Continue, Patch: &graph.Patch{BaseRevision: in.Revision}}}, nil
		}
		d := define(t, graphText("{/n: number?}", "a: {handler: slow, next: d}\nd: {end: 1}"), packText, Definition{Handlers: map[string]Handler{"slow": {Run: slow}}})
		l := newLab(t, nil, d)
		done := make(chan Report)
		go func() { done <- l.start(d, "run", `{}`) }()
		time.Sleep(4 * time.Minute)
		other, err := New(Config{Store: l.store, Definitions: []*Definition{d}, Owner: "other"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Drive(t.Context(), "run"); !errors.Is(err, store.ErrLeased) {
			t.Errorf("another worker: %v", err)
		}
		wants(t, "end", (<-done).Status, store.Terminated)
	})
}

func TestExecutionIdsAreTakenForGood(t *testing.T) {
	d := define(t, graphText("{/n: number?}", "a: {set: {/n: 1}, next: d}\nd: {end: 1}"), packText, Definition{})
	l := newLab(t, nil, d)
	for _, exec := range []string{"..", "../../x", "a/b", "/"} {
		wants(t, exec, l.start(d, exec, `{}`).Status, store.Terminated)
		_, err := l.e.Start(t.Context(), Request{Exec: exec, Definition: d, State: value(`{}`)})
		if !errors.Is(err, ErrExists) {
			t.Errorf("%s again: %v", exec, err)
		}
	}
	if _, err := l.e.Start(t.Context(), Request{Exec: "no id", Definition: d, State: value(`{}`)}); err == nil {
		t.Error("a text that is no identifier")
	}
	if r, err := l.e.Start(t.Context(), Request{Definition: d, State: value(`{}`)}); err != nil || r.Exec == "" {
		t.Error(r.Exec, err)
	}
}

// TestFullDisk runs on a store that may grow by one page more each time: the run
// advances wholly or not at all, and says so; with room it ends.
func TestFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("some hundred stores")
	}
	d := fiveSteps(t)
	refused := 0
	for pages := 1; ; pages++ {
		path := filepath.Join(t.TempDir(), "writ.db")
		small, err := sqlite.Open(t.Context(), path, &sqlite.Options{MaxPages: pages})
		if err != nil {
			refused++
			continue // not even the tables fit
		}
		port := &askedCounter{done: map[string]Outcome{}}
		e, err := New(Config{Store: small, Ports: map[string]Port{"tool": port}, Owner: "w", Definitions: []*Definition{d}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Start(t.Context(), Request{Exec: "run", Definition: d, State: value(`{"n":1}`)})
		small.Close()
		if err == nil {
			wants(t, "result", r.Result, fiveStepsResult)
			t.Logf("ends within %d pages; %d smaller stores were full", pages, refused)
			return
		}
		if !errors.Is(err, store.ErrFull) {
			t.Fatalf("%d pages: %v", pages, err)
		}
		refused++
		st, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		finishAs(t, st, d, port, "w", fmt.Sprint(pages, " pages"))
		st.Close()
	}
}

func TestSignalsReachARunThatIsDriven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := define(t, graphText("{/n: number?, /m: any?}", `
a: {fork: [x, y]}
x: {tool: slow, set: {/n: =result.n}, next: m}
y: {wait: {event: paid}, set: {/m: =result}, next: m}
m: {join: a, next: d}
d: {end: {n: =state.n, m: =state.m}, reads: [/n, /m]}
`), packText, Definition{})
		l := newLab(t, map[string]Port{"tool": PortFunc(func(context.Context, Effect) (Outcome, error) {
			time.Sleep(time.Minute)
			return Outcome{Result: value(`{"n":1}`)}, nil
		})}, d)
		done := make(chan Report)
		go func() { done <- l.start(d, "run", `{}`) }()
		time.Sleep(time.Second)
		if _, err := l.e.Signal(t.Context(), "run", Signal{Name: "paid", ID: "1", Payload: value(`"in time"`)}); err != nil {
			t.Fatal(err)
		}
		wants(t, "result", (<-done).Result, `{"m":"in time","n":1}`)
		wants(t, "received", count(l.events("run"), event.TypeEventReceived), 1)
	})
}

// TestWorkIsNotHeldUp: while one run does something for hours, the timers of others
// are served.
func TestWorkIsNotHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := define(t, graphText("{/n: any?}", "a: {wait: {for: 1m}, next: b}\nb: {tool: slow, set: {/n: =result}, next: d}\nd: {end: 1}"), packText, Definition{})
		short := define(t, graphText("{/n: any?}", "a: {wait: {for: 2m}, next: d}\nd: {end: 2}"), packText, Definition{})
		l := newLab(t, map[string]Port{"tool": PortFunc(func(ctx context.Context, _ Effect) (Outcome, error) {
			<-ctx.Done()
			return Outcome{}, ctx.Err()
		})}, long, short)
		l.start(long, "long", `{}`)
		l.start(short, "short", `{}`)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- l.e.Work(ctx) }()
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		head, err := l.store.Head(t.Context(), "long")
		wants(t, "the long one", fmt.Sprint(head.Status, head.Leased(time.Now()), " ", err), "runningtrue <nil>")
		r, err := l.e.Status(t.Context(), "short")
		wants(t, "the short one", fmt.Sprint(r.Status, " ", err), "terminated <nil>")
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		head, _ = l.store.Head(t.Context(), "long")
		wants(t, "the lease after the end", head.Owner, "")
	})
}

// TestWorkLooksBehindOthers: timers of runs that cannot be driven stay due, and more
// of them than one look sees do not hide the rest. Each run is tried once.
func TestWorkLooksBehindOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const text = "a: {wait: {for: 1m}, next: d}\nd: {end: 1}"
		gone := define(t, graphText("{/n: any?}", text), packText, Definition{})
		known := define(t, graphText("{/m: any?}", text), packText, Definition{})
		l := newLab(t, nil, gone, known)
		for i := range 9 {
			l.start(gone, fmt.Sprint("gone", i), `{}`)
		}
		time.Sleep(time.Second)
		l.start(known, "known", `{}`)
		time.Sleep(time.Minute)
		l.restart(known)
		tried := map[string]int{}
		w := Worker{Store: l.store, Parallel: 1, Drive: func(ctx context.Context, exec string) error {
			tried[exec]++
			_, err := l.e.Drive(ctx, exec)
			return serious(err)
		}}
		if err := w.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := l.e.Status(t.Context(), "known")
		wants(t, "behind the others", fmt.Sprint(r.Status, " ", err), "terminated <nil>")
		wants(t, "runs", len(tried), 10)
		for exec, n := range tried {
			wants(t, exec+": tries", n, 1)
		}
		r, err = l.e.Status(t.Context(), "gone3")
		if err != nil || r.Pinned == nil || r.Definition != gone.Digests() {
			t.Errorf("a run of another definition: %+v, %v", r.Pinned, err)
		}
	})
}

// TestWorkEndsWithAnError: what is wrong with the store ends the work, and not
// before the runs under way are put down.
func TestWorkEndsWithAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := define(t, graphText("{/n: any?}", "a: {wait: {for: 1m}, next: d}\nd: {end: 1}"), packText, Definition{})
		l := newLab(t, nil, d)
		l.start(d, "one", `{}`)
		l.start(d, "two", `{}`)
		time.Sleep(time.Minute)
		put := false
		w := Worker{Store: l.store, Drive: func(ctx context.Context, exec string) error {
			if exec == "one" {
				<-ctx.Done()
				put = true
				return nil
			}
			return store.ErrDamaged
		}}
		if err := w.Work(t.Context()); !errors.Is(err, store.ErrDamaged) || !put {
			t.Errorf("%v, put down: %v", err, put)
		}
	})
}
