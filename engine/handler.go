package engine

import (
	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
)

// nodeDone takes the outcome of a handler's attempt.
func (t *turn) nodeDone(in NodeDone) *Refusal {
	th := t.p.at(in.Node, in.Visit, in.Attempt)
	if th == nil || th.phase != working {
		return &Refusal{Code: RefusedStale, Message: "node " + in.Node + " has no such attempt under way"}
	}
	n := t.node(th)
	if !th.announced {
		th.fromMS = in.StartedMS
		t.announce(th)
	}
	t.tick(th.fromMS, t.now)
	used := graph.Usage{Tokens: in.Result.Tokens, CostMicros: in.Result.CostMicros}
	if over := t.chargeHandler(th, n, used); over != "" {
		t.countStep(th)
		t.endRunUsing(th, string(policy.CodeBudgetExhausted), over, used)
		return nil
	}
	switch {
	case t.p.ending != nil: // what the handler says comes too late
	case in.failed != nil:
		t.failNode(th, n, *in.failed)
	case in.Timeout:
		t.timedOut(th, n, used)
	case in.Host != "":
		text := "Host(" + artifact.QuoteDebug(clip(in.Host)) + ")"
		t.failNode(th, n, failure{class: graph.ClassInternal, code: "host_error", text: text, used: used})
	default:
		t.outcome(th, n, in.Result.Outcome, used)
	}
	return nil
}

// timedOut fails an attempt that gave no answer in time. Where the time of the
// run itself is over, the run ends.
func (t *turn) timedOut(th *thread, n *graph.Node, used graph.Usage) {
	if left := t.timeLeft(); left.Set && left.Value == 0 {
		t.countStep(th)
		t.endRunUsing(th, string(policy.CodeBudgetExhausted), "timeout budget exceeded"+t.whose(policy.Amount{TimeMS: 1}), used)
		return
	}
	t.failNode(th, n, failure{class: graph.ClassTimeout, code: "timeout", text: "no answer before the deadline", used: used})
}

// chargeHandler settles what was reserved for the attempt. Once a visit is
// suspended nothing is held any more, and what it uses then is added.
func (t *turn) chargeHandler(th *thread, n *graph.Node, used graph.Usage) string {
	if n.Reserve == (graph.Usage{}) || th.input.Set {
		return t.charge(used)
	}
	t.p.ledger.Settle(holdKey(th), amountOf(used))
	return t.charge(graph.Usage{})
}

// charge counts what a handler has used and says which budget that exceeds.
func (t *turn) charge(used graph.Usage) string {
	switch over := t.p.ledger.Add(amountOf(used)); over {
	case "tokens":
		return "token budget exceeded" + t.whose(policy.Amount{Tokens: 1})
	case "cost":
		return "cost budget exceeded" + t.whose(policy.Amount{Cost: policy.Money{"USD": 1}})
	}
	return ""
}

// outcome interprets what a handler answered.
func (t *turn) outcome(th *thread, n *graph.Node, o graph.Outcome, used graph.Usage) {
	invalid := func(err error) { t.violated(th, n, err, used) }
	edge, outcome := graph.Edge{Route: graph.RouteContinue}, event.OutcomeContinue
	switch o.Kind {
	case graph.Fail:
		t.failNode(th, n, failure{class: o.Class, code: "node_failed", text: o.Error, retryable: o.Retryable, used: used})
		return
	case graph.Routed:
		to, ok := n.Successor(o.Route)
		if !ok {
			invalid(&graph.InvalidGraphError{Text: "undeclared route " + o.Route})
			return
		}
		edge, outcome = graph.Edge{Route: o.Route, To: to}, event.OutcomeRoute
	case graph.Terminate:
		if t.def.Graph.Version != 1 {
			invalid(&graph.InvalidGraphError{Text: "handler of " + n.ID + " ends the run, which only an end node may"})
			return
		}
	case graph.Continue, graph.Suspend:
	default:
		invalid(&graph.InvalidGraphError{Text: "handler of " + n.ID + " gives no outcome of a known kind"})
		return
	}
	marks := t.handlerMarks(th, n, o.Patch)
	if o.Patch != nil {
		if err := t.patch(th, n, o.Patch); err != nil {
			invalid(err)
			return
		}
	}
	t.mark(th, marks)
	switch o.Kind {
	case graph.Suspend:
		t.suspend(th, o.Reason, used)
	case graph.Terminate:
		t.terminate(th, o.Result, used)
	case graph.Continue:
		t.decideNext(th, n, used)
	default:
		t.leave(th, edge, outcome, used)
	}
}

