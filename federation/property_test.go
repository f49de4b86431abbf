package federation_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-dev/writ/federation"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/planner"
)

const host = "https://w.test/"

// drawWorld draws a web with cycles, diamonds, dead ends, broken pages,
// redirects, odd spellings, prices and references that may not be followed.
func drawWorld(t *rapid.T, redirects bool) *world {
	w := newWorld()
	n := rapid.IntRange(1, 10).Draw(t, "pages")
	target := rapid.Custom(func(t *rapid.T) string {
		name := fmt.Sprintf("p%d", rapid.IntRange(0, n).Draw(t, "page")) // the last one is not there
		if redirects && rapid.IntRange(0, 3).Draw(t, "by redirect") == 0 {
			name = strings.Replace(name, "p", "r", 1)
		}
		return rapid.SampledFrom([]string{host, "", "./x/../", "https://W.TEST:443/"}).Draw(t, "spelling") + name
	})
	ref := rapid.Custom(func(t *rapid.T) string {
		extra := rapid.SampledFrom([]string{"", "", "", "", "",
			", context: [prod]", ", context: [dev]",
			", agent_identity: {required: true, credential_hint: pat}",
			", temporal: {valid_until: 2020-01-01}",
		}).Draw(t, "extra")
		return fmt.Sprintf("{id: f%d, url: %q%s}", rapid.IntRange(0, 99).Draw(t, "id"), target.Draw(t, "url"), extra)
	})
	for i := range n {
		price := rapid.SampledFrom([]string{"", "", "0.25", "0.1", "0.000001"}).Draw(t, "price")
		text := page(fmt.Sprintf("p%d", i), price, rapid.SliceOfN(ref, 0, 4).Draw(t, "refs")...)
		if i > 0 && rapid.IntRange(0, 9).Draw(t, "broken") == 0 {
			text = "- not a mapping\n"
		}
		w.pages[fmt.Sprintf("%sp%d", host, i)] = text
		w.redirects[fmt.Sprintf("%sr%d", host, i)] = fmt.Sprintf("%sp%d", host, rapid.IntRange(0, n).Draw(t, "leads to"))
	}
	return w
}

func drawOptions(t *rapid.T, w *world) federation.Options {
	o := federation.Options{
		Open:     w.open,
		MaxDepth: rapid.IntRange(0, 4).Draw(t, "depth"),
		MaxNodes: kcp.Number{Value: float64(rapid.IntRange(1, 20).Draw(t, "nodes")), Set: true},
		Plan:     planner.Options{AsOf: "2026-07-06", Env: kcp.String{Value: "prod", Set: true}},
	}
	o.Plan.Capabilities.PaymentMethods = []string{"free", "x402"}
	if rapid.Bool().Draw(t, "budgeted") {
		o.Plan.Budget = &planner.Budget{Amount: rapid.SampledFrom([]float64{0, 0.3, 0.7, 5}).Draw(t, "budget")}
	}
	return o
}

func walked(t testing.TB, o federation.Options, root string) (*federation.Node, string) {
	t.Helper()
	tree, err := federation.Walk(context.Background(), root, "tide", o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := tree.JSON("")
	if err != nil {
		t.Fatal(err)
	}
	return tree, string(text)
}

// TestConcurrencyChangesNothing walks drawn webs one manifest at a time and many
// at once: the same bytes, and the same requests, as a plain walk makes them.
func TestConcurrencyChangesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt, true)
		o := drawOptions(rt, w)
		o.Concurrency = 1
		tree, want := walked(t, o, host+"p0")
		requests := w.requests()
		for _, n := range []int{2, 3, 32} {
			o.Concurrency = n
			_, got := walked(t, o, host+"p0")
			if got != want {
				rt.Fatalf("concurrency %d\n%s\nconcurrency 1\n%s", n, got, want)
			}
			if again := w.requests(); !slices.Equal(again, requests) {
				rt.Fatalf("concurrency %d asks for\n%q\nand concurrency 1 for\n%q", n, again, requests)
			}
		}
		checkTree(rt, tree, o, len(requests))
		for _, line := range requests {
			if !strings.HasSuffix(line, " x1") {
				rt.Fatalf("asked more than once: %s", line)
			}
		}
	})
}

// checkTree holds what every tree promises.
func checkTree(t *rapid.T, tree *federation.Node, o federation.Options, requests int) {
	if float64(requests) > o.MaxNodes.Value {
		t.Fatalf("%d requests, and at most %v manifests", requests, o.MaxNodes.Value)
	}
	nodes, spent := 0, 0.0
	found := map[string]bool{}
	for depth, n := range tree.All() {
		nodes++
		if depth > o.MaxDepth {
			t.Fatalf("%s at depth %d", n.Location, depth)
		}
		if (n.Plan == nil) == (n.Error == "") {
			t.Fatalf("%s has a plan and an error, or neither", n.Location)
		}
		if n.Plan == nil {
			continue
		}
		if found[n.Location] {
			t.Fatalf("%s is there twice", n.Location)
		}
		found[n.Location] = true
		spent += n.Plan.Budget.ProjectedSpend.Value
	}
	if float64(nodes) > o.MaxNodes.Value {
		t.Fatalf("%d nodes", nodes)
	}
	if b := o.Plan.Budget; b != nil && spent > b.Amount+1e-9 {
		t.Fatalf("%v is committed, and the budget is %v", spent, b.Amount)
	}
}

// TestPlainWalk compares drawn webs without redirects with the walk as it is
// written down: depth first, one at a time, looking only at what it has seen.
func TestPlainWalk(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt, false)
		o := drawOptions(rt, w)
		p := &plainWalk{o: o, visited: map[string]bool{}, readAlready: map[string]bool{}}
		p.visit(host+"p0", 0)
		plain := w.requests()
		o.Concurrency = 32
		tree, _ := walked(t, o, host+"p0")
		if got := w.requests(); !slices.Equal(got, plain) {
			rt.Fatalf("asked for %q, and the plain walk for %q", got, plain)
		}
		if got := outline(tree); !slices.Equal(got, p.lines) {
			rt.Fatalf("walked %q, and the plain walk %q", got, p.lines)
		}
	})
}

// plainWalk is the walk of the contract, with nothing read ahead.
type plainWalk struct {
	o           federation.Options
	visited     map[string]bool
	readAlready map[string]bool // failed locations, which are not asked for again
	count       int
	lines       []string
}

func (p *plainWalk) visit(location string, depth int) {
	p.count++
	p.lines = append(p.lines, fmt.Sprintf("%d %s", depth, location))
	if p.readAlready[location] {
		return
	}
	l, err := p.o.Open(context.Background(), location, p.o.Load)
	if err == errGone {
		p.readAlready[location] = true
		return
	}
	p.visited[location] = true
	if err != nil {
		return
	}
	plan, _ := planner.Plan(l.Manifest, "tide", p.o.Plan)
	for i, d := range plan.Federation {
		ref := l.Manifest.Manifests[i]
		if !d.Selected || d.CredentialNeeded != "" || ref.Temporal != nil || depth >= p.o.MaxDepth {
			continue
		}
		to := strings.ReplaceAll(kcp.ResolveLocation(l.Source, d.URL), "W.TEST:443", "w.test")
		if !p.visited[to] && float64(p.count) < p.o.MaxNodes.Value {
			p.visit(to, depth+1)
		}
	}
}

func outline(tree *federation.Node) []string {
	var lines []string
	for depth, n := range tree.All() {
		lines = append(lines, fmt.Sprintf("%d %s", depth, strings.ReplaceAll(n.Location, "W.TEST:443", "w.test")))
	}
	return lines
}
