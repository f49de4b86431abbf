package kcp

import (
	"encoding/binary"
	"math"
	"math/bits"
	"reflect"
)

// binaryDecoder reads values from data. It checks every number against what is
// left, and after the first one that is wrong reads only zeros.
type binaryDecoder struct {
	data   string
	at     int
	src    string
	cursor int // end of the last text that was found in src
	bad    bool

	items []string // where lists of strings get their memory
	slabs []slab   // where pointers get theirs, by number of the shape
}

// slab is a slice whose elements are given out one by one.
type slab struct {
	memory reflect.Value
	used   int
}

// Sizes of the pieces of memory that small values share.
const (
	firstSlab = 4
	lastSlab  = 1024
)

func (d *binaryDecoder) value(v reflect.Value, s *shape) {
	switch s.kind {
	case shapeText:
		text, _ := d.text(0)
		v.SetString(text)
	case shapeInt:
		v.SetInt(d.int())
	case shapeFlag:
		v.SetBool(true)
	case shapeFloat:
		v.SetFloat(d.float())
	case shapeString:
		text, flags := d.text(textUnset)
		*v.Addr().Interface().(*String) = String{Value: text, Set: flags&textUnset == 0}
	case shapeNumber:
		*v.Addr().Interface().(*Number) = d.number()
	case shapeBool:
		flags := d.flags(boolAllFlags)
		*v.Addr().Interface().(*Bool) = Bool{
			Declared: flags&boolDeclared != 0, Value: flags&boolValue != 0, Malformed: flags&boolMalformed != 0,
		}
	case shapeList:
		*v.Addr().Interface().(*List) = d.list()
	case shapeStruct:
		d.structure(v, s)
	case shapeSlice:
		d.slice(v, s)
	case shapePointer:
		p := d.pointer(s)
		d.value(p.Elem(), s.elem)
		v.Set(p)
	}
}

// structure reads the fields whose bits are set.
func (d *binaryDecoder) structure(v reflect.Value, s *shape) {
	mask := d.bytes(s.maskBytes())
	for i := range len(mask) {
		for b := mask[i]; b != 0; b &= b - 1 {
			n := i*8 + bits.TrailingZeros8(b)
			if n >= len(s.fields) {
				d.fail()
				return
			}
			f := &s.fields[n]
			d.value(v.Field(f.index), f.shape)
		}
	}
}

func (d *binaryDecoder) slice(v reflect.Value, s *shape) {
	n := d.count(d.uint())
	v.Set(reflect.MakeSlice(s.typ, n, n))
	for i := 0; i < n && !d.bad; i++ {
		d.value(v.Index(i), s.elem)
	}
}

// pointer gives memory for what a pointer points to.
func (d *binaryDecoder) pointer(s *shape) reflect.Value {
	for len(d.slabs) <= s.number {
		d.slabs = append(d.slabs, slab{})
	}
	m := &d.slabs[s.number]
	if !m.memory.IsValid() || m.used == m.memory.Len() {
		size := firstSlab
		if m.memory.IsValid() {
			size = min(2*m.memory.Len(), lastSlab)
		}
		*m = slab{memory: reflect.MakeSlice(reflect.SliceOf(s.elem.typ), size, size)}
	}
	m.used++
	return m.memory.Index(m.used - 1).Addr()
}

func (d *binaryDecoder) list() List {
	head := d.uint()
	l := List{Declared: head&listDeclared != 0, Malformed: head&listMalformed != 0}
	head >>= listFlagBits
	if head == 0 {
		return l
	}
	l.Items = d.strings(d.count(head - 1))
	for i := range l.Items {
		l.Items[i], _ = d.text(0)
	}
	return l
}

// strings gives n strings of memory.
func (d *binaryDecoder) strings(n int) []string {
	if n == 0 || n > lastSlab/4 {
		return make([]string, n)
	}
	if n > len(d.items) {
		// No more than what the data left can fill.
		d.items = make([]string, max(n, min(lastSlab, len(d.data)-d.at)))
	}
	s := d.items[:n:n]
	d.items = d.items[n:]
	return s
}

// text reads a text and its flags, of which only those in allowed may be set.
func (d *binaryDecoder) text(allowed uint64) (s string, flags uint64) {
	head := d.uint()
	size := head >> textFlagBits
	if head&textInline != 0 {
		s = d.bytes(d.count(size))
	} else {
		at := int64(d.cursor) + d.int()
		// A sum that overflows is negative.
		if at < 0 || at > int64(len(d.src)) || size > uint64(int64(len(d.src))-at) {
			d.fail()
			return "", 0
		}
		d.cursor = int(at) + int(size)
		s = d.src[at:d.cursor]
	}
	flags = head & textUnset
	if flags&^allowed != 0 {
		d.fail()
	}
	return s, flags
}

func (d *binaryDecoder) number() Number {
	flags := d.flags(numberAllFlags)
	n := Number{Set: flags&numberSet != 0}
	if flags&numberIsInt != 0 {
		n.Value = float64(d.int())
	} else {
		n.Value = d.float()
	}
	return n
}

func (d *binaryDecoder) float() float64 {
	b := d.bytes(8)
	if len(b) < 8 {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64([]byte(b)))
}

func (d *binaryDecoder) flags(all byte) byte {
	b := d.bytes(1)
	if b == "" || b[0]&^all != 0 {
		d.fail()
		return 0
	}
	return b[0]
}

// fail ends the reading.
func (d *binaryDecoder) fail() { d.bad = true }

// count checks a number of things that take at least a byte each.
func (d *binaryDecoder) count(n uint64) int {
	if d.bad || n > uint64(len(d.data)-d.at) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *binaryDecoder) bytes(n int) string {
	if d.bad || n > len(d.data)-d.at {
		d.fail()
		return ""
	}
	s := d.data[d.at : d.at+n]
	d.at += n
	return s
}

// uint reads a varint of at most 64 bits in its shortest form.
func (d *binaryDecoder) uint() uint64 {
	var x uint64
	for shift := 0; ; shift += 7 {
		if d.bad || d.at >= len(d.data) {
			break
		}
		c := d.data[d.at]
		d.at++
		switch {
		case shift == 63 && c > 1, c == 0 && shift > 0:
			d.fail()
			return 0
		case c < 0x80:
			return x | uint64(c)<<shift
		}
		x |= uint64(c&0x7f) << shift
	}
	d.fail()
	return 0
}

// int reads what binary.AppendVarint wrote.
func (d *binaryDecoder) int() int64 {
	u := d.uint()
	return int64(u>>1) ^ -int64(u&1)
}
