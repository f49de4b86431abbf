package kcp

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// decoder turns YAML nodes into the model. A reader hands it one field of the
// root mapping at a time, and the units one by one, so that the nodes of a unit
// can be forgotten before the next is read.
//
// A value that is not of the expected type never stops it: the model takes what
// planner contract section 2.3 says, and a finding tells the publisher.
type decoder struct {
	m      *Manifest
	t      *tree
	limits Limits

	path     []step
	findings []Finding
	err      *SyntaxError

	visits int // values read while the tree has aliases
	items  int // mappings read from lists; a unit counts for several
	most   int // how many the text may have

	legacy  *Signing          // what trust.content_integrity offers for signing
	similar map[string]string // unknown unit key to the known one it resembles

	rootKeys map[string]Position
	slab     []string // where lists of strings get their memory
	spare    *Details // memory that no unit uses yet
}

// step is one element of a field path: a key, or an index when key is empty.
type step struct {
	key   string
	index int
}

func newDecoder(source, text string, limits Limits) *decoder {
	return &decoder{
		m: &Manifest{
			Source:  source,
			Project: "(unnamed)",
			Version: "0.0.0",
			names:   &names{},
			places:  &places{},
		},
		t:        newTree(64),
		limits:   limits,
		most:     freeItems + len(text)/itemBytes,
		similar:  map[string]string{},
		rootKeys: map[string]Position{},
	}
}

// fail records what makes the whole manifest unreadable; the first stays.
func (d *decoder) fail(i int32, format string, args ...any) {
	if d.err == nil {
		n := d.t.nodes[i]
		d.err = &SyntaxError{
			Source:  d.m.Source,
			Pos:     Position{Line: int(n.line), Column: int(n.col)},
			Problem: fmt.Sprintf(format, args...),
		}
	}
}

// visit charges for reading a value, and reports whether reading may go on.
func (d *decoder) visit(i int32) bool {
	if d.err != nil {
		return false
	}
	if !d.t.aliases {
		return true
	}
	if d.visits++; d.visits > len(d.t.nodes)*4+maxAliasVisits {
		d.fail(i, "aliases repeat more than %d values; write the values out, or repeat fewer", maxAliasVisits)
		return false
	}
	return true
}

// at gives the value of a node, behind an alias if need be.
func (d *decoder) at(i int32) *node { return &d.t.nodes[d.t.resolved(i)] }

// isNull reports whether a value is null.
func (d *decoder) isNull(i int32) bool { return d.t.isNull(d.t.resolved(i)) }

// fields gives the keys and values of a mapping, and keeps the path. It gives
// nothing for any other node.
func (d *decoder) fields(i int32) iter.Seq2[string, int32] {
	return func(yield func(string, int32) bool) {
		i = d.t.resolved(i)
		if d.t.nodes[i].kind != kindMap || !d.enter(i) {
			return
		}
		defer d.leave()
		top := len(d.path) - 1
		for k := d.t.nodes[i].first; k != 0; {
			key := &d.t.nodes[k]
			value := key.next
			if !d.visit(k) {
				return
			}
			d.path[top].key = key.text
			if !yield(key.text, value) {
				return
			}
			k = d.t.nodes[value].next
		}
	}
}

// elements gives the index and value of each element of a list.
func (d *decoder) elements(i int32) iter.Seq2[int, int32] {
	return func(yield func(int, int32) bool) {
		i = d.t.resolved(i)
		if d.t.nodes[i].kind != kindList || !d.enter(i) {
			return
		}
		defer d.leave()
		top := len(d.path) - 1
		index := 0
		for e := d.t.nodes[i].first; e != 0; e = d.t.nodes[e].next {
			if !d.visit(e) {
				return
			}
			d.path[top].index = index
			if !yield(index, e) {
				return
			}
			index++
		}
	}
}

// enter begins a collection; aliases can make one contain itself.
func (d *decoder) enter(i int32) bool {
	if len(d.path) >= maxDepth {
		d.fail(i, "values are nested deeper than %d; check whether an alias contains itself", maxDepth)
		return false
	}
	d.path = append(d.path, step{})
	return true
}

func (d *decoder) leave() { d.path = d.path[:len(d.path)-1] }

// mappings gives the mappings in a list of mappings. Another element is dropped
// with a finding, and so is a value that is no list.
func (d *decoder) mappings(i int32) iter.Seq2[int, int32] {
	return func(yield func(int, int32) bool) {
		if !d.isList(i) || !d.charge(i) {
			return
		}
		for index, e := range d.elements(i) {
			if d.at(e).kind != kindMap {
				d.dropped(e)
				continue
			}
			if !yield(index, e) {
				return
			}
		}
	}
}

// charge takes note that all elements of a list will be decoded, and refuses a
// text that has too many for its size.
func (d *decoder) charge(list int32) bool {
	for e := d.at(list).first; e != 0 && d.items <= d.most; e = d.t.nodes[e].next {
		d.items++
	}
	if d.items > d.most {
		d.fail(list, "too many list entries for the size of the manifest; remove the empty ones")
	}
	return d.err == nil
}

func (d *decoder) dropped(i int32) {
	d.warn(i, "entry-dropped",
		fmt.Sprintf("%s is %s where a mapping is expected; it is left out", d.field(), d.describe(i)),
		"write the entry as key: value lines, or remove it")
}

