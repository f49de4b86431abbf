package policy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/expr"
	"github.com/writ-dev/writ/schema"
)

// Options are what the host adds to a pack. The zero value compiles a pack
// without agents, conditions and schemas.
type Options struct {
	// Agent is the agent that runs. It must be one that the pack names; a version
	// 2 pack that names agents cannot be used without one.
	Agent string
	// Overlay is the agent's reference where the pack is native text, which has
	// none of its own.
	Overlay *AgentV1
	// Host bounds every pack of the installation; nil for none. A section that it
	// does not have bounds nothing.
	Host *Pack

	Conditions expr.Compiler   // for packs with when; nil refuses them
	Schemas    schema.Compiler // for packs with arguments; nil refuses them

	// SecretState reports whether a state pointer is declared as a handle of a
	// secret. Redaction of any other state pointer is refused, since state has to
	// be readable to be replayed. Nil refuses every state pointer.
	SecretState func(pointer string) bool

	// AcceptV1Gaps runs a version 1 pack although version 1 ignores some of its
	// constraints.
	AcceptV1Gaps bool
	// EnforceNativeRunBudget applies max_steps and max_cost_micros of a native
	// pack, which version 1 reads and drops.
	EnforceNativeRunBudget bool
}

// Finding is something that a reviewer should know about a pack that compiles.
type Finding struct {
	Pointer      string // RFC 6901, into the pack
	Line, Column int    // from 1; 0 where the pack has no positions
	Text         string
}

// Policy is a compiled pack, narrowed by the agent and the host. It is immutable
// and safe for concurrent use as far as its conditions and schemas are.
type Policy struct {
	pack    *Pack
	agent   string
	options Options
	layers  []*layer

	rules [namedKinds]map[string]*rule
	wild  [namedKinds]*rule // where every name is granted

	capabilities map[string]bool
	namespaces   map[string]Access
	run          ceilings

	notBeforeMS, expiresMS int64 // of all layers
	asks                   bool  // whether people may be asked
	approval               Requirement
	redact                 []string
	blobs                  map[string]uint64
	digest                 artifact.Digest
}

// Compile makes a policy of a pack. What the policy permits is what the pack, the
// agent's reference and the host's policy all permit. The error is an
// *[artifact.DocumentError] with every problem; for version 1 packs it may be a
// *[V1Error].
func Compile(p *Pack, o Options) (*Policy, []Finding, error) {
	if p == nil {
		return nil, nil, fmt.Errorf("compile: no pack; read one with ReadPack")
	}
	c := &compiler{pack: p, options: o, reader: artifact.NewReader(p.doc)}
	layers, err := c.layers()
	if err != nil {
		return nil, nil, err
	}
	if err := c.reader.Err(); err != nil {
		return nil, nil, err
	}
	policy := assemble(p, o, layers)
	c.remark(policy)
	return policy, c.findings, nil
}

// compiler builds the layers of one policy.
type compiler struct {
	pack     *Pack
	options  Options
	reader   *artifact.Reader
	findings []Finding
}

func (c *compiler) layers() ([]*layer, error) {
	own := c.packLayer()
	layers := []*layer{own}
	agent, err := c.agentLayer()
	switch {
	case err != nil:
		return nil, err
	case agent != nil:
		layers = append(layers, agent)
	}
	if host := c.options.Host; host != nil {
		// The host's text has positions of its own.
		h := &compiler{pack: host, options: c.options, reader: artifact.NewReader(host.doc)}
		layers = append(layers, h.authorityLayer("host policy "+host.ID, &host.Authority, "", host))
		if err := h.reader.Err(); err != nil {
			return nil, err
		}
	}
	return layers, nil
}

// packLayer is the one layer in which what is missing is not granted.
func (c *compiler) packLayer() *layer {
	p := c.pack
	l := c.authorityLayer("pack "+p.ID, &p.Authority, "", p)
	l.grants, l.editable, l.pack = true, true, p
	if p.Version != 1 {
		return l
	}
	c.checkV1Gaps()
	l.openV1(p)
	if n := p.native; n.Set && c.options.EnforceNativeRunBudget {
		limits := l.authority.Limits
		limits.Steps = n.Value.MaxSteps
		if n.Value.MaxCostMicros.Set {
			limits.Cost = Money{"USD": n.Value.MaxCostMicros.Value}
		}
		authority := *l.authority
		authority.Limits = limits
		l.authority = &authority
	}
	return l
}

