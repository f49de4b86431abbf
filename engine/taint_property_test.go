package engine

import (
	"context"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
)

// TestTaintIsSoundAndPrecise draws graphs of sets, effects, handlers, waits and
// forks, and looks at the arguments of every tool call.
//
// Precise: the marks are those of a second implementation, which keeps a tree and
// takes what an expression depends on from the generator. Sound: where another
// answer of a model (a tool, a retrieval, somebody outside) gives another
// argument, the argument is marked as theirs. Durable: a run that is restored from
// its checkpoint after every step leaves the same bytes, and replays.
func TestTaintIsSoundAndPrecise(tb *testing.T) {
	compared, changed := 0, 0
	rapid.Check(tb, func(t *rapid.T) {
		g := &taintGraph{t: t}
		steps := append(g.sequence(taintPaths, 2), g.step("tool", taintPaths))
		kept := rapid.Bool().Draw(t, "results are kept")
		d := defineTaint(tb, steps, kept)
		run := runTaint(t, d, taintAnswers, false)

		want := map[string]shade{}
		walkShades(steps, shade{}, run.wrote, want)
		compared += run.checkMarks(t, d, want)
		if again := runTaint(t, d, taintAnswers, true); again.log != run.log {
			t.Fatalf("%s\nanother log after restoring", d.Graph.Canonical)
		}
		run.replay(t, d, kept)

		for kind, source := range taintSources {
			other := maps.Clone(taintAnswers)
			other[kind] += 13
			changed += run.checkChanges(t, d, want, runTaint(t, d, other, false), source)
		}
	})
	if compared == 0 || changed == 0 {
		tb.Error("nothing was compared")
	}
	tb.Logf("%d arguments compared, %d changed with a source", compared, changed)
}

// The state, and what can be written of it. Each path keeps its type, so that no
// expression fails: a failure is control flow.
const (
	taintStart = `{"a":{"x":1,"y":{"z":2}},"b":{},"c":3,"d":[4,5],"m":6,"t":7}`
	taintShape = `{/a: object, /b: object, /c: number, /d: array, /m: number, /t: number}`
)

var taintPaths = []string{"/a", "/a/x", "/a/y", "/a/y/z", "/b", "/b/k", "/c", "/d", "/m", "/t"}

var (
	taintAnswers = map[string]uint64{"model": 1, "tool": 2, "retrieve": 3, "wait": 4}
	taintSources = map[string]policy.Taint{
		"model": policy.FromModel, "tool": policy.FromTool, "retrieve": policy.FromKnowledge, "wait": policy.FromRequest,
	}
)

// defineTaint compiles a drawn graph, without the tool that runTaint gives it.
func defineTaint(t testing.TB, steps []taintStep, kept bool) *Definition {
	var b strings.Builder
	emitSteps(&b, steps, "end")
	b.WriteString("end: {end: done}\n")
	text := strings.Replace(graphText(taintShape, "a: {set: {}, next: "+steps[0].id+"}\n"+b.String()), "max_steps: 100", "max_steps: 1000", 1)
	pack := strings.Replace(packText, "tools:\n", "tools:\n  sink: {}\n", 1)
	if kept {
		pack += "blobs: {effect: 30d}\n"
	}
	return define(t, text, pack, Definition{
		Handlers: map[string]Handler{"opaque": {Run: opaque}}, Tools: map[string]Tool{"sink": {Port: "tool", Kind: policy.KindTool}},
	})
}

// opaque writes a number that depends on all that it sees, to one of the paths
// that it may write, which are its arguments, to all or to none.
func opaque(_ context.Context, in graph.Invocation) (graph.NodeResult, error) {
	sum := sumOfNumbers(in.State)
	patch := &graph.Patch{BaseRevision: in.Revision, Operations: map[string]graph.Operation{}}
	for i, path := range in.Args.Elements() {
		if sum%3 == 0 || sum%3 == uint64(i)+1 {
			patch.Operations[path.Text()] = graph.Set(artifact.UintValue(sum % 97))
		}
	}
	if len(patch.Operations) == 0 {
		patch = nil
	}
	return graph.NodeResult{Outcome: graph.Outcome{Kind: graph.Continue, Patch: patch}}, nil
}

func sumOfNumbers(v artifact.Value) uint64 {
	n, _ := v.Uint()
	for _, e := range v.Elements() {
		n += sumOfNumbers(e)
	}
	for _, m := range v.Members() {
		n += uint64(len(m.Name)) + sumOfNumbers(m.Value)
	}
	return n
}

// taintRun is what a run left.
type taintRun struct {
	calls   map[string]policy.Call     // of tools, by node
	wrote   map[string]map[string]bool // by handlers, by node and path
	log     string
	records []event.Record
	content content
}

