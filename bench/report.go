package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// A result is one line of the table: medians over the runs of one program on
// one manifest.
type result struct {
	name      string
	units     int
	size      int64 // bytes of the manifest
	cpu       time.Duration
	low, high time.Duration // least and greatest CPU time
	wall      time.Duration
	peak      int64
}

func summarize(name string, units int, size int64, samples []sample) result {
	cpu := sorted(samples, func(s sample) int64 { return int64(s.cpu) })
	wall := sorted(samples, func(s sample) int64 { return int64(s.wall) })
	peak := sorted(samples, func(s sample) int64 { return s.peak })
	return result{
		name: name, units: units, size: size,
		cpu: time.Duration(median(cpu)), wall: time.Duration(median(wall)), peak: median(peak),
		low: time.Duration(cpu[0]), high: time.Duration(cpu[len(cpu)-1]),
	}
}

func sorted(samples []sample, figure func(sample) int64) []int64 {
	figures := make([]int64, len(samples))
	for i, s := range samples {
		figures[i] = figure(s)
	}
	slices.Sort(figures)
	return figures
}

// median takes sorted figures, at least one.
func median(figures []int64) int64 {
	half := len(figures) / 2
	if len(figures)%2 == 1 {
		return figures[half]
	}
	return (figures[half-1] + figures[half]) / 2
}

// A machine is where the numbers hold.
type machine struct {
	cpu   string
	cores int
	goos  string
	goVer string
	date  string
}

func thisMachine() machine {
	return machine{
		cpu:   cpuModel(),
		cores: runtime.NumCPU(),
		goos:  runtime.GOOS + "/" + runtime.GOARCH,
		goVer: runtime.Version(),
		date:  time.Now().UTC().Format(time.DateOnly),
	}
}

func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "CPU not known"
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "CPU not known"
}

func (m machine) String() string {
	return fmt.Sprintf("%s, %d cores, %s, %s, %s", m.cpu, m.cores, m.goos, m.goVer, m.date)
}

var columns = []string{
	"units", "manifest", "program", "CPU ms", "least..greatest", "wall ms", "peak MiB", "CPU ratio", "memory ratio",
}

// rows turns results into cells. The ratios compare with the reference where
// it ran, else with writ without its cache.
func rows(results []result) [][]string {
	var table [][]string
	for _, r := range results {
		base := baseline(results, r.units)
		table = append(table, []string{
			strconv.Itoa(r.units),
			fmt.Sprintf("%.1f KiB", float64(r.size)/1024),
			r.name,
			millis(r.cpu), millis(r.low) + ".." + millis(r.high), millis(r.wall),
			mebis(r.peak),
			ratio(float64(r.cpu), float64(base.cpu)),
			ratio(float64(r.peak), float64(base.peak)),
		})
	}
	return table
}

func baseline(results []result, units int) result {
	var base result
	for _, r := range results {
		if r.units == units && (r.name == nameReference || r.name == nameUncached && base.name == "") {
			base = r
		}
	}
	return base
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }

func mebis(bytes int64) string {
	if bytes == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(bytes)/(1<<20))
}

// ratio writes small ratios the way goals are stated: one part of so many.
func ratio(a, b float64) string {
	switch {
	case a <= 0 || b <= 0:
		return "-"
	case a == b:
		return "1"
	case a < 0.9*b:
		return fmt.Sprintf("1/%.1f", b/a)
	}
	return fmt.Sprintf("%.2f", a/b)
}

func text(m machine, runs int, results []result) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s; medians of %d runs\n\n", m, runs)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, cells := range append([][]string{columns}, rows(results)...) {
		fmt.Fprintln(w, strings.Join(cells, "\t")+"\t")
	}
	w.Flush()
	return b.String()
}

func markdown(m machine, runs int, results []result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on: %s. Medians of %d runs.\n\n", m, runs)
	fmt.Fprintf(&b, "| %s |\n", strings.Join(columns, " | "))
	fmt.Fprintf(&b, "|%s\n", strings.Repeat(" ---: |", len(columns)))
	for _, cells := range rows(results) {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}
