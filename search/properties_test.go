package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/search"
)

var (
	days  = []string{"2024-01-01", "2024-06-30", "2024-07-01", "2025-01-01"}
	words = []string{"alpha", "Beta", "alphabet", "eta", "ÅNGSTRÖM", "ångström", "ba", "a", "tide level"}
)

func oneOf[T any](t *rapid.T, label string, values ...T) T {
	return values[rapid.IntRange(0, len(values)-1).Draw(t, label)]
}

func optional(t *rapid.T, label string, values ...string) kcp.String {
	v := oneOf(t, label, append([]string{""}, values...)...)
	return kcp.String{Value: v, Set: v != ""}
}

func drawList(t *rapid.T, label string, values ...string) kcp.List {
	items := rapid.SliceOfN(rapid.SampledFrom(values), 0, 3).Draw(t, label)
	return kcp.List{Items: items, Declared: len(items) > 0}
}

func drawBool(t *rapid.T, label string) kcp.Bool {
	return oneOf(t, label, kcp.Bool{}, kcp.Bool{}, kcp.Bool{Declared: true, Value: true}, kcp.Bool{Declared: true}, kcp.Bool{Malformed: true})
}

func drawTemporal(t *rapid.T) *kcp.Temporal {
	if !rapid.Bool().Draw(t, "has window") {
		return nil
	}
	return &kcp.Temporal{
		ValidFrom: optional(t, "from", days...), ValidUntil: optional(t, "until", append(days, "2024-02-30")...),
		RecordedAt: optional(t, "recorded", days...), SupersededBy: optional(t, "successor", "u0", "u1", "u2", "u3", "nickname"),
		Malformed: oneOf(t, "malformed", false, false, false, false, false, true),
	}
}

func drawUnit(t *rapid.T, i int) kcp.Unit {
	u := kcp.Unit{
		Index: i, ID: oneOf(t, "id", fmt.Sprintf("u%d", i), fmt.Sprintf("u%d", i), "u0", "nickname"), Path: oneOf(t, "path", "a.md", "docs/Beta.md", "x.md"),
		Intent:   oneOf(t, "intent", words...) + " " + oneOf(t, "intent", words...),
		Triggers: drawList(t, "triggers", words...), Aliases: drawList(t, "aliases", "nickname", "alpha"),
		NotFor: drawList(t, "not_for", append([]string{"none", "nothing"}, words...)...), NotForStrict: drawBool(t, "strict"),
		Audience: drawList(t, "audience", "agent", "human"), Scope: optional(t, "scope", "global", "project"),
		Sensitivity: optional(t, "sensitivity", "public", "internal", "confidential", "restricted", "secret"),
		Deprecated:  drawBool(t, "deprecated"), Temporal: drawTemporal(t),
		Hints: &kcp.Hints{TokenEstimate: oneOf(t, "tokens", kcp.Number{}, number(10), number(50), number(-5)), SummaryUnit: optional(t, "summary", "u0", "u1", "u2")},
	}
	if rapid.Bool().Draw(t, "details") {
		u.Details = &kcp.Details{
			RequiresCapabilities: drawList(t, "requires", "kubectl", "tool:kubectl", "role:admin"),
			Validated:            optional(t, "validated", days...),
		}
		if rapid.Bool().Draw(t, "own freshness") {
			u.Details.Freshness = &kcp.Freshness{MaxAgeDays: oneOf(t, "age", kcp.Number{}, number(30), number(400))}
		}
	}
	return u
}

func number(x float64) kcp.Number { return kcp.Number{Value: x, Set: true} }

func drawManifest(t *rapid.T) *kcp.Manifest {
	m := &kcp.Manifest{Project: "p", Source: "p.yaml", Temporal: drawTemporal(t)}
	if rapid.Bool().Draw(t, "root freshness") {
		m.Freshness = &kcp.Freshness{MaxAgeDays: number(100)}
	}
	for i := range rapid.IntRange(1, 8).Draw(t, "units") {
		m.Units = append(m.Units, drawUnit(t, i))
	}
	return m
}

