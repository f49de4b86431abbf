package graph

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/policy"
)

// maxBends bounds the bends of a drawing, since a long edge has one on every
// level that it crosses. Further long edges are drawn straight.
const maxBends = 20_000

// drawing places nodes on levels: every edge but those that close a cycle leads
// to a lower level. Its points are the nodes, by index, and behind them the bends
// of edges that cross levels.
type drawing struct {
	graph  *Compiled
	levels [][]int // points, left to right
	level  []int   // of each point
	column []int   // of each point, within its level
	edges  []drawnEdge
}

type drawnEdge struct {
	from, to int
	label    string // the route and its condition; empty for the ordinary successor
	back     bool   // closes a cycle
	bends    []int  // points between from and to
}

// draw lays a graph out. With merge, all ways between two nodes are one edge.
func draw(c *Compiled, merge bool) *drawing {
	d := &drawing{graph: c, level: make([]int, len(c.Nodes))}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		for _, e := range n.Edges {
			if to := c.Node(e.To); to != nil {
				d.edges = append(d.edges, drawnEdge{from: i, to: to.Index, label: edgeLabel(n, e)})
			}
		}
	}
	if merge {
		d.mergeEdges()
	}
	d.markBack()
	d.setLevels()
	d.addBends()
	d.setColumns()
	return d
}

func (d *drawing) mergeEdges() {
	type ends struct{ from, to int }
	first := map[ends]int{}
	merged := d.edges[:0]
	for _, e := range d.edges {
		if e.label == "" {
			e.label = "next"
		}
		at, ok := first[ends{e.from, e.to}]
		if ok {
			merged[at].label += ", " + e.label
			continue
		}
		first[ends{e.from, e.to}] = len(merged)
		merged = append(merged, e)
	}
	for i := range merged {
		if merged[i].label == "next" {
			merged[i].label = ""
		}
	}
	d.edges = merged
}

// addBends gives each edge a point on every level that it crosses.
func (d *drawing) addBends() {
	for i := range d.edges {
		e := &d.edges[i]
		crossed := d.level[e.to] - d.level[e.from] - 1
		if e.back || crossed < 1 || len(d.level)-len(d.graph.Nodes)+crossed > maxBends {
			continue
		}
		for l := d.level[e.from] + 1; l < d.level[e.to]; l++ {
			e.bends = append(e.bends, len(d.level))
			d.levels[l] = append(d.levels[l], len(d.level))
			d.level = append(d.level, l)
		}
	}
}

// edgeLabel says when an edge is taken.
func edgeLabel(n *Node, e Edge) string {
	if e.Route == RouteContinue || n.Kind == KindFork && slices.Contains(n.Branches, e.Route) {
		return ""
	}
	for _, k := range n.Cases {
		switch {
		case k.Route() != e.Route || k.To != e.To:
		case k.Name == "":
			return "if " + k.When
		default:
			return k.Name + " if " + k.When
		}
	}
	return e.Route
}

// kindLabel says what a node does.
func kindLabel(n *Node) string {
	switch {
	case n.Kind == KindWait && n.ForMillis > 0:
		return "wait " + policy.FormatDuration(n.ForMillis)
	case n.Kind == KindWait && n.Name == "":
		return "wait until"
	case n.Failure:
		return "fail"
	case n.Kind == KindHandler && n.Name == n.ID:
		return "handler"
	case n.Name == "":
		return string(n.Kind)
	}
	return string(n.Kind) + " " + n.Name
}

// links gives the edges, with or without those that close a cycle.
func (d *drawing) links(back bool) adjacency {
	var pairs [][2]int
	for _, e := range d.edges {
		if back || !e.back {
			pairs = append(pairs, [2]int{e.from, e.to})
		}
	}
	return newAdjacency(len(d.graph.Nodes), pairs)
}

// markBack marks the edges that lead back to a node on the current walk.
func (d *drawing) markBack() {
	// Edges are in the order of their sources, so the k-th edge of the adjacency
	// is the k-th of d.edges.
	links := d.links(true)
	const open, done = 1, 2
	state := make([]uint8, links.len())
	next := slices.Clone(links.start)
	walk := func(root int) {
		path := []int{root}
		state[root] = open
		for len(path) > 0 {
			i := path[len(path)-1]
			if next[i] == links.start[i+1] {
				state[i] = done
				path = path[:len(path)-1]
				continue
			}
			edge := next[i]
			next[i]++
			switch to := links.to[edge]; state[to] {
			case open:
				d.edges[edge].back = true
			case 0:
				state[to] = open
				path = append(path, to)
			}
		}
	}
	walk(d.graph.Entry.Index)
	for i := range state {
		if state[i] == 0 {
			walk(i)
		}
	}
}