// block says what stands where a mapping is expected.
type block uint8

const (
	blockAbsent block = iota
	blockMap
	blockMalformed
)

// block classifies a value that should be a mapping; anything else that is not
// null leaves a finding.
func (d *decoder) block(i int32) block {
	if d.at(i).kind == kindMap {
		return blockMap
	}
	if d.isNull(i) {
		return blockAbsent
	}
	d.warn(i, "not-a-mapping",
		fmt.Sprintf("%s is %s where a mapping is expected", d.field(), d.describe(i)),
		"write its fields as key: value lines below it, or remove it")
	return blockMalformed
}

// isList reports whether a value is a list; another one that is not null leaves
// a finding.
func (d *decoder) isList(i int32) bool {
	if d.at(i).kind == kindList {
		return true
	}
	if !d.isNull(i) {
		d.warn(i, "not-a-list",
			fmt.Sprintf("%s is %s where a list is expected; it is ignored", d.field(), d.describe(i)),
			"write a list, such as "+d.key()+": [...], or remove it")
	}
	return false
}

// warn records a finding at the current path.
func (d *decoder) warn(i int32, code, message, hint string) {
	if len(d.findings) >= maxFindings {
		if len(d.findings) == maxFindings {
			d.findings = append(d.findings, Finding{
				Severity: Warning, Code: "findings-left-out", Where: "manifest",
				Message: fmt.Sprintf("more than %d findings; the rest is left out", maxFindings),
				Hint:    "mend these first, then check again",
			})
		}
		return
	}
	n := &d.t.nodes[i]
	d.findings = append(d.findings, Finding{
		Severity: Warning,
		Code:     code,
		Where:    "manifest",
		Path:     pathText(d.path),
		Pos:      Position{Line: int(n.line), Column: int(n.col)},
		Message:  message,
		Hint:     hint,
	})
}

// attribute names where the findings since mark belong.
func (d *decoder) attribute(mark int, kind, id string) {
	if mark >= len(d.findings) {
		return
	}
	if id == "" {
		id = "(no id)"
	}
	for i := mark; i < len(d.findings) && i < maxFindings; i++ {
		d.findings[i].Where = kind + " '" + id + "'"
	}
}

// pathText writes a path as "units[3].temporal.valid_until".
func pathText(path []step) string {
	var b strings.Builder
	for i, s := range path {
		switch {
		case s.key == "":
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case i > 0:
			b.WriteString("." + s.key)
		default:
			b.WriteString(s.key)
		}
	}
	return b.String()
}

// key is the name of the field that is being read.
func (d *decoder) key() string {
	for i := len(d.path) - 1; i >= 0; i-- {
		if d.path[i].key != "" {
			return d.path[i].key
		}
	}
	return ""
}

// field names the value that is being read: a key with the indices after it.
func (d *decoder) field() string {
	i := len(d.path) - 1
	for i > 0 && d.path[i].key == "" {
		i--
	}
	return pathText(d.path[max(i, 0):])
}

// describe says what a value is, for a message.
func (d *decoder) describe(i int32) string {
	n := d.at(i)
	switch n.kind {
	case kindList:
		return "a list"
	case kindMap:
		return "a mapping"
	}
	if n.plain {
		switch kind, _ := scalarTypeOf(n.text); kind {
		case typeNull:
			return "null"
		case typeBool:
			return n.text
		case typeNumber:
			return "the number " + excerpt(n.text)
		}
	}
	return "the text " + strconv.Quote(excerpt(n.text))
}

// excerpt cuts text for a message.
func excerpt(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// text gives a collection as the reference writes it where text is wanted
// (planner contract section 2.3, STR).
func (d *decoder) text(i int32) string {
	n := d.at(i)
	switch n.kind {
	case kindScalar:
		return textOf(n)
	case kindMap:
		return "[object Object]"
	case kindList:
		var b strings.Builder
		d.joinElements(&b, i)
		return b.String()
	}
	return ""
}

// joinElements writes the elements of a list with commas between them. Lists
// inside flatten, nulls and lists that contain themselves are empty.
func (d *decoder) joinElements(b *strings.Builder, i int32) {
	i = d.t.resolved(i)
	if d.t.nodes[i].busy || len(d.path) >= maxDepth {
		return // this list is being written further out
	}
	d.t.nodes[i].busy = true
	defer func() { d.t.nodes[i].busy = false }()
	for index, e := range d.elements(i) {
		if index > 0 {
			b.WriteByte(',')
		}
		before := b.Len()
		switch n := d.at(e); {
		case n.kind == kindList:
			d.joinElements(b, e)
		case !d.isNull(e):
			b.WriteString(d.text(e))
		}
		d.visits += (b.Len() - before) / aliasTextUnit
	}
}

// strings gives n strings of memory. Small lists share one allocation.
func (d *decoder) strings(n int) []string {
	const slabSize = 1024
	if n > slabSize/4 {
		return make([]string, n)
	}
	if len(d.slab) < n {
		d.slab = make([]string, slabSize)
	}
	s := d.slab[:n:n]
	d.slab = d.slab[n:]
	return s
}
