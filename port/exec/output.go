package exec

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/writ-dev/writ/match"
)

// Encodings of output in a result.
const (
	encodingText   = "text"
	encodingBase64 = "base64"
)

// output keeps the beginning of a stream, and its end for error texts. It never
// refuses anything, so that the program is not stopped by a full pipe.
type output struct {
	cap     uint64 // bytes of the result
	slack   uint64 // bytes kept beyond it, so that the cap cuts no secret in two
	written uint64
	head    []byte // up to cap and slack bytes
	last    []byte // of what came last
}

// tailBytes is how much of the end of a stream an error quotes.
const tailBytes = 512

func (o *output) Write(p []byte) (int, error) {
	if room := o.cap + o.slack - uint64(len(o.head)); room > 0 {
		o.head = append(o.head, p[:min(uint64(len(p)), room)]...)
	}
	keep := tailBytes + int(o.slack)
	o.last = append(o.last, p[max(0, len(p)-keep):]...)
	if extra := len(o.last) - keep; extra > 0 {
		o.last = append(o.last[:0], o.last[extra:]...)
	}
	o.written += uint64(len(p))
	return len(p), nil
}

func (o *output) truncated() bool { return o.written > o.cap }

// text gives what was kept, scrubbed, and how it is encoded. A character that the
// cap has cut is left out.
func (o *output) text(scrub func(string) string) (text, encoding string) {
	whole := scrub(string(o.head))
	if uint64(len(whole)) > o.cap {
		whole = whole[:o.cap]
	}
	text = whole
	if o.truncated() {
		text = match.WholeRunes(text)
	}
	if utf8.ValidString(text) {
		return text, encodingText
	}
	return base64.StdEncoding.EncodeToString([]byte(whole)), encodingBase64
}

// tail gives the end of the stream as text, scrubbed and without what is no text.
func (o *output) tail(scrub func(string) string) string {
	text := scrub(string(o.last))
	return strings.TrimSpace(strings.ToValidUTF8(text[max(0, len(text)-tailBytes):], ""))
}
