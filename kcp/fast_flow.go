package kcp

import (
	"fmt"
	"strings"
)

// flow reads "[...]" or "{...}".
func (f *fastReader) flow(depth int) int32 {
	f.limitDepth(depth)
	if f.text[f.pos] == '[' {
		return f.flowList(depth)
	}
	return f.flowMapping(depth)
}

func (f *fastReader) flowList(depth int) int32 {
	l := f.node(kindList)
	items := children{tree: f.t, parent: l}
	f.pos++
	for f.more() {
		f.skipFlowSpace()
		if !f.more() {
			break
		}
		if f.text[f.pos] == ']' {
			f.pos++
			break
		}
		items.add(f.flowValue(depth + 1))
		if !f.flowComma(l, ']') {
			break
		}
	}
	return l
}

func (f *fastReader) flowMapping(depth int) int32 {
	m := f.node(kindMap)
	entries := children{tree: f.t, parent: m}
	f.pos++
	for f.more() {
		f.skipFlowSpace()
		if !f.more() {
			break
		}
		if f.text[f.pos] == '}' {
			f.pos++
			break
		}
		entries.add(f.flowKey())
		if !f.more() {
			break
		}
		entries.add(f.flowEntryValue(depth))
		if !f.flowComma(m, '}') {
			break
		}
	}
	if f.more() {
		f.d.checkKeys(m)
	}
	return m
}

// flowComma moves over a comma, and reports whether there may be more entries.
// It stays on the closing bracket.
func (f *fastReader) flowComma(collection int32, closing byte) bool {
	if !f.more() {
		return false
	}
	f.skipFlowSpace()
	if f.stopped && f.pos == len(f.text) {
		f.unclosed(collection, closing)
	}
	if !f.more() {
		return false
	}
	switch f.text[f.pos] {
	case ',':
		f.pos++
	case closing:
	case ':':
		f.giveUp() // a mapping of one entry without braces
		return false
	default:
		f.giveUpOdd()
		f.unclosed(collection, closing)
		return false
	}
	return true
}

func (f *fastReader) unclosed(collection int32, closing byte) {
	n := f.t.nodes[collection]
	f.doubt.problem = fmt.Sprintf("expected \",\" or %q; what begins at line %d, column %d is not closed",
		string(closing), n.line, n.col)
}

// skipFlowSpace moves over blanks, line breaks and comments to a character.
func (f *fastReader) skipFlowSpace() {
	for {
		f.skipBlanks()
		switch {
		case f.pos == len(f.text):
			f.giveUpOdd()
			return
		case f.atComment():
			f.skipComment()
			f.nextLine()
		case f.breakAt(f.pos) > 0:
			f.nextLine()
		case f.text[f.pos] == '\t', f.text[f.pos] == '#', f.pos == f.start && strings.IndexByte("-.%", f.text[f.pos]) >= 0:
			f.giveUpOdd()
			return
		default:
			return
		}
	}
}

// flowKey reads a key, which must stand in one line with what follows it.
func (f *fastReader) flowKey() int32 {
	k := f.node(kindScalar)
	from, line := f.pos, f.line
	if q := f.text[f.pos]; q == '"' || q == '\'' {
		text := f.quoted()
		f.t.nodes[k].text = text
	} else {
		f.t.nodes[k].text = f.plainKey(f.flowPlain())
	}
	if !f.more() {
		return k
	}
	f.skipBlanks()
	if f.line != line || f.pos-from > maxKeyBytes || strings.IndexByte(":,}", f.text[f.pos]) < 0 {
		f.giveUp()
	}
	return k
}

// flowEntryValue reads the value of a flow mapping's entry, from its colon on.
// Without one the value is null, and its place is what follows.
func (f *fastReader) flowEntryValue(depth int) int32 {
	if f.text[f.pos] == ':' {
		f.pos++
		f.skipFlowSpace()
		if !f.more() {
			return 0
		}
	}
	if c := f.text[f.pos]; c == ',' || c == '}' {
		i := f.node(kindScalar)
		f.t.nodes[i].plain = true
		return i
	}
	return f.flowValue(depth + 1)
}

// flowValue reads one value in a flow collection.
func (f *fastReader) flowValue(depth int) int32 {
	f.limitDepth(depth)
	switch f.text[f.pos] {
	case '[', '{':
		return f.flow(depth)
	case '"', '\'':
		i := f.node(kindScalar)
		text := f.quoted()
		f.t.nodes[i].text = text
		return i
	}
	i := f.node(kindScalar)
	text := f.flowPlain()
	f.t.nodes[i].text, f.t.nodes[i].plain = text, true
	return i
}

// flowPlain reads a plain scalar of one line. One that goes on in the next line
// makes flowComma or flowKey give up.
func (f *fastReader) flowPlain() string {
	if !f.startsPlain() {
		return ""
	}
	if c := f.text[f.pos]; (c == '-' || c == '?' || c == ':') && strings.IndexByte(",[]{}", f.text[f.pos+1]) >= 0 || c == ':' {
		f.giveUp()
		return ""
	}
	from := f.pos
	for ; f.pos < len(f.text); f.pos++ {
		switch c := f.text[f.pos]; c {
		case ',', '[', ']', '{', '}', '\n', '\r':
			return f.trimmed(from)
		case '\t':
			f.giveUp()
			return ""
		case '?':
			if f.text[f.pos-1] == ' ' && f.blankAt(f.pos+1) || strings.IndexByte("\"'", f.text[f.pos+1]) >= 0 {
				f.giveUp() // may be a key's indicator to the library
				return ""
			}
		case '#':
			if f.text[f.pos-1] == ' ' {
				return f.trimmed(from)
			}
		case ':':
			if f.blankAt(f.pos + 1) {
				return f.trimmed(from)
			}
			if strings.IndexByte(",[]{}", f.text[f.pos+1]) >= 0 {
				f.giveUp() // a key's end to YAML 1.2, text to the library
				return ""
			}
		}
	}
	return f.trimmed(from)
}

// trimmed gives the text from a place up to here, and moves back over the
// blanks at its end.
func (f *fastReader) trimmed(from int) string {
	for f.pos > from && f.text[f.pos-1] == ' ' {
		f.pos--
	}
	return f.text[from:f.pos]
}
