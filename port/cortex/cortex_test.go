package cortex

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/policy"
)

var memory = NewMemory(
	Document{"refunds", "docs/refunds.md", "A refund is paid within ten days."},
	Document{"returns", "docs/returns.md", "Returns are free. A refund follows a return."},
	Document{"hours", "docs/hours.md", "We are open from nine to five."},
	Document{"again", "docs/again.md", "A refund is paid within ten days."},
)

func effect(t *testing.T, kind policy.Kind, name, args string) engine.Effect {
	t.Helper()
	v, err := artifact.ParseValue([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	return engine.Effect{Name: name, Kind: kind, Args: v, Permit: policy.Permit{Kind: kind, Name: name}}
}

func do(t *testing.T, p engine.Port, e engine.Effect) engine.Outcome {
	t.Helper()
	o, err := p.Do(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func expectFailure(t *testing.T, o engine.Outcome, class, part string) {
	t.Helper()
	if !o.Failed || o.Class != class || !strings.Contains(o.Error, part) {
		t.Errorf("%+v, want class %s and %q", o, class, part)
	}
}

func TestRetrieval(t *testing.T) {
	p := NewRetrieval(map[string]Retriever{"handbook": memory})
	for args, want := range map[string]string{
		`{"text":"refund paid"}`:           "again 1000000,refunds 1000000,returns 500000",
		`{"text":"refund paid","limit":1}`: "again 1000000",
		`{"text":"Refund REFUND"}`:         "again 1000000,refunds 1000000,returns 1000000",
		`{"text":"zebra"}`:                 "",
		`{"text":""}`:                      "",
	} {
		o := do(t, p, effect(t, policy.KindRetrieve, "handbook", args))
		var got []string
		list, _ := o.Result.Get("evidence")
		for _, e := range list.Elements() {
			from, _ := e.Get("provenance")
			id, _ := from.Get("source_id")
			score, _ := e.Get("score_micros")
			got = append(got, id.Text()+" "+score.String())
		}
		if o.Failed || strings.Join(got, ",") != want || o.Usage.Calls != 1 {
			t.Errorf("%s: %s, want %s, %+v", args, got, want, o)
		}
	}
	for args, part := range map[string]string{
		`{}`: "text", `{"text":1}`: "1 is not a string", `{"text":"a","limit":0}`: "from 1 to 1000", `{"text":"a","limit":1001}`: "from 1 to 1000", `{"text":"a","k":1}`: "k",
	} {
		expectFailure(t, do(t, p, effect(t, policy.KindRetrieve, "handbook", args)), "invalid", part)
		call := policy.Call{Args: effect(t, policy.KindRetrieve, "handbook", args).Args}
		if _, err := p.Tools()["handbook"].Shape(call); err == nil {
			t.Errorf("%s passes", args)
		}
	}
	expectFailure(t, do(t, p, effect(t, policy.KindRetrieve, "other", `{"text":"a"}`)), "invalid", "there is no retriever other")
	expectFailure(t, do(t, p, effect(t, policy.KindTool, "handbook", `{"text":"a"}`)), "invalid", "has no permit")
	small := effect(t, policy.KindRetrieve, "handbook", `{"text":"refund"}`)
	small.Permit.OutputBytes = 100
	expectFailure(t, do(t, p, small), "invalid", "bytes, of at most 100")
	if tool := p.Tools()["handbook"]; tool.Port != RetrievalName || tool.Kind != policy.KindRetrieve || !p.Idempotent(engine.Effect{}) {
		t.Errorf("%+v", tool)
	}
}

func TestCortex(t *testing.T) {
	p := New(memory)
	o := do(t, p, effect(t, policy.KindCortex, "context", `{"text":"open"}`))
	if o.Failed || o.Result.String() != `{"texts":["We are open from nine to five."]}` {
		t.Errorf("%+v", o)
	}
	if o = do(t, p, effect(t, policy.KindCortex, "query", `{"text":"open"}`)); o.Failed || !strings.Contains(o.Result.String(), `"locator":"docs/hours.md"`) {
		t.Errorf("%+v", o)
	}
	for _, name := range []string{"query", "context"} {
		expectFailure(t, do(t, p, effect(t, policy.KindCortex, name, `{}`)), "invalid", "text")
	}
	expectFailure(t, do(t, p, effect(t, policy.KindCortex, "delete", `{}`)), "invalid", "and not delete")
	expectFailure(t, do(t, p, effect(t, policy.KindTool, "query", `{}`)), "invalid", "has no permit")
	if tools := p.Tools(); len(tools) != 2 || tools["query"].Kind != policy.KindCortex || !p.Idempotent(engine.Effect{}) || Taint != policy.FromKnowledge {
		t.Errorf("%+v", tools)
	}
}

// scripted answers with what a test says.
type scripted struct {
	result policy.RetrievalResultV1
	err    error
	ctx    func(context.Context) error
}

func (s scripted) Retrieve(ctx context.Context, _ policy.RetrievalQueryV1) (policy.RetrievalResultV1, error) {
	if s.ctx != nil {
		return s.result, s.ctx(ctx)
	}
	return s.result, s.err
}

func TestAnswersAreChecked(t *testing.T) {
	piece := func(score uint32, source string) policy.EvidenceV1 {
		return policy.EvidenceV1{Content: artifact.StringValue("x"), ScoreMicros: score, SourceID: source}
	}
	for part, evidence := range map[string][]policy.EvidenceV1{
		"3 pieces of evidence, of at most 2": {piece(3, "a"), piece(2, "b"), piece(1, "c")},
		"evidence 1 has a score above":       {piece(1_000_001, "a")},
		"evidence 2 is better than":          {piece(1, "a"), piece(2, "b")},
		"evidence 1 has no source":           {piece(1, "")},
	} {
		p := NewRetrieval(map[string]Retriever{"r": scripted{result: policy.RetrievalResultV1{Evidence: evidence}}})
		expectFailure(t, do(t, p, effect(t, policy.KindRetrieve, "r", `{"text":"x","limit":2}`)), "invalid", part)
	}
	for class, err := range map[string]error{"unavailable": &Error{"unavailable", "down"}, "internal": errors.New("odd")} {
		p := NewRetrieval(map[string]Retriever{"r": scripted{err: err}})
		o := do(t, p, effect(t, policy.KindRetrieve, "r", `{"text":"x"}`))
		expectFailure(t, o, class, err.Error())
		if o.Retryable != (class == "unavailable") {
			t.Errorf("%+v", o)
		}
	}
}

func TestContextEnds(t *testing.T) {
	waits := scripted{ctx: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
	p := NewRetrieval(map[string]Retriever{"r": waits})
	e := effect(t, policy.KindRetrieve, "r", `{"text":"x"}`)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan engine.Outcome, 1)
	go func() {
		o, _ := p.Do(ctx, e)
		done <- o
	}()
	cancel()
	expectFailure(t, <-done, "cancelled", "ended with the run")
	e.Permit.TimeoutMS = 1
	expectFailure(t, do(t, p, e), "timeout", "no answer before the deadline")
}
