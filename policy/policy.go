package policy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/writ-dev/writ/artifact"
)

// Value gives the canonical policy document: every layer with all that it
// permits, and the options that change a decision.
func (p *Policy) Value() artifact.Value {
	layers := make([]artifact.Value, len(p.layers))
	for i, l := range p.layers {
		layers[i] = l.value()
	}
	var f fields
	f.put("version", artifact.UintValue(2))
	f.put("layers", artifact.ArrayValue(layers...))
	f.number("condition_cost", p.pack.ConditionCost)
	return f.object()
}

func (l *layer) value() artifact.Value {
	var f fields
	f.text("name", l.name)
	f.flag("grants", l.grants)
	f.time("not_before", l.notBeforeMS)
	f.time("expires", l.expiresMS)
	if l.pack != nil && l.pack.Version == 1 && l.agent == "" {
		f.text("constraints", "version 1")
	}
	if l.authority.Capabilities != nil {
		f.put("bindings", stringMap(l.authority.Capabilities))
	}
	f.put("authority", l.authority.Value())
	return f.object()
}

// Digest gives the policy hash: that of the canonical form of [Policy.Value]. Two
// forms of one pack have the same, and whatever changes a decision changes it.
func (p *Policy) Digest() artifact.Digest { return p.digest }

// Pack gives the pack that the policy was made of.
func (p *Policy) Pack() *Pack { return p.pack }

// Agent gives the agent that the policy is narrowed to, if any.
func (p *Policy) Agent() string { return p.agent }

// Binding gives what the host is to bind to a capability.
func (p *Policy) Binding(capability string) (string, bool) {
	if !p.capabilities[capability] {
		return "", false
	}
	binding, ok := p.layers[0].authority.Capabilities[capability]
	return binding, ok
}

// Granted lists the effects of a kind that are granted by name, sorted. A kind
// that version 1 grants as a whole has the one name *.
func (p *Policy) Granted(k Kind) []string {
	if k >= namedKinds {
		return nil
	}
	if p.wild[k] != nil {
		return []string{"*"}
	}
	return artifact.SortedNames(p.rules[k])
}

// Namespace gives how a namespace may be used.
func (p *Policy) Namespace(name string) Access { return p.namespaces[name] }

// Limits gives the run limits of the policy, without those of graph and request.
func (p *Policy) Limits() Limits { return p.Ledger().Left() }

// Redactions lists the typed pointers whose values are never stored, sorted.
func (p *Policy) Redactions() []string { return slices.Clone(p.redact) }

// Retention says how long the bytes of an access class may be kept, in
// milliseconds, [Forever] for as long as anybody likes. Bytes of a class that is
// not named are not kept at all.
func (p *Policy) Retention(class string) (millis uint64, ok bool) {
	millis, ok = p.blobs[class]
	return millis, ok
}

// Approvals gives how people are to decide where a rule says nothing stricter.
func (p *Policy) Approvals() Requirement { return p.approval }

// Run is what is about to run under a policy.
type Run struct {
	Graph      artifact.Digest // of the graph definition
	Definition artifact.Digest // of the agent's document; zero when there is none
	NowMS      int64           // Unix milliseconds
}

// Admit decides whether a run may start or go on at all, before anything of it is
// recorded: the pack is valid now, and graph and agent are those that it names.
func (p *Policy) Admit(run Run) *Denial {
	j := judge{policy: p}
	j.inTime(run.NowMS)
	if a, ok := p.pack.Agents[p.agent]; ok && p.pack.Version != 1 {
		rule := p.layers[0].name + ": agents." + p.agent
		at := []string{"agents", p.agent}
		if a.Graphs != nil && !slices.Contains(a.Graphs, run.Graph) {
			j.deny(CodeGraphNotAllowed, rule+".graphs", "graph %s is not one that the agent may run", run.Graph)
			j.fix.set(p.layers[0], append(at, "graphs"), stringList(append(digestTexts(a.Graphs), run.Graph.String())), "add graph %s", run.Graph)
		}
		if a.Definitions != nil && !slices.Contains(a.Definitions, run.Definition) {
			j.deny(CodeAgentNotAllowed, rule+".definition", "the agent's document has another digest than the pack names")
			if at = append(at[:2:2], "definition"); run.Definition.IsZero() {
				j.fix.remove(p.layers[0], at, "name no document")
			} else {
				j.fix.pin(p.layers[0], at, a.Definitions, run.Definition, "the document")
			}
		}
	}
	if j.denial == nil {
		return nil
	}
	return j.verdict(&Call{Kind: KindHandoff, Name: "run"})
}

// Narrow gives the policy of a child: what the parent permits and the request
// names. Whatever it permits the parent permits too. A request for something that
// the parent does not have is refused, naming all of it, since a child that is
// given less than it asks for fails later and less clearly. Name is how denials
// show the child, such as "handoff review/child".
func Narrow(parent *Policy, name string, request *Authority) (*Policy, *Denial) {
	if request == nil {
		request = &Authority{}
	}
	c := &compiler{pack: parent.pack, options: parent.options, reader: artifact.NewReader(artifact.DocumentOf(request.Value(), name))}
	l := c.narrowingLayer(name, request)
	if err := c.reader.Err(); err != nil {
		return nil, &Denial{Code: CodeInvalidContract, Message: err.Error(), Rule: name, Kind: KindHandoff, Name: name, Fix: &Fix{Words: "mend the request"}}
	}
	if excess := parent.excess(request); len(excess) > 0 {
		return nil, parent.escalation(name, excess)
	}
	return assemble(parent.pack, parent.options, append(slices.Clone(parent.layers), l)), nil
}

