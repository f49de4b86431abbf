package artifact

import (
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	long := strings.Repeat("a", longestGuess+1)
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"reads", "reads", 0}, {"read", "reads", 1}, {"raeds", "reads", 1}, {"writes", "wrote", 2},
		{"kitten", "sitting", 3}, {"ca", "abc", 3}, {long, long, longestGuess}, {strings.Repeat("a", longestGuess), "", longestGuess},
	} {
		if got := Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%q and %q are %d apart, want %d", tt.a, tt.b, got, tt.want)
		}
		if got := Distance(tt.b, tt.a); got != tt.want {
			t.Errorf("%q and %q are %d apart, want %d", tt.b, tt.a, got, tt.want)
		}
	}
}
