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
// and what policy redacts is redacted before it is there. A key is proven by its
// signature; for the rest whoever can write to the store is trusted as a driver is.

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
// What policy redacts is redacted in it, as the run itself would do it. There is a
// message of a [Cancel], a [Signal], a [Decide] and a [Resume]. The error is a
// *[Refusal] where the input is at fault.
func (m *Machine) Message(p Position, what Happening) (store.Message, error) {
	switch w := what.(type) {
	case Cancel:
		return cancelMessage(w)
	case Signal:
		return m.signalMessage(p, w)
	case Decide:
		return m.decideMessage(p, w)
	case Resume:
		input, _, err := m.redact(p, w.Input, artifact.StringValue(w.By))
		if err != nil {
			return store.Message{}, err
		}
		b := messageOf(messageResume, w.By, w.Method)
		b.digest("token", w.Token)
		b.text("node", w.Node)
		b.value("input", input)
		return b.message()
	}
	return store.Message{}, fmt.Errorf("message: a %T is for whoever has the lease of the run", what)
}

func cancelMessage(w Cancel) (store.Message, error) {
	b := messageOf(messageCancel, w.By, w.Method)
	b.text("reason", w.Reason)
	return b.message()
}

func (m *Machine) signalMessage(p Position, w Signal) (store.Message, error) {
	key, err := artifact.CanonicalValue(w.Key)
	if err != nil {
		return store.Message{}, &Refusal{Code: RefusedInput, Message: err.Error()}
	}
	payload, _, err := m.redact(p, w.Payload, artifact.StringValue(w.Name), key, artifact.StringValue(w.ID), artifact.StringValue(w.By))
	if err != nil {
		return store.Message{}, err
	}
	b := messageOf(messageSignal, w.By, w.Method)
	b.text("name", w.Name)
	b.value("key", key)
	b.text("id", w.ID)
	b.value("payload", payload)
	msg, err := b.message()
	msg.ID, msg.Spare = "", spareMessages
	if w.ID != "" {
		msg.ID = "event:" + artifact.Sum([]byte(w.ID)).Hex()
	}
	return msg, err
}

// decideMessage has the signature of a decision in place of the key, which follows
// from it.
func (m *Machine) decideMessage(p Position, w Decide) (store.Message, error) {
	answer, r, err := m.redact(p, w.Answer, artifact.StringValue(w.Approver))
	if err != nil {
		return store.Message{}, err
	}
	if r != nil {
		w.Reason = r.Text(w.Reason)
	}
	b := messageOf(messageDecide, w.Approver, w.Method)
	b.digest("proposal", w.Proposal)
	b.flag("approve", w.Approve)
	b.digest("token", w.Token)
	b.text("signature", string(w.Signature))
	b.text("reason", w.Reason)
	b.value("answer", answer)
	return b.message()
}

// redact gives content as the log keeps it, in canonical form, and the redactor that
// did it; nil where policy redacts nothing. What stands beside the content must not
// hold what was redacted in it.
func (m *Machine) redact(p Position, v artifact.Value, beside ...artifact.Value) (artifact.Value, *event.Redactor, error) {
	v, err := artifact.CanonicalValue(v)
	if err != nil {
		return v, nil, &Refusal{Code: RefusedInput, Message: err.Error()}
	}
	if len(m.def.Policy.Redactions()) == 0 {
		return v, nil, nil
	}
	r, err := m.def.redactor(p.salt)
	if err != nil {
		return v, nil, &Refusal{Code: RefusedRedacted, Message: "the salt of the run is gone, so nothing more can be redacted in it"}
	}
	if v, _, err = r.Redact(event.ScopeArgs, v); err != nil {
		return v, nil, err
	}
	_, echoed, err := r.Redact("", artifact.ArrayValue(beside...))
	if err == nil && echoed {
		err = &Refusal{Code: RefusedRedacted, Message: "a value that policy redacts stands beside what it is redacted in"}
	}
	return v, r, err
}

// messageBody is the document of a message on its way.
type messageBody struct {
	kind string
	doc  []artifact.Member
}

func messageOf(kind, by, method string) *messageBody {
	b := &messageBody{kind, []artifact.Member{member("v", artifact.UintValue(1)), member("kind", artifact.StringValue(kind))}}
	b.text("by", by)
	b.text("method", method)
	return b
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
			By: by, Method: method,
		}
	case messageDecide:
		return readDecide(o, by, method)
	case messageResume:
		return Resume{
			Token: readDigest(o.Need("token")), Input: o.May("input").Value(), By: by, Method: method, Node: o.May("node").Text(),
		}
	}
	kind.Report("%.40q is no kind of message", kind.Text())
	return nil
}

// readDecide takes the key of a decision from its signature alone: no message claims
// a key that it does not prove.
func readDecide(o *artifact.Object, by, method string) Decide {
	w := Decide{
		Proposal: readDigest(o.Need("proposal")), Approve: o.May("approve").Bool(), Token: readDigest(o.May("token")),
		Approver: by, Method: method, Answer: o.May("answer").Value(), Reason: o.May("reason").Text(),
	}
	if f := o.May("signature"); f.Present() {
		w.Signature = []byte(f.Text())
		key, err := decisionKey(w.Signature, w.Proposal, w.Approve, w.Answer)
		if err != nil {
			f.Report("%v", err)
			return w
		}
		w.Key = keyDigest(key)
	}
	return w
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
