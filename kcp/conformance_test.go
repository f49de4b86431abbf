package kcp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// expectation is NAME.expected.json of the conformance fixtures; their README
// says how to compare.
type expectation struct {
	Note       string `json:"_note"`
	Valid      *bool
	Errors     []any
	Warnings   []any
	ParseError bool `json:"parse_error"`
	AlsoParse  bool `json:"parse_error_also_acceptable"`

	UnitCount         *int `json:"unit_count"`
	RelationshipCount *int `json:"relationship_count"`
	Values            map[string]any
}

// pathCodes are the findings with which we answer what the fixtures call a parse
// error: the manifest can be read, and is invalid.
var pathCodes = []string{"unit-path-absolute", "unit-path-escapes", "unit-path-is-root"}

// uncertain are the manifests that came without an expectation, and whether they
// are valid by name and by the rules.
var uncertain = map[string]bool{
	"edge-cases/valid-federation-version-pin-mismatch":  true,
	"level2/valid-authority-ceiling-undeclared-warning": true,
	"level2/valid-authority-level-inline":               true,
	"level2/valid-content-hash":                         true,
	"level2/valid-content-structure":                    true,
	"level2/valid-not-for":                              true,
	"level2/valid-skill-action-scope-spend":             true,
	"level2/valid-with-freshness-policy":                true,
	"level2/valid-with-requires-capabilities":           true,
	"level3/valid-discovery-declared":                   true,
	"level3/valid-grant-ceiling-refs":                   true,
	"level3/invalid-discovery-rumored-high-confidence":  false,
	// Its url is not https, which section 9.1 of the format calls an error.
	"level3/valid-with-freshness-and-capabilities":    false,
	"level3/valid-federation-version-pin":             true,
	"level3/valid-with-authority":                     true,
	"level3/valid-with-discovery":                     true,
	"level3/valid-with-freshness-policy-root-default": true,
	"level3/valid-with-visibility":                    true,
}

func TestConformance(t *testing.T) {
	root := filepath.Join(fixtures(t), "conformance")
	names, err := filepath.Glob(filepath.Join(root, "*", "*.yaml"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no fixtures in %s: %v", root, err)
	}
	expected, guessed := 0, 0
	for _, file := range names {
		short := strings.TrimSuffix(filepath.ToSlash(strings.TrimPrefix(file, root))[1:], ".yaml")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := expectation{}
		switch data, err := os.ReadFile(strings.TrimSuffix(file, ".yaml") + ".expected.json"); {
		case err == nil:
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			expected++
		default:
			valid, ok := uncertain[short]
			if !ok {
				t.Errorf("%s: no expectation", short)
			}
			want.Valid = &valid
			guessed++
		}
		t.Run(short, func(t *testing.T) { want.check(t, text) })
	}
	t.Logf("conformance: %d fixtures with an expectation, %d with none, judged by name", expected, guessed)
}

func (e *expectation) check(t *testing.T, text []byte) {
	m, findings, err := Parse(text, "knowledge.yaml")
	if err != nil {
		if !e.ParseError && !e.AlsoParse {
			t.Fatal(err)
		}
		return
	}
	findings = append(findings, Validate(m, ValidateOptions{Now: "2026-11-30", Rules: Spec})...)
	var errors, warnings []Finding
	for _, f := range findings {
		if f.Severity == Error {
			errors = append(errors, f)
		} else {
			warnings = append(warnings, f)
		}
	}
	if e.ParseError && !slices.ContainsFunc(errors, func(f Finding) bool { return slices.Contains(pathCodes, f.Code) }) {
		t.Errorf("no error about a path in %v", findings)
	}
	if e.Valid != nil && *e.Valid != (len(errors) == 0) && !strings.Contains(e.Note, "cross-impl") {
		t.Errorf("errors %v, want valid: %v", errors, *e.Valid)
	}
	switch {
	case len(e.Warnings) > 0 && len(warnings) == 0:
		t.Errorf("no warnings, want some: %v", e.Warnings)
	case e.Warnings != nil && len(e.Warnings) == 0 && len(warnings) > 0:
		t.Errorf("warnings %v, want none", warnings)
	}
	if e.UnitCount != nil && *e.UnitCount != len(m.Units) {
		t.Errorf("%d units, want %d", len(m.Units), *e.UnitCount)
	}
	if e.RelationshipCount != nil && *e.RelationshipCount != len(m.Relationships) {
		t.Errorf("%d relationships, want %d", len(m.Relationships), *e.RelationshipCount)
	}
	for path, want := range e.Values {
		if got := conformanceValue(t, m, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}

// conformanceValue reads "units.INDEX.FIELD"; nil means undeclared.
func conformanceValue(t *testing.T, m *Manifest, path string) any {
	t.Helper()
	parts := strings.Split(path, ".")
	if len(parts) != 3 || parts[0] != "units" {
		t.Fatalf("cannot read %s", path)
	}
	i, err := strconv.Atoi(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]Bool{
		"deprecated":     m.Units[i].Deprecated,
		"not_for_strict": m.Units[i].NotForStrict,
		"load_eligible":  m.Units[i].LoadEligible,
	}
	field, ok := fields[parts[2]]
	switch {
	case !ok:
		t.Fatalf("cannot read %s", path)
	case !field.Declared:
		return nil
	}
	return field.Value
}
