package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/writ-dev/writ/store"
)

// Post implements [store.Inbox].
func (s *Store) Post(ctx context.Context, exec string, m store.Message) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := m.Check(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.find(exec)
	if err != nil {
		return 0, err
	}
	for _, there := range r.inbox {
		if there.ID == m.ID {
			return there.Seq, nil
		}
	}
	if err := r.head.Accept(m, len(r.inbox)); err != nil {
		return 0, err
	}
	s.posted++
	r.inbox = append(r.inbox, store.Message{Exec: exec, Seq: s.posted, ID: m.ID, Body: bytes.Clone(m.Body)})
	return s.posted, nil
}

// Posted implements [store.Inbox].
func (s *Store) Posted(_ context.Context, exec string, after uint64, n int) ([]store.Message, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, store.ErrClosed
	}
	if after >= s.posted {
		return nil, nil
	}
	var list []store.Message
	give := func(m store.Message) {
		if m.Seq > after {
			list = append(list, m)
		}
	}
	if exec == "" {
		for _, r := range s.runs {
			for _, m := range r.inbox {
				m.Body = nil
				give(m)
			}
		}
	} else if r := s.runs[exec]; r != nil {
		for _, m := range r.inbox {
			m.Body = bytes.Clone(m.Body)
			give(m)
		}
	}
	slices.SortFunc(list, func(a, b store.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return list[:min(len(list), max(n, 0))], nil
}

// checkTaken refuses a batch that takes what is not there.
func (r *run) checkTaken(b store.Batch) error {
	for _, seq := range b.Taken {
		if !slices.ContainsFunc(r.inbox, func(m store.Message) bool { return m.Seq == seq }) {
			return fmt.Errorf("append to %s: %w: message %d is not in the inbox", b.Exec, store.ErrConflict, seq)
		}
	}
	return nil
}

func (r *run) take(seqs []uint64) {
	r.inbox = slices.DeleteFunc(r.inbox, func(m store.Message) bool { return slices.Contains(seqs, m.Seq) })
}

var _ store.Inbox = (*Store)(nil)
