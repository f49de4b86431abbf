package kcp

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

const byteOrderMark = "\ufeff"

// checkInput gives the text of a manifest's bytes, without a leading byte order
// mark and with a line break at the end. It refuses what no YAML reader should see: too many bytes, invalid
// UTF-8, and characters that YAML 1.2 (section 5.1) does not count as printable.
func checkInput(data []byte, source string, limit int) (string, *SyntaxError) {
	if len(data) > limit {
		return "", &SyntaxError{Source: source, Problem: fmt.Sprintf(
			"manifest has %d bytes, more than the limit of %d; raise the limit or split the manifest", len(data), limit)}
	}
	text := withFinalBreak(bytes.TrimPrefix(data, []byte(byteOrderMark)))
	for i := 0; i < len(text); {
		i += printableASCII(text[i:])
		if i == len(text) {
			break
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if problem := characterProblem(r, size, text[i]); problem != "" {
			return "", &SyntaxError{Source: source, Pos: positionOf(text, i), Problem: problem}
		}
		i += size
	}
	return text, nil
}

// withFinalBreak gives text that ends with a line break, unless it is empty. To
// every reader that means the same.
func withFinalBreak[T string | []byte](text T) string {
	if n := len(text); n == 0 || text[n-1] == '\n' || text[n-1] == '\r' {
		return string(text)
	}
	var b strings.Builder
	b.Grow(len(text) + 1)
	b.WriteString(string(text))
	b.WriteByte('\n')
	return b.String()
}

// exactText gives the part of what checkInput made of data that is in data.
func exactText(text string, data []byte) string {
	return text[:len(bytes.TrimPrefix(data, []byte(byteOrderMark)))]
}

// printableASCII counts the leading bytes that need no closer look.
func printableASCII(text string) int {
	for i := range len(text) {
		if !printable[text[i]] {
			return i
		}
	}
	return len(text)
}

// printable tells the ASCII characters that may stand in YAML text.
var printable = func() (table [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		table[c] = true
	}
	table['\t'], table['\n'], table['\r'] = true, true, true
	return table
}()

func characterProblem(r rune, size int, first byte) string {
	switch {
	case r == utf8.RuneError && size <= 1:
		return fmt.Sprintf("byte 0x%02x is not valid UTF-8; save the file as UTF-8", first)
	case r == 0xfeff:
		return "byte order mark inside the text; remove it"
	case r < 0x20 && r != '\t' && r != '\n' && r != '\r', r >= 0x7f && r < 0xa0 && r != 0x85, r == 0xfffe, r == 0xffff:
		return fmt.Sprintf("character U+%04X is not printable; remove it, or write it as an escape in double quotes", r)
	}
	return ""
}

// positionOf gives the line and column of a byte offset. A line ends with LF,
// CR or CR LF.
func positionOf(text string, offset int) Position {
	p := Position{Line: 1, Column: 1}
	start := 0
	for i := 0; i < offset; i++ {
		if c := text[i]; c == '\n' || c == '\r' && !(i+1 < len(text) && text[i+1] == '\n') {
			p.Line++
			start = i + 1
		}
	}
	p.Column = offset - start + 1
	return p
}

// lineText gives one line of text, counted from 1, without its end.
func lineText(text string, line int) string {
	for ; line > 1; line-- {
		i := strings.IndexAny(text, "\r\n")
		if i < 0 {
			return ""
		}
		if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			i++
		}
		text = text[i+1:]
	}
	if i := strings.IndexAny(text, "\r\n"); i >= 0 {
		text = text[:i]
	}
	return text
}
