package claims

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/graph"
)

// Store is the embedded claim graph. Its operations are free JSON: it keeps them
// in the order of their commits and understands none of them.
//
// A query is an object; each member narrows the answer:
//
//	proposal  the digest of the proposal
//	claim     the name of the claim
//	match     an object whose members the operation has, with equal values
//	after     the name of a claim; only later ones
//	limit     how many; 100 unless given, at most 1000
//
// The answer has claims, the oldest first, and more: whether there are others.
// Each claim has claim, proposal, operation, justification and approved_by.
//
// A Store is safe for concurrent use, also by several processes.
type Store struct {
	name string
	now  func() time.Time

	mu      sync.Mutex
	state   state
	journal *journal // nil for one in memory
}

var _ Graph = (*Store)(nil)

// StoreOptions are for tests and for hosts with a clock of their own.
type StoreOptions struct {
	Now func() time.Time // nil for the machine's
}

// NewMemory gives a claim graph that lasts as long as the process. Name is what
// the pack calls it.
func NewMemory(name string, o StoreOptions) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{name: name, now: o.Now, state: newState(name)}
}

// Open gives the claim graph in a file, which is made when it is not there. Name
// is what the pack calls it. The file is a journal: a line of JSON for each
// proposal, decision and commit, each with the digest of the line before. It fails
// with a [*JournalError] when the file is no journal of this graph, or was changed.
func Open(path, name string, o StoreOptions) (*Store, error) {
	s := NewMemory(name, o)
	j, err := openJournal(path)
	if err != nil {
		return nil, fmt.Errorf("claims %s: %w", name, err)
	}
	s.journal = j
	if err := s.view(context.Background(), func() {}); err != nil {
		_ = j.file.Close() // nothing was written
		return nil, err
	}
	return s, nil
}

// Close closes the file.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.journal == nil {
		return nil
	}
	return s.journal.file.Close()
}

// view calls look with the state of now.
func (s *Store) view(ctx context.Context, look func()) error {
	return s.update(ctx, func() ([]record, error) {
		look()
		return nil, nil
	})
}

