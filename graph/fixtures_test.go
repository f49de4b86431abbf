package graph

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
)

// fixture reads a shared fixture into v. It skips the test where there is no
// fixture folder, and fails it where only the file is missing.
func fixture(t *testing.T, v any, path ...string) {
	t.Helper()
	root := os.Getenv("WRIT_FIXTURES")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	if _, err := os.Stat(root); err != nil {
		t.Skipf("no fixtures at %s; set WRIT_FIXTURES to run this test", root)
	}
	data, err := os.ReadFile(filepath.Join(append([]string{root, "runtime-fixtures"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// nativeAnswer is what the reference core answered.
type nativeAnswer struct {
	OK          bool
	Canonical   string
	Hash        string
	DecodeError string `json:"decode_error"`
	Error       struct{ Display string }
}

// TestGraphFixtures holds decoding, compilation and hashing of version 1 graphs
// against the reference core.
func TestGraphFixtures(t *testing.T) {
	accepted, refused, undecoded := 0, 0, 0
	for _, path := range [][]string{{"graphs", "validation.json"}, {"hashing", "graph-hash.json"}} {
		var file struct {
			Cases []struct {
				Case  string
				Input struct{ Text string }
				Rust  nativeAnswer
			}
		}
		fixture(t, &file, append([]string{"differential"}, path...)...)
		for _, c := range file.Cases {
			def, err := DecodeV1([]byte(c.Input.Text), "graph.json")
			if c.Rust.DecodeError != "" {
				undecoded++
				if err == nil {
					t.Errorf("%s: decoded, want %s", c.Case, c.Rust.DecodeError)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", c.Case, err)
				continue
			}
			err = def.Check()
			if !c.Rust.OK {
				refused++
				if err == nil || err.Error() != c.Rust.Error.Display {
					t.Errorf("%s: %v, want %s", c.Case, err, c.Rust.Error.Display)
				}
				continue
			}
			accepted++
			if err != nil || string(def.Encode()) != c.Rust.Canonical || def.Digest().Hex() != c.Rust.Hash {
				t.Errorf("%s: error %v, canonical %s, hash %s; want %s, %s",
					c.Case, err, def.Encode(), def.Digest().Hex(), c.Rust.Canonical, c.Rust.Hash)
			}
			compiled, _, err := Compile([]byte(c.Input.Text), "graph.json", Options{})
			if err != nil || compiled.Digest.Hex() != c.Rust.Hash {
				t.Errorf("%s: Compile differs: %v", c.Case, err)
			}
		}
	}
	t.Logf("%d graphs accepted with their hash, %d refused with their text, %d not decoded", accepted, refused, undecoded)
}

// TestRunDocuments reads the graphs, schemas, states and checkpoints of the
// recorded runs; the runs themselves belong to the engine.
func TestRunDocuments(t *testing.T) {
	var index []struct{ Name string }
	fixture(t, &index, "differential", "runs", "index.json")
	graphs := 0
	for _, f := range index {
		var run struct {
			Graph, Schema, Initial, Checkpoint json.RawMessage
			Rust                               struct {
				Refused struct{ Display string } `json:"compile_error"`
			}
		}
		fixture(t, &run, "differential", "runs", f.Name+".json")
		schema, err := DecodeSchema(run.Schema, f.Name)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		var refusal *InvalidGraphError
		_, _, err = Compile(run.Graph, f.Name, Options{Schema: schema})
		if (err != nil || run.Rust.Refused.Display != "") && (!errors.As(err, &refusal) || err.Error() != run.Rust.Refused.Display) {
			t.Errorf("%s: %v", f.Name, err)
		}
		if len(run.Initial) > 0 && string(run.Initial) != "null" {
			if _, err := DecodeSnapshot(run.Initial, f.Name); err != nil {
				t.Errorf("%s: %v", f.Name, err)
			}
		}
		if len(run.Checkpoint) > 0 && string(run.Checkpoint) != "null" {
			if _, err := DecodeCheckpointV1(run.Checkpoint, f.Name); err != nil {
				t.Errorf("%s: %v", f.Name, err)
			}
		}
		graphs++
	}
	if graphs == 0 {
		t.Error("no recorded run was found")
	}
	t.Logf("the documents of %d recorded runs are read", graphs)
}

func TestKnownGraphHashes(t *testing.T) {
	var file struct {
		Graphs          []struct{ Name, Hash, Canonical string }
		Implementations []any
		Packs           []any
	}
	fixture(t, &file, "differential", "hashing", "known-values.json")
	for _, c := range file.Graphs {
		def, err := DecodeV1([]byte(c.Canonical), "graph.json")
		if err != nil || def.Check() != nil || string(def.Encode()) != c.Canonical || def.Digest().Hex() != c.Hash {
			t.Errorf("%s: error %v, hash differs", c.Name, err)
		}
	}
	t.Logf("%d graph hashes agree; %d implementation and %d pack hashes belong to other packages",
		len(file.Graphs), len(file.Implementations), len(file.Packs))
}

// TestDecodingFixtures reads and writes the contracts that live here. The others
// are listed with the package that answers them.
func TestDecodingFixtures(t *testing.T) {
	var file struct {
		Cases []struct {
			Case  string
			Input struct{ Type, Text string }
			Rust  struct {
				OK    bool
				Bytes string
			}
		}
	}
	fixture(t, &file, "differential", "contracts", "decoding.json")
	others := map[string]string{
		"Value": "artifact", "ExecutionEventV1": "event", "EventKindV1": "event", "ReplayRequestV1": "event",
		"PolicyDenialV1": "policy", "ToolCallV1": "policy", "ToolResultV1": "policy", "ToolDefinition": "policy",
		"ToolAuditEventV1": "policy", "RetrievalResultV1": "policy", "RetrievalQueryV1": "policy", "AuthorityV1": "policy",
		"ClaimProposalV1": "policy", "RouteDecisionV1": "policy", "RedactionRulesV1": "policy", "ContractRefV1": "policy",
		"ControlRequestV1": "policy",
	}
	mine, theirs := 0, map[string]int{}
	for _, c := range file.Cases {
		got, err, ok := roundTrip(c.Input.Type, []byte(c.Input.Text))
		if !ok {
			owner := others[c.Input.Type]
			if owner == "" {
				t.Errorf("%s: nobody answers for %s", c.Case, c.Input.Type)
			}
			theirs[owner]++
			continue
		}
		mine++
		if (err == nil) != c.Rust.OK || err == nil && string(got) != c.Rust.Bytes {
			t.Errorf("%s: got %s, error %v; want ok %v, %s", c.Case, got, err, c.Rust.OK, c.Rust.Bytes)
		}
	}
	t.Logf("%d contracts agree; others answer for %v", mine, theirs)
}

// roundTrip decodes and encodes a document of a contract that lives here.
func roundTrip(contract string, data []byte) (out []byte, err error, mine bool) {
	switch contract {
	case "StatePatch":
		v, err := DecodePatch(data, "f")
		if err != nil {
			return nil, err, true
		}
		return v.Encode(), nil, true
	case "StateSnapshot":
		v, err := DecodeSnapshot(data, "f")
		if err != nil {
			return nil, err, true
		}
		return v.Encode(), nil, true
	case "StateSchemaV1":
		v, err := DecodeSchema(data, "f")
		if err != nil {
			return nil, err, true
		}
		return v.Encode(), nil, true
	case "CheckpointV1":
		v, err := DecodeCheckpointV1(data, "f")
		if err != nil {
			return nil, err, true
		}
		return v.Encode(), nil, true
	case "NodeOutcomeV1":
		v, err := DecodeOutcome(data, "f")
		if err != nil {
			return nil, err, true
		}
		out, err = v.Encode()
		return out, err, true
	case "NodeExecutionV1":
		v, err := DecodeNodeResult(data, "f")
		if err != nil {
			return nil, err, true
		}
		out, err = v.Encode()
		return out, err, true
	}
	return nil, nil, false
}

func TestPatchFixtures(t *testing.T) {
	var file struct {
		Cases []struct {
			Case  string
			Input struct {
				Schema, Snapshot, Patch, Provenance json.RawMessage
				Writes                              []string
			}
			Rust struct {
				OK       bool
				Snapshot json.RawMessage
				Error    struct{ Display string }
			}
		}
	}
	fixture(t, &file, "differential", "contracts", "state-patch.json")
	for _, c := range file.Cases {
		schema, err := DecodeSchema(c.Input.Schema, "schema")
		if err != nil {
			t.Fatal(c.Case, err)
		}
		before, err := DecodeSnapshot(c.Input.Snapshot, "snapshot")
		if err != nil {
			t.Fatal(c.Case, err)
		}
		patch, err := DecodePatch(c.Input.Patch, "patch")
		if err != nil {
			t.Fatal(c.Case, err)
		}
		var by struct {
			ExecutionID   string `json:"execution_id"`
			NodeID        string `json:"node_id"`
			EventSequence uint64 `json:"event_sequence"`
		}
		if err := json.Unmarshal(c.Input.Provenance, &by); err != nil {
			t.Fatal(c.Case, err)
		}
		text := string(before.Encode())
		after, err := Reduce(*before, *patch, c.Input.Writes, schema, Provenance(by))
		if string(before.Encode()) != text {
			t.Errorf("%s: the state was changed", c.Case)
		}
		if !c.Rust.OK {
			if err == nil || err.Error() != c.Rust.Error.Display {
				t.Errorf("%s: error %v, want %s", c.Case, err, c.Rust.Error.Display)
			}
			continue
		}
		want, wantErr := DecodeSnapshot(c.Rust.Snapshot, "want")
		if err != nil || wantErr != nil || string(after.Encode()) != string(want.Encode()) {
			t.Errorf("%s: error %v, got %s, want %s", c.Case, err, after.Encode(), c.Rust.Snapshot)
		}
	}
	t.Logf("%d patches agree", len(file.Cases))
}

func TestSchemaFixtures(t *testing.T) {
	var file struct {
		Cases []struct {
			Case  string
			Input struct{ Schema, Value json.RawMessage }
			Rust  struct {
				OK    bool
				Error struct{ Display string }
			}
		}
	}
	fixture(t, &file, "differential", "contracts", "state-schema.json")
	for _, c := range file.Cases {
		schema, err := DecodeSchema(c.Input.Schema, "schema")
		if err != nil {
			t.Fatal(c.Case, err)
		}
		v, err := artifact.ParseValue(c.Input.Value)
		if err != nil {
			t.Fatal(c.Case, err)
		}
		err = schema.Validate(v)
		if (err == nil) != c.Rust.OK || err != nil && err.Error() != c.Rust.Error.Display {
			t.Errorf("%s: error %v, want %s", c.Case, err, c.Rust.Error.Display)
		}
	}
	t.Logf("%d schema checks agree", len(file.Cases))
}

// TestInspectFixtures compares answers byte for byte, except that the wording of
// a text that cannot be decoded is our own.
func TestInspectFixtures(t *testing.T) {
	var file struct {
		Cases []struct {
			Case  string
			Input struct{ Text string }
			Rust  struct{ Response string }
		}
	}
	fixture(t, &file, "differential", "contracts", "wasm-protocol.json")
	ownWords := map[string]bool{"unknown envelope field": true, "missing graph": true, "not json": true, "empty": true}
	exact := 0
	for _, c := range file.Cases {
		got := string(Inspect([]byte(c.Input.Text)))
		if ownWords[c.Case] {
			if got == c.Rust.Response || !strings.HasPrefix(got, `[{"type":"error","failure":{"type":"unsupported","message":"request:`) {
				t.Errorf("%s: got %s", c.Case, got)
			}
			continue
		}
		exact++
		if got != c.Rust.Response {
			t.Errorf("%s: got %s, want %s", c.Case, got, c.Rust.Response)
		}
	}
	t.Logf("%d answers agree, %d decode errors are in our own words", exact, len(file.Cases)-exact)
}
