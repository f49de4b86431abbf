package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of a document. They bound memory and time before anything is built.
const (
	// MaxDocumentBytes is the largest text that [ParseDocument] reads.
	MaxDocumentBytes = 4 << 20
	// MaxVersion1Bytes is the largest text that [ParseVersion1] reads. Machines
	// write such documents, and a checkpoint holds a whole state.
	MaxVersion1Bytes = 64 << 20
	// MaxDocumentNodes bounds the values that [ParseDocument] reads, names not
	// counted.
	MaxDocumentNodes = 500_000
	// maxYAMLMarks bounds the characters that may begin a YAML value, since the
	// library builds its nodes before they can be counted.
	maxYAMLMarks = 1 << 20
)

// Document is a parsed text: its value, and where each part of it stands. It is
// immutable.
type Document struct {
	source string
	root   Value // may hold repeated names, see ParseVersion1
	places place
}

// place is the position of a value and of the name before it. Lines and columns
// start at 1, columns count characters. children runs parallel to the elements
// or members of the value.
type place struct {
	line, column         int32
	nameLine, nameColumn int32
	children             []place
}

// Problem is one thing that is wrong with a document.
type Problem struct {
	Pointer      string // RFC 6901, of the value concerned
	Line, Column int    // from 1; the column counts characters
	Text         string // what is wrong and what to do
}

// DocumentError lists what is wrong with one document, in the order of its text.
type DocumentError struct {
	Source   string
	Problems []Problem // never empty
}

// Error gives a line SOURCE:LINE:COL: problem for each problem. A document that
// had no text has no positions.
func (e *DocumentError) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.Source)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
		}
		b.WriteString(": " + p.Text)
	}
	return b.String()
}

// ParseDocument reads one JSON or YAML document that a person may have written.
// Source names it in errors. A text that begins with { or [ is JSON, anything
// else YAML. Both are strict: a name that appears twice, text that is not UTF-8,
// a byte order mark, more than one document, nesting beyond [MaxDepth] and
// numbers without a JSON form are refused. YAML scalars are those of the core
// schema of YAML 1.2 (true and false, null, integers, floats; yes and 2024-01-01
// are strings); anchors, aliases, merge keys and tags are refused. Every error is
// a *[DocumentError].
func ParseDocument(data []byte, source string) (*Document, error) {
	d := &Document{source: source}
	if err := d.checkText(data, MaxDocumentBytes); err != nil {
		return nil, err
	}
	text := bytes.TrimLeft(data, " \t\r\n")
	var err error
	if len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		err = d.readJSON(data, false)
	} else {
		err = d.readYAML(data)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// ParseYAML is [ParseDocument] for a text that is YAML however it begins: {a: b} is
// a mapping.
func ParseYAML(data []byte, source string) (*Document, error) {
	d := &Document{source: source}
	if err := d.checkText(data, MaxDocumentBytes); err != nil {
		return nil, err
	}
	if err := d.readYAML(data); err != nil {
		return nil, err
	}
	return d, nil
}

// ParseVersion1 reads the JSON text of a version 1 document. It differs from
// [ParseDocument] in that names may repeat: which of them count is for [Object]
// and [Field] to say, since a typed object refuses them while in a map and in a
// free value the last one wins. Every error is a *[DocumentError].
func ParseVersion1(data []byte, source string) (*Document, error) {
	d := &Document{source: source}
	if err := d.checkText(data, MaxVersion1Bytes); err != nil {
		return nil, err
	}
	if err := d.readJSON(data, true); err != nil {
		return nil, err
	}
	return d, nil
}

// DocumentOf gives a document for a value that has no text of its own.
func DocumentOf(v Value, source string) *Document { return &Document{source: source, root: v} }

// Source gives the name that errors use.
func (d *Document) Source() string { return d.source }

// Value gives the whole document. Of a repeated name the last value counts.
func (d *Document) Value() Value { return lastWins(d.root) }

// Position gives the line and column of the value at an RFC 6901 pointer, from
// 1. Where there is no such value, it is that of the nearest one around it.
func (d *Document) Position(pointer string) (line, column int) {
	p := d.find(pointer)
	return int(p.line), int(p.column)
}

// NamePosition is [Document.Position] for the name of a member.
func (d *Document) NamePosition(pointer string) (line, column int) {
	p := d.find(pointer)
	if p.nameLine == 0 {
		return int(p.line), int(p.column)
	}
	return int(p.nameLine), int(p.nameColumn)
}

func (d *Document) find(pointer string) place {
	at, v := d.places, d.root
	for rest := pointer; rest != ""; {
		var token string
		token, rest = cutToken(rest)
		i := -1
		switch v.kind {
		case KindArray:
			if n, err := strconv.Atoi(token); err == nil && n >= 0 && n < len(v.list) {
				i = n
			}
		case KindObject:
			i = slices.IndexFunc(v.members, func(m Member) bool { return m.Name == token })
		}
		if i < 0 || i >= len(at.children) {
			break
		}
		at = at.children[i]
		if v.kind == KindArray {
			v = v.list[i]
		} else {
			v = v.members[i].Value
		}
	}
	return at
}

// cutToken takes the first token off a pointer that is not empty.
func cutToken(pointer string) (token, rest string) {
	pointer = strings.TrimPrefix(pointer, "/")
	token, rest = pointer, ""
	if i := strings.IndexByte(pointer, '/'); i >= 0 {
		token, rest = pointer[:i], pointer[i:]
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~"), rest
}

// PointerTo gives the pointer of a member or element below pointer.
func PointerTo(pointer, token string) string {
	return pointer + "/" + strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}

// PointerWithin reports whether a pointer is that of outer, or of something in it.
func PointerWithin(pointer, outer string) bool {
	return strings.HasPrefix(pointer, outer) && (len(pointer) == len(outer) || pointer[len(outer)] == '/')
}

// PointersOverlap reports whether one of two pointers is within the other.
func PointersOverlap(a, b string) bool { return PointerWithin(a, b) || PointerWithin(b, a) }

func (d *Document) fail(line, column int, format string, args ...any) error {
	p := Problem{Line: line, Column: column, Text: fmt.Sprintf(format, args...)}
	return &DocumentError{Source: d.source, Problems: []Problem{p}}
}

func (d *Document) checkText(data []byte, most int) error {
	if len(data) > most {
		return d.fail(1, 1, "document has %d bytes; at most %d are read", len(data), most)
	}
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		return d.fail(1, 1, "text starts with a byte order mark; save it as UTF-8 without one")
	}
	if !utf8.Valid(data) {
		at := 0
		for r, size := rune(0), 0; at < len(data); at += size {
			if r, size = utf8.DecodeRune(data[at:]); r == utf8.RuneError && size == 1 {
				break
			}
		}
		e := syntaxError(data, int64(at), "", "")
		return d.fail(e.Line, e.Column, "text is not UTF-8")
	}
	return nil
}

// jsonReader builds a value and its places in one pass.
type jsonReader struct {
	doc     *Document
	data    []byte
	dec     *jsontext.Decoder
	lenient bool
	nodes   int
	// the last position that was asked for; positions are asked for in order
	offset       int
	line, column int32
}

func (d *Document) readJSON(data []byte, lenient bool) error {
	if offset := tooDeep(data); offset >= 0 {
		e := syntaxError(data, int64(offset), "", "")
		return d.fail(e.Line, e.Column, "nested more than %d levels deep", MaxDepth)
	}
	r := &jsonReader{doc: d, data: data, lenient: lenient, line: 1, column: 1}
	r.dec = jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true))
	var err error
	if d.root, d.places, err = r.value(); err == nil {
		line, column := r.here(r.next())
		_, err = r.dec.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err == nil:
			return d.fail(int(line), int(column), "text after the end of the document; keep one document")
		}
	}
	var known *DocumentError
	if errors.As(err, &known) {
		return err
	}
	var syntax *SyntaxError
	if errors.As(explain(data, err), &syntax) {
		return d.fail(syntax.Line, syntax.Column, "%s", syntax.Problem)
	}
	return d.fail(1, 1, "%v", err)
}

