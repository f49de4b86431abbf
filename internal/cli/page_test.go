package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/writ-dev/writ/kcp"
)

func TestVisible(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"plain text, 100 %", "plain text, 100 %"},
		{"", ""},
		{"café, Ærøskøbing, 港湾, مرسى", "café, Ærøskøbing, 港湾, مرسى"},
		{"a\x1b[31mred", `a\x1b[31mred`},
		{"a\nb\r\n\tc", `a\nb\r\n\tc`},
		{"\x00\x07\x7f", `\x00\x07\x7f`},
		{"\u009b31m", `\x9b31m`}, // the one-byte form of ESC [
		{"gnp\u202eexe\u202c", `gnp\u202eexe\u202c`},
		{"\u2066a\u2069\u200e\u061c", `\u2066a\u2069\u200e\u061c`},
		{"a\u2028b\u2029c", `a\u2028b\u2029c`},
		{"a\u200bb\ufeffc\u00add", `a\u200bb\ufeffc\xadd`},
		{"tag\U000e0041", `tag\U000e0041`},
		{"fill\u3164er", `fill\u3164er`},
		{"private\ue000", `private\ue000`},
		{"bad\xff\xfebytes", `bad\xff\xfebytes`},
		{"a replacement \ufffd stays", "a replacement \ufffd stays"},
		{"می\u200cخواهم", "می\u200cخواهم"},
		{"👩\u200d🔧", "👩\u200d🔧"},
		{"pay\u200cpal", `pay\u200cpal`},
		{"a\u200d", `a\u200d`},
	} {
		if got := visible(c.text); got != c.want {
			t.Errorf("visible(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

// FuzzVisible says what no input may do.
func FuzzVisible(f *testing.F) {
	f.Add("a\x1b[31m\u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := visible(text)
		if !utf8.ValidString(got) {
			t.Errorf("visible(%q) is not UTF-8: %q", text, got)
		}
		for i, r := range got {
			if r < 0x20 || r >= 0x7f && r < 0xa0 || !shown(r) && !joiner(r) {
				t.Errorf("visible(%q) has %U at %d", text, r, i)
			}
		}
		if again := visible(got); again != got {
			t.Errorf("visible changes its own output: %q to %q", got, again)
		}
	})
}

func TestColumns(t *testing.T) {
	for text, want := range map[string]int{"": 0, "abc": 3, "é": 1, "e\u0301": 1, "港湾": 4, "👩": 2, "✓ ok": 4, "ｶﾅ": 2} {
		if got := columns(text); got != want {
			t.Errorf("columns(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestWrapping(t *testing.T) {
	for _, c := range []struct {
		name  string
		list  []span
		want  string
		width int
	}{
		{"words", spans(text("one two three four")), "  one two\n    three\n    four\n", 10},
		{"double blanks stay", spans(text("a  b")), "  a  b\n", 10},
		{"a long word sticks out", spans(text("a incomprehensibilities b")), "  a\n    incomprehensibilities\n    b\n", 10},
		{"a name is whole", spans(text("see "), name(plain, "one two three"), text(" now")), "  see\n    one two three\n    now\n", 10},
		{"spans without a gap stay together", spans(text("aaaa "), in(bold, "bbb"), text(",")), "  aaaa\n    bbb,\n", 9},
		{"wide characters break anywhere", spans(text("港湾港湾港湾")), "  港湾港湾\n    港湾\n", 10},
		{"exactly", spans(text("12345678")), "  12345678\n", 10},
		{"empty", nil, "  \n", 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &page{width: c.width}
			p.hang(2, 4, c.list...)
			if got := p.b.String(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestTables(t *testing.T) {
	p := &page{width: 50}
	left := &table{indent: 2}
	left.add(cell(plain, "a"), spans(text("short")))
	left.add(cell(plain, "longer"), spans(text(strings.Repeat("word ", 9)+"end")))
	left.add(cell(plain, "a-name-of-thirty-characters-xx"), spans(text("prose that stands below the name")))
	p.table(left)
	right := &table{indent: 2, right: 1}
	right.add(cell(plain, "unit"), cell(plain, "price"))
	right.add(cell(plain, "berth"), cell(plain, "0.05"))
	p.table(right)
	want := `  a       short
  longer  word word word word word word word word
          word end
  a-name-of-thirty-characters-xx
      prose that stands below the name
  unit   price
  berth   0.05
`
	if got := p.b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestGauge(t *testing.T) {
	for _, c := range []struct {
		used, ceiling float64
		want          string
	}{
		{0, 10, "░░░░"}, {10, 10, "████"}, {5, 10, "██░░"}, {99, 10, "████"}, {3, 0, "░░░░"}, {3, -1, "░░░░"}, {5.3, 10, "██▏░"},
	} {
		list := gauge(kcp.Number{Value: c.used, Set: true}, kcp.Number{Value: c.ceiling, Set: true}, 4)
		if got := list[0].text + list[1].text; got != c.want {
			t.Errorf("gauge(%v, %v) = %q, want %q", c.used, c.ceiling, got, c.want)
		}
	}
}

func TestGrouped(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 999: "999", 1000: "1,000", 1234567.5: "1,234,567.5", -1234: "-1,234", 1e21: "1e+21"} {
		if got := grouped(x); got != want {
			t.Errorf("grouped(%v) = %q, want %q", x, got, want)
		}
	}
}

func TestSuggestions(t *testing.T) {
	known := []string{"budget", "context-budget", "currency", "trace", "trust-key", "task"}
	for typed, want := range map[string]string{
		"budgte": "budget", "BUDGET": "budget", "context": "context-budget", "trac": "trace", "curency": "currency",
		"xyz": "", "b": "", "": "", strings.Repeat("budget", 50): "",
	} {
		got := ""
		if near := nearest(typed, known, 1); len(near) > 0 {
			got = near[0]
		}
		if got != want {
			t.Errorf("%q suggests %q, want %q", typed, got, want)
		}
	}
}
