package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary stand in for the programs under measurement.
func TestMain(m *testing.M) {
	if role := os.Getenv("BENCH_TEST_ROLE"); role != "" && len(os.Args) > 1 && os.Args[1] == "plan" {
		if role == "fail" {
			os.Stderr.WriteString("writ: the plan is wrong\nmore words\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestParseOptions(t *testing.T) {
	o, err := parseOptions([]string{"--sizes", "1, 20", "--runs=3", "--markdown"}, &bytes.Buffer{})
	if err != nil || !slices.Equal(o.sizes, []int{1, 20}) || o.runs != 3 || !o.markdown {
		t.Errorf("got %+v, %v", o, err)
	}
	for _, args := range [][]string{{"--sizes", "ten"}, {"--sizes", "-1"}, {"--runs", "0"}, {"plan"}} {
		if _, err := parseOptions(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

func TestLineUp(t *testing.T) {
	o := options{writ: "writ", reference: []string{"node", "cli.js"}}
	programs := lineUp(o, "tmp", "k.yaml", writLimit+1)
	var got []string
	for _, p := range programs {
		got = append(got, strings.Join(p.argv, " "))
	}
	plan := "plan " + task + " --manifest k.yaml --as-of " + asOf + " --json"
	limit := " --max-manifest-bytes 67108865"
	want := []string{
		"writ " + plan + limit + " --no-cache",
		"writ " + plan + limit,
		"node cli.js " + plan,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMeasureSize(t *testing.T) {
	self := standIn(t, "succeed")
	dir := t.TempDir()
	results, err := measureSize(context.Background(), options{runs: 2, writ: self, reference: []string{self}}, dir, 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 3 || results[0].cpu <= 0 || results[0].size < 2000 {
		t.Errorf("got %+v", results)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.yaml")); len(left) > 0 {
		t.Errorf("manifests were left behind: %q", left)
	}
}

func TestAFailingProgramIsReported(t *testing.T) {
	self := standIn(t, "fail")
	var stdout, stderr bytes.Buffer
	code := run(context.Background(), []string{"--sizes", "10", "--writ", self}, "", &stdout, &stderr)
	if code != 1 || !strings.HasSuffix(stderr.String(), "10 units: writ: exit status 1: writ: the plan is wrong\n") {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
	if stdout.Len() > 0 {
		t.Errorf("a table was printed: %q", &stdout)
	}
}

func TestSummarize(t *testing.T) {
	r := summarize("writ", 10, 2048, []sample{{cpu: 5, peak: 4}, {cpu: 1, peak: 8}, {cpu: 3, peak: 6}, {cpu: 9, peak: 2}})
	if r.cpu != 4 || r.low != 1 || r.high != 9 || r.peak != 5 {
		t.Errorf("got %+v", r)
	}
}

func TestTables(t *testing.T) {
	m := machine{cpu: "Some CPU", cores: 2, goos: "linux/amd64", goVer: "go1.26.0", date: "2026-06-01"}
	results := []result{
		{name: nameUncached, units: 10, size: 2048, cpu: 10 * time.Millisecond, low: 9 * time.Millisecond, high: 12 * time.Millisecond, wall: 8 * time.Millisecond, peak: 10 << 20},
		{name: nameReference, units: 10, size: 2048, cpu: 200 * time.Millisecond, low: 190 * time.Millisecond, high: 250 * time.Millisecond, wall: 150 * time.Millisecond, peak: 5 << 20},
	}
	want := `Measured on: Some CPU, 2 cores, linux/amd64, go1.26.0, 2026-06-01. Medians of 5 runs.

| units | manifest | program | CPU ms | least..greatest | wall ms | peak MiB | CPU ratio | memory ratio |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| 10 | 2.0 KiB | writ | 10.0 | 9.0..12.0 | 8.0 | 10.0 | 1/20.0 | 2.00 |
| 10 | 2.0 KiB | reference | 200.0 | 190.0..250.0 | 150.0 | 5.0 | 1 | 1 |
`
	if got := markdown(m, 5, results); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := text(m, 5, results[:1]); !strings.Contains(got, "least..greatest") || !strings.Contains(got, " 1 ") {
		t.Errorf("got\n%s", got)
	}
}

func TestRatio(t *testing.T) {
	for _, c := range []struct {
		a, b float64
		want string
	}{{1, 15, "1/15.0"}, {97, 100, "0.97"}, {3, 3, "1"}, {3, 2, "1.50"}, {0, 2, "-"}, {2, 0, "-"}} {
		if got := ratio(c.a, c.b); got != c.want {
			t.Errorf("ratio(%v, %v) is %s, want %s", c.a, c.b, got, c.want)
		}
	}
}

// standIn returns a program that does nothing when told to plan, and then
// succeeds or fails.
func standIn(t *testing.T, role string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	t.Setenv("BENCH_TEST_ROLE", role)
	t.Setenv("GORACE", "atexit_sleep_ms=0") // else each child waits a second
	return self
}
