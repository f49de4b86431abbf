package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/store"
)

func TestToolChain(t *testing.T) {
	d := define(t, graphText("{/n: number}", `
a: {tool: count, reads: [/n], args: {from: =state.n}, set: {/n: =result.n}, next: b}
b: {handler: add, reads: [/n], writes: [/n], next: c}
c: {tool: count, set: {/n: =result.n}, cases: [{when: result.n > 1, to: d}], next: a, max_visits: 3}
d: {end: =state.n, reads: [/n]}
`), packText, Definition{Handlers: map[string]Handler{"add": {Run: add("/n")}}})
	port := &counter{}
	l := newLab(t, map[string]Port{"tool": port})
	r := l.start(d, "run", `{"n":0}`)
	wants(t, "status", r.Status, store.Terminated)
	wants(t, "result", r.Result, "2")
	wants(t, "effects", port.effects(), 2)
	wants(t, "steps", r.Steps, 4)
	wants(t, "log", types(l.events("run")), "started node_started effect_requested effect_authorized effect_settled state_patched routed "+
		"node_started state_patched routed node_started effect_requested effect_authorized effect_settled state_patched routed node_started terminated")
	wants(t, "appends with two effects and a handler", count(l.events("run"), event.TypeCheckpointed), 3)
}

func TestDenialIsAnEventAndARoute(t *testing.T) {
	port := &counter{}
	for _, route := range []string{"", ", routes: {denied: d}"} {
		d := define(t, graphText("{/n: number?}", "a: {tool: rm, set: {/n: 1}, next: d"+route+"}\nd: {end: gone}"), packText, Definition{})
		l := newLab(t, map[string]Port{"tool": port})
		r := l.start(d, "run", `{}`)
		denied := l.events("run")[3].Body.(*event.EffectDenied)
		wants(t, "code", denied.Code, policy.CodeToolNotAllowed)
		if route == "" {
			wants(t, "failed", string(r.Status)+" "+r.Code, "failed tool_not_allowed")
		} else {
			wants(t, "routed", r.Result, `"gone"`)
		}
	}
	wants(t, "effects", port.effects(), 0)
}

func TestRetriesAreChargedAndWaitExactly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := define(t, graphText("{/n: number?}", `
a: {tool: flaky, set: {/n: =result.n}, next: d, retry: {attempts: 3, backoff: 10s, factor: 2, jitter_percent: 20, on: [unavailable]}, reserve: {tokens: 100}}
d: {end: =state.n, reads: [/n]}
`), packText, Definition{})
		var at []time.Time
		port := &counter{do: func(_ context.Context, e Effect, n int) (Outcome, error) {
			at = append(at, time.Now())
			if n < 3 {
				return Outcome{Failed: true, Class: graph.ClassUnavailable, Error: "try later", Usage: policy.Amount{Tokens: 7}}, nil
			}
			return Outcome{Result: value(`{"n":3}`), Usage: policy.Amount{Tokens: 5}}, nil
		}}
		l := newLab(t, map[string]Port{"tool": port})
		r := l.start(d, "run", `{}`)
		wants(t, "result", r.Result, "3")
		wants(t, "tokens of all attempts", r.Used.Tokens, 19)
		wants(t, "keys", port.keys(), 3)
		retry := d.Graph.Node("a").Retry
		for i := range 2 {
			want := time.Duration(retry.Delay("run", "a", 1, uint32(i+1))) * time.Millisecond
			wants(t, "delay", at[i+1].Sub(at[i]), want)
		}
	})
}

func TestDeadlineInsideAHandlerThatDoesNotListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		defer close(block)
		deaf := func(context.Context, graph.Invocation) (graph.NodeResult, error) {
			<-block
			return graph.NodeResult{}, nil
		}
		d := define(t, graphText("{/n: number?}", "a: {handler: deaf, next: d, timeout: 100ms}\nd: {end: 1}"), packText,
			Definition{Handlers: map[string]Handler{"deaf": {Run: deaf}}})
		l := newLab(t, nil)
		began := time.Now()
		r := l.start(d, "run", `{}`)
		wants(t, "failed", string(r.Status)+" "+r.Code, "failed timeout")
		wants(t, "after", time.Since(began), 100*time.Millisecond)
	})
}

func TestCancelInARetryWaitAndInsideANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := define(t, graphText("{/n: number?}", `
a: {tool: flaky, set: {/n: =result.n}, next: d, retry: {attempts: 9, backoff: 1h, max_backoff: 1h, on: [unavailable]}}
d: {end: 1}
`), packText, Definition{})
		slow := define(t, graphText("{/n: number?}", "a: {tool: slow, set: {/n: 1}, next: d}\nd: {end: 1}"), packText, Definition{})
		l := newLab(t, map[string]Port{"tool": PortFunc(func(ctx context.Context, e Effect) (Outcome, error) {
			if e.Name == "slow" {
				<-ctx.Done()
				return Outcome{}, ctx.Err()
			}
			return Outcome{Failed: true, Class: graph.ClassUnavailable, Error: "no"}, nil
		})})
		for exec, def := range map[string]*Definition{"retry": d, "slow": slow} {
			done := make(chan Report)
			go func() { done <- l.start(def, exec, `{}`) }()
			synctest.Wait()
			began := time.Now()
			if _, err := l.e.Cancel(t.Context(), exec, Cancel{By: "bob", Reason: "enough"}); err != nil {
				t.Fatal(err)
			}
			r := <-done
			wants(t, exec, r.Status, store.Cancelled)
			wants(t, "waited", time.Since(began), time.Duration(0))
			events := l.events(exec)
			wants(t, "last", events[len(events)-1].Type, event.TypeCancelled)
			if exec == "slow" {
				wants(t, "what became of the effect is said", count(events, event.TypeEffectUnknown), 1)
			}
		}
	})
}

func TestBudgetReservesBeforeTheEffect(t *testing.T) {
	d := define(t, graphText("{/n: number?}", `
a: {model: fast, reserve: {tokens: 6000}, set: {/n: 1}, next: b}
b: {model: fast, reserve: {tokens: 6000}, set: {/n: 2}, next: d, routes: {denied: d}}
d: {end: =state.n, reads: [/n]}
`), packText, Definition{})
	port := &counter{do: func(context.Context, Effect, int) (Outcome, error) {
		return Outcome{Usage: policy.Amount{Tokens: 5000}}, nil
	}}
	l := newLab(t, map[string]Port{"model": port})
	r := l.start(d, "run", `{}`)
	wants(t, "result", r.Result, "1")
	wants(t, "effects", port.effects(), 1)
	wants(t, "used", r.Used.Tokens, 5000)
}

func TestHandlersReserveToo(t *testing.T) {
	d := define(t, graphText("{/n: number?}", `
a: {handler: add, reads: [/n], writes: [/n], reserve: {tokens: 9000}, next: b}
b: {handler: add, reads: [/n], writes: [/n], reserve: {tokens: 10000}, next: d, routes: {denied: d}}
d: {end: =state.n, reads: [/n]}
`), packText, Definition{Handlers: map[string]Handler{"add": {Run: add("/n")}}})
	l := newLab(t, nil)
	r := l.start(d, "run", `{}`)
	wants(t, "result", fmt.Sprint(r.Result, " ", r.Used.Tokens, " ", r.Error), "1 1 ")
	l.events("run")
}

func TestWaitForEventIsConsumedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := define(t, graphText("{/order: string, /by: any?}", `
a: {wait: {event: paid, key: =state.order}, reads: [/order], timeout: 2d, set: {/by: =result.by}, next: b, routes: {timeout: late}}
b: {wait: {event: paid, key: =state.order}, reads: [/order], timeout: 2d, next: d, routes: {timeout: late}}
d: {end: =state.by, reads: [/by]}
late: {fail: too late}
`), packText, Definition{})
		l := newLab(t, nil, d)
		r := l.start(d, "run", `{"order":"o1"}`)
		wants(t, "status", r.Status, store.Suspended)
		signal := Signal{Name: "paid", Key: value(`"o1"`), ID: "e1", Payload: value(`{"by":"card"}`)}
		l.restart(d)
		r, err := l.e.Signal(t.Context(), "run", Signal{Name: "paid", Key: value(`"o2"`), ID: "e0"})
		if err != nil || !r.Kept || r.Status != store.Suspended {
			t.Errorf("an event for another order: kept %v, %s, %v", r.Kept, r.Status, err)
		}
		r, err = l.e.Signal(t.Context(), "run", signal)
		if err != nil || r.Status != store.Suspended {
			t.Fatal(r.Status, err)
		}
		r, err = l.e.Signal(t.Context(), "run", signal)
		if err != nil || !r.Duplicate {
			t.Errorf("second delivery: %v, duplicate %v", err, r.Duplicate)
		}
		time.Sleep(48 * time.Hour)
		l.restart(d)
		if err := l.e.DriveDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err = l.e.Status(t.Context(), "run")
		wants(t, "late", fmt.Sprint(r.Status, " ", r.Error, " ", err), "failed too late <nil>")
		wants(t, "received", count(l.events("run"), event.TypeEventReceived), 1)
		wants(t, "elapsed while suspended", r.ElapsedMS, 0)
	})
}

func TestTimerFiresOnceAfterARestartPastIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := define(t, graphText("{/n: number?}", "a: {wait: {for: 1h}, set: {/n: 1}, next: d}\nd: {end: =state.n, reads: [/n]}"), packText, Definition{})
		l := newLab(t, nil, d)
		wants(t, "status", l.start(d, "run", `{}`).Status, store.Suspended)
		time.Sleep(3 * time.Hour)
		l.restart(d)
		for range 2 {
			if err := l.e.DriveDue(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		r, err := l.e.Status(t.Context(), "run")
		wants(t, "result", fmt.Sprint(r.Result, " ", err), "1 <nil>")
		wants(t, "fired", count(l.events("run"), event.TypeTimerFired), 1)
	})
}

// TestSuspensionIsACommit holds five suspensions in a loop to five resumes, each
// in a new process.
func TestSuspensionIsACommit(t *testing.T) {
	ask := func(_ context.Context, in graph.Invocation) (graph.NodeResult, error) {
		n, _ := graph.Lookup(in.State, "/n")
		have, _ := n.Uint()
		set := func(v uint64) *graph.Patch {
			return &graph.Patch{BaseRevision: in.Revision, Operations: map[string]graph.Operation{"/n": graph.Set(artifact.UintValue(v))}}
		}
		if !in.Input.Set {
			return graph.NodeResult{Outcome: graph.Outcome{Kind: graph.Suspend, Reason: "how many?", Patch: set(have + 100)}}, nil
		}
		add, _ := in.Input.Value.Uint()
		o := graph.Outcome{Kind: graph.Continue, Patch: set(have + add)}
		if have+add >= 505 {
			o.Kind, o.Route = graph.Routed, "enough"
		}
		return graph.NodeResult{Outcome: o}, nil
	}
	d := define(t, graphText("{/n: number}", `
a: {handler: ask, reads: [/n], writes: [/n], routes: {enough: d}, next: a, max_visits: 9}
d: {end: =state.n, reads: [/n]}
`), packText, Definition{Handlers: map[string]Handler{"ask": {Run: ask}}})
	l := newLab(t, nil, d)
	r := l.start(d, "run", `{"n":0}`)
	resumes := 0
	for r.Status == store.Suspended {
		resumes++
		wants(t, "patch of the suspension", r.State.Value, fmt.Sprintf(`{"n":%d}`, 100*resumes+resumes-1))
		token := r.Issued[len(r.Issued)-1].Tokens[0]
		l.restart(d)
		if _, err := l.e.Resume(t.Context(), "run", "wt_other", value("1"), "bob"); !isRefused(err, RefusedToken) {
			t.Fatalf("a token that never was: %v", err)
		}
		var err error
		if r, err = l.e.Resume(t.Context(), "run", token, value("1"), "bob"); err != nil {
			t.Fatal(err)
		}
		if _, err := l.e.Resume(t.Context(), "run", token, value("1"), "bob"); r.Status == store.Suspended && !isRefused(err, RefusedUsed) {
			t.Fatalf("second use: %v", err)
		}
	}
	wants(t, "resumes", resumes, 5)
	wants(t, "steps", r.Steps, 6)
	wants(t, "result", r.Result, "505")
}

