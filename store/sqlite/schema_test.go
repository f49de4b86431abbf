package sqlite

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/storetest"
)

func openSteps(t *testing.T, path string, steps []string) (*Store, error) {
	t.Helper()
	s, err := open(t.Context(), path, nil, steps)
	if err == nil {
		t.Cleanup(func() { _ = s.Close() })
	}
	return s, err
}

// TestMigrate opens a file with today's version, then with a later one, then
// with today's again.
func TestMigrate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "writ.db")
	s, err := openSteps(t, path, migrations)
	if err != nil {
		t.Fatal(err)
	}
	l := storetest.NewLog(t, "run")
	if err := s.Append(t.Context(), l.Batch(l.Start())); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	later := append(append([]string{}, migrations...), `ALTER TABLE run ADD COLUMN note TEXT NOT NULL DEFAULT 'new'`)
	broken := append(append([]string{}, later...), `CREATE TABLE half (x INTEGER)`, `nonsense`)
	if _, err := openSteps(t, path, broken); err == nil {
		t.Fatal("a step that fails is ignored")
	}
	if s, err = openSteps(t, path, later); err != nil {
		t.Fatal(err)
	}
	var note string
	var half int
	if err := s.readDB.QueryRow(`SELECT note, (SELECT count(*) FROM sqlite_schema WHERE name='half') FROM run`).Scan(&note, &half); err != nil || note != "new" || half != 0 {
		t.Errorf("note %q, %d tables of a migration that failed, %v", note, half, err)
	}
	if h, err := s.Head(t.Context(), "run"); err != nil || h.Head != l.Head() {
		t.Errorf("head after the migration %+v, %v", h.Head, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, nil); !errors.Is(err, store.ErrTooNew) {
		t.Errorf("a newer file: %v", err)
	}
}

func TestOpenRefusesOtherDatabases(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	db, err := sql.Open("sqlite", dsn(path, defaultBusy))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE theirs (x INTEGER)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, nil); !errors.Is(err, store.ErrForeign) {
		t.Errorf("got %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the file was changed (%v)", err)
	}
}

