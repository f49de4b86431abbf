package policy

import (
	"slices"

	"github.com/writ-dev/writ/schema"
)

// Planned is a call before its run: as much of it as the graph says. What stands in
// the place of an unknown part counts for nothing.
type Planned struct {
	Call

	Unknown []string // pointers into Args whose values only the run knows; "" for all of Args

	UnknownAction bool   // claims, http
	UnknownURL    bool   // http
	UnknownArgv   []bool // exec: one for each of Argv; nil when all are known
	OpenArgv      bool   // exec: whether arguments may follow of which nothing is known
}

// Foresee gives the denial that every call of this plan would meet in a new run,
// whatever its unknown parts are, or nil. It is [Policy.Authorize] without what a
// run brings: the time, approvals, and where arguments come from. The bounds are
// those of the run besides the pack's. Uses of state are not foreseen.
func (p *Policy) Foresee(c Planned, bounds ...Bound) *Denial {
	lenient := *p // whose fixes are held against the known parts only
	lenient.options.Schemas = certainCompiler{p.options.Schemas, &c}
	j := judge{policy: &lenient, ledger: p.Ledger(bounds...)}
	j.foresee(&c)
	if j.denial == nil {
		return nil
	}
	return j.verdict(&c.Call)
}

func (j *judge) foresee(c *Planned) {
	p := j.policy
	if c.Kind == KindApproval {
		j.mayAsk(&c.Call)
		return
	}
	j.rule = p.wild[c.Kind]
	if r, ok := p.rules[c.Kind][c.Name]; ok {
		j.rule = r
	}
	if j.rule == nil {
		j.foreseeNoGrant(c)
	}
	if likely := c.likely(&Grant{}); !j.wellFormed(&likely) {
		return
	}
	if c.Namespace != "" {
		j.namespace(c.Namespace, c.Write)
	}
	if c.Capability != "" {
		j.capability(c.Capability)
	}
	for _, part := range p.parts(j.rule, &c.Call) {
		j.foreseePart(c, part)
	}
	if c.Contract != nil {
		if v := c.certain(c.Contract.Validate(c.arguments())); v != nil {
			j.deny(CodeArgumentDenied, "the contract of "+c.Name, "%s", schema.Explain(v))
			j.fix.say("no change to the pack helps: %s itself refuses the arguments", c.Name)
		}
	}
	j.amount(&c.Call)
}

// foreseeNoGrant says that nothing grants the effect. A grant that would have to
// name what is not known is for a person to write.
func (j *judge) foreseeNoGrant(c *Planned) {
	before := j.fix
	j.notGranted(&c.Call)
	if unknown := c.unknownLists(); unknown != nil {
		j.fix = before
		j.fix.say("grant %s %s and write its %s, which the graph does not say", c.Kind, c.Name, joinWords(unknown))
	}
}

// unknownLists names what a grant would have to list and is not known.
func (c *Planned) unknownLists() []string {
	var names []string
	add := func(unknown bool, name string) {
		if unknown {
			names = append(names, name)
		}
	}
	add(c.Kind == KindHTTP && c.UnknownURL, "hosts")
	add(c.Kind == KindHTTP && c.UnknownAction, "methods")
	add(c.Kind == KindClaims && c.UnknownAction, "actions")
	add(c.Kind == KindExec && c.hasUnknownArgv(), "args")
	return names
}

// foreseePart judges what one layer says about the effect. The unknown parts of the
// call are those that the layer permits.
func (j *judge) foreseePart(c *Planned, p *part) {
	if c.nothingFits(p.grant) {
		j.deny(CodeArgumentDenied, p.rule, "the grant names nothing that %s %s may do", c.Kind, c.Name)
		j.fix.say("say what %s %s may do", c.Kind, c.Name)
		return
	}
	call, known := c.likely(p.grant), c.knownPart(p)
	if !c.hasUnknownArgv() {
		j.part(&call, known)
		return
	}
	known.grant, known.args = c.layOut(p)
	j.unsaid = true
	j.part(&call, known)
	j.unsaid = false
}

// nothingFits reports whether a grant lists nothing for an unknown part to be.
func (c *Planned) nothingFits(g *Grant) bool {
	switch {
	case c.Kind == KindHTTP:
		return c.UnknownURL && someURL(g) == "" || c.UnknownAction && len(g.Methods) == 0
	case c.Kind == KindClaims:
		return c.UnknownAction && len(g.Actions) == 0
	}
	return false
}

// likely gives the call with unknown parts that a grant permits.
func (c *Planned) likely(g *Grant) Call {
	call := c.Call
	switch {
	case c.Kind == KindHTTP && c.UnknownAction:
		call.Action = firstOf(g.Methods, "GET")
	case c.Kind == KindClaims && c.UnknownAction:
		call.Action = firstOf(g.Actions, claimActions[0])
	}
	if c.UnknownURL {
		call.URL = someURL(g)
	}
	return call
}

// someURL gives an address that a grant permits, or "" if there is none: a host with
// the usual port of its scheme is never asked for by that name.
func someURL(g *Grant) string {
	schemes := g.Schemes
	if schemes == nil {
		schemes = []string{"https"}
	}
	for _, scheme := range schemes {
		for _, host := range g.Hosts {
			address := scheme + "://" + host
			if _, asked, problem := splitURL(address); problem == "" && asked == host {
				return address
			}
		}
	}
	return ""
}

func firstOf(list []string, otherwise string) string {
	if len(list) > 0 {
		return list[0]
	}
	return otherwise
}

// knownPart gives a part without what would judge unknown parts of the call.
func (c *Planned) knownPart(p *part) *part {
	if p.conditions == nil && !c.hasUnknownArgv() && (c.Unknown == nil || !p.v1 && p.schema == nil) {
		return p
	}
	known := *p
	if c.Unknown != nil {
		known.v1 = false
		if p.schema != nil {
			known.schema = certainSchema{p.schema, c}
		}
	}
	known.conditions = slices.Clone(p.conditions)
	for i := range known.conditions {
		if x := &known.conditions[i]; c.decides(x.program) {
			x.program = holding{x.program}
		}
	}
	return &known
}
