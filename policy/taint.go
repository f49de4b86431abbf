package policy

import (
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// Taint says where a value comes from, as a set. What does not come from a
// person who wrote the graph or the pack is tainted: it may be used, but it never
// widens authority.
type Taint uint8

// The sources.
const (
	FromModel     Taint = 1 << iota // an answer of a model
	FromTool                        // a result of a tool, program, request or module
	FromKnowledge                   // bytes of knowledge
	FromRequest                     // input of the run
)

var taintNames = []string{"model", "tool", "knowledge", "request"}

// Has reports whether any of the sources is in t.
func (t Taint) Has(sources Taint) bool { return t&sources != 0 }

// IsDerived reports whether a model or what a model can steer had a part in the
// value: exec treats such arguments with care.
func (t Taint) IsDerived() bool { return t.Has(FromModel | FromTool | FromKnowledge) }

// String gives the sources, such as model+tool, or none.
func (t Taint) String() string {
	var names []string
	for i, name := range taintNames {
		if t&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, "+")
}

// ParseTaint reads what [Taint.String] gives.
func ParseTaint(text string) (Taint, bool) {
	if text == "none" {
		return 0, true
	}
	var t Taint
	for name := range strings.SplitSeq(text, "+") {
		i := slices.Index(taintNames, name)
		if i < 0 {
			return 0, false
		}
		t |= 1 << i
	}
	return t, true
}

// Marks keeps the taint of a document by RFC 6901 pointers: a mark covers the
// value and all below it. The zero value marks nothing.
type Marks struct {
	marks map[string]Taint
}

// Set marks the value at pointer and all below it, in place of what was marked
// there before.
func (m *Marks) Set(pointer string, t Taint) {
	for p := range m.marks {
		if isBelow(p, pointer) {
			delete(m.marks, p)
		}
	}
	if m.marks == nil {
		m.marks = map[string]Taint{}
	}
	// A mark of nothing is kept where a mark above would cover it.
	if t != 0 || m.above(pointer) != 0 {
		m.marks[pointer] = t
	}
}

// At gives the taint of the value at pointer with all that is in it.
func (m *Marks) At(pointer string) Taint {
	if m == nil {
		return 0
	}
	t := m.above(pointer)
	for p, below := range m.marks {
		if isBelow(p, pointer) {
			t |= below
		}
	}
	return t
}

// above gives the mark that covers pointer: the nearest one.
func (m *Marks) above(pointer string) Taint {
	for {
		if t, ok := m.marks[pointer]; ok {
			return t
		}
		i := strings.LastIndexByte(pointer, '/')
		if i < 0 {
			return 0
		}
		pointer = pointer[:i]
	}
}

// isBelow reports whether p is at or below pointer.
func isBelow(p, pointer string) bool {
	return strings.HasPrefix(p, pointer) && (len(p) == len(pointer) || p[len(pointer)] == '/')
}

// Pointers lists the tainted pointers, sorted.
func (m *Marks) Pointers() []string {
	if m == nil {
		return nil
	}
	var list []string
	for _, p := range artifact.SortedNames(m.marks) {
		if m.marks[p] != 0 {
			list = append(list, p)
		}
	}
	return list
}

// Derived lists the pointers in which a model, a tool or knowledge had a part,
// sorted: what conditions see as tainted.
func (m *Marks) Derived() []string {
	return slices.DeleteFunc(m.Pointers(), func(p string) bool { return !m.marks[p].IsDerived() })
}

// Value gives the marks as an object, for events and checkpoints.
func (m *Marks) Value() artifact.Value {
	var f fields
	if m != nil {
		for _, p := range artifact.SortedNames(m.marks) {
			f.put(p, artifact.StringValue(m.marks[p].String()))
		}
	}
	return f.object()
}

// ReadMarks reads what [Marks.Value] gives.
func ReadMarks(f artifact.Field) *Marks {
	m := &Marks{marks: map[string]Taint{}}
	for pointer, v := range f.Map() {
		t, ok := ParseTaint(v.Text())
		if !ok {
			v.Report("%s is no taint; write none or sources joined by +", v.Text())
		}
		m.marks[pointer] = t
	}
	return m
}
