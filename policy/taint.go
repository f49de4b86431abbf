package policy

import (
	"maps"
	"slices"
	"strconv"
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
// value and all below it, as far as no other mark does. The zero value and nil mark
// nothing.
type Marks struct {
	marks map[string]Taint
}

// Set marks the value at pointer and all below it, in place of what was marked
// there before.
func (m *Marks) Set(pointer string, t Taint) {
	for p := range m.marks {
		if artifact.PointerWithin(p, pointer) {
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

// Add joins t to what the value at pointer and all below it are marked with.
func (m *Marks) Add(pointer string, t Taint) {
	if t == 0 {
		return
	}
	if m.marks == nil {
		m.marks = map[string]Taint{}
	}
	for p := range m.marks {
		if artifact.PointerWithin(p, pointer) {
			m.marks[p] |= t
		}
	}
	m.marks[pointer] = m.above(pointer) | t
}

// Clone gives marks of their own, also for nil.
func (m *Marks) Clone() *Marks {
	if m == nil {
		return &Marks{}
	}
	return &Marks{maps.Clone(m.marks)}
}

// IsEmpty reports whether nothing is marked.
func (m *Marks) IsEmpty() bool { return m == nil || len(m.marks) == 0 }

// Part gives the marks at and below some sorted pointers, as they stand there.
func (m *Marks) Part(pointers []string) *Marks {
	part := m.Clone()
	maps.DeleteFunc(part.marks, func(p string, _ Taint) bool { return !isBelowAny(p, pointers) })
	return part
}

// Graft gives the marks with a part that [Marks.Part] gave for the same pointers,
// in place of what stands there; nil when nothing is marked then.
func (m *Marks) Graft(pointers []string, part *Marks) *Marks {
	whole := m.Clone()
	maps.DeleteFunc(whole.marks, func(p string, _ Taint) bool { return isBelowAny(p, pointers) })
	switch {
	case part.IsEmpty() && whole.IsEmpty():
		return nil
	case whole.IsEmpty():
		return part
	case !part.IsEmpty():
		maps.Copy(whole.marks, part.marks)
	}
	return whole
}

// At gives the taint of the value at pointer with all that is in it.
func (m *Marks) At(pointer string) Taint {
	if m == nil {
		return 0
	}
	t := m.above(pointer)
	for p, below := range m.marks {
		if artifact.PointerWithin(p, pointer) {
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

// Derived lists every pointer into args at which a model, a tool or knowledge had
// a part, sorted: what is marked so, all that is in it and all that it is in. So a
// pointer is in the list just when [Marks.At] gives a derived taint for it.
// Conditions see the list as tainted.
func (m *Marks) Derived(args artifact.Value) []string {
	if m.IsEmpty() {
		return nil
	}
	derived := map[string]bool{}
	for p, t := range m.marks {
		for ; t.IsDerived() && !derived[p]; p = p[:max(0, strings.LastIndexByte(p, '/'))] {
			derived[p] = true
		}
	}
	if len(derived) > 0 {
		m.derivedBelow(args, "", false, 0, derived)
	}
	return artifact.SortedNames(derived)
}

// derivedBelow adds the pointers of a value and of all in it, which lies below a
// derived mark or not.
func (m *Marks) derivedBelow(v artifact.Value, pointer string, below bool, depth int, derived map[string]bool) {
	if t, ok := m.marks[pointer]; ok {
		below = t.IsDerived()
	}
	if below {
		derived[pointer] = true
	}
	if depth == artifact.MaxDepth {
		return
	}
	for i, e := range v.Elements() {
		m.derivedBelow(e, pointer+"/"+strconv.Itoa(i), below, depth+1, derived)
	}
	for _, member := range v.Members() {
		m.derivedBelow(member.Value, artifact.PointerTo(pointer, member.Name), below, depth+1, derived)
	}
}

// isBelowAny reports whether p is at or below one of some sorted pointers.
func isBelowAny(p string, pointers []string) bool {
	for {
		if _, found := slices.BinarySearch(pointers, p); found {
			return true
		}
		i := strings.LastIndexByte(p, '/')
		if i < 0 {
			return false
		}
		p = p[:i]
	}
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

// ReadMarks reads what [Marks.Value] gives; nil where the field is absent.
func ReadMarks(f artifact.Field) *Marks {
	if !f.Present() {
		return nil
	}
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