// runTaint drives a machine. Restoring, each step begins from a checkpoint.
func runTaint(t *rapid.T, d *Definition, answers map[string]uint64, restoring bool) *taintRun {
	r := &taintRun{calls: map[string]policy.Call{}, wrote: map[string]map[string]bool{}, content: newContent()}
	def := *d
	def.Tools = map[string]Tool{"sink": {Port: "tool", Kind: policy.KindTool, Shape: func(c policy.Call) (policy.Call, error) {
		id, _ := c.Args.Get("id")
		r.calls[id.Text()] = c
		return c, nil
	}}}
	m := NewMachine(&def)
	var queue []Happening
	p := Position{}
	var what Happening = Start{Exec: "run", Method: event.MethodSystem, State: graph.Snapshot{SchemaID: d.Schema.ID, Value: value(taintStart)}}
	for {
		out, err := m.Step(p, Input{NowMS: 1, What: what})
		if err != nil || out.Refusal != nil {
			t.Fatalf("%s\n%T: %v %v", d.Graph.Canonical, what, err, out.Refusal)
		}
		r.keep(out)
		if p = out.Position; p.ended {
			break
		}
		if restoring && out.Checkpoint != nil {
			if p, err = m.Restore(out.Checkpoint.Bytes, out.Position.head); err != nil {
				t.Fatalf("%s\nrestore: %v", d.Graph.Canonical, err)
			}
		}
		for _, w := range out.Work {
			done := NodeDone{Node: w.Node, Visit: w.Visit, Attempt: w.Attempt, StartedMS: 1}
			done.Result, _ = opaque(context.Background(), w.Invocation)
			r.wrote[w.Node] = map[string]bool{}
			if patch := done.Result.Outcome.Patch; patch != nil {
				for path := range patch.Operations {
					r.wrote[w.Node][path] = true
				}
			}
			queue = append(queue, done)
		}
		for _, e := range out.Effects {
			n := (answers[e.Kind.String()] + sumOfNumbers(e.Args)) % 97
			queue = append(queue, EffectDone{Key: e.Key, Outcome: Outcome{Result: artifact.ObjectValue(member("n", artifact.UintValue(n)))}})
		}
		if len(queue) == 0 {
			for i := range p.threads {
				if th := &p.threads[i]; th.phase == waiting {
					queue = append(queue, Signal{
						Name: "paid", Key: artifact.StringValue(th.node), ID: th.node,
						Payload: artifact.ObjectValue(member("n", artifact.UintValue(answers["wait"]))),
					})
				}
			}
		}
		if len(queue) == 0 {
			what = Recover{}
			if !p.Ready() {
				t.Fatalf("%s\nthe run stands at %v", d.Graph.Canonical, p.Pending())
			}
			continue
		}
		what, queue = queue[0], queue[1:]
	}
	if last := r.records[len(r.records)-1]; last.Type != event.TypeTerminated {
		t.Fatalf("%s\nthe run ends with %s", d.Graph.Canonical, last.Bytes)
	}
	return r
}

func (r *taintRun) keep(out Out) {
	for _, rec := range out.Events {
		r.log += string(rec.Bytes) + "\n"
		r.records = append(r.records, rec)
	}
	r.content.add(out)
}

// checkMarks holds the marks of all arguments against those of the second
// implementation, and gives their number.
func (r *taintRun) checkMarks(t *rapid.T, d *Definition, want map[string]shade) int {
	n := 0
	for id, call := range r.calls {
		for pointer, taint := range want[id].pointers() {
			n++
			if got := call.Taint.At(pointer); got != taint {
				t.Fatalf("%s\n%s: %q is from %s, want %s (marks %s)", d.Graph.Canonical, id, pointer, got, taint, call.Taint.Value())
			}
		}
	}
	return n
}

// checkChanges holds the marks of arguments against what another answer of one
// source changes, and gives the number of arguments that change.
func (r *taintRun) checkChanges(t *rapid.T, d *Definition, want map[string]shade, other *taintRun, source policy.Taint) int {
	n := 0
	for id, call := range r.calls {
		for pointer := range want[id].pointers() {
			a, _ := graph.Lookup(call.Args, pointer)
			b, _ := graph.Lookup(other.calls[id].Args, pointer)
			if a.Equal(b) {
				continue
			}
			n++
			if !call.Taint.At(pointer).Has(source) || !other.calls[id].Taint.At(pointer).Has(source) {
				t.Fatalf("%s\n%s: %q is %s or %s as %s has it, but marked %s", d.Graph.Canonical, id, pointer, a, b, source, call.Taint.Value())
			}
		}
	}
	return n
}

// replay works the log out again, with the results of effects or without.
func (r *taintRun) replay(t *rapid.T, d *Definition, kept bool) {
	for _, mode := range []Mode{VerifyOnly, MockedEffects} {
		v, err := Replay(context.Background(), records(r.records), ReplayOptions{Mode: mode, Definitions: []*Definition{d}, Content: r.content})
		if err != nil || v.Divergence != nil || kept && !v.Faithful() || int(v.Events) != len(r.records) {
			t.Fatalf("%s\n%s: %v %v %d of %d events", d.Graph.Canonical, mode, err, v.Divergence, v.Events, len(r.records))
		}
	}
}
