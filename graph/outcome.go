package graph

import (
	"fmt"

	"github.com/writ-dev/writ/artifact"
)

// OutcomeKind says how a node ended.
type OutcomeKind string

// The kinds of outcomes, as version 1 spells them.
const (
	Continue  OutcomeKind = "Continue"  // along the route "continue"
	Routed    OutcomeKind = "Route"     // along a route of the node's choice
	Suspend   OutcomeKind = "Suspend"   // the run waits for an input
	Terminate OutcomeKind = "Terminate" // the run is done
	Fail      OutcomeKind = "Fail"      // the attempt failed
)

// Outcome is the document NodeOutcomeV1 (runtime contract, section 4). Fields of
// other kinds are zero.
type Outcome struct {
	Kind  OutcomeKind
	Patch *Patch // needed by Continue, optional for Routed, Suspend and Terminate

	Route     string         // Routed
	Reason    string         // Suspend
	Result    artifact.Value // Terminate
	Error     string         // Fail
	Retryable bool           // Fail

	// Class is the kind of failure for the retry policy of version 2 graphs (see
	// [Retry.Covers]). It has no version 1 form and is not encoded.
	Class string
}

// NodeResult is the document NodeExecutionV1: what an executor gives back for one
// attempt at a node.
type NodeResult struct {
	Outcome    Outcome
	Tokens     uint64
	CostMicros uint64
}

// DecodeOutcome reads a NodeOutcomeV1.
func DecodeOutcome(data []byte, source string) (*Outcome, error) {
	return decodeV1(data, source, func(f artifact.Field) *Outcome {
		o := readOutcome(f)
		return &o
	})
}

// DecodeNodeResult reads a NodeExecutionV1.
func DecodeNodeResult(data []byte, source string) (*NodeResult, error) {
	return decodeV1(data, source, func(f artifact.Field) *NodeResult {
		o := f.Object()
		r := &NodeResult{
			Outcome:    readOutcome(o.Need("outcome")),
			Tokens:     o.Need("tokens").Uint64(),
			CostMicros: o.Need("cost_micros").Uint64(),
		}
		o.RefuseUnknown()
		return r
	})
}

// readOutcome ignores unknown members of the bodies, as the contract says.
func readOutcome(f artifact.Field) Outcome {
	name, body := variant(f, string(Continue), string(Routed), string(Suspend), string(Terminate), string(Fail))
	out := Outcome{Kind: OutcomeKind(name)}
	if name == "" {
		return out
	}
	if !body.Present() {
		f.Report("%s needs a body", name)
		return out
	}
	o := body.Object()
	optionalPatch := func() {
		if p := o.May("patch"); p.Present() {
			out.Patch = readPatch(p)
		}
	}
	switch out.Kind {
	case Continue:
		out.Patch = readPatch(o.Need("patch"))
	case Routed:
		out.Route = o.Need("route").Text()
		optionalPatch()
	case Suspend:
		out.Reason = o.Need("reason").Text()
		optionalPatch()
	case Terminate:
		out.Result = o.Need("result").Value()
		optionalPatch()
	case Fail:
		out.Error = o.Need("error").Text()
		out.Retryable = o.Need("retryable").Bool()
	}
	return out
}

// AsValue gives the document in canonical order. A kind that does not exist, and
// Continue without a patch, are errors.
func (o Outcome) AsValue() (artifact.Value, error) {
	patch := artifact.Value{}
	if o.Patch != nil {
		patch = o.Patch.AsValue()
	}
	text := artifact.StringValue
	var body artifact.Value
	switch o.Kind {
	case Continue:
		if o.Patch == nil {
			return body, fmt.Errorf("encode outcome: Continue needs a patch")
		}
		body = artifact.ObjectValue(member("patch", patch))
	case Routed:
		body = artifact.ObjectValue(member("route", text(o.Route)), member("patch", patch))
	case Suspend:
		body = artifact.ObjectValue(member("reason", text(o.Reason)), member("patch", patch))
	case Terminate:
		body = artifact.ObjectValue(member("result", o.Result), member("patch", patch))
	case Fail:
		body = artifact.ObjectValue(member("error", text(o.Error)), member("retryable", artifact.BoolValue(o.Retryable)))
	default:
		return body, fmt.Errorf("encode outcome: no kind %q", o.Kind)
	}
	return artifact.ObjectValue(member(string(o.Kind), body)), nil
}

// Encode gives the canonical bytes; see [Outcome.AsValue] for errors.
func (o Outcome) Encode() ([]byte, error) {
	v, err := o.AsValue()
	if err != nil {
		return nil, err
	}
	return v.AppendCompact(nil), nil
}

// Encode gives the canonical bytes; see [Outcome.AsValue] for errors.
func (r NodeResult) Encode() ([]byte, error) {
	outcome, err := r.Outcome.AsValue()
	if err != nil {
		return nil, err
	}
	return artifact.ObjectValue(
		member("outcome", outcome),
		member("tokens", artifact.UintValue(r.Tokens)),
		member("cost_micros", artifact.UintValue(r.CostMicros)),
	).AppendCompact(nil), nil
}
