package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Digest is a SHA-256 digest of content.
type Digest [32]byte

const digestPrefix = "sha256:"

// Sum gives the digest of data.
func Sum(data []byte) Digest { return sha256.Sum256(data) }

// Hex gives the digest as 64 lower-case hexadecimal digits, the form that
// version 1 documents use.
func (d Digest) Hex() string { return hex.EncodeToString(d[:]) }

// String gives the digest as sha256:<hex>, the form that version 2 documents use.
func (d Digest) String() string { return digestPrefix + d.Hex() }

// IsZero reports whether d was never set.
func (d Digest) IsZero() bool { return d == Digest{} }

// MarshalText gives the text of [Digest.String].
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what [ParseDigest] reads.
func (d *Digest) UnmarshalText(text []byte) error {
	parsed, err := ParseDigest(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// ParseDigest reads sha256:<hex> with 64 lower-case digits and nothing else, so
// that one digest has one spelling.
func ParseDigest(s string) (Digest, error) {
	digits, ok := strings.CutPrefix(s, digestPrefix)
	if !ok {
		return Digest{}, fmt.Errorf("digest %.80q: want sha256: followed by 64 hexadecimal digits", s)
	}
	return ParseHexDigest(digits)
}

// ParseHexDigest reads the 64 bare lower-case digits of a version 1 document.
func ParseHexDigest(s string) (Digest, error) {
	var d Digest
	if len(s) != hex.EncodedLen(len(d)) || s != strings.ToLower(s) {
		return Digest{}, fmt.Errorf("digest %.80q: want 64 lower-case hexadecimal digits", s)
	}
	if _, err := hex.Decode(d[:], []byte(s)); err != nil {
		return Digest{}, fmt.Errorf("digest %.80q: want 64 lower-case hexadecimal digits", s)
	}
	return d, nil
}
