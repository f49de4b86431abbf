package engine

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/store"
)

// content is what steps store beside the log.
type content struct {
	blobs       map[artifact.Digest][]byte
	checkpoints map[event.Head][]byte // by run and sequence; without digest
}

func newContent() content {
	return content{map[artifact.Digest][]byte{}, map[event.Head][]byte{}}
}

// Blob implements [Content].
func (c content) Blob(d artifact.Digest) ([]byte, error) {
	if data, ok := c.blobs[d]; ok {
		return data, nil
	}
	return nil, store.ErrNotFound
}

// Checkpoint implements [Content].
func (c content) Checkpoint(exec string, seq uint64) ([]byte, error) {
	if data, ok := c.checkpoints[event.Head{Exec: exec, Seq: seq}]; ok {
		return data, nil
	}
	return nil, store.ErrNotFound
}

func (c content) add(out Out) {
	for _, b := range out.Blobs {
		c.blobs[b.Digest] = b.Bytes
	}
	if out.Checkpoint != nil {
		c.checkpoints[event.Head{Exec: out.Events[0].Exec, Seq: out.Checkpoint.Seq}] = out.Checkpoint.Bytes
	}
}

func records(list []event.Record) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		for _, r := range list {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// replayMutations replays a log, and then 20 and more changed ones, none of which
// may pass.
func replayMutations(t *testing.T, name string, log []event.Record, o ReplayOptions) {
	t.Helper()
	good, err := Replay(t.Context(), records(log), o)
	if err != nil || !good.Faithful() || int(good.Events) != len(log) {
		t.Errorf("%s: replay: %v, %d of %d events, %v %v", name, err, good.Events, len(log), good.Divergence, good.Unverifiable)
		return
	}
	ends := log[len(log)-1].Type.Ends()
	passes := func(what string, changed []event.Record) {
		t.Helper()
		v, err := Replay(t.Context(), records(changed), o)
		if err == nil && v.Faithful() && int(v.Events) == len(log) {
			t.Errorf("%s: %s passes", name, what)
		}
		if err == nil && v.Faithful() && v.Ended && ends && int(v.Events) == len(changed) {
			t.Errorf("%s: %s passes as an ended run", name, what)
		}
	}
	n := len(log)
	for i := range n {
		passes(fmt.Sprint("drop ", i+1), slices.Delete(slices.Clone(log), i, i+1))
		passes(fmt.Sprint("duplicate ", i+1), slices.Insert(slices.Clone(log), i, log[i]))
		if i > 0 {
			swapped := slices.Clone(log)
			swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
			passes(fmt.Sprint("swap ", i), swapped)
			passes(fmt.Sprint("truncate to ", i), log[:i])
		}
		if i == n-1 && log[i].Type == event.TypeFailed {
			continue // why a handler failed is its own word, and nothing follows to protect it
		}
		for _, at := range []int{len(log[i].Bytes) / 3, len(log[i].Bytes) / 2, len(log[i].Bytes) - 3} {
			flipped := slices.Clone(log)
			data := bytes.Clone(log[i].Bytes)
			data[at] ^= 1
			flipped[i].Bytes = data
			passes(fmt.Sprint("flip in ", i+1, " at ", at), flipped)
		}
	}
	for i := range n {
		if forged := rechain(log, i); forged != nil {
			passes(fmt.Sprint("forge ", i+1), forged)
		}
	}
}

// rechain changes what an event says and links the log again, as somebody would
// who can write all of it.
func rechain(log []event.Record, at int) []event.Record {
	chain, err := event.NewChain(event.Head{Exec: log[0].Exec})
	if err != nil {
		return nil
	}
	var out []event.Record
	for i, r := range log {
		e, err := r.Decode()
		if err != nil {
			return nil
		}
		if i == at {
			switch b := e.Body.(type) {
			case *event.Routed:
				b.Usage.Tokens += 5
			case *event.StatePatched:
				b.Patch = event.JSON(strings.Replace(string(b.Patch), `"Set":`, `"Set":1`, 1))
			case *event.Checkpointed:
				b.Checkpoint[3] ^= 1
			case *event.Terminated:
				b.Steps++
			case *event.Failed:
				b.Totals.Tokens += 9
			default:
				return nil
			}
		}
		rec, err := chain.Append(e)
		if err != nil {
			return nil
		}
		out = append(out, rec)
		if i == at && rec.Digest == r.Digest {
			return nil
		}
	}
	return out
}

// askingDefinition is a run with every kind of outside work.
func askingDefinition(t testing.TB, run graph.Handler) *Definition {
	return define(t, graphText("{/n: number, /m: number?, /k: number?}", `
a: {tool: count, reads: [/n], args: {from: =state.n}, set: {/n: =result.n}, next: b}
b: {handler: work, reads: [/n], writes: [/m], next: f}
f: {fork: [l, r]}
l: {tool: count, set: {/k: =result.n}, next: j}
r: {handler: work, reads: [/n], writes: [/n], next: j}
j: {join: f, next: d}
d: {end: {n: =state.n, m: =state.m, k: =state.k}, reads: [/n, /m, /k]}
`), packText+"blobs: {effect: forever}\n", Definition{Handlers: map[string]Handler{"work": {Run: run}}})
}

func writing(factor uint64) graph.Handler {
	return func(_ context.Context, in graph.Invocation) (graph.NodeResult, error) {
		path := "/m"
		if in.Node == "r" {
			path = "/n"
		}
		v, _ := graph.Lookup(in.State, "/n")
		n, _ := v.Uint()
		patch := &graph.Patch{BaseRevision: in.Revision, Operations: map[string]graph.Operation{path: graph.Set(artifact.UintValue(n*factor + 1))}}
		return graph.NodeResult{Outcome: graph.Outcome{Kind: graph.Continue, Patch: patch}, Tokens: 2}, nil
	}
}

// TestReplayModes replays with the ports removed, with a changed handler and live.
func TestReplayModes(t *testing.T) {
	d := askingDefinition(t, writing(10))
	port := &counter{}
	l := newLab(t, map[string]Port{"tool": port}, d)
	r := l.start(d, "run", `{"n":0}`)
	wants(t, "result", r.Result, `{"k":2,"m":11,"n":11}`)
	before := port.effects()
	l.ports = nil
	l.restart(d)
	for _, mode := range []Mode{VerifyOnly, MockedEffects} {
		v, err := l.e.Replay(t.Context(), "run", ReplayOptions{Mode: mode})
		if err != nil || !v.Faithful() || v.Events != r.Head.Seq || !v.Ended {
			t.Errorf("%s: %v %v %v, %d events", mode, err, v.Divergence, v.Unverifiable, v.Events)
		}
		wants(t, string(mode)+": handlers", v.Handlers, map[Mode]int{VerifyOnly: 0, MockedEffects: 2}[mode])
	}
	wants(t, "effects of a replay", port.effects(), before)

	changed := askingDefinition(t, writing(7))
	changed.Handlers["work"] = Handler{Run: writing(7), Version: "2"}
	changed, err := Define(*changed)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Replay(t.Context(), l.store.Events(t.Context(), "run", 1), ReplayOptions{
		Mode: MockedEffects, Definitions: []*Definition{changed}, Content: storeContent{t.Context(), l.store},
	})
	if err != nil || v.Divergence == nil {
		t.Fatal("a changed handler passes: ", err)
	}
	x := v.Divergence
	wants(t, "divergence", fmt.Sprint(x.Type, x.Pointer, x.Recorded, x.Replayed, x.Cause),
		`state_patched/body/patch/operations/~1m/Set118the handler of b gives another outcome`)

	spent := map[artifact.Digest]bool{}
	live := ReplayOptions{
		Mode: LiveEffects, Ports: map[string]Port{"tool": &counter{}}, Caller: "ann", NowMS: 5,
		Spend: func(d artifact.Digest) (bool, error) {
			fresh := !spent[d]
			spent[d] = true
			return fresh, nil
		},
	}
	good := LiveAuthorization{Exec: "run", Definition: d.Digest(), Caller: "ann", ExpiresMS: 10, Nonce: "once"}
	for _, c := range []struct {
		code   string
		change func(*LiveAuthorization)
	}{
		{LiveOtherRun, func(a *LiveAuthorization) { a.Exec = "other" }},
		{LiveOtherFiles, func(a *LiveAuthorization) { a.Definition[0] ^= 1 }},
		{LiveOtherOne, func(a *LiveAuthorization) { a.Caller = "bob" }},
		{LiveExpired, func(a *LiveAuthorization) { a.ExpiresMS = 5 }},
		{LiveMissing, func(a *LiveAuthorization) { a.Nonce = "" }},
		{"", func(*LiveAuthorization) {}},
		{LiveUsed, func(*LiveAuthorization) {}},
	} {
		a := good
		c.change(&a)
		live.Authorization = &a
		v, err := l.e.Replay(t.Context(), "run", live)
		if c.code != "" {
			if !isRefused(err, c.code) {
				t.Errorf("want %s, got %v", c.code, err)
			}
			continue
		}
		if err != nil || !v.Faithful() || v.Calls != 2 {
			t.Errorf("live: %v %v, %d calls", err, v.Divergence, v.Calls)
		}
	}
}

// TestReplayWithoutResults takes steps as given whose results were not kept, and
// says so.
func TestReplayWithoutResults(t *testing.T) {
	d := define(t, graphText("{/n: number?}", "a: {tool: count, set: {/n: =result.n}, next: d}\nd: {end: =state.n, reads: [/n]}"), packText, Definition{})
	l := newLab(t, map[string]Port{"tool": &counter{}}, d)
	l.start(d, "run", `{}`)
	v, err := l.e.Replay(t.Context(), "run", ReplayOptions{})
	if err != nil || v.Divergence != nil || len(v.Unverifiable) != 1 || !v.Ended {
		t.Errorf("%v %v %v", err, v.Divergence, v.Unverifiable)
	}
}

func TestForkFromAnyCheckpoint(t *testing.T) {
	d := askingDefinition(t, writing(10))
	port := &counter{}
	l := newLab(t, map[string]Port{"tool": port}, d)
	r := l.start(d, "run", `{"n":0}`)
	forks := 0
	for _, e := range l.events("run") {
		if e.Type != event.TypeCheckpointed {
			continue
		}
		forks++
		exec := fmt.Sprint("fork-", e.Seq)
		f, err := l.e.Fork(t.Context(), "run", e.Seq, exec, "ann")
		if err != nil || f.Status != store.Terminated {
			t.Fatal(exec, f.Status, f.Error, err)
		}
		link := l.events(exec)[0].Body.(*event.Started).Parent
		wants(t, "link", fmt.Sprint(link.Kind, link.Exec, link.Seq), fmt.Sprint("forkrun", e.Seq))
		m, _ := f.Result.Get("m")
		wants(t, "the fork goes on as the run did", m.IsNull(), false)
	}
	if forks < 4 || r.Status != store.Terminated {
		t.Errorf("%d forks", forks)
	}
}

// TestReplayOfAFork replays a fork while the run that it began from is there, when
// its checkpoint was edited, and when it is gone.
func TestReplayOfAFork(t *testing.T) {
	d := askingDefinition(t, writing(10))
	l := newLab(t, map[string]Port{"tool": &counter{}}, d)
	l.start(d, "run", `{"n":0}`)
	var announced event.Record
	for r := range must(t, l.store.Events(t.Context(), "run", 1)) {
		if r.Type == event.TypeCheckpointed {
			announced = r
			break
		}
	}
	if _, err := l.e.Fork(t.Context(), "run", announced.Seq, "fork", "ann"); err != nil {
		t.Fatal(err)
	}
	v, err := l.e.Replay(t.Context(), "fork", ReplayOptions{})
	if err != nil || !v.Faithful() || !v.Ended {
		t.Errorf("%v %v %v", err, v.Divergence, v.Unverifiable)
	}
	x, err := announced.Decode()
	if err != nil {
		t.Fatal(err)
	}
	inner := l.store
	l.store = editing{inner, `{"v":2,"exec":"run"`, `{"v":2,"exec":"ran"`}
	l.restart(d)
	v, err = l.e.Replay(t.Context(), "fork", ReplayOptions{})
	if err != nil || v.Events != 0 || v.Divergence == nil {
		t.Fatalf("edited: %v, %d events, %v", err, v.Events, v.Unverifiable)
	}
	wants(t, "edited", v.Divergence.Cause, "the checkpoint that the fork began from was changed in the store")
	l.store = inner
	if _, err := l.store.(store.Remover).Delete(t.Context(), "run", true); err != nil {
		t.Fatal(err)
	}
	l.restart(d)
	v, err = l.e.Replay(t.Context(), "fork", ReplayOptions{})
	if err != nil || v.Events != 0 || v.Divergence != nil {
		t.Errorf("deleted: %v, %d events, %v", err, v.Events, v.Divergence)
	}
	wants(t, "deleted", v.Unverifiable, []Unverifiable{{
		1, x.Body.(*event.Checkpointed).Checkpoint, "the checkpoint that the fork began from is not kept",
	}})
	if _, err := l.e.Fork(t.Context(), "run", announced.Seq, "late", "ann"); !errors.Is(err, store.ErrDeleted) {
		t.Errorf("a fork of a deleted run: %v", err)
	}
	if _, err := l.e.Status(t.Context(), "run"); !errors.Is(err, store.ErrDeleted) {
		t.Errorf("the status of a deleted run: %v", err)
	}
}

func TestPinnedMigratedAbandoned(t *testing.T) {
	old := define(t, graphText("{/n: number?}", "a: {wait: {event: paid}, set: {/n: 1}, next: d}\nd: {end: =state.n, reads: [/n]}"), packText, Definition{})
	next := define(t, graphText("{/n: number?}", "a: {wait: {event: paid}, set: {/n: 2}, next: d}\nd: {end: =state.n, reads: [/n]}"), packText, Definition{})
	l := newLab(t, nil, old)
	l.start(old, "moves", `{}`)
	l.start(old, "ends", `{}`)
	l.start(old, "stays", `{}`)
	l.restart(next)
	_, err := l.e.Signal(t.Context(), "moves", Signal{Name: "paid", ID: "1"})
	var pinned *PinnedError
	if !errors.As(err, &pinned) || fmt.Sprint(pinned.Differs) != "[graph]" {
		t.Fatalf("pinned: %v", err)
	}
	if _, err := l.e.Migrate(t.Context(), "moves", next, Migrate{By: "bob", Reason: "deploy"}); err != nil {
		t.Fatal(err)
	}
	r, err := l.e.Signal(t.Context(), "moves", Signal{Name: "paid", ID: "1"})
	wants(t, "migrated", fmt.Sprint(r.Status, r.Result, " ", err), "terminated2 <nil>")
	r, err = l.e.Abandon(t.Context(), "ends", Abandon{By: "bob", Reason: "nobody needs it"})
	wants(t, "abandoned", fmt.Sprint(r.Status, " ", err), "abandoned <nil>")
	l.restart(old, next)
	l.events("ends")
	l.events("moves")
	r, err = l.e.Signal(t.Context(), "stays", Signal{Name: "paid", ID: "1"})
	wants(t, "pinned to the old one", fmt.Sprint(r.Status, r.Result, " ", err), "terminated1 <nil>")
}

// TestRedaction looks for a planted secret in every byte that a run leaves.
func TestRedaction(t *testing.T) {
	const secret = "hunter2-hunter2"
	d := define(t, graphText("{/n: string?}", "a: {tool: count, args: {password: "+secret+", user: ann}, set: {/n: =result.echo}, next: d}\nd: {end: =state.n, reads: [/n]}"),
		packText+"redact: ['args:/password', 'result:/key']\nblobs: {effect: forever, args: forever}\n", Definition{})
	port := &counter{do: func(_ context.Context, e Effect, _ int) (Outcome, error) {
		password, _ := e.Args.Get("password")
		if password.Text() != secret {
			t.Errorf("the port got %s", e.Args)
		}
		return Outcome{Result: value(`{"echo":"you said ` + secret + `","key":"topsecret-key"}`), Usage: policy.Amount{}}, nil
	}}
	l := newLab(t, map[string]Port{"tool": port}, d)
	r := l.start(d, "run", `{}`)
	wants(t, "result", r.Result, `"you said [redacted]"`)
	all := l.everyByte("run")
	for _, s := range []string{secret, "topsecret-key"} {
		if strings.Contains(all, s) {
			t.Errorf("%s is in what was stored", s)
		}
	}
}

// everyByte gives all that is stored of a run.
func (l *lab) everyByte(exec string) string {
	l.t.Helper()
	var b strings.Builder
	for r := range must(l.t, l.store.Events(context.Background(), exec, 1)) {
		b.Write(r.Bytes)
		if data, err := l.store.Checkpoint(context.Background(), exec, r.Seq); err == nil {
			b.Write(data)
		}
		for _, word := range strings.Split(string(r.Bytes), `"`) {
			if d, err := artifact.ParseDigest(word); err == nil {
				if data, err := readBlob(context.Background(), l.store, d); err == nil {
					b.Write(data)
				}
			}
		}
	}
	return b.String()
}

func TestTamperedCheckpointIsRefused(t *testing.T) {
	d := define(t, graphText("{/n: number?}", "a: {wait: {event: paid}, set: {/n: 1}, next: d}\nd: {end: =state.n, reads: [/n]}"), packText, Definition{})
	l := newLab(t, nil, d)
	l.start(d, "run", `{"n":5}`)
	l.store = editing{l.store, `{"n":5}`, `{"n":6}`}
	l.restart(d)
	_, err := l.e.Signal(t.Context(), "run", Signal{Name: "paid", ID: "1"})
	if !errors.Is(err, ErrTampered) {
		t.Errorf("an edited checkpoint: %v", err)
	}
	all, err := l.e.Verify(t.Context(), "run", nil)
	if err != nil || len(all[0].Damaged) != 1 || all[0].Damaged[0].What != "the checkpoint was changed in the store" {
		t.Errorf("verified: %v %+v", err, all[0])
	}
}

// TestVerifyFollowsCallsAndSignatures checks a run with a called run: complete with
// its signed head, and not when the called log was rewritten.
func TestVerifyFollowsCallsAndSignatures(t *testing.T) {
	child := define(t, "version: 2\nid: child\nstate: {/x: any?}\nentry: s\nlimits: {max_steps: 9, timeout: 1m}\nnodes:\n  s: {set: {/x: 1}, next: o}\n  o: {end: =state.x, reads: [/x]}\n", packText, Definition{})
	parent := define(t, graphText("{/a: any?}", "a: {call: child, args: {}, set: {/a: =result}, next: d}\nd: {end: =state.a, reads: [/a]}"),
		packText, Definition{Calls: map[string]*Definition{"child": child}})
	l := newLab(t, nil, parent)
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	l.start(parent, "unsigned", `{}`)
	l.e.c.Sign = []ed25519.PrivateKey{private}
	l.start(parent, "run", `{}`)
	for exec, want := range map[string]string{"run": "intact, complete", "unsigned": "intact, unanchored"} {
		all, err := l.e.Verify(t.Context(), exec, nil, public)
		if err != nil || len(all) != 2 {
			t.Fatal(err, all)
		}
		wants(t, exec, all[0].Verdict(), want)
		wants(t, exec+": what it called", all[1].Verdict()+all[1].Problem, "intact, complete")
	}
	called := l.events("run")[2].Body.(*event.CallStarted).Exec
	l.store = rewritten{l.store, called}
	l.restart(parent)
	all, err := l.e.Verify(t.Context(), "run", nil, public)
	if err != nil || all[1].Complete || all[1].Problem == "" {
		t.Errorf("a rewritten log of the called run: %v %+v", err, all)
	}
}

// rewritten is a store in which somebody has written the log of one run anew.
type rewritten struct {
	store.Store
	exec string
}

func (s rewritten) Events(ctx context.Context, exec string, from uint64) iter.Seq2[event.Record, error] {
	if exec != s.exec {
		return s.Store.Events(ctx, exec, from)
	}
	var log []event.Record
	for r, err := range s.Store.Events(ctx, exec, 1) {
		if err == nil {
			log = append(log, r)
		}
	}
	return records(rechain(log, len(log)-1))
}
