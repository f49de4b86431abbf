package policy

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/expr"
	"github.com/writ-dev/writ/schema"
)

// layer is one authority of a policy: the pack, the agent's reference, the host's
// policy, a handoff. A call is permitted when every layer permits it, so adding a
// layer never permits more.
type layer struct {
	name      string // as rules show it
	authority *Authority
	grants    bool   // whether a missing section grants nothing, rather than changing nothing
	editable  bool   // whether a change to the pack can change it
	agent     string // of an agent's layer
	pack      *Pack  // that a change of the layer changes; nil when not editable

	notBeforeMS, expiresMS int64
	parts                  [namedKinds]map[string]*part
	anyName                [namedKinds]*part // every name of the kind is permitted
}

// part is what one layer says about one grant.
type part struct {
	layer      *layer
	grant      *Grant
	rule       string
	path       []string      // of the grant, in the pack
	schema     schema.Schema // nil for any arguments
	v1         bool          // the arguments are constrained in the version 1 language
	conditions []condition
	asksTaint  bool             // whether a condition names tainted
	args       []*regexp.Regexp // one for each rule of the grant; nil for a fixed text
	needsSpace bool             // the namespace is all that bounds the effect
}

type condition struct {
	source  string
	program expr.Program
}

// conditionVars are what conditions may name.
var conditionVars = []expr.Var{
	{Name: "args", Type: expr.Object}, {Name: "kind", Type: expr.String}, {Name: "name", Type: expr.String},
	{Name: "action", Type: expr.String}, {Name: "namespace", Type: expr.String}, {Name: "agent", Type: expr.String},
	{Name: "tainted", Type: expr.List}, // see [Marks.Derived]
}

// authorityLayer compiles an authority that stands at pointer of the pack.
func (c *compiler) authorityLayer(name string, a *Authority, pointer string, header *Pack) *layer {
	l := &layer{name: name, authority: a}
	conditions := c.options.Conditions
	if header != nil {
		l.notBeforeMS, l.expiresMS = header.NotBeforeMS, header.ExpiresMS
		conditions = c.limitCost(header.ConditionCost)
	}
	for k := range namedKinds {
		at := pointer + "/" + k.Section()
		if a.Grants[k] == nil {
			continue
		}
		l.parts[k] = make(map[string]*part, len(a.Grants[k]))
		for _, id := range artifact.SortedNames(a.Grants[k]) {
			l.parts[k][id] = c.part(l, k, id, artifact.PointerTo(at, id), conditions)
		}
	}
	for i, p := range a.Redact {
		c.checkStatePointer(p, pointer+"/redact/"+strconv.Itoa(i))
	}
	return l
}

// CostLimiter is what a compiler of conditions has when it can bound them by a
// limit that a pack states.
type CostLimiter interface {
	WithCostLimit(limit uint64) expr.Compiler
}

func (c *compiler) limitCost(limit uint64) expr.Compiler {
	if limit == 0 || c.options.Conditions == nil {
		return c.options.Conditions
	}
	bounded, ok := c.options.Conditions.(CostLimiter)
	if !ok {
		c.reader.Report("/condition_cost", "the condition language of this program has no cost limit; remove condition_cost")
		return c.options.Conditions
	}
	return bounded.WithCostLimit(limit)
}

func (c *compiler) checkStatePointer(p, at string) {
	pointer, ok := strings.CutPrefix(p, "state:")
	if ok && (c.options.SecretState == nil || !c.options.SecretState(pointer)) {
		c.reader.Report(at, "%s is not declared as a secret handle; keep the secret outside the state and put its handle there", p)
	}
}

