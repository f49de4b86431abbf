package engine

import (
	"context"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/store"
)

// Input is one thing that happened, and when.
type Input struct {
	NowMS int64 // milliseconds since 1970, by the clock of whoever drives the machine
	What  Happening

	// Mint gives the digests of fresh tokens when the step stages an approval or
	// suspends for an input. Nil leaves such a suspension without tokens.
	Mint Minter
}

// Minter is where tokens come from. A driver draws them at random and hands the
// tokens themselves to whoever may decide; a replay gives the digests of the log.
type Minter interface {
	// Mint gives the digests of n fresh tokens for the proposal.
	Mint(proposal artifact.Digest, n int) []artifact.Digest
}

// Happening is what a machine can be told. The set is closed.
type Happening interface{ happening() }

// Start begins a run. It is the only input of an empty [Position].
type Start struct {
	Exec   string
	State  graph.Snapshot // the initial state; its schema id must be the schema's
	Owner  string         // the principal to whom the run belongs
	By     string         // who started it, and cannot decide its approvals
	Method string         // how By is known: a Method constant of package event
	Key    artifact.Digest
	Agent  artifact.Digest // of the agent's document; zero when there is none
	Limits policy.Limits   // of the request; the zero value adds none
	Parent *event.Link     // the run that this one descends from
	Bounds []policy.Bound  // of the parent
	Taint  *policy.Marks   // of the initial state; nil when nothing is marked
	From   *Position       // where a fork begins; nil for the entry of the graph
	Salt   event.Salt      // of the run's redactions; zero when nothing is redacted

	ledger *policy.Ledger // of a replay, in place of the bounds
	linked []byte         // the event that a fork's link names, to be kept with the fork
}

// Recover continues from a checkpoint in a process that has nothing under way.
// It stores nothing and gives what is to be done again.
type Recover struct{}

// NodeDone is how an attempt of a handler ended.
type NodeDone struct {
	Node      string
	Visit     uint32
	Attempt   uint32
	StartedMS int64            // when the handler began
	Result    graph.NodeResult // unless Host is set
	Host      string           // the handler's own error; "" for none
	Timeout   bool             // there was no answer before the deadline

	failed *failure // of a replay: the failure as it was recorded
}

// EffectDone is the outcome of an effect.
type EffectDone struct {
	Key     string
	Outcome Outcome
	Source  string // event.SourcePort, SourceAsked or SourcePerson; "" is the port
	By      string // of a person

	recorded *recordedStep // of a replay whose result is not kept
}

// EffectLost says that nobody knows whether an effect happened. With Again set
// the port is idempotent, or has said that it never saw the key, and the effect
// is performed under the same key; otherwise the run waits for a person.
type EffectLost struct {
	Key    string
	Reason string
	Again  bool
}

// Decide is a person's decision about an approval.
type Decide struct {
	Proposal artifact.Digest // of the exact bytes that were shown
	Approve  bool
	Token    artifact.Digest // digest of the token; zero for none
	Key      artifact.Digest // of the key whose signature was checked; zero for none
	Approver string
	Method   string         // how the approver is known
	Answer   artifact.Value // null for none
	Reason   string

	Signature []byte // by the key, for the record; nil for none

	replayed bool // the answer was checked when the decision was recorded
}

// Resume answers a node that suspended for an input.
type Resume struct {
	Token  artifact.Digest // digest of the token
	Input  artifact.Value
	By     string
	Method string
	Node   string // which of several suspended nodes; "" for the one that has the token
}

// TimerDue says that the time of a timer has come.
type TimerDue struct{ ID string }

// Signal is an event from outside.
type Signal struct {
	Name    string
	Key     artifact.Value // null for none
	ID      string         // the event's own id: a second delivery is ignored
	Payload artifact.Value
	By      string
	Method  string
}

// CallDone is how a called run ended.
type CallDone struct {
	Exec    string
	Outcome string // an End constant of package event
	Head    event.Head
	Result  artifact.Value
	Error   string
	Used    policy.Amount
}

// Cancel asks the run to stop.
type Cancel struct{ By, Method, Reason string }

// Abandon ends a run that nobody can continue.
type Abandon struct{ By, Method, Reason string }

// Migrate moves a run to the definition of the machine that is told.
type Migrate struct{ By, Method, Reason string }

// Reissue withdraws an approval and stages it again with fresh tokens, since
// those of before were lost.
type Reissue struct {
	Proposal   artifact.Digest
	By, Method string
}

func (Start) happening()      {}
func (Recover) happening()    {}
func (NodeDone) happening()   {}
func (EffectDone) happening() {}
func (EffectLost) happening() {}
func (Decide) happening()     {}
func (Resume) happening()     {}
func (TimerDue) happening()   {}
func (Signal) happening()     {}
func (CallDone) happening()   {}
func (Cancel) happening()     {}
func (Abandon) happening()    {}
func (Migrate) happening()    {}
func (Reissue) happening()    {}

