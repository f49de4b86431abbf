package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/memory"
	"github.com/writ-dev/writ/store/storetest"
)

// beside is an engine of another process on the same store.
func (l *lab) beside(owner string, st store.Store, defs ...*Definition) *Engine {
	l.t.Helper()
	e, err := New(Config{Store: st, Ports: l.ports, Definitions: defs, Owner: owner})
	if err != nil {
		l.t.Fatal(err)
	}
	return e
}

// inbox gives the ids of the messages in a run's inbox.
func (l *lab) inbox(exec string) []string {
	l.t.Helper()
	list, err := l.store.(store.Inbox).Posted(l.t.Context(), exec, 0, store.MaxMessages)
	if err != nil {
		l.t.Fatal(err)
	}
	ids := []string{}
	for _, m := range list {
		ids = append(ids, m.ID)
	}
	return ids
}

// sleeps is a handler that takes its time, or ends when nobody wants its outcome.
func sleeps(d time.Duration) Handler {
	return Handler{Run: func(ctx context.Context, in graph.Invocation) (graph.NodeResult, error) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return graph.NodeResult{}, ctx.Err()
		}
		return graph.NodeResult{Outcome: graph.Outcome{Kind: graph.Continue, Patch: &graph.Patch{BaseRevision: in.Revision}}}, nil
	}}
}

// runs starts a run on the lab's engine and gives its report when there is one.
func (l *lab) runs(d *Definition, exec string) <-chan Report {
	done := make(chan Report, 1)
	go func() { done <- l.start(d, exec, `{}`) }()
	synctest.Wait()
	return done
}

func TestCancelReachesAHandlerOfAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := define(t, graphText("{/n: number?}", "a: {handler: slow, next: d}\nd: {end: 1}"), packText, Definition{Handlers: map[string]Handler{"slow": sleeps(5 * time.Minute)}})
		l := newLab(t, nil, d)
		done := l.runs(d, "run")
		time.Sleep(40 * time.Second) // by now the lease was renewed more than once
		other := l.beside("other", l.store, d)
		begin := time.Now()
		r, err := other.Cancel(t.Context(), "run", Cancel{By: "bob", Reason: "enough"})
		if err != nil || !r.Posted || r.Kept || r.Status != store.Running {
			t.Fatalf("%+v, %v", r, err)
		}
		wants(t, "cancelled", (<-done).Status, store.Cancelled)
		if took := time.Since(begin); took > other.c.Poll {
			t.Errorf("it took %s, more than a poll", took)
		}
		r, err = other.Await(t.Context(), r, 0)
		wants(t, "whoever posted it", fmt.Sprint(r.Status, r.Posted, err), "cancelledfalse <nil>")
		log := l.events("run")
		wants(t, "requests", count(log, event.TypeCancelRequested), 1)
		_, err = other.Cancel(t.Context(), "run", Cancel{By: "bob"})
		if !isRefused(err, RefusedEnded) {
			t.Errorf("once more: %v", err)
		}
	})
}

// twoWaits waits for one event, works for a minute, and waits for another one.
func twoWaits(t testing.TB) *Definition {
	return define(t, graphText("{/n: any?}", `
a: {wait: {event: shipped}, next: b}
b: {handler: slow, next: c}
c: {wait: {event: paid}, set: {/n: =result}, next: d}
d: {end: =state.n, reads: [/n]}
`), packText, Definition{Handlers: map[string]Handler{"slow": sleeps(time.Minute)}})
}