// next gives the offset of the token that is read next.
func (r *jsonReader) next() int {
	at := int(r.dec.InputOffset())
	for at < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[at]) >= 0 {
		at++
	}
	return at
}

// here turns an offset into a position.
func (r *jsonReader) here(offset int) (line, column int32) {
	for r.offset < offset {
		c := r.data[r.offset]
		if c == '\n' {
			r.line, r.column = r.line+1, 1
		} else if utf8.RuneStart(c) {
			r.column++
		}
		r.offset++
	}
	return r.line, r.column
}

func (r *jsonReader) value() (Value, place, error) {
	var p place
	p.line, p.column = r.here(r.next())
	if r.nodes++; r.nodes > MaxDocumentNodes && !r.lenient {
		return Value{}, p, r.doc.fail(int(p.line), int(p.column), "document has more than %d values", MaxDocumentNodes)
	}
	switch r.dec.PeekKind() {
	case '[':
		return r.array(p)
	case '{':
		return r.object(p)
	}
	v, err := readValue(r.dec)
	if _, finite := v.Float(); err == nil && v.kind == KindNumber && !finite {
		err = r.doc.fail(int(p.line), int(p.column), "number %.40s is out of range; write it as a string", v.text)
	}
	return v, p, err
}

func (r *jsonReader) array(p place) (Value, place, error) {
	v := Value{kind: KindArray}
	if _, err := r.dec.ReadToken(); err != nil {
		return v, p, err
	}
	for r.dec.PeekKind() != ']' {
		element, at, err := r.value()
		if err != nil {
			return v, p, err
		}
		v.list, p.children = append(v.list, element), append(p.children, at)
	}
	_, err := r.dec.ReadToken()
	return v, p, err
}

func (r *jsonReader) object(p place) (Value, place, error) {
	v := Value{kind: KindObject}
	if _, err := r.dec.ReadToken(); err != nil {
		return v, p, err
	}
	seen := map[string]int{}
	for r.dec.PeekKind() != '}' {
		line, column := r.here(r.next())
		token, err := r.dec.ReadToken()
		if err != nil {
			return v, p, err
		}
		name := token.String()
		if first, ok := seen[name]; ok && !r.lenient {
			return v, p, r.doc.fail(int(line), int(column), "member %q appears twice, first on line %d; keep one", name, p.children[first].nameLine)
		}
		seen[name] = len(v.members)
		member, at, err := r.value()
		if err != nil {
			return v, p, err
		}
		at.nameLine, at.nameColumn = line, column
		v.members, p.children = append(v.members, Member{name, member}), append(p.children, at)
	}
	_, err := r.dec.ReadToken()
	return v, p, err
}
