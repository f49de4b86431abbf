package archtest

import (
	"bytes"
	"fmt"
	"io/fs"
	"regexp"
	"testing"
)

func TestNoMachinePaths(t *testing.T) {
	found, err := checkPaths(root(t))
	if err != nil {
		t.Fatal(err)
	}
	report(t, found)
}

// machinePath finds an absolute path into somebody's home or work folder. The
// character before keeps URLs, relative paths and globs out. The pattern is
// spelt so that it does not match itself.
var machinePath = regexp.MustCompile(`(?:^|[^\w.~*)}\]/-])/(?:work|root)/`)

// checkPaths looks into every text file of the tree, tests and data included:
// such a path works on one machine only and tells readers about it.
func checkPaths(tree fs.FS) ([]string, error) {
	var found []string
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == ".git" || name == "bin" || name == "dist" || d.Name() == "node_modules" {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		if bytes.IndexByte(text, 0) >= 0 {
			return nil // not text
		}
		for i, line := range bytes.Split(text, []byte("\n")) {
			if m := machinePath.Find(line); m != nil {
				found = append(found, fmt.Sprintf("%s:%d: absolute path of a machine: %q", name, i+1, bytes.TrimSpace(m)))
			}
		}
		return nil
	})
	return found, err
}
