package engine

import (
	"encoding/hex"
	"strconv"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/store"
)

// A checkpoint is a position as a JSON document, version 2. Its digest is in the
// Checkpointed event before the head of the log, or belongs to the last event of
// an ended run, so that an edited one is found out. Every append has one: a run
// is taken up again without reading its log.

// checkpoint closes a step with the event that announces its checkpoint.
func (t *turn) checkpoint() {
	if t.err != nil || t.recorded {
		return
	}
	data := t.encode()
	h := event.Header{AtMS: t.now}
	if node := t.left; node != "" {
		n := t.def.Graph.Node(node)
		h.Node, h.Visit, h.Attempt = node, max(1, t.p.visits[n.Index]), 1
	} else if len(t.p.threads) > 0 && t.p.threads[0].visit > 0 {
		th := &t.p.threads[0]
		h.Node, h.Visit, h.Attempt = th.node, th.visit, th.attempt
	}
	t.add(h, &event.Checkpointed{Checkpoint: artifact.Sum(data), State: t.p.stateSum, Revision: t.p.state.Revision, Pending: t.p.Pending()})
	t.keepCheckpoint(data)
}

// checkpointBefore announces what the step has done so far, before the event that
// ends the run at the node that would be next.
func (t *turn) checkpointBefore() {
	if len(t.out.Events) > 0 && t.left != "" {
		t.checkpoint()
	}
}

// save leaves the checkpoint of an ended run beside its last event.
func (t *turn) save() { t.keepCheckpoint(t.encode()) }

func (t *turn) keepCheckpoint(data []byte) {
	if n := len(t.out.Events); n > 0 && t.err == nil {
		t.out.Checkpoint = &store.Checkpoint{Seq: t.out.Events[n-1].Seq, Bytes: data}
	}
}

// writer appends the members of a JSON document.
type writer struct {
	b    []byte
	more bool
}

func (w *writer) name(s string) {
	if w.more {
		w.b = append(w.b, ',')
	}
	w.more = true
	w.b = append(w.b, '"')
	w.b = append(append(w.b, s...), '"', ':')
}

func (w *writer) open(c byte) { w.b = append(w.b, c); w.more = false }

func (w *writer) end(c byte) { w.b = append(w.b, c); w.more = true }

// item begins an element of an array.
func (w *writer) item() {
	if w.more {
		w.b = append(w.b, ',')
	}
	w.more = true
}

func (w *writer) text(name, s string) {
	if s != "" {
		w.name(name)
		w.b = artifact.AppendString(w.b, s)
	}
}

func (w *writer) uint(name string, n uint64) {
	if n != 0 {
		w.name(name)
		w.b = strconv.AppendUint(w.b, n, 10)
	}
}

func (w *writer) int(name string, n int64) { w.uint(name, uint64(max(0, n))) }

func (w *writer) flag(name string, set bool) {
	if set {
		w.name(name)
		w.b = append(w.b, "true"...)
	}
}

func (w *writer) digest(name string, d artifact.Digest) {
	if !d.IsZero() {
		w.name(name)
		w.digestText(d)
	}
}

func (w *writer) digestText(d artifact.Digest) {
	w.b = append(w.b, `"sha256:`...)
	w.b = hex.AppendEncode(w.b, d[:])
	w.b = append(w.b, '"')
}

func (w *writer) value(name string, v artifact.Value) {
	w.name(name)
	w.b = v.AppendCompact(w.b)
}

func (w *writer) digests(name string, list []artifact.Digest) {
	if len(list) == 0 {
		return
	}
	w.name(name)
	w.open('[')
	for _, d := range list {
		w.item()
		w.digestText(d)
	}
	w.end(']')
}

func (w *writer) texts(name string, list []string) {
	if len(list) == 0 {
		return
	}
	w.name(name)
	w.open('[')
	for _, s := range list {
		w.item()
		w.b = artifact.AppendString(w.b, s)
	}
	w.end(']')
}

