package kcp

import (
	"encoding/base64"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// scalar fills in node i from a scalar of the library.
func (r *libraryReader) scalar(i int32, n *yaml.Node) {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	text := r.mask.restore(n.Value, n.Style&yaml.DoubleQuotedStyle != 0)
	t := &r.t.nodes[i]
	t.kind, t.text, t.plain = kindScalar, text, n.Style&quoted == 0
	if t.plain && strings.HasSuffix(text, ":") && r.beforeFlowIndicator(n, len(text)) {
		r.failAt(n, "the colon after %q needs a blank behind it, or quotes around the text", excerpt(text[:len(text)-1]))
		return
	}
	if tag := explicitTag(n); tag != "" {
		r.taggedScalar(i, n, tag)
	} else if r.tagged && t.plain && strings.HasPrefix(r.places.rest(n.Line, n.Column), "!") {
		t.plain = false // the tag "!" says: text
	}
}

// beforeFlowIndicator reports whether a plain scalar stands directly before a
// bracket or comma. There a colon at its end is the colon of a key in YAML 1.2,
// but text to the library.
func (r *libraryReader) beforeFlowIndicator(n *yaml.Node, size int) bool {
	rest := r.places.rest(n.Line, n.Column)
	return size < len(rest) && strings.IndexByte(",[]{}", rest[size]) >= 0
}

// explicitTag gives the tag that is written at a node, in short form, or "".
func explicitTag(n *yaml.Node) string {
	if n.Style&yaml.TaggedStyle == 0 {
		return ""
	}
	return n.Tag
}

// plainTag reports whether a node has no tag, or the one that it has anyway.
func (r *libraryReader) plainTag(n *yaml.Node, tag string) bool {
	explicit := explicitTag(n)
	return explicit == "" || explicit == tag
}

// taggedScalar applies an explicit tag.
func (r *libraryReader) taggedScalar(i int32, n *yaml.Node, tag string) {
	t := &r.t.nodes[i]
	kind, _ := scalarTypeOf(t.text)
	isNumber := kind == typeNumber
	prefixed := isNumber && strings.ContainsAny(t.text, "xob")
	fractional := isNumber && !prefixed && strings.ContainsAny(t.text, ".eEnN")
	ok := true
	switch tag {
	case "!!str", "!!merge":
		t.plain = false
		ok = tag == "!!str" || t.text == "<<"
	case "!!int":
		t.plain, ok = true, isNumber && !fractional
	case "!!float":
		t.plain, ok = true, isNumber && !prefixed
	case "!!bool":
		t.plain, ok = true, kind == typeBool
	case "!!null":
		t.plain, ok = true, isNullText(t.text)
	case "!!timestamp":
		t.plain, ok = false, isTimestamp(t.text)
	case "!!binary":
		t.plain = false
		t.text, ok = byteList(t.text)
	default:
		r.unfitTag(n, tag)
		return
	}
	if !ok {
		r.failAt(n, "the value does not fit its tag %s; remove the tag or mend the value", tag)
	}
}

// unfitTag reports a tag that is unknown, or that belongs to another kind of
// value.
func (r *libraryReader) unfitTag(n *yaml.Node, tag string) {
	switch tag {
	case "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!binary", "!!merge",
		"!!omap", "!!pairs", "!!set", "!!seq", "!!map":
		r.failAt(n, "tag %s does not fit this kind of value; remove the tag", tag)
	default:
		r.failAt(n, "unknown tag %s; remove it", excerpt(r.mask.restore(tag, false)))
	}
}

// singlePairs checks the entries of !!omap and !!pairs, which are mappings of
// one key, and turns those of !!pairs into lists of key and value.
func (r *libraryReader) singlePairs(i int32, n *yaml.Node, tag string) {
	seen := map[string]bool{}
	for e := r.t.nodes[i].first; e != 0; e = r.t.nodes[e].next {
		m := &r.t.nodes[r.t.resolved(e)]
		if m.kind != kindMap || m.first == 0 || r.t.nodes[r.t.nodes[m.first].next].next != 0 {
			r.failAt(n, "an entry of %s must be a mapping with one key", tag)
			return
		}
		key := r.t.nodes[m.first].text
		if tag == "!!omap" && seen[key] {
			r.failAt(n, "key %q is in the !!omap twice", excerpt(key))
			return
		}
		seen[key] = true
		if tag == "!!pairs" {
			m.kind = kindList
		}
	}
}

// isTimestamp reports whether text begins like a YAML timestamp.
func isTimestamp(text string) bool {
	year, rest, ok := strings.Cut(text, "-")
	return ok && len(year) == 4 && digitsEnd(year, 0) == 4 && digitsEnd(rest, 0) > 0 && strings.Contains(rest, "-")
}

// byteList gives what base64 text decodes to, as the reference writes bytes:
// decimal values with commas between them.
func byteList(text string) (string, bool) {
	decoded, err := base64.StdEncoding.DecodeString(strings.NewReplacer("\n", "", "\r", "").Replace(text))
	if err != nil {
		return "", false
	}
	out := make([]byte, 0, 4*len(decoded))
	for k, c := range decoded {
		if k > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendUint(out, uint64(c), 10)
	}
	return string(out), true
}
