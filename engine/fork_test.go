package engine

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/memory"
)

var schedules = flag.Int("schedules", 200, "how many shuffled schedules the parallel branches run under")

// wideFork is a fork of n branches of two handlers each.
func wideFork(t testing.TB, n int, first, second graph.Handler) *Definition {
	var state, names, nodes strings.Builder
	for i := range n {
		fmt.Fprintf(&state, "/b%02d: number?, /c%02d: number?, ", i, i)
		fmt.Fprintf(&names, "x%02d, ", i)
		fmt.Fprintf(&nodes, "x%02d: {handler: first, args: {i: %d}, writes: [/b%02d], next: y%02d}\n", i, i, i, i)
		fmt.Fprintf(&nodes, "y%02d: {handler: second, args: {i: %d}, reads: [/b%02d], writes: [/c%02d], next: meet}\n", i, i, i, i)
	}
	return define(t, strings.Replace(graphText("{"+strings.TrimSuffix(state.String(), ", ")+"}",
		"a: {fork: ["+strings.TrimSuffix(names.String(), ", ")+"]}\n"+nodes.String()+"meet: {join: a, next: d}\nd: {end: done}"), "max_steps: 100", "max_steps: 1000", 1),
		packText, Definition{Handlers: map[string]Handler{"first": {Run: first}, "second": {Run: second}}})
}

// branchHandler writes i plus something to the path of its branch.
func branchHandler(letter string, delay func()) graph.Handler {
	return func(_ context.Context, in graph.Invocation) (graph.NodeResult, error) {
		delay()
		v, _ := in.Args.Get("i")
		i, _ := v.Uint()
		path := fmt.Sprintf("/%s%02d", letter, i)
		patch := &graph.Patch{BaseRevision: in.Revision, Operations: map[string]graph.Operation{path: graph.Set(artifact.UintValue(i * 10))}}
		return graph.NodeResult{Outcome: graph.Outcome{Kind: graph.Continue, Patch: patch}, Tokens: i}, nil
	}
}

// stillClock stands, so that the time of an event says nothing.
type stillClock struct{}

func (stillClock) Now() time.Time { return time.UnixMilli(1_000_000) }

func (stillClock) AfterFunc(time.Duration, func()) func() { return func() {} }

// TestParallelBranchesGiveIdenticalBytes runs 64 branches under shuffled
// schedules: a random part of the handlers yields and waits for others.
func TestParallelBranchesGiveIdenticalBytes(t *testing.T) {
	schedules := *schedules
	if testing.Short() {
		schedules = 30
	}
	var mu sync.Mutex
	var random *rand.Rand
	shuffle := func() {
		mu.Lock()
		n := random.IntN(20)
		mu.Unlock()
		for range n {
			runtime.Gosched()
		}
	}
	d := wideFork(t, 64, branchHandler("b", shuffle), branchHandler("c", shuffle))
	var want []byte
	for seed := range uint64(schedules) {
		random = rand.New(rand.NewPCG(seed, 1))
		st := memory.New(stillClock{}.Now)
		e, err := New(Config{Store: st, Clock: stillClock{}, Owner: "w"})
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Start(t.Context(), Request{Exec: "run", Definition: d, State: value(`{}`)})
		if err != nil || r.Status != store.Terminated {
			t.Fatal(r.Status, r.Error, err)
		}
		var all []byte
		for rec := range must(t, st.Events(t.Context(), "run", 1)) {
			all = append(all, rec.Bytes...)
		}
		if want == nil {
			want = all
			logOf(t, st, "run")
		}
		if string(all) != string(want) {
			t.Fatalf("schedule %d gives another log", seed)
		}
	}
	t.Logf("%d schedules of 64 branches: %d identical bytes", schedules, len(want))
}

// action is what can happen to a branch of the model.
type action int

const (
	suspendBranch action = iota // its first node asks for an input
	finishBranch                // its handler finishes
	resumeBranch                // the input comes
	crashRun                    // the process ends and another one takes over
)

