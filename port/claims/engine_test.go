package claims_test

import (
	"context"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/expr/cel"
	"github.com/writ-dev/writ/graph"
	contract "github.com/writ-dev/writ/model"
	"github.com/writ-dev/writ/model/modeltest"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/port/claims"
	"github.com/writ-dev/writ/port/fn"
	"github.com/writ-dev/writ/port/model"
	"github.com/writ-dev/writ/schema/jsonschema"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/memory"
)

const refundGraph = `
version: 2
id: refund
state: {/order: string, /terms: string?, /verdict: string?, /claim: string?}
entry: lookup
limits: {max_steps: 20, max_tokens: 10000, max_cost_micros: 10000, timeout: 10m}
nodes:
  lookup: {tool: lookup, reads: [/order], args: {order: =state.order}, set: {/terms: =result.terms}, next: answer}
  answer:
    model: fast
    reads: [/terms]
    args: {prompt: Refund or not?, max_output_tokens: 50, documents: [{id: terms, text: =state.terms}]}
    set: {/verdict: =result.text}
    next: publish
  publish:
    tool: verdicts
    reads: [/verdict]
    args: {action: commit, operation: {verdict: =state.verdict}, justification: the model was asked}
    set: {/claim: =result.claim}
    next: done
    routes: {denied: refused}
  done: {end: =state.claim, reads: [/claim]}
  refused: {end: refused}
`

const refundPack = `
version: 2
id: tests
limits: {tokens: 1000, cost_micros: {USD: 1000}}
tools: {lookup: {}}
models: {fast: {max_output_tokens: 100}}
claims: {verdicts: {actions: [commit], approval: {quorum: 2, minimum_method: token}}}
approvals: {minimum_method: token}
`

type bench struct {
	engine     *engine.Engine
	definition *engine.Definition
	claims     *claims.Store
	model      *modeltest.Provider
}

func newBench(t *testing.T, pack string) *bench {
	t.Helper()
	b := &bench{claims: claims.NewMemory("verdicts", claims.StoreOptions{}), model: modeltest.New()}
	b.model.Answer = func(contract.Request) modeltest.Reply { return modeltest.Reply{Text: "refund"} }
	type terms struct {
		Terms string `json:"terms"`
	}
	functions, err := fn.New(fn.Func("lookup", func(_ context.Context, o struct {
		Order string `json:"order"`
	}) (terms, error) {
		return terms{"Refunds for " + o.Order + " within ten days."}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	models, err := model.New(map[string]model.Model{"fast": {Provider: b.model, ID: "vendor-1", Price: contract.Price{Input: 1_000_000, Output: 1_000_000}}})
	if err != nil {
		t.Fatal(err)
	}
	graphs, err := claims.New(map[string]claims.Config{"verdicts": {Graph: b.claims}}, claims.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tools := functions.Tools()
	for _, more := range []map[string]engine.Tool{models.Tools(), graphs.Tools()} {
		for name, tool := range more {
			tools[name] = tool
		}
	}
	compiled, findings, err := graph.Compile([]byte(refundGraph), "graph.yaml", graph.Options{Expr: cel.Compiler{}})
	if err != nil {
		t.Fatalf("%v %v", err, findings)
	}
	read, err := policy.ReadPack([]byte(pack), "pack.yaml")
	if err != nil {
		t.Fatal(err)
	}
	allowed, _, err := policy.Compile(read, policy.Options{Conditions: cel.Compiler{}, Schemas: jsonschema.Compiler{}})
	if err != nil {
		t.Fatal(err)
	}
	if b.definition, err = engine.Define(engine.Definition{Graph: compiled, Policy: allowed, Tools: tools}); err != nil {
		t.Fatal(err)
	}
	b.engine, err = engine.New(engine.Config{
		Store: memory.New(nil), Definitions: []*engine.Definition{b.definition},
		Ports: map[string]engine.Port{fn.Name: functions, model.Name: models, claims.Name: graphs},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) start(t *testing.T) engine.Report {
	t.Helper()
	r, err := b.engine.Start(t.Context(), engine.Request{
		Exec: "run-1", Definition: b.definition, State: artifact.ObjectValue(artifact.Member{Name: "order", Value: artifact.StringValue("7")}), By: "ann",
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (b *bench) committed(t *testing.T) string {
	t.Helper()
	v, err := b.claims.Read(t.Context(), artifact.ObjectValue())
	if err != nil {
		t.Fatal(err)
	}
	list, _ := v.Get("claims")
	return list.String()
}

// TestRun has an engine drive a function, a model and a claim graph under one pack.
// The change is committed when two people have approved its exact bytes.
func TestRun(t *testing.T) {
	b := newBench(t, refundPack)
	r := b.start(t)
	if r.Status != store.Suspended || len(r.Proposals) != 1 || b.committed(t) != "[]" {
		t.Fatalf("%s, %s, %+v, %s", r.Status, r.Error, r.Proposals, b.committed(t))
	}
	if asked := b.model.Requests()[0]; asked.Documents[0].Text != "Refunds for 7 within ten days." || asked.System != "" {
		t.Errorf("%+v", asked)
	}
	proposal := r.Proposals[0].Digest
	shown, err := b.engine.Shown(t.Context(), proposal)
	if err != nil || !strings.Contains(string(shown), `"operation":{"verdict":"refund"}`) {
		t.Errorf("shown %s, %v", shown, err)
	}
	tokens := r.Issued[0].Tokens
	for i, name := range []string{"bob", "carol"} {
		r, err = b.engine.Decide(t.Context(), "run-1", engine.Decision{Proposal: proposal, Approve: true, Token: tokens[i], Approver: name})
		if err != nil {
			t.Fatal(err)
		}
	}
	if r.Status != store.Terminated {
		t.Fatalf("%s", r.Status)
	}
	if got := b.committed(t); !strings.Contains(got, `"operation":{"verdict":"refund"}`) || !strings.Contains(got, `"approved_by":[{"kind":"run"`) {
		t.Error(got)
	}
	verdict, err := b.engine.Replay(t.Context(), "run-1", engine.ReplayOptions{})
	if err != nil || verdict.Divergence != nil || len(b.model.Requests()) != 1 {
		t.Errorf("%+v, %v, %d requests", verdict, err, len(b.model.Requests()))
	}
	if r.Used.Tokens == 0 || r.Used.Tokens != r.Used.Cost["USD"] {
		t.Errorf("used %+v", r.Used)
	}
}

// TestNothingGranted never reaches a port.
func TestNothingGranted(t *testing.T) {
	for _, pack := range []string{"version: 2\nid: tests\n", strings.Replace(refundPack, "tools: {lookup: {}}", "tools: {}", 1)} {
		b := newBench(t, pack)
		if r := b.start(t); r.Status != store.Failed || len(b.model.Requests()) != 0 {
			t.Errorf("%s, %d requests", r.Status, len(b.model.Requests()))
		}
	}
	b := newBench(t, strings.Replace(refundPack, "actions: [commit]", "actions: [read]", 1))
	if r := b.start(t); r.Status != store.Terminated || b.committed(t) != "[]" || len(b.model.Requests()) != 1 {
		t.Errorf("%s, %s, %s", r.Status, r.Error, b.committed(t))
	}
}
