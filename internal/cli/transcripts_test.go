package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
)

// transcript is one recorded run of the reference agent. Exit codes count
// always, standard output where --json was given; wording is free.
type transcript struct {
	Args   []string
	Cwd    string
	Env    map[string]string
	Setup  []step
	Exit   int
	Stdout string
	Stderr string
}

// step prepares the folder of a run.
type step struct {
	Write, Append, Text string
	Copy, To            string
	Replace, Old, New   string
	Args                []string
	StdoutTo            string `json:"stdout_to"`
}

// laterCommands and laterFlags need what this version does not have.
var (
	laterCommands = []string{"ask", "remember", "recall", "mcp", "serve"}
	laterFlags    = []string{"--memory"}
)

func (tr *transcript) deferred() bool {
	runs := [][]string{tr.Args}
	for _, s := range tr.Setup {
		runs = append(runs, s.Args)
	}
	for _, args := range runs {
		if len(args) > 0 && slices.Contains(laterCommands, args[0]) ||
			slices.ContainsFunc(args, func(a string) bool { return slices.Contains(laterFlags, a) }) {
			return true
		}
	}
	return false
}

// deviations are the runs that answer differently on purpose: the exit code and
// the words that are right instead.
var deviations = map[string]struct {
	exit         int
	says, reason string
}{
	"006-equals-form-rejected":              {0, "Load ", "--flag=value is understood"},
	"013-budget-not-a-number":               {2, "--budget", "a ceiling that does not parse is refused, not dropped"},
	"060-replay-context-budget-false-drift": {0, "reproduced", "replay plans with the context budget, too"},
	"061-replay-correlation-id-false-drift": {0, "reproduced", "the correlation id is not part of the plan"},
	"035-incident-warm-json":                {0, `"status": "unverifiable"`, selfAttested},
	"123-bug-max-depth-nan-unbounded":       {2, "--max-depth", "a depth that does not parse is refused, not dropped"},
	"118-bug-watch-task-replaces-location":  {0, `"project":"fjordwire-newsstand"`, "the task is never taken for the location"},
	"119-bug-init-scoped-npm-name":          {1, "nothing to make units of", "names are quoted, but a folder with a package.json alone has no knowledge"},
	"cli-07":                                {0, `"status": "unverifiable"`, selfAttested},
	"cli-08":                                {0, `"status": "unverifiable"`, selfAttested},
	"cli-10":                                {1, "self-attested", "such a signature does not satisfy --require-signature"},
}

// selfAttested is the reason where nothing else differs than what is said of a
// signature.
const selfAttested = "a key that comes with the signature vouches for nobody"

// asSelfAttested says of signatures what is right instead.
var asSelfAttested = strings.NewReplacer(
	`"status": "verified"`, `"status": "unverifiable"`,
	`"ed25519 signature verified (envelope key)"`, `"ed25519 signature matches, but only the envelope's own key vouches (self-attested)"`)

type tally struct{ ran, matched, deviated, deferred int }

func TestTranscripts(t *testing.T) {
	dir := fixtures(t, "transcripts")
	examples := fixtures(t, "examples")
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts in %s: %v", dir, err)
	}
	var count tally
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		var tr transcript
		readJSON(t, file, &tr)
		count.run(t, name, examples, &tr)
	}
	t.Logf("transcripts: %d files, %d ran, %d matched, %d deviated by name, %d deferred",
		len(files), count.ran, count.matched, count.deviated, count.deferred)
	count.complete(t, false)
}

// complete fails when a deviation that is named has not been met: the list must
// not outlive its reasons.
func (count *tally) complete(t *testing.T, cli bool) {
	named := 0
	for name := range deviations {
		if strings.HasPrefix(name, "cli-") == cli {
			named++
		}
	}
	if count.deviated != named {
		t.Errorf("%d runs deviated, and %d are named", count.deviated, named)
	}
}

func (count *tally) run(t *testing.T, name, examples string, tr *transcript) {
	if tr.deferred() {
		count.deferred++
		return
	}
	count.ran++
	deviation, deviates := deviations[name]
	ok := t.Run(name, func(t *testing.T) {
		got := tr.play(t, examples)
		if deviates {
			if got.exit != deviation.exit || !strings.Contains(got.stdout+got.stderr, deviation.says) {
				t.Errorf("exit %d, want %d and %q, because %s (the reference: %d)\n%s%s",
					got.exit, deviation.exit, deviation.says, deviation.reason, tr.Exit, got.stdout, got.stderr)
			}
			if deviation.reason != selfAttested {
				return
			}
			tr.Stdout = asSelfAttested.Replace(tr.Stdout)
		}
		tr.check(t, got)
	})
	switch {
	case deviates:
		count.deviated++
	case ok:
		count.matched++
	}
}

// play prepares the folder and runs the command.
func (tr *transcript) play(t *testing.T, examples string) outcome {
	tmp := t.TempDir()
	in := func(s string) string { return strings.ReplaceAll(s, "{{TMP}}", tmp) }
	switch tr.Cwd {
	case "{{TMP}}":
		t.Chdir(tmp)
	default:
		t.Chdir(filepath.Join(examples, tr.Cwd))
	}
	for _, s := range tr.Setup {
		s.run(t, examples, in)
	}
	args := make([]string, len(tr.Args))
	for i, a := range tr.Args {
		args[i] = in(a)
	}
	got := terminal{env: tr.Env}.writ(args...)
	got.stdout = strings.ReplaceAll(got.stdout, tmp, "{{TMP}}")
	return got
}

