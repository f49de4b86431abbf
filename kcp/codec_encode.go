package kcp

import (
	"encoding/binary"
	"math"
	"reflect"
	"strings"
)

// Where a text is looked for in the manifest: near the place of the one before,
// because a unit's texts stand together. A miss means that something else stands
// between, so the next search goes further ahead, and hits narrow it again. All
// searches together look at no more than a fixed number of bytes for each byte of
// the manifest; after that every text is written out.
const (
	searchWindow    = 2 << 10 // bytes on either side
	maxSearchWindow = 64 << 10
	searchPerByte   = 16
	minReference    = 4 // a shorter text is written out
)

// The low bits of a text's first number; the rest is its length.
const (
	textInline   = 1 << iota // the text follows; else its place in the manifest
	textUnset                // of a String: Set is false
	textFlagBits = iota
)

// The flags of a List; the rest of its first number is 0 for nil, else one more
// than the number of items.
const (
	listDeclared = 1 << iota
	listMalformed
	listFlagBits = iota
)

// The flags of a Number.
const (
	numberSet      = 1 << iota
	numberIsInt    // a varint follows, else the eight bytes of a float
	numberAllFlags = 1<<iota - 1
)

// The flags of a Bool.
const (
	boolDeclared = 1 << iota
	boolValue
	boolMalformed
	boolAllFlags = 1<<iota - 1
)

// binaryEncoder writes values into b.
type binaryEncoder struct {
	b      []byte
	src    string
	cursor int // end of the last text that was found in src
	window int
	budget int // bytes that may still be searched
}

// value writes a value of a shape. It recurses as deep as the model's types
// nest, and those contain no cycle.
func (e *binaryEncoder) value(v reflect.Value, s *shape) {
	switch s.kind {
	case shapeText:
		e.text(v.String(), 0)
	case shapeInt:
		e.b = binary.AppendVarint(e.b, v.Int())
	case shapeFlag: // its bit says it all, unless it stands alone
	case shapeFloat:
		e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(v.Float()))
	case shapeString:
		t := v.Addr().Interface().(*String)
		e.text(t.Value, bitIf(!t.Set, textUnset))
	case shapeNumber:
		e.number(v.Addr().Interface().(*Number))
	case shapeBool:
		t := v.Addr().Interface().(*Bool)
		e.b = append(e.b, byte(bitIf(t.Declared, boolDeclared)|bitIf(t.Value, boolValue)|bitIf(t.Malformed, boolMalformed)))
	case shapeList:
		e.list(v.Addr().Interface().(*List))
	case shapeStruct:
		e.structure(v, s)
	case shapeSlice:
		e.b = binary.AppendUvarint(e.b, uint64(v.Len()))
		for i := range v.Len() {
			e.value(v.Index(i), s.elem)
		}
	case shapePointer:
		e.value(v.Elem(), s.elem)
	}
}

func bitIf(on bool, bit uint64) uint64 {
	if on {
		return bit
	}
	return 0
}

func (e *binaryEncoder) structure(v reflect.Value, s *shape) {
	mask := len(e.b)
	for range s.maskBytes() {
		e.b = append(e.b, 0)
	}
	for i, f := range s.fields {
		if field := v.Field(f.index); !field.IsZero() {
			e.b[mask+i/8] |= 1 << (i % 8)
			e.value(field, f.shape)
		}
	}
}

func (e *binaryEncoder) number(n *Number) {
	flags := bitIf(n.Set, numberSet)
	whole := int64(n.Value)
	if math.Float64bits(float64(whole)) == math.Float64bits(n.Value) {
		e.b = append(e.b, byte(flags|numberIsInt))
		e.b = binary.AppendVarint(e.b, whole)
		return
	}
	e.b = append(e.b, byte(flags))
	e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(n.Value))
}

func (e *binaryEncoder) list(l *List) {
	count := uint64(0)
	if l.Items != nil {
		count = uint64(len(l.Items)) + 1
	}
	e.b = binary.AppendUvarint(e.b, count<<listFlagBits|bitIf(l.Declared, listDeclared)|bitIf(l.Malformed, listMalformed))
	for _, item := range l.Items {
		e.text(item, 0)
	}
}

func (e *binaryEncoder) text(s string, flags uint64) {
	head := uint64(len(s))<<textFlagBits | flags
	if at, ok := e.find(s); ok {
		e.b = binary.AppendUvarint(e.b, head)
		e.b = binary.AppendVarint(e.b, int64(at-e.cursor))
		e.cursor = at + len(s)
		return
	}
	e.b = binary.AppendUvarint(e.b, head|textInline)
	e.b = append(e.b, s...)
}

// find looks for s in the manifest and takes the place that is nearest to the
// last one.
func (e *binaryEncoder) find(s string) (at int, ok bool) {
	if len(s) < minReference || e.budget <= 0 {
		return 0, false
	}
	e.window = min(max(e.window, searchWindow), maxSearchWindow)
	lo := max(0, e.cursor-searchWindow)
	hi := min(len(e.src), e.cursor+e.window)
	after := strings.Index(e.src[e.cursor:hi], s)
	if after >= 0 {
		lo = max(lo, e.cursor-after) // nothing further away counts
		hi = e.cursor + after + len(s)
	}
	before := strings.LastIndex(e.src[lo:e.cursor], s)
	e.budget -= hi - lo
	if before < 0 && after < 0 {
		e.window *= 2
		return 0, false
	}
	e.window -= e.window / 8
	if before >= 0 {
		return lo + before, true
	}
	return e.cursor + after, true
}