// TestOpenTogether opens one new file several times at once.
func TestOpenTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "writ.db")
	stores := make([]*Store, 6)
	var group sync.WaitGroup
	for i := range stores {
		group.Go(func() {
			s, err := Open(t.Context(), path, nil)
			if err != nil {
				t.Error(err)
				return
			}
			stores[i] = s
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	l := storetest.NewLog(t, "run")
	for i, b := range []store.Batch{l.Batch(l.Start()), l.Batch(l.Step("a")...), l.Batch(l.Step("b")...)} {
		if err := stores[i].Append(t.Context(), b); err != nil {
			t.Error(err)
		}
	}
	for _, s := range stores {
		if h, err := s.Head(t.Context(), "run"); err != nil || h.Seq != 7 {
			t.Errorf("head %d, %v", h.Seq, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestPragmas(t *testing.T) {
	s, err := openSteps(t, filepath.Join(t.TempDir(), "writ.db"), migrations)
	if err != nil {
		t.Fatal(err)
	}
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "secure_delete": "1", "application_id": "2003986804"} {
		got, err := s.writer.conn.row(t.Context(), "PRAGMA "+pragma)
		if err != nil || fmt.Sprint(got) != "["+want+"]" {
			t.Errorf("%s is %v, want %q (%v)", pragma, got, want, err)
		}
	}
	if _, err := s.readDB.Exec(`DELETE FROM run`); err == nil {
		t.Error("a reader can write")
	}
}

// TestLongHistory stores more checkpoints than one group, with another process
// in between that knows nothing of what this one remembers, and reads all.
func TestLongHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "writ.db")
	var stores [2]*Store
	for i := range stores {
		var err error
		if stores[i], err = openSteps(t, path, migrations); err != nil {
			t.Fatal(err)
		}
	}
	l := storetest.NewLog(t, "run")
	if err := stores[0].Append(t.Context(), l.Batch(l.Start())); err != nil {
		t.Fatal(err)
	}
	const steps = 3*groupSize + 5
	state, states := strings.Repeat("a long state that grows; ", 100), map[uint64]string{}
	for i := range steps {
		state += strings.Repeat(string(rune('a'+i%26)), 40)
		b := l.Batch(l.Step("s")...)
		b.Checkpoint = &store.Checkpoint{Seq: b.Next + 1, Bytes: []byte(state)}
		s := stores[0]
		if i == 20 || i == 21 || i == 150 {
			s = stores[1]
		}
		if err := s.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		states[b.Checkpoint.Seq] = state
	}
	for seq, want := range states {
		got, err := stores[1].Checkpoint(t.Context(), "run", seq)
		if err != nil || string(got) != want {
			t.Errorf("checkpoint at event %d: %d bytes, %v", seq, len(got), err)
		}
	}
	var wholes, deepest int
	if err := stores[0].readDB.QueryRow(`SELECT count(*) FILTER (WHERE base=0), max(rank) FROM log`).Scan(&wholes, &deepest); err != nil {
		t.Fatal(err)
	}
	if wholes > 8 || deepest < groupSize {
		t.Errorf("%d checkpoints of %d are whole, the highest rank is %d", wholes, steps, deepest)
	}
}

// TestDamage changes stored bytes behind the store's back: it says so and gives
// nothing.
func TestDamage(t *testing.T) {
	s, err := openSteps(t, filepath.Join(t.TempDir(), "writ.db"), migrations)
	if err != nil {
		t.Fatal(err)
	}
	l := storetest.NewLog(t, "run")
	state := strings.Repeat("a state; ", 100)
	for i, records := range [][]event.Record{append([]event.Record{l.Start()}, l.Step("s")...), l.Step("t"), l.Step("u")} {
		b := l.Batch(records...)
		b.Checkpoint = &store.Checkpoint{Seq: b.Next + 1, Bytes: fmt.Append(nil, state, i)}
		if i == 1 {
			b.Checkpoint.Bytes = append([]byte(state), records[1].Bytes...)
		}
		if err := s.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	change := func(sql string) {
		t.Helper()
		if r, err := s.writer.conn.exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		} else if n, err := r.RowsAffected(); err != nil || n != 1 {
			t.Fatalf("%s: %d rows, %v", sql, n, err)
		}
	}
	events := func(from uint64, want error, good int) {
		t.Helper()
		got, last := 0, error(nil)
		for _, err := range s.Events(t.Context(), "run", from) {
			if last = err; err == nil {
				got++
			}
		}
		if !errors.Is(last, want) || got != good {
			t.Errorf("events from %d: %d, then %v; want %d, then %v", from, got, last, good, want)
		}
	}
	checkpoint := func(seq uint64, want error) {
		t.Helper()
		if _, err := s.Checkpoint(t.Context(), "run", seq); !errors.Is(err, want) {
			t.Errorf("checkpoint at %d: %v, want %v", seq, err, want)
		}
	}
	const third, last = ` WHERE id & 4294967295 = 5`, ` WHERE id & 4294967295 = 8`
	events(1, nil, 10)
	checkpoint(9, nil)
	change(`UPDATE log SET bytes = CAST(replace(bytes, '"seq":6', '"seq":9') AS BLOB)` + third)
	events(5, store.ErrDamaged, 0)
	checkpoint(6, store.ErrDamaged) // it quotes the events beside it
	change(`UPDATE log SET bytes = CAST(replace(bytes, '"seq":9', '"seq":6') AS BLOB)` + third)
	events(5, nil, 6)
	checkpoint(6, nil)
	change(`UPDATE log SET bytes = CAST(substr(bytes, 1, length(bytes)-1) AS BLOB)` + third)
	events(1, store.ErrDamaged, 0)
	change(`UPDATE log SET bytes = CAST(bytes || x'0a' AS BLOB)` + third)
	events(1, nil, 10)
	change(`UPDATE log SET data = zeroblob(length(data))` + last)
	checkpoint(9, store.ErrDamaged)
	checkpoint(6, nil)
	events(1, nil, 10)
	change(`DELETE FROM log` + third)
	events(1, store.ErrDamaged, 0)
	events(5, store.ErrDamaged, 0)
	events(8, nil, 3)
	checkpoint(6, store.ErrNotFound)
	change(`DELETE FROM log` + last)
	events(9, store.ErrDamaged, 0)
	checkpoint(2, nil)
}
