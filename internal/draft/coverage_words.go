package draft

import (
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/match"
)

// vocabulary is every word by which a manifest can be found, with the first
// units that have it.
type vocabulary struct {
	words []string // in the order of the manifest
	units map[string][]string
}

// unitsOfWord bounds the units that are named for one word.
const unitsOfWord = 3

func newVocabulary(m *kcp.Manifest) *vocabulary {
	v := &vocabulary{units: map[string][]string{}}
	for i := range m.Units {
		u := &m.Units[i]
		for _, text := range append([]string{u.Intent, u.ID, u.Path}, u.Triggers.Items...) {
			for _, word := range match.Terms(text) {
				v.add(word, u.ID)
			}
		}
	}
	return v
}

func (v *vocabulary) add(word, unit string) {
	list, known := v.units[word]
	if !known {
		v.words = append(v.words, word)
	}
	if len(list) < unitsOfWord && !slices.Contains(list, unit) {
		v.units[word] = append(list, unit)
	}
}

// nearWords bounds the words that are named for one term.
const nearWords = 3

// near gives for each term the words of the manifest that would have matched
// had the question, or the manifest, put it slightly differently.
func (v *vocabulary) near(terms []string) []Near {
	var list []Near
	seen := map[string]bool{}
	for _, term := range terms {
		if seen[term] {
			continue
		}
		seen[term] = true
		type guess struct {
			word string
			far  int
		}
		var guesses []guess
		for _, word := range v.words {
			if far, ok := farApart(term, word); ok {
				guesses = append(guesses, guess{word, far})
			}
		}
		slices.SortStableFunc(guesses, func(a, b guess) int { return a.far - b.far })
		n := Near{Term: term}
		for _, g := range guesses[:min(nearWords, len(guesses))] {
			n.Words = append(n.Words, NearWord{g.word, v.units[g.word]})
		}
		list = append(list, n)
	}
	return list
}

// sharedStem is how many letters two words begin with alike to be forms of one:
// deployment and deploying.
const sharedStem = 4

// farApart says how far two words are from each other, and whether that is near
// enough to be a form or a slip of the same. Words of three letters are too
// short to tell.
func farApart(a, b string) (int, bool) {
	shorter := min(len(a), len(b))
	if shorter < 3 || a == b {
		return 0, false
	}
	if abs(len(a)-len(b)) <= 2 && shorter >= 4 {
		if d := artifact.Distance(a, b); d <= 1 || d == 2 && shorter >= 7 {
			return d, true
		}
	}
	stem := 0
	for stem < shorter && a[stem] == b[stem] {
		stem++
	}
	if stem == shorter || stem >= sharedStem && 3*stem >= 2*shorter {
		return 2 + 10*(len(a)+len(b)-2*stem)/(len(a)+len(b)), true
	}
	return 0, false
}

func abs(n int) int { return max(n, -n) }

// mentions reports whether a unit's words match one of the terms, as the
// planner's score counts them: text contains the term, or a trigger is in it.
func mentions(u *kcp.Unit, terms []string) bool {
	text := match.Lower(u.Intent + "\n" + u.ID + "\n" + u.Path)
	if slices.ContainsFunc(terms, func(term string) bool { return strings.Contains(text, term) }) {
		return true
	}
	for _, trigger := range u.Triggers.Items {
		trigger = match.Lower(trigger)
		if trigger != "" && slices.ContainsFunc(terms, func(term string) bool {
			return strings.Contains(trigger, term) || strings.Contains(term, trigger)
		}) {
			return true
		}
	}
	return false
}
