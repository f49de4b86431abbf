package cli

import (
	"slices"
	"strings"
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
		d := distance(lower, w)
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

// longestGuess bounds the words that are compared: nobody mistypes longer ones
// and the work grows with the square.
const longestGuess = 64

// distance counts the insertions, deletions, replacements and swaps of
// neighbours between two words.
func distance(a, b string) int {
	if len(a) > longestGuess || len(b) > longestGuess {
		return longestGuess
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			replace := last[j]
			if a[i] != b[j] {
				replace++
			}
			row[j+1] = min(replace, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
