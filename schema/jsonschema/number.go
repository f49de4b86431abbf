package jsonschema

import (
	"math/big"
	"strconv"
	"strings"
)

// decimal is the exact value of a JSON number: 0.digits * 10^exponent, digits
// without zeros at either end. Zero has no digits. float64 would let
// 9007199254740993 pass a maximum of 9007199254740992.
type decimal struct {
	negative bool
	digits   string
	exponent int64
}

// exponentCap bounds the exponent of a literal. What lies beyond compares like
// the cap, which no bound in a schema reaches.
const exponentCap = 1 << 40

func parseDecimal(literal string) decimal {
	text, negative := strings.CutPrefix(literal, "-")
	mantissa, exponentText := text, ""
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponentText = text[:i], text[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	trimmed := strings.TrimLeft(digits, "0")
	if trimmed == "" {
		return decimal{}
	}
	var exponent int64
	if exponentText != "" {
		exponent = parseExponent(exponentText)
	}
	return decimal{
		negative: negative,
		digits:   strings.TrimRight(trimmed, "0"),
		exponent: exponent + int64(len(whole)-(len(digits)-len(trimmed))),
	}
}

func parseExponent(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimPrefix(text, "+"), 10, 64)
	switch {
	case err != nil && strings.HasPrefix(text, "-"):
		return -exponentCap
	case err != nil:
		return exponentCap
	}
	return max(-exponentCap, min(n, exponentCap))
}

// compare gives -1, 0 or 1.
func (d decimal) compare(e decimal) int {
	switch {
	case d.sign() != e.sign():
		return sign(d.sign() - e.sign())
	case d.digits == "":
		return 0
	}
	order := strings.Compare(d.digits, e.digits)
	if d.exponent != e.exponent {
		order = 1
		if d.exponent < e.exponent {
			order = -1
		}
	}
	return order * d.sign()
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}

func sign(n int) int { return max(-1, min(n, 1)) }

// isInteger reports whether d has no fraction: 1.0 and 1e3 are integers.
func (d decimal) isInteger() bool { return d.exponent >= int64(len(d.digits)) }

// isMultiple reports whether d is a whole multiple of e. ok is false where the
// numbers are too far apart to tell cheaply.
func (d decimal) isMultiple(e decimal) (is, ok bool) {
	if d.digits == "" {
		return true, true
	}
	// d/e is digits(d)/digits(e) * 10^shift
	shift := (d.exponent - int64(len(d.digits))) - (e.exponent - int64(len(e.digits)))
	if shift > maxExponent || shift < -maxExponent {
		return false, false
	}
	a, b := new(big.Int), new(big.Int)
	a.SetString(d.digits, 10)
	b.SetString(e.digits, 10)
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(max(shift, -shift)), nil)
	if shift >= 0 {
		a.Mul(a, power)
	} else {
		b.Mul(b, power)
	}
	return new(big.Int).Rem(a, b).Sign() == 0, true
}

// count reads a keyword that counts: a non-negative whole number, also as 3.0.
func (d decimal) count() (int, bool) {
	if d.digits == "" {
		return 0, true
	}
	if d.negative || !d.isInteger() || d.exponent > 15 {
		return 0, false
	}
	n, err := strconv.Atoi(d.digits + strings.Repeat("0", int(d.exponent)-len(d.digits)))
	return n, err == nil
}

// appendKey appends a text that is equal for equal numbers.
func (d decimal) appendKey(dst []byte) []byte {
	if d.negative {
		dst = append(dst, '-')
	}
	return strconv.AppendInt(append(append(dst, d.digits...), 'e'), d.exponent, 10)
}
