package policy_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	json "github.com/go-json-experiment/json"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/schema/jsonschema"
)

// fixtures gives the folder of shared runtime fixtures, and skips the test where
// it is absent.
func fixtures(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("WRIT_FIXTURES")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no shared fixtures at %s (set WRIT_FIXTURES)", dir)
	}
	return filepath.Join(dir, "runtime-fixtures")
}

// readFixture decodes a file below differential.
func readFixture(t testing.TB, v any, path ...string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{fixtures(t), "differential"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// recordedError is how the records write an error.
type recordedError struct {
	Display string `json:"display"`
	Kind    string `json:"kind"`
}

// differs compares an error with a recorded one, by text.
func differs(err error, want *recordedError) bool {
	if want == nil {
		return err != nil
	}
	return err == nil || err.Error() != want.Display
}

func TestNativePacks(t *testing.T) {
	var file struct {
		Cases []struct {
			Case  string `json:"case"`
			Input struct {
				Text string `json:"text"`
				Hex  string `json:"hex"`
			} `json:"input"`
			Rust struct {
				Bytes   string            `json:"bytes"`
				Compile map[string]string `json:"compile"`
				Error   *recordedError    `json:"error"`
			} `json:"rust"`
		} `json:"cases"`
	}
	readFixture(t, &file, "packs", "native.json")
	accepted := 0
	for _, c := range file.Cases {
		data := []byte(c.Input.Text)
		if c.Input.Hex != "" {
			data, _ = hex.DecodeString(c.Input.Hex)
		}
		pack, err := policy.ParseNative(data)
		switch {
		case differs(err, c.Rust.Error):
			t.Errorf("%s: %v, want %+v", c.Case, err, c.Rust.Error)
		case err == nil:
			accepted++
			if got := string(pack.Canonical()); got != c.Rust.Bytes {
				t.Errorf("%s:\n%s\n%s", c.Case, got, c.Rust.Bytes)
			}
			if compiled := pack.Check() == nil; compiled != (c.Rust.Compile["Ok"] == "ok") {
				t.Errorf("%s: compiles: %v", c.Case, compiled)
			}
			general, err := policy.ReadPack(data, "f.knolo")
			if err != nil || general.Digest() != artifact.Sum([]byte(c.Rust.Bytes)) {
				t.Errorf("%s: ReadPack: %v", c.Case, err)
			}
		}
	}
	t.Logf("%d native packs: %d accepted with their bytes, %d refused with their text", len(file.Cases), accepted, len(file.Cases)-accepted)
}

// reference is how the records write an agent's reference.
type reference struct {
	Graph        string   `json:"graph"`
	Definition   string   `json:"definition"`
	Capabilities []string `json:"capabilities"`
	Namespaces   []string `json:"namespaces"`
}

func TestAgents(t *testing.T) {
	type record struct {
		Case  string `json:"case"`
		Input struct {
			Text      string     `json:"text"`
			Agent     *string    `json:"agent"`
			Reference *reference `json:"reference"`
		} `json:"input"`
		Rust map[string]any `json:"rust"`
	}
	var records struct {
		Cases []record `json:"cases"`
	}
	readFixture(t, &records, "packs", "agents.json")
	for _, c := range records.Cases {
		got, err := bindRecord(c.Input.Text, c.Input.Agent, c.Input.Reference)
		want, refused := c.Rust["error"].(map[string]any)
		switch {
		case refused && err == nil:
			t.Errorf("%s: accepted, want %v", c.Case, want)
		case refused && !sameRefusal(err, want["display"].(string)):
			t.Errorf("%s: %v, want %v", c.Case, err, want["display"])
		case !refused && err != nil:
			t.Errorf("%s: %v", c.Case, err)
		case !refused:
			compareBound(t, c.Case, got, c.Rust)
		}
	}
	t.Logf("%d bindings", len(records.Cases))
}

// sameRefusal compares texts. Where the reference quotes its JSON reader only the
// kind counts.
func sameRefusal(err error, display string) bool {
	if strings.Contains(display, " at line ") {
		return strings.HasPrefix(err.Error(), "PackLoad(")
	}
	return err.Error() == display
}

func bindRecord(text string, agent *string, r *reference) (policy.BoundV1, error) {
	var m policy.ManifestV1
	if r != nil {
		native, err := policy.ParseNative([]byte(text))
		if err != nil {
			return policy.BoundV1{}, err
		}
		m = native.Overlay(*agent, policy.AgentV1(*r))
	} else {
		var err error
		if m, err = policy.ParseManifest([]byte(text), "pack.json"); err != nil {
			return policy.BoundV1{}, err
		}
	}
	if agent == nil {
		return policy.BoundV1{Manifest: m}, nil
	}
	return m.Bind(*agent)
}

func compareBound(t *testing.T, name string, got policy.BoundV1, want map[string]any) {
	t.Helper()
	if bytes, ok := want["bytes"].(string); ok && string(got.Manifest.Canonical()) != bytes {
		t.Errorf("%s: manifest\n%s\n%s", name, got.Manifest.Canonical(), bytes)
	}
	if bytes, ok := want["declaration_bytes"].(string); ok && string(got.Manifest.DeclarationV1.Canonical()) != bytes {
		t.Errorf("%s: declaration\n%s\n%s", name, got.Manifest.DeclarationV1.Canonical(), bytes)
	}
	if id, ok := want["agent_id"].(string); ok {
		if got.AgentID != id || got.Agent.Graph != want["graph"] || got.Agent.Definition != want["definition"] ||
			fmt.Sprint(got.Agent.Capabilities) != fmt.Sprint(want["capabilities"]) || fmt.Sprint(got.Agent.Namespaces) != fmt.Sprint(want["namespaces"]) {
			t.Errorf("%s: bound %+v", name, got)
		}
	}
	if manifest, ok := want["manifest"]; ok {
		data, _ := json.Marshal(manifest)
		recorded, _ := artifact.ParseValue(data)
		own, _ := artifact.ParseValue(got.Manifest.Canonical())
		if !own.Equal(recorded) {
			t.Errorf("%s: manifest\n%v\n%v", name, own, recorded)
		}
	}
}

func TestKnownPackValues(t *testing.T) {
	var file struct {
		Packs []struct {
			Pack      string `json:"pack"`
			Canonical string `json:"canonical"`
			Digest    string `json:"sha256_of_canonical"`
		} `json:"packs"`
	}
	readFixture(t, &file, "hashing", "known-values.json")
	for _, c := range file.Packs {
		d, err := policy.ParseDeclaration([]byte(c.Canonical), "f")
		if err != nil || string(d.Canonical()) != c.Canonical || artifact.Sum(d.Canonical()).Hex() != c.Digest {
			t.Errorf("%s: %v, %s", c.Pack, err, d.Canonical())
		}
	}
	t.Logf("%d pack hashes", len(file.Packs))
}

func TestExamplePacks(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(fixtures(t), "examples", "packs", "*.knolo*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pack, err := policy.ReadPack(data, filepath.Base(path))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		p, _, err := policy.Compile(pack, policy.Options{})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		_, d := p.Authorize(policy.Call{Kind: policy.KindTool, Name: "export"}, nil)
		if d == nil || d.Code != policy.CodeToolNotAllowed || d.V1().Message == "" {
			t.Errorf("%s: a tool that nobody granted: %v", path, d)
		}
	}
	t.Logf("%d example packs load and compile", len(paths))
	if len(paths) != 11 {
		t.Errorf("%d example packs, want 11", len(paths))
	}
}

func TestContractSubset(t *testing.T) {
	var file struct {
		Cases []struct {
			Case  string `json:"case"`
			Input struct {
				Schema artifact.Value `json:"schema"`
				Value  artifact.Value `json:"value"`
			} `json:"input"`
			Rust bool `json:"rust"`
		} `json:"cases"`
	}
	readFixture(t, &file, "policy", "contract-subset.json")
	for _, c := range file.Cases {
		if got := policy.SatisfiesV1(c.Input.Schema, c.Input.Value); got != c.Rust {
			t.Errorf("%s: %v", c.Case, got)
		}
	}
	t.Logf("%d contract cases", len(file.Cases))
}

func TestHandoffs(t *testing.T) {
	var file struct {
		Cases []struct {
			Case  string `json:"case"`
			Input struct {
				Envelope artifact.Value `json:"envelope"`
				Parent   artifact.Value `json:"parent"`
				Pack     artifact.Value `json:"pack"`
			} `json:"input"`
			Rust struct {
				Error *recordedError `json:"error"`
			} `json:"rust"`
		} `json:"cases"`
	}
	readFixture(t, &file, "policy", "handoff.json")
	for _, c := range file.Cases {
		envelope, err1 := policy.ParseHandoff([]byte(c.Input.Envelope.String()), "f")
		parent, err2 := policy.ParseAuthority([]byte(c.Input.Parent.String()), "f")
		pack, err3 := policy.ParseAuthority([]byte(c.Input.Pack.String()), "f")
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Errorf("%s: %v", c.Case, err)
			continue
		}
		if err := envelope.Check(parent, pack); differs(err, c.Rust.Error) {
			t.Errorf("%s: %v, want %+v", c.Case, err, c.Rust.Error)
		}
	}
	t.Logf("%d handoffs", len(file.Cases))
}

func TestRedactions(t *testing.T) {
	var file struct {
		Cases []struct {
			Case  string `json:"case"`
			Input struct {
				Rules artifact.Value `json:"rules"`
				Value artifact.Value `json:"value"`
			} `json:"input"`
			Rust artifact.Value `json:"rust"`
		} `json:"cases"`
	}
	readFixture(t, &file, "policy", "redaction.json")
	for _, c := range file.Cases {
		rules, err := policy.ParseRedaction([]byte(c.Input.Rules.String()), "f")
		if got := rules.Apply(c.Input.Value); err != nil || !got.Equal(c.Rust) {
			t.Errorf("%s: %v, %v", c.Case, got, err)
		}
	}
	t.Logf("%d redactions", len(file.Cases))
}

func TestReplayRequests(t *testing.T) {
	var file struct {
		Cases []struct {
			Case  string `json:"case"`
			Input struct {
				Request artifact.Value `json:"request"`
				Actual  struct {
					Graph              string `json:"graph"`
					Pack               string `json:"pack"`
					Policy             string `json:"policy"`
					NodeImplementation string `json:"node_implementation"`
					Contract           string `json:"contract"`
				} `json:"actual"`
			} `json:"input"`
			Rust struct {
				Error *recordedError `json:"error"`
			} `json:"rust"`
		} `json:"cases"`
	}
	readFixture(t, &file, "policy", "replay.json")
	for _, c := range file.Cases {
		request, err := policy.ParseReplayRequest([]byte(c.Input.Request.String()), "f")
		if err != nil {
			t.Errorf("%s: %v", c.Case, err)
			continue
		}
		if err := request.Check(policy.ArtifactHashesV1(c.Input.Actual)); differs(err, c.Rust.Error) {
			t.Errorf("%s: %v, want %+v", c.Case, err, c.Rust.Error)
		}
	}
	t.Logf("%d replay requests", len(file.Cases))
}

func TestClaims(t *testing.T) {
	var file struct {
		Cases []struct {
			Case  string `json:"case"`
			Input struct {
				Proposal artifact.Value `json:"proposal"`
				Approval struct {
					Type       string `json:"type"`
					DecisionID string `json:"decision_id"`
					Reviewer   string `json:"reviewer"`
				} `json:"approval"`
			} `json:"input"`
			Rust struct {
				Commits int            `json:"commits"`
				Error   *recordedError `json:"error"`
			} `json:"rust"`
		} `json:"cases"`
	}
	readFixture(t, &file, "policy", "claims.json")
	for _, c := range file.Cases {
		if _, err := policy.ParseClaimProposal([]byte(c.Input.Proposal.String()), "f"); err != nil {
			t.Errorf("%s: %v", c.Case, err)
		}
		err := policy.ClaimApprovalV1(c.Input.Approval).Check()
		if differs(err, c.Rust.Error) || (err == nil) != (c.Rust.Commits == 1) {
			t.Errorf("%s: %v, want %+v", c.Case, err, c.Rust.Error)
		}
	}
	if err := (policy.ClaimApprovalV1{Type: "robot", DecisionID: "d", Reviewer: "r"}).Check(); err == nil {
		t.Error("an unknown type approves")
	}
	t.Logf("%d claim approvals", len(file.Cases))
}

func TestSuspensionTokens(t *testing.T) {
	var file struct {
		Cases []struct {
			Case  string `json:"case"`
			Input struct {
				Suspension artifact.Value `json:"suspension"`
			} `json:"input"`
			Rust struct {
				Canonical string `json:"canonical"`
				Token     string `json:"token"`
				Attempts  []struct {
					Attempt struct {
						Token      string         `json:"token"`
						NowMS      uint64         `json:"now_ms"`
						SchemaHash string         `json:"schema_hash"`
						Input      artifact.Value `json:"input"`
					} `json:"attempt"`
					Error *recordedError `json:"error"`
				} `json:"attempts"`
			} `json:"rust"`
		} `json:"cases"`
	}
	readFixture(t, &file, "hashing", "suspension-token.json")
	attempts := 0
	for _, c := range file.Cases {
		s, err := policy.ParseSuspension([]byte(c.Input.Suspension.String()), "f")
		if err != nil || string(s.Canonical()) != c.Rust.Canonical || s.Token() != c.Rust.Token {
			t.Errorf("%s: %v, %s, %s", c.Case, err, s.Canonical(), s.Token())
			continue
		}
		for _, a := range c.Rust.Attempts {
			attempts++
			token := strings.NewReplacer("$token", s.Token(), "$TOKEN", strings.ToUpper(s.Token())).Replace(a.Attempt.Token)
			if err := s.Resume(token, a.Attempt.NowMS, a.Attempt.SchemaHash, a.Attempt.Input); differs(err, a.Error) {
				t.Errorf("%s: %+v: %v, want %+v", c.Case, a.Attempt, err, a.Error)
			}
		}
	}
	t.Logf("%d tokens, %d attempts to resume", len(file.Cases), attempts)
}

// contracts are the version 1 documents that live in this package.
var contracts = map[string]func([]byte) ([]byte, error){
	"PolicyDenialV1":    roundTrip(policy.ParseDenial),
	"ToolCallV1":        roundTrip(policy.ParseToolCall),
	"ToolResultV1":      roundTrip(policy.ParseToolResult),
	"ToolDefinition":    roundTrip(policy.ParseToolDefinition),
	"ToolAuditEventV1":  roundTrip(policy.ParseToolAudit),
	"AuthorityV1":       roundTrip(policy.ParseAuthority),
	"ClaimProposalV1":   roundTrip(policy.ParseClaimProposal),
	"RedactionRulesV1":  roundTrip(policy.ParseRedaction),
	"ReplayRequestV1":   roundTrip(policy.ParseReplayRequest),
	"SuspensionV1":      roundTrip(policy.ParseSuspension),
	"HandoffEnvelopeV1": roundTrip(policy.ParseHandoff),
	"PackDeclarationV1": roundTrip(policy.ParseDeclaration),
	"PackManifestV1":    roundTrip(policy.ParseManifest),
	"RetrievalQueryV1":  roundTrip(policy.ParseRetrievalQuery),
	"RetrievalResultV1": roundTrip(policy.ParseRetrievalResult),
	"RouteDecisionV1":   roundTrip(policy.ParseRouteDecision),
	"ContractRefV1":     roundTrip(policy.ParseContractRef),
	"ControlRequestV1":  roundTrip(policy.ParseControlRequest),
}

func roundTrip[T interface{ Canonical() []byte }](parse func([]byte, string) (T, error)) func([]byte) ([]byte, error) {
	return func(data []byte) ([]byte, error) {
		v, err := parse(data, "f")
		if err != nil {
			return nil, err
		}
		return v.Canonical(), nil
	}
}

func TestDecoding(t *testing.T) {
	var file struct {
		Cases []struct {
			Case  string `json:"case"`
			Input struct {
				Type string `json:"type"`
				Text string `json:"text"`
			} `json:"input"`
			Rust struct {
				OK    bool   `json:"ok"`
				Bytes string `json:"bytes"`
			} `json:"rust"`
		} `json:"cases"`
	}
	readFixture(t, &file, "contracts", "decoding.json")
	// The one deliberate difference: B05 reads both spellings.
	both := []string{"AuthorityV1: typescript camel case"}
	mine, others := 0, 0
	for _, c := range file.Cases {
		read, ok := contracts[c.Input.Type]
		if !ok {
			others++
			continue
		}
		mine++
		got, err := read([]byte(c.Input.Text))
		if slices.Contains(both, c.Case) {
			if err != nil {
				t.Errorf("%s: %v", c.Case, err)
			}
			continue
		}
		if (err == nil) != c.Rust.OK || err == nil && string(got) != c.Rust.Bytes {
			t.Errorf("%s: %s, %v; want %v %s", c.Case, got, err, c.Rust.OK, c.Rust.Bytes)
		}
	}
	t.Logf("%d decoded as recorded, %d of them in the TypeScript spelling; %d belong to other packages", mine, len(both), others)
}

// Both spellings of a contract give one value.
func TestTypeScriptSpellings(t *testing.T) {
	for _, c := range []struct{ contract, native, typescript string }{
		{"AuthorityV1", `{"capabilities":["a"],"namespaces":[],"max_steps":1,"max_cost_micros":2}`,
			`{"capabilities":["a"],"namespaces":[],"maxSteps":1,"maxCostMicros":2}`},
		{"HandoffEnvelopeV1",
			`{"version":1,"destination":"d","state_projection":{"/a":"/b"},"authority_projection":{"capabilities":[],"namespaces":[],"max_steps":1,"max_cost_micros":2},"return_contract":"r"}`,
			`{"version":1,"destination":"d","stateProjection":{"/a":"/b"},"authorityProjection":{"capabilities":[],"namespaces":[],"maxSteps":1,"maxCostMicros":2},"returnContract":"r"}`},
		{"ReplayRequestV1",
			`{"version":1,"mode":"verify_only","artifacts":{"graph":"g","pack":"p","policy":"y","node_implementation":"n","contract":"c"},"live_effect_authorization":null}`,
			`{"version":1,"mode":"verify_only","artifacts":{"graph":"g","pack":"p","policy":"y","nodeImplementation":"n","contract":"c"}}`},
		{"SuspensionV1",
			`{"version":1,"execution_id":"e","reason":"r","requested_action":"a","review_context":{"b":1,"a":2},"expires_at_ms":5,"resume_schema_hash":"h","artifact_hashes":{"graph":"g","pack":"p","policy":"y","node_implementation":"n","contract":"c"},"nonce":"x"}`,
			`{"version":1,"executionId":"e","reason":"r","requestedAction":"a","reviewContext":{"a":2,"b":1},"expiresAtMs":5,"resumeSchemaHash":"h","artifactHashes":{"graph":"g","pack":"p","policy":"y","nodeImplementation":"n","contract":"c"},"nonce":"x","token":"t"}`},
	} {
		a, err1 := contracts[c.contract]([]byte(c.native))
		b, err2 := contracts[c.contract]([]byte(c.typescript))
		if err1 != nil || err2 != nil || string(a) != string(b) {
			t.Errorf("%s: %s %v, %s %v", c.contract, a, err1, b, err2)
		}
	}
}

// The published schemas and the example documents of the contracts.
func TestContractExamples(t *testing.T) {
	for _, c := range []struct{ schema, file, contract string }{
		{"tool-call-v1.schema.json", "tools/tool-call-v1.json", "ToolCallV1"},
		{"policy-denial-v1.schema.json", "policy/denied-v1.json", "PolicyDenialV1"},
		{"retrieval-result-v1.schema.json", "retrieval/result-v1.json", "RetrievalResultV1"},
		{"", "tools/tool-result-v1.json", "ToolResultV1"},
		{"", "policy/route-decision-v1.json", "RouteDecisionV1"},
	} {
		data, err := os.ReadFile(filepath.Join(fixtures(t), "contracts", "fixtures", filepath.FromSlash(c.file)))
		if err != nil {
			t.Fatal(err)
		}
		canonical, err := contracts[c.contract](data)
		if err != nil || string(canonical) != strings.TrimSpace(string(data)) {
			t.Errorf("%s: %s, %v", c.file, canonical, err)
		}
		if c.schema == "" {
			continue
		}
		source, err := os.ReadFile(filepath.Join(fixtures(t), "contracts", "schemas", c.schema))
		if err != nil {
			t.Fatal(err)
		}
		document := artifact.Value{}
		if document, err = artifact.ParseValue(source); err != nil {
			t.Fatal(err)
		}
		s, err := jsonschema.New().Compile(document)
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		value, _ := artifact.ParseValue(canonical)
		if v := s.Validate(value); v != nil {
			t.Errorf("%s: %v", c.file, v)
		}
		if s.Validate(value.With("version", artifact.IntValue(2))) == nil {
			t.Errorf("%s: another version passes", c.schema)
		}
	}
	t.Log("5 example documents, 3 published schemas")
}
