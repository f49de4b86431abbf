package load

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/writ-dev/writ/fetch"
)

// The names under which a directory holds its manifest.
var manifestNames = []string{"knowledge.yaml", filepath.Join(".well-known", "knowledge.yaml")}

// area is where one manifest and what it names are read.
type area struct {
	root *os.Root // nil: the manifest may be anywhere, and what it names nowhere yet
	path string   // of root, absolute
	name string   // of the manifest's file or directory: below root, or as given
	dir  string   // of the manifest's file, below root
}

// openArea opens the root directory for a location, if there is one.
func openArea(location, root string) (*area, error) {
	if location == "" { // not the current directory
		return nil, refuseFile(location, fs.ErrNotExist)
	}
	if root == "" {
		return &area{name: location}, nil
	}
	path, name, ok := below(root, location)
	if !ok {
		return nil, refuse(OutsideRoot, location, problemOutside)
	}
	opened, err := os.OpenRoot(path)
	if err != nil {
		return nil, refuse(Unreadable, root, "cannot open the root directory: "+problemOf(err))
	}
	return &area{root: opened, path: path, name: name}, nil
}

func (a *area) close() {
	if a.root != nil {
		_ = a.root.Close() // it was only read
	}
}

// isRemote reports whether location is a URL for the HTTP reader. As in kcp only
// the lower-case schemes count.
func isRemote(location string) bool {
	return strings.HasPrefix(location, "http://") || strings.HasPrefix(location, "https://")
}

// below gives the absolute path of root and the name of location below it. Both
// are compared as they are written, and again with their symbolic links
// resolved, because one directory can have two spellings.
func below(root, location string) (path, name string, ok bool) {
	path, err := filepath.Abs(root)
	if err != nil {
		return "", "", false
	}
	target, err := filepath.Abs(location)
	if err != nil {
		return "", "", false
	}
	if name, ok := relative(path, target); ok {
		return path, name, true
	}
	realPath, err1 := filepath.EvalSymlinks(path)
	realTarget, err2 := filepath.EvalSymlinks(target)
	if err1 != nil || err2 != nil {
		return "", "", false
	}
	name, ok = relative(realPath, realTarget)
	return realPath, name, ok
}

// relative gives the name of target below dir. Both are absolute.
func relative(dir, target string) (string, bool) {
	name, err := filepath.Rel(dir, target)
	return name, err == nil && filepath.IsLocal(name)
}

// locate opens the manifest and gives its source.
func (a *area) locate(location string) (file *os.File, source string, err error) {
	var p fetch.Place = anywhere{}
	if a.root != nil {
		p = a.root
	}
	info, err := p.Stat(a.name)
	if err != nil {
		return nil, "", refuseFile(location, err)
	}
	if !info.IsDir() {
		a.dir = filepath.Dir(a.name)
		file, err = fetch.OpenRegular(p, a.name)
		if err != nil {
			err = refuseFile(location, err)
		}
		return file, location, err
	}
	for _, name := range manifestNames {
		inside := filepath.Join(a.name, name)
		source = filepath.ToSlash(filepath.Join(location, name))
		file, err = fetch.OpenRegular(p, inside)
		switch {
		case err == nil:
			a.dir = filepath.Dir(inside)
			return file, source, nil
		case !fetch.IsMissing(err):
			return nil, "", refuseFile(source, err)
		}
	}
	return nil, "", refuse(NoManifest, location, "no knowledge.yaml in this directory; name one that has it, or the file")
}

func refuseFile(location string, err error) *Refusal {
	var special fetch.Irregular
	switch {
	case fetch.IsMissing(err):
		return refuse(NotFound, location, "no such file or directory; check the spelling and the current directory")
	case errors.As(err, &special):
		return refuse(NotRegular, location, special.Error()+"; name a knowledge.yaml or its directory")
	case fetch.Escapes(err):
		return refuse(OutsideRoot, location, problemOutside)
	}
	return refuse(Unreadable, location, problemOf(err))
}

// openDefault opens the default root for what the manifest names: the current
// directory if it contains the manifest, else the manifest's own. The manifest
// itself may be a symbolic link; its directory is where the link stands.
func (a *area) openDefault() error {
	if a.root != nil {
		return nil
	}
	dir, err := filepath.Abs(a.dir)
	if err != nil {
		return err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	a.path, a.dir = dir, "."
	if current, err := filepath.Abs("."); err == nil {
		if current, err = filepath.EvalSymlinks(current); err == nil {
			if name, ok := relative(current, dir); ok {
				a.path, a.dir = current, name
			}
		}
	}
	a.root, err = os.OpenRoot(a.path)
	return err
}

// readNamed reads a file that the manifest names, relative to it. The error has the
// location as the manifest writes it.
func (a *area) readNamed(_ context.Context, location string, limit int) ([]byte, error) {
	data, err := a.readBelow(location, limit)
	if err != nil {
		return nil, errors.New(location + ": " + problemOf(err))
	}
	return data, nil
}

func (a *area) readBelow(location string, limit int) ([]byte, error) {
	if err := a.openDefault(); err != nil {
		return nil, err
	}
	name := filepath.FromSlash(location)
	if filepath.IsAbs(name) {
		var ok bool
		if name, ok = relative(a.path, name); !ok {
			return nil, errOutside
		}
	} else {
		name = filepath.Join(a.dir, name)
	}
	if !filepath.IsLocal(name) {
		return nil, errOutside
	}
	return readSmall(a.root, name, limit)
}
