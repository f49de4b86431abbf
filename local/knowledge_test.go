package local_test

import (
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/fetch"
	"github.com/writ-dev/writ/local"
	"github.com/writ-dev/writ/store"
)

const asking = `version: 1
id: asking
graph:
  state: {/found: object?, /late: object?}
  entry: first
  limits: {max_steps: 9, timeout: 1h}
  nodes:
    first: {retrieve: book, args: {task: install}, set: {/found: =result}, next: pause, routes: {failed: broken, denied: no}}
    pause: {wait: {event: go}, next: second}
    second: {retrieve: book, args: {task: install}, set: {/late: =result}, next: done, routes: {failed: broken}}
    done: {end: "=[state.found, state.late].map(r, r.documents.map(d, d.text))", reads: [/found, /late]}
    broken: {end: failed}
    no: {end: denied}
pack:
  retrieve: {book: {manifests: [docs/knowledge.yaml]}}
  events: {go: {}}
  blobs: {effect: 30d}
knowledge:
  book:
    manifest: docs/knowledge.yaml
`

const book = "project: p\nunits:\n  - {id: install, path: install.md, intent: How to install it}\n"

// write writes files below the current folder.
func writeAll(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// open opens the store with the agent of the file, or of a run.
func open(t *testing.T, exec string, o local.Options) (*local.Runtime, *local.Agent) {
	t.Helper()
	agent, err := local.ReadAgent("agent.yaml", o)
	if exec != "" {
		agent, err = local.Kept("store/writ.db", exec, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	rt, err := local.Open(t.Context(), "store/writ.db", agent, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	return rt, agent
}

func begin(t *testing.T, o local.Options) engine.Report {
	t.Helper()
	rt, agent := open(t, "", o)
	defer rt.Close()
	if err := agent.Keep("store/writ.db", "run"); err != nil {
		t.Fatal(err)
	}
	r, err := rt.Engine.Start(t.Context(), engine.Request{Exec: "run", Definition: agent.Definition, State: artifact.ObjectValue(), By: "sam"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestKnowledgeOfTheMoment: a run that waits keeps its agent, not its knowledge.
// What a node finds is what is there then, and the record has both.
func TestKnowledgeOfTheMoment(t *testing.T) {
	t.Chdir(t.TempDir())
	writeAll(t, map[string]string{"agent.yaml": asking, "docs/knowledge.yaml": book, "docs/install.md": "Run it."})
	if r := begin(t, local.Options{}); r.Status != store.Suspended {
		t.Fatalf("%s %s", r.Status, r.Error)
	}
	writeAll(t, map[string]string{"agent.yaml": "nonsense", "docs/install.md": "Run it twice."})
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "store", "writ.db")
	t.Chdir(t.TempDir()) // the names are those of the agent file, wherever somebody goes on
	agent, err := local.Kept(path, "run", local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := local.Open(t.Context(), path, agent, local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	r, err := rt.Engine.Signal(t.Context(), "run", engine.Signal{Name: "go", ID: "1"})
	if err != nil || r.Result.String() != `[["Run it."],["Run it twice."]]` {
		t.Fatalf("%s %s %v", r.Result, r.Error, err)
	}
	if err := os.RemoveAll(filepath.Join(agent.Dir, "docs")); err != nil {
		t.Fatal(err)
	}
	v, err := rt.Engine.Replay(t.Context(), "run", engine.ReplayOptions{Mode: engine.MockedEffects})
	if err != nil || !v.Faithful() || !v.Ended {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestTheDayOfTheNode: a plan without a date of its own is made as of the engine's
// day, in UTC.
func TestTheDayOfTheNode(t *testing.T) {
	t.Chdir(t.TempDir())
	writeAll(t, map[string]string{
		"agent.yaml": asking, "docs/install.md": "Old.", "docs/new.md": "New.",
		"docs/knowledge.yaml": "project: p\nunits:\n" +
			"  - {id: old, path: install.md, intent: How to install it, temporal: {valid_until: '2026-07-06'}}\n" +
			"  - {id: new, path: new.md, intent: How to install it, temporal: {valid_from: '2026-07-07'}}\n",
	})
	now := time.Date(2026, 7, 6, 23, 0, 0, 0, time.UTC)
	o := local.Options{Now: func() time.Time { return now }}
	begin(t, o)
	now = now.Add(2 * time.Hour)
	rt, _ := open(t, "run", o)
	r, err := rt.Engine.Signal(t.Context(), "run", engine.Signal{Name: "go", ID: "1"})
	if err != nil || r.Result.String() != `[["Old."],["New."]]` {
		t.Errorf("%s %s %v", r.Result, r.Error, err)
	}
}

// TestTrustIsKept: the key that vouches is the one of the run's beginning.
func TestTrustIsKept(t *testing.T) {
	const key = "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
	t.Chdir(t.TempDir())
	writeAll(t, map[string]string{
		"agent.yaml": asking + "    require_signature: true\n    trust_key: publisher.pub\n", "publisher.pub": key, "docs/knowledge.yaml": book, "docs/install.md": "Run it.",
	})
	if r := begin(t, local.Options{}); r.Result.String() != `"failed"` {
		t.Fatalf("an unsigned manifest: %s", r.Result)
	}
	writeAll(t, map[string]string{"publisher.pub": "no key"})
	_, agent := open(t, "run", local.Options{})
	if agent.Knowledge["book"].TrustKey != key {
		t.Errorf("%+v", agent.Knowledge)
	}
}

// TestFolderBoundsKnowledge: what the agent file names is read below its folder, and
// symbolic links do not lead out of it.
func TestFolderBoundsKnowledge(t *testing.T) {
	t.Chdir(t.TempDir())
	writeAll(t, map[string]string{"agents/agent.yaml": "", "outside/knowledge.yaml": book, "outside/install.md": "Outside."})
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"absolute": strings.ReplaceAll(asking, "docs/knowledge.yaml", filepath.ToSlash(filepath.Join(dir, "outside", "knowledge.yaml"))),
		"link":     asking,
	} {
		writeAll(t, map[string]string{"agents/agent.yaml": text})
		if err := os.Symlink(filepath.Join("..", "outside"), "agents/docs"); err != nil && !os.IsExist(err) {
			t.Skip(err)
		}
		agent, err := local.ReadAgent("agents/agent.yaml", local.Options{})
		if err != nil {
			if name == "absolute" && strings.Contains(err.Error(), "is outside of") {
				continue
			}
			t.Fatal(err)
		}
		_, err = agent.CheckKnowledge(t.Context())
		if err == nil || !strings.Contains(err.Error(), "agents/agent.yaml:20:15: knowledge book: ") || !strings.Contains(err.Error(), "outside the root directory") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A wider root is for the agent file to say.
	text := strings.ReplaceAll(asking, "docs/knowledge.yaml", "../outside/knowledge.yaml") + "    root: ..\n"
	writeAll(t, map[string]string{"agents/agent.yaml": text})
	agent, err := local.ReadAgent("agents/agent.yaml", local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	known, err := agent.CheckKnowledge(t.Context())
	if err != nil || len(known) != 1 || known[0].Name != "book" || known[0].Digest != artifact.Sum([]byte(book)) {
		t.Errorf("%+v, %v", known, err)
	}
}

// TestKnowledgeOverTheNetwork: through the guard, which lets nobody reach this
// machine unless the agent file says so.
func TestKnowledgeOverTheNetwork(t *testing.T) {
	asked := 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		files := map[string]string{"/docs/knowledge.yaml": book, "/docs/install.md": "From afar."}
		w.Write([]byte(files[r.URL.Path]))
	}))
	defer server.Close()
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	o := local.Options{Network: fetch.Options{RootCAs: pool}}
	text := strings.ReplaceAll(asking, "docs/knowledge.yaml", server.URL+"/docs/knowledge.yaml")
	for more, want := range map[string]string{"    private_hosts: true\n": "suspended", "": "terminated"} {
		t.Chdir(t.TempDir())
		writeAll(t, map[string]string{"agent.yaml": text + more})
		before := asked
		r := begin(t, o)
		if string(r.Status) != want || (asked > before) != (more != "") {
			t.Errorf("%q: %s %s, asked %d times", more, r.Status, r.Result, asked-before)
		}
		if more == "" {
			if r.Result.Text() != "failed" {
				t.Errorf("%s", r.Result)
			}
			continue
		}
		rt, agent := open(t, "run", o)
		if known, err := agent.CheckKnowledge(t.Context()); err != nil || known != nil {
			t.Errorf("a check goes to the network: %v, %v", known, err)
		}
		if r, err := rt.Engine.Signal(t.Context(), "run", engine.Signal{Name: "go", ID: "1"}); err != nil || r.Result.String() != `[["From afar."],["From afar."]]` {
			t.Errorf("%s %v", r.Result, err)
		}
	}
}

// TestDamagedTrustList: a list of pinned publishers that cannot be read lifts no
// pin.
func TestDamagedTrustList(t *testing.T) {
	t.Chdir(t.TempDir())
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	t.Setenv("HOME", config)
	t.Setenv("AppData", config)
	dir, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, map[string]string{"agent.yaml": asking, "docs/knowledge.yaml": book, filepath.Join(dir, "writ", "trust.json"): "{"})
	if _, err := local.ReadAgent("agent.yaml", local.Options{}); err == nil || !strings.Contains(err.Error(), "the trust list is damaged") {
		t.Errorf("%v", err)
	}
}
