package match

import (
	"sync"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// CompareIDs orders ids by the Unicode collation algorithm's root order, never
// by the host's locale: punctuation, then digits one by one, then letters;
// accents and then case only break ties, lower case first. Ids that differ may
// compare equal (a soft hyphen is ignored), so sort stably.
func CompareIDs(a, b string) int {
	if order, ok := compareASCII(a, b); ok {
		return order
	}
	c := collators.Get().(*collate.Collator)
	defer collators.Put(c)
	return c.CompareString(a, b)
}

// A collator is built on first use, and has state that two callers cannot share.
var collators = sync.Pool{New: func() any { return collate.New(language.Und) }}

// asciiOrder lists the printable ASCII characters that are not letters by their
// root collation weight; letters follow.
const asciiOrder = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789"

// asciiWeight holds the primary weight of printable ASCII characters; 0 for
// all others.
var asciiWeight = func() (weights [256]uint8) {
	for i := range len(asciiOrder) {
		weights[asciiOrder[i]] = uint8(i + 1)
	}
	for c := byte('a'); c <= 'z'; c++ {
		weights[c] = uint8(len(asciiOrder)) + c - 'a' + 1
		weights[c-'a'+'A'] = weights[c]
	}
	return weights
}()

// compareASCII is the collation of printable ASCII, where every character has
// one weight and only case differs below it. It is not ok for other text.
func compareASCII(a, b string) (order int, ok bool) {
	primary, tertiary := 0, 0
	for i := 0; i < max(len(a), len(b)); i++ {
		var x, y uint8
		if i < len(a) {
			if x = asciiWeight[a[i]]; x == 0 {
				return 0, false
			}
		}
		if i < len(b) {
			if y = asciiWeight[b[i]]; y == 0 {
				return 0, false
			}
		}
		switch {
		case primary != 0: // decided; the rest is only checked to be ASCII
		case x != y:
			primary = sign(x, y)
		case tertiary == 0 && a[i] != b[i]:
			tertiary = sign(b[i], a[i]) // lower case, the higher byte, comes first
		}
	}
	if primary != 0 {
		return primary, true
	}
	return tertiary, true
}

func sign(x, y uint8) int {
	if x < y {
		return -1
	}
	return 1
}
