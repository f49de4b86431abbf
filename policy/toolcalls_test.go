package policy_test

import (
	"fmt"
	"testing"

	json "github.com/go-json-experiment/json"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/policy"
)

// toolRecord is one recorded use of the version 1 tool gate.
type toolRecord struct {
	Case  string `json:"case"`
	Input struct {
		Pack  artifact.Value `json:"pack"`
		Tools []struct {
			Definition artifact.Value `json:"definition"`
			Results    []toolAnswer   `json:"results"`
		} `json:"tools"`
		Calls []artifact.Value `json:"calls"`
	} `json:"input"`
	Rust struct {
		CompileError string           `json:"compile_error"`
		Audit        []artifact.Value `json:"audit"`
		Ledger       string           `json:"ledger"`
		Outcomes     []struct {
			Result artifact.Value `json:"result"`
			Denied artifact.Value `json:"denied"`
			Error  *recordedError `json:"error"`
		} `json:"outcomes"`
		Register []artifact.Value `json:"register"`
	} `json:"rust"`
}

type toolAnswer struct {
	Value artifact.Value `json:"value"`
	Usage struct {
		Calls    uint64 `json:"calls"`
		Units    uint64 `json:"units"`
		Duration uint64 `json:"duration_ms"`
	} `json:"usage"`
	HostError string `json:"host_error"`
}

func TestToolCalls(t *testing.T) {
	var file struct {
		Cases []toolRecord `json:"cases"`
	}
	readFixture(t, &file, "policy", "tool-calls.json")
	calls := 0
	for _, c := range file.Cases {
		t.Run(c.Case, func(t *testing.T) { calls += replayTools(t, c) })
	}
	t.Logf("%d scenarios, %d calls", len(file.Cases), calls)
}

func replayTools(t *testing.T, c toolRecord) (calls int) {
	pack, err := policy.ParseDeclaration([]byte(c.Input.Pack.String()), "pack")
	if err != nil {
		t.Fatal(err)
	}
	if err := pack.Check(); c.Rust.CompileError != "" || err != nil {
		want := fmt.Sprintf("PackLoad(%q)", c.Rust.CompileError)
		if err == nil || err.Error() != want {
			t.Errorf("compiles with %v, want %s", err, want)
		}
		return 0
	}
	gate := registerTools(t, c)
	var ledger policy.LedgerV1
	for i, text := range c.Input.Calls {
		call, err := policy.ParseToolCall([]byte(text.String()), "call")
		if err != nil {
			t.Fatal(err)
		}
		result, denial, audit, err := gate.Call(pack, &ledger, call)
		want := c.Rust.Outcomes[i]
		if differs(err, want.Error) {
			t.Errorf("call %d: %v, want %+v", i, err, want.Error)
		}
		same(t, fmt.Sprintf("audit %d", i), audit.Canonical(), c.Rust.Audit[i])
		if result != nil {
			same(t, fmt.Sprintf("result %d", i), result.Canonical(), want.Result)
		}
		if denial != nil {
			same(t, fmt.Sprintf("denial %d", i), denial.Canonical(), want.Denied)
		}
		if (result != nil) == want.Result.IsNull() || (denial != nil) == want.Denied.IsNull() {
			t.Errorf("call %d: result %v, denial %v, want %+v", i, result, denial, want)
		}
	}
	used := fmt.Sprintf("BudgetLedger { used: ResourceUsageV1 { calls: %d, units: %d, duration_ms: %d } }", ledger.Used.Calls, ledger.Used.Units, ledger.Used.DurationMS)
	if used != c.Rust.Ledger {
		t.Errorf("ledger %s, want %s", used, c.Rust.Ledger)
	}
	return len(c.Input.Calls)
}

func same(t *testing.T, what string, got []byte, want artifact.Value) {
	t.Helper()
	own, err := artifact.ParseValue(got)
	if err != nil || !own.Equal(want) {
		t.Errorf("%s: %s, want %v", what, got, want)
	}
}

func registerTools(t *testing.T, c toolRecord) *policy.ToolGateV1 {
	gate := &policy.ToolGateV1{}
	for i, tool := range c.Input.Tools {
		definition, err := policy.ParseToolDefinition([]byte(tool.Definition.String()), "tool")
		if err != nil {
			t.Fatal(err)
		}
		next := 0
		err = gate.Register(definition, func(policy.ToolCallV1) (artifact.Value, policy.UsageV1, error) {
			answer := tool.Results[min(next, len(tool.Results)-1)] // the last one repeats
			next++
			if answer.HostError != "" {
				return artifact.Value{}, policy.UsageV1{}, &policy.V1Error{Kind: policy.KindHost, Text: answer.HostError}
			}
			return answer.Value, policy.UsageV1{Calls: answer.Usage.Calls, Units: answer.Usage.Units, DurationMS: answer.Usage.Duration}, nil
		})
		var want *recordedError
		if recorded := c.Rust.Register[i]; recorded.Kind() == artifact.KindObject {
			want = &recordedError{}
			if err := json.Unmarshal([]byte(recorded.String()), want); err != nil {
				t.Fatal(err)
			}
		}
		if differs(err, want) {
			t.Errorf("register %d: %v, want %+v", i, err, want)
		}
	}
	return gate
}
