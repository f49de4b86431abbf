package artifact

import (
	"bytes"
	"math"
	"strconv"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// FormatNumber gives the text of x as ECMAScript's Number::toString (ECMA-262
// section 6.1.6.1.20): shortest digits that read back as x, an exponent only
// from 1e21 up and below 1e-6, "0" for negative zero, "NaN", "Infinity" and
// "-Infinity". It is the text of every number in a message. In JSON use
// [AppendNumber], which writes the non-finite ones as null.
func FormatNumber(x float64) string {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	}
	var buf [32]byte
	return string(appendFinite(buf[:0], x))
}

// AppendNumber appends the JSON text of x: that of [FormatNumber], or null when
// x is not finite, which is what JSON.stringify writes.
func AppendNumber(dst []byte, x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(dst, "null"...)
	}
	return appendFinite(dst, x)
}

func appendFinite(dst []byte, x float64) []byte {
	if x == 0 {
		return append(dst, '0') // both zeros
	}
	if abs := math.Abs(x); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, x, 'f', -1, 64)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, x, 'e', -1, 64)
	// Go pads the exponent to two digits ("1e-07"), ECMAScript does not.
	if i := start + bytes.IndexByte(dst[start:], 'e') + 2; i+1 < len(dst) && dst[i] == '0' {
		dst = append(dst[:i], dst[i+1:]...)
	}
	return dst
}

// Number is a float64 whose JSON text is that of [AppendNumber] under any
// encoder of github.com/go-json-experiment/json. [Encode] and [EncodeCompact]
// write a plain float64 the same way, so fields of artifacts need not use it.
type Number float64

// String gives the text of [FormatNumber].
func (n Number) String() string { return FormatNumber(float64(n)) }

// MarshalJSONTo implements the encoder interface of the JSON module.
func (n Number) MarshalJSONTo(enc *jsontext.Encoder) error {
	return writeFloat(enc, float64(n))
}

// UnmarshalJSONFrom implements the decoder interface of the JSON module. JSON
// null reads as NaN, the value that [Number.MarshalJSONTo] writes as null.
func (n *Number) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == 'n' {
		*n = Number(math.NaN())
		_, err := dec.ReadToken()
		return err
	}
	return json.UnmarshalDecode(dec, (*float64)(n))
}

func writeFloat(enc *jsontext.Encoder, x float64) error {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return enc.WriteToken(jsontext.Null)
	case x == 0:
		return enc.WriteToken(jsontext.Int(0)) // negative zero loses its sign
	}
	return enc.WriteToken(jsontext.Float(x))
}

// RoundMicros gives x rounded to six decimals, the precision of money and scores
// in artifacts. Exact halves go away from zero, and the magnitudes from 1e21 up
// stay as they are, as in ECMAScript's Number(x.toFixed(6)).
func RoundMicros(x float64) float64 {
	if !(math.Abs(x) < 1e21) {
		return x
	}
	// A float64 lies exactly between two multiples of 1e-6 only if it is an odd
	// multiple of 1/128. Go rounds such a half to even, so move it off the middle.
	if scaled := x * 128; scaled == math.Trunc(scaled) && math.Mod(scaled, 2) != 0 {
		x = math.Nextafter(x, math.Inf(int(math.Copysign(1, x))))
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'f', 6, 64), 64)
	return rounded
}
