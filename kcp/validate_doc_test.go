package kcp

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/findings.md from the rules")

// ruleText is what docs/findings.md says about a rule.
type ruleText struct {
	code          string
	severity      Severity
	level         int
	meaning, mend string
}

func texts[T any](rules []rule[T]) []ruleText {
	list := make([]ruleText, len(rules))
	for i, r := range rules {
		list[i] = ruleText{r.code, r.severity, r.level, r.meaning, r.mend}
	}
	return list
}

func agentRuleTexts() []ruleText {
	return slices.Concat(texts(agentHeadRules), texts(agentUnitRules), texts(agentMethodRules),
		texts(agentSuccessorRules), texts(agentRefRules), texts(agentTrustRules))
}

// specArea is one table of docs/findings.md.
type specArea struct {
	title string
	rules []ruleText
}

func specAreas() []specArea {
	return []specArea{
		{"Manifest", slices.Concat(texts(specRootRules), texts(specServingRules), texts(specTrustRules))},
		{"Units", slices.Concat(texts(specUnitRules), texts(specAliasRules), texts(specDetailRules), texts(specHintRules),
			texts(specContentHashRules), texts(specContentStructureRules))},
		{"Validity windows", slices.Concat(texts(specTemporalRules), texts(specCycleRules))},
		{"Payment, rate limits and indexing", slices.Concat(texts(specPaymentRules), texts(specPaymentMethodRules),
			texts(specRateLimitRules), texts(specIndexingRules))},
		{"Authentication, delegation and compliance", slices.Concat(texts(specAuthRules), texts(specDelegationRules),
			texts(specUnitDelegationRules), texts(specComplianceRules))},
		{"Visibility, authority and discovery", slices.Concat(texts(specVisibilityRules), texts(specConditionRules),
			texts(specAuthorityRules), texts(specDiscoveryRules), texts(specUnitDiscoveryRules))},
		{"Skills and playbooks", slices.Concat(texts(specGovernedRules), texts(specPlaybookRules), texts(specStepRules))},
		{"Authority levels and the grant ceiling", slices.Concat(texts(specLevelRules), texts(specCeilingRules))},
		{"Relationships, federation and composition", slices.Concat(texts(specLinkRules), texts(specRefRules),
			texts(specIdentityRules), texts(specRefTemporalRules), texts(specExternalDependencyRules),
			texts(specExternalLinkRules), texts(specCompositionRules))},
		{"Agent charters (draft)", texts(specCharterRules)},
	}
}

func specRuleTexts() []ruleText {
	var list []ruleText
	for _, area := range specAreas() {
		list = append(list, area.rules...)
	}
	return list
}

func TestRuleTexts(t *testing.T) {
	for name, list := range map[string][]ruleText{"agent": agentRuleTexts(), "spec": specRuleTexts()} {
		seen := map[string]bool{}
		for _, r := range list {
			switch {
			case seen[r.code]:
				t.Errorf("%s: two rules have the code %s", name, r.code)
			case strings.Trim(r.code, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
				t.Errorf("%s: code %s is not in kebab case", name, r.code)
			case r.severity != Error && r.severity != Warning, r.level < 1, r.level > 3:
				t.Errorf("%s: %s has severity %q and level %d", name, r.code, r.severity, r.level)
			case !strings.HasSuffix(r.meaning, "."):
				t.Errorf("%s: the meaning of %s is not a sentence", name, r.code)
			case r.mend == "" || strings.HasSuffix(r.mend, ".") || r.mend[0] < 'a' || r.mend[0] > 'z':
				t.Errorf("%s: the hint of %s is not an imperative without a full stop", name, r.code)
			}
			seen[r.code] = true
		}
		t.Logf("%s: %d rules", name, len(list))
	}
}

const findingsIntro = `# Findings of validation

<!-- Written by "go test ./kcp -run FindingsDoc -update" from the tables in kcp/validate_*.go. -->

Each finding of ` + "`kcp.Validate`" + ` has a code that stays, a severity, the place in the file, a message and a hint. An
error makes a manifest invalid; a warning does not. One code means one condition; where a code is in both rule sets, the
severities may differ, because the two judge for different purposes.

What could not be understood while reading (a field of the wrong type, a misspelt key, a word where true or false belongs)
is reported by ` + "`kcp.Parse`" + ` and is not listed here. A validation stops listing after 100,000 findings and says so with
` + "`findings-left-out`" + `; an error is listed all the same.
`

// findingsDoc gives the text that docs/findings.md must have.
func findingsDoc() string {
	var b strings.Builder
	b.WriteString(findingsIntro)
	b.WriteString("\n## The agent's rules\n\nWhat the reference agent's own lint reports, in its order and words.\n\n")
	b.WriteString("| code | severity | meaning | how to mend |\n| --- | --- | --- | --- |\n")
	for _, r := range agentRuleTexts() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.code, r.severity, cell(r.meaning), cell(r.mend))
	}
	b.WriteString("\n## The specification's rules\n\nThe level is that of the fields concerned: validation at a level keeps" +
		" its rules and those below.\n")
	for _, area := range specAreas() {
		fmt.Fprintf(&b, "\n### %s\n\n| code | severity | level | meaning | how to mend |\n| --- | --- | --- | --- | --- |\n", area.title)
		for _, r := range area.rules {
			fmt.Fprintf(&b, "| `%s` | %s | %d | %s | %s |\n", r.code, r.severity, r.level, cell(r.meaning), cell(r.mend))
		}
	}
	b.WriteString("\n## Composing\n\nWhat `kcp.Compose` reports when the includes of a manifest have been read. An error among these makes" +
		" the manifest\ninvalid at every level.\n\n| code | severity | level | meaning | how to mend |\n| --- | --- | --- | --- | --- |\n")
	for _, r := range ComposingTexts() {
		fmt.Fprintf(&b, "| `%s` | %s | %d | %s | %s |\n", r.Code, r.Severity, r.Level, cell(r.Meaning), cell(r.Mend))
	}
	return b.String()
}

// cell makes text fit for a Markdown table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "**", `\*\*`).Replace(text)
}

func TestFindingsDoc(t *testing.T) {
	file := filepath.Join("..", "docs", "findings.md")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(findingsDoc()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != findingsDoc() {
		t.Errorf("%s does not say what the rules say; run go test ./kcp -run FindingsDoc -update", file)
	}
}