// TestEarlyEvents delivers an event before the run comes to its wait, in every way
// in which a process may stand to the run by then.
func TestEarlyEvents(t *testing.T) {
	for name, c := range map[string]struct {
		posted bool // another process has the run
		from   func(l *lab, d *Definition) *Engine
		at     time.Duration // after the run has begun to work; 0 is before
	}{
		"while it waits for another":        {false, func(l *lab, _ *Definition) *Engine { return l.e }, 0},
		"from another process":              {false, func(l *lab, d *Definition) *Engine { return l.beside("other", l.store, d) }, 0},
		"while it works":                    {false, func(l *lab, _ *Definition) *Engine { return l.e }, time.Second},
		"while it works in another process": {true, func(l *lab, d *Definition) *Engine { return l.beside("other", l.store, d) }, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := twoWaits(t)
				l := newLab(t, nil, d)
				l.start(d, "run", `{}`)
				l.restart(d)
				done := make(chan Report, 1)
				ship := func() {
					r, err := l.e.Signal(t.Context(), "run", Signal{Name: "shipped", ID: "s1"})
					if err != nil {
						t.Error(err)
					}
					done <- r
				}
				if c.at > 0 {
					go ship()
					time.Sleep(c.at)
				}
				e := c.from(l, d)
				for range 2 {
					r, err := e.Signal(t.Context(), "run", Signal{Name: "paid", ID: "p1", Payload: value(`{"by":"card"}`), By: "shop"})
					if err != nil || !r.Kept || r.Posted != c.posted || r.Duplicate {
						t.Fatalf("%+v, %v", r, err)
					}
				}
				wants(t, "messages", len(l.inbox("run")), 1)
				if c.at == 0 {
					ship()
				}
				r := <-done
				wants(t, "end", fmt.Sprint(r.Status, r.Result), `terminated{"by":"card"}`)
				wants(t, "received", count(l.events("run"), event.TypeEventReceived), 2)
				wants(t, "left", l.inbox("run"), []string{})
			})
		})
	}
}