func drawQuery(t *rapid.T) search.Query {
	q := search.Query{
		Terms:    rapid.SliceOfN(rapid.SampledFrom(append([]string{"U1", " ", "md"}, words...)), 0, 3).Draw(t, "terms"),
		Audience: oneOf(t, "asks", "", "", "agent", "human"), Scope: oneOf(t, "in scope", "", "", "global"),
		SensitivityMax: oneOf(t, "at most", "", "", "public", "confidential", "restricted"),
		ExcludeStale:   rapid.Bool().Draw(t, "fresh"), KnownAt: oneOf(t, "known at", append([]string{""}, days...)...),
		Today: oneOf(t, "today", days...), Limit: oneOf(t, "limit", 0, 1, 100),
		IncludeAllTemporal: oneOf(t, "all", false, false, true),
		HasCapabilities:    oneOf(t, "capabilities", nil, []string{}, []string{"kubectl"}),
		MaxTokenBudget:     oneOf(t, "budget", kcp.Number{}, number(0), number(60)),
	}
	if !q.IncludeAllTemporal {
		q.AsOf = optional(t, "as of", days...)
	}
	if rapid.Bool().Draw(t, "says deprecated") {
		q.ExcludeDeprecated = artifact.Some(rapid.Bool().Draw(t, "exclude deprecated"))
	}
	if rapid.Bool().Draw(t, "says summaries") {
		q.IncludeSummaries = artifact.Some(rapid.Bool().Draw(t, "summaries"))
	}
	return q
}

// brief is what the comparison with brute force looks at.
type brief struct {
	ID, SummaryOf, Caution string
	Score                  int
}

func briefs(r search.Result) []brief {
	list := []brief{}
	for _, h := range r.Hits {
		b := brief{ID: h.Unit.ID, Score: h.Score, Caution: h.Caution}
		if h.SummaryOf != nil {
			b.SummaryOf = h.SummaryOf.ID
		}
		list = append(list, b)
	}
	return list
}

// Every answer is that of the rules written down plainly, one unit after the
// other.
func TestFindEqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, q := drawManifest(t), drawQuery(t)
		got, err := search.Find(m, q)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(bruteForce(m, q), briefs(got)); d != "" {
			t.Fatal(d)
		}
	})
}

// What is recorded later does not exist: removing it changes no byte.
func TestCanaryNeverLeaks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, q := drawManifest(t), drawQuery(t)
		if q.KnownAt == "" {
			q.KnownAt = "2024-06-30"
		}
		then := *m
		then.Units = nil
		view := m.View(kcp.Moment{KnownAt: q.KnownAt})
		for i := range m.Units {
			if view.Known(&m.Units[i]) {
				then.Units = append(then.Units, m.Units[i])
			}
		}
		with, _ := search.Find(m, q)
		without, _ := search.Find(&then, q)
		a, _ := artifact.Encode(struct {
			search.Response
			search.Omitted
		}{with.Response(true), with.Omitted})
		b, _ := artifact.Encode(struct {
			search.Response
			search.Omitted
		}{without.Response(true), without.Omitted})
		if d := cmp.Diff(string(b), string(a)); d != "" {
			t.Fatal(d)
		}
	})
}

// Knowing more never hides a unit, unless something recorded in between
// supersedes it.
func TestKnownAtIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawManifest(t)
		i := rapid.IntRange(0, len(days)-2).Draw(t, "first")
		asOf := oneOf(t, "as of", days...)
		before := m.View(kcp.Moment{AsOf: asOf, KnownAt: days[i]})
		after := before.At(kcp.Moment{AsOf: asOf, KnownAt: days[rapid.IntRange(i+1, len(days)-1).Draw(t, "second")]})
		for k := range m.Units {
			u := &m.Units[k]
			a, b := search.StatusOf(before, u, ""), search.StatusOf(after, u, "")
			switch {
			case a == b, a == search.Unrecorded, b == search.Current:
			case a == search.Current && b == search.Superseded && newlyKnown(before, after, u):
			default:
				t.Fatalf("%s was %s and is %s", u.ID, a, b)
			}
		}
	})
}

