package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/writ-dev/writ/store"
)

// writer is the one connection that writes, with its statements. Only the leader
// uses it, after it was opened.
type writer struct {
	conn connection

	begin, commit, rollback   statement
	selectRun, insertRun      statement
	setRun, moveRun           statement
	setStart, setLease        statement
	insertLog                 statement
	insertIntent, closeIntent statement
	setTimer, dropTimer       statement
	dropTimers                statement
	putBlob, holdBlob         statement
	inboxStatements

	known map[string]knownRun // at most maxKnown
}

// knownRun is a run as this process left it. Another one may have written since:
// what is known saves a look at the row, and is never relied on.
type knownRun struct {
	id   int64
	head store.Head
}

// maxKnown is how many runs are remembered.
const maxKnown = 4096

func (w *writer) remember(exec string, run knownRun) {
	if _, ok := w.known[exec]; !ok && len(w.known) >= maxKnown {
		for any := range w.known {
			delete(w.known, any)
			break
		}
	}
	w.known[exec] = run
}

const runColumns = `id, seq, digest, status, reason, signed, point, pointsum, lessee, lease_ms, fence, delete_ms`

func (w *writer) statements() map[*statement]string {
	all := map[*statement]string{
		&w.begin:        `BEGIN IMMEDIATE`,
		&w.commit:       `COMMIT`,
		&w.rollback:     `ROLLBACK`,
		&w.selectRun:    `SELECT ` + runColumns + ` FROM run WHERE exec = ?`,
		&w.insertRun:    `INSERT INTO run (exec) VALUES (?)`,
		&w.setRun:       `UPDATE run SET seq=?, digest=?, point=?, pointsum=?, update_ms=?, status=?, reason=?, signed=? WHERE id=?`,
		&w.moveRun:      `UPDATE run SET seq=?, digest=?, point=?, pointsum=?, update_ms=? WHERE id=? AND digest=? AND lease_ms=? AND fence=? AND delete_ms=0`,
		&w.setStart:     `UPDATE run SET graph=?, owner=?, parent=?, start_ms=? WHERE id=?`,
		&w.setLease:     `UPDATE run SET lessee=?, lease_ms=?, fence=? WHERE id=?`,
		&w.insertLog:    `INSERT INTO log (id, bytes, point, digest, rank, base, form, size, data) VALUES (?,?,?,?,?,?,?,?,?)`,
		&w.insertIntent: `INSERT INTO intent (run, key, seq, done) VALUES (?, ?, ?, 0) ON CONFLICT DO NOTHING`,
		&w.closeIntent:  `UPDATE intent SET done=1 WHERE run=? AND key=? AND done=0`,
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
	w := &writer{known: map[string]knownRun{}}
	err := w.prepare(ctx, path, o, steps)
	if err != nil {
		return nil, errors.Join(explain(err), w.close())
	}
	return w, nil
}

// prepare looks at the file before it changes anything about it.
func (w *writer) prepare(ctx context.Context, path string, o Options, steps []string) (err error) {
	if w.conn, err = connect(ctx, dsn(path, o.Busy)); err != nil {
		return err
	}
	err = patiently(ctx, o.Busy, func() error {
		if err := migrate(ctx, w.conn, steps); err != nil {
			return err
		}
		_, err := w.conn.exec(ctx, "PRAGMA journal_mode=WAL")
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
		if _, err := w.conn.exec(ctx, "PRAGMA "+p); err != nil {
			return err
		}
	}
	for s, text := range w.statements() {
		if *s, err = w.conn.prepare(ctx, text); err != nil {
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
	for s := range w.statements() {
		s.close()
	}
	return w.conn.close()
}
