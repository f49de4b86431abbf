package engine

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/keys"
)

// decisionType is the payload type of a signed decision.
const decisionType = "application/vnd.writ.decision.v1+json"

// SignDecision gives the signature of a decision about the exact bytes of a
// proposal, for [Decision.Signature]: a DSSE envelope and the public key that
// checks it. It is part of the record, so that anybody can check later that the
// holder of this key decided so. An answer of which the pack redacts anything must
// be null here: its digest could be guessed.
func SignDecision(proposal artifact.Digest, approve bool, answer artifact.Value, private ed25519.PrivateKey) ([]byte, error) {
	statement, err := decisionStatement(proposal, approve, answer)
	if err != nil {
		return nil, err
	}
	envelope, err := keys.Seal(decisionType, statement, private)
	if err != nil {
		return nil, err
	}
	return artifact.CanonicalRuntime(artifact.ObjectValue(
		member("envelope", artifact.StringValue(string(envelope))),
		member("key", artifact.StringValue(keys.Text(private.Public().(ed25519.PublicKey)))),
	))
}

func decisionStatement(proposal artifact.Digest, approve bool, answer artifact.Value) ([]byte, error) {
	said := artifact.Value{}
	if !answer.IsNull() {
		text, err := artifact.CanonicalRuntime(answer)
		if err != nil {
			return nil, fmt.Errorf("sign a decision: %w", err)
		}
		said = artifact.StringValue(artifact.Sum(text).String())
	}
	return artifact.CanonicalRuntime(artifact.ObjectValue(
		member("version", artifact.UintValue(1)), member("proposal", artifact.StringValue(proposal.String())),
		member("approve", artifact.BoolValue(approve)), member("answer", said),
	))
}

// decisionKey gives the key that signed a decision.
func decisionKey(signature []byte, proposal artifact.Digest, approve bool, answer artifact.Value) (ed25519.PublicKey, error) {
	key, said, err := openSignature(signature)
	if err != nil {
		return nil, err
	}
	for _, answer := range []artifact.Value{answer, {}} {
		if want, err := decisionStatement(proposal, approve, answer); err == nil && bytes.Equal(want, said) {
			return key, nil
		}
	}
	return nil, errOtherDecision
}

var errOtherDecision = errors.New("the signature of the decision is about another decision")

func openSignature(signature []byte) (key ed25519.PublicKey, said []byte, err error) {
	v, err := artifact.ParseValue(signature)
	if err == nil {
		text, _ := v.Get("key")
		key, err = keys.ParsePublic(text.Text())
	}
	if err == nil {
		envelope, _ := v.Get("envelope")
		said, _, err = keys.Open([]byte(envelope.Text()), decisionType, key)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the signature of the decision: %w", err)
	}
	return key, said, nil
}

// keyDigest is how a key is known as a credential.
func keyDigest(key ed25519.PublicKey) artifact.Digest { return artifact.Sum(keys.SPKI(key)) }

// checkSignature holds a recorded decision against its signature. What was answered
// is not looked at: the record may hold it redacted.
func checkSignature(b *event.ApprovalDecided, signature []byte) error {
	key, said, err := openSignature(signature)
	if err != nil {
		return err
	}
	statement, err := artifact.ParseValue(said)
	if err != nil {
		return errOtherDecision
	}
	proposal, _ := statement.Get("proposal")
	approve, _ := statement.Get("approve")
	switch {
	case proposal.Text() != b.Proposal.String() || approve.Bool() != (b.Decision == event.DecisionApprove):
		return errOtherDecision
	case keyDigest(key) != b.Credential:
		return errors.New("the signature of the decision is by another key than the record names")
	}
	return nil
}
