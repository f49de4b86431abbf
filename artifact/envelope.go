package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Envelope is what an artifact says about itself, beside its body.
type Envelope struct {
	SchemaVersion int    `json:"schemaVersion"`
	Kind          string `json:"kind"`                    // such as plan, tree or trace
	CorrelationID string `json:"correlationId,omitempty"` // of the caller; not written when empty
}

// ErrNotObject is returned by [Wrap] and [ReadEnvelope] for a body that is not a
// JSON object.
var ErrNotObject = errors.New("plan JSON artifact must be an object")

// Wrap gives the text of body (see [Encode]) with the members of e after its
// own. If the body has one of these members already, its position stays and its
// value is replaced.
func Wrap(body any, e Envelope) ([]byte, error) {
	text, err := Encode(body)
	if err != nil {
		return nil, err
	}
	if len(text) == 0 || text[0] != '{' {
		return nil, ErrNotObject
	}
	members := []envelopeMember{
		{name: "schemaVersion", value: strconv.Itoa(e.SchemaVersion)},
		{name: "kind", value: string(AppendString(nil, e.Kind))},
	}
	if e.CorrelationID != "" {
		members = append(members, envelopeMember{name: "correlationId", value: string(AppendString(nil, e.CorrelationID))})
	}
	return spliceMembers(text, members)
}

type envelopeMember struct {
	name, value string
	written     bool
}

// spliceMembers replaces and appends members of the indented object in text. It
// works on the text, so that a large body is encoded once and never copied into
// values.
func spliceMembers(text []byte, members []envelopeMember) ([]byte, error) {
	out := make([]byte, 0, len(text)+128)
	copied := int64(0)
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	if _, err := dec.ReadToken(); err != nil {
		return nil, fmt.Errorf("read back the artifact's own text: %w", err)
	}
	empty := dec.PeekKind() == '}'
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("read back the artifact's own text: %w", err)
		}
		name := token.String()
		start := dec.InputOffset() + int64(len(": "))
		if err := dec.SkipValue(); err != nil {
			return nil, fmt.Errorf("read back the artifact's own text: %w", err)
		}
		for i := range members {
			if members[i].name == name {
				members[i].written = true
				out = append(append(out, text[copied:start]...), members[i].value...)
				copied = dec.InputOffset()
			}
		}
	}
	out = append(out, bytes.TrimRight(text[copied:len(text)-len("}")], "\n")...)
	for _, m := range members {
		if m.written {
			continue
		}
		if !empty {
			out = append(out, ',')
		}
		empty = false
		out = append(AppendString(append(out, "\n  "...), m.name), ": "...)
		out = append(out, m.value...)
	}
	return append(out, "\n}"...), nil
}

// ReadEnvelope reads the envelope's members of an artifact and ignores the rest.
// A member that is absent stays zero: artifacts written before the envelope
// existed have none.
func ReadEnvelope(data []byte) (Envelope, error) {
	if text := jsontext.Value(data); text.Kind() != '{' && text.IsValid() {
		return Envelope{}, ErrNotObject
	}
	var e Envelope
	if err := Decode(data, &e, IgnoreUnknown); err != nil {
		return Envelope{}, err
	}
	return e, nil
}
