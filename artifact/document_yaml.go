package artifact

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// yamlReader turns the library's nodes into a value. The library's own typing of
// scalars is not used: it follows YAML 1.1.
type yamlReader struct {
	doc   *Document
	lines []string
	nodes int
	mark  string // stands for a question mark that announces no key
	// where textAt was last
	line, column, offset int
}

func (d *Document) readYAML(data []byte) error {
	text := string(data)
	marks := 0
	for _, mark := range []string{",", "[", "{", ":", "- ", "-\n", "?", "#"} {
		marks += strings.Count(text, mark)
	}
	if marks > maxYAMLMarks {
		return d.fail(1, 1, "document has more than %d separators; split it", maxYAMLMarks)
	}
	r := &yamlReader{doc: d, lines: strings.Split(text, "\n")}
	for i, line := range r.lines {
		// The library ends a line at the first three, YAML 1.2 does not; a bare
		// carriage return would shift all positions after it.
		if at := strings.IndexAny(strings.TrimSuffix(line, "\r"), "\u0085\u2028\u2029\r"); at >= 0 {
			return d.fail(i+1, 1+len([]rune(line[:at])), "line separator character; write it as an escape in double quotes")
		}
	}
	masked, err := r.maskQuestions(text)
	if err != nil {
		return err
	}
	dec := yaml.NewDecoder(strings.NewReader(masked))
	var root, more yaml.Node
	if err := decodeNode(dec, &root); err != nil {
		if errors.Is(err, io.EOF) {
			return d.fail(1, 1, "document is empty")
		}
		return r.syntaxError(err)
	}
	switch err := decodeNode(dec, &more); {
	case err == nil:
		return d.fail(more.Line, more.Column, "a second document begins here; keep one in a file")
	case !errors.Is(err, io.EOF):
		return r.syntaxError(err)
	}
	d.root, d.places, err = r.value(root.Content[0], 0)
	return err
}

// maskQuestions puts a private character in the place of each question mark that
// announces no key: in a flow collection the library ends plain text before them.
func (r *yamlReader) maskQuestions(text string) (string, error) {
	const blank = " \t\r\n"
	if !strings.Contains(text, "?") {
		return text, nil
	}
	for mark := rune(0xe000); r.mark == ""; mark++ { // the private use area
		if mark > 0xf8ff {
			return "", r.doc.fail(1, 1, "document uses every private character; remove one")
		}
		if !strings.ContainsRune(text, mark) {
			r.mark = string(mark)
		}
	}
	var b strings.Builder
	last := byte('\n') // the last character that is no blank, or a line break
	for i := range len(text) {
		c := text[i]
		announces := c == '?' && strings.IndexByte("\n-?{[,", last) >= 0 &&
			(i+1 == len(text) || strings.IndexByte(blank, text[i+1]) >= 0)
		if c == '?' && !announces {
			b.WriteString(r.mark)
		} else {
			b.WriteByte(c)
		}
		if c == '\n' || strings.IndexByte(blank, c) < 0 {
			last = c
		}
	}
	return b.String(), nil
}

// decodeNode turns a panic of the library into an error.
func decodeNode(dec *yaml.Decoder, n *yaml.Node) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: %v", p)
		}
	}()
	return dec.Decode(n)
}

var yamlLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`) })

func (r *yamlReader) syntaxError(err error) error {
	line, problem := 1, err.Error()
	if m := yamlLine().FindStringSubmatch(problem); m != nil {
		problem = m[2]
		if n, err := strconv.Atoi(m[1]); err == nil && n > 0 {
			line = min(n, len(r.lines))
		}
	}
	text := r.lines[line-1]
	column := len(text) - len(strings.TrimLeft(text, " ")) + 1
	return r.doc.fail(line, column, "not YAML: %s; check indentation and quotes", problem)
}

func (r *yamlReader) fail(n *yaml.Node, format string, args ...any) error {
	return r.doc.fail(n.Line, n.Column, format, args...)
}

func (r *yamlReader) value(n *yaml.Node, depth int) (Value, place, error) {
	p := place{line: int32(n.Line), column: int32(n.Column)}
	r.unmask(n)
	if r.nodes++; r.nodes > MaxDocumentNodes {
		return Value{}, p, r.fail(n, "document has more than %d values", MaxDocumentNodes)
	}
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return Value{}, p, r.fail(n, "anchors and aliases are not read; write the value out, or quote it")
	case n.Style&yaml.TaggedStyle != 0 || strings.HasPrefix(r.textAt(n), "!"):
		return Value{}, p, r.fail(n, "tags are not read; remove it, or quote the value")
	case n.Kind == yaml.ScalarNode:
		v, err := r.scalar(n)
		return v, p, err
	case depth >= MaxDepth:
		return Value{}, p, r.fail(n, "nested more than %d levels deep", MaxDepth)
	case n.Kind == yaml.SequenceNode:
		return r.sequence(n, p, depth+1)
	}
	return r.mapping(n, p, depth+1)
}

func (r *yamlReader) unmask(n *yaml.Node) {
	if r.mark != "" && n.Kind == yaml.ScalarNode {
		n.Value = strings.ReplaceAll(n.Value, r.mark, "?")
	}
}

func (r *yamlReader) sequence(n *yaml.Node, p place, depth int) (Value, place, error) {
	v := Value{kind: KindArray}
	for _, item := range n.Content {
		element, at, err := r.value(item, depth)
		if err != nil {
			return v, p, err
		}
		v.list, p.children = append(v.list, element), append(p.children, at)
	}
	return v, p, nil
}

func (r *yamlReader) mapping(n *yaml.Node, p place, depth int) (Value, place, error) {
	v := Value{kind: KindObject}
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i]
		r.unmask(name)
		if err := r.checkName(name); err != nil {
			return v, p, err
		}
		if first, ok := seen[name.Value]; ok {
			return v, p, r.fail(name, "key %q appears twice, first on line %d; keep one", name.Value, first.Line)
		}
		seen[name.Value] = name
		member, at, err := r.value(n.Content[i+1], depth)
		if err != nil {
			return v, p, err
		}
		at.nameLine, at.nameColumn = int32(name.Line), int32(name.Column)
		v.members, p.children = append(v.members, Member{name.Value, member}), append(p.children, at)
	}
	return v, p, nil
}

// checkName refuses keys that are not plain text. A number or boolean as a key
// is its text, as in JSON.
func (r *yamlReader) checkName(n *yaml.Node) error {
	switch {
	case n.Kind != yaml.ScalarNode:
		return r.fail(n, "a key must be text, not a list, mapping or alias")
	case n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 || strings.HasPrefix(r.textAt(n), "!"):
		return r.fail(n, "anchors and tags are not read; remove it, or quote the key")
	case isPlain(n) && n.Value == "<<":
		return r.fail(n, "merge keys are not read; write the members out")
	case isPlain(n) && strings.HasSuffix(n.Value, ":"):
		return r.fail(n, "key %.40q ends with a colon; put a blank behind the colon, or quotes around the key", n.Value)
	case isPlain(n) && isNullText(n.Value):
		return r.fail(n, "the key is null; quote it if it is meant as text")
	}
	return nil
}

func isPlain(n *yaml.Node) bool {
	return n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

// textAt gives the rest of the line on which n begins. It is fastest when nodes
// come in the order of the text, which they do.
func (r *yamlReader) textAt(n *yaml.Node) string {
	if n.Line < 1 || n.Line > len(r.lines) {
		return ""
	}
	if n.Line != r.line || n.Column < r.column {
		r.line, r.column, r.offset = n.Line, 1, 0
	}
	text := r.lines[r.line-1]
	for r.column < n.Column && r.offset < len(text) {
		_, size := utf8.DecodeRuneInString(text[r.offset:])
		r.offset += size
		r.column++
	}
	return text[r.offset:]
}

func (r *yamlReader) scalar(n *yaml.Node) (Value, error) {
	if !isPlain(n) {
		return StringValue(n.Value), nil
	}
	if strings.HasSuffix(n.Value, ":") {
		// In a flow collection such a colon ends a key, which the library misses.
		return Value{}, r.fail(n, "text %.40q ends with a colon; put a blank behind the colon, or quotes around the text", n.Value)
	}
	switch text := n.Value; {
	case isNullText(text):
		return Value{}, nil
	case text == "true" || text == "True" || text == "TRUE":
		return BoolValue(true), nil
	case text == "false" || text == "False" || text == "FALSE":
		return BoolValue(false), nil
	case looksNumeric(text):
		return r.number(n)
	}
	return StringValue(n.Value), nil
}

func isNullText(text string) bool {
	return text == "" || text == "~" || text == "null" || text == "Null" || text == "NULL"
}

// looksNumeric reports whether text may be a number of the core schema.
func looksNumeric(text string) bool {
	digits := strings.TrimLeft(text, "+-")
	if len(text)-len(digits) > 1 || digits == "" {
		return false
	}
	switch strings.ToLower(digits) {
	case ".inf", ".nan":
		return true
	}
	return coreNumber().MatchString(text)
}

// coreNumber is the numbers of YAML 1.2 section 10.3.2.
var coreNumber = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(0o[0-7]+|0x[0-9a-fA-F]+|[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?)$`)
})

// number gives the JSON form of a number.
func (r *yamlReader) number(n *yaml.Node) (Value, error) {
	text := n.Value
	if strings.HasPrefix(text, "0o") || strings.HasPrefix(text, "0x") {
		u, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			return Value{}, r.fail(n, "%.40s does not fit 64 bits; quote it if it is meant as text", text)
		}
		return UintValue(u), nil
	}
	sign := ""
	text = strings.TrimPrefix(text, "+")
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		sign, text = "-", rest
	}
	mantissa, exponent := text, ""
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], text[i:]
	}
	whole, fraction, point := strings.Cut(mantissa, ".")
	if strings.ContainsAny(mantissa, "nNfF") {
		return Value{}, r.fail(n, "%s has no JSON form; quote it if it is meant as text", n.Value)
	}
	if len(whole) > 1 && whole[0] == '0' {
		return Value{}, r.fail(n, "%.40s begins with a zero; drop it, or quote the text", n.Value)
	}
	if whole == "" {
		whole = "0"
	}
	if point {
		if fraction == "" {
			fraction = "0"
		}
		whole += "." + fraction
	}
	literal := sign + whole + exponent
	if _, err := strconv.ParseFloat(literal, 64); err != nil {
		return Value{}, r.fail(n, "%.40s is out of range; quote it if it is meant as text", n.Value)
	}
	return NumberValue(literal)
}
