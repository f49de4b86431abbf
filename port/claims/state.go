package claims

import (
	"context"
	"strconv"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/graph"
)

// state is what the journal of a graph says.
type state struct {
	graph   string
	entries map[artifact.Digest]*entry
	order   []artifact.Digest // of the proposals
	claims  []artifact.Digest // of the commits
	keys    map[string]Outcome
	chain   chain
}

// entry is a proposal, and what became of it.
type entry struct {
	proposal  Proposal
	atMS      int64
	approvals []Approval
	claim     string     // empty until it is committed
	by        []Approval // what it was committed for
}

func newState(graph string) state {
	return state{graph: graph, entries: map[artifact.Digest]*entry{}, keys: map[string]Outcome{}}
}

// sequel gives the place where the next record goes.
func (s *state) sequel() chain { return s.chain }

// apply takes over a record that fits, see [state.fits].
func (s *state) apply(r record) {
	switch r.kind {
	case recordProposed:
		if s.entries[r.digest] == nil {
			s.entries[r.digest] = &entry{proposal: r.proposal, atMS: r.atMS}
			s.order = append(s.order, r.digest)
		}
	case recordDecided:
		e := s.entries[r.digest]
		e.approvals = append(e.approvals, r.approvals...)
	case recordCommitted:
		e := s.entries[r.digest]
		s.claims = append(s.claims, r.digest)
		e.claim, e.by = strconv.Itoa(len(s.claims)), r.approvals
	}
	if r.key != "" {
		s.keys[r.key] = Outcome{r.digest, s.entries[r.digest].claimOf(r.kind)}
	}
}

// claimOf gives the claim that a record of the kind has made.
func (e *entry) claimOf(kind string) string {
	if kind == recordCommitted {
		return e.claim
	}
	return ""
}

// fits says why a record of a journal cannot follow, or gives "".
func (s *state) fits(r record) string {
	e := s.entries[r.digest]
	switch {
	case r.kind == recordProposed:
		if digest, err := r.proposal.Digest(); err != nil || digest != r.digest {
			return "the proposal has another digest"
		}
	case e == nil:
		return "it is about a proposal that is not there"
	case r.kind == recordCommitted && e.claim != "":
		return "the proposal is committed twice"
	}
	return ""
}

// Limits of an answer.
const (
	usualClaims = 100
	mostClaims  = 1000
)

// query is what a read asks for.
type query struct {
	proposal string
	claim    string
	match    []artifact.Member
	after    uint64
	limit    uint64
}

func readQuery(v artifact.Value) (query, error) {
	r := artifact.NewReader(artifact.DocumentOf(v, "query"))
	o := r.Root().Object()
	q := query{proposal: o.May("proposal").Text(), claim: o.May("claim").Text(), limit: usualClaims}
	if f := o.May("match"); f.Present() {
		f.Object().Know() // an object
		q.match = f.Value().Members()
	}
	if f := o.May("after"); f.Present() {
		n, err := strconv.ParseUint(f.Text(), 10, 64)
		if err != nil {
			f.Report("after: write the name of a claim")
		}
		q.after = n
	}
	if f := o.May("limit"); f.Present() {
		if q.limit = f.Uint64(); q.limit < 1 || q.limit > mostClaims {
			f.Report("limit is not from 1 to %d", mostClaims)
		}
	}
	o.RefuseUnknown()
	return q, r.Err()
}

// Read implements [Graph].
func (s *Store) Read(ctx context.Context, v artifact.Value) (answer artifact.Value, err error) {
	q, err := readQuery(v)
	if err != nil {
		return answer, &Error{graph.ClassInvalid, err.Error()}
	}
	var list []artifact.Value
	more := false
	err = s.view(ctx, func() {
		for i := min(q.after, uint64(len(s.state.claims))); i < uint64(len(s.state.claims)); i++ {
			digest := s.state.claims[i]
			e := s.state.entries[digest]
			if !q.wants(e, digest) {
				continue
			}
			if uint64(len(list)) == q.limit {
				more = true
				return
			}
			list = append(list, e.value(digest))
		}
	})
	return artifact.ObjectValue(
		artifact.Member{Name: "claims", Value: artifact.ArrayValue(list...)},
		artifact.Member{Name: "more", Value: artifact.BoolValue(more)},
	), err
}

func (q *query) wants(e *entry, digest artifact.Digest) bool {
	if q.proposal != "" && q.proposal != digest.String() || q.claim != "" && q.claim != e.claim {
		return false
	}
	for _, m := range q.match {
		if v, ok := e.proposal.Operation.Get(m.Name); !ok || !v.Equal(m.Value) {
			return false
		}
	}
	return true
}

func (e *entry) value(digest artifact.Digest) artifact.Value {
	by := make([]artifact.Value, len(e.by))
	for i, a := range e.by {
		by[i] = a.value()
	}
	return artifact.ObjectValue(
		artifact.Member{Name: "claim", Value: artifact.StringValue(e.claim)},
		artifact.Member{Name: "proposal", Value: artifact.StringValue(digest.String())},
		artifact.Member{Name: "operation", Value: e.proposal.Operation},
		artifact.Member{Name: "justification", Value: artifact.StringValue(e.proposal.Justification)},
		artifact.Member{Name: "approved_by", Value: artifact.ArrayValue(by...)},
	)
}
