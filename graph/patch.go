package graph

import (
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// Patch is the document StatePatch (runtime contract, section 3.3): what one node
// changes in the state of one revision.
type Patch struct {
	BaseRevision uint64
	Operations   map[string]Operation // by the path that is written
}

// Operation sets a path or removes it.
type Operation struct {
	Remove bool
	Value  artifact.Value // what is set; null when Remove
}

// Set gives the operation that inserts or replaces a value.
func Set(v artifact.Value) Operation { return Operation{Value: v} }

// Remove gives the operation that removes a value, which must be there.
func Remove() Operation { return Operation{Remove: true} }

// Paths gives the written paths in byte order, which is the order of reduction.
func (p Patch) Paths() []string { return artifact.SortedNames(p.Operations) }

// DecodePatch reads a StatePatch.
func DecodePatch(data []byte, source string) (*Patch, error) {
	return decodeV1(data, source, readPatch)
}

func readPatch(f artifact.Field) *Patch {
	o := f.Object()
	p := &Patch{BaseRevision: o.Need("base_revision").Uint64(), Operations: map[string]Operation{}}
	for path, op := range o.Need("operations").Map() {
		p.Operations[path] = readOperation(op)
	}
	o.RefuseUnknown()
	return p
}

func readOperation(f artifact.Field) Operation {
	name, body := variant(f, "Set", "Remove")
	if name == "Set" {
		if !body.Present() {
			f.Report("Set needs a value")
		}
		return Set(body.Value())
	}
	if body.Present() && body.Kind() != artifact.KindNull {
		body.Report("Remove takes no value")
	}
	return Remove()
}

// variant reads an externally tagged enum: "Name" or {"Name": body}. The body is
// absent in the first form.
func variant(f artifact.Field, names ...string) (string, artifact.Field) {
	if f.Kind() != artifact.KindObject {
		return f.Enum(names...), artifact.Field{}
	}
	for name, body := range f.Members() {
		switch {
		case f.Len() != 1:
			f.Report("want one of %s and nothing else", strings.Join(names, ", "))
		case slices.Contains(names, name):
			return name, body
		default:
			f.Report("unknown variant %q; want one of %s", name, strings.Join(names, ", "))
		}
		return "", artifact.Field{}
	}
	if f.Present() {
		f.Report("want one of %s", strings.Join(names, ", "))
	}
	return "", artifact.Field{}
}

// AsValue gives the document in canonical order.
func (p Patch) AsValue() artifact.Value {
	operations := make([]artifact.Member, 0, len(p.Operations))
	for _, path := range p.Paths() {
		op := p.Operations[path]
		v := artifact.StringValue("Remove")
		if !op.Remove {
			v = artifact.ObjectValue(member("Set", op.Value))
		}
		operations = append(operations, member(path, v))
	}
	return artifact.ObjectValue(
		member("base_revision", artifact.UintValue(p.BaseRevision)),
		member("operations", artifact.ObjectValue(operations...)),
	)
}

// Encode gives the canonical bytes, provided that the values are canonical (see
// [artifact.CanonicalValue]); decoded patches are.
func (p Patch) Encode() []byte { return p.AsValue().AppendCompact(nil) }

// Reduce applies a patch to a state and gives the state of the next revision
// (runtime contract, section 3.4). Writes are the paths that the node declares; a
// path is granted by an exact match only. The operations are applied in byte
// order of their paths, then the whole result is validated. An empty patch still
// makes a new revision. On an error the given state stands; the errors are
// *[RevisionConflictError], *[InvalidPatchError] and *[SchemaViolationError].
func Reduce(s Snapshot, p Patch, writes []string, schema *Schema, by Provenance) (Snapshot, error) {
	if p.BaseRevision != s.Revision {
		return Snapshot{}, &RevisionConflictError{Expected: s.Revision, Actual: p.BaseRevision}
	}
	v := s.Value
	for _, path := range p.Paths() {
		var err error
		if !slices.Contains(writes, path) {
			return Snapshot{}, &InvalidPatchError{"undeclared write path " + path}
		}
		if v, err = apply(v, path, p.Operations[path]); err != nil {
			return Snapshot{}, err
		}
	}
	if err := schema.Validate(v); err != nil {
		return Snapshot{}, err
	}
	return Snapshot{SchemaID: s.SchemaID, Revision: s.Revision + 1, Value: v, Provenance: &by}, nil
}

func apply(v artifact.Value, path string, op Operation) (artifact.Value, error) {
	if !writable(path) {
		return v, &InvalidPatchError{"invalid path " + path}
	}
	tokens := strings.Split(path[1:], "/")
	if len(tokens)+depth(op.Value) > maxStateDepth {
		return v, &InvalidPatchError{"value is nested too deep at " + path}
	}
	var err error
	if op.Value, err = artifact.CanonicalValue(op.Value); err != nil {
		return v, &InvalidPatchError{err.Error() + " at " + path}
	}
	return write(v, path, tokens, op)
}

// write descends to the last parent and gives the changed copy of v.
func write(v artifact.Value, path string, tokens []string, op Operation) (artifact.Value, error) {
	if v.Kind() != artifact.KindObject {
		return v, &InvalidPatchError{"parent is not object for " + path}
	}
	old, present := v.Get(tokens[0])
	switch {
	case len(tokens) > 1:
		if !present {
			return v, &InvalidPatchError{"missing parent for " + path}
		}
		changed, err := write(old, path, tokens[1:], op)
		if err != nil {
			return v, err
		}
		return insert(v, tokens[0], changed), nil
	case !op.Remove:
		return insert(v, tokens[0], op.Value), nil
	case !present:
		return v, &InvalidPatchError{"missing path " + path}
	}
	return v.Without(tokens[0]), nil
}

// insert is [artifact.Value.With] with a new member at its place in byte order.
func insert(v artifact.Value, name string, value artifact.Value) artifact.Value {
	members := v.Members()
	at := 0
	for at < len(members) && members[at].Name < name {
		at++
	}
	if at == len(members) || members[at].Name == name {
		return v.With(name, value)
	}
	if _, ok := v.Get(name); ok {
		return v.With(name, value)
	}
	return artifact.ObjectValue(slices.Insert(slices.Clone(members), at, member(name, value))...)
}

// Difference gives the patch that turns the state before into the state after, at
// the given paths: what a branch has changed in all, however many patches it
// took. Paths below another changed path are part of that one. Values outside the
// paths are not compared.
func Difference(before, after Snapshot, paths []string) Patch {
	p := Patch{BaseRevision: before.Revision, Operations: map[string]Operation{}}
	var changed []string
	for _, path := range sorted(paths) {
		if covered(path, changed) {
			continue
		}
		was, wasThere := Lookup(before.Value, path)
		is, isThere := Lookup(after.Value, path)
		switch {
		case isThere && (!wasThere || was.String() != is.String()): // 1 and 1.0 differ
			p.Operations[path] = Set(is)
		case wasThere && !isThere:
			p.Operations[path] = Remove()
		default:
			continue
		}
		changed = append(changed, path)
	}
	return p
}

// Merge joins the patches of parallel branches, all made for the same revision,
// into one. The compiler has proven that branches write disjoint paths, so the
// result does not depend on the order of the branches; an overlap is an
// *[InvalidPatchError] all the same.
func Merge(base uint64, branches ...Patch) (Patch, error) {
	merged := Patch{BaseRevision: base, Operations: map[string]Operation{}}
	owner := map[string]int{}
	for i, b := range branches {
		if b.BaseRevision != base {
			return Patch{}, &RevisionConflictError{Expected: base, Actual: b.BaseRevision}
		}
		for path, op := range b.Operations {
			merged.Operations[path], owner[path] = op, i
		}
	}
	count := 0
	for _, b := range branches {
		count += len(b.Operations)
	}
	paths := merged.Paths()
	for _, path := range paths {
		for above := path; above != ""; above = above[:strings.LastIndexByte(above, '/')] {
			if i, ok := owner[above]; ok && i != owner[path] {
				return Patch{}, &InvalidPatchError{"branches both write " + path}
			}
			if !strings.HasPrefix(above, "/") {
				break
			}
		}
	}
	if len(paths) != count {
		return Patch{}, &InvalidPatchError{"branches write the same path"}
	}
	return merged, nil
}
