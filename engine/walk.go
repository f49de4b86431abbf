package engine

import (
	"fmt"
	"slices"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
)

// walk enters nodes as long as a thread has one to enter that needs nothing from
// outside first.
func (t *turn) walk() {
	for range maxChain {
		i := slices.IndexFunc(t.p.threads, func(th thread) bool { return th.phase == 0 })
		if i < 0 || t.p.ended || t.p.ending != nil || t.err != nil {
			return
		}
		t.enter(i)
	}
}

func (t *turn) node(th *thread) *graph.Node { return t.def.Graph.Node(th.node) }

// enter begins a visit: the run's limits first, then what the node's kind does.
func (t *turn) enter(i int) {
	th := &t.p.threads[i]
	n := t.node(th)
	if n == nil {
		t.endRun(th, "invalid_graph", (&graph.InvalidGraphError{Text: "pending node missing"}).Error())
		return
	}
	th.attempt, th.announced, th.visitMS, th.fromMS = 1, false, t.now, t.now
	th.visit = t.p.visits[n.Index] + 1
	if text := t.overLimit(); text != "" {
		t.checkpointBefore()
		t.endRun(th, string(policy.CodeBudgetExhausted), text)
		return
	}
	t.p.visits[n.Index]++
	if n.MaxVisits > 0 && t.p.visitsAt(n, th.visit) > uint64(n.MaxVisits) {
		t.exhausted(i, n)
		return
	}
	switch n.Kind {
	case graph.KindHandler:
		t.begin(th, n)
	case graph.KindTool, graph.KindModel, graph.KindRetrieve:
		t.request(th, n)
	case graph.KindApprove:
		t.propose(th, n)
	case graph.KindWait:
		t.wait(th, n)
	case graph.KindCall:
		t.callGraph(th, n)
	case graph.KindFork:
		t.fork(i, n)
	case graph.KindSet, graph.KindJoin:
		t.announce(th)
		t.complete(th, n, artifact.Value{}, graph.Usage{})
	case graph.KindEnd:
		t.announce(th)
		t.end(th, n)
	}
}

// overLimit says which limit of the run forbids another visit; "" for none. The
// visits that are open count as if they had ended.
func (t *turn) overLimit() string {
	open := uint64(0)
	for i := range t.p.threads {
		if p := t.p.threads[i].phase; p != 0 && p != forked {
			open++
		}
	}
	steps, time := t.p.ledger.StepsLeft(), t.p.ledger.TimeLeft()
	switch {
	case steps.Set && steps.Value <= open:
		return "step budget exceeded" + t.whose(policy.Amount{Steps: open + 1})
	case time.Set && time.Value == 0 && t.p.ledger.Clone().Add(policy.Amount{}) == "time":
		return "timeout budget exceeded" + t.whose(policy.Amount{TimeMS: 1})
	}
	return ""
}

// whose names who set a limit, unless it was the graph, whose limits need no name.
func (t *turn) whose(need policy.Amount) string {
	denial := t.p.ledger.Clone().Charge(need)
	own := "graph " + t.def.Graph.ID + ":"
	if denial == nil || len(denial.Rule) >= len(own) && denial.Rule[:len(own)] == own {
		return ""
	}
	return " (" + denial.Rule + ")"
}

// exhausted ends a visit that is one too many.
func (t *turn) exhausted(i int, n *graph.Node) {
	th := &t.p.threads[i]
	to, ok := n.Successor(graph.RouteExhausted)
	if !ok || t.def.Graph.Version == 1 {
		t.checkpointBefore()
		t.endRun(th, "cycle_limit", "cycle limit exceeded")
		return
	}
	t.announce(th)
	t.leave(th, graph.Edge{Route: graph.RouteExhausted, To: to}, event.OutcomeRoute, graph.Usage{})
}

