package store

import (
	"fmt"
	"time"

	"github.com/writ-dev/writ/artifact"
)

// MaxOwner is the longest name of a lease's owner, in bytes.
const MaxOwner = 256

// CheckLease refuses the arguments of a lease, with [ErrInvalid].
func CheckLease(exec, owner string) error {
	if artifact.CheckIdentifier(exec) != nil {
		return fmt.Errorf("lease: %w: the execution id is not an identifier", ErrInvalid)
	}
	if owner == "" || len(owner) > MaxOwner {
		return fmt.Errorf("lease: %w: the owner's name has %d bytes, want 1 to %d", ErrInvalid, len(owner), MaxOwner)
	}
	return nil
}

// Leased reports whether a lease is in force.
func (h Head) Leased(now time.Time) bool { return h.Owner != "" && now.Before(h.Expires) }

// Take gives the head after owner asked for the lease, as [Store.Lease]
// describes it.
func (h Head) Take(owner string, ttl time.Duration, now time.Time) (Head, error) {
	switch {
	case !h.Deleted.IsZero():
		return Head{}, fmt.Errorf("lease %s: %w", h.Exec, ErrDeleted)
	case h.Leased(now) && h.Owner != owner:
		return Head{}, fmt.Errorf("lease %s: %w", h.Exec, ErrLeased)
	case ttl <= 0:
		if h.Leased(now) {
			h.Owner, h.Expires = "", time.Time{}
		}
		return h, nil
	case !h.Leased(now):
		h.Fence++
	}
	h.Owner, h.Expires = owner, now.Add(ttl).Truncate(time.Millisecond)
	return h, nil
}

// Bury gives the tombstone of the run, as [Remover.Delete] describes it.
func (h Head) Bury(force bool, now time.Time) (Head, error) {
	switch {
	case !h.Deleted.IsZero():
		return Head{}, fmt.Errorf("delete %s: %w", h.Exec, ErrDeleted)
	case h.Leased(now):
		return Head{}, fmt.Errorf("delete %s: %w", h.Exec, ErrLeased)
	case !h.Status.Ended() && !force:
		return Head{}, fmt.Errorf("delete %s: %w", h.Exec, ErrRunning)
	}
	return Head{Head: h.Head, Status: h.Status, Signed: h.Signed, Fence: h.Fence, Deleted: now.Truncate(time.Millisecond)}, nil
}
