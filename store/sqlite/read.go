package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
)

// How much is read at a time. Between two pages no transaction is open, so that a
// slow reader does not keep the log of the file from shrinking.
const (
	page      = 256     // runs of a list, or batches or events of a log
	pageBytes = 1 << 20 // of a log; a batch that has more is a page by itself
)

// Events implements [store.Store].
func (s *Store) Events(ctx context.Context, exec string, from uint64) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		run, last, err := s.kept(ctx, exec)
		if err != nil {
			yield(event.Record{}, err)
			return
		}
		for next := max(from, 1); next <= last; {
			records, err := s.readPage(ctx, run, exec, next)
			if err == nil && len(records) == 0 {
				if _, _, err = s.kept(ctx, exec); err == nil {
					err = fmt.Errorf("event %d of %s: %w", next, exec, store.ErrDamaged)
				}
			}
			if err != nil {
				yield(event.Record{}, err)
				return
			}
			for _, r := range records {
				if !yield(r, nil) {
					return
				}
			}
			next += uint64(len(records))
		}
	}
}

// kept gives the number and the last sequence of a run whose log is there.
func (s *Store) kept(ctx context.Context, exec string) (run int64, last uint64, err error) {
	run, h, err := s.readRun(ctx, exec)
	if err == nil && !h.Deleted.IsZero() {
		err = fmt.Errorf("run %s: %w", exec, store.ErrDeleted)
	}
	return run, h.Seq, err
}

// readPage gives events from a sequence on: those of the batch that has it, and of
// batches after that one. None means that the first is not there.
func (s *Store) readPage(ctx context.Context, run int64, exec string, from uint64) (records []event.Record, err error) {
	rows, err := s.readDB.QueryContext(ctx, `SELECT id, bytes FROM log
		WHERE id >= (SELECT max(id) FROM log WHERE id BETWEEN ? AND ?) AND id <= ? ORDER BY id LIMIT ?`,
		key(run, 1), key(run, from), key(run, largestSeq), page)
	if err != nil {
		return nil, explain(err)
	}
	defer rows.Close()
	for size := 0; len(records) < page && size < pageBytes && rows.Next(); {
		var id int64
		var text []byte
		if err := rows.Scan(&id, &text); err != nil {
			return nil, explain(err)
		}
		if records, err = appendRecords(records, text, exec, uint64(id&largestSeq), from); err != nil {
			return nil, err
		}
		size += len(text)
	}
	return records, explain(rows.Err())
}

// appendRecords adds the events of a batch that begins at first, without those
// before from. Each has to stand in its place.
func appendRecords(records []event.Record, text []byte, exec string, first, from uint64) ([]event.Record, error) {
	if next := from + uint64(len(records)); first > next || len(records) > 0 && first != next {
		return nil, fmt.Errorf("event %d of %s: %w", next, exec, store.ErrDamaged)
	}
	for seq := first; len(text) > 0; seq++ {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			return nil, fmt.Errorf("event %d of %s: %w", seq, exec, store.ErrDamaged)
		}
		line := text[:end:end]
		text = text[end+1:]
		if seq < from {
			continue
		}
		r, err := event.Read(line)
		if err != nil || r.Exec != exec || r.Seq != seq {
			return nil, fmt.Errorf("event %d of %s: %w", seq, exec, store.ErrDamaged)
		}
		records = append(records, r)
	}
	return records, nil
}

// readRun gives a run that has events, or had, without its intents.
func (s *Store) readRun(ctx context.Context, exec string) (int64, store.Head, error) {
	if err := s.alive(); err != nil {
		return 0, store.Head{}, err
	}
	row := s.readDB.QueryRowContext(ctx, `SELECT `+runColumns+` FROM run WHERE exec = ? AND seq > 0`, exec)
	run, h, err := scanRun(row)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, store.Head{}, fmt.Errorf("run %.130q: %w", exec, store.ErrNotFound)
	}
	if err != nil {
		return 0, store.Head{}, explain(err)
	}
	h.Exec = exec
	if !h.Leased(s.now()) {
		h.Owner = ""
	}
	return run, h, nil
}

// Head implements [store.Store]. One statement reads the run and its intents, so
// that they fit each other.
func (s *Store) Head(ctx context.Context, exec string) (store.Head, error) {
	if err := s.alive(); err != nil {
		return store.Head{}, err
	}
	rows, err := s.readDB.QueryContext(ctx, `SELECT run.`+strings.ReplaceAll(runColumns, ", ", ", run.")+`,
		intent.key, intent.seq FROM run LEFT JOIN intent ON intent.run = run.id AND intent.done = 0
		WHERE run.exec = ? AND run.seq > 0 ORDER BY intent.seq, intent.key`, exec)
	if err != nil {
		return store.Head{}, explain(err)
	}
	defer rows.Close()
	var h store.Head
	found := false
	for rows.Next() {
		var name sql.NullString
		var seq sql.NullInt64
		_, row, err := scanRun(rows, &name, &seq)
		if err != nil {
			return store.Head{}, explain(err)
		}
		if !found {
			h, found = row, true
		}
		if name.Valid {
			h.Intents = append(h.Intents, store.Intent{Key: name.String, Seq: uint64(seq.Int64)})
		}
	}
	if err := rows.Err(); err != nil {
		return store.Head{}, explain(err)
	}
	if !found {
		return store.Head{}, fmt.Errorf("run %.130q: %w", exec, store.ErrNotFound)
	}
	h.Exec = exec
	if !h.Leased(s.now()) {
		h.Owner = ""
	}
	return h, nil
}

