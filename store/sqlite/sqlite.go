// Package sqlite keeps runs in one SQLite file. It is the default store: embedded,
// without cgo, safe for several processes on one machine.
//
// [Open] gives a [Store]. Reading methods use a pool of connections and never
// wait for writers. Of those that write, one at a time does it for all: it puts
// whatever is waiting into one transaction and syncs it once, see commit.go. So
// many runs share the cost of a sync, and one run alone pays exactly one and
// changes no goroutine. Each write of such a group succeeds or fails by itself.
//
// The file is in WAL mode with synchronous=FULL: what Append acknowledged is on
// disk. A batch is one row, which has its checkpoint too, as a difference from an
// earlier one (snapshot.go): what an append costs is the pages that it changes.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	driver "modernc.org/sqlite"

	"github.com/writ-dev/writ/store"
)

// Modes of what [Open] creates.
const (
	FileMode fs.FileMode = 0o600
	DirMode  fs.FileMode = 0o700
)

const (
	defaultBusy    = 5 * time.Second
	readers        = 4        // connections that read
	walPages       = 1000     // after which the log is moved into the file, to be written over
	walKeepBytes   = 16 << 20 // of the log's file after that
	largestRun     = 1<<31 - 1
	largestSeq     = 1<<32 - 1
	snapshotMemory = 64 << 20 // bytes of checkpoints that are kept to compare with
)

// Options change how a store is opened. The zero value is the default.
type Options struct {
	Now      func() time.Time // the clock of leases and tombstones; nil for time.Now
	Busy     time.Duration    // how long to wait for another process; 0 for 5 s
	MaxPages int              // of the file, 4 KiB each, beyond which it is full; 0 for no limit
}

// Store implements [store.Store], [store.Remover] and [store.Inbox].
type Store struct {
	now       func() time.Time
	readDB    *sql.DB
	writer    *writer
	snapshots *snapshotCache

	queue   queue
	closing chan struct{} // closed by Close
	once    sync.Once

	patience int // of the leader, see gather
}

// process holds the settings of the driver that are those of the whole process.
// Both leave durability and locking as they are meant: a commit syncs data and
// size without timestamps, and a lock survives when some other code in the
// process opens and closes the file.
var process = sync.OnceFunc(func() {
	_, _ = driver.Fdatasync(true)  // an error means the system has no such call
	_, _ = driver.OFDLocking(true) // or that it is too late, and plain locks do
})

// Open gives the store in the file at path, which is created with mode 0600 and
// its folder with 0700 where they do not exist. It fails with [store.ErrTooNew]
// and leaves the file alone if a newer version wrote it, and with
// [store.ErrForeign] if it is not a store. A file of an older version is brought
// up to date in one transaction.
func Open(ctx context.Context, path string, o *Options) (*Store, error) {
	s, err := open(ctx, path, o, migrations)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	return s, nil
}

func open(ctx context.Context, path string, o *Options, steps []string) (*Store, error) {
	options := Options{}
	if o != nil {
		options = *o
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Busy <= 0 {
		options.Busy = defaultBusy
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	process()
	if err := create(path); err != nil {
		return nil, err
	}
	w, err := openWriter(ctx, path, options, steps)
	if err != nil {
		return nil, err
	}
	s := &Store{now: options.Now, writer: w, snapshots: newSnapshotCache(snapshotMemory), closing: make(chan struct{})}
	s.readDB, err = sql.Open("sqlite", dsn(path, options.Busy, "query_only(1)"))
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	s.readDB.SetMaxOpenConns(readers)
	s.readDB.SetMaxIdleConns(readers)
	return s, nil
}

// create makes an empty file, so that SQLite's files take over its mode. It
// never opens a file that exists: closing one drops this process's locks on it
// where only plain locks are to be had.
func create(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, DirMode); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, FileMode)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was first
	}
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes the name of a new file durable. Systems that cannot sync a folder
// do not need it.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	_ = d.Sync()
	return nil
}

func dsn(path string, busy time.Duration, pragmas ...string) string {
	q := url.Values{"_pragma": append([]string{"busy_timeout(" + strconv.FormatInt(busy.Milliseconds(), 10) + ")"}, pragmas...)}
	slashed := filepath.ToSlash(path)
	if slashed[0] != '/' {
		slashed = "/" + slashed // a drive letter
	}
	return (&url.URL{Scheme: "file", Path: slashed, RawQuery: q.Encode()}).String()
}

// Close waits for the writes that are under way and closes the file, which is
// whole by itself afterwards. Those that nobody has begun, and every later call,
// fail with [store.ErrClosed].
func (s *Store) Close() error {
	var err error
	s.once.Do(func() {
		close(s.closing)
		s.queue.close()
		// The reader's connections go first: the last one to close removes the log.
		err = errors.Join(s.readDB.Close(), s.writer.close())
	})
	return err
}

func (s *Store) alive() error {
	select {
	case <-s.closing:
		return store.ErrClosed
	default:
		return nil
	}
}

// explain turns an error of the driver into one of the store's.
func explain(err error) error {
	var failure *driver.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failure):
		switch failure.Code() & 0xff {
		case codeFull:
			return fmt.Errorf("%w: %v", store.ErrFull, err)
		case codeBusy, codeLocked:
			return fmt.Errorf("%w: %v", store.ErrBusy, err)
		case codeNotADB:
			return fmt.Errorf("%w: %v", store.ErrForeign, err)
		case codeCorrupt:
			return fmt.Errorf("%w: %v", store.ErrDamaged, err)
		}
	case errors.Is(err, sql.ErrConnDone), err.Error() == "sql: database is closed":
		return store.ErrClosed
	}
	return err
}

// Primary result codes of SQLite.
const (
	codeBusy    = 5
	codeLocked  = 6
	codeCorrupt = 11
	codeFull    = 13
	codeNotADB  = 26
)
