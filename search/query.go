package search

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/match"
)

// DefaultLimit is how many results a query gives that names no limit.
const DefaultLimit = 5

// MaxTerms is how many terms a query may have.
const MaxTerms = 64

// A Query is a request (specification 15.2). The zero value matches every unit
// that is not deprecated; only Today must be set.
type Query struct {
	// Terms are words or phrases that are looked for, whatever their case, in
	// triggers, intent, id, path and aliases. Blank ones are left out.
	Terms []string

	Audience       string // the unit's audience must name it
	Scope          string // the unit's scope must be it; a unit without one is global
	SensitivityMax string // public, internal, confidential or restricted

	// MaxTokenBudget bounds the sum of the results' token estimates. A unit
	// without an estimate counts as 0.
	MaxTokenBudget kcp.Number
	// IncludeSummaries puts a unit's summary in its place when only that fits
	// into the budget. The default is true.
	IncludeSummaries artifact.Optional[bool]

	ExcludeDeprecated artifact.Optional[bool] // the default is true
	ExcludeStale      bool                    // drop what was validated too long before Today

	// HasCapabilities drops units that require one that is not listed. Nil asks
	// for nothing; an empty list stands for an agent that has none.
	HasCapabilities []string

	// FederationScope is local, the default, or declared: search the sources that
	// are passed beside the manifest, too. Any other word is local.
	FederationScope string

	// AsOf is the date that the question is about, Today when unset.
	AsOf kcp.String
	// IncludeAllTemporal lifts windows and supersession. It contradicts an AsOf
	// other than Today.
	IncludeAllTemporal bool
	// KnownAt leaves out what had not been recorded by then; see the package
	// comment. Empty asks for all that is recorded.
	KnownAt string

	Today string // the current date in UTC, YYYY-MM-DD
	Limit int    // at most so many results; DefaultLimit when it is 0
}

// Codes of a [QueryError].
const (
	TemporalQueryConflict = "temporal_query_conflict"
	InvalidAsOf           = "invalid_as_of"
	InvalidKnownAt        = "invalid_known_at"
	InvalidSensitivity    = "invalid_sensitivity_max"
	TooManyTerms          = "too_many_terms"
)

// QueryError is a query that has no answer. Code is for programs, Message for
// people.
type QueryError struct{ Code, Message string }

func (e *QueryError) Error() string { return e.Message }

// Check says whether the query can be answered. The error is a [*QueryError].
func (q *Query) Check() error {
	_, err := prepare(q)
	return err
}

// prepared is a query in the form in which units are held against it.
type prepared struct {
	*Query
	moment       kcp.Moment
	terms        []needle
	limit        int
	budget       float64 // +Inf when there is none
	summaries    bool
	noDeprecated bool
	sensitivity  int8            // the highest rank that passes
	capabilities map[string]bool // in normal form; nil when not asked for
	today        Day             // only with ExcludeStale
}

// needle is a term in lower case, with its pairs of bytes.
type needle struct {
	text  string
	pairs uint64
}

// prepare checks a query and fills in its defaults.
func prepare(q *Query) (*prepared, error) {
	p := &prepared{
		Query:        q,
		moment:       kcp.Moment{AsOf: q.AsOf.Or(q.Today), KnownAt: q.KnownAt},
		limit:        q.Limit,
		budget:       q.MaxTokenBudget.Or(math.Inf(1)),
		summaries:    q.IncludeSummaries.Or(true),
		noDeprecated: q.ExcludeDeprecated.Or(true),
		sensitivity:  int8(len(sensitivities)),
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	if p.limit == 0 {
		p.limit = DefaultLimit
	}
	for _, term := range q.Terms {
		if term = strings.TrimSpace(term); term != "" {
			lower := match.Lower(term)
			p.terms = append(p.terms, needle{lower, pairsOf(lower)})
		}
	}
	if len(p.terms) > MaxTerms {
		return nil, &QueryError{TooManyTerms, "a query has at most " + strconv.Itoa(MaxTerms) + " terms"}
	}
	if q.HasCapabilities != nil {
		p.capabilities = map[string]bool{}
		for _, c := range q.HasCapabilities {
			p.capabilities[normalCapability(c)] = true
		}
	}
	return p, nil
}

func (p *prepared) check() error {
	switch {
	case p.IncludeAllTemporal && p.AsOf.Value != "" && p.AsOf.Value != p.Today:
		return &QueryError{TemporalQueryConflict, "as_of and include_all_temporal are mutually exclusive"}
	case !kcp.ValidDate(p.moment.AsOf):
		return &QueryError{InvalidAsOf, `as_of must be an ISO-8601 date (YYYY-MM-DD); got "` + p.moment.AsOf + `"`}
	case p.KnownAt != "" && !kcp.ValidDate(p.KnownAt):
		return &QueryError{InvalidKnownAt, `known_at must be an ISO-8601 date (YYYY-MM-DD); got "` + p.KnownAt + `"`}
	}
	if p.SensitivityMax != "" {
		p.sensitivity = int8(slices.Index(sensitivities[:], p.SensitivityMax))
		if p.sensitivity < 0 {
			return &QueryError{InvalidSensitivity, "sensitivity_max must be one of " + strings.Join(sensitivities[:], ", ") + `; got "` + p.SensitivityMax + `"`}
		}
	}
	if p.ExcludeStale {
		day, ok := DayOf(p.Today)
		if !ok {
			return &QueryError{InvalidAsOf, `exclude_stale needs today's date; got "` + p.Today + `"`}
		}
		p.today = day
	}
	return nil
}

// sensitivities are the levels of the format, lowest first (section 5).
var sensitivities = [...]string{"public", "internal", "confidential", "restricted"}

// normalCapability writes a bare capability as the tool that it stands for
// (specification 15.6). Other prefixes are compared as they are.
func normalCapability(c string) string {
	if strings.Contains(c, ":") {
		return c
	}
	return "tool:" + c
}
