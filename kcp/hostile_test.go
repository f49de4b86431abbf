package kcp

import (
	"fmt"
	"strings"
	"testing"
)

// hostile gives texts that are small or legal and try to cost much. Each must be
// refused, or be read within the named limits; the benchmarks show the time and
// the memory.
func hostile() []struct{ name, text, refused string } {
	var keys, merges, lines strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&keys, "key%d: %d\n", i, i)
	}
	for i := range 2_000 {
		fmt.Fprintf(&merges, "k%d: {<<: *b}\n", i)
	}
	for range 50_000 {
		lines.WriteString("  more text\n\n")
	}
	repeat := strings.Repeat
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'j'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, repeat(fmt.Sprintf("*%c,", c-1), 9), c-1)
	}
	return []struct{ name, text, refused string }{
		{"60,000 keys", keys.String(), ""},
		{"60,000 keys and an alias", "a: &a b\nc: *a\n" + keys.String(), ""},
		{"60,000 keys in flow style", "a: {" + strings.ReplaceAll(keys.String(), "\n", ", ") + "}\n", ""},
		{"alias bomb in text", bomb + "project: *j\n", "aliases repeat"},
		{"alias bomb in a list", bomb + "units: [{id: a, triggers: *j}]\n", "aliases repeat"},
		{"alias bomb in units", "u: &u {id: a, path: b}\n" + "l: &l [" + repeat("*u,", 1000) + "]\nunits: [" + repeat("*u,", 500_000) + "]\n", "too many units"},
		{"aliases that double a mapping", "a: &a {b: 1}\nunits: [{id: x, hints: *a}" + repeat(", {id: x, hints: *a}", 10_000) + "]\n", ""},
		{"alias to itself", "project: &p [*p, *p]\nunits: &u [*u]\ntrust: &t {trust: *t, agent_requirements: *t}\n", ""},
		{"nested flow lists", "a: " + repeat("[", 100_000) + repeat("]", 100_000) + "\n", "nested"},
		{"nested flow mappings", "a: " + repeat("{a: ", 9_000) + repeat("}", 9_000) + "\n", "nested"},
		{"nested dashes", "a:\n" + repeat("- ", 50_000) + "x\n", "nested"},
		{"nested mappings", nestedMappings(3_000), "nested"},
		{"one long flow line", "a: [" + repeat("b, ", 300_000) + "c]\n", ""},
		{"one long flow line with aliases", "x: &x 1\na: [" + repeat("*x, ", 300_000) + "c]\n", ""},
		{"one long flow line, not ASCII", "x: &x é\na: [" + repeat("é, ", 300_000) + "c]\n", ""},
		{"a huge plain scalar", "a: " + repeat("x", 10<<20) + "\n", ""},
		{"a huge quoted scalar", "a: \"" + repeat("x\\n", 3<<20) + "\"\n", ""},
		{"a quoted scalar of many lines", "a: \"" + lines.String() + "\"\n", ""},
		{"a plain scalar of many lines", "a: b\n" + lines.String() + "c: d\n", ""},
		{"a folded scalar of many lines", "a: >\n" + lines.String(), ""},
		{"a huge number", "version: " + repeat("9", 1<<20) + "\n", ""},
		{"many comments", "a: &x b\n" + repeat("# c\n\n", 200_000) + "b: *x\n", ""},
		{"one long comment", "a: &x b\n" + repeat("# c\n", 500_000) + "b: *x\n", ""},
		{"many empty lines", "a: &x b\n" + repeat("\n", 2_000_000) + "b: *x\n", ""},
		{"a long line of blanks", "a: &x b\nb: *x" + repeat(" ", 2_000_000) + "\n", ""},
		{"merged keys", "b: &b {a: 1, b: 2, c: 3, d: 4, e: 5, f: 6}\n" + merges.String(), "merges more than"},
		{"units of two bytes", "units: [" + repeat("{},", 600_000) + "]\n", "too many units"},
		{"units of four bytes in block style", "units:\n" + repeat("- {}\n", 300_000), "too many units"},
		{"units that are no mappings", "units: [" + repeat("1,", 300_000) + "]\n", "too many units"},
		{"methods of two bytes", "payment: {methods: [" + repeat("{},", 1_100_000) + "]}\n", "too many list entries"},
		{"values beyond the limit", "x: &x 1\na: [" + repeat("b,", maxNodes+1) + "c]\n", "more than the limit"},
		{"findings beyond the limit", "units: [{id: a, triggers: [" + repeat("~,", 200_000) + "b]}]\n", ""},
		{"long keys", "? " + repeat("k", 1<<20) + "\n: v\n", ""},
		{"question marks", "a: &x [" + repeat("b?, ", 200_000) + "c]\n", ""},
		{"unclosed quotes", "a: \"" + repeat("b: ", 100_000) + "\n", "quotes"},
		{"colons", "a: &x b\nb: " + repeat(":", 1<<20) + "x\n", ""},
		{"anchors", repeat("- &a b\n", 100_000), "not a YAML mapping"},
	}
}

func nestedMappings(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func TestHostile(t *testing.T) {
	for _, h := range hostile() {
		t.Run(h.name, func(t *testing.T) {
			_, findings, err := Parse([]byte(h.text), "f")
			switch {
			case h.refused == "" && err != nil:
				t.Errorf("refused: %v", err)
			case h.refused != "" && (err == nil || !strings.Contains(err.Error(), h.refused)):
				t.Errorf("got %v, want an error about %q", err, h.refused)
			case err != nil && len(err.Error()) > 300:
				t.Errorf("error of %d bytes", len(err.Error()))
			}
			if len(findings) > maxFindings+1 {
				t.Errorf("%d findings", len(findings))
			}
		})
	}
}

func BenchmarkHostile(b *testing.B) {
	for _, h := range hostile() {
		b.Run(strings.ReplaceAll(h.name, " ", "_"), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(h.text)))
			for b.Loop() {
				_, _, _ = Parse([]byte(h.text), "f")
			}
		})
	}
}
