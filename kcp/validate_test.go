package kcp

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLevelsNest(t *testing.T) {
	level := map[string]int{}
	for _, r := range specRuleTexts() {
		level[r.code] = r.level
	}
	for _, test := range specCases {
		all := specFindings(t, test.bad, ValidateOptions{})
		for l := 1; l <= 3; l++ {
			want := slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return level[f.Code] > l })
			if got := specFindings(t, test.bad, ValidateOptions{Level: l}); !slices.Equal(got, want) {
				t.Errorf("%s at level %d: %v, want %v", test.code, l, got, want)
			}
		}
	}
}

func TestFindingsHaveAFixedOrder(t *testing.T) {
	var text strings.Builder
	text.WriteString("manifests: [{}, {id: X}]\nrelationships: [{from: a}]\nunits:\n")
	for i := range 20 {
		fmt.Fprintf(&text, "  - {id: u%d, kind: x, path: /, temporal: {superseded_by: u%d}}\n", i, (i+1)%20)
	}
	for _, rules := range []Rules{Agent, Spec} {
		m, _, err := Parse([]byte(text.String()), "k.yaml")
		if err != nil {
			t.Fatal(err)
		}
		first := Validate(m, ValidateOptions{Rules: rules, Now: today})
		for range 20 {
			if again := Validate(m, ValidateOptions{Rules: rules, Now: today}); !slices.Equal(again, first) {
				t.Fatalf("rules %d: two runs differ", rules)
			}
		}
		last := -1
		for _, f := range first {
			var index int
			if _, err := fmt.Sscanf(f.Path, "units[%d]", &index); err != nil || f.Code == "temporal-cycle" {
				continue
			}
			if rules == Spec && index < last {
				t.Errorf("unit %d comes after unit %d", index, last)
			}
			last = index
		}
	}
}

func TestFindingsPointAtTheText(t *testing.T) {
	text := "project: p\nversion: 1.0.0\nkcp_version: '0.32'\nunits:\n  - id: a\n    path: ../a.md\n    intent: i\n    audience: [agent, alien]\n"
	want := map[string]Position{"unit-path-escapes": {6, 11}, "unit-audience-unknown": {8, 23}}
	m, _, err := Parse([]byte(text), "k.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Position{}
	for _, f := range Validate(m, ValidateOptions{Rules: Spec}) {
		got[f.Code] = f.Pos
	}
	for code, pos := range want {
		if got[code] != pos {
			t.Errorf("%s at %v, want %v", code, got[code], pos)
		}
	}
}

func TestCircles(t *testing.T) {
	const n = 200_000
	chain := make([]int, n)
	for i := range chain {
		chain[i] = i + 1
	}
	chain[n-1] = -1
	for _, test := range []struct {
		next []int
		want [][]int
	}{
		{nil, nil},
		{[]int{-1, 0, 1}, nil},
		{[]int{0}, [][]int{{0}}},
		{[]int{1, 2, 1}, [][]int{{1, 2}}},
		{[]int{2, 3, 1, 2, 4}, [][]int{{1, 3, 2}, {4}}},
		{chain, nil},
	} {
		got := circles(len(test.next), func(i int) int { return test.next[i] })
		if fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%v: %v, want %v", test.next[:min(9, len(test.next))], got, test.want)
		}
	}
}

// manyUnits gives a manifest with n units, each with the given fields.
func manyUnits(n int, fields string) string {
	var text strings.Builder
	text.WriteString("units:\n")
	for i := range n {
		text.WriteString("  - {id: u" + fmt.Sprint(i) + fields + "}\n")
	}
	return text.String()
}

func TestValidateHostileManifests(t *testing.T) {
	tokens := strings.Repeat("a, ", 3000)
	var words, notFor strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&words, "word%d, ", i)
		fmt.Fprintf(&notFor, "no word%d, ", i)
	}
	var steps strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&steps, "{id: s%d, uses: s, depends_on: [s%d]}, ", i, (i+1)%2000)
	}
	for name, text := range map[string]string{
		"findings without end": manyUnits(60_000, ", path: /x, kind: y"),
		"one long succession": func() string {
			var b strings.Builder
			b.WriteString("units:\n")
			for i := range 50_000 {
				fmt.Fprintf(&b, "  - {id: u%d, temporal: {superseded_by: u%d}}\n", i, i+1)
			}
			return b.String()
		}(),
		"every step against every deny": units(
			item("s", "kind: skill\naction_scope: {paths: ["+tokens+"]}"),
			item("p", "kind: playbook\naction_scope: {deny: {paths: ["+strings.Repeat("b*c*d, ", 3000)+"a]}}\nsteps: ["+steps.String()+"]"),
		),
		"every word against every not_for": with("triggers: [" + words.String() + "]\nnot_for: [" + notFor.String() + "]"),
	} {
		m, _, err := Parse([]byte(text), "k.yaml")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, rules := range []Rules{Agent, Spec} {
			findings := Validate(m, ValidateOptions{Rules: rules, Now: today})
			if len(findings) == 0 || len(findings) > maxReported+2 {
				t.Errorf("%s, rules %d: %d findings", name, rules, len(findings))
			}
		}
	}
}

