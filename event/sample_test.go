package event

import (
	"testing"

	"github.com/writ-dev/writ/artifact"
)

func digestOf(s string) artifact.Digest { return artifact.Sum([]byte(s)) }

// samples gives one event of each type, with every field set, in no sensible
// order: for tests of the form, not of the sequence.
func samples() []Event {
	d := digestOf
	salt := Salt{1}
	open := NewRecorded("json", "public", []byte("{}"))
	hidden := salt.Recorded("text", []byte("secret"))
	hidden.Redacted = true
	usage := Usage{Calls: 1, Tokens: 2, Units: 3, DurationMS: 4, Cost: Money{"USD": 5, "EUR": 6}}
	left := Budget{Steps: artifact.Some(uint64(0)), Tokens: artifact.Some(uint64(1<<64 - 1)), Cost: Money{"USD": 0}}
	end := End{State: d("state"), Revision: 3, Steps: 2, Totals: usage, Events: 9}
	def := Definition{Graph: d("g"), Schema: d("s"), Pack: d("p"), Policy: d("y"), Nodes: d("n"), Contract: d("c")}
	text := "quote \" slash / back\\ tab\t nul\x00 bell\a del\x7f <&> \u2028 ü 😀"
	bodies := []Payload{
		&Started{
			Definition: def, Semantics: 1, Revision: 7, State: d("state"),
			Parent: &Link{Kind: LinkFork, Exec: "parent", Seq: 3, Digest: d("e")},
			Owner:  "owner", By: text, Method: MethodOSUser, Limits: left,
		},
		&NodeStarted{DeadlineMS: 12},
		&StatePatched{Revision: 8, Patch: JSON(`{"base_revision":7,"operations":{"/a":{"Set":[1,-2,1.5,1e-7,null,true,"x"]}}}`), State: d("after")},
		&Routed{Outcome: OutcomeRoute, Route: text, To: "next", Usage: usage, Left: left},
		&Retrying{Attempt: 2, DelayMS: 100, Class: "rate", Error: text, Usage: usage, Left: left},
		&EffectRequested{Key: "k", Port: "http", Name: "get", Args: hidden, Reserve: usage, DeadlineMS: 9},
		&EffectAuthorized{Key: "k", Decision: DecisionApproved, Rule: "r", Proposal: d("prop"), Left: left},
		&EffectDenied{Key: "k", Code: "budget_exhausted", Rule: "r", Message: text, Left: left},
		&EffectSettled{Key: "k", Result: hidden, Source: SourceAsked, Usage: usage, Left: left},
		&EffectFailed{Key: "k", Class: "host_error", Error: text, Retryable: true, Source: SourcePort, Usage: usage, Left: left},
		&EffectUnknown{Key: "k", Reason: "crash"},
		&ApprovalStaged{
			Proposal: d("prop"), Shown: open, Action: text, Effect: "k", Schema: d("s"), Policy: d("y"), Method: MethodKey, Need: 2,
			Tokens: []artifact.Digest{d("t1"), d("t2")}, Keys: []string{"sha256:abc"}, ExpiresMS: 99,
		},
		&ApprovalDecided{
			Proposal: d("prop"), Decision: DecisionApprove, Method: MethodToken, Approver: "ann", Credential: d("t1"),
			Reason: text, Have: 1, Need: 2, Quorum: QuorumPending,
		},
		&Suspended{Cause: CauseApproval, Reason: text, Schema: d("s"), ExpiresMS: 99, Usage: usage, Left: left},
		&Resumed{Cause: CauseApproval, Input: &open, By: "ann", Method: MethodToken},
		&TimerSet{Timer: "t", Purpose: "retry", DueMS: 5},
		&TimerFired{Timer: "t"},
		&TimerStopped{Timer: "t"},
		&WaitStarted{Wait: "order/paid", Schema: d("s"), Timer: "t"},
		&EventReceived{Wait: "order/paid", ID: "evt 1", Payload: open, By: "shop", Method: MethodKey},
		&BranchStarted{Branch: "b", Index: 1, Entry: "node"},
		&BranchJoined{Branch: "b", Outcome: EndFailed, Join: "join", Error: text},
		&CallStarted{Kind: LinkHandoff, Exec: "child", Graph: d("g"), State: d("st"), Authority: d("a"), Returns: d("r"), Limits: left},
		&CallReturned{Exec: "child", Outcome: EndTerminated, Head: d("h"), Events: 6, Result: &open, Error: text, Usage: usage, Left: left},
		&Checkpointed{Checkpoint: d("cp"), State: d("st"), Revision: 8, Pending: []string{"a", "b"}},
		&Migrated{To: def, Reason: text, By: "ops", Method: MethodOSUser},
		&CancelRequested{Reason: text, By: "ann", Method: MethodAsserted},
		&Terminated{Result: open, End: end, Usage: usage, Left: left},
		&Failed{Code: "limit", Error: text, End: end, Usage: usage, Left: left},
		&Cancelled{End: end},
		&Abandoned{Reason: text, By: "ops", Method: MethodSystem, End: end},
	}
	var events []Event
	for i, b := range bodies {
		e := Event{Header: Header{Seq: uint64(i + 1), Exec: "run/1", AtMS: int64(i) * 1000, Type: b.Type()}, Body: b}
		if i > 0 {
			e.Prev, e.Node, e.Visit, e.Attempt = d("prev"), "node", 2, 3
		}
		events = append(events, e)
	}
	return events
}

