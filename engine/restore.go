package engine

import (
	"fmt"
	"slices"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
)

// Restore reads a checkpoint. The head is that of the log which it belongs to;
// who calls it has checked that the log names these bytes. A checkpoint of
// another definition is read too, for [Migrate] and [Abandon].
func (m *Machine) Restore(data []byte, head event.Head) (Position, error) {
	r, err := checkpointReader(data, "checkpoint of "+head.Exec)
	if err != nil {
		return Position{}, err
	}
	o := r.Root().Object()
	if v := o.Need("v"); v.Uint16() != 2 {
		v.Report("version of the checkpoint is not 2")
	}
	p := Position{head: head, exec: o.Need("exec").Identifier(), definition: readDefinition(o.Need("definition"))}
	foreign := p.definition != m.def.digests
	p.starter = policy.Principal{Name: o.May("by").Text(), Credential: readDigest(o.May("key"))}
	p.method, p.owner, p.saltRef = o.May("method").Text(), o.May("owner").Text(), readDigest(o.May("salt"))
	p.parent = o.May("parent").Text()
	p.state = readSnapshot(o.Need("state"))
	p.stateSum = artifact.Sum(p.state.Value.AppendCompact(nil))
	p.visits = m.readVisits(o.Need("visits"), foreign)
	if carried := o.May("carried"); carried.Present() {
		p.carried = m.readVisits(carried, foreign)
	}
	p.steps, p.elapsedMS = o.May("steps").Uint64(), o.May("elapsed_ms").Uint64()
	p.lastMS, p.clock = o.May("last_ms").Int64(), o.May("clock").Bool()
	p.ended = o.May("ended").Bool()
	p.ledger = m.def.Policy.RestoreLedger(o.Need("ledger"))
	m.readOpen(o, &p, foreign)
	p.ending = readEnding(o.May("ending"))
	o.RefuseUnknown()
	if err := r.Err(); err != nil {
		return Position{}, err
	}
	if p.exec != head.Exec {
		return Position{}, fmt.Errorf("checkpoint of %s: it belongs to %s", head.Exec, p.exec)
	}
	return p, nil
}

// readOpen reads what is open in a run: threads, timers, and what is known of what
// came in.
func (m *Machine) readOpen(o *artifact.Object, p *Position, foreign bool) {
	p.taint, p.given = policy.ReadMarks(o.May("taint")), policy.ReadMarks(o.May("given"))
	for _, f := range o.Need("threads").List() {
		p.threads = append(p.threads, m.readThread(f, p, foreign))
	}
	for _, f := range o.May("timers").List() {
		x := f.Object()
		p.timers = append(p.timers, timer{x.Need("id").Identifier(), x.Need("purpose").Text(), x.Need("node").Identifier(), x.Need("due_ms").Int64()})
		x.RefuseUnknown()
	}
	for _, f := range o.May("seen").List() {
		p.seen = append(p.seen, f.Text())
	}
}

func (m *Machine) readVisits(f artifact.Field, foreign bool) []uint32 {
	visits := make([]uint32, len(m.def.Graph.Nodes))
	for id, count := range f.Map() {
		switch n := m.def.Graph.Node(id); {
		case n != nil:
			visits[n.Index] = count.Uint32()
		case !foreign:
			count.Report("the graph has no node %s", id)
		}
	}
	return visits
}

