package event

import (
	"crypto/ed25519"
	"fmt"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/keys"
)

// HeadType is the DSSE payload type of a signed head.
const HeadType = "application/vnd.writ.head.v1+json"

// headStatement is what is signed, in the form of RFC 8785. Numbers are strings
// there, because a sequence may exceed 2^53.
type headStatement struct {
	Count  string          `json:"count"` // of events; equal to seq while logs have no gaps
	Digest artifact.Digest `json:"digest"`
	Exec   string          `json:"exec"`
	Seq    string          `json:"seq"`
}

// SignHead gives a DSSE envelope by which the signers vouch for every event up
// to the head.
func SignHead(h Head, signers ...ed25519.PrivateKey) ([]byte, error) {
	if _, err := NewChain(h); err != nil || h.Seq == 0 {
		return nil, fmt.Errorf("sign head: an empty log or one without a valid id has nothing to vouch for")
	}
	payload, err := h.statement()
	if err != nil {
		return nil, err
	}
	return keys.Seal(HeadType, payload, signers...)
}

func (h Head) statement() ([]byte, error) {
	seq := fmt.Sprint(h.Seq)
	text, err := artifact.EncodeCompact(headStatement{Count: seq, Digest: h.Digest, Exec: h.Exec, Seq: seq})
	if err != nil {
		return nil, err
	}
	v, err := artifact.ParseValue(text)
	if err != nil {
		return nil, err
	}
	return artifact.CanonicalRFC8785(v)
}

// OpenHead gives the head in a DSSE envelope and the ids of the trusted keys
// that signed it (see [keys.ID]). It fails as [keys.Open] does, and for a
// statement that is not a head in its canonical form.
func OpenHead(data []byte, trusted ...ed25519.PublicKey) (h Head, signedBy []string, err error) {
	payload, signedBy, err := keys.Open(data, HeadType, trusted...)
	if err != nil {
		return Head{}, nil, fmt.Errorf("signed head: %w", err)
	}
	var s headStatement
	if err := artifact.Decode(payload, &s, artifact.RefuseUnknown); err != nil {
		return Head{}, nil, fmt.Errorf("signed head: %w", err)
	}
	if h.Seq, err = parseUint(s.Seq); err != nil || s.Count != s.Seq {
		return Head{}, nil, fmt.Errorf("signed head: sequence or count is not a number, or they differ")
	}
	h.Exec, h.Digest = s.Exec, s.Digest
	canonical, err := h.statement()
	if err != nil || string(canonical) != string(payload) || h.Seq == 0 || h.Digest.IsZero() {
		return Head{}, nil, fmt.Errorf("signed head: not in canonical form")
	}
	return h, signedBy, nil
}

func parseUint(text string) (uint64, error) {
	v, err := artifact.NumberValue(text)
	if err != nil {
		return 0, err
	}
	n, ok := v.Uint()
	if !ok {
		return 0, fmt.Errorf("%.20q is not a sequence", text)
	}
	return n, nil
}
