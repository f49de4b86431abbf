package engine

import (
	"fmt"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/store"
)

// A message is an input as a JSON document, version 1, in the inbox of a run that
// another process has. It is content like any other: of a token it has the digest,
// and what policy redacts is redacted before it is there. Whoever can write to the
// store is trusted as a driver is: a message proves no more than an append does.

// The kinds of messages.
const (
	messageCancel = "cancel"
	messageSignal = "signal"
	messageDecide = "decide"
	messageResume = "resume"
)

// spareMessages are the places in an inbox that events leave free: they may wait
// for long, and a cancel must get through.
const spareMessages = 32

// Message gives an input as a message for the inbox of a run that stands at p. Its
// id is empty for a signal without an id of its own: whoever posts it draws one.
// What policy redacts is redacted in it; where that would change what the run goes
// on with, there is no message. There is one of [Cancel], [Signal], [Decide] and
// [Resume]. The error is a *[Refusal] where the input is at fault.
func (m *Machine) Message(p Position, what Happening) (store.Message, error) {
	switch w := what.(type) {
	case Cancel:
		return cancelMessage(w)
	case Signal:
		return m.signalMessage(&p, w)
	case Decide:
		answer, err := m.unredacted(&p, w.Answer)
		if err != nil {
			return store.Message{}, err
		}
		b := messageOf(messageDecide)
		b.digest("proposal", w.Proposal)
		b.flag("approve", w.Approve)
		b.digest("token", w.Token)
		b.digest("key", w.Key)
		b.text("by", w.Approver)
		b.text("method", w.Method)
		b.text("reason", w.Reason)
		b.value("answer", answer)
		return b.message()
	case Resume:
		input, err := m.unredacted(&p, w.Input)
		if err != nil {
			return store.Message{}, err
		}
		b := messageOf(messageResume)
		b.digest("token", w.Token)
		b.text("by", w.By)
		b.text("method", w.Method)
		b.text("node", w.Node)
		b.value("input", input)
		return b.message()
	}
	return store.Message{}, fmt.Errorf("message: a %T is for whoever has the lease of the run", what)
}

func cancelMessage(w Cancel) (store.Message, error) {
	b := messageOf(messageCancel)
	b.text("by", w.By)
	b.text("method", w.Method)
	b.text("reason", w.Reason)
	return b.message()
}

func (m *Machine) signalMessage(p *Position, w Signal) (store.Message, error) {
	key, err := artifact.CanonicalValue(w.Key)
	if err != nil {
		return store.Message{}, &Refusal{Code: RefusedInput, Message: err.Error()}
	}
	beside := artifact.ArrayValue(artifact.StringValue(w.Name), key, artifact.StringValue(w.ID), artifact.StringValue(w.By))
	payload, changed, err := m.redact(p, w.Payload, beside)
	if err != nil {
		return store.Message{}, err
	}
	b := messageOf(messageSignal)
	b.text("name", w.Name)
	b.value("key", key)
	b.text("id", w.ID)
	b.text("by", w.By)
	b.text("method", w.Method)
	if changed {
		b.digest("redacted", m.def.digests.Policy)
	}
	b.value("payload", payload)
	msg, err := b.message()
	msg.ID, msg.Spare = "", spareMessages
	if w.ID != "" {
		msg.ID = "event:" + artifact.Sum([]byte(w.ID)).Hex()
	}
	return msg, err
}

// unredacted refuses content of which policy redacts a part: what a person answers
// goes on whole, in memory, and there is no other place to keep it whole.
func (m *Machine) unredacted(p *Position, v artifact.Value) (artifact.Value, error) {
	v, changed, err := m.redact(p, v, artifact.Value{})
	if err == nil && changed {
		err = &Refusal{Code: RefusedRedacted, Message: "policy redacts a part of the answer, so it cannot wait for the process that has the run"}
	}
	return v, err
}

