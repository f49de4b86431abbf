package artifact

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is the type of a [Value].
type Kind uint8

// The kinds of JSON values.
const (
	KindNull Kind = iota
	KindBool
	KindNumber
	KindString
	KindArray
	KindObject
)

func (k Kind) String() string {
	return [...]string{"null", "boolean", "number", "string", "array", "object"}[k]
}

// Value is any JSON value. It keeps the order of members and the literal text
// of numbers, so that a canonical form can decide about both. The zero value is
// null. A Value is immutable: methods that change give a changed copy, and the
// slices that accessors return must not be written to.
type Value struct {
	kind    Kind
	text    string // a string's content, a number's literal, "true" of a boolean
	list    []Value
	members []Member
}

// Member is one name and value of an object.
type Member struct {
	Name  string
	Value Value
}

// ParseValue reads exactly one JSON document, as strictly as [Decode]. A problem
// with the text is a *[SyntaxError].
func ParseValue(data []byte) (Value, error) {
	var v Value
	if err := Decode(data, &v, RefuseUnknown); err != nil {
		return Value{}, err
	}
	return v, nil
}

// BoolValue gives a boolean.
func BoolValue(b bool) Value {
	if b {
		return Value{kind: KindBool, text: "true"}
	}
	return Value{kind: KindBool}
}

// StringValue gives a string.
func StringValue(s string) Value { return Value{kind: KindString, text: s} }

// IntValue gives a number written as an integer.
func IntValue(i int64) Value { return Value{kind: KindNumber, text: strconv.FormatInt(i, 10)} }

// UintValue gives a number written as an integer.
func UintValue(u uint64) Value { return Value{kind: KindNumber, text: strconv.FormatUint(u, 10)} }

// FloatValue gives a number with the text of [AppendNumber], hence null when x
// is not finite.
func FloatValue(x float64) Value {
	text := string(AppendNumber(nil, x))
	if text == "null" {
		return Value{}
	}
	return Value{kind: KindNumber, text: text}
}

// NumberValue gives a number with the given JSON text.
func NumberValue(literal string) (Value, error) {
	if v := jsontext.Value(literal); v.Kind() != '0' || !v.IsValid() || literal != strings.TrimSpace(literal) {
		return Value{}, fmt.Errorf("%.40q is not the text of a JSON number", literal)
	}
	return Value{kind: KindNumber, text: literal}, nil
}

// ArrayValue gives an array of the elements, which it keeps.
func ArrayValue(elements ...Value) Value { return Value{kind: KindArray, list: elements} }

// ObjectValue gives an object of the members, which it keeps. Of a repeated name
// the last value wins at the first position, as in ECMAScript.
func ObjectValue(members ...Member) Value {
	seen := make(map[string]int, len(members))
	kept := members[:0:len(members)]
	for _, m := range members {
		if at, ok := seen[m.Name]; ok {
			kept[at].Value = m.Value
			continue
		}
		seen[m.Name] = len(kept)
		kept = append(kept, m)
	}
	return Value{kind: KindObject, members: kept}
}

// Kind gives the value's type.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether v is null.
func (v Value) IsNull() bool { return v.kind == KindNull }

// Text gives the content of a string or the literal of a number; else "".
func (v Value) Text() string {
	if v.kind == KindString || v.kind == KindNumber {
		return v.text
	}
	return ""
}

// Bool reports whether v is the boolean true.
func (v Value) Bool() bool { return v.kind == KindBool && v.text != "" }

// Float gives a number as the nearest float64. It is false for other kinds and
// for numbers beyond the range of a float64.
func (v Value) Float() (float64, bool) {
	if v.kind != KindNumber {
		return 0, false
	}
	x, err := strconv.ParseFloat(v.text, 64)
	return x, err == nil
}

// Int gives a number that is written as an integer and fits. It is false for
// others, also for 1.0 and 1e3: version 1 documents tell them apart.
func (v Value) Int() (int64, bool) {
	if v.kind != KindNumber {
		return 0, false
	}
	i, err := strconv.ParseInt(v.text, 10, 64)
	return i, err == nil
}

// Uint is [Value.Int] for unsigned numbers.
func (v Value) Uint() (uint64, bool) {
	if v.kind != KindNumber {
		return 0, false
	}
	u, err := strconv.ParseUint(v.text, 10, 64)
	return u, err == nil
}

// Elements gives the elements of an array; nil for other kinds.
func (v Value) Elements() []Value { return v.list }

// Members gives the members of an object in order; nil for other kinds.
func (v Value) Members() []Member { return v.members }

// Len gives the number of elements or members; 0 for other kinds.
func (v Value) Len() int { return len(v.list) + len(v.members) }

// Get gives the member of that name.
func (v Value) Get(name string) (Value, bool) {
	for i := range v.members {
		if v.members[i].Name == name {
			return v.members[i].Value, true
		}
	}
	return Value{}, false
}

// With gives a copy of the object v in which name has the given value: at its
// old position, or last when it is new. On a value that is no object it gives an
// object with this one member.
func (v Value) With(name string, value Value) Value {
	members := make([]Member, 0, len(v.members)+1)
	found := false
	for _, m := range v.members {
		if m.Name == name {
			m.Value, found = value, true
		}
		members = append(members, m)
	}
	if !found {
		members = append(members, Member{name, value})
	}
	return Value{kind: KindObject, members: members}
}

