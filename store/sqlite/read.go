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

// page is how many rows are read at a time. Between two pages no transaction is
// open, so that a slow reader does not keep the log of the file from shrinking.
const page = 256

// Events implements [store.Store].
func (s *Store) Events(ctx context.Context, exec string, from uint64) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		run, last, err := s.log(ctx, exec)
		if err != nil {
			yield(event.Record{}, err)
			return
		}
		for next := max(from, 1); next <= last; {
			records, err := s.readPage(ctx, run, exec, next)
			if err == nil && len(records) == 0 {
				if _, _, err = s.log(ctx, exec); err == nil {
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

// log gives the number and the last sequence of a run whose events are there.
func (s *Store) log(ctx context.Context, exec string) (run int64, last uint64, err error) {
	run, h, err := s.readRun(ctx, exec)
	if err == nil && !h.Deleted.IsZero() {
		err = fmt.Errorf("events of %s: %w", exec, store.ErrDeleted)
	}
	return run, h.Seq, err
}

func (s *Store) readPage(ctx context.Context, run int64, exec string, from uint64) ([]event.Record, error) {
	rows, err := s.readDB.QueryContext(ctx, `SELECT bytes FROM event WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?`,
		key(run, from), key(run, largestSeq), page)
	if err != nil {
		return nil, explain(err)
	}
	defer rows.Close()
	records := make([]event.Record, 0, page)
	for rows.Next() {
		var text []byte
		if err := rows.Scan(&text); err != nil {
			return nil, explain(err)
		}
		r, err := recordAt(text, exec, from+uint64(len(records)))
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, explain(rows.Err())
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
		return s.checkpoint(ctx, d)
	case err != nil:
		return nil, explain(err)
	case erased:
		return nil, fmt.Errorf("blob %s: %w", d, store.ErrDeleted)
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}

// checkpoint reads a checkpoint by its digest.
func (s *Store) checkpoint(ctx context.Context, d artifact.Digest) (io.ReadCloser, error) {
	var id int64
	err := s.readDB.QueryRowContext(ctx, `SELECT id FROM point WHERE hash=? AND digest=? LIMIT 1`, pointHash(d), d[:]).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("blob %s: %w", d, store.ErrNotFound)
	}
	if err != nil {
		return nil, explain(err)
	}
	h, err := s.readPoint(ctx, id>>32, uint64(id&largestSeq))
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(h.last.bytes)), nil
}
