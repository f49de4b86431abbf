package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every file of the shared differential fixtures is named by a test, so that
// none is forgotten when new ones come.
func TestEveryFixtureFileIsRead(t *testing.T) {
	root := filepath.Join("..", "..")
	fixtures := os.Getenv("WRIT_FIXTURES")
	if fixtures == "" {
		fixtures = filepath.Join(root, "..", "shared")
	}
	files, _ := filepath.Glob(filepath.Join(fixtures, "vectors", "differential", "*.jsonl"))
	if len(files) == 0 {
		t.Skipf("no shared fixtures at %s (set WRIT_FIXTURES)", fixtures)
	}
	var tests strings.Builder
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") || strings.Contains(path, "archtest") {
			return err
		}
		data, err := os.ReadFile(path)
		tests.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasPrefix(name, "examples-") {
			name = "examples-*.jsonl"
		}
		if !strings.Contains(tests.String(), name) {
			t.Errorf("no test reads vectors/differential/%s", filepath.Base(file))
		}
	}
}
