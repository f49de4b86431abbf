package graph

import (
	"slices"
	"sort"
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// maxForkDepth bounds how deep forks nest.
const maxForkDepth = 8

// region is a branch while it is checked.
type region struct {
	fork  *Node
	start *Node
	nodes []int // in the order of discovery
}

// checkForks finds the branches of every fork and reports those that do not form
// regions: entered at their first node only, left through the fork's join only,
// without a node in common, without an end, with disjoint writes. It fills in
// Fork, Join and Branch of the nodes.
func checkForks(f *findings, c *Compiled, links adjacency) {
	joins := map[string]*Node{}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.Kind != KindJoin {
			continue
		}
		n.Join = c.Node(n.Name)
		if first := joins[n.Name]; first != nil {
			f.fail(CodeBadFork, nodePointer(n.ID)+"/join", "fork %q is ended by %q already; a fork has one join", n.Name, first.ID)
			continue
		}
		joins[n.Name] = n
	}
	var regions []region
	budget := (maxForkDepth + 1) * len(c.Nodes)
	for i := range c.Nodes {
		fork := &c.Nodes[i]
		if fork.Kind != KindFork {
			continue
		}
		at := nodePointer(fork.ID) + "/fork"
		join := joins[fork.ID]
		if join == nil {
			f.fail(CodeBadFork, at, "no join ends fork %q; add a node with join: %s where its branches meet", fork.ID, fork.ID)
			continue
		}
		fork.Fork = &Fork{Join: join}
		for _, start := range fork.Branches {
			r := region{fork: fork, start: c.Node(start)}
			if budget -= r.explore(c, links, join, budget); budget <= 0 {
				f.fail(CodeBadFork, at, "forks overlap, or nest deeper than %d", maxForkDepth)
				return
			}
			regions = append(regions, r)
		}
	}
	checkRegions(f, c, links, regions)
	if f.err() == nil {
		nestRegions(c, regions)
		checkBranchWrites(f, c)
	}
}

// explore collects the nodes from the start up to the join, at most budget of
// them, and gives their number.
func (r *region) explore(c *Compiled, links adjacency, join *Node, budget int) int {
	if r.start == join {
		return 1
	}
	seen := map[int]bool{r.start.Index: true}
	r.nodes = []int{r.start.Index}
	for k := 0; k < len(r.nodes) && len(r.nodes) < budget; k++ {
		for _, to := range links.targets(r.nodes[k]) {
			if to != join.Index && !seen[to] {
				seen[to] = true
				r.nodes = append(r.nodes, to)
			}
		}
	}
	return len(r.nodes)
}

func checkRegions(f *findings, c *Compiled, links adjacency, regions []region) {
	into := links.reversed()
	for _, r := range regions {
		inside := map[int]bool{}
		for _, i := range r.nodes {
			inside[i] = true
		}
		fail := func(n *Node, format string, args ...any) {
			f.fail(CodeBadFork, nodePointer(n.ID), format, args...)
		}
		for _, i := range r.nodes {
			n := &c.Nodes[i]
			switch {
			case n == r.fork:
				fail(n, "branch %q of fork %q leads back to the fork", r.start.ID, r.fork.ID)
			case n.Kind == KindEnd:
				fail(n, "node %q ends the run inside branch %q; a branch ends at join %q", n.ID, r.start.ID, r.fork.Fork.Join.ID)
			case n.Kind == KindJoin && !inside[n.Join.Index]:
				fail(n, "branch %q of fork %q runs into the join of fork %q", r.start.ID, r.fork.ID, n.Join.ID)
			}
			for _, from := range into.targets(i) {
				if !inside[from] && !(from == r.fork.Index && n == r.start) {
					fail(n, "node %q belongs to branch %q of fork %q, but %q leads into it too",
						n.ID, r.start.ID, r.fork.ID, c.Nodes[from].ID)
				}
			}
		}
	}
	checkJoins(f, c, into, regions)
}

