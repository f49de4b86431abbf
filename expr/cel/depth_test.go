package cel

import (
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/expr"
)

// TestDeepValues: a document may be nested as deep as documents are read, and an
// expression still takes it, builds with it and looks into it.
func TestDeepValues(t *testing.T) {
	depth := artifact.MaxDepth - 10
	text := strings.Repeat(`{"a":[`, depth/2) + `"x"` + strings.Repeat(`]}`, depth/2)
	v, err := artifact.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]string{
		"result":                          text,
		"result.a[0].a[0].a[0].a[0]":      strings.Repeat(`{"a":[`, depth/2-4) + `"x"` + strings.Repeat(`]}`, depth/2-4),
		"[result].size() == 1":            "true",
		"{'b': result}.b == result":       "true",
		"[result, result].map(r, r)[1]":   text,
		"has(result.a) && result != null": "true",
	} {
		p, err := Compiler{}.Compile(source, []expr.Var{{Name: "result", Type: expr.Any}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Eval(v); err != nil || got.String() != want {
			t.Errorf("%s: %.80s, %v", source, got, err)
		}
	}
}

// TestWideValues names values with as many elements as results of tools have.
func TestWideValues(t *testing.T) {
	v, err := artifact.ParseValue([]byte(`{"list":[` + strings.Repeat("1,", 20_000) + `2]}`))
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]string{
		"size(state.list)": "20001", "state.list[20000]": "2", "state.list == state.list": "true", "size([state, state])": "2",
	} {
		p, err := Compiler{}.Compile(source, []expr.Var{{Name: "state"}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Eval(v)
		if err != nil || got.String() != want {
			t.Errorf("%s gives %.100s, %v; want %s", source, got, err, want)
		}
	}
}
