package engine

import (
	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
)

// callGraph runs another graph: on a projection of the state, under authority
// that is looked up and narrowed, within a reserved part of the budget.
func (t *turn) callGraph(th *thread, n *graph.Node) {
	t.announce(th)
	child, state, denial, err := t.child(th, n)
	if err != nil {
		t.failNode(th, n, failure{class: graph.ClassInvalid, code: "invalid", text: err.Error()})
		return
	}
	exec := childExec(t.p.exec, th.node, th.visit, th.attempt)
	if denial == nil {
		denial = t.permitCall(th, n, exec, state)
	}
	var reserve policy.Amount
	if denial == nil {
		reserve = t.childReserve(th, n, child)
		denial = t.p.ledger.Reserve(exec, policy.Permit{Kind: policy.KindHandoff, Name: n.Name, Reserve: reserve})
	}
	if denial != nil {
		t.p.ledger.Release(handoffKey(exec))
		t.failNode(th, n, failure{class: classDenied, code: string(denial.Code), text: denial.Message + " (" + denial.Rule + ")"})
		return
	}
	th.phase, th.call, th.fromMS = inCall, exec, t.now
	var returns artifact.Digest
	if n.Returns != nil {
		returns = n.Returns.Digest()
	}
	kind := event.LinkSubgraph
	if n.Authority.Capabilities.Set || n.Authority.Namespaces.Set {
		kind = event.LinkHandoff
	}
	r := t.emit(th, &event.CallStarted{
		Kind: kind, Exec: exec, Graph: child.Graph.Digest, State: artifact.Sum(state.AppendCompact(nil)),
		Authority: child.Policy.Digest(), Returns: returns, Limits: budgetOf(t.childLimits(n, reserve)),
	})
	th.link = event.Link{Kind: kind, Exec: t.p.exec, Seq: r.Seq, Digest: r.Digest}
	th.reserve = reserve
	t.out.Calls = append(t.out.Calls, t.callOf(th, n, child, state))
}

// handoffKey names what is reserved for the call itself, which the limits of its
// grant count, beside what the called run may use.
func handoffKey(exec string) string { return "handoff " + exec }

// permitCall asks policy for a call, and counts it.
func (t *turn) permitCall(th *thread, n *graph.Node, exec string, state artifact.Value) *policy.Denial {
	permit, denial := t.def.Policy.Authorize(policy.Call{
		Kind: policy.KindHandoff, Name: n.Name, Graph: t.def.Calls[n.Name].Graph.Digest, Args: state, Taint: t.argsMarks(th, n),
		NowMS: t.now, Starter: t.p.starter,
	}, t.p.ledger)
	if denial != nil {
		return denial
	}
	permit.Reserve = policy.Amount{Calls: permit.Reserve.Calls} // what the called run may use is reserved by itself
	return t.p.ledger.Reserve(handoffKey(exec), permit)
}

// child gives the narrowed definition and the initial state of a call.
func (t *turn) child(th *thread, n *graph.Node) (*Definition, artifact.Value, *policy.Denial, error) {
	state, err := n.EvalArgs(graph.Scope{State: t.view(th).Value, Visit: t.p.visitsAt(n, th.visit)})
	if err != nil {
		return nil, state, nil, err
	}
	d := t.def.Calls[n.Name]
	narrowed, denial := t.def.Policy.Handoff(n.Name, policy.Request(n.Authority.Capabilities, n.Authority.Namespaces))
	if denial != nil {
		return nil, state, denial, nil
	}
	if err := d.Schema.Validate(state); err != nil {
		return nil, state, nil, err
	}
	return d.narrowed(narrowed), state, nil, nil
}

// childReserve gives what is reserved for a call: the most that the child's graph
// and the node allow, as far as the parent has it, and a share of the calls, the
// units and the time that are left for effects.
func (t *turn) childReserve(th *thread, n *graph.Node, child *Definition) policy.Amount {
	left := t.p.ledger.Left()
	tokens, cost := child.Graph.Limits.MaxTokens, child.Graph.Limits.MaxCostMicros
	if n.Authority.MaxTokens.Set {
		tokens = min(tokens, n.Authority.MaxTokens.Value)
	}
	if n.Authority.MaxCostMicros.Set {
		cost = min(cost, n.Authority.MaxCostMicros.Value)
	}
	if left.Tokens.Set {
		tokens = min(tokens, left.Tokens.Value)
	}
	shares := t.beside(th) + 1
	a := policy.Amount{
		Tokens: tokens, Calls: left.Calls.Value / shares, Units: left.Units.Value / shares, DurationMS: left.DurationMS.Value / shares,
	}
	if have, bounded := left.Cost["USD"]; bounded {
		cost = min(cost, have)
	}
	if cost > 0 {
		a.Cost = policy.Money{"USD": cost}
	}
	return a
}

