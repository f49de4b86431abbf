package artifact

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// CanonicalKCP gives the bytes that identify a knowledge artifact, among them
// the memory id: the compact text that ECMAScript's JSON.stringify writes after
// JSON.parse. Members keep their order, except that names which are array
// indexes come first in ascending order; numbers have the text of
// [FormatNumber]. A number beyond the range of a float64 is an error, and so is
// nesting beyond [MaxDepth].
func CanonicalKCP(v Value) ([]byte, error) {
	return appendCanonical(nil, v, form{number: appendECMANumber, order: orderECMA}, 0)
}

// CanonicalRuntime gives the bytes that identify a free value inside a runtime
// document: members sorted by the bytes of their names at every depth; integers
// that fit 64 bits, signed or unsigned, as they are; every other number as a
// float64 that always has a point or an exponent (1.0, 1e16, 1e-7, -0.0). A
// number beyond the range of a float64 is an error, and so is nesting beyond
// [MaxDepth].
//
// The order of a typed document's own fields is its declaration order; encode
// that with [EncodeCompact] and give it fields of canonical text.
func CanonicalRuntime(v Value) ([]byte, error) {
	return appendCanonical(nil, v, form{number: appendRuntimeNumber, order: orderBytes}, 0)
}

// CanonicalRFC8785 gives the JSON Canonicalization Scheme's bytes (RFC 8785),
// used for signed statements. Members are sorted by UTF-16 code units. Whole
// numbers beyond 2^53-1 are refused, since readers that use float64 would
// verify a signature over a number other than the one they see: write them as
// strings. Numbers beyond the range of a float64 are refused too, and so is
// nesting beyond [MaxDepth].
func CanonicalRFC8785(v Value) ([]byte, error) {
	return appendCanonical(nil, v, form{number: appendJCSNumber, order: orderUTF16}, 0)
}

// form is one canonical form: how it writes a number and how it orders members.
// order may return its argument but must not change it.
type form struct {
	number func(dst []byte, literal string) ([]byte, error)
	order  func([]Member) []Member
}

func appendCanonical(dst []byte, v Value, f form, depth int) ([]byte, error) {
	if v.kind < KindArray {
		if v.kind == KindNumber {
			return f.number(dst, v.text)
		}
		return v.AppendCompact(dst), nil
	}
	if depth++; depth > MaxDepth {
		return nil, fmt.Errorf("canonical form: nested more than %d levels deep", MaxDepth)
	}
	var err error
	if v.kind == KindArray {
		dst = append(dst, '[')
		for i := range v.list {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendCanonical(dst, v.list[i], f, depth); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	}
	dst = append(dst, '{')
	for i, m := range f.order(v.members) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendString(dst, m.Name), ':')
		if dst, err = appendCanonical(dst, m.Value, f, depth); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func parseFinite(literal string) (float64, error) {
	x, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return 0, fmt.Errorf("canonical form: number %.40s is out of range; write it as a string", literal)
	}
	return x, nil
}

func appendECMANumber(dst []byte, literal string) ([]byte, error) {
	x, err := parseFinite(literal)
	if err != nil {
		return nil, err
	}
	return AppendNumber(dst, x), nil
}

func appendJCSNumber(dst []byte, literal string) ([]byte, error) {
	x, err := parseFinite(literal)
	if err != nil {
		return nil, err
	}
	if x == math.Trunc(x) && math.Abs(x) > 1<<53-1 {
		return nil, fmt.Errorf("canonical form: whole number %.40s is beyond 2^53-1; write it as a string", literal)
	}
	return AppendNumber(dst, x), nil
}

func appendRuntimeNumber(dst []byte, literal string) ([]byte, error) {
	if isInteger(literal) && literal != "-0" {
		_, unsigned := strconv.ParseUint(literal, 10, 64)
		_, signed := strconv.ParseInt(literal, 10, 64)
		if unsigned == nil || signed == nil {
			return append(dst, literal...), nil
		}
	}
	x, err := parseFinite(literal)
	if err != nil {
		return nil, err
	}
	// Reading is correctly rounded. The reference's reader is not for long
	// decimals, which makes its form change when it is read back.
	scientific := strconv.FormatFloat(x, 'e', -1, 64)
	mantissa, exponentText, _ := strings.Cut(scientific, "e")
	exponent, _ := strconv.Atoi(exponentText)
	if exponent < -5 || exponent >= 16 {
		return strconv.AppendInt(append(append(dst, mantissa...), 'e'), int64(exponent), 10), nil
	}
	plain := strconv.FormatFloat(x, 'f', -1, 64)
	dst = append(dst, plain...)
	if !strings.Contains(plain, ".") {
		dst = append(dst, ".0"...)
	}
	return dst, nil
}

func orderBytes(members []Member) []Member {
	return orderBy(members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
}

func orderUTF16(members []Member) []Member {
	return orderBy(members, func(a, b Member) int { return CompareUTF16(a.Name, b.Name) })
}

func orderBy(members []Member, compare func(a, b Member) int) []Member {
	if slices.IsSortedFunc(members, compare) {
		return members
	}
	sorted := slices.Clone(members)
	slices.SortFunc(sorted, compare)
	return sorted
}

// orderECMA moves array indexes to the front in ascending order (ECMA-262
// section 10.1.11, OrdinaryOwnPropertyKeys).
func orderECMA(members []Member) []Member {
	var indexes []Member
	for _, m := range members {
		if _, ok := arrayIndex(m.Name); ok {
			indexes = append(indexes, m)
		}
	}
	if indexes == nil {
		return members
	}
	slices.SortFunc(indexes, func(a, b Member) int {
		i, _ := arrayIndex(a.Name)
		j, _ := arrayIndex(b.Name)
		return int(int64(i) - int64(j))
	})
	for _, m := range members {
		if _, ok := arrayIndex(m.Name); !ok {
			indexes = append(indexes, m)
		}
	}
	return indexes
}

// arrayIndex reads the canonical decimal text of an integer below 2^32-1.
func arrayIndex(name string) (uint32, bool) {
	if name == "" || len(name) > 10 || name[0] == '0' && name != "0" || name[0] == '+' {
		return 0, false
	}
	n, err := strconv.ParseUint(name, 10, 32)
	return uint32(n), err == nil && n < math.MaxUint32
}

// CompareUTF16 compares by UTF-16 code units, as ECMAScript's < does and RFC
// 8785 requires. It differs from byte order only between characters from U+E000
// to U+FFFF and those beyond U+FFFF, which come first here.
func CompareUTF16(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) || i == len(b) {
		return len(a) - len(b)
	}
	for i > 0 && !utf8.RuneStart(a[i]) {
		i--
	}
	r, _ := utf8.DecodeRuneInString(a[i:])
	s, _ := utf8.DecodeRuneInString(b[i:])
	if (r > 0xffff) != (s > 0xffff) && r >= 0xe000 && s >= 0xe000 {
		return int(s - r)
	}
	return int(r - s)
}
