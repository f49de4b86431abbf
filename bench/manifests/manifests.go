// Package manifests writes knowledge manifests of any size for benchmarks.
//
// Call [YAML] for a manifest in memory, or [Write] to stream one that is too
// large to hold. The same number of units and the same seed give the same
// bytes on every machine, so that two measurements compare the same work.
//
// The mix of fields and of YAML styles is that of published manifests: block
// style with one-line flow lists, double-quoted intents, now and then a block
// scalar, a flow mapping, an unquoted date or a number among the triggers. A
// unit takes about 280 bytes.
package manifests

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
)

// sectionLength is how many units follow one another under a comment line.
const sectionLength = 25

// YAML returns a manifest of so many units.
func YAML(units int, seed uint64) []byte {
	var b bytes.Buffer
	b.Grow(1024 + 300*units)
	if err := Write(&b, units, seed); err != nil {
		panic(err) // a bytes.Buffer returns no error
	}
	return b.Bytes()
}

// Write streams what [YAML] returns.
func Write(w io.Writer, units int, seed uint64) error {
	g := &generator{out: bufio.NewWriter(w), random: rand.NewPCG(seed, 0x9e3779b97f4a7c15)}
	g.header(units)
	for i := range units {
		g.unit(i)
	}
	g.footer(units)
	return g.out.Flush()
}

// A generator writes one manifest. Write errors stay in out until its Flush.
type generator struct {
	out    *bufio.Writer
	random *rand.PCG
	last   string // id of the unit before, for supersession
}

func (g *generator) line(format string, args ...any) {
	fmt.Fprintf(g.out, format+"\n", args...)
}

// below returns a number from 0 to n-1. The slight bias does not matter, and
// unlike rand.Rand it can never change with the Go version.
func (g *generator) below(n int) int { return int(g.random.Uint64() % uint64(n)) }

// chance is true in so many of a thousand cases.
func (g *generator) chance(perMille int) bool { return g.below(1000) < perMille }

func (g *generator) pick(words []string) string { return words[g.below(len(words))] }

// date returns a day between 2024 and 2027.
func (g *generator) date() string {
	return fmt.Sprintf("%d-%02d-%02d", 2024+g.below(4), 1+g.below(12), 1+g.below(28))
}

func (g *generator) header(units int) {
	g.line("# A generated manifest of %d units.", units)
	g.line(`kcp_version: "0.32"`)
	g.line("project: generated-%d", units)
	g.line("version: 1.4.0")
	g.line(`updated: "2026-05-04"`)
	g.line("language: en")
	g.line(`license: "Apache-2.0"`)
	g.line("rate_limits:")
	g.line("  default:")
	g.line("    requests_per_minute: 60")
	g.line("payment:")
	g.line("  default_tier: free")
	g.line("  methods:")
	g.line("    - type: free")
	g.line("")
	if units == 0 {
		g.line("units: []")
		return
	}
	g.line("units:")
}

func (g *generator) footer(units int) {
	if units < 2 {
		return
	}
	g.line("")
	g.line("relationships:")
	for range min(units, 20) {
		g.line("  - from: %s", g.earlier(units))
		g.line("    to: %s", g.earlier(units))
		g.line("    type: enables")
	}
}

// place is where in the invented handbook a unit stands. It depends on the
// number of the unit alone, so that other units can refer to it.
func place(i int) (area, kind string) {
	return areas[i/sectionLength%len(areas)], kinds[i%len(kinds)]
}

func id(i int) string {
	area, kind := place(i)
	return fmt.Sprintf("%s-%s-%d", area, kind, i)
}

// earlier names one of the first n units.
func (g *generator) earlier(n int) string { return id(g.below(n)) }
