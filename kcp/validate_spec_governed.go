package kcp

import "strconv"

// checkGoverned runs the rules of skills and playbooks.
func checkGoverned(c *checker, at place, u *Unit) {
	apply(c, at, specGovernedRules, u)
	if u.Kind.Value != "playbook" {
		return
	}
	p := newPlaybook(u)
	apply(c, at, specPlaybookRules, p)
	for i := range u.Steps {
		s := &u.Steps[i]
		apply(c, at.item("steps", s.Index), specStepRules, stepOf{playbook: p, step: s, uses: c.unit(s.Uses.Value)})
	}
}

// playbook is a playbook with its steps by id.
type playbook struct {
	unit   *Unit
	stepAt map[string]int // of a duplicate id the first
}

func newPlaybook(u *Unit) *playbook {
	p := &playbook{unit: u, stepAt: make(map[string]int, len(u.Steps))}
	for i := range u.Steps {
		keepFirst(p.stepAt, u.Steps[i].ID, i)
	}
	return p
}

// stepOf is a step, its playbook and the unit that it uses, nil if unknown.
type stepOf struct {
	playbook *playbook
	step     *Step
	uses     *Unit
}

func (s *Step) inline() bool { return s.Uses.Value == "" && s.Action.Value != "" }

var specGovernedRules = []rule[*Unit]{
	{
		"load-eligible-on-plain-unit", Error, 2,
		"`load_eligible` is declared on a unit that is neither a skill nor a playbook.",
		"remove load_eligible; only a skill or a playbook needs the grant",
		func(c *checker, u *Unit) {
			if u.LoadEligible.Declared && u.Kind.Value != "skill" && u.Kind.Value != "playbook" {
				c.add("load_eligible", "load_eligible has no meaning here: only a skill or a playbook can be granted")
			}
		},
	},
	{
		"skill-eligible-without-scope", Error, 2,
		"A skill with `load_eligible: true` has no `action_scope`.",
		mendScope,
		func(c *checker, u *Unit) {
			if u.Kind.Value == "skill" && u.LoadEligible.Grants() && !hasScope(u) {
				c.add("action_scope", "the skill is granted, but nothing says what it may touch")
			}
		},
	},
	{
		"deny-malformed", Error, 3,
		"The `action_scope` of a playbook, or a block or list in it, cannot be read, so nobody knows what is prohibited.",
		"write mappings and lists: action_scope: {deny: {paths: [legal/**]}}",
		func(c *checker, u *Unit) {
			if u.Kind.Value != "playbook" || u.ActionScope == nil {
				return
			}
			if u.ActionScope.Malformed {
				c.add("action_scope", "action_scope, its deny or its spend is not a mapping, so nobody knows what is prohibited")
			}
			if u.ActionScope.Deny == nil {
				return
			}
			for _, d := range dimensions(u.ActionScope) {
				if d.deny.Malformed {
					c.add("action_scope.deny."+d.name, "deny."+d.name+" is not a list, so nobody knows what is prohibited")
				}
			}
		},
	},
	{
		"deny-empty", Warning, 2,
		"`action_scope.deny` of a skill or a playbook is declared and empty.",
		mendDenyEmpty,
		func(c *checker, u *Unit) {
			if deny := declaredDeny(u); deny != nil && denyEmpty(deny) {
				c.add("action_scope.deny", "deny is declared but prohibits nothing")
			}
		},
	},
	{
		"deny-overrides-allow", Warning, 2,
		"One token stands both in `action_scope` and in its `deny`. The deny wins.",
		mendDenyConflict,
		func(c *checker, u *Unit) {
			eachDenyConflict(u, func(dimension string, index int, token string) {
				c.add(element("action_scope.deny."+dimension, index), show(token)+" is allowed and denied; the deny wins")
			})
		},
	},
	{
		"steps-on-other-kind", Warning, 3,
		"`steps` are declared on a unit that is not a playbook.",
		"write kind: playbook, or remove steps",
		func(c *checker, u *Unit) {
			if u.StepsDeclared && u.Kind.Value != "playbook" {
				c.add("steps", "steps are only read in a playbook")
			}
		},
	},
}

