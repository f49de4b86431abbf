package event

import (
	"fmt"

	"github.com/writ-dev/writ/artifact"
)

// Head names the last event of a log, or of what is there so far. With Seq 0 the
// log is empty.
type Head struct {
	Exec   string
	Seq    uint64          // of the last event, hence also how many there are
	Digest artifact.Digest // of the last event's bytes
}

// Chain makes records, each linked to the one before. The zero value is not
// usable; see [NewChain].
type Chain struct {
	head  Head
	ended bool

	coder coder
	made  []Record // what the last records were, see [Record.Sealed]
}

// NewChain continues the log that ends at head; with Seq 0 it begins one. It
// fails for an execution id that is not an identifier, and for a head whose Seq
// and Digest contradict each other.
func NewChain(head Head) (*Chain, error) {
	if err := artifact.CheckIdentifier(head.Exec); err != nil {
		return nil, fmt.Errorf("chain of events: %w", err)
	}
	if (head.Seq == 0) != head.Digest.IsZero() {
		return nil, fmt.Errorf("chain of events: head at sequence %d does not fit its digest", head.Seq)
	}
	return &Chain{head: head}, nil
}

// Head gives the last event so far.
func (c *Chain) Head() Head { return c.head }

// Append gives the record of e, which becomes the head. Sequence, previous
// digest, execution id and type are filled in; the rest of the header is e's. On
// error the chain is unchanged. Nothing follows an event that ends the run.
func (c *Chain) Append(e Event) (Record, error) {
	r, _, err := c.AppendInto(nil, e)
	return r, err
}

// AppendInto is [Chain.Append] with the record's bytes at the end of dst, for a
// writer that makes several records at once. It gives the extended slice; the
// bytes of the record are a part of it, or of the one before if it had no room.
func (c *Chain) AppendInto(dst []byte, e Event) (Record, []byte, error) {
	if c.ended {
		return Record{}, dst, fmt.Errorf("append event %d: the run has ended", c.head.Seq+1)
	}
	e.Seq, e.Prev, e.Exec = c.head.Seq+1, c.head.Digest, c.head.Exec
	all, err := c.coder.event(dst, &e)
	if err != nil {
		return Record{}, dst, err
	}
	data := all[len(dst):len(all):len(all)]
	r := Record{Header: e.Header, Digest: artifact.Sum(data), Bytes: data}
	r.sealed = c.seal(r)
	c.head.Seq, c.head.Digest = r.Seq, r.Digest
	c.ended = e.Type.Ends()
	return r, all, nil
}

// recordsAtOnce is how many records a step of a run mostly has.
const recordsAtOnce = 4

// seal keeps what a record was, together with some that follow.
func (c *Chain) seal(r Record) *Record {
	if len(c.made) == cap(c.made) {
		c.made = make([]Record, 0, recordsAtOnce)
	}
	c.made = append(c.made, r)
	return &c.made[len(c.made)-1]
}
