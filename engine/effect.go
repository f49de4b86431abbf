package engine

import (
	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/store"
)

// request asks for the effect of a node: policy decides before anything happens.
func (t *turn) request(th *thread, n *graph.Node) {
	t.announce(th)
	args, call, err := t.effectCall(th, n)
	if err != nil {
		t.failNode(th, n, failure{class: graph.ClassInvalid, code: "invalid", text: err.Error()})
		return
	}
	e := &openEffect{
		key:  effectKey(t.p.exec, th.node, th.visit, th.attempt, 0),
		port: t.def.tool(n).Port, name: n.Name, seq: t.next(), deadlineMS: t.deadline(th, n),
	}
	th.effect = e
	t.emit(th, &event.EffectRequested{
		Key: e.key, Port: e.port, Name: e.name, Args: t.keep(event.ScopeArgs, "json", accessArgs, args),
		Reserve: usageOf(call.Reserve), DeadlineMS: e.deadlineMS,
	})
	permit, denial := t.def.Policy.Authorize(call, t.p.ledger)
	switch {
	case denial == nil:
		t.authorize(th, n, permit)
	case denial.Code == policy.CodeApprovalRequired && denial.Approval != nil:
		t.proposeEffect(th, n, call, denial.Approval)
	default:
		t.denied(th, n, denial)
	}
}

// judged is a call as one step has worked it out, for the parts of the step that
// need it too.
type judged struct {
	node           string
	visit, attempt uint32
	revision       uint64 // of the state that the thread sees
	args           artifact.Value
	call           policy.Call
}

// effectCall gives the arguments of a node's effect and the call that policy
// judges. It depends on the position alone, so that it is the same later.
func (t *turn) effectCall(th *thread, n *graph.Node) (artifact.Value, policy.Call, error) {
	revision := t.view(th).Revision
	if j := t.judged; j != nil && j.node == th.node && j.visit == th.visit && j.attempt == th.attempt && j.revision == revision {
		return j.args, j.call, nil
	}
	args, call, err := t.workOutCall(th, n)
	if err == nil {
		t.judged = &judged{th.node, th.visit, th.attempt, revision, args, call}
	}
	return args, call, err
}

func (t *turn) workOutCall(th *thread, n *graph.Node) (args artifact.Value, call policy.Call, err error) {
	args, err = n.EvalArgs(graph.Scope{State: t.view(th).Value, Visit: t.p.visitsAt(n, th.visit)})
	if err != nil {
		return args, call, err
	}
	tool := t.def.tool(n)
	call = policy.Call{
		Kind: tool.Kind, Name: n.Name, Namespace: tool.Namespace, Write: tool.Write, Capability: tool.Capability,
		Args: args, Contract: tool.Contract, Reserve: tool.Reserve, NowMS: t.now, Starter: t.p.starter,
	}
	call.Beside = t.beside(th)
	if n.Reserve != (graph.Usage{}) {
		call.Reserve = amountOf(n.Reserve)
	}
	call.Taint = t.argsMarks(th, n)
	if tool.Shape != nil {
		call, err = tool.Shape(call)
	}
	return args, call, err
}

// beside counts the threads beside one that may yet reserve time: those that walk a
// branch and hold nothing.
func (t *turn) beside(th *thread) uint64 {
	var n uint64
	for i := range t.p.threads {
		other := &t.p.threads[i]
		holds := other.phase == inEffect || other.phase == unknown || other.phase == inCall
		if other.branch != th.branch && other.phase != forked && !holds {
			n++
		}
	}
	return n
}

// authorize reserves what the effect may use and makes its intent durable.
func (t *turn) authorize(th *thread, n *graph.Node, permit policy.Permit) {
	e := th.effect
	if denial := t.p.ledger.Reserve(e.key, permit); denial != nil {
		t.denied(th, n, denial)
		return
	}
	e.permit = permit
	decision := event.DecisionAllow
	if !e.proposal.IsZero() {
		decision = event.DecisionApproved
	}
	if permit.TimeoutMS > 0 {
		if at := t.now + int64(permit.TimeoutMS); e.deadlineMS == 0 || at < e.deadlineMS {
			e.deadlineMS = at
		}
	}
	t.emit(th, &event.EffectAuthorized{Key: e.key, Decision: decision, Rule: permit.Rule, Proposal: e.proposal, Left: t.budget()})
	if !e.held {
		e.held = true
		t.out.Intents = append(t.out.Intents, store.Intent{Key: e.key, Seq: e.seq})
	}
	th.phase, th.fromMS = inEffect, t.now
	t.gatherEffect(th)
}

