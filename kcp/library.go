package kcp

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The library reader takes the nodes of go.yaml.in/yaml/v3 and makes of them
// what the reference's reader would see (planner contract section 2.2). The
// library's own typing, merging and decoding are never used: they follow
// YAML 1.1, and decoding is quadratic in the keys of a mapping.

// readLibrary reads text into d. Doubt says where the fast reader gave up.
func readLibrary(d *decoder, text string, doubt doubt) {
	r := newLibraryReader(d, text)
	root := r.parse(doubt)
	if root == nil || d.err != nil {
		return
	}
	if hasMergeKey(root) {
		// What "<<" brings into the root is only known when all of it is read.
		d.root(r.convert(root, 1))
		return
	}
	for i := 0; i+1 < len(root.Content) && d.err == nil; i += 2 {
		r.rootPair(root.Content[i], root.Content[i+1])
	}
}

// rootPair reads one field of a root without merge keys, units one by one.
func (r *libraryReader) rootPair(key, value *yaml.Node) {
	d := r.d
	r.forget()
	k := r.key(key, 2)
	if d.err != nil || !d.rootKey(k) {
		return
	}
	name := d.t.nodes[k].text
	if name != "units" || value.Kind != yaml.SequenceNode || value.Anchor != "" || !r.plainTag(value, "!!seq") {
		v := r.convert(value, 2)
		if d.err == nil {
			d.rootPair(name, v)
		}
		return
	}
	d.reserveUnits(len(value.Content))
	for index, item := range value.Content {
		r.forget()
		i := r.convert(item, 3)
		if d.err != nil {
			return
		}
		d.unitItem(index, i)
		value.Content[index] = nil // let the library's nodes go
	}
}

// readLibraryTree gives all nodes of a text that has been read before.
func readLibraryTree(text string) (*tree, int32) {
	d := newDecoder("", text, Limits{})
	r := newLibraryReader(d, text)
	root := r.parse(doubt{})
	if root == nil {
		return d.t, 0
	}
	i := r.convert(root, 1)
	if d.err != nil {
		return d.t, 0
	}
	return d.t, i
}

type libraryReader struct {
	d       *decoder
	t       *tree
	text    string
	mask    *mask
	places  linePlaces
	tagged  bool // there may be tags
	anchors map[*yaml.Node]int32
	merging map[*yaml.Node]bool // mappings that are not complete yet
	merged  int
}

func newLibraryReader(d *decoder, text string) *libraryReader {
	return &libraryReader{
		d: d, t: d.t, text: text,
		places:  newLinePlaces(text),
		tagged:  strings.Contains(text, "!"),
		anchors: map[*yaml.Node]int32{},
		merging: map[*yaml.Node]bool{},
	}
}

// forget drops the nodes that were read, unless an alias may still name one.
func (r *libraryReader) forget() {
	if len(r.anchors) == 0 {
		r.t.reset()
	}
}

// parse gives the root mapping, or nil after an error.
func (r *libraryReader) parse(doubt doubt) *yaml.Node {
	if n := estimateNodes(r.text); n > maxNodes {
		r.d.fail(0, "manifest has about %d YAML values, more than the limit of %d; split it", n, maxNodes)
		return nil
	}
	var masked string
	masked, r.mask = maskText(r.text)
	dec := yaml.NewDecoder(strings.NewReader(masked))
	var doc, more yaml.Node
	if err := decodeNode(dec, &doc); err != nil {
		if errors.Is(err, io.EOF) {
			r.fail(1, 1, notMapping)
		} else {
			r.syntaxError(err, doubt)
		}
		return nil
	}
	switch err := decodeNode(dec, &more); {
	case err == nil:
		line, col := r.places.at(more.Line, more.Column)
		r.fail(line, col, moreDocuments)
		return nil
	case !errors.Is(err, io.EOF):
		r.syntaxError(err, doubt)
		return nil
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		line, col := r.places.at(root.Line, root.Column)
		r.fail(line, col, notMapping)
		return nil
	}
	if !r.fitsMapping(root) {
		return nil
	}
	return root
}

const (
	notMapping    = "manifest is not a YAML mapping; it must start with fields such as project: and units:"
	moreDocuments = "expected a single document in the stream, but found more; keep one manifest per file"
)

// decodeNode turns a panic of the library into an error.
func decodeNode(dec *yaml.Decoder, n *yaml.Node) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: %v", p)
		}
	}()
	return dec.Decode(n)
}