// checkpointReader reads the text of a checkpoint. Its size is for the store to
// bound.
func checkpointReader(data []byte, source string) (*artifact.Reader, error) {
	v, err := artifact.ParseValue(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return artifact.NewFirstReader(artifact.DocumentOf(v, source)), nil
}

// SaltOf gives the digest of the blob with the salt of a run's redactions, which a
// checkpoint of the run names; zero where there is none.
func SaltOf(checkpoint []byte) (artifact.Digest, error) {
	r, err := checkpointReader(checkpoint, "checkpoint")
	if err != nil {
		return artifact.Digest{}, err
	}
	d := readDigest(r.Root().Object().May("salt"))
	return d, r.Err()
}

func readDefinition(f artifact.Field) event.Definition {
	o := f.Object()
	d := event.Definition{
		Graph: readDigest(o.Need("graph")), Schema: readDigest(o.Need("schema")), Pack: readDigest(o.Need("pack")),
		Policy: readDigest(o.Need("policy")), Nodes: readDigest(o.Need("nodes")), Contract: readDigest(o.Need("contract")),
	}
	o.RefuseUnknown()
	return d
}

func readDigest(f artifact.Field) artifact.Digest {
	if !f.Present() {
		return artifact.Digest{}
	}
	d, err := artifact.ParseDigest(f.Text())
	if err != nil {
		f.Report("%v", err)
	}
	return d
}

func readSnapshot(f artifact.Field) graph.Snapshot {
	o := f.Object()
	s := graph.Snapshot{SchemaID: o.Need("schema_id").Identifier(), Revision: o.May("revision").Uint64(), Value: o.Need("value").Value()}
	s.Provenance = readProvenance(o.May("by"))
	o.RefuseUnknown()
	return s
}

func readProvenance(f artifact.Field) *graph.Provenance {
	if !f.Present() {
		return nil
	}
	o := f.Object()
	by := &graph.Provenance{ExecutionID: o.Need("exec").Identifier(), NodeID: o.Need("node").Identifier(), EventSequence: o.Need("seq").Uint64()}
	o.RefuseUnknown()
	return by
}

func (m *Machine) readThread(f artifact.Field, p *Position, foreign bool) thread {
	o := f.Object()
	th := thread{
		node: o.Need("node").Identifier(), visit: o.May("visit").Uint32(), attempt: o.May("attempt").Uint32(),
		announced: o.May("announced").Bool(), visitMS: o.May("visit_ms").Int64(), fromMS: o.May("from_ms").Int64(),
		steps: o.May("steps").Uint64(), timer: o.May("timer").Text(), waitName: o.May("wait").Text(), call: o.May("call").Text(),
	}
	if name := o.May("phase"); name.Present() {
		th.phase = phase(max(0, slices.Index(phaseNames[:], name.Enum(phaseNames[1:]...))))
	}
	if !foreign && m.def.Graph.Node(th.node) == nil {
		f.Report("the graph has no node %s", th.node)
	}
	if fork := o.May("fork"); fork.Present() {
		m.readBranch(o, &th, p, foreign)
	}
	if base := o.May("base"); base.Present() {
		th.base, th.baseMarks = readSnapshot(base), policy.ReadMarks(o.May("base_taint"))
	}
	for _, j := range o.May("joined").List() {
		th.joined = append(th.joined, j.Text())
	}
	if o.Has("input") {
		th.input = artifact.Some(o.Need("input").Value())
	}
	th.effect = readEffect(o.May("effect"))
	th.asked = readApproval(o.May("asked"))
	if th.call != "" {
		th.link = event.Link{Kind: o.Need("link").Text(), Exec: p.exec, Seq: o.Need("link_seq").Uint64(), Digest: readDigest(o.Need("link_digest"))}
		th.reserve = readAmount(o.Need("reserve"))
	}
	o.RefuseUnknown()
	if problem := m.checkThread(&th, p); problem != "" && !foreign {
		f.Report("thread at %s: %s", th.node, problem)
	}
	return th
}

// checkThread says what a thread lacks that its phase needs.
func (m *Machine) checkThread(th *thread, p *Position) string {
	n := m.def.Graph.Node(th.node)
	if n == nil {
		return "no such node"
	}
	isEffect := n.Kind == graph.KindTool || n.Kind == graph.KindModel || n.Kind == graph.KindRetrieve
	ok := true
	switch th.phase {
	case working, awaitInput:
		ok = n.Kind == graph.KindHandler && (th.phase == working || th.asked != nil)
	case inEffect, unknown:
		ok = isEffect && th.effect != nil
	case approval:
		ok = th.asked != nil && (th.asked.effect && isEffect && th.effect != nil || !th.asked.effect && n.Kind == graph.KindApprove)
	case waiting:
		ok = n.Kind == graph.KindWait
	case retry:
		ok = th.timer != ""
	case inCall:
		ok = n.Kind == graph.KindCall && th.call != ""
	case forked:
		ok = n.Fork != nil
	}
	switch {
	case !ok:
		return "it cannot be in phase " + th.phase.String()
	case th.phase != 0 && (th.visit == 0 || th.attempt == 0 || p.visits[n.Index] < th.visit):
		return "its visit is not counted"
	case n.Branch != th.branch:
		return "it is in another branch"
	}
	return ""
}

// readBranch finds the branch and its state: that of its fork, which was read
// before, with the branch's own changes.
func (m *Machine) readBranch(o *artifact.Object, th *thread, p *Position, foreign bool) {
	name, id := o.Need("branch"), o.Need("fork").Identifier()
	fork := m.def.Graph.Node(id)
	o.Know("changes", "revision", "by", "taint")
	if fork != nil && fork.Fork != nil {
		for _, b := range fork.Fork.Branches {
			if b.Name == name.Text() {
				th.branch = b
			}
		}
	}
	if th.branch == nil {
		if !foreign {
			name.Report("the graph has no branch %s", name.Text())
		}
		th.branch = &graph.Branch{Name: name.Text(), Fork: &graph.Node{NodeDefinition: graph.NodeDefinition{ID: id}}}
		return
	}
	at := p.thread(th.branch.Parent)
	if at < 0 || p.threads[at].phase != forked {
		name.Report("the branch has no fork")
		return
	}
	base := p.threads[at].base
	th.marks, th.written = p.threads[at].baseMarks, policy.ReadMarks(o.May("taint"))
	if th.written != nil {
		th.marks = th.marks.Graft(th.branch.Writes, th.written)
	}
	th.state = graph.Snapshot{SchemaID: base.SchemaID, Revision: o.May("revision").Uint64(), Value: base.Value, Provenance: readProvenance(o.May("by"))}
	if !o.Has("changes") {
		return
	}
	th.changes = o.Need("changes").Value().AppendCompact(nil)
	changes, err := graph.DecodePatch(th.changes, "changes")
	if err != nil {
		name.Report("%v", err)
		return
	}
	after, err := graph.Reduce(base, *changes, changes.Paths(), m.def.Schema, graph.Provenance{})
	if err != nil {
		name.Report("%v", err)
		return
	}
	th.state.Value = after.Value
}

func readEffect(f artifact.Field) *openEffect {
	if !f.Present() {
		return nil
	}
	o := f.Object()
	e := &openEffect{
		key: o.Need("key").Text(), port: o.Need("port").Text(), name: o.Need("name").Text(), seq: o.Need("seq").Uint64(),
		deadlineMS: o.May("deadline_ms").Int64(), proposal: readDigest(o.May("proposal")), held: o.May("held").Bool(),
		permit: policy.Permit{
			Rule: o.May("rule").Text(), Account: o.May("account").Text(), Reserve: readAmount(o.Need("reserve")),
			TimeoutMS: o.May("timeout_ms").Uint64(), OutputBytes: o.May("output_bytes").Uint64(),
			MemoryBytes: o.May("memory_bytes").Uint64(), MaxOutputTokens: o.May("output_tokens").Uint64(),
		},
	}
	o.RefuseUnknown()
	return e
}

func readAmount(f artifact.Field) policy.Amount {
	o := f.Object()
	a := policy.Amount{
		Calls: o.May("calls").Uint64(), Tokens: o.May("tokens").Uint64(), Units: o.May("units").Uint64(), DurationMS: o.May("duration_ms").Uint64(),
	}
	for currency, micros := range o.May("cost").Map() {
		if a.Cost == nil {
			a.Cost = policy.Money{}
		}
		a.Cost[currency] = micros.Uint64()
	}
	o.RefuseUnknown()
	return a
}

func readApproval(f artifact.Field) *openApproval {
	if !f.Present() {
		return nil
	}
	o := f.Object()
	a := &openApproval{
		proposal: readDigest(o.Need("proposal")), action: o.May("action").Text(), schema: readDigest(o.May("schema")),
		need: o.Need("need").Uint32(), method: o.Need("method").Text(), policy: readDigest(o.Need("policy")),
		expiresMS: o.May("expires_ms").Int64(), effect: o.May("effect").Bool(),
	}
	for _, token := range o.May("tokens").List() {
		a.tokens = append(a.tokens, readDigest(token))
	}
	for _, d := range o.Need("decisions").List() {
		x := d.Object()
		method, _ := policy.ParseMethod(x.Need("method").Text())
		a.decisions = append(a.decisions, policy.Decision{
			Proposal: a.proposal, Approve: x.May("approve").Bool(), Method: method, DecidedMS: x.May("at_ms").Int64(),
			By: policy.Principal{Name: x.May("by").Text(), Credential: readDigest(x.May("credential"))},
		})
		x.RefuseUnknown()
	}
	o.RefuseUnknown()
	return a
}

func readEnding(f artifact.Field) *ending {
	if !f.Present() {
		return nil
	}
	o := f.Object()
	e := &ending{
		kind: event.Type(o.Need("kind").Enum(string(event.TypeFailed), string(event.TypeCancelled), string(event.TypeAbandoned))),
		code: o.May("code").Text(), text: o.May("text").Text(), node: o.May("node").Text(), visit: o.May("visit").Uint32(),
		attempt: o.May("attempt").Uint32(), usage: usageOf(readAmount(o.Need("usage"))), by: o.May("by").Text(), method: o.May("method").Text(),
	}
	o.RefuseUnknown()
	return e
}
