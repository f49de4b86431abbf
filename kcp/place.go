package kcp

import (
	"strconv"
	"strings"
	"sync"
)

// places finds where fields are in the text. The nodes are read again when the
// first path is asked for, and not kept before: few manifests have findings.
type places struct {
	once  sync.Once
	tree  *tree
	root  int32
	items map[int32][]int32          // the items of long lists, by the list's node
	keys  map[int32]map[string]int32 // the values of long mappings, by the mapping's node
}

// longCollection is the number of nodes from which a collection is indexed, so
// that finding every item of a list of a hundred thousand is not quadratic.
const longCollection = 128

// read reads the nodes and indexes long collections.
func (p *places) read(text string) {
	p.tree, p.root = readTree(text)
	p.items = map[int32][]int32{}
	p.keys = map[int32]map[string]int32{}
	for i := range p.tree.nodes {
		kind := p.tree.nodes[i].kind
		if kind != kindList && kind != kindMap {
			continue
		}
		nodes := p.longChildren(int32(i))
		switch {
		case nodes == nil:
		case kind == kindList:
			p.items[int32(i)] = nodes
		default:
			values := make(map[string]int32, len(nodes)/2)
			for k := 0; k+1 < len(nodes); k += 2 {
				if key := p.tree.nodes[nodes[k]].text; values[key] == 0 {
					values[key] = nodes[k+1]
				}
			}
			p.keys[int32(i)] = values
		}
	}
}

// longChildren gives the nodes below a collection, or nil when they are few.
func (p *places) longChildren(at int32) []int32 {
	count := 0
	for child := p.tree.nodes[at].first; child != 0; child = p.tree.nodes[child].next {
		count++
	}
	if count < longCollection {
		return nil
	}
	list := make([]int32, 0, count)
	for child := p.tree.nodes[at].first; child != 0; child = p.tree.nodes[child].next {
		list = append(list, child)
	}
	return list
}

// Position gives the place of a field, such as "units[3].temporal.valid_until".
// An index counts every item of the YAML list. For a field that is not there it
// gives the nearest part of the path that is, and for a manifest that was not
// parsed, or an empty path, the zero or the first position of the text. What an
// include brought is where the include is.
func (m *Manifest) Position(path string) Position {
	if m.places == nil {
		return Position{}
	}
	p := m.places
	p.once.Do(func() { p.read(withFinalBreak(m.src)) })
	path = m.origin(path)
	at := p.root
	here := p.tree.nodes[at]
	for path != "" {
		var child int32
		if child, path = p.child(at, path); child == 0 {
			break
		}
		here = p.tree.nodes[child]
		at = p.tree.resolved(child)
	}
	return Position{Line: int(here.line), Column: int(here.col)}
}

// has reports whether the text has an item of a root list.
func (m *Manifest) has(list string, index int) bool {
	p := m.places
	p.once.Do(func() { p.read(withFinalBreak(m.src)) })
	at := p.tree.resolved(p.value(p.root, list))
	return at != 0 && p.tree.nodes[at].kind == kindList && p.item(at, index) != 0
}

// child takes the first element off a path and finds it below a node.
func (p *places) child(at int32, path string) (child int32, rest string) {
	kind := p.tree.nodes[at].kind
	path = strings.TrimPrefix(path, ".")
	if strings.HasPrefix(path, "[") {
		digits, rest, _ := strings.Cut(path[1:], "]")
		index, err := strconv.Atoi(digits)
		if err != nil || index < 0 || kind != kindList {
			return 0, ""
		}
		return p.item(at, index), rest
	}
	if kind != kindMap {
		return 0, ""
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	return p.value(at, path[:end]), path[end:]
}

// item gives the item of a list at an index, or 0.
func (p *places) item(list int32, index int) int32 {
	if items, ok := p.items[list]; ok {
		if index >= len(items) {
			return 0
		}
		return items[index]
	}
	child := p.tree.nodes[list].first
	for ; child != 0 && index > 0; index-- {
		child = p.tree.nodes[child].next
	}
	return child
}

// value gives the value of a key of a mapping, or 0.
func (p *places) value(mapping int32, key string) int32 {
	if values, ok := p.keys[mapping]; ok {
		return values[key]
	}
	for k := p.tree.nodes[mapping].first; k != 0; {
		value := p.tree.nodes[k].next
		if p.tree.nodes[k].text == key {
			return value
		}
		k = p.tree.nodes[value].next
	}
	return 0
}
