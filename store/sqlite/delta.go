package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
)

// A difference is a list of instructions that make a text out of another one,
// the source. Each begins with a number whose lowest bit says which it is: 0
// copies number>>1 bytes of the source from the offset that follows, 1 takes
// the next number>>1 bytes as they are.

// window is the shortest stretch that is looked for in the source, in bytes. The
// source is remembered at every window-th byte.
const window = 32

// difference gives instructions that make target out of source. Its work grows
// with the sizes of both, and with the changed parts more than with the rest.
//
// What stands behind a short change is looked for where it stood before. Only a
// longer one makes it worth to remember where everything is.
func difference(source, target []byte) []byte {
	out := make([]byte, 0, 256)
	var index blockIndex
	pending := 0 // start of what was found nowhere
	for at, from := 0, 0; ; {
		if skip, ok := resume(source, target, from, at); ok {
			at, from = at+skip, from+skip
		} else {
			if index.slots == nil {
				index = indexOf(source)
			}
			if at, from, ok = index.search(source, target, pending, at); !ok {
				break
			}
		}
		n := sharedPrefix(source[from:], target[at:])
		out = appendText(out, target[pending:at])
		out = binary.AppendUvarint(out, uint64(n)<<1)
		out = binary.AppendUvarint(out, uint64(from))
		at, from = at+n, from+n
		pending = at
	}
	return appendText(out, target[pending:])
}

func appendText(out, text []byte) []byte {
	if len(text) == 0 {
		return out
	}
	return append(binary.AppendUvarint(out, uint64(len(text))<<1|1), text...)
}

// resume finds the first place, less than a window ahead, from which on source and
// target have eight bytes in common.
func resume(source, target []byte, from, at int) (skip int, ok bool) {
	for ; skip < window && from+skip+8 <= len(source) && at+skip+8 <= len(target); skip++ {
		if binary.LittleEndian.Uint64(source[from+skip:]) == binary.LittleEndian.Uint64(target[at+skip:]) {
			return skip, true
		}
	}
	return skip, false
}

var errDifference = errors.New("the difference does not fit its source")

// apply carries out a difference whose result has size bytes.
func apply(source, instructions []byte, size int) ([]byte, error) {
	out := make([]byte, 0, size)
	for len(instructions) > 0 {
		number, used := binary.Uvarint(instructions)
		if used <= 0 || number>>1 > uint64(size-len(out)) {
			return nil, errDifference
		}
		instructions = instructions[used:]
		n := number >> 1
		if number&1 == 1 {
			if n > uint64(len(instructions)) {
				return nil, errDifference
			}
			out = append(out, instructions[:n]...)
			instructions = instructions[n:]
			continue
		}
		from, used := binary.Uvarint(instructions)
		if used <= 0 || from > uint64(len(source)) || n > uint64(len(source))-from {
			return nil, errDifference
		}
		instructions = instructions[used:]
		out = append(out, source[from:from+n]...)
	}
	if len(out) != size {
		return nil, errDifference
	}
	return out, nil
}

// blockIndex remembers where in a source the blocks of window bytes are. One
// slot holds one block, the first that comes: that costs a longer difference
// where two share a slot, and never a wrong one. Of blocks that repeat, the first
// has the most behind it to copy.
type blockIndex struct {
	slots []uint32 // offset in the source, plus one
	shift int
}

func indexOf(source []byte) blockIndex {
	blocks := len(source)/window + 1
	width := bits.Len(uint(2 * blocks))
	x := blockIndex{slots: make([]uint32, 1<<width), shift: 64 - width}
	for at := 0; at+window <= len(source); at += window {
		if slot := &x.slots[hash(source[at:])>>x.shift]; *slot == 0 {
			*slot = uint32(at + 1)
		}
	}
	return x
}

// search finds the first block of target, from at on, that source has, and how far
// both agree before it, down to pending.
func (x blockIndex) search(source, target []byte, pending, at int) (start, from int, ok bool) {
	for ; at+window <= len(target); at++ {
		if from, ok = x.find(source, target[at:at+window]); ok {
			for at > pending && from > 0 && source[from-1] == target[at-1] {
				at, from = at-1, from-1
			}
			return at, from, true
		}
	}
	return 0, 0, false
}

func (x blockIndex) find(source, block []byte) (from int, ok bool) {
	slot := x.slots[hash(block)>>x.shift]
	if slot == 0 {
		return 0, false
	}
	from = int(slot - 1)
	return from, bytes.Equal(source[from:from+window], block)
}

// hash spreads the first window bytes of b.
func hash(b []byte) uint64 {
	const prime = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio
	_ = b[window-1]
	h := uint64(0)
	for i := 0; i < window; i += 8 {
		h = bits.RotateLeft64((h^binary.LittleEndian.Uint64(b[i:]))*prime, 29)
	}
	return h * prime
}

func sharedPrefix(a, b []byte) int {
	n := 0
	for n+8 <= len(a) && n+8 <= len(b) {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
		n += 8
	}
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
