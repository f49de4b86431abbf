package cel

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"

	"github.com/writ-dev/writ/artifact"
)

// entries is what both ordered maps have: keys in order, and a way to find one.
type entries interface {
	traits.Mapper
	count() int
	entry(i int) (key, value ref.Val)
}

// object is an object of the host as a CEL map.
type object struct {
	opaque
	value artifact.Value
	index map[string]int // of the members; built for large objects when first needed
}

// indexFrom is the number of members from which a map is faster than a walk.
const indexFrom = 16

func (o *object) Type() ref.Type                   { return types.MapType }
func (o *object) Value() any                       { return o.value }
func (o *object) Size() ref.Val                    { return types.Int(o.value.Len()) }
func (o *object) ConvertToType(t ref.Type) ref.Val { return convert(o, types.MapType, t) }
func (o *object) Equal(other ref.Val) ref.Val      { return equalMaps(o, other) }
func (o *object) Contains(key ref.Val) ref.Val     { return contains(o, key) }
func (o *object) Get(key ref.Val) ref.Val          { return get(o, key) }
func (o *object) Iterator() traits.Iterator        { return &keys{of: o} }
func (o *object) Fold(f traits.Folder)             { fold(o, f) }
func (o *object) count() int                       { return o.value.Len() }

func (o *object) entry(i int) (ref.Val, ref.Val) {
	m := o.value.Members()[i]
	return types.String(m.Name), toCEL(m.Value)
}

// Find implements the library's Mapper.
func (o *object) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	if o.value.Len() < indexFrom {
		v, found := o.value.Get(string(name))
		if !found {
			return nil, false
		}
		return toCEL(v), true
	}
	if o.index == nil {
		o.index = make(map[string]int, o.value.Len())
		for i, m := range o.value.Members() {
			o.index[m.Name] = i
		}
	}
	i, found := o.index[string(name)]
	if !found {
		return nil, false
	}
	return toCEL(o.value.Members()[i].Value), true
}

// literal is a map that a source builds.
type literal struct {
	opaque
	names, values []ref.Val
}

func (l *literal) Type() ref.Type                   { return types.MapType }
func (l *literal) Value() any                       { return l.values }
func (l *literal) Size() ref.Val                    { return types.Int(len(l.names)) }
func (l *literal) ConvertToType(t ref.Type) ref.Val { return convert(l, types.MapType, t) }
func (l *literal) Equal(other ref.Val) ref.Val      { return equalMaps(l, other) }
func (l *literal) Contains(key ref.Val) ref.Val     { return contains(l, key) }
func (l *literal) Get(key ref.Val) ref.Val          { return get(l, key) }
func (l *literal) Iterator() traits.Iterator        { return &keys{of: l} }
func (l *literal) Fold(f traits.Folder)             { fold(l, f) }
func (l *literal) count() int                       { return len(l.names) }
func (l *literal) entry(i int) (ref.Val, ref.Val)   { return l.names[i], l.values[i] }

// Find implements the library's Mapper. Sources are short, so a walk will do.
func (l *literal) Find(key ref.Val) (ref.Val, bool) {
	for i, name := range l.names {
		if types.Equal(name, key) == types.True {
			return l.values[i], true
		}
	}
	return nil, false
}

func get(m entries, key ref.Val) ref.Val {
	v, found := m.Find(key)
	if !found {
		return types.ValOrErr(v, "no such key: %v", key)
	}
	return v
}

func contains(m entries, key ref.Val) ref.Val {
	_, found := m.Find(key)
	return types.Bool(found)
}

func fold(m entries, f traits.Folder) {
	for i := range m.count() {
		if !f.FoldEntry(m.entry(i)) {
			return
		}
	}
}

func equalMaps(m entries, other ref.Val) ref.Val {
	o, ok := other.(traits.Mapper)
	if !ok || o.Size() != m.Size() {
		return types.False
	}
	for i := range m.count() {
		key, value := m.entry(i)
		theirs, found := o.Find(key)
		if !found || types.Equal(value, theirs) == types.False {
			return types.False
		}
	}
	return types.True
}

// keys walks over a map.
type keys struct {
	opaque
	of   entries
	next int
}

func (k *keys) Type() ref.Type                 { return types.IteratorType }
func (k *keys) Value() any                     { return nil }
func (k *keys) Equal(ref.Val) ref.Val          { return types.NewErr("no such overload") }
func (k *keys) ConvertToType(ref.Type) ref.Val { return types.NewErr("no such overload") }
func (k *keys) HasNext() ref.Val               { return types.Bool(k.next < k.of.count()) }
func (k *keys) Next() ref.Val {
	key, _ := k.of.entry(k.next)
	k.next++
	return key
}

// orderMaps replaces the step that builds a map from a literal, which loses the
// order, by one that keeps it.
func orderMaps(step interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	build, ok := step.(interpreter.InterpretableConstructor)
	if !ok || build.Type() != types.MapType {
		return step, nil
	}
	return &buildMap{InterpretableV2: step, parts: build.InitVals()}, nil
}

// buildMap evaluates a map literal: keys and values in the order of the text.
type buildMap struct {
	interpreter.InterpretableV2
	parts []interpreter.InterpretableV2 // key, value, key, value
}

// Exec implements the library's InterpretableV2.
func (b *buildMap) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	n := len(b.parts) / 2
	m := &literal{names: make([]ref.Val, 0, n), values: make([]ref.Val, 0, n)}
	for i := range n {
		key := b.parts[2*i].Exec(frame)
		if types.IsUnknownOrError(key) {
			return key
		}
		value := b.parts[2*i+1].Exec(frame)
		if types.IsUnknownOrError(value) {
			return value
		}
		if _, twice := m.Find(key); twice {
			return types.NewErr("key %v appears twice in a map", key)
		}
		m.names, m.values = append(m.names, key), append(m.values, value)
	}
	if costs := frame.CostTracker(); costs != nil {
		costs.CreateMap(b.ID(), m)
	}
	return m
}
