package event

import (
	"fmt"
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// EventV1 is an event of a version 1 log. Such logs have neither links nor
// content, so nothing of them can be verified but that they can be read.
type EventV1 struct {
	Version     uint64 // not checked when reading
	Sequence    uint64
	ExecutionID string
	NodeID      string // "" for none
	TimestampMS uint64
	Kind        KindV1
}

// KindV1 is what a version 1 event says. Fields that a kind does not have are
// zero.
type KindV1 struct {
	Name     string // in PascalCase, such as NodeStarted
	Attempt  uint32 // NodeStarted, Retrying
	Revision uint64 // StatePatched
	Route    string // Routed
	To       string // Routed
	Reason   string // Suspended
	Error    string // Failed
}

// kindFieldsV1 lists each kind's fields in wire order.
var kindFieldsV1 = map[string][]string{
	"ExecutionStarted": nil,
	"NodeStarted":      {"attempt"},
	"StatePatched":     {"revision"},
	"Routed":           {"route", "to"},
	"Retrying":         {"attempt"},
	"Suspended":        {"reason"},
	"Terminated":       nil,
	"Failed":           {"error"},
	"Cancelled":        nil,
	"Checkpointed":     nil,
}

// DecodeV1 reads a version 1 event in either of its encodings: the native one,
// whose kinds are "Cancelled" or {"Failed":{"error":"…"}}, and the TypeScript
// one, {"type":"failed","error":"…"}. Unknown members of the event are refused,
// those of a kind are ignored, as in version 1.
func DecodeV1(data []byte) (EventV1, error) {
	v, err := artifact.ParseValue(data)
	if err != nil {
		return EventV1{}, fmt.Errorf("version 1 event: %w", err)
	}
	e, err := readV1(v)
	if err != nil {
		return EventV1{}, fmt.Errorf("version 1 event: %w", err)
	}
	return e, nil
}

func readV1(v artifact.Value) (e EventV1, err error) {
	m := members{value: v}
	m.known("version", "sequence", "execution_id", "node_id", "timestamp_ms", "kind")
	e.Version = m.uint("version", 1<<16-1)
	e.Sequence = m.uint("sequence", 1<<64-1)
	e.ExecutionID = m.id("execution_id")
	if node, ok := v.Get("node_id"); ok && !node.IsNull() {
		e.NodeID = m.id("node_id")
	}
	e.TimestampMS = m.uint("timestamp_ms", 1<<64-1)
	kind, ok := v.Get("kind")
	if !ok {
		m.fail("member %q is missing", "kind")
	}
	if m.err == nil {
		e.Kind, m.err = readKindV1(kind)
	}
	return e, m.err
}

func readKindV1(v artifact.Value) (KindV1, error) {
	name, body := v.Text(), artifact.Value{}
	external := v.Kind() == artifact.KindString
	if v.Kind() == artifact.KindObject {
		if tag, ok := v.Get("type"); ok && tag.Kind() == artifact.KindString {
			name, body = pascalCase(tag.Text()), v
		} else if v.Len() == 1 {
			name, body, external = v.Members()[0].Name, v.Members()[0].Value, true
		}
	}
	fields, ok := kindFieldsV1[name]
	if !ok {
		return KindV1{}, fmt.Errorf("unknown kind")
	}
	if external && len(fields) == 0 && !body.IsNull() {
		return KindV1{}, fmt.Errorf("kind %s has no body", name)
	}
	k, m := KindV1{Name: name}, members{value: body}
	for _, f := range fields {
		switch f {
		case "attempt":
			k.Attempt = uint32(m.uint(f, 1<<32-1))
		case "revision":
			k.Revision = m.uint(f, 1<<64-1)
		case "route":
			k.Route = m.text(f)
		case "to":
			k.To = m.id(f)
		case "reason":
			k.Reason = m.text(f)
		case "error":
			k.Error = m.text(f)
		}
	}
	return k, m.err
}

// pascalCase spells a snake_case kind natively. Other spellings give a name that
// no kind has.
func pascalCase(s string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(s, "_") {
		if part == "" || part[0] < 'a' || part[0] > 'z' {
			return ""
		}
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// EncodeV1 gives the canonical bytes of e in the native encoding.
func EncodeV1(e EventV1) ([]byte, error) {
	fields, ok := kindFieldsV1[e.Kind.Name]
	if !ok {
		return nil, fmt.Errorf("version 1 event: unknown kind %.40q", e.Kind.Name)
	}
	c := coder{}
	c.open()
	c.uint("version", &e.Version)
	c.uint("sequence", &e.Sequence)
	c.id("execution_id", &e.ExecutionID)
	c.optID("node_id", &e.NodeID)
	c.uint("timestamp_ms", &e.TimestampMS)
	if len(fields) == 0 {
		c.text("kind", &e.Kind.Name)
	} else {
		c.begin("kind")
		c.begin(e.Kind.Name)
		e.Kind.fields(&c, fields)
		c.end()
		c.end()
	}
	c.end()
	return c.buf, c.err
}

func (k *KindV1) fields(c *coder, names []string) {
	for _, f := range names {
		switch f {
		case "attempt":
			c.uint32(f, &k.Attempt)
		case "revision":
			c.uint(f, &k.Revision)
		case "route":
			c.text(f, &k.Route)
		case "to":
			c.id(f, &k.To)
		case "reason":
			c.text(f, &k.Reason)
		case "error":
			c.text(f, &k.Error)
		}
	}
}

// members reads the members of an object and keeps the first problem.
type members struct {
	value artifact.Value
	err   error
}

func (m *members) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}

func (m *members) known(names ...string) {
	if m.value.Kind() != artifact.KindObject {
		m.fail("want an object")
	}
next:
	for _, member := range m.value.Members() {
		for _, name := range names {
			if member.Name == name {
				continue next
			}
		}
		m.fail("unknown member")
	}
}

func (m *members) get(name string) artifact.Value {
	v, ok := m.value.Get(name)
	if !ok {
		m.fail("member %q is missing", name)
	}
	return v
}

func (m *members) uint(name string, largest uint64) uint64 {
	n, ok := m.get(name).Uint()
	if !ok || n > largest {
		m.fail("member %q is not a whole number in range", name)
	}
	return n
}

func (m *members) text(name string) string {
	v := m.get(name)
	if v.Kind() != artifact.KindString {
		m.fail("member %q is not a string", name)
	}
	return v.Text()
}

func (m *members) id(name string) string {
	s := m.text(name)
	if m.err == nil {
		if err := artifact.CheckIdentifier(s); err != nil {
			m.fail("member %q: %w", name, err)
		}
	}
	return s
}
