package draft

import (
	"strings"
	"testing"

	"github.com/writ-dev/writ/kcp"
)

// unitWith gives a manifest with one unit and one more field.
func unitWith(field string) string {
	return "project: p\nunits:\n  - id: a\n    path: a.md\n    intent: What is a?\n    " + field + "\n"
}

// TestFix lists what is mended and what is left to a person. An empty want
// means that the text stays as it is.
func TestFix(t *testing.T) {
	for _, c := range []struct {
		name, field, want string
		meaning           string // in the meaning of the change
		left              string // in the reason why it is left
	}{
		{"a date", "validated: 2026-01-31", `validated: "2026-01-31"`, "", ""},
		{"a date with a comment", "validated: 2026-01-31   # spring", `validated: "2026-01-31"   # spring`, "", ""},
		{"a quoted date", `validated: '2026-01-31'`, "", "", ""},
		{"no date", "validated: 2026-02-31", "", "", ""},
		{"a date in a flow mapping", "temporal: {valid_from: 2026-01-31, valid_until: 2026-12-31}", `temporal: {valid_from: "2026-01-31", valid_until: "2026-12-31"}`, "", ""},
		{"a date in an anchor", "validated: &d 2026-01-31", "", "", ""},
		{"a tagged date", "validated: !!str 2026-01-31", "", "", ""},
		{"an id that is a number", "supersedes: 7", `supersedes: "7"`, "", ""},
		{"an id that changes", "supersedes: 007", `supersedes: "007"`, `was "7", is "007"`, ""},
		{"an id in hexadecimal", "supersedes: 0x10", "", "", "reads as a number"},
		{"a trigger that YAML 1.1 takes for a boolean", "triggers: [no, yes please, on]", `triggers: ["no", yes please, "on"]`, "", ""},
		{"a trigger that is a number", "triggers: [404, 1.10]", `triggers: ["404", "1.10"]`, `["404", "1.1"], is ["404", "1.10"]`, ""},
		{"sexagesimal", "triggers: [12:30, a]", `triggers: ["12:30", a]`, "", ""},
		{"one audience", "audience: agent", "audience: [agent]", "", ""},
		{"one audience in quotes", `audience: "agent"  # only`, `audience: ["agent"]  # only`, "", ""},
		{"one entry with brackets", "not_for: the [old] crane", `not_for: ["the [old] crane"]`, "", ""},
		{"several audiences in one text", "audience: agent, human", "", "", "may be several values"},
		{"one trigger", "triggers: crane", "triggers: [crane]", "was malformed", ""},
		{"one tool", "action_scope: {tools: git}", "", "", "would grant something"},
		{"a word for false", "deprecated: no", "deprecated: false", "deprecated was malformed, is false", ""},
		{"a word for true", "deprecated: Yes", "deprecated: true", "is true", ""},
		{"true in quotes", `not_for_strict: "true"`, "not_for_strict: true", "is true", ""},
		{"no word", "deprecated: perhaps", "", "", "neither true nor false"},
		{"a grant", "load_eligible: yes", "", "", "would open"},
		{"no grant", "load_eligible: no", "load_eligible: false", "is false", ""},
		{"a misspelt field", "audiance: [agent]", "audience: [agent]", `units[0].audience was nothing, is ["agent"]`, ""},
		{"a misspelt field in quotes", `"audiance": [agent]`, "audience: [agent]", "audience", ""},
		{"a misspelt block", "temporl:\n      valid_from: \"2026-01-31\"", "temporal:\n      valid_from: \"2026-01-31\"", "temporal", ""},
		{"a misspelt field beside the right one", "audience: [agent]\n    audiance: [human]", "", "", "which the unit has already"},
		{"a misspelt grant", "load_eligable: true", "", "", "grants something"},
		{"an extension", "x-audiance: [agent]", "", "", ""},
		{"a field that is nothing like any", "colour: red", "", "", ""},
		{"a text on two lines", "not_for: the old\n      crane", "", "", ""},
		{"a block scalar", "audience: |\n      agent", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := unitWith(c.field)
			fixed, err := Fix([]byte(before), "knowledge.yaml")
			if err != nil {
				t.Fatal(err)
			}
			want := before
			if c.want != "" {
				want = unitWith(c.want)
			}
			if string(fixed.Text) != want {
				t.Errorf("got\n%s\nwant\n%s", fixed.Text, want)
			}
			var meanings, reasons []string
			for _, ch := range fixed.Changes {
				meanings = append(meanings, ch.Meaning)
			}
			for _, l := range fixed.Left {
				reasons = append(reasons, l.Reason)
			}
			if got := strings.Join(meanings, ""); !strings.Contains(got, c.meaning) || c.meaning == "" && got != "" {
				t.Errorf("the change means %q, want %q", got, c.meaning)
			}
			if got := strings.Join(reasons, ""); !strings.Contains(got, c.left) || c.left == "" && got != "" {
				t.Errorf("left because %q, want %q", got, c.left)
			}
			checkFixed(t, []byte(before), fixed)
		})
	}
}

