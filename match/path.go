package match

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Glob reports whether pattern matches the whole of path, both taken as they
// are. ** stands for any run of characters, also of slashes and line breaks; *
// for any run without a slash; every other character, also ? and [, for itself.
// The pattern is read greedily, so *** is ** and then *. Note that a/** matches
// a/ and a/b/c but not a, and that a/**/b does not match a/b (KCP section 4.3a).
//
// The time is at most proportional to len(pattern) * len(path), whatever the
// pattern.
func Glob(pattern, path string) bool {
	matched, _ := globSteps(pattern, path)
	return matched
}

const (
	anyRun     = iota // ** : any run
	segmentRun        // *  : any run without a slash
	literal           // one byte
)

type globToken struct{ kind, char byte }

// globSteps walks path once and keeps the set of pattern positions that can be
// reached; it also gives the number of positions it looked at.
func globSteps(pattern, path string) (matched bool, steps int) {
	star := strings.IndexByte(pattern, '*')
	if star < 0 {
		return pattern == path, 0
	}
	if !strings.HasPrefix(path, pattern[:star]) {
		return false, 0
	}
	var tokenBuffer [64]globToken
	tokens := appendTokens(tokenBuffer[:0], pattern[star:])
	var reachedBuffer [65]bool
	reached := append(reachedBuffer[:0], make([]bool, len(tokens)+1)...)
	reached[0] = true
	skipWildcards(reached, tokens)
	for _, c := range []byte(path[star:]) {
		alive := false
		for i := len(tokens); i >= 0; i-- {
			steps++
			stays := i < len(tokens) && reached[i] && tokens[i].spans(c)
			arrives := i > 0 && reached[i-1] && tokens[i-1] == globToken{literal, c}
			reached[i] = stays || arrives
			alive = alive || reached[i]
		}
		if !alive {
			return false, steps
		}
		skipWildcards(reached, tokens)
	}
	return reached[len(tokens)], steps
}

// skipWildcards adds the positions behind wildcards, which match an empty run.
func skipWildcards(reached []bool, tokens []globToken) {
	for i, token := range tokens {
		if reached[i] && token.kind != literal {
			reached[i+1] = true
		}
	}
}

func (t globToken) spans(c byte) bool {
	return t.kind == anyRun || t.kind == segmentRun && c != '/'
}

func appendTokens(tokens []globToken, pattern string) []globToken {
	for i := 0; i < len(pattern); i++ {
		switch {
		case strings.HasPrefix(pattern[i:], "**"):
			tokens = append(tokens, globToken{kind: anyRun})
			i++
		case pattern[i] == '*':
			tokens = append(tokens, globToken{kind: segmentRun})
		default:
			tokens = append(tokens, globToken{literal, pattern[i]})
		}
	}
	return tokens
}

// maxDecodings bounds how often percent escapes are resolved: %252e needs two.
// No honest path nests them deeper, so one that does is denied by every pattern
// and allowed by none.
const maxDecodings = 4

// DenyPath reports whether a deny pattern hits path. It tries equality and
// [Glob] on the path as given and on every spelling that a tool might take for
// the same file: percent escapes resolved (also nested), backslashes as slashes,
// empty and . and .. segments resolved, leading slashes removed, Unicode
// composed. One hit denies: a spelling too much denies too much, never too
// little. A leading ./ of the pattern is ignored.
func DenyPath(pattern, path string) bool {
	readings, ok := spellings(path)
	if !ok {
		return true
	}
	pattern = norm.NFC.String(strings.TrimPrefix(pattern, "./"))
	for _, reading := range readings {
		cleaned, _ := cleanPath(reading)
		for _, p := range []string{reading, cleaned, strings.TrimLeft(cleaned, "/")} {
			if Glob(pattern, norm.NFC.String(p)) {
				return true
			}
		}
	}
	return false
}

// AllowPath reports whether an allow pattern covers path. The cleaned form of
// every spelling that [DenyPath] knows must match, so that no reading of the path
// leaves the allowed area. A path with a .. segment, a NUL, invalid UTF-8 or
// escapes nested too deep never passes, and neither does an empty one. An
// absolute path needs an absolute pattern. A leading ./ of the pattern is
// ignored.
func AllowPath(pattern, path string) bool {
	readings, ok := spellings(path)
	if !ok || path == "" {
		return false
	}
	pattern = strings.TrimPrefix(pattern, "./")
	for _, reading := range readings {
		cleaned, climbs := cleanPath(reading)
		if climbs || strings.ContainsRune(reading, 0) || !utf8.ValidString(reading) || !Glob(pattern, cleaned) {
			return false
		}
	}
	return true
}

// spellings gives the path as given and its readings: with percent escapes
// resolved, each with and without backslashes taken as slashes. It is not ok
// when escapes nest deeper than maxDecodings.
func spellings(path string) (list []string, ok bool) {
	for range maxDecodings + 1 {
		list = append(list, path)
		if strings.Contains(path, `\`) {
			list = append(list, strings.ReplaceAll(path, `\`, "/"))
		}
		decoded := decodePercent(path)
		if decoded == path {
			return list, true
		}
		path = decoded
	}
	return nil, false
}

// cleanPath resolves empty, . and .. segments. A leading slash stays, a trailing
// one goes; climbs reports whether there was any .. segment.
func cleanPath(path string) (cleaned string, climbs bool) {
	kept := make([]string, 0, 8)
	for _, s := range strings.Split(path, "/") {
		switch s {
		case "", ".":
		case "..":
			climbs = true
			kept = kept[:max(0, len(kept)-1)]
		default:
			kept = append(kept, s)
		}
	}
	cleaned = strings.Join(kept, "/")
	if strings.HasPrefix(path, "/") {
		cleaned = "/" + cleaned
	}
	return cleaned, climbs
}

// decodePercent resolves the well-formed percent escapes of s once and leaves
// others as they are.
func decodePercent(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			high, low := hexDigit(s[i+1]), hexDigit(s[i+2])
			if high >= 0 && low >= 0 {
				b = append(b, byte(high<<4|low))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
