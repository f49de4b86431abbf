package planner

import (
	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/match"
)

// Plan decides which units of m an agent may load for task, and gives the
// trace of every decision. It never fails and reads nothing but its arguments.
//
// Each unit walks the cascade in manifest order until a gate stops it. Those
// that survive are ranked by score and admitted greedily under the caps on
// units, money and tokens.
func Plan(m *kcp.Manifest, task string, o Options) (*LoadPlan, *Trace) {
	p := newPass(m, valid(task), o.withDefaults())
	p.decideAll()
	p.admitAll()
	plan := p.loadPlan()
	return plan, &Trace{pass: p, plan: plan}
}

// pass is one planning run: the inputs, what was derived from them once, and
// what was decided for each unit.
type pass struct {
	manifest *kcp.Manifest
	task     string
	options  Options

	terms    []term
	trust    TrustNote
	serving  *ServingCheck
	scale    []string
	requests []request
	units    *kcp.Names
	view     *kcp.View // the manifest as of the plan's date
	buf      []byte    // scratch of lower
	hit      []bool    // scratch of triggerHits, one for each term
	wording  wording
	slab     []evaluation // where evaluations get their memory

	candidates []candidate // one for each unit, in manifest order
	contenders ranking     // those that no gate before the greedy part stopped
	selected   []*candidate
	refused    []*candidate // by the money or the context gate, in ranked order
	beyond     int          // relevant units past the cap
	ledger     ledger
	warnings   []string
}

// candidate is one unit on its way through the cascade.
type candidate struct {
	unit    *kcp.Unit
	stopped int    // index in cascade of the gate that stopped it, or passed
	reason  string // why it was stopped
	*evaluation
}

// passed is the value of candidate.stopped while no gate has stopped the unit.
const passed = -1

// evaluation holds what is worked out only for units relevant to the task.
type evaluation struct {
	relevance
	remarks   []string // what the gates after relevance said of the unit
	procedure string   // the first objection of the gate for governed procedures
	payment   payment
	markers   *Markers
	position  int     // place in the selection when its turn came, from 1
	spent     float64 // money taken when the money gate was done with it
	used      float64 // tokens taken when the context gate was done with it

	eligible   bool
	unattested bool
	uncredited bool // access needs a credential and the agent holds none
	unlocated  bool // loading it by id or path would not be safe
	charged    bool // its price was taken from the budget
}

// reasons lists what speaks for the unit and what the gates said of it.
func (p *pass) reasons(c *candidate) []string {
	return append(p.wording.reasons(c.relevance), c.remarks...)
}

// marker gives the markers to write to.
func (e *evaluation) marker() *Markers {
	if e.markers == nil {
		e.markers = new(Markers)
	}
	return e.markers
}

func newPass(m *kcp.Manifest, task string, o Options) *pass {
	p := &pass{manifest: m, task: task, options: o, requests: o.Action.requests()}
	p.terms = newTerms(match.Terms(task))
	if len(p.terms) == 0 {
		p.warnings = append(p.warnings, "task produced no search terms after stopword removal")
	}
	p.serving = CheckServing(m.Serving, m.Source)
	if p.serving != nil && p.serving.Status == "unbound" {
		p.warnings = append(p.warnings, "serving binding: "+p.serving.Detail)
	}
	p.trust = attestation(m, o.Capabilities)
	p.scale = canonicalScale
	if m.AuthorityLevelScale.Declared && !m.AuthorityLevelScale.Malformed {
		p.scale = m.AuthorityLevelScale.Items
	}
	p.hit = make([]bool, len(p.terms))
	p.view = m.View(o.moment())
	p.units = p.view.Names()
	return p
}

// decideAll walks every unit through the gates that do not depend on other
// units' selection.
func (p *pass) decideAll() {
	p.candidates = make([]candidate, len(p.manifest.Units))
	for i := range p.candidates {
		c := &p.candidates[i]
		c.unit, c.stopped = &p.manifest.Units[i], passed
		for g := 0; g < firstGreedy && c.stopped == passed; g++ {
			if reason := cascade[g].decide(p, c); reason != "" {
				c.stopped, c.reason = g, reason
			}
		}
		if c.stopped == passed {
			p.contenders.add(c)
		}
	}
}

// admitAll admits what is left, best first. Once the cap is reached the rest is
// past it in any order.
func (p *pass) admitAll() {
	for c := range p.contenders.best() {
		for g := firstGreedy; g < len(cascade) && c.stopped == passed; g++ {
			if reason := cascade[g].decide(p, c); reason != "" {
				c.stopped, c.reason = g, reason
			}
		}
		switch {
		case c.stopped == passed:
			p.selected = append(p.selected, c)
		case c.stopped == gateMaxUnits:
			p.pastTheCap()
			return
		default:
			p.refused = append(p.refused, c)
		}
	}
}

