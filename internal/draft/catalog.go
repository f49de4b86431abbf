package draft

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-dev/writ/kcp"
)

// Catalog lists manifests that can be installed (catalog specification 0.1).
type Catalog struct {
	Version     string
	Name        string
	Description string
	Entries     []CatalogEntry
}

// CatalogEntry is one manifest of a catalog.
type CatalogEntry struct {
	Name, Source, Version string
	DependsOn             []string
	Generated             string       // the day the entry was made from its source
	Path                  string       // where the entry is in the catalog
	Pos                   kcp.Position // where it is in the text
}

var (
	catalogName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
	semver      = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	commitHash  = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// maxCatalogBytes and maxCatalogEntries bound a catalog.
const (
	maxCatalogBytes   = 4 << 20
	maxCatalogEntries = 10_000
)

// CatalogTexts describes the findings of [ReadCatalog].
func CatalogTexts() []kcp.RuleText { return slices.Clone(catalogTexts) }

var catalogTexts = []kcp.RuleText{
	{Code: "catalog-unreadable", Severity: kcp.Error, Level: 1, Meaning: "The text is no catalog.", Mend: `begin with catalog_version: "0.1"`},
	{Code: "catalog-version-unknown", Severity: kcp.Error, Level: 1, Meaning: "`catalog_version` is not a version that is known.", Mend: `write catalog_version: "0.1"`},
	{Code: "catalog-entries-missing", Severity: kcp.Error, Level: 1, Meaning: "`entries` is missing or empty.", Mend: "list at least one entry, with name and source"},
	{Code: "catalog-name-malformed", Severity: kcp.Error, Level: 1, Meaning: "An entry's `name` is missing or has other characters than it may.", Mend: "use lower-case letters, digits and hyphens, and begin with no hyphen"},
	{Code: "catalog-name-duplicate", Severity: kcp.Error, Level: 1, Meaning: "Two entries have one `name`.", Mend: "give each entry a name of its own"},
	{Code: "catalog-source-malformed", Severity: kcp.Error, Level: 1, Meaning: "An entry's `source` is missing or has a scheme that is not known.", Mend: "write ./path, /path, https://… or git+https://host/repo.git//file@ref"},
	{Code: "catalog-entry-version", Severity: kcp.Warning, Level: 1, Meaning: "An entry's `version` is missing or no semantic version.", Mend: `write version: "1.0.0"`},
	{Code: "catalog-generated-malformed", Severity: kcp.Warning, Level: 1, Meaning: "`generated` is no date.", Mend: `write a date, year first, and quote it: "2026-01-31"`},
	{Code: "catalog-commit-malformed", Severity: kcp.Warning, Level: 1, Meaning: "`source_commit` is not 40 hexadecimal digits.", Mend: "write the whole commit"},
	{Code: "catalog-source-unreadable", Severity: kcp.Warning, Level: 1, Meaning: "The manifest that `source` names cannot be read.", Mend: "correct the source, or publish the manifest there"},
	{Code: "catalog-entry-stale", Severity: kcp.Warning, Level: 1, Meaning: "The manifest is older than the entry's `version`, or was changed after `generated`.", Mend: "generate the entry anew from its source, or install the manifest that it describes"},
	{Code: "catalog-dependency-unknown", Severity: kcp.Error, Level: 1, Meaning: "`depends_on` names an entry that is not in the catalog.", Mend: "name an entry of this catalog"},
	{Code: "catalog-dependency-cycle", Severity: kcp.Error, Level: 1, Meaning: "Entries depend on each other in a circle.", Mend: "remove one of these dependencies"},
}

// IsCatalog reports whether YAML text is a catalog: its root has catalog_version.
func IsCatalog(data []byte) bool {
	root, err := catalogRoot(data)
	return err == nil && fieldOf(root, "catalog_version") != nil
}

// ReadCatalog reads a catalog and gives what is wrong with it. It is nil when the
// text is no catalog at all.
func ReadCatalog(data []byte) (*Catalog, []kcp.Finding) {
	root, err := catalogRoot(data)
	if err == nil && fieldOf(root, "catalog_version") == nil {
		err = fmt.Errorf("no catalog: catalog_version is missing")
	}
	if err != nil {
		return nil, []kcp.Finding{catalogFinding("catalog-unreadable", err.Error())}
	}
	r := &catalogReader{c: &Catalog{}, entries: map[string]*yaml.Node{}}
	r.root(root)
	return r.c, r.findings
}

func catalogRoot(data []byte) (root *yaml.Node, err error) {
	if len(data) > maxCatalogBytes {
		return nil, fmt.Errorf("more than %d bytes", maxCatalogBytes)
	}
	defer func() {
		if p := recover(); p != nil {
			root, err = nil, fmt.Errorf("yaml: %v", p)
		}
	}()
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("not a YAML mapping")
	}
	return doc.Content[0], nil
}

