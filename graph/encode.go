package graph

import (
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/policy"
)

// object builds an object in the order of the calls, without what is absent.
type object struct{ members []artifact.Member }

func (o *object) put(name string, v artifact.Value) { o.members = append(o.members, member(name, v)) }

func (o *object) text(name, s string) {
	if s != "" {
		o.put(name, artifact.StringValue(s))
	}
}

func (o *object) number(name string, n uint64) {
	if n != 0 {
		o.put(name, artifact.UintValue(n))
	}
}

func (o *object) duration(name string, millis uint64) {
	if millis != 0 {
		o.put(name, artifact.StringValue(policy.FormatDuration(millis)))
	}
}

func (o *object) value(name string, v artifact.Value) {
	if !v.IsNull() {
		o.put(name, v)
	}
}

func (o *object) set(name string, list []string) {
	if len(list) > 0 {
		o.put(name, stringSet(list))
	}
}

func (o *object) shape(name string, s Shape) {
	if s != nil {
		o.put(name, s.value())
	}
}

func (o *object) build() artifact.Value { return artifact.ObjectValue(o.members...) }

// AsValue gives the canonical form of the definition: the wire form with members in
// a fixed order, nodes, sets and maps sorted by bytes, lengths of time in the
// largest unit that divides them, and neither defaults nor empty members. It
// reads back as the same definition.
func (d *Definition) AsValue() artifact.Value {
	o := &object{}
	o.number("version", 2)
	o.text("id", d.ID)
	o.text("description", d.Description)
	o.text("state_schema", d.StateSchema)
	o.shape("state", d.State)
	o.text("entry", d.Entry)
	limits := &object{}
	limits.number("max_steps", d.Limits.MaxSteps)
	limits.number("max_tokens", d.Limits.MaxTokens)
	limits.number("max_cost_micros", d.Limits.MaxCostMicros)
	limits.duration("timeout", d.Limits.TimeoutMillis)
	o.put("limits", limits.build())
	nodes := slices.Clone(d.Nodes)
	slices.SortStableFunc(nodes, func(a, b NodeDefinition) int { return strings.Compare(a.ID, b.ID) })
	members := make([]artifact.Member, len(nodes))
	for i := range nodes {
		members[i] = member(nodes[i].ID, nodes[i].value())
	}
	o.put("nodes", artifact.ObjectValue(members...))
	return o.build()
}

// Encode gives the canonical bytes.
func (d *Definition) Encode() []byte { return d.AsValue().AppendCompact(nil) }

// Digest gives the digest of the canonical bytes, the hash of the graph.
func (d *Definition) Digest() artifact.Digest { return artifact.Sum(d.Encode()) }

func (n *NodeDefinition) value() artifact.Value {
	o := &object{}
	o.text("description", n.Description)
	n.putWork(o)
	o.set("reads", n.Reads)
	switch n.Kind {
	case KindApprove, KindEnd:
	default:
		o.value("args", n.Args)
	}
	reserve := &object{}
	reserve.number("tokens", n.Reserve.Tokens)
	reserve.number("cost_micros", n.Reserve.CostMicros)
	if len(reserve.members) > 0 {
		o.put("reserve", reserve.build())
	}
	n.putWrites(o)
	if len(n.Cases) > 0 {
		cases := make([]artifact.Value, len(n.Cases))
		for i, c := range n.Cases {
			co := &object{}
			co.text("name", c.Name)
			co.put("when", artifact.StringValue(c.When))
			co.text("to", c.To)
			cases[i] = co.build()
		}
		o.put("cases", artifact.ArrayValue(cases...))
	}
	o.text("next", n.Next)
	if len(n.Routes) > 0 {
		routes := make([]artifact.Member, len(n.Routes))
		for i, r := range n.Routes {
			routes[i] = member(r.Route, artifact.StringValue(r.To))
		}
		slices.SortFunc(routes, func(a, b artifact.Member) int { return strings.Compare(a.Name, b.Name) })
		o.put("routes", artifact.ObjectValue(routes...))
	}
	o.number("max_visits", uint64(n.MaxVisits))
	o.value("retry", n.Retry.value())
	o.duration("timeout", n.TimeoutMillis)
	o.duration("deadline", n.DeadlineMillis)
	return o.build()
}

