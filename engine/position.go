package engine

import (
	"slices"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/store"
)

// Position is where a run stands: everything that decides what happens next. It
// is a value: a step gives a new one and leaves the old one as it was. What it
// holds is what its checkpoint holds, besides the head of the log.
type Position struct {
	head event.Head // of the log
	exec string

	definition event.Definition
	starter    policy.Principal
	method     string // how the starter is known
	owner      string
	parent     string          // exec of the run that called this one; "" for none
	salt       event.Salt      // zero when nothing is redacted
	saltRef    artifact.Digest // of the blob that keeps it

	state     graph.Snapshot // of the whole run
	stateSum  artifact.Digest
	visits    []uint32 // by node index
	carried   []uint32 // visits before a fork began, by node index; nil for none
	steps     uint64   // visits that ended
	elapsedMS uint64   // while the run was not suspended
	lastMS    int64    // when the clock was last looked at
	clock     bool     // whether time counts: somebody works
	ledger    *policy.Ledger
	threads   []thread // the root first, then branches in the order of their forks
	timers    []timer
	seen      []string      // ids of signals that were consumed, oldest first
	taint     *policy.Marks // of the state; never changed in place
	given     *policy.Marks // of the initial state; never changed in place
	ending    *ending       // the run is being wound up
	ended     bool

	room room // what the next step is likely to need
}

// room is how much memory the step before took, for the next to ask for no more
// and no less.
type room struct{ events, records, checkpoint int }

// maxSeen bounds the ids of signals that a run remembers.
const maxSeen = 1024

// phase says what a thread waits for.
//
//	          enter
//	            |
//	   +--------+--------+---------+--------+-------+
//	   v        v        v         v        v       v
//	working   effect  approval   waiting   call    forked
//	 |  ^      |  ^ \     |         |        |       |
//	 |  |      |  |  unknown        |        |       |
//	 v  |      v  |   |   |         v        v       v
//	input     retry --+---+------> leave: the next node is entered
//
// Each constant says who enters and leaves it.
type phase uint8

const (
	// A handler runs. Entered with a handler node, after a retry's delay and by
	// Resume; left by NodeDone.
	working phase = iota + 1
	// An authorized effect is under way. Entered with an effect node, by Decide
	// and after a retry's delay; left by EffectDone and EffectLost.
	inEffect
	// Nobody knows whether the effect happened. Entered by EffectLost; left by
	// EffectDone from a person, or by EffectLost with Again.
	unknown
	// People decide. Entered with an approve node or an effect that needs it; left
	// by Decide and by the timer of its expiry.
	approval
	// A handler asked for an input. Entered by NodeDone; left by Resume.
	awaitInput
	// An event or a time is awaited. Entered with a wait node; left by Signal and
	// TimerDue.
	waiting
	// A failed attempt is to be repeated. Entered by NodeDone and EffectDone; left
	// by TimerDue.
	retry
	// Another run is under way. Entered with a call node; left by CallDone.
	inCall
	// Branches run. Entered with a fork; left when the last branch joins.
	forked
)

var phaseNames = [...]string{"", "working", "effect", "unknown", "approval", "input", "waiting", "retry", "call", "forked"}

func (p phase) String() string { return phaseNames[p] }

// suspended reports whether nothing but the world outside moves the thread on.
func (p phase) suspended() bool {
	return p == unknown || p == approval || p == awaitInput || p == waiting || p == forked
}

// thread is one walk through the graph: the run's own, or that of a branch.
type thread struct {
	branch    *graph.Branch // nil for the root
	node      string
	visit     uint32
	attempt   uint32
	phase     phase
	announced bool  // NodeStarted is in the log
	fresh     bool  // the handler has not been given to the driver
	visitMS   int64 // when the visit began
	fromMS    int64 // when the work at hand began
	steps     uint64
	timer     string // id; "" for none

	state   graph.Snapshot // what a branch sees; the root sees the run's
	changes []byte         // the text of what a branch has changed since its fork; nil for nothing
	marks   *policy.Marks  // of state; never changed in place
	written *policy.Marks  // those of what the branch may write; nil while they are those of the fork

	base      graph.Snapshot // forked: the state at the fork
	baseMarks *policy.Marks  // forked: of base
	joined    []string       // forked: names of the branches that are done

	input    artifact.Optional[artifact.Value] // of the last Resume
	effect   *openEffect
	asked    *openApproval
	waitName string
	call     string        // exec of the called run
	link     event.Link    // to the CallStarted
	reserve  policy.Amount // for the called run
}

// moved gives the thread at a node, with nothing open.
func (th *thread) moved(node string) thread {
	return thread{
		branch: th.branch, node: node, steps: th.steps,
		state: th.state, changes: th.changes, marks: th.marks, written: th.written,
	}
}

type openEffect struct {
	key        string
	port       string
	name       string
	seq        uint64 // of the request
	deadlineMS int64
	permit     policy.Permit
	proposal   artifact.Digest
	held       bool // the intent is stored
}

// openApproval is an approval that is staged. Tokens that were used stay, so that
// a second use is told apart from a token that never was.
type openApproval struct {
	proposal  artifact.Digest
	action    string
	schema    artifact.Digest
	need      uint32
	method    string
	policy    artifact.Digest
	tokens    []artifact.Digest
	decisions []policy.Decision
	expiresMS int64
	effect    bool // an effect waits for it
}

type timer struct {
	id      string
	purpose string
	node    string
	dueMS   int64
}

