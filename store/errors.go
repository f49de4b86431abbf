package store

import (
	"errors"
	"fmt"
)

// The reasons why a store refuses. Test with errors.Is; the text around them
// names runs and sequences, never content.
var (
	// Of an append. Nothing was stored.
	ErrConflict = errors.New("somebody else appended first")
	ErrFenced   = errors.New("lease lost")
	ErrEnded    = errors.New("the run has ended")
	ErrInvalid  = errors.New("invalid batch")
	ErrFull     = errors.New("the store is full")
	ErrBusy     = errors.New("another process is using the store for too long")

	// Of a message, besides those of an append.
	ErrInboxFull = errors.New("the inbox of the run is full")

	// Of an append whose outcome the store could not learn, such as an I/O error
	// while it was made durable. Ask for the Head before going on.
	ErrUncertain = errors.New("unknown whether the batch was stored")

	// Of a lease.
	ErrLeased = errors.New("somebody else has the lease")

	// Of a read or a deletion.
	ErrNotFound = errors.New("not found")
	ErrDeleted  = errors.New("deleted")
	ErrRunning  = errors.New("the run has not ended")

	// Of the store as a whole.
	ErrClosed  = errors.New("the store is closed")
	ErrTooNew  = errors.New("the store was written by a newer version")
	ErrForeign = errors.New("the file is not a store")
	ErrDamaged = errors.New("the store is damaged")
)

// ConflictError is an [ErrConflict] that says where the log is.
type ConflictError struct {
	Exec   string
	Next   uint64 // the sequence that is next
	Wanted uint64 // the one that the batch expected
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("append to %s: %v: next is %d, batch expects %d", e.Exec, ErrConflict, e.Next, e.Wanted)
}

// Is makes the error an [ErrConflict].
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }
