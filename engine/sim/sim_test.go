package sim

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/expr/cel"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/schema/jsonschema"
)

var seeds = flag.Int("seeds", 100, "how many seeds each scenario is run under")

const pack = `
version: 2
id: sim
limits: {tokens: 100000, cost_micros: {USD: 100000}}
tools: {count: {}, pay: {approval: {quorum: 2, minimum_method: token}}}
events: {paid: {}}
approvals: {minimum_method: token}
blobs: {effect: forever}
`

// scenarios together have every kind of node that waits for the world.
var scenarios = map[string]struct {
	graph string
	sig   []engine.Signal
}{
	"chain": {graph: `
a: {tool: count, reads: [/n], args: {n: =state.n}, reserve: {tokens: 50}, set: {/n: =result.n}, next: b, retry: RETRY}
b: {handler: add, reads: [/n], writes: [/n], next: c}
c: {tool: count, reads: [/n], args: {n: =state.n}, set: {/n: =result.n}, cases: [{when: state.n < 40, to: a}], next: d, retry: RETRY, max_visits: 9}
d: {end: =state.n, reads: [/n]}
`},
	"people and events": {graph: `
a: {approve: publish, reads: [/n], show: {n: =state.n}, quorum: 2, answer: {/ok: bool}, set: {/ok: =result.ok}, next: b}
b: {wait: {event: paid}, set: {/who: =result.by}, next: p}
p: {tool: pay, reads: [/n], args: {n: =state.n}, set: {/n: =result.n}, next: w, retry: RETRY}
w: {wait: {for: 1h}, set: {/later: true}, next: q}
q: {handler: ask, reads: [/n], writes: [/n], next: d}
d: {end: {n: =state.n, ok: =state.ok, who: =state.who}, reads: [/n, /ok, /who]}
`, sig: []engine.Signal{{Name: "paid", ID: "e1", Payload: val(`{"by":"card"}`), By: "shop"}}},
	"parallel": {graph: `
a: {fork: [x, y, z]}
x: {tool: count, args: {n: 1}, set: {/x: =result.n}, next: x2, retry: RETRY}
x2: {handler: addx, reads: [/x], writes: [/x], next: m}
y: {approve: publish, show: {y: 1}, answer: {/ok: bool}, set: {/ok: =result.ok}, next: y2}
y2: {tool: count, args: {n: 5}, set: {/y: =result.n}, next: m, retry: RETRY}
z: {fork: [z1, z2]}
z1: {wait: {event: paid}, set: {/who: =result.by}, next: zm}
z2: {tool: count, args: {n: 7}, set: {/z: =result.n}, next: zm, retry: RETRY}
zm: {join: z, next: m}
m: {join: a, next: d}
d: {end: {x: =state.x, y: =state.y, z: =state.z, who: =state.who}, reads: [/x, /y, /z, /who]}
`, sig: []engine.Signal{{Name: "paid", ID: "e1", Payload: val(`{"by":"card"}`), By: "shop"}}},
}

func val(text string) artifact.Value {
	v, err := artifact.ParseValue([]byte(text))
	if err != nil {
		panic(err)
	}
	return v
}

// bump adds to a number of the state; with ask it wants an input first.
func bump(path string, ask bool) graph.Handler {
	return func(_ context.Context, in graph.Invocation) (graph.NodeResult, error) {
		v, _ := graph.Lookup(in.State, path)
		n, _ := v.Uint()
		set := &graph.Patch{BaseRevision: in.Revision, Operations: map[string]graph.Operation{path: graph.Set(artifact.UintValue(n + 3))}}
		if ask && !in.Input.Set {
			return graph.NodeResult{Outcome: graph.Outcome{Kind: graph.Suspend, Reason: "go on?", Patch: set}}, nil
		}
		return graph.NodeResult{Outcome: graph.Outcome{Kind: graph.Continue, Patch: set}, Tokens: 2}, nil
	}
}

