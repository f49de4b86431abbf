package engine

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/store"
)

// runFixture is one scripted run of the reference (runtime-fixtures/README.md).
type runFixture struct {
	Graph, Schema, Initial, Checkpoint json.RawMessage
	Policy                             struct {
		MaxRetries         uint32 `json:"max_retries"`
		Pack               string `json:"pack_hash"`
		Policy             string `json:"policy_hash"`
		NodeImplementation string `json:"node_implementation_hash"`
		Contract           string `json:"contract_hash"`
	}
	Clock         []int64
	CancelAtCheck int               `json:"cancel_at_check"`
	SinkFailAt    int               `json:"sink_fail_at"`
	StoreFailAt   int               `json:"store_fail_at"`
	Script        []json.RawMessage `json:"rust_script"`
	Rust          *struct {
		CompileError  json.RawMessage `json:"compile_error"`
		Error         *struct{ Display string }
		ExecutorCalls []struct {
			Node     string
			Attempt  uint32
			Revision uint64
			Value    json.RawMessage
		} `json:"executor_calls"`
		Checkpoints []json.RawMessage
		SinkEvents  []json.RawMessage `json:"sink_events"`
		Report      *struct {
			Events     []json.RawMessage
			State      json.RawMessage
			Status     json.RawMessage
			Steps      uint64
			Tokens     uint64
			CostMicros uint64 `json:"cost_micros"`
		}
	}
}

// runDeviations are the records that differ on purpose, with what differs.
// docs/deviations.md gives the reasons.
var runDeviations = map[string]string{
	"05-undeclared-route":          "failed: B03",
	"06-continue-without-edge":     "failed: B03",
	"11-suspend":                   "steps: B10, a suspended visit has not ended",
	"20-retry-then-success":        "usage: B14, attempts are charged; a checkpoint between attempts",
	"21-retry-exhausted":           "usage and steps: B14",
	"22-retryable-no-retries":      "usage and steps: B14",
	"23-undeclared-write":          "failed: B03",
	"24-type-mismatch":             "failed: B03",
	"25-remove-required":           "failed: B03",
	"26-stale-revision":            "failed: B03",
	"30-executor-error":            "failed: B03",
	"31-sink-failure":              "goes on: B03, B11",
	"32-store-failure-after-event": "goes on: B03, B11",
	"40-missing-parent":            "failed: B03",
	"51-suspend-at-entry":          "steps: B10",
}

// TestVersion1Runs drives the machine through every scripted run and holds the
// version 1 projection of its log, reports, checkpoints and what handlers see
// against the reference's.
func TestVersion1Runs(t *testing.T) {
	root := os.Getenv("WRIT_FIXTURES")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	files, _ := filepath.Glob(filepath.Join(root, "runtime-fixtures", "differential", "runs", "[0-9]*.json"))
	if len(files) == 0 {
		t.Skipf("no fixtures at %s; set WRIT_FIXTURES to run this test", root)
	}
	same, deviating, absent := 0, 0, 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var f runFixture
		if err := json.Unmarshal(data, &f); err != nil {
			t.Fatal(name, err)
		}
		if f.Rust == nil {
			absent++
			continue
		}
		differ := compareRun(t, name, &f)
		expected := runDeviations[name] != ""
		switch {
		case len(differ) == 0 && !expected:
			same++
		case len(differ) > 0 && expected:
			deviating++
			t.Logf("%s deviates (%s): %s", name, runDeviations[name], strings.Join(differ, "; "))
		case expected:
			t.Errorf("%s: listed as a deviation (%s), but matches", name, runDeviations[name])
		default:
			t.Errorf("%s: %s", name, strings.Join(differ, "; "))
		}
	}
	t.Logf("%d runs equal, %d deviate as listed, %d without a native side, %d in all", same, deviating, absent, len(files))
	if same+deviating+absent != 58 {
		t.Errorf("%d runs, want 58", same+deviating+absent)
	}
}

// scripted is a run on the machine alone.
type scripted struct {
	t       *testing.T
	m       *Machine
	f       *runFixture
	p       Position
	reads   int
	next    int // of the script
	heads   int // loop heads, at which the reference asks about cancellation
	log     []event.Record
	calls   []string
	states  []string // checkpoints in the version 1 form, without the event cursor
	first   uint64
	content content
}

