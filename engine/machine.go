package engine

import (
	"fmt"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/store"
)

// Machine is the pure heart: given where a run stands and what happened, it says
// what follows. It has no clock, no randomness and no goroutine, so the embedded
// driver, a simulator and a replay all get the same events for the same inputs.
// It is safe for concurrent use.
type Machine struct{ def *Definition }

// NewMachine gives the machine of a definition.
func NewMachine(d *Definition) *Machine { return &Machine{d} }

// maxChain bounds the nodes without outside work that one step walks, so that a
// step stays one append of reasonable size. The next step goes on.
const maxChain = 256

// Step gives what follows from an input. A refused input is no error: see
// [Out.Refusal]. An error means that nothing may be stored: a malformed start,
// an input that no driver should give, or content beyond a limit.
func (m *Machine) Step(p Position, in Input) (Out, error) {
	if p.ended {
		return Out{Position: p, Refusal: &Refusal{Code: RefusedEnded, Message: "the run has ended"}}, nil
	}
	t := &turn{def: m.def, p: p.clone(), now: in.NowMS, mint: in.Mint}
	if start, ok := in.What.(Start); ok {
		if err := t.start(start); err != nil {
			return Out{Position: p}, err
		}
		return t.finish(p)
	}
	if p.exec == "" {
		return Out{Position: p}, fmt.Errorf("step: the run has not started")
	}
	chain, err := event.NewChain(p.head)
	if err != nil {
		return Out{Position: p}, err
	}
	t.chain = chain
	if t.open(); t.p.definition != m.def.digests && !isRescue(in.What) {
		return Out{Position: p, Refusal: m.mismatch(p)}, nil
	}
	refusal := t.happen(in.What)
	if refusal != nil {
		return Out{Position: p, Refusal: refusal}, nil
	}
	return t.finish(p)
}

// isRescue reports whether an input is for a run of another definition.
func isRescue(what Happening) bool {
	switch what.(type) {
	case Migrate, Abandon:
		return true
	}
	return false
}

func (m *Machine) mismatch(p Position) *Refusal {
	return &Refusal{Code: RefusedPolicy, Message: "the run is pinned to another definition; these differ: " +
		joined(differences(p.definition, m.def.digests)) + "; load the old ones, migrate the run or abandon it"}
}

// turn is one step while it is worked out.
type turn struct {
	def   *Definition
	p     Position
	now   int64
	mint  Minter
	chain *event.Chain
	arena []byte // holds the bytes of the step's events
	out   Out
	err   error

	redactor  *event.Redactor
	saltless  bool // the pack redacts, and the salt was erased
	judged    *judged
	recorded  bool   // a Checkpointed is the last event
	recovered bool   // the step is a Recover: what is open is given again
	left      string // the node that the step has left last
}

// happen applies an input. A refusal means that it changed nothing.
func (t *turn) happen(what Happening) *Refusal {
	switch w := what.(type) {
	case Recover:
		t.recovered = true
		return nil
	case NodeDone:
		return t.nodeDone(w)
	case EffectDone:
		return t.effectDone(w)
	case EffectLost:
		return t.effectLost(w)
	case Decide:
		return t.decide(w)
	case Resume:
		return t.resume(w)
	case Reissue:
		return t.reissue(w)
	case TimerDue:
		return t.timerDue(w)
	case Signal:
		return t.signal(w)
	case CallDone:
		return t.callDone(w)
	case Cancel:
		return t.cancel(w)
	case Abandon:
		return t.abandon(w)
	case Migrate:
		return t.migrate(w)
	}
	t.fail(fmt.Errorf("step: no input %T", what))
	return nil
}

func (t *turn) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// open prepares what a running turn needs.
func (t *turn) open() {
	if t.p.salt == (event.Salt{}) {
		t.saltless = len(t.def.Policy.Redactions()) > 0 // restricted bytes are refused where they come
		return
	}
	r, err := t.def.redactor(t.p.salt)
	if err != nil {
		t.fail(err)
		return
	}
	t.redactor = r
}

// redactor gives the redactor of a run's step, which knows the secrets of the graph.
func (d *Definition) redactor(salt event.Salt) (*event.Redactor, error) {
	r, err := event.NewRedactor(salt, d.Policy.Redactions())
	if err != nil {
		return nil, err
	}
	for _, secret := range d.secrets {
		r.Learn(secret)
	}
	return r, nil
}

// start begins a run or a fork of one.
func (t *turn) start(s Start) error {
	if err := artifact.CheckIdentifier(s.Exec); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	if t.p.exec != "" {
		return fmt.Errorf("start %s: the run has started", s.Exec)
	}
	d := t.def
	run := policy.Run{Graph: d.Graph.Digest, Definition: s.Agent, NowMS: t.now}
	if denial := d.Policy.Admit(run); denial != nil {
		return &DeniedError{Denial: denial}
	}
	if s.From != nil {
		t.p = s.From.clone()
		t.p.head, t.p.ended, t.p.ending, t.p.given = event.Head{}, false, nil, nil
	} else if err := t.fresh(s); err != nil {
		return err
	}
	p := &t.p
	p.exec, p.owner, p.method = s.Exec, s.Owner, s.Method
	p.starter = policy.Principal{Name: s.By, Credential: s.Key}
	p.definition, p.lastMS, p.parent = d.digests, t.now, ""
	if s.Parent != nil && s.Parent.Kind != event.LinkFork {
		p.parent = s.Parent.Exec
	}
	p.salt = s.Salt
	chain, err := event.NewChain(event.Head{Exec: s.Exec})
	if err != nil {
		return err
	}
	t.chain = chain
	t.keepBeginning(s)
	t.open()
	t.emit(nil, &event.Started{
		Definition: d.digests, Semantics: Semantics, Revision: p.state.Revision, State: p.stateSum, Parent: s.Parent,
		Owner: s.Owner, By: s.By, Method: s.Method, Limits: budgetOf(p.ledger.Left()),
	})
	if s.From != nil {
		t.reopen()
	}
	return nil
}

