package kcp

import "strings"

// These rules read the window that is in effect for a unit: its own fields and,
// for those it does not set, the manifest's defaults.
var specTemporalRules = []rule[*Temporal]{
	{
		"temporal-date-malformed", Warning, 1,
		"A date of `temporal` does not exist or is not ISO 8601. writ keeps such a unit out of every plan.",
		mendDate,
		func(c *checker, t *Temporal) { c.windowDates(t) },
	},
	{
		"temporal-window-inverted", Warning, 1,
		"`temporal.valid_until` comes before `valid_from`: the unit is never valid.",
		mendWindow,
		func(c *checker, t *Temporal) { c.inverted(t) },
	},
	{
		"temporal-expired", Warning, 1,
		"The unit has expired and names no successor.",
		mendExpired,
		func(c *checker, t *Temporal) { c.expired(t) },
	},
	{
		"temporal-successor-unknown", Warning, 1,
		"`temporal.superseded_by` names no unit of the manifest. Ids with a namespace are not checked.",
		mendSuccessor,
		func(c *checker, t *Temporal) {
			id := t.SupersededBy.Value
			if id != "" && c.successorAt(id) < 0 && !strings.Contains(id, ":") {
				c.add("superseded_by", "superseded_by names "+show(id)+", which is not a unit of this manifest")
			}
		},
	},
}

// successorAt gives the place in m.Units of the unit that an id or an alias
// names, or -1.
func (c *checker) successorAt(name string) int {
	if i, ok := c.unitAt[name]; ok {
		return i
	}
	if i, ok := c.aliasAt[name]; ok {
		return i
	}
	return -1
}

// supersededIDs collects the units that another unit or a relationship
// supersedes, and those that name a successor themselves.
func supersededIDs(m *Manifest) map[string]bool {
	ids := map[string]bool{}
	for i := range m.Units {
		u := &m.Units[i]
		if u.Supersedes.Value != "" && u.Supersedes.Value != u.ID {
			ids[u.Supersedes.Value] = true
		}
		if t := m.TemporalOf(u); t != nil && t.SupersededBy.Value != "" {
			ids[u.ID] = true
		}
	}
	for i := range m.Relationships {
		if r := &m.Relationships[i]; r.Type.Value == "supersedes" && r.From.Value != r.To.Value {
			ids[r.To.Value] = true
		}
	}
	return ids
}

var specCycleRules = []rule[*Manifest]{
	{
		"temporal-cycle", Error, 1,
		"Units supersede one another in a circle, or one supersedes itself. A default at the root reaches the successor itself too.",
		mendCycle,
		func(c *checker, m *Manifest) {
			next := func(i int) int {
				if t := m.TemporalOf(&m.Units[i]); t != nil && t.SupersededBy.Value != "" {
					return c.successorAt(t.SupersededBy.Value)
				}
				return -1
			}
			for _, circle := range circles(len(m.Units), next) {
				c.at = unitPlace(&m.Units[circle[0]])
				c.circle(circle, func(i int) string { return m.Units[i].ID })
			}
		},
	},
	{
		"ref-temporal-cycle", Error, 1,
		"Entries of `manifests` supersede one another in a circle, or one supersedes itself.",
		"remove superseded_by from the entry that is current",
		func(c *checker, m *Manifest) {
			next := func(i int) int {
				if t := m.Manifests[i].Temporal; t != nil {
					if at, ok := c.refAt[t.SupersededBy.Value]; ok && t.SupersededBy.Value != "" {
						return at
					}
				}
				return -1
			}
			for _, circle := range circles(len(m.Manifests), next) {
				c.at = refPlace(&m.Manifests[circle[0]])
				c.circle(circle, func(i int) string { return m.Manifests[i].ID })
			}
		},
	},
}

// circle reports one circle at the place where the checker is.
func (c *checker) circle(circle []int, id func(int) string) {
	if len(circle) == 1 {
		c.add("temporal.superseded_by", show(id(circle[0]))+" is superseded by itself, so it is never current")
		return
	}
	c.add("temporal.superseded_by", "in the circle of "+showSome(circle, id)+" each is superseded by the next, so none is current")
}

// showSome names the first few members of a circle.
func showSome(circle []int, id func(int) string) string {
	const most = 5
	var names []string
	for _, i := range circle[:min(most, len(circle))] {
		names = append(names, show(id(i)))
	}
	if len(circle) > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// circles gives each circle among n items of which each leads to one other, or
// to none (-1). A circle starts with its lowest item. Time is linear, and a long
// chain costs no stack.
func circles(n int, next func(int) int) [][]int {
	var found [][]int
	walk := make([]int, n) // the walk that first came by, from 1
	for start := range n {
		i := start
		for i >= 0 && walk[i] == 0 {
			walk[i] = start + 1
			i = next(i)
		}
		if i < 0 || walk[i] != start+1 {
			continue
		}
		circle, lowest := []int{i}, 0
		for j := next(i); j != i; j = next(j) {
			if j < circle[lowest] {
				lowest = len(circle)
			}
			circle = append(circle, j)
		}
		found = append(found, append(circle[lowest:len(circle):len(circle)], circle[:lowest]...))
	}
	return found
}

// windowDates reports dates that do not exist or are not dates.
func (c *checker) windowDates(t *Temporal) {
	report := func(field string, value String) {
		if value.Value != "" && !ValidDate(value.Value) {
			c.add(field, field+" is "+show(value.Value)+", which is not a date")
		}
	}
	report("valid_from", t.ValidFrom)
	report("valid_until", t.ValidUntil)
	report("recorded_at", t.RecordedAt)
}

// inverted reports an end before the start.
func (c *checker) inverted(t *Temporal) {
	from, until := t.ValidFrom.Value, t.ValidUntil.Value
	if ValidDate(from) && ValidDate(until) && before(until, from) {
		c.add("valid_until", "the window ends ("+until+") before it starts ("+from+")")
	}
}

// expired reports a window that is over without a successor.
func (c *checker) expired(t *Temporal) {
	until := t.ValidUntil.Value
	if t.SupersededBy.Value == "" && c.o.Now != "" && ValidDate(until) && before(until, c.o.Now) {
		c.add("valid_until", "expired after "+until+", and nothing says what takes its place")
	}
}

// before compares two valid dates. A date covers its whole day, so when either
// has no time the days are compared.
func before(a, b string) bool {
	const day = len("2026-01-31")
	if len(a) == day || len(b) == day {
		a, b = a[:day], b[:day]
	}
	return a < b
}