// empties gives the events of samples with the zero value in everything that may
// be absent.
func empties() []Event {
	d := digestOf("d")
	def := Definition{Graph: d, Schema: d, Pack: d, Policy: d, Nodes: d, Contract: d}
	r := NewRecorded("", "", nil)
	return []Event{
		{Header: Header{Seq: 1, Exec: "e", Type: TypeStarted}, Body: &Started{Definition: def, State: d, Method: MethodSystem}},
		{Header: Header{Seq: 2, Prev: d, Exec: "e", Type: TypeCheckpointed}, Body: &Checkpointed{Checkpoint: d, State: d}},
		{Header: Header{Seq: 2, Prev: d, Exec: "e", Type: TypeTerminated}, Body: &Terminated{Result: r, End: End{State: d}}},
	}
}

// aRun gives the records of a plausible run: two steps, a retry, an effect with
// an approval, a wait, branches, a call, a checkpoint.
func aRun(t testing.TB) []Record {
	t.Helper()
	b := &runBuilder{t: t, state: digestOf("0")}
	chain, err := NewChain(Head{Exec: "run"})
	if err != nil {
		t.Fatal(err)
	}
	b.chain = chain
	b.add("", &Started{Definition: samples()[0].Body.(*Started).Definition, State: b.state, Method: MethodOSUser})
	b.add("draft", &NodeStarted{})
	b.patch("draft", `{"n":1}`)
	b.add("draft", &Retrying{Attempt: 2, Class: "rate"})
	b.attempt = 2
	b.add("draft", &NodeStarted{})
	b.effect("draft")
	b.patch("draft", `{"n":2}`)
	b.add("draft", &Suspended{Cause: CauseInput, Reason: "why"})
	b.add("draft", &Checkpointed{Checkpoint: digestOf("cp"), State: b.state, Revision: b.revision})
	b.add("draft", &Resumed{Cause: CauseInput, By: "ann", Method: MethodToken})
	b.add("draft", &Routed{Outcome: OutcomeRoute, Route: "ok", To: "fork"})
	b.attempt = 1
	b.fork()
	b.add("end", &NodeStarted{})
	b.add("end", &Terminated{
		Result: NewRecorded("json", "public", []byte("{}")),
		End:    End{State: b.state, Revision: b.revision, Steps: 4, Events: b.chain.Head().Seq + 1},
	})
	return b.records
}

type runBuilder struct {
	t        testing.TB
	chain    *Chain
	records  []Record
	revision uint64
	state    artifact.Digest
	attempt  uint32
}

func (b *runBuilder) add(node string, p Payload) {
	b.t.Helper()
	e := Event{Header: Header{Node: node, AtMS: int64(len(b.records))}, Body: p}
	if node != "" {
		e.Visit, e.Attempt = 1, max(1, b.attempt)
	}
	r, err := b.chain.Append(e)
	if err != nil {
		b.t.Fatal(err)
	}
	b.records = append(b.records, r)
}

func (b *runBuilder) patch(node, text string) {
	b.revision++
	b.state = digestOf(text)
	b.add(node, &StatePatched{Revision: b.revision, Patch: JSON(text), State: b.state})
}

func (b *runBuilder) effect(node string) {
	args := NewRecorded("json", "public", []byte("[]"))
	b.add(node, &EffectRequested{Key: "k1", Port: "http", Name: "get", Args: args})
	b.add(node, &ApprovalStaged{Proposal: digestOf("p"), Shown: args, Policy: digestOf("y"), Method: MethodToken, Need: 1, Effect: "k1"})
	b.add(node, &Suspended{Cause: CauseApproval, Reason: "approval"})
	b.add(node, &ApprovalDecided{Proposal: digestOf("p"), Decision: DecisionApprove, Method: MethodToken, Have: 1, Need: 1, Quorum: QuorumApproved})
	b.add(node, &Resumed{Cause: CauseApproval, By: "ann", Method: MethodToken})
	b.add(node, &EffectAuthorized{Key: "k1", Decision: DecisionApproved, Proposal: digestOf("p")})
	b.add(node, &EffectUnknown{Key: "k1", Reason: "crash"})
	b.add(node, &EffectSettled{Key: "k1", Source: SourceAsked, Result: Salt{9}.Recorded("text", []byte("x"))})
	b.add(node, &WaitStarted{Wait: "paid", Timer: "t"})
	b.add("", &TimerSet{Timer: "t", Purpose: "wait", DueMS: 9})
	b.add(node, &EventReceived{Wait: "paid", ID: "1", Payload: args, Method: MethodKey})
	b.add("", &TimerStopped{Timer: "t"})
	b.add(node, &CallStarted{Kind: LinkSubgraph, Exec: "child", Graph: digestOf("g"), State: digestOf("s"), Authority: digestOf("a")})
	b.add(node, &CallReturned{Exec: "child", Outcome: EndFailed, Head: digestOf("h"), Events: 3, Error: "e"})
}

func (b *runBuilder) fork() {
	b.add("fork", &NodeStarted{})
	b.add("fork", &BranchStarted{Branch: "x", Index: 0, Entry: "left"})
	b.add("fork", &BranchStarted{Branch: "y", Index: 1, Entry: "right"})
	b.add("fork", &Routed{Outcome: OutcomeContinue, Route: "continue", To: "end"})
	b.add("right", &NodeStarted{})
	b.add("left", &NodeStarted{})
	b.patch("right", `{"n":3}`)
	b.add("left", &Routed{Outcome: OutcomeContinue, Route: "continue", To: "end"})
	b.add("fork", &BranchJoined{Branch: "x", Outcome: EndJoined, Join: "end"})
	b.add("right", &Routed{Outcome: OutcomeContinue, Route: "continue", To: "end"})
	b.add("fork", &BranchJoined{Branch: "y", Outcome: EndJoined, Join: "end"})
}
