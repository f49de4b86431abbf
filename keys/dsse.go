package keys

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/writ-dev/writ/artifact"
)

// Limits on an envelope that somebody else wrote.
const (
	MaxEnvelope   = 1 << 20 // bytes of its JSON text
	MaxSignatures = 64      // signatures in one envelope
)

// The reasons why an envelope gives no payload. What an envelope that fails
// says is not to be used: [Open] returns nothing of it.
var (
	ErrEnvelope    = errors.New("not a DSSE envelope")
	ErrPayloadType = errors.New("DSSE envelope carries another payload type")
	ErrUnverified  = errors.New("no given key verifies the DSSE envelope")
)

// envelope is the JSON form of DSSE version 1.0.
type envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     string      `json:"payload"` // base64
	Signatures  []signature `json:"signatures"`
}

type signature struct {
	KeyID string `json:"keyid"` // a hint, not covered by the signature
	Sig   string `json:"sig"`   // base64
}

// Seal gives a DSSE envelope, compact JSON, over payload with one signature by
// each signer. The signature covers the payload's type and its exact bytes.
func Seal(payloadType string, payload []byte, signers ...ed25519.PrivateKey) ([]byte, error) {
	e := envelope{PayloadType: payloadType, Payload: base64.StdEncoding.EncodeToString(payload)}
	message := preAuthentication(payloadType, payload)
	for _, s := range signers {
		if len(s) != ed25519.PrivateKeySize {
			return nil, fmt.Errorf("sign DSSE envelope: %w", ErrLength)
		}
		e.Signatures = append(e.Signatures, signature{
			KeyID: ID(s.Public().(ed25519.PublicKey)),
			Sig:   base64.StdEncoding.EncodeToString(ed25519.Sign(s, message)),
		})
	}
	if len(e.Signatures) == 0 {
		return nil, fmt.Errorf("sign DSSE envelope: %w", ErrUnverified)
	}
	return artifact.EncodeCompact(e)
}

// Open gives the payload of an envelope and the [ID] of each trusted key that
// signed it, in the order of trusted and without repetition. It fails with
// [ErrEnvelope], [ErrPayloadType], or [ErrUnverified] when no trusted key did.
// The envelope's own key ids are ignored: they are not signed.
func Open(data []byte, payloadType string, trusted ...ed25519.PublicKey) (payload []byte, signedBy []string, err error) {
	e, payload, err := readEnvelope(data)
	if err != nil {
		return nil, nil, err
	}
	if e.PayloadType != payloadType {
		return nil, nil, fmt.Errorf("%w: %.80q, want %q", ErrPayloadType, e.PayloadType, payloadType)
	}
	message := preAuthentication(payloadType, payload)
	for _, key := range trusted {
		if e.signedBy(key, message) {
			signedBy = append(signedBy, ID(key))
		}
	}
	if len(signedBy) == 0 {
		return nil, nil, ErrUnverified
	}
	return payload, signedBy, nil
}

func readEnvelope(data []byte) (envelope, []byte, error) {
	var e envelope
	if len(data) > MaxEnvelope {
		return e, nil, fmt.Errorf("%w: more than %d bytes", ErrEnvelope, MaxEnvelope)
	}
	// DSSE lets envelopes carry further members.
	if err := artifact.Decode(data, &e, artifact.IgnoreUnknown); err != nil {
		return e, nil, fmt.Errorf("%w: %v", ErrEnvelope, err)
	}
	if len(e.Signatures) == 0 || len(e.Signatures) > MaxSignatures {
		return e, nil, fmt.Errorf("%w: %d signatures, want 1 to %d", ErrEnvelope, len(e.Signatures), MaxSignatures)
	}
	payload, ok := strictBase64(e.Payload)
	if !ok {
		return e, nil, fmt.Errorf("%w: payload is not base64", ErrEnvelope)
	}
	return e, payload, nil
}

func (e envelope) signedBy(key ed25519.PublicKey, message []byte) bool {
	for _, s := range e.Signatures {
		if sig, ok := strictBase64(s.Sig); ok && Verify(key, message, sig) {
			return true
		}
	}
	return false
}

// strictBase64 reads the standard or the URL alphabet, both of which DSSE
// allows. Text that does not spell exactly the bytes it decodes to is refused,
// so that one envelope has no second spelling.
func strictBase64(text string) ([]byte, bool) {
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		b, err := encoding.Strict().DecodeString(text)
		if err == nil && encoding.EncodeToString(b) == text {
			return b, true
		}
	}
	return nil, false
}

// preAuthentication is DSSE's PAE: what is signed.
func preAuthentication(payloadType string, payload []byte) []byte {
	var b bytes.Buffer
	b.WriteString("DSSEv1 " + strconv.Itoa(len(payloadType)) + " " + payloadType + " " + strconv.Itoa(len(payload)) + " ")
	b.Write(payload)
	return b.Bytes()
}

// ID names a public key: the SHA-256 of its 32 raw bytes as sha256:<hex>.
func ID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return "sha256:" + hex.EncodeToString(sum[:])
}
