package policy

import "github.com/writ-dev/writ/artifact"

// ArtifactHashesV1 identifies what a run was made of: five hashes as text.
type ArtifactHashesV1 struct {
	Graph              string
	Pack               string
	Policy             string
	NodeImplementation string
	Contract           string
}

func (h ArtifactHashesV1) value() artifact.Value {
	return object(
		artifact.Member{Name: "graph", Value: artifact.StringValue(h.Graph)},
		artifact.Member{Name: "pack", Value: artifact.StringValue(h.Pack)},
		artifact.Member{Name: "policy", Value: artifact.StringValue(h.Policy)},
		artifact.Member{Name: "node_implementation", Value: artifact.StringValue(h.NodeImplementation)},
		artifact.Member{Name: "contract", Value: artifact.StringValue(h.Contract)},
	)
}

func readHashesV1(o *artifact.Object) ArtifactHashesV1 {
	h := ArtifactHashesV1{
		Graph: o.Need("graph").Text(), Pack: o.Need("pack").Text(), Policy: o.Need("policy").Text(),
		NodeImplementation: either(o, "node_implementation", "nodeImplementation").Text(), Contract: o.Need("contract").Text(),
	}
	o.RefuseUnknown()
	return h
}

// ReplayModeV1 is how a run is replayed.
type ReplayModeV1 string

// The replay modes.
const (
	ReplayVerifyOnly    ReplayModeV1 = "verify_only"
	ReplayMockedEffects ReplayModeV1 = "mocked_effects"
	ReplayLiveEffects   ReplayModeV1 = "live_effects"
)

// ReplayRequestV1 asks for a replay.
type ReplayRequestV1 struct {
	Version                 uint16
	Mode                    ReplayModeV1
	Artifacts               ArtifactHashesV1
	LiveEffectAuthorization artifact.Optional[string]
}

// Check reports whether the request fits a run of the actual hashes. Errors are
// *[V1Error]. Version 1 takes any text that is not empty for an authorization.
func (r ReplayRequestV1) Check(actual ArtifactHashesV1) error {
	switch {
	case r.Version != 1:
		return &V1Error{KindReplayRejected, "unsupported replay version"}
	case r.Artifacts != actual:
		return &V1Error{KindReplayRejected, "artifact hash mismatch"}
	case r.Mode == ReplayLiveEffects && r.LiveEffectAuthorization.Or("") == "":
		return &V1Error{KindReplayRejected, "live effects require explicit authorization"}
	}
	return nil
}

// Canonical gives the request's canonical bytes.
func (r ReplayRequestV1) Canonical() []byte {
	return object(
		artifact.Member{Name: "version", Value: artifact.UintValue(uint64(r.Version))},
		artifact.Member{Name: "mode", Value: artifact.StringValue(string(r.Mode))},
		artifact.Member{Name: "artifacts", Value: r.Artifacts.value()},
		artifact.Member{Name: "live_effect_authorization", Value: optionalString(r.LiveEffectAuthorization)},
	).AppendCompact(nil)
}

// ParseReplayRequest reads a request, in the native or the TypeScript spelling.
func ParseReplayRequest(data []byte, source string) (ReplayRequestV1, error) {
	return decodeV1(data, source, func(o *artifact.Object) ReplayRequestV1 {
		r := ReplayRequestV1{
			Version:   o.Need("version").Uint16(),
			Mode:      ReplayModeV1(o.Need("mode").Enum(string(ReplayVerifyOnly), string(ReplayMockedEffects), string(ReplayLiveEffects))),
			Artifacts: readHashesV1(o.Need("artifacts").Object()),
		}
		name := "live_effect_authorization"
		if o.Has("liveEffectAuthorization") && !o.Has(name) {
			name = "liveEffectAuthorization"
		}
		if f := o.May(name); f.Present() {
			r.LiveEffectAuthorization = artifact.Some(f.Text())
		}
		return r
	})
}