// complete ends a visit whose work gave a result: set changes the state, then
// the cases decide.
func (t *turn) complete(th *thread, n *graph.Node, result artifact.Value, used graph.Usage) {
	scope := graph.Scope{State: t.view(th).Value, Result: result, Visit: t.p.visitsAt(n, th.visit)}
	marks := t.setMarks(th, n)
	patch, err := n.EvalPatch(scope, t.view(th).Revision)
	if err == nil && len(patch.Operations) > 0 {
		err = t.patch(th, n, &patch)
	}
	if err != nil {
		t.failNode(th, n, failure{class: graph.ClassInvalid, code: "invalid", text: err.Error(), used: used})
		return
	}
	t.mark(th, marks)
	scope.State = t.view(th).Value
	edge, ok, err := n.Decide(scope)
	switch {
	case err != nil:
		t.failNode(th, n, failure{class: graph.ClassInvalid, code: "invalid", text: err.Error(), used: used})
	case !ok:
		t.endRun(th, "invalid_graph", (&graph.InvalidGraphError{Text: "continue has no declared `continue` transition"}).Error())
	default:
		outcome := event.OutcomeRoute
		if edge.Route == graph.RouteContinue {
			outcome = event.OutcomeContinue
		}
		t.leave(th, edge, outcome, used)
	}
}

// leave ends a visit and goes on to the next node. What the attempt itself used
// is charged by then; used is for the record.
func (t *turn) leave(th *thread, edge graph.Edge, outcome string, used graph.Usage) {
	t.stopTimer(th)
	t.countStep(th)
	t.emit(th, &event.Routed{Outcome: outcome, Route: edge.Route, To: edge.To, Usage: usageOf(amountOf(used)), Left: t.budget()})
	t.left = th.node
	*th = th.moved(edge.To)
	if next := t.def.Graph.Node(edge.To); next != nil && th.branch != nil && next.Kind == graph.KindJoin && next.Join == th.branch.Fork {
		t.join(th, next)
	}
}

func (t *turn) countStep(th *thread) {
	t.p.steps++
	th.steps++
	t.p.ledger.Add(policy.Amount{Steps: 1})
}

// view gives the state that a thread works on.
func (t *turn) view(th *thread) graph.Snapshot {
	if th.branch == nil {
		return t.p.state
	}
	return th.state
}

// patch changes the state: for the thread, for the threads around its branch,
// and for the run, whose revisions count all patches in the order of the log. The
// write sets of branches are disjoint, so that the order does not matter.
func (t *turn) patch(th *thread, n *graph.Node, patch *graph.Patch) error {
	by := graph.Provenance{ExecutionID: t.p.exec, NodeID: th.node, EventSequence: t.next()}
	inner, err := t.reduceBranches(th, n, patch, by)
	if err != nil {
		return err
	}
	if th.branch != nil {
		whole := rebased(patch, t.p.state.Revision)
		patch = &whole
	}
	after, err := graph.Reduce(t.p.state, *patch, n.Writes, t.def.Schema, by)
	if err != nil {
		return err
	}
	text := patchText(patch)
	if len(text) > maxPatch {
		return &graph.InvalidPatchError{Text: "patch has " + uintText(uint64(len(text))) + " bytes; keep large content outside of the state"}
	}
	for i, state := range inner { // from here on nothing fails
		t.p.threads[i].state = state
		t.p.changed(&t.p.threads[i])
	}
	t.p.state = after
	t.p.stateSum = artifact.Sum(after.Value.AppendCompact(nil))
	t.emit(th, &event.StatePatched{Revision: after.Revision, Patch: event.JSON(text), State: t.p.stateSum})
	return nil
}

// reduceBranches gives the states after a patch of the branch that a thread is in
// and of those around it, by the index of their threads.
func (t *turn) reduceBranches(th *thread, n *graph.Node, patch *graph.Patch, by graph.Provenance) (map[int]graph.Snapshot, error) {
	if th.branch == nil {
		return nil, nil
	}
	states := map[int]graph.Snapshot{}
	for b := th.branch; b != nil; b = b.Parent {
		i := t.p.thread(b)
		if i < 0 {
			continue
		}
		before := t.p.threads[i].state
		own := *patch
		if b != th.branch {
			own = rebased(patch, before.Revision)
		}
		after, err := graph.Reduce(before, own, n.Writes, t.def.Schema, by)
		if err != nil {
			return nil, err
		}
		states[i] = after
	}
	return states, nil
}

// maxPatch is the most bytes of one patch: it has to fit into an event.
const maxPatch = event.MaxBytes / 2

func rebased(p *graph.Patch, revision uint64) graph.Patch {
	return graph.Patch{BaseRevision: revision, Operations: p.Operations}
}

// failure is a failed attempt.
type failure struct {
	class     string
	code      string
	text      string
	retryable bool // version 1, and effects
	used      graph.Usage
}

