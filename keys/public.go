package keys

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
)

// Text writes a public key as the standard base64 of its 32 bytes, which
// [ParsePublic] reads.
func Text(key ed25519.PublicKey) string { return base64.StdEncoding.EncodeToString(key) }

// SPKI gives a public key as a SubjectPublicKeyInfo in DER (RFC 8410 section 4).
func SPKI(key ed25519.PublicKey) []byte { return append(bytes.Clone(spkiPrefix), key...) }
