package kcp

import (
	"slices"
	"strings"
	"time"

	"github.com/writ-dev/writ/match"
)

// A Moment is where somebody stands who asks about a manifest, on two clocks.
type Moment struct {
	// AsOf is the date that the question is about (valid time). Bounds of
	// windows are compared with it as text.
	AsOf string
	// KnownAt leaves out what had not been recorded by then (recorded time). A
	// date stands for the end of its day, and without an offset for UTC. Empty
	// asks for everything that is recorded by now. What is no date lets nothing
	// be known that has a recording time.
	KnownAt string
}

// Window is how a validity window stands to a date.
type Window int

// The states of a window.
const (
	WindowOpen       Window = iota // the date lies in it; both bounds are inclusive
	WindowFuture                   // the date comes before it
	WindowPast                     // the date comes after it
	WindowUnreadable               // a bound is not a date, so nobody can tell
)

// On says how the window stands to a date. No window is always open.
func (t *Temporal) On(date string) Window {
	switch {
	case t == nil:
		return WindowOpen
	case t.Malformed,
		t.ValidFrom.Value != "" && !ValidDate(t.ValidFrom.Value),
		t.ValidUntil.Value != "" && !ValidDate(t.ValidUntil.Value):
		return WindowUnreadable
	case t.ValidFrom.Value != "" && match.CompareUTF16(t.ValidFrom.Value, date) > 0:
		return WindowFuture
	case t.ValidUntil.Value != "" && match.CompareUTF16(t.ValidUntil.Value, date) < 0:
		return WindowPast
	}
	return WindowOpen
}

// A View is a manifest seen from a moment. It holds the rules of time that
// planning and searching share: what is known, what is valid, and what gives
// way to its successor. It is safe for concurrent use.
type View struct {
	manifest *Manifest
	names    *Names
	merged   map[*Unit]*Temporal // of units that have a window, where the root has one too
	circular map[*Unit]bool      // members of a cycle of superseded_by
	at       Moment
	known    time.Time        // KnownAt as a point in time; zero when it is none
	bearers  map[string]*Unit // the known unit of each name that several bear; nil when all are known
}

// View gives the manifest as it is seen from a moment. It looks at every unit
// once; [View.At] moves on without that, unless several units bear one name.
func (m *Manifest) View(at Moment) *View {
	v := &View{manifest: m, names: m.Names()}
	if m.Temporal != nil {
		v.merged = map[*Unit]*Temporal{}
		for i := range m.Units {
			if u := &m.Units[i]; u.Temporal != nil {
				v.merged[u] = m.TemporalOf(u)
			}
		}
	}
	v.findCycles()
	return v.At(at)
}

// At gives the same manifest seen from another moment.
func (v *View) At(at Moment) *View {
	moved := *v
	moved.at = at
	if at.KnownAt == v.at.KnownAt {
		return &moved
	}
	moved.known, _ = instant(at.KnownAt)
	if len(v.names.contested) > 0 {
		moved.findBearers()
		moved.circular = nil
		moved.findCycles()
	}
	return &moved
}

// findBearers settles the names that several units bear among those that are
// known: an id beats an alias, and the first of several wins.
func (v *View) findBearers() {
	v.bearers = nil
	if v.at.KnownAt == "" {
		return
	}
	v.bearers = make(map[string]*Unit, len(v.names.contested))
	for i := range v.manifest.Units {
		u := &v.manifest.Units[i]
		if v.names.contested[u.ID] && v.Known(u) {
			if bearer := v.bearers[u.ID]; bearer == nil || bearer.ID != u.ID {
				v.bearers[u.ID] = u
			}
		}
		for _, alias := range u.Aliases.Items {
			if v.names.contested[alias] && v.bearers[alias] == nil && v.Known(u) {
				v.bearers[alias] = u
			}
		}
	}
}

// Resolve finds the unit that an id or an alias names among those that are
// known, nil when there is none.
func (v *View) Resolve(name string) *Unit {
	if v.bearers != nil && v.names.contested[name] {
		return v.bearers[name]
	}
	if u := v.names.Resolve(name); u != nil && v.Known(u) {
		return u
	}
	return nil
}

// Moment is where the view stands.
func (v *View) Moment() Moment { return v.at }

// Names finds the units of the manifest, known or not.
func (v *View) Names() *Names { return v.names }

// TemporalOf is [Manifest.TemporalOf], worked out beforehand.
func (v *View) TemporalOf(u *Unit) *Temporal {
	switch {
	case u.Temporal == nil:
		return v.manifest.Temporal
	case v.merged == nil:
		return u.Temporal
	}
	return v.merged[u]
}

// Known reports whether the unit had been recorded by KnownAt.
func (v *View) Known(u *Unit) bool {
	return v.at.KnownAt == "" || v.Recorded(v.TemporalOf(u))
}

// Recorded reports whether a unit with this window had been recorded by KnownAt.
// One that says nothing of its recording counts as recorded since ever, as one
// without valid_from is valid since ever. A recording time that cannot be read
// is not known.
func (v *View) Recorded(t *Temporal) bool {
	if v.at.KnownAt == "" || t == nil || t.RecordedAt.Value == "" && !t.Malformed {
		return true
	}
	const day = len("2026-01-31")
	text, limit := t.RecordedAt.Value, v.at.KnownAt
	if len(text) == day && len(limit) == day && ValidDate(text) && ValidDate(limit) {
		return text <= limit
	}
	at, ok := instant(text)
	return ok && !v.known.IsZero() && !at.After(v.known)
}