// narrowingLayer compiles an authority that narrows. Its arguments are JSON
// Schema whatever the version of the pack.
func (c *compiler) narrowingLayer(name string, a *Authority) *layer {
	version2 := *c
	pack := *c.pack
	pack.Version = 2
	version2.pack = &pack
	return version2.authorityLayer(name, a, "", nil)
}

func (p *Policy) escalation(name string, excess []string) *Denial {
	return &Denial{
		Code: CodeAuthorityExceeded, Kind: KindHandoff, Name: name, Rule: p.layers[len(p.layers)-1].name,
		Message: "asks for more than the parent has: " + joinWords(excess),
		Fix:     &Fix{Words: "ask for less, or grant it to the parent first"},
	}
}

// excess lists what a request names and p does not permit.
func (p *Policy) excess(a *Authority) []string {
	var list []string
	for _, capability := range artifact.SortedNames(a.Capabilities) {
		if !p.capabilities[capability] {
			list = append(list, "capability "+capability)
		}
	}
	for _, namespace := range artifact.SortedNames(a.Namespaces) {
		if want := a.Namespaces[namespace]; p.namespaces[namespace] < want {
			list = append(list, fmt.Sprintf("%s of namespace %s", want, namespace))
		}
	}
	for k := range namedKinds {
		for _, name := range artifact.SortedNames(a.Grants[k]) {
			if _, ok := p.rules[k][name]; !ok && p.wild[k] == nil {
				list = append(list, k.String()+" "+name)
			}
		}
	}
	for r := range resources {
		if n, bound := a.Limits.at(r), p.run.amount[r]; n.Set && bound.by != nil && n.Value > bound.value {
			list = append(list, fmt.Sprintf("%s %s, above %s", r.shown(n.Value).Text(), resourceNames[r], r.shown(bound.value).Text()))
		}
	}
	for _, currency := range artifact.SortedNames(a.Limits.Cost) {
		if n, bound := a.Limits.Cost[currency], p.run.of(currency); bound.by != nil && n > bound.value {
			list = append(list, fmt.Sprintf("%d micros of %s, above %d", n, currency, bound.value))
		}
	}
	return list
}

// Handoff gives the policy under which a graph runs that the parent hands over
// to: the parent's, narrowed by what the pack grants for that destination and by
// what the graph asks for. The authority is looked up here; a caller cannot
// supply a wider one. Authorize the handoff itself first.
func (p *Policy) Handoff(destination string, request *Authority) (*Policy, *Denial) {
	child := p
	for _, l := range p.layers {
		part := l.parts[KindHandoff][destination]
		if part == nil || part.grant.Authority == nil {
			continue
		}
		narrowed, err := child.withLayer("handoff "+destination, part.grant.Authority)
		if err != nil {
			return nil, &Denial{Code: CodeInvalidContract, Message: err.Error(), Rule: part.rule, Kind: KindHandoff, Name: destination, Fix: &Fix{Words: "mend the pack"}}
		}
		child = narrowed
	}
	return Narrow(child, "graph "+destination, request)
}

// withLayer narrows without asking whether the authority names too much: in a
// pack it is an upper bound.
func (p *Policy) withLayer(name string, a *Authority) (*Policy, error) {
	c := &compiler{pack: p.pack, options: p.options, reader: artifact.NewReader(artifact.DocumentOf(a.Value(), name))}
	l := c.narrowingLayer(name, a)
	if err := c.reader.Err(); err != nil {
		return nil, errors.New("authority of " + name + ": " + err.Error())
	}
	return assemble(p.pack, p.options, append(slices.Clone(p.layers), l)), nil
}

// Authority gives a version 1 authority as a request to [Narrow].
func (a AuthorityV1) Authority() *Authority {
	request := &Authority{Capabilities: map[string]string{}, Namespaces: map[string]Access{}}
	for _, capability := range a.Capabilities {
		request.Capabilities[capability] = capability
	}
	for _, namespace := range a.Namespaces {
		request.Namespaces[namespace] = AccessWrite
	}
	request.Limits.Steps = artifact.Some(a.MaxSteps)
	request.Limits.Cost = Money{"USD": a.MaxCostMicros}
	return request
}

// Request gives the authority that a handoff asks for: capabilities by their own
// names, and namespaces to read. What is not set is not narrowed.
func Request(capabilities, namespaces artifact.Optional[[]string]) *Authority {
	request := &Authority{}
	if capabilities.Set {
		request.Capabilities = map[string]string{}
		for _, c := range capabilities.Value {
			request.Capabilities[c] = c
		}
	}
	if namespaces.Set {
		request.Namespaces = map[string]Access{}
		for _, namespace := range namespaces.Value {
			request.Namespaces[namespace] = AccessRead
		}
	}
	return request
}