func compareRun(t *testing.T, name string, f *runFixture) []string {
	compiled, _, err := graph.Compile(f.Graph, "graph.json", graph.Options{})
	if f.Rust.CompileError != nil {
		if err == nil {
			return []string{"compiled"}
		}
		return nil
	}
	if err != nil {
		return []string{err.Error()}
	}
	schema, err := graph.DecodeSchema(f.Schema, "schema.json")
	if err != nil {
		t.Fatal(name, err)
	}
	handlers := map[string]Handler{}
	for i := range compiled.Nodes {
		handlers[compiled.Nodes[i].Name] = Handler{Run: noHandler}
	}
	def, err := Define(Definition{Graph: compiled, Schema: schema, Handlers: handlers, RetriesV1: f.Policy.MaxRetries})
	if err != nil {
		t.Fatal(name, err)
	}
	s := &scripted{t: t, m: NewMachine(def), f: f, content: newContent()}
	err = s.run(def)
	if err != nil {
		return f.differsError(err)
	}
	if s.first == 0 {
		replayMutations(t, name, s.log, ReplayOptions{Definitions: []*Definition{def}, Content: s.content})
	}
	return s.differences()
}

func (f *runFixture) differsError(err error) []string {
	if f.Rust.Error != nil && len(f.Rust.SinkEvents) == 0 && err.Error() == f.Rust.Error.Display {
		return nil
	}
	return []string{"error " + err.Error()}
}

func (s *scripted) read(n int) int64 {
	s.reads += n
	return s.f.Clock[min(s.reads, len(s.f.Clock))-1]
}

func (s *scripted) run(def *Definition) error {
	start := Start{Exec: "fixture", Method: event.MethodSystem}
	if s.f.Checkpoint != nil {
		c, err := graph.DecodeCheckpointV1(s.f.Checkpoint, "checkpoint.json")
		if err != nil {
			return err
		}
		want := graph.HashesV1{
			Graph: def.Graph.Digest.Hex(), Pack: s.f.Policy.Pack, Policy: s.f.Policy.Policy,
			NodeImplementation: s.f.Policy.NodeImplementation, Contract: s.f.Policy.Contract,
		}
		from, err := s.m.ImportV1(c, want)
		if err != nil {
			return err
		}
		start.From, s.first = &from, c.EventCursor
	} else {
		state, err := graph.DecodeSnapshot(s.f.Initial, "initial.json")
		if err != nil {
			return err
		}
		start.State = *state
	}
	out, err := s.m.Step(Position{}, Input{NowMS: s.read(3), What: start})
	if err != nil {
		return err
	}
	s.take(out)
	writes := 0
	for out.Status == store.Running {
		if s.heads++; s.f.CancelAtCheck > 0 && s.heads >= s.f.CancelAtCheck {
			out, err = s.m.Step(s.p, Input{NowMS: s.read(1), What: Cancel{Method: event.MethodSystem}})
		} else {
			out, err = s.work(out)
		}
		if err != nil {
			return err
		}
		if writes++; writes == 1 && (s.f.SinkFailAt > 0 || s.f.StoreFailAt > 0) {
			// The append of this step fails: nothing of it is there, and the
			// handler's answer is given again when the run is taken up.
			s.next--
			s.calls = s.calls[:len(s.calls)-1]
			if out, err = s.m.Step(s.p, Input{NowMS: s.read(1), What: Recover{}}); err != nil {
				return err
			}
			continue
		}
		s.take(out)
	}
	return nil
}

// work lets the script answer for the handler.
func (s *scripted) work(out Out) (Out, error) {
	w := out.Work[0]
	if s.next >= len(s.f.Script) && s.f.SinkFailAt+s.f.StoreFailAt > 0 {
		// Here the reference has given up.
		done := NodeDone{Node: w.Node, Visit: w.Visit, Attempt: w.Attempt, StartedMS: s.p.lastMS}
		done.Result.Outcome = graph.Outcome{Kind: graph.Terminate}
		return s.m.Step(s.p, Input{NowMS: s.read(1), What: done})
	}
	if s.next >= len(s.f.Script) {
		return Out{}, fmt.Errorf("the script has no more answers for %s", w.Node)
	}
	done := NodeDone{Node: w.Node, Visit: w.Visit, Attempt: w.Attempt, StartedMS: s.p.lastMS}
	line := s.f.Script[s.next]
	s.next++
	s.calls = append(s.calls, fmt.Sprintf("%s %d %d %s", w.Node, w.Attempt, w.Invocation.Revision, w.Invocation.State))
	var host struct {
		Error *string `json:"host_error"`
	}
	reads := 1
	if json.Unmarshal(line, &host); host.Error != nil {
		done.Host = *host.Error
	} else {
		result, err := graph.DecodeNodeResult(line, "script")
		if err != nil {
			return Out{}, err
		}
		done.Result = *result
		o := result.Outcome
		if o.Patch != nil {
			reads++
		}
		if o.Kind == graph.Routed {
			reads++
		}
		if o.Kind == graph.Continue || o.Kind == graph.Routed {
			reads += 2
		}
	}
	return s.m.Step(s.p, Input{NowMS: s.read(reads), What: done})
}

