package planner_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/planner"
)

var update = flag.Bool("update", false, "write the plans of testdata/strict anew")

// A malformed field never aborts a plan and never opens a gate. Each file of
// testdata/strict is about one field; its cases hold a manifest and the right
// plan for the task "alpha".
func TestStrictness(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("testdata", "strict", "*.txtar"))
	if len(files) == 0 {
		t.Fatal("no cases")
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(archive.Files); i += 2 {
			in, want := archive.Files[i], &archive.Files[i+1]
			name := strings.TrimSuffix(filepath.Base(file), ".txtar") + "/" + strings.TrimSuffix(in.Name, ".yaml")
			t.Run(name, func(t *testing.T) {
				got := strictPlan(t, string(in.Data))
				if *update {
					want.Data = []byte(got)
				} else if diff := cmp.Diff(string(want.Data), got); diff != "" {
					t.Error(diff)
				}
			})
		}
		if *update {
			if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// strictPlan plans a case and writes the plan in short.
func strictPlan(t *testing.T, text string) string {
	o := options{AsOf: "2026-07-06"}
	first, _, _ := strings.Cut(text, "\n")
	if given, ok := strings.CutPrefix(first, "# options: "); ok {
		if err := artifact.Decode([]byte(given), &o, artifact.RefuseUnknown); err != nil {
			t.Fatal(err)
		}
	}
	plan, trace := planner.Plan(parse(t, text, "strict.yaml"), "alpha", o.planner())
	if got := outcomes(trace); len(got) != len(plan.Selected) {
		t.Errorf("the trace selects %v, the plan %d unit(s)", got, len(plan.Selected))
	}
	return brief(plan)
}

// outcomes lists the units that a trace calls selected.
func outcomes(trace *planner.Trace) []string {
	var ids []string
	for _, u := range trace.Units() {
		if u.Outcome == planner.OutcomeSelected {
			ids = append(ids, u.ID)
		}
	}
	return ids
}

func brief(plan *planner.LoadPlan) string {
	var b strings.Builder
	for _, s := range plan.Selected {
		if s.LoadEligible {
			b.WriteString("load " + s.ID + "\n")
			continue
		}
		b.WriteString("ineligible " + s.ID + ": " + strings.Join(s.Reasons, "; ") + "\n")
	}
	for _, s := range plan.Skipped {
		b.WriteString("skip " + s.ID + ": " + s.Reason + "\n")
	}
	for _, f := range plan.Federation {
		b.WriteString("ref " + f.ID + ": " + f.Reason + "\n")
	}
	if plan.Budget.Ceiling.Set {
		b.WriteString("money: " + plan.Budget.Note + "\n")
	}
	if plan.Context.Ceiling.Set {
		b.WriteString("tokens: " + plan.Context.Note + "\n")
	}
	if plan.Trust.RequiresAttestation {
		b.WriteString("trust: " + plan.Trust.Note + "\n")
	}
	for _, w := range plan.Warnings {
		b.WriteString("warning: " + w + "\n")
	}
	return b.String()
}
