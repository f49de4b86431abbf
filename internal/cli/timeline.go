package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/load"
	"github.com/writ-dev/writ/search"
)

type timelineOptions struct {
	*runner
	source        sourceFlags
	asOf, knownAt given
	role, svg     given
	json          bool
}

func newTimeline(r *runner) *cobra.Command {
	o := &timelineOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "timeline",
		Short: "draw when each unit is valid, and what supersedes it",
		Long: "timeline draws the validity window of every unit on one axis of dates. Units that supersede one another stand " +
			"together. The line is the date that is asked about, and ◆ is when a unit was recorded.",
		Example: `writ timeline --manifest regulation
writ timeline --as-of 2026-08-01 --known-at 2025-06-30
writ timeline --svg timeline.svg`,
		Annotations: exits("the timeline was drawn", "the manifest cannot be read or verified, or the SVG not written", wrongUsage),
		RunE: func(cmd *cobra.Command, words []string) error {
			if len(words) > 0 {
				return usagef("Name the manifest with --manifest.", "timeline takes no words: %s", words[0])
			}
			return o.run(cmd)
		},
	}
	when := flagGroup{cmd.Flags(), "When"}
	when.value(&o.asOf, "as-of", "DATE", "2026-07-06", "how units stand on this date, YYYY-MM-DD (default today, in UTC)")
	when.value(&o.knownAt, "known-at", "DATE", "2025-06-30", "draw only what had been recorded by this date")
	when.value(&o.role, "role", "ROLE", "agent", "only a successor that serves this audience role supersedes (default: any)")
	o.source.declare(cmd)
	o.source.declareTrust(cmd)
	output := flagGroup{cmd.Flags(), outputGroup}
	output.value(&o.svg, "svg", "FILE", "timeline.svg", "write a drawing in SVG to this file, replacing it; - prints it")
	output.boolean(&o.json, "json", "print the timeline as JSON")
	return cmd
}

func (o *timelineOptions) run(cmd *cobra.Command) error {
	at, err := o.moment(&o.asOf, &o.knownAt)
	switch {
	case err != nil:
		return err
	case o.json && o.svg.set:
		return usagef("Leave out one of them.", "--json contradicts --svg")
	case o.svg.set && o.svg.text == "":
		return badValue("svg", "", "names no file", o.svg.example)
	}
	loaded, err := o.source.open(cmd.Context(), o.runner, "")
	if err != nil {
		return err
	}
	line := newTimelineOf(loaded, at, o.role.text, o.today())
	switch {
	case o.json:
		return o.printDocument(line.document())
	case o.svg.text == "-":
		o.out.WriteString(line.svg())
		return nil
	case o.svg.set:
		if err := os.WriteFile(o.svg.text, []byte(line.svg()), 0o666); err != nil {
			return fmt.Errorf("cannot write the drawing: %w", err)
		}
		return nil
	}
	p := o.newPage()
	timelineView{p, line}.write()
	o.print(p)
	return nil
}

// timeline is what a drawing shows.
type timeline struct {
	loaded     *load.Loaded
	at         kcp.Moment
	asOf       search.Day
	today      search.Day
	chains     []search.Chain
	always     []*kcp.Unit
	unrecorded int
	axis       search.Span // all that is drawn; never open
}

func newTimelineOf(loaded *load.Loaded, at kcp.Moment, role, today string) *timeline {
	m := loaded.Manifest
	view := m.View(at)
	line := &timeline{loaded: loaded, at: at}
	line.asOf, _ = search.DayOf(at.AsOf)
	line.today, _ = search.DayOf(today)
	line.chains, line.always = search.Chains(view, m.Units, role)
	for i := range m.Units {
		if !view.Known(&m.Units[i]) {
			line.unrecorded++
		}
	}
	line.axis = line.extent()
	return line
}

// extent is the span from the first to the last date there is, with some room
// beside them.
func (l *timeline) extent() search.Span {
	s := search.Span{From: l.asOf, Until: l.asOf}
	include := func(d search.Day) {
		if d != search.SinceEver && d != search.ForEver {
			s.From, s.Until = min(s.From, d), max(s.Until, d)
		}
	}
	for _, chain := range l.chains {
		for _, t := range chain {
			if !t.Valid.Empty() {
				include(t.Valid.From)
				include(t.Valid.Until)
			}
			if day, ok := recordedDay(&t); ok {
				include(day)
			}
		}
	}
	const leastRoom = 30 // days
	room := max(leastRoom, (s.Until-s.From)/20)
	return search.Span{From: s.From - room, Until: s.Until + room}
}

// recordedDay gives the day on which a unit was recorded, when it says so.
func recordedDay(t *search.Track) (search.Day, bool) {
	if t.Temporal == nil {
		return 0, false
	}
	return search.DayOf(t.Temporal.RecordedAt.Value)
}

// timelineDocument is the JSON form of a timeline.
type timelineDocument struct {
	Source     string          `json:"source"`
	Project    string          `json:"project"`
	Version    string          `json:"version"`
	AsOf       string          `json:"as_of"`
	KnownAt    string          `json:"known_at,omitzero"`
	Chains     []timelineChain `json:"chains"`
	Always     []string        `json:"always"`
	Unrecorded int             `json:"unrecorded"`
}

type timelineChain struct {
	Units []timelineUnit `json:"units"`
}

// timelineUnit is one unit: its window as declared, with the root's defaults,
// and the days on which a successor is current.
type timelineUnit struct {
	UnitID       string        `json:"unit_id"`
	Status       search.Status `json:"status"`
	ValidFrom    kcp.String    `json:"valid_from"`
	ValidUntil   kcp.String    `json:"valid_until"`
	RecordedAt   kcp.String    `json:"recorded_at"`
	SupersededBy kcp.String    `json:"superseded_by"`
	GivesWay     *daySpan      `json:"gives_way,omitzero"`
}

// daySpan is a span of days; a bound that is open is left out.
type daySpan struct {
	From  string `json:"from,omitzero"`
	Until string `json:"until,omitzero"`
}

func (l *timeline) document() timelineDocument {
	m := l.loaded.Manifest
	doc := timelineDocument{Source: l.loaded.Source, Project: m.Project, Version: m.Version, AsOf: l.at.AsOf, KnownAt: l.at.KnownAt, Unrecorded: l.unrecorded}
	for _, chain := range l.chains {
		var c timelineChain
		for _, t := range chain {
			u := timelineUnit{UnitID: t.Unit.ID, Status: t.Status}
			if w := t.Temporal; w != nil {
				u.ValidFrom, u.ValidUntil, u.RecordedAt, u.SupersededBy = w.ValidFrom, w.ValidUntil, w.RecordedAt, w.SupersededBy
			}
			if !t.GivesWay.Empty() {
				u.GivesWay = &daySpan{boundText(t.GivesWay.From), boundText(t.GivesWay.Until)}
			}
			c.Units = append(c.Units, u)
		}
		doc.Chains = append(doc.Chains, c)
	}
	for _, u := range l.always {
		doc.Always = append(doc.Always, u.ID)
	}
	return doc
}

// boundText gives a day as a date, and an open bound as "".
func boundText(d search.Day) string {
	if d == search.SinceEver || d == search.ForEver {
		return ""
	}
	return d.String()
}
