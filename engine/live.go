package engine

import (
	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
)

// LiveAuthorization lets one caller replay one run with live effects, once.
// Whoever issues it signs its bytes as they see fit; a replay checks what it says.
type LiveAuthorization struct {
	Exec       string
	Definition artifact.Digest // of the definition, see [Definition.Digest]
	Caller     string
	ExpiresMS  int64 // since 1970
	Nonce      string
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
