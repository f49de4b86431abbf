package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/store"
)

// bury is what makes a tombstone of a run, in order; each takes the run's number.
// Blobs go when nobody else holds them.
var bury = []string{
	`DELETE FROM log WHERE id BETWEEN ?1<<32 AND (?1<<32)+4294967295`,
	`DELETE FROM intent WHERE run=?1`,
	`DELETE FROM timer WHERE run=?1`,
	`DELETE FROM message WHERE run=?1`,
	`DELETE FROM blob WHERE id IN (SELECT blob FROM held WHERE run=?1)
		AND NOT EXISTS (SELECT 1 FROM held WHERE held.blob = blob.id AND held.run <> ?1)`,
	`DELETE FROM held WHERE run=?1`,
	`UPDATE run SET point=0, pointsum=NULL, reason='', lessee='', lease_ms=0 WHERE id=?1`,
}

// Delete implements [store.Remover].
func (s *Store) Delete(ctx context.Context, exec string, force bool) (tomb store.Head, err error) {
	err = s.submit(ctx, &request{do: func(w *writer) error {
		run, have, err := w.run(exec)
		if err != nil {
			return err
		}
		if have.Seq == 0 {
			return &refusal{fmt.Errorf("run %.130q: %w", exec, store.ErrNotFound)}
		}
		if tomb, err = have.Bury(force, s.now()); err != nil {
			return &refusal{err}
		}
		return w.bury(run, tomb)
	}, after: func(w *writer) { delete(w.known, exec) }})
	if err != nil {
		return store.Head{}, err
	}
	s.snapshots.drop(exec)
	return tomb, s.forget(ctx)
}

func (w *writer) bury(run int64, tomb store.Head) error {
	for _, text := range bury {
		if _, err := w.conn.exec(context.Background(), text, run); err != nil {
			return err
		}
	}
	_, err := w.conn.exec(context.Background(), `UPDATE run SET delete_ms=? WHERE id=?`, tomb.Deleted.UnixMilli(), run)
	return err
}

// forget makes what was deleted unreadable in the log of the file too, by moving
// it into the file and cutting it. It fails with [store.ErrBusy] where a reader
// is in the way for too long; the next time will do.
func (s *Store) forget(ctx context.Context) error {
	return s.submit(ctx, &request{alone: true, do: func(w *writer) error {
		moved, err := w.conn.row(context.Background(), `PRAGMA wal_checkpoint(TRUNCATE)`)
		if err == nil && (moved == nil || moved[0] != int64(0)) {
			err = fmt.Errorf("deleted, but not yet overwritten: %w", store.ErrBusy)
		}
		return err
	}})
}

// Prune implements [store.Remover].
func (s *Store) Prune(ctx context.Context, endedBefore time.Time, n int) (int, error) {
	rows, err := s.readDB.QueryContext(ctx, `SELECT exec FROM run WHERE delete_ms = 0 AND update_ms < ? AND NOT (lessee <> '' AND lease_ms > ?)
		AND status IN (?, ?, ?, ?) ORDER BY update_ms, exec LIMIT ?`, endedBefore.UnixMilli(), s.now().UnixMilli(),
		string(store.Terminated), string(store.Failed), string(store.Cancelled), string(store.Abandoned), max(n, 0))
	if err != nil {
		return 0, explain(err)
	}
	defer rows.Close()
	var old []string
	for rows.Next() {
		var exec string
		if err := rows.Scan(&exec); err != nil {
			return 0, explain(err)
		}
		old = append(old, exec)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return 0, explain(err)
	}
	pruned := 0
	for _, exec := range old {
		_, err := s.Delete(ctx, exec, false)
		switch {
		case err == nil:
			pruned++
		case errors.Is(err, store.ErrLeased) || errors.Is(err, store.ErrDeleted): // somebody was faster
		default:
			return pruned, err
		}
	}
	return pruned, nil
}

// Erase implements [store.Remover].
func (s *Store) Erase(ctx context.Context, d artifact.Digest) error {
	err := s.submit(ctx, &request{do: func(w *writer) error {
		r, err := w.conn.exec(context.Background(), `UPDATE blob SET bytes=NULL WHERE digest=?`, d[:])
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); n == 0 || err != nil {
			return &refusal{cmp.Or(err, fmt.Errorf("blob %s: %w", d, store.ErrNotFound))}
		}
		return nil
	}})
	if err != nil {
		return err
	}
	return s.forget(ctx)
}
