package event

import (
	"fmt"

	"github.com/writ-dev/writ/artifact"
)

// Check knows which event may follow which, from the log alone: the life of each
// attempt, effect, approval, timer, wait, branch and call, the numbering of
// patches, and that the run starts and ends once. It does not know the graph.
// Feed it the events of one run in order; the zero value is ready. Its size
// follows what is open, not the length of the log, apart from one entry per node.
type Check struct {
	seq       uint64
	ended     bool
	forked    bool // the run goes on where another was: visits need not begin at 1
	cancel    bool // a cancel was requested
	migrated  bool // the event before was a Migrated
	revision  uint64
	state     artifact.Digest
	nodes     map[string]*visit
	timers    map[string]bool
	proposals map[artifact.Digest]bool
}

// visit is the newest visit of a node.
type visit struct {
	number, attempt uint32
	phase           phase
	effects         map[string]effectPhase
	calls           map[string]bool
	waits           map[string]bool
	branches        map[string]bool // true while open; kept after the fork is routed
}

type phase uint8

const (
	visitOver phase = iota
	attemptOpen
	attemptSuspended
	retryAwaited // attempt is the one that comes next
)

type effectPhase uint8

const (
	effectRequested effectPhase = iota + 1
	effectAuthorized
	effectUnknown
	effectOver // denied or with an outcome
)

// OrderError says which event may not stand where it does.
type OrderError struct {
	Seq     uint64
	Type    Type
	Problem string
}

func (e *OrderError) Error() string {
	return fmt.Sprintf("event %d (%s): %s", e.Seq, e.Type, e.Problem)
}

// Add checks the next event. The error is an *[OrderError], after which the
// Check must not be used further.
func (k *Check) Add(e Event) error {
	problem := k.add(e)
	if problem != "" {
		return &OrderError{Seq: e.Seq, Type: e.Type, Problem: problem}
	}
	return nil
}

// State gives the state as the log left it: the revision and digest of the last
// patch, or of the start.
func (k *Check) State() (revision uint64, digest artifact.Digest) { return k.revision, k.state }

// Ended reports whether the run has ended.
func (k *Check) Ended() bool { return k.ended }

func (k *Check) add(e Event) string {
	k.seq++
	afterMigration := k.migrated
	k.migrated = false
	switch {
	case e.Seq != k.seq:
		return fmt.Sprintf("want sequence %d", k.seq)
	case k.ended:
		return "the run has ended"
	case (e.Seq == 1) != (e.Type == TypeStarted):
		return "a run starts with started, once"
	}
	switch p := e.Body.(type) {
	case *Started:
		k.revision, k.state = p.Revision, p.State
		k.forked = p.Parent != nil && p.Parent.Kind == LinkFork
		k.nodes = map[string]*visit{}
		return noNode(e)
	case *Checkpointed:
		if p.State != k.state || p.Revision != k.revision {
			return "the checkpoint is of another state"
		}
		return ""
	case *TimerSet, *TimerFired, *TimerStopped:
		return k.timer(e)
	case *CancelRequested:
		if k.cancel {
			return "cancel was requested before"
		}
		k.cancel = true
		return ""
	case *Migrated:
		k.migrated = true
		return k.migrate(e)
	case *Terminated, *Failed, *Cancelled, *Abandoned:
		return k.end(e)
	case *StatePatched:
		if afterMigration && e.Node == "" {
			return k.patch(p)
		}
	}
	return k.inVisit(e)
}

func noNode(e Event) string {
	if e.Node != "" {
		return "concerns the run, not a node"
	}
	return ""
}

func (k *Check) patch(p *StatePatched) string {
	if p.Revision != k.revision+1 {
		return fmt.Sprintf("want revision %d", k.revision+1)
	}
	k.revision, k.state = p.Revision, p.State
	return ""
}

// inVisit checks what belongs to a node's visit.
func (k *Check) inVisit(e Event) string {
	if e.Node == "" {
		return "no node"
	}
	v := k.nodes[e.Node]
	if e.Type == TypeNodeStarted {
		return k.start(v, e)
	}
	if v == nil || v.number != e.Visit {
		return "the visit has not started"
	}
	if p, ok := e.Body.(*BranchJoined); ok { // the fork itself has been routed by then
		if !v.branches[p.Branch] {
			return "the branch is not open"
		}
		v.branches[p.Branch] = false
		return ""
	}
	if v.attempt != e.Attempt || v.phase == retryAwaited || v.phase == visitOver {
		return "the attempt is not open"
	}
	if v.phase == attemptSuspended {
		return k.inSuspension(v, e)
	}
	return k.inAttempt(v, e)
}

func (k *Check) start(v *visit, e Event) string {
	switch {
	case v == nil:
		v = &visit{}
		k.nodes[e.Node] = v
		if k.forked && e.Visit > 0 {
			v.number = e.Visit - 1
		}
		fallthrough
	case v.phase == visitOver:
		if e.Visit != v.number+1 || e.Attempt != 1 {
			return fmt.Sprintf("want visit %d, attempt 1", v.number+1)
		}
		for _, open := range v.branches {
			if open {
				return "a branch of the visit before is open"
			}
		}
		*v = visit{number: e.Visit}
	case v.phase != retryAwaited:
		return "the visit before is not over"
	case e.Visit != v.number || e.Attempt != v.attempt:
		return fmt.Sprintf("want visit %d, attempt %d", v.number, v.attempt)
	}
	v.attempt, v.phase = e.Attempt, attemptOpen
	return ""
}

// inSuspension allows what can happen while nobody works on the attempt.
func (k *Check) inSuspension(v *visit, e Event) string {
	switch p := e.Body.(type) {
	case *Resumed:
		v.phase = attemptOpen
		return ""
	case *ApprovalDecided:
		return k.decide(p)
	case *EffectSettled, *EffectFailed, *EffectUnknown:
		return v.effect(e.Body)
	case *EventReceived:
		return v.receive(p)
	case *CallReturned:
		return v.callReturned(p)
	}
	return "the attempt is suspended"
}

func (k *Check) inAttempt(v *visit, e Event) string {
	switch p := e.Body.(type) {
	case *StatePatched:
		return k.patch(p)
	case *Routed:
		return v.close()
	case *Retrying:
		if p.Attempt != v.attempt+1 {
			return fmt.Sprintf("want attempt %d", v.attempt+1)
		}
		v.phase, v.attempt = retryAwaited, p.Attempt
		return v.unresolved()
	case *Suspended:
		v.phase = attemptSuspended
		return ""
	case *ApprovalStaged:
		return k.stage(p)
	case *ApprovalDecided:
		return k.decide(p)
	case *WaitStarted:
		return add(&v.waits, p.Wait, "the visit waits for it already")
	case *EventReceived:
		return v.receive(p)
	case *BranchStarted:
		if _, known := v.branches[p.Branch]; known {
			return "the fork has this branch already"
		}
		return add(&v.branches, p.Branch, "")
	case *CallStarted:
		return add(&v.calls, p.Exec, "the visit called this run already")
	case *CallReturned:
		return v.callReturned(p)
	case *Resumed:
		return "the attempt is not suspended"
	}
	return v.effect(e.Body)
}