// pastTheCap stops every contender whose turn has not come.
func (p *pass) pastTheCap() {
	for c := range p.contenders.all() {
		if c.stopped == passed && c.position == 0 {
			cascade[gateMaxUnits].decide(p, c)
			c.stopped = gateMaxUnits
		}
		if c.stopped == gateMaxUnits {
			p.beyond++
		}
	}
}

// loadPlan writes the decisions down.
func (p *pass) loadPlan() *LoadPlan {
	m, o := p.manifest, p.options
	plan := &LoadPlan{
		Task:        p.task,
		Manifest:    PlannedManifest{Project: m.Project, Version: m.Version, KCPVersion: m.KCPVersion, Source: m.Source},
		Trust:       p.trust,
		Environment: o.Env,
		AsOf:        o.AsOf,
		Options:     echo(o),
		Selected:    make([]Selected, 0, len(p.selected)),
		Skipped:     p.skipped(),
		Federation:  decideRefs(m, o),
		Serving:     p.serving,
	}
	for _, c := range p.selected {
		plan.Selected = append(plan.Selected, p.selectedEntry(c))
	}
	plan.Budget = p.budgetNote()
	plan.Context = p.contextNote()
	if p.beyond > 0 {
		p.warn(artifact.FormatNumber(float64(p.beyond)) + " relevant unit(s) beyond maxUnits=" +
			artifact.FormatNumber(o.MaxUnits.Value) + " not selected")
	}
	if n := plan.Context.Unmeasured; n > 0 && o.ContextBudget.Set {
		p.warn(artifact.FormatNumber(float64(n)) +
			" selected unit(s) declare no size — the context projection is a lower bound (unmeasured)")
	}
	plan.Warnings = p.warnings
	return plan
}

func (p *pass) warn(text string) { p.warnings = append(p.warnings, text) }

// skipped lists what the cascade stopped in manifest order, then what the
// greedy part refused in ranked order. Units past the cap are only counted.
func (p *pass) skipped() []Skipped {
	list := make([]Skipped, 0, len(p.candidates)-p.contenders.size+len(p.refused))
	for i := range p.candidates {
		c := &p.candidates[i]
		if c.stopped == passed || c.stopped >= firstGreedy {
			continue
		}
		entry := Skipped{ID: c.unit.ID, Reason: c.reason}
		if c.evaluation != nil {
			entry.Markers = c.markers
		}
		list = append(list, entry)
	}
	for _, c := range p.refused {
		list = append(list, Skipped{ID: c.unit.ID, Reason: c.reason})
	}
	return list
}

func (p *pass) selectedEntry(c *candidate) Selected {
	return Selected{
		ID:                  c.unit.ID,
		Path:                c.unit.Path,
		Intent:              c.unit.Intent,
		Score:               int(c.score),
		Reasons:             p.reasons(c),
		Payment:             c.payment.entry(),
		RequiresAttestation: p.trust.RequiresAttestation && accessOf(c.unit) == accessRestricted,
		LoadEligible:        c.eligible,
		ActionScope:         echoScope(c.unit.ActionScope),
		Markers:             c.markers,
	}
}

func echo(o Options) EchoedOptions {
	return EchoedOptions{
		Capabilities:  o.Capabilities,
		MaxUnits:      o.MaxUnits.Value,
		Strict:        o.Strict,
		KnownAt:       o.KnownAt,
		Budget:        o.Budget,
		ContextBudget: o.ContextBudget,
		GrantCeiling:  o.GrantCeiling,
		Spend:         o.Spend,
		Action:        o.Action,
	}
}

func echoScope(s *kcp.ActionScope) *Scope {
	if s == nil {
		return nil
	}
	scope := &Scope{Tools: s.Tools.Items, Paths: s.Paths.Items, Capabilities: s.Capabilities.Items}
	if s.Spend != nil {
		scope.Spend = &ScopeSpend{MaxSpend: s.Spend.MaxSpend, AllowedVendors: s.Spend.AllowedVendors.Items, Currency: s.Spend.Currency}
	}
	if s.Deny != nil {
		scope.Deny = &ScopeDeny{Tools: s.Deny.Tools.Items, Paths: s.Deny.Paths.Items, Capabilities: s.Deny.Capabilities.Items}
	}
	return scope
}
