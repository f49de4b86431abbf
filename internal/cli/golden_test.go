package cli_test

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// views are the command lines whose whole output is kept, to be looked at.
var views = []struct {
	name string
	args []string
}{
	{"plan", []string{"plan", "move the crane at the berth", "--manifest", "harbour"}},
	{"plan-budgets", []string{"plan", "move the crane at the berth", "--manifest", "harbour", "--methods", "free,x402", "--budget", "0.22", "--currency", "EUR", "--context-budget", "3500", "--max-units", "10", "--env", "prod"}},
	{"plan-nothing", []string{"plan", "zebra", "--manifest", "harbour"}},
	{"trace", []string{"plan", "move the crane at the berth", "--manifest", "harbour", "--methods", "free,x402", "--budget", "0.22", "--currency", "EUR", "--grant-ceiling", "suggest", "--max-units", "10", "--trace"}},
	{"tree", []string{"plan", "does the ferry sail in bad weather", "--manifest", "fleet", "--methods", "free,x402", "--budget", "0.50", "--currency", "EUR", "--env", "prod", "--max-depth", "2"}},
	{"tree-shallow", []string{"plan", "does the ferry sail in bad weather", "--manifest", "fleet", "--follow"}},
	{"why-tree", []string{"why", "warnings", "bad weather", "--manifest", "fleet", "--follow"}},
	{"why-stopped", []string{"why", "crew-news", "news", "--manifest", "harbour"}},
	{"why-ineligible", []string{"why", "pilot-roster", "pilot", "--manifest", "harbour"}},
	{"why-selected", []string{"why", "berth-plan", "ship at berth", "--manifest", "harbour"}},
	{"why-hopeless", []string{"why", "canteen", "tide", "--manifest", "harbour"}},
	{"validate", []string{"validate", "harbour"}},
	{"validate-bad", []string{"validate", "bad.yaml", "--level", "2"}},
	{"mend", []string{"validate", "mend.yaml", "--fix", "--dry-run"}},
	{"coverage", []string{"coverage", "harbour/questions.txt", "--manifest", "harbour"}},
	{"watch-once", []string{"watch", "harbour", "--once", "--task", "ship at berth"}},
	{"diff", []string{"diff", "before.json", "after.json"}},
	{"replay", []string{"replay", "before.json"}},
	{"replay-drifted", []string{"replay", "after.json"}},
	{"diff-dates", []string{"diff", "--manifest", regulation, "--as-of", "2026-06-30", "--as-of", "2030-01-01", "--known-at", "2026-06-30", "storage temperature"}},
	{"search", []string{"search", "--terms", "storage temperature,records", "--manifest", regulation, "--known-at", "2022-12-31", "--as-of", "2023-07-01"}},
	{"search-budget", []string{"search", "--manifest", "spans.yaml", "--terms", "lunch,menu", "--max-token-budget", "120", "--limit", "9"}},
	{"unit", []string{"unit", "edition-2023", "--manifest", regulation}},
	{"unit-procedure", []string{"unit", "storm-response", "--manifest", "harbour"}},
	{"unit-inherits", []string{"unit", "old", "--manifest", "spans.yaml"}},
	{"timeline", []string{"timeline", "--manifest", regulation}},
	{"timeline-known-at", []string{"timeline", "--manifest", regulation, "--as-of", "2024-01-01", "--known-at", "2023-01-01"}},
	{"timeline-odd", []string{"timeline", "--manifest", "spans.yaml"}},
	{"graph-check", []string{"graph", "check", "../" + agents + "/approval/graph.yaml"}},
	{"graph-check-bad", []string{"graph", "check", "broken-graph.yaml"}},
	{"pack-check", []string{"pack", "check", "../" + agents + "/approval/pack.yaml"}},
	{"pack-explain", []string{"pack", "explain", "../../../policy/testdata/research.yaml", "--agent", "research"}},
	{"pack-call-refused", []string{"pack", "explain", "../" + agents + "/handoff/pack.yaml", "tool", "lookp", "--args", `{"q": "x"}`}},
	{"pack-call-permitted", []string{"pack", "explain", "../../../policy/testdata/release.yaml", "--agent", "release", "exec", "git-log", "--args", `{"args": ["--oneline", "--max-count=5"]}`, "--with", `{"args": ["log"], "capability": "git"}`}},
	{"pack-diff", []string{"pack", "diff", "../" + agents + "/handoff/pack.yaml", "../" + agents + "/approval/pack.yaml"}},
	{"usage", nil},
	{"help", []string{"help"}},
	{"help-plan", []string{"plan", "--help"}},
}

// regulation is an example with several editions of one text.
const regulation = "../../../examples/regulation"

