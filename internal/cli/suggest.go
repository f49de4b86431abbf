package cli

import (
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// didYouMean gives "; did you mean PREFIXword?" for the known word that typed
// resembles most, or "".
func didYouMean(typed string, known []string, prefix string) string {
	near := nearest(typed, known, 1)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + prefix + near[0] + "?"
}

// nearest gives up to n known words that typed may have meant, best first.
func nearest(typed string, known []string, n int) []string {
	type guess struct {
		word     string
		distance int
	}
	var guesses []guess
	lower := strings.ToLower(typed)
	for _, word := range known {
		w := strings.ToLower(word)
		d := artifact.Distance(lower, w)
		if len(lower) >= 3 && (strings.HasPrefix(w, lower) || strings.HasSuffix(w, lower)) {
			d = min(d, 1)
		}
		if d <= max(1, min(len(lower), len(w))/3) {
			guesses = append(guesses, guess{word, d})
		}
	}
	slices.SortStableFunc(guesses, func(a, b guess) int { return a.distance - b.distance })
	var words []string
	for _, g := range guesses[:min(n, len(guesses))] {
		words = append(words, g.word)
	}
	return words
}