// estimateNodes gives an upper bound for the nodes that the library will make:
// every node follows an indicator, a colon also makes a key of the node before
// it, and a comment costs as much as a node.
func estimateNodes(text string) int {
	n := 1 + strings.Count(text, ":")
	for _, mark := range []string{",", "[", "{", ":", "- ", "-\n", "? ", "#", "&", "*"} {
		n += strings.Count(text, mark)
	}
	return n
}

func (r *libraryReader) fail(line, col int, format string, args ...any) {
	if r.d.err == nil {
		r.d.err = &SyntaxError{Source: r.d.m.Source, Pos: Position{line, col}, Problem: fmt.Sprintf(format, args...)}
	}
}

// failAt reports a problem with a node.
func (r *libraryReader) failAt(n *yaml.Node, format string, args ...any) {
	line, col := r.places.at(n.Line, n.Column)
	r.fail(line, col, format, args...)
}

// convert copies a node and everything below it into the tree.
func (r *libraryReader) convert(n *yaml.Node, depth int) int32 {
	if r.d.err != nil {
		return 0
	}
	if depth > maxDepth {
		r.failAt(n, "values are nested deeper than %d", maxDepth)
		return 0
	}
	line, col := r.places.at(n.Line, n.Column)
	i := r.t.add(node{line: int32(line), col: int32(col)})
	if n.Anchor != "" {
		r.anchors[n] = i
	}
	switch n.Kind {
	case yaml.AliasNode:
		r.t.aliases = true
		r.t.nodes[i].kind = kindAlias
		r.t.nodes[i].first = r.anchors[n.Alias]
	case yaml.ScalarNode:
		r.scalar(i, n)
	case yaml.SequenceNode:
		r.sequence(i, n, depth)
	case yaml.MappingNode:
		r.mapping(i, n, depth)
	}
	return i
}

func (r *libraryReader) sequence(i int32, n *yaml.Node, depth int) {
	r.t.nodes[i].kind = kindList
	list := children{tree: r.t, parent: i}
	for _, c := range n.Content {
		list.add(r.convert(c, depth+1))
		if r.d.err != nil {
			return
		}
	}
	switch tag := explicitTag(n); tag {
	case "", "!!seq":
	case "!!omap", "!!pairs":
		r.singlePairs(i, n, tag)
	default:
		r.unfitTag(n, tag)
	}
}

func (r *libraryReader) mapping(i int32, n *yaml.Node, depth int) {
	r.t.nodes[i].kind = kindMap
	if !r.fitsMapping(n) {
		return
	}
	if hasMergeKey(n) {
		r.merging[n] = true
		r.mergedMapping(i, n, depth)
		delete(r.merging, n)
		return
	}
	list := children{tree: r.t, parent: i}
	for k := 0; k+1 < len(n.Content); k += 2 {
		list.add(r.key(n.Content[k], depth+1))
		list.add(r.convert(n.Content[k+1], depth+1))
		if r.d.err != nil {
			return
		}
	}
	r.d.checkKeys(i)
}

// fitsMapping checks the tag of a mapping.
func (r *libraryReader) fitsMapping(n *yaml.Node) bool {
	switch tag := explicitTag(n); tag {
	case "", "!!map":
		return true
	case "!!set":
		for k := 1; k < len(n.Content); k += 2 {
			if v := n.Content[k]; v.Kind != yaml.ScalarNode || explicitTag(v) != "" || !isNullText(v.Value) {
				r.failAt(v, "a value in a !!set must be null")
				return false
			}
		}
		return true
	default:
		r.unfitTag(n, tag)
		return false
	}
}

// key converts the key of a mapping; its text is what keys are compared by.
func (r *libraryReader) key(n *yaml.Node, depth int) int32 {
	i := r.convert(n, depth)
	if r.d.err != nil {
		return i
	}
	target := r.t.resolved(i)
	k := &r.t.nodes[i]
	text := "null"
	if !r.t.isNull(target) {
		text = r.d.text(target)
		k = &r.t.nodes[i]
	}
	merge := isMergeKey(n)
	*k = node{text: text, line: k.line, col: k.col, kind: kindScalar, merge: merge}
	if n.Anchor != "" {
		// An alias to the key still means the value that was written.
		again := *n
		again.Anchor = ""
		r.anchors[n] = r.convert(&again, depth)
	}
	return i
}

func isMergeKey(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!merge" }

func hasMergeKey(n *yaml.Node) bool {
	for k := 0; k < len(n.Content); k += 2 {
		if isMergeKey(n.Content[k]) {
			return true
		}
	}
	return false
}
