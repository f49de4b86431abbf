package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/store"
)

// Delete implements [store.Remover].
func (s *Store) Delete(_ context.Context, exec string, force bool) (store.Head, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.find(exec)
	if err != nil {
		return store.Head{}, err
	}
	tomb, err := r.head.Bury(force, s.now())
	if err != nil {
		return store.Head{}, err
	}
	s.bury(r, tomb)
	return tomb, nil
}

func (s *Store) bury(r *run, tomb store.Head) {
	for d := range r.blobs {
		if c := s.blobs[d]; c.runs > 1 {
			c.runs--
		} else {
			delete(s.blobs, d)
		}
	}
	fresh := newRun(tomb.Exec)
	fresh.head, fresh.summary = tomb, r.summary
	fresh.summary.Deleted, fresh.summary.Reason = tomb.Deleted, ""
	*r = *fresh
}

// Prune implements [store.Remover].
func (s *Store) Prune(_ context.Context, endedBefore time.Time, n int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, store.ErrClosed
	}
	var old []*run
	for _, r := range s.runs {
		if r.head.Status.Ended() && r.head.Deleted.IsZero() && r.summary.Updated.Before(endedBefore) {
			old = append(old, r)
		}
	}
	slices.SortFunc(old, func(a, b *run) int {
		return cmp.Or(a.summary.Updated.Compare(b.summary.Updated), cmp.Compare(a.head.Exec, b.head.Exec))
	})
	pruned := 0
	for _, r := range old {
		if pruned == n {
			break
		}
		tomb, err := r.head.Bury(false, s.now())
		if err != nil {
			continue // somebody has a lease: the next round finds it again
		}
		s.bury(r, tomb)
		pruned++
	}
	return pruned, nil
}

// Erase implements [store.Remover].
func (s *Store) Erase(_ context.Context, d artifact.Digest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	c := s.blobs[d]
	if c == nil {
		return fmt.Errorf("blob %s: %w", d, store.ErrNotFound)
	}
	clear(c.bytes)
	c.bytes, c.erased = nil, true
	return nil
}
