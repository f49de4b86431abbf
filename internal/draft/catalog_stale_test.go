package draft

import (
	"errors"
	"slices"
	"testing"
)

func TestStaleEntries(t *testing.T) {
	catalog, findings := ReadCatalog([]byte(`catalog_version: "0.1"
catalog: {name: acme}
entries:
  - {name: fits, source: ./fits, version: "1.2.0", generated: "2026-07-01"}
  - {name: older, source: ./older, version: "1.10.0"}
  - {name: pre, source: ./pre, version: "2.0.0"}
  - {name: changed, source: https://example.com/changed, version: "1.0.0", generated: "2026-07-01"}
  - {name: gone, source: ./gone, version: "1.0.0"}
  - {name: repository, source: "git+https://host/repo.git//k.yaml", version: "1.0.0"}
`))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	sources := map[string]Source{
		"./fits": {"1.2.0", "2026-07-01"}, "./older": {"1.9.9", ""}, "./pre": {"2.0.0-rc1", ""},
		"https://example.com/changed": {"1.0.0", "2026-07-02"},
	}
	var got []string
	for _, f := range catalog.Stale(func(source string) (Source, error) {
		if found, ok := sources[source]; ok {
			return found, nil
		}
		if source == "./gone" {
			return Source{}, errors.New("manifest not found: ./gone")
		}
		t.Errorf("%s was read", source)
		return Source{}, nil
	}) {
		if f.Pos.Line == 0 || f.Hint == "" || f.Severity != "warning" {
			t.Errorf("%+v", f)
		}
		got = append(got, f.Where+" "+f.Code)
	}
	want := []string{"entry 'older' catalog-entry-stale", "entry 'pre' catalog-entry-stale",
		"entry 'changed' catalog-entry-stale", "entry 'gone' catalog-source-unreadable"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
