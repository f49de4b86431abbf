package search

import "github.com/writ-dev/writ/kcp"

// A Change is a unit that stands otherwise at the second of two moments.
type Change struct {
	Unit     *kcp.Unit
	From, To Status
	Why      string
}

// A SourceChange is a federated manifest that is served at only one of two
// moments.
type SourceChange struct {
	Ref    *kcp.Ref
	Served bool // at the second moment
}

// Changes says what differs in m between two moments, in the order of
// declaration, for an audience role; an empty role stands for anybody.
func Changes(m *kcp.Manifest, before, after kcp.Moment, role string) ([]Change, []SourceChange) {
	a := m.View(before)
	b := a.At(after)
	var changes []Change
	for i := range m.Units {
		u := &m.Units[i]
		if from, to := StatusOf(a, u, role), StatusOf(b, u, role); from != to {
			changes = append(changes, Change{u, from, to, reasonOf(b, u, from, to)})
		}
	}
	var sources []SourceChange
	for i := range m.Manifests {
		if ref := &m.Manifests[i]; a.Serves(ref) != b.Serves(ref) {
			sources = append(sources, SourceChange{ref, b.Serves(ref)})
		}
	}
	return changes, sources
}

// reasonOf says why a unit stands as it does in a view, after it stood otherwise.
func reasonOf(v *kcp.View, u *kcp.Unit, from, to Status) string {
	t := v.TemporalOf(u)
	switch to {
	case Unrecorded:
		return "not recorded until " + t.RecordedAt.Value
	case Future:
		return "not valid before " + t.ValidFrom.Value
	case Expired:
		if t.SupersededBy.Value != "" {
			return "valid until " + t.ValidUntil.Value + "; superseded by " + t.SupersededBy.Value
		}
		return "valid until " + t.ValidUntil.Value
	case Superseded:
		return supersededBecause(v, u)
	case Unreadable:
		return "its window is not one of dates"
	}
	switch from {
	case Unrecorded:
		return "recorded " + t.RecordedAt.Value
	case Future:
		return "valid from " + t.ValidFrom.Value
	case Expired:
		return "valid until " + t.ValidUntil.Value
	}
	next := v.Resolve(t.SupersededBy.Value)
	if next == nil {
		return "its successor " + t.SupersededBy.Value + " is not recorded"
	}
	return "its successor " + next.ID + " is " + string(StatusOf(v, next, ""))
}

// supersededBecause names the successor and what makes it current.
func supersededBecause(v *kcp.View, u *kcp.Unit) string {
	s := v.Supersession(u, "")
	reason := "superseded by " + s.By
	if s.Cycle {
		return reason + ", in a cycle in which no unit is current"
	}
	next := v.TemporalOf(v.Resolve(s.By))
	if next == nil {
		return reason
	}
	if next.ValidFrom.Value != "" {
		reason += ", valid from " + next.ValidFrom.Value
	}
	if next.RecordedAt.Value != "" && v.Moment().KnownAt != "" {
		reason += ", recorded " + next.RecordedAt.Value
	}
	return reason
}
