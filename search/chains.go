package search

import (
	"math"
	"slices"
	"time"

	"github.com/writ-dev/writ/kcp"
)

// Day is a date as a number of days since 1970-01-01.
type Day int

// Bounds of a span that is open.
const (
	SinceEver Day = math.MinInt32
	ForEver   Day = math.MaxInt32
)

const secondsOfDay = 24 * 60 * 60

// DayOf gives the day of an ISO 8601 date, with or without a time.
func DayOf(date string) (Day, bool) {
	if !kcp.ValidDate(date) {
		return 0, false
	}
	t, err := time.Parse(time.DateOnly, date[:len(time.DateOnly)])
	return Day(t.Unix() / secondsOfDay), err == nil
}

// String gives the date as YYYY-MM-DD.
func (d Day) String() string { return time.Unix(int64(d)*secondsOfDay, 0).UTC().Format(time.DateOnly) }

// Span is the days from one to another, both included. It is empty when Until
// comes before From.
type Span struct{ From, Until Day }

// Empty reports whether no day is in the span.
func (s Span) Empty() bool { return s.Until < s.From }

// Holds reports whether the day is in the span.
func (s Span) Holds(d Day) bool { return s.From <= d && d <= s.Until }

func (s Span) and(o Span) Span { return Span{max(s.From, o.From), min(s.Until, o.Until)} }

// spanOf gives the days on which a window is open. A bound with a time of day is
// compared with dates as text, so a start counts from the next day on.
func spanOf(t *kcp.Temporal) (s Span, readable bool) {
	s = Span{SinceEver, ForEver}
	if t == nil {
		return s, true
	}
	if t.Malformed {
		return s, false
	}
	from, fromOK := DayOf(t.ValidFrom.Value)
	until, untilOK := DayOf(t.ValidUntil.Value)
	if t.ValidFrom.Value != "" {
		s.From = from
		if len(t.ValidFrom.Value) > len(time.DateOnly) {
			s.From++
		}
	}
	if t.ValidUntil.Value != "" {
		s.Until = until
	}
	return s, (fromOK || t.ValidFrom.Value == "") && (untilOK || t.ValidUntil.Value == "")
}

// A Track is one unit over time.
type Track struct {
	Unit     *kcp.Unit
	Temporal *kcp.Temporal // with the root's defaults, nil when there is none
	Status   Status        // at the moment of the view
	Valid    Span          // the days of its window
	GivesWay Span          // those of them on which a successor is current; may be empty
	By       string        // what superseded_by says
}

// A Chain is what supersedes one another: units that lead to the same last
// successor, in the order in which their windows open.
type Chain []Track

// Chains gives the units that are known in a view, in chains of supersession.
// Chains stand in the order of their first units. The second result lists the
// units that are valid on every day and neither supersede nor are superseded.
func Chains(v *kcp.View, units []kcp.Unit, role string) (chains []Chain, always []*kcp.Unit) {
	groups := newGroups(len(units))
	at := make(map[*kcp.Unit]int, len(units))
	for i := range units {
		at[&units[i]] = i
	}
	for i := range units {
		if next, ok := at[knownSuccessor(v, &units[i])]; ok && v.Known(&units[i]) {
			groups.join(i, next)
		}
	}
	places := map[int]int{} // of chains, by the group's first unit
	for i := range units {
		u := &units[i]
		if !v.Known(u) {
			continue
		}
		track := trackOf(v, u, role)
		root := groups.find(i)
		if track.Valid == (Span{SinceEver, ForEver}) && track.Status == Current && groups.size[root] == 1 {
			always = append(always, u)
			continue
		}
		place, ok := places[root]
		if !ok {
			place = len(chains)
			places[root] = place
			chains = append(chains, nil)
		}
		chains[place] = append(chains[place], track)
	}
	for _, chain := range chains {
		slices.SortStableFunc(chain, func(a, b Track) int { return int(a.Valid.From) - int(b.Valid.From) })
	}
	return chains, always
}

// knownSuccessor gives the unit that a unit gives way to, nil when there is none
// or it is not known.
func knownSuccessor(v *kcp.View, u *kcp.Unit) *kcp.Unit {
	t := v.TemporalOf(u)
	if t == nil {
		return nil
	}
	return v.Resolve(t.SupersededBy.Value)
}

func trackOf(v *kcp.View, u *kcp.Unit, role string) Track {
	t := Track{Unit: u, Temporal: v.TemporalOf(u), Status: StatusOf(v, u, role), GivesWay: Span{ForEver, SinceEver}}
	valid, readable := spanOf(t.Temporal)
	t.Valid = valid
	if !readable {
		t.Valid = t.GivesWay
		return t
	}
	s := v.Supersession(u, role)
	t.By = s.By
	next := knownSuccessor(v, u)
	switch {
	case s.Cycle:
		t.GivesWay = t.Valid
	case next != nil && next.StandsIn(role):
		if days, readable := spanOf(v.TemporalOf(next)); readable {
			t.GivesWay = t.Valid.and(days)
		}
	}
	return t
}

// groups joins items into groups, each named by one of its members.
type groups struct{ leader, size []int }

func newGroups(n int) *groups {
	g := &groups{make([]int, n), make([]int, n)}
	for i := range n {
		g.leader[i], g.size[i] = i, 1
	}
	return g
}

func (g *groups) find(i int) int {
	for g.leader[i] != i {
		g.leader[i] = g.leader[g.leader[i]]
		i = g.leader[i]
	}
	return i
}

func (g *groups) join(i, j int) {
	if i, j = g.find(i), g.find(j); i != j {
		g.leader[j] = i
		g.size[i] += g.size[j]
	}
}