// ending is how the run will end once nothing is under way any more.
type ending struct {
	kind    event.Type // failed, cancelled or abandoned
	code    string
	text    string
	node    string
	visit   uint32
	attempt uint32
	usage   event.Usage
	by      string
	method  string
}

// Exec gives the execution id; "" for an empty position.
func (p *Position) Exec() string { return p.exec }

// Head gives the last event.
func (p *Position) Head() event.Head { return p.head }

// State gives the state of the whole run.
func (p *Position) State() graph.Snapshot { return p.state }

// Steps gives the number of visits that ended.
func (p *Position) Steps() uint64 { return p.steps }

// Used gives what the run has used so far.
func (p *Position) Used() policy.Amount { return p.ledger.Used() }

// ElapsedMS gives the time that counts against the run's timeout.
func (p *Position) ElapsedMS() uint64 { return p.elapsedMS }

// Definition gives the digests of what the run executes.
func (p *Position) Definition() event.Definition { return p.definition }

// Ended reports whether the run is over.
func (p *Position) Ended() bool { return p.ended }

// NextDue gives the time of the earliest timer; 0 for none.
func (p *Position) NextDue() int64 {
	var next int64
	for _, t := range p.timers {
		if next == 0 || t.dueMS < next {
			next = t.dueMS
		}
	}
	return next
}

// DueTimers gives the ids of the timers that are due, the earliest first.
func (p *Position) DueTimers(nowMS int64) []string {
	var due []timer
	for _, t := range p.timers {
		if t.dueMS <= nowMS {
			due = append(due, t)
		}
	}
	slices.SortStableFunc(due, func(a, b timer) int { return int(min(1, max(-1, a.dueMS-b.dueMS))) })
	ids := make([]string, len(due))
	for i, t := range due {
		ids[i] = t.id
	}
	return ids
}

// Pending gives the nodes that run next or are open, in the order of threads.
func (p *Position) Pending() []string {
	nodes := make([]string, 0, len(p.threads))
	for i := range p.threads {
		nodes = append(nodes, p.threads[i].node)
	}
	return nodes
}

// Status says what the run is doing, and why it is suspended.
func (p *Position) Status() (store.Status, string) {
	if p.ended {
		return store.Terminated, ""
	}
	reason := ""
	for i := range p.threads {
		t := &p.threads[i]
		if !t.phase.suspended() {
			return store.Running, ""
		}
		if t.phase != forked && reason == "" {
			reason = t.phase.String() + " at " + t.node
		}
	}
	return store.Suspended, reason
}

// Proposals gives the approvals that are open.
func (p *Position) Proposals() []Proposal {
	var list []Proposal
	for i := range p.threads {
		t := &p.threads[i]
		if a := t.asked; a != nil && t.phase == approval {
			list = append(list, Proposal{
				Digest: a.proposal, Node: t.node, Visit: t.visit, Action: a.action, Need: a.need,
				Have: uint32(len(a.decisions)), Method: a.method, ExpiresMS: a.expiresMS,
			})
		}
	}
	return list
}

// Proposal is an approval that is open. Its digest is that of the exact bytes to
// be shown, which are a blob of the store.
type Proposal struct {
	Digest     artifact.Digest
	Node       string
	Visit      uint32
	Action     string
	Need, Have uint32
	Method     string // the weakest that counts
	ExpiresMS  int64  // since 1970; 0 for never
}

// clone gives a position that a step may change.
func (p Position) clone() Position {
	p.visits = slices.Clone(p.visits)
	p.threads = slices.Clone(p.threads)
	for i := range p.threads {
		if e := p.threads[i].effect; e != nil {
			own := *e
			p.threads[i].effect = &own
		}
	}
	p.timers = slices.Clone(p.timers)
	if p.ledger != nil {
		p.ledger = p.ledger.Clone()
	}
	return p
}

// visitsAt gives how often the run has come to a node, the visits before a fork
// included.
func (p *Position) visitsAt(n *graph.Node, visit uint32) uint64 {
	if p.carried == nil {
		return uint64(visit)
	}
	return uint64(visit) + uint64(p.carried[n.Index])
}

// thread gives the index of the thread in a branch, or -1.
func (p *Position) thread(b *graph.Branch) int {
	return slices.IndexFunc(p.threads, func(t thread) bool { return t.branch == b })
}

// at gives the thread that is at a node in this visit and attempt, or nil.
func (p *Position) at(node string, visit, attempt uint32) *thread {
	for i := range p.threads {
		t := &p.threads[i]
		if t.node == node && t.visit == visit && t.attempt == attempt {
			return t
		}
	}
	return nil
}

// Ready reports whether the walk stopped only because a step was long enough. A
// [Recover] goes on.
func (p *Position) Ready() bool { return p.ready() }

// InputTokens gives the digests of the tokens that suspended handlers wait for.
func (p *Position) InputTokens() []artifact.Digest {
	var list []artifact.Digest
	for i := range p.threads {
		if th := &p.threads[i]; th.phase == awaitInput {
			list = append(list, th.asked.tokens...)
		}
	}
	return list
}

// UnknownEffects gives the keys of effects of which nobody knows whether they
// happened.
func (p *Position) UnknownEffects() []string {
	var keys []string
	for i := range p.threads {
		if th := &p.threads[i]; th.phase == unknown {
			keys = append(keys, th.effect.key)
		}
	}
	return keys
}
