package cli_test

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-dev/writ/keys"
)

// inAgent goes to a copy of an example agent.
func inAgent(t *testing.T, name string) {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join(agents, name))
	must(t, err)
	to := t.TempDir()
	must(t, os.CopyFS(to, os.DirFS(dir)))
	t.Chdir(to)
}

// TestRunProgress: on a terminal, the progress of a run goes to standard error, and
// standard output is the same as elsewhere.
func TestRunProgress(t *testing.T) {
	inAgent(t, "budget")
	env := map[string]string{"NO_COLOR": "1"}
	got := terminal{width: 100, env: env}.writ("run", "agent.yaml", "--id", "a", "--as", "sam", "--input", "topic: tides")
	want := `  ▸ search
  · search  performs an effect  by pack examples.budget: tools.search
  ✓ search  → search  left 49 steps, 19 calls, 0 tokens, 0.0026 USD
  ▸ search visit 2
  · search visit 2  performs an effect  by pack examples.budget: tools.search
  ✓ search visit 2  → search  left 48 steps, 18 calls, 0 tokens, 0.0017 USD
  ▸ search visit 3
  · search visit 3  performs an effect  by pack examples.budget: tools.search
  ✓ search visit 3  → search  left 47 steps, 17 calls, 0 tokens, 0.0008 USD
  ▸ search visit 4
  ✗ search visit 4  refused: needs 1000 micros of USD, and of 3500 2700 are used or reserved
      (budget_exhausted)
  ✓ search visit 4  → partial  left 46 steps, 17 calls, 0 tokens, 0.0008 USD
  ▸ partial
`
	if got.stderr != want {
		t.Errorf("progress\n%s\nwant\n%s", got.stderr, want)
	}
	checkShape(t, 100, got.stderr)
	checkShape(t, 100, got.stdout)
	quiet := terminal{env: env}.writ("run", "agent.yaml", "--id", "b", "--as", "sam", "--input", "topic: tides")
	if quiet.stderr != "" || !strings.Contains(quiet.stdout, "terminated  b") {
		t.Errorf("without a terminal: %+v", quiet)
	}
}

// TestEventsAsLines: --json gives the stored bytes, which verify accepts as they
// are, and a report behind them.
func TestEventsAsLines(t *testing.T) {
	inAgent(t, "handoff")
	got := writ("run", "agent.yaml", "--id", "a", "--json", "--input", "question: How deep is the harbour?")
	if got.exit != 0 || got.stderr != "" {
		t.Fatalf("%+v", got)
	}
	lines := strings.Split(strings.TrimSuffix(got.stdout, "\n"), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, `{"kind":"report","run":"a","status":"terminated"`) {
		t.Errorf("last line %s", last)
	}
	own, stored := "", writ("runs", "events", "a", "--json").stdout
	children := map[string]bool{}
	for _, line := range lines[:len(lines)-1] {
		if strings.Contains(line, `"exec":"a","node"`) {
			own += line + "\n"
		} else {
			children[line[strings.Index(line, `"exec":"`):][:20]] = true
		}
	}
	if own != stored {
		t.Error("the lines are not the stored bytes")
	}
	if len(children) != 2 {
		t.Errorf("%d called runs", len(children))
	}
	if v := (terminal{stdin: own + lines[len(lines)-1]}).writ("verify", "-"); v.exit != 0 || !strings.Contains(v.stdout, "intact, unanchored  15 events") {
		t.Errorf("verify: %+v", v)
	}
}

// TestSuspendedExit: a run that waits has an exit code of its own, and its tokens
// are in the output once.
func TestSuspendedExit(t *testing.T) {
	inAgent(t, "approval")
	got := writ("run", "agent.yaml", "--id", "a", "--as", "sam", "--input", "ticket: x")
	if got.exit != 3 || strings.Count(got.stdout, "wt_") != 1 {
		t.Errorf("%+v", got)
	}
	token := got.stdout[strings.Index(got.stdout, "wt_"):][:35]
	for _, args := range [][]string{{"runs", "show", "a"}, {"runs", "events", "a", "--json"}, {"approvals", "show", "a"}, {"approvals", "--json"}} {
		if shown := writ(args...); shown.exit != 0 || strings.Contains(shown.stdout, token) {
			t.Errorf("%q: exit %d, or it shows the token", args, shown.exit)
		}
	}
	data, err := os.ReadFile(filepath.Join(".writ", "writ.db"))
	must(t, err)
	if strings.Contains(string(data), token) {
		t.Error("the store has the token")
	}
}

// TestApprovalByKey: a pack that asks for keys takes the signature of an approver
// whom the agent file names, under that name, and no other one.
func TestApprovalByKey(t *testing.T) {
	inAgent(t, "claims")
	public := map[string]string{}
	for _, who := range []string{"ann", "bob", "eve"} {
		private, err := keys.CreateFile(who+".key", nil)
		must(t, err)
		public[who] = keys.Text(private.Public().(ed25519.PublicKey))
	}
	data, err := os.ReadFile("agent.yaml")
	must(t, err)
	text := strings.ReplaceAll(string(data), "minimum_method: token", "minimum_method: key") +
		"approvers:\n  ann: " + public["ann"] + "\n  bob: " + public["bob"] + "\n"
	must(t, os.WriteFile("agent.yaml", []byte(text), 0o600))
	if got := writ("run", "agent.yaml", "--id", "a", "--as", "sam", "--input", `{"subject": "x", "statement": "y"}`); got.exit != 3 {
		t.Fatalf("%+v", got)
	}
	for _, step := range []struct {
		args []string
		exit int
		says string
	}{
		{[]string{"--key", "eve.key"}, 1, "the agent file names no approver with this key"},
		{[]string{"--as", "ann"}, 1, "approval_too_weak"},
		{[]string{"--key", "ann.key"}, 3, "1 of 2 approvers"},
		{[]string{"--key", "ann.key"}, 1, "already_used"},
		{[]string{"--key", "bob.key", "--reason", "checked"}, 0, "terminated  a"},
	} {
		got := writ(append([]string{"approvals", "approve", "a"}, step.args...)...)
		if got.exit != step.exit || !strings.Contains(got.stdout+got.stderr, step.says) {
			t.Errorf("%q: exit %d, want %d and %q\n%s%s", step.args, got.exit, step.exit, step.says, got.stdout, got.stderr)
		}
	}
	if events := writ("runs", "events", "a").stdout; !strings.Contains(events, "approve by bob (key), 2 of 2: approved") {
		t.Error(events)
	}
}
