package draft

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// quote writes text as a YAML scalar in double quotes. It is the same text for
// every reader, whatever it looks like.
func quote(text string) string {
	var b strings.Builder
	b.Grow(len(text) + 2)
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case plainRune(r):
			b.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// plainRune reports whether a character may stand as it is in a YAML line that a
// person reads: it is drawn, breaks no line and turns no text around.
func plainRune(r rune) bool {
	if r == utf8.RuneError || r == 0x200c || r == 0x200d {
		return true // a replacement is honest; joiners are part of words and emoji
	}
	return unicode.IsGraphic(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) && r != 0x2028 && r != 0x2029
}

// flowList writes texts as a YAML list on one line.
func flowList(items []string) string {
	quoted := make([]string, len(items))
	for i, item := range items {
		quoted[i] = quote(item)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// oneLine makes text that is drawn on one line: blanks for line breaks and
// controls, and one blank where there were several.
func oneLine(text string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToValidUTF8(text, "\ufffd") {
		if unicode.IsSpace(r) || !plainRune(r) {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte(' ')
			gap = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// cut shortens text to at most n characters, at a blank where there is one.
func cut(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	short := string(runes[:n-1])
	if i := strings.LastIndexByte(short, ' '); i > len(short)/2 {
		short = short[:i]
	}
	return strings.TrimRight(short, " ,;:.-") + "…"
}
