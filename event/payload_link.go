package event

import "github.com/writ-dev/writ/artifact"

func newLinkPayload(t Type) Payload {
	switch t {
	case TypeTimerSet:
		return new(TimerSet)
	case TypeTimerFired:
		return new(TimerFired)
	case TypeTimerStopped:
		return new(TimerStopped)
	case TypeWaitStarted:
		return new(WaitStarted)
	case TypeEventReceived:
		return new(EventReceived)
	case TypeBranchStarted:
		return new(BranchStarted)
	case TypeBranchJoined:
		return new(BranchJoined)
	case TypeCallStarted:
		return new(CallStarted)
	case TypeCallReturned:
		return new(CallReturned)
	}
	return nil
}

// TimerSet starts a timer that survives restarts. It ends with a [TimerFired], a
// [TimerStopped] or the run. Its id is not in use while it runs.
type TimerSet struct {
	Timer   string // id, chosen by the run
	Purpose string // such as retry, deadline, wait or expiry
	DueMS   int64  // since 1970
}

func (*TimerSet) Type() Type { return TypeTimerSet }

func (p *TimerSet) fields(c *coder) {
	c.id("timer", &p.Timer)
	c.text("purpose", &p.Purpose)
	c.millis("due_ms", &p.DueMS)
}

// TimerFired says that the time of a running timer has come.
type TimerFired struct {
	Timer string
}

func (*TimerFired) Type() Type { return TypeTimerFired }

func (p *TimerFired) fields(c *coder) { c.id("timer", &p.Timer) }

// TimerStopped ends a running timer that is no longer needed.
type TimerStopped struct {
	Timer string
}

func (*TimerStopped) Type() Type { return TypeTimerStopped }

func (p *TimerStopped) fields(c *coder) { c.id("timer", &p.Timer) }

// WaitStarted makes an open attempt wait for an event from outside. It ends with
// an [EventReceived] for it or with the attempt.
type WaitStarted struct {
	Wait   string          // name of the awaited event; one wait per name and visit
	Schema artifact.Digest // that its payload must satisfy; zero for none
	Timer  string          // id of the timer that ends the wait; "" for none
}

func (*WaitStarted) Type() Type { return TypeWaitStarted }

func (p *WaitStarted) fields(c *coder) {
	c.text("wait", &p.Wait)
	c.optDigest("schema", &p.Schema)
	c.optID("timer", &p.Timer)
}

// EventReceived consumes an event from outside, once, for a running wait.
type EventReceived struct {
	Wait    string // its name
	ID      string // its own id: a second delivery of one id is not consumed
	Payload Recorded
	By      string
	Method  string
}

func (*EventReceived) Type() Type { return TypeEventReceived }

func (p *EventReceived) fields(c *coder) {
	c.text("wait", &p.Wait)
	c.text("id", &p.ID)
	c.recorded("payload", &p.Payload)
	c.text("by", &p.By)
	choice(c, "method", &p.Method, methods[:]...)
}

// BranchStarted opens one parallel branch of a fork. The header names the
// fork's node and visit, which stay those of the branch's join.
type BranchStarted struct {
	Branch string // name, unique in the fork
	Index  uint32 // position in the order in which branches are merged
	Entry  string // its first node
}

func (*BranchStarted) Type() Type { return TypeBranchStarted }

func (p *BranchStarted) fields(c *coder) {
	c.id("branch", &p.Branch)
	c.uint32("index", &p.Index)
	c.id("entry", &p.Entry)
}

// How a branch, a call or a run ended.
const (
	EndJoined     = "joined" // a branch reached its join
	EndTerminated = "terminated"
	EndFailed     = "failed"
	EndCancelled  = "cancelled"
	EndAbandoned  = "abandoned"
)

// BranchJoined ends a branch.
type BranchJoined struct {
	Branch  string
	Outcome string // joined, failed or cancelled
	Join    string // the node that waits for all branches
	Error   string // of a failed branch
}

func (*BranchJoined) Type() Type { return TypeBranchJoined }

func (p *BranchJoined) fields(c *coder) {
	c.id("branch", &p.Branch)
	choice(c, "outcome", &p.Outcome, EndJoined, EndFailed, EndCancelled)
	c.id("join", &p.Join)
	c.text("error", &p.Error)
}

// CallStarted runs another graph from an open attempt. The [Started] of the
// called run has a [Link] to this event.
type CallStarted struct {
	Kind      string          // subgraph or handoff
	Exec      string          // the called run
	Graph     artifact.Digest // its graph
	State     artifact.Digest // the projected initial state's value
	Authority artifact.Digest // of the narrowed authority, looked up and never supplied
	Returns   artifact.Digest // of the schema of its result; zero for none
	Limits    Budget          // reserved for it
}

func (*CallStarted) Type() Type { return TypeCallStarted }

func (p *CallStarted) fields(c *coder) {
	choice(c, "kind", &p.Kind, LinkSubgraph, LinkHandoff)
	c.id("exec", &p.Exec)
	c.digest("graph", &p.Graph)
	c.digest("state", &p.State)
	c.digest("authority", &p.Authority)
	c.optDigest("returns", &p.Returns)
	c.budget("limits", &p.Limits)
}

// CallReturned ends a call. Head and Events name the called run's whole log.
type CallReturned struct {
	Exec    string
	Outcome string          // terminated, failed, cancelled or abandoned
	Head    artifact.Digest // of the called run's last event
	Events  uint64          // of the called run
	Result  *Recorded       // checked against the schema; nil unless terminated
	Error   string
	Usage   Usage // of the called run, debited from this one
	Left    Budget
}

func (*CallReturned) Type() Type { return TypeCallReturned }

func (p *CallReturned) fields(c *coder) {
	c.id("exec", &p.Exec)
	choice(c, "outcome", &p.Outcome, EndTerminated, EndFailed, EndCancelled, EndAbandoned)
	c.digest("head", &p.Head)
	c.uint("events", &p.Events)
	c.optRecorded("result", &p.Result)
	c.text("error", &p.Error)
	c.usage("usage", &p.Usage)
	c.budget("left", &p.Left)
}
