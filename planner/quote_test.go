package planner

import "testing"

// What is pasted into a shell is one word, whatever a manifest holds.
func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"agent":                   "agent",
		"":                        "''",
		"two words":               "'two words'",
		"it's":                    `'it'\''s'`,
		"$(touch owned)":          "'$(touch owned)'",
		"\x01$(touch owned)":      `'\x01$(touch owned)'`,
		"a\nb`id`":                "'a\\nb`id`'",
		"-rf":                     "'-rf'",
		"\u202eright to left":     `'\u202eright to left'`,
		"\x01' ; touch owned ; '": `'\x01'\'' ; touch owned ; '\'''`,
	} {
		if got := quote(in); got != want {
			t.Errorf("quote(%q) = %s, want %s", in, got, want)
		}
	}
}
