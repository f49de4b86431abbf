package draft

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// ScanOptions says what a folder cannot say itself.
type ScanOptions struct {
	// Name is what the project is called when no file of it says so: usually the
	// name of the folder.
	Name      string
	Publisher string
	Today     string // YYYY-MM-DD
}

// Bounds of a scan. What is beyond them is counted in a note of the draft.
const (
	maxScanUnits   = 30
	maxScanEntries = 5_000 // looked at, in all folders together
	maxDocsDepth   = 3     // folders below docs and guides
	headBytes      = 16 << 10
)

// Scan drafts a manifest from the files of a folder: its README, its sources,
// documentation, examples and tests (agent contract section 17.1, with the
// slips listed there mended). Only names and the first lines of files are read.
// Links are followed as far as fsys follows them; with the file system of an
// [os.Root] that is not out of the folder.
//
// A folder in which there is nothing to publish gives an error.
func Scan(fsys fs.FS, o ScanOptions) (*Draft, error) {
	s := &scan{fsys: fsys, ids: names{}, paths: map[string]bool{}}
	p := projectOf(fsys)
	d := &Draft{
		Head:    []string{"Drafted by writ init. Review it, above all what is marked TODO."},
		Project: p.name, Version: p.version, Updated: o.Today, Publisher: o.Publisher,
	}
	if d.Project == "" {
		d.Project, d.ProjectGuessed = oneLine(o.Name), true
	}
	if d.Project == "" {
		d.Project = "my-project"
	}
	if d.Version == "" {
		d.Version, d.VersionGuessed = "0.1.0", true
	}
	s.project = d.Project
	s.everything()
	if len(s.units) == 0 {
		return nil, errors.New("there is nothing to make units of: no README, no source, docs, guides, examples or tests folder")
	}
	d.Units, d.Notes = s.units, s.notes()
	return d, nil
}

// scan is one walk over a folder.
type scan struct {
	fsys    fs.FS
	project string
	ids     names
	paths   map[string]bool
	units   []Unit
	entries int
	over    int      // units beyond maxScanUnits
	unnamed []string // files whose path may not stand in a manifest
	closed  []string // what could not be read, links out of the folder among it
}

func (s *scan) everything() {
	s.readme()
	for _, dir := range []string{"src", "lib", "pkg", "app", "cmd", "internal", "crates", "packages"} {
		s.sources(dir)
	}
	s.goPackages()
	s.pages(".", "", 0)
	for _, dir := range []string{"docs", "doc", "guides"} {
		s.pages(dir, dir, maxDocsDepth)
	}
	s.examples("examples")
	s.tests()
}

func (s *scan) notes() []string {
	var notes []string
	if s.over > 0 {
		notes = append(notes, fmt.Sprintf("%d more files could be units; %d are enough to start with.\nAdd those that answer a question of their own.", s.over, maxScanUnits))
	}
	if len(s.unnamed) > 0 {
		notes = append(notes, "TODO: rename these files, or leave them out: their paths may not stand in a manifest.\n"+indented(s.unnamed))
	}
	if len(s.closed) > 0 {
		notes = append(notes, "These could not be read, or lead out of the folder:\n"+indented(s.closed))
	}
	return notes
}

// indented lists at most ten names, one a line.
func indented(list []string) string {
	const most = 10
	var b strings.Builder
	for i, item := range list[:min(most, len(list))] {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("  " + oneLine(item))
	}
	if more := len(list) - most; more > 0 {
		fmt.Fprintf(&b, "\n  and %d more", more)
	}
	return b.String()
}

// add takes a unit, unless its path is taken, cannot be written or is one too
// many.
func (s *scan) add(u Unit) {
	switch {
	case s.paths[u.Path]:
	case !usablePath(u.Path):
		s.unnamed = append(s.unnamed, u.Path)
	case len(s.units) >= maxScanUnits:
		s.over++
	default:
		s.paths[u.Path] = true
		u.ID = s.ids.take(slug(u.ID))
		u.Intent = oneLine(u.Intent)
		if u.Triggers = keepTriggers(u.Triggers); len(u.Triggers) == 0 {
			u.Triggers = []string{u.ID}
		}
		s.units = append(s.units, u)
	}
}

// list gives the entries of a folder in byte order, without hidden ones. A
// folder that is not there has none.
func (s *scan) list(dir string) []entry {
	found, err := fs.ReadDir(s.fsys, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		if info, statErr := fs.Stat(s.fsys, dir); statErr != nil || info.IsDir() {
			s.closed = append(s.closed, dir)
		}
	}
	var entries []entry
	for _, e := range found {
		name := e.Name()
		if strings.HasPrefix(name, ".") || slices.Contains(builtFolders, name) {
			continue
		}
		if s.entries++; s.entries > maxScanEntries {
			return entries
		}
		full := path.Join(dir, name)
		info, err := fs.Stat(s.fsys, full) // follows a link that stays inside
		switch {
		case err != nil:
			s.closed = append(s.closed, full)
		case info.IsDir():
			entries = append(entries, entry{name, full, true})
		case info.Mode().IsRegular():
			entries = append(entries, entry{name, full, false})
		}
	}
	return entries
}

// builtFolders hold what others wrote or what a tool made.
var builtFolders = []string{"node_modules", "vendor", "target", "dist", "build", "__pycache__", "testdata"}

// entry is a file or a folder, links resolved.
type entry struct {
	name, path string
	dir        bool
}

// stem is the name without its extension.
func (e entry) stem() string {
	if e.dir {
		return e.name
	}
	return strings.TrimSuffix(e.name, path.Ext(e.name))
}

// head gives the first bytes of a file, empty when it cannot be read.
func (s *scan) head(name string) string { return headOf(s.fsys, name, headBytes) }

func headOf(fsys fs.FS, name string, most int) string {
	file, err := fsys.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	data := make([]byte, most)
	n := 0
	for n < most {
		k, err := file.Read(data[n:])
		n += k
		if err != nil {
			break
		}
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(data[:n]), ""), "\ufeff")
}

func (s *scan) isFile(name string) bool {
	info, err := fs.Stat(s.fsys, name)
	return err == nil && info.Mode().IsRegular()
}
