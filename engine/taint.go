package engine

import (
	"slices"

	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
)

// Where values come from is kept for each part of the state, and follows the data:
// a value that an expression gives has the taint of what the expression depends
// on, a constant has none, and what is written over is forgotten. Choosing a way
// is no data. A handler is opaque: all that it may write depends on all that it
// sees. Each branch has marks of its own, as it has a state of its own.

// marks gives where the parts of the state that a thread works on come from.
func (t *turn) marks(th *thread) *policy.Marks {
	if th.branch == nil {
		return t.p.taint
	}
	return th.marks
}

// argsMarks gives where a node's arguments come from; nil when nothing is marked.
func (t *turn) argsMarks(th *thread, n *graph.Node) *policy.Marks {
	if t.marks(th).IsEmpty() {
		return nil
	}
	m := &policy.Marks{}
	for _, f := range n.ArgsFlow {
		if taint := t.taintOf(th, n, f, 0); taint != 0 {
			m.Set(f.Pointer, taint)
		}
	}
	if m.IsEmpty() {
		return nil
	}
	return m
}

// taintOf gives where the value of one expression comes from. The result is that
// of the node's work.
func (t *turn) taintOf(th *thread, n *graph.Node, f graph.Flow, result policy.Taint) policy.Taint {
	var taint policy.Taint
	if f.Result {
		taint = result
	}
	if f.Seen {
		return taint | t.taintSeen(th, n)
	}
	marks := t.marks(th)
	for _, pointer := range f.State {
		taint |= marks.At(pointer)
	}
	return taint
}

// taintSeen gives where all that a node sees of the state comes from.
func (t *turn) taintSeen(th *thread, n *graph.Node) policy.Taint {
	marks := t.marks(th)
	switch {
	case marks.IsEmpty():
		return 0
	case !n.EnforceReads:
		return marks.At("")
	}
	var taint policy.Taint
	state := t.view(th).Value
	for _, read := range n.Reads {
		taint |= marks.At(graph.Shown(state, read))
	}
	return taint
}

// taintOfResult gives where the result of a node's work comes from: from whoever
// gave it, and for work on arguments from these too.
func (t *turn) taintOfResult(th *thread, n *graph.Node) policy.Taint {
	var source policy.Taint
	switch n.Kind {
	case graph.KindModel:
		source = policy.FromModel
	case graph.KindTool:
		source = policy.FromTool
	case graph.KindRetrieve:
		source = policy.FromKnowledge
	case graph.KindCall:
		source = policy.FromTool | policy.FromModel
	case graph.KindWait, graph.KindApprove:
		return policy.FromRequest
	default: // set and join have no result
		return 0
	}
	return source | t.argsMarks(th, n).At("")
}

// mark says where a part of the state that was written comes from.
type mark struct {
	pointer string
	taint   policy.Taint
	kept    bool // what was there may have stayed
}

// setMarks gives the marks of what the set of a node writes. Like the values, they
// depend on the state before the write.
func (t *turn) setMarks(th *thread, n *graph.Node) []mark {
	result := t.taintOfResult(th, n)
	if result == 0 && t.marks(th).IsEmpty() {
		return nil
	}
	list := make([]mark, 0, len(n.Writes)+len(n.SetFlow))
	for _, path := range n.Writes {
		list = append(list, mark{pointer: path})
	}
	for _, f := range n.SetFlow {
		if taint := t.taintOf(th, n, f, result); taint != 0 {
			list = append(list, mark{pointer: f.Pointer, taint: taint})
		}
	}
	return list
}

// handlerMarks gives the marks of what a handler writes, before it is written.
// What it could have written and has not says something of what it saw, too.
func (t *turn) handlerMarks(th *thread, n *graph.Node, patch *graph.Patch) []mark {
	taint := t.taintSeen(th, n)
	if th.input.Set {
		taint |= policy.FromRequest
	}
	if taint == 0 && t.marks(th).IsEmpty() {
		return nil
	}
	list := make([]mark, len(n.Writes))
	for i, path := range n.Writes {
		list[i] = mark{pointer: path, taint: taint, kept: true}
		if patch != nil {
			_, written := patch.Operations[path]
			list[i].kept = !written
		}
	}
	return list
}

// mark keeps where what a thread has written comes from: for the thread, for the
// threads around its branch, and for the run.
func (t *turn) mark(th *thread, list []mark) {
	clean := !slices.ContainsFunc(list, func(m mark) bool { return m.taint != 0 })
	if len(list) == 0 || clean && t.marks(th).IsEmpty() {
		return
	}
	t.p.taint = marked(t.p.taint, list)
	for b := th.branch; b != nil; b = b.Parent {
		if i := t.p.thread(b); i >= 0 {
			x := &t.p.threads[i]
			x.marks = marked(x.marks, list)
			x.written = x.marks.Part(b.Writes)
		}
	}
}

// marked gives marks with others on top.
func marked(m *policy.Marks, list []mark) *policy.Marks {
	m = m.Clone()
	for _, x := range list {
		if x.kept {
			m.Add(x.pointer, x.taint)
		} else {
			m.Set(x.pointer, x.taint)
		}
	}
	if m.IsEmpty() {
		return nil
	}
	return m
}
