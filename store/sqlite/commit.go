package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/writ-dev/writ/store"
)

// maxGroup is how many writes share a transaction at most. More would make the
// first one wait for long.
const maxGroup = 512

// request is one write that waits for the committer.
type request struct {
	// do writes, inside a transaction. An error of type *refusal was found before
	// anything was written: the other writes of the transaction stand. Any other
	// error undoes the transaction.
	do func(w *writer) error
	// alone asks for a transaction, or none, of its own.
	alone bool
	// after runs once the write is durable and before its caller knows.
	after func()
	done  chan error
}

// refusal is a no that left no trace in the transaction.
type refusal struct{ reason error }

func (r *refusal) Error() string { return r.reason.Error() }

// submit waits for a write. The context counts until the committer has it.
func (s *Store) submit(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.alive(); err != nil {
		return err
	}
	r.done = make(chan error, 1)
	select {
	case s.queue <- r:
		return <-r.done
	case <-s.closing:
		return store.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// commit is the committer: it takes what is waiting, writes it, and answers.
func (s *Store) commit() {
	defer close(s.closed)
	for {
		select {
		case first := <-s.queue:
			s.writeGroup(s.gather(first))
		case <-s.closing:
			for { // whoever is already in the middle of sending
				select {
				case r := <-s.queue:
					s.writeGroup([]*request{r})
				default:
					return
				}
			}
		}
	}
}

// While the committer gathers a group, it lets others run so many times without
// anybody coming. After a commit of many, many were woken and are about to come
// back; after a commit of one, waiting longer would only delay the next.
const (
	patienceAlone = 2
	patienceGroup = 50
)

// gather takes what is waiting behind the first request. It never waits for a
// time.
func (s *Store) gather(first *request) []*request {
	group := []*request{first}
	for idle := 0; idle < s.patience && len(group) < maxGroup; {
		select {
		case r := <-s.queue:
			group, idle = append(group, r), 0
		default:
			runtime.Gosched()
			idle++
		}
	}
	s.patience = patienceAlone
	if len(group) > 1 {
		s.patience = patienceGroup
	}
	return group
}

// writeGroup writes requests in order. If the transaction fails as a whole, each
// is tried by itself, so that the one at fault fails alone.
func (s *Store) writeGroup(group []*request) {
	for len(group) > 0 {
		n := 0
		for n < len(group) && !group[n].alone {
			n++
		}
		if n == 0 {
			group[0].done <- explain(group[0].do(s.writer))
			group = group[1:]
			continue
		}
		if !s.writer.transact(group[:n]) {
			for _, r := range group[:n] {
				s.writer.transact([]*request{r})
			}
		}
		group = group[n:]
	}
}

// transact writes the group in one transaction and answers each request. False
// means that nothing was stored and nobody was answered, which happens only to
// groups of more than one.
func (w *writer) transact(group []*request) bool {
	ctx := context.Background()
	answers := make([]error, len(group))
	undo := func(err error) bool {
		_, _ = w.rollback.ExecContext(ctx) // fails where SQLite has rolled back already
		if len(group) > 1 {
			return false
		}
		group[0].done <- explain(err)
		return true
	}
	if _, err := w.begin.ExecContext(ctx); err != nil {
		return undo(err)
	}
	for i, r := range group {
		err := r.do(w)
		var no *refusal
		switch {
		case errors.As(err, &no):
			answers[i] = no.reason
		case err != nil:
			return undo(err)
		}
	}
	if _, err := w.commit.ExecContext(ctx); err != nil {
		if err := explain(err); errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrBusy) {
			return undo(err)
		}
		_, _ = w.rollback.ExecContext(ctx)
		for _, r := range group {
			r.done <- fmt.Errorf("%w: %v", store.ErrUncertain, err)
		}
		return true
	}
	for i, r := range group {
		if answers[i] == nil && r.after != nil {
			r.after()
		}
		r.done <- answers[i]
	}
	return true
}
