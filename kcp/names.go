package kcp

import "sync"

// Names finds the units of a manifest by id and alias.
type Names struct {
	first     map[string]*Unit
	times     map[string]int // only ids declared more than once
	aliases   map[string]*Unit
	contested map[string]bool // names that more than one unit bears
}

// names keeps the Names of a parsed manifest. A manifest made or changed by
// hand gets new ones each time.
type names struct {
	once  sync.Once
	of    []Unit
	index *Names
}

// Names indexes the units. For a parsed manifest that is done once; units must
// not be renamed afterwards.
func (m *Manifest) Names() *Names {
	if m.names == nil || len(m.Units) == 0 {
		return indexUnits(m.Units)
	}
	m.names.once.Do(func() { m.names.of, m.names.index = m.Units, indexUnits(m.Units) })
	if len(m.names.of) != len(m.Units) || &m.names.of[0] != &m.Units[0] {
		return indexUnits(m.Units)
	}
	return m.names.index
}

func indexUnits(units []Unit) *Names {
	n := &Names{first: make(map[string]*Unit, len(units))}
	for i := range units {
		u := &units[i]
		if _, taken := n.first[u.ID]; !taken {
			n.first[u.ID] = u
		} else {
			n.again(u.ID)
		}
		for _, alias := range u.Aliases.Items {
			n.alias(alias, u)
		}
	}
	for alias, u := range n.aliases {
		if bearer := n.first[alias]; bearer != nil && bearer != u {
			n.contest(alias)
		}
	}
	return n
}

func (n *Names) contest(name string) {
	if n.contested == nil {
		n.contested = map[string]bool{}
	}
	n.contested[name] = true
}

func (n *Names) again(id string) {
	if n.times == nil {
		n.times = map[string]int{}
	}
	n.times[id] = max(n.times[id], 1) + 1
	n.contest(id)
}

// alias keeps the first unit that declares an alias (format section 16).
func (n *Names) alias(name string, u *Unit) {
	if n.aliases == nil {
		n.aliases = map[string]*Unit{}
	}
	if bearer, taken := n.aliases[name]; !taken {
		n.aliases[name] = u
	} else if bearer != u {
		n.contest(name)
	}
}

// Unit gives the first unit with the id, nil when there is none.
func (n *Names) Unit(id string) *Unit { return n.first[id] }

// Resolve finds a unit by id or, when no unit has that id, by alias. An empty
// name names nothing.
func (n *Names) Resolve(name string) *Unit {
	if name == "" {
		return nil
	}
	if u := n.first[name]; u != nil {
		return u
	}
	return n.aliases[name]
}

// Times says how often an id is declared.
func (n *Names) Times(id string) int {
	if times := n.times[id]; times > 0 {
		return times
	}
	if n.first[id] != nil {
		return 1
	}
	return 0
}

// Shared reports whether two or more units declare the id.
func (n *Names) Shared(id string) bool { return n.times[id] > 1 }

// Lookup finds the unit that an id or an alias names. An id beats any alias, and
// the first of several wins (format section 16).
func (m *Manifest) Lookup(idOrAlias string) (*Unit, bool) {
	names := m.Names()
	u := names.first[idOrAlias]
	if u == nil {
		u = names.aliases[idOrAlias]
	}
	return u, u != nil
}
