package local_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

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

// TestMissingSecret: a secret that is not set fails the call, by name, and the
// graph may route by that.
func TestMissingSecret(t *testing.T) {
	report, err := start(t, local.Options{LookupEnv: func(string) (string, bool) { return "", false }})
	if err != nil || report.Result.String() != `"failed"` {
		t.Errorf("%s %s %v", report.Status, report.Result, err)
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

func TestOpenStoreMakesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "writ.db")
	if _, err := local.OpenStore(context.Background(), path, nil); !errors.Is(err, local.ErrNoStore) {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("a folder was made")
	}
}
