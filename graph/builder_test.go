package graph

import (
	"context"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
)

// The counter of the shared conformance graph, in Go.

type bumpView struct {
	Count ReadWrite[int] `path:"/count"`
}

type doneView struct {
	Count Read[int] `path:"/count"`
}

func bump(_ context.Context, v *View[bumpView]) (Exit[bumpView], error) {
	v.State.Count.Set(v.State.Count.Get() + 1)
	return v.Continue(), nil
}

func finish(_ context.Context, v *View[doneView]) (Exit[doneView], error) {
	return v.Terminate(v.State.Count.Get()), nil
}

func counter() (*Built, error) {
	b := NewBuilder("portable-counter", "counter-state")
	b.Limits = Limits{MaxSteps: 10, MaxTokens: 100, MaxCostMicros: 1000, TimeoutMillis: 30_000}
	increment := AddNode(b, "increment", bump)
	done := AddNode(b, "done", finish).Terminal()
	increment.Next(done)
	return b.Build(Options{})
}

func TestBuilderMakesTheSharedGraph(t *testing.T) {
	built, err := counter()
	if err != nil {
		t.Fatal(err)
	}
	const want = "f27da0921d4bfbfce4a6b9b6daa93c6bee6f919175773df3abee443c7ef029a0"
	if got := built.Definition.Digest().Hex(); got != want {
		t.Errorf("hash is %s, want %s", got, want)
	}
	if len(built.Findings) != 0 {
		t.Errorf("findings %v", built.Findings)
	}
}

// TestBuilderDefaults pins the hash that the TypeScript builder gives with its
// default limits and no reads.
func TestBuilderDefaults(t *testing.T) {
	b := NewBuilder("portable-counter", "counter-state")
	type bumpOnly struct {
		Count Write[int] `path:"/count"`
	}
	increment := AddNode(b, "increment", func(_ context.Context, v *View[bumpOnly]) (Exit[bumpOnly], error) {
		return v.Continue(), nil
	})
	increment.Next(AddNode(b, "done", func(_ context.Context, v *View[struct{}]) (Exit[struct{}], error) {
		return v.Terminate(nil), nil
	}).Terminal())
	built, err := b.Build(Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "d5e1dc06a4d9b4d9bf34ada1083f25e869e5c3657b87194743c3c9e41a8246e4"
	if got := built.Definition.Digest().Hex(); got != want {
		t.Errorf("hash is %s, want %s", got, want)
	}
}

func invoke(t *testing.T, h Handler, state string, input string) NodeResult {
	t.Helper()
	v, err := artifact.ParseValue([]byte(state))
	if err != nil {
		t.Fatal(err)
	}
	in := Invocation{Node: "n", Visit: 1, Attempt: 1, Revision: 7, State: v}
	if input != "" {
		answer, err := artifact.ParseValue([]byte(input))
		if err != nil {
			t.Fatal(err)
		}
		in.Input = artifact.Some(answer)
	}
	r, err := h(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func encoded(t *testing.T, r NodeResult) string {
	t.Helper()
	data, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestTypedHandlers(t *testing.T) {
	built, err := counter()
	if err != nil {
		t.Fatal(err)
	}
	got := encoded(t, invoke(t, built.Handlers["increment"], `{"count":41}`, ""))
	want := `{"outcome":{"Continue":{"patch":{"base_revision":7,"operations":{"/count":{"Set":42}}}}},"tokens":0,"cost_micros":0}`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got = encoded(t, invoke(t, built.Handlers["done"], `{"count":42}`, ""))
	if want = `{"outcome":{"Terminate":{"result":42,"patch":null}},"tokens":0,"cost_micros":0}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	v, _ := artifact.ParseValue([]byte(`{"count":"x"}`))
	if _, err := built.Handlers["done"](t.Context(), Invocation{Node: "done", State: v}); err == nil || !strings.Contains(err.Error(), "read /count") {
		t.Errorf("error %v", err)
	}
}

type reviewView struct {
	Draft  Read[string]      `path:"/draft"`
	Notes  ReadWrite[string] `path:"/notes"`
	Old    Write[any]        `path:"/old"`
	Answer Input[struct{ Approved bool }]
}

var rework = NewRoute[reviewView]("rework")

func review(_ context.Context, v *View[reviewView]) (Exit[reviewView], error) {
	v.Charge(3, 4)
	answer, ok := v.State.Answer.Get()
	switch {
	case v.State.Draft.Get() == "":
		return v.Fail(ClassUnavailable, "no draft"), nil
	case !ok:
		v.State.Notes.Set("asked")
		return v.Suspend("review"), nil
	case answer.Approved:
		v.State.Old.Remove()
		return v.Continue(), nil
	}
	return v.Take(rework), nil
}

func TestTypedHandlersSuspendRouteAndFail(t *testing.T) {
	b := NewBuilder("g", "s")
	n := AddNode(b, "review", review)
	end := AddNode(b, "end", finish).Terminal()
	n.Next(end).On(rework, n)
	b.Cycle(3, n)
	built, err := b.Build(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if limit, ok := built.Compiled.CycleLimit("review"); !ok || limit != 3 {
		t.Errorf("cycle limit %d, %v", limit, ok)
	}
	h := built.Handlers["review"]
	for _, c := range []struct{ state, input, want string }{
		{`{"draft":"d"}`, "", `{"outcome":{"Suspend":{"reason":"review","patch":{"base_revision":7,"operations":{"/notes":{"Set":"asked"}}}}},"tokens":3,"cost_micros":4}`},
		{`{"draft":"d"}`, `{"Approved":false}`, `{"outcome":{"Route":{"route":"rework","patch":null}},"tokens":3,"cost_micros":4}`},
		{`{"draft":"d"}`, `{"Approved":true}`, `{"outcome":{"Continue":{"patch":{"base_revision":7,"operations":{"/old":"Remove"}}}},"tokens":3,"cost_micros":4}`},
		{`{}`, "", `{"outcome":{"Fail":{"error":"no draft","retryable":true}},"tokens":3,"cost_micros":4}`},
	} {
		if got := encoded(t, invoke(t, h, c.state, c.input)); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.state, c.input, got, c.want)
		}
	}
}

func TestBuilderKeepsErrors(t *testing.T) {
	b := NewBuilder("g", "s")
	type bad struct {
		Count Read[int] `path:"count"`
	}
	AddNode(b, "a", func(_ context.Context, v *View[bad]) (Exit[bad], error) { return v.Continue(), nil })
	AddNode(b, "b", func(_ context.Context, v *View[struct{ N int }]) (Exit[struct{ N int }], error) {
		return v.Continue(), nil
	})
	AddNode(b, "c", func(_ context.Context, v *View[int]) (Exit[int], error) { return v.Continue(), nil })
	_, err := b.Build(Options{})
	for _, want := range []string{`node a: field Count of view`, `node b: field N of view`, `node c: view int is not a struct`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
}

func TestNewHandler(t *testing.T) {
	h, reads, writes, err := NewHandler(review)
	if err != nil || strings.Join(reads, " ") != "/draft /notes" || strings.Join(writes, " ") != "/notes /old" {
		t.Fatalf("reads %v, writes %v, error %v", reads, writes, err)
	}
	if r := invoke(t, h, `{"draft":""}`, ""); r.Outcome.Kind != Fail || r.Outcome.Class != ClassUnavailable {
		t.Errorf("outcome %+v", r.Outcome)
	}
	if _, _, _, err := NewHandler(func(context.Context, *View[int]) (Exit[int], error) { return Exit[int]{}, nil }); err == nil {
		t.Error("a view that is no struct is accepted")
	}
}
