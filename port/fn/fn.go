// Package fn performs effects by calling Go functions. To a pack they are tools.
//
//	type args struct{ City string }
//	type weather struct{ Celsius float64 }
//
//	p, err := fn.New(fn.Func("weather", func(ctx context.Context, a args) (weather, error) {
//		...
//	}))
//
// Arguments and results are JSON: what does not fit the function's types, also a
// member that they do not have, never reaches the function. [Port.Tools] tells an
// engine how policy is to judge each function.
//
// What a function returns decides what is recorded:
//
//	a result           the effect happened
//	an *Error          it failed, in a class that retry policies know
//	ErrUnknown, or an error that wraps it: it may have happened or not
//	any other error    it failed, in the class internal
//	a panic            it failed, in the class internal
package fn

import (
	"context"
	"errors"
	"fmt"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/schema"
)

// Function is a Go function as a tool. [Func] and [FuncOf] make one; the fields may
// be set before it is given to [New].
type Function struct {
	Name string // in the pack's section tools

	Capability string        // that the pack must grant; empty for none
	Namespace  string        // that it works in; empty for none
	Write      bool          // whether it changes what is in the namespace
	Contract   schema.Schema // of the arguments, beyond the function's types; nil for none
	Reserve    policy.Amount // the most that a call uses

	// Idempotent says that calling it again under the same key does no harm.
	Idempotent bool

	call func(ctx context.Context, c *Call, args artifact.Value) (artifact.Value, error)
}

// Call is what a function may know of the effect that it performs.
type Call struct {
	Key     string // the effect's own, the same when it is performed again
	Exec    string // the run
	Node    string
	Visit   uint32
	Attempt uint32
	Reserve policy.Amount

	used policy.Amount
}

// Charge sets what the call uses beyond the call itself, such as tokens, units or
// money. It counts for failures too. Time is measured by the port.
func (c *Call) Charge(used policy.Amount) { c.used = used }

// Error is a failure of which the function knows that nothing happened, or that
// what happened failed.
type Error struct {
	Class     string // of package graph, or one of the function's own; empty for internal
	Message   string // is recorded: without secrets
	Retryable bool
}

func (e *Error) Error() string { return e.Message }

// ErrUnknown is for a function that does not know whether it has done its work.
var ErrUnknown = errors.New("it is not known whether the effect happened")

// Func makes a tool of a function.
func Func[A, R any](name string, f func(ctx context.Context, args A) (R, error)) Function {
	return FuncOf(name, func(ctx context.Context, _ *Call, args A) (R, error) { return f(ctx, args) })
}

// FuncOf makes a tool of a function that wants to know the effect's key, or uses
// more than time.
func FuncOf[A, R any](name string, f func(ctx context.Context, c *Call, args A) (R, error)) Function {
	return Function{Name: name, call: func(ctx context.Context, c *Call, args artifact.Value) (artifact.Value, error) {
		var a A
		if args.IsNull() {
			args = artifact.ObjectValue()
		}
		if err := artifact.Decode(args.AppendCompact(nil), &a, artifact.RefuseUnknown); err != nil {
			return artifact.Value{}, &misfit{"the arguments do not fit: ", err}
		}
		r, err := f(ctx, c, a)
		if err != nil {
			return artifact.Value{}, err
		}
		text, err := artifact.EncodeCompact(r)
		if err != nil {
			return artifact.Value{}, &misfit{"the result has no JSON form: ", err}
		}
		v, err := artifact.ParseValue(text)
		if err != nil {
			return artifact.Value{}, &misfit{"the result has no JSON form: ", err}
		}
		return v, nil
	}}
}

// misfit is a value that does not fit a type.
type misfit struct {
	what string
	err  error
}

func (e *misfit) Error() string { return e.what + e.err.Error() }

// Name is what the engine calls this port.
const Name = "fn"

// Port calls functions. It is safe for concurrent use, and calls them
// concurrently.
type Port struct {
	// Panicked is told of a panic and its stack, which no record has. It is set
	// before the first call; nil for nobody.
	Panicked func(name string, value any, stack []byte)

	functions map[string]Function
}

var _ engine.Port = (*Port)(nil)

// New gives the port of the functions. The error names everything that is wrong.
func New(functions ...Function) (*Port, error) {
	p := &Port{functions: make(map[string]Function, len(functions))}
	var problems []error
	for _, f := range functions {
		_, twice := p.functions[f.Name]
		switch {
		case artifact.CheckIdentifier(f.Name) != nil:
			problems = append(problems, fmt.Errorf("function %.80q: its name is no identifier", f.Name))
		case f.call == nil:
			problems = append(problems, fmt.Errorf("function %s: make it with Func or FuncOf", f.Name))
		case twice:
			problems = append(problems, fmt.Errorf("function %s is there twice", f.Name))
		}
		p.functions[f.Name] = f
	}
	if problems != nil {
		return nil, errors.Join(problems...)
	}
	return p, nil
}

// Names lists the functions, sorted.
func (p *Port) Names() []string { return artifact.SortedNames(p.functions) }

// Tools gives how each function is authorized.
func (p *Port) Tools() map[string]engine.Tool {
	tools := make(map[string]engine.Tool, len(p.functions))
	for name, f := range p.functions {
		tools[name] = engine.Tool{
			Port: Name, Kind: policy.KindTool, Capability: f.Capability, Namespace: f.Namespace, Write: f.Write,
			Contract: f.Contract, Reserve: f.Reserve,
		}
	}
	return tools
}

// Idempotent reports whether the effect may be performed again under its key.
func (p *Port) Idempotent(e engine.Effect) bool { return p.functions[e.Name].Idempotent }
