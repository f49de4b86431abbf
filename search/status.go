package search

import "github.com/writ-dev/writ/kcp"

// Status is how a unit stands at a moment.
type Status string

// The ways a unit can stand. Only a current one is found, unless the query asks
// for all; whether it is deprecated is another matter.
const (
	Unrecorded Status = "unrecorded" // not recorded yet at known_at
	Future     Status = "future"     // its window opens later
	Current    Status = "current"
	Superseded Status = "superseded" // its window is open, and a successor is current
	Expired    Status = "expired"    // its window has closed
	Unreadable Status = "unreadable" // its window is not one of dates
)

// StatusOf says how a unit stands in a view, for an audience role; an empty role
// stands for anybody.
func StatusOf(v *kcp.View, u *kcp.Unit, role string) Status {
	t := v.TemporalOf(u)
	if !v.Recorded(t) {
		return Unrecorded
	}
	return statusIn(v, u, t, role)
}

// statusIn is StatusOf for a unit that is known, with its window.
func statusIn(v *kcp.View, u *kcp.Unit, t *kcp.Temporal, role string) Status {
	switch t.On(v.Moment().AsOf) {
	case kcp.WindowUnreadable:
		return Unreadable
	case kcp.WindowFuture:
		return Future
	case kcp.WindowPast:
		return Expired
	}
	if t != nil && t.SupersededBy.Value != "" && v.Supersession(u, role).Acts {
		return Superseded
	}
	return Current
}
