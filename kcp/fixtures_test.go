package kcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fixtures gives the folder of the shared fixtures, or skips the test.
func fixtures(t testing.TB) string {
	t.Helper()
	root := os.Getenv("WRIT_FIXTURES")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	if _, err := os.Stat(filepath.Join(root, "vectors")); err != nil {
		t.Skipf("no shared fixtures in %s; set WRIT_FIXTURES to their folder", root)
	}
	return root
}

// records gives the lines of one fixture file.
func records[T any](t testing.TB, path ...string) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{fixtures(t)}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	var list []T
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var r T
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

func TestYAMLDocuments(t *testing.T) {
	// Restricting fields read a scalar as a list of one.
	deviates := map[int]string{
		16: "context: prod is a list of one",
		27: "deny.tools: x and allowed_vendors: acme are lists of one",
	}
	matched, deviated := 0, 0
	for i, r := range records[struct {
		Text, Error string
		Parsed      json.RawMessage
	}](t, "vectors", "differential", "yaml-documents.jsonl") {
		m, findings, err := Parse([]byte(r.Text), "s")
		switch {
		case (err != nil) != (r.Error != ""):
			t.Errorf("line %d: error %v, want %q\n%s", i+1, err, r.Error, r.Text)
			continue
		case err != nil:
			if strings.HasPrefix(r.Error, "manifest is not") && !strings.Contains(err.Error(), r.Error) {
				t.Errorf("line %d: error %q, want %q in it", i+1, err, r.Error)
			}
			matched++
			continue
		}
		same := sameJSON(t, project(m, findings), r.Parsed)
		if _, ok := deviates[i+1]; ok {
			if same {
				t.Errorf("line %d matches; it should deviate: %s", i+1, deviates[i+1])
			}
			deviated++
			continue
		}
		if !same {
			got, _ := json.Marshal(project(m, findings))
			t.Errorf("line %d:\n%s\n got %s\nwant %s", i+1, r.Text, got, r.Parsed)
			continue
		}
		matched++
	}
	t.Logf("yaml-documents.jsonl: %d matched, %d deviated by name", matched, deviated)
}

func TestYAMLScalars(t *testing.T) {
	dates := map[string]string{
		"2026-07-05":                 "2026-07-05",
		"2026-07-05T10:00:00Z":       "2026-07-05T10:00:00Z",
		"2026-07-05 10:00:00 +02:00": "2026-07-05 10:00:00 +02:00",
		"2025-13-45":                 "2025-13-45",
	}
	matched, deviated := 0, 0
	for i, r := range records[struct{ Text, Error, Version string }](t, "vectors", "differential", "yaml-scalars.jsonl") {
		m, _, err := Parse([]byte(r.Text), "s")
		if (err != nil) != (r.Error != "") {
			t.Errorf("line %d: error %v, want %q", i+1, err, r.Error)
			continue
		}
		if err != nil {
			matched++
			continue
		}
		written := strings.TrimSpace(strings.TrimPrefix(r.Text, "project: p\nversion: "))
		if literal, ok := dates[written]; ok {
			if m.Version != literal {
				t.Errorf("line %d: date reads as %q, want %q", i+1, m.Version, literal)
			}
			deviated++
			continue
		}
		if m.Version != r.Version {
			t.Errorf("line %d: %q reads as %q, want %q", i+1, written, m.Version, r.Version)
			continue
		}
		matched++
	}
	t.Logf("yaml-scalars.jsonl: %d matched, %d dates keep their text", matched, deviated)
}

func TestParsedManifests(t *testing.T) {
	matched := 0
	for _, r := range records[struct {
		ManifestPath string
		Parsed       json.RawMessage
	}](t, "vectors", "differential", "parsed-manifests.jsonl") {
		data, err := os.ReadFile(filepath.Join(fixtures(t), "examples", r.ManifestPath))
		if err != nil {
			t.Fatal(err)
		}
		m, findings, err := Parse(data, r.ManifestPath)
		if err != nil {
			t.Errorf("%s: %v", r.ManifestPath, err)
			continue
		}
		if !sameJSON(t, project(m, findings), r.Parsed) {
			got, _ := json.Marshal(project(m, findings))
			t.Errorf("%s:\n got %s\nwant %s", r.ManifestPath, got, r.Parsed)
			continue
		}
		matched++
	}
	t.Logf("parsed-manifests.jsonl: %d matched", matched)
}
