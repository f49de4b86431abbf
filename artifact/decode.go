package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Unknown says what [Decode] does with a member that the Go type does not have.
type Unknown int

const (
	// RefuseUnknown makes an unknown member an error. It is the zero value: what
	// carries authority is read in full or not at all.
	RefuseUnknown Unknown = iota
	// IgnoreUnknown skips unknown members, for documents that others may extend.
	IgnoreUnknown
)

// SyntaxError says where and why a text could not be read. [Decode] and
// [ParseValue] return no other type for a problem with the text.
type SyntaxError struct {
	Offset  int64  // bytes before the problem
	Line    int    // of the problem, from 1
	Column  int    // in code points, from 1
	Pointer string // RFC 6901 pointer of the value concerned; empty for the document
	Problem string // what is wrong, in words
}

func (e *SyntaxError) Error() string {
	where := ""
	if e.Pointer != "" {
		where = " at " + e.Pointer
	}
	return fmt.Sprintf("line %d, column %d: %s%s", e.Line, e.Column, e.Problem, where)
}

func syntaxError(data []byte, offset int64, pointer, problem string) *SyntaxError {
	offset = max(0, min(offset, int64(len(data))))
	before := data[:offset]
	return &SyntaxError{
		Offset:  offset,
		Line:    1 + bytes.Count(before, []byte{'\n'}),
		Column:  1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]),
		Pointer: pointer,
		Problem: problem,
	}
}

// Decode reads exactly one JSON document into v, which must be a non-nil
// pointer. It is strict where encoding/json is lenient: duplicate and
// case-folded member names, invalid UTF-8, lone surrogates, text after the
// value, a byte order mark and nesting beyond [MaxDepth] are refused, as is a
// number that is not of the field's type. JSON null gives the zero value, so a
// field that must be told apart from null is an [Optional] or a pointer.
//
// A problem with the text is a *[SyntaxError]. On error v may be partly filled
// and must not be used.
func Decode(data []byte, v any, unknown Unknown) error {
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		return syntaxError(data, 0, "", "text starts with a byte order mark; save it as UTF-8 without one")
	}
	if offset := tooDeep(data); offset >= 0 {
		return syntaxError(data, int64(offset), "", fmt.Sprintf("nested more than %d levels deep", MaxDepth))
	}
	err := json.Unmarshal(data, v, json.RejectUnknownMembers(unknown == RefuseUnknown))
	if err == nil {
		return nil
	}
	return explain(data, err)
}

// tooDeep gives the offset of the bracket that exceeds MaxDepth, or -1. The
// JSON module has a fixed limit of its own that is far too generous for
// recursive readers.
func tooDeep(data []byte) int {
	depth, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			if depth++; depth > MaxDepth {
				return i
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return -1
}

// explain turns an error of the JSON module into a SyntaxError with words of
// our own: the module's wording changes between runs on purpose.
func explain(data []byte, err error) error {
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		pointer, problem := syntactic.JSONPointer, "malformed JSON"
		switch {
		case errors.Is(syntactic.Err, jsontext.ErrDuplicateName):
			problem = fmt.Sprintf("member %q appears twice; keep one", pointer.LastToken())
			pointer = pointer.Parent()
		case errors.Is(syntactic.Err, io.ErrUnexpectedEOF):
			problem = "text ends before the value does"
		case syntactic.Err != nil:
			problem = syntactic.Err.Error()
		}
		return syntaxError(data, syntactic.ByteOffset, string(pointer), problem)
	}
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		pointer := semantic.JSONPointer
		if errors.Is(semantic.Err, json.ErrUnknownName) {
			return syntaxError(data, semantic.ByteOffset, string(pointer.Parent()),
				unknownMember(pointer.LastToken(), semantic.GoType))
		}
		return syntaxError(data, semantic.ByteOffset, string(pointer), misfit(semantic))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return syntaxError(data, int64(len(data)), "", "text ends before the value does")
	}
	return fmt.Errorf("decode JSON: %w", err)
}

func misfit(e *json.SemanticError) string {
	found := map[jsontext.Kind]string{
		'n': "null", 't': "a boolean", 'f': "a boolean", '"': "a string", '0': "a number", '[': "an array", '{': "an object",
	}[e.JSONKind]
	if value := string(e.JSONValue); value != "" && len(value) <= 40 {
		found = value
	}
	wanted := describe(e.GoType)
	if wanted == "" || found == "" {
		return fmt.Sprintf("value does not fit: %v", e.Err)
	}
	problem := found + " is not " + wanted
	switch {
	case errors.Is(e.Err, strconv.ErrRange):
		problem += " in range"
	case e.Err != nil && !errors.Is(e.Err, strconv.ErrSyntax):
		problem += ": " + e.Err.Error()
	}
	return problem
}

func describe(t reflect.Type) string {
	if t == nil {
		return ""
	}
	switch t.Kind() {
	case reflect.Bool:
		return "a boolean"
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return fmt.Sprintf("a whole number of %d bits", t.Bits())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("a non-negative whole number of %d bits", t.Bits())
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a " + t.String()
}

// unknownMember names the nearest member that t does have.
func unknownMember(name string, t reflect.Type) string {
	problem := fmt.Sprintf("unknown member %q", name)
	if t == nil || t.Kind() != reflect.Struct {
		return problem
	}
	best, bestDistance := "", min(3, 1+len(name)/2)
	for _, field := range reflect.VisibleFields(t) {
		known, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if known == "" {
			known = field.Name
		}
		if known == "-" || field.Anonymous || !field.IsExported() {
			continue
		}
		if d := Distance(strings.ToLower(name), strings.ToLower(known)); d < bestDistance {
			best, bestDistance = known, d
		}
	}
	if best != "" {
		problem += fmt.Sprintf("; did you mean %q?", best)
	}
	return problem
}