// newlyKnown reports whether a unit that u leads to was recorded in between.
func newlyKnown(before, after *kcp.View, u *kcp.Unit) bool {
	for range 10 {
		t := after.TemporalOf(u)
		if t == nil {
			return false
		}
		if u = after.Resolve(t.SupersededBy.Value); u == nil {
			return false
		}
		if !before.Known(u) && after.Known(u) {
			return true
		}
	}
	return false
}

// A search changes neither the manifest nor the query, and gives the same twice.
func TestFindLeavesItsInputsAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, q := drawManifest(t), drawQuery(t)
		ix := search.NewIndex(m)
		before := fmt.Sprintf("%+v", q)
		first, _ := ix.Find(q)
		second, _ := ix.Find(q)
		if d := cmp.Diff(briefs(first), briefs(second)); d != "" {
			t.Fatal(d)
		}
		if after := fmt.Sprintf("%+v", q); after != before {
			t.Fatalf("the query changed from %s to %s", before, after)
		}
		if len(first.Hits) > max(q.Limit, search.DefaultLimit) {
			t.Fatalf("%d hits", len(first.Hits))
		}
	})
}

// The rules once more, for the tests: plain loops over plain strings.

func bruteForce(m *kcp.Manifest, q search.Query) []brief {
	type scored struct {
		u       *kcp.Unit
		score   int
		caution string
	}
	var list []scored
	for i := range m.Units {
		u := &m.Units[i]
		if !passes(m, q, u) {
			continue
		}
		s := scored{u, points(q, u), ""}
		if s.score == 0 && len(terms(q)) > 0 || u.NotFor.Malformed {
			continue
		}
		if phrase := notFor(q, u); phrase != "" {
			if u.NotForStrict.Malformed || u.NotForStrict.Value {
				continue
			}
			s.score, s.caution = max(1, s.score/2), "not_for match: '"+phrase+"'"
		}
		if q.IncludeAllTemporal {
			s.caution = strings.TrimPrefix(s.caution+"; temporal filtering bypassed", "; ")
			if s.caution == "temporal filtering bypassed" {
				s.caution += " (include_all_temporal)"
			}
		}
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b scored) int { return b.score - a.score })
	hits, limit, left := []brief{}, q.Limit, q.MaxTokenBudget.Or(1e9)
	if limit == 0 {
		limit = 5
	}
	taken := map[*kcp.Unit]bool{}
	for _, s := range list {
		if len(hits) == limit {
			break
		}
		b := brief{ID: s.u.ID, Score: s.score, Caution: s.caution}
		shown, cost := s.u, max(0, s.u.Hints.TokenEstimate.Value)
		if cost > left {
			sum := named(m, q.KnownAt, s.u.Hints.SummaryUnit.Value, false)
			if !q.IncludeSummaries.Or(true) || sum == nil || max(0, sum.Hints.TokenEstimate.Value) > left || !passes(m, q, sum) {
				continue
			}
			shown, cost = sum, max(0, sum.Hints.TokenEstimate.Value)
			b.ID, b.SummaryOf = sum.ID, s.u.ID
		}
		if !taken[shown] {
			taken[shown] = true
			left -= cost
			hits = append(hits, b)
		}
	}
	return hits
}

func terms(q search.Query) []string {
	var list []string
	for _, t := range q.Terms {
		if t = strings.TrimSpace(strings.ToLower(t)); t != "" {
			list = append(list, t)
		}
	}
	return list
}

func anyHas(list []string, term string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(strings.ToLower(s), term) })
}

func points(q search.Query, u *kcp.Unit) int {
	n := 0
	for _, t := range terms(q) {
		for _, place := range []struct {
			points int
			texts  []string
		}{{5, u.Triggers.Items}, {3, []string{u.Intent}}, {1, []string{u.ID, u.Path}}, {1, u.Aliases.Items}} {
			if anyHas(place.texts, t) {
				n += place.points
			}
		}
	}
	return n
}

func notFor(q search.Query, u *kcp.Unit) string {
	for _, phrase := range u.NotFor.Items {
		for _, t := range terms(q) {
			if strings.Contains(strings.ToLower(phrase), t) {
				return phrase
			}
		}
	}
	return ""
}

