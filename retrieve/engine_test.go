package retrieve

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/expr/cel"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/planner"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/schema/jsonschema"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/memory"
)

const find = `version: 2
id: g
state: {/task: string, /found: object?, /why: string?}
entry: find
limits: {max_steps: 10, timeout: 10m}
nodes:
  find:
    retrieve: handbook
    reads: [/task]
    args: {task: =state.task}
    set: {/found: =result}
    next: done
    routes: {denied: no, failed: broken}
  done: {end: "=state.found.documents.map(d, d.text)", reads: [/found]}
  no: {end: denied}
  broken: {end: failed}
`

// counted counts how often a port is asked.
type counted struct {
	*Port
	calls int
}

func (c *counted) Do(ctx context.Context, e engine.Effect) (engine.Outcome, error) {
	c.calls++
	return c.Port.Do(ctx, e)
}

// lab is an engine over a store in memory whose runs retrieve.
type lab struct {
	t     testing.TB
	e     *engine.Engine
	store store.Store
	def   *engine.Definition
	port  *counted
}

func newLab(t testing.TB, s Source, pack string) *lab {
	t.Helper()
	compiled, findings, err := graph.Compile([]byte(find), "graph.yaml", graph.Options{Expr: cel.Compiler{}})
	if err != nil {
		t.Fatal(err, findings)
	}
	doc, err := policy.ReadPack([]byte("version: 2\nid: test\n"+pack), "pack.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := policy.Compile(doc, policy.Options{Conditions: cel.Compiler{}, Schemas: jsonschema.New()})
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, port: &counted{Port: port(t, s)}, store: memory.New(nil)}
	if l.def, err = engine.Define(engine.Definition{Graph: compiled, Policy: p, Tools: l.port.Tools()}); err != nil {
		t.Fatal(err)
	}
	l.e, err = engine.New(engine.Config{Store: l.store, Ports: map[string]engine.Port{Name: l.port}, Definitions: []*engine.Definition{l.def}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *lab) run(task string) engine.Report {
	l.t.Helper()
	state := artifact.ObjectValue(artifact.Member{Name: "task", Value: artifact.StringValue(task)})
	r, err := l.e.Start(context.Background(), engine.Request{Exec: "run", Definition: l.def, State: state, By: "ann"})
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

func (l *lab) replay() engine.Verdict {
	l.t.Helper()
	v, err := l.e.Replay(context.Background(), "run", engine.ReplayOptions{Mode: engine.MockedEffects})
	if err != nil {
		l.t.Fatal(err)
	}
	return v
}

// recorded gives every byte that the store has of the run: events and blobs.
func (l *lab) recorded() []byte {
	l.t.Helper()
	var all []byte
	for r, err := range l.store.Events(context.Background(), "run", 1) {
		if err != nil {
			l.t.Fatal(err)
		}
		all = append(all, r.Bytes...)
		e, err := r.Decode()
		if err != nil {
			l.t.Fatal(err)
		}
		if settled, ok := e.Body.(*event.EffectSettled); ok {
			if blob, err := l.store.Blob(context.Background(), settled.Result.Digest); err == nil {
				data, err := io.ReadAll(blob)
				if err != nil {
					l.t.Fatal(err)
				}
				all = append(all, data...)
			}
		}
	}
	return all
}

func (l *lab) denial() *event.EffectDenied {
	for r := range l.store.Events(context.Background(), "run", 1) {
		if e, err := r.Decode(); err == nil {
			if d, ok := e.Body.(*event.EffectDenied); ok {
				return d
			}
		}
	}
	return &event.EffectDenied{}
}

const granted = "retrieve: {handbook: {manifests: [knowledge.yaml]}}\n"

// TestPolicyDecides: the port is not asked unless the pack grants the source, its
// manifest and what the retrieval may use.
func TestPolicyDecides(t *testing.T) {
	s := below(tree(t, pages))
	paying := s
	paying.Plan.Capabilities.PaymentMethods, paying.Plan.Budget = []string{"free", "x402"}, &planner.Budget{Amount: 0.3}
	placed := s
	placed.Capability, placed.Namespace = "reading", "docs"
	for _, c := range []struct {
		name, pack, code, rule string
		source                 Source
	}{
		{"empty pack", "", "capability_unavailable", "pack test", s},
		{"other source", "retrieve: {book: {}}\n", "effect_not_allowed", "pack test", s},
		{"no manifest", "retrieve: {handbook: {}}\n", "argument_denied", "retrieve.handbook.manifests", s},
		{"other manifest", "retrieve: {handbook: {manifests: [other.yaml]}}\n", "argument_denied", "retrieve.handbook.manifests", s},
		{"granted", granted, "", "", s},
		{"too many units", "retrieve: {handbook: {manifests: [knowledge.yaml], per_call: {units: 4}}}\n", "call_too_large", "per_call.units", s},
		{"no more units", "limits: {units: 4}\n" + granted, "budget_exhausted", "limits.units", s},
		{"no money", granted, "budget_exhausted", "cost_micros.USDC", paying},
		{"too little money", "limits: {cost_micros: {USDC: 299999, USD: 1000000}}\n" + granted, "budget_exhausted", "cost_micros.USDC", paying},
		{"money", "limits: {cost_micros: {USDC: 300000}}\n" + granted, "", "", paying},
		{"condition", "retrieve: {handbook: {manifests: [knowledge.yaml], when: [\"size(args.task) < 5\"]}}\n", "condition_denied", "handbook.when", s},
		{"no namespace", "capabilities: {reading: x}\n" + granted, "capability_unavailable", "pack test", placed},
		{"no capability", "namespaces: {docs: read}\n" + granted, "capability_unavailable", "pack test", placed},
		{"both", "capabilities: {reading: x}\nnamespaces: {docs: read}\n" + granted, "", "", placed},
	} {
		l := newLab(t, c.source, c.pack)
		r := l.run("install the server")
		d := l.denial()
		if d.Code != c.code || !strings.Contains(d.Rule, c.rule) || (l.port.calls == 0) != (c.code != "") || (r.Result.Text() == "denied") != (c.code != "") {
			t.Errorf("%s: %s by %s, %d calls, %s", c.name, d.Code, d.Rule, l.port.calls, r.Result)
		}
	}
}

// TestMoneyIsSettled: what was reserved and not spent is given back.
func TestMoneyIsSettled(t *testing.T) {
	s := below(tree(t, pages))
	s.Plan.Capabilities.PaymentMethods, s.Plan.Budget = []string{"free", "x402"}, &planner.Budget{Amount: 0.4}
	l := newLab(t, s, "limits: {cost_micros: {USDC: 500000}, units: 20}\n"+granted)
	r := l.run("install the server")
	if r.Status != store.Terminated || r.Used.Cost["USDC"] != 250_000 || r.Used.Units != 3 || r.Used.Calls != 1 {
		t.Errorf("%+v", r.Used)
	}
}

// TestReplayReadsNothing: a run is worked out again when the files are gone; where
// the pack does not keep the result, the replay says that it could not be.
func TestReplayReadsNothing(t *testing.T) {
	for pack, complete := range map[string]bool{granted + "blobs: {effect: 30d}\n": true, granted: false} {
		dir := tree(t, pages)
		l := newLab(t, below(dir), pack)
		r := l.run("install the server")
		if r.Result.String() != `["Run the image.","Write one file."]` {
			t.Fatalf("%s %s", r.Result, r.Error)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		calls := l.port.calls
		v := l.replay()
		if v.Divergence != nil || v.Faithful() != complete || !v.Ended || l.port.calls != calls {
			t.Errorf("%s: %+v", pack, v)
		}
		if !complete && (len(v.Unverifiable) != 1 || !strings.Contains(v.Unverifiable[0].Reason, "not kept")) {
			t.Errorf("%+v", v.Unverifiable)
		}
	}
}

// TestRestrictedStaysOut: no byte of a restricted unit is in a store whose pack does
// not keep that class. One that does keeps it under a salted digest, and the run is
// still worked out again.
func TestRestrictedStaysOut(t *testing.T) {
	const planted = "planted-8c1f20aa"
	for pack, kept := range map[string]bool{
		granted: false, granted + "blobs: {effect: forever, authenticated: forever}\n": false, granted + "redact: [args:/none]\n": false,
		granted + "blobs: {restricted: 1d}\n": true,
	} {
		dir := tree(t, with(map[string]string{"secret.md": planted}))
		s := below(dir)
		s.Plan.Capabilities.Credentials = []string{"key"}
		l := newLab(t, s, pack)
		r := l.run("server hardened")
		if found := bytes.Contains(l.recorded(), []byte(planted)); r.Status != store.Terminated || found != kept || strings.Contains(r.Result.String(), planted) != kept {
			t.Errorf("%s: in the record: %v, %s", pack, found, r.Result)
		}
		if !kept {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if v := l.replay(); !v.Faithful() {
			t.Errorf("%+v", v)
		}
		for rec := range l.store.Events(t.Context(), "run", 1) {
			e, err := rec.Decode()
			if err != nil {
				t.Fatal(err)
			}
			if settled, ok := e.Body.(*event.EffectSettled); ok && (settled.Result.Access != event.AccessRestricted || settled.Result.Salt.IsZero()) {
				t.Errorf("%+v", settled.Result)
			}
		}
	}
}

// TestKnowledgeChanges: a plan is made when the node asks, and its result says of
// which bytes.
func TestKnowledgeChanges(t *testing.T) {
	dir := tree(t, pages)
	p := port(t, below(dir))
	before := read(t, do(t, p, effect(t, task)))
	if err := os.WriteFile(filepath.Join(dir, "start", "install.md"), []byte("Run the other image."), 0o600); err != nil {
		t.Fatal(err)
	}
	page := read(t, do(t, p, effect(t, task)))
	if page.Manifest.SHA256 != before.Manifest.SHA256 || page.Plan.Digest != before.Plan.Digest || page.Documents[0].SHA256 == before.Documents[0].SHA256 {
		t.Errorf("%+v", page)
	}
	if err := os.WriteFile(filepath.Join(dir, "knowledge.yaml"), []byte(handbook+"# more\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	manifest := read(t, do(t, p, effect(t, task)))
	if manifest.Manifest.SHA256 == before.Manifest.SHA256 || manifest.Plan.Digest == before.Plan.Digest {
		t.Errorf("%+v", manifest)
	}
}

// TestFailureIsARoute: a manifest that is gone is a failed outcome with a class,
// which the graph may route by and a retry policy may repeat.
func TestFailureIsARoute(t *testing.T) {
	dir := tree(t, pages)
	l := newLab(t, below(dir), granted)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if r := l.run("install the server"); r.Result.Text() != "failed" || l.port.calls != 1 {
		t.Errorf("%s, %d calls", r.Result, l.port.calls)
	}
}

// TestVersion1Packs grant retrieval by a capability, and bound it by a namespace.
func TestVersion1Packs(t *testing.T) {
	doc, err := policy.ReadPack([]byte(`{"version":1,"id":"a","metadata":{"name":"A","description":"d"},"agents":{},"tools":[],"namespaces":["docs"],
		"argument_constraints":{},"budget":{"max_calls":9,"max_units":9,"max_duration_ms":900000},"capability_bindings":{"retrieval.query":"h"}}`), "pack.knolo.json")
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := policy.Compile(doc, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for namespace, permitted := range map[string]bool{"docs": true, "": false, "other": false} {
		s := below(tree(t, pages))
		s.Namespace = namespace
		tool := port(t, s).Tools()["handbook"]
		call, err := tool.Shape(policy.Call{Kind: tool.Kind, Name: "handbook", Namespace: tool.Namespace, Args: value(t, task)})
		if err != nil {
			t.Fatal(err)
		}
		if _, d := p.Authorize(call, nil); (d == nil) != permitted {
			t.Errorf("%q: %v", namespace, d)
		}
	}
}

// TestNumbers: a bound that is not set bounds nothing.
func TestNumbers(t *testing.T) {
	s := below(tree(t, pages))
	s.Plan.MaxUnits = kcp.Number{Value: 1 << 40, Set: true}
	q, err := port(t, s).sources["handbook"].question(value(t, `{"task":"a","max_units":4000000000,"context_budget":9000}`))
	if err != nil || q.plan.MaxUnits.Value != 4e9 || q.plan.ContextBudget.Value != 9000 {
		t.Errorf("%+v, %v", q, err)
	}
}