// take stores a step and restores its checkpoint, so that every run also goes
// through the stored form.
func (s *scripted) take(out Out) {
	s.t.Helper()
	s.p = out.Position
	if len(out.Events) == 0 {
		return
	}
	s.log = append(s.log, out.Events...)
	s.content.add(out)
	if out.Checkpoint == nil {
		s.t.Fatal("a step without a checkpoint")
	}
	back, err := s.m.Restore(out.Checkpoint.Bytes, s.p.head)
	if err != nil {
		s.t.Fatal(err)
	}
	again := turn{def: s.m.def, p: back}
	if got := string(again.encode()); got != string(out.Checkpoint.Bytes) {
		s.t.Fatalf("checkpoint is not a fixed point:\n%s\n%s", out.Checkpoint.Bytes, got)
	}
	if s.checkpointed(out) {
		used := s.p.ledger.Used()
		s.states = append(s.states, fmt.Sprintf("%s %d %s %d %d %d", s.p.threads[0].node, s.p.state.Revision, s.p.state.Value, s.p.steps, used.Tokens, used.Cost["USD"]))
	}
	s.p = back
}

// checkpointed reports whether version 1 would save a checkpoint for the step:
// not before the first node, not between attempts, not for a suspension.
func (s *scripted) checkpointed(out Out) bool {
	has := func(typ event.Type) bool {
		return slices.ContainsFunc(out.Events, func(r event.Record) bool { return r.Type == typ })
	}
	return has(event.TypeCheckpointed) && !has(event.TypeStarted) && !has(event.TypeRetrying) && !has(event.TypeSuspended)
}

// projection gives the log as version 1 events without times.
func (s *scripted) projection() []string {
	var events []event.Event
	for i, r := range s.log {
		e, err := r.Decode()
		if err != nil {
			s.t.Fatal(err)
		}
		// Version 1 writes no checkpoint before the first node or between attempts.
		if e.Type == event.TypeCheckpointed && (i == 1 || s.log[i-1].Type == event.TypeRetrying) {
			continue
		}
		if s.first > 0 && e.Type == event.TypeStarted {
			continue
		}
		events = append(events, e)
	}
	var lines []string
	for _, e := range event.ProjectV1(slices.Values(events), s.first+1) {
		e.TimestampMS = 0
		data, err := event.EncodeV1(e)
		if err != nil {
			s.t.Fatal(err)
		}
		lines = append(lines, string(data))
	}
	return lines
}

func (s *scripted) differences() []string {
	var list []string
	differ := func(what string, got, want any) {
		if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
			list = append(list, fmt.Sprintf("%s %s, want %s", what, g, w))
		}
	}
	r := s.f.Rust
	events := r.SinkEvents
	if r.Report != nil {
		events = r.Report.Events
	}
	got := s.projection()
	for i := range max(len(got), len(events)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(events) {
			e, err := event.DecodeV1(events[i])
			if err != nil {
				s.t.Fatal(err)
			}
			e.TimestampMS = 0
			data, _ := event.EncodeV1(e)
			w = string(data)
		}
		differ(fmt.Sprintf("event %d", i+1), g, w)
	}
	var calls []string
	for _, c := range r.ExecutorCalls {
		v, _ := artifact.ParseValue(c.Value)
		calls = append(calls, fmt.Sprintf("%s %d %d %s", c.Node, c.Attempt, c.Revision, canonicalText(v)))
	}
	differ("calls", s.calls, calls)
	if r.Error != nil {
		last, _ := s.log[len(s.log)-1].Decode()
		if failed, ok := last.Body.(*event.Failed); ok {
			differ("error", failed.Error, r.Error.Display)
		}
		return list
	}
	used := s.p.ledger.Used()
	differ("steps", s.p.steps, r.Report.Steps)
	differ("tokens", used.Tokens, r.Report.Tokens)
	differ("cost", used.Cost["USD"], r.Report.CostMicros)
	state, err := graph.DecodeSnapshot(r.Report.State, "state")
	if err != nil {
		s.t.Fatal(err)
	}
	differ("revision", s.p.state.Revision, state.Revision)
	differ("state", s.p.state.Value, canonicalText(state.Value))
	var states []string
	for _, data := range r.Checkpoints {
		c, err := graph.DecodeCheckpointV1(data, "checkpoint")
		if err != nil {
			s.t.Fatal(err)
		}
		states = append(states, fmt.Sprintf("%s %d %s %d %d %d", c.PendingNode, c.State.Revision, canonicalText(c.State.Value), c.Steps, c.Tokens, c.CostMicros))
	}
	differ("checkpoints", s.states, states)
	return list
}

func canonicalText(v artifact.Value) string {
	data, err := artifact.CanonicalRuntime(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
