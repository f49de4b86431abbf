package sqlite

import (
	"context"
	"fmt"

	"github.com/writ-dev/writ/store"
)

// applicationID marks the file as one of ours (PRAGMA application_id).
const applicationID = 0x77726974 // "writ"

// migrations bring a file from one version to the next; the file's version
// (PRAGMA user_version) is the number of those that were applied. What stands
// here was published and is never changed: a change is one more step.
//
// A batch has run<<32|sequence of its first event as its key, so that a log is one
// stretch of a table and needs no index. Its columns are in the order in which they
// are needed: a reader of events never touches a checkpoint.
var migrations = []string{`
CREATE TABLE run (
	id        INTEGER PRIMARY KEY,
	exec      TEXT NOT NULL UNIQUE,
	seq       INTEGER NOT NULL DEFAULT 0,  -- 0: no event yet, only a lease
	digest    BLOB,
	status    TEXT NOT NULL DEFAULT '',
	reason    TEXT NOT NULL DEFAULT '',
	signed    BLOB,
	point     INTEGER NOT NULL DEFAULT 0,  -- sequence of the newest checkpoint
	pointsum  BLOB,
	lessee    TEXT NOT NULL DEFAULT '',
	lease_ms  INTEGER NOT NULL DEFAULT 0,  -- when the lease ends
	fence     INTEGER NOT NULL DEFAULT 0,
	graph     BLOB,
	owner     TEXT NOT NULL DEFAULT '',
	parent    TEXT NOT NULL DEFAULT '',
	start_ms  INTEGER NOT NULL DEFAULT 0,
	update_ms INTEGER NOT NULL DEFAULT 0,
	delete_ms INTEGER NOT NULL DEFAULT 0   -- 0: not deleted
) STRICT;
CREATE TABLE log (
	id     INTEGER PRIMARY KEY,
	bytes  BLOB NOT NULL,     -- the events, each a line
	point  INTEGER,           -- sequence of the batch's checkpoint; NULL, as what follows: it has none
	digest BLOB,
	rank   INTEGER,           -- number of differences since a whole one
	base   INTEGER,           -- sequence of the checkpoint that data differs from; 0: none
	form   INTEGER,
	size   INTEGER,           -- of the checkpoint
	data   BLOB               -- a difference may also quote bytes
) STRICT;
CREATE TABLE intent (
	run  INTEGER NOT NULL,
	key  TEXT NOT NULL,
	seq  INTEGER NOT NULL,
	done INTEGER NOT NULL,
	PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE timer (
	run    INTEGER NOT NULL,
	id     TEXT NOT NULL,
	due_ms INTEGER NOT NULL,
	PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX timer_due ON timer (due_ms);
CREATE TABLE message (
	id   INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again: readers go on after the last one they saw
	run  INTEGER NOT NULL,
	name TEXT NOT NULL,
	body BLOB NOT NULL,
	UNIQUE (run, name)
) STRICT;
CREATE TABLE blob (
	id     INTEGER PRIMARY KEY,
	digest BLOB NOT NULL UNIQUE,
	bytes  BLOB               -- NULL: erased
) STRICT;
CREATE TABLE held (            -- which run refers to which blob
	run  INTEGER NOT NULL,
	blob INTEGER NOT NULL,
	PRIMARY KEY (run, blob)
) STRICT, WITHOUT ROWID;
CREATE INDEX held_blob ON held (blob);
`}

// migrate checks whose file it is and of which version, and applies the steps
// that it lacks. It holds the write lock from the check on, so that of several
// processes one migrates.
func migrate(ctx context.Context, conn connection, steps []string) (err error) {
	if _, err := conn.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, _ = conn.exec(context.WithoutCancel(ctx), "ROLLBACK")
		}
	}()
	var id, version, tables int64
	found, err := conn.row(ctx, `SELECT (SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`)
	if err != nil {
		return err
	}
	if err := found.Scan(&id, &version, &tables); err != nil {
		return err
	}
	switch {
	case id == 0 && version == 0 && tables == 0: // a new file
	case id != applicationID || version < 1:
		return store.ErrForeign
	case version > int64(len(steps)):
		return fmt.Errorf("%w: it has version %d, this one knows %d", store.ErrTooNew, version, len(steps))
	}
	if version < int64(len(steps)) {
		for _, step := range steps[version:] {
			if _, err := conn.exec(ctx, step); err != nil {
				return err
			}
		}
		mark := fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", applicationID, len(steps))
		if _, err := conn.exec(ctx, mark); err != nil {
			return err
		}
	}
	_, err = conn.exec(ctx, "COMMIT")
	return err
}