func isRefused(err error, code string) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Code == code
}

func TestCallDebitsNarrowsAndLinks(t *testing.T) {
	child := define(t, `
version: 2
id: child
state: {/q: string, /a: string?}
entry: think
limits: {max_steps: 10, max_tokens: 500, max_cost_micros: 100, timeout: 1m}
nodes:
  think: {model: fast, reserve: {tokens: 400, cost_micros: 50}, set: {/a: =result.text}, next: out}
  out: {end: {answer: =state.a}, reads: [/a]}
`, packText, Definition{})
	text := graphText("{/q: string, /a: any?}", `
a: {call: child, args: {q: =state.q}, reads: [/q], RETURNS set: {/a: =result.answer}, next: d, AUTH routes: {failed: e}}
d: {end: =state.a, reads: [/a]}
e: {end: failed}
`)
	for _, c := range []struct{ returns, auth, want string }{
		{"returns: {/answer: string},", "", `"yes"`},
		{"returns: {/answer: number},", "", `"failed"`},
		{"", "authority: {max_steps: 1},", `"failed"`},
		{"", "authority: {capabilities: [none]},", "approved"},
	} {
		parent := define(t, replace(text, "RETURNS", c.returns, "AUTH", c.auth), packText, Definition{Calls: map[string]*Definition{"child": child}})
		port := &counter{do: func(context.Context, Effect, int) (Outcome, error) {
			return Outcome{Result: value(`{"text":"yes"}`), Usage: policy.Amount{Tokens: 300, Cost: policy.Money{"USD": 40}}}, nil
		}}
		l := newLab(t, map[string]Port{"model": port}, parent)
		r := l.start(parent, "run", `{"q":"why"}`)
		if c.want == "approved" { // more than the parent has
			wants(t, "escalation", r.Code, policy.CodeAuthorityExceeded)
			continue
		}
		wants(t, c.returns+c.auth, r.Result, c.want)
		wants(t, "tokens of the parent", r.Used.Tokens, 300)
		var started *event.CallStarted
		var returned *event.CallReturned
		for _, e := range l.events("run") {
			switch p := e.Body.(type) {
			case *event.CallStarted:
				started = p
			case *event.CallReturned:
				returned = p
			}
		}
		log := l.events(started.Exec)
		link := log[0].Body.(*event.Started).Parent
		head, _ := l.store.Head(t.Context(), started.Exec)
		if link == nil || link.Exec != "run" || returned.Head != head.Digest || returned.Events != head.Seq {
			t.Errorf("links: %+v, %+v, head %v", link, returned, head)
		}
	}
}

func replace(s string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		for k := 0; k+len(pairs[i]) <= len(s); k++ {
			if s[k:k+len(pairs[i])] == pairs[i] {
				s = s[:k] + pairs[i+1] + s[k+len(pairs[i]):]
				break
			}
		}
	}
	return s
}

func TestChildThatWaitsWakesItsCaller(t *testing.T) {
	child := define(t, `
version: 2
id: child
state: {/x: string?}
entry: ask
limits: {max_steps: 10, timeout: 1m}
nodes:
  ask: {wait: {event: paid}, set: {/x: =result}, next: out}
  out: {end: =state.x, reads: [/x]}
`, packText, Definition{})
	parent := define(t, graphText("{/a: any?}", "a: {call: child, args: {}, set: {/a: =result}, next: d}\nd: {end: =state.a, reads: [/a]}"),
		packText, Definition{Calls: map[string]*Definition{"child": child}})
	l := newLab(t, nil, parent)
	r := l.start(parent, "run", `{}`)
	wants(t, "parent", r.Status, store.Running)
	exec := l.events("run")[2].Body.(*event.CallStarted).Exec
	l.restart(parent)
	if _, err := l.e.Signal(t.Context(), exec, Signal{Name: "paid", ID: "1", Payload: value(`"ok"`)}); err != nil {
		t.Fatal(err)
	}
	r, err := l.e.Status(t.Context(), "run")
	wants(t, "parent", fmt.Sprint(r.Status, r.Result, " ", err), `terminated"ok" <nil>`)
}

// TestWhoeverStartedTheCallerCannotDecide holds the starter of a run against the
// approvals of the runs that it calls.
func TestWhoeverStartedTheCallerCannotDecide(t *testing.T) {
	child := define(t, `
version: 2
id: child
state: {/x: bool?}
entry: ask
limits: {max_steps: 10, timeout: 1m}
nodes:
  ask: {approve: publish, set: {/x: true}, next: out}
  out: {end: =state.x, reads: [/x]}
`, packText, Definition{})
	parent := define(t, graphText("{/a: any?}", "a: {call: child, args: {}, set: {/a: =result}, next: d}\nd: {end: =state.a, reads: [/a]}"),
		packText, Definition{Calls: map[string]*Definition{"child": child}})
	l := newLab(t, nil, parent)
	var issued []Issued
	l.e.c.Tokens = func(i Issued) { issued = append(issued, i) }
	l.start(parent, "run", `{}`)
	d := Decision{Proposal: issued[0].Proposal, Approve: true, Token: issued[0].Tokens[0], Approver: "ann"}
	if _, err := l.e.Decide(t.Context(), issued[0].Exec, d); !isRefused(err, RefusedStarter) {
		t.Errorf("the starter decides: %v", err)
	}
	d.Approver = "bob"
	if _, err := l.e.Decide(t.Context(), issued[0].Exec, d); err != nil {
		t.Fatal(err)
	}
	r, err := l.e.Status(t.Context(), "run")
	wants(t, "parent", fmt.Sprint(r.Status, r.Result, " ", err), "terminatedtrue <nil>")
}

// TestLimitsAreTheLowestOfAll stops a graph of 100 steps at the 4 of its pack, and
// says whose limit it was.
func TestLimitsAreTheLowestOfAll(t *testing.T) {
	d := define(t, graphText("{/n: number}", "a: {handler: add, reads: [/n], writes: [/n], routes: {enough: d}, next: a, max_visits: 50}\nd: {end: 1}"),
		replace(packText, "limits: {", "limits: {steps: 4, "), Definition{Handlers: map[string]Handler{"add": {Run: add("/n")}}})
	l := newLab(t, nil)
	r := l.start(d, "run", `{"n":0}`)
	wants(t, "end", fmt.Sprint(r.Code, ": ", r.Error, ", ", r.Steps, r.State.Value), `budget_exhausted: step budget exceeded (pack tests: limits.steps), 4 {"n":4}`)
	r, err := l.e.Start(t.Context(), Request{Exec: "request", Definition: d, State: value(`{"n":0}`), Limits: policy.Limits{Steps: artifact.Some[uint64](2)}})
	wants(t, "request", fmt.Sprint(r.Error, r.Steps, err), "step budget exceeded (the request: steps)2 <nil>")
}

// TestExhaustedLoopAcrossSuspensions holds a loop of three visits to three, however
// often the run is suspended in between.
func TestExhaustedLoopAcrossSuspensions(t *testing.T) {
	d := define(t, graphText("{/n: number?}", `
a: {wait: {event: paid}, set: {/n: =visit}, next: a, routes: {exhausted: d}, max_visits: 3}
d: {end: =state.n, reads: [/n]}
`), packText, Definition{})
	l := newLab(t, nil, d)
	r := l.start(d, "run", `{}`)
	signals := 0
	for r.Status == store.Suspended {
		l.restart(d)
		var err error
		if r, err = l.e.Signal(t.Context(), "run", Signal{Name: "paid", ID: fmt.Sprint(signals)}); err != nil {
			t.Fatal(err)
		}
		signals++
	}
	wants(t, "visits", fmt.Sprint(signals, r.Result), "3 3")
	l.events("run")
}

