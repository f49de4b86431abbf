package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/writ-dev/writ/store"
)

// maxGroup is how many writes share a transaction at most. More would make the
// first one wait for long.
const maxGroup = 512

// request is one write.
type request struct {
	// do writes, inside a transaction. An error of type *refusal was found before
	// anything was written: the other writes of the transaction stand. Any other
	// error undoes the transaction.
	do func(w *writer) error
	// alone asks for a transaction, or none, of its own.
	alone bool
	// after runs once the write is durable and before its caller knows.
	after func(w *writer)

	err  error     // what became of it
	turn chan bool // to whoever waits: err is set, or (true) it is their turn to write
}

// refusal is a no that left no trace in the transaction.
type refusal struct{ reason error }

func (r *refusal) Error() string { return r.reason.Error() }

// queue says whose turn it is to write. There is no goroutine that writes for
// others: whoever comes while nobody writes is the leader. It takes along whatever
// is waiting, and when it is done one of those that came meanwhile leads.
type queue struct {
	mu      sync.Mutex
	led     bool // somebody writes
	closed  bool
	waiting []*request
	idle    chan struct{} // if set, closed when nobody writes any more
}

// join makes r's caller the leader, or lets it wait for its turn.
func (q *queue) join(r *request) (lead bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false, store.ErrClosed
	}
	if !q.led {
		q.led = true
		return true, nil
	}
	r.turn = make(chan bool, 1)
	q.waiting = append(q.waiting, r)
	return false, nil
}

// leave takes r back, unless it was taken.
func (q *queue) leave(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.Index(q.waiting, r)
	if at >= 0 {
		q.waiting = slices.Delete(q.waiting, at, at+1)
	}
	return at >= 0
}

// take adds to the leader's group what is waiting.
func (q *queue) take(group []*request) []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), maxGroup-len(group))
	group = append(group, q.waiting[:n]...)
	q.waiting = slices.Delete(q.waiting, 0, n)
	return group
}

// pass ends the leader's turn. The first one that waits is the next.
func (q *queue) pass() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) > 0 {
		next := q.waiting[0]
		q.waiting = slices.Delete(q.waiting, 0, 1)
		next.turn <- true
		return
	}
	q.led = false
	if q.idle != nil {
		close(q.idle)
	}
}

// close refuses what is waiting and what comes, and waits for the leader.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	for _, r := range q.waiting {
		r.err = store.ErrClosed
		r.turn <- false
	}
	q.waiting = nil
	if !q.led {
		q.mu.Unlock()
		return
	}
	q.idle = make(chan struct{})
	q.mu.Unlock()
	<-q.idle
}

// submit gives what became of a write. The context counts until somebody has
// taken it.
func (s *Store) submit(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	lead, err := s.queue.join(r)
	if err != nil {
		return err
	}
	if !lead {
		select {
		case lead = <-r.turn:
		case <-ctx.Done():
			if s.queue.leave(r) {
				return ctx.Err()
			}
			lead = <-r.turn
		}
	}
	if lead {
		s.lead(r)
	}
	return r.err
}

// lead writes the leader's request and what else is waiting.
func (s *Store) lead(r *request) {
	group := s.gather(r)
	s.writer.write(group)
	s.queue.pass() // first: the next one can write while the others are told
	for _, other := range group[1:] {
		other.turn <- false
	}
}

// patience is how often the leader lets others run without anybody coming, after
// a group of many: they were woken and are about to come back. After a group of one,
// waiting would only delay.
const patience = 50

// gather takes what is waiting beside the first request. It never waits for a
// time.
func (s *Store) gather(first *request) []*request {
	group := s.queue.take([]*request{first})
	for idle := 0; idle < s.patience && len(group) < maxGroup; idle++ {
		runtime.Gosched()
		before := len(group)
		if group = s.queue.take(group); len(group) > before {
			idle = 0
		}
	}
	s.patience = 0
	if len(group) > 1 {
		s.patience = patience
	}
	return group
}

// write writes requests in order, those that ask for it alone.
func (w *writer) write(group []*request) {
	for len(group) > 0 {
		n := 0
		for n < len(group) && !group[n].alone {
			n++
		}
		if n == 0 {
			group[0].err = explain(group[0].do(w))
			group = group[1:]
			continue
		}
		w.together(group[:n])
		group = group[n:]
	}
}

// together writes requests in one transaction. One that makes it fail is tried
// again by itself, so that it fails alone.
func (w *writer) together(group []*request) {
	for {
		fault := w.transact(group)
		switch {
		case fault == nobody:
			return
		case fault == everybody:
			for _, r := range group {
				w.transact([]*request{r})
			}
			return
		}
		w.transact([]*request{group[fault]})
		group = slices.Concat(group[:fault], group[fault+1:])
	}
}

// At whom a transaction failed, if not at one of its requests.
const (
	nobody    = -1
	everybody = -2
)

// transact writes the group in one transaction and says what became of each
// request. Where it gives anything but nobody nothing was stored and nothing was
// said, which happens only to groups of more than one.
func (w *writer) transact(group []*request) (fault int) {
	undo := func(fault int, err error) int {
		_, _ = w.rollback.exec() // fails where SQLite has rolled back already
		if len(group) > 1 {
			return fault
		}
		group[0].err = explain(err)
		return nobody
	}
	if _, err := w.begin.exec(); err != nil {
		for _, r := range group { // another try each would only take as long
			r.err = explain(err)
		}
		return nobody
	}
	for i, r := range group {
		var no *refusal
		r.err = r.do(w)
		if errors.As(r.err, &no) {
			r.err = no.reason
		} else if r.err != nil {
			return undo(i, r.err)
		}
	}
	if _, err := w.commit.exec(); err != nil {
		if err := explain(err); errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrBusy) {
			return undo(everybody, err)
		}
		_, _ = w.rollback.exec()
		for _, r := range group {
			r.err = fmt.Errorf("%w: %v", store.ErrUncertain, err)
		}
		return nobody
	}
	for _, r := range group {
		if r.err == nil && r.after != nil {
			r.after(w)
		}
	}
	return nobody
}
