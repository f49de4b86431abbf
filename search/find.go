package search

import (
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/writ-dev/writ/kcp"
)

// A Source is a federated manifest that the caller has fetched.
type Source struct {
	ID    string // the entry of manifests that it came from
	Index *Index
}

// Find answers one query over m and, when the query asks for declared scope,
// over the sources. The error is a [*QueryError].
func Find(m *kcp.Manifest, q Query, sources ...Source) (Result, error) {
	return NewIndex(m).Find(q, sources...)
}

// Find is the function of the same name, on texts that are already indexed.
//
// Units pass the hard filters, are scored, meet not_for, then the filter of
// time, and only then the limit (format section 20.3). Sources whose window is
// not open are left out whole.
func (ix *Index) Find(q Query, sources ...Source) (Result, error) {
	p, err := prepare(&q)
	if err != nil {
		return Result{}, err
	}
	var r ranking
	res := Result{Moment: p.moment}
	ix.scan(p, "", &r, &res.Omitted)
	if q.FederationScope == "declared" {
		hub := ix.view.At(p.moment)
		for _, s := range sources {
			if p.IncludeAllTemporal || serves(hub, ix.manifest, s.ID) {
				s.Index.scan(p, s.ID, &r, &res.Omitted)
			}
		}
	}
	r.take(p, &res)
	return res, nil
}

func serves(hub *kcp.View, m *kcp.Manifest, id string) bool {
	for i := range m.Manifests {
		if ref := &m.Manifests[i]; ref.ID == id {
			return hub.Serves(ref)
		}
	}
	return true
}

// scan is one manifest seen by one query.
type scan struct {
	*prepared
	index  *Index
	view   *kcp.View
	source string
	shared []found
}

// scan ranks the units of one manifest that answer the query. Terms come first:
// they rule out most units, from the index alone.
func (ix *Index) scan(p *prepared, source string, r *ranking, left *Omitted) {
	s := &scan{prepared: p, index: ix, view: ix.view.At(p.moment), source: source, shared: ix.inShared(p)}
	r.scans = append(r.scans, s)
	asksMore := p.asksMore()
	for i := range ix.prints {
		print := &ix.prints[i]
		if p.noDeprecated && print.deprecated || print.sensitivity > p.sensitivity {
			continue
		}
		score := 0
		if len(p.terms) > 0 {
			if score = ix.evidence(p, s.shared, i).score(); score == 0 {
				continue
			}
		}
		u := &ix.manifest.Units[i]
		window := ix.windows[i]
		if !s.view.Recorded(window) || asksMore && !s.qualifies(u) {
			continue
		}
		score, phrase := s.demote(i, score)
		if print.closed || phrase >= 0 && u.NotForStrict.Restricts() {
			left.NotFor++
			continue
		}
		if status := s.status(u, window); status != Current {
			left.count(status)
			continue
		}
		r.add(score, i)
	}
}

// score is 5 for each term in a trigger, 3 for each in the intent, 1 for each in
// id or path, and 1 for each in an alias (specification 15.4).
func (e evidence) score() int {
	return 5*bits.OnesCount64(e.trigger) + 3*bits.OnesCount64(e.intent) +
		bits.OnesCount64(e.id|e.path) + bits.OnesCount64(e.alias)
}

// asksMore reports whether the query has hard filters that need a look at the
// unit.
func (p *prepared) asksMore() bool {
	return p.Audience != "" || p.Scope != "" || p.capabilities != nil || p.ExcludeStale
}

// qualifies applies these filters. A field that cannot be read closes the filter
// that reads it.
func (s *scan) qualifies(u *kcp.Unit) bool {
	switch {
	case s.Audience != "" && (u.Audience.Malformed || !slices.Contains(u.Audience.Items, s.Audience)),
		s.Scope != "" && u.Scope.Or("global") != s.Scope,
		s.capabilities != nil && !s.capable(u),
		s.ExcludeStale && s.stale(u):
		return false
	}
	return true
}

// sensitivityOf gives the rank of a unit. One that declares nothing counts as
// public, one that nobody can rank as more than restricted.
func sensitivityOf(u *kcp.Unit) int8 {
	if u.Sensitivity.Value == "" {
		return 0
	}
	if rank := slices.Index(sensitivities[:], u.Sensitivity.Value); rank >= 0 {
		return int8(rank)
	}
	return int8(len(sensitivities))
}

func (s *scan) capable(u *kcp.Unit) bool {
	if u.Details == nil {
		return true
	}
	required := &u.Details.RequiresCapabilities
	return !required.Malformed && !slices.ContainsFunc(required.Items, func(c string) bool {
		return !s.capabilities[normalCapability(c)]
	})
}

// stale reports whether the unit was validated longer ago than its freshness
// policy, or else the manifest's, allows (format section 16).
func (s *scan) stale(u *kcp.Unit) bool {
	if u.Details == nil || u.Details.Validated.Value == "" {
		return false
	}
	policy := u.Details.Freshness
	if policy == nil {
		policy = s.index.manifest.Freshness
	}
	if policy == nil || !policy.MaxAgeDays.Set {
		return false
	}
	day, ok := DayOf(u.Details.Validated.Value)
	return !ok || float64(s.today-day) > policy.MaxAgeDays.Value
}

// demote applies not_for to the unit at i: a phrase that contains a term lowers
// the score (specification 15.11). It gives the place of the phrase too, -1 when
// there is none.
func (s *scan) demote(i, score int) (lowered, phrase int) {
	e := &s.index.entries[i]
	if s.shared == nil || e.notFor == e.end {
		return score, -1
	}
	for k, at := range s.index.lists[e.notFor:e.end] {
		if s.shared[at] != 0 {
			return max(1, score/2), k
		}
	}
	return score, -1
}

// status is the filter of time for a unit that is known. include_all_temporal lifts it.
func (s *scan) status(u *kcp.Unit, window *kcp.Temporal) Status {
	if s.IncludeAllTemporal || window == nil {
		return Current
	}
	return statusIn(s.view, u, window, s.Audience)
}

// serving reports whether a known unit could be a result, whatever its score: a
// summary must not show what its unit may not.
func (s *scan) serving(u *kcp.Unit) bool {
	return !(s.noDeprecated && u.Deprecated.Restricts()) && sensitivityOf(u) <= s.sensitivity &&
		s.qualifies(u) && !u.NotFor.Malformed && s.status(u, s.view.TemporalOf(u)) == Current
}

// tokens gives the estimate that a unit declares; one that is no size is none.
func tokens(u *kcp.Unit) kcp.Number {
	if u.Hints == nil || !(u.Hints.TokenEstimate.Value >= 0) || math.IsInf(u.Hints.TokenEstimate.Value, 0) {
		return kcp.Number{}
	}
	return u.Hints.TokenEstimate
}

// matchedAlias gives the alias that a term names, an exact one before one that
// only contains it.
func (s *scan) matchedAlias(u *kcp.Unit, i int) string {
	first := ""
	e := &s.index.entries[i]
	for n, at := range s.index.lists[e.aliases:e.notFor] {
		for k := range s.terms {
			switch text := s.index.shared[at].text; {
			case text == s.terms[k].text:
				return u.Aliases.Items[n]
			case first == "" && strings.Contains(text, s.terms[k].text):
				first = u.Aliases.Items[n]
			}
		}
	}
	return first
}