// putWork writes the member that names the kind, and what belongs to it.
func (n *NodeDefinition) putWork(o *object) {
	switch n.Kind {
	case KindHandler, KindTool, KindModel, KindRetrieve, KindJoin:
		o.text(string(n.Kind), n.Name)
	case KindApprove:
		o.text("approve", n.Name)
		o.value("show", n.Args)
		o.shape("answer", n.Answer)
		if n.Quorum > 1 {
			o.number("quorum", uint64(n.Quorum))
		}
	case KindWait:
		wait := &object{}
		wait.text("event", n.Name)
		wait.value("key", n.Key)
		wait.duration("for", n.ForMillis)
		wait.value("until", n.Until)
		o.put("wait", wait.build())
	case KindCall:
		o.text("call", n.Name)
		if !n.Digest.IsZero() {
			o.text("digest", n.Digest.String())
		}
		o.value("authority", n.Authority.value())
		o.shape("returns", n.Returns)
	case KindFork:
		o.put("fork", texts(n.Branches...))
	case KindEnd:
		name := "end"
		if n.Failure {
			name = "fail"
		}
		o.put(name, n.Args)
	}
}

func (n *NodeDefinition) putWrites(o *object) {
	if n.Kind == KindHandler {
		o.set("writes", n.Writes)
		return
	}
	if len(n.Set) == 0 && n.Kind != KindSet {
		return
	}
	members := make([]artifact.Member, len(n.Set))
	for i, a := range n.Set {
		members[i] = member(a.Path, a.Value)
	}
	slices.SortFunc(members, func(a, b artifact.Member) int { return strings.Compare(a.Name, b.Name) })
	o.put("set", artifact.ObjectValue(members...))
}

func (r Retry) value() artifact.Value {
	if r.Attempts == 0 {
		return artifact.Value{}
	}
	number := func(n uint64) artifact.Value { return artifact.UintValue(n) }
	o := &object{}
	o.put("attempts", number(uint64(r.Attempts)))
	o.duration("backoff", r.BackoffMillis)
	o.put("factor", number(uint64(max(r.Factor, 1))))
	o.duration("max_backoff", r.MaxBackoffMillis)
	o.put("jitter_percent", number(uint64(r.JitterPercent)))
	o.put("on", stringSet(r.On))
	return o.build()
}

func (a Authority) value() artifact.Value {
	o := &object{}
	set := func(name string, v artifact.Optional[[]string]) {
		if v.Set {
			o.put(name, stringSet(v.Value))
		}
	}
	number := func(name string, v artifact.Optional[uint64]) {
		if v.Set {
			o.put(name, artifact.UintValue(v.Value))
		}
	}
	set("capabilities", a.Capabilities)
	set("namespaces", a.Namespaces)
	number("max_steps", a.MaxSteps)
	number("max_tokens", a.MaxTokens)
	number("max_cost_micros", a.MaxCostMicros)
	if len(o.members) == 0 {
		return artifact.Value{}
	}
	return o.build()
}

func (s Shape) value() artifact.Value {
	members := make([]artifact.Member, len(s))
	for i, p := range s {
		name := "any"
		if p.Type != "" {
			name = strings.ToLower(string(p.Type))
		}
		if p.Optional {
			name += "?"
		}
		members[i] = member(p.Path, artifact.StringValue(name))
	}
	slices.SortFunc(members, func(a, b artifact.Member) int { return strings.Compare(a.Name, b.Name) })
	return artifact.ObjectValue(members...)
}
