package kcp

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// linePlaces turns the library's positions, whose columns count characters,
// into ours, whose columns count bytes. It is fastest from left to right and
// from top to bottom, which is how nodes come.
type linePlaces struct {
	text   string
	ascii  bool  // every character is one byte
	starts []int // byte offset of each line
	line   int   // where the last answer was
	char   int
	offset int
}

func newLinePlaces(text string) linePlaces {
	p := linePlaces{text: text, ascii: true}
	for i := 0; i < len(text) && p.ascii; i++ {
		p.ascii = text[i] < utf8.RuneSelf
	}
	return p
}

// at converts a position of the library.
func (p *linePlaces) at(line, char int) (int, int) {
	if p.ascii {
		return line, char
	}
	return line, p.seek(line, char) - p.start(line) + 1
}

// rest gives the text from a position of the library on.
func (p *linePlaces) rest(line, char int) string { return p.text[p.seek(line, char):] }

func (p *linePlaces) start(line int) int {
	if p.starts == nil {
		p.starts = []int{0}
		for i := range len(p.text) {
			if c := p.text[i]; c == '\n' || c == '\r' && !(i+1 < len(p.text) && p.text[i+1] == '\n') {
				p.starts = append(p.starts, i+1)
			}
		}
	}
	return p.starts[min(max(line, 1), len(p.starts))-1]
}

func (p *linePlaces) seek(line, char int) int {
	if p.ascii {
		return min(p.start(line)+char-1, len(p.text))
	}
	if line != p.line || char < p.char {
		p.line, p.char, p.offset = line, 1, p.start(line)
	}
	for p.char < char && p.offset < len(p.text) {
		if p.text[p.offset] < utf8.RuneSelf {
			p.offset++
		} else {
			_, size := utf8.DecodeRuneInString(p.text[p.offset:])
			p.offset += size
		}
		p.char++
	}
	return p.offset
}

// A mask hides from the library what it reads differently from YAML 1.2, by
// putting one private character in the place of each of them:
//
//   - "?" that does not announce a key: in a flow collection the library ends
//     the text before it;
//   - NEL, LS and PS, which are line breaks to the library and text in YAML 1.2;
//   - the escape of "/", and both halves of a surrogate pair that is written as
//     two escapes, which are JSON that the library refuses.
//
// The columns stay as they are.
type mask struct {
	stand    map[rune]rune // from what is hidden to its stand-in
	back     map[rune]rune // and back
	question string        // the stand-in for "?", which is by far the most frequent
}

// maskable are the characters that may have to be hidden.
const maskable = "?\u0085\u2028\u2029\\/u0123456789abcdefABCDEF"

// mayHide tells the bytes that maskable characters and escapes begin with.
var mayHide = [256]bool{'?': true, 0xc2: true, 0xe2: true, '\\': true}

// privateArea is where stand-ins are taken from (the BMP's private use area).
const (
	privateFirst = 0xe000
	privateCount = 6400
)

// maskText gives text with what must be hidden replaced; the mask is nil when
// nothing was.
func maskText(text string) (string, *mask) {
	text = acceptedVersion(text)
	var b strings.Builder
	var m *mask
	done := 0
	for i := 0; i < len(text); i++ {
		if !mayHide[text[i]] {
			continue
		}
		n := hiddenAt(text, i)
		if n == 0 {
			if strings.HasPrefix(text[i:], `\\`) {
				i++ // an escaped backslash escapes nothing
			}
			continue
		}
		if m == nil {
			if m = newMask(text); m == nil {
				return text, nil
			}
			b.Grow(len(text) + len(text)/64)
		}
		b.WriteString(text[done:i])
		for _, r := range text[i : i+n] {
			b.WriteRune(m.stand[r])
		}
		done = i + n
		i = done - 1
	}
	if m == nil {
		return text, nil
	}
	b.WriteString(text[done:])
	return b.String(), m
}

// hiddenAt gives the length of what must be hidden at i, or 0. A "?" before a
// quote stays: that is where questions in quotes end, and in other places the
// fast reader leaves it alone.
func hiddenAt(text string, i int) int {
	switch text[i] {
	case '?':
		if strings.IndexByte("\"'", text[i+1]) < 0 && !announcesKey(text, i) {
			return 1
		}
	case 0xc2:
		if strings.HasPrefix(text[i:], "\u0085") {
			return 2
		}
	case 0xe2:
		if strings.HasPrefix(text[i:], "\u2028") || strings.HasPrefix(text[i:], "\u2029") {
			return 3
		}
	case '\\':
		return hiddenEscape(text[i:])
	}
	return 0
}

