package kcp

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/keys"
)

// SignatureStatus is the outcome of [Verify].
type SignatureStatus string

// The outcomes. Only Verified says that somebody other than the signature
// itself vouches for the bytes.
const (
	// Verified means that a pinned or a declared key signed the bytes.
	Verified SignatureStatus = "verified"
	// Invalid means that a signature is there and is wrong. It always stops a load.
	Invalid SignatureStatus = "invalid"
	// Unverifiable means that the check could not be made.
	Unverifiable SignatureStatus = "unverifiable"
	// Unsigned means that the manifest declares no signature.
	Unsigned SignatureStatus = "unsigned"
)

// Signature is what the check of a manifest's signature found.
type Signature struct {
	Status SignatureStatus `json:"status"`
	Detail string          `json:"detail"`          // why, as one sentence
	KeyID  string          `json:"keyId,omitempty"` // a label that nobody vouches for
}

// VerifyOptions holds what Verify needs from outside. The zero value verifies
// signatures that are written into the manifest.
type VerifyOptions struct {
	// TrustedKey is the key that the caller trusts: the text of a key, or a
	// location that LoadTrusted reads. It replaces the keys that the manifest
	// and the signature file name. Empty means no pin.
	TrustedKey string
	// Load reads a location that the signing block names. The caller resolves it
	// (see [ResolveLocation]) and keeps it inside what the manifest may read.
	// Nil makes every location unreadable.
	Load func(location string) ([]byte, error)
	// JWSKey is where the key of a JWS is when the signing block declares none:
	// trust.content_integrity.signing.verification_url. Load reads it.
	JWSKey string
	// LoadTrusted reads TrustedKey. The caller's own user chose that location, so
	// it is not relative to the manifest. Nil makes every location unreadable.
	LoadTrusted func(location string) ([]byte, error)
}

const (
	detailUnsigned     = "manifest declares no signature"
	detailNoLocation   = "manifest declares a signing block but no signature location — treating as unverified"
	detailLength       = "signature is not 64 ed25519 signature bytes"
	detailNoKey        = "no public key available"
	detailMismatch     = "ed25519 signature does not match manifest bytes"
	detailSelfAttested = "ed25519 signature matches, but only the envelope's own key vouches (self-attested)"
)

// Verify checks the ed25519 signature that s declares over text, the exact bytes
// of the manifest (planner contract section 16). A signature also holds when the
// file has more or fewer final line feeds than the one that was signed.
//
// A key that comes only in the signature file proves nothing about who signed:
// such a signature is Unverifiable, not Verified. A declared key that cannot be
// read is never replaced by that one.
func Verify(text []byte, s *Signing, o VerifyOptions) Signature {
	if s == nil {
		return Signature{Status: Unsigned, Detail: detailUnsigned}
	}
	keyID := s.KeyID.Value
	unverifiable := func(detail string) Signature {
		return Signature{Status: Unverifiable, Detail: detail, KeyID: keyID}
	}
	switch {
	case s.Signature.Value == "":
		return unverifiable(detailNoLocation)
	case !isEd25519(s.Scheme.Value):
		return unverifiable("unsupported signing scheme '" + s.Scheme.Value + "'")
	}
	material, err := inlineOrLoad(s.Signature.Value, o.Load)
	if err != nil {
		return Signature{Status: Unverifiable, Detail: "cannot load signature: " + err.Error()}
	}
	if isJWS(material) {
		return verifyJWS(text, string(material), s, o)
	}
	envelope := readEnvelope(material)
	if envelope.keyID.Set {
		keyID = envelope.keyID.Value
	}
	if !isEd25519(envelope.algorithm) {
		return unverifiable("unsupported signature algorithm '" + envelope.algorithm + "'")
	}
	sig, ok := keys.Decode(envelope.signature)
	if !ok || len(sig) != ed25519.SignatureSize {
		return Signature{Status: Invalid, Detail: detailLength, KeyID: keyID}
	}
	key, problem := chooseKey(s, envelope, o)
	if problem != "" {
		return unverifiable(problem)
	}
	switch {
	case !matches(text, func(text []byte) bool { return keys.Verify(key.public, text, sig) }):
		return Signature{Status: Invalid, Detail: detailMismatch, KeyID: keyID}
	case key.via == viaEnvelope:
		return unverifiable(detailSelfAttested)
	}
	return Signature{Status: Verified, Detail: "ed25519 signature verified (" + key.via + ")", KeyID: keyID}
}

