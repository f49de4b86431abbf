// Package match is text matching: the words of a task, the order of ids, and
// path patterns.
//
// [Lower] and [Terms] turn text into comparable words, [CompareIDs] orders ids
// for people, [CompareUTF16] orders text as ECMAScript does. [Glob] matches one
// pattern against one path as given; where a pattern decides about authority,
// call [DenyPath] or [AllowPath], which look through the spellings of a path.
//
// Every function is pure, safe for concurrent use and independent of the host's
// locale.
package match

import (
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-dev/writ/artifact"
)

// Lower gives s in lower case by Unicode's full default mapping, without a
// locale: İ becomes i and U+0307, Σ at the end of a word becomes ς. Text that is
// lower-case ASCII is returned as it is.
func Lower(s string) string {
	upper := false
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return lowerUnicode(s)
		}
		upper = upper || 'A' <= s[i] && s[i] <= 'Z'
	}
	if !upper {
		return s
	}
	return strings.ToLower(s)
}

func lowerUnicode(s string) string {
	return string(AppendLower(make([]byte, 0, len(s)+8), s))
}

// AppendLower appends [Lower] of s to dst.
//
// It applies the simple mappings and the two rules of SpecialCasing.txt that
// hold without a locale. A character that is both cased and ignorable, such as
// ʰ, counts as ignorable only: so does ICU, and with it ECMAScript engines.
func AppendLower(dst []byte, s string) []byte {
	start := len(dst)
	dst = append(dst, s...)
	i := lowerASCII(dst[start:])
	dst = dst[:start+i]
	for i < len(s) {
		c := s[i]
		if c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == 'İ':
			dst = append(dst, "i\u0307"...)
		case r == 'Σ' && afterCased(s[:i]) && !beforeCased(s[i+size:]):
			dst = append(dst, "ς"...)
		default:
			dst = utf8.AppendRune(dst, unicode.ToLower(r))
		}
		i += size
	}
	return dst
}

// lowerASCII lower-cases b in place, eight bytes at a time, up to the first byte
// that is not ASCII, whose index it gives.
func lowerASCII(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(b); i += 8 {
		word := binary.LittleEndian.Uint64(b[i:])
		if word&highs != 0 {
			break
		}
		// A byte's high bit is set in fromA when the byte is 'A' or more, and
		// in pastZ when it is more than 'Z'. Bit 5 makes the difference of case.
		fromA, pastZ := word+(0x80-'A')*ones, word+(0x7f-'Z')*ones
		binary.LittleEndian.PutUint64(b[i:], word|(fromA^pastZ)&highs>>2)
	}
	for ; i < len(b) && b[i] < utf8.RuneSelf; i++ {
		if 'A' <= b[i] && b[i] <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return i
}

// afterCased reports whether a cased letter precedes, before ignorable
// characters.
func afterCased(s string) bool {
	for len(s) > 0 {
		r, size := utf8.DecodeLastRuneInString(s)
		if !caseIgnorable(r) {
			return cased(r)
		}
		s = s[:len(s)-size]
	}
	return false
}

// beforeCased reports whether a cased letter follows, past ignorable characters.
func beforeCased(s string) bool {
	for _, r := range s {
		if !caseIgnorable(r) {
			return cased(r)
		}
	}
	return false
}

// cased is Unicode's property Cased (D135).
func cased(r rune) bool {
	return unicode.In(r, unicode.Upper, unicode.Lower, unicode.Title, unicode.Other_Uppercase, unicode.Other_Lowercase)
}

// caseIgnorable is Unicode's property Case_Ignorable (D136).
func caseIgnorable(r rune) bool {
	switch r {
	case '\'', '.', ':', '·', '\u0387', '\u055f', '\u05f4', '\u2018', '\u2019', '\u2024', '\u2027',
		'\ufe13', '\ufe52', '\ufe55', '\uff07', '\uff0e', '\uff1a': // Word_Break MidLetter, MidNumLet, Single_Quote
		return true
	}
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

// shortestTerm is the least length of a term, in UTF-16 code units.
const shortestTerm = 3

// Terms gives the words of text that a task is matched by: lower-case runs of
// letters and numbers, at least three UTF-16 code units long and no stopword, in
// order and with duplicates, which count again (KCP, planner section 3.1). Marks
// separate, so decomposed accents split words.
func Terms(text string) []string {
	text = Lower(text)
	var terms []string
	for len(text) > 0 {
		start := strings.IndexFunc(text, isWord)
		if start < 0 {
			break
		}
		text = text[start:]
		end := strings.IndexFunc(text, isNoWord)
		if end < 0 {
			end = len(text)
		}
		if word := text[:end]; longEnough(word) && !stopword(word) {
			terms = append(terms, word)
		}
		text = text[end:]
	}
	return terms
}

func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}

func isNoWord(r rune) bool { return !isWord(r) }

func longEnough(word string) bool {
	units := 0
	for _, r := range word {
		if units++; r > 0xffff {
			units++
		}
		if units >= shortestTerm {
			return true
		}
	}
	return false
}

// stopword knows the 38 words that carry no meaning in a task. Those of one or
// two letters are too short to be terms anyway.
func stopword(word string) bool {
	switch word {
	case "the", "a", "an", "is", "are", "was", "were", "do", "does", "how", "what", "why", "when", "where", "which",
		"who", "to", "of", "in", "on", "for", "and", "or", "i", "we", "you", "it", "this", "that", "with", "my", "our",
		"can", "should", "will", "be", "get", "getting":
		return true
	}
	return false
}

// CompareUTF16 compares by UTF-16 code units, as ECMAScript's < does on dates
// and vocabularies.
func CompareUTF16(a, b string) int { return artifact.CompareUTF16(a, b) }

// UTF16Less reports whether a comes before b in the order of [CompareUTF16].
func UTF16Less(a, b string) bool { return artifact.CompareUTF16(a, b) < 0 }
