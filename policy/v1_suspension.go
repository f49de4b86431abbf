package policy

import (
	"crypto/subtle"

	"github.com/writ-dev/writ/artifact"
)

// SuspensionV1 is a version 1 request for a person's answer.
type SuspensionV1 struct {
	Version          uint16
	ExecutionID      string
	Reason           string
	RequestedAction  string
	ReviewContext    artifact.Value // canonical
	ExpiresAtMS      uint64         // Unix milliseconds
	ResumeSchemaHash string
	ArtifactHashes   ArtifactHashesV1
	Nonce            string
}

// Canonical gives the suspension's canonical bytes.
func (s SuspensionV1) Canonical() []byte {
	return object(
		artifact.Member{Name: "version", Value: artifact.UintValue(uint64(s.Version))},
		artifact.Member{Name: "execution_id", Value: artifact.StringValue(s.ExecutionID)},
		artifact.Member{Name: "reason", Value: artifact.StringValue(s.Reason)},
		artifact.Member{Name: "requested_action", Value: artifact.StringValue(s.RequestedAction)},
		artifact.Member{Name: "review_context", Value: s.ReviewContext},
		artifact.Member{Name: "expires_at_ms", Value: artifact.UintValue(s.ExpiresAtMS)},
		artifact.Member{Name: "resume_schema_hash", Value: artifact.StringValue(s.ResumeSchemaHash)},
		artifact.Member{Name: "artifact_hashes", Value: s.ArtifactHashes.value()},
		artifact.Member{Name: "nonce", Value: artifact.StringValue(s.Nonce)},
	).AppendCompact(nil)
}

// Token gives the version 1 resume token. It holds no secret: whoever reads the
// suspension can make it. Runs of ours use keyed or random tokens.
func (s SuspensionV1) Token() string { return artifact.Sum(s.Canonical()).Hex() }

// Resume reports whether an answer fits. Errors are *[V1Error]. As in version 1,
// the input is not held against any schema; it must be an object.
func (s SuspensionV1) Resume(token string, nowMS uint64, schemaHash string, input artifact.Value) error {
	if s.Version != 1 || nowMS >= s.ExpiresAtMS || subtle.ConstantTimeCompare([]byte(token), []byte(s.Token())) != 1 {
		return &V1Error{KindResumeRejected, "stale or invalid resume token"}
	}
	if schemaHash != s.ResumeSchemaHash || input.Kind() != artifact.KindObject {
		return &V1Error{KindResumeRejected, "resume input does not match its bound schema"}
	}
	return nil
}

// ParseSuspension reads a suspension, in the native or the TypeScript spelling.
// The token that the TypeScript form carries is dropped: a token proves nothing
// about the document it stands in.
func ParseSuspension(data []byte, source string) (SuspensionV1, error) {
	return decodeV1(data, source, func(o *artifact.Object) SuspensionV1 {
		if o.Has("executionId") {
			o.Know("token")
		}
		return SuspensionV1{
			Version: o.Need("version").Uint16(), ExecutionID: either(o, "execution_id", "executionId").Identifier(),
			Reason: o.Need("reason").Text(), RequestedAction: either(o, "requested_action", "requestedAction").Text(),
			ReviewContext:    either(o, "review_context", "reviewContext").Value(),
			ExpiresAtMS:      either(o, "expires_at_ms", "expiresAtMs").Uint64(),
			ResumeSchemaHash: either(o, "resume_schema_hash", "resumeSchemaHash").Text(),
			ArtifactHashes:   readHashesV1(either(o, "artifact_hashes", "artifactHashes").Object()),
			Nonce:            o.Need("nonce").Text(),
		}
	})
}