// isEd25519 reports whether name stands for ed25519; an empty one does.
func isEd25519(name string) bool {
	return name == "" || strings.EqualFold(name, "ed25519") || strings.EqualFold(name, "eddsa")
}

// matches tries the exact text, then the text with one final line feed.
func matches(text []byte, verify func(text []byte) bool) bool {
	if verify(text) {
		return true
	}
	trimmed := bytes.TrimRight(text, "\n")
	if len(text) == len(trimmed)+1 {
		return false // it has one already
	}
	return verify(append(bytes.Clone(trimmed), '\n'))
}

// Who vouches for a key.
const (
	viaPinned   = "pinned key"
	viaDeclared = "declared key"
	viaEnvelope = "envelope key"
)

type chosenKey struct {
	public ed25519.PublicKey
	via    string
}

// chooseKey takes the pinned key, else the declared one, else the envelope's. A
// key that cannot be read or imported is a problem, never a reason to try the
// next.
func chooseKey(s *Signing, e envelope, o VerifyOptions) (chosenKey, string) {
	key, load, via := o.TrustedKey, o.LoadTrusted, viaPinned
	if key == "" {
		key, load, via = s.PublicKey.Value, o.Load, viaDeclared
	}
	text := e.publicKey
	if key != "" {
		material, err := inlineOrLoad(key, load)
		if err != nil {
			return chosenKey{}, "cannot load public key: " + err.Error()
		}
		text = string(material)
	} else {
		via = viaEnvelope
	}
	if text == "" && via == viaEnvelope {
		return chosenKey{}, detailNoKey
	}
	public, err := keys.ParsePublic(text)
	if isJWK(text) {
		public, err = keys.ParseJWK(text, e.keyID.Value)
	}
	if err != nil {
		return chosenKey{}, "cannot import public key: " + err.Error()
	}
	return chosenKey{public, via}, ""
}

var errNoLoader = errors.New("only inline keys and signatures can be read here")

// inlineOrLoad gives value itself when it is key or signature text, else what
// the location that it names holds.
func inlineOrLoad(value string, load func(string) ([]byte, error)) ([]byte, error) {
	if isInline(value) {
		return []byte(value), nil
	}
	if load == nil {
		return nil, errNoLoader
	}
	return load(value)
}

// isInline tells key and signature text from a location: it has a PEM block, is a
// detached JWS, or decodes to the length of a raw key, of a SubjectPublicKeyInfo
// or of a signature.
func isInline(value string) bool {
	if isHTTP(value) {
		return false
	}
	if strings.Contains(value, "-----BEGIN") || keys.IsDetachedJWS(value) {
		return true
	}
	b, ok := keys.Decode(value)
	return ok && (len(b) == 32 || len(b) == 44 || len(b) == ed25519.SignatureSize)
}

// envelope is a signature file in its JSON form, or a bare signature.
type envelope struct {
	signature string
	publicKey string
	algorithm string
	keyID     String
}

// readEnvelope reads a JSON object with signature, public_key, key_id and
// algorithm. Any other text is the signature itself.
func readEnvelope(material []byte) envelope {
	v, err := artifact.ParseValue(material)
	if err != nil || v.Kind() != artifact.KindObject {
		return envelope{signature: string(material)}
	}
	field := func(name string) String {
		if member, ok := v.Get(name); ok {
			return artifact.Some(jsonText(member))
		}
		return String{}
	}
	return envelope{
		signature: field("signature").Value,
		publicKey: field("public_key").Value,
		algorithm: field("algorithm").Value,
		keyID:     field("key_id"),
	}
}

// jsonText gives a JSON scalar as text, null as the word: an algorithm of null
// is an algorithm that nobody supports.
func jsonText(v artifact.Value) string {
	switch v.Kind() {
	case artifact.KindString, artifact.KindNumber:
		return v.Text()
	case artifact.KindBool:
		if v.Bool() {
			return "true"
		}
		return "false"
	default:
		return v.Kind().String()
	}
}
