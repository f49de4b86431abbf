package kcp

import "strings"

// The fast reader reads, in one pass and without a node tree of the whole text,
// the YAML that manifests really use: block mappings and lists, plain, quoted
// and block scalars, flow collections of scalars and of each other, comments.
// It gives up on anything else (anchors, aliases, tags, merge keys, directives,
// complex keys, tabs outside of text), on every error, and wherever the library
// reads a text differently from YAML 1.2. It never guesses.
//
// Between two block nodes it stands on the first character of a line of content,
// and indent is that line's indentation, or -1 at the end of the document.
type fastReader struct {
	d      *decoder
	t      *tree
	text   string
	pos    int
	start  int // where the line begins
	line   int // from 1
	indent int

	commented bool // a comment stood between here and the last content
	stopped   bool // gave up; doubt says where
	doubt     doubt
}

func newFastReader(d *decoder, text string) *fastReader {
	return &fastReader{d: d, t: d.t, text: text, line: 1}
}

// readFast reads text into d. When it gives up, done is false and d is spoilt.
func readFast(d *decoder, text string) (_ doubt, done bool) {
	f := newFastReader(d, text)
	if !worthFastReading(text) {
		return doubt{}, false
	}
	f.begin()
	if f.more() && f.text[f.pos] == '{' {
		i := f.blockNode(-1, 1)
		f.end()
		if f.more() {
			d.root(i)
		}
	} else if f.more() {
		f.root()
		f.end()
	}
	return f.doubt, !f.stopped
}

// worthFastReading rules out at little cost what would make the reader give up
// only after much work.
func worthFastReading(text string) bool {
	if strings.Contains(text, "\r") && strings.Count(text, "\r") != strings.Count(text, "\r\n") {
		return false
	}
	// An anchor, an alias or a tag where a value begins, or a merge key.
	return !occurs(text, '&', afterIndicator) && !occurs(text, '*', afterIndicator) &&
		!occurs(text, '!', afterIndicator) && !occurs(text, '<', isMerge)
}

// occurs reports whether c stands anywhere in text where found agrees.
func occurs(text string, c byte, found func(text string, i int) bool) bool {
	for i := 0; ; i++ {
		n := strings.IndexByte(text[i:], c)
		if n < 0 {
			return false
		}
		if i += n; found(text, i) {
			return true
		}
	}
}

func afterIndicator(text string, i int) bool {
	return i >= 2 && text[i-1] == ' ' && (text[i-2] == ':' || text[i-2] == '-')
}

func isMerge(text string, i int) bool { return strings.HasPrefix(text[i:], "<<:") }

// readTree gives all nodes of a text that has been read before, and the root.
func readTree(text string) (*tree, int32) {
	d := newDecoder("", text, Limits{})
	f := newFastReader(d, text)
	if worthFastReading(text) {
		f.begin()
		i := f.blockNode(-1, 1)
		f.end()
		if f.more() {
			return d.t, i
		}
	}
	return readLibraryTree(text)
}

// more reports whether reading goes on.
func (f *fastReader) more() bool { return !f.stopped && f.d.err == nil }

// giveUp leaves the text to the library reader.
func (f *fastReader) giveUp() { f.stop(false) }

// giveUpOdd does so at a place where the text is probably wrong.
func (f *fastReader) giveUpOdd() { f.stop(true) }

func (f *fastReader) stop(odd bool) {
	if !f.stopped {
		f.stopped = true
		f.doubt = doubt{pos: Position{Line: f.line, Column: f.pos - f.start + 1}, odd: odd}
	}
	f.indent = -1
}

// begin moves to the first line of content.
func (f *fastReader) begin() {
	f.skipLines()
	if f.atMarker("---") {
		f.pos += len("---")
		f.endLine()
		f.skipLines()
	}
	if f.indent != 0 || f.pos == len(f.text) || f.text[f.pos] == '%' {
		f.giveUp()
	}
}

// end checks that nothing follows but the end marker of a document.
func (f *fastReader) end() {
	if !f.more() {
		return
	}
	ended := f.atMarker("...")
	if ended {
		f.pos += len("...")
		f.endLine()
		f.skipLines()
	}
	if f.more() && f.pos != len(f.text) {
		f.giveUpOdd()
		if ended {
			f.doubt.problem = moreDocuments
		}
	}
}

// atMarker reports whether a line that begins here is a document marker.
func (f *fastReader) atMarker(marker string) bool {
	return f.pos == f.start && strings.HasPrefix(f.text[f.pos:], marker) && f.blankAt(f.pos+len(marker))
}

