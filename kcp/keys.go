package kcp

// fewKeys is the number of keys up to which comparing each with each is faster
// than a hash table.
const fewKeys = 16

// checkKeys refuses a mapping in which two keys have the same text.
func (d *decoder) checkKeys(i int32) {
	nodes := d.t.nodes
	count := 0
	for k := nodes[i].first; k != 0; k = nodes[nodes[k].next].next {
		count++
		if count > fewKeys {
			d.checkManyKeys(i)
			return
		}
		for other := nodes[i].first; other != k; other = nodes[nodes[other].next].next {
			if nodes[other].text == nodes[k].text {
				d.duplicateKey(other, k)
				return
			}
		}
	}
}

func (d *decoder) checkManyKeys(i int32) {
	nodes := d.t.nodes
	seen := map[string]int32{}
	for k := nodes[i].first; k != 0; k = nodes[nodes[k].next].next {
		if other, ok := seen[nodes[k].text]; ok {
			d.duplicateKey(other, k)
			return
		}
		seen[nodes[k].text] = k
	}
}

// rootKey takes note of a key of the root, and reports whether it is new.
func (d *decoder) rootKey(k int32) bool {
	n := d.t.nodes[k]
	if first, ok := d.rootKeys[n.text]; ok {
		d.duplicateAt(first, k)
		return false
	}
	d.rootKeys[n.text] = Position{Line: int(n.line), Column: int(n.col)}
	return true
}

func (d *decoder) duplicateKey(first, second int32) {
	n := d.t.nodes[first]
	d.duplicateAt(Position{Line: int(n.line), Column: int(n.col)}, second)
}

func (d *decoder) duplicateAt(first Position, second int32) {
	d.fail(second, "duplicated mapping key %q, first at line %d, column %d; keep one of them",
		excerpt(d.t.nodes[second].text), first.Line, first.Column)
}