// TestViews compares what a person sees, at the usual widths and in colour,
// with the files in testdata/golden. Escape sequences stand there as "␛".
func TestViews(t *testing.T) {
	folder, err := filepath.Abs(filepath.Join("testdata", "golden"))
	must(t, err)
	t.Chdir("testdata")
	for _, view := range views {
		for _, look := range []struct {
			suffix string
			term   terminal
		}{
			{"80.txt", terminal{width: 80, env: map[string]string{"NO_COLOR": "1"}}},
			{"120.txt", terminal{width: 120, env: map[string]string{"TERM": "dumb"}}},
			{"colour.txt", terminal{width: 100}},
		} {
			t.Run(view.name+"-"+look.suffix, func(t *testing.T) {
				got := look.term.writ(view.args...)
				if got.stderr != "" {
					t.Errorf("standard error: %s", got.stderr)
				}
				text := strings.ReplaceAll(got.stdout, "\x1b", "␛")
				golden(t, filepath.Join(folder, view.name+"-"+look.suffix), text)
				checkShape(t, look.term.width, got.stdout)
			})
		}
	}
}

// checkShape holds what every page promises: no blanks at line ends, and no
// line beyond the width unless it is one name that cannot be broken.
func checkShape(t *testing.T, width int, page string) {
	t.Helper()
	for line := range strings.Lines(strings.ReplaceAll(page, "\x1b[0m", "")) {
		line = strings.TrimSuffix(stripStyles(line), "\n")
		if line != strings.TrimRight(line, " ") {
			t.Errorf("blanks at the end of %q", line)
		}
		if len([]rune(line)) > width && strings.Contains(strings.TrimSpace(line), " ") {
			t.Errorf("%d columns in %q", len([]rune(line)), line)
		}
	}
}

func stripStyles(line string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(line, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, line, _ = strings.Cut(rest, "m")
	}
}

// TestColour says when there is colour: on a terminal, unless the environment
// or the caller objects.
func TestColour(t *testing.T) {
	for _, c := range []struct {
		name string
		term terminal
		flag string
		want bool
	}{
		{"terminal", terminal{width: 80}, "", true},
		{"no terminal", terminal{}, "", false},
		{"NO_COLOR", terminal{width: 80, env: map[string]string{"NO_COLOR": "1"}}, "", false},
		{"empty NO_COLOR", terminal{width: 80, env: map[string]string{"NO_COLOR": ""}}, "", true},
		{"dumb", terminal{width: 80, env: map[string]string{"TERM": "dumb"}}, "", false},
		{"always", terminal{env: map[string]string{"NO_COLOR": "1"}}, "always", true},
		{"never", terminal{width: 80}, "never", false},
	} {
		args := []string{"help"}
		if c.flag != "" {
			args = append(args, "--color", c.flag)
		}
		if got := strings.Contains(c.term.writ(args...).stdout, "\x1b["); got != c.want {
			t.Errorf("%s: colour is %v, want %v", c.name, got, c.want)
		}
	}
}

// TestNarrowTerminals wraps at any width without losing a word.
func TestNarrowTerminals(t *testing.T) {
	args := []string{"plan", "move the crane at the berth", "--manifest", filepath.Join("testdata", "harbour"), "--trace", "--color", "never"}
	want := strings.Fields(terminal{width: 120}.writ(args...).stdout)
	for _, width := range []int{1, 40, 60, 79, 500} {
		got := strings.Fields(terminal{width: width}.writ(args...).stdout)
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("width %d shows other words", width)
		}
	}
}

func TestGoldenFilesAreUsed(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join("testdata", "golden"))
	must(t, err)
	if len(entries) != 3*len(views) {
		t.Errorf("%d files in testdata/golden, and %d are used", len(entries), 3*len(views))
	}
}

// TestTimelineDrawing keeps the SVG drawing, which must be well-formed XML.
func TestTimelineDrawing(t *testing.T) {
	for name, args := range map[string][]string{
		"timeline.svg":      {"timeline", "--manifest", filepath.Join("testdata", regulation), "--svg", "-"},
		"timeline-odd.svg":  {"timeline", "--manifest", filepath.Join("testdata", "spans.yaml"), "--svg", "-", "--as-of", "2025-06-06"},
		"timeline-then.svg": {"timeline", "--manifest", filepath.Join("testdata", regulation), "--svg", "-", "--as-of", "2024-01-01", "--known-at", "2023-01-01"},
	} {
		got := writ(args...)
		if got.exit != 0 || got.stderr != "" {
			t.Fatalf("%s: exit %d, %s", name, got.exit, got.stderr)
		}
		for decoder := xml.NewDecoder(strings.NewReader(got.stdout)); ; {
			if _, err := decoder.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		golden(t, filepath.Join("testdata", "drawings", name), got.stdout)
	}
}
