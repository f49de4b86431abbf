package keys

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// minHexDigits is the length from which hex digits count as hex: those of the
// shortest value, a raw key of 32 bytes. Shorter runs are base64.
const minHexDigits = 64

// Decode gives the bytes that text spells, in the first form that fits: a PEM
// block (text around it is ignored), hex of at least 64 digits, base64 with the
// standard alphabet. White space inside hex and base64 is ignored, padding is
// optional and what follows the first = is not read. False means that text is
// none of these.
func Decode(text string) ([]byte, bool) {
	text = strings.TrimSpace(text)
	if body, ok := pemBody(text); ok {
		return decodeBase64(body)
	}
	compact := strings.Join(strings.Fields(text), "")
	if len(compact) >= minHexDigits {
		if b, err := hex.DecodeString(compact); err == nil {
			return b, true
		}
	}
	return decodeBase64(compact)
}

// pemBody gives what stands between the first BEGIN and the END line after it.
// The block may stand on one line, as a folded YAML scalar leaves it.
func pemBody(text string) (string, bool) {
	_, rest, ok := strings.Cut(text, "-----BEGIN ")
	if !ok {
		return "", false
	}
	if _, rest, ok = strings.Cut(rest, "-----"); !ok {
		return "", false
	}
	body, _, ok := strings.Cut(rest, "-----END ")
	return body, ok
}

func decodeBase64(text string) ([]byte, bool) {
	text = strings.Join(strings.Fields(text), "")
	data, padding, _ := strings.Cut(text, "=")
	if strings.Trim(padding, base64Alphabet+"=") != "" {
		return nil, false
	}
	b, err := base64.RawStdEncoding.DecodeString(data)
	return b, err == nil && len(b) > 0
}

const base64Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