// checkJoins reports edges into a join from outside of its branches, and branches
// that do nothing.
func checkJoins(f *findings, c *Compiled, into adjacency, regions []region) {
	inside := map[*Node]map[int]bool{}
	for _, r := range regions {
		if len(r.nodes) == 0 {
			f.fail(CodeBadFork, nodePointer(r.fork.ID)+"/fork", "branch %q of fork %q is the join itself", r.start.ID, r.fork.ID)
		}
		if inside[r.fork] == nil {
			inside[r.fork] = map[int]bool{}
		}
		for _, i := range r.nodes {
			inside[r.fork][i] = true
		}
	}
	for i := range c.Nodes {
		fork := &c.Nodes[i]
		nodes, ok := inside[fork]
		if !ok {
			continue
		}
		join := fork.Fork.Join
		for _, from := range into.targets(join.Index) {
			if !nodes[from] && from != fork.Index {
				f.fail(CodeBadFork, nodePointer(join.ID), "node %q leads to join %q, but is in no branch of fork %q", c.Nodes[from].ID, join.ID, fork.ID)
			}
		}
	}
}

// nestRegions turns well-formed regions into branches, outer ones first.
func nestRegions(c *Compiled, regions []region) {
	sort.SliceStable(regions, func(i, j int) bool { return len(regions[i].nodes) > len(regions[j].nodes) })
	for _, r := range regions {
		b := &Branch{Name: r.start.ID, Fork: r.fork, Parent: r.fork.Branch}
		for _, i := range r.nodes {
			b.Nodes = append(b.Nodes, c.Nodes[i].ID)
			b.Writes = append(b.Writes, c.Nodes[i].Writes...)
		}
		slices.Sort(b.Nodes)
		slices.Sort(b.Writes)
		b.Writes = slices.Compact(b.Writes)
		for _, i := range r.nodes {
			c.Nodes[i].Branch = b
		}
		r.fork.Fork.Branches = append(r.fork.Fork.Branches, b)
	}
	for i := range c.Nodes {
		if fork := c.Nodes[i].Fork; fork != nil {
			order := c.Nodes[i].Branches
			sort.Slice(fork.Branches, func(a, b int) bool {
				return slices.Index(order, fork.Branches[a].Name) < slices.Index(order, fork.Branches[b].Name)
			})
		}
	}
}

// checkBranchWrites proves that the branches of each fork write disjoint paths,
// and warns of reads that do not see what a parallel branch writes.
func checkBranchWrites(f *findings, c *Compiled) {
	for i := range c.Nodes {
		if c.Nodes[i].Fork == nil {
			continue
		}
		writer := map[string]string{} // path to branch
		for _, b := range c.Nodes[i].Fork.Branches {
			for _, path := range b.Writes {
				if first, ok := writer[path]; ok {
					f.fail(CodeBranchConflict, nodePointer(c.Nodes[i].ID)+"/fork", "branches %q and %q both write %s; give each a path of its own", first, b.Name, path)
				}
				writer[path] = b.Name
			}
		}
		for _, path := range artifact.SortedNames(writer) {
			for above := parent(path); above != ""; above = parent(above) {
				if first, ok := writer[above]; ok && first != writer[path] {
					f.fail(CodeBranchConflict, nodePointer(c.Nodes[i].ID)+"/fork", "branch %q writes %s and branch %q writes %s in it; give each a path of its own", first, above, writer[path], path)
				}
			}
		}
		checkBranchReads(f, c, &c.Nodes[i], writer)
	}
}

func checkBranchReads(f *findings, c *Compiled, fork *Node, writer map[string]string) {
	paths := artifact.SortedNames(writer)
	for _, b := range fork.Fork.Branches {
		for _, id := range b.Nodes {
			for _, read := range c.Node(id).Reads {
				other := slices.IndexFunc(paths, func(p string) bool { return writer[p] != b.Name && artifact.PointersOverlap(p, read) })
				if other >= 0 {
					f.warn(CodeBranchRead, nodePointer(id)+"/reads", "node %q reads %s as it was at fork %q; what branch %q writes there is not seen", id, read, fork.ID, writer[paths[other]])
				}
			}
		}
	}
}

// parent gives the path above, "" at the top.
func parent(path string) string {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return ""
	}
	return path[:i]
}
