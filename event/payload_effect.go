package event

import "github.com/writ-dev/writ/artifact"

func newEffectPayload(t Type) Payload {
	switch t {
	case TypeEffectRequested:
		return new(EffectRequested)
	case TypeEffectAuthorized:
		return new(EffectAuthorized)
	case TypeEffectDenied:
		return new(EffectDenied)
	case TypeEffectSettled:
		return new(EffectSettled)
	case TypeEffectFailed:
		return new(EffectFailed)
	case TypeEffectUnknown:
		return new(EffectUnknown)
	}
	return nil
}

// The life of one effect, by its key:
//
//	requested -> denied
//	requested -> authorized -> settled | failed
//	             authorized -> unknown -> settled | failed
//	                           unknown -> authorized (again) | denied
//
// All events of one effect belong to one visit. The visit's attempt is open
// when the effect is requested, authorized or denied; an outcome may also arrive
// while it is suspended.

// EffectRequested is the intent, durable before anything happens.
type EffectRequested struct {
	Key        string   // the idempotency key: the same for every attempt at this effect
	Port       string   // what performs it, such as http or model
	Name       string   // what is asked of the port, such as a tool id
	Args       Recorded // the arguments' canonical bytes
	Reserve    Usage    // the declared maximum, reserved before the effect
	DeadlineMS int64    // when an outcome is awaited no longer; 0 for never
}

func (*EffectRequested) Type() Type { return TypeEffectRequested }

func (p *EffectRequested) fields(c *coder) {
	c.text("key", &p.Key)
	c.text("port", &p.Port)
	c.text("name", &p.Name)
	c.recorded("args", &p.Args)
	c.usage("reserve", &p.Reserve)
	c.optMillis("deadline_ms", &p.DeadlineMS)
}

// EffectAuthorized says that policy lets the effect happen.
type EffectAuthorized struct {
	Key      string
	Decision string          // allow, or approved when a person decided
	Rule     string          // of the policy, the one that decided
	Proposal artifact.Digest // of the approved bytes; zero when nobody was asked
	Left     Budget          // after the reservation
}

// The decisions of an [EffectAuthorized].
const (
	DecisionAllow    = "allow"
	DecisionApproved = "approved"
)

func (*EffectAuthorized) Type() Type { return TypeEffectAuthorized }

func (p *EffectAuthorized) fields(c *coder) {
	c.text("key", &p.Key)
	choice(c, "decision", &p.Decision, DecisionAllow, DecisionApproved)
	c.text("rule", &p.Rule)
	c.optDigest("proposal", &p.Proposal)
	c.budget("left", &p.Left)
	if (p.Decision == DecisionApproved) == p.Proposal.IsZero() {
		c.fail("an approved effect, and only that, names its proposal")
	}
}

// EffectDenied says that policy, budget or a person forbids the effect. It never
// reached its port.
type EffectDenied struct {
	Key     string
	Code    string // of the denial
	Rule    string // of the policy, the one that decided; "" when none allows it
	Message string
	Left    Budget
}

func (*EffectDenied) Type() Type { return TypeEffectDenied }

func (p *EffectDenied) fields(c *coder) {
	c.text("key", &p.Key)
	c.text("code", &p.Code)
	c.text("rule", &p.Rule)
	c.text("message", &p.Message)
	c.budget("left", &p.Left)
}

// Where an outcome comes from.
const (
	SourcePort   = "port"   // the port answered
	SourceAsked  = "asked"  // the port was asked later what became of the key
	SourcePerson = "person" // a person looked
)

// EffectSettled is the outcome of an effect that happened.
type EffectSettled struct {
	Key    string
	Result Recorded
	Source string // port, asked or person
	Usage  Usage  // replaces the reservation
	Left   Budget
}

func (*EffectSettled) Type() Type { return TypeEffectSettled }

func (p *EffectSettled) fields(c *coder) {
	c.text("key", &p.Key)
	c.recorded("result", &p.Result)
	choice(c, "source", &p.Source, SourcePort, SourceAsked, SourcePerson)
	c.usage("usage", &p.Usage)
	c.budget("left", &p.Left)
}

// EffectFailed is the outcome of an effect that did not succeed: the port
// failed, or its result violates the contract.
type EffectFailed struct {
	Key       string
	Class     string // host_error, result_invalid, deadline, or a class of the port
	Error     string // see [Redactor.Text]
	Retryable bool
	Source    string // port, asked or person
	Usage     Usage
	Left      Budget
}

func (*EffectFailed) Type() Type { return TypeEffectFailed }

func (p *EffectFailed) fields(c *coder) {
	c.text("key", &p.Key)
	c.text("class", &p.Class)
	c.text("error", &p.Error)
	c.flag("retryable", &p.Retryable)
	choice(c, "source", &p.Source, SourcePort, SourceAsked, SourcePerson)
	c.usage("usage", &p.Usage)
	c.budget("left", &p.Left)
}

// EffectUnknown says that nobody knows whether the effect happened, such as
// after a crash. The reservation stays.
type EffectUnknown struct {
	Key    string
	Reason string
}

func (*EffectUnknown) Type() Type { return TypeEffectUnknown }

func (p *EffectUnknown) fields(c *coder) {
	c.text("key", &p.Key)
	c.text("reason", &p.Reason)
}
