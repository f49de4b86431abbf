package kcp

// checkAuthorityLevels runs the rules of authority levels and the grant ceiling
// (specification 3.13).
func checkAuthorityLevels(c *checker) {
	m := c.m
	apply(c, place{}, specLevelRules, m)
	if m.GrantCeiling != nil {
		apply(c, place{}.in("grant_ceiling"), specCeilingRules, newCeiling(m))
	}
}

var specLevelRules = []rule[*Manifest]{
	{
		"task-type-id-missing", Error, 2,
		"An entry of `task_types` has no `id`.",
		"give the entry an id: {id: change-status}",
		func(c *checker, m *Manifest) {
			for i := range m.TaskTypes {
				t := &m.TaskTypes[i]
				c.required(element("task_types", t.Index)+".id", t.ID.Value, "the task type")
			}
		},
	},
	{
		"task-type-id-duplicate", Error, 2,
		"Two entries of `task_types` have one `id`.",
		"give each entry an id of its own",
		func(c *checker, m *Manifest) {
			seen := map[string]bool{}
			for i := range m.TaskTypes {
				c.unique(seen, element("task_types", m.TaskTypes[i].Index)+".id", m.TaskTypes[i].ID.Value)
			}
		},
	},
	{
		"agent-id-missing", Error, 2,
		"An entry of `agents` has no `id`.",
		"give the entry an id: {id: support-agent}",
		func(c *checker, m *Manifest) {
			for i := range m.Agents {
				a := &m.Agents[i]
				c.required(element("agents", a.Index)+".id", a.ID.Value, "the agent")
			}
		},
	},
	{
		"agent-id-duplicate", Error, 2,
		"Two entries of `agents` have one `id`.",
		"give each entry an id of its own",
		func(c *checker, m *Manifest) {
			seen := map[string]bool{}
			for i := range m.Agents {
				c.unique(seen, element("agents", m.Agents[i].Index)+".id", m.Agents[i].ID.Value)
			}
		},
	},
	{
		"authority-level-unknown", Warning, 2,
		"An `authority_level` is not in the scale: `authority_level_scale`, or without one observe, explain, suggest, prepare, commit.",
		"use a level of the scale, or add the level to authority_level_scale",
		func(c *checker, m *Manifest) { c.levels(m) },
	},
	{
		"authority-ceiling-undeclared", Warning, 2,
		"`authority_level_scale` is declared, a task type has no level, and there is no `grant_ceiling`.",
		"give the task type an authority_level, or declare grant_ceiling",
		func(c *checker, m *Manifest) {
			if !m.AuthorityLevelScale.Declared || m.GrantCeiling != nil {
				return
			}
			for i := range m.TaskTypes {
				if t := &m.TaskTypes[i]; t.AuthorityLevel.Value == "" {
					c.add(element("task_types", t.Index), "nothing limits how far an agent may go in task type "+show(t.ID.Value))
				}
			}
		},
	},
}

// unique reports an id that was seen before; an empty one has its own rule.
func (c *checker) unique(seen map[string]bool, field, id string) {
	if id != "" && seen[id] {
		c.add(field, "another entry before this one has the id "+show(id)+" too")
	}
	seen[id] = true
}

// levels looks at every authority_level of the manifest.
func (c *checker) levels(m *Manifest) {
	scale := authorityScale
	if m.AuthorityLevelScale.Declared {
		scale = m.AuthorityLevelScale.Items
	}
	known := make(map[string]bool, len(scale))
	for _, level := range scale {
		known[level] = true
	}
	look := func(at place, level String) {
		if level.Set && !known[level.Value] {
			c.at = at
			c.add("authority_level", "authority_level is "+show(level.Value)+", which is not in the scale, so agents ignore it")
		}
	}
	for i := range m.TaskTypes {
		look(place{list: "task_types", index: m.TaskTypes[i].Index}, m.TaskTypes[i].AuthorityLevel)
	}
	for i := range m.Agents {
		look(place{list: "agents", index: m.Agents[i].Index}, m.Agents[i].AuthorityLevel)
	}
	if m.GrantCeiling != nil {
		for i := range m.GrantCeiling.Sources {
			s := &m.GrantCeiling.Sources[i]
			look(place{}.item("grant_ceiling.sources", s.Index), s.AuthorityLevel)
		}
	}
	for i := range m.Units {
		u := &m.Units[i]
		at := unitPlace(u)
		look(at, u.AuthorityLevel)
		for j := range u.Steps {
			look(at.item("steps", u.Steps[j].Index), u.Steps[j].AuthorityLevel)
		}
	}
}

// ceiling is a grant ceiling and the ids that its sources may refer to.
type ceiling struct {
	*GrantCeiling
	taskTypes, agents, sources map[string]bool
}

func newCeiling(m *Manifest) ceiling {
	g := ceiling{m.GrantCeiling, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for i := range m.TaskTypes {
		g.taskTypes[m.TaskTypes[i].ID.Value] = true
	}
	for i := range m.Agents {
		g.agents[m.Agents[i].ID.Value] = true
	}
	for i := range g.Sources {
		g.sources[g.Sources[i].ID.Value] = true
	}
	return g
}

// each calls do with the field of each source.
func (g ceiling) each(do func(field string, s *CeilingSource)) {
	for i := range g.Sources {
		do(element("sources", g.Sources[i].Index), &g.Sources[i])
	}
}

// refs counts the references of a source.
func (s *CeilingSource) refs() int {
	n := 0
	for _, ref := range [3]String{s.UnitRef, s.TaskTypeRef, s.AgentRef} {
		if ref.Set {
			n++
		}
	}
	return n
}

var specCeilingRules = []rule[ceiling]{
	{
		"ceiling-source-id-missing", Error, 2,
		"A source of `grant_ceiling` has no `id`.",
		"give the source an id: {id: org-policy, authority_level: suggest}",
		func(c *checker, g ceiling) {
			g.each(func(field string, s *CeilingSource) { c.required(field+".id", s.ID.Value, "the source") })
		},
	},
	{
		"ceiling-source-id-duplicate", Error, 2,
		"Two sources of `grant_ceiling` have one `id`.",
		"give each source an id of its own",
		func(c *checker, g ceiling) {
			seen := map[string]bool{}
			g.each(func(field string, s *CeilingSource) { c.unique(seen, field+".id", s.ID.Value) })
		},
	},
	{
		"ceiling-source-ambiguous", Error, 2,
		"A source of `grant_ceiling` has more than one of `authority_level`, `unit_ref`, `task_type_ref` and `agent_ref`.",
		"keep one: the level itself, or one reference to what has a level",
		func(c *checker, g ceiling) {
			g.each(func(field string, s *CeilingSource) {
				if n := s.refs(); n > 1 || n == 1 && s.AuthorityLevel.Set {
					c.add(field, "the source says more than once where its level comes from")
				}
			})
		},
	},
	{
		"ceiling-source-empty", Error, 2,
		"A source of `grant_ceiling` has none of `authority_level`, `unit_ref`, `task_type_ref` and `agent_ref`.",
		"write authority_level, or one reference to what has a level",
		func(c *checker, g ceiling) {
			g.each(func(field string, s *CeilingSource) {
				if s.refs() == 0 && !s.AuthorityLevel.Set {
					c.add(field, "the source has no level and refers to nothing that has one")
				}
			})
		},
	},
	{
		"ceiling-source-ref-unknown", Error, 3,
		"A reference of a source of `grant_ceiling` names nothing in the manifest.",
		"name a unit, a task type or an agent that this manifest declares",
		func(c *checker, g ceiling) {
			g.each(func(field string, s *CeilingSource) {
				report := func(name string, ref String, known bool) {
					if ref.Set && !known {
						c.add(field+"."+name, name+" names "+show(ref.Value)+", which this manifest does not declare")
					}
				}
				report("unit_ref", s.UnitRef, c.unit(s.UnitRef.Value) != nil)
				report("task_type_ref", s.TaskTypeRef, g.taskTypes[s.TaskTypeRef.Value])
				report("agent_ref", s.AgentRef, g.agents[s.AgentRef.Value])
			})
		},
	},
	{
		"ceiling-mandatory-source-missing", Error, 3,
		"`mandatory_sources` names a source that is not in `sources`.",
		"add the source, or remove it from mandatory_sources",
		func(c *checker, g ceiling) {
			for i, id := range g.MandatorySources.Items {
				if !g.sources[id] {
					c.add(element("mandatory_sources", i), "source "+show(id)+" is mandatory but not declared")
				}
			}
		},
	},
}
