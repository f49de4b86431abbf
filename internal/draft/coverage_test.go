package draft

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/planner"
)

func TestReadQuestions(t *testing.T) {
	got, err := ReadQuestions("\ufeff# comment\r\n\r\nhow do I install it?\r\n  what => a ,!b\nx=>y\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []Question{
		{Line: 3, Task: "how do I install it?"},
		{Line: 4, Task: "what", Expect: []Expectation{{"a", false}, {"b", true}}},
		{Line: 5, Task: "x", Expect: []Expectation{{"y", false}}},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for text, line := range map[string]int{"a\n=> b\n": 2, "a =>\n": 1, "a => b,,c\n": 1, "a => !\n": 1} {
		_, err := ReadQuestions(text)
		var wrong *QuestionError
		if !errors.As(err, &wrong) || wrong.Line != line {
			t.Errorf("%q: %v", text, err)
		}
	}
}

const coveredManifest = `
project: harbour
units:
  - {id: berths, path: berths.md, intent: Where may a ship lie?, triggers: [berth, mooring]}
  - {id: tides, path: tides.md, intent: When is the water high?, triggers: [tide table]}
  - {id: crew, path: crew.md, intent: Who is on watch?, triggers: [crew roster], audience: [human]}
  - {id: fees, path: fees.md, intent: What does a stay cost?, triggers: [fees], payment: {methods: [{type: x402, price_per_request: "1", currency: EUR}]}}
  - {id: old, path: old.md, intent: The old harbour, triggers: [history], deprecated: true}
`

func TestCover(t *testing.T) {
	m, _, err := kcp.Parse([]byte(coveredManifest), "knowledge.yaml")
	if err != nil {
		t.Fatal(err)
	}
	questions, err := ReadQuestions(strings.TrimSpace(`
which berth for my ship? => berths, !tides
crew roster => crew
what are the fees?
history
moorings and tiden => berths
parking
to the of
bertsh => nowhere
`))
	if err != nil {
		t.Fatal(err)
	}
	rep := Cover(m, questions, planner.Options{AsOf: today})
	var outcomes []string
	for _, a := range rep.Answers {
		outcomes = append(outcomes, a.Outcome)
	}
	if got := strings.Join(outcomes, " "); got != "covered closed closed closed covered nothing nothing nothing" {
		t.Errorf("outcomes %s", got)
	}
	for line, want := range map[int]string{
		2: "crew is not selected; audience: audience [\"human\"] excludes role 'agent'",
		8: "there is no unit nowhere",
	} {
		if got := strings.Join(rep.Answers[line-1].Failures, "; "); got != want {
			t.Errorf("line %d fails with %q, want %q", line, got, want)
		}
	}
	if reason := rep.Answers[2].Selected[0].Reason; !strings.Contains(reason, "x402") {
		t.Errorf("fees are closed because %q", reason)
	}
	if near := rep.Answers[7].Near; len(near) != 1 || near[0].Words[0].Word != "berths" || near[0].Words[0].Units[0] != "berths" {
		t.Errorf("near bertsh: %+v", near)
	}
	if near := rep.Answers[5].Near; len(near) != 1 || len(near[0].Words) != 0 {
		t.Errorf("near parking: %+v", near)
	}
	if rep.Covered != 2 || rep.Closed != 3 || rep.Nothing != 3 || rep.Failed != 2 || rep.Percent() != 25 {
		t.Errorf("%+v", rep)
	}
	if want := []string{"tides", "crew", "old"}; !slices.Equal(rep.NeverFound, want) {
		t.Errorf("never found %v, want %v", rep.NeverFound, want)
	}
}

func TestNearWords(t *testing.T) {
	for _, c := range []struct {
		a, b string
		near bool
	}{
		{"deployment", "deploy", true}, {"deploying", "deployed", true}, {"prcing", "pricing", true}, {"install", "installation", true},
		{"cat", "car", false}, {"water", "later", true}, {"logging", "billing", false}, {"harbour", "history", false}, {"same", "same", false},
		{strings.Repeat("a", 5000), strings.Repeat("b", 5000), false},
	} {
		if _, near := farApart(c.a, c.b); near != c.near {
			t.Errorf("%.20s and %.20s are near: %v, want %v", c.a, c.b, near, c.near)
		}
	}
}