// Due implements [store.Store].
func (s *Store) Due(ctx context.Context, now time.Time, n int) ([]store.Timer, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	rows, err := s.readDB.QueryContext(ctx, `SELECT run.exec, timer.id, timer.due_ms FROM timer JOIN run ON run.id = timer.run
		WHERE timer.due_ms <= ? ORDER BY timer.due_ms, run.exec, timer.id LIMIT ?`, now.UnixMilli(), max(n, 0))
	if err != nil {
		return nil, explain(err)
	}
	defer rows.Close()
	var due []store.Timer
	for rows.Next() {
		var t store.Timer
		var ms int64
		if err := rows.Scan(&t.Exec, &t.ID, &ms); err != nil {
			return nil, explain(err)
		}
		t.Due = time.UnixMilli(ms)
		due = append(due, t)
	}
	return due, explain(rows.Err())
}

// List implements [store.Store].
func (s *Store) List(ctx context.Context, q store.Query) iter.Seq2[store.Summary, error] {
	return func(yield func(store.Summary, error) bool) {
		given := 0
		for {
			found, err := s.listPage(ctx, q)
			if err != nil {
				yield(store.Summary{}, err)
				return
			}
			for _, summary := range found {
				if q.Limit > 0 && given == q.Limit || !yield(summary, nil) {
					return
				}
				given++
				q.After = summary.Exec
			}
			if len(found) < page {
				return
			}
		}
	}
}

func (s *Store) listPage(ctx context.Context, q store.Query) ([]store.Summary, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	where, args := conditions(q)
	rows, err := s.readDB.QueryContext(ctx, `SELECT exec, seq, digest, status, reason, graph, owner, parent, start_ms, update_ms, delete_ms
		FROM run WHERE `+where+` ORDER BY exec LIMIT ?`, append(args, page)...)
	if err != nil {
		return nil, explain(err)
	}
	defer rows.Close()
	var found []store.Summary
	for rows.Next() {
		var r store.Summary
		var digest, graph []byte
		var started, updated, deleted int64
		if err := rows.Scan(&r.Exec, &r.Seq, &digest, &r.Status, &r.Reason, &graph, &r.Owner, &r.Parent, &started, &updated, &deleted); err != nil {
			return nil, explain(err)
		}
		copy(r.Digest[:], digest)
		copy(r.Graph[:], graph)
		r.Started, r.Updated = time.UnixMilli(started), time.UnixMilli(updated)
		if deleted != 0 {
			r.Deleted = time.UnixMilli(deleted)
		}
		found = append(found, r)
	}
	return found, explain(rows.Err())
}

// conditions puts a query into SQL.
func conditions(q store.Query) (where string, args []any) {
	where, args = "seq > 0 AND exec > ?", []any{q.After}
	add := func(condition string, arg any) {
		where += " AND " + condition
		args = append(args, arg)
	}
	if !q.Deleted {
		where += " AND delete_ms = 0"
	}
	if len(q.Status) > 0 {
		where += " AND status IN (?" + strings.Repeat(", ?", len(q.Status)-1) + ")"
		for _, status := range q.Status {
			args = append(args, string(status))
		}
	}
	if !q.Graph.IsZero() {
		add("graph = ?", q.Graph[:])
	}
	if q.Owner != "" {
		add("owner = ?", q.Owner)
	}
	if q.Parent != "" {
		add("parent = ?", q.Parent)
	}
	return where, args
}

// Blob implements [store.Store].
func (s *Store) Blob(ctx context.Context, d artifact.Digest) (io.ReadCloser, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	var text []byte
	var erased bool
	err := s.readDB.QueryRowContext(ctx, `SELECT bytes, bytes IS NULL FROM blob WHERE digest=?`, d[:]).Scan(&text, &erased)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, fmt.Errorf("blob %s: %w", d, store.ErrNotFound)
	case err != nil:
		return nil, explain(err)
	case erased:
		return nil, fmt.Errorf("blob %s: %w", d, store.ErrDeleted)
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}

// Checkpoint implements [store.Store].
func (s *Store) Checkpoint(ctx context.Context, exec string, seq uint64) ([]byte, error) {
	run, last, err := s.kept(ctx, exec)
	if err != nil {
		return nil, err
	}
	if seq == 0 || seq > last {
		return nil, fmt.Errorf("checkpoint at event %d of %s: %w", seq, exec, store.ErrNotFound)
	}
	h, err := s.readPoint(ctx, run, seq)
	if err != nil {
		if _, _, gone := s.kept(ctx, exec); gone != nil {
			return nil, gone // meanwhile
		}
		return nil, fmt.Errorf("checkpoint at event %d of %s: %w", seq, exec, err)
	}
	return h.last.bytes, nil
}
