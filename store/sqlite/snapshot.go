package sqlite

import (
	"bytes"
	"compress/flate"
	"container/list"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/store"
)

// A checkpoint holds a run's whole state, and little of it changes from one to
// the next. So most are stored as a difference from an earlier one of the run,
// its base. The source of the difference is the base followed by the events beside
// which it is stored: what changed stands in their patches already.
//
// The rank counts the differences since the last checkpoint that is stored
// whole. The base is the one before, except that each groupSize-th one has the
// groupSize-th before it as its base. Reading one therefore takes at most
// groupSize + maxRank/groupSize steps.
const (
	groupSize = 64
	maxRank   = 4096
	// smallest is the size in bytes from which a difference is worth its bother.
	smallest = 512
	// compressible is the size in bytes from which a whole one is compressed.
	compressible = 4 << 10
)

// How the data of a checkpoint is to be read.
const (
	formPlain   = 0
	formFlate   = 1
	formDiffers = 2
)

// kept is the content of a checkpoint.
type kept struct {
	seq    uint64
	rank   int
	digest artifact.Digest
	bytes  []byte
}

// snapshot is a checkpoint as it is to be stored.
type snapshot struct {
	kept
	follows uint64 // the newest checkpoint of the run when this one was prepared
	base    uint64 // 0 if it is stored whole
	form    int
	data    []byte
}

// whole makes s independent of others.
func (s *snapshot) whole() {
	s.base, s.rank = 0, 0
	s.form, s.data = formPlain, s.bytes
	if len(s.bytes) < compressible {
		return
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		return
	}
	if _, err := w.Write(s.bytes); err != nil {
		return
	}
	if err := w.Close(); err == nil && packed.Len() < len(s.bytes)*3/4 {
		s.form, s.data = formFlate, packed.Bytes()
	}
}

// prepareSnapshot encodes the checkpoint of a batch whose events are lines, before
// it is its turn to be written; then it is seen whether the run's newest checkpoint
// is still the one that was compared with.
func (s *Store) prepareSnapshot(ctx context.Context, b store.Batch, lines []byte) (*snapshot, error) {
	text, digest := b.Checkpoint.Bytes, b.Checkpoint.Digest // valid if there is one
	if digest.IsZero() {
		digest = artifact.Sum(text)
	}
	p := &snapshot{kept: kept{seq: b.Checkpoint.Seq, digest: digest, bytes: text}}
	if len(text) < smallest || b.Next == 1 {
		p.whole()
		return p, nil
	}
	history, ok := s.snapshots.get(b.Exec)
	if !ok {
		var err error
		if history, err = s.readHistory(ctx, b.Exec); err != nil {
			return nil, err
		}
		s.snapshots.fill(b.Exec, history)
	}
	base := history.last
	p.follows, p.rank = base.seq, base.rank+1
	if p.rank%groupSize == 0 {
		base = history.group
	}
	if base.seq == 0 || p.rank >= maxRank || len(base.bytes) < smallest {
		p.whole()
		return p, nil
	}
	p.base, p.form, p.data = base.seq, formDiffers, difference(slices.Concat(base.bytes, lines), text)
	if len(p.data) > len(text)/2 {
		p.whole()
	}
	return p, nil
}

// history is what the next checkpoint of a run may be compared with. Both are
// zero for a run without checkpoints.
type history struct {
	last  kept // the newest
	group kept // the newest whose rank is a multiple of groupSize
}

func (h history) with(k kept) history {
	h.last = k
	if k.rank%groupSize == 0 {
		h.group = k
	}
	return h
}

func (h history) size() int { return len(h.last.bytes) + len(h.group.bytes) }

// readHistory finds the history of a run that is not in memory.
func (s *Store) readHistory(ctx context.Context, exec string) (history, error) {
	var run, seq int64
	err := s.readDB.QueryRowContext(ctx, `SELECT id, point FROM run WHERE exec=?`, exec).Scan(&run, &seq)
	if errors.Is(err, sql.ErrNoRows) || err == nil && seq == 0 {
		return history{}, nil
	}
	if err != nil {
		return history{}, explain(err)
	}
	h, err := s.readPoint(ctx, run, uint64(seq))
	if err != nil {
		err = fmt.Errorf("checkpoint at event %d of %s: %w", seq, exec, err)
	}
	return h, err
}

// storedPoint is the checkpoint of a row.
type storedPoint struct {
	seq        uint64
	digest     []byte
	rank       int
	base       uint64
	form, size int
	data       []byte
	lines      []byte // the events beside it
}

