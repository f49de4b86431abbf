package engine

import (
	"slices"

	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
)

// fork starts a thread for every branch. Each sees the state as it is now and
// what it writes itself, nothing of the others.
func (t *turn) fork(i int, n *graph.Node) {
	th := &t.p.threads[i]
	t.announce(th)
	base, marks := t.view(th), t.marks(th)
	for k, b := range n.Fork.Branches {
		t.emit(th, &event.BranchStarted{Branch: b.Name, Index: uint32(k), Entry: b.Name})
	}
	t.countStep(th)
	t.emit(th, &event.Routed{Outcome: event.OutcomeContinue, Route: graph.RouteContinue, To: n.Fork.Join.ID, Left: t.budget()})
	th.phase, th.base, th.baseMarks, th.joined = forked, base, marks, nil
	branches := make([]thread, len(n.Fork.Branches))
	for k, b := range n.Fork.Branches {
		branches[k] = thread{branch: b, node: b.Name, state: base, marks: marks}
	}
	t.p.threads = slices.Insert(t.p.threads, i+1, branches...)
}

// join ends a branch. When it is the last one, the thread of the fork goes on at
// the join: the state has what every branch wrote, in whatever order it came.
func (t *turn) join(th *thread, join *graph.Node) {
	b := th.branch
	i := t.p.thread(b.Parent)
	parent := &t.p.threads[i]
	t.add(event.Header{AtMS: t.now, Node: parent.node, Visit: parent.visit, Attempt: parent.attempt},
		&event.BranchJoined{Branch: b.Name, Outcome: event.EndJoined, Join: join.ID})
	parent.joined = append(slices.Clip(parent.joined), b.Name)
	done := len(parent.joined) == len(b.Fork.Fork.Branches)
	if done {
		*parent = parent.moved(join.ID)
		parent.steps += th.steps
	}
	at := t.p.thread(b)
	t.p.threads = slices.Delete(t.p.threads, at, at+1)
}
