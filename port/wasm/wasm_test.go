package wasm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
)

func module(data []byte) Module {
	return Module{Open: func() ([]byte, error) { return data, nil }, Digest: artifact.Sum(data)}
}

func port(t *testing.T, m Module) *Port {
	t.Helper()
	p, err := New(map[string]Module{"m": m})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

func effect(t *testing.T, args string) engine.Effect {
	t.Helper()
	v, err := artifact.ParseValue([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	return engine.Effect{
		Key: "k", Port: Name, Name: "m", Kind: policy.KindWASM, Args: v, Permit: policy.Permit{Kind: policy.KindWASM, Name: "m"},
	}
}

func do(t *testing.T, p *Port, e engine.Effect) engine.Outcome {
	t.Helper()
	o, err := p.Do(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func expect(t *testing.T, o engine.Outcome, result string) {
	t.Helper()
	if o.Failed || o.Result.String() != result || o.Usage.Calls != 1 {
		t.Errorf("%+v, want %s", o, result)
	}
}

func expectFailure(t *testing.T, o engine.Outcome, class, part string) {
	t.Helper()
	if !o.Failed || o.Class != class || !strings.Contains(o.Error, part) || strings.Contains(o.Error, "\n") {
		t.Errorf("%+v, want class %s and %q", o, class, part)
	}
}

func TestCommand(t *testing.T) {
	p := port(t, module(copies()))
	for _, args := range []string{`{"a":[1,"ö",null]}`, `{"long":"` + strings.Repeat("x", 3*bufferSize) + `"}`, `{}`} {
		expect(t, do(t, p, effect(t, args)), args)
	}
	expect(t, do(t, port(t, module(says(`{"ok":true}`))), effect(t, `{}`)), `{"ok":true}`)
	expectFailure(t, do(t, port(t, module(says(`{"ok":`))), effect(t, `{}`)), "invalid", "the answer is not JSON")
	expectFailure(t, do(t, port(t, module(says(``))), effect(t, `{}`)), "invalid", "the answer is not JSON")
}

func TestLibrary(t *testing.T) {
	lib := func(alloc, run []byte) *Port {
		m := module(library(alloc, run))
		m.Export = "run"
		return port(t, m)
	}
	expect(t, do(t, lib(nil, nil), effect(t, `{"a":1}`)), `{"a":1}`)
	expectFailure(t, do(t, lib(constant(-1), nil), effect(t, `{"a":1}`)), "internal", "alloc gave a place outside")
	expectFailure(t, do(t, lib([]byte{opUnreachable}, nil), effect(t, `{}`)), "internal", "the module failed: wasm error: unreachable")
	expectFailure(t, do(t, lib(nil, []byte{opUnreachable}), effect(t, `{}`)), "internal", "unreachable")
	far := cat([]byte{opConst64}, signed(0x7fffffff<<32|8))
	expectFailure(t, do(t, lib(nil, far), effect(t, `{}`)), "internal", "the answer is outside the module's memory")
	long := cat([]byte{opConst64}, signed(MaxOutputBytes+1))
	expectFailure(t, do(t, lib(nil, long), effect(t, `{}`)), "invalid", "the answer is longer than 1048576 bytes")
}

func TestFailures(t *testing.T) {
	exits := assemble(1, wasi("fd_write", 4), function{module: "wasi_snapshot_preview1", name: "proc_exit", params: []byte{i32}},
		function{name: "_start", body: cat(put(bufferAt, "no luck\n"), write(2, constant(8)), call(1, 7))})
	expectFailure(t, do(t, port(t, module(exits)), effect(t, `{}`)), "internal", "the module exited with 7: no luck")
	traps := assemble(1, function{name: "_start", body: []byte{opUnreachable}})
	expectFailure(t, do(t, port(t, module(traps)), effect(t, `{}`)), "internal", "the module failed: ")
	deep := assemble(1, function{name: "_start", body: []byte{opCall, 0}})
	expectFailure(t, do(t, port(t, module(deep)), effect(t, `{}`)), "internal", "stack overflow")
	expectFailure(t, do(t, port(t, module(floods(1))), effect(t, `{}`)), "invalid", "the answer is longer than")
}

func TestRefused(t *testing.T) {
	clean := says("1")
	library1 := library(nil, nil)
	for part, c := range map[string]struct {
		data   []byte
		change func(*Module)
	}{
		"have another digest":              {clean, func(m *Module) { m.Digest[3]++ }},
		"cannot be read: no such module":   {clean, func(m *Module) { m.Open = func() ([]byte, error) { return nil, errors.New("no such module") } }},
		"the module is not valid":          {[]byte("\x00asm\x01\x00\x00\x00\xff"), nil},
		"does not export _start":           {library1, nil},
		"does not export walk(i32, i32)":   {library1, func(m *Module) { m.Export = "walk" }},
		"does not export alloc(i32) i32":   {clean, func(m *Module) { m.Export = "_start" }},
		`needs "system" of "env"`:          {assemble(1, function{module: "env", name: "system"}, function{name: "_start"}), nil},
		`needs "fd_read" of "wasi_unstab`:  {assemble(1, function{module: "wasi_unstable", name: "fd_read"}, function{name: "_start"}), nil},
		"min 300 pages (18 Mi) over limit": {assemble(300, function{name: "_start"}), nil},
		"has 67108865 bytes":               {make([]byte, MaxModuleBytes+1), nil},
	} {
		m := module(c.data)
		if c.change != nil {
			c.change(&m)
		}
		expectFailure(t, do(t, port(t, m), effect(t, `{}`)), "invalid", part)
	}
	p := port(t, module(clean))
	e := effect(t, `{}`)
	e.Permit = policy.Permit{}
	expectFailure(t, do(t, p, e), "invalid", "has no permit")
	e = effect(t, `{}`)
	e.Permit.MemoryBytes = 1 << 20
	expectFailure(t, do(t, p, e), "invalid", "its permit gives 1048576")
	e = effect(t, `{}`)
	e.Name, e.Permit.Name = "other", "other"
	expectFailure(t, do(t, p, e), "invalid", "there is no module other")
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectFailure(t, do(t, p, effect(t, `{}`)), "invalid", "the port is closed")
	for part, m := range map[string]Module{
		"nothing to open":       {Digest: artifact.Sum(nil)},
		"it has no digest":      {Open: module(nil).Open},
		"less than a page of 6": {Open: module(nil).Open, Digest: artifact.Sum(nil), MemoryBytes: 1000},
	} {
		if _, err := New(map[string]Module{"a": m}); err == nil || !strings.Contains(err.Error(), "module a: ") || !strings.Contains(err.Error(), part) {
			t.Errorf("%v, want %q", err, part)
		}
	}
}

func TestMemoryIsLimited(t *testing.T) {
	for _, c := range []struct {
		bytes uint64
		pages int64
		want  string
	}{
		{2 * pageBytes, 1, "true"}, {2 * pageBytes, 2, "false"}, {3*pageBytes - 1, 2, "false"}, {3 * pageBytes, 2, "true"},
		{0, policy.DefaultMemoryBytes/pageBytes - 1, "true"}, {0, policy.DefaultMemoryBytes / pageBytes, "false"},
	} {
		m := module(grows(c.pages))
		m.MemoryBytes = c.bytes
		expect(t, do(t, port(t, m), effect(t, `{}`)), c.want)
	}
}

func TestContextEnds(t *testing.T) {
	p := port(t, module(loops()))
	e := effect(t, `{}`)
	e.Permit.TimeoutMS = 1
	expectFailure(t, do(t, p, e), "timeout", "the module was ended at its deadline")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan engine.Outcome, 1)
	go func() {
		o, _ := p.Do(ctx, effect(t, `{}`))
		done <- o
	}()
	cancel()
	expectFailure(t, <-done, graph.ClassCancelled, "the module was ended with the run")
	o, err := p.Do(ctx, effect(t, `{}`))
	if err != nil {
		t.Fatal(err)
	}
	expectFailure(t, o, graph.ClassCancelled, "")
	flood := port(t, module(floods(2))) // standard error is dropped, and the time is up some day
	e = effect(t, `{}`)
	e.Permit.TimeoutMS = 1
	expectFailure(t, do(t, flood, e), "timeout", "")
}

func TestCompiledOnce(t *testing.T) {
	var opened atomic.Int32
	data := copies()
	m := module(data)
	broken := true
	m.Open = func() ([]byte, error) {
		if opened.Add(1); broken {
			return nil, errors.New("not now")
		}
		return data, nil
	}
	p := port(t, m)
	if opened.Load() != 0 {
		t.Error("a module is read before it is used")
	}
	expectFailure(t, do(t, p, effect(t, `{}`)), "invalid", "not now")
	broken = false
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			args := fmt.Sprintf(`{"n":%d}`, i)
			o, err := p.Do(context.Background(), effect(t, args))
			if err != nil || o.Result.String() != args {
				t.Errorf("%s: %+v, %v", args, o, err)
			}
		})
	}
	all.Wait()
	if opened.Load() != 2 {
		t.Errorf("read %d times", opened.Load())
	}
}

func TestTools(t *testing.T) {
	m := module(says("1"))
	m.MemoryBytes = 1 << 20
	p := port(t, m)
	tool := p.Tools()["m"]
	doc, err := policy.ReadPack([]byte("version: 2\nid: test\nwasm:\n  m: {module: "+m.Digest.String()+", memory_bytes: 1048576}\n"), "pack.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pol, _, err := policy.Compile(doc, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for part, change := range map[string]func(*Module){
		"": func(*Module) {}, "another digest": func(m *Module) { m.Digest[0]++ }, "bytes of memory": func(m *Module) { m.MemoryBytes++ },
	} {
		other := m
		change(&other)
		call, err := other.Shape(policy.Call{Kind: tool.Kind, Name: "m"})
		if err != nil {
			t.Fatal(err)
		}
		_, denial := pol.Authorize(call, nil)
		if (denial == nil) != (part == "") || denial != nil && !strings.Contains(denial.Message, part) {
			t.Errorf("%v, want %q", denial, part)
		}
	}
	if tool.Port != Name || !p.Idempotent(engine.Effect{}) {
		t.Errorf("%+v", tool)
	}
}

// TestWhatAModuleSees looks from inside. BADF, the error of what is not open, is 8.
func TestWhatAModuleSees(t *testing.T) {
	t.Setenv("PLANTED", "planted")
	m := module(looks())
	p := port(t, m)
	first := do(t, p, effect(t, `{}`))
	if got := first.Result.String(); first.Failed || !strings.HasPrefix(got, `["8","8","0","`) {
		t.Fatalf("%s, %s", got, first.Error)
	}
	if second := do(t, p, effect(t, `{}`)); second.Result.String() != first.Result.String() {
		t.Errorf("two runs differ: %s, %s", first.Result, second.Result)
	}
	for i, change := range map[int]func(*Module){3: func(m *Module) { m.Random = true }, 4: func(m *Module) { m.Clock = true }} {
		other := m
		change(&other)
		got := do(t, port(t, other), effect(t, `{}`)).Result.Elements()
		for k, v := range first.Result.Elements() {
			if same := got[k].Equal(v); same != (k != i) {
				t.Errorf("element %d is %s and %s", k, v, got[k])
			}
		}
	}
}

// TestSleepEnds has a module with a clock that sleeps for an hour.
func TestSleepEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	sleep(ctx, int64(time.Hour)) // returns at once
	sleep(t.Context(), 1)
}

// TestRealCompiler runs a program that looks around more thoroughly.
func TestRealCompiler(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("compiles a program, which takes long with the race detector")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go tool")
	}
	binary := filepath.Join(t.TempDir(), "look.wasm")
	build := exec.Command(goTool, "build", "-ldflags=-s -w", "-o", binary, filepath.Join("testdata", "look.go"))
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PLANTED", "planted")
	m := module(data)
	m.MemoryBytes = 64 << 20
	p := port(t, m)
	first := do(t, p, effect(t, `{"n":1}`))
	if first.Failed {
		t.Fatal(first.Error)
	}
	for name, want := range map[string]string{
		"input": `{"n":1}`, "root": `false`, "file": `false`, "written": `false`, "env": `0`, "args": `0`, "slept": `true`,
	} {
		if v, _ := first.Result.Get(name); v.String() != want {
			t.Errorf("%s: %s, want %s", name, v, want)
		}
	}
	if second := do(t, p, effect(t, `{"n":1}`)); second.Result.String() != first.Result.String() {
		t.Errorf("two runs differ: %s, %s", first.Result, second.Result)
	}
}