// Active reports whether the unit is known and its window is open.
func (v *View) Active(u *Unit) bool {
	return v.Known(u) && v.TemporalOf(u).On(v.at.AsOf) == WindowOpen
}

// StandsIn reports whether the unit could stand in for one that it supersedes, on
// a day when it is active: it is not deprecated, and serves the role. An empty
// role stands for anybody, and a unit without audience serves everybody.
func (u *Unit) StandsIn(role string) bool {
	if u.Deprecated.Restricts() || u.Audience.Malformed {
		return false
	}
	return role == "" || len(u.Audience.Items) == 0 || slices.Contains(u.Audience.Items, role)
}

// Supersession says what a unit gives way to.
type Supersession struct {
	By    string // what superseded_by says: an id, an alias, or the id of another manifest's unit
	Cycle bool   // the unit is on a cycle, so it gives way although nothing takes its place
	Acts  bool   // the unit gives way
}

// Supersession says whether the unit gives way to its successor. It does when
// the successor is active and stands in for it, and when both are on a cycle of
// supersession, since none of its members is the current one. A successor that
// is not known yet changes nothing, in a cycle neither.
func (v *View) Supersession(u *Unit, role string) Supersession {
	t := v.TemporalOf(u)
	if t == nil || t.SupersededBy.Value == "" {
		return Supersession{}
	}
	s := Supersession{By: t.SupersededBy.Value}
	target := v.Resolve(s.By)
	if target == nil {
		return s
	}
	s.Cycle = v.circular[u] && v.cycleKnown(u)
	s.Acts = s.Cycle || v.Active(target) && target.StandsIn(role)
	return s
}

// cycleKnown reports whether every unit of the cycle that u is on is known. A
// cycle among all units is one among the known units then, too.
func (v *View) cycleKnown(u *Unit) bool {
	if v.at.KnownAt == "" || v.bearers != nil {
		return true // cycles were looked for among the units that are known
	}
	for member := v.successor(u); member != u; member = v.successor(member) {
		if member == nil {
			return false
		}
	}
	return true
}

// Serves reports whether a federated manifest is relevant on the date: its
// window is open, and that of the entry which supersedes it is not (format
// section 9.2). Whatever is not served must not be fetched.
func (v *View) Serves(ref *Ref) bool {
	if ref.Temporal.On(v.at.AsOf) != WindowOpen {
		return false
	}
	if ref.Temporal == nil || ref.Temporal.SupersededBy.Value == "" {
		return true
	}
	for i := range v.manifest.Manifests {
		if other := &v.manifest.Manifests[i]; other.ID == ref.Temporal.SupersededBy.Value {
			return other.Temporal.On(v.at.AsOf) != WindowOpen
		}
	}
	return true
}

// findCycles finds the units on a cycle of superseded_by. Each unit names at
// most one successor, so a walk either ends or comes round.
func (v *View) findCycles() {
	walked := map[*Unit]int{} // the walk that saw the unit
	for i := range v.manifest.Units {
		var path []*Unit
		for u := &v.manifest.Units[i]; u != nil; u = v.successor(u) {
			if t := v.TemporalOf(u); t == nil || t.SupersededBy.Value == "" {
				break
			}
			if walk, seen := walked[u]; seen {
				if walk == i {
					v.mark(path[slices.Index(path, u):])
				}
				break
			}
			walked[u] = i
			path = append(path, u)
		}
	}
}

func (v *View) mark(cycle []*Unit) {
	if v.circular == nil {
		v.circular = map[*Unit]bool{}
	}
	for _, member := range cycle {
		v.circular[member] = true
	}
}

// successor gives the known unit that a unit names as its successor, nil when
// there is none.
func (v *View) successor(u *Unit) *Unit {
	if t := v.TemporalOf(u); t != nil {
		return v.Resolve(t.SupersededBy.Value)
	}
	return nil
}

// instant gives the point in time that a valid date stands for, alone or with a
// time. A date is the end of its day: what was recorded on it may have been
// recorded in its last hour. Without an offset it is UTC.
func instant(s string) (at time.Time, ok bool) {
	if !ValidDate(s) {
		return time.Time{}, false
	}
	at, err := time.Parse(time.DateOnly, s[:len(time.DateOnly)])
	if err != nil || len(s) == len(time.DateOnly) {
		return at.Add(24*time.Hour - time.Nanosecond), err == nil
	}
	hour, minute, rest, _ := clock(s[len(time.DateOnly)+1:])
	at = at.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
	zone := ""
	if i := strings.IndexAny(rest, " Zz+-"); i >= 0 {
		rest, zone = rest[:i], strings.TrimSpace(rest[i:])
	}
	if rest != "" {
		seconds, err := time.ParseDuration(rest[1:] + "s")
		if err != nil {
			return time.Time{}, false
		}
		at = at.Add(seconds)
	}
	return at.Add(-offset(zone)), true
}

// offset reads a valid zone: Z, or hours with or without minutes.
func offset(zone string) time.Duration {
	if len(zone) < len("+01") {
		return 0
	}
	sum := time.Duration(twoDigits(zone[1:3])) * time.Hour
	if minutes := strings.TrimPrefix(zone[3:], ":"); minutes != "" {
		sum += time.Duration(twoDigits(minutes)) * time.Minute
	}
	if zone[0] == '-' {
		return -sum
	}
	return sum
}