// An error that comes after more warnings than are reported still makes the
// manifest invalid.
func TestFindingsLeftOutKeepAnError(t *testing.T) {
	c := newChecker(&Manifest{}, ValidateOptions{})
	warning := []rule[int]{{code: "w", severity: Warning, check: func(c *checker, n int) {
		for range n {
			c.add("", "w")
		}
	}}}
	failure := []rule[int]{{code: "e", severity: Error, check: func(c *checker, n int) { c.add("", "e"); c.add("", "e") }}}
	apply(c, place{}, warning, maxReported+10)
	apply(c, place{}, failure, 0)
	got := c.located()
	if len(got) != maxReported+2 || got[maxReported].Code != "e" || got[maxReported+1].Code != "findings-left-out" {
		t.Errorf("%d findings, the last %v", len(got), got[len(got)-1])
	}
}

func TestEmptyManifestIsValidated(t *testing.T) {
	for _, rules := range []Rules{Agent, Spec} {
		if findings := Validate(&Manifest{}, ValidateOptions{Rules: rules}); len(findings) == 0 {
			t.Errorf("rules %d: no findings", rules)
		}
	}
}

// What the shipped examples show on purpose; they are otherwise without findings.
var exampleFindings = map[string][]string{
	"runbooks": {"step-uses-ineligible-ungranted"}, // a playbook that is not granted, and why
}

func TestOwnExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "examples", "*", "knowledge.yaml"))
	if err != nil || len(files) == 0 {
		t.Skip("no examples here yet")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, findings, err := Parse(text, filepath.ToSlash(file))
		if err != nil {
			t.Error(err)
			continue
		}
		exists := func(path string) bool {
			_, err := os.Stat(filepath.Join(filepath.Dir(file), path))
			return err == nil
		}
		for _, rules := range []Rules{Agent, Spec} {
			findings = append(findings, Validate(m, ValidateOptions{Rules: rules, Now: today, Exists: exists})...)
		}
		shown := exampleFindings[filepath.Base(filepath.Dir(file))]
		for _, f := range findings {
			if !slices.Contains(shown, f.Code) {
				t.Errorf("%s:%d: %s: %s", file, f.Pos.Line, f.Code, f.Message)
			}
		}
		for _, code := range shown {
			if !slices.Contains(codes(findings), code) {
				t.Errorf("%s: no finding %s; take it off the list", file, code)
			}
		}
	}
}

// Whatever can be parsed can be validated, and each finding is complete.
func FuzzValidate(f *testing.F) {
	for _, test := range specCases {
		f.Add([]byte(test.bad))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, _, err := Parse(text, "https://h/knowledge.yaml")
		if err != nil {
			return
		}
		for _, rules := range []Rules{Agent, Spec} {
			findings := Validate(m, ValidateOptions{Rules: rules, Now: today, Exists: func(string) bool { return false }})
			for _, f := range findings {
				if f.Code == "" || f.Where == "" || f.Message == "" || f.Hint == "" {
					t.Errorf("incomplete finding %+v", f)
				}
			}
		}
	})
}

func BenchmarkValidate(b *testing.B) {
	text := manyUnits(100_000, ", path: docs/a.md, intent: What is this about?, scope: project, audience: [agent], triggers: [a, b]")
	m, _, err := Parse([]byte("kcp_version: '0.32'\nproject: p\nversion: 1.0.0\n"+text), "k.yaml")
	if err != nil {
		b.Fatal(err)
	}
	for name, rules := range map[string]Rules{"Agent": Agent, "Spec": Spec} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if n := len(Validate(m, ValidateOptions{Rules: rules, Now: today})); n != 0 {
					b.Fatalf("%d findings", n)
				}
			}
		})
	}
	located, _, err := Parse([]byte(manyUnits(100_000, ", path: docs/a.md")), "k.yaml")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("FindingsEverywhere", func(b *testing.B) {
		for b.Loop() {
			Validate(located, ValidateOptions{Rules: Spec, Now: today})
		}
	})
}