// readPoint reads the checkpoint at event seq by way of its bases. It fails with
// [store.ErrNotFound] if there is none.
func (s *Store) readPoint(ctx context.Context, run int64, seq uint64) (history, error) {
	var chain []storedPoint
	for at := seq; at != 0; {
		p, err := s.readStored(ctx, run, at)
		switch {
		case errors.Is(err, store.ErrNotFound) && at != seq:
			return history{}, fmt.Errorf("%w: its base at event %d is missing", store.ErrDamaged, at)
		case err != nil:
			return history{}, err
		case len(chain) > maxRank || p.base >= at || len(p.digest) != len(artifact.Digest{}):
			return history{}, store.ErrDamaged
		}
		chain = append(chain, p)
		at = p.base
	}
	h := history{}
	for i := len(chain) - 1; i >= 0; i-- {
		text, err := chain[i].expand(h.last.bytes)
		if err != nil {
			return history{}, err
		}
		h = h.with(kept{seq: chain[i].seq, rank: chain[i].rank, digest: artifact.Digest(chain[i].digest), bytes: text})
	}
	if artifact.Sum(h.last.bytes) != h.last.digest {
		return history{}, store.ErrDamaged
	}
	return h, nil
}

// readStored reads the row of the batch that has event seq, if the checkpoint of
// the batch is at that event.
func (s *Store) readStored(ctx context.Context, run int64, seq uint64) (storedPoint, error) {
	var p storedPoint
	row := s.readDB.QueryRowContext(ctx, `SELECT point, digest, rank, base, form, size, data, bytes FROM log
		WHERE id = (SELECT max(id) FROM log WHERE id BETWEEN ? AND ?) AND point = ?`, key(run, 1), key(run, seq), int64(seq))
	err := row.Scan(&p.seq, &p.digest, &p.rank, &p.base, &p.form, &p.size, &p.data, &p.lines)
	if errors.Is(err, sql.ErrNoRows) {
		return p, store.ErrNotFound
	}
	return p, explain(err)
}

// expand gives the content of a checkpoint whose base is given.
func (p storedPoint) expand(base []byte) (text []byte, err error) {
	switch p.form {
	case formPlain:
		return p.data, nil
	case formFlate:
		text, err = io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(p.data)), int64(p.size)+1))
	case formDiffers:
		text, err = apply(slices.Concat(base, p.lines), p.data, p.size)
	}
	if err != nil || len(text) != p.size {
		return nil, store.ErrDamaged
	}
	return text, nil
}

// snapshotCache keeps the histories that were used last, up to a number of
// bytes.
type snapshotCache struct {
	mu    sync.Mutex
	limit int
	size  int
	order *list.List // of *cached, used last first
	runs  map[string]*list.Element
}

type cached struct {
	exec string
	history
}

func newSnapshotCache(limit int) *snapshotCache {
	return &snapshotCache{limit: limit, order: list.New(), runs: map[string]*list.Element{}}
}

func (c *snapshotCache) get(exec string) (history, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.runs[exec]
	if !ok {
		return history{}, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).history, true
}

// put adds a run's newest checkpoint. Those of a run come in order, as only the
// leader calls it.
func (c *snapshotCache) put(exec string, k kept) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.runs[exec]
	if !ok {
		if k.rank != 0 {
			return // the group is not known: the next one reads it
		}
		e = c.order.PushFront(&cached{exec: exec})
		c.runs[exec] = e
	}
	at := e.Value.(*cached)
	c.size -= at.size()
	at.history = at.history.with(k)
	c.size += at.size()
	c.order.MoveToFront(e)
	c.shrink()
}

// fill adds what was read of a run that is not there. It may be out of date by
// then: whoever writes notices.
func (c *snapshotCache) fill(exec string, h history) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.runs[exec]; ok || h.last.seq == 0 {
		return
	}
	c.runs[exec] = c.order.PushFront(&cached{exec: exec, history: h})
	c.size += h.size()
	c.shrink()
}

func (c *snapshotCache) shrink() {
	for c.size > c.limit && c.order.Len() > 0 {
		c.remove(c.order.Back())
	}
}

func (c *snapshotCache) drop(exec string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.runs[exec]; ok {
		c.remove(e)
	}
}

func (c *snapshotCache) remove(e *list.Element) {
	at := e.Value.(*cached)
	c.size -= at.size()
	delete(c.runs, at.exec)
	c.order.Remove(e)
}
