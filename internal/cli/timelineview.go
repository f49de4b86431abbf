package cli

import (
	"strings"

	"github.com/writ-dev/writ/search"
)

// timelineView draws a timeline for a person.
type timelineView struct {
	*page
	*timeline
}

// Columns of a drawing.
const (
	rowLead    = 6  // indent, status and bracket before a label
	widestID   = 28 // labels that are longer get a line of their own
	leastAxis  = 20
	datesWidth = 25 // of both bounds in words
	wideEnough = 110
)

// drawing is where the columns of a timeline are.
type drawing struct {
	label int  // columns of a label
	axis  int  // columns of the axis
	dates bool // whether the bounds are written behind the bars
}

func (v timelineView) layout() drawing {
	d := drawing{label: 8}
	for _, chain := range v.chains {
		for i := range chain {
			if n := columns(visible(chain[i].Unit.ID)); n <= widestID {
				d.label = max(d.label, n)
			}
		}
	}
	d.axis = v.width - rowLead - d.label - gutter
	if v.width >= wideEnough {
		d.dates = true
		d.axis -= datesWidth + gutter
	}
	d.axis = max(d.axis, leastAxis)
	return d
}

func (v timelineView) write() {
	m := v.loaded.Manifest
	v.heading("Timeline ", name(plain, m.Project), text(" "+m.Version))
	list := momentSpans(v.at)
	if v.at.KnownAt != "" {
		list = append(list, in(dim, laterThan(m, v.at)))
	}
	v.line(2, list...)
	if len(v.chains) > 0 {
		v.blank()
		v.writeBars()
	}
	if len(v.always) > 0 {
		v.blank()
		names := make([]string, len(v.always))
		for i, u := range v.always {
			names[i] = u.ID
		}
		v.hang(2, 4, append(spans(markOpen, text(" always valid: ")), listed(names)...)...)
	}
	v.blank()
	v.writeLegend()
}

func (v timelineView) writeBars() {
	d := v.layout()
	v.writeAxis(d)
	for _, chain := range v.chains {
		for i := range chain {
			v.writeTrack(d, &chain[i], bracket(i, len(chain)))
		}
	}
}

// bracket joins the units of a chain.
func bracket(i, n int) string {
	switch {
	case n == 1:
		return " "
	case i == 0:
		return "┌"
	case i == n-1:
		return "└"
	}
	return "│"
}

// writeAxis writes the labels, and below them the line with its ticks and the
// date that is asked about.
func (v timelineView) writeAxis(d drawing) {
	s := scale{v.axis, d.axis}
	labels, line := blankRow(d.axis), []rune(strings.Repeat("─", d.axis))
	ticks := ticksOf(v.axis, func(length int) int { return d.axis / (length + 2) })
	for _, t := range ticks {
		at := s.at(t.day)
		if at >= d.axis {
			continue
		}
		line[at] = '┴'
		if label := []rune(t.label); at+len(label) <= d.axis {
			copy(labels[at:], label)
		}
	}
	if today, ok := v.todayAt(s); ok {
		line[today] = '┬'
	}
	now := min(s.at(v.asOf), d.axis-1)
	line[now] = '┬'
	lead := rowLead + d.label + gutter
	v.row(lead, in(dim, strings.TrimRight(string(labels), " ")))
	v.row(lead, in(dim, string(line[:now])), in(bold, "┬"), in(dim, string(line[now+1:])))
}

// todayAt gives the column of today, when that is another one than that of the
// date that is asked about.
func (v timelineView) todayAt(s scale) (column int, ok bool) {
	column = s.at(v.today)
	return column, v.axis.Holds(v.today) && column != s.at(v.asOf)
}

func blankRow(n int) []rune { return []rune(strings.Repeat(" ", n)) }

// row writes a line that is never wrapped.
func (v timelineView) row(indent int, list ...span) {
	v.pad(indent)
	for _, s := range list {
		v.put(s)
	}
	v.blank()
}

func (v timelineView) writeTrack(d drawing, t *search.Track, join string) {
	label := name(plain, t.Unit.ID)
	lead := spans(statusMark(t.Status), space, in(dim, join), space, label)
	if n := columns(label.text); n > d.label {
		v.row(2, lead...)
		lead = spans(text("  "), in(dim, strings.NewReplacer("┌", "│", "└", " ").Replace(join)), text(strings.Repeat(" ", 1+d.label)))
	} else {
		lead = append(lead, span{text: strings.Repeat(" ", d.label-n)})
	}
	lead = append(lead, span{text: strings.Repeat(" ", gutter)})
	if t.Status == search.Unreadable {
		v.row(2, append(lead, in(red, "its window is not one of dates"))...)
		return
	}
	bar := v.bar(d, t)
	if d.dates {
		bar = append(bar, in(dim, "  "+boundsText(t)))
	}
	v.row(2, trimRight(append(lead, bar...))...)
}

