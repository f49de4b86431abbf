package policy

import (
	"slices"

	"github.com/writ-dev/writ/artifact"
)

// rule is what all layers together say about one effect.
type rule struct {
	kind    Kind
	name    string // empty for a rule that permits every name
	label   string // of the permit
	account string // of the ledger
	parts   []*part

	limits  ceilings // of all calls
	perCall ceilings

	timeoutMS, outputBytes, memoryBytes, maxOutput uint64
	approval                                       Requirement
}

// ceiling is an upper bound and who set it.
type ceiling struct {
	value uint64
	by    *bounder // nil for no bound
}

// bounder is who set a bound: a layer at a path of the pack, or the graph, the
// parent or the request.
type bounder struct {
	name  string
	layer *layer   // nil when no pack set it
	path  []string // of the limits object
}

// ceilings are the lowest bounds of several [Limits].
type ceilings struct {
	amount  [resources]ceiling
	cost    map[string]ceiling
	rest    *bounder // who bounds the currencies that are not listed by 0; nil for nobody
	sources []bounds // all of them, for saying which would have to change
}

// bounds are the limits that one bounder sets. closed says that a currency which
// they do not list is bounded by 0, provided that they list any; needsCurrency
// that this is so even when they list none.
type bounds struct {
	Limits
	by                    *bounder
	closed, needsCurrency bool
}

// lower takes the bounds of b where they are lower.
func (c *ceilings) lower(b bounds) {
	c.sources = append(slices.Clip(c.sources), b)
	for r := range resources {
		if n := b.at(r); n.Set && (c.amount[r].by == nil || n.Value < c.amount[r].value) {
			c.amount[r] = ceiling{n.Value, b.by}
		}
	}
	listed := artifact.SortedNames(b.Cost)
	for currency := range c.cost {
		if !contains(listed, currency) {
			listed = append(listed, currency)
		}
	}
	for _, currency := range listed {
		n, bound := b.currency(currency)
		old := c.of(currency)
		if bound && (old.by == nil || n < old.value) {
			c.put(currency, ceiling{n, b.by})
		}
	}
	if _, bound := b.currency(""); bound && c.rest == nil {
		c.rest = b.by
	}
}

// currency gives the bound of a currency, if there is one.
func (b bounds) currency(name string) (micros uint64, ok bool) {
	if b.Cost == nil {
		return 0, b.needsCurrency
	}
	n, listed := b.Cost[name]
	return n, listed || b.closed
}

// below lists who sets a bound that is lower than to: of a currency, or else of a
// resource.
func (c *ceilings) below(r resource, currency string, to uint64) []*bounder {
	var list []*bounder
	for _, s := range c.sources {
		n, ok := s.at(r).Value, s.at(r).Set
		if currency != "" {
			n, ok = s.currency(currency)
		}
		if ok && n < to {
			list = append(list, s.by)
		}
	}
	return list
}

func (c *ceilings) put(currency string, bound ceiling) {
	if c.cost == nil {
		c.cost = map[string]ceiling{}
	}
	c.cost[currency] = bound
}

// of gives the bound of a currency.
func (c *ceilings) of(currency string) ceiling {
	if bound, ok := c.cost[currency]; ok {
		return bound
	}
	return ceiling{0, c.rest}
}

func (c ceilings) clone() ceilings {
	cost := c.cost
	c.cost = nil
	for currency, bound := range cost {
		c.put(currency, bound)
	}
	return c
}

// assemble makes a policy of layers, the pack's first.
func assemble(pack *Pack, o Options, layers []*layer) *Policy {
	p := &Policy{pack: pack, agent: o.Agent, options: o, layers: layers, asks: true}
	p.capabilities, p.namespaces = map[string]bool{}, map[string]Access{}
	for capability := range layers[0].authority.Capabilities {
		p.capabilities[capability] = true
	}
	for namespace, access := range layers[0].authority.Namespaces {
		p.namespaces[namespace] = access
	}
	for _, l := range layers {
		p.narrow(l)
	}
	for k := range namedKinds {
		p.assembleKind(k)
	}
	for _, l := range layers {
		for _, pointer := range l.authority.Redact {
			if !slices.Contains(p.redact, pointer) {
				p.redact = append(p.redact, pointer)
			}
		}
	}
	slices.Sort(p.redact)
	p.digest = artifact.Sum(canonical(p.Value()))
	return p
}

