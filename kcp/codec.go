package kcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unsafe"
)

// The binary form of a parsed manifest, for a cache that keeps it beside the
// text. It is not an interchange format: [BinarySchema] changes whenever the
// model does, and a reader has to compare it first.
//
// The form follows the Go types, by reflection, so that a new field of the model
// is carried without anybody remembering it. A struct is a bit for each field
// that is not zero, then those fields. A text that stands in the manifest as it is
// read is its place there, relative to the place before, so that the form is an
// eighth of the manifest and reading it touches little memory.

// binaryVersion goes into BinarySchema. Raise it when the encoding changes.
const binaryVersion = 1

// parsed is what the form holds: all that Parse gives.
type parsed struct {
	Manifest Manifest
	Findings []Finding
}

// AppendManifest appends the binary form of what [Parse] gave for src to b. The
// form has everything but Source. The manifest must be as Parse left it.
func AppendManifest(b []byte, m *Manifest, findings []Finding) []byte {
	e := &binaryEncoder{b: b, src: m.src}
	e.value(reflect.ValueOf(&parsed{*m, findings}).Elem(), binaryShapes())
	return e.b
}

// DecodeManifest reads what [AppendManifest] wrote for src, the exact bytes of
// the manifest. The result is deeply equal to that of [Parse] with an empty
// source. Its texts are parts of data and src, which must not change any more.
//
// It fails on data that AppendManifest cannot have written, without a panic and
// within some hundred bytes of memory for each byte of data. It cannot tell
// whether data belongs to src: the caller has to know.
func DecodeManifest(data, src []byte) (*Manifest, []Finding, error) {
	text, marked := bytes.CutPrefix(src, []byte(byteOrderMark))
	d := &binaryDecoder{data: bytesAsString(data), src: bytesAsString(text)}
	p := &parsed{}
	d.value(reflect.ValueOf(p).Elem(), binaryShapes())
	if d.at != len(d.data) {
		d.bad = true
	}
	if d.bad {
		return nil, nil, fmt.Errorf("binary manifest is damaged at byte %d of %d; parse the text instead", d.at, len(d.data))
	}
	p.Manifest.index(d.src, marked)
	return &p.Manifest, p.Findings, nil
}

// index sets the unexported fields, which the form does not carry, as Parse
// leaves them.
func (m *Manifest) index(src string, marked bool) {
	m.src, m.marked = src, marked
	m.names, m.places = &names{}, &places{}
}

// BinarySchema names the model and the encoding. Data that was written under
// another name must not be decoded.
func BinarySchema() string { return binarySchema() }

var binarySchema = sync.OnceValue(func() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d ", binaryVersion)
	describeType(&b, reflect.TypeFor[parsed](), map[reflect.Type]bool{})
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:])
})

// describeType writes the names and the types of all fields, in order.
func describeType(b *strings.Builder, t reflect.Type, seen map[reflect.Type]bool) {
	b.WriteString(t.String() + " ")
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		describeType(b, t.Elem(), seen)
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return
	}
	seen[t] = true
	for i := range t.NumField() {
		b.WriteString(t.Field(i).Name + " ")
		describeType(b, t.Field(i).Type, seen)
	}
	b.WriteString("; ")
}

// shapeKind says how a value is written.
type shapeKind uint8

const (
	shapeText   shapeKind = iota // any string type
	shapeInt                     // int
	shapeFlag                    // bool
	shapeFloat                   // float64
	shapeString                  // String
	shapeNumber                  // Number
	shapeBool                    // Bool
	shapeList                    // List
	shapeStruct
	shapeSlice
	shapePointer
)

// shape is a type with what is needed to write and read it, found out once.
type shape struct {
	kind   shapeKind
	typ    reflect.Type
	number int          // from 0, unique
	fields []shapeField // of a struct
	elem   *shape       // of a slice or a pointer
}

// shapeField is a field that is carried.
type shapeField struct {
	index int
	shape *shape
}

// binaryShapes gives the shape of parsed.
var binaryShapes = sync.OnceValue(func() *shape {
	return shapeOf(reflect.TypeFor[parsed](), map[reflect.Type]*shape{})
})

var (
	typeOfManifest = reflect.TypeFor[Manifest]()
	leafShapes     = map[reflect.Type]shapeKind{
		reflect.TypeFor[String](): shapeString,
		reflect.TypeFor[Number](): shapeNumber,
		reflect.TypeFor[Bool]():   shapeBool,
		reflect.TypeFor[List]():   shapeList,
	}
	kindShapes = map[reflect.Kind]shapeKind{
		reflect.String:  shapeText,
		reflect.Int:     shapeInt,
		reflect.Bool:    shapeFlag,
		reflect.Float64: shapeFloat,
		reflect.Struct:  shapeStruct,
		reflect.Slice:   shapeSlice,
		reflect.Pointer: shapePointer,
	}
)

// shapeOf panics on a type that the model must not have: the tests walk the
// whole model, so no other program sees it.
func shapeOf(t reflect.Type, known map[reflect.Type]*shape) *shape {
	if s, ok := known[t]; ok {
		if s == nil {
			panic("kcp: the model contains itself at " + t.String())
		}
		return s
	}
	kind, ok := leafShapes[t]
	if !ok {
		if kind, ok = kindShapes[t.Kind()]; !ok {
			panic("kcp: no binary form for " + t.String())
		}
	}
	s := &shape{kind: kind, typ: t, number: len(known)}
	known[t] = nil // under way
	switch kind {
	case shapeSlice, shapePointer:
		s.elem = shapeOf(t.Elem(), known)
		if k := s.elem.kind; k == shapeFlag || k == shapeSlice || k == shapePointer {
			panic("kcp: no binary form for " + t.String()) // zero elements would be lost
		}
	case shapeStruct:
		s.fields = fieldShapes(t, known)
	}
	known[t] = s
	return s
}

// fieldShapes gives the fields that are carried. Unexported ones are not: they
// hold what DecodeManifest puts back itself.
func fieldShapes(t reflect.Type, known map[reflect.Type]*shape) []shapeField {
	var fields []shapeField
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && !(t == typeOfManifest && f.Name == "Source") {
			fields = append(fields, shapeField{i, shapeOf(f.Type, known)})
		}
	}
	if fields == nil {
		panic("kcp: no binary form for the empty " + t.String())
	}
	return fields
}

// maskBytes is the size of the bits that say which fields follow.
func (s *shape) maskBytes() int { return (len(s.fields) + 7) / 8 }

// bytesAsString gives b as text without a copy. Nobody may change b any more.
func bytesAsString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
