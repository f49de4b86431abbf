package kcp

import (
	"fmt"
	"strings"
)

// atDash reports whether the indicator of a list item stands here.
func (f *fastReader) atDash() bool { return f.text[f.pos] == '-' && f.blankAt(f.pos+1) }

// mapping reads a block mapping whose keys stand at indent.
func (f *fastReader) mapping(indent, depth int) int32 {
	f.limitDepth(depth)
	m := f.node(kindMap)
	list := children{tree: f.t, parent: m}
	for f.more() {
		k := f.key()
		if !f.more() {
			break
		}
		v := f.value(indent, depth+1)
		list.add(k)
		list.add(v)
		if f.tooDeep(indent, k, v) || f.indent < indent {
			break
		}
	}
	if f.more() {
		f.d.checkKeys(m)
	}
	return m
}

// tooDeep gives up where a line is indented deeper than the key before it
// allows, which is the most frequent mistake in published manifests.
func (f *fastReader) tooDeep(indent int, k, v int32) bool {
	complete := f.more() // the value was read to its end
	if complete {
		if f.indent <= indent {
			return false
		}
		f.giveUpOdd()
	}
	key, value := f.t.nodes[k], f.t.nodes[v]
	inline := value.line == key.line && (complete || value.kind == kindScalar)
	if f.doubt.odd && f.doubt.problem == "" && inline && f.doubt.pos.Line == f.line && f.line > int(key.line) {
		f.blameIndent(&key)
	}
	return true
}

// blameIndent says which key stands too deep, if the current line has one.
func (f *fastReader) blameIndent(above *node) {
	line := lineText(f.text[f.start:], 1)
	name, _, isKey := strings.Cut(strings.TrimLeft(line, " "), ":")
	if isKey {
		f.doubt.pos.Column = len(line) - len(strings.TrimLeft(line, " ")) + 1
		f.doubt.problem = fmt.Sprintf("%q is indented deeper than %q on line %d, which already has a value; align the two",
			excerpt(name), excerpt(above.text), above.line)
	}
}

// list reads a block list whose dashes stand at indent.
func (f *fastReader) list(indent, depth int) int32 {
	f.limitDepth(depth)
	l := f.node(kindList)
	items := children{tree: f.t, parent: l}
	for f.more() {
		items.add(f.item(indent, depth+1))
		if !f.anotherItem(indent) {
			break
		}
	}
	return l
}

// anotherItem reports whether a further item follows. A line that is indented
// more than the dashes belongs to nothing.
func (f *fastReader) anotherItem(indent int) bool {
	if !f.more() || f.indent < indent {
		return false
	}
	if f.indent > indent {
		f.giveUpOdd()
		return false
	}
	return f.atDash()
}

// item reads one item of a block list, from its dash on.
func (f *fastReader) item(indent, depth int) int32 {
	f.pos++
	after := f.pos
	f.skipBlanks()
	switch column := f.pos - f.start; {
	case f.lineEnds():
		return f.valueBelow(indent, depth, after)
	case f.atDash():
		return f.list(column, depth)
	case f.atKey():
		return f.mapping(column, depth)
	}
	return f.inline(indent, depth)
}

// limitDepth leaves what is nested too deeply to the library reader.
func (f *fastReader) limitDepth(depth int) {
	if depth > maxDepth {
		f.giveUp()
	}
}

// value reads what stands behind the colon of a key at indent.
func (f *fastReader) value(indent, depth int) int32 {
	after := f.pos
	f.skipBlanks()
	if f.lineEnds() {
		return f.valueBelow(indent, depth, after)
	}
	return f.inline(indent, depth)
}

// lineEnds reports whether only a comment follows in this line.
func (f *fastReader) lineEnds() bool { return f.breakAt(f.pos) > 0 || f.atComment() }

// valueBelow reads the value of a key or a dash that ends its line. Without one
// the value is null, and its place is behind the indicator.
func (f *fastReader) valueBelow(indent, depth, after int) int32 {
	line, column := f.line, after-f.start+1
	isKey := f.text[after-1] == ':'
	f.endLine()
	f.skipLines()
	switch {
	case !f.more():
		return 0
	case f.indent > indent:
		return f.blockNode(indent, depth)
	case isKey && f.indent == indent && f.atDash():
		return f.list(indent, depth)
	}
	return f.t.add(node{kind: kindScalar, plain: true, line: int32(line), col: int32(column)})
}