func (s step) run(t *testing.T, examples string, in func(string) string) {
	switch {
	case s.Write != "":
		must(t, os.MkdirAll(filepath.Dir(in(s.Write)), 0o755))
		must(t, os.WriteFile(in(s.Write), []byte(in(s.Text)), 0o644))
	case s.Append != "":
		old, err := os.ReadFile(in(s.Append))
		must(t, err)
		must(t, os.WriteFile(in(s.Append), append(old, in(s.Text)...), 0o644))
	case s.Copy != "":
		must(t, os.CopyFS(in(s.To), os.DirFS(filepath.Join(examples, s.Copy))))
	case s.Replace != "":
		old, err := os.ReadFile(in(s.Replace))
		must(t, err)
		text := strings.Replace(string(old), in(s.Old), in(s.New), 1)
		must(t, os.WriteFile(in(s.Replace), []byte(text), 0o644))
	case len(s.Args) > 0:
		args := make([]string, len(s.Args))
		for i, a := range s.Args {
			args[i] = in(a)
		}
		got := writ(args...)
		if got.exit != 0 {
			t.Fatalf("preparing by %q: exit %d\n%s", args, got.exit, got.stderr)
		}
		if s.StdoutTo != "" {
			must(t, os.WriteFile(in(s.StdoutTo), []byte(got.stdout), 0o644))
		}
	}
}

func (tr *transcript) check(t *testing.T, got outcome) {
	t.Helper()
	if got.exit != tr.Exit {
		t.Errorf("exit %d, want %d\n%s%s", got.exit, tr.Exit, got.stdout, got.stderr)
	}
	if slices.Contains(tr.Args, "--json") && withoutFindings(t, got.stdout) != tr.Stdout {
		t.Errorf("standard output differs\n--- got\n%s\n--- want\n%s", got.stdout, tr.Stdout)
	}
	if strings.HasPrefix(tr.Stderr, "kcp-agent: ") {
		if !strings.HasPrefix(got.stderr, "writ: ") || got.stdout != "" {
			t.Errorf("want one message on standard error and nothing else, got %q and %q", got.stderr, got.stdout)
		}
	}
}

// withoutFindings leaves out what the reference does not say, and nothing else.
func withoutFindings(t *testing.T, document string) string {
	v, err := artifact.ParseValue([]byte(document))
	must(t, err)
	if _, ok := v.Get("writ"); !ok {
		return document
	}
	text, err := artifact.Encode(v.Without("writ"))
	must(t, err)
	return string(text) + "\n"
}

func TestDifferentialCLI(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(fixtures(t, "vectors"), "differential", "cli.jsonl"))
	must(t, err)
	examples := fixtures(t, "examples")
	var count tally
	records := 0
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		var record struct {
			Cwd            string
			Args           []string
			ExitCode       int
			Stdout, Stderr string
		}
		must(t, json.Unmarshal([]byte(line), &record))
		records++
		if record.Cwd != "examples" {
			t.Fatalf("line %d runs in %q", i+1, record.Cwd)
		}
		tr := &transcript{Args: record.Args, Cwd: ".", Exit: record.ExitCode, Stdout: record.Stdout, Stderr: record.Stderr}
		count.run(t, fmt.Sprintf("cli-%02d", i+1), examples, tr)
	}
	t.Logf("cli.jsonl: %d records, %d ran, %d matched, %d deviated by name, %d deferred",
		records, count.ran, count.matched, count.deviated, count.deferred)
	count.complete(t, true)
}

// TestReferenceArtifactsReplay replays what the reference agent wrote, trees
// included, and says that an edit is seen.
func TestReferenceArtifactsReplay(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtures(t, "transcripts"), "*.json"))
	must(t, err)
	examples := fixtures(t, "examples")
	replayed := 0
	for _, file := range files {
		var tr transcript
		readJSON(t, file, &tr)
		if len(tr.Args) == 0 || tr.Args[0] != "plan" || !slices.Contains(tr.Args, "--json") || tr.Exit != 0 || strings.Contains(tr.Stdout, "{{") {
			continue
		}
		replayed++
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Chdir(examples)
			saved := filepath.Join(t.TempDir(), "saved.json")
			must(t, os.WriteFile(saved, []byte(tr.Stdout), 0o644))
			if got := writ("replay", saved); got.exit != 0 {
				t.Errorf("exit %d\n%s%s", got.exit, got.stdout, got.stderr)
			}
			edited := strings.Replace(tr.Stdout, `"strict": false`, `"strict": true`, 1)
			must(t, os.WriteFile(saved, []byte(edited), 0o644))
			if got := writ("replay", saved); edited != tr.Stdout && got.exit == 0 && strings.Contains(tr.Stdout, `"loadEligible": false`) {
				t.Errorf("an edited plan replays as identical\n%s", got.stdout)
			}
		})
	}
	t.Logf("reference artifacts: %d replayed", replayed)
	if replayed == 0 {
		t.Error("no artifact of the reference was replayed")
	}
}

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	must(t, err)
	must(t, json.Unmarshal(data, into))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
