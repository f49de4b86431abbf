package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/planner"
)

// traceView writes the gates as a grid: one row for each unit, one column for
// each gate, and above them a staircase of names with how many units passed.
type traceView struct {
	*page
	terms []string
	units []planner.UnitTrace
}

// ineligible ends the detail of a gate that let a unit pass but closed loading;
// it is the wording of trace artifacts.
const ineligible = "(loadEligible=false)"

func (v traceView) write() {
	v.heading("Trace", text("  "+counted(len(v.units), "unit")), in(dim, " · search terms: "+orNone(v.terms)))
	left := v.leftColumn()
	v.writeStairs(left)
	for i := range v.units {
		v.writeRow(left, &v.units[i])
	}
	v.blank()
	v.line(2, markGood, in(dim, " passed   "), markBad, in(dim, " stopped   "), markBlocked,
		in(dim, " passed, must not be loaded   "), markNote, in(dim, " not asked"))
	v.writeStops()
}

func orNone(terms []string) string {
	if len(terms) == 0 {
		return "none"
	}
	return strings.Join(terms, ", ")
}

// leftColumn is as wide as the widest id beside which the staircase still fits.
func (v traceView) leftColumn() int {
	digits := len(strconv.Itoa(len(v.units)))
	counts := 3*digits + len("  ") + len("  ") + 3*len(" x")
	room := max(12, v.width-2-gutter-stairs()-gutter-counts)
	widest := 0
	for i := range v.units {
		if n := columns(visible(v.units[i].ID)); n <= room {
			widest = max(widest, n)
		}
	}
	return widest
}

// stairs is how far the names of the gates reach when each starts over the
// column of its gate.
func stairs() int {
	longest := 0
	for g, gate := range planner.GateNames() {
		longest = max(longest, 2*g+len(gate))
	}
	return longest
}

func (v traceView) writeStairs(left int) {
	digits := len(strconv.Itoa(len(v.units)))
	for g, gate := range planner.GateNames() {
		count := map[span]int{}
		for i := range v.units {
			count[gateMark(v.units[i].Gates, g)]++
		}
		v.pad(2 + left + gutter)
		v.put(in(dim, strings.Repeat("│ ", g)))
		look := plain
		if count[markBad] > 0 {
			look = red
		}
		v.put(in(look, gate))
		v.pad(stairs() - 2*g - len(gate) + gutter)
		v.put(in(dim, fmt.Sprintf("%*d ✓", digits, count[markGood])))
		for _, mark := range []span{markBlocked, markBad} {
			if n := count[mark]; n > 0 {
				v.put(in(mark.style, fmt.Sprintf("  %*d %s", digits, n, mark.text)))
			}
		}
		v.blank()
	}
}

// writeRow writes the verdicts on one unit. An id that is too long for its
// column stands alone, above them.
func (v traceView) writeRow(left int, u *planner.UnitTrace) {
	look := dim
	if u.Outcome == planner.OutcomeSelected {
		look = bold
	}
	id := name(look, u.ID)
	v.pad(2)
	v.put(id)
	if columns(id.text) > left {
		v.blank()
		v.pad(2 + left + gutter)
	} else {
		v.pad(left - columns(id.text) + gutter)
	}
	for g := range planner.GateNames() {
		if g > 0 {
			v.put(space)
		}
		v.put(gateMark(u.Gates, g))
	}
	if u.Score > 0 {
		v.put(in(dim, "   score "+strconv.Itoa(u.Score)))
	}
	v.blank()
}

func gateMark(gates []planner.GateVerdict, g int) span {
	switch {
	case g >= len(gates):
		return markNote
	case !gates[g].Passed:
		return markBad
	case strings.HasSuffix(gates[g].Detail, ineligible):
		return markBlocked
	}
	return markGood
}

// writeStops says, gate by gate, what stopped each unit, and what keeps the
// selected ones from being loaded.
func (v traceView) writeStops() {
	titled := false
	for g, gate := range planner.GateNames() {
		list := &reasonList{}
		for i := range v.units {
			u := &v.units[i]
			if mark := gateMark(u.Gates, g); mark == markBad || mark == markBlocked {
				list.add(mark, u.ID, strings.TrimSpace(strings.TrimSuffix(u.Gates[g].Detail, ineligible)))
			}
		}
		if len(list.groups) == 0 {
			continue
		}
		if !titled {
			v.heading("Closed gates")
			titled = true
		}
		v.line(2, in(bold, gate))
		v.writeReasons(4, list)
	}
}
