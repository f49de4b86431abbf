package artifact

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// MaxProblems bounds the problems that a [Reader] keeps of one document.
const MaxProblems = 100

// Reader takes typed fields out of a [Document] and collects every problem on the
// way, so that a decoder is straight code:
//
//	r := NewReader(doc)
//	o := r.Root().Object()
//	name := o.Need("name").Text()
//	limit := o.May("limit").Uint32()   // 0 when absent
//	o.RefuseUnknown()
//	return name, limit, r.Err()
//
// After a problem the fields give zero values, which must not be used before Err
// is nil.
type Reader struct {
	doc      *Document
	problems []Problem
	dropped  int
	first    bool
}

// NewReader gives a reader that collects up to [MaxProblems] problems.
func NewReader(doc *Document) *Reader { return &Reader{doc: doc} }

// NewFirstReader gives a reader that keeps the first problem only, as version 1
// decoding does.
func NewFirstReader(doc *Document) *Reader { return &Reader{doc: doc, first: true} }

// Root gives the whole document as a field.
func (r *Reader) Root() Field { return Field{r: r, value: r.doc.root, present: true} }

// Report adds a problem with the value at pointer.
func (r *Reader) Report(pointer, format string, args ...any) {
	if r.full() {
		return
	}
	line, column := r.doc.Position(pointer)
	r.problems = append(r.problems, Problem{pointer, line, column, fmt.Sprintf(format, args...)})
}

// full counts a problem that is not kept. It comes before any work on the
// problem, so that a document full of them stays cheap.
func (r *Reader) full() bool {
	if len(r.problems) >= MaxProblems || r.first && len(r.problems) > 0 {
		r.dropped++
		return true
	}
	return false
}

// Failed reports whether there is a problem.
func (r *Reader) Failed() bool { return len(r.problems) > 0 }

// Err gives nil or a *[DocumentError] with the problems in the order of the text.
func (r *Reader) Err() error {
	if len(r.problems) == 0 {
		return nil
	}
	problems := slices.Clone(r.problems)
	sort.SliceStable(problems, func(i, j int) bool {
		a, b := problems[i], problems[j]
		return a.Line < b.Line || a.Line == b.Line && a.Column < b.Column
	})
	if r.dropped > 0 && !r.first {
		last := problems[len(problems)-1]
		last.Text = fmt.Sprintf("%d more problems are not listed", r.dropped)
		problems = append(problems, last)
	}
	return &DocumentError{Source: r.doc.source, Problems: problems}
}

// Field is one value of a document, or the absence of it. Its methods report a
// value of another type as a problem and then give the zero value. For an absent
// field, such as the zero Field, they give the zero value in silence, since
// [Object.Need] has reported it.
type Field struct {
	r       *Reader
	pointer string
	value   Value
	present bool
}

// Present reports whether the field is there. For [Object.May] null is absent.
func (f Field) Present() bool { return f.present }

// Pointer gives the RFC 6901 pointer of the field.
func (f Field) Pointer() string { return f.pointer }

// Kind gives the type of the value; KindNull for an absent field.
func (f Field) Kind() Kind { return f.value.kind }

// Len gives the number of elements or members, repeated ones included.
func (f Field) Len() int { return f.value.Len() }

// Report adds a problem with this field.
func (f Field) Report(format string, args ...any) { f.r.Report(f.pointer, format, args...) }

// ReportName adds a problem with the name of this member.
func (f Field) ReportName(format string, args ...any) {
	if f.r.full() {
		return
	}
	line, column := f.r.doc.NamePosition(f.pointer)
	f.r.problems = append(f.r.problems, Problem{f.pointer, line, column, fmt.Sprintf(format, args...)})
}

func (f Field) is(kind Kind, wanted string) bool {
	if !f.present {
		return false
	}
	if f.value.kind != kind {
		f.Report("%s is not %s", f.describe(), wanted)
		return false
	}
	return true
}

