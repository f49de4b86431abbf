package event

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/writ-dev/writ/artifact"
)

// coder writes or reads one document. A payload names its fields once, and the
// coder does either; so the two directions cannot drift, and what a reader
// accepts is exactly what a writer writes. After an error every call does
// nothing.
type coder struct {
	reading bool
	buf     []byte // what was written, or what remains to be read
	size    int    // of the whole input
	more    bool   // the object at hand has a member already
	err     error
}

func reader(data []byte) coder { return coder{reading: true, buf: data, size: len(data)} }

// fail keeps the first problem. Reading gives a *FormatError without any text
// of the input.
func (c *coder) fail(format string, args ...any) {
	if c.err != nil {
		return
	}
	problem := fmt.Sprintf(format, args...)
	if c.reading {
		c.err = &FormatError{Offset: c.size - len(c.buf), Problem: problem}
		return
	}
	c.err = fmt.Errorf("%s", problem)
}

// finish refuses what follows the document.
func (c *coder) finish() {
	if c.err == nil && len(c.buf) != 0 {
		c.fail("text after the end of the document")
	}
}

// token writes s, or reads exactly s.
func (c *coder) token(s string) bool {
	if c.err != nil {
		return false
	}
	if !c.reading {
		c.buf = append(c.buf, s...)
		return true
	}
	if len(c.buf) < len(s) || string(c.buf[:len(s)]) != s {
		c.fail("want %s", s)
		return false
	}
	c.buf = c.buf[len(s):]
	return true
}

func (c *coder) open() { c.token("{"); c.more = false }

func (c *coder) end() { c.token("}"); c.more = true }

// begin opens the object that is the member of that name.
func (c *coder) begin(name string) { c.member(name); c.open() }

func (c *coder) member(name string) {
	if c.more {
		c.token(",")
	}
	c.more = true
	if c.reading {
		want := len(name) + 3
		if c.err == nil && (len(c.buf) < want || c.buf[0] != '"' || string(c.buf[1:want-2]) != name ||
			c.buf[want-2] != '"' || c.buf[want-1] != ':') {
			c.fail("want member %q", name)
		}
		if c.err == nil {
			c.buf = c.buf[want:]
		}
		return
	}
	if c.err == nil {
		c.buf = append(append(append(c.buf, '"'), name...), '"', ':')
	}
}

// null writes or reads null where the value is absent. When reading, absent is
// ignored and the answer says whether null stood there.
func (c *coder) null(absent bool) bool {
	if c.err != nil {
		return true
	}
	if c.reading {
		absent = bytes.HasPrefix(c.buf, []byte("null"))
	}
	if absent {
		c.token("null")
	}
	return absent
}

func (c *coder) uint(name string, v *uint64) { c.member(name); c.uintValue(v) }

func (c *coder) uintValue(v *uint64) {
	if c.err != nil {
		return
	}
	if !c.reading {
		c.buf = strconv.AppendUint(c.buf, *v, 10)
		return
	}
	n, x := 0, uint64(0)
	for n < len(c.buf) && c.buf[n] >= '0' && c.buf[n] <= '9' {
		digit := uint64(c.buf[n] - '0')
		if x > (math.MaxUint64-digit)/10 {
			c.fail("number is out of range")
			return
		}
		x = x*10 + digit
		n++
	}
	if n == 0 || n > 1 && c.buf[0] == '0' {
		c.fail("want a whole number")
		return
	}
	*v, c.buf = x, c.buf[n:]
}

func (c *coder) uint32(name string, v *uint32) {
	wide := uint64(*v)
	c.uint(name, &wide)
	if wide > math.MaxUint32 {
		c.fail("number is out of range")
		return
	}
	*v = uint32(wide)
}

// millis codes a time or a duration that is not negative.
func (c *coder) millis(name string, v *int64) {
	if *v < 0 && !c.reading {
		c.fail("%s is negative", name)
	}
	wide := uint64(*v)
	c.uint(name, &wide)
	if wide > math.MaxInt64 {
		c.fail("number is out of range")
		return
	}
	*v = int64(wide)
}

// optUint codes a limit; an unset one is null.
func (c *coder) optUint(name string, v *artifact.Optional[uint64]) {
	c.member(name)
	if !c.null(!v.Set) {
		c.uintValue(&v.Value)
		v.Set = true
	}
}

// optMillis codes a time; 0 is null, and null is 0.
func (c *coder) optMillis(name string, v *int64) {
	c.member(name)
	if c.null(*v == 0) {
		return
	}
	if *v < 0 && !c.reading {
		c.fail("%s is negative", name)
	}
	wide := uint64(*v)
	c.uintValue(&wide)
	if wide == 0 || wide > math.MaxInt64 {
		c.fail("number is out of range")
		return
	}
	*v = int64(wide)
}

