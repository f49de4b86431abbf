package event

import (
	"fmt"

	"github.com/writ-dev/writ/artifact"
)

// AppendInto is [Chain.Append] with the record's bytes at the end of dst, for a
// writer that makes several records at once. It gives the extended slice; the
// bytes of the record are a part of it, or of the one before if it had no room.
func (c *Chain) AppendInto(dst []byte, e Event) (Record, []byte, error) {
	if c.ended {
		return Record{}, dst, fmt.Errorf("append event %d: the run has ended", c.head.Seq+1)
	}
	e.Seq, e.Prev, e.Exec = c.head.Seq+1, c.head.Digest, c.head.Exec
	all, err := appendEvent(dst, e)
	if err != nil {
		return Record{}, dst, err
	}
	data := all[len(dst):len(all):len(all)]
	e.Type = e.Body.Type()
	r := Record{Header: e.Header, Digest: artifact.Sum(data), Bytes: data}
	c.head.Seq, c.head.Digest = r.Seq, r.Digest
	c.ended = e.Type.Ends()
	return r, all, nil
}