// named finds a unit among those that are known.
func named(m *kcp.Manifest, at, name string, orAlias bool) *kcp.Unit {
	for i := range m.Units {
		if name != "" && m.Units[i].ID == name && known(m, at, &m.Units[i]) {
			return &m.Units[i]
		}
	}
	for i := range m.Units {
		if orAlias && slices.Contains(m.Units[i].Aliases.Items, name) && known(m, at, &m.Units[i]) {
			return &m.Units[i]
		}
	}
	return nil
}

// passes applies every filter but terms and not_for.
func passes(m *kcp.Manifest, q search.Query, u *kcp.Unit) bool {
	levels := []string{"public", "internal", "confidential", "restricted"}
	rank := slices.Index(levels, u.Sensitivity.Value)
	switch {
	case q.Audience != "" && !slices.Contains(u.Audience.Items, q.Audience),
		q.Scope != "" && q.Scope != u.Scope.Or("global"),
		q.ExcludeDeprecated.Or(true) && (u.Deprecated.Value || u.Deprecated.Malformed),
		q.SensitivityMax != "" && u.Sensitivity.Set && (rank < 0 || rank > slices.Index(levels, q.SensitivityMax)),
		q.ExcludeStale && isStale(m, q, u),
		!known(m, q.KnownAt, u):
		return false
	}
	if q.HasCapabilities != nil && u.Details != nil {
		for _, c := range u.Details.RequiresCapabilities.Items {
			if !slices.Contains(q.HasCapabilities, strings.TrimPrefix(c, "tool:")) {
				return false
			}
		}
	}
	return q.IncludeAllTemporal || open(m, q, u) && !givesWay(m, q, u)
}

func isStale(m *kcp.Manifest, q search.Query, u *kcp.Unit) bool {
	if u.Details == nil || !u.Details.Validated.Set {
		return false
	}
	policy := m.Freshness
	if u.Details.Freshness != nil {
		policy = u.Details.Freshness
	}
	if policy == nil || !policy.MaxAgeDays.Set {
		return false
	}
	a, _ := search.DayOf(u.Details.Validated.Value)
	b, _ := search.DayOf(q.Today)
	return float64(b-a) > policy.MaxAgeDays.Value
}

// field gives one field of the window in effect.
func field(m *kcp.Manifest, u *kcp.Unit, of func(*kcp.Temporal) kcp.String) string {
	for _, t := range []*kcp.Temporal{u.Temporal, m.Temporal} {
		if t != nil && of(t).Set {
			return of(t).Value
		}
	}
	return ""
}

func malformed(m *kcp.Manifest, u *kcp.Unit) bool {
	return u.Temporal != nil && u.Temporal.Malformed || m.Temporal != nil && m.Temporal.Malformed
}

func known(m *kcp.Manifest, at string, u *kcp.Unit) bool {
	recorded := field(m, u, func(t *kcp.Temporal) kcp.String { return t.RecordedAt })
	return at == "" || recorded <= at && !(recorded == "" && malformed(m, u))
}

func open(m *kcp.Manifest, q search.Query, u *kcp.Unit) bool {
	from := field(m, u, func(t *kcp.Temporal) kcp.String { return t.ValidFrom })
	until := field(m, u, func(t *kcp.Temporal) kcp.String { return t.ValidUntil })
	day := q.AsOf.Or(q.Today)
	return !malformed(m, u) && until != "2024-02-30" && from <= day && (until == "" || day <= until)
}

func next(m *kcp.Manifest, at string, u *kcp.Unit) *kcp.Unit {
	return named(m, at, field(m, u, func(t *kcp.Temporal) kcp.String { return t.SupersededBy }), true)
}

func givesWay(m *kcp.Manifest, q search.Query, u *kcp.Unit) bool {
	to := next(m, q.KnownAt, u)
	if to == nil {
		return false
	}
	if open(m, q, to) && !to.Deprecated.Value && !to.Deprecated.Malformed &&
		(q.Audience == "" || len(to.Audience.Items) == 0 || slices.Contains(to.Audience.Items, q.Audience)) {
		return true
	}
	for range m.Units { // a walk that comes round
		if to == nil || to == u {
			return to == u
		}
		to = next(m, q.KnownAt, to)
	}
	return false
}
