package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/writ-dev/writ/artifact"
)

// TestPlanDigest: the digest that a retrieval records is that of the plan which
// `writ plan --json` prints for the same question.
func TestPlanDigest(t *testing.T) {
	research, err := filepath.Abs(filepath.Join(agents, "research"))
	must(t, err)
	t.Chdir(t.TempDir())
	must(t, os.CopyFS(".", os.DirFS(research)))
	term := terminal{env: map[string]string{"WRIT_STORE": "store/writ.db"}}
	const question = "How many planners does a server carry, as measured?"
	if got := term.writ("run", "agent.yaml", "--id", "ask", "--as", "sam", "--input", `{"question": "`+question+`"}`); got.exit != 0 {
		t.Fatal(got)
	}
	state := term.writ("runs", "state", "ask", "--at", "7")
	var recorded struct {
		Found struct {
			Plan     struct{ Digest string }
			Manifest struct{ SHA256 string }
		}
	}
	if err := json.Unmarshal([]byte(state.stdout), &recorded); err != nil {
		t.Fatalf("%v: %+v", err, state)
	}
	plan := term.writ("plan", question, "--manifest", "handbook/knowledge.yaml", "--role", "operator", "--methods", "free,x402",
		"--budget", "0.30", "--currency", "USDC", "--max-units", "2", "--context-budget", "600", "--json")
	if digest := artifact.Sum([]byte(plan.stdout)).String(); digest != recorded.Found.Plan.Digest {
		t.Errorf("recorded %s, the plan has %s\n%s", recorded.Found.Plan.Digest, digest, plan.stdout)
	}
	data, err := os.ReadFile("handbook/knowledge.yaml")
	must(t, err)
	if artifact.Sum(data).Hex() != recorded.Found.Manifest.SHA256 {
		t.Errorf("manifest %s", recorded.Found.Manifest.SHA256)
	}
}
