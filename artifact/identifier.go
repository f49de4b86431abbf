package artifact

import (
	"strings"
	"unicode"
)

// MaxIdentifier is the longest identifier, in bytes.
const MaxIdentifier = 128

// InvalidIdentifierError is the error of [CheckIdentifier].
type InvalidIdentifierError struct {
	Value string
}

// Error gives the version 1 display text.
func (e *InvalidIdentifierError) Error() string {
	return "InvalidIdentifier(" + QuoteDebug(e.Value) + ")"
}

// CheckIdentifier reports whether s is an identifier: 1 to [MaxIdentifier] bytes,
// each a letter, a digit or one of - _ . / in ASCII. Graph, node, transition,
// execution, pack, namespace, tool, capability, claim graph and state schema ids
// all obey this rule. An identifier may be "..", so it must never become part of
// a path. The error is an *[InvalidIdentifierError].
func CheckIdentifier(s string) error {
	if s == "" || len(s) > MaxIdentifier {
		return &InvalidIdentifierError{s}
	}
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '-' || c > '9') && c != '_' {
			return &InvalidIdentifierError{s}
		}
	}
	return nil
}

// QuoteDebug quotes s the way version 1 error texts show strings: a backslash
// before quotes and backslashes, the short escapes \t \r \n \0, and \u{hex} for
// what cannot be printed.
func QuoteDebug(s string) string {
	const hex = "0123456789abcdef"
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == 0:
			b.WriteString(`\0`)
		case unicode.IsPrint(r) && !unicode.Is(unicode.M, r):
			b.WriteRune(r)
		default:
			b.WriteString(`\u{`)
			shift := 28
			for shift > 0 && r>>shift == 0 {
				shift -= 4
			}
			for ; shift >= 0; shift -= 4 {
				b.WriteByte(hex[r>>shift&0xf])
			}
			b.WriteByte('}')
		}
	}
	b.WriteByte('"')
	return b.String()
}
