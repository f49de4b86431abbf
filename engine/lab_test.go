package engine

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/expr/cel"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/schema/jsonschema"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/memory"
)

// packText grants what the tests use.
const packText = `
version: 2
id: tests
capabilities: {write: bound}
limits: {tokens: 100000, cost_micros: {USD: 100000}}
tools:
  count: {}
  flaky: {}
  slow: {}
  pay: {approval: {quorum: 1, minimum_method: token}}
models: {fast: {}}
retrieve: {docs: {}}
handoffs: {child: {}}
events: {paid: {}, shipped: {}}
approvals: {minimum_method: token}
`

// define compiles a version 2 graph and a pack.
func define(t testing.TB, graphText, pack string, d Definition) *Definition {
	t.Helper()
	compiled, findings, err := graph.Compile([]byte(graphText), "graph.yaml", graph.Options{Expr: cel.Compiler{}})
	if err != nil {
		t.Fatalf("%v %v", err, findings)
	}
	p, err := policy.ReadPack([]byte(pack), "pack.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d.Policy, _, err = policy.Compile(p, policy.Options{Conditions: cel.Compiler{}, Schemas: jsonschema.Compiler{}})
	if err != nil {
		t.Fatal(err)
	}
	d.Graph = compiled
	def, err := Define(d)
	if err != nil {
		t.Fatal(err)
	}
	return def
}

func graphText(state, nodes string) string {
	return "version: 2\nid: g\nstate: " + state + "\nentry: a\n" +
		"limits: {max_steps: 100, max_tokens: 10000, max_cost_micros: 10000, timeout: 10m}\nnodes:\n  " +
		strings.ReplaceAll(strings.TrimSpace(nodes), "\n", "\n  ") + "\n"
}

func value(text string) artifact.Value {
	v, err := artifact.ParseValue([]byte(text))
	if err != nil {
		panic(err)
	}
	return v
}

// lab is an engine over a store in memory.
type lab struct {
	t     testing.TB
	store store.Store
	e     *Engine
	ports map[string]Port
	owner int
}

func newLab(t testing.TB, ports map[string]Port, defs ...*Definition) *lab {
	l := &lab{t: t, store: memory.New(nil), ports: ports}
	l.restart(defs...)
	return l
}

// restart is a new process on the same store.
func (l *lab) restart(defs ...*Definition) {
	l.t.Helper()
	l.owner++
	e, err := New(Config{Store: l.store, Ports: l.ports, Definitions: defs, Owner: fmt.Sprint("worker-", l.owner)})
	if err != nil {
		l.t.Fatal(err)
	}
	l.e = e
}

func (l *lab) start(d *Definition, exec, state string) Report {
	l.t.Helper()
	r, err := l.e.Start(l.t.Context(), Request{Exec: exec, Definition: d, State: value(state), By: "ann", Owner: "team"})
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

// events gives a log, which must verify.
func (l *lab) events(exec string) []event.Event {
	l.t.Helper()
	l.t.Helper()
	v, err := l.e.Replay(context.Background(), exec, ReplayOptions{})
	if err != nil || v.Divergence != nil {
		l.t.Errorf("replay of %s: %v, %v", exec, err, v.Divergence)
	}
	l.t.Logf("replay of %s: %d events, %d unverifiable", exec, v.Events, len(v.Unverifiable))
	return logOf(l.t, l.store, exec)
}

func logOf(t testing.TB, st store.Store, exec string) []event.Event {
	t.Helper()
	records := st.Events(context.Background(), exec, 1)
	report, err := event.Verify(event.Bytes(records), event.VerifyOptions{Exec: exec})
	if err != nil || !report.Intact {
		t.Fatalf("log of %s: %v, %s", exec, err, report.Verdict())
	}
	var events []event.Event
	for r := range must(t, records) {
		e, err := r.Decode()
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

func must[T any](t testing.TB, seq iter.Seq2[T, error]) iter.Seq[T] {
	return func(yield func(T) bool) {
		for v, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			if !yield(v) {
				return
			}
		}
	}
}

// types gives the types of events, without checkpoints.
func types(events []event.Event) string {
	var list []string
	for _, e := range events {
		if e.Type != event.TypeCheckpointed {
			list = append(list, string(e.Type))
		}
	}
	return strings.Join(list, " ")
}

func count(events []event.Event, typ event.Type) int {
	n := 0
	for _, e := range events {
		if e.Type == typ {
			n++
		}
	}
	return n
}

// counter is a port that counts what it does, by key.
type counter struct {
	mu         sync.Mutex
	seen       map[string]int
	outcomes   map[string]Outcome
	total      int
	idempotent bool
	do         func(ctx context.Context, e Effect, n int) (Outcome, error)
}

func (c *counter) Do(ctx context.Context, e Effect) (Outcome, error) {
	c.mu.Lock()
	if c.seen == nil {
		c.seen, c.outcomes = map[string]int{}, map[string]Outcome{}
	}
	c.seen[e.Key]++
	if o, ok := c.outcomes[e.Key]; ok && c.idempotent {
		c.mu.Unlock()
		return o, nil
	}
	c.total++
	n := c.total
	c.mu.Unlock()
	o := Outcome{Result: artifact.ObjectValue(member("n", artifact.UintValue(uint64(n))))}
	var err error
	if c.do != nil {
		o, err = c.do(ctx, e, n)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.outcomes[e.Key] = o
	}
	return o, err
}

func (c *counter) Idempotent(Effect) bool { return c.idempotent }

func (c *counter) keys() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen)
}

func (c *counter) effects() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// wants compares with a message.
func wants(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s: got %s\nwant %s", what, g, w)
	}
}

func add(path string) graph.Handler {
	return func(_ context.Context, in graph.Invocation) (graph.NodeResult, error) {
		n := uint64(0)
		if v, ok := graph.Lookup(in.State, path); ok {
			n, _ = v.Uint()
		}
		patch := &graph.Patch{BaseRevision: in.Revision, Operations: map[string]graph.Operation{path: graph.Set(artifact.UintValue(n + 1))}}
		return graph.NodeResult{Outcome: graph.Outcome{Kind: graph.Continue, Patch: patch}, Tokens: 1}, nil
	}
}

// editing is a store in which somebody has edited checkpoints.
type editing struct {
	store.Store
	from, to string
}

func (s editing) Checkpoint(ctx context.Context, exec string, seq uint64) ([]byte, error) {
	data, err := s.Store.Checkpoint(ctx, exec, seq)
	return bytes.Replace(data, []byte(s.from), []byte(s.to), 1), err
}