// fieldOf gives the value of a key of a mapping, aliases followed, or nil.
func fieldOf(n *yaml.Node, key string) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			if v := n.Content[i+1]; v.Kind != yaml.AliasNode {
				return v
			} else {
				return v.Alias
			}
		}
	}
	return nil
}

type catalogReader struct {
	c        *Catalog
	findings []kcp.Finding
	entries  map[string]*yaml.Node // by name
}

// report adds a finding; severity and hint are those of its code.
func (r *catalogReader) report(code, where, path string, n *yaml.Node, message string) {
	f := catalogFinding(code, message)
	f.Where, f.Path = where, path
	if n != nil {
		f.Pos = kcp.Position{Line: n.Line, Column: n.Column}
	}
	r.findings = append(r.findings, f)
}

func catalogFinding(code, message string) kcp.Finding {
	for _, t := range catalogTexts {
		if t.Code == code {
			return kcp.Finding{Severity: t.Severity, Code: code, Where: "catalog", Message: message, Hint: t.Mend}
		}
	}
	panic("no text for " + code) // a mistake in this file, which its test meets
}

func text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

func (r *catalogReader) root(root *yaml.Node) {
	version := fieldOf(root, "catalog_version")
	if r.c.Version = text(version); r.c.Version != "0.1" {
		r.report("catalog-version-unknown", "catalog", "catalog_version", version,
			"there is no catalog version "+quote(r.c.Version))
	}
	if about := fieldOf(root, "catalog"); about != nil {
		r.c.Name, r.c.Description = text(fieldOf(about, "name")), text(fieldOf(about, "description"))
	}
	entries := fieldOf(root, "entries")
	if entries == nil || entries.Kind != yaml.SequenceNode || len(entries.Content) == 0 {
		r.report("catalog-entries-missing", "catalog", "entries", entries,
			"the catalog has no entries")
		return
	}
	for i, n := range entries.Content[:min(len(entries.Content), maxCatalogEntries)] {
		r.entry(i, n)
	}
	r.dependencies()
}

func (r *catalogReader) entry(i int, n *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	e := CatalogEntry{Name: text(fieldOf(n, "name")), Source: text(fieldOf(n, "source")), Version: text(fieldOf(n, "version"))}
	where, path := "entry '"+e.Name+"'", fmt.Sprintf("entries[%d]", i)
	e.Path, e.Pos = path, kcp.Position{Line: n.Line, Column: n.Column}
	at := func(key string) *yaml.Node {
		if v := fieldOf(n, key); v != nil {
			return v
		}
		return n
	}
	bad := func(code, key, message string) {
		r.report(code, where, path+"."+key, at(key), message)
	}
	switch {
	case !catalogName.MatchString(e.Name):
		bad("catalog-name-malformed", "name", "name is "+quote(e.Name))
	case r.entries[e.Name] != nil:
		bad("catalog-name-duplicate", "name", "two entries have the name "+e.Name)
	default:
		r.entries[e.Name] = n
	}
	if problem := sourceProblem(e.Source); problem != "" {
		bad("catalog-source-malformed", "source", problem)
	}
	switch {
	case e.Version == "":
		bad("catalog-entry-version", "version", "the entry has no version")
	case !semver.MatchString(e.Version):
		bad("catalog-entry-version", "version", "version is "+quote(e.Version)+", which is no version like 1.0.0")
	}
	e.Generated = text(fieldOf(n, "generated"))
	if e.Generated != "" && !kcp.ValidDate(e.Generated) {
		bad("catalog-generated-malformed", "generated", "generated is no date")
		e.Generated = ""
	}
	if v := fieldOf(n, "source_commit"); v != nil && !commitHash.MatchString(text(v)) {
		bad("catalog-commit-malformed", "source_commit", "source_commit is not 40 hexadecimal digits")
	}
	if list := fieldOf(n, "depends_on"); list != nil {
		for _, item := range list.Content {
			e.DependsOn = append(e.DependsOn, text(item))
		}
	}
	r.c.Entries = append(r.c.Entries, e)
}

