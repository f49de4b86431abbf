// Package keys reads ed25519 public keys and checks signatures, strictly.
//
// [Decode] turns the text of a key or a signature into bytes, [ImportPublic]
// turns bytes into a key, and [Verify] checks one signature over one message.
// [Seal] and [Open] do the same for a statement in a DSSE envelope. Private keys
// live in files that [CreateFile] writes and [ReadFile] reads.
//
// Strict means that there is one answer to "is this signed by that key":
// encodings that some verifiers accept and others refuse are refused here.
// RFC 8032 leaves room for keys under which one signature fits many messages
// (points of small order) and for several encodings of one point or scalar.
//
// Only the file functions open files and draw randomness; the rest is pure.
package keys

import (
	"bytes"
	"crypto/ed25519"
	"errors"
)

// The reasons why bytes are not a key that can be used.
var (
	ErrEncoding     = errors.New("unrecognized public key encoding")
	ErrLength       = errors.New("not an ed25519 public key: want 32 raw bytes or a 44-byte SubjectPublicKeyInfo")
	ErrNonCanonical = errors.New("ed25519 public key is not canonically encoded")
	ErrSmallOrder   = errors.New("ed25519 public key has small order")
)

// spkiPrefix is the DER of a SubjectPublicKeyInfo for ed25519 up to the key
// (RFC 8410 section 4). The encoding has no variable part.
var spkiPrefix = []byte{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00}

// ImportPublic gives the key in b: 32 raw bytes or a SubjectPublicKeyInfo in
// DER. It fails with [ErrLength], [ErrNonCanonical] or [ErrSmallOrder].
func ImportPublic(b []byte) (ed25519.PublicKey, error) {
	raw := b
	if len(b) != ed25519.PublicKeySize {
		var ok bool
		if raw, ok = bytes.CutPrefix(b, spkiPrefix); !ok || len(raw) != ed25519.PublicKeySize {
			return nil, ErrLength
		}
	}
	switch p := (point)(raw); {
	case p.smallOrder():
		return nil, ErrSmallOrder
	case !p.canonical():
		return nil, ErrNonCanonical
	}
	return ed25519.PublicKey(bytes.Clone(raw)), nil
}

// ParsePublic gives the key in text: [Decode], then [ImportPublic].
func ParsePublic(text string) (ed25519.PublicKey, error) {
	b, ok := Decode(text)
	if !ok {
		return nil, ErrEncoding
	}
	return ImportPublic(b)
}

// Verify reports whether sig is a valid signature of message by key. It never
// panics: a key or a signature of the wrong length verifies nothing.
//
// Beyond RFC 8032 it refuses what [ImportPublic] refuses, and a signature whose
// first half has small order: no signer produces one, and other verifiers
// disagree about it. crypto/ed25519 itself compares the first half as bytes and
// refuses a second half that is not below the group order.
func Verify(key ed25519.PublicKey, message, sig []byte) bool {
	if len(sig) != ed25519.SignatureSize || point(sig[:32]).smallOrder() {
		return false
	}
	if len(key) != ed25519.PublicKeySize {
		return false
	}
	if _, err := ImportPublic(key); err != nil {
		return false
	}
	return ed25519.Verify(key, message, sig)
}

// point is an encoded curve point: y, little-endian, in 255 bits, and the sign
// of x in the top bit (RFC 8032 section 5.1.2). It has 32 bytes.
type point []byte

// smallOrderY holds the y of the eight points whose order divides 8, reduced,
// little-endian. A point and its negative share one y.
var smallOrderY = [5][32]byte{
	{}, // y = 0, order 4
	{1},
	{
		0xec, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
	}, // y = -1, order 2
	{
		0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
		0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
	}, // order 8
	{
		0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
		0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
	}, // order 8
}

// smallOrder reports whether p encodes, canonically or not, a point whose order
// divides 8.
func (p point) smallOrder() bool {
	y := p.y()
	if excess, over := y.overPrime(); over {
		y = [32]byte{excess}
	}
	for _, small := range smallOrderY {
		if y == small {
			return true
		}
	}
	return false
}

// canonical reports whether y is below the field prime. The other encoding that
// is not canonical, a sign bit on x = 0, belongs to points of small order.
func (p point) canonical() bool {
	_, over := p.y().overPrime()
	return !over
}

// coordinate is a little-endian number of 255 bits.
type coordinate [32]byte

func (p point) y() coordinate {
	y := coordinate(p)
	y[31] &= 0x7f
	return y
}

// overPrime gives y - p, which fits in one byte, when y is not below the prime
// p = 2^255 - 19.
func (y coordinate) overPrime() (excess byte, over bool) {
	if y[31] != 0x7f || y[0] < 0xed {
		return 0, false
	}
	for _, b := range y[1:31] {
		if b != 0xff {
			return 0, false
		}
	}
	return y[0] - 0xed, true
}
