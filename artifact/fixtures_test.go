package artifact

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"math"
)

// fixture gives a shared fixture file. It skips the test where there is no
// fixture folder, and fails it where only the file is missing.
func fixture(t *testing.T, path ...string) []byte {
	t.Helper()
	root := os.Getenv("WRIT_FIXTURES")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	if _, err := os.Stat(root); err != nil {
		t.Skipf("no fixtures at %s; set WRIT_FIXTURES to run this test", root)
	}
	data, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func runtimeFixture(t *testing.T, v any, path ...string) {
	t.Helper()
	data := fixture(t, append([]string{"runtime-fixtures", "differential"}, path...)...)
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

func TestNumberFixtures(t *testing.T) {
	scanner := bufio.NewScanner(bytes.NewReader(fixture(t, "vectors", "differential", "numbers.jsonl")))
	lines := 0
	for scanner.Scan() {
		lines++
		var record struct {
			Bits   string `json:"bits"`
			String string `json:"string"`
			JSON   string `json:"json"`
			Money  string `json:"money"`
		}
		if err := json.Unmarshal(scanner.Bytes(), &record); err != nil {
			t.Fatal(err)
		}
		bits, err := strconv.ParseUint(record.Bits, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		x := math.Float64frombits(bits)
		if got := FormatNumber(x); got != record.String {
			t.Errorf("FormatNumber(%s) = %s, want %s", record.Bits, got, record.String)
		}
		if got := FormatNumber(RoundMicros(x)); got != record.Money {
			t.Errorf("RoundMicros(%s) = %s, want %s", record.Bits, got, record.Money)
		}
		for name, v := range map[string]any{"float64": x, "Number": Number(x), "Optional": Some(x)} {
			if got, err := EncodeCompact(v); err != nil || string(got) != record.JSON {
				t.Errorf("%s of %s is %s, %v; want %s", name, record.Bits, got, err, record.JSON)
			}
		}
	}
	t.Logf("numbers.jsonl: %d records ran (string, json and money), 0 deviations", lines)
}

// The reference's reader does not round long decimals correctly: it reads
// 9007199254740993.0 as 9007199254740994, and would read what it wrote as yet
// another number. Ours rounds correctly, so that a canonical form is stable.
var runtimeNumberDeviations = map[string]string{"9007199254740993.0": "9007199254740992.0"}

func TestHashingNumbers(t *testing.T) {
	var file struct {
		Cases []struct {
			Input      string `json:"input"`
			Rust       string `json:"rust"`
			JavaScript string `json:"javascript"`
		} `json:"cases"`
	}
	runtimeFixture(t, &file, "hashing", "numbers.json")
	deviations := 0
	for _, c := range file.Cases {
		v, err := ParseValue([]byte(c.Input))
		if err != nil {
			t.Fatal(err)
		}
		want := c.Rust
		if ours, ok := runtimeNumberDeviations[c.Input]; ok {
			deviations++
			if want == ours {
				t.Errorf("%s matches the reference after all; it is no deviation", c.Input)
			}
			want = ours
		}
		if got, err := CanonicalRuntime(v); err != nil || string(got) != want {
			t.Errorf("CanonicalRuntime(%s) = %s, %v; want %s", c.Input, got, err, want)
		}
		if got, err := CanonicalKCP(v); err != nil || string(got) != c.JavaScript {
			t.Errorf("CanonicalKCP(%s) = %s, %v; want %s", c.Input, got, err, c.JavaScript)
		}
	}
	if deviations != len(runtimeNumberDeviations) {
		t.Errorf("%d deviations, want %d", deviations, len(runtimeNumberDeviations))
	}
	t.Logf("hashing/numbers.json: %d records ran, %d matched, %d deviated by design", len(file.Cases), len(file.Cases)-deviations, deviations)
}

// The canonical texts are typed documents in declaration order; reading and
// writing them must not change a byte, and their digests are known.
func TestKnownHashes(t *testing.T) {
	check := func(canonical, hash string) {
		t.Helper()
		v, err := ParseValue([]byte(canonical))
		if err != nil {
			t.Fatal(err)
		}
		if got := v.String(); got != canonical {
			t.Errorf("text changed\n got %s\nwant %s", got, canonical)
		}
		if got := Sum([]byte(v.String())).Hex(); got != hash {
			t.Errorf("hash %s, want %s", got, hash)
		}
	}
	var known struct {
		Graphs []struct {
			Canonical string `json:"canonical"`
			Hash      string `json:"hash"`
		} `json:"graphs"`
	}
	runtimeFixture(t, &known, "hashing", "known-values.json")
	for _, g := range known.Graphs {
		check(g.Canonical, g.Hash)
	}
	var graphs struct {
		Cases []struct {
			Rust struct {
				Canonical string `json:"canonical"`
				Hash      string `json:"hash"`
			} `json:"rust"`
			TypeScript struct {
				Serialised string `json:"serialised"`
				Hash       string `json:"hash"`
			} `json:"typescript"`
		} `json:"cases"`
	}
	runtimeFixture(t, &graphs, "hashing", "graph-hash.json")
	for _, c := range graphs.Cases {
		if c.Rust.Canonical != "" {
			check(c.Rust.Canonical, c.Rust.Hash)
		}
		if c.TypeScript.Serialised != "" {
			check(c.TypeScript.Serialised, c.TypeScript.Hash)
		}
	}
	t.Logf("hashing/known-values.json: %d graphs, hashing/graph-hash.json: %d records ran, 0 deviations", len(known.Graphs), len(graphs.Cases))
}

// A resume token is the digest of the suspension with its review context, a free
// value, in the runtime's canonical form.
func TestSuspensionTokens(t *testing.T) {
	var file struct {
		Cases []struct {
			Case  string `json:"case"`
			Input struct {
				Suspension Value `json:"suspension"`
			} `json:"input"`
			Rust struct {
				Canonical string `json:"canonical"`
				Token     string `json:"token"`
			} `json:"rust"`
		} `json:"cases"`
	}
	runtimeFixture(t, &file, "hashing", "suspension-token.json")
	for _, c := range file.Cases {
		context, _ := c.Input.Suspension.Get("review_context")
		canonical, err := CanonicalRuntime(context)
		if err != nil {
			t.Fatal(err)
		}
		sorted, err := ParseValue(canonical)
		if err != nil {
			t.Fatal(err)
		}
		got := c.Input.Suspension.With("review_context", sorted).String()
		if got != c.Rust.Canonical || Sum([]byte(got)).Hex() != c.Rust.Token {
			t.Errorf("%s:\n got %s\nwant %s", c.Case, got, c.Rust.Canonical)
		}
	}
	t.Logf("hashing/suspension-token.json: %d tokens ran, 0 deviations", len(file.Cases))
}

// Duplicate names are refused, where the reference keeps the last: a document
// that two readers understand differently has no business in a record.
var decodingDeviations = map[string]bool{`{"b":1,"a":2,"a":3}`: true}

func TestDecodingFixtures(t *testing.T) {
	var file struct {
		Cases []struct {
			Case  string `json:"case"`
			Input struct {
				Type string `json:"type"`
				Text string `json:"text"`
			} `json:"input"`
			Rust struct {
				Bytes string `json:"bytes"`
				OK    bool   `json:"ok"`
			} `json:"rust"`
		} `json:"cases"`
	}
	runtimeFixture(t, &file, "contracts", "decoding.json")
	ran, deviations := 0, 0
	for _, c := range file.Cases {
		if c.Input.Type != "Value" {
			continue // typed documents; their packages test them
		}
		ran++
		var got []byte
		v, err := ParseValue([]byte(c.Input.Text))
		if err == nil {
			got, err = CanonicalRuntime(v)
		}
		if decodingDeviations[c.Input.Text] {
			if deviations++; err == nil {
				t.Errorf("%s: read, want a refusal", c.Case)
			}
			continue
		}
		if (err == nil) != c.Rust.OK || err == nil && string(got) != c.Rust.Bytes {
			t.Errorf("%.60s: got %.80s, %v; want %.80s, ok %v", c.Case, got, err, c.Rust.Bytes, c.Rust.OK)
		}
	}
	if ran == 0 || deviations != len(decodingDeviations) {
		t.Errorf("%d free values, %d deviations; want some, and %d", ran, deviations, len(decodingDeviations))
	}
	t.Logf("contracts/decoding.json: %d free values ran, %d matched, %d deviated by design; %d typed records are others'",
		ran, ran-deviations, deviations, len(file.Cases)-ran)
}

// Every JSON artifact that the reference wrote comes back byte for byte.
func TestArtifactTextsComeBack(t *testing.T) {
	for _, name := range []string{"vector-json.jsonl", "exact-json.jsonl", "edge-plans.jsonl"} {
		scanner := bufio.NewScanner(bytes.NewReader(fixture(t, "vectors", "differential", name)))
		scanner.Buffer(nil, 16<<20)
		texts := 0
		for scanner.Scan() {
			var record struct {
				Plan  string `json:"planJson"`
				Trace string `json:"traceJson"`
			}
			if err := json.Unmarshal(scanner.Bytes(), &record, jsontext.AllowInvalidUTF8(true)); err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{record.Plan, record.Trace} {
				if text == "" {
					continue
				}
				texts++
				v, err := ParseValue([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				if got, err := Encode(v); err != nil || string(got) != text {
					t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, text)
				}
				compact, err := CanonicalKCP(v)
				if err != nil || string(compact) != v.String() {
					t.Errorf("%s: the canonical form differs from the compact text", name)
				}
			}
		}
		t.Logf("%s: %d texts came back", name, texts)
	}
}