// sourceProblem says what is wrong with a source. A scheme that is not known is
// an error: nobody can say what would be installed.
func sourceProblem(source string) string {
	switch {
	case source == "":
		return "source is missing"
	case strings.ContainsFunc(source, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "source has control characters"
	case strings.HasPrefix(source, "./"), strings.HasPrefix(source, "../"), strings.HasPrefix(source, "/") && !strings.HasPrefix(source, "//"):
		return ""
	case strings.HasPrefix(source, "https://"):
		return ""
	case strings.HasPrefix(source, "git+https://"):
		if _, file, ok := strings.Cut(strings.TrimPrefix(source, "git+https://"), "//"); !ok || file == "" || strings.HasPrefix(file, "@") {
			return "source names no file of the repository"
		}
		return ""
	}
	return "source is " + quote(source) + ", which is neither a path nor an address that is known"
}

// dependencies checks that what entries depend on is there, and that no entry
// depends on itself by way of others.
func (r *catalogReader) dependencies() {
	next := map[string][]string{}
	for i := range r.c.Entries {
		e := &r.c.Entries[i]
		for _, name := range e.DependsOn {
			if r.entries[name] == nil {
				r.report("catalog-dependency-unknown", "entry '"+e.Name+"'", fmt.Sprintf("entries[%d].depends_on", i), fieldOf(r.entries[e.Name], "depends_on"),
					"depends_on names "+quote(name)+", which is not in the catalog")
				continue
			}
			next[e.Name] = append(next[e.Name], name)
		}
	}
	if cycle := cycleIn(r.c.Entries, next); cycle != nil {
		r.report("catalog-dependency-cycle", "entry '"+cycle[0]+"'", "entries", r.entries[cycle[0]],
			"entries depend on each other: "+strings.Join(cycle, " → "))
	}
}

// cycleIn gives the names of a cycle, the first again at its end, or nil. It
// takes away entries that depend on nothing until none is left; what stays leads
// to a cycle.
func cycleIn(entries []CatalogEntry, next map[string][]string) []string {
	open, before, ready := map[string]int{}, map[string][]string{}, []string{}
	for i := range entries {
		name := entries[i].Name
		open[name] = len(next[name])
		for _, n := range next[name] {
			before[n] = append(before[n], name)
		}
		if open[name] == 0 {
			ready = append(ready, name)
		}
	}
	for len(ready) > 0 {
		name := ready[0]
		ready = ready[1:]
		for _, b := range before[name] {
			if open[b]--; open[b] == 0 {
				ready = append(ready, b)
			}
		}
		delete(open, name)
	}
	for i := range entries {
		if open[entries[i].Name] > 0 {
			return walkCycle(entries[i].Name, next, open)
		}
	}
	return nil
}

func walkCycle(name string, next map[string][]string, open map[string]int) []string {
	var walked []string
	for {
		if i := slices.Index(walked, name); i >= 0 {
			return append(walked[i:], name)
		}
		walked = append(walked, name)
		for _, n := range next[name] {
			if open[n] > 0 {
				name = n
				break
			}
		}
	}
}
