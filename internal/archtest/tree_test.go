package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// A source is one Go file that is not a test, parsed.
type source struct {
	name string // slash-separated, below the root of the tree
	dir  string // the folder, "." for the root
	file *ast.File
	set  *token.FileSet
	size int // lines
}

func (s source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.name, s.set.Position(n.Pos()).Line)
}

// skipDir names folders that are no part of the source tree.
func skipDir(tree fs.FS, name string) bool {
	if name == "." {
		return false
	}
	switch base := path.Base(name); base {
	case ".git", "node_modules":
		return true
	}
	if name == "bin" || name == "dist" {
		return true
	}
	_, err := fs.Stat(tree, path.Join(name, "go.mod"))
	return err == nil // a module of its own
}

// sources parses every Go file of the tree that is not a test, whatever its
// build tags: a rule that holds on one system only is not a rule.
func sources(tree fs.FS) ([]source, error) {
	var all []source
	set := token.NewFileSet()
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := path.Base(name); skipDir(tree, name) || base == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		all = append(all, source{name, path.Dir(name), file, set, bytes.Count(text, []byte("\n"))})
		return nil
	})
	return all, err
}

// root opens the tree that this test belongs to.
func root(t *testing.T) fs.FS {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatalf("the tree is not where it should be: %v", err)
	}
	return os.DirFS(dir)
}

func rootSources(t *testing.T) []source {
	t.Helper()
	all, err := sources(root(t))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func report(t *testing.T, found []string) {
	t.Helper()
	for _, f := range found {
		t.Error(f)
	}
}
