package artifact

import (
	"fmt"
	"sync"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// AppendString appends s as a JSON string with the fewest escapes: the quote,
// the backslash and the control characters below U+0020. Bytes that are not
// UTF-8 become U+FFFD; [Encode] refuses them instead.
func AppendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// StringList gives list as compact JSON text, such as ["agent","human"]. A nil
// list is []. Reasons and notes quote lists in this form.
func StringList(list []string) string {
	dst := append(make([]byte, 0, 16*len(list)+2), '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, s)
	}
	return string(append(dst, ']'))
}

// Encode gives the text of an artifact: JSON indented by two spaces, members in
// the declaration order of v's struct fields, map keys sorted, nil slices and
// maps as [] and {}, float64 by [AppendNumber], strings by [AppendString], and
// no newline at the end. It is byte for byte what JSON.stringify(v, null, 2)
// writes for the same members. A string that is not UTF-8 is an error.
func Encode(v any) ([]byte, error) {
	return encode(v, encodeIndented())
}

// EncodeCompact is [Encode] without any white space.
func EncodeCompact(v any) ([]byte, error) {
	return encode(v, encodeCompact())
}

func encode(v any, options json.Options) ([]byte, error) {
	data, err := json.Marshal(v, options)
	if err != nil {
		return nil, fmt.Errorf("encode %T as JSON: %w", v, err)
	}
	return data, nil
}

// The options are built on first use, so that linking the package costs nothing
// at program start.
var (
	encodeCompact = sync.OnceValue(func() json.Options {
		return json.JoinOptions(
			json.Deterministic(true),
			json.WithMarshalers(json.MarshalToFunc(writeFloat)),
		)
	})
	encodeIndented = sync.OnceValue(func() json.Options {
		return json.JoinOptions(encodeCompact(), jsontext.Multiline(true), jsontext.WithIndent("  "))
	})
)

// Optional is a field that may be absent, which is not the same as empty. Give
// the field the tag option omitzero, so that an unset one is not written:
//
//	Ceiling artifact.Optional[float64] `json:"ceiling,omitzero"`
type Optional[T any] struct {
	Value T    // the zero value when not Set
	Set   bool // whether the field is present
}

// Some gives a set Optional.
func Some[T any](v T) Optional[T] { return Optional[T]{Value: v, Set: true} }

// IsZero reports whether the field is absent. The tag option omitzero calls it.
func (o Optional[T]) IsZero() bool { return !o.Set }

// Or gives the value, or fallback when the field is absent.
func (o Optional[T]) Or(fallback T) T {
	if o.Set {
		return o.Value
	}
	return fallback
}

// MarshalJSONTo implements the encoder interface of the JSON module. An absent
// field that is written nevertheless is null.
func (o Optional[T]) MarshalJSONTo(enc *jsontext.Encoder) error {
	if !o.Set {
		return enc.WriteToken(jsontext.Null)
	}
	if x, ok := any(o.Value).(float64); ok {
		return writeFloat(enc, x)
	}
	return json.MarshalEncode(enc, &o.Value)
}

// UnmarshalJSONFrom implements the decoder interface of the JSON module. JSON
// null leaves the field absent.
func (o *Optional[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*o = Optional[T]{}
	if dec.PeekKind() == 'n' {
		_, err := dec.ReadToken()
		return err
	}
	if err := json.UnmarshalDecode(dec, &o.Value); err != nil {
		return err
	}
	o.Set = true
	return nil
}
