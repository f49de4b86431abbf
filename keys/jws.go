package keys

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// maxJWS is the longest detached JWS that is read, in bytes.
const maxJWS = 64 << 10

// The reasons why text that has the form of a detached JWS is not used.
var (
	ErrJWS          = errors.New("not a detached JWS")
	ErrJWSAlgorithm = errors.New("unsupported signature algorithm")
	ErrJWSCritical  = errors.New("unsupported critical JWS header")
)

// DetachedJWS is a JSON Web Signature without its payload (RFC 7515 appendix F),
// made with ed25519: algorithm EdDSA (RFC 8037) or Ed25519 (RFC 9864).
type DetachedJWS struct {
	KeyID string // the header's kid: a label that nobody vouches for

	header     string // as it is signed: base64url
	signature  []byte
	unencoded  bool // the payload is signed as it is (RFC 7797)
	hasKeyName bool
}

// HasKeyID reports whether the header names a key.
func (j *DetachedJWS) HasKeyID() bool { return j.hasKeyName }

// IsDetachedJWS reports whether text has the compact form of a detached JWS: two
// parts in base64url with two dots between them, the first of which spells a JSON
// object. No key, no plain signature and hardly a file name looks like that.
func IsDetachedJWS(text string) bool {
	header, signature, ok := strings.Cut(strings.TrimSpace(text), "..")
	if !ok || !isBase64URL(signature) {
		return false
	}
	data, err := base64.RawURLEncoding.DecodeString(header)
	return err == nil && strings.HasPrefix(strings.TrimSpace(string(data)), "{")
}

func isBase64URL(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}

// ParseDetachedJWS reads the compact form, or the flattened JSON form with the
// members protected and signature. Keys and addresses of keys in the header are
// not read: a signature does not vouch for itself. It fails with [ErrJWS],
// [ErrJWSAlgorithm], [ErrJWSCritical], or [ErrLength] for a signature that has
// not 64 bytes.
func ParseDetachedJWS(text string) (*DetachedJWS, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxJWS {
		return nil, ErrJWS
	}
	header, encoded, ok := strings.Cut(text, "..")
	if strings.HasPrefix(text, "{") {
		header, encoded, ok = flattened(text)
	}
	if !ok {
		return nil, ErrJWS
	}
	j := &DetachedJWS{header: header}
	if err := j.readHeader(); err != nil {
		return nil, err
	}
	signature, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return nil, ErrJWS
	}
	if len(signature) != ed25519.SignatureSize {
		return nil, ErrLength
	}
	j.signature = signature
	return j, nil
}

// flattened reads the JSON form. A payload in it would be another text than the
// one that is checked.
func flattened(text string) (header, signature string, ok bool) {
	v, err := artifact.ParseValue([]byte(text))
	if err != nil || v.Kind() != artifact.KindObject {
		return "", "", false
	}
	if _, has := v.Get("payload"); has {
		return "", "", false
	}
	protected, has := v.Get("protected")
	sig, hasSig := v.Get("signature")
	if !has || !hasSig || protected.Kind() != artifact.KindString || sig.Kind() != artifact.KindString {
		return "", "", false
	}
	return protected.Text(), sig.Text(), true
}

func (j *DetachedJWS) readHeader() error {
	data, err := base64.RawURLEncoding.Strict().DecodeString(j.header)
	if err != nil {
		return ErrJWS
	}
	v, err := artifact.ParseValue(data)
	if err != nil || v.Kind() != artifact.KindObject {
		return ErrJWS
	}
	algorithm, ok := v.Get("alg")
	if !ok || algorithm.Kind() != artifact.KindString {
		return ErrJWS
	}
	if name := algorithm.Text(); name != "EdDSA" && name != "Ed25519" {
		return fmt.Errorf("%w '%.40s'", ErrJWSAlgorithm, name)
	}
	if kid, ok := v.Get("kid"); ok {
		if kid.Kind() != artifact.KindString {
			return ErrJWS
		}
		j.KeyID, j.hasKeyName = kid.Text(), true
	}
	return j.readCritical(v)
}

// readCritical reads what the header asks its reader to understand. Of all
// extensions only b64 is (RFC 7797), and it must be listed as critical.
func (j *DetachedJWS) readCritical(header artifact.Value) error {
	listed := false
	if critical, ok := header.Get("crit"); ok {
		if critical.Kind() != artifact.KindArray || len(critical.Elements()) != 1 {
			return ErrJWSCritical
		}
		only := critical.Elements()[0]
		if only.Kind() != artifact.KindString || only.Text() != "b64" {
			return ErrJWSCritical
		}
		listed = true
	}
	encoded, has := header.Get("b64")
	switch {
	case has != listed:
		return ErrJWSCritical
	case has && encoded.Kind() != artifact.KindBool:
		return ErrJWS
	}
	j.unencoded = has && !encoded.Bool()
	return nil
}

// Verify reports whether key made the signature over payload. Like [Verify] it
// is strict about keys and signatures.
func (j *DetachedJWS) Verify(key ed25519.PublicKey, payload []byte) bool {
	size := len(payload)
	if !j.unencoded {
		size = base64.RawURLEncoding.EncodedLen(size)
	}
	message := make([]byte, 0, len(j.header)+1+size)
	message = append(append(message, j.header...), '.')
	if j.unencoded {
		message = append(message, payload...)
	} else {
		message = base64.RawURLEncoding.AppendEncode(message, payload)
	}
	return Verify(key, message, j.signature)
}

// ParseJWK gives the ed25519 key in a JSON Web Key or a set of them (RFC 7517,
// RFC 8037): the one with that id, or the only one when id is empty. Other kinds
// of keys in a set are passed over. It fails with [ErrEncoding] when there is no
// such key or more than one, and as [ImportPublic] does.
func ParseJWK(text, id string) (ed25519.PublicKey, error) {
	v, err := artifact.ParseValue([]byte(text))
	if err != nil || v.Kind() != artifact.KindObject {
		return nil, ErrEncoding
	}
	candidates := []artifact.Value{v}
	if set, ok := v.Get("keys"); ok && set.Kind() == artifact.KindArray {
		candidates = set.Elements()
	}
	var found string
	for _, c := range candidates {
		x, kid, ok := readJWK(c)
		switch {
		case !ok, id != "" && kid != id:
		case found != "":
			return nil, ErrEncoding
		default:
			found = x
		}
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(found)
	if err != nil || found == "" {
		return nil, ErrEncoding
	}
	return ImportPublic(raw)
}

// readJWK reads one key that may be used for signatures.
func readJWK(v artifact.Value) (x, id string, ok bool) {
	text := func(name string) string {
		if member, has := v.Get(name); has && member.Kind() == artifact.KindString {
			return member.Text()
		}
		return ""
	}
	if v.Kind() != artifact.KindObject || text("kty") != "OKP" || text("crv") != "Ed25519" {
		return "", "", false
	}
	if use := text("use"); use != "" && use != "sig" {
		return "", "", false
	}
	return text("x"), text("kid"), true
}
