package main

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// slowestInit is what one package may add to every process start, in
// milliseconds.
const slowestInit = 0.5

// knownSlow are packages that may take longer, with the reason. They come with
// conditions in CEL, whose types are protocol buffers; only leaving CEL out
// would make them quicker.
var knownSlow = map[string]float64{
	"google.golang.org/protobuf/reflect/protodesc":  3,
	"google.golang.org/protobuf/types/descriptorpb": 3,
	"cel.dev/cel-go/common/types/pb":                3,
}

// TestBuiltProgram builds the real binary and runs it: main is wired up, a
// failure reaches the exit code, and starting is cheap.
func TestBuiltProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	program := build(t)
	t.Run("version", func(t *testing.T) {
		out, err := exec.Command(program, "version").Output()
		if err != nil || !strings.HasPrefix(string(out), "writ ") {
			t.Errorf("version: %q, %v", out, err)
		}
	})
	t.Run("exit codes", func(t *testing.T) {
		for want, args := range map[int][]string{1: {"diff", "none", "none"}, 2: {"frobnicate"}} {
			cmd := exec.Command(program, args...)
			if err := cmd.Run(); cmd.ProcessState.ExitCode() != want {
				t.Errorf("%q: %v, want exit %d", args, err, want)
			}
		}
	})
	t.Run("start-up", func(t *testing.T) { checkStartUp(t, program) })
}

// checkStartUp measures what each package does before main. A loaded machine
// makes single runs slow, so the fastest of several counts.
func checkStartUp(t *testing.T, program string) {
	fastest := map[string]float64{}
	for range 25 {
		cmd := exec.Command(program, "version")
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		var trace strings.Builder
		cmd.Stderr = &trace
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		for name, ms := range initTimes(trace.String()) {
			if best, seen := fastest[name]; !seen || ms < best {
				fastest[name] = ms
			}
		}
	}
	if len(fastest) == 0 {
		t.Fatal("no package was traced")
	}
	names := make([]string, 0, len(fastest))
	total := 0.0
	for name, ms := range fastest {
		names = append(names, name)
		total += ms
		if limit := max(slowestInit, knownSlow[name]); ms > limit {
			t.Errorf("package %s takes %.2f ms at every start, more than %.2f", name, ms, limit)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(fastest[b], fastest[a]) })
	t.Logf("%d packages, %.2f ms in all; the slowest:", len(names), total)
	for _, name := range names[:min(6, len(names))] {
		t.Logf("  %.3f ms  %s", fastest[name], name)
	}
}

var initLine = regexp.MustCompile(`(?m)^init (\S+) @\S+ ms, (\S+) ms clock`)

func initTimes(trace string) map[string]float64 {
	times := map[string]float64{}
	for _, match := range initLine.FindAllStringSubmatch(trace, -1) {
		if ms, err := strconv.ParseFloat(match[2], 64); err == nil {
			times[match[1]] = ms
		}
	}
	return times
}

func build(t *testing.T) string {
	t.Helper()
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command")
	}
	program := filepath.Join(t.TempDir(), "writ.exe")
	cmd := exec.Command(tool, "build", "-trimpath", "-buildvcs=false", "-o", program, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}
