package claims

import (
	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/policy"
)

// The kinds of records.
const (
	recordProposed  = "proposed"
	recordDecided   = "decided"
	recordCommitted = "committed"
)

// record is one line of a journal.
type record struct {
	kind      string
	key       string // of the effect; empty for none
	atMS      int64  // Unix milliseconds
	digest    artifact.Digest
	proposal  Proposal   // proposed
	approvals []Approval // decided: one; committed: those that decided

	// Where the line stands.
	seq  uint64
	prev artifact.Digest
}

// chain is the end of a journal.
type chain struct {
	seq  uint64
	last artifact.Digest // of the last line
}

// seal puts a record at the end, and gives its line.
func (c *chain) seal(r *record) []byte {
	r.seq, r.prev = c.seq+1, c.last
	line := r.value().AppendCompact(nil)
	c.seq, c.last = r.seq, artifact.Sum(line)
	return append(line, '\n')
}

func (r *record) value() artifact.Value {
	members := []artifact.Member{
		{Name: "v", Value: artifact.IntValue(1)},
		{Name: "seq", Value: artifact.UintValue(r.seq)},
		{Name: "prev", Value: artifact.StringValue(r.prev.String())},
		{Name: "type", Value: artifact.StringValue(r.kind)},
		{Name: "at_ms", Value: artifact.IntValue(r.atMS)},
		{Name: "proposal", Value: artifact.StringValue(r.digest.String())},
	}
	if r.key != "" {
		members = append(members, artifact.Member{Name: "key", Value: artifact.StringValue(r.key)})
	}
	switch r.kind {
	case recordProposed:
		members = append(members,
			artifact.Member{Name: "operation", Value: r.proposal.Operation},
			artifact.Member{Name: "justification", Value: artifact.StringValue(r.proposal.Justification)})
	default:
		list := make([]artifact.Value, len(r.approvals))
		for i, a := range r.approvals {
			list[i] = a.value()
		}
		members = append(members, artifact.Member{Name: "approvals", Value: artifact.ArrayValue(list...)})
	}
	return artifact.ObjectValue(members...)
}

// value gives an approval without its proposal and graph, which stand around it.
func (a Approval) value() artifact.Value {
	members := []artifact.Member{
		{Name: "kind", Value: artifact.StringValue(string(a.Kind))},
		{Name: "approve", Value: artifact.BoolValue(a.Decision.Approve)},
		{Name: "at_ms", Value: artifact.IntValue(a.Decision.DecidedMS)},
	}
	if a.Kind != ByPerson {
		return artifact.ObjectValue(append(members, artifact.Member{Name: "id", Value: artifact.StringValue(a.ID)})...)
	}
	members = append(members,
		artifact.Member{Name: "by", Value: artifact.StringValue(a.Decision.By.Name)},
		artifact.Member{Name: "method", Value: artifact.StringValue(a.Decision.Method.String())})
	if !a.Decision.By.Credential.IsZero() {
		members = append(members, artifact.Member{Name: "credential", Value: artifact.StringValue(a.Decision.By.Credential.String())})
	}
	return artifact.ObjectValue(members...)
}

// readRecord reads a line of the journal of a graph.
func readRecord(line []byte, graph string) (record, error) {
	v, err := artifact.ParseValue(line)
	if err != nil {
		return record{}, err
	}
	reader := artifact.NewReader(artifact.DocumentOf(v, "record"))
	o := reader.Root().Object()
	if version := o.Need("v"); version.Uint64() != 1 && version.Present() {
		version.Report("v is not 1")
	}
	r := record{
		seq: o.Need("seq").Uint64(), prev: readDigest(o.Need("prev")), kind: o.Need("type").Enum(recordProposed, recordDecided, recordCommitted),
		atMS: o.Need("at_ms").Int64(), digest: readDigest(o.Need("proposal")), key: o.May("key").Text(),
	}
	if r.kind == recordProposed {
		r.proposal = Proposal{Graph: graph, Operation: o.Need("operation").Value(), Justification: o.Need("justification").Text()}
	} else {
		for _, f := range o.Need("approvals").List() {
			r.approvals = append(r.approvals, readApproval(f, graph, r.digest))
		}
	}
	o.RefuseUnknown()
	return r, reader.Err()
}

func readApproval(f artifact.Field, graph string, proposal artifact.Digest) Approval {
	o := f.Object()
	a := Approval{Kind: Kind(o.Need("kind").Enum(string(ByPerson), string(ByPolicy), string(ByRun))), Graph: graph}
	a.Decision = policy.Decision{Proposal: proposal, Approve: o.Need("approve").Bool(), DecidedMS: o.Need("at_ms").Int64()}
	if a.Kind != ByPerson {
		a.ID = o.Need("id").Text()
		o.RefuseUnknown()
		return a
	}
	a.Decision.By.Name = o.Need("by").Text()
	if credential := o.May("credential"); credential.Present() {
		a.Decision.By.Credential = readDigest(credential)
	}
	method := o.Need("method")
	parsed, ok := policy.ParseMethod(method.Text())
	if !ok {
		method.Report("there is no method %.40q", method.Text())
	}
	a.Decision.Method = parsed
	o.RefuseUnknown()
	return a
}

func readDigest(f artifact.Field) artifact.Digest {
	d, err := artifact.ParseDigest(f.Text())
	if err != nil && f.Present() {
		f.Report("%v", err)
	}
	return d
}
