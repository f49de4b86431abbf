package policy

import (
	"math"

	"github.com/writ-dev/writ/artifact"
)

// UsageV1 is what a tool says it used.
type UsageV1 struct {
	Calls      uint64
	Units      uint64
	DurationMS uint64 // milliseconds
}

// ToolDefinitionV1 describes a registered tool.
type ToolDefinitionV1 struct {
	Version          uint16
	ID               string
	Namespace        string
	Capability       string
	ArgumentContract artifact.Value
	ResultContract   artifact.Value
}

// ToolCallV1 asks for one use of a tool.
type ToolCallV1 struct {
	Version   uint16
	CallID    string
	ToolID    string
	Arguments artifact.Value
}

// ToolResultV1 answers a call.
type ToolResultV1 struct {
	Version uint16
	CallID  string
	ToolID  string
	Value   artifact.Value
	Usage   UsageV1
}

// ToolAuditV1 is the one audit event of a call.
type ToolAuditV1 struct {
	Version  uint16
	Sequence uint64 // per gate, from 1
	CallID   string
	ToolID   string
	Executed bool // else denied, which is also said of a tool that failed
}

// DenialV1 is a refusal in the version 1 form.
type DenialV1 struct {
	Version   uint16
	Code      Code
	ToolID    artifact.Optional[string]
	Namespace artifact.Optional[string]
	Message   string
}

// Canonical gives the denial's canonical bytes.
func (d DenialV1) Canonical() []byte {
	return object(
		artifact.Member{Name: "version", Value: artifact.UintValue(uint64(d.Version))},
		artifact.Member{Name: "code", Value: artifact.StringValue(string(d.Code))},
		artifact.Member{Name: "tool_id", Value: optionalString(d.ToolID)},
		artifact.Member{Name: "namespace", Value: optionalString(d.Namespace)},
		artifact.Member{Name: "message", Value: artifact.StringValue(d.Message)},
	).AppendCompact(nil)
}

func optionalString(s artifact.Optional[string]) artifact.Value {
	if !s.Set {
		return artifact.Value{}
	}
	return artifact.StringValue(s.Value)
}

// LedgerV1 is what tools have used under a version 1 pack. The zero value is
// empty.
type LedgerV1 struct{ Used UsageV1 }

// ToolV1 performs a call. Its error is passed on unchanged.
type ToolV1 func(ToolCallV1) (artifact.Value, UsageV1, error)

// ToolGateV1 is the version 1 tool registry with its gate, exact in order and
// effect: among them that an overrun is noticed after the tool has run, and that
// a repeated call runs again. [Policy.Authorize] does neither.
type ToolGateV1 struct {
	tools    map[string]registeredV1
	sequence uint64
}

type registeredV1 struct {
	definition ToolDefinitionV1
	run        ToolV1
}

// Register adds a tool. A tool of the same id is replaced, and there is an error.
func (g *ToolGateV1) Register(d ToolDefinitionV1, run ToolV1) error {
	_, twice := g.tools[d.ID]
	if g.tools == nil {
		g.tools = map[string]registeredV1{}
	}
	g.tools[d.ID] = registeredV1{d, run}
	if twice {
		return &V1Error{KindHost, "duplicate tool"}
	}
	return nil
}

// Call checks, runs and charges one call. There is always an audit event, and
// exactly one of result, denial and error.
func (g *ToolGateV1) Call(pack DeclarationV1, ledger *LedgerV1, call ToolCallV1) (*ToolResultV1, *DenialV1, ToolAuditV1, error) {
	result, denial, err := g.call(pack, ledger, call)
	g.sequence++
	audit := ToolAuditV1{Version: 1, Sequence: g.sequence, CallID: call.CallID, ToolID: call.ToolID, Executed: result != nil}
	return result, denial, audit, err
}

func (g *ToolGateV1) call(pack DeclarationV1, ledger *LedgerV1, call ToolCallV1) (*ToolResultV1, *DenialV1, error) {
	if call.Version != 1 || call.CallID == "" || call.Arguments.Kind() != artifact.KindObject {
		return nil, &DenialV1{Version: 1, Code: CodeInvalidContract, Message: "invalid ToolCallV1"}, nil
	}
	tool, ok := g.tools[call.ToolID]
	if !ok {
		return nil, &DenialV1{Version: 1, Code: CodeToolNotFound, ToolID: artifact.Some(call.ToolID), Message: "tool is not registered"}, nil
	}
	deny := func(code Code, message string) (*ToolResultV1, *DenialV1, error) {
		return nil, &DenialV1{1, code, artifact.Some(call.ToolID), artifact.Some(tool.definition.Namespace), message}, nil
	}
	if code, message := pack.checkCall(tool.definition, call.Arguments); code != "" {
		return deny(code, message)
	}
	if ledger.Used.Calls >= pack.Budget.MaxCalls {
		return deny(CodeBudgetExhausted, "call budget exhausted")
	}
	ledger.Used.Calls++
	value, usage, err := tool.run(call)
	if err != nil {
		return nil, nil, err
	}
	ledger.Used.Units = addSaturating(ledger.Used.Units, usage.Units)
	ledger.Used.DurationMS = addSaturating(ledger.Used.DurationMS, usage.DurationMS)
	switch {
	case ledger.Used.Units > pack.Budget.MaxUnits || ledger.Used.DurationMS > pack.Budget.MaxDurationMS:
		return deny(CodeBudgetExhausted, "execution budget exhausted")
	case !SatisfiesV1(tool.definition.ResultContract, value):
		return deny(CodeResultInvalid, "tool result violates contract")
	}
	return &ToolResultV1{1, call.CallID, call.ToolID, value, usage}, nil, nil
}

// checkCall is what a declaration says before the budget is asked.
func (d DeclarationV1) checkCall(tool ToolDefinitionV1, arguments artifact.Value) (Code, string) {
	_, bound := d.CapabilityBindings[tool.Capability]
	constraint, constrained := d.constraint(tool.ID)
	switch {
	case !contains(d.Tools, tool.ID):
		return CodeToolNotAllowed, "tool is not granted by pack"
	case !contains(d.Namespaces, tool.Namespace):
		return CodeNamespaceDenied, "namespace is not granted by pack"
	case !bound:
		return CodeCapabilityUnavailable, "capability is not bound"
	case !SatisfiesV1(tool.ArgumentContract, arguments), constrained && !SatisfiesV1(constraint, arguments):
		return CodeArgumentDenied, "arguments violate policy"
	}
	return "", ""
}

func addSaturating(a, b uint64) uint64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return math.MaxUint64
}