// update calls change with the state of now, and keeps the records that it gives,
// all or none.
func (s *Store) update(ctx context.Context, change func() ([]record, error)) error {
	if err := ctx.Err(); err != nil {
		return &Error{graph.ClassCancelled, "the effect was ended with the run"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.journal != nil {
		if err := s.journal.lock(); err != nil {
			return &Error{graph.ClassUnavailable, "the journal cannot be locked: " + err.Error()}
		}
		defer s.journal.unlock()
		if err := s.journal.catchUp(&s.state); err != nil {
			return err
		}
	}
	records, err := change()
	if err != nil || len(records) == 0 {
		return err
	}
	next := s.state.sequel()
	var text []byte
	for i := range records {
		line := next.seal(&records[i])
		if len(line) > maxLine {
			return &Error{graph.ClassInvalid, fmt.Sprintf("the change takes %d bytes, of at most %d", len(line), maxLine)}
		}
		text = append(text, line...)
	}
	if s.journal != nil {
		if err := s.journal.append(text); err != nil {
			return err
		}
	}
	for i := range records {
		s.state.apply(records[i])
	}
	s.state.chain = next
	return nil
}

// Propose implements [Graph].
func (s *Store) Propose(ctx context.Context, key string, p Proposal) error {
	p, digest, err := s.check(p)
	if err != nil {
		return err
	}
	return s.update(ctx, func() ([]record, error) {
		if done, err := s.done(key, digest); done || err != nil {
			return nil, err
		}
		return []record{{kind: recordProposed, key: key, atMS: s.now().UnixMilli(), digest: digest, proposal: p}}, nil
	})
}

// check gives a proposal for this graph in its canonical form, and its digest.
func (s *Store) check(p Proposal) (Proposal, artifact.Digest, error) {
	if p.Graph != s.name {
		return p, artifact.Digest{}, &Error{graph.ClassInvalid, fmt.Sprintf("the proposal is for %.80q, and this is %s", p.Graph, s.name)}
	}
	digest, err := p.Digest()
	if err == nil {
		p.Operation, err = artifact.CanonicalValue(p.Operation)
	}
	if err != nil {
		return p, digest, &Error{graph.ClassInvalid, err.Error()}
	}
	return p, digest, nil
}

// done reports whether a key was performed, and refuses one that was used for
// another change.
func (s *Store) done(key string, digest artifact.Digest) (bool, error) {
	o, ok := s.state.keys[key]
	if ok && o.Proposal != digest {
		return false, &Error{graph.ClassConflict, "the key was used for another change"}
	}
	return ok, nil
}

// Decide notes a person's or a policy's decision about a proposal that is open. It
// is for the graph's own side, such as a command line or a console, which knows
// who decides; the time is set here.
func (s *Store) Decide(ctx context.Context, a Approval) error {
	switch {
	case a.Kind != ByPerson && a.Kind != ByPolicy:
		return &Error{ClassApproval, fmt.Sprintf("an approval of the kind %.40q cannot be given here", a.Kind)}
	case a.Kind == ByPolicy && a.ID == "":
		return &Error{ClassApproval, "a policy's decision needs an id"}
	case a.Graph != s.name:
		return &Error{ClassApproval, fmt.Sprintf("the decision is for %.80q, and this is %s", a.Graph, s.name)}
	}
	return s.update(ctx, func() ([]record, error) {
		e := s.state.entries[a.Decision.Proposal]
		switch {
		case e == nil:
			return nil, &Error{graph.ClassInvalid, "there is no proposal " + a.Decision.Proposal.String()}
		case e.claim != "":
			return nil, &Error{graph.ClassConflict, "the proposal was committed as claim " + e.claim}
		}
		a.Decision.DecidedMS = s.now().UnixMilli()
		return []record{{kind: recordDecided, atMS: a.Decision.DecidedMS, digest: a.Decision.Proposal, approvals: []Approval{a}}}, nil
	})
}

// Approvals implements [Graph].
func (s *Store) Approvals(ctx context.Context, proposal artifact.Digest) (list []Approval, err error) {
	err = s.view(ctx, func() {
		if e := s.state.entries[proposal]; e != nil {
			list = slices.Clone(e.approvals)
		}
	})
	return list, err
}

// Commit implements [Graph]. A proposal is committed once, whatever the key.
func (s *Store) Commit(ctx context.Context, key string, p Proposal, approvals []Approval) (claim string, err error) {
	p, digest, err := s.check(p)
	if err != nil {
		return "", err
	}
	err = s.update(ctx, func() ([]record, error) {
		if done, err := s.done(key, digest); done || err != nil {
			claim = s.state.keys[key].Claim
			return nil, err
		}
		now := s.now().UnixMilli()
		var records []record
		switch e := s.state.entries[digest]; {
		case e == nil:
			records = append(records, record{kind: recordProposed, atMS: now, digest: digest, proposal: p})
		case e.claim != "":
			return nil, &Error{graph.ClassConflict, "the proposal was committed as claim " + e.claim}
		}
		for _, a := range approvals {
			if a.Decision.Proposal != digest || !a.Decision.Approve {
				return nil, &Error{ClassApproval, "an approval is about another change"}
			}
		}
		if len(approvals) == 0 {
			return nil, &Error{ClassApproval, "the change " + digest.String() + " was not approved"}
		}
		claim = strconv.Itoa(len(s.state.claims) + 1)
		return append(records, record{kind: recordCommitted, key: key, atMS: now, digest: digest, approvals: approvals}), nil
	})
	if err != nil {
		return "", err
	}
	return claim, nil
}

// Outcome implements [Graph]. What is not in the journal has not happened.
func (s *Store) Outcome(ctx context.Context, key string) (o Outcome, answer engine.Answer, err error) {
	answer = engine.Never
	err = s.view(ctx, func() {
		if known, ok := s.state.keys[key]; ok {
			o, answer = known, engine.Happened
		}
	})
	if err != nil {
		return Outcome{}, engine.Unknown, err
	}
	return o, answer, nil
}

// Pending is a proposal that was not committed, and what was decided about it.
type Pending struct {
	Proposal  Proposal
	Digest    artifact.Digest
	AtMS      int64 // Unix milliseconds
	Approvals []Approval
}

// Pending lists the proposals that were not committed, the oldest first.
func (s *Store) Pending(ctx context.Context) (list []Pending, err error) {
	err = s.view(ctx, func() {
		for _, digest := range s.state.order {
			if e := s.state.entries[digest]; e.claim == "" {
				list = append(list, Pending{e.proposal, digest, e.atMS, slices.Clone(e.approvals)})
			}
		}
	})
	return list, err
}
