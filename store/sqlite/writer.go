package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/writ-dev/writ/store"
)

// writer is the one connection that writes, with its statements. Only the
// committer uses it, after it was opened.
type writer struct {
	db   *sql.DB
	conn *sql.Conn

	begin, commit, rollback      *sql.Stmt
	selectRun, insertRun, setRun *sql.Stmt
	setStart, setLease           *sql.Stmt
	insertEvent, insertPoint     *sql.Stmt
	selectIntent, insertIntent   *sql.Stmt
	closeIntent                  *sql.Stmt
	setTimer, dropTimer          *sql.Stmt
	dropTimers                   *sql.Stmt
	putBlob, holdBlob            *sql.Stmt
	inboxStatements
}

const runColumns = `id, seq, digest, status, reason, signed, point, pointsum, lessee, lease_ms, fence, delete_ms`

func (w *writer) statements() map[**sql.Stmt]string {
	all := map[**sql.Stmt]string{
		&w.begin:        `BEGIN IMMEDIATE`,
		&w.commit:       `COMMIT`,
		&w.rollback:     `ROLLBACK`,
		&w.selectRun:    `SELECT ` + runColumns + ` FROM run WHERE exec = ?`,
		&w.insertRun:    `INSERT INTO run (exec) VALUES (?)`,
		&w.setRun:       `UPDATE run SET seq=?, digest=?, status=?, reason=?, signed=?, point=?, pointsum=?, update_ms=? WHERE id=?`,
		&w.setStart:     `UPDATE run SET graph=?, owner=?, parent=?, start_ms=? WHERE id=?`,
		&w.setLease:     `UPDATE run SET lessee=?, lease_ms=?, fence=? WHERE id=?`,
		&w.insertEvent:  `INSERT INTO event (id, bytes) VALUES (?, ?)`,
		&w.insertPoint:  `INSERT INTO point (id, hash, digest, rank, base, first, last, form, size, data) VALUES (?,?,?,?,?,?,?,?,?,?)`,
		&w.selectIntent: `SELECT done FROM intent WHERE run=? AND key=?`,
		&w.insertIntent: `INSERT INTO intent (run, key, seq, done) VALUES (?, ?, ?, ?)`,
		&w.closeIntent:  `UPDATE intent SET done=1 WHERE run=? AND key=?`,
		&w.setTimer:     `INSERT INTO timer (run, id, due_ms) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET due_ms=excluded.due_ms`,
		&w.dropTimer:    `DELETE FROM timer WHERE run=? AND id=?`,
		&w.dropTimers:   `DELETE FROM timer WHERE run=?`,
		&w.putBlob:      `INSERT INTO blob (digest, bytes) VALUES (?, ?) ON CONFLICT DO UPDATE SET bytes=excluded.bytes WHERE bytes IS NULL`,
		&w.holdBlob:     `INSERT INTO held (run, blob) SELECT ?, id FROM blob WHERE digest=? ON CONFLICT DO NOTHING`,
	}
	maps.Copy(all, w.inboxStatements.statements())
	return all
}

func openWriter(ctx context.Context, path string, o Options, steps []string) (*writer, error) {
	db, err := sql.Open("sqlite", dsn(path, o.Busy))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	w := &writer{db: db}
	if err := w.prepare(ctx, o, steps); err != nil {
		return nil, errors.Join(explain(err), w.close())
	}
	return w, nil
}

// prepare looks at the file before it changes anything about it.
func (w *writer) prepare(ctx context.Context, o Options, steps []string) (err error) {
	if w.conn, err = w.db.Conn(ctx); err != nil {
		return err
	}
	err = patiently(ctx, o.Busy, func() error {
		if err := migrate(ctx, w.conn, steps); err != nil {
			return err
		}
		_, err := w.conn.ExecContext(ctx, "PRAGMA journal_mode=WAL")
		return err
	})
	if err != nil {
		return err
	}
	pragmas := []string{
		"synchronous=FULL",
		"secure_delete=ON", // what is deleted or erased is overwritten
		"trusted_schema=OFF",
		"temp_store=MEMORY",
		fmt.Sprintf("wal_autocheckpoint=%d", walPages),
		fmt.Sprintf("journal_size_limit=%d", walKeepBytes),
	}
	if o.MaxPages > 0 {
		pragmas = append(pragmas, fmt.Sprintf("max_page_count=%d", o.MaxPages))
	}
	for _, p := range pragmas {
		if _, err := w.conn.ExecContext(ctx, "PRAGMA "+p); err != nil {
			return err
		}
	}
	for stmt, text := range w.statements() {
		if *stmt, err = w.conn.PrepareContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// patiently tries again while the file is locked. SQLite waits by itself, except
// where several connections change the journal's mode at once: there it gives
// up at once, as they might wait for each other.
func patiently(ctx context.Context, limit time.Duration, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := do()
		if !errors.Is(explain(err), store.ErrBusy) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

func (w *writer) close() error {
	if w.conn != nil {
		for stmt := range w.statements() {
			if *stmt != nil {
				_ = (*stmt).Close()
			}
		}
		_ = w.conn.Close()
	}
	return w.db.Close()
}
