package kcp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// borrowed says which items at the end of a root list came from includes.
type borrowed struct {
	first    int   // the index of the first of them
	includes []int // for each the index of its include
}

// finish puts the units together: the manifest's own, then what is left of the
// included ones.
func (c *composer) finish() *Manifest {
	out := *c.m
	out.Composition, out.names = nil, &names{}
	out.Units = slices.Clone(c.m.Units)
	brought := map[string]int{} // the include of an id
	units := borrowed{first: c.m.items("units")}
	var from []*guest
	for i := range c.guests {
		g := &c.guests[i]
		if g.gone {
			continue
		}
		brought[g.unit.ID] = g.include
		g.unit.Index = units.first + len(units.includes)
		units.includes = append(units.includes, g.include)
		from = append(from, g)
		out.Units = append(out.Units, g.unit)
	}
	guests := out.Units[len(c.m.Units):]
	c.keepOwnNames(guests)
	c.withhold(guests, from)
	c.withholdPlaybooks(out.Units, brought)
	links := c.relate(&out, brought)
	out.borrowed = map[string]borrowed{"units": units, "relationships": links}
	return &out
}

// relate adds the relationships between units that are left.
func (c *composer) relate(out *Manifest, brought map[string]int) borrowed {
	b := borrowed{first: c.m.items("relationships")}
	out.Relationships = slices.Clone(c.m.Relationships)
	for _, l := range c.links {
		from, known := brought[l.From.Value]
		to, known2 := brought[l.To.Value]
		if !known || !known2 || from != l.include || to != l.include {
			continue
		}
		l.Index = b.first + len(b.includes)
		b.includes = append(b.includes, l.include)
		out.Relationships = append(out.Relationships, l.Relationship)
	}
	return b
}

// keepOwnNames takes from included units the aliases that another unit bears: an
// alias from outside must not make a name of the manifest ambiguous.
func (c *composer) keepOwnNames(guests []Unit) {
	taken := map[string]bool{}
	for i := range c.m.Units {
		taken[c.m.Units[i].ID] = true
		for _, alias := range c.m.Units[i].Aliases.Items {
			taken[alias] = true
		}
	}
	for i := range guests {
		taken[guests[i].ID] = true
	}
	for i := range guests {
		u := &guests[i]
		if len(u.Aliases.Items) == 0 {
			continue
		}
		var free []string
		for _, alias := range u.Aliases.Items {
			if !taken[alias] {
				free = append(free, alias)
				taken[alias] = true
			}
		}
		u.Aliases.Items = free
	}
}

// withhold takes the grant from skills and playbooks of includes that are not
// verified (RFC-0022, C17). An override cannot give it back.
func (c *composer) withhold(guests []Unit, from []*guest) {
	taken := map[int][]string{}
	for i := range guests {
		u := &guests[i]
		if from[i].trusted || !u.Governed() {
			continue
		}
		if u.LoadEligible.Grants() {
			taken[from[i].include] = append(taken[from[i].include], u.ID)
		}
		u.LoadEligible = Bool{Declared: true}
	}
	for i := range c.m.Composition.Includes {
		inc := &c.m.Composition.Includes[i]
		if ids := taken[inc.Index]; len(ids) > 0 {
			c.warn("composition-unverified", element("includes", inc.Index)+".source",
				fmt.Sprintf("%s not load-eligible, such as %s: nothing verifies this include, or it has another authority_level_scale",
					some(len(ids), "skill or playbook of this include is", "skills and playbooks of this include are"), show(ids[0])),
				"pin the included manifest with integrity.manifest_hash")
		}
	}
}

// withholdPlaybooks takes the grant from playbooks with a step that uses a unit
// of another manifest, or none: such a step is never enacted (RFC-0028).
func (c *composer) withholdPlaybooks(units []Unit, brought map[string]int) {
	own := map[string]bool{}
	for i := range c.m.Units {
		own[c.m.Units[i].ID] = true
	}
	for i := range units {
		u := &units[i]
		if u.GovernedKind() != "playbook" || !u.LoadEligible.Grants() {
			continue
		}
		include, guest := brought[u.ID]
		at := slices.IndexFunc(u.Steps, func(s Step) bool {
			used, isGuest := brought[s.Uses.Value]
			switch {
			case s.Uses.Value == "":
				return false
			case guest:
				return !isGuest || used != include
			}
			return !own[s.Uses.Value]
		})
		if at < 0 {
			continue
		}
		u.LoadEligible = Bool{Declared: true}
		path := element("units", u.Index)
		if guest {
			path = "composition." + element("includes", include)
		}
		c.findings = append(c.findings, Finding{
			Severity: Warning, Code: "composition-step-foreign", Where: "unit '" + u.ID + "'", Path: path, Pos: c.m.Position(path),
			Message: "the playbook is not load-eligible: its step " + show(u.Steps[at].ID) + " uses " + show(u.Steps[at].Uses.Value) +
				", which is no unit of the same manifest",
			Hint: "declare the skill in the manifest that declares the playbook",
		})
	}
}

// items counts the items of a root list as the text has them, those that were
// dropped included.
func (m *Manifest) items(list string) int {
	n := 0
	for i := range m.Units {
		if list == "units" {
			n = max(n, m.Units[i].Index+1)
		}
	}
	for i := range m.Relationships {
		if list == "relationships" {
			n = max(n, m.Relationships[i].Index+1)
		}
	}
	if m.places == nil {
		return n
	}
	for m.has(list, n) {
		n++
	}
	return n
}

// origin gives the path of the include that brought what a path names, or the
// path itself.
func (m *Manifest) origin(path string) string {
	for list, b := range m.borrowed {
		rest, ok := strings.CutPrefix(path, list+"[")
		if !ok {
			continue
		}
		digits, _, _ := strings.Cut(rest, "]")
		if i, err := strconv.Atoi(digits); err == nil && i >= b.first && i-b.first < len(b.includes) {
			return "composition." + element("includes", b.includes[i-b.first]) + ".source"
		}
	}
	return path
}
