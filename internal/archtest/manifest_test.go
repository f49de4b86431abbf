package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-dev/writ/kcp"
)

// The repository's own manifest names every page and every package, nothing
// that is not there, and has no finding under either set of rules.
func TestOwnManifest(t *testing.T) {
	root := filepath.Join("..", "..")
	data, err := os.ReadFile(filepath.Join(root, "knowledge.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	m, findings, err := kcp.Parse(data, "knowledge.yaml")
	if err != nil {
		t.Fatal(err)
	}
	exists := func(path string) bool { _, err := os.Stat(filepath.Join(root, path)); return err == nil }
	for _, rules := range []kcp.Rules{kcp.Agent, kcp.Spec} {
		findings = append(findings, kcp.Validate(m, kcp.ValidateOptions{Now: m.Updated.Value, Rules: rules, Exists: exists})...)
	}
	for _, f := range findings {
		t.Errorf("knowledge.yaml:%d:%d: %s", f.Pos.Line, f.Pos.Column, f.Message)
	}
	named := map[string]bool{}
	for i := range m.Units {
		named[m.Units[i].Path] = true
	}
	for _, path := range published(t, root) {
		if !named[path] {
			t.Errorf("knowledge.yaml has no unit for %s", path)
		}
	}
}

// published lists the pages and the library packages of the repository.
func published(t *testing.T, root string) []string {
	t.Helper()
	var paths []string
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		pages, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			rel, _ := filepath.Rel(root, page)
			paths = append(paths, filepath.ToSlash(rel))
		}
	}
	entries, err := fs.ReadDir(os.DirFS(root), ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if !entry.IsDir() || strings.HasPrefix(name, ".") || name == "cmd" || name == "internal" || name == "bench" {
			continue
		}
		if files, _ := filepath.Glob(filepath.Join(root, name, "*.go")); len(files) > 0 {
			paths = append(paths, name)
		}
	}
	return paths
}
