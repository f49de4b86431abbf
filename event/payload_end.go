package event

import "github.com/writ-dev/writ/artifact"

func newEndPayload(t Type) Payload {
	switch t {
	case TypeMigrated:
		return new(Migrated)
	case TypeCancelRequested:
		return new(CancelRequested)
	case TypeTerminated:
		return new(Terminated)
	case TypeFailed:
		return new(Failed)
	case TypeCancelled:
		return new(Cancelled)
	case TypeAbandoned:
		return new(Abandoned)
	}
	return nil
}

// Migrated moves a run to another definition. It has no node. No effect is under
// way, and a [StatePatched] without a node may follow.
type Migrated struct {
	To     Definition
	Reason string
	By     string
	Method string
}

func (*Migrated) Type() Type { return TypeMigrated }

func (p *Migrated) fields(c *coder) {
	c.begin("to")
	p.To.fields(c)
	c.end()
	c.text("reason", &p.Reason)
	c.text("by", &p.By)
	choice(c, "method", &p.Method, methods[:]...)
}

// CancelRequested asks the run to stop. It may stand anywhere between start and
// end, once.
type CancelRequested struct {
	Reason string
	By     string
	Method string
}

func (*CancelRequested) Type() Type { return TypeCancelRequested }

func (p *CancelRequested) fields(c *coder) {
	c.text("reason", &p.Reason)
	c.text("by", &p.By)
	choice(c, "method", &p.Method, methods[:]...)
}

// End is what the last event of every run says about the whole.
type End struct {
	State    artifact.Digest // of the final state's value
	Revision uint64          // of the final state
	Steps    uint64          // attempts that ended a visit
	Totals   Usage           // of everything that was charged
	Events   uint64          // of the log, this one included
}

func (e *End) fields(c *coder) {
	c.digest("state", &e.State)
	c.uint("revision", &e.Revision)
	c.uint("steps", &e.Steps)
	c.usage("totals", &e.Totals)
	c.uint("events", &e.Events)
}

// Terminated ends a run with a result, from an open attempt. Every effect and
// call of that visit has an outcome.
type Terminated struct {
	Result Recorded
	End
	Usage Usage // of the attempt, without its effects
	Left  Budget
}

func (*Terminated) Type() Type { return TypeTerminated }

func (p *Terminated) fields(c *coder) {
	c.recorded("result", &p.Result)
	p.End.fields(c)
	c.usage("usage", &p.Usage)
	c.budget("left", &p.Left)
}

// Failed ends a run that cannot go on: a node failed, a limit was reached, the
// definition was violated. The header names the node at fault, open or about to
// start, if there is one.
type Failed struct {
	Code  string // what kind of failure
	Error string
	End
	Usage Usage // of the attempt, without its effects
	Left  Budget
}

func (*Failed) Type() Type { return TypeFailed }

func (p *Failed) fields(c *coder) {
	c.text("code", &p.Code)
	c.text("error", &p.Error)
	p.End.fields(c)
	c.usage("usage", &p.Usage)
	c.budget("left", &p.Left)
}

// Cancelled ends a run that a [CancelRequested] asked to stop. The header names
// the node that would have run next, if there is one.
type Cancelled struct {
	End
}

func (*Cancelled) Type() Type { return TypeCancelled }

func (p *Cancelled) fields(c *coder) { p.End.fields(c) }

// Abandoned ends a run that nobody can continue, such as one whose definition is
// gone. It has no node.
type Abandoned struct {
	Reason string
	By     string
	Method string
	End
}

func (*Abandoned) Type() Type { return TypeAbandoned }

func (p *Abandoned) fields(c *coder) {
	c.text("reason", &p.Reason)
	c.text("by", &p.By)
	choice(c, "method", &p.Method, methods[:]...)
	p.End.fields(c)
}
