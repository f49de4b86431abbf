package kcp

import (
	"errors"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/keys"
)

// isJWS reports whether signature material is a JSON Web Signature.
func isJWS(material []byte) bool {
	if keys.IsDetachedJWS(string(material)) {
		return true
	}
	v, err := artifact.ParseValue(material)
	if err != nil || v.Kind() != artifact.KindObject {
		return false
	}
	_, has := v.Get("protected")
	return has
}

// verifyJWS checks a detached JWS over the exact bytes of the manifest (format
// section 12.2; what "canonical bytes" are is not defined, and this is what is
// done in practice). The key comes from the caller or the signing block, never
// from the JWS.
func verifyJWS(text []byte, material string, s *Signing, o VerifyOptions) Signature {
	found := Signature{Status: Unverifiable, KeyID: s.KeyID.Value}
	jws, err := keys.ParseDetachedJWS(material)
	switch {
	case errors.Is(err, keys.ErrLength):
		found.Status, found.Detail = Invalid, detailLength
		return found
	case err != nil:
		found.Detail = err.Error()
		return found
	}
	if jws.HasKeyID() {
		found.KeyID = jws.KeyID
	}
	declared := *s
	if declared.PublicKey.Value == "" && o.JWSKey != "" {
		declared.PublicKey = artifact.Some(o.JWSKey)
	}
	key, problem := chooseKey(&declared, envelope{keyID: artifact.Some(found.KeyID)}, o)
	switch {
	case problem != "":
		found.Detail = problem
	case !matches(text, func(text []byte) bool { return jws.Verify(key.public, text) }):
		found.Status, found.Detail = Invalid, detailMismatch
	default:
		found.Status, found.Detail = Verified, "ed25519 signature verified ("+key.via+")"
	}
	return found
}

// isJWK reports whether key text is a JSON Web Key or a set of them.
func isJWK(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "{") }
