package search

import (
	"iter"
	"math/bits"
	"slices"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
)

// Result is the answer to a query: the best units first.
type Result struct {
	Hits    []Hit
	Omitted Omitted
	Moment  kcp.Moment // what the query asked about, with its defaults
}

// A Hit is one unit of a result.
type Hit struct {
	Unit   *kcp.Unit
	Source string // the entry of manifests it came from, "" for the manifest itself
	Score  int
	// Reasons say where terms were found: trigger, intent, id, path, alias, each
	// once, in the order of the terms.
	Reasons []string
	Caution string // why it may not be what was asked for
	Alias   string // the alias that a term named
	// SummaryOf is the unit that this summary stands for, because only the
	// summary fitted into the budget. Score and reasons are that unit's.
	SummaryOf *kcp.Unit
	// Temporal is the unit's window with the root's defaults, nil without one.
	Temporal *kcp.Temporal
}

// Tokens is the estimate that the unit declares.
func (h *Hit) Tokens() kcp.Number { return tokens(h.Unit) }

// Omitted counts the units that match but are not among the results. Those that
// fail a hard filter, and those that are not known, are not counted.
type Omitted struct {
	NotFor      int `json:"not_for,omitzero"`      // a strict not_for, or one that cannot be read
	Unreadable  int `json:"unreadable,omitzero"`   // the window is not one of dates
	Future      int `json:"future,omitzero"`       // the window opens later
	Expired     int `json:"expired,omitzero"`      // the window has closed
	Superseded  int `json:"superseded,omitzero"`   // a successor is current
	OverBudget  int `json:"over_budget,omitzero"`  // neither it nor its summary fits
	BeyondLimit int `json:"beyond_limit,omitzero"` // not among the best
}

// count notes a unit that time leaves out.
func (o *Omitted) count(s Status) {
	switch s {
	case Unreadable:
		o.Unreadable++
	case Future:
		o.Future++
	case Expired:
		o.Expired++
	case Superseded:
		o.Superseded++
	}
}

// ranking orders candidates by score, best first; equal scores stay in the order
// of declaration, sources after the manifest itself.
type ranking struct {
	scans   []*scan
	byScore [][]candidate // scores are small: a few points for each term
	size    int
}

// candidate is a unit that answers the query.
type candidate struct{ scan, at int32 } // its scan, and its place there

func (r *ranking) add(score, at int) {
	for len(r.byScore) <= score {
		r.byScore = append(r.byScore, nil)
	}
	r.byScore[score] = append(r.byScore[score], candidate{int32(len(r.scans) - 1), int32(at)})
	r.size++
}

func (r *ranking) best() iter.Seq2[int, candidate] {
	return func(yield func(int, candidate) bool) {
		for score, equals := range slices.Backward(r.byScore) {
			for _, c := range equals {
				if !yield(score, c) {
					return
				}
			}
		}
	}
}

// take walks the ranking and takes what fits (specification 15.5).
func (r *ranking) take(p *prepared, res *Result) {
	left, seen := p.budget, 0
	taken := map[*kcp.Unit]bool{}
	for score, c := range r.best() {
		if len(res.Hits) >= p.limit {
			break
		}
		seen++
		s := r.scans[c.scan]
		u := &s.index.manifest.Units[c.at]
		shown := s.fitting(u, left)
		switch {
		case taken[u]: // as the summary of another
		case shown == nil:
			res.Omitted.OverBudget++
		case !taken[shown]:
			taken[shown] = true
			left -= tokens(shown).Value
			h := s.hit(shown, u, int(c.at))
			h.Score = score
			res.Hits = append(res.Hits, h)
		}
	}
	res.Omitted.BeyondLimit = r.size - seen
}

// fitting gives the unit, or the summary that takes its place, when it fits.
func (s *scan) fitting(u *kcp.Unit, left float64) *kcp.Unit {
	if tokens(u).Value <= left {
		return u
	}
	if !s.summaries || u.Hints == nil {
		return nil
	}
	id := u.Hints.SummaryUnit.Value
	summary := s.view.Resolve(id)
	if summary == nil || summary.ID != id || tokens(summary).Value > left || !s.serving(summary) {
		return nil
	}
	return summary
}