// redact gives content as the log keeps it, in canonical form, and whether that is
// another than it was. What stands beside it must not hold what was redacted in it.
func (m *Machine) redact(p *Position, v, beside artifact.Value) (safe artifact.Value, changed bool, err error) {
	if v, err = artifact.CanonicalValue(v); err != nil {
		return v, false, &Refusal{Code: RefusedInput, Message: err.Error()}
	}
	pointers := m.def.Policy.Redactions()
	if len(pointers) == 0 {
		return v, false, nil
	}
	r, err := event.NewRedactor(p.salt, pointers)
	if err != nil {
		return v, false, &Refusal{Code: RefusedRedacted, Message: "the salt of the run is gone, so nothing more can be redacted in it"}
	}
	if safe, changed, err = r.Redact(event.ScopeArgs, v); err != nil {
		return v, false, err
	}
	_, echoed, err := r.Redact("", beside)
	if err == nil && echoed {
		err = &Refusal{Code: RefusedRedacted, Message: "a value that policy redacts in the payload stands beside the payload too"}
	}
	return safe, changed, err
}

// messageBody is the document of a message on its way.
type messageBody struct {
	kind string
	doc  []artifact.Member
}

func messageOf(kind string) *messageBody {
	return &messageBody{kind, []artifact.Member{member("v", artifact.UintValue(1)), member("kind", artifact.StringValue(kind))}}
}

func (b *messageBody) value(name string, v artifact.Value) {
	if !v.IsNull() {
		b.doc = append(b.doc, member(name, v))
	}
}

func (b *messageBody) text(name, s string) {
	if s != "" {
		b.value(name, artifact.StringValue(s))
	}
}

func (b *messageBody) flag(name string, set bool) {
	if set {
		b.value(name, artifact.BoolValue(true))
	}
}

func (b *messageBody) digest(name string, d artifact.Digest) {
	if !d.IsZero() {
		b.text(name, d.String())
	}
}

// message gives the message, and refuses one that nobody could read.
func (b *messageBody) message() (store.Message, error) {
	m := store.Message{Body: artifact.ObjectValue(b.doc...).AppendCompact(nil)}
	m.ID = b.kind + ":" + artifact.Sum(m.Body).Hex()
	if len(m.Body) > store.MaxMessage {
		text := fmt.Sprintf("%d bytes cannot wait for the process that has the run; at most %d can", len(m.Body), store.MaxMessage)
		return store.Message{}, &Refusal{Code: RefusedInput, Message: text}
	}
	if _, err := ReadMessage(m); err != nil {
		return store.Message{}, &Refusal{Code: RefusedInput, Message: "it cannot be put into a message"}
	}
	return m, nil
}

// ReadMessage gives the input that a message carries.
func ReadMessage(m store.Message) (Happening, error) {
	v, err := artifact.ParseValue(m.Body)
	if err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	r := artifact.NewFirstReader(artifact.DocumentOf(v, "message"))
	o := r.Root().Object()
	if v := o.Need("v"); v.Uint16() != 1 {
		v.Report("version of the message is not 1")
	}
	what := readInput(o)
	o.RefuseUnknown()
	if err := r.Err(); err != nil {
		return nil, err
	}
	return what, nil
}

func readInput(o *artifact.Object) Happening {
	by, method := o.May("by").Text(), o.May("method").Text()
	kind := o.Need("kind")
	switch kind.Text() {
	case messageCancel:
		return Cancel{By: by, Method: method, Reason: o.May("reason").Text()}
	case messageSignal:
		return Signal{
			Name: o.Need("name").Text(), Key: o.May("key").Value(), ID: o.May("id").Text(), Payload: o.May("payload").Value(),
			By: by, Method: method, redacted: readDigest(o.May("redacted")),
		}
	case messageDecide:
		return Decide{
			Proposal: readDigest(o.Need("proposal")), Approve: o.May("approve").Bool(), Token: readDigest(o.May("token")), Key: readDigest(o.May("key")),
			Approver: by, Method: method, Answer: o.May("answer").Value(), Reason: o.May("reason").Text(),
		}
	case messageResume:
		return Resume{
			Token: readDigest(o.Need("token")), Input: o.May("input").Value(), By: by, Method: method, Node: o.May("node").Text(),
		}
	}
	kind.Report("%.40q is no kind of message", kind.Text())
	return nil
}

// early reports whether an event that the run does not wait for may still be
// waited for: the graph has a wait for it, and the run is not ending.
func (m *Machine) early(p *Position, what Happening, r *Refusal) bool {
	in, ok := what.(Signal)
	if !ok || r.Code != RefusedNotWaiting || p.ended || p.ending != nil {
		return false
	}
	for i := range m.def.Graph.Nodes {
		if n := &m.def.Graph.Nodes[i]; n.Kind == graph.KindWait && n.Name == in.Name {
			return true
		}
	}
	return false
}