var specPlaybookRules = []rule[*playbook]{
	{
		"playbook-steps-missing", Error, 3,
		"A playbook has no steps.",
		"list at least one step: steps: [{id: check, uses: <skill id>}]",
		func(c *checker, p *playbook) {
			if len(p.unit.Steps) == 0 {
				c.add("steps", "the playbook has no steps")
			}
		},
	},
	{
		"playbook-eligible-with-inline-step", Error, 3,
		"A playbook with `load_eligible: true` has an inline step, which no scope bounds.",
		"make the step a skill of its own and name it with uses, or remove the grant",
		func(c *checker, p *playbook) {
			if !p.unit.LoadEligible.Grants() {
				return
			}
			for i := range p.unit.Steps {
				if s := &p.unit.Steps[i]; s.inline() {
					c.add(element("steps", s.Index), "step "+show(s.ID)+" is inline: the playbook is granted, but nothing bounds what this step may touch")
				}
			}
		},
	},
	{
		"step-depends-on-cycle", Error, 3,
		"Steps wait for one another in a circle.",
		"remove one depends_on of the circle",
		func(c *checker, p *playbook) {
			if circle := p.circle(); circle != nil {
				id := func(i int) string { return p.unit.Steps[i].ID }
				c.add(element("steps", p.unit.Steps[circle[0]].Index)+".depends_on", "steps "+showSome(circle, id)+" wait for one another")
			}
		},
	},
	{
		"playbook-inline-steps", Warning, 3,
		"A playbook has inline steps. They are not bounded by any scope.",
		"make each inline step a skill of its own and name it with uses",
		func(c *checker, p *playbook) {
			if n := p.inlineSteps(); n > 0 {
				c.add("steps", strconv.Itoa(n)+" of "+strconv.Itoa(len(p.unit.Steps))+" steps are inline, so nothing bounds what they may touch")
			}
		},
	},
	{
		"playbook-scope-unverified", Warning, 3,
		"A playbook declares `action_scope`, but it has an inline step, or a step's unit has no `action_scope`, so the declaration cannot be checked.",
		"give each step a skill with an action_scope of its own",
		func(c *checker, p *playbook) {
			if !hasScope(p.unit) {
				return
			}
			for i := range p.unit.Steps {
				s := &p.unit.Steps[i]
				if target := c.unit(s.Uses.Value); s.inline() || target != nil && !hasScope(target) {
					c.add("action_scope", "what the playbook says it touches cannot be checked, because step "+show(s.ID)+" has no scope")
					return
				}
			}
		},
	},
	{
		"step-self-nullified", Warning, 3,
		"Everything that a step's unit allows on one dimension is denied by the playbook or by the unit itself.",
		mendNullified,
		func(c *checker, p *playbook) {
			eachNullifiedStep(c, p.unit, func(s *Step, dimension string) {
				c.add(element("steps", s.Index)+".uses", "step "+show(s.ID)+" can do nothing with "+dimension+
					": all that "+show(s.Uses.Value)+" allows there is denied")
			})
		},
	},
}

func (p *playbook) inlineSteps() int {
	n := 0
	for i := range p.unit.Steps {
		if p.unit.Steps[i].inline() {
			n++
		}
	}
	return n
}

// circle gives one circle of explicit dependencies, or nil. Steps whose
// dependencies are all settled are settled in turn; each of those left over
// waits for another one left over.
func (p *playbook) circle() []int {
	steps := p.unit.Steps
	waiting := make([]int, len(steps))
	dependants := make([][]int, len(steps))
	for i := range steps {
		for _, id := range steps[i].DependsOn.Items {
			if on, ok := p.stepAt[id]; ok {
				waiting[i]++
				dependants[on] = append(dependants[on], i)
			}
		}
	}
	var ready []int
	for i, n := range waiting {
		if n == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		i := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for _, d := range dependants[i] {
			if waiting[d]--; waiting[d] == 0 {
				ready = append(ready, d)
			}
		}
	}
	found := circles(len(steps), func(i int) int {
		for _, id := range steps[i].DependsOn.Items {
			if on, ok := p.stepAt[id]; ok && waiting[i] > 0 && waiting[on] > 0 {
				return on
			}
		}
		return -1
	})
	if len(found) == 0 {
		return nil
	}
	return found[0]
}

