package cli

import (
	"time"

	"github.com/writ-dev/writ/search"
)

// tick is a date with a label on an axis.
type tick struct {
	day   search.Day
	label string
}

// tickStep is a distance between ticks.
type tickStep struct {
	years, months, days int
	layout              string
}

// tickSteps go from fine to coarse.
var tickSteps = []tickStep{
	{days: 1, layout: time.DateOnly}, {days: 7, layout: time.DateOnly}, {days: 14, layout: time.DateOnly},
	{months: 1, layout: "2006-01"}, {months: 3, layout: "2006-01"}, {months: 6, layout: "2006-01"},
	{years: 1, layout: "2006"}, {years: 2, layout: "2006"}, {years: 5, layout: "2006"}, {years: 10, layout: "2006"},
	{years: 20, layout: "2006"}, {years: 50, layout: "2006"}, {years: 100, layout: "2006"}, {years: 200, layout: "2006"},
	{years: 500, layout: "2006"}, {years: 1000, layout: "2006"}, {years: 2000, layout: "2006"},
}

// ticksOf gives the ticks of an axis: the finest step of which there are at most
// so many that each label keeps the room it needs. perLabel says how many labels
// of a length fit.
func ticksOf(axis search.Span, perLabel func(length int) int) []tick {
	var ticks []tick
	for _, step := range tickSteps {
		most := perLabel(len(step.layout))
		if int(axis.Until-axis.From)/step.leastDays() > 4*most+4 {
			continue // far too fine, and slow to count
		}
		if ticks = step.ticks(axis); len(ticks) <= most {
			break
		}
	}
	return ticks
}

func (s tickStep) leastDays() int { return s.years*365 + s.months*28 + s.days }

func (s tickStep) ticks(axis search.Span) []tick {
	var ticks []tick
	for day := s.first(axis.From); ; day = day.AddDate(s.years, s.months, s.days) {
		at, _ := search.DayOf(day.Format(time.DateOnly))
		if day.Year() > 9999 || at > axis.Until {
			return ticks
		}
		if at >= axis.From {
			ticks = append(ticks, tick{at, day.Format(s.layout)})
		}
	}
}

// first gives a round date at or before a day.
func (s tickStep) first(d search.Day) time.Time {
	const secondsOfDay = 24 * 60 * 60
	t := time.Unix(int64(d)*secondsOfDay, 0).UTC()
	switch {
	case s.years > 0:
		return time.Date(max(1, t.Year()-t.Year()%s.years), 1, 1, 0, 0, 0, 0, time.UTC)
	case s.months > 0:
		return time.Date(t.Year(), t.Month()-(t.Month()-1)%time.Month(s.months), 1, 0, 0, 0, 0, time.UTC)
	case s.days > 1: // weeks begin on Monday
		return t.AddDate(0, 0, -(int(t.Weekday())+6)%7)
	}
	return t
}

// scale maps days to steps of an axis.
type scale struct {
	axis  search.Span
	steps int
}

// at gives the step in which a day begins; a day outside the axis gives the
// first step or the one after the last.
func (s scale) at(d search.Day) int {
	switch {
	case d <= s.axis.From:
		return 0
	case d > s.axis.Until:
		return s.steps
	}
	return int(int64(d-s.axis.From) * int64(s.steps) / int64(s.axis.Until-s.axis.From+1))
}

// span gives the steps that a span covers, the last one excluded: at least one
// when any of its days is on the axis.
func (s scale) span(days search.Span) (from, to int) {
	if days.Empty() || days.Until < s.axis.From || days.From > s.axis.Until {
		return 0, 0
	}
	from, to = s.at(days.From), s.steps
	if days.Until < s.axis.Until {
		to = s.at(days.Until + 1)
	}
	from = min(from, s.steps-1)
	return from, max(to, from+1)
}
