package local_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/local"
	"github.com/writ-dev/writ/store"
)

const program = `version: 1
id: program
graph:
  state: {/out: string?, /code: number?}
  entry: call
  limits: {max_steps: 5, timeout: 1m}
  nodes:
    call:
      tool: show
      set: {/out: =result.stdout, /code: =result.exit_code}
      next: done
      routes: {failed: gone}
    done: {end: {out: =state.out, code: =state.code}, reads: [/out, /code]}
    gone: {end: failed}
pack:
  limits: {steps: 5, calls: 2}
  exec:
    show:
      program: /bin/sh
      args: [-c, 'printf %s "${#TOKEN}"']
      env: [TOKEN]
      limits: {calls: 2}
  blobs: {effect: 30d}
tools:
  show:
    command:
      program: /bin/sh
      args: [-c, 'printf %s "${#TOKEN}"']
      secrets: {TOKEN: api}
secrets:
  api: {env: API_TOKEN}
`

// start writes the agent file into a new folder, goes there and starts a run.
func start(t *testing.T, o local.Options) (engine.Report, error) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("runs /bin/sh")
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("agent.yaml", []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	agent, err := local.ReadAgent("agent.yaml", o)
	if err != nil {
		t.Fatal(err)
	}
	rt, err := local.Open(t.Context(), "store/writ.db", agent, o)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	if err := agent.Keep("store/writ.db", "run"); err != nil {
		t.Fatal(err)
	}
	return rt.Engine.Start(t.Context(), engine.Request{Exec: "run", Definition: agent.Definition, State: artifact.ObjectValue(), By: "sam"})
}

// TestSecretsStayOut: a program gets its secret, and no file has it.
func TestSecretsStayOut(t *testing.T) {
	const secret = "planted-2f8e61c0"
	report, err := start(t, local.Options{LookupEnv: func(name string) (string, bool) { return secret, name == "API_TOKEN" }})
	if err != nil || report.Status != store.Terminated {
		t.Fatal(report.Status, report.Error, err)
	}
	if got := report.Result.String(); got != `{"out":"16","code":0}` && got != `{"code":0,"out":"16"}` {
		t.Errorf("result %s", got)
	}
	files := 0
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("%s has the secret", path)
		}
		return err
	})
	if err != nil || files < 4 {
		t.Fatalf("%d files: %v", files, err)
	}
}

// TestMissingSecret: a secret that is not set, or empty, fails the call, by name, and
// the graph may route by that.
func TestMissingSecret(t *testing.T) {
	for _, set := range []bool{false, true} {
		report, err := start(t, local.Options{LookupEnv: func(string) (string, bool) { return "", set }})
		if err != nil || report.Result.String() != `"failed"` {
			t.Errorf("%s %s %v", report.Status, report.Result, err)
		}
	}
}

// TestCheckSecrets: an empty secret is none, and no value is said.
func TestCheckSecrets(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "agent.yaml", []byte(program))
	agent, err := local.ReadAgent("agent.yaml", local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		value string
		set   bool
		want  string
	}{
		{"", false, "agent.yaml:31:3: secret api: API_TOKEN is not set, and it is needed by show; export it"},
		{"", true, "agent.yaml:31:3: secret api: API_TOKEN is empty, and it is needed by show; export it"},
		{"planted-2f8e61c0", true, ""},
	} {
		err := agent.CheckSecrets(local.Options{LookupEnv: func(name string) (string, bool) { return c.value, c.set && name == "API_TOKEN" }})
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%q: %v, want %s", c.value, err, c.want)
		}
	}
}

