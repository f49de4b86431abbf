// Package claims performs effects on claim graphs: reading claims, proposing a
// change, and committing a change that was approved.
//
// A [Graph] is where claims are kept. [Open] gives the embedded one, a file, and
// [NewMemory] one that lasts as long as the process; a remote claim graph is
// another implementation of the interface. Open the port at [New].
//
// A [Proposal] is known by the digest of its exact bytes, and an [Approval] names
// that digest. So what was approved is what is committed: an approval of one
// proposal is worth nothing for any other, not even for one that differs in a
// byte. A change is committed when one of these approves it:
//
//   - the run: people decided about this very effect, as the pack demands;
//   - people, who approved the proposal in the graph, as many and as well known as
//     the host demands;
//   - a policy of the host.
//
// Anything else is refused: no approval, one of an unknown kind, one of other
// bytes or of another graph, one that has expired. A person's no is final,
// whoever else says yes.
//
// The arguments of an effect are one of
//
//	{"action": "read", "query": {...}}
//	{"action": "propose", "operation": {...}, "justification": "..."}
//	{"action": "commit", "operation": {...}, "justification": "..."}
//
// A commit repeats the whole change, so that whoever is asked about the effect
// sees what it does; with proposal, it also says which digest it means. The result
// of read is what the graph answers, that of propose has proposal (the digest),
// that of commit has proposal and claim (the graph's name for the new claim).
package claims

import (
	"context"
	"fmt"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/policy"
)

// Graph is where claims are kept. It performs each key once: given a key again, it
// changes nothing and gives the same result. An [*Error] means that nothing
// happened; after any other error nobody knows.
type Graph interface {
	// Read answers a query, in the graph's own language.
	Read(ctx context.Context, query artifact.Value) (artifact.Value, error)
	// Propose notes a proposal. One that is there already is no error.
	Propose(ctx context.Context, key string, p Proposal) error
	// Approvals gives what was decided about a proposal, in order.
	Approvals(ctx context.Context, proposal artifact.Digest) ([]Approval, error)
	// Commit makes the change, and gives the graph's name for it. The approvals
	// are those that the change is committed for. It is called only for what was
	// approved.
	Commit(ctx context.Context, key string, p Proposal, approvals []Approval) (claim string, err error)
	// Outcome gives what became of a key: the claim of a commit, "" for a proposal.
	Outcome(ctx context.Context, key string) (Outcome, engine.Answer, error)
}

// Outcome is what a graph did for a key.
type Outcome struct {
	Proposal artifact.Digest
	Claim    string // empty for a proposal
}

// Proposal is a change that somebody wants to make to a claim graph.
type Proposal struct {
	Graph         string         // by its name in the pack
	Operation     artifact.Value // what to change, in the graph's own language
	Justification string
}

// Canonical gives the bytes that the proposal is known by. It fails for an
// operation with numbers that have no canonical form.
func (p Proposal) Canonical() ([]byte, error) {
	return artifact.CanonicalRuntime(artifact.ObjectValue(
		artifact.Member{Name: "version", Value: artifact.IntValue(2)},
		artifact.Member{Name: "graph", Value: artifact.StringValue(p.Graph)},
		artifact.Member{Name: "operation", Value: p.Operation},
		artifact.Member{Name: "justification", Value: artifact.StringValue(p.Justification)},
	))
}

// Digest gives the digest of [Proposal.Canonical]. It fails when that does.
func (p Proposal) Digest() (artifact.Digest, error) {
	data, err := p.Canonical()
	if err != nil {
		return artifact.Digest{}, fmt.Errorf("proposal: %w", err)
	}
	return artifact.Sum(data), nil
}

// Kind is who approves.
type Kind string

// The kinds. Any other denies.
const (
	ByPerson Kind = "person" // somebody who saw the proposal, see [Approval.Decision]
	ByPolicy Kind = "policy" // a rule of the host
	ByRun    Kind = "run"    // the people whom the pack of the run demands; its log names them
)

// Approval is a decision about one proposal of one graph. It may be a no.
type Approval struct {
	Kind     Kind
	Graph    string          // that the decision is for
	Decision policy.Decision // of a person; of the others only the proposal and the time
	ID       string          // of a policy's decision, or of the run and its effect
}

// Error is a failure of which the graph knows that nothing happened.
type Error struct {
	Class   string // see package graph, and the classes here
	Message string // is recorded: without secrets
}

func (e *Error) Error() string { return e.Message }

// Classes of failures besides those of package graph.
const (
	ClassApproval = "approval_required" // nobody who counts has approved the change
	ClassRejected = "approval_rejected" // somebody said no
)

// Check reports whether the approvals are enough to commit a proposal. People are
// as many and as well known as the requirement says; starter started the run and
// does not count. It gives the approvals that decided. The error is an [*Error].
func Check(p Proposal, approvals []Approval, people policy.Requirement, starter policy.Principal, nowMS int64) ([]Approval, error) {
	digest, err := p.Digest()
	if err != nil {
		return nil, &Error{ClassApproval, err.Error()}
	}
	var decided, persons []Approval
	var decisions []policy.Decision
	other := 0
	for _, a := range approvals {
		switch {
		case a.Kind != ByPerson && a.Kind != ByPolicy && a.Kind != ByRun:
			return nil, &Error{ClassApproval, fmt.Sprintf("an approval is of the unknown kind %.40q, which approves nothing", a.Kind)}
		case a.Graph != p.Graph || a.Decision.Proposal != digest:
			other++
		case !a.Decision.Approve:
			return nil, &Error{ClassRejected, "the proposal was rejected"}
		case a.Kind == ByPerson:
			persons, decisions = append(persons, a), append(decisions, a.Decision)
		case a.ID != "":
			decided = append(decided, a)
		}
	}
	if decided != nil {
		return decided, nil
	}
	people.Quorum = max(1, people.Quorum)
	denial := people.Check(digest, starter, nowMS, decisions)
	if denial == nil {
		return persons, nil
	}
	text := "the change " + digest.String() + " " + denial.Message
	for _, also := range denial.Also {
		text += "; " + also.Message
	}
	if other > 0 {
		text += fmt.Sprintf("; decisions about other changes: %d", other)
	}
	return nil, &Error{ClassApproval, text}
}