// checkFixed holds what every mending promises: it can be read, doing it again
// does nothing, and without a meaning nothing reads differently.
func checkFixed(t *testing.T, before []byte, fixed *Fixed) {
	t.Helper()
	again, err := Fix(fixed.Text, "knowledge.yaml")
	if err != nil {
		t.Fatalf("what was mended cannot be read: %v\n%s", err, fixed.Text)
	}
	if len(again.Changes) > 0 {
		t.Errorf("mending again does %+v", again.Changes)
	}
	silent := true
	for _, ch := range fixed.Changes {
		silent = silent && ch.Meaning == ""
		if ch.Before == ch.After || ch.Pos.Line == 0 || ch.Reason == "" {
			t.Errorf("an edit that says too little: %+v", ch)
		}
	}
	a, _, err := kcp.Parse(before, "knowledge.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := kcp.Parse(fixed.Text, "knowledge.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if d := compare(a, b); silent && len(d) > 0 {
		t.Errorf("nothing is announced, and this reads differently: %v", d)
	}
}

// TestFixKeepsTheText mends a manifest with everything that must stay.
func TestFixKeepsTheText(t *testing.T) {
	before := "\ufeff# head: a\r\nkcp_version: 0.30   # é comment\r\nproject: 'p'\r\nupdated: 2026-01-31\r\n\r\nunits:\r\n" +
		"  - {id: 12, path: a.md, intent: \"Größe: yes\", audience: agent, triggers: [é, no]}   # flow\r\n" +
		"  - id: b\r\n    path: b.md\r\n    intent: >\r\n      folded\r\n      text\r\n    audience: [agent]\r\n"
	after := "\ufeff# head: a\r\nkcp_version: \"0.30\"   # é comment\r\nproject: 'p'\r\nupdated: \"2026-01-31\"\r\n\r\nunits:\r\n" +
		"  - {id: \"12\", path: a.md, intent: \"Größe: yes\", audience: [agent], triggers: [é, \"no\"]}   # flow\r\n" +
		"  - id: b\r\n    path: b.md\r\n    intent: >\r\n      folded\r\n      text\r\n    audience: [agent]\r\n"
	fixed, err := Fix([]byte(before), "knowledge.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if string(fixed.Text) != after {
		t.Errorf("got\n%q\nwant\n%q", fixed.Text, after)
	}
	lines := fixed.Lines([]byte(before))
	if len(lines) != 3 || lines[0].Line != 2 || lines[2].Line != 7 || strings.HasSuffix(lines[0].After, "\r") {
		t.Errorf("lines: %+v", lines)
	}
	if got := fixed.Changes[0].Pos; got != (kcp.Position{Line: 2, Column: 14}) {
		t.Errorf("the first edit is at %v", got)
	}
	checkFixed(t, []byte(before), fixed)
}

// FuzzFix says what mending may do to any text: nothing but what it announces.
func FuzzFix(f *testing.F) {
	f.Add([]byte(unitWith("audience: agent\n    validated: 2026-01-31\n    deprecated: no")))
	f.Add([]byte(unitWith("triggers: [007, no, &x 1.10, *x]")))
	f.Add([]byte("a: &a {id: 1, audiance: x}\nunits:\n  - <<: *a\n    path: 1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, _, err := kcp.Parse(data, "knowledge.yaml"); err != nil {
			return
		}
		fixed, err := Fix(data, "knowledge.yaml")
		if err != nil {
			t.Fatal(err)
		}
		checkFixed(t, data, fixed)
	})
}