func (c *compiler) part(l *layer, k Kind, id, at string, conditions expr.Compiler) *part {
	g := l.authority.Grants[k][id]
	p := &part{layer: l, grant: g, rule: l.name + ": " + k.Section() + "." + id, path: []string{k.Section(), id}}
	if c.pack.Version == 1 {
		p.v1 = !g.Arguments.IsNull()
		return p
	}
	if !g.Arguments.IsNull() {
		p.schema = c.schema(g.Arguments, at+"/arguments")
	}
	for i, source := range g.When {
		if program := c.condition(source, at+"/when/"+strconv.Itoa(i), conditions); program != nil {
			p.conditions = append(p.conditions, condition{source, program})
			p.asksTaint = p.asksTaint || readsTaint(program)
		}
	}
	for _, a := range g.Args {
		if a.Pattern == "" {
			p.args = append(p.args, nil)
			continue
		}
		pattern, err := regexp.Compile(`\A(?:` + a.Pattern + `)\z`)
		if err != nil {
			c.reader.Report(at+"/args", "%v; patterns have RE2 syntax", err)
		}
		p.args = append(p.args, pattern)
	}
	if k == KindHandoff && g.Authority != nil {
		// Compiled again when the handoff happens; here only to find what is wrong.
		c.authorityLayer("handoff "+id, g.Authority, at+"/authority", nil)
	}
	return p
}

func (c *compiler) schema(source artifact.Value, at string) schema.Schema {
	if c.options.Schemas == nil {
		c.reader.Report(at, "this program has no JSON Schema compiler, so arguments cannot be checked")
		return nil
	}
	s, err := c.options.Schemas.Compile(source)
	var problems *schema.Error
	switch {
	case errors.As(err, &problems):
		for _, p := range problems.Problems {
			c.reader.Report(at+p.Pointer, "arguments%s: %s", p.Pointer, p.Message)
		}
	case err != nil:
		c.reader.Report(at, "%v", err)
	}
	return s
}

func (c *compiler) condition(source, at string, conditions expr.Compiler) expr.Program {
	if conditions == nil {
		c.reader.Report(at, "this program has no condition language, so conditions cannot be checked")
		return nil
	}
	program, err := conditions.Compile(source, conditionVars)
	if err != nil {
		c.reader.Report(at, "condition: %v", err)
		return nil
	}
	if t := program.Type(); t != expr.Bool && t != expr.Any {
		c.reader.Report(at, "condition gives a %s; write one that is true or false", t)
	}
	return program
}

// readsTaint reports whether a condition depends on what is tainted.
func readsTaint(p expr.Program) bool {
	references := p.References()
	return references == nil || slices.ContainsFunc(references, func(r expr.Reference) bool { return r.Var == "tainted" })
}

// openV1 permits the kinds that version 1 packs grant by the name of a
// capability. Version 1 itself gates none of them.
func (l *layer) openV1(p *Pack) {
	open := func(k Kind, capability string, needsSpace bool, actions ...string) {
		if _, bound := p.Capabilities[capability]; !bound || l.anyName[k] != nil {
			return
		}
		l.anyName[k] = &part{
			layer: l, grant: &Grant{Actions: actions}, rule: l.name + ": capability " + capability,
			path: []string{"capability_bindings", capability}, needsSpace: needsSpace,
		}
	}
	open(KindRetrieve, "retrieval.query", true)
	open(KindClaims, "claims.commit", true, "commit", "propose", "read")
	open(KindClaims, "claims.propose", true, "propose", "read")
	open(KindWASM, "wasm.execute", false)
	open(KindHandoff, "handoff.delegate", false)
	for _, name := range []string{"query", "context"} {
		capability := "cortex." + name
		if _, bound := p.Capabilities[capability]; bound {
			if l.parts[KindCortex] == nil {
				l.parts[KindCortex] = map[string]*part{}
			}
			l.parts[KindCortex][name] = &part{
				layer: l, grant: &Grant{}, rule: l.name + ": capability " + capability,
				path: []string{"capability_bindings", capability}, needsSpace: true,
			}
		}
	}
}

// asksPeople reports whether the layer lets people be asked.
func (l *layer) asksPeople() bool {
	if l.authority.Approvals != nil {
		return true
	}
	_, v1 := l.authority.Capabilities["hitl.resume"]
	return !l.grants || v1
}

// section gives what the layer says about a kind: parts by name, or a part for
// every name, or neither for none.
func (l *layer) section(k Kind) (named map[string]*part, anyName *part, isOpen bool) {
	switch {
	case l.anyName[k] != nil:
		return nil, l.anyName[k], true
	case l.parts[k] == nil && !l.grants:
		return nil, nil, true
	}
	return l.parts[k], nil, false
}