// setLevels gives each node the length of the longest way to it.
func (d *drawing) setLevels() {
	links := d.links(false)
	waiting := make([]int, links.len())
	for _, to := range links.to {
		waiting[to]++
	}
	var ready []int
	for i, n := range waiting {
		if n == 0 {
			ready = append(ready, i)
		}
	}
	for k := 0; k < len(ready); k++ {
		for _, to := range links.targets(ready[k]) {
			d.level[to] = max(d.level[to], d.level[ready[k]]+1)
			if waiting[to]--; waiting[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	for i, l := range d.level {
		for len(d.levels) <= l {
			d.levels = append(d.levels, nil)
		}
		d.levels[l] = append(d.levels[l], i)
	}
}

// setColumns orders each level by the mean column of the points above.
func (d *drawing) setColumns() {
	var up [][2]int
	for _, e := range d.edges {
		if e.back {
			continue
		}
		from := e.from
		for _, p := range append(slices.Clone(e.bends), e.to) {
			up = append(up, [2]int{p, from})
			from = p
		}
	}
	above := newAdjacency(len(d.level), up)
	d.column = make([]int, len(d.level))
	for _, nodes := range d.levels {
		mean := map[int]float64{}
		for _, i := range nodes {
			for _, from := range above.targets(i) {
				mean[i] += float64(d.column[from]) / float64(len(above.targets(i)))
			}
		}
		slices.SortStableFunc(nodes, func(a, b int) int {
			switch {
			case mean[a] < mean[b]:
				return -1
			case mean[a] > mean[b]:
				return 1
			}
			return 0
		})
		for k, i := range nodes {
			d.column[i] = k
		}
	}
}

// printable gives text that is safe on a terminal.
func printable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 || s == "" {
		return artifact.QuoteDebug(s)
	}
	return s
}

// Text draws a graph for a terminal: its nodes level by level, each with the ways
// on from it.
func Text(c *Compiled) string {
	d := draw(c, false)
	out := make(map[int][]drawnEdge, len(c.Nodes))
	for _, e := range d.edges {
		out[e.from] = append(out[e.from], e)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, version %d, %s\n", c.ID, c.Version, shownDigest(c))
	b.WriteString(limitWords(c.Limits) + "\n")
	for l, nodes := range d.levels {
		b.WriteByte('\n')
		for _, i := range nodes {
			if i >= len(c.Nodes) {
				continue // a bend
			}
			n := &c.Nodes[i]
			fmt.Fprintf(&b, "%3d  %s  %s%s\n", l+1, n.ID, kindLabel(n), nodeNotes(n))
			for _, e := range out[i] {
				label := ""
				if e.label != "" {
					label = "  " + printable(e.label)
				}
				arrow := "->"
				if e.back {
					arrow = "<-"
				}
				fmt.Fprintf(&b, "       %s %s%s\n", arrow, c.Nodes[e.to].ID, label)
			}
		}
	}
	return b.String()
}

// boundless is the least number that stands for no limit: graphs write the largest
// that fits, such as that of [DefaultLimits].
const boundless = 1 << 52

func limitWords(l Limits) string {
	words := fmt.Sprintf("at most %d steps", l.MaxSteps)
	for _, x := range []struct {
		most uint64
		unit string
	}{{l.MaxTokens, "tokens"}, {l.MaxCostMicros, "micro-USD"}} {
		if x.most >= boundless {
			words += ", any number of " + x.unit
		} else {
			words += fmt.Sprintf(", %d %s", x.most, x.unit)
		}
	}
	return words + ", " + policy.FormatDuration(l.TimeoutMillis)
}

func shownDigest(c *Compiled) string {
	if c.Version == 1 {
		return c.Digest.Hex()
	}
	return c.Digest.String()
}

func nodeNotes(n *Node) string {
	var notes []string
	note := func(present bool, format string, args ...any) {
		if present {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	note(n.Terminal && n.Kind != KindEnd, "terminal")
	note(n.Quorum > 1, "%d approvers", n.Quorum)
	note(n.Retry.Attempts > 1, "%d attempts", n.Retry.Attempts)
	note(n.TimeoutMillis > 0, "timeout %s", policy.FormatDuration(n.TimeoutMillis))
	note(n.DeadlineMillis > 0, "deadline %s", policy.FormatDuration(n.DeadlineMillis))
	note(n.MaxVisits > 0, "at most %d visits", n.MaxVisits)
	note(len(n.Writes) > 0, "writes %s", printable(strings.Join(n.Writes, " ")))
	if notes == nil {
		return ""
	}
	return "  (" + strings.Join(notes, ", ") + ")"
}

// Mermaid draws a graph as a Mermaid flowchart.
func Mermaid(c *Compiled) string {
	d := draw(c, false)
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for i := range c.Nodes {
		n := &c.Nodes[i]
		open, shut := mermaidShape(n.Kind)
		fmt.Fprintf(&b, "  n%d%s\"%s<br/>%s\"%s\n", i, open, mermaidText(n.ID), mermaidText(kindLabel(n)), shut)
	}
	for _, e := range d.edges {
		arrow := "-->"
		if e.back {
			arrow = "-.->"
		}
		if e.label != "" {
			arrow += `|"` + mermaidText(e.label) + `"|`
		}
		fmt.Fprintf(&b, "  n%d %s n%d\n", e.from, arrow, e.to)
	}
	return b.String()
}

func mermaidShape(k Kind) (open, shut string) {
	switch k {
	case KindEnd:
		return "([", "])"
	case KindApprove, KindWait:
		return "{{", "}}"
	case KindFork, KindJoin:
		return "[[", "]]"
	case KindSet:
		return "(", ")"
	}
	return "[", "]"
}

// mermaidText writes everything but plain characters as an entity.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r > 0x7f && unicode.IsPrint(r) || unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" .,_/=+-:'()[]", r) {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, "#%d;", r)
	}
	return b.String()
}
