package kcp

import (
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// agentFinding is a finding as the reference agent writes it.
type agentFinding struct {
	Level   Severity `json:"level"`
	Where   string   `json:"where"`
	Message string   `json:"message"`
}

func asAgentFindings(findings []Finding) []agentFinding {
	list := []agentFinding{}
	for _, f := range findings {
		list = append(list, agentFinding{f.Severity, f.Where, f.Message})
	}
	return list
}

type agentRecord struct {
	Name, Manifest, ManifestPath, GeneratedOn, Error string

	Findings []agentFinding
	Report   struct {
		Project  string
		Findings []agentFinding
	}
}

func TestAgentRulesMatchReference(t *testing.T) {
	examples := filepath.Join(fixtures(t), "examples")
	matched, deviated := 0, 0
	for _, r := range records[agentRecord](t, "vectors", "differential", "validate.jsonl") {
		o := ValidateOptions{Now: r.GeneratedOn, Rules: Agent}
		text, want := []byte(r.Manifest), r.Findings
		if r.ManifestPath != "" {
			var err error
			if text, err = os.ReadFile(filepath.Join(examples, r.ManifestPath)); err != nil {
				t.Fatal(err)
			}
			want = r.Report.Findings
			o.Exists = func(unit string) bool {
				_, err := os.Stat(filepath.Join(examples, path.Dir(r.ManifestPath), unit))
				return err == nil
			}
		}
		m, _, err := Parse(text, r.ManifestPath)
		if err != nil {
			t.Errorf("%s %s: %v", r.Name, r.ManifestPath, err)
			continue
		}
		got := asAgentFindings(Validate(m, o))
		if r.Error != "" {
			// The reference throws on a path pattern with "?", which is literal here.
			if len(got) != 0 {
				t.Errorf("%s: findings %v, want none", r.Name, got)
			}
			deviated++
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %s (-want +got)\n%s", r.Name, r.ManifestPath, diff)
			continue
		}
		matched++
	}
	t.Logf("validate.jsonl: %d matched, %d deviated by name (crash-glob)", matched, deviated)
}
