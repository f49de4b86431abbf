package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
)

func uintText(n uint64) string { return strconv.FormatUint(n, 10) }

func timeOf(ms int64) time.Time { return time.UnixMilli(ms) }

// clip fits a text of somebody else into an event.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	const room = event.MaxText / 8
	if len(s) > room {
		s = strings.ToValidUTF8(s[:room], "") + " ..."
	}
	return s
}

// effectKey gives the idempotency key of an effect. Every attempt has its own:
// an attempt follows another only when that one is known to have failed. While an
// outcome is unknown the attempt stays, and so does its key.
func effectKey(exec, node string, visit, attempt, call uint32) string {
	doc := artifact.ArrayValue(artifact.StringValue("writ/effect/1"), artifact.StringValue(exec), artifact.StringValue(node),
		artifact.UintValue(uint64(visit)), artifact.UintValue(uint64(attempt)), artifact.UintValue(uint64(call)))
	sum := sha256.Sum256(doc.AppendCompact(nil))
	return hex.EncodeToString(sum[:])
}

// childExec gives the execution id of a called run.
func childExec(exec, node string, visit, attempt uint32) string {
	return "call-" + effectKey(exec, node, visit, attempt, 1)[:40]
}

func member(name string, v artifact.Value) artifact.Member {
	return artifact.Member{Name: name, Value: v}
}

// patchText gives what [graph.Patch.Encode] gives, without building the value:
// every step has one.
func patchText(p *graph.Patch) []byte {
	b := strconv.AppendUint(append(make([]byte, 0, 128), `{"base_revision":`...), p.BaseRevision, 10)
	b = append(b, `,"operations":{`...)
	for i, path := range p.Paths() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(artifact.AppendString(b, path), ':')
		if op := p.Operations[path]; op.Remove {
			b = append(b, `"Remove"`...)
		} else {
			b = append(op.Value.AppendCompact(append(b, `{"Set":`...)), '}')
		}
	}
	return append(b, '}', '}')
}