// trimRight takes the blanks off the end of a row.
func trimRight(list []span) []span {
	for len(list) > 0 {
		last := &list[len(list)-1]
		if last.text = strings.TrimRight(last.text, " "); last.text != "" {
			break
		}
		list = list[:len(list)-1]
	}
	return list
}

func boundsText(t *search.Track) string {
	from, until := boundText(t.Valid.From), boundText(t.Valid.Until)
	switch {
	case from == "" && until == "":
		return "always"
	case until == "":
		return "from " + from
	case from == "":
		return "until " + until
	}
	return from + " – " + until
}

// bar draws one window. Each column has two halves, so that a change is placed
// twice as exactly as the columns are wide.
func (v timelineView) bar(d drawing, t *search.Track) []span {
	halves := scale{v.axis, 2 * d.axis}
	cells := blankRow(d.axis)
	from, to := halves.span(t.Valid)
	wayFrom, wayTo := halves.span(t.GivesWay)
	for i := range cells {
		valid := func(half int) bool { return from <= half && half < to }
		gives := func(half int) bool { return wayFrom <= half && half < wayTo }
		cells[i] = barRune(valid(2*i), valid(2*i+1), gives(2*i), gives(2*i+1))
	}
	columns := scale{v.axis, d.axis}
	if day, ok := recordedDay(t); ok {
		at := min(columns.at(day), d.axis-1)
		for i := at + 1; i < d.axis && 2*i < from; i++ {
			cells[i] = '┄'
		}
		cells[at] = '◆'
	}
	if t.Valid.From == search.SinceEver && cells[0] != '◆' {
		cells[0] = '◀'
	}
	if t.Valid.Until == search.ForEver && cells[d.axis-1] != '◆' {
		cells[d.axis-1] = '▶'
	}
	if today, ok := v.todayAt(columns); ok && cells[today] == ' ' {
		cells[today] = '┊'
	}
	return v.paint(cells, min(columns.at(v.asOf), d.axis-1), t.Status)
}

// barRune is the part of a bar in one column.
func barRune(left, right, leftGives, rightGives bool) rune {
	switch {
	case left && right && leftGives && rightGives:
		return '░'
	case left && right && !leftGives && !rightGives:
		return '█'
	case left && right:
		return '▓'
	case left && leftGives, right && rightGives:
		return '░'
	case left:
		return '▌'
	case right:
		return '▐'
	}
	return ' '
}

// paint colours a row, and draws the line of the date through its empty cells.
func (v timelineView) paint(cells []rune, now int, s search.Status) []span {
	if cells[now] == ' ' || cells[now] == '┄' {
		cells[now] = '│'
	}
	look := statusMark(s).style
	var list []span
	for i, r := range cells {
		style := look
		switch {
		case i == now && r == '│':
			style = bold
		case r == '◆':
			style = cyan
		case strings.ContainsRune(" ┄┊░", r):
			style = dim
		}
		if n := len(list); n > 0 && list[n-1].style == style {
			list[n-1].text += string(r)
		} else {
			list = append(list, span{text: string(r), style: style})
		}
	}
	return list
}

func (v timelineView) writeLegend() {
	item := func(mark span, what string) []span { return spans(mark, in(dim, " "+what)) }
	parts := [][]span{
		item(statusMark(search.Current), "current"), item(statusMark(search.Superseded), "superseded"),
		item(statusMark(search.Future), "not valid yet"), item(statusMark(search.Expired), "expired"),
		item(in(plain, "█"), "valid"), item(in(dim, "░"), "valid, but a successor is current"),
		item(in(cyan, "◆"), "recorded"), item(in(bold, "│"), v.at.AsOf),
	}
	if v.today != v.asOf && v.axis.Holds(v.today) {
		parts = append(parts, item(in(dim, "┊"), "today"))
	}
	var list []span
	for _, part := range parts {
		if len(list) > 0 {
			list = append(list, text("   "))
		}
		for i := range part {
			part[i].whole = true
		}
		list = append(list, part...)
	}
	v.hang(2, 2, list...)
}