// Out is what follows from an input. When Events is not empty, everything in it
// is stored in one append, and only then may anything be done.
type Out struct {
	Position   Position       // after the step
	Events     []event.Record // none when nothing changed
	Checkpoint *store.Checkpoint
	Intents    []store.Intent
	Timers     []store.Timer
	Blobs      []store.Blob
	Status     store.Status // of the run after the step
	Reason     string       // why it is suspended

	Work    []Work   // handlers to run
	Effects []Effect // effects to perform, or after a Recover to find out about
	Calls   []Call   // runs to start, or to look after
	Stop    bool     // whatever is under way is to be stopped

	Refusal   *Refusal // the input was refused, and nothing else happened
	Duplicate bool     // the signal was delivered before
}

// Batch gives the one append of the step.
func (o Out) Batch(fence uint64) store.Batch {
	mark := store.Mark{Status: o.Status, Reason: clip(o.Reason)}
	if o.Status.Ended() {
		mark = store.Mark{} // the store knows from the last event
	}
	return store.Batch{
		Exec: o.Position.exec, Next: o.Events[0].Seq, Fence: fence, Events: o.Events, Checkpoint: o.Checkpoint,
		Intents: o.Intents, Timers: o.Timers, Blobs: o.Blobs, Head: mark,
	}
}

// Work is one attempt of a handler.
type Work struct {
	Node       string
	Handler    string // its name
	Visit      uint32
	Attempt    uint32
	DeadlineMS int64 // since 1970; 0 for none
	Invocation graph.Invocation

	// Rank orders the work of parallel branches: a driver gives the outcome of a
	// handler to the machine only after those of lower ranks that are under way.
	// So the record does not depend on which handler was faster.
	Rank [2]uint64
}

// Effect is what a port is asked to do.
type Effect struct {
	Key        string // the idempotency key
	Port       string
	Name       string
	Kind       policy.Kind
	Exec       string
	Node       string
	Visit      uint32
	Attempt    uint32
	Args       artifact.Value
	ArgsDigest artifact.Digest
	Reserve    policy.Amount
	DeadlineMS int64         // since 1970; 0 for none
	Permit     policy.Permit // the bounds that the port must keep to
	Lost       bool          // it was under way when the process before this one ended
}

// longestTimeout is the longest timeout of a permit that is kept, in milliseconds:
// more would overflow a duration.
const longestTimeout = 1 << 40

// Bound gives a context that ends with ctx, or when the time of the permit is up.
// The caller calls cancel when the effect is done.
func (e Effect) Bound(ctx context.Context) (bounded context.Context, cancel context.CancelFunc) {
	if e.Permit.TimeoutMS == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Duration(min(e.Permit.TimeoutMS, longestTimeout))*time.Millisecond)
}

// Outcome is how an effect ended.
type Outcome struct {
	Result artifact.Value
	Kind   string // what the result is; "" is json
	Access string // class of the result, which decides whether its bytes are kept; "" is effect
	Usage  policy.Amount

	Failed    bool   // the effect did not succeed
	Class     string // of the failure; see [graph.Retry]
	Error     string
	Retryable bool
}

// Failed gives the outcome of an effect that did not succeed, of a class of [graph.Retry].
func Failed(class, text string) Outcome { return Outcome{Failed: true, Class: class, Error: text} }

// Call is a run that a call node starts.
type Call struct {
	Exec       string
	Graph      string
	Definition *Definition // narrowed
	State      artifact.Value
	Taint      *policy.Marks // of the state; nil when nothing is marked
	Limits     []policy.Bound
	Parent     event.Link
	Owner      string
	By         policy.Principal // who started the calling run: cannot decide here either
	Method     string
	Resumed    bool // it may have been started before
}

// Refusal says why an input was refused. The position is unchanged; a token that
// came with it is not used up.
type Refusal struct {
	Code    string
	Message string
	Pointer string // into the answer, of [RefusedInput]
}

// Error makes a refusal usable as an error.
func (r *Refusal) Error() string { return r.Code + ": " + r.Message }

// The codes of refusals. Those of a policy's denial occur too.
const (
	RefusedEnded      = "already_terminal"  // the run has ended
	RefusedNotWaiting = "not_waiting"       // nothing waits for this
	RefusedProposal   = "proposal_mismatch" // the approval is about other bytes
	RefusedDecided    = "already_decided"   // the approval is closed
	RefusedToken      = "token_invalid"     // no such token
	RefusedUsed       = "already_used"      // the token was used
	RefusedSignature  = "signature_invalid" // it is not by the key, or about something else
	RefusedExpired    = "expired"           // too late
	RefusedInput      = "input_invalid"     // the answer breaks its schema
	RefusedPolicy     = "policy_changed"    // what was staged no longer holds
	RefusedWeak       = "approval_too_weak" // the approver is not known well enough
	RefusedStarter    = "approval_by_starter"
	RefusedStale      = "stale" // the outcome of something that is over
	RefusedCancel     = "cancel_requested"
	RefusedRedacted   = "redacted"   // it cannot be redacted, so it is not kept for another process
	RefusedFull       = "inbox_full" // too much is kept for the run already
)
