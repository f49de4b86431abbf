package fn

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
)

// patience is how long a function may take to notice that its context has ended.
const patience = time.Second

// Do calls a function. A function cannot be stopped: one that goes on after its
// context has ended is left alone, and the outcome is unknown, which is an error.
func (p *Port) Do(ctx context.Context, e engine.Effect) (engine.Outcome, error) {
	f, ok := p.functions[e.Name]
	if !ok {
		return engine.Failed(graph.ClassInvalid, "there is no function "+e.Name), nil
	}
	if e.Permit.Kind != policy.KindTool || e.Permit.Name != e.Name {
		return engine.Failed(graph.ClassInvalid, "function "+e.Name+" has no permit"), nil
	}
	ctx, cancel := e.Bound(ctx)
	defer cancel()
	if ctx.Err() != nil {
		return ended(ctx), nil
	}
	begin := time.Now()
	done := make(chan answer, 1)
	go p.call(ctx, f, e, done)
	a, ok := await(ctx, done)
	if !ok {
		return engine.Outcome{}, fmt.Errorf("function %s goes on after its time: %w", e.Name, ErrUnknown)
	}
	o, err := a.outcome(ctx)
	o.Usage = a.used
	o.Usage.Calls, o.Usage.DurationMS = max(1, o.Usage.Calls), uint64(time.Since(begin).Milliseconds())
	return o, err
}

func ended(ctx context.Context) engine.Outcome {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return engine.Failed(graph.ClassTimeout, "no answer before the deadline")
	}
	return engine.Failed(graph.ClassCancelled, "the call was ended with the run")
}

// answer is how a function ended.
type answer struct {
	result artifact.Value
	used   policy.Amount
	err    error
}

// await waits for the answer, and for a while after ctx has ended.
func await(ctx context.Context, done <-chan answer) (a answer, ok bool) {
	select {
	case a = <-done:
		return a, true
	case <-ctx.Done():
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case a = <-done:
		return a, true
	case <-timer.C:
		return answer{}, false
	}
}

// call calls a function and sends its answer, however it ends.
func (p *Port) call(ctx context.Context, f Function, e engine.Effect, done chan<- answer) {
	c := &Call{Key: e.Key, Exec: e.Exec, Node: e.Node, Visit: e.Visit, Attempt: e.Attempt, Reserve: e.Reserve}
	a := answer{err: &Error{Message: "the function ended its goroutine"}}
	defer func() {
		if value := recover(); value != nil {
			if p.Panicked != nil {
				p.Panicked(f.Name, value, debug.Stack())
			}
			a.err = &Error{Message: fmt.Sprintf("the function panicked: %.500v", value)}
		}
		a.used = c.used
		done <- a
	}()
	a.result, a.err = f.call(ctx, c, e.Args)
}

func (a answer) outcome(ctx context.Context) (engine.Outcome, error) {
	var known *Error
	var wrong *misfit
	switch {
	case a.err == nil:
		return engine.Outcome{Result: a.result}, nil
	case errors.Is(a.err, ErrUnknown):
		return engine.Outcome{}, a.err
	case errors.As(a.err, &known):
		o := engine.Failed(known.Class, known.Message)
		if o.Class == "" {
			o.Class = graph.ClassInternal
		}
		o.Retryable = known.Retryable
		return o, nil
	case errors.As(a.err, &wrong):
		return engine.Failed(graph.ClassInvalid, wrong.Error()), nil
	case ctx.Err() != nil && (errors.Is(a.err, context.Canceled) || errors.Is(a.err, context.DeadlineExceeded)):
		return ended(ctx), nil
	}
	return engine.Failed(graph.ClassInternal, a.err.Error()), nil
}
