package kcp

import (
	"math"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// Plain scalars are typed here and nowhere else, by the core schema of YAML 1.2
// as the reference's reader applies it (planner contract section 2.2). A date
// without quotes keeps its text and so means the same as one with quotes.

type scalarType uint8

const (
	typeString scalarType = iota
	typeNull
	typeBool
	typeNumber
)

// scalarTypeOf gives the type of a plain scalar, and its number.
func scalarTypeOf(text string) (scalarType, float64) {
	if text == "" {
		return typeNull, 0
	}
	switch c := text[0]; {
	case c >= '0' && c <= '9', c == '.', c == '+', c == '-':
		if x, ok := plainNumber(text); ok {
			return typeNumber, x
		}
	case c == '~', c == 'n', c == 'N':
		if isNullText(text) {
			return typeNull, 0
		}
	case c == 't', c == 'T', c == 'f', c == 'F':
		if _, ok := boolText(text); ok {
			return typeBool, 0
		}
	}
	return typeString, 0
}

func isNullText(text string) bool {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return true
	}
	return false
}

func boolText(text string) (value, ok bool) {
	switch text {
	case "true", "True", "TRUE":
		return true, true
	case "false", "False", "FALSE":
		return false, true
	}
	return false, false
}

// plainNumber reads an int or a float. A float that overflows is no number.
func plainNumber(text string) (float64, bool) {
	unsigned := strings.TrimLeft(text[:1], "+-") + text[1:]
	negative := text[0] == '-'
	if len(unsigned) > 2 && unsigned[0] == '0' {
		if base := radix(unsigned[1]); base != 0 {
			x, ok := digitsOf(unsigned[2:], base)
			return signed(x, negative), ok
		}
	}
	switch unsigned {
	case ".inf", ".Inf", ".INF":
		return signed(math.Inf(1), negative), true
	case ".nan", ".NaN", ".NAN":
		return math.NaN(), len(unsigned) == len(text)
	}
	if !isDecimal(unsigned) || unsigned[0] == '.' && len(unsigned) != len(text) {
		return 0, false
	}
	x, err := strconv.ParseFloat(unsigned, 64)
	if err != nil {
		// Beyond the range a float stays text, an integer is Infinity.
		if strings.ContainsAny(unsigned, ".eE") {
			return 0, false
		}
		x = math.Inf(1)
	}
	return signed(x, negative), true
}

func signed(x float64, negative bool) float64 {
	if negative {
		return -x
	}
	return x
}

func radix(prefix byte) float64 {
	switch prefix {
	case 'b':
		return 2
	case 'o':
		return 8
	case 'x':
		return 16
	}
	return 0
}

// digitsOf reads digits of a base as a correctly rounded number.
func digitsOf(digits string, base float64) (float64, bool) {
	for i := range len(digits) {
		if d := digitValue(digits[i]); d < 0 || float64(d) >= base {
			return 0, false
		}
	}
	// A hexadecimal float literal rounds correctly whatever its length; a
	// number of up to 53 bits is exact either way.
	if base == 16 {
		x, err := strconv.ParseFloat("0x"+digits+"p0", 64)
		return x, err == nil || math.IsInf(x, 1)
	}
	x := 0.0
	for i := range len(digits) {
		x = x*base + float64(digitValue(digits[i]))
	}
	return x, true
}

func digitValue(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// isDecimal reports whether text is digits[.digits?][exponent] or
// .digits[exponent], without a sign.
func isDecimal(text string) bool {
	i := digitsEnd(text, 0)
	whole := i > 0
	if i < len(text) && text[i] == '.' {
		end := digitsEnd(text, i+1)
		if !whole && end == i+1 {
			return false
		}
		i, whole = end, true
	}
	if !whole {
		return false
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		i++
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		end := digitsEnd(text, i)
		if end == i {
			return false
		}
		i = end
	}
	return i == len(text)
}

func digitsEnd(text string, i int) int {
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	return i
}

// textOf gives the text of a scalar where text is wanted: that of a number
// is ECMAScript's, that of a boolean is true or false, any other is as written.
func textOf(n *node) string {
	if !n.plain || n.text == "" {
		return n.text
	}
	switch kind, x := scalarTypeOf(n.text); kind {
	case typeNumber:
		if canonical := artifact.FormatNumber(x); canonical != n.text {
			return canonical
		}
	case typeBool:
		if value, _ := boolText(n.text); value {
			return "true"
		}
		return "false"
	}
	return n.text
}
