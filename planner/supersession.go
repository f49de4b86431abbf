package planner

import (
	"slices"

	"github.com/writ-dev/writ/kcp"
)

// supersessionCycles finds the units on a cycle of superseded_by. Each unit
// names at most one successor, so a walk either ends or comes round.
func supersessionCycles(m *kcp.Manifest, units *kcp.Names) map[*kcp.Unit]bool {
	var cyclic map[*kcp.Unit]bool
	walked := map[*kcp.Unit]int{} // the walk that saw the unit
	for i := range m.Units {
		var path []*kcp.Unit
		for u := &m.Units[i]; u != nil; {
			t := m.TemporalOf(u)
			if t == nil || t.SupersededBy.Value == "" {
				break
			}
			if walk, seen := walked[u]; seen {
				if walk == i {
					if cyclic == nil {
						cyclic = map[*kcp.Unit]bool{}
					}
					for _, member := range path[slices.Index(path, u):] {
						cyclic[member] = true
					}
				}
				break
			}
			walked[u] = i
			path = append(path, u)
			u = units.Resolve(t.SupersededBy.Value)
		}
	}
	return cyclic
}
