package cli

import (
	"strings"
	"testing"

	"github.com/writ-dev/writ/kcp"
)

// TestCharacters turns columns in bytes into columns in characters, on lines
// that end in any way.
func TestCharacters(t *testing.T) {
	rep := &report{text: []byte("\ufeffé: 1\r\nb: ä 2\rc\n\n港: 3")}
	for _, c := range []struct{ line, bytes, want int }{
		{1, 1, 1}, {1, 3, 2}, {1, 5, 4}, {2, 6, 5}, {3, 1, 1}, {4, 1, 1}, {5, 4, 2}, {5, 99, 5}, {9, 7, 7}, {0, 0, 0},
	} {
		if got := rep.characters(kcp.Position{Line: c.line, Column: c.bytes}); got != c.want {
			t.Errorf("line %d, byte %d is character %d, want %d", c.line, c.bytes, got, c.want)
		}
	}
}

// TestAnnotationsCannotBeForged keeps what a manifest says inside its own
// command.
func TestAnnotationsCannotBeForged(t *testing.T) {
	rep := &report{Source: "a,line=1::b%0A.yaml", rules: []kcp.Finding{{
		Severity: kcp.Error, Code: "x", Where: "unit 'a\n::error::b'", Message: "100%\r\n::set-output name=x::y\x1b[31m", Hint: "a\u2028b",
	}}}
	got := rep.annotations()
	want := `::error file=a%2Cline=1%3A%3Ab%250A.yaml,title=writ x::unit 'a\n::error::b': 100%25\r\n::set-output name=x::y\x1b[31m%0Aa\u2028b` + "\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if strings.Count(got, "\n") != 1 {
		t.Errorf("more than one line: %q", got)
	}
}

// TestSARIFRules gives every rule once, with an index that leads to it.
func TestSARIFRules(t *testing.T) {
	rules, index := sarifRules()
	for code, i := range index {
		if rules[i].ID != code {
			t.Errorf("%s is at the index of %s", code, rules[i].ID)
		}
	}
	if len(index) != len(rules) || len(rules) < 150 {
		t.Errorf("%d rules and %d indices", len(rules), len(index))
	}
}