// TestKept: a run finds the agent that it began with, after the file is gone, and
// never one that was changed.
func TestKept(t *testing.T) {
	if _, err := start(t, local.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove("agent.yaml"); err != nil {
		t.Fatal(err)
	}
	agent, err := local.Kept("store/writ.db", "run", local.Options{})
	if err != nil || agent.ID != "program" || agent.Source != "agent.yaml" {
		t.Fatalf("%+v %v", agent, err)
	}
	if _, err := local.Kept("store/writ.db", "other", local.Options{}); !errors.Is(err, local.ErrNotKept) {
		t.Errorf("of another run: %v", err)
	}
	copies, err := filepath.Glob("store/agents/*.json")
	if err != nil || len(copies) != 1 {
		t.Fatalf("%q %v", copies, err)
	}
	if info, err := os.Stat(copies[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(copies[0], []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := local.Kept("store/writ.db", "run", local.Options{}); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("changed: %v", err)
	}
}

// TestExpiredPack: no run is started under it, and runs that were can be ended.
func TestExpiredPack(t *testing.T) {
	t.Chdir(t.TempDir())
	text := strings.Replace(program, "  limits: {steps: 5, calls: 2}", "  expires: 2030-01-01T00:00:00Z\n  limits: {steps: 5, calls: 2}", 1)
	if err := os.WriteFile("agent.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(year int) local.Options {
		return local.Options{Now: func() time.Time { return time.Date(year, 1, 2, 0, 0, 0, 0, time.UTC) }}
	}
	agent, err := local.ReadAgent("agent.yaml", at(2029))
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Keep("writ.db", "run"); err != nil {
		t.Fatal(err)
	}
	if _, err := local.ReadAgent("agent.yaml", at(2031)); err == nil || !strings.Contains(err.Error(), "expired at 2030-01-01") {
		t.Errorf("a new run: %v", err)
	}
	if _, err := local.Kept("writ.db", "run", at(2031)); err != nil {
		t.Errorf("a run that was started before: %v", err)
	}
}

// module is a WebAssembly library whose function run answers {"ok":true}.
const module = "0061736d01000000010c0260017f017f60027f7f017e03030200010503010001071803066d656d6f7279020005616c6c6f63" +
	"00000372756e00010a110205004180080b0900428b80808080020b0b11010041100b0b7b226f6b223a747275657d"

// TestModule: a module runs as a tool, and is kept with the agent although it is no
// text.
func TestModule(t *testing.T) {
	t.Chdir(t.TempDir())
	code, err := hex.DecodeString(module)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("DIGEST", artifact.Sum(code).String()).Replace(`version: 1
id: module
graph:
  state: {/ok: bool?}
  entry: call
  limits: {max_steps: 3, timeout: 1m}
  nodes:
    call: {tool: code, set: {/ok: =result.ok}, next: done}
    done: {end: =state.ok, reads: [/ok]}
pack:
  limits: {steps: 3, calls: 1}
  wasm: {code: {module: DIGEST, limits: {calls: 1}}}
tools:
  code: {wasm: {file: code.wasm, function: run}}
`)
	for name, data := range map[string][]byte{"agent.yaml": []byte(text), "code.wasm": code} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	agent, err := local.ReadAgent("agent.yaml", local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Keep("writ.db", "run"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove("code.wasm"); err != nil {
		t.Fatal(err)
	}
	if agent, err = local.Kept("writ.db", "run", local.Options{}); err != nil {
		t.Fatal(err)
	}
	rt, err := local.Open(t.Context(), "writ.db", agent, local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	report, err := rt.Engine.Start(t.Context(), engine.Request{Exec: "run", Definition: agent.Definition, State: artifact.ObjectValue(), By: "sam"})
	if err != nil || report.Result.String() != "true" {
		t.Errorf("%s %s %s %v", report.Status, report.Result, report.Error, err)
	}
}

func TestOpenStoreMakesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "writ.db")
	if _, err := local.OpenStore(context.Background(), path, nil); !errors.Is(err, local.ErrNoStore) {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("a folder was made")
	}
}

// TestTwoStoresOfAFolder keeps agents for runs of one id in two stores.
func TestTwoStoresOfAFolder(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) *local.Agent {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := local.ReadAgent(path, local.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	const text = "version: 1\nid: ID\ngraph: {state: {/n: number?}, entry: d, limits: {max_steps: 5, timeout: 1h}, nodes: {d: {end: 1}}}\npack: {}\n"
	for _, name := range []string{"one", "two"} {
		if err := write(name+".yaml", strings.Replace(text, "ID", name, 1)).Keep(filepath.Join(dir, name+".db"), "run"); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"one", "two"} {
		a, err := local.Kept(filepath.Join(dir, name+".db"), "run", local.Options{})
		if err != nil || a.ID != name {
			t.Errorf("%s: %v %v", name, a, err)
		}
	}
}

// TestFleetWithoutSecrets leaves runs alone whose secrets are not there.
func TestFleetWithoutSecrets(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "agent.yaml")
	const text = `version: 1
id: paying
graph: {state: {/n: number?}, entry: w, limits: {max_steps: 5, timeout: 1h}, nodes: {w: {wait: {for: 1m}, next: p}, p: {tool: post, args: {method: POST, url: "https://pay.example.com/"}, next: d}, d: {end: 1}}}
pack: {http: {post: {hosts: [pay.example.com], methods: [POST]}}}
secrets: {token: {env: PAY_TOKEN}}
tools: {post: {http: {secrets: {Authorization: {handle: token, prefix: "Bearer "}}}}}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	value := ""
	o := local.Options{LookupEnv: func(string) (string, bool) { return value, value != "" }}
	agent, err := local.ReadAgent(path, o)
	if err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(dir, "writ.db")
	rt, err := local.Open(t.Context(), db, agent, o)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	if err := agent.Keep(db, "run"); err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Engine.Start(t.Context(), engine.Request{Exec: "run", Definition: agent.Definition, State: artifact.ObjectValue()}); err != nil {
		t.Fatal(err)
	}
	fleet, err := local.NewFleet(db, rt.Store, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.Engine(t.Context(), "run"); err == nil || !strings.Contains(err.Error(), "PAY_TOKEN is not set") {
		t.Errorf("without its secret: %v", err)
	}
	value = "s3cret"
	if _, err := fleet.Engine(t.Context(), "run"); err != nil {
		t.Errorf("with its secret: %v", err)
	}
}
