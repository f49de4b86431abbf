package policy

import (
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// writeYAML gives a mapping as block YAML: mappings in lines, lists in brackets, but
// those of mappings one to a line, text plain where that cannot be misread.
func writeYAML(v artifact.Value) string {
	w := yamlWriter{quote: quoteYAML}
	w.mapping(v, "")
	return w.String()
}

// writeNative gives a mapping as native .knolo text, which knows no quotes.
func writeNative(v artifact.Value) string {
	w := yamlWriter{quote: func(s string) string { return s }}
	w.mapping(v, "")
	return w.String()
}

type yamlWriter struct {
	strings.Builder
	quote func(string) string
}

func (w *yamlWriter) mapping(v artifact.Value, indent string) {
	for _, m := range v.Members() {
		w.WriteString(indent + w.quote(m.Name) + ":")
		switch {
		case m.Value.Kind() == artifact.KindObject && m.Value.Len() > 0:
			w.WriteString("\n")
			w.mapping(m.Value, indent+"  ")
		case slices.ContainsFunc(m.Value.Elements(), func(e artifact.Value) bool { return e.Kind() == artifact.KindObject }):
			w.WriteString("\n")
			for _, e := range m.Value.Elements() {
				w.WriteString(indent + "  - " + w.flow(e) + "\n")
			}
		default:
			w.WriteString(" " + w.flow(m.Value) + "\n")
		}
	}
}

// flow gives a value on one line. JSON is YAML, so what is not plain is JSON.
func (w *yamlWriter) flow(v artifact.Value) string {
	switch v.Kind() {
	case artifact.KindString:
		return w.quote(v.Text())
	case artifact.KindArray:
		parts := make([]string, v.Len())
		for i, e := range v.Elements() {
			parts[i] = w.flow(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case artifact.KindObject:
		parts := make([]string, v.Len())
		for i, m := range v.Members() {
			parts[i] = w.quote(m.Name) + ": " + w.flow(m.Value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return v.String()
}

// quoteYAML writes text plain when nothing in it has a meaning in YAML, of
// version 1.1 either.
func quoteYAML(s string) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	plain := s != "" && strings.Trim(s[:1], letters+"/") == "" && strings.Trim(s, letters+"0123456789-_./") == ""
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		plain = false
	}
	if plain {
		return s
	}
	return string(artifact.AppendString(nil, s))
}