func (t *turn) denied(th *thread, n *graph.Node, d *policy.Denial) {
	e := th.effect
	t.emit(th, &event.EffectDenied{Key: e.key, Code: string(d.Code), Rule: clip(d.Rule), Message: t.text(d.Message), Left: t.budget()})
	t.closeIntent(e)
	th.effect = nil
	t.failNode(th, n, failure{class: classDenied, code: string(d.Code), text: d.Message + " (" + d.Rule + ")"})
}

func (t *turn) closeIntent(e *openEffect) {
	if e.held {
		t.out.Intents = append(t.out.Intents, store.Intent{Key: e.key, Done: true})
	}
}

// gatherEffect gives an effect to be performed, or after a Recover to be found
// out about.
func (t *turn) gatherEffect(th *thread) {
	n := t.node(th)
	args, call, err := t.effectCall(th, n)
	if err != nil {
		t.fail(err)
		return
	}
	e := th.effect
	t.out.Effects = append(t.out.Effects, Effect{
		Key: e.key, Port: e.port, Name: e.name, Kind: call.Kind, Exec: t.p.exec, Node: th.node, Visit: th.visit, Attempt: th.attempt,
		Args: args, ArgsDigest: artifact.Sum(args.AppendCompact(nil)), Reserve: e.permit.Reserve, DeadlineMS: e.deadlineMS,
		Permit: e.permit, Lost: t.recovered,
	})
}

func (p *Position) withEffect(key string) *thread {
	for i := range p.threads {
		th := &p.threads[i]
		if th.effect != nil && th.effect.key == key && (th.phase == inEffect || th.phase == unknown) {
			return th
		}
	}
	return nil
}

// effectDone takes the outcome of an effect. One that is recorded already is
// refused, so each outcome counts once.
func (t *turn) effectDone(in EffectDone) *Refusal {
	th := t.p.withEffect(in.Key)
	if th == nil {
		return &Refusal{Code: RefusedStale, Message: "no effect with this key is under way"}
	}
	source := in.Source
	if source == "" {
		source = event.SourcePort
	}
	if th.phase == unknown && source == event.SourcePort {
		source = event.SourceAsked
	}
	n, e := t.node(th), th.effect
	suspended := th.phase == unknown
	if !suspended && source == event.SourcePort {
		t.tick(th.fromMS, t.now)
	} else { // nobody knows for how long the effect was under way
		t.p.lastMS = max(t.p.lastMS, t.now)
	}
	o := in.Outcome
	t.recordOutcome(th, &o, source, in.recorded)
	t.closeIntent(e)
	th.effect = nil
	if suspended {
		t.emit(th, &event.Resumed{Cause: event.CauseEffect, By: clip(in.By), Method: methodOf(in.By)})
	}
	if t.overCharged(th) {
		return nil
	}
	switch {
	case t.p.ending != nil:
		th.phase = 0
	case o.Failed:
		t.failNode(th, n, failure{class: o.Class, code: "effect_failed", text: o.Error, retryable: o.Retryable})
	case in.recorded != nil:
		t.completeAs(th, n, in.recorded)
	default:
		t.complete(th, n, o.Result, graph.Usage{})
	}
	return nil
}

// recordOutcome charges an outcome and records it.
func (t *turn) recordOutcome(th *thread, o *Outcome, source string, recorded *recordedStep) {
	e := th.effect
	o.Usage.Steps, o.Usage.TimeMS = 0, 0
	t.p.ledger.Settle(e.key, o.Usage)
	switch {
	case o.Failed:
		t.emit(th, &event.EffectFailed{
			Key: e.key, Class: clip(o.Class), Error: t.text(o.Error), Retryable: o.Retryable, Source: source,
			Usage: usageOf(o.Usage), Left: t.budget(),
		})
	case recorded != nil:
		t.emit(th, &event.EffectSettled{Key: e.key, Result: recorded.result, Source: source, Usage: usageOf(o.Usage), Left: t.budget()})
	default:
		t.settle(th, e, o, source)
	}
}

