package kcp

import (
	"encoding/binary"
	"math"
	"reflect"
	"unsafe"
)

// minReference is the shortest text that is written as a place; a shorter one
// takes no more when it is written out.
const minReference = 3

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

// find gives the place of s if it is a part of src itself, as the texts of the
// fast reader are: the same memory, so that nothing has to be searched. What the
// addresses say is checked, and a text that lies elsewhere is only written out.
func (e *binaryEncoder) find(s string) (at int, ok bool) {
	if len(s) < minReference || len(s) > len(e.src) {
		return 0, false
	}
	offset := address(s) - address(e.src) // wraps when s is in front
	if offset > uintptr(len(e.src)-len(s)) {
		return 0, false
	}
	at = int(offset)
	return at, e.src[at:at+len(s)] == s
}

func address(s string) uintptr { return uintptr(unsafe.Pointer(unsafe.StringData(s))) }
