package manifests

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestSameSeedSameBytes(t *testing.T) {
	for _, units := range []int{0, 1, 10, 1000} {
		if !bytes.Equal(YAML(units, 7), YAML(units, 7)) {
			t.Errorf("%d units: two runs with one seed differ", units)
		}
	}
	if bytes.Equal(YAML(10, 1), YAML(10, 2)) {
		t.Error("two seeds give the same bytes")
	}
}

// TestBytesArePinned fails when the generator changes: numbers measured before
// such a change no longer compare. Then replace the digest, and say so where
// the numbers are published.
func TestBytesArePinned(t *testing.T) {
	const want = "1360f66ba3f17a20b3c0567e60648db6b02ca452f43a552bd05755596297bfe9"
	sum := sha256.Sum256(YAML(1000, 1))
	if got := hex.EncodeToString(sum[:]); got != want {
		t.Errorf("digest of 1000 units is %s, want %s", got, want)
	}
}

func TestSizeOfAUnit(t *testing.T) {
	const units = 10_000
	if perUnit := len(YAML(units, 1)) / units; perUnit < 270 || perUnit > 290 {
		t.Errorf("a unit takes %d bytes, want about 280", perUnit)
	}
}

// TestUnits reads manifests with the library that writ falls back to.
func TestUnits(t *testing.T) {
	for _, units := range []int{0, 1, 10, 2000} {
		seen := map[string]bool{}
		for _, unit := range readUnits(t, YAML(units, 3)) {
			seen[unit["id"]] = true
			for _, key := range []string{"id", "path", "intent"} {
				if unit[key] == "" {
					t.Fatalf("%d units: one has no %s: %v", units, key, unit)
				}
			}
		}
		if len(seen) != units {
			t.Errorf("%d units have %d distinct ids", units, len(seen))
		}
	}
}

// TestEveryFeature makes sure that a manifest of some size has all that the
// generator can write.
func TestEveryFeature(t *testing.T) {
	text := YAML(5000, 1)
	for _, want := range []string{
		"validated: 20", `validated: "20`, "description: |", "description: >", "access: restricted",
		"not_for: [", "type: x402", "{type: x402", "superseded_by: ", "deprecated: true", "hints: {",
		"kind: skill", "action_scope:", "deny:", "depends_on: [", "size_tokens: ", ", 429", "\\\n",
		"triggers:\n      [\n", "triggers:\n      - ", `triggers: ["`, "intent: How", " — ",
	} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("5000 units have no %q", want)
		}
	}
}

func TestWriteReportsErrors(t *testing.T) {
	broken, closed := io.Pipe()
	want := errors.New("disk full")
	broken.CloseWithError(want)
	if err := Write(closed, 10, 1); !errors.Is(err, want) {
		t.Errorf("Write returned %v, want %v", err, want)
	}
}

// readUnits returns the scalar fields of each unit.
func readUnits(t *testing.T, text []byte) []map[string]string {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	root := doc.Content[0].Content
	at := slices.IndexFunc(root, func(n *yaml.Node) bool { return n.Value == "units" })
	if at < 0 {
		t.Fatal("the manifest has no units")
	}
	var units []map[string]string
	for _, node := range root[at+1].Content {
		unit := map[string]string{}
		for i := 0; i < len(node.Content); i += 2 {
			unit[node.Content[i].Value] = node.Content[i+1].Value
		}
		units = append(units, unit)
	}
	return units
}

func BenchmarkYAML(b *testing.B) {
	for b.Loop() {
		b.SetBytes(int64(len(YAML(10_000, 1))))
	}
}
