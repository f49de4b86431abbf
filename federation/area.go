package federation

import (
	"io/fs"
	"os"
	"path/filepath"
)

// area is the directory below which the walk reads local manifests. A nil area
// contains nothing.
type area struct {
	path string   // absolute, without symbolic links
	root *os.Root // nil when the directory cannot be opened
}

// openArea opens the directory that was asked for. By default it is the current
// one if that contains the root manifest, else the manifest's own. There is none
// below a remote manifest.
func openArea(root, source string) *area {
	if isRemote(source) {
		return nil
	}
	path := realPath(root)
	if root == "" {
		dir := realPath(filepath.Dir(filepath.FromSlash(source)))
		path = dir
		if current := realPath("."); contains(current, dir) {
			path = current
		}
	}
	opened, err := os.OpenRoot(path)
	if err != nil {
		opened = nil // reading a manifest will say why
	}
	return &area{path: path, root: opened}
}

func (a *area) close() {
	if a != nil && a.root != nil {
		_ = a.root.Close() // it was only looked at
	}
}

// contains reports whether target is dir or below it. Both are absolute.
func contains(dir, target string) bool {
	name, err := filepath.Rel(dir, target)
	return err == nil && filepath.IsLocal(name)
}

// finding is what stands at a location.
type finding int

const (
	nothing finding = iota
	inside          // a manifest below the root
	outside         // something that is not below the root, whether it exists or not
)

// The names under which a directory holds its manifest.
var manifestNames = []string{"knowledge.yaml", filepath.Join(".well-known", "knowledge.yaml")}

// find looks for the manifest at a location: a file, or a directory that holds
// one. Nothing outside the root is looked at.
func (a *area) find(location string) (file string, f finding) {
	if a == nil || a.root == nil || isRemote(location) {
		return "", nothing
	}
	path, err := filepath.Abs(filepath.FromSlash(location))
	if err != nil {
		return "", nothing
	}
	name, err := filepath.Rel(a.path, path)
	if err != nil || !filepath.IsLocal(name) {
		if path = realPath(location); !contains(a.path, path) {
			return "", outside
		}
		name, _ = filepath.Rel(a.path, path) // it is below, so there is one
	}
	info, err := a.root.Stat(name)
	switch {
	case err != nil:
		return "", nothing
	case !info.IsDir():
		return filepath.Join(a.path, name), inside
	}
	for _, inner := range manifestNames {
		if info, err := a.root.Stat(filepath.Join(name, inner)); err == nil && info.Mode()&fs.ModeDir == 0 {
			return filepath.Join(a.path, name, inner), inside
		}
	}
	return "", nothing
}

// key is the one spelling of a local location: the file of its manifest, if there
// is one below the root.
func (a *area) key(location string) string {
	if file, f := a.find(location); f == inside {
		return realPath(file)
	}
	path, err := filepath.Abs(filepath.FromSlash(location))
	if err != nil {
		return location
	}
	return path
}
