package agentfile_test

import (
	"testing"

	"github.com/writ-dev/writ/artifact"
)

// TestState: what is wrong with an input is said with its place, all of it at once.
func TestState(t *testing.T) {
	const schema = "input: {type: object, required: [n], properties: {n: {type: integer, maximum: 9}, o: {required: [p]}}, additionalProperties: false}\n"
	for _, c := range []struct{ more, input, want string }{
		{schema, `{"n":3}`, ""},
		{schema, `{}`, `in:1:1: the input must have the member "n"`},
		{schema, "n: 10\no: {}", "in:1:4: /n must be at most 9\nin:2:4: /o must have the member \"p\""},
		{schema, `{"n":1,"nn":2}`, `in:1:13: /nn is not a known member; did you mean "n"?`},
		{schema, `[1]`, "in:1:1: the input is of type array, and must be an object"},
		{schema, `null`, "in:1:1: the input is of type null, and must be an object"},
		{"", `{"r":"a"}`, "in:1:1: /n is missing, and the graph needs it"},
		{"", "r: 1\nn: a", "in:2:4: /n is of type string, and the graph needs number\nin:1:4: /r is of type number, and the graph needs string"},
		{"initial: {n: a}\n", `{"r":1}`, "in:1:6: /r is of type number, and the graph needs string\nagent.yaml:21:14: /n is of type string, and the graph needs number"},
		{"initial: {n: a}\n", `{"n":1}`, ""},
	} {
		a, err := read(map[string]string{"agent.yaml": small + c.more})
		if err != nil {
			t.Fatal(err)
		}
		input, err := artifact.ParseDocument([]byte(c.input), "in")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = a.State(input); c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s\ngot  %v\nwant %s", c.input, err, c.want)
		}
	}
	a, err := read(map[string]string{"agent.yaml": small + schema})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.State(artifact.DocumentOf(artifact.ObjectValue(), "--input")); err == nil || err.Error() != `--input: the input must have the member "n"` {
		t.Error(err)
	}
}