// childLimits are the bounds that the parent puts on the child's ledger.
func (t *turn) childLimits(n *graph.Node, reserve policy.Amount) policy.Limits {
	l := policy.Limits{Tokens: artifact.Some(reserve.Tokens), Cost: policy.Money{"USD": reserve.Cost["USD"]}}
	if n.Authority.MaxSteps.Set {
		l.Steps = n.Authority.MaxSteps
	}
	left := t.p.ledger.Left()
	share := func(n uint64, bound artifact.Optional[uint64]) artifact.Optional[uint64] {
		return artifact.Optional[uint64]{Value: n, Set: bound.Set}
	}
	l.Calls, l.Units, l.DurationMS = share(reserve.Calls, left.Calls), share(reserve.Units, left.Units), share(reserve.DurationMS, left.DurationMS)
	return l
}

func (t *turn) callOf(th *thread, n *graph.Node, child *Definition, state artifact.Value) Call {
	return Call{
		Exec: th.call, Graph: n.Name, Definition: child, State: state, Taint: t.argsMarks(th, n), Parent: th.link, Owner: t.p.owner,
		By: t.p.starter, Method: t.p.method, Resumed: t.recovered,
		Limits: []policy.Bound{{Source: "parent " + t.p.exec, Limits: t.childLimits(n, th.reserve)}},
	}
}

// gatherCall gives a call that is under way, for a driver that has lost sight of
// it, and of which the called run may not have begun.
func (t *turn) gatherCall(th *thread) {
	n := t.node(th)
	child, state, denial, err := t.child(th, n)
	switch {
	case err != nil:
		t.fail(err)
	case denial != nil:
		t.fail(denialError(denial))
	default:
		t.out.Calls = append(t.out.Calls, t.callOf(th, n, child, state))
	}
}

func denialError(d *policy.Denial) error { return &DeniedError{Denial: d} }

// callDone takes the end of a called run: its usage is debited, its result held
// against the contract, its log linked by digest.
func (t *turn) callDone(in CallDone) *Refusal {
	var th *thread
	for i := range t.p.threads {
		if t.p.threads[i].phase == inCall && t.p.threads[i].call == in.Exec {
			th = &t.p.threads[i]
		}
	}
	if th == nil {
		return &Refusal{Code: RefusedStale, Message: "the run does not wait for " + clip(in.Exec)}
	}
	n := t.node(th)
	t.p.lastMS = max(t.p.lastMS, t.now)
	used := in.Used
	used.Steps, used.TimeMS = 0, 0
	t.p.ledger.Settle(in.Exec, used)
	t.p.ledger.Settle(handoffKey(in.Exec), policy.Amount{})
	e := &event.CallReturned{Exec: in.Exec, Outcome: in.Outcome, Head: in.Head.Digest, Events: in.Head.Seq, Error: t.text(in.Error), Usage: usageOf(used), Left: t.budget()}
	result, err := artifact.CanonicalValue(in.Result)
	if in.Outcome == event.EndTerminated && err == nil && n.Returns != nil {
		err = n.Returns.Validate(result)
	}
	if in.Outcome == event.EndTerminated {
		r := t.keep(event.ScopeResult, "json", accessRun, result)
		e.Result = &r
	}
	if err != nil {
		e.Error = t.text("the result breaks the contract: " + err.Error())
	}
	t.emit(th, e)
	th.call, th.fromMS = "", t.now
	switch {
	case t.p.ending != nil:
		th.phase = 0
	case t.overCharged(th):
	case err != nil:
		t.failNode(th, n, failure{class: graph.ClassInvalid, code: "result_invalid", text: e.Error})
	case in.Outcome != event.EndTerminated:
		t.failNode(th, n, failure{class: graph.ClassInternal, code: "call_" + in.Outcome, text: "the called run " + in.Outcome + ": " + in.Error})
	default:
		t.complete(th, n, result, graph.Usage{})
	}
	return nil
}

// overCharged ends the run when what a call used exceeds a limit of the run.
func (t *turn) overCharged(th *thread) bool {
	over := t.charge(graph.Usage{})
	if over != "" {
		t.countStep(th)
		t.endRun(th, string(policy.CodeBudgetExhausted), over)
	}
	return over != ""
}
