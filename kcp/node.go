package kcp

import "slices"

// A tree holds YAML nodes in one slice, so that a million of them are one
// allocation and an alias is an index: a document of aliases to aliases is no
// larger in memory than in the file. Node 0 is no node.
type tree struct {
	nodes   []node
	aliases bool // some node is an alias
}

// node is one YAML value. The children of a mapping alternate between key and
// value.
type node struct {
	text      string // of a scalar
	first     int32  // first child, or the target of an alias
	next      int32  // next sibling
	line, col int32  // from 1, col in bytes
	kind      nodeKind
	plain     bool // a scalar without quotes, whose text decides its type
	merge     bool // a key that brings in the fields of other mappings ("<<")
	busy      bool // a list whose text is being written; guards against cycles
}

type nodeKind uint8

const (
	kindNone nodeKind = iota
	kindScalar
	kindList
	kindMap
	kindAlias
)

func newTree(capacity int) *tree {
	return &tree{nodes: make([]node, 1, max(capacity, 1))}
}

// reset forgets all nodes and keeps the memory.
func (t *tree) reset() { t.nodes = t.nodes[:1] }

func (t *tree) add(n node) int32 {
	if len(t.nodes) == cap(t.nodes) {
		t.nodes = slices.Grow(t.nodes, len(t.nodes)) // append would grow it by a quarter
	}
	t.nodes = append(t.nodes, n)
	return int32(len(t.nodes) - 1)
}

// resolved follows an alias. A node is never an alias to an alias.
func (t *tree) resolved(i int32) int32 {
	if t.nodes[i].kind == kindAlias {
		return t.nodes[i].first
	}
	return i
}

func (t *tree) isNull(i int32) bool {
	n := &t.nodes[i]
	return n.kind == kindNone || n.kind == kindScalar && n.plain && isNullText(n.text)
}

// children links nodes under a parent in the order in which they come.
type children struct {
	tree   *tree
	parent int32
	last   int32
}

func (c *children) add(i int32) {
	if c.last == 0 {
		c.tree.nodes[c.parent].first = i
	} else {
		c.tree.nodes[c.last].next = i
	}
	c.last = i
}
