package draft

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/planner"
)

var update = flag.Bool("update", false, "rewrite the expected drafts")

const today = "2026-07-06"

// TestLLMsTxt converts the awkward files in testdata/llms. What each becomes
// stands beside it; docs/publishing.md says the rules.
func TestLLMsTxt(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "llms", "*.txt"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			d, err := FromLLMsTxt(data, LLMsOptions{Location: "llms.txt", Today: today})
			got := ""
			if err != nil {
				got = "error: " + err.Error() + "\n"
			} else {
				got = d.Text()
				checkDraft(t, d)
			}
			golden(t, strings.TrimSuffix(file, ".txt")+".want", got)
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and look at the change\n--- got\n%s\n--- want\n%s", file, got, want)
	}
}

// checkDraft holds what every draft promises: its text is a manifest without a
// finding, and says exactly what the draft does.
func checkDraft(t *testing.T, d *Draft) {
	t.Helper()
	text := d.Text()
	m, findings, err := kcp.Parse([]byte(text), "knowledge.yaml")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, rules := range []kcp.Rules{kcp.Agent, kcp.Spec} {
		findings = append(findings, kcp.Validate(m, kcp.ValidateOptions{Now: today, Rules: rules})...)
	}
	for _, f := range findings {
		t.Errorf("%s: %s\n%s", f.Path, f.Message, text)
	}
	if m.Project != d.Project || m.Version != d.Version || len(m.Units) != len(d.Units) {
		t.Fatalf("project %q, version %q, %d units; want %q, %q, %d", m.Project, m.Version, len(m.Units), d.Project, d.Version, len(d.Units))
	}
	for i := range m.Units {
		got, want := &m.Units[i], &d.Units[i]
		if got.ID != want.ID || got.Path != want.Path || got.Intent != want.Intent ||
			fmt.Sprint(got.Triggers.Items) != fmt.Sprint(want.Triggers) {
			t.Errorf("unit %d: %+v, want %+v", i, got, want)
		}
		if problem := kcp.SafeUnitPath(got.Path); problem != "" {
			t.Errorf("path %q: %s", got.Path, problem)
		}
	}
}

// TestLLMsTxtFromAnAddress resolves relative links against where the text was
// found.
func TestLLMsTxtFromAnAddress(t *testing.T) {
	text := "# Harbour\n\n## Guides\n\n- [Berths](berths.md)\n- [Tides](/water/tides.md)\n- [Up](../up.md)\n- [Other](https://other.example/x)\n"
	d, err := FromLLMsTxt([]byte(text), LLMsOptions{Location: "https://harbour.example/docs/llms.txt", Today: today})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, u := range d.Units {
		paths = append(paths, u.Path)
	}
	if got := strings.Join(paths, " "); got != "docs/berths.md water/tides.md up.md" {
		t.Errorf("paths %s", got)
	}
}

// TestHugeLLMsTxt bounds what is converted, and refuses what is no llms.txt.
func TestHugeLLMsTxt(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Harbour\n\n## Guides\n\n")
	for i := range maxLLMsTxtLinks + 50 {
		fmt.Fprintf(&b, "- [Berth %d](berths/%d.md): Where berth %d is\n", i, i, i)
	}
	d, err := FromLLMsTxt([]byte(b.String()), LLMsOptions{Today: today})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Units) != maxLLMsTxtLinks || !strings.Contains(d.Text(), "# 50 link(s) beyond the first 10000 were left out.") {
		t.Errorf("%d units, notes %q", len(d.Units), d.Notes)
	}
	checkDraft(t, d)
	for name, text := range map[string]string{
		"too large":       strings.Repeat("x", maxLLMsTxtBytes+1),
		"binary":          "PK\x03\x04\x00\x00" + strings.Repeat("\xff", 50),
		"one long line":   "- " + strings.Repeat("[", 500_000),
		"open brackets":   "- " + strings.Repeat("[a](", 100_000),
		"open backticks":  "- " + strings.Repeat("`a``", 100_000),
		"nested brackets": "- " + strings.Repeat("[", 20_000) + strings.Repeat("](", 20_000),
	} {
		if d, err := FromLLMsTxt([]byte(text), LLMsOptions{}); err == nil {
			t.Errorf("%s: %d units", name, len(d.Units))
		}
	}
}

// TestConvertedLLMsTxtPlans asks the obvious questions.
func TestConvertedLLMsTxtPlans(t *testing.T) {
	text := "# Harbour\n\n> Ships and berths.\n\n## Guides\n\n- [Berths](berths.md): Where a ship may lie\n- [Tides](tides.md): When the water is high\n\n## Optional\n\n- [History](history.md): How the harbour was built\n"
	d, err := FromLLMsTxt([]byte(text), LLMsOptions{Today: today})
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := kcp.Parse([]byte(d.Text()), "knowledge.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for task, want := range map[string]string{"where may my ship lie?": "berths", "when is high water": "tides", "history of the harbour": "history"} {
		plan, _ := planner.Plan(m, task, planner.Options{AsOf: today})
		if len(plan.Selected) == 0 || plan.Selected[0].ID != want || !plan.Selected[0].LoadEligible {
			t.Errorf("%s selects %+v, want %s first", task, plan.Selected, want)
		}
	}
}

// FuzzLLMsTxt says what any text becomes: an error, or a manifest that says
// exactly what the draft does and has no finding.
func FuzzLLMsTxt(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join("testdata", "llms", "*.txt"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data), "llms.txt")
		f.Add(string(data), "https://harbour.example/docs/llms.txt")
	}
	f.Fuzz(func(t *testing.T, text, location string) {
		d, err := FromLLMsTxt([]byte(text), LLMsOptions{Location: location, Today: today})
		if err == nil {
			checkDraft(t, d)
		}
	})
}