var specStepRules = []rule[stepOf]{
	{
		"step-id-duplicate", Error, 3,
		"Two steps of a playbook have one `id`.",
		"give each step an id of its own",
		func(c *checker, s stepOf) {
			if first := &s.playbook.unit.Steps[s.playbook.stepAt[s.step.ID]]; first != s.step {
				c.add("id", "another step before this one has the id "+show(s.step.ID)+" too")
			}
		},
	},
	{
		"step-without-work", Error, 3,
		"A step has neither `uses` nor `action`.",
		"name the unit that does the work: uses: <skill id>",
		func(c *checker, s stepOf) {
			if s.step.Uses.Value == "" && s.step.Action.Value == "" {
				c.add("", "the step does not say what to do")
			}
		},
	},
	{
		"step-depends-on-unknown", Error, 3,
		"`depends_on` of a step names no step of the playbook.",
		"name the id of a step of this playbook",
		func(c *checker, s stepOf) {
			for i, id := range s.step.DependsOn.Items {
				if _, ok := s.playbook.stepAt[id]; !ok {
					c.add(element("depends_on", i), "there is no step "+show(id)+" in this playbook")
				}
			}
		},
	},
	{
		"step-uses-unknown", Error, 3,
		"`uses` of a step names no unit of the manifest.",
		"name the id of a skill that this manifest declares",
		func(c *checker, s stepOf) {
			if s.uses == nil && s.step.Uses.Value != "" && !composed(c.m) {
				c.add("uses", "there is no unit "+show(s.step.Uses.Value)+" in this manifest")
			}
		},
	},
	{
		"step-uses-unverified", Warning, 3,
		"`uses` of a step can only name a unit of an included manifest. Such a step is never enacted.",
		"declare the skill in this manifest",
		func(c *checker, s stepOf) {
			if s.uses == nil && s.step.Uses.Value != "" && composed(c.m) {
				c.add("uses", "unit "+show(s.step.Uses.Value)+" is not declared here, so it cannot be checked and the step is never enacted")
			}
		},
	},
	{
		"step-uses-playbook", Error, 3,
		"A step uses a playbook. Playbooks do not nest.",
		"name a skill instead of a playbook",
		func(c *checker, s stepOf) {
			if s.uses != nil && s.uses.Kind.Value == "playbook" {
				c.add("uses", show(s.uses.ID)+" is a playbook, and a playbook cannot be a step")
			}
		},
	},
	{
		"step-uses-unusable-kind", Error, 3,
		"A step uses a unit of kind `executable` or `service`, or of an unknown kind.",
		"name a skill: a step acts within the scope of one",
		func(c *checker, s stepOf) {
			if s.uses != nil && unusable(s.uses.Kind.Value) {
				c.add("uses", show(s.uses.ID)+" is of kind "+show(s.uses.Kind.Value)+", which no step can use")
			}
		},
	},
	{
		"step-uses-ineligible", Error, 3,
		"A playbook with `load_eligible: true` has a step whose unit is not itself granted. A grant does not pass on.",
		"write load_eligible: true on the unit that the step uses, if you grant it, or remove the playbook's grant",
		func(c *checker, s stepOf) {
			if s.ineligible() && s.playbook.unit.LoadEligible.Grants() {
				c.add("uses", "the playbook is granted, but "+show(s.uses.ID)+" is not, so the step can never run")
			}
		},
	},
	{
		"step-uses-ineligible-ungranted", Warning, 3,
		"A playbook without a grant has a step whose unit is not granted either.",
		"grant the unit that the step uses before you grant the playbook",
		func(c *checker, s stepOf) {
			if s.ineligible() && !s.playbook.unit.LoadEligible.Grants() {
				c.add("uses", show(s.uses.ID)+" is not granted, so the step could not run even if the playbook were")
			}
		},
	},
	{
		"step-on-failure-unknown", Error, 3,
		"`on_failure` of a step is not in the vocabulary.",
		"write on_failure: abort, continue or escalate",
		func(c *checker, s stepOf) { c.oneOf("on_failure", s.step.OnFailure, stepFaults...) },
	},
	{
		"step-uses-not-skill", Warning, 3,
		"A step uses a unit that is not a skill.",
		"name a skill, or describe the work with action",
		func(c *checker, s stepOf) {
			if s.uses == nil || unusable(s.uses.Kind.Value) {
				return
			}
			if k := s.uses.Kind.Or("knowledge"); k != "skill" && k != "playbook" {
				c.add("uses", show(s.uses.ID)+" is of kind "+k+", which is read and not enacted")
			}
		},
	},
	{
		"step-authority-missing", Warning, 3,
		"A step has no `authority_level`, while its unit may change things.",
		"say how far the step may go: authority_level: prepare",
		func(c *checker, s stepOf) {
			if s.step.AuthorityLevel.Value == "" && s.uses != nil && mutating(s.uses.ActionScope) {
				c.add("authority_level", "the step may change things through "+show(s.uses.ID)+", but nothing says how far it may go")
			}
		},
	},
}

// ineligible reports whether the step's unit lacks the grant of its own that a
// step needs. Kinds that can never be used have a rule of their own.
func (s stepOf) ineligible() bool {
	return s.uses != nil && !s.uses.LoadEligible.Grants() &&
		s.uses.Kind.Value != "playbook" && !unusable(s.uses.Kind.Value)
}

// unusable reports whether no step can use a unit of the kind.
func unusable(kind string) bool {
	return kind != "" && (kind == "executable" || kind == "service" || !contains(kinds, kind))
}

// composed reports whether the manifest includes others.
func composed(m *Manifest) bool { return m.Composition != nil && len(m.Composition.Includes) > 0 }
