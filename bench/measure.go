package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Names of the programs in the table.
const (
	nameUncached  = "writ"
	nameCached    = "writ, cached"
	nameReference = "reference"
)

// A program is one command line under measurement.
type program struct {
	name string
	argv []string
	env  []string
}

// A sample is what one run of a program took.
type sample struct {
	cpu  time.Duration // user and system time of all its threads
	wall time.Duration
	peak int64 // bytes of resident memory, 0 where the system does not tell
}

// lineUp lists the programs that take turns on one manifest. Their caches and
// settings live in dir, so the user's are neither read nor written.
func lineUp(o options, dir, manifest string, size int64) []program {
	args := []string{"plan", task, "--manifest", manifest, "--as-of", asOf, "--json"}
	env := append(os.Environ(), "HOME="+dir, "LocalAppData="+dir, "AppData="+dir,
		"XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"))
	own := append([]string{o.writ}, args...)
	if size > writLimit {
		own = append(own, "--max-manifest-bytes", strconv.FormatInt(size, 10))
	}
	programs := []program{
		{nameUncached, append(own[:len(own):len(own)], "--no-cache"), env},
		{nameCached, own, env},
	}
	if len(o.reference) > 0 {
		argv := append(o.reference[:len(o.reference):len(o.reference)], args...)
		programs = append(programs, program{nameReference, argv, env})
	}
	return programs
}

// takeTurns runs the programs A B C A B C ..., so many times each. A first
// round warms the caches of writ and of the system and is not counted.
func takeTurns(ctx context.Context, programs []program, runs int) ([][]sample, error) {
	samples := make([][]sample, len(programs))
	for round := range runs + 1 {
		for i, p := range programs {
			s, err := measure(ctx, p)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			if round > 0 {
				samples[i] = append(samples[i], s)
			}
		}
	}
	return samples, nil
}

// measure runs a program once and asks the system what it took.
//
// On Linux a child begins with its parent's peak memory as its own, because
// the two share their memory until the child starts its program. So bench
// stays small: it streams manifests and throws all output away.
func measure(ctx context.Context, p program) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	var complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, p.argv[0], p.argv[1:]...)
	cmd.Env = p.env
	cmd.Stderr = &complaint // standard output goes to the null device
	start := time.Now()
	if err := cmd.Run(); err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(complaint.String()), "\n")
		return sample{}, fmt.Errorf("%w: %s", err, line)
	}
	state := cmd.ProcessState
	return sample{
		cpu:  state.UserTime() + state.SystemTime(),
		wall: time.Since(start),
		peak: peakMemory(state),
	}, nil
}
