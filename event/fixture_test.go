package event

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// readFixture reads a shared fixture into v, and skips the test in a clone that
// has none.
func readFixture(t testing.TB, v any, path ...string) {
	t.Helper()
	data, err := os.ReadFile(fixturePath(path...))
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("no shared fixtures: %v", err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

func fixturePath(path ...string) string {
	root := os.Getenv("WRIT_FIXTURES")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	return filepath.Join(append([]string{root, "runtime-fixtures"}, path...)...)
}

// fixtureFiles gives the names of the fixtures that match a pattern, without the
// index.
func fixtureFiles(t testing.TB, pattern ...string) []string {
	t.Helper()
	paths, err := filepath.Glob(fixturePath(pattern...))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("no fixtures")
		}
		t.Skip("no shared fixtures")
	}
	var names []string
	for _, p := range paths {
		if name := filepath.Base(p); name != "index.json" {
			names = append(names, name)
		}
	}
	return names
}
