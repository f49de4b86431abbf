// Command bench measures `writ plan` as a whole process: CPU time and peak
// memory on generated manifests of several sizes.
//
//	go run ./bench
//	WRIT_REFERENCE="node path/to/dist/cli.js" go run ./bench --markdown
//
// It builds writ, writes seeded manifests into a temporary folder and runs, in
// turn, writ without its cache, writ with a warm cache and, where the variable
// WRIT_REFERENCE holds a command line (split at blanks), the reference agent
// with the same arguments. Taking turns spreads whatever else the machine does
// over all of them. It prints medians and ratios; read the ratios, as times
// hold for one machine on one day only.
//
// What happens inside the process is measured by `go test -bench`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/bench/manifests"
)

const (
	task = "how do I deploy and roll back the billing service"
	asOf = "2026-06-01"
	seed = 1

	// writLimit is the manifest size up to which writ needs no flag.
	writLimit = 64 << 20
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Getenv("WRIT_REFERENCE"), os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run does everything and returns the exit code: 0, 1 when a measurement
// failed, 2 for a wrong command line.
func run(ctx context.Context, args []string, reference string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "bench:", err)
		return 2
	}
	o.reference = strings.Fields(reference)
	results, err := measureAll(ctx, o, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	if o.markdown {
		fmt.Fprint(stdout, markdown(thisMachine(), o.runs, results))
		return 0
	}
	fmt.Fprint(stdout, text(thisMachine(), o.runs, results))
	return 0
}

// options is the command line.
type options struct {
	sizes     []int
	runs      int
	markdown  bool
	writ      string   // a built writ; empty: build it
	reference []string // program and first arguments; empty: none
}

func parseOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	sizes := flags.String("sizes", "10,1000,10000,100000", "numbers of units, separated by commas")
	flags.IntVar(&o.runs, "runs", 5, "measured runs of each program on each manifest")
	flags.BoolVar(&o.markdown, "markdown", false, "print a Markdown table")
	flags.StringVar(&o.writ, "writ", "", "measure this binary instead of building ./cmd/writ")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.runs < 1 {
		return o, fmt.Errorf("--runs is %d, want at least 1", o.runs)
	}
	for _, field := range strings.Split(*sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < 0 {
			return o, fmt.Errorf("--sizes: %q is no number of units; write for example --sizes 10,1000", field)
		}
		o.sizes = append(o.sizes, n)
	}
	return o, nil
}

// measureAll prepares a temporary folder and measures every size in it.
func measureAll(ctx context.Context, o options, progress io.Writer) ([]result, error) {
	dir, err := os.MkdirTemp("", "writ-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if o.writ == "" {
		fmt.Fprintln(progress, "building writ")
		if o.writ, err = buildWrit(ctx, dir); err != nil {
			return nil, err
		}
	}
	if o.writ, err = filepath.Abs(o.writ); err != nil {
		return nil, err
	}
	var all []result
	for _, units := range o.sizes {
		fmt.Fprintf(progress, "measuring %d units\n", units)
		results, err := measureSize(ctx, o, dir, units)
		if err != nil {
			return nil, fmt.Errorf("%d units: %w", units, err)
		}
		all = append(all, results...)
	}
	return all, nil
}

// buildWrit builds the program as it is released and returns its path.
func buildWrit(ctx context.Context, dir string) (string, error) {
	out := filepath.Join(dir, "writ.exe") // the suffix does no harm elsewhere
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w",
		"-o", out, "github.com/writ-dev/writ/cmd/writ")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if message, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./cmd/writ: %w\n%s", err, message)
	}
	return out, nil
}

// measureSize writes one manifest and measures every program on it.
func measureSize(ctx context.Context, o options, dir string, units int) ([]result, error) {
	manifest := filepath.Join(dir, fmt.Sprintf("knowledge-%d.yaml", units))
	size, err := writeManifest(manifest, units)
	if err != nil {
		return nil, err
	}
	defer os.Remove(manifest)
	programs := lineUp(o, dir, manifest, size)
	samples, err := takeTurns(ctx, programs, o.runs)
	if err != nil {
		return nil, err
	}
	var results []result
	for i, p := range programs {
		results = append(results, summarize(p.name, units, size, samples[i]))
	}
	return results, nil
}

// writeManifest streams to the file. It must not hold the text: see measure.
func writeManifest(name string, units int) (int64, error) {
	f, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	err = manifests.Write(f, units, seed)
	info, statErr := f.Stat()
	if err := errors.Join(err, statErr, f.Close()); err != nil {
		return 0, err
	}
	return info.Size(), nil
}
