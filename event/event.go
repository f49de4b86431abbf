// Package event is the record of a run: what an event says, how it is written,
// and how anybody can check that a log is whole.
//
// The nouns: an [Event] is a [Header] and a [Payload], one of the types listed
// at [Type]. A [Record] is an event as stored: its exact bytes and their digest.
// A [Chain] turns events into records, each of which names the digest of the one
// before. A [Head] names the last one, and [SignHead] puts a signature on it.
// [Verify] reads stored bytes and reports; [Check] knows which event may follow
// which. [Salt] and [Redactor] keep secrets and their digests out of a log.
//
// Logs of version 1 are read by [DecodeV1], and [ProjectV1] shows a log of today
// as one of version 1.
//
// The bytes of an event are canonical: members in the order of the fields, free
// values in the form of [artifact.CanonicalRuntime], nothing optional. A reader
// accepts exactly the bytes that [Encode] writes, so that what was hashed has
// one meaning. The package is pure.
package event

import (
	"fmt"

	"github.com/writ-dev/writ/artifact"
)

// Version is the version of the wire form that this package writes.
const Version = 2

// Limits on one event.
const (
	MaxBytes = 8 << 20  // of a whole event; larger content belongs in a blob
	MaxText  = 64 << 10 // bytes of one reason, message or name
	MaxItems = 4096     // elements of one list
)

// Type names a payload, in snake_case.
type Type string

// The types, in the order in which a run meets them. The constant's payload
// says who may enter and leave.
const (
	TypeStarted          Type = "started"
	TypeNodeStarted      Type = "node_started"
	TypeStatePatched     Type = "state_patched"
	TypeRouted           Type = "routed"
	TypeRetrying         Type = "retrying"
	TypeEffectRequested  Type = "effect_requested"
	TypeEffectAuthorized Type = "effect_authorized"
	TypeEffectDenied     Type = "effect_denied"
	TypeEffectSettled    Type = "effect_settled"
	TypeEffectFailed     Type = "effect_failed"
	TypeEffectUnknown    Type = "effect_unknown"
	TypeApprovalStaged   Type = "approval_staged"
	TypeApprovalDecided  Type = "approval_decided"
	TypeSuspended        Type = "suspended"
	TypeResumed          Type = "resumed"
	TypeTimerSet         Type = "timer_set"
	TypeTimerFired       Type = "timer_fired"
	TypeTimerStopped     Type = "timer_stopped"
	TypeWaitStarted      Type = "wait_started"
	TypeEventReceived    Type = "event_received"
	TypeBranchStarted    Type = "branch_started"
	TypeBranchJoined     Type = "branch_joined"
	TypeCallStarted      Type = "call_started"
	TypeCallReturned     Type = "call_returned"
	TypeCheckpointed     Type = "checkpointed"
	TypeMigrated         Type = "migrated"
	TypeCancelRequested  Type = "cancel_requested"
	TypeTerminated       Type = "terminated"
	TypeFailed           Type = "failed"
	TypeCancelled        Type = "cancelled"
	TypeAbandoned        Type = "abandoned"
)

// Ends reports whether an event of this type is the last one of its run.
func (t Type) Ends() bool {
	return t == TypeTerminated || t == TypeFailed || t == TypeCancelled || t == TypeAbandoned
}

// Payload is what an event says beyond its header. The set is closed: only this
// package has implementations, all of them pointers to structs.
type Payload interface {
	// Type gives the name under which the payload is written.
	Type() Type
	// fields names every field, in wire order, to a coder that reads or writes.
	fields(c *coder)
}

// newPayload gives an empty payload of the type, or nil for an unknown one.
func newPayload(t Type) Payload {
	switch t {
	case TypeStarted:
		return new(Started)
	case TypeNodeStarted:
		return new(NodeStarted)
	case TypeStatePatched:
		return new(StatePatched)
	case TypeRouted:
		return new(Routed)
	case TypeRetrying:
		return new(Retrying)
	case TypeApprovalStaged:
		return new(ApprovalStaged)
	case TypeApprovalDecided:
		return new(ApprovalDecided)
	case TypeSuspended:
		return new(Suspended)
	case TypeResumed:
		return new(Resumed)
	case TypeCheckpointed:
		return new(Checkpointed)
	}
	if p := newEffectPayload(t); p != nil {
		return p
	}
	if p := newLinkPayload(t); p != nil {
		return p
	}
	return newEndPayload(t)
}