// checkV1Gaps refuses constraints that version 1 does not apply.
func (c *compiler) checkV1Gaps() {
	d, _ := c.pack.Declaration()
	if err := d.Check(); err != nil {
		c.reader.Report("", "%v", err)
	}
	for _, constraint := range d.ArgumentConstraints {
		at := artifact.PointerTo("/argument_constraints", constraint.Tool)
		for _, gap := range ContractGaps(constraint.Schema) {
			if c.options.AcceptV1Gaps {
				c.note(at+gap.Pointer, "%s", gap.Message)
				continue
			}
			c.reader.Report(at+gap.Pointer, "%s: %s; accept it with --accept-v1-gaps", constraint.Tool+gap.Pointer, gap.Message)
		}
	}
}

func (c *compiler) note(pointer, format string, args ...any) {
	line, column := c.pack.doc.Position(pointer)
	c.findings = append(c.findings, Finding{pointer, line, column, fmt.Sprintf(format, args...)})
}

// agentLayer narrows to the agent, nil where there is none.
func (c *compiler) agentLayer() (*layer, error) {
	p, id := c.pack, c.options.Agent
	if p.Version == 1 {
		return c.agentLayerV1()
	}
	if id == "" {
		if len(p.Agents) > 0 {
			c.reader.Report("/agents", "the pack names agents %s; say which of them runs", joinWords(artifact.SortedNames(p.Agents)))
		}
		return nil, nil
	}
	a, ok := p.Agents[id]
	if !ok {
		c.reader.Report("/agents", "agent %s is not named by the pack%s", id, artifact.Suggest(id, artifact.SortedNames(p.Agents)))
		return nil, nil
	}
	at := artifact.PointerTo("/agents", id)
	for _, capability := range a.Capabilities {
		if _, bound := p.Capabilities[capability]; !bound {
			c.reader.Report(at+"/capabilities", "agent %s asks for capability %s, which the pack does not bind%s", id, capability,
				artifact.Suggest(capability, artifact.SortedNames(p.Capabilities)))
		}
	}
	for _, namespace := range artifact.SortedNames(a.Namespaces) {
		if p.Namespaces[namespace] < a.Namespaces[namespace] {
			c.reader.Report(artifact.PointerTo(at+"/namespaces", namespace), "agent %s asks to %s namespace %s, for which the pack grants %s",
				id, a.Namespaces[namespace], namespace, p.Namespaces[namespace])
		}
	}
	return c.newAgentLayer(id, a), nil
}

func (c *compiler) agentLayerV1() (*layer, error) {
	id, p := c.options.Agent, c.pack
	m := p.manifest.Value
	switch {
	case c.options.Overlay != nil:
		d, _ := p.Declaration()
		m = d.Overlay(id, *c.options.Overlay)
	case id == "":
		return nil, nil
	case p.native.Set:
		return nil, packLoad("agent " + id + " is not referenced by pack")
	}
	bound, err := m.Bind(id)
	if err != nil {
		return nil, err
	}
	return c.newAgentLayer(id, agentOf(bound.Agent)), nil
}

// newAgentLayer gives what an agent's reference permits.
func (c *compiler) newAgentLayer(id string, a Agent) *layer {
	authority := &Authority{Capabilities: map[string]string{}, Namespaces: a.Namespaces, Limits: a.Limits}
	for _, capability := range a.Capabilities {
		authority.Capabilities[capability] = capability
	}
	return &layer{name: "agent " + id, authority: authority, editable: true, agent: id, pack: c.pack}
}

// remark notes what a reviewer should know.
func (c *compiler) remark(p *Policy) {
	if c.pack.Version == 1 {
		return
	}
	if len(c.pack.Agents) == 0 {
		c.note("", "the pack names no agents, so any graph may run under it")
	}
	if a := c.pack.Approvals; a != nil && a.Method.Set && a.Method.Value < MethodToken && defaultMethod(&c.pack.Authority) >= MethodToken {
		c.note("/approvals/minimum_method", "%s is weaker than token, although programs or proxied tools are granted", a.Method.Value)
	}
	for _, k := range []Kind{KindTool, KindExec, KindHTTP, KindWASM, KindModel} {
		if len(c.pack.Grants[k]) > 0 && !c.pack.Limits.Calls.Set && !everyGrantCounts(c.pack.Grants[k]) {
			c.note("/"+k.Section(), "%s are granted without a limit of calls; set limits.calls", k.Section())
		}
	}
	slices.SortStableFunc(c.findings, func(a, b Finding) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
}

func everyGrantCounts(grants map[string]*Grant) bool {
	for _, g := range grants {
		if !g.Limits.Calls.Set {
			return false
		}
	}
	return true
}

// defaultMethod is the weakest method that counts where a pack does not say:
// token when something is granted that can do more than its arguments show.
func defaultMethod(a *Authority) Method {
	if len(a.Grants[KindExec]) > 0 {
		return MethodToken
	}
	for _, g := range a.Grants[KindTool] {
		if g.Proxied {
			return MethodToken
		}
	}
	return MethodAsserted
}
