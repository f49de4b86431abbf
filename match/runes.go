package match

import "unicode/utf8"

// WholeRunes gives s without the bytes at its end that begin a character and do
// not end it, as of a text that was cut at a number of bytes.
func WholeRunes(s string) string {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if b := s[len(s)-n]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRuneInString(s[len(s)-n:]) {
				return s[:len(s)-n]
			}
			break
		}
	}
	return s
}
