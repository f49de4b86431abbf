package cel

import (
	"fmt"
	"reflect"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/writ-dev/writ/artifact"
)

// toCEL gives a value to CEL without copying it.
func toCEL(v artifact.Value) ref.Val {
	switch v.Kind() {
	case artifact.KindNull:
		return types.NullValue
	case artifact.KindBool:
		return types.Bool(v.Bool())
	case artifact.KindString:
		return types.String(v.Text())
	case artifact.KindArray:
		return &list{elements: v.Elements()}
	case artifact.KindObject:
		return &object{value: v}
	}
	if i, ok := v.Int(); ok && v.Text() != "-0" {
		return types.Int(i)
	}
	if u, ok := v.Uint(); ok {
		return types.Uint(u)
	}
	x, ok := v.Float()
	if !ok {
		return types.NewErr("number %.40s is out of range", v.Text())
	}
	return types.Double(x)
}

// fromCEL gives a result, spending one of left for each value in it: inside CEL
// a list may hold one value many times over.
func fromCEL(v ref.Val, left *int, depth int) (artifact.Value, error) {
	if *left--; *left < 0 {
		return artifact.Value{}, fmt.Errorf("result has more than %d values", maxResult)
	}
	if depth > artifact.MaxDepth {
		return artifact.Value{}, fmt.Errorf("result is nested more than %d levels deep", artifact.MaxDepth)
	}
	switch v := v.(type) {
	case types.Null:
		return artifact.Value{}, nil
	case types.Bool:
		return artifact.BoolValue(bool(v)), nil
	case types.Int:
		return artifact.IntValue(int64(v)), nil
	case types.Uint:
		return artifact.UintValue(uint64(v)), nil
	case types.Double:
		return fromDouble(float64(v))
	case types.String:
		return artifact.StringValue(string(v)), nil
	case *object:
		return v.value, nil
	case *list:
		return artifact.ArrayValue(v.elements...), nil
	case traits.Mapper:
		return fromMap(v, left, depth)
	case traits.Lister:
		return fromList(v, left, depth)
	}
	return artifact.Value{}, fmt.Errorf("result is a %s, which has no JSON form; convert it with string()", v.Type().TypeName())
}

// fromDouble keeps a double a double: 3.0 must not come back as an int.
func fromDouble(x float64) (artifact.Value, error) {
	v := artifact.FloatValue(x)
	if v.IsNull() {
		return v, fmt.Errorf("result is %v, which has no JSON form", x)
	}
	if _, whole := v.Int(); whole {
		return artifact.NumberValue(v.Text() + ".0")
	}
	return v, nil
}

func fromList(v traits.Lister, left *int, depth int) (artifact.Value, error) {
	var elements []artifact.Value
	for it := v.Iterator(); it.HasNext() == types.True; {
		e, err := fromCEL(it.Next(), left, depth+1)
		if err != nil {
			return artifact.Value{}, err
		}
		elements = append(elements, e)
	}
	return artifact.ArrayValue(elements...), nil
}

func fromMap(v traits.Mapper, left *int, depth int) (artifact.Value, error) {
	var members []artifact.Member
	for it := v.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			return artifact.Value{}, fmt.Errorf("result has a key that is a %s; names are strings", key.Type().TypeName())
		}
		member, err := fromCEL(v.Get(key), left, depth+1)
		if err != nil {
			return artifact.Value{}, err
		}
		members = append(members, artifact.Member{Name: string(name), Value: member})
	}
	return artifact.ObjectValue(members...), nil
}

// opaque answers what only the library's own types support.
type opaque struct{}

// ConvertToNative is not needed: results are read by [fromCEL].
func (opaque) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("no conversion to %v", t)
}

// list is an array of the host as a CEL list.
type list struct {
	opaque
	elements []artifact.Value
}

func (l *list) Type() ref.Type { return types.ListType }
func (l *list) Value() any     { return l.elements }
func (l *list) Size() ref.Val  { return types.Int(len(l.elements)) }

func (l *list) ConvertToType(t ref.Type) ref.Val { return convert(l, types.ListType, t) }

func convert(v ref.Val, own, t ref.Type) ref.Val {
	switch t {
	case own:
		return v
	case types.TypeType:
		return own.(ref.Val)
	}
	return types.NewErr("type conversion error from '%s' to '%s'", own, t)
}

// values gives the elements to CEL's own list type, for what it does well.
func (l *list) values() traits.Lister {
	values := make([]ref.Val, len(l.elements))
	for i, e := range l.elements {
		values[i] = toCEL(e)
	}
	return types.NewRefValList(types.DefaultTypeAdapter, values)
}

func (l *list) Add(other ref.Val) ref.Val   { return l.values().Add(other) }
func (l *list) Contains(v ref.Val) ref.Val  { return l.values().Contains(v) }
func (l *list) Equal(other ref.Val) ref.Val { return l.values().Equal(other) }
func (l *list) Iterator() traits.Iterator   { return l.values().Iterator() }

// Get implements the library's Indexer. As in CEL, 1.0 is an index and 1.5 is not.
func (l *list) Get(index ref.Val) ref.Val {
	i, ok := index.(types.Int)
	if !ok {
		i, ok = index.ConvertToType(types.IntType).(types.Int)
		if !ok || types.Equal(i, index) != types.True {
			return types.NewErr("unsupported index: %v", index)
		}
	}
	if i < 0 || int(i) >= len(l.elements) {
		return types.NewErr("index out of bounds: %d", i)
	}
	return toCEL(l.elements[i])
}

// Fold visits the elements in order.
func (l *list) Fold(f traits.Folder) {
	for i, e := range l.elements {
		if !f.FoldEntry(i, toCEL(e)) {
			return
		}
	}
}
