package planner_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/planner"
)

// savedPlans finds every plan inside an artifact: a plan, a trace, a tree.
func savedPlans(v artifact.Value) []artifact.Value {
	if _, ok := v.Get("selected"); ok {
		return []artifact.Value{v}
	}
	var plans []artifact.Value
	if inner, ok := v.Get("plan"); ok {
		plans = append(plans, savedPlans(inner)...)
	}
	if children, ok := v.Get("children"); ok {
		for _, child := range children.Elements() {
			plans = append(plans, savedPlans(child)...)
		}
	}
	return plans
}

// Plans that the reference wrote replay as identical; an edited one drifts in
// the field that was edited.
func TestTranscriptPlansReplay(t *testing.T) {
	dir := fixtures(t)
	files, err := filepath.Glob(filepath.Join(dir, "transcripts", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	ran := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var transcript struct {
			Stdout string `json:"stdout"`
		}
		if err := artifact.Decode(data, &transcript, artifact.IgnoreUnknown); err != nil {
			t.Fatal(err)
		}
		printed, err := artifact.ParseValue([]byte(transcript.Stdout))
		if err != nil {
			continue // output for a person
		}
		for _, saved := range savedPlans(printed) {
			manifest, _ := saved.Get("manifest")
			source, _ := manifest.Get("source")
			text, err := os.ReadFile(filepath.Join(dir, "examples", source.Text()))
			if source.Text() == "" || strings.Contains(source.Text(), "{{") || err != nil {
				continue // made in a temporary folder
			}
			ran++
			replay(t, filepath.Base(file), saved, parse(t, string(text), source.Text()))
		}
	}
	t.Logf("transcripts: %d plans replayed", ran)
	if ran < 13 {
		t.Errorf("only %d plans found in the transcripts", ran)
	}
}

func replay(t *testing.T, name string, saved artifact.Value, m *kcp.Manifest) {
	t.Helper()
	v, err := planner.Recheck(saved.AppendCompact(nil), m)
	if err != nil || v.Status != planner.Identical {
		t.Errorf("%s: %+v %v", name, v, err)
		return
	}
	for _, field := range []string{"task", "trust", "selected", "skipped", "budget", "context", "warnings"} {
		edited := saved.With(field, artifact.StringValue("edited"))
		switch field {
		case "selected":
			edited = saved.With(field, artifact.ArrayValue(artifact.StringValue("edited")))
		}
		v, err := planner.Recheck(edited.AppendCompact(nil), m)
		if err != nil || v.Status != planner.Drifted || field != "task" && !slices.Equal(v.Fields, []string{field}) {
			t.Errorf("%s with another %s: %+v %v", name, field, v, err)
		}
	}
}

const recheckManifest = "project: p\nversion: \"1\"\nunits:\n  - {id: a, path: a.md, intent: alpha, size_tokens: 10}\n"

func TestRecheck(t *testing.T) {
	m := parse(t, recheckManifest, "p.yaml")
	plan, _ := planner.Plan(m, "alpha", planner.Options{AsOf: "2026-07-06", ContextBudget: number(100)})
	plan.Manifest.SHA256 = m.Digest().Hex()
	saved, err := plan.JSON("req-7")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, saved, text, status, detail string }{
		{"a context budget and a correlation id", string(saved), recheckManifest, planner.Identical,
			"1 selected, 0 skipped — plan reproduced byte-identically, manifest sha256 matches"},
		{"another manifest", string(saved), strings.Replace(recheckManifest, "10", "11", 1), planner.Drifted, "manifest bytes changed: sha256 "},
		{"a comment in the manifest", string(saved), recheckManifest + "# x\n", planner.Drifted, "the plan is the same"},
		{"no digest", strings.Replace(string(saved), `"sha256"`, `"sha"`, 1), recheckManifest, planner.Drifted, "plan differs in: manifest"},
		{"no cap", strings.Replace(string(saved), `"maxUnits": 5`, `"maxUnits": null`, 1), recheckManifest, planner.Identical, "byte-identically"},
	} {
		v, err := planner.Recheck([]byte(tt.saved), parse(t, tt.text, "p.yaml"))
		if err != nil || v.Status != tt.status || !strings.Contains(v.Detail, tt.detail) {
			t.Errorf("%s: %+v %v", tt.name, v, err)
		}
	}
	for _, bad := range []string{"", "[]", "{}", `{"task":"t","selected":[]}`, `{"task":"t","selected":[],"options":{"maxUnits":"x"}}`, `{"task":1,"selected":[],"options":{}}`} {
		if v, err := planner.Recheck([]byte(bad), m); err == nil {
			t.Errorf("%q: %+v, want an error", bad, v)
		}
	}
}
