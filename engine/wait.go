package engine

import (
	"slices"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
)

// wait lets a thread wait for an event from outside or for a time.
func (t *turn) wait(th *thread, n *graph.Node) {
	t.announce(th)
	key, until, err := n.EvalWait(graph.Scope{State: t.view(th).Value, Visit: t.p.visitsAt(n, th.visit)})
	if err != nil {
		t.failNode(th, n, failure{class: graph.ClassInvalid, code: "invalid", text: err.Error()})
		return
	}
	if n.Name == "" {
		due := t.now + int64(n.ForMillis)
		if ms, ok := until.Uint(); ok {
			due = int64(min(ms, 1<<53))
		}
		th.phase = waiting
		t.setTimer(th, "wait", max(due, t.now))
		t.emit(th, &event.Suspended{Cause: event.CauseTimer, Reason: "waits for a time", Left: t.budget()})
		return
	}
	_, denial := t.def.Policy.Authorize(policy.Call{Kind: policy.KindEvent, Name: n.Name, NowMS: t.now}, t.p.ledger)
	if denial != nil {
		t.failNode(th, n, failure{class: classDenied, code: string(denial.Code), text: denial.Message + " (" + denial.Rule + ")"})
		return
	}
	th.phase, th.waitName = waiting, waitName(n.Name, key)
	due := t.deadline(th, n)
	if due > 0 {
		t.setTimer(th, "timeout", due)
	}
	t.emit(th, &event.WaitStarted{Wait: th.waitName, Timer: th.timer})
	t.emit(th, &event.Suspended{Cause: event.CauseEvent, Reason: "waits for " + clip(th.waitName), ExpiresMS: due, Left: t.budget()})
}

// waitName tells events of one name apart by their key.
func waitName(name string, key artifact.Value) string {
	if key.IsNull() {
		return name
	}
	return clip(name + " " + key.String())
}

// signal gives an event from outside to the thread that waits for it. An event
// that was consumed is not consumed again, whatever waits by then.
func (t *turn) signal(in Signal) *Refusal {
	if in.ID != "" && slices.Contains(t.p.seen, eventMark(in.ID)) {
		t.out.Duplicate = true
		return nil
	}
	key, err := artifact.CanonicalValue(in.Key)
	if err != nil {
		return &Refusal{Code: RefusedInput, Message: err.Error()}
	}
	payload, err := artifact.CanonicalValue(in.Payload)
	if err != nil {
		return &Refusal{Code: RefusedInput, Message: err.Error()}
	}
	name := waitName(in.Name, key)
	i := slices.IndexFunc(t.p.threads, func(th thread) bool { return th.phase == waiting && th.waitName == name })
	if i < 0 || t.p.ending != nil {
		return &Refusal{Code: RefusedNotWaiting, Message: "the run does not wait for " + clip(name)}
	}
	th := &t.p.threads[i]
	payload = t.redact(event.ScopeArgs, payload)
	if refusal := t.takes(th, t.node(th), payload); refusal != nil {
		return refusal
	}
	t.p.lastMS = max(t.p.lastMS, t.now)
	method := methodFor(in.By, in.Method)
	r := t.keep(event.ScopeArgs, "json", accessRun, payload)
	t.emit(th, &event.EventReceived{Wait: name, ID: clip(in.ID), Payload: r, By: clip(in.By), Method: method})
	t.stopTimer(th)
	t.emit(th, &event.Resumed{Cause: event.CauseEvent, By: clip(in.By), Method: method})
	if in.ID != "" {
		t.remember(eventMark(in.ID))
	}
	th.fromMS, th.waitName = t.now, ""
	t.complete(th, t.node(th), payload, graph.Usage{})
	return nil
}

// eventMark is how an event that was consumed is remembered.
func eventMark(id string) string { return "event:" + id }

func methodFor(by, method string) string {
	if method == "" {
		return methodOf(by)
	}
	return method
}

// takes refuses what somebody sends for a node whose set, cases or schema of the
// state cannot take it: a sender's mistake must not end the run.
func (t *turn) takes(th *thread, n *graph.Node, value artifact.Value) *Refusal {
	view := t.view(th)
	scope := graph.Scope{State: view.Value, Result: value, Visit: t.p.visitsAt(n, th.visit)}
	patch, err := n.EvalPatch(scope, view.Revision)
	if err == nil && len(patch.Operations) > 0 {
		var after graph.Snapshot
		after, err = graph.Reduce(view, patch, n.Writes, t.def.Schema, graph.Provenance{ExecutionID: t.p.exec, NodeID: th.node, EventSequence: t.next()})
		scope.State = after.Value
	}
	if err == nil {
		_, _, err = n.Decide(scope)
	}
	if err != nil {
		return &Refusal{Code: RefusedInput, Message: err.Error(), Pointer: lastPath(err)}
	}
	return nil
}

// timerDue lets a thread go on whose time has come.
func (t *turn) timerDue(in TimerDue) *Refusal {
	i := slices.IndexFunc(t.p.threads, func(th thread) bool { return th.timer == in.ID && in.ID != "" })
	k := slices.IndexFunc(t.p.timers, func(x timer) bool { return x.id == in.ID })
	if i < 0 || k < 0 {
		return &Refusal{Code: RefusedStale, Message: "no timer " + clip(in.ID) + " is running"}
	}
	due := t.p.timers[k].dueMS
	if t.now < due {
		return &Refusal{Code: RefusedStale, Message: "the timer " + in.ID + " is not due"}
	}
	if t.p.ending != nil {
		return &Refusal{Code: RefusedCancel, Message: "the run is ending"}
	}
	th := &t.p.threads[i]
	n := t.node(th)
	t.tick(t.p.lastMS, min(t.now, max(due, t.p.lastMS)))
	t.emit(th, &event.TimerFired{Timer: in.ID})
	t.dropTimer(th)
	switch th.phase {
	case retry:
		t.repeat(th, n)
	case waiting:
		t.emit(th, &event.Resumed{Cause: event.CauseTimer, Method: event.MethodSystem})
		th.fromMS = t.now
		if n.Name == "" {
			t.complete(th, n, artifact.Value{}, graph.Usage{})
			break
		}
		th.waitName = ""
		t.failNode(th, n, failure{class: graph.ClassTimeout, code: "timeout", text: "the event did not come in time"})
	case approval:
		t.expire(th, n)
	}
	return nil
}

// expire closes an approval that nobody decided in time.
func (t *turn) expire(th *thread, n *graph.Node) {
	a := th.asked
	t.emit(th, &event.ApprovalDecided{
		Proposal: a.proposal, Decision: event.DecisionExpire, Method: event.MethodSystem, Have: distinct(a.decisions), Need: a.need,
		Quorum: event.QuorumClosed,
	})
	t.emit(th, &event.Resumed{Cause: event.CauseTimer, Method: event.MethodSystem})
	th.asked, th.fromMS = nil, t.now
	if e := th.effect; e != nil {
		t.emit(th, &event.EffectDenied{Key: e.key, Code: string(policy.CodeApprovalStale), Message: "nobody decided in time", Left: t.budget()})
		t.closeIntent(e)
		th.effect = nil
	}
	t.failNode(th, n, failure{class: graph.ClassTimeout, code: "timeout", text: "nobody decided in time"})
}
