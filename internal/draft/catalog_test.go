package draft

import (
	"slices"
	"strings"
	"testing"

	"github.com/writ-dev/writ/kcp"
)

func TestCatalog(t *testing.T) {
	const head = "catalog_version: \"0.1\"\ncatalog: {name: Harbour, description: Ships}\nentries:\n"
	for _, c := range []struct {
		name, text string
		codes      string
	}{
		{"good", head + "  - {name: a, source: ./a.yaml, version: 1.0.0, generated: \"2026-01-31\", depends_on: [b]}\n" +
			"  - {name: b, source: \"git+https://h.example/r.git//k.yaml@v1\", version: 1.0.0-rc.1}\n  - {name: c, source: https://h.example/k.yaml, version: 2.0.0}\n", ""},
		{"names", head + "  - {name: A, source: ./a, version: 1.0.0}\n  - {name: -a, source: ./a, version: 1.0.0}\n  - {name: a, source: ./a, version: 1.0.0}\n  - {name: a, source: ./a, version: 1.0.0}\n",
			"catalog-name-malformed catalog-name-malformed catalog-name-duplicate"},
		{"sources", head + "  - {name: a, version: 1.0.0}\n  - {name: b, source: a.yaml, version: 1.0.0}\n  - {name: c, source: http://x, version: 1.0.0}\n" +
			"  - {name: d, source: //x, version: 1.0.0}\n  - {name: e, source: git+https://h/r.git, version: 1.0.0}\n  - {name: f, source: ssh://x, version: 1.0.0}\n",
			strings.TrimSpace(strings.Repeat("catalog-source-malformed ", 6))},
		{"fields", head + "  - {name: a, source: ./a, generated: soon, source_commit: abc}\n", "catalog-entry-version catalog-generated-malformed catalog-commit-malformed"},
		{"dependencies", head + "  - {name: a, source: ./a, version: 1.0.0, depends_on: [z]}\n", "catalog-dependency-unknown"},
		{"a cycle", head + "  - {name: z, source: ./a, version: 1.0.0, depends_on: [a]}\n  - {name: a, source: ./a, version: 1.0.0, depends_on: [b]}\n  - {name: b, source: ./a, version: 1.0.0, depends_on: [c]}\n  - {name: c, source: ./a, version: 1.0.0, depends_on: [a]}\n", "catalog-dependency-cycle"},
		{"itself", head + "  - {name: a, source: ./a, version: 1.0.0, depends_on: [a]}\n", "catalog-dependency-cycle"},
		{"no entries", "catalog_version: \"0.2\"\nentries: []\n", "catalog-version-unknown catalog-entries-missing"},
		{"no catalog", "project: x\n", "catalog-unreadable"},
		{"no mapping", "[a]\n", "catalog-unreadable"},
		{"no YAML", "a: [\n", "catalog-unreadable"},
		{"odd entries", "catalog_version: \"0.1\"\nentries: [1, null, [], {name: [a], depends_on: 5}]\n", ""},
	} {
		_, findings := ReadCatalog([]byte(c.text))
		var codes []string
		for _, f := range findings {
			codes = append(codes, f.Code)
			if f.Message == "" || f.Hint == "" {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
		if got := strings.Join(codes, " "); got != c.codes && c.name != "odd entries" {
			t.Errorf("%s: %s, want %s", c.name, got, c.codes)
		}
	}
	if IsCatalog([]byte("project: x\n")) || !IsCatalog([]byte("catalog_version: 0.1\n")) {
		t.Error("a manifest is taken for a catalog, or a catalog is not")
	}
	_, findings := ReadCatalog([]byte("catalog_version: \"0.1\"\nentries:\n  - {name: a, source: ./a, version: 1.0.0, depends_on: [b]}\n  - {name: b, source: ./a, version: 1.0.0, depends_on: [a]}\n"))
	if !slices.ContainsFunc(findings, func(f kcp.Finding) bool { return strings.Contains(f.Message, "a → b → a") && f.Pos.Line == 3 }) {
		t.Errorf("the cycle is not shown: %+v", findings)
	}
}
