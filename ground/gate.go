package ground

import (
	"strings"
	"unicode"

	"github.com/writ-dev/writ/match"
)

// maxTermLength is the most code points of an accepted term.
const maxTermLength = 40

// GateTerms judges search terms that a model proposes. Accepted, in lower case
// and with single blanks, is what has letters, numbers, blanks and hyphens only,
// begins with a letter or number, has at most 40 code points, repeats nothing and
// has at least one word that knownText lacks. All others are rejected as they
// were proposed, also those beyond limit accepted ones: nothing is dropped.
func GateTerms(proposed []string, knownText string, limit int) (accepted, rejected []string) {
	known := make(map[string]bool)
	for _, word := range words(match.Lower(knownText)) {
		known[word] = true
	}
	seen := make(map[string]bool)
	for _, original := range proposed {
		term := strings.Join(strings.FieldsFunc(match.Lower(original), isSpace), " ")
		wellFormed := isTerm(term) && !seen[term]
		if wellFormed {
			seen[term] = true
		}
		if !wellFormed || allKnown(term, known) || len(accepted) >= limit {
			rejected = append(rejected, original)
			continue
		}
		accepted = append(accepted, term)
	}
	return accepted, rejected
}

func isTerm(s string) bool {
	length := 0
	for _, r := range s {
		if !isWord(r) && (length == 0 || r != ' ' && r != '-') {
			return false
		}
		if length++; length > maxTermLength {
			return false
		}
	}
	return length > 0
}

func allKnown(term string, known map[string]bool) bool {
	for _, word := range words(term) {
		if !known[word] {
			return false
		}
	}
	return true
}

func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !isWord(r) })
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
