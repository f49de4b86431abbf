package graph

import "slices"

// adjacency holds the edges of a graph of n nodes by source: the targets of node
// i are to[start[i]:start[i+1]].
type adjacency struct {
	start []int
	to    []int
}

func newAdjacency(n int, edges [][2]int) adjacency {
	a := adjacency{start: make([]int, n+1), to: make([]int, len(edges))}
	for _, e := range edges {
		a.start[e[0]+1]++
	}
	for i := range n {
		a.start[i+1] += a.start[i]
	}
	next := slices.Clone(a.start)
	for _, e := range edges {
		a.to[next[e[0]]] = e[1]
		next[e[0]]++
	}
	return a
}

func (a adjacency) len() int            { return len(a.start) - 1 }
func (a adjacency) targets(i int) []int { return a.to[a.start[i]:a.start[i+1]] }

// reversed gives the same edges from target to source.
func (a adjacency) reversed() adjacency {
	edges := make([][2]int, 0, len(a.to))
	for from := range a.len() {
		for _, to := range a.targets(from) {
			edges = append(edges, [2]int{to, from})
		}
	}
	return newAdjacency(a.len(), edges)
}

// reachable marks the nodes that can be reached from the given ones, themselves
// included.
func reachable(a adjacency, from ...int) []bool {
	seen := make([]bool, a.len())
	stack := make([]int, 0, len(from))
	push := func(i int) {
		if !seen[i] {
			seen[i] = true
			stack = append(stack, i)
		}
	}
	for _, i := range from {
		push(i)
	}
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, to := range a.targets(i) {
			push(to)
		}
	}
	return seen
}

func allReached(seen []bool) bool { return !slices.Contains(seen, false) }

// components gives each node the number of its strongly connected component, by
// Tarjan's algorithm without recursion: linear in nodes and edges. An edge lies
// on a cycle if and only if both its ends are in one component.
func components(a adjacency) []int {
	const unseen = -1
	n := a.len()
	component, order, low := filled(n, unseen), filled(n, unseen), make([]int, n)
	next := slices.Clone(a.start) // the edge to follow next, per node
	var path, open []int          // the walk, and the nodes without a component yet
	visited, count := 0, 0
	for root := range n {
		if order[root] != unseen {
			continue
		}
		path = append(path, root)
		for len(path) > 0 {
			i := path[len(path)-1]
			if order[i] == unseen {
				order[i], low[i] = visited, visited
				visited++
				open = append(open, i)
			}
			if next[i] < a.start[i+1] {
				to := a.to[next[i]]
				next[i]++
				if order[to] == unseen {
					path = append(path, to)
				} else if component[to] == unseen {
					low[i] = min(low[i], order[to])
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				above := path[len(path)-1]
				low[above] = min(low[above], low[i])
			}
			if low[i] != order[i] {
				continue
			}
			for done := false; !done; {
				last := open[len(open)-1]
				open = open[:len(open)-1]
				component[last] = count
				done = last == i
			}
			count++
		}
	}
	return component
}

func filled(n, with int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = with
	}
	return s
}
