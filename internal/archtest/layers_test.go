package archtest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

func TestImportsGoDown(t *testing.T) {
	report(t, checkLayers(rootSources(t)))
}

// checkLayers says which packages have no row and which imports break the
// picture.
func checkLayers(all []source) []string {
	var found []string
	unknown := map[string]bool{}
	for _, s := range all {
		from, ok := place(s.dir)
		if !ok {
			if !unknown[s.dir] {
				unknown[s.dir] = true
				found = append(found, fmt.Sprintf("package %s has no row: add it to picture in internal/archtest/picture_test.go and to the picture in ARCHITECTURE.md", s.dir))
			}
			continue
		}
		for _, spec := range s.file.Imports {
			to, ok := inside(spec.Path.Value)
			if !ok {
				continue
			}
			if problem := judge(s.dir, from, to); problem != "" {
				found = append(found, s.at(spec)+": "+problem)
			}
		}
	}
	return found
}

// judge says what is wrong with one import, or nothing.
func judge(dir string, from row, to string) string {
	target, ok := place(to)
	switch {
	case !ok:
		return "" // reported as a package without a row, if it exists at all
	case target.level > from.level:
		return fmt.Sprintf("%s (row %d) imports %s (row %d): imports go down only", dir, from.level, to, target.level)
	case target.level == from.level && !allowedSideways(dir, to):
		return fmt.Sprintf("%s imports %s: both are in row %d, and a row never imports itself", dir, to, from.level)
	case from.side == shared && target.side != shared,
		from.side == knowledge && target.side == runtime,
		from.side == runtime && target.side == knowledge:
		return fmt.Sprintf("%s (%s) imports %s (%s): the two libraries do not know each other", dir, from.side, to, target.side)
	}
	return ""
}

// inside turns the quoted path of an import into a folder of this module.
func inside(quoted string) (string, bool) {
	p, err := strconv.Unquote(quoted)
	if err != nil {
		return "", false
	}
	if p == module {
		return ".", true
	}
	return strings.CutPrefix(p, module+"/")
}