// narrow takes into account what is not granted by name.
func (p *Policy) narrow(l *layer) {
	a := l.authority
	if a.Capabilities != nil {
		for capability := range p.capabilities {
			if _, ok := a.Capabilities[capability]; !ok {
				delete(p.capabilities, capability)
			}
		}
	}
	if a.Namespaces != nil {
		for namespace, access := range p.namespaces {
			p.namespaces[namespace] = min(access, a.Namespaces[namespace])
		}
	}
	path := []string{"limits"}
	if l.agent != "" {
		path = []string{"agents", l.agent, "limits"}
	}
	// A pack that names no currency lets nothing be spent. Version 1 knows none.
	p.run.lower(bounds{a.Limits, &bounder{l.name, l, path}, true, l.grants && p.pack.Version != 1})
	p.notBeforeMS = max(p.notBeforeMS, l.notBeforeMS)
	if l.expiresMS != 0 && (p.expiresMS == 0 || l.expiresMS < p.expiresMS) {
		p.expiresMS = l.expiresMS
	}
	p.asks = p.asks && l.asksPeople()
	p.approval.raise(a.Approvals, defaultMethod(a), l.name+": approvals")
	p.narrowBlobs(l)
}

func (p *Policy) narrowBlobs(l *layer) {
	switch b := l.authority.Blobs; {
	case l.grants:
		p.blobs = map[string]uint64{}
		for class, retention := range b {
			p.blobs[class] = retention
		}
	case b != nil:
		for class, retention := range p.blobs {
			if narrower, ok := b[class]; !ok {
				delete(p.blobs, class)
			} else {
				p.blobs[class] = min(retention, narrower)
			}
		}
	}
}

// raise takes what is stricter.
func (r *Requirement) raise(a *ApprovalRule, weakest Method, rule string) {
	if a == nil {
		if weakest > r.Method {
			r.Method = weakest
		}
		return
	}
	if a.Quorum > r.Quorum {
		r.Quorum, r.Rule = a.Quorum, rule
	}
	if a.Method.Set {
		weakest = a.Method.Value
	}
	r.Method = max(r.Method, weakest)
	if a.ExpiresMS != 0 && (r.ExpiresMS == 0 || a.ExpiresMS < r.ExpiresMS) {
		r.ExpiresMS = a.ExpiresMS
	}
}

// assembleKind joins what the layers say about the effects of one kind.
func (p *Policy) assembleKind(k Kind) {
	var names []string
	everyName := true
	for _, l := range p.layers {
		named, _, open := l.section(k)
		if open {
			continue
		}
		own := artifact.SortedNames(named)
		if everyName {
			names, everyName = own, false
			continue
		}
		names = slices.DeleteFunc(names, func(n string) bool { return !contains(own, n) })
	}
	if everyName {
		p.wild[k] = p.newRule(k, "")
		return
	}
	p.rules[k] = make(map[string]*rule, len(names))
	for _, name := range names {
		p.rules[k][name] = p.newRule(k, name)
	}
}

func (p *Policy) newRule(k Kind, name string) *rule {
	r := &rule{kind: k, name: name, account: k.Section() + "." + name}
	if name == "" {
		r.account = k.Section()
	}
	r.outputBytes, r.memoryBytes = DefaultOutputBytes, DefaultMemoryBytes
	if k == KindExec {
		r.timeoutMS = DefaultExecTimeout
	}
	given := struct{ timeout, output, memory bool }{}
	for _, l := range p.layers {
		named, part, _ := l.section(k)
		if part == nil {
			part = named[name]
		}
		if part == nil {
			continue
		}
		r.parts = append(r.parts, part)
		if r.label == "" {
			r.label = part.rule
		}
		g := part.grant
		lowest(&r.timeoutMS, g.TimeoutMS, &given.timeout)
		lowest(&r.outputBytes, g.OutputBytes, &given.output)
		lowest(&r.memoryBytes, g.MemoryBytes, &given.memory)
		if g.MaxOutputTokens != 0 && (r.maxOutput == 0 || g.MaxOutputTokens < r.maxOutput) {
			r.maxOutput = g.MaxOutputTokens
		}
		r.limits.lower(bounds{g.Limits, &bounder{part.rule, l, append(slices.Clone(part.path), "limits")}, true, false})
		r.perCall.lower(bounds{g.PerCall, &bounder{part.rule, l, append(slices.Clone(part.path), "per_call")}, true, false})
		if g.Approval != nil {
			r.approval.raise(g.Approval, MethodAsserted, part.rule+".approval")
		}
	}
	if r.approval.Quorum > 0 {
		r.approval.Quorum = max(r.approval.Quorum, p.approval.Quorum)
		r.approval.Method = max(r.approval.Method, p.approval.Method)
		if e := p.approval.ExpiresMS; e != 0 && (r.approval.ExpiresMS == 0 || e < r.approval.ExpiresMS) {
			r.approval.ExpiresMS = e
		}
	}
	return r
}

// lowest replaces a default by the first value given, and then takes lower ones.
func lowest(have *uint64, given uint64, set *bool) {
	if given == 0 {
		return
	}
	if !*set || given < *have {
		*have, *set = given, true
	}
}
