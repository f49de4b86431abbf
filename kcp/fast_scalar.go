package kcp

import (
	"strings"
	"unicode/utf8"
)

// plain reads a plain scalar below a parent at indent, with the lines that
// continue it.
func (f *fastReader) plain(indent int) int32 {
	i := f.node(kindScalar)
	if !f.startsPlain() {
		return i
	}
	text := f.plainLine()
	if !f.more() {
		return i
	}
	line := f.line
	f.endLine()
	ended := f.commented
	f.skipLines()
	if f.indent > indent && f.more() {
		text = f.continued(text, indent, line, ended)
	}
	f.t.nodes[i].text, f.t.nodes[i].plain = text, true
	return i
}

// plainLine reads the part of a plain scalar that is in this line.
func (f *fastReader) plainLine() string {
	f.commented = false
	from := f.pos
	for ; f.pos < len(f.text); f.pos++ {
		switch f.text[f.pos] {
		case '\n', '\r':
			return f.trimmed(from)
		case '\t':
			f.giveUp()
			return ""
		case ':':
			if f.blankAt(f.pos + 1) {
				f.giveUpOdd()
				return ""
			}
		case '#':
			if f.text[f.pos-1] == ' ' {
				return f.trimmed(from)
			}
		}
	}
	return f.trimmed(from)
}

// continued adds the further lines of a plain scalar. One line break becomes a
// blank, several become one less. A comment ends the scalar, so nothing that is
// indented may follow it.
func (f *fastReader) continued(text string, indent, line int, ended bool) string {
	b := []byte(text)
	for f.indent > indent && f.more() {
		if ended || f.commented {
			f.giveUpOdd()
			return ""
		}
		b = appendFold(b, f.line-line)
		b = append(b, f.plainLine()...)
		line = f.line
		f.endLine()
		ended = f.commented
		f.skipLines()
	}
	return string(b)
}

// appendFold writes what line breaks between words become.
func appendFold(b []byte, breaks int) []byte {
	if breaks == 1 {
		return append(b, ' ')
	}
	return appendBreaks(b, breaks-1)
}

func appendBreaks(b []byte, n int) []byte {
	for ; n > 0; n-- {
		b = append(b, '\n')
	}
	return b
}

// quoted reads a scalar in quotes.
func (f *fastReader) quoted() string {
	quote := f.text[f.pos]
	for i := f.pos + 1; i < len(f.text); i++ {
		switch c := f.text[i]; {
		case c == quote:
			if quote == '\'' && i+1 < len(f.text) && f.text[i+1] == '\'' {
				return f.quotedSlowly(i)
			}
			text := f.text[f.pos+1 : i]
			f.pos = i + 1
			return text
		case c == '\n', c == '\r', c == '\\' && quote == '"':
			return f.quotedSlowly(i)
		}
	}
	f.giveUpOdd()
	return ""
}

// quotedSlowly reads a scalar with escapes or line breaks; up to done it has
// neither.
func (f *fastReader) quotedSlowly(done int) string {
	quote := f.text[f.pos]
	opened := *f
	b := append([]byte(nil), f.text[f.pos+1:done]...)
	f.pos = done
	solid := 0 // blanks before a line break go, down to here
	for f.pos < len(f.text) && f.more() {
		switch c := f.text[f.pos]; {
		case c == quote && quote == '\'' && strings.HasPrefix(f.text[f.pos:], "''"):
			b = append(b, c)
			f.pos += 2
		case c == quote:
			f.pos++
			return string(b)
		case c == '\\' && quote == '"':
			b = f.escape(b)
			solid = len(b)
		case c == '\n' || c == '\r':
			for len(b) > solid && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
				b = b[:len(b)-1]
			}
			b = f.foldQuoted(b)
			solid = len(b)
		default:
			b = append(b, c)
			f.pos++
		}
	}
	if f.more() {
		f.pos, f.line, f.start = opened.pos, opened.line, opened.start
		f.giveUpOdd()
	}
	return ""
}

// foldQuoted moves over line breaks in a quoted scalar and the blanks behind
// them.
func (f *fastReader) foldQuoted(b []byte) []byte {
	breaks := 0
	for f.breakAt(f.pos) > 0 {
		f.nextLine()
		breaks++
		if f.atMarker("---") || f.atMarker("...") {
			f.giveUpOdd()
			return b
		}
		f.skipBlanks()
	}
	if f.pos < len(f.text) && f.text[f.pos] == '\t' {
		f.giveUpOdd()
	}
	return appendFold(b, breaks)
}

// escape reads one escape in double quotes.
func (f *fastReader) escape(b []byte) []byte {
	c := f.text[f.pos+1] // every text ends with a line break
	switch c {
	case 'x':
		return f.hexEscape(b, 2)
	case 'u':
		return f.hexEscape(b, 4)
	case 'U':
		return f.hexEscape(b, 8)
	case '\n', '\r':
		f.escapedBreak()
		return b
	}
	s := simpleEscape(c)
	if s == "" {
		f.giveUpOdd()
		return b
	}
	f.pos += 2
	return append(b, s...)
}

