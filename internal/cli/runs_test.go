package cli_test

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/internal/cli"
)

// digests fill a line, and a person must be able to copy them.
var digests = regexp.MustCompile(`sha256:[0-9a-f]{64}`)

// TestRunPages looks at the pages about runs at several widths.
func TestRunPages(t *testing.T) {
	inAgent(t, "tampering")
	env := map[string]string{"NO_COLOR": "1"}
	step := func(width int, exit int, args ...string) {
		t.Helper()
		got := terminal{width: width, env: env}.writ(args...)
		if got.exit != exit {
			t.Fatalf("%q: exit %d\n%s%s", args, got.exit, got.stdout, got.stderr)
		}
		checkShape(t, width, digests.ReplaceAllString(got.stdout, "sha256:..."))
	}
	for _, id := range []string{"a", "b", "c"} {
		step(80, 0, "run", "agent.yaml", "--id", id, "--as", "sam", "--input", `{"invoice": "i-204", "cents": 4000}`)
	}
	step(80, 0, "runs", "delete", "a")
	for _, width := range []int{60, 80, 120} {
		step(width, 0, "runs")
		step(width, 0, "runs", "--deleted")
		step(width, 0, "runs", "show", "a")
		step(width, 0, "runs", "show", "b")
		step(width, 0, "runs", "head", "b")
		step(width, 0, "verify", "b")
		step(width, 0, "replay", "b", "--verify-only")
		step(width, 0, "runs", "prune", "--before", "2026-08-01", "--dry-run")
		step(width, 0, "work", "--help")
		step(width, 1, "migrate", "b", "--agent", "agent.yaml", "--check")
	}
	step(60, 0, "runs", "prune", "--before", "2026-08-01", "--limit", "1")
}

// TestPruneProgress shows on a terminal how far a long deletion has come, and takes
// the line away again.
func TestPruneProgress(t *testing.T) {
	inAgent(t, "tampering")
	for _, id := range []string{"a", "b", "c"} {
		if got := writ("run", "agent.yaml", "--id", id, "--input", `{"invoice": "i-204", "cents": 4000}`); got.exit != 0 {
			t.Fatalf("%+v", got)
		}
	}
	now := today.Add(time.Hour)
	var out, errs bytes.Buffer
	exit := cli.Run(context.Background(), []string{"runs", "prune", "--before", "2026-08-01"}, cli.Streams{
		In: strings.NewReader(""), Out: &out, Err: &errs, ErrTerminal: true,
		Now: func() time.Time { now = now.Add(time.Second); return now },
	})
	if exit != 0 || !strings.Contains(out.String(), "Deleted  3 runs") {
		t.Errorf("exit %d\n%s", exit, out.String())
	}
	if got := errs.String(); !strings.Contains(got, "2 of 3 runs deleted  b") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("progress %q", got)
	}
}
