package draft

import (
	"strconv"
	"strings"

	"github.com/writ-dev/writ/kcp"
)

// Source is what a catalog's entry leads to.
type Source struct {
	Version string // of the manifest there
	Changed string // the day it was last changed, YYYY-MM-DD; "" when that is not known
}

// Stale reads every source and says which entries no longer describe it (catalog
// specification 0.1). Nothing is refused: a stale entry is a warning. A source in
// a git repository is not read.
func (c *Catalog) Stale(read func(source string) (Source, error)) []kcp.Finding {
	var findings []kcp.Finding
	for i := range c.Entries {
		e := &c.Entries[i]
		if sourceProblem(e.Source) != "" || strings.HasPrefix(e.Source, "git+") {
			continue
		}
		found, err := read(e.Source)
		switch {
		case err != nil:
			findings = append(findings, e.finding("catalog-source-unreadable", "source", err.Error()))
		case semver.MatchString(e.Version) && semver.MatchString(found.Version) && olderVersion(found.Version, e.Version):
			findings = append(findings, e.finding("catalog-entry-stale", "version",
				"the manifest there is version "+found.Version+", older than "+e.Version))
		case e.Generated != "" && found.Changed > e.Generated[:len("2026-01-31")]:
			findings = append(findings, e.finding("catalog-entry-stale", "generated",
				"the manifest was changed on "+found.Changed+", after the entry was generated"))
		}
	}
	return findings
}

func (e *CatalogEntry) finding(code, field, message string) kcp.Finding {
	f := catalogFinding(code, message)
	f.Where, f.Path, f.Pos = "entry '"+e.Name+"'", e.Path+"."+field, e.Pos
	return f
}

// olderVersion compares major, minor and patch. A pre-release is older than its
// release; two of them are not told apart.
func olderVersion(a, b string) bool {
	for i := range 3 {
		if x, y := versionPart(a, i), versionPart(b, i); x != y {
			return x < y
		}
	}
	return isPreRelease(a) && !isPreRelease(b)
}

func versionPart(version string, i int) int {
	core, _, _ := strings.Cut(version, "+")
	core, _, _ = strings.Cut(core, "-")
	n, err := strconv.Atoi(strings.Split(core, ".")[i])
	if err != nil {
		return -1 // too large for an int: nobody numbers releases so
	}
	return n
}

func isPreRelease(version string) bool {
	core, _, _ := strings.Cut(version, "+")
	return strings.Contains(core, "-")
}
