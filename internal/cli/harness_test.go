package cli_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/writ-dev/writ/internal/cli"
)

var update = flag.Bool("update", false, "rewrite the expected outputs")

// today is the date of every test that names none.
var today = time.Date(2026, 7, 6, 12, 0, 0, 0, time.UTC)

// TestMain also serves as the writ program for the scripts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"writ": program})
}

func program() {
	os.Exit(cli.Run(context.Background(), os.Args[1:], cli.Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Env: os.Getenv, Now: func() time.Time { return today.Add(later()) }, Build: "v0.0.0-test",
	}))
}

// began is when the process began.
var began = time.Now()

// later lets a script say how long after the start of the test a process runs, and
// whether its time passes.
func later() time.Duration {
	d, _ := time.ParseDuration(os.Getenv("WRIT_TEST_LATER")) // 0 when nothing is said
	if os.Getenv("WRIT_TEST_PASSES") != "" {
		d += time.Since(began)
	}
	return d
}

// outcome is what one command line did.
type outcome struct {
	exit           int
	stdout, stderr string
}

// terminal is the terminal that a test pretends to have; the zero value is none.
type terminal struct {
	width int
	env   map[string]string
	stdin string
}

// writ runs a command line in-process.
func (term terminal) writ(args ...string) outcome {
	var out, errs bytes.Buffer
	exit := cli.Run(context.Background(), args, cli.Streams{
		In: strings.NewReader(term.stdin), Out: &out, Err: &errs,
		OutTerminal: term.width > 0, Width: term.width,
		Env:   func(key string) string { return term.env[key] },
		Now:   func() time.Time { return today },
		Build: "v0.0.0-test",
	})
	return outcome{exit, out.String(), errs.String()}
}

func writ(args ...string) outcome { return terminal{}.writ(args...) }

// fixtures gives a folder of the shared fixtures. Without them the test is
// skipped, unless somebody said that they are there.
func fixtures(t *testing.T, name string) string {
	t.Helper()
	root := os.Getenv("WRIT_FIXTURES")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	dir, err := filepath.Abs(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("WRIT_FIXTURES") != "" {
			t.Fatal(err)
		}
		t.Skipf("no shared fixtures: %v", err)
	}
	return dir
}

// golden compares text with a file, or writes the file under -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and look at the change\n--- got\n%s\n--- want\n%s", file, got, want)
	}
}
