package draft

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/writ-dev/writ/kcp"
)

// outline is where the values and keys of a text are, by the path of the field.
type outline struct {
	text   string
	lines  []int // offset of each line, as the YAML library counts them
	breaks []int // offsets behind each line break, as findings count lines
	slots  map[string]slot
	order  []string // the paths, in the order of the text
}

// slot is one field: its value and, in a mapping, its key.
type slot struct{ key, value *yaml.Node }

// deepest bounds nesting, as the manifest reader does.
const deepest = 200

// readOutline reads the nodes of a text. What aliases and merge keys bring in is
// not part of it: it stands elsewhere, and once.
func readOutline(text string) (o *outline, err error) {
	defer func() {
		if p := recover(); p != nil {
			o, err = nil, fmt.Errorf("yaml: %v", p)
		}
	}()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	o = &outline{text: text, slots: map[string]slot{}}
	o.lines, o.breaks = lineStarts(text), lineBreaks(text)
	if len(doc.Content) == 1 {
		o.walk("", doc.Content[0], 0)
	}
	return o, nil
}

// lineStarts counts line breaks as the library does, by YAML 1.1.
func lineStarts(text string) []int {
	starts := []int{0}
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\n', text[i] == '\r' && !strings.HasPrefix(text[i+1:], "\n"):
			starts = append(starts, i+1)
		case strings.HasPrefix(text[i:], "\u0085"):
			starts = append(starts, i+2)
		case strings.HasPrefix(text[i:], "\u2028"), strings.HasPrefix(text[i:], "\u2029"):
			starts = append(starts, i+3)
		}
	}
	return starts
}

func (o *outline) walk(path string, n *yaml.Node, depth int) {
	if depth > deepest {
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
				continue
			}
			below := key.Value
			if path != "" {
				below = path + "." + key.Value
			}
			o.put(below, slot{key, n.Content[i+1]})
			o.walk(below, n.Content[i+1], depth+1)
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			below := path + "[" + strconv.Itoa(i) + "]"
			o.put(below, slot{nil, item})
			o.walk(below, item, depth+1)
		}
	}
}

func (o *outline) put(path string, s slot) {
	if _, taken := o.slots[path]; !taken {
		o.slots[path] = s
		o.order = append(o.order, path)
	}
}

// offset gives the place of a node in the text.
func (o *outline) offset(n *yaml.Node) (int, bool) {
	if n.Line < 1 || n.Line > len(o.lines) {
		return 0, false
	}
	at := o.lines[n.Line-1]
	for range n.Column - 1 { // the library counts characters
		_, size := utf8.DecodeRuneInString(o.text[at:])
		if size == 0 {
			return 0, false
		}
		at += size
	}
	return at, at < len(o.text)
}

// position gives line and column of an offset as findings count them: lines end
// with LF, CR or CR LF, columns are bytes.
func (o *outline) position(offset int) kcp.Position {
	line, found := slices.BinarySearch(o.breaks, offset)
	if found {
		line++ // the offset begins a line
	}
	start := 0
	if line > 0 {
		start = o.breaks[line-1]
	}
	return kcp.Position{Line: line + 1, Column: offset - start + 1}
}

// lineBreaks gives the offsets behind each line break.
func lineBreaks(text string) []int {
	var breaks []int
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' || text[i] == '\r' && !strings.HasPrefix(text[i+1:], "\n") {
			breaks = append(breaks, i+1)
		}
	}
	return breaks
}

// piece gives the place of a scalar on one line, quotes included. Scalars with a
// tag or an anchor, block scalars and aliases are not edited.
func (o *outline) piece(n *yaml.Node) (start, end int, ok bool) {
	if n.Kind != yaml.ScalarNode || n.Anchor != "" || n.Style&(yaml.TaggedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return 0, 0, false
	}
	start, ok = o.offset(n)
	if !ok {
		return 0, 0, false
	}
	rest := o.text[start:]
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		end = quotedLength(rest, '"')
	case n.Style&yaml.SingleQuotedStyle != 0:
		end = quotedLength(rest, '\'')
	case n.Value != "" && strings.HasPrefix(rest, n.Value):
		end = len(n.Value)
		if end < len(rest) && strings.IndexByte("\n\r \t,]}:", rest[end]) < 0 {
			end = 0
		}
	}
	return start, start + end, end > 0
}

// quotedLength gives the length of a quoted scalar that ends on its line, or 0.
func quotedLength(rest string, quote byte) int {
	if rest == "" || rest[0] != quote {
		return 0
	}
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '\n' || c == '\r':
			return 0
		case c == '\\' && quote == '"':
			i++
		case c == quote && quote == '\'' && i+1 < len(rest) && rest[i+1] == quote:
			i++
		case c == quote:
			return i + 1
		}
	}
	return 0
}

// isPlain reports whether a scalar stands without quotes.
func isPlain(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

// lastKey is the last key of a path.
func lastKey(path string) string {
	if i := strings.IndexByte(path[strings.LastIndexByte(path, '.')+1:], '['); i >= 0 {
		return path[strings.LastIndexByte(path, '.')+1:][:i]
	}
	return path[strings.LastIndexByte(path, '.')+1:]
}