// recordedStep is what a log says of a visit whose result nobody kept.
type recordedStep struct {
	result event.Recorded
	patch  *graph.Patch
	edge   graph.Edge
	way    string // continue or route
}

// completeAs ends a visit as the log says, where the result that led to it is not
// there to be evaluated again. The reduction is still checked.
func (t *turn) completeAs(th *thread, n *graph.Node, r *recordedStep) {
	marks := t.setMarks(th, n)
	if r.patch != nil {
		patch := rebased(r.patch, t.view(th).Revision)
		if err := t.patch(th, n, &patch); err != nil {
			t.fail(err)
			return
		}
	}
	t.mark(th, marks)
	if r.edge.To != "" {
		t.leave(th, r.edge, r.way, graph.Usage{})
	}
}

// settle records a result. What the run goes on with is the result after
// redaction: no secret gets into the state.
func (t *turn) settle(th *thread, e *openEffect, o *Outcome, source string) {
	if o.Kind == "" {
		o.Kind = "json"
	}
	if o.Access == "" {
		o.Access = accessEffect
	}
	result, err := artifact.CanonicalValue(o.Result)
	if err == nil && t.redactor != nil {
		result, _, err = t.redactor.Redact(event.ScopeResult, result)
	}
	if err != nil {
		o.Failed, o.Class, o.Error = true, graph.ClassInvalid, err.Error()
		t.emit(th, &event.EffectFailed{Key: e.key, Class: o.Class, Error: t.text(o.Error), Source: source, Usage: usageOf(o.Usage), Left: t.budget()})
		return
	}
	o.Result = result
	t.emit(th, &event.EffectSettled{
		Key: e.key, Result: t.keep(event.ScopeResult, clip(o.Kind), clip(o.Access), result), Source: source,
		Usage: usageOf(o.Usage), Left: t.budget(),
	})
}

func methodOf(by string) string {
	if by == "" {
		return event.MethodSystem
	}
	return event.MethodAsserted
}

// effectLost takes note that nobody knows whether an effect happened.
func (t *turn) effectLost(in EffectLost) *Refusal {
	th := t.p.withEffect(in.Key)
	if th == nil {
		return &Refusal{Code: RefusedStale, Message: "no effect with this key is under way"}
	}
	n := t.node(th)
	t.p.lastMS = max(t.p.lastMS, t.now)
	if th.phase == inEffect {
		t.emit(th, &event.EffectUnknown{Key: in.Key, Reason: t.text(in.Reason)})
	}
	if t.p.ending != nil {
		th.phase, th.effect = 0, nil // its reservation stays
		t.p.ledger.SettleUnknown(in.Key)
		return nil
	}
	if !in.Again {
		if th.phase == inEffect {
			th.phase = unknown
			t.emit(th, &event.Suspended{Cause: event.CauseEffect, Reason: "unknown whether " + th.effect.name + " happened", Left: t.budget()})
		}
		return nil
	}
	if th.phase == unknown {
		t.emit(th, &event.Resumed{Cause: event.CauseEffect, Method: event.MethodSystem})
	}
	t.authorizeAgain(th, n)
	return nil
}

// authorizeAgain asks policy once more before a port performs an effect under the
// key that it may have seen: the pack may have expired since.
func (t *turn) authorizeAgain(th *thread, n *graph.Node) {
	e := th.effect
	_, call, err := t.effectCall(th, n)
	if err != nil {
		t.fail(err)
		return
	}
	if e.proposal.IsZero() || th.asked != nil {
		if th.asked != nil {
			call.Proposal, call.Decisions = e.proposal, th.asked.decisions
		}
		t.p.ledger.Release(e.key)
		permit, denial := t.def.Policy.Authorize(call, t.p.ledger)
		if denial != nil {
			t.denied(th, n, denial)
			return
		}
		e.permit = permit
	}
	e.deadlineMS = 0
	th.fromMS = t.now
	e.deadlineMS = t.deadline(th, n)
	t.authorize(th, n, e.permit)
}