// TestEventsThatNothingWaitsFor are refused, as far as that can be known.
func TestEventsThatNothingWaitsFor(t *testing.T) {
	d := twoWaits(t)
	l := newLab(t, nil, d)
	l.start(d, "run", `{}`)
	other := l.beside("other", l.store, d)
	refused := func(name string, signal Signal, code string) {
		t.Helper()
		_, err := l.e.Signal(t.Context(), "run", signal)
		if !isRefused(err, code) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := l.store.Lease(t.Context(), "run", "third", time.Minute); err == nil {
			defer l.store.Lease(t.Context(), "run", "third", 0)
		}
		if _, err = other.Signal(t.Context(), "run", signal); !isRefused(err, code) {
			t.Errorf("%s, to another process: %v", name, err)
		}
	}
	refused("no such wait", Signal{Name: "lost", ID: "1"}, RefusedNotWaiting)
	refused("too large", Signal{Name: "paid", ID: "1", Payload: artifact.StringValue(strings.Repeat("x", store.MaxMessage))}, RefusedInput)
	refused("too deep", Signal{Name: "paid", ID: "1", Payload: value(strings.Repeat("[", artifact.MaxDepth) + strings.Repeat("]", artifact.MaxDepth))}, RefusedInput)
	for i := range store.MaxMessages - spareMessages {
		if _, err := l.e.Signal(t.Context(), "run", Signal{Name: "paid", ID: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	refused("too many", Signal{Name: "paid", ID: "one more"}, RefusedFull)

	if _, err := l.store.Lease(t.Context(), "run", "third", time.Minute); err != nil {
		t.Fatal(err)
	}
	r, err := other.Cancel(t.Context(), "run", Cancel{}) // there is room for it
	if err != nil || !r.Posted {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := l.store.Lease(t.Context(), "run", "third", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := l.e.Drive(t.Context(), "run"); err != nil {
		t.Fatal(err)
	}
	wants(t, "left", l.inbox("run"), []string{})
	refused("over", Signal{Name: "paid", ID: "1"}, RefusedEnded)
	if _, err := other.Signal(t.Context(), "nothing", Signal{Name: "paid"}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no such run: %v", err)
	}
}

// TestMessagesThatLeadToNothing are taken out and do the run no harm.
func TestMessagesThatLeadToNothing(t *testing.T) {
	d := twoWaits(t)
	l := newLab(t, nil, d)
	l.start(d, "run", `{}`)
	for i, body := range []string{"", "{", `{"v":2,"kind":"cancel"}`, `{"v":1,"kind":"abandon"}`, `{"v":1,"kind":"cancel","more":1}`, `{"v":1,"kind":"resume"}`} {
		if _, err := l.store.(store.Inbox).Post(t.Context(), "run", store.Message{ID: fmt.Sprint(i), Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	// An event that no log can hold shows when the run comes to it.
	r, err := l.e.Signal(t.Context(), "run", Signal{Name: "shipped", Method: "no such method", ID: "s0"})
	if err == nil {
		t.Fatalf("a method that nobody knows: %s", r.Status)
	}
	m, err := NewMachine(d).Message(Position{}, Signal{Name: "shipped", Method: "no such method", ID: "s0"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.store.(store.Inbox).Post(t.Context(), "run", m); err != nil {
		t.Fatal(err)
	}
	before := len(l.events("run"))
	if _, err := l.e.Drive(t.Context(), "run"); err != nil {
		t.Fatal(err)
	}
	wants(t, "left", l.inbox("run"), []string{})
	wants(t, "events", len(l.events("run")), before)
}

// TestLastLook posts while a step is under way that is shorter than a poll. The
// message is taken under the lease that is in force, without giving it up first.
func TestLastLook(t *testing.T) {
	var other *Engine
	d := define(t, graphText("{/n: any?}", "a: {handler: tells, next: c}\nc: {wait: {event: paid}, set: {/n: =result}, next: d}\nd: {end: =state.n, reads: [/n]}"),
		packText, Definition{Handlers: map[string]Handler{"tells": {Run: func(ctx context.Context, in graph.Invocation) (graph.NodeResult, error) {
			r, err := other.Signal(ctx, "run", Signal{Name: "paid", ID: "e1", Payload: value("7")})
			if err == nil && !r.Posted {
				err = errors.New("nobody has the run")
			}
			return graph.NodeResult{Outcome: graph.Outcome{Kind: graph.Continue, Patch: &graph.Patch{BaseRevision: in.Revision}}}, err
		}}}})
	l := newLab(t, nil, d)
	other = l.beside("other", l.store, d)
	r := l.start(d, "run", `{}`)
	wants(t, "end", fmt.Sprint(r.Status, r.Result), "terminated7")
	head, err := l.store.Head(t.Context(), "run")
	wants(t, "leases", fmt.Sprint(head.Fence, err), "1 <nil>")
}

// TestFaultAtEveryWriteBesideMessages lets the process that takes messages meet every
// fault at every write, and the next one finish: each message is taken once.
func TestFaultAtEveryWriteBesideMessages(t *testing.T) {
	d := define(t, graphText("{/n: number, /m: any?}", `
a: {wait: {event: shipped}, next: b}
b: {handler: add, reads: [/n], writes: [/n], next: c}
c: {wait: {event: paid}, set: {/m: =result}, next: d}
d: {end: {n: =state.n, m: =state.m}, reads: [/n, /m]}
`), packText, Definition{Handlers: map[string]Handler{"add": {Run: add("/n")}}})
	points := 0
	for fault := storetest.Refuse; fault <= storetest.CrashAfter; fault++ {
		for n := 0; ; n++ {
			now := time.UnixMilli(1_000_000)
			inner := memory.New(func() time.Time { return now })
			faulty := storetest.Faulty(inner, storetest.At(n, fault))
			engine := func(st store.Store, owner string) *Engine {
				e, err := New(Config{Store: st, Clock: movedClock{func() time.Time { return now }}, Owner: owner, Definitions: []*Definition{d}})
				if err != nil {
					t.Fatal(err)
				}
				return e
			}
			if _, err := engine(inner, "zero").Start(t.Context(), Request{Exec: "run", Definition: d, State: value(`{"n":1}`)}); err != nil {
				t.Fatal(err)
			}
			for _, what := range []Happening{
				Signal{Name: "paid", ID: "p", Payload: value(`7`)}, Resume{Token: TokenDigest("nobody's")}, Signal{Name: "shipped", ID: "s"},
			} {
				m, err := NewMachine(d).Message(Position{}, what)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := inner.Post(t.Context(), "run", m); err != nil {
					t.Fatal(err)
				}
			}
			_, _ = engine(faulty, "first").Drive(t.Context(), "run")
			if faulty.Writes() <= n {
				break // there is no such write
			}
			points++
			now = now.Add(time.Hour)
			r, err := engine(inner, "second").Drive(t.Context(), "run")
			if err != nil && !isRefused(err, RefusedEnded) {
				t.Fatalf("fault %d at write %d: %v", fault, n, err)
			}
			r, err = engine(inner, "third").Status(t.Context(), "run")
			left, leftErr := inner.Posted(t.Context(), "run", 0, 9)
			if err != nil || leftErr != nil || r.Result.String() != `{"m":7,"n":2}` || len(left) > 0 || count(logOf(t, inner, "run"), event.TypeEventReceived) != 2 {
				t.Fatalf("fault %d at write %d: %s %s %s %v, %d messages left", fault, n, r.Status, r.Reason, r.Result, err, len(left))
			}
		}
	}
	if points < 6*5 {
		t.Errorf("only %d faults", points)
	}
}