// simpleEscape gives what an escape of one character stands for, or "".
func simpleEscape(c byte) string {
	const names, values = "0abtnvfre \"/\\\t", "\x00\a\b\t\n\v\f\r\x1b \"/\\\t"
	if i := strings.IndexByte(names, c); i >= 0 {
		return values[i : i+1]
	}
	switch c {
	case 'N':
		return "\u0085"
	case '_':
		return "\u00a0"
	case 'L':
		return "\u2028"
	case 'P':
		return "\u2029"
	}
	return ""
}

// hexEscape reads an escape of some digits. Two that are the halves of a
// surrogate pair are one character, as in JSON.
func (f *fastReader) hexEscape(b []byte, digits int) []byte {
	if pair := surrogatePair(f.text[f.pos:]); pair != 0 {
		f.pos += surrogatePairBytes
		return utf8.AppendRune(b, pair)
	}
	end := min(f.pos+2+digits, len(f.text))
	r := rune(0)
	for _, c := range []byte(f.text[f.pos+2 : end]) {
		v := digitValue(c)
		if v < 0 || r > utf8.MaxRune {
			f.giveUpOdd()
			return b
		}
		r = r<<4 | rune(v)
	}
	if !utf8.ValidRune(r) {
		f.giveUpOdd()
		return b
	}
	f.pos = end
	return utf8.AppendRune(b, r)
}

// escapedBreak moves over a line break that is escaped, and the blanks that
// begin the next line. With an empty line behind it readers disagree.
func (f *fastReader) escapedBreak() {
	f.pos++
	f.nextLine()
	marker := f.atMarker("---") || f.atMarker("...")
	f.skipBlanks()
	if marker || f.pos == len(f.text) || f.text[f.pos] == '\t' || f.text[f.pos] == '\r' || f.text[f.pos] == '\n' {
		f.giveUp()
	}
}

// blockScalar reads a literal or folded scalar below a parent at indent.
func (f *fastReader) blockScalar(indent int) int32 {
	i := f.node(kindScalar)
	folded := f.text[f.pos] == '>'
	f.pos++
	chomp, explicit := f.blockHeader()
	f.endLine()
	if !f.more() {
		return i
	}
	s := blockText{f: f, folded: folded, indent: indent + explicit}
	if explicit == 0 {
		s.indent = f.blockIndent(indent)
	}
	text := s.read(chomp)
	f.t.nodes[i].text = text
	f.skipLines()
	return i
}

// blockHeader reads the indicators for the end of the text and its indentation.
func (f *fastReader) blockHeader() (chomp byte, explicit int) {
	for range 2 {
		switch c := f.text[f.pos]; {
		case (c == '+' || c == '-') && chomp == 0:
			chomp = c
			f.pos++
		case c >= '1' && c <= '9' && explicit == 0:
			explicit = int(c - '0')
			f.pos++
		}
	}
	return chomp, explicit
}

// blockIndent finds the indentation of a block scalar's text from its first
// line. Empty lines before it may not be longer.
func (f *fastReader) blockIndent(indent int) int {
	longest := 0
	for i := f.pos; i < len(f.text); {
		end := i
		for end < len(f.text) && f.text[end] == ' ' {
			end++
		}
		column := end - i
		if n := f.breakAt(end); n > 0 {
			longest = max(longest, column)
			i = end + n
			continue
		}
		if column <= indent || longest > column || end == len(f.text) || f.text[end] == '\t' {
			break
		}
		return column
	}
	f.giveUp()
	return 0
}

// blockText collects the lines of a block scalar.
type blockText struct {
	f      *fastReader
	folded bool
	indent int
	b      []byte
	breaks int  // line breaks that are not written yet
	begun  bool // some text is written
	deeper bool // the last line was indented more, so that it does not fold
}

func (s *blockText) read(chomp byte) string {
	f := s.f
	for f.more() && f.pos < len(f.text) {
		column := 0
		for column < s.indent && f.text[f.pos+column] == ' ' {
			column++
		}
		if f.breakAt(f.pos+column) > 0 {
			s.breaks++
			f.pos += column
			f.nextLine()
			continue
		}
		if column < s.indent {
			break
		}
		f.pos += column
		s.line()
	}
	switch {
	case chomp == '+':
		s.b = appendBreaks(s.b, s.breaks)
	case chomp == 0 && s.begun:
		s.b = append(s.b, '\n')
	}
	return string(s.b)
}

// line takes one line of text and its line break.
func (s *blockText) line() {
	f := s.f
	deeper := f.text[f.pos] == ' ' || f.text[f.pos] == '\t'
	if s.folded && s.begun && !deeper && !s.deeper {
		s.b = appendFold(s.b, s.breaks)
	} else {
		s.b = appendBreaks(s.b, s.breaks)
	}
	from := f.pos
	for f.breakAt(f.pos) == 0 {
		f.pos++
	}
	s.b = append(s.b, f.text[from:f.pos]...)
	f.nextLine()
	s.begun, s.deeper, s.breaks = true, deeper, 1
}
