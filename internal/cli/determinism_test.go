package cli_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// sameBytes are command lines whose output must not depend on anything else.
var sameBytes = [][]string{
	{"plan", "move the crane at the berth", "--manifest", "harbour", "--methods", "free,x402", "--budget", "0.22", "--currency", "EUR", "--context-budget", "3500", "--json"},
	{"plan", "move the crane at the berth", "--manifest", "harbour", "--trace"},
	{"plan", "move the crane at the berth", "--manifest", "harbour", "--trace", "--json"},
	{"plan", "does the ferry sail in bad weather", "--manifest", "fleet", "--methods", "free,x402", "--budget", "0.50", "--currency", "EUR", "--max-depth", "2", "--json"},
	{"plan", "does the ferry sail in bad weather", "--manifest", "fleet", "--max-depth", "2"},
	{"why", "pilot-roster", "pilot", "--manifest", "harbour", "--json"},
	{"search", "--terms", "lunch,menu", "--manifest", "spans.yaml", "--json"},
	{"unit", "old", "--manifest", "spans.yaml", "--json"},
	{"timeline", "--manifest", "spans.yaml"},
	{"validate", "bad.yaml", "--json"},
	{"diff", "before.json", "after.json"},
	{"replay", "before.json", "--json"},
}

// TestRepetitions runs the same command lines again and again, on one processor
// and on many.
func TestRepetitions(t *testing.T) {
	t.Chdir("testdata")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, args := range sameBytes {
		want := writ(args...)
		for i := range 20 {
			runtime.GOMAXPROCS([]int{1, 8}[i%2])
			if got := writ(args...); got != want {
				t.Fatalf("%q: run %d differs\n--- got\n%s\n--- want\n%s", args, i, got.stdout, want.stdout)
			}
		}
	}
}

// TestSurroundings runs them as processes under other zones and languages.
func TestSurroundings(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	t.Chdir("testdata")
	for _, args := range sameBytes {
		want := writ(args...).stdout
		for _, environment := range [][]string{
			{"GOMAXPROCS=1", "TZ=UTC", "LANG=C"},
			{"GOMAXPROCS=8", "TZ=Pacific/Kiritimati", "LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8"},
			{"GOMAXPROCS=8", "TZ=America/Los_Angeles", "LANG=sv_SE.UTF-8"},
		} {
			cmd := &exec.Cmd{Path: self, Args: append([]string{"writ"}, args...), Env: append(os.Environ(), environment...)}
			out, _ := cmd.Output() // a negative verdict is an exit code, too
			if string(out) != want {
				t.Errorf("%q under %q differs\n--- got\n%s\n--- want\n%s", args, environment, out, want)
			}
		}
	}
}
