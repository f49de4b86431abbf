package local_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/local"
	"github.com/writ-dev/writ/store"
)

// waiter waits for a minute and then calls a tool. Its definition does not cover
// what the tool answers.
const waiter = `version: 1
id: NAME
graph:
  id: g
  state: {/n: number?}
  entry: a
  limits: {max_steps: 5, timeout: 10h}
  nodes:
    a: {wait: {for: 1m}, next: b}
    b: {tool: t, set: {/n: =result.n}, next: c}
    c: {end: =state.n, reads: [/n]}
pack:
  id: p
  limits: {steps: 5, calls: 2}
  tools: {t: {}}
tools:
  t: {answers: [{result: {n: ANSWER}}]}
`

// agentOf writes the file of a waiter and reads it.
func agentOf(t *testing.T, id string, answer int, o local.Options) *local.Agent {
	t.Helper()
	text := strings.NewReplacer("NAME", id, "ANSWER", fmt.Sprint(answer)).Replace(waiter)
	file := filepath.Join(t.TempDir(), "agent.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := local.ReadAgent(file, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestFleetKeepsPortsApart: two agents have one definition and other tools. Each run
// gets its own agent's answer, whoever drives it.
func TestFleetKeepsPortsApart(t *testing.T) {
	now := time.Date(2026, 7, 6, 12, 0, 0, 0, time.UTC)
	o := local.Options{Now: func() time.Time { return now }}
	path := filepath.Join(t.TempDir(), "store", "writ.db")
	one, two, loose := agentOf(t, "one", 1, o), agentOf(t, "two", 2, o), agentOf(t, "loose", 3, o)
	if one.Definition.Digest() != two.Definition.Digest() {
		t.Fatal("the definitions differ, so the test shows nothing")
	}
	for exec, a := range map[string]*local.Agent{"a": one, "b": two, "unkept": loose} {
		rt, err := local.Open(t.Context(), path, a, o)
		if err != nil {
			t.Fatal(err)
		}
		if a != loose {
			if err := a.Keep(path, exec); err != nil {
				t.Fatal(err)
			}
		}
		r, err := rt.Engine.Start(t.Context(), engine.Request{Exec: exec, Definition: a.Definition, State: artifact.ObjectValue()})
		if err != nil || r.Status != store.Suspended {
			t.Fatal(r.Status, err)
		}
		rt.Close()
	}
	s, err := local.OpenStore(t.Context(), path, o.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()

	now = now.Add(time.Hour)
	all, err := local.NewFleet(path, s, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all.Engine(t.Context(), "unkept"); !errors.Is(err, local.ErrNotKept) {
		t.Errorf("a run without a copy: %v", err)
	}
	some, err := local.NewFleet(path, s, o, loose, two)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := some.Engine(t.Context(), "a"); !errors.Is(err, local.ErrNotNamed) {
		t.Errorf("a run of an agent that is not named: %v", err)
	}
	for _, c := range []struct {
		fleet  *local.Fleet
		exec   string
		result string
	}{{all, "a", "1"}, {some, "b", "2"}, {some, "unkept", "3"}} {
		e, err := c.fleet.Engine(t.Context(), c.exec)
		if err != nil {
			t.Fatal(c.exec, err)
		}
		r, err := e.Drive(t.Context(), c.exec)
		if err != nil || r.Result.String() != c.result {
			t.Errorf("%s: %s %s, want %s (%v)", c.exec, r.Status, r.Result, c.result, err)
		}
	}
}

// TestForgetLeavesWhatOthersHave: a copy goes with the last run that has it.
func TestForgetLeavesWhatOthersHave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "writ.db")
	one, two := agentOf(t, "one", 1, local.Options{}), agentOf(t, "two", 2, local.Options{})
	copies := func() int {
		files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "agents", "*.*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	for exec, a := range map[string]*local.Agent{"a": one, "b": one, "c": two} {
		if err := a.Keep(path, exec); err != nil {
			t.Fatal(err)
		}
	}
	if err := two.KeepNext(path, "b"); err != nil {
		t.Fatal(err)
	}
	kept, err := local.Kept(path, "b", local.Options{})
	before, errBefore := local.KeptBefore(path, "b", local.Options{})
	if err != nil || errBefore != nil || kept.ID != "two" || len(before) != 1 || before[0].ID != "one" {
		t.Fatalf("a migrated run: %v, %d before, %v %v", kept, len(before), err, errBefore)
	}
	for _, step := range []struct {
		forget []string
		copies int
	}{{nil, 2}, {[]string{"nobody"}, 2}, {[]string{"a", "a"}, 2}, {[]string{"b"}, 1}, {[]string{"c", "b"}, 0}} {
		if err := local.Forget(path, step.forget...); err != nil {
			t.Fatal(err)
		}
		if n := copies(); n != step.copies {
			t.Errorf("after forgetting %q: %d copies, want %d", step.forget, n, step.copies)
		}
	}
	if _, err := local.Kept(path, "a", local.Options{}); !errors.Is(err, local.ErrNotKept) {
		t.Error(err)
	}
}

// TestForgetBesideKeep forgets runs while others with the same agent are kept: what
// is kept stays.
func TestForgetBesideKeep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "writ.db")
	a := agentOf(t, "one", 1, local.Options{})
	const rounds = 100
	for i := range rounds {
		old, fresh := fmt.Sprint("old", i), fmt.Sprint("new", i)
		if err := a.Keep(path, old); err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		both.Go(func() {
			if err := local.Forget(path, old); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() {
			if err := a.Keep(path, fresh); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		if _, err := local.Kept(path, fresh, local.Options{}); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		if err := local.Forget(path, fresh); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSpendOnce: of all who ask at once, one is the first.
func TestSpendOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "writ.db")
	fresh := make(chan bool, 20)
	for range cap(fresh) {
		go func() {
			ok, err := local.Spend(path)(artifact.Sum([]byte("once")))
			if err != nil {
				t.Error(err)
			}
			fresh <- ok
		}()
	}
	first := 0
	for range cap(fresh) {
		if <-fresh {
			first++
		}
	}
	if first != 1 {
		t.Errorf("fresh for %d", first)
	}
	if ok, err := local.Spend(path)(artifact.Sum([]byte("another"))); err != nil || !ok {
		t.Error(ok, err)
	}
}
