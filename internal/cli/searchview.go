package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/load"
	"github.com/writ-dev/writ/search"
)

// searchView writes the answer to a query for a person.
type searchView struct {
	*page
	query  *search.Query
	result *search.Result
	loaded *load.Loaded
}

func (v searchView) write() {
	title := text(" every unit")
	if len(v.query.Terms) > 0 {
		title = text(" “" + strings.Join(v.query.Terms, "” “") + "”")
	}
	v.heading("Search", title)
	m := v.loaded.Manifest
	t := &table{indent: 2}
	t.add(spans(in(dim, "manifest")), spans(name(bold, m.Project), text(" "+m.Version)))
	if !v.query.IncludeAllTemporal || v.result.Moment.KnownAt != "" {
		t.add(spans(in(dim, "when")), v.when())
	}
	if filters := v.filters(); filters != "" {
		t.add(spans(in(dim, "only")), spans(text(filters)))
	}
	v.table(t)
	v.writeHits()
	v.writeOmitted()
}

func (v searchView) when() []span {
	at := v.result.Moment
	if v.query.IncludeAllTemporal {
		at.AsOf = ""
	}
	list := momentSpans(at)
	if at.KnownAt != "" {
		list = append(list, in(dim, laterThan(v.loaded.Manifest, at)))
	}
	return list
}

// momentSpans says where somebody stands who asks.
func momentSpans(at kcp.Moment) []span {
	var parts []string
	if at.AsOf != "" {
		parts = append(parts, "as of "+at.AsOf)
	} else {
		parts = append(parts, "at any time")
	}
	if at.KnownAt != "" {
		parts = append(parts, "as known at "+at.KnownAt)
	}
	return spans(text(strings.Join(parts, " · ")))
}

// laterThan counts the units that were recorded after the moment.
func laterThan(m *kcp.Manifest, at kcp.Moment) string {
	view, n := m.View(at), 0
	for i := range m.Units {
		if !view.Known(&m.Units[i]) {
			n++
		}
	}
	return fmt.Sprintf(", without the %s of %s recorded later", grouped(float64(n)), counted(len(m.Units), "unit"))
}

func (v searchView) filters() string {
	q := v.query
	var parts []string
	add := func(set bool, text string) {
		if set {
			parts = append(parts, text)
		}
	}
	add(q.Audience != "", "audience "+q.Audience)
	add(q.Scope != "", "scope "+q.Scope)
	add(q.SensitivityMax != "", "at most "+q.SensitivityMax)
	add(q.HasCapabilities != nil, strings.TrimSpace("what requires nothing but "+strings.Join(q.HasCapabilities, ", ")))
	add(q.ExcludeStale, "what is fresh")
	add(q.MaxTokenBudget.Set, "what fits into "+grouped(q.MaxTokenBudget.Value)+" tokens")
	return strings.Join(parts, " · ")
}

func (v searchView) writeHits() {
	hits := v.result.Hits
	v.heading("Found", text(" "+counted(len(hits), "unit")))
	if len(hits) == 0 {
		v.line(2, in(dim, "No unit matches."))
		return
	}
	heads := &table{}
	for i := range hits {
		h := &hits[i]
		size := cell(plain, "")
		if tokens := h.Tokens(); tokens.Set {
			size = cell(plain, "~"+artifact.FormatNumber(tokens.Value)+" tokens")
		}
		heads.add(spans(name(bold, h.Unit.ID)), spans(in(dim, "score "), text(strconv.Itoa(h.Score))), size)
	}
	widths := heads.widest(func(int) int { return v.width * 2 / 5 })
	for i, r := range heads.rows {
		if i > 0 {
			v.blank()
		}
		head := spans(markOpen, space)
		for k, c := range r {
			head = append(head, c...)
			if k < len(r)-1 {
				head = append(head, span{text: strings.Repeat(" ", max(widths[k]-spanColumns(c), 0)+gutter)})
			}
		}
		v.hang(2, 4, head...)
		v.writeHit(&hits[i])
	}
}

func (v searchView) writeHit(h *search.Hit) {
	place := spans(name(cyan, h.Unit.Path))
	if h.Source != "" {
		place = append(place, text("  from "), name(plain, h.Source))
	}
	v.hang(4, 4, place...)
	v.line(4, text(strings.TrimSpace(h.Unit.Intent)))
	if len(h.Reasons) > 0 {
		found := "found in " + strings.Join(h.Reasons, ", ")
		if h.Alias != "" {
			found += " " + h.Alias
		}
		v.line(4, in(dim, found))
	}
	if h.SummaryOf != nil {
		v.hang(4, 6, markNote, text(" the summary of "), name(bold, h.SummaryOf.ID), text(", which is too large"))
	}
	if h.Caution != "" {
		v.hang(4, 6, markWarn, space, text(h.Caution))
	}
	if v.result.Moment.KnownAt != "" && (h.Temporal == nil || h.Temporal.RecordedAt.Value == "") {
		v.line(4, in(dim, "no recorded_at: counts as known since ever"))
	}
}

// writeOmitted counts what matches and is not shown.
func (v searchView) writeOmitted() {
	o := v.result.Omitted
	var parts []string
	sum := 0
	for _, c := range []struct {
		n    int
		what string
	}{
		{o.Expired, "expired"}, {o.Future, "not valid yet"}, {o.Superseded, "superseded"},
		{o.Unreadable, "with a window that is not one of dates"}, {o.NotFor, "not for this"},
		{o.OverBudget, "too large for the budget"}, {o.BeyondLimit, "not among the best " + strconv.Itoa(v.limit())},
	} {
		if c.n > 0 {
			sum += c.n
			parts = append(parts, grouped(float64(c.n))+" "+c.what)
		}
	}
	if sum == 0 {
		return
	}
	v.heading("Left out", text(" "+counted(sum, "unit")))
	v.line(2, in(dim, strings.Join(parts, ", ")))
}

func (v searchView) limit() int {
	if v.query.Limit > 0 {
		return v.query.Limit
	}
	return search.DefaultLimit
}