func scenario(t testing.TB, name string, kind PortKind) Scenario {
	t.Helper()
	text := scenarios[name].graph
	retry := "{attempts: 5, backoff: 1s, on: [unavailable]}"
	doc := "version: 2\nid: sim\nstate: {/n: number, /x: number?, /y: number?, /z: number?, /ok: bool?, /who: string?, /later: bool?}\n" +
		"entry: a\nlimits: {max_steps: 60, max_tokens: 5000, max_cost_micros: 500, timeout: 10d}\nnodes:\n"
	for line := range lines(text) {
		doc += "  " + line + "\n"
	}
	doc = replaceAll(doc, "RETRY", retry)
	compiled, findings, err := graph.Compile([]byte(doc), name, graph.Options{Expr: cel.Compiler{}})
	if err != nil {
		t.Fatal(err, findings)
	}
	p, err := policy.ReadPack([]byte(pack), "pack.yaml")
	if err != nil {
		t.Fatal(err)
	}
	compiledPolicy, _, err := policy.Compile(p, policy.Options{Conditions: cel.Compiler{}, Schemas: jsonschema.Compiler{}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := engine.Define(engine.Definition{Graph: compiled, Policy: compiledPolicy, Handlers: map[string]engine.Handler{
		"add": {Run: bump("/n", false)}, "ask": {Run: bump("/n", true)}, "addx": {Run: bump("/x", false)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return Scenario{
		Definition: d, State: val(`{"n":1}`), Kind: kind, Signals: scenarios[name].sig, Answer: val(`{"ok":true}`),
		Perform: func(e engine.Effect) engine.Outcome {
			v, _ := e.Args.Get("n")
			n, _ := v.Uint()
			return engine.Outcome{Result: artifact.ObjectValue(artifact.Member{Name: "n", Value: artifact.UintValue(2*n + 1)}), Usage: policy.Amount{Tokens: 10}}
		},
	}
}

func lines(text string) func(func(string) bool) {
	return func(yield func(string) bool) {
		start := 0
		for i := range len(text) {
			if text[i] == '\n' {
				if i > start && !yield(text[start:i]) {
					return
				}
				start = i + 1
			}
		}
	}
}

func replaceAll(s, old, with string) string {
	for i := 0; i+len(old) <= len(s); i++ {
		if s[i:i+len(old)] == old {
			s = s[:i] + with + s[i+len(old):]
		}
	}
	return s
}

// TestSeeds runs every scenario with every kind of port under many seeds.
func TestSeeds(t *testing.T) {
	n := *seeds
	if testing.Short() {
		n = 40
	}
	for name := range scenarios {
		for kind := Silent; kind <= Idempotent; kind++ {
			t.Run(fmt.Sprint(name, " ", kind), func(t *testing.T) {
				s := scenario(t, name, kind)
				want, err := Quiet(s)
				if err != nil {
					t.Fatal(err)
				}
				var total Result
				for seed := range uint64(n) {
					got, err := Run(s, seed, want)
					if err != nil {
						t.Errorf("%v\n%v", err, got.Trace[max(0, len(got.Trace)-12):])
						if t.Failed() && seed > 20 {
							return
						}
					}
					total.Crashes += got.Crashes
					total.Faults += got.Faults
					total.Zombies += got.Zombies
					total.Taken += got.Taken
				}
				t.Logf("%s %s: %d seeds, %d crashes, %d faults of the store, %d workers without their lease, %d messages taken",
					want.Status, want.Output, n, total.Crashes, total.Faults, total.Zombies, total.Taken)
				if len(s.Signals) > 0 && total.Taken < n/2 {
					t.Errorf("only %d inputs came through the inbox in %d runs", total.Taken, n)
				}
			})
		}
	}
}

// TestSeedReplaysExactly runs one seed twice.
func TestSeedReplaysExactly(t *testing.T) {
	s := scenario(t, "parallel", Silent)
	want, err := Quiet(s)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(20) {
		a, _ := Run(s, seed, want)
		b, _ := Run(s, seed, want)
		if !slices.Equal(a.Trace, b.Trace) {
			t.Errorf("seed %d gives two traces", seed)
		}
	}
}
