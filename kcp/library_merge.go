package kcp

import "go.yaml.in/yaml/v3"

// mergedEntry is a field of a mapping with merge keys, in the order in which
// the reference would keep it.
type mergedEntry struct {
	key, value int32
	explicit   bool
}

// mergedMapping converts a mapping in which "<<" brings in the fields of others.
// Explicit keys win wherever they stand, earlier mappings win over later.
func (r *libraryReader) mergedMapping(i int32, n *yaml.Node, depth int) {
	var entries []mergedEntry
	at := map[string]int{}
	for k := 0; k+1 < len(n.Content) && r.d.err == nil; k += 2 {
		keyNode, valueNode := n.Content[k], n.Content[k+1]
		key := r.key(keyNode, depth+1)
		value := r.convert(valueNode, depth+1)
		if r.d.err != nil {
			return
		}
		if isMergeKey(keyNode) {
			entries = r.merge(entries, at, valueNode, value)
			continue
		}
		text := r.t.nodes[key].text
		e := mergedEntry{key: key, value: value, explicit: true}
		old, known := at[text]
		switch {
		case !known:
			at[text] = len(entries)
			entries = append(entries, e)
		case entries[old].explicit:
			r.d.duplicateKey(entries[old].key, key)
			return
		default:
			entries[old] = e
		}
	}
	list := children{tree: r.t, parent: i}
	for _, e := range entries {
		list.add(e.key)
		list.add(e.value)
	}
}

// merge adds the fields of a mapping, or of each mapping in a list.
func (r *libraryReader) merge(entries []mergedEntry, at map[string]int, n *yaml.Node, value int32) []mergedEntry {
	value = r.t.resolved(value)
	if r.t.nodes[value].kind != kindList {
		return r.mergeOne(entries, at, n, value)
	}
	for e := r.t.nodes[value].first; e != 0 && r.d.err == nil; e = r.t.nodes[e].next {
		entries = r.mergeOne(entries, at, n, r.t.resolved(e))
	}
	return entries
}

func (r *libraryReader) mergeOne(entries []mergedEntry, at map[string]int, n *yaml.Node, source int32) []mergedEntry {
	if r.t.nodes[source].kind != kindMap {
		r.failAt(n, "\"<<\" can only merge a mapping or a list of mappings")
		return entries
	}
	if target := n.Alias; target != nil && r.merging[target] {
		r.failAt(n, "\"<<\" merges a mapping into itself")
		return entries
	}
	for k := r.t.nodes[source].first; k != 0; {
		value := r.t.nodes[k].next
		if r.merged++; r.merged > maxMergedKeys {
			r.failAt(n, "\"<<\" merges more than %d keys; write the fields out", maxMergedKeys)
			return entries
		}
		text := r.t.nodes[k].text
		if _, known := at[text]; !known {
			at[text] = len(entries)
			entries = append(entries, r.borrowed(k, value))
		}
		k = r.t.nodes[value].next
	}
	return entries
}

// borrowed gives nodes of their own for a field of another mapping: the key is
// copied, the value becomes an alias.
func (r *libraryReader) borrowed(key, value int32) mergedEntry {
	k, v := r.t.nodes[key], r.t.nodes[value]
	k.next = 0
	r.t.aliases = true
	alias := node{kind: kindAlias, first: r.t.resolved(value), line: v.line, col: v.col}
	return mergedEntry{key: r.t.add(k), value: r.t.add(alias)}
}