// blockNode reads a node that begins a line, below a parent at indent.
func (f *fastReader) blockNode(indent, depth int) int32 {
	if !f.more() {
		return 0
	}
	column := f.indent
	switch {
	case f.atDash():
		return f.list(column, depth)
	case f.atKey():
		return f.mapping(column, depth)
	case f.text[f.pos] == '|', f.text[f.pos] == '>':
		f.giveUp()
		return 0
	}
	return f.inline(indent, depth)
}

// inline reads a value that begins in the middle of a line, or alone in one,
// and everything up to the next line of content.
func (f *fastReader) inline(indent, depth int) int32 {
	f.limitDepth(depth)
	switch f.text[f.pos] {
	case '"', '\'':
		i := f.node(kindScalar)
		text := f.quoted()
		f.t.nodes[i].text = text
		f.endContent()
		return i
	case '[', '{':
		i := f.flow(depth)
		f.endContent()
		return i
	case '|', '>':
		return f.blockScalar(indent)
	}
	return f.plain(indent)
}

// endContent moves on from a value that must be the last of its line.
func (f *fastReader) endContent() {
	if f.more() {
		f.endLine()
		f.skipLines()
	}
}

// startsPlain reports whether a plain scalar may begin here. What YAML reserves,
// and what this reader does not read, makes it give up.
func (f *fastReader) startsPlain() bool {
	switch f.text[f.pos] {
	case '&', '*', '!', '%':
		f.giveUp()
		return false
	case '-', '?', ':':
		if !f.blankAt(f.pos + 1) {
			return true
		}
		f.giveUpOdd()
		return false
	case ',', '[', ']', '{', '}', '#', '|', '>', '@', '`', '"', '\'', '\t', '\r', '\n':
		f.giveUpOdd()
		return false
	}
	return true
}

// atKey reports whether a key with its colon stands here.
func (f *fastReader) atKey() bool {
	if q := f.text[f.pos]; q == '"' || q == '\'' {
		end := f.quotedKeyEnd()
		return end > 0
	}
	return f.plainKeyEnd() > 0
}

// plainKeyEnd gives where the colon of a plain key is, or 0.
func (f *fastReader) plainKeyEnd() int {
	switch f.text[f.pos] {
	case '&', '*', '!', '%', '?', ':', ',', '[', ']', '{', '}', '#', '|', '>', '@', '`', '"', '\'':
		return 0
	case '-':
		if f.atDash() {
			return 0
		}
	}
	for i := f.pos; i < len(f.text); i++ {
		switch f.text[i] {
		case ':':
			if f.blankAt(i + 1) {
				return i
			}
		case '\n', '\r', '\t':
			return 0
		case '#':
			if f.text[i-1] == ' ' {
				return 0
			}
		}
	}
	return 0
}

// quotedKeyEnd gives where the colon of a key in quotes is, or 0.
func (f *fastReader) quotedKeyEnd() int {
	quote := f.text[f.pos]
	i := f.pos + 1
	for ; i < len(f.text) && f.text[i] != quote; i++ {
		switch {
		case f.text[i] == '\n' || f.text[i] == '\r':
			return 0
		case f.text[i] == '\\' && quote == '"':
			i++
		}
	}
	for i++; i < len(f.text) && f.text[i] == ' '; i++ {
	}
	if i < len(f.text) && f.text[i] == ':' && f.blankAt(i+1) {
		return i
	}
	return 0
}

// key reads a key and its colon.
func (f *fastReader) key() int32 {
	k := f.node(kindScalar)
	from := f.pos
	var text string
	if q := f.text[f.pos]; q == '"' || q == '\'' {
		line := f.line
		text = f.quoted()
		f.skipBlanks()
		if f.more() && (f.line != line || f.text[f.pos] != ':' || !f.blankAt(f.pos+1)) {
			f.giveUpOdd()
		}
	} else {
		end := f.plainKeyEnd()
		if end == 0 {
			f.noKey()
			return k
		}
		text = f.plainKey(strings.TrimRight(f.text[f.pos:end], " "))
		f.pos = end
	}
	if f.pos-from > maxKeyBytes {
		f.giveUp()
	}
	f.t.nodes[k].text = text
	f.pos++ // the colon
	return k
}

// plainKey gives the text that a plain key is compared by.
func (f *fastReader) plainKey(text string) string {
	switch {
	case text == "<<":
		f.giveUp()
	case isNullText(text):
		return "null"
	}
	return textOf(&node{text: text, plain: true})
}

// noKey gives up where a key is expected and none is.
func (f *fastReader) noKey() {
	switch f.text[f.pos] {
	case '&', '*', '!', '%', '?', '[', '{':
		f.giveUp()
	default:
		f.giveUpOdd()
		if !f.atDash() {
			f.doubt.problem = "expected \": \" after the key; check the indentation and the quotes"
		}
	}
}