// keepBeginning stores what a replay needs and the log names by digest only: the
// initial state, the event that a fork began from, the salt of redactions.
func (t *turn) keepBeginning(s Start) {
	p := &t.p
	keep := func(data []byte) artifact.Digest {
		d := artifact.Sum(data)
		t.out.Blobs = append(t.out.Blobs, store.Blob{Digest: d, Bytes: data})
		return d
	}
	p.saltRef = artifact.Digest{}
	if s.Salt != (event.Salt{}) {
		p.saltRef = keep(s.Salt[:])
	}
	if s.linked != nil {
		keep(s.linked)
	}
	if s.From == nil {
		keep(p.state.Value.AppendCompact(nil))
	}
}

// fresh sets up the entry of the graph.
func (t *turn) fresh(s Start) error {
	d, p := t.def, &t.p
	if err := d.Schema.Validate(s.State.Value); err != nil {
		return err
	}
	if s.State.SchemaID != d.Schema.ID {
		return &graph.SchemaViolationError{Text: "snapshot schema id mismatch"}
	}
	l := d.Graph.Limits
	bounds := append([]policy.Bound{{Source: "graph " + d.Graph.ID, Limits: policy.Limits{
		Steps: artifact.Some(l.MaxSteps), Tokens: artifact.Some(l.MaxTokens), TimeMS: artifact.Some(l.TimeoutMillis),
		Cost: policy.Money{"USD": l.MaxCostMicros},
	}}}, s.Bounds...)
	if !s.Limits.IsZero() {
		bounds = append(bounds, policy.Bound{Source: "the request", Limits: s.Limits})
	}
	p.ledger = s.ledger
	if p.ledger == nil {
		p.ledger = d.Policy.Ledger(bounds...)
	}
	p.state = s.State
	p.stateSum = artifact.Sum(s.State.Value.AppendCompact(nil))
	if !s.Taint.IsEmpty() {
		p.taint, p.given = s.Taint, s.Taint
	}
	p.visits = make([]uint32, len(d.Graph.Nodes))
	p.threads = []thread{{node: d.Graph.Entry.ID}}
	return nil
}

// reopen begins anew what a fork takes over open, and announces the branches that
// are not done. Visits count from 1 in the new log; those of before are carried
// for the limits of cycles.
func (t *turn) reopen() {
	p := &t.p
	p.timers, p.seen = nil, nil
	for i := range p.threads {
		th := &p.threads[i]
		n := t.node(th)
		if th.phase == 0 {
			continue
		}
		if th.effect != nil {
			p.ledger.Release(th.effect.key)
		}
		if th.call != "" {
			p.ledger.Release(th.call)
			p.ledger.Release(handoffKey(th.call))
		}
		p.ledger.Release(holdKey(th))
		p.visits[n.Index]--
		was := *th
		*th = was.moved(was.node)
		if was.phase == forked {
			th.phase, th.base, th.baseMarks, th.joined = forked, was.base, was.baseMarks, was.joined
		}
	}
	carried := make([]uint32, len(p.visits))
	copy(carried, p.carried)
	for i, n := range p.visits {
		carried[i] += n
	}
	p.carried, p.visits = carried, make([]uint32, len(p.visits))
	for i := range p.threads {
		if th := &p.threads[i]; th.phase == forked {
			t.reopenFork(th)
		}
	}
}

func (t *turn) reopenFork(th *thread) {
	n := t.node(th)
	th.visit, th.attempt, th.fromMS, th.visitMS = 1, 1, t.now, t.now
	t.p.visits[n.Index] = 1
	t.announce(th)
	for k, b := range n.Fork.Branches {
		if t.p.thread(b) >= 0 {
			t.emit(th, &event.BranchStarted{Branch: b.Name, Index: uint32(k), Entry: b.Name})
		}
	}
	t.emit(th, &event.Routed{Outcome: event.OutcomeContinue, Route: graph.RouteContinue, To: n.Fork.Join.ID, Left: t.budget()})
}

// finish walks on as far as possible and closes the step.
func (t *turn) finish(before Position) (Out, error) {
	t.walk()
	t.wind()
	p := &t.p
	if len(t.out.Events) > 0 && !p.ended {
		t.checkpoint()
	}
	t.gather()
	if t.err != nil {
		return Out{Position: before}, t.err
	}
	status, reason := p.Status()
	p.clock = status == store.Running && !p.ended
	if t.chain != nil {
		p.head = t.chain.Head()
	}
	if n := len(t.out.Events); n > 0 {
		p.room.events, p.room.records = len(t.arena)+64, n
	}
	t.out.Status, t.out.Reason = status, reason
	if p.ended {
		t.out.Status = statusOf(t.out.Events[len(t.out.Events)-1].Type)
	}
	t.out.Position = *p
	return t.out, nil
}

func statusOf(end event.Type) store.Status {
	switch end {
	case event.TypeFailed:
		return store.Failed
	case event.TypeCancelled:
		return store.Cancelled
	case event.TypeAbandoned:
		return store.Abandoned
	}
	return store.Terminated
}

// DeniedError is a run that policy does not admit.
type DeniedError struct{ Denial *policy.Denial }

func (e *DeniedError) Error() string { return "the run is not admitted: " + e.Denial.String() }