// Without gives a copy of the object v that lacks name; other kinds are
// returned as they are.
func (v Value) Without(name string) Value {
	if _, ok := v.Get(name); !ok {
		return v
	}
	members := make([]Member, 0, len(v.members))
	for _, m := range v.members {
		if m.Name != name {
			members = append(members, m)
		}
	}
	return Value{kind: KindObject, members: members}
}

// Equal reports whether v and w mean the same: objects regardless of the order
// of members, numbers by their exact decimal value (1, 1.0 and 10e-1 are equal,
// 9007199254740993 and 9007199254740992 are not).
func (v Value) Equal(w Value) bool {
	if v.kind != w.kind || len(v.list) != len(w.list) || len(v.members) != len(w.members) {
		return false
	}
	if v.kind == KindNumber {
		return v.text == w.text || parseDecimal(v.text) == parseDecimal(w.text)
	}
	if v.text != w.text {
		return false
	}
	for i := range v.list {
		if !v.list[i].Equal(w.list[i]) {
			return false
		}
	}
	return sameMembers(v.members, w.members)
}

func sameMembers(a, b []Member) bool {
	var index map[string]int // only when the order differs
	for i := range a {
		at := i
		if b[i].Name != a[i].Name {
			if index == nil {
				index = make(map[string]int, len(b))
				for j := range b {
					index[b[j].Name] = j
				}
			}
			var ok bool
			if at, ok = index[a[i].Name]; !ok {
				return false
			}
		}
		if !a[i].Value.Equal(b[at].Value) {
			return false
		}
	}
	return true
}

// decimal is a number's exact value: 0.digits * 10^exponent, without leading or
// trailing zeros in digits. Zero has no digits, and no sign.
type decimal struct {
	negative bool
	digits   string
	exponent int64
	literal  string // set only where the exponent does not fit
}

func parseDecimal(literal string) decimal {
	text, negative := strings.CutPrefix(literal, "-")
	mantissa, exponentText := text, "0"
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponentText = text[:i], text[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return decimal{}
	}
	leading := len(whole) + len(fraction) - len(digits)
	exponent, err := strconv.ParseInt(strings.TrimPrefix(exponentText, "+"), 10, 62)
	if err != nil {
		return decimal{literal: literal}
	}
	return decimal{
		negative: negative,
		digits:   strings.TrimRight(digits, "0"),
		exponent: exponent + int64(len(whole)-leading),
	}
}

// AppendCompact appends the JSON text of v without white space, members in their
// order and numbers by their literal. It is not a canonical form.
func (v Value) AppendCompact(dst []byte) []byte {
	switch v.kind {
	case KindNull:
		return append(dst, "null"...)
	case KindBool:
		return strconv.AppendBool(dst, v.Bool())
	case KindNumber:
		return append(dst, v.text...)
	case KindString:
		return AppendString(dst, v.text)
	case KindArray:
		dst = append(dst, '[')
		for i := range v.list {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = v.list[i].AppendCompact(dst)
		}
		return append(dst, ']')
	}
	dst = append(dst, '{')
	for i := range v.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendString(dst, v.members[i].Name), ':')
		dst = v.members[i].Value.AppendCompact(dst)
	}
	return append(dst, '}')
}

// String gives the text of [Value.AppendCompact].
func (v Value) String() string { return string(v.AppendCompact(nil)) }

// MarshalJSONTo implements the encoder interface of the JSON module. The literal
// text of numbers is kept.
func (v Value) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteValue(v.AppendCompact(nil))
}

// UnmarshalJSONFrom implements the decoder interface of the JSON module.
func (v *Value) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	read, err := readValue(dec)
	if err == nil {
		*v = read
	}
	return err
}

func readValue(dec *jsontext.Decoder) (Value, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return Value{}, err
	}
	if dec.StackDepth() > MaxDepth {
		return Value{}, fmt.Errorf("nested more than %d levels deep", MaxDepth)
	}
	switch token.Kind() {
	case 't':
		return BoolValue(true), nil
	case 'f':
		return BoolValue(false), nil
	case '"':
		return StringValue(token.String()), nil
	case '0':
		return Value{kind: KindNumber, text: token.String()}, nil
	case '[':
		return readArray(dec)
	case '{':
		return readObject(dec)
	}
	return Value{}, nil
}

func readArray(dec *jsontext.Decoder) (Value, error) {
	v := Value{kind: KindArray}
	for dec.PeekKind() != ']' {
		element, err := readValue(dec)
		if err != nil {
			return Value{}, err
		}
		v.list = append(v.list, element)
	}
	_, err := dec.ReadToken()
	return v, err
}

func readObject(dec *jsontext.Decoder) (Value, error) {
	v := Value{kind: KindObject}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return Value{}, err
		}
		m := Member{Name: name.String()}
		if m.Value, err = readValue(dec); err != nil {
			return Value{}, err
		}
		v.members = append(v.members, m)
	}
	_, err := dec.ReadToken()
	return v, err
}

// isInteger reports whether a number's literal has neither fraction nor exponent.
func isInteger(literal string) bool { return !strings.ContainsAny(literal, ".eE") }
