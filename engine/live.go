package engine

import (
	"crypto/ed25519"
	"fmt"
	"io"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/keys"
)

// LiveAuthorization lets one caller replay one run with live effects, once. A
// replay checks what it says; who may issue one is for the host to decide, by the
// keys that it takes signatures of (see [OpenLive]).
type LiveAuthorization struct {
	Exec       string          `json:"exec"`
	Definition artifact.Digest `json:"definition"` // see [Definition.Digest]
	Caller     string          `json:"caller"`
	ExpiresMS  int64           `json:"expires_ms"` // since 1970
	Nonce      string          `json:"nonce"`
}

// AuthorizeLive gives an authorization for the run whose log begins with first.
func AuthorizeLive(first event.Event, caller string, expiresMS int64, random io.Reader) (LiveAuthorization, error) {
	started, ok := first.Body.(*event.Started)
	if !ok {
		return LiveAuthorization{}, fmt.Errorf("authorize: the log of %s does not begin with started", first.Exec)
	}
	nonce, err := randomText(random)
	return LiveAuthorization{
		Exec: first.Exec, Definition: sumOf(started.Definition), Caller: caller, ExpiresMS: expiresMS, Nonce: nonce,
	}, err
}

// LiveType is the DSSE payload type of a signed authorization.
const LiveType = "application/vnd.writ.live.v1+json"

// Sign gives a DSSE envelope with the authorization.
func (a LiveAuthorization) Sign(signers ...ed25519.PrivateKey) ([]byte, error) {
	payload, err := artifact.EncodeCompact(a)
	if err != nil {
		return nil, err
	}
	return keys.Seal(LiveType, payload, signers...)
}

// OpenLive gives the authorization in a DSSE envelope and the ids of the trusted
// keys that signed it. It fails as [keys.Open] does.
func OpenLive(data []byte, trusted ...ed25519.PublicKey) (a LiveAuthorization, signedBy []string, err error) {
	payload, signedBy, err := keys.Open(data, LiveType, trusted...)
	if err == nil {
		err = artifact.Decode(payload, &a, artifact.RefuseUnknown)
	}
	if err != nil {
		return LiveAuthorization{}, nil, fmt.Errorf("authorization of a live replay: %w", err)
	}
	return a, signedBy, nil
}

// Digest identifies the authorization.
func (a LiveAuthorization) Digest() artifact.Digest {
	return artifact.Sum(artifact.ArrayValue(
		artifact.StringValue("writ/live/1"), artifact.StringValue(a.Exec), artifact.StringValue(a.Definition.String()),
		artifact.StringValue(a.Caller), artifact.IntValue(a.ExpiresMS), artifact.StringValue(a.Nonce),
	).AppendCompact(nil))
}

// The codes of refused authorizations.
const (
	LiveMissing    = "authorization_missing"
	LiveOtherRun   = "authorization_other_run"
	LiveOtherFiles = "authorization_other_artifacts"
	LiveOtherOne   = "authorization_other_caller"
	LiveExpired    = "authorization_expired"
	LiveUsed       = "authorization_used"
)

// authorize checks the authorization of a live replay and uses it up.
func (r *replay) authorize(first event.Event) error {
	a := r.o.Authorization
	refuse := func(code, text string) error { return &Refusal{Code: code, Message: text} }
	switch {
	case a == nil || a.Nonce == "" || r.o.Spend == nil:
		return refuse(LiveMissing, "live effects need an authorization that names run, artifacts, caller and expiry, and a place where its use is kept")
	case a.Exec != first.Exec:
		return refuse(LiveOtherRun, "the authorization is for run "+a.Exec)
	case a.Definition != r.m.def.digest:
		return refuse(LiveOtherFiles, "the authorization is for another definition")
	case a.Caller != r.o.Caller:
		return refuse(LiveOtherOne, "the authorization is for another caller")
	case r.o.NowMS >= a.ExpiresMS:
		return refuse(LiveExpired, "the authorization has expired")
	}
	fresh, err := r.o.Spend(a.Digest())
	if err != nil {
		return err
	}
	if !fresh {
		return refuse(LiveUsed, "the authorization was used")
	}
	return nil
}
