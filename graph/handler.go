package graph

import (
	"context"
	"fmt"
	"reflect"

	"github.com/writ-dev/writ/artifact"
)

// Handler performs one attempt at a handler node. It depends on the invocation
// alone: no clock, randomness or state of its own. An error is a failure of the
// host; a failure of the work is an outcome of kind [Fail].
type Handler func(ctx context.Context, in Invocation) (NodeResult, error)

// Invocation is what a handler is given.
type Invocation struct {
	Node     string
	Visit    uint64         // to this node in this run, from 1
	Attempt  uint32         // of this visit, from 1
	Revision uint64         // of the state, the base of the handler's patch
	State    artifact.Value // what the node sees, see [Node.View]
	Args     artifact.Value // see [Node.EvalArgs]; null in version 1

	// Input is the validated input of the resume that continues a suspended visit.
	Input artifact.Optional[artifact.Value]
}

// View is what a typed handler sees and does. S is a struct whose fields are
// [Read], [Write], [ReadWrite] and [Input], so that a wrong name, a wrong type and
// a write to what is only read do not compile:
//
//	type counter struct {
//		Count graph.ReadWrite[int] `path:"/count"`
//	}
type View[S any] struct {
	State   S
	Node    string
	Visit   uint64
	Attempt uint32
	Args    artifact.Value

	usage Usage
}

// Exit is how a typed handler ends; the methods of [View] make it.
type Exit[S any] struct {
	outcome Outcome
	err     error
}

// RouteOf is a route that nodes with the view S may take. Give routes as package
// variables, so that a misspelt one does not compile:
//
//	var tooLarge = graph.NewRoute[order]("too_large")
type RouteOf[S any] struct{ name string }

// NewRoute gives a route. The name is what stands in the graph.
func NewRoute[S any](name string) RouteOf[S] { return RouteOf[S]{name} }

// Continue goes on to the ordinary successor.
func (v *View[S]) Continue() Exit[S] { return Exit[S]{outcome: Outcome{Kind: Continue}} }

// Take goes on along a route.
func (v *View[S]) Take(r RouteOf[S]) Exit[S] {
	return Exit[S]{outcome: Outcome{Kind: Routed, Route: r.name}}
}

// Suspend stops the run until somebody answers. What was written is kept, and the
// visit that continues finds the answer in its [Input].
func (v *View[S]) Suspend(reason string) Exit[S] {
	return Exit[S]{outcome: Outcome{Kind: Suspend, Reason: reason}}
}

// Terminate ends the run. The result must have a JSON form.
func (v *View[S]) Terminate(result any) Exit[S] {
	value, err := toValue(result)
	return Exit[S]{outcome: Outcome{Kind: Terminate, Result: value}, err: err}
}

// Fail ends the attempt as failed, in a class that the retry policy may name; the
// class may be empty. What was written is dropped.
func (v *View[S]) Fail(class, message string) Exit[S] {
	retryable := Retry{Attempts: 2, On: defaultRetryOn()}.Covers(class, 1)
	return Exit[S]{outcome: Outcome{Kind: Fail, Error: message, Class: class, Retryable: retryable}}
}

// Charge adds to what the attempt has used.
func (v *View[S]) Charge(tokens, costMicros uint64) {
	v.usage.Tokens += tokens
	v.usage.CostMicros += costMicros
}

// Read is a part of the state that the node reads.
type Read[T any] struct {
	value   T
	present bool
}

// Get gives the value; the zero value if it is absent.
func (r *Read[T]) Get() T { return r.value }

// Lookup gives the value and whether it is there.
func (r *Read[T]) Lookup() (T, bool) { return r.value, r.present }

// Write is a part of the state that the node writes.
type Write[T any] struct {
	op  Operation
	set bool
	err error
}

// Set writes the value, which must have a JSON form.
func (w *Write[T]) Set(v T) {
	w.op, w.set = Operation{}, true
	w.op.Value, w.err = toValue(v)
}

// Remove removes the value, which must be there when the node is done.
func (w *Write[T]) Remove() { w.op, w.set, w.err = Remove(), true, nil }

// ReadWrite is a part of the state that the node reads and writes.
type ReadWrite[T any] struct {
	Read[T]
	Write[T]
}

// Set writes the value; Get gives it from then on.
func (rw *ReadWrite[T]) Set(v T) {
	rw.value, rw.present = v, true
	rw.Write.Set(v)
}

// Input is the answer to the node's suspension. It has no path.
type Input[T any] struct {
	value   T
	present bool
}

// Get gives the answer, and false before the node has suspended.
func (i *Input[T]) Get() (T, bool) { return i.value, i.present }

// cell is a field of a view.
type cell interface {
	access() (reads, writes, input bool)
	load(v artifact.Value) error
	change() (op Operation, changed bool, err error)
}