// blankAt reports whether a blank or a line break stands at i.
func (f *fastReader) blankAt(i int) bool {
	return i >= len(f.text) || f.text[i] == ' ' || f.text[i] == '\n' || f.text[i] == '\t' || f.text[i] == '\r'
}

// breakAt gives the length of the line break at i, or 0. There is no lone CR.
func (f *fastReader) breakAt(i int) int {
	switch {
	case i >= len(f.text):
		return 0
	case f.text[i] == '\n':
		return 1
	case f.text[i] == '\r':
		return 2
	}
	return 0
}

// nextLine moves over the line break at pos.
func (f *fastReader) nextLine() {
	f.pos += f.breakAt(f.pos)
	f.start = f.pos
	f.line++
}

// skipBlanks moves over blanks.
func (f *fastReader) skipBlanks() {
	for f.pos < len(f.text) && f.text[f.pos] == ' ' {
		f.pos++
	}
}

// endLine moves over blanks, a comment and the line break that must follow.
func (f *fastReader) endLine() {
	f.skipBlanks()
	if f.atComment() {
		f.skipComment()
	}
	switch {
	case f.breakAt(f.pos) > 0:
		f.nextLine()
	case f.pos < len(f.text):
		f.giveUpOdd()
	}
}

// atComment reports whether a comment begins here: a blank must be before it.
func (f *fastReader) atComment() bool {
	return f.pos < len(f.text) && f.text[f.pos] == '#' && (f.pos == f.start || f.text[f.pos-1] == ' ')
}

// skipComment moves to the end of the line.
func (f *fastReader) skipComment() {
	f.commented = true
	f.pos += strings.IndexByte(f.text[f.pos:], '\n') // every text ends with one
	if f.text[f.pos-1] == '\r' {
		f.pos--
	}
}

// skipLines moves from the start of a line to the next line of content.
func (f *fastReader) skipLines() {
	f.commented = false
	for f.more() {
		f.skipBlanks()
		switch {
		case f.pos == len(f.text):
			f.indent = -1
			return
		case f.text[f.pos] == '#':
			f.skipComment()
			f.nextLine()
		case f.breakAt(f.pos) > 0:
			f.nextLine()
		case f.text[f.pos] == '\t':
			f.giveUpOdd()
			return
		case f.atMarker("---"), f.atMarker("..."):
			f.indent = -1
			return
		default:
			f.indent = f.pos - f.start
			return
		}
	}
}

// node adds a node at the current place.
func (f *fastReader) node(kind nodeKind) int32 {
	if len(f.t.nodes) > maxNodes {
		f.d.fail(0, "manifest has more than %d YAML values at a time; split it", maxNodes)
	}
	return f.t.add(node{kind: kind, line: int32(f.line), col: int32(f.pos - f.start + 1)})
}

// root reads the root mapping, field by field, and units item by item.
func (f *fastReader) root() {
	for f.more() {
		f.t.reset()
		k := f.key()
		if !f.more() || !f.d.rootKey(k) {
			return
		}
		name := f.t.nodes[k].text
		if name == "units" && f.listFollows() {
			f.units()
			if f.indent > 0 {
				f.giveUpOdd()
				return
			}
		} else {
			v := f.value(0, 2)
			if f.tooDeep(0, k, v) {
				return
			}
			f.d.rootPair(name, v)
		}
		if f.indent < 0 {
			return
		}
	}
}

// listFollows reports whether a block list stands behind a key, and moves to it.
// Otherwise it stays where it is.
func (f *fastReader) listFollows() bool {
	before := *f
	f.skipBlanks()
	if f.lineEnds() {
		f.endLine()
		f.skipLines()
		if f.more() && f.indent >= 0 && f.atDash() {
			return true
		}
	}
	*f = before
	return false
}

// units reads the items of the root's units, each with fresh nodes.
func (f *fastReader) units() {
	indent := f.indent
	for index := 0; f.more(); index++ {
		f.t.reset()
		if item := f.item(indent, 3); f.more() {
			f.reserve()
			f.d.unitItem(index, item)
		}
		if !f.anotherItem(indent) {
			return
		}
	}
}

// reserve makes room for as many units as the part that was read lets expect.
func (f *fastReader) reserve() {
	n := len(f.d.m.Units)
	if n < cap(f.d.m.Units) {
		return
	}
	expected := int(float64(n)*float64(len(f.text))/float64(f.pos+1)*1.02) + 16
	f.d.reserveUnits(max(min(expected, 4*n+16), n+1))
}
