package event

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/writ-dev/writ/artifact"
)

// JSON is a free value as canonical text, see [artifact.CanonicalRuntime].
type JSON []byte

// CanonicalJSON gives v as the text that an event can carry.
func CanonicalJSON(v artifact.Value) (JSON, error) { return artifact.CanonicalRuntime(v) }

// Value parses the text.
func (j JSON) Value() (artifact.Value, error) { return artifact.ParseValue(j) }

func (c *coder) json(name string, v *JSON) {
	c.member(name)
	if c.err != nil {
		return
	}
	text := []byte(*v)
	if c.reading {
		text = c.buf
	}
	n, problem := canonicalValue(text, 0)
	switch {
	case problem != "":
		c.fail("%s: %s", name, problem)
	case c.reading:
		*v, c.buf = JSON(c.buf[:n:n]), c.buf[n:]
	case n != len(text):
		c.fail("%s: text after the value", name)
	default:
		c.buf = append(c.buf, text...)
	}
}

const notCanonical = "value is not canonical JSON"

// canonicalValue gives the length of the canonical value at the start of b. It
// builds nothing: verification reads every patch of a log.
func canonicalValue(b []byte, depth int) (n int, problem string) {
	if len(b) == 0 {
		return 0, "text ends before the value does"
	}
	switch b[0] {
	case '{', '[':
		if depth++; depth > artifact.MaxDepth {
			return 0, "value is nested too deep"
		}
		if b[0] == '{' {
			return canonicalObject(b, depth)
		}
		return canonicalArray(b, depth)
	case '"':
		_, n, problem = scanString(b)
		return n, problem
	case 'n':
		return literal(b, "null")
	case 't':
		return literal(b, "true")
	case 'f':
		return literal(b, "false")
	}
	return canonicalNumber(b)
}

func literal(b []byte, word string) (int, string) {
	if len(b) < len(word) || string(b[:len(word)]) != word {
		return 0, notCanonical
	}
	return len(word), ""
}

func canonicalArray(b []byte, depth int) (int, string) {
	if len(b) > 1 && b[1] == ']' {
		return 2, ""
	}
	for at := 1; ; at++ {
		n, problem := canonicalValue(b[at:], depth)
		if problem != "" {
			return 0, problem
		}
		if at += n; at == len(b) || b[at] != ',' {
			return closing(b, at, ']')
		}
	}
}

func canonicalObject(b []byte, depth int) (int, string) {
	if len(b) > 1 && b[1] == '}' {
		return 2, ""
	}
	var last []byte // the name before, as a string literal
	for at := 1; ; at++ {
		_, n, problem := scanString(b[at:])
		if problem != "" {
			return 0, problem
		}
		name := b[at : at+n]
		if last != nil && !nameBefore(last, name) {
			return 0, notCanonical
		}
		last = name
		if at += n; at == len(b) || b[at] != ':' {
			return 0, notCanonical
		}
		at++
		if n, problem = canonicalValue(b[at:], depth); problem != "" {
			return 0, problem
		}
		if at += n; at == len(b) || b[at] != ',' {
			return closing(b, at, '}')
		}
	}
}

func closing(b []byte, at int, bracket byte) (int, string) {
	if at == len(b) || b[at] != bracket {
		return 0, notCanonical
	}
	return at + 1, ""
}

// nameBefore compares two literals by the bytes of the names they spell.
func nameBefore(a, b []byte) bool {
	if bytes.IndexByte(a, '\\') < 0 && bytes.IndexByte(b, '\\') < 0 {
		return bytes.Compare(a[1:len(a)-1], b[1:len(b)-1]) < 0
	}
	x, _, _ := readString(a)
	y, _, _ := readString(b)
	return x < y
}

// canonicalNumber accepts an integer of 64 bits as it is and anything else only
// in the text that the canonical form gives it.
func canonicalNumber(b []byte) (int, string) {
	n, whole := 0, true
	for ; n < len(b); n++ {
		switch c := b[n]; {
		case c >= '0' && c <= '9' || c == '-' && n == 0:
		case c == '.' || c == 'e' || c == '-':
			whole = false
		default:
			return checkNumber(string(b[:n]), whole)
		}
	}
	return checkNumber(string(b[:n]), whole)
}

func checkNumber(text string, whole bool) (int, string) {
	if text == "" {
		return 0, notCanonical
	}
	if digits := strings.TrimPrefix(text, "-"); whole && (digits == text && digits == "0" || digits != "" && digits[0] != '0') {
		_, unsigned := strconv.ParseUint(text, 10, 64)
		_, signed := strconv.ParseInt(text, 10, 64)
		if unsigned == nil || signed == nil {
			return len(text), ""
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(x, 0) {
		return 0, notCanonical
	}
	v, err := artifact.NumberValue(text)
	if err != nil {
		return 0, notCanonical
	}
	if canonical, err := artifact.CanonicalRuntime(v); err != nil || string(canonical) != text {
		return 0, notCanonical
	}
	return len(text), ""
}

// scanString gives the length of the canonical string literal at the start of
// b, quotes included, and whether it has escapes.
func scanString(b []byte) (escaped bool, n int, problem string) {
	if len(b) == 0 || b[0] != '"' {
		return false, 0, "want a string"
	}
	ascii := true
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			if !ascii && !utf8.Valid(b[1:i]) {
				return false, 0, "text is not UTF-8"
			}
			return escaped, i + 1, ""
		case c == '\\':
			length := escapeLength(b[i:])
			if length == 0 {
				return false, 0, "text has an escape that is not canonical"
			}
			escaped = true
			i += length - 1
		case c < 0x20:
			return false, 0, "text has a control character"
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return false, 0, "text ends before the string does"
}

const shortEscapes = `"\btnfr`

// escapeLength gives the length of the canonical escape at the start of b, or 0.
func escapeLength(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	for i := range len(shortEscapes) {
		if b[1] == shortEscapes[i] {
			return 2
		}
	}
	if len(b) < 6 || string(b[:4]) != `\u00` || b[4] != '0' && b[4] != '1' || hexValue(b[5]) > 15 {
		return 0
	}
	switch control := hexValue(b[4])<<4 | hexValue(b[5]); control {
	case '\b', '\t', '\n', '\f', '\r':
		return 0 // these have a short form
	}
	return 6
}

// readString gives what the canonical string literal at the start of b spells.
func readString(b []byte) (s string, n int, problem string) {
	escaped, n, problem := scanString(b)
	if problem != "" {
		return "", 0, problem
	}
	inner := b[1 : n-1]
	if !escaped {
		return string(inner), n, ""
	}
	out := make([]byte, 0, len(inner))
	for i := 0; i < len(inner); i++ {
		if inner[i] != '\\' {
			out = append(out, inner[i])
			continue
		}
		i++
		switch c := inner[i]; c {
		case 'b':
			out = append(out, '\b')
		case 't':
			out = append(out, '\t')
		case 'n':
			out = append(out, '\n')
		case 'f':
			out = append(out, '\f')
		case 'r':
			out = append(out, '\r')
		case 'u':
			out = append(out, hexValue(inner[i+3])<<4|hexValue(inner[i+4]))
			i += 4
		default:
			out = append(out, c)
		}
	}
	return string(out), n, ""
}