// failNode ends a failed attempt: by another one, along a route for it, or with
// the run.
func (t *turn) failNode(th *thread, n *graph.Node, f failure) {
	if t.err != nil || t.p.ending != nil && t.p.ending.kind == event.TypeFailed {
		return
	}
	if t.p.ending == nil && t.again(th, n, f) {
		t.retryNode(th, n, f)
		return
	}
	if t.def.Graph.Version != 1 && t.p.ending == nil {
		routes := []string{graph.RouteFailed}
		switch f.class {
		case graph.ClassTimeout:
			routes = []string{graph.RouteTimeout, graph.RouteFailed}
		case classDenied:
			routes = []string{graph.RouteDenied}
		}
		for _, route := range routes {
			if to, ok := n.Successor(route); ok && slices.ContainsFunc(n.Routes, func(e graph.Edge) bool { return e.Route == route }) {
				t.leave(th, graph.Edge{Route: route, To: to}, event.OutcomeRoute, f.used)
				return
			}
		}
	}
	t.stopTimer(th)
	t.countStep(th)
	t.endRunUsing(th, f.code, f.text, f.used)
}

// classDenied is the class of what was refused. No policy retries it.
const classDenied = "denied"

// again reports whether the attempt is to be repeated.
func (t *turn) again(th *thread, n *graph.Node, f failure) bool {
	if left := t.timeLeft(); left.Set && left.Value == 0 {
		return false
	}
	if n.DeadlineMillis > 0 && t.now >= th.visitMS+int64(n.DeadlineMillis) {
		return false
	}
	if t.def.Graph.Version == 1 {
		return f.retryable && th.attempt <= t.def.RetriesV1
	}
	return n.Retry.Covers(f.class, th.attempt)
}

func (t *turn) retryNode(th *thread, n *graph.Node, f failure) {
	delay := uint64(0)
	if t.def.Graph.Version != 1 {
		delay = n.Retry.Delay(t.p.exec, th.node, uint64(th.visit), th.attempt)
	}
	t.stopTimer(th)
	t.emit(th, &event.Retrying{
		Attempt: th.attempt + 1, DelayMS: delay, Class: clip(f.class), Error: t.text(f.text), Usage: usageOf(amountOf(f.used)), Left: t.budget(),
	})
	visit, attempt, visitMS := th.visit, th.attempt+1, th.visitMS
	*th = th.moved(th.node)
	th.visit, th.attempt, th.visitMS, th.fromMS = visit, attempt, visitMS, t.now
	if delay > 0 {
		th.phase = retry
		t.setTimer(th, "retry", t.now+int64(delay))
		return
	}
	t.repeat(th, n)
}

// repeat begins the next attempt.
func (t *turn) repeat(th *thread, n *graph.Node) {
	th.fromMS = t.now
	if n.Kind == graph.KindHandler {
		t.begin(th, n)
		return
	}
	th.phase = 0
	t.work(th, n)
}

// begin lets a handler's attempt begin, unless what it may use does not fit.
func (t *turn) begin(th *thread, n *graph.Node) {
	if n.Reserve != (graph.Usage{}) {
		permit := policy.Permit{Name: n.Name, Reserve: amountOf(n.Reserve)}
		if denial := t.p.ledger.Reserve(holdKey(th), permit); denial != nil {
			t.announce(th)
			t.failNode(th, n, failure{class: classDenied, code: string(denial.Code), text: denial.Message + " (" + denial.Rule + ")"})
			return
		}
	}
	th.phase, th.fresh = working, true
}

// holdKey names what is reserved for a handler's attempt.
func holdKey(th *thread) string {
	return "handler " + th.node + " " + uintText(uint64(th.visit)) + " " + uintText(uint64(th.attempt))
}

// work does again what enter does for a node that can fail and be repeated.
func (t *turn) work(th *thread, n *graph.Node) {
	switch n.Kind {
	case graph.KindTool, graph.KindModel, graph.KindRetrieve:
		t.request(th, n)
	case graph.KindCall:
		t.callGraph(th, n)
	case graph.KindApprove:
		t.propose(th, n)
	case graph.KindWait:
		t.wait(th, n)
	case graph.KindSet, graph.KindJoin:
		t.announce(th)
		t.complete(th, n, artifact.Value{}, graph.Usage{})
	default:
		t.fail(fmt.Errorf("repeat %s: a %s node has no second attempt", n.ID, n.Kind))
	}
}