// decideNext leaves a handler's node: by its cases, else by its one way on.
func (t *turn) decideNext(th *thread, n *graph.Node, used graph.Usage) {
	edge, ok, err := n.Decide(graph.Scope{State: t.view(th).Value, Visit: t.p.visitsAt(n, th.visit)})
	switch {
	case err != nil:
		t.violated(th, n, err, used)
	case !ok:
		t.violated(th, n, &graph.InvalidGraphError{Text: "continue has no declared `continue` transition"}, used)
	case edge.Route == graph.RouteContinue:
		t.leave(th, edge, event.OutcomeContinue, used)
	default:
		t.leave(th, edge, event.OutcomeRoute, used)
	}
}

// violated fails an attempt whose answer does not fit the graph or the state.
func (t *turn) violated(th *thread, n *graph.Node, err error, used graph.Usage) {
	t.failNode(th, n, failure{class: graph.ClassInvalid, code: codeOf(err), text: err.Error(), used: used})
}

func codeOf(err error) string {
	switch err.(type) {
	case *graph.InvalidGraphError:
		return "invalid_graph"
	case *graph.InvalidPatchError:
		return "invalid_patch"
	case *graph.SchemaViolationError:
		return "schema_violation"
	case *graph.RevisionConflictError:
		return "revision_conflict"
	}
	return "invalid"
}

// suspend commits what the handler has done so far and waits for an input.
func (t *turn) suspend(th *thread, reason string, used graph.Usage) {
	th.phase = awaitInput
	th.input = artifact.Optional[artifact.Value]{}
	t.stage(th, proposal{action: clip(reason), show: artifact.StringValue(clip(reason)), need: 1, method: event.MethodToken})
	t.emit(th, &event.Suspended{Cause: event.CauseInput, Reason: clip(reason), Usage: usageOf(amountOf(used)), Left: t.budget()})
}

// terminate ends a version 1 run with a result.
func (t *turn) terminate(th *thread, result artifact.Value, used graph.Usage) {
	t.countStep(th)
	canonical, err := artifact.CanonicalValue(result)
	if err != nil {
		t.endRunUsing(th, "invalid", err.Error(), used)
		return
	}
	t.endWith(th, canonical, used)
}

// gather gives the handlers, effects and calls that the step begins, or that a
// Recover finds open.
func (t *turn) gather() {
	if t.p.ended || t.err != nil {
		return
	}
	for i := range t.p.threads {
		th := &t.p.threads[i]
		switch th.phase {
		case working:
			if th.fresh || t.recovered {
				t.gatherWork(i)
			}
		case inEffect:
			if t.recovered {
				t.gatherEffect(th)
			}
		case inCall:
			if t.recovered {
				t.gatherCall(th)
			}
		}
	}
}

// gatherWork gives an attempt of a handler.
func (t *turn) gatherWork(i int) {
	th := &t.p.threads[i]
	n := t.node(th)
	if t.recovered && !th.announced {
		th.fromMS = t.now
	}
	th.fresh = false
	if t.p.ending != nil {
		return
	}
	view := t.view(th)
	in := graph.Invocation{
		Node: th.node, Visit: t.p.visitsAt(n, th.visit), Attempt: th.attempt, Revision: view.Revision, State: n.View(view.Value), Input: th.input,
	}
	w := Work{Node: th.node, Handler: n.Name, Visit: th.visit, Attempt: th.attempt, DeadlineMS: t.deadline(th, n), Rank: [2]uint64{th.steps, uint64(i)}}
	if t.def.Graph.Version != 1 && !n.Args.IsNull() {
		args, err := n.EvalArgs(graph.Scope{State: view.Value, Visit: t.p.visitsAt(n, th.visit)})
		if err != nil {
			w.Handler, w.Invocation.Node = "", err.Error()
		}
		in.Args = args
	}
	if w.Handler != "" {
		w.Invocation = in
	}
	t.out.Work = append(t.out.Work, w)
}
