package kcp

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/keys"
)

// Sign makes the signature file of a manifest: an ed25519 signature over exactly
// these bytes, in the JSON envelope that [Verify] and other implementations read
// (format section 12.2).
func Sign(text []byte, key ed25519.PrivateKey, keyID string) ([]byte, error) {
	public := key.Public().(ed25519.PublicKey)
	envelope, err := artifact.Encode(struct {
		KeyID     string `json:"key_id"`
		Algorithm string `json:"algorithm"`
		PublicKey string `json:"public_key"`
		Signature string `json:"signature"`
	}{keyID, "EdDSA", base64.StdEncoding.EncodeToString(keys.SPKI(public)),
		base64.StdEncoding.EncodeToString(ed25519.Sign(key, text))})
	if err != nil {
		return nil, err
	}
	return append(envelope, '\n'), nil
}

// DeclareSigning appends a root signing block to the text of a manifest that
// has none. The line ends are those of the text.
func DeclareSigning(text []byte, publicKey, keyID, signature string) []byte {
	end := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		end = "\r\n"
	}
	out := bytes.Clone(text)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, end...)
	}
	quoted := func(s string) string { return string(artifact.AppendString(nil, s)) }
	for _, line := range []string{
		"",
		"signing:",
		"  scheme: ed25519",
		"  key_id: " + quoted(keyID),
		"  public_key: " + quoted(publicKey),
		"  signature: " + quoted(signature),
	} {
		out = append(append(out, line...), end...)
	}
	return out
}
