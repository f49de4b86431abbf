package planner

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unsafe"
)

// asString views bytes as a string without a copy; the bytes must not change
// while it is used.
func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// tokenText writes a number of tokens: rounded half up, grouped by thousands.
func tokenText(x float64) string {
	rounded := math.Floor(x)
	if x-rounded >= 0.5 {
		rounded++
	}
	if rounded == 0 && (math.Signbit(x) || x < 0) {
		return "-0"
	}
	return grouped(rounded, 0)
}

// grouped writes a number with thousands separators and at most places
// decimals, half away from zero, trailing zeros dropped.
func grouped(x float64, places int) string {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "∞"
	case math.IsInf(x, -1):
		return "-∞"
	}
	text := roundHalfAway(math.Abs(x), places)
	whole, fraction, _ := strings.Cut(text, ".")
	var b strings.Builder
	if math.Signbit(x) {
		b.WriteByte('-')
	}
	for i, digit := range []byte(whole) {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(digit)
	}
	if fraction = strings.TrimRight(fraction, "0"); fraction != "" {
		b.WriteByte('.')
		b.WriteString(fraction)
	}
	return b.String()
}

// roundHalfAway works on the shortest decimal of x, as number formatting in
// other implementations does.
func roundHalfAway(x float64, places int) string {
	shortest := strconv.FormatFloat(x, 'f', -1, 64)
	exact, _ := new(big.Rat).SetString(shortest)
	return exact.FloatString(places) // FloatString rounds halves away from zero
}
