package policy

import (
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// Code names the reason of a denial. Codes are stable; the first eight are those
// of version 1.
type Code string

// The codes.
const (
	CodeInvalidContract       Code = "invalid_contract"       // the call itself is malformed
	CodeToolNotFound          Code = "tool_not_found"         // no such tool is registered
	CodeToolNotAllowed        Code = "tool_not_allowed"       // the pack does not name the tool
	CodeNamespaceDenied       Code = "namespace_denied"       // the namespace, or writing to it
	CodeCapabilityUnavailable Code = "capability_unavailable" // not bound, or the whole kind is not granted
	CodeArgumentDenied        Code = "argument_denied"        // arguments, program, host, module or action
	CodeBudgetExhausted       Code = "budget_exhausted"       // the reservation does not fit
	CodeResultInvalid         Code = "result_invalid"         // a result breaks the tool's own contract

	CodeEffectNotAllowed  Code = "effect_not_allowed"   // the pack does not name the effect
	CodeConditionDenied   Code = "condition_denied"     // a condition is false
	CodeConditionFailed   Code = "condition_failed"     // a condition gives no answer
	CodeTaintedArgument   Code = "tainted_argument"     // a model's argument that begins with -
	CodeCallTooLarge      Code = "call_too_large"       // declares more than one call may use
	CodePackExpired       Code = "pack_expired"         // or a policy around it
	CodePackNotYetValid   Code = "pack_not_yet_valid"   // or a policy around it
	CodeGraphNotAllowed   Code = "graph_not_allowed"    // not one that the agent may run
	CodeAgentNotAllowed   Code = "agent_not_allowed"    // not the agent that the pack means
	CodeAuthorityExceeded Code = "authority_escalation" // a child asks for more than its parent has
	CodeOverrun           Code = "budget_overrun"       // an earlier effect used more than it reserved

	CodeApprovalRequired Code = "approval_required"   // people have to decide first
	CodeApprovalRejected Code = "approval_rejected"   // somebody said no
	CodeApprovalStale    Code = "approval_stale"      // for other bytes, or too late
	CodeApprovalMethod   Code = "approval_too_weak"   // the approver is not known well enough
	CodeApprovalSelf     Code = "approval_by_starter" // whoever started the run cannot decide it
)

func v1Codes() []string {
	return []string{
		string(CodeInvalidContract), string(CodeToolNotFound), string(CodeToolNotAllowed), string(CodeNamespaceDenied),
		string(CodeArgumentDenied), string(CodeBudgetExhausted), string(CodeResultInvalid), string(CodeCapabilityUnavailable),
	}
}

// Denial is a refusal. It is a value and no error: the run goes on and may route
// by it.
type Denial struct {
	Code      Code
	Message   string // in words, without values of arguments
	Rule      string // what decided, such as "pack examples.research: tools.search.limits.calls"
	Kind      Kind
	Name      string
	Namespace string

	Also     []Reason     // what else would have refused the call, in the order of the checks
	Fix      *Fix         // the smallest change to the pack that would permit it; never nil
	Approval *Requirement // of approval_required: what is asked for
}

// Reason is one more cause of a denial.
type Reason struct {
	Code    Code
	Message string
	Rule    string
}

// Reasons lists why the call is refused, what decided first; none of no denial.
func (d *Denial) Reasons() []Reason {
	if d == nil {
		return nil
	}
	return append([]Reason{{d.Code, d.Message, d.Rule}}, d.Also...)
}

// String gives the code, message and rule in one line.
func (d *Denial) String() string {
	return string(d.Code) + ": " + d.Message + " (" + d.Rule + ")"
}

// V1 gives the denial in the version 1 form. Codes that version 1 does not have
// become the nearest that it has.
func (d *Denial) V1() DenialV1 {
	v := DenialV1{Version: 1, Code: d.Code, Message: d.Message}
	switch d.Code {
	case CodeEffectNotAllowed:
		v.Code = CodeToolNotAllowed
	case CodeConditionDenied, CodeConditionFailed, CodeTaintedArgument:
		v.Code = CodeArgumentDenied
	case CodeCallTooLarge, CodeOverrun:
		v.Code = CodeBudgetExhausted
	case CodePackExpired, CodePackNotYetValid, CodeGraphNotAllowed, CodeAgentNotAllowed, CodeAuthorityExceeded,
		CodeApprovalRequired, CodeApprovalRejected, CodeApprovalStale, CodeApprovalMethod, CodeApprovalSelf:
		v.Code = CodeCapabilityUnavailable
	}
	if v.Code != CodeInvalidContract && artifact.CheckIdentifier(d.Name) == nil {
		v.ToolID = artifact.Some(d.Name)
	}
	if v.Code != CodeInvalidContract && d.Namespace != "" {
		v.Namespace = artifact.Some(d.Namespace)
	}
	return v
}

// Value gives the denial as a service shows it to whoever made the call: the fix may
// hold arguments of it.
func (d *Denial) Value() artifact.Value {
	var f fields
	f.text("code", string(d.Code))
	f.text("message", d.Message)
	f.text("rule", d.Rule)
	f.text("kind", d.Kind.String())
	f.text("name", d.Name)
	f.text("namespace", d.Namespace)
	if len(d.Also) > 0 {
		also := make([]artifact.Value, len(d.Also))
		for i, r := range d.Also {
			also[i] = object(
				artifact.Member{Name: "code", Value: artifact.StringValue(string(r.Code))},
				artifact.Member{Name: "message", Value: artifact.StringValue(r.Message)},
				artifact.Member{Name: "rule", Value: artifact.StringValue(r.Rule)},
			)
		}
		f.put("also", artifact.ArrayValue(also...))
	}
	if d.Fix != nil {
		f.put("fix", object(
			artifact.Member{Name: "words", Value: artifact.StringValue(d.Fix.Words)},
			artifact.Member{Name: "yaml", Value: artifact.StringValue(d.Fix.YAML)},
		))
	}
	if d.Approval != nil {
		f.put("approval", d.Approval.value())
	}
	return f.object()
}

// joinWords gives "a", "a and b" or "a, b and c".
func joinWords(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
