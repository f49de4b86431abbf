package graph

import (
	"slices"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// Two grammars of JSON pointers exist (runtime contract, section 1.4). Reading
// follows RFC 6901. Writing walks objects only and knows no escapes, so a name
// with / or ~, the whole document and the elements of arrays cannot be written.

// maxStateDepth is the deepest nesting that a patch may give to the state. It
// leaves room for the documents around the state below [artifact.MaxDepth].
const maxStateDepth = 120

// Lookup gives the value at an RFC 6901 pointer. A pointer that is neither empty
// nor begins with / never resolves.
func Lookup(v artifact.Value, pointer string) (artifact.Value, bool) {
	if pointer == "" {
		return v, true
	}
	rest, ok := strings.CutPrefix(pointer, "/")
	for ok {
		var token string
		var more bool
		token, rest, more = strings.Cut(rest, "/")
		if v, ok = step(v, unescape(token)); !ok || !more {
			return v, ok
		}
	}
	return artifact.Value{}, false
}

func step(v artifact.Value, token string) (artifact.Value, bool) {
	switch v.Kind() {
	case artifact.KindObject:
		return v.Get(token)
	case artifact.KindArray:
		i, err := strconv.ParseUint(token, 10, 31)
		if err != nil || token != strconv.FormatUint(i, 10) || int(i) >= v.Len() {
			return artifact.Value{}, false
		}
		return v.Elements()[i], true
	}
	return artifact.Value{}, false
}

func unescape(token string) string {
	if !strings.Contains(token, "~") {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

// writable reports whether a pointer obeys the writing grammar.
func writable(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.Contains(path, "~") &&
		!strings.HasSuffix(path, "/") && !strings.Contains(path, "//")
}

// readable reports whether a pointer can resolve at all.
func readable(path string) bool {
	if path == "" {
		return true
	}
	for rest := path; ; {
		i := strings.IndexByte(rest, '~')
		if i < 0 {
			return path[0] == '/'
		}
		if rest = rest[i+1:]; rest == "" || rest[0] != '0' && rest[0] != '1' {
			return false
		}
	}
}

// covered reports whether one of the paths contains path.
func covered(path string, paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool { return artifact.PointerWithin(path, p) })
}

// Project gives the part of an object that the reads name: what a node with
// enforced reads can see. Names that are not read are absent, at every depth; a
// read that does not resolve is absent too. An array that a read goes through is
// given whole. The order of members is kept.
func Project(v artifact.Value, reads []string) artifact.Value {
	return project(v, reads, 0)
}

// Shown gives the pointer of the part that [Project] gives for a read: that of an
// array which the read goes through, else the read itself.
func Shown(v artifact.Value, read string) string {
	at := 0
	for at < len(read) && v.Kind() == artifact.KindObject {
		end := len(read)
		if i := strings.IndexByte(read[at+1:], '/'); i >= 0 {
			end = at + 1 + i
		}
		below, ok := v.Get(unescape(read[at+1 : end]))
		if !ok {
			return read
		}
		v, at = below, end
	}
	if v.Kind() == artifact.KindArray {
		return read[:at]
	}
	return read
}

func project(v artifact.Value, reads []string, depth int) artifact.Value {
	if slices.Contains(reads, "") || v.Kind() != artifact.KindObject || depth >= artifact.MaxDepth {
		return v
	}
	below := map[string][]string{}
	for _, r := range reads {
		if rest, ok := strings.CutPrefix(r, "/"); ok {
			token, deeper, more := strings.Cut(rest, "/")
			if more {
				deeper = "/" + deeper
			}
			token = unescape(token)
			below[token] = append(below[token], deeper)
		}
	}
	members := make([]artifact.Member, 0, min(len(below), v.Len()))
	for _, m := range v.Members() {
		deeper, ok := below[m.Name]
		if !ok || m.Value.Kind() < artifact.KindArray && !slices.Contains(deeper, "") {
			continue
		}
		members = append(members, artifact.Member{Name: m.Name, Value: project(m.Value, deeper, depth+1)})
	}
	return artifact.ObjectValue(members...)
}