// acceptedVersion turns a %YAML directive of any minor version into 1.1, the
// only one that the library accepts. Directives have no meaning otherwise.
func acceptedVersion(text string) string {
	const directive, minor = "%YAML 1.", "1"
	rest := text
	for rest != "" && strings.ContainsRune("#%\r\n", rune(rest[0])) {
		if strings.HasPrefix(rest, directive) {
			at := len(text) - len(rest) + len(directive)
			if end := digitsEnd(text, at); end == at+1 {
				return text[:at] + minor + text[end:]
			}
		}
		_, rest, _ = strings.Cut(rest, "\n")
	}
	return text
}

// newMask picks stand-ins that do not occur in text. It is nil in the odd case
// that text leaves too few.
func newMask(text string) *mask {
	var used [privateCount]bool
	if hasPrivate(text) {
		for _, r := range text {
			if r >= privateFirst && r < privateFirst+privateCount {
				used[r-privateFirst] = true
			}
		}
	}
	m := &mask{stand: map[rune]rune{}, back: map[rune]rune{}}
	next := 0
	for _, r := range maskable {
		for next < privateCount && used[next] {
			next++
		}
		if next == privateCount {
			return nil
		}
		m.stand[r], m.back[privateFirst+rune(next)] = privateFirst+rune(next), r
		next++
	}
	m.question = string(m.stand['?'])
	return m
}

// announcesKey reports whether the "?" at i may be the indicator of a key: a
// blank or the line's end follows, and before it is nothing or an indicator.
func announcesKey(text string, i int) bool {
	if i+1 < len(text) && !strings.ContainsRune(" \t\r\n", rune(text[i+1])) {
		return false
	}
	before := strings.TrimRight(text[:i], " \t")
	if before == "" || strings.IndexByte("\r\n[{,", before[len(before)-1]) >= 0 {
		return true
	}
	return len(before) < i && strings.IndexByte("-?:", before[len(before)-1]) >= 0
}

// hiddenEscape gives the length of an escape that the library does not know, or
// 0.
func hiddenEscape(text string) int {
	switch {
	case strings.HasPrefix(text, `\/`):
		return len(`\/`)
	case surrogatePair(text) != 0:
		return surrogatePairBytes
	}
	return 0
}

const surrogatePairBytes = len(`\ud83d\ude00`)

// surrogatePair reads two escapes that together are one character, or gives 0.
func surrogatePair(text string) rune {
	if len(text) < surrogatePairBytes || text[:2] != `\u` || text[6:8] != `\u` {
		return 0
	}
	high, err1 := strconv.ParseUint(text[2:6], 16, 32)
	low, err2 := strconv.ParseUint(text[8:12], 16, 32)
	if err1 != nil || err2 != nil {
		return 0
	}
	if r := utf16.DecodeRune(rune(high), rune(low)); r != utf8.RuneError {
		return r
	}
	return 0
}

// hasPrivate reports whether text may have characters of the private area.
func hasPrivate(text string) bool {
	return strings.IndexByte(text, 0xee) >= 0 || strings.IndexByte(text, 0xef) >= 0
}

// restore undoes the mask in one scalar. In double quotes a hidden escape becomes
// what it stands for.
func (m *mask) restore(text string, doubleQuoted bool) string {
	if m == nil || !hasPrivate(text) {
		return text
	}
	if text = strings.ReplaceAll(text, m.question, "?"); !hasPrivate(text) {
		return text
	}
	var b strings.Builder
	var escape []byte // a hidden escape, as far as it has come
	for _, r := range text {
		hidden, ok := m.back[r]
		if !ok {
			b.WriteRune(r)
			continue
		}
		if !doubleQuoted || hidden >= utf8.RuneSelf {
			b.WriteRune(hidden)
			continue
		}
		escape = append(escape, byte(hidden))
		switch hiddenEscape(string(escape)) {
		case len(`\/`):
			b.WriteByte('/')
		case surrogatePairBytes:
			b.WriteRune(surrogatePair(string(escape)))
		default:
			continue
		}
		escape = escape[:0]
	}
	return b.String()
}