// encode gives the checkpoint's bytes.
func (t *turn) encode() []byte {
	p := &t.p
	w := writer{b: make([]byte, 0, p.room.checkpoint)}
	w.open('{')
	w.uint("v", 2)
	w.text("exec", p.exec)
	w.name("definition")
	w.definition(p.definition)
	w.text("by", p.starter.Name)
	w.digest("key", p.starter.Credential)
	w.text("method", p.method)
	w.text("owner", p.owner)
	w.text("parent", p.parent)
	w.digest("salt", p.saltRef)
	w.snapshot("state", p.state)
	t.encodeVisits(&w, "visits", p.visits)
	if p.carried != nil {
		t.encodeVisits(&w, "carried", p.carried)
	}
	w.uint("steps", p.steps)
	w.uint("elapsed_ms", p.elapsedMS)
	w.int("last_ms", p.lastMS)
	status, _ := p.Status()
	w.flag("ended", p.ended)
	w.flag("clock", status == store.Running && !p.ended)
	w.name("ledger")
	w.b = p.ledger.AppendValue(w.b)
	w.marks("taint", p.taint)
	w.marks("given", p.given)
	w.name("threads")
	w.open('[')
	for i := range p.threads {
		w.item()
		w.thread(&p.threads[i])
	}
	w.end(']')
	w.timers(p.timers)
	w.texts("seen", p.seen)
	w.ending(p.ending)
	w.end('}')
	p.room.checkpoint = len(w.b) + 64
	return w.b
}

func (t *turn) encodeVisits(w *writer, name string, visits []uint32) {
	w.name(name)
	w.open('{')
	for i, n := range visits {
		if n != 0 {
			w.uint(t.def.Graph.Nodes[i].ID, uint64(n))
		}
	}
	w.end('}')
}

func (w *writer) definition(d event.Definition) {
	w.open('{')
	w.digest("graph", d.Graph)
	w.digest("schema", d.Schema)
	w.digest("pack", d.Pack)
	w.digest("policy", d.Policy)
	w.digest("nodes", d.Nodes)
	w.digest("contract", d.Contract)
	w.end('}')
}

func (w *writer) snapshot(name string, s graph.Snapshot) {
	w.name(name)
	w.open('{')
	w.text("schema_id", s.SchemaID)
	w.uint("revision", s.Revision)
	w.value("value", s.Value)
	w.provenance(s.Provenance)
	w.end('}')
}

func (w *writer) provenance(by *graph.Provenance) {
	if by != nil {
		w.name("by")
		w.open('{')
		w.text("exec", by.ExecutionID)
		w.text("node", by.NodeID)
		w.uint("seq", by.EventSequence)
		w.end('}')
	}
}

// marks writes where values come from; nothing for nil, which stands for no marks.
func (w *writer) marks(name string, m *policy.Marks) {
	if m != nil {
		w.value(name, m.Value())
	}
}

func (w *writer) thread(th *thread) {
	w.open('{')
	if b := th.branch; b != nil {
		w.text("fork", b.Fork.ID)
		w.text("branch", b.Name)
		w.branchState(th)
	}
	w.text("node", th.node)
	w.uint("visit", uint64(th.visit))
	w.uint("attempt", uint64(th.attempt))
	w.text("phase", th.phase.String())
	w.flag("announced", th.announced)
	w.int("visit_ms", th.visitMS)
	if th.phase != working || th.announced { // else it is whenever the handler begins
		w.int("from_ms", th.fromMS)
	}
	w.uint("steps", th.steps)
	w.text("timer", th.timer)
	if th.phase == forked {
		w.snapshot("base", th.base)
		w.marks("base_taint", th.baseMarks)
		w.texts("joined", th.joined)
	}
	if th.input.Set {
		w.value("input", th.input.Value)
	}
	w.effect(th.effect)
	w.approval(th.asked)
	w.text("wait", th.waitName)
	if th.call != "" {
		w.text("call", th.call)
		w.text("link", th.link.Kind)
		w.uint("link_seq", th.link.Seq)
		w.digest("link_digest", th.link.Digest)
		w.amount("reserve", th.reserve)
	}
	w.end('}')
}