// Header is where and when an event happened.
type Header struct {
	Seq     uint64          // from 1, without gaps
	Prev    artifact.Digest // of the bytes of the event before; zero in the first
	Exec    string          // execution id
	Node    string          // the node concerned; "" when the run as a whole is
	Visit   uint32          // of the node, from 1; 0 without a node
	Attempt uint32          // of the visit, from 1; 0 without a node
	AtMS    int64           // milliseconds since 1970, by the clock of the writer
	Type    Type
}

// Event is one event, decoded.
type Event struct {
	Header
	Body Payload
}

// Record is one event as it is stored.
type Record struct {
	Header
	Digest artifact.Digest // of Bytes
	Bytes  []byte          // canonical; not to be changed

	sealed *Record // what a [Chain] made; nil for others
}

// Sealed reports whether the record is as a [Chain] of this process made it: its
// header and digest are those of its bytes, and nobody has to look again.
func (r Record) Sealed() bool {
	s := r.sealed
	return s != nil && s.Digest == r.Digest && s.Header == r.Header && len(s.Bytes) == len(r.Bytes) && &s.Bytes[0] == &r.Bytes[0]
}

// Decode gives the event of the record.
func (r Record) Decode() (Event, error) { return Decode(r.Bytes) }

// Encode gives the canonical bytes of e. The type is that of the body, whatever
// the header says. It fails for a value that a reader would refuse: an
// identifier, text or list that breaks its limit, a free value that is not
// canonical, a node without visit and attempt.
func Encode(e Event) ([]byte, error) { return new(coder).event(nil, &e) }

// event appends the text of e to dst.
func (c *coder) event(dst []byte, e *Event) ([]byte, error) {
	if e.Body == nil {
		return nil, fmt.Errorf("encode event %d: no payload", e.Seq)
	}
	e.Type = e.Body.Type()
	*c = coder{buf: dst}
	e.Header.fields(c)
	c.begin("body")
	e.Body.fields(c)
	c.end()
	c.end()
	if c.err == nil && len(c.buf)-len(dst) > MaxBytes {
		c.fail("event has %d bytes, more than %d; put content into a blob", len(c.buf)-len(dst), MaxBytes)
	}
	if c.err != nil {
		return nil, fmt.Errorf("encode event %d (%s): %w", e.Seq, e.Type, c.err)
	}
	return c.buf, nil
}

// Decode reads the bytes of one event. It accepts exactly what [Encode] writes;
// anything else is a *[FormatError].
func Decode(data []byte) (Event, error) {
	var e Event
	c := reader(data)
	e.Header.fields(&c)
	if e.Body = newPayload(e.Type); e.Body == nil {
		c.fail("unknown event type")
		return Event{}, c.err
	}
	c.begin("body")
	e.Body.fields(&c)
	c.end()
	c.end()
	c.finish()
	if c.err != nil {
		return Event{}, c.err
	}
	return e, nil
}

// Read gives the record of the bytes of one event. It reads the header as
// strictly as [Decode] and does not look into the body.
func Read(data []byte) (Record, error) {
	var h Header
	c := reader(data)
	h.fields(&c)
	if c.err == nil && newPayload(h.Type) == nil {
		c.fail("unknown event type")
	}
	if c.err != nil {
		return Record{}, c.err
	}
	return Record{Header: h, Digest: artifact.Sum(data), Bytes: data}, nil
}

// fields leaves the document open: the body is its last member.
func (h *Header) fields(c *coder) {
	if c.reading && len(c.buf) > MaxBytes {
		c.fail("event has %d bytes, more than %d", len(c.buf), MaxBytes)
		return
	}
	version := uint64(Version)
	c.open()
	c.uint("v", &version)
	if version != Version {
		c.fail("event of version %d, want %d", version, Version)
	}
	c.uint("seq", &h.Seq)
	c.optDigest("prev", &h.Prev)
	c.id("exec", &h.Exec)
	c.optID("node", &h.Node)
	c.uint32("visit", &h.Visit)
	c.uint32("attempt", &h.Attempt)
	c.millis("at_ms", &h.AtMS)
	c.text("type", (*string)(&h.Type))
	switch {
	case c.err != nil:
	case h.Seq == 0:
		c.fail("sequence 0: the first is 1")
	case (h.Seq == 1) != h.Prev.IsZero():
		c.fail("the first event, and only the first, has no prev")
	case (h.Node == "") != (h.Visit == 0) || (h.Visit == 0) != (h.Attempt == 0):
		c.fail("node, visit and attempt go together")
	}
}

// FormatError says why bytes are not an event. It never quotes them: they may
// hold what must not be shown.
type FormatError struct {
	Offset  int // bytes before the problem
	Problem string
}

func (e *FormatError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Problem) }
