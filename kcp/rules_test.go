package kcp

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRuleTextsAreComplete holds the exported texts against the tables that the
// findings page is written from, and against the codes of the reader.
func TestRuleTextsAreComplete(t *testing.T) {
	for set, want := range map[Rules][]ruleText{Agent: agentRuleTexts(), Spec: specRuleTexts()} {
		got := RuleTexts(set)
		if len(got) != len(want) {
			t.Errorf("set %v: %d rules, and the page has %d", set, len(got), len(want))
		}
		for _, w := range want {
			if !slices.Contains(got, RuleText{w.code, w.severity, w.level, w.meaning, w.mend}) {
				t.Errorf("set %v lacks %s", set, w.code)
			}
		}
	}
	described := map[string]bool{}
	for _, r := range ReadingTexts() {
		described[r.Code] = true
		if !strings.HasSuffix(r.Meaning, ".") || r.Mend == "" {
			t.Errorf("%s is described poorly", r.Code)
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`d\.warn\(\w+, "([a-z-]+)"`).FindAllStringSubmatch(string(source), -1) {
			if !described[match[1]] {
				t.Errorf("%s reports %s, which ReadingTexts does not describe", file, match[1])
			}
		}
	}
}