// TestRunTimeoutCountsSlices lets a run work for a minute in every slice, with
// days of suspension in between, under a timeout of ten minutes.
func TestRunTimeoutCountsSlices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context, in graph.Invocation) (graph.NodeResult, error) {
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
				return graph.NodeResult{}, ctx.Err()
			}
			return graph.NodeResult{Outcome: graph.Outcome{Kind: graph.Continue, Patch: &graph.Patch{BaseRevision: in.Revision}}}, nil
		}
		d := define(t, graphText("{/n: number?}", `
a: {handler: slow, routes: {enough: d}, next: b, max_visits: 30}
b: {wait: {for: 3d}, set: {}, next: a}
d: {end: 1}
`), packText, Definition{Handlers: map[string]Handler{"slow": {Run: slow}}})
		l := newLab(t, nil, d)
		r := l.start(d, "run", `{}`)
		for r.Status == store.Suspended {
			time.Sleep(72 * time.Hour)
			l.restart(d)
			if err := l.e.DriveDue(t.Context()); err != nil {
				t.Fatal(err)
			}
			var err error
			if r, err = l.e.Status(t.Context(), "run"); err != nil {
				t.Fatal(err)
			}
		}
		wants(t, "end", fmt.Sprint(r.Status, " ", r.Error, " ", r.ElapsedMS), "failed timeout budget exceeded 600000")
		l.events("run")
	})
}

func TestNothingStartsUnderAnExpiredPack(t *testing.T) {
	d := define(t, graphText("{/n: number?}", "a: {set: {/n: 1}, next: d}\nd: {end: 1}"), packText+"expires: 2001-01-01T00:00:00Z\n", Definition{})
	l := newLab(t, nil)
	_, err := l.e.Start(t.Context(), Request{Exec: "run", Definition: d, State: value(`{}`)})
	var denied *DeniedError
	if !errors.As(err, &denied) || denied.Denial.Code != policy.CodePackExpired {
		t.Errorf("expired pack: %v", err)
	}
	if _, err := l.store.Head(t.Context(), "run"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("something was stored: %v", err)
	}
}

// TestHandlerFailuresEndTheRun lets handlers fail in every way that Go has.
func TestHandlerFailuresEndTheRun(t *testing.T) {
	for name, run := range map[string]graph.Handler{
		"error": func(context.Context, graph.Invocation) (graph.NodeResult, error) {
			return graph.NodeResult{}, errors.New("disk")
		},
		"panic":   func(context.Context, graph.Invocation) (graph.NodeResult, error) { panic("oops") },
		"nothing": noHandler,
		"patch": func(_ context.Context, in graph.Invocation) (graph.NodeResult, error) {
			return graph.NodeResult{Outcome: graph.Outcome{Kind: graph.Continue, Patch: &graph.Patch{BaseRevision: in.Revision + 9}}}, nil
		},
		"result": func(context.Context, graph.Invocation) (graph.NodeResult, error) {
			return graph.NodeResult{Outcome: graph.Outcome{Kind: graph.Terminate}}, nil
		},
	} {
		d := define(t, graphText("{/n: number?}", "a: {handler: bad, writes: [/n], next: d}\nd: {end: 1}"), packText, Definition{Handlers: map[string]Handler{"bad": {Run: run}}})
		l := newLab(t, nil)
		r := l.start(d, "run", `{}`)
		if r.Status != store.Failed || r.Error == "" || count(l.events("run"), event.TypeFailed) != 1 {
			t.Errorf("%s: %s %q", name, r.Status, r.Error)
		}
	}
}
