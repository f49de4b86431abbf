package fetch

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"
)

// TraceParent is the trace context of the W3C in version 00: which trace a
// request belongs to, and which span sends it. The zero value is none.
type TraceParent struct {
	trace [16]byte
	span  [8]byte
	flags byte
}

// NewTraceParent draws a new trace that is sampled.
func NewTraceParent() TraceParent {
	var t TraceParent
	for t.IsZero() {
		_, _ = rand.Read(t.trace[:]) // never fails
		_, _ = rand.Read(t.span[:])
	}
	t.flags = 1
	return t
}

var errTraceParent = errors.New("not a traceparent: want 00-<32 hex digits>-<16 hex digits>-<2 hex digits>")

// ParseTraceParent reads the text of a traceparent header.
func ParseTraceParent(text string) (TraceParent, error) {
	var t TraceParent
	parts := strings.Split(text, "-")
	if len(parts) != 4 || parts[0] != "00" || strings.ToLower(text) != text {
		return t, errTraceParent
	}
	var flags [1]byte
	for i, into := range [][]byte{t.trace[:], t.span[:], flags[:]} {
		part := parts[i+1]
		if len(part) != 2*len(into) {
			return TraceParent{}, errTraceParent
		}
		if _, err := hex.Decode(into, []byte(part)); err != nil {
			return TraceParent{}, errTraceParent
		}
	}
	if t.flags = flags[0]; t.IsZero() {
		return TraceParent{}, errTraceParent
	}
	return t, nil
}

// IsZero reports whether there is no trace: an all-zero trace or span is not
// valid.
func (t TraceParent) IsZero() bool { return t.trace == [16]byte{} || t.span == [8]byte{} }

// String gives the text of the header, empty for none.
func (t TraceParent) String() string {
	if t.IsZero() {
		return ""
	}
	return "00-" + hex.EncodeToString(t.trace[:]) + "-" + hex.EncodeToString(t.span[:]) + "-" + hex.EncodeToString([]byte{t.flags})
}