// branchState writes what a branch has changed since its fork, whose state stands
// with the thread of the fork, and so do its marks.
func (w *writer) branchState(th *thread) {
	if th.changes != nil {
		w.name("changes")
		w.b = append(w.b, th.changes...)
	}
	w.uint("revision", th.state.Revision)
	w.provenance(th.state.Provenance)
	w.marks("taint", th.written)
}

// changed works out anew what a branch has changed.
func (p *Position) changed(th *thread) {
	fork := &p.threads[p.thread(th.branch.Parent)]
	if patch := graph.Difference(fork.base, th.state, th.branch.Writes); len(patch.Operations) > 0 {
		th.changes = patch.Encode()
	} else {
		th.changes = nil
	}
}

func (w *writer) effect(e *openEffect) {
	if e == nil {
		return
	}
	w.name("effect")
	w.open('{')
	w.text("key", e.key)
	w.text("port", e.port)
	w.text("name", e.name)
	w.uint("seq", e.seq)
	w.int("deadline_ms", e.deadlineMS)
	w.digest("proposal", e.proposal)
	w.flag("held", e.held)
	w.text("rule", e.permit.Rule)
	w.text("account", e.permit.Account)
	w.amount("reserve", e.permit.Reserve)
	w.uint("timeout_ms", e.permit.TimeoutMS)
	w.uint("output_bytes", e.permit.OutputBytes)
	w.uint("memory_bytes", e.permit.MemoryBytes)
	w.uint("output_tokens", e.permit.MaxOutputTokens)
	w.end('}')
}

func (w *writer) amount(name string, a policy.Amount) {
	w.name(name)
	w.open('{')
	w.uint("calls", a.Calls)
	w.uint("tokens", a.Tokens)
	w.uint("units", a.Units)
	w.uint("duration_ms", a.DurationMS)
	if len(a.Cost) > 0 {
		w.name("cost")
		w.open('{')
		for _, currency := range artifact.SortedNames(a.Cost) {
			w.uint(currency, a.Cost[currency])
		}
		w.end('}')
	}
	w.end('}')
}

func (w *writer) approval(a *openApproval) {
	if a == nil {
		return
	}
	w.name("asked")
	w.open('{')
	w.digest("proposal", a.proposal)
	w.text("action", a.action)
	w.digest("schema", a.schema)
	w.uint("need", uint64(a.need))
	w.text("method", a.method)
	w.digest("policy", a.policy)
	w.digests("tokens", a.tokens)
	w.int("expires_ms", a.expiresMS)
	w.flag("effect", a.effect)
	w.name("decisions")
	w.open('[')
	for _, d := range a.decisions {
		w.item()
		w.open('{')
		w.text("by", d.By.Name)
		w.digest("credential", d.By.Credential)
		w.text("method", d.Method.String())
		w.flag("approve", d.Approve)
		w.int("at_ms", d.DecidedMS)
		w.end('}')
	}
	w.end(']')
	w.end('}')
}

func (w *writer) timers(list []timer) {
	if len(list) == 0 {
		return
	}
	w.name("timers")
	w.open('[')
	for _, x := range list {
		w.item()
		w.open('{')
		w.text("id", x.id)
		w.text("purpose", x.purpose)
		w.text("node", x.node)
		w.int("due_ms", x.dueMS)
		w.end('}')
	}
	w.end(']')
}

func (w *writer) ending(e *ending) {
	if e == nil {
		return
	}
	w.name("ending")
	w.open('{')
	w.text("kind", string(e.kind))
	w.text("code", e.code)
	w.text("text", e.text)
	w.text("node", e.node)
	w.uint("visit", uint64(e.visit))
	w.uint("attempt", uint64(e.attempt))
	w.amount("usage", policy.Amount{Tokens: e.usage.Tokens, Cost: policy.Money(e.usage.Cost)})
	w.text("by", e.by)
	w.text("method", e.method)
	w.end('}')
}