func (r *Read[T]) access() (reads, writes, input bool)      { return true, false, false }
func (w *Write[T]) access() (reads, writes, input bool)     { return false, true, false }
func (w *ReadWrite[T]) access() (reads, writes, input bool) { return true, true, false }
func (i *Input[T]) access() (reads, writes, input bool)     { return false, false, true }

func (r *Read[T]) load(v artifact.Value) error {
	r.present = true
	return fromValue(v, &r.value)
}
func (w *Write[T]) load(artifact.Value) error        { return nil }
func (rw *ReadWrite[T]) load(v artifact.Value) error { return rw.Read.load(v) }
func (i *Input[T]) load(v artifact.Value) error {
	i.present = true
	return fromValue(v, &i.value)
}

func (r *Read[T]) change() (Operation, bool, error)       { return Operation{}, false, nil }
func (w *Write[T]) change() (Operation, bool, error)      { return w.op, w.set, w.err }
func (rw *ReadWrite[T]) change() (Operation, bool, error) { return rw.Write.change() }
func (i *Input[T]) change() (Operation, bool, error)      { return Operation{}, false, nil }

func toValue(v any) (artifact.Value, error) {
	data, err := artifact.EncodeCompact(v)
	if err != nil {
		return artifact.Value{}, err
	}
	value, err := artifact.ParseValue(data)
	if err != nil {
		return artifact.Value{}, err
	}
	return artifact.CanonicalValue(value)
}

func fromValue(v artifact.Value, into any) error {
	return artifact.Decode(v.AppendCompact(nil), into, artifact.IgnoreUnknown)
}

// NewHandler turns a typed handler into one for an engine, for graphs that are
// written by hand. The node must declare these reads and writes. A view with a
// field that is not of this package's types, or without a path, is an error.
func NewHandler[S any](handle func(context.Context, *View[S]) (Exit[S], error)) (h Handler, reads, writes []string, err error) {
	l, err := layoutOf[S]()
	if err != nil {
		return nil, nil, nil, err
	}
	return handlerOf(l, handle), l.reads, l.writes, nil
}

// layout says which field of a view stands for which path.
type layout struct {
	fields []layoutField
	reads  []string
	writes []string
}

type layoutField struct {
	index int
	path  string // empty for the input
	input bool
}

// layoutOf reads the field tags of S.
func layoutOf[S any]() (layout, error) {
	var l layout
	t := reflect.TypeFor[S]()
	if t.Kind() != reflect.Struct {
		return l, fmt.Errorf("view %v is not a struct", t)
	}
	for i := range t.NumField() {
		field := t.Field(i)
		c, ok := reflect.New(field.Type).Interface().(cell)
		if !ok || !field.IsExported() {
			return l, fmt.Errorf("field %s of view %v must be exported, of type Read, Write, ReadWrite or Input", field.Name, t)
		}
		reads, writes, input := c.access()
		path := field.Tag.Get("path")
		if !input && !writable(path) {
			return l, fmt.Errorf("field %s of view %v: path %q is no path of the state; %s", field.Name, t, path, writableRule)
		}
		if reads {
			l.reads = append(l.reads, path)
		}
		if writes {
			l.writes = append(l.writes, path)
		}
		l.fields = append(l.fields, layoutField{i, path, input})
	}
	return l, nil
}

// handlerOf turns a typed handler into one for the engine.
func handlerOf[S any](l layout, handle func(context.Context, *View[S]) (Exit[S], error)) Handler {
	return func(ctx context.Context, in Invocation) (NodeResult, error) {
		view := &View[S]{Node: in.Node, Visit: in.Visit, Attempt: in.Attempt, Args: in.Args}
		cells := reflect.ValueOf(&view.State).Elem()
		at := func(f layoutField) cell { return cells.Field(f.index).Addr().Interface().(cell) }
		for _, f := range l.fields {
			v, ok := in.Input.Value, in.Input.Set
			if !f.input {
				v, ok = Lookup(in.State, f.path)
			}
			if !ok {
				continue
			}
			if err := at(f).load(v); err != nil {
				return NodeResult{}, fmt.Errorf("node %s: read %s: %w", in.Node, f.path, err)
			}
		}
		exit, err := handle(ctx, view)
		if err == nil {
			err = exit.err
		}
		if err != nil {
			return NodeResult{}, err
		}
		patch := &Patch{BaseRevision: in.Revision, Operations: map[string]Operation{}}
		for _, f := range l.fields {
			op, changed, err := at(f).change()
			if err != nil {
				return NodeResult{}, fmt.Errorf("node %s: write %s: %w", in.Node, f.path, err)
			}
			if changed {
				patch.Operations[f.path] = op
			}
		}
		if exit.outcome.Kind == Continue || exit.outcome.Kind != Fail && len(patch.Operations) > 0 {
			exit.outcome.Patch = patch
		}
		return NodeResult{Outcome: exit.outcome, Tokens: view.usage.Tokens, CostMicros: view.usage.CostMicros}, nil
	}
}