// TestEveryInterleaving walks through every order in which up to four branches
// suspend, are resumed and finish, with a crash at every point: each branch
// finishes exactly once, and every end is the same.
func TestEveryInterleaving(t *testing.T) {
	for branches := 2; branches <= 4; branches++ {
		ask := func(_ context.Context, in graph.Invocation) (graph.NodeResult, error) { return graph.NodeResult{}, nil }
		d := wideFork(t, branches, ask, ask)
		m := &model{t: t, m: NewMachine(d), seen: map[string]bool{}, ends: map[string]int{}}
		out, err := m.m.Step(Position{}, Input{NowMS: 1, What: Start{Exec: "run", Method: event.MethodSystem, State: graph.Snapshot{SchemaID: d.Schema.ID, Value: value(`{}`)}}})
		if err != nil {
			t.Fatal(err)
		}
		m.walk(out.Position, m.restored(out), nil, 0)
		if len(m.ends) != 1 {
			t.Errorf("%d branches: %d different ends: %v", branches, len(m.ends), m.ends)
		}
		t.Logf("%d branches: %d states, %d steps, %d ends", branches, len(m.seen), m.steps, sum(m.ends))
	}
}

func sum(m map[string]int) int {
	n := 0
	for _, c := range m {
		n += c
	}
	return n
}

// model explores positions depth first.
type model struct {
	t     *testing.T
	m     *Machine
	seen  map[string]bool
	ends  map[string]int
	steps int
}

// Mint gives tokens that follow from the proposal, so that equal positions are
// equal.
func (m *model) Mint(proposal artifact.Digest, n int) []artifact.Digest {
	list := make([]artifact.Digest, n)
	for i := range list {
		list[i] = TokenDigest("token of " + proposal.String())
	}
	return list
}

func (m *model) restored(out Out) []byte {
	if out.Checkpoint == nil {
		return nil
	}
	return out.Checkpoint.Bytes
}

// key says where every branch stands, apart from what depends on the order:
// sequences, revisions and tokens.
func key(p *Position) string {
	var list []string
	for i := range p.threads {
		th := &p.threads[i]
		list = append(list, fmt.Sprint(th.node, th.visit, th.phase, th.input.Set, slices.Sorted(slices.Values(th.joined))))
	}
	return strings.Join(list, ";") + p.state.Value.String()
}

func (m *model) walk(p Position, checkpoint []byte, finished []string, crashes int) {
	if p.ended {
		slices.Sort(finished)
		if len(slices.Compact(slices.Clone(finished))) != len(finished) {
			m.t.Fatalf("a branch finished twice: %v", finished)
		}
		m.ends[fmt.Sprint(finished, p.state.Value, p.steps)]++
		return
	}
	k := fmt.Sprint(key(&p), crashes)
	if m.seen[k] {
		return
	}
	m.seen[k] = true
	if crashes == 0 {
		back, err := m.m.Restore(checkpoint, p.head)
		if err != nil {
			m.t.Fatal(err)
		}
		out := m.step(back, Recover{})
		m.walk(out.Position, checkpoint, finished, 1)
	}
	for i := range p.threads {
		th := p.threads[i]
		switch th.phase {
		case working:
			for _, a := range []action{suspendBranch, finishBranch} {
				m.act(p, checkpoint, finished, th, a)
			}
		case awaitInput:
			m.act(p, checkpoint, finished, th, resumeBranch)
		}
	}
}

func (m *model) act(p Position, checkpoint []byte, finished []string, th thread, a action) {
	var what Happening
	done := NodeDone{Node: th.node, Visit: th.visit, Attempt: th.attempt, StartedMS: 1}
	n := m.m.def.Graph.Node(th.node)
	patch := &graph.Patch{BaseRevision: th.state.Revision, Operations: map[string]graph.Operation{n.Writes[0]: graph.Set(artifact.UintValue(1))}}
	switch a {
	case suspendBranch:
		if th.input.Set || n.ID[0] == 'y' {
			return // each branch suspends at most once
		}
		done.Result.Outcome = graph.Outcome{Kind: graph.Suspend, Reason: "?", Patch: patch}
		what = done
	case finishBranch:
		done.Result.Outcome = graph.Outcome{Kind: graph.Continue, Patch: patch}
		what = done
		finished = append(slices.Clone(finished), fmt.Sprint(th.node, th.visit))
	case resumeBranch:
		what = Resume{Token: th.asked.tokens[0], Input: value("1"), Node: th.node}
	}
	out := m.step(p, what)
	if data := m.restored(out); data != nil {
		checkpoint = data
	}
	m.walk(out.Position, checkpoint, finished, 0)
}

func (m *model) step(p Position, what Happening) Out {
	m.steps++
	out, err := m.m.Step(p, Input{NowMS: 1, What: what, Mint: m})
	if err != nil || out.Refusal != nil {
		m.t.Fatalf("%T: %v %v", what, err, out.Refusal)
	}
	return out
}
