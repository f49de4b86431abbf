package engine

import (
	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/store"
)

// end evaluates an end node.
func (t *turn) end(th *thread, n *graph.Node) {
	result, err := n.EvalArgs(graph.Scope{State: t.view(th).Value, Visit: t.p.visitsAt(n, th.visit)})
	switch {
	case err != nil:
		t.failNode(th, n, failure{class: graph.ClassInvalid, code: "invalid", text: err.Error()})
	case n.Failure:
		text := result.String()
		if result.Kind() == artifact.KindString {
			text = result.Text()
		}
		t.countStep(th)
		t.endRun(th, "node_failed", text)
	default:
		t.countStep(th)
		t.endWith(th, result, graph.Usage{})
	}
}

// endWith terminates the run. Nothing else is open: an end node lies outside of
// all branches.
func (t *turn) endWith(th *thread, result artifact.Value, used graph.Usage) {
	r := t.keep(event.ScopeResult, "json", accessRun, result)
	end := t.endOf()
	t.emit(th, &event.Terminated{Result: r, End: end, Usage: usageOf(amountOf(used)), Left: t.budget()})
	t.close()
}

func (t *turn) endOf() event.End {
	p := &t.p
	return event.End{
		State: p.stateSum, Revision: p.state.Revision, Steps: p.steps, Totals: usageOf(p.ledger.Used()), Events: t.next(),
	}
}

func (t *turn) endRun(th *thread, code, text string) { t.endRunUsing(th, code, text, graph.Usage{}) }

// endRunUsing lets the run fail as soon as nothing is under way any more.
func (t *turn) endRunUsing(th *thread, code, text string, used graph.Usage) {
	if t.p.ending != nil {
		return
	}
	th.phase, th.effect = 0, nil
	t.p.ending = &ending{
		kind: event.TypeFailed, code: clip(code), text: t.text(text), node: th.node, visit: max(1, th.visit),
		attempt: max(1, th.attempt), usage: usageOf(amountOf(used)),
	}
}

// wind ends a run that is being wound up. Effects and calls that are under way
// are waited for, so that the log says what became of each; nothing new begins.
func (t *turn) wind() {
	e := t.p.ending
	if e == nil || t.p.ended || t.err != nil {
		return
	}
	open := false
	for i := range t.p.threads {
		if p := t.p.threads[i].phase; p == inEffect || p == inCall {
			open = true
		}
	}
	if open {
		t.out.Stop = true
		return
	}
	h := event.Header{AtMS: t.now, Node: e.node, Visit: e.visit, Attempt: e.attempt}
	switch e.kind {
	case event.TypeFailed:
		t.add(h, &event.Failed{Code: e.code, Error: e.text, End: t.endOf(), Usage: e.usage, Left: t.budget()})
	case event.TypeCancelled:
		t.add(h, &event.Cancelled{End: t.endOf()})
	default:
		t.add(event.Header{AtMS: t.now}, &event.Abandoned{Reason: e.text, By: e.by, Method: e.method, End: t.endOf()})
	}
	t.close()
	t.out.Stop = true
}

// close leaves the last checkpoint beside the last event, which stands for it:
// nothing may follow to announce it.
func (t *turn) close() {
	p := &t.p
	p.ended = true
	for i := range p.timers {
		t.out.Timers = append(t.out.Timers, store.Timer{ID: p.timers[i].id, Stop: true})
	}
	p.timers = nil
	if t.err == nil {
		t.save()
	}
}

// cancel asks the run to stop.
func (t *turn) cancel(in Cancel) *Refusal {
	if t.p.ending != nil {
		return &Refusal{Code: RefusedCancel, Message: "the run is ending already"}
	}
	t.tick(t.p.lastMS, t.now)
	t.emit(nil, &event.CancelRequested{Reason: clip(in.Reason), By: clip(in.By), Method: in.Method})
	e := &ending{kind: event.TypeCancelled}
	if len(t.p.threads) > 0 {
		th := &t.p.threads[0]
		e.node, e.visit, e.attempt = th.node, max(1, th.visit), max(1, th.attempt)
	}
	t.p.ending = e
	return nil
}

// abandon ends a run that nobody can continue, whatever is under way.
func (t *turn) abandon(in Abandon) *Refusal {
	for i := range t.p.threads {
		t.p.threads[i].phase = 0
	}
	t.p.ending = &ending{kind: event.TypeAbandoned, text: clip(in.Reason), by: clip(in.By), method: in.Method}
	return nil
}

// migrate moves the run to the machine's definition. Every node where the run
// stands must be there, of the same kind, and no effect may be under way.
func (t *turn) migrate(in Migrate) *Refusal {
	p, d := &t.p, t.def
	if err := d.Schema.Validate(p.state.Value); err != nil {
		return &Refusal{Code: RefusedPolicy, Message: "the state does not fit the new schema: " + err.Error()}
	}
	for i := range p.threads {
		th := &p.threads[i]
		n := d.Graph.Node(th.node)
		switch {
		case n == nil:
			return &Refusal{Code: RefusedPolicy, Message: "the new graph has no node " + th.node + ", where the run stands"}
		case th.branch != nil || th.phase == forked:
			return &Refusal{Code: RefusedPolicy, Message: "the run is inside fork branches at " + th.node + "; migrate it after the join"}
		case th.phase == inEffect || th.phase == unknown || th.phase == inCall:
			return &Refusal{Code: RefusedPolicy, Message: "an effect or a call is under way at " + th.node}
		}
	}
	p.definition, t.recovered = d.digests, true
	t.emit(nil, &event.Migrated{To: d.digests, Reason: clip(in.Reason), By: clip(in.By), Method: in.Method})
	return nil
}
