package engine

import (
	"errors"

	"github.com/writ-dev/writ/store"
)

// What is posted to a run is taken by whoever drives it, or by whoever posts it when
// nobody does. A worker is for what is left: one of the two may die in between.

// posted takes up the runs to which something was posted since the last look, apart
// from those that were seen.
func (s *shift) posted(seen map[string]bool) {
	box, ok := s.Store.(store.Inbox)
	if !ok {
		return
	}
	const n = store.MaxMessages
	for s.ctx.Err() == nil {
		list, err := box.Posted(s.ctx, "", s.after, n)
		if err != nil {
			s.fail(err)
			return
		}
		for _, m := range list {
			s.after = m.Seq
			if !seen[m.Exec] {
				seen[m.Exec] = true
				s.takeMail(m.Exec)
			}
		}
		if len(list) < n {
			return
		}
	}
}

// takeMail drives a run to which something was posted. Whoever drives it already may
// have looked for the last time.
func (s *shift) takeMail(exec string) {
	s.mu.Lock()
	if s.driven[exec] {
		s.later[exec] = true
	} else {
		s.mail[exec] = true
	}
	s.mu.Unlock()
	s.take(exec)
}

// drove takes note of how driving a run went, and gives the error that ends the work.
// Whoever has the run may die before it looks, so it is tried again.
func (s *shift) drove(exec string, err error) error {
	leased := errors.Is(err, store.ErrLeased)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mail[exec] && leased {
		s.later[exec] = true
	}
	delete(s.mail, exec)
	if leased {
		return nil
	}
	return err
}

// again takes up the runs that somebody had when something was posted to them.
func (s *shift) again() {
	s.mu.Lock()
	later := s.later
	s.later = map[string]bool{}
	s.mu.Unlock()
	for exec := range later {
		s.takeMail(exec)
	}
}