func (c *coder) flag(name string, v *bool) {
	c.member(name)
	if c.err != nil {
		return
	}
	if c.reading {
		*v = len(c.buf) > 0 && c.buf[0] == 't'
	}
	c.token(strconv.FormatBool(*v))
}

func (c *coder) digest(name string, v *artifact.Digest) { c.member(name); c.digestValue(v) }

func (c *coder) optDigest(name string, v *artifact.Digest) {
	c.member(name)
	if !c.null(v.IsZero()) {
		c.digestValue(v)
	}
}

func (c *coder) digestValue(v *artifact.Digest) {
	if !c.token(`"sha256:`) {
		return
	}
	const hexDigits = "0123456789abcdef"
	if !c.reading {
		if v.IsZero() {
			c.fail("a digest is missing")
			return
		}
		for _, b := range v {
			c.buf = append(c.buf, hexDigits[b>>4], hexDigits[b&15])
		}
		c.buf = append(c.buf, '"')
		return
	}
	if len(c.buf) < 2*len(v)+1 || c.buf[2*len(v)] != '"' {
		c.fail("want a digest of 64 hexadecimal digits")
		return
	}
	for i := range v {
		high, low := hexValue(c.buf[2*i]), hexValue(c.buf[2*i+1])
		if high > 15 || low > 15 {
			c.fail("want a digest of 64 hexadecimal digits")
			return
		}
		v[i] = high<<4 | low
	}
	if v.IsZero() {
		c.fail("a digest is zero")
		return
	}
	c.buf = c.buf[2*len(v)+1:]
}

// hexValue gives 0xff for anything but a lower-case hexadecimal digit.
func hexValue(b byte) byte {
	switch {
	case b >= '0' && b <= '9':
		return b - '0'
	case b >= 'a' && b <= 'f':
		return b - 'a' + 10
	}
	return 0xff
}

func (c *coder) text(name string, v *string) { c.member(name); c.textValue(v) }

func (c *coder) textValue(v *string) {
	switch {
	case c.err != nil:
	case c.reading:
		s, n, err := readString(c.buf)
		if err == "" && len(s) > MaxText {
			err = "text is too long"
		}
		if err != "" {
			c.fail("%s", err)
			return
		}
		*v, c.buf = s, c.buf[n:]
	case len(*v) > MaxText:
		c.fail("text has %d bytes, more than %d", len(*v), MaxText)
	case !utf8.ValidString(*v):
		c.fail("text is not UTF-8")
	default:
		c.buf = artifact.AppendString(c.buf, *v)
	}
}

// id codes an identifier, see [artifact.CheckIdentifier].
func (c *coder) id(name string, v *string) { c.member(name); c.idValue(v) }

func (c *coder) idValue(v *string) {
	if c.err == nil && !c.reading && artifact.CheckIdentifier(*v) != nil {
		c.fail("not an identifier")
	}
	c.textValue(v)
	if c.err == nil && c.reading && artifact.CheckIdentifier(*v) != nil {
		c.fail("not an identifier")
	}
}

// optID codes an identifier; "" is null, and null is "".
func (c *coder) optID(name string, v *string) {
	c.member(name)
	if !c.null(*v == "") {
		c.idValue(v)
	}
}

// choice codes one of the given words.
func choice(c *coder, name string, v *string, words ...string) {
	c.text(name, v)
	for _, w := range words {
		if *v == w {
			return
		}
	}
	c.fail("%s is none of %v", name, words)
}

// list codes an array of at most MaxItems. An empty one reads as nil.
func list[T any](c *coder, name string, v *[]T, each func(*coder, *T)) {
	c.member(name)
	c.token("[")
	if !c.reading {
		if len(*v) > MaxItems {
			c.fail("%s has %d elements, more than %d", name, len(*v), MaxItems)
		}
		for i := range *v {
			if i > 0 {
				c.token(",")
			}
			each(c, &(*v)[i])
		}
		c.token("]")
		return
	}
	*v = nil
	for c.err == nil && (len(c.buf) == 0 || c.buf[0] != ']') {
		if len(*v) > 0 {
			c.token(",")
		}
		if len(*v) == MaxItems {
			c.fail("%s has more than %d elements", name, MaxItems)
		}
		var item T
		each(c, &item)
		*v = append(*v, item)
	}
	c.token("]")
}

func (c *coder) digests(name string, v *[]artifact.Digest) { list(c, name, v, (*coder).digestValue) }

func (c *coder) texts(name string, v *[]string) { list(c, name, v, (*coder).textValue) }

func (c *coder) ids(name string, v *[]string) { list(c, name, v, (*coder).idValue) }