// hit writes down why the unit u, at place i, is a result. What is shown is the
// unit itself or its summary.
func (s *scan) hit(shown, u *kcp.Unit, i int) Hit {
	h := Hit{Unit: shown, Source: s.source, Temporal: s.view.TemporalOf(shown)}
	if shown != u {
		h.SummaryOf = u
	}
	if len(s.terms) > 0 {
		ev := s.index.evidence(s.prepared, s.shared, i)
		h.Reasons = ev.reasons()
		if ev.alias != 0 {
			h.Alias = s.matchedAlias(u, i)
		}
	}
	if _, phrase := s.demote(i, 0); phrase >= 0 {
		h.Caution = "not_for match: '" + u.NotFor.Items[phrase] + "'"
	}
	switch {
	case !s.IncludeAllTemporal:
	case h.Caution == "":
		h.Caution = "temporal filtering bypassed (include_all_temporal)"
	default:
		h.Caution += "; temporal filtering bypassed"
	}
	return h
}

// reasons names the places in the order in which the terms meet them.
func (e evidence) reasons() []string {
	places := [...]struct {
		name string
		hits found
	}{{"trigger", e.trigger}, {"intent", e.intent}, {"id", e.id}, {"path", e.path}, {"alias", e.alias}}
	slices.SortStableFunc(places[:], func(a, b struct {
		name string
		hits found
	}) int {
		return bits.TrailingZeros64(a.hits) - bits.TrailingZeros64(b.hits)
	})
	var names []string
	for _, p := range places {
		if p.hits != 0 {
			names = append(names, p.name)
		}
	}
	return names
}

// Response is a result in the shape of the specification (15.3).
type Response struct {
	Results []ResponseItem `json:"results"`
}

// ResponseItem is one result.
type ResponseItem struct {
	UnitID         string                            `json:"unit_id"`
	Score          int                               `json:"score"`
	Path           string                            `json:"path"`
	TokenEstimate  kcp.Number                        `json:"token_estimate"`
	SummaryUnit    kcp.String                        `json:"summary_unit"`
	MatchReason    []string                          `json:"match_reason"`
	Caution        kcp.String                        `json:"caution"`
	SourceManifest kcp.String                        `json:"source_manifest"`
	Temporal       artifact.Optional[*ResponseTimes] `json:"temporal,omitzero"`
}

// ResponseTimes is a unit's window with the root's defaults.
type ResponseTimes struct {
	ValidFrom    kcp.String `json:"valid_from,omitzero"`
	ValidUntil   kcp.String `json:"valid_until,omitzero"`
	RecordedAt   kcp.String `json:"recorded_at,omitzero"`
	SupersededBy kcp.String `json:"superseded_by,omitzero"`
}

// Response gives the result in the shape of the specification. withTemporal adds
// each unit's window, as include_all_temporal asks.
func (r *Result) Response(withTemporal bool) Response {
	doc := Response{Results: make([]ResponseItem, 0, len(r.Hits))}
	for i := range r.Hits {
		h := &r.Hits[i]
		item := ResponseItem{
			UnitID: h.Unit.ID, Score: h.Score, Path: h.Unit.Path,
			TokenEstimate: h.Tokens(), MatchReason: h.Reasons,
			Caution:        kcp.String{Value: h.Caution, Set: h.Caution != ""},
			SourceManifest: kcp.String{Value: h.Source, Set: h.Source != ""},
		}
		if h.Unit.Hints != nil {
			item.SummaryUnit = h.Unit.Hints.SummaryUnit
		}
		if withTemporal {
			item.Temporal = artifact.Some(timesOf(h.Temporal))
		}
		doc.Results = append(doc.Results, item)
	}
	return doc
}

func timesOf(t *kcp.Temporal) *ResponseTimes {
	if t == nil {
		return nil
	}
	return &ResponseTimes{t.ValidFrom, t.ValidUntil, t.RecordedAt, t.SupersededBy}
}
