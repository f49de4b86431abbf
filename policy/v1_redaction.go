package policy

import (
	"slices"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// RedactionV1 replaces the values at some pointers by a text.
type RedactionV1 struct {
	Version     uint16   // not examined
	Pointers    []string // RFC 6901, sorted by bytes
	Replacement string
}

// Apply gives v with every value at a pointer that resolves replaced, whatever
// its type. A parent hides its children, since it sorts before them.
func (r RedactionV1) Apply(v artifact.Value) artifact.Value {
	for _, p := range r.Pointers {
		v = replaceAt(v, p, artifact.StringValue(r.Replacement))
	}
	return v
}

// replaceAt gives a copy of v with the value at a pointer replaced; v itself
// where the pointer does not resolve.
func replaceAt(v artifact.Value, pointer string, with artifact.Value) artifact.Value {
	if pointer == "" {
		return with
	}
	if pointer[0] != '/' {
		return v
	}
	token, rest := pointer[1:], ""
	if i := strings.IndexByte(token, '/'); i >= 0 {
		token, rest = token[:i], token[i:]
	}
	name := unescape(token)
	switch v.Kind() {
	case artifact.KindObject:
		if child, ok := v.Get(name); ok {
			return v.With(name, replaceAt(child, rest, with))
		}
	case artifact.KindArray:
		if i, ok := arrayIndex(name); ok && i < v.Len() {
			elements := slices.Clone(v.Elements())
			elements[i] = replaceAt(elements[i], rest, with)
			return artifact.ArrayValue(elements...)
		}
	}
	return v
}

func unescape(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

// arrayIndex reads an index without sign or leading zeros.
func arrayIndex(token string) (int, bool) {
	if token == "" || token[0] == '+' || token[0] == '-' || token[0] == '0' && token != "0" {
		return 0, false
	}
	i, err := strconv.Atoi(token)
	return i, err == nil
}

// Canonical gives the rules' canonical bytes.
func (r RedactionV1) Canonical() []byte {
	return object(
		artifact.Member{Name: "version", Value: artifact.UintValue(uint64(r.Version))},
		artifact.Member{Name: "json_pointers", Value: stringList(r.Pointers)},
		artifact.Member{Name: "replacement", Value: artifact.StringValue(r.Replacement)},
	).AppendCompact(nil)
}

// ParseRedaction reads redaction rules.
func ParseRedaction(data []byte, source string) (RedactionV1, error) {
	return decodeV1(data, source, func(o *artifact.Object) RedactionV1 {
		return RedactionV1{
			Version: o.Need("version").Uint16(), Pointers: o.Need("json_pointers").Set(), Replacement: o.Need("replacement").Text(),
		}
	})
}