// describe names the field and what stands there.
func (f Field) describe() string {
	found := f.value.String()
	if f.value.kind >= KindArray || len(found) > 40 {
		found = [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[f.value.kind]
	}
	return f.label() + ": " + found
}

// label is the last token of the pointer.
func (f Field) label() string {
	if f.pointer == "" {
		return "document"
	}
	token, _ := cutToken(f.pointer[strings.LastIndexByte(f.pointer, '/'):])
	return token
}

// Text reads a string.
func (f Field) Text() string {
	if !f.is(KindString, "a string") {
		return ""
	}
	return f.value.text
}

// Identifier reads a string that obeys [CheckIdentifier].
func (f Field) Identifier() string {
	s := f.Text()
	if !f.present || f.value.kind != KindString {
		return ""
	}
	if err := CheckIdentifier(s); err != nil {
		f.Report("%v: an identifier has 1 to %d of the characters A-Z a-z 0-9 - _ . /", err, MaxIdentifier)
		return ""
	}
	return s
}

// Enum reads a string that is one of the choices, and suggests the nearest.
func (f Field) Enum(choices ...string) string {
	s := f.Text()
	if !f.present || f.value.kind != KindString || slices.Contains(choices, s) {
		return s
	}
	f.Report("%s: %q is not one of %s%s", f.label(), s, strings.Join(choices, ", "), Suggest(s, choices))
	return ""
}

// Bool reads a boolean.
func (f Field) Bool() bool { return f.is(KindBool, "true or false") && f.value.Bool() }

// Uint16 reads an integer of 16 bits.
func (f Field) Uint16() uint16 { return uint16(f.unsigned(math.MaxUint16)) }

// Uint32 reads an integer of 32 bits.
func (f Field) Uint32() uint32 { return uint32(f.unsigned(math.MaxUint32)) }

// Uint64 reads an integer of 64 bits.
func (f Field) Uint64() uint64 { return f.unsigned(math.MaxUint64) }

// unsigned refuses 10.0 and 1e1: a float never stands for an integer.
func (f Field) unsigned(limit uint64) uint64 {
	const wanted = "a whole number"
	if !f.is(KindNumber, wanted) {
		return 0
	}
	u, ok := f.value.Uint()
	if !ok || u > limit {
		f.Report("%s: %s is not a whole number from 0 to %d", f.label(), f.value.text, limit)
		return 0
	}
	return u
}

// Int64 reads a signed integer of 64 bits.
func (f Field) Int64() int64 {
	if !f.is(KindNumber, "a whole number") {
		return 0
	}
	i, ok := f.value.Int()
	if !ok || f.value.text == "-0" {
		f.Report("%s: %s is not a whole number of 64 bits", f.label(), f.value.text)
		return 0
	}
	return i
}

// Value reads any value in the canonical form of [CanonicalValue].
func (f Field) Value() Value {
	if !f.present {
		return Value{}
	}
	v, err := CanonicalValue(f.value)
	if err != nil {
		f.Report("%s: %v", f.label(), err)
		return Value{}
	}
	return v
}

// List reads the elements of an array.
func (f Field) List() []Field {
	if !f.is(KindArray, "a list") {
		return nil
	}
	fields := make([]Field, len(f.value.list))
	for i, v := range f.value.list {
		fields[i] = Field{r: f.r, pointer: f.pointer + "/" + strconv.Itoa(i), value: v, present: true}
	}
	return fields
}

// Set reads an array of strings as a set: sorted by bytes, without duplicates. It
// is never nil.
func (f Field) Set() []string { return sortedSet(f.List(), Field.Text) }

// IdentifierSet is [Field.Set] for identifiers.
func (f Field) IdentifierSet() []string { return sortedSet(f.List(), Field.Identifier) }

func sortedSet(list []Field, read func(Field) string) []string {
	set := make([]string, 0, len(list))
	for _, f := range list {
		set = append(set, read(f))
	}
	slices.Sort(set)
	return slices.Compact(set)
}

// Map reads the members of an object with free names, sorted by bytes. Of a
// repeated name the last counts.
func (f Field) Map() iter.Seq2[string, Field] {
	return func(yield func(string, Field) bool) {
		if !f.is(KindObject, "a mapping") {
			return
		}
		for _, m := range orderBytes(lastMembers(f.value.members)) {
			if !yield(m.Name, f.member(m)) {
				return
			}
		}
	}
}

// Members is [Field.Map] in the order of the text.
func (f Field) Members() iter.Seq2[string, Field] {
	return func(yield func(string, Field) bool) {
		if !f.is(KindObject, "a mapping") {
			return
		}
		for _, m := range lastMembers(f.value.members) {
			if !yield(m.Name, f.member(m)) {
				return
			}
		}
	}
}

func (f Field) member(m Member) Field {
	return Field{r: f.r, pointer: PointerTo(f.pointer, m.Name), value: m.Value, present: true}
}

// Object reads an object with known names. A name that appears twice is a
// problem.
func (f Field) Object() *Object {
	o := &Object{field: f}
	if !f.is(KindObject, "an object") {
		o.field.present = false
		return o
	}
	if len(lastMembers(f.value.members)) == len(f.value.members) {
		return o
	}
	seen := map[string]bool{}
	for _, m := range f.value.members {
		if seen[m.Name] {
			f.Report("member %q appears twice; keep one", m.Name)
		}
		seen[m.Name] = true
	}
	return o
}

// Object is an object whose members are asked for by name.
type Object struct {
	field Field
	asked []string
}

// Field gives the object itself.
func (o *Object) Field() Field { return o.field }

// Need gives a member that must be there; null is a value. An absent member is a
// problem.
func (o *Object) Need(name string) Field {
	f := o.get(name)
	if !f.present && o.field.present {
		o.field.Report("%s is missing", name)
	}
	return f
}

// May gives a member that may be absent; null means absent.
func (o *Object) May(name string) Field {
	f := o.get(name)
	f.present = f.present && f.value.kind != KindNull
	return f
}

func (o *Object) get(name string) Field {
	o.asked = append(o.asked, name)
	f := Field{r: o.field.r, pointer: PointerTo(o.field.pointer, name)}
	if o.field.present {
		f.value, f.present = o.field.value.Get(name)
	}
	return f
}

// Has reports whether the object has the member, even as null, without marking
// it as known.
func (o *Object) Has(name string) bool {
	_, ok := o.field.value.Get(name)
	return ok && o.field.present
}

// Know marks names as known without reading them.
func (o *Object) Know(names ...string) { o.asked = append(o.asked, names...) }

// RefuseUnknown reports every member that was never asked for, with the nearest
// name that was. Call it last; without it unknown members are ignored.
func (o *Object) RefuseUnknown() {
	if !o.field.present {
		return
	}
	for _, m := range o.field.value.members {
		if slices.Contains(o.asked, m.Name) {
			continue
		}
		f := o.field.member(m)
		if len(f.r.problems) < MaxProblems {
			f.ReportName("unknown member %q%s", m.Name, Suggest(m.Name, o.asked))
		} else {
			f.r.dropped++
		}
	}
}

// maxChoices bounds the choices that [Suggest] compares.
const maxChoices = 1_000

// Suggest gives "; did you mean ...?" with the choice nearest to name, or "" when
// none is near or there are more than a thousand choices.
func Suggest(name string, choices []string) string {
	if len(choices) > maxChoices {
		return ""
	}
	best, bestDistance := "", 2*min(3, 1+len(name)/2)-1
	for _, choice := range choices {
		a, b := strings.ToLower(name), strings.ToLower(choice)
		d := 2 * Distance(a, b)
		if a != "" && b != "" && a[0] == b[0] {
			d-- // of two that are equally near, the one that begins alike
		}
		if d < bestDistance {
			best, bestDistance = choice, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// lastMembers keeps the last of repeated names, at the place of the first.
func lastMembers(members []Member) []Member {
	seen := make(map[string]int, len(members))
	for i, m := range members {
		if _, ok := seen[m.Name]; ok {
			return ObjectValue(slices.Clone(members)...).members
		}
		seen[m.Name] = i
	}
	return members
}

// lastWins applies lastMembers at every depth.
func lastWins(v Value) Value {
	switch v.kind {
	case KindArray:
		list := make([]Value, len(v.list))
		for i := range v.list {
			list[i] = lastWins(v.list[i])
		}
		return Value{kind: KindArray, list: list}
	case KindObject:
		members := slices.Clone(lastMembers(v.members))
		for i := range members {
			members[i].Value = lastWins(members[i].Value)
		}
		return Value{kind: KindObject, members: members}
	}
	return v
}

// CanonicalValue gives v as the free values of runtime documents are kept: names
// sorted by bytes at every depth, the last of repeated names, numbers with the
// text of [CanonicalRuntime]. Its [Value.AppendCompact] is then the canonical
// text. A typed document is an [ObjectValue] in declaration order around such
// values. A number beyond the range of a float64 is an error, and so is nesting
// beyond [MaxDepth].
func CanonicalValue(v Value) (Value, error) { return canonicalValue(v, 0) }

func canonicalValue(v Value, depth int) (Value, error) {
	if v.kind < KindArray {
		if v.kind != KindNumber {
			return v, nil
		}
		text, err := appendRuntimeNumber(nil, v.text)
		if err != nil {
			return Value{}, err
		}
		return Value{kind: KindNumber, text: string(text)}, nil
	}
	if depth++; depth > MaxDepth {
		return Value{}, fmt.Errorf("nested more than %d levels deep", MaxDepth)
	}
	var err error
	out := Value{kind: v.kind}
	if v.kind == KindArray {
		out.list = make([]Value, len(v.list))
		for i := range v.list {
			if out.list[i], err = canonicalValue(v.list[i], depth); err != nil {
				return Value{}, err
			}
		}
		return out, nil
	}
	out.members = slices.Clone(orderBytes(lastMembers(v.members)))
	for i := range out.members {
		if out.members[i].Value, err = canonicalValue(out.members[i].Value, depth); err != nil {
			return Value{}, err
		}
	}
	return out, nil
}
