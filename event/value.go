package event

import (
	"github.com/writ-dev/writ/artifact"
)

// AccessRestricted is the access class of bytes whose digest is salted, see
// [Salt]. A pack may name others; their digests are plain.
const AccessRestricted = "restricted"

// Recorded stands for bytes that are not in the log. If the store keeps them, it
// keeps them as the blob under Digest.
type Recorded struct {
	Kind     string          // what the bytes are, such as json, text or kcp/plan
	Digest   artifact.Digest // of the bytes, or salted; see Salt
	Size     uint64          // of the bytes
	Access   string          // the class that decides about keeping and showing them
	Salt     artifact.Digest // of the blob with the salt of Digest; zero when Digest is plain
	Redacted bool            // the bytes have placeholders in the place of secrets, see [Redactor]
}

// NewRecorded gives the Recorded of bytes that need no salt.
func NewRecorded(kind, access string, data []byte) Recorded {
	return Recorded{Kind: kind, Digest: artifact.Sum(data), Size: uint64(len(data)), Access: access}
}

// hidden reports whether the bytes, or parts of them, stand behind a salt.
func (r *Recorded) hidden() bool { return r != nil && (r.Redacted || !r.Salt.IsZero()) }

func (r *Recorded) fields(c *coder) {
	c.text("kind", &r.Kind)
	c.digest("digest", &r.Digest)
	c.uint("size", &r.Size)
	c.text("access", &r.Access)
	c.optDigest("salt", &r.Salt)
	c.flag("redacted", &r.Redacted)
	if (r.Access == AccessRestricted) == r.Salt.IsZero() {
		c.fail("the digest of restricted bytes, and only that, is salted")
	}
}

func (c *coder) recorded(name string, r *Recorded) {
	c.begin(name)
	r.fields(c)
	c.end()
}

// optRecorded codes nil as null.
func (c *coder) optRecorded(name string, r **Recorded) {
	c.member(name)
	if c.null(*r == nil) {
		return
	}
	if c.reading {
		*r = new(Recorded)
	}
	c.open()
	(*r).fields(c)
	c.end()
}

// Money is an amount per currency, in millionths of it. Nothing converts one
// currency into another.
type Money map[string]uint64

// Usage is what an effect, an attempt or a run has used. The zero value is
// written as null.
type Usage struct {
	Calls      uint64
	Tokens     uint64 // input and output
	Units      uint64 // as the tool counts them
	DurationMS uint64
	Cost       Money
}

// IsZero reports whether nothing was used.
func (u Usage) IsZero() bool {
	return u.Calls == 0 && u.Tokens == 0 && u.Units == 0 && u.DurationMS == 0 && len(u.Cost) == 0
}

func (c *coder) usage(name string, u *Usage) {
	c.member(name)
	if c.null(u.IsZero()) {
		return
	}
	c.open()
	c.uint("calls", &u.Calls)
	c.uint("tokens", &u.Tokens)
	c.uint("units", &u.Units)
	c.uint("duration_ms", &u.DurationMS)
	c.money("cost", &u.Cost)
	c.end()
	if c.err == nil && u.IsZero() {
		c.fail("usage of nothing is null")
	}
}

// Budget is what may still be used. An unset limit is none.
type Budget struct {
	Steps, Calls, Tokens, Units artifact.Optional[uint64]
	TimeMS                      artifact.Optional[uint64]
	Cost                        Money // only the limited currencies; 0 means none left
}

// IsZero reports whether the budget limits nothing. It is written as null.
func (b Budget) IsZero() bool {
	return !b.Steps.Set && !b.Calls.Set && !b.Tokens.Set && !b.Units.Set && !b.TimeMS.Set && len(b.Cost) == 0
}

func (c *coder) budget(name string, b *Budget) {
	c.member(name)
	if c.null(b.IsZero()) {
		return
	}
	c.open()
	c.optUint("steps", &b.Steps)
	c.optUint("calls", &b.Calls)
	c.optUint("tokens", &b.Tokens)
	c.optUint("units", &b.Units)
	c.optUint("time_ms", &b.TimeMS)
	c.money("cost", &b.Cost)
	c.end()
	if c.err == nil && b.IsZero() {
		c.fail("a budget without limits is null")
	}
}

// money codes an object whose members are sorted by the bytes of their names.
func (c *coder) money(name string, m *Money) {
	c.begin(name)
	if !c.reading {
		if len(*m) > MaxItems {
			c.fail("%s has more than %d currencies", name, MaxItems)
		}
		for _, currency := range artifact.SortedNames(*m) {
			if artifact.CheckIdentifier(currency) != nil {
				c.fail("currency is not an identifier")
			}
			amount := (*m)[currency]
			c.uint(currency, &amount)
		}
		c.end()
		return
	}
	*m = nil
	last := ""
	for c.err == nil && len(c.buf) > 0 && c.buf[0] != '}' {
		if c.more {
			c.token(",")
		}
		c.more = true
		var currency string
		c.idValue(&currency)
		c.token(":")
		var amount uint64
		c.uintValue(&amount)
		if currency <= last || len(*m) == MaxItems {
			c.fail("currencies are not sorted")
		}
		if *m == nil {
			*m = Money{}
		}
		(*m)[currency], last = amount, currency
	}
	c.end()
}
