package search_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/search"
)

func parse(t *testing.T, text string) *kcp.Manifest {
	t.Helper()
	m, _, err := kcp.Parse([]byte(text), "test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// summary writes hits as "id:score", best first.
func summary(r search.Result) string {
	var list []string
	for _, h := range r.Hits {
		entry := fmt.Sprintf("%s:%d", h.Unit.ID, h.Score)
		if h.Source != "" {
			entry = h.Source + "/" + entry
		}
		list = append(list, entry)
	}
	return strings.Join(list, " ")
}

const today = "2026-07-06"

// Scores follow the specification where the bridges differ: a term counts once
// for all triggers, and once for id and path.
func TestScoring(t *testing.T) {
	m := parse(t, `
project: p
units:
  - {id: many-triggers, path: x.md, intent: none, triggers: [deploy app, deploy db, deploy all]}
  - {id: deploy-guide, path: docs/deploy.md, intent: none}
  - {id: intent, path: x.md, intent: "How do I DEPLOY?"}
  - {id: both, path: x.md, intent: "deploy it", triggers: [Deploy]}
  - {id: named, path: x.md, intent: none, aliases: [deploy, deploy-old]}
  - {id: unrelated, path: x.md, intent: none}
  - {id: accent, path: x.md, intent: "ÜBERSICHT"}
`)
	ix := search.NewIndex(m)
	for _, c := range []struct {
		terms []string
		want  string
	}{
		{[]string{"deploy"}, "both:8 many-triggers:5 intent:3 deploy-guide:1 named:1"},
		{[]string{"DEPLOY"}, "both:8 many-triggers:5 intent:3 deploy-guide:1 named:1"},
		{[]string{"deploy", "deploy"}, "both:16 many-triggers:10 intent:6 deploy-guide:2 named:2"},
		{[]string{"deploy", "app"}, "many-triggers:10 both:8 intent:3 deploy-guide:1 named:1"},
		{[]string{"deploy app"}, "many-triggers:5"},
		{[]string{"  deploy app  ", ""}, "many-triggers:5"},
		{[]string{"übersicht"}, "accent:3"},
		{[]string{"e"}, "many-triggers:9 both:8 named:5 deploy-guide:4 intent:4"},
		{[]string{"zebra"}, ""},
		{nil, "many-triggers:0 deploy-guide:0 intent:0 both:0 named:0"},
	} {
		r, err := ix.Find(search.Query{Terms: c.terms, Today: today})
		if err != nil {
			t.Fatal(err)
		}
		if got := summary(r); got != c.want {
			t.Errorf("%q: %s, want %s", c.terms, got, c.want)
		}
	}
}

func TestReasons(t *testing.T) {
	m := parse(t, `
project: p
units:
  - {id: guide, path: docs/guide.md, intent: "Where is the guide?", triggers: [manual], aliases: [handbook, hand]}
`)
	for _, c := range []struct{ terms, reasons, alias string }{
		{"manual", "trigger", ""},
		{"guide", "intent id path", ""},
		{"docs manual", "path trigger", ""}, // in the order of the terms
		{"manual docs", "trigger path", ""},
		{"hand", "alias", "hand"}, // exact beats the first that contains it
		{"book", "alias", "handbook"},
	} {
		r, _ := search.Find(m, search.Query{Terms: strings.Fields(c.terms), Today: today})
		if len(r.Hits) != 1 || strings.Join(r.Hits[0].Reasons, " ") != c.reasons || r.Hits[0].Alias != c.alias {
			t.Errorf("%q: %+v", c.terms, r.Hits)
		}
	}
}

func TestNotFor(t *testing.T) {
	m := parse(t, `
project: p
not_for: [alpha]
units:
  - {id: soft, path: x.md, intent: alpha, triggers: [alpha], not_for: [other, "No ALPHA here", alpha]}
  - {id: low, path: alpha.md, intent: x, not_for: [alpha]}
  - {id: strict, path: x.md, intent: alpha, not_for: [alpha], not_for_strict: true}
  - {id: odd, path: x.md, intent: alpha, not_for: [alpha], not_for_strict: "no"}
  - {id: broken, path: x.md, intent: alpha, not_for: {a: b}}
  - {id: clean, path: x.md, intent: alpha, not_for: [beta]}
`)
	r, _ := search.Find(m, search.Query{Terms: []string{"alpha"}, Today: today})
	if got, want := summary(r), "soft:4 clean:3 low:1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := r.Hits[0].Caution; got != "not_for match: 'No ALPHA here'" {
		t.Errorf("caution %q", got)
	}
	if r.Omitted.NotFor != 3 {
		t.Errorf("%+v", r.Omitted)
	}
	r, _ = search.Find(m, search.Query{Terms: []string{"alpha"}, Today: today, IncludeAllTemporal: true})
	if got := r.Hits[0].Caution; got != "not_for match: 'No ALPHA here'; temporal filtering bypassed" {
		t.Errorf("caution %q", got)
	}
}

// A budget, as the specification works it out (15.5 and 15.10.1).
func TestBudget(t *testing.T) {
	m := parse(t, `
project: p
units:
  - {id: first, path: a.md, intent: x, triggers: [expense report, reimbursement], hints: {token_estimate: 1800}}
  - {id: second, path: b.md, intent: x, triggers: [expense report], hints: {token_estimate: 1200}}
  - {id: third, path: c.md, intent: expense report, hints: {token_estimate: 6000, summary_available: true, summary_unit: brief}}
  - {id: brief, path: d.md, intent: x, hints: {token_estimate: 600}}
  - {id: unknown, path: expense report.md, intent: x}
  - {id: negative, path: expense report 2.md, intent: x, hints: {token_estimate: -9}}
`)
	q := search.Query{Terms: []string{"expense report", "reimbursement"}, Today: today, MaxTokenBudget: number(4000)}
	r, _ := search.Find(m, q)
	if got, want := summary(r), "first:10 second:5 brief:3 unknown:1 negative:1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if r.Hits[2].SummaryOf.ID != "third" || !slices.Equal(r.Hits[2].Reasons, []string{"intent"}) {
		t.Errorf("%+v", r.Hits[2])
	}
	q.IncludeSummaries.Set = true
	if r, _ = search.Find(m, q); summary(r) != "first:10 second:5 unknown:1 negative:1" || r.Omitted.OverBudget != 1 {
		t.Errorf("%s %+v", summary(r), r.Omitted)
	}
	q.MaxTokenBudget = number(0)
	if r, _ = search.Find(m, q); summary(r) != "unknown:1 negative:1" {
		t.Errorf("%s", summary(r))
	}
}

// A summary shows nothing that the query or the date leaves out.
func TestSummaryPassesTheFilters(t *testing.T) {
	for name, field := range map[string]string{
		"audience": `audience: [human]`, "sensitivity": `audience: [agent], sensitivity: restricted`,
		"deprecated": `audience: [agent], deprecated: true`, "recorded": `audience: [agent], temporal: {recorded_at: "2026-07-05"}`,
		"expired": `audience: [agent], temporal: {valid_until: "2020-01-01"}`, "superseded": `audience: [agent], temporal: {superseded_by: large}`,
	} {
		m := parse(t, `
project: p
units:
  - {id: large, path: a.md, intent: x, audience: [agent], triggers: [word], hints: {token_estimate: 100, summary_unit: brief}}
  - {id: brief, path: b.md, intent: x, hints: {token_estimate: 1}, `+field+`}
`)
		r, _ := search.Find(m, search.Query{Terms: []string{"word"}, Audience: "agent", SensitivityMax: "internal", KnownAt: "2026-01-01", Today: today, MaxTokenBudget: number(10)})
		if len(r.Hits) > 0 {
			t.Errorf("%s: %s", name, summary(r))
		}
	}
}

func TestFilters(t *testing.T) {
	m := parse(t, `
project: p
freshness_policy: {max_age_days: 30}
units:
  - {id: plain, path: a.md, intent: x}
  - {id: human, path: a.md, intent: x, audience: [human], scope: project}
  - {id: scalar, path: a.md, intent: x, audience: agent, sensitivity: internal}
  - {id: odd, path: a.md, intent: x, audience: {a: b}, sensitivity: Secret}
  - {id: tool, path: a.md, intent: x, audience: [agent], requires_capabilities: [kubectl, "role:admin"], sensitivity: restricted}
  - {id: stale, path: a.md, intent: x, audience: [agent], validated: "2026-06-05"}
  - {id: fresh, path: a.md, intent: x, audience: [agent], validated: "2026-06-06"}
  - {id: patient, path: a.md, intent: x, audience: [agent], validated: "2026-01-01", freshness_policy: {max_age_days: 365}}
  - {id: careless, path: a.md, intent: x, audience: [agent], validated: "2020-01-01", freshness_policy: {on_stale: warn}}
  - {id: undated, path: a.md, intent: x, audience: [agent], validated: someday}
  - {id: gone, path: a.md, intent: x, audience: [agent], deprecated: true}
  - {id: maybe, path: a.md, intent: x, audience: [agent], deprecated: "false"}
`)
	ids := func(q search.Query) string {
		q.Today, q.Limit = today, 100
		r, err := search.Find(m, q)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(summary(r), ":0", "")
	}
	off := search.Query{}.ExcludeDeprecated
	off.Set = true
	for _, c := range []struct {
		name string
		q    search.Query
		want string
	}{
		{"none", search.Query{}, "plain human scalar odd tool stale fresh patient careless undated"},
		{"audience", search.Query{Audience: "human"}, "human"},
		{"audience of one", search.Query{Audience: "agent"}, "scalar tool stale fresh patient careless undated"},
		{"scope", search.Query{Scope: "project"}, "human"},
		{"scope by default", search.Query{Scope: "global"}, "plain scalar odd tool stale fresh patient careless undated"},
		{"public", search.Query{SensitivityMax: "public"}, "plain human stale fresh patient careless undated"},
		{"internal", search.Query{SensitivityMax: "internal"}, "plain human scalar stale fresh patient careless undated"},
		{"restricted", search.Query{SensitivityMax: "restricted"}, "plain human scalar tool stale fresh patient careless undated"},
		{"no capabilities", search.Query{HasCapabilities: []string{}}, "plain human scalar odd stale fresh patient careless undated"},
		{"some capabilities", search.Query{HasCapabilities: []string{"tool:kubectl"}}, "plain human scalar odd stale fresh patient careless undated"},
		{"all capabilities", search.Query{HasCapabilities: []string{"tool:kubectl", "role:admin"}}, "plain human scalar odd tool stale fresh patient careless undated"},
		{"fresh", search.Query{ExcludeStale: true}, "plain human scalar odd tool fresh patient careless"},
		{"deprecated", search.Query{ExcludeDeprecated: off}, "plain human scalar odd tool stale fresh patient careless undated gone maybe"},
	} {
		if got := ids(c.q); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestQueryErrors(t *testing.T) {
	m := &kcp.Manifest{}
	date := func(s string) kcp.String { return kcp.String{Value: s, Set: true} }
	for _, c := range []struct {
		name string
		q    search.Query
		code string
	}{
		{"conflict", search.Query{AsOf: date("2020-01-01"), IncludeAllTemporal: true}, search.TemporalQueryConflict},
		{"conflict before its form", search.Query{AsOf: date("soon"), IncludeAllTemporal: true}, search.TemporalQueryConflict},
		{"today is no conflict", search.Query{AsOf: date(today), IncludeAllTemporal: true}, ""},
		{"known_at is no conflict", search.Query{KnownAt: "2020-01-01", IncludeAllTemporal: true}, ""},
		{"empty", search.Query{AsOf: date("")}, search.InvalidAsOf},
		{"word", search.Query{AsOf: date("today")}, search.InvalidAsOf},
		{"impossible", search.Query{AsOf: date("2026-02-30")}, search.InvalidAsOf},
		{"year", search.Query{AsOf: date("2026")}, search.InvalidAsOf},
		{"with a time", search.Query{AsOf: date("2026-02-03T10:00:00Z")}, ""},
		{"known_at", search.Query{KnownAt: "then"}, search.InvalidKnownAt},
		{"sensitivity", search.Query{SensitivityMax: "Public"}, search.InvalidSensitivity},
		{"most terms", search.Query{Terms: make([]string, 1000)}, ""}, // blank ones do not count
		{"too many terms", search.Query{Terms: slices.Repeat([]string{"a"}, search.MaxTerms+1)}, search.TooManyTerms},
		{"other scopes are local", search.Query{FederationScope: "recursive"}, ""},
	} {
		c.q.Today = today
		_, err := search.Find(m, c.q)
		var bad *search.QueryError
		if errors.As(err, &bad) != (c.code != "") || bad != nil && bad.Code != c.code {
			t.Errorf("%s: %v, want %q", c.name, err, c.code)
		}
	}
	if _, err := search.Find(m, search.Query{}); err == nil {
		t.Error("a query without today's date was answered")
	}
	_, err := search.Find(m, search.Query{AsOf: date("x"), Today: today})
	if want := `as_of must be an ISO-8601 date (YYYY-MM-DD); got "x"`; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}

// Two corpora, of which the second supersedes the first (bridge, section 10).
func TestDeclaredSources(t *testing.T) {
	hub := search.NewIndex(parse(t, `
project: hub
units: [{id: home, path: h.md, intent: "privacy at home"}]
manifests:
  - {id: old, url: "https://old.example/knowledge.yaml", temporal: {valid_from: "2018-05-25", valid_until: "2023-09-01", superseded_by: new}}
  - {id: new, url: "https://new.example/knowledge.yaml", temporal: {valid_from: "2023-09-01"}}
`))
	sources := []search.Source{
		{ID: "old", Index: search.NewIndex(parse(t, "project: o\nunits: [{id: law, path: l.md, intent: privacy}]"))},
		{ID: "new", Index: search.NewIndex(parse(t, "project: n\ntemporal: {recorded_at: \"2023-06-01\"}\nunits: [{id: law, path: l.md, intent: privacy, triggers: [privacy]}]"))},
	}
	for _, c := range []struct {
		name, scope, asOf, knownAt string
		all                        bool
		want                       string
	}{
		{"local", "", "", "", false, "home:3"},
		{"unknown is local", "recursive", "", "", false, "home:3"},
		{"today", "declared", "", "", false, "new/law:8 home:3"},
		{"the past", "declared", "2020-01-01", "", false, "home:3 old/law:3"},
		{"both windows are open", "declared", "2023-09-01", "", false, "new/law:8 home:3"},
		{"before both", "declared", "2018-05-24", "", false, "home:3"},
		{"all", "declared", "", "", true, "new/law:8 home:3 old/law:3"},
		{"not recorded yet", "declared", "", "2023-05-31", false, "home:3"},
	} {
		q := search.Query{Terms: []string{"privacy"}, FederationScope: c.scope, IncludeAllTemporal: c.all, KnownAt: c.knownAt, Today: today}
		q.AsOf = kcp.String{Value: c.asOf, Set: c.asOf != ""}
		r, err := hub.Find(q, sources...)
		if err != nil {
			t.Fatal(err)
		}
		if got := summary(r); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Time at a point: what a moment moves, and why.
func TestChanges(t *testing.T) {
	m := parse(t, `
project: p
units:
  - {id: old, path: a.md, intent: x, temporal: {valid_until: "2024-12-31", superseded_by: new}}
  - {id: new, path: a.md, intent: x, temporal: {valid_from: "2024-07-01", recorded_at: "2024-05-01"}}
  - {id: lone, path: a.md, intent: x, temporal: {valid_until: "2024-12-31"}}
  - {id: a, path: a.md, intent: x, temporal: {superseded_by: b}}
  - {id: b, path: a.md, intent: x, temporal: {superseded_by: a, recorded_at: "2024-05-01"}}
  - {id: steady, path: a.md, intent: x}
`)
	for _, c := range []struct {
		name          string
		before, after kcp.Moment
		want          string
	}{
		{"a window opens", kcp.Moment{AsOf: "2024-06-30"}, kcp.Moment{AsOf: "2024-07-01"},
			"old current superseded: superseded by new, valid from 2024-07-01\nnew future current: valid from 2024-07-01"},
		{"windows close", kcp.Moment{AsOf: "2024-12-31"}, kcp.Moment{AsOf: "2025-01-01"},
			"old superseded expired: valid until 2024-12-31; superseded by new\nlone current expired: valid until 2024-12-31"},
		{"backwards", kcp.Moment{AsOf: "2025-01-01"}, kcp.Moment{AsOf: "2024-06-30"},
			"old expired current: valid until 2024-12-31\nnew current future: not valid before 2024-07-01\nlone expired current: valid until 2024-12-31"},
		{"something is recorded", kcp.Moment{AsOf: "2024-08-01", KnownAt: "2024-04-30"}, kcp.Moment{AsOf: "2024-08-01", KnownAt: "2024-05-01"},
			"old current superseded: superseded by new, valid from 2024-07-01, recorded 2024-05-01\nnew unrecorded current: recorded 2024-05-01\n" +
				"a current superseded: superseded by b, in a cycle in which no unit is current\nb unrecorded superseded: superseded by a, in a cycle in which no unit is current"},
		{"something is forgotten", kcp.Moment{AsOf: "2024-08-01"}, kcp.Moment{AsOf: "2024-08-01", KnownAt: "2024-04-30"},
			"old superseded current: its successor new is not recorded\nnew current unrecorded: not recorded until 2024-05-01\n" +
				"a superseded current: its successor b is not recorded\nb superseded unrecorded: not recorded until 2024-05-01"},
		{"nothing", kcp.Moment{AsOf: "2024-08-01"}, kcp.Moment{AsOf: "2024-08-02"}, ""},
	} {
		changes, _ := search.Changes(m, c.before, c.after, "")
		var lines []string
		for _, x := range changes {
			lines = append(lines, fmt.Sprintf("%s %s %s: %s", x.Unit.ID, x.From, x.To, x.Why))
		}
		if got := strings.Join(lines, "\n"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestChains(t *testing.T) {
	m := parse(t, `
project: p
units:
  - {id: v2, path: a.md, intent: x, temporal: {valid_from: "2023-01-01", superseded_by: v3}}
  - {id: plain, path: a.md, intent: x}
  - {id: alone, path: a.md, intent: x, temporal: {valid_from: "2020-01-01T10:00:00Z"}}
  - {id: v1, path: a.md, intent: x, temporal: {valid_until: "2023-06-30", superseded_by: v2}}
  - {id: v3, path: a.md, intent: x, temporal: {valid_from: "2024-01-01", valid_until: "2024-12-31", recorded_at: "2023-12-01"}}
`)
	draw := func(at kcp.Moment) string {
		chains, always := search.Chains(m.View(at), m.Units, "")
		var lines []string
		for _, chain := range chains {
			var parts []string
			for _, t := range chain {
				part := t.Unit.ID + " " + string(t.Status)
				if !t.GivesWay.Empty() {
					part += fmt.Sprintf(" [%s %d]", t.GivesWay.From, min(t.GivesWay.Until, 99999))
				}
				parts = append(parts, part)
			}
			lines = append(lines, strings.Join(parts, ", "))
		}
		for _, u := range always {
			lines = append(lines, "always "+u.ID)
		}
		return strings.Join(lines, "\n")
	}
	for _, c := range []struct {
		at   kcp.Moment
		want string
	}{
		{kcp.Moment{AsOf: "2023-03-01"}, "v1 superseded [2023-01-01 19538], v2 current [2024-01-01 20088], v3 future\nalone current\nalways plain"},
		{kcp.Moment{AsOf: "2025-01-01"}, "v1 expired [2023-01-01 19538], v2 current [2024-01-01 20088], v3 expired\nalone current\nalways plain"},
		{kcp.Moment{AsOf: "2024-06-01", KnownAt: "2023-11-30"}, "v1 expired [2023-01-01 19538], v2 current\nalone current\nalways plain"},
	} {
		if got := draw(c.at); got != c.want {
			t.Errorf("%+v:\n%s\nwant\n%s", c.at, got, c.want)
		}
	}
	chains, _ := search.Chains(m.View(kcp.Moment{AsOf: today}), m.Units, "")
	if got := chains[1][0].Valid.From.String(); got != "2020-01-02" {
		t.Errorf("a start with a time counts from %s", got)
	}
}

// The days of a track are those on which the status is what the track says.
func TestChainsAgreeWithStatus(t *testing.T) {
	m := parse(t, `
project: p
units:
  - {id: a, path: a.md, intent: x, temporal: {valid_from: "2024-01-03", valid_until: "2024-01-20", superseded_by: b}}
  - {id: b, path: a.md, intent: x, temporal: {valid_from: "2024-01-10T00:00", valid_until: "2024-01-15T12:00", superseded_by: c}}
  - {id: c, path: a.md, intent: x, temporal: {valid_until: "2024-01-12"}}
  - {id: d, path: a.md, intent: x, temporal: {valid_from: "2024-01-02", superseded_by: e}}
  - {id: e, path: a.md, intent: x, temporal: {superseded_by: d, valid_until: "2024-01-09"}}
  - {id: f, path: a.md, intent: x, temporal: {valid_from: nonsense}}
`)
	base := m.View(kcp.Moment{})
	for n := 1; n <= 28; n++ {
		date := fmt.Sprintf("2024-01-%02d", n)
		day, _ := search.DayOf(date)
		v := base.At(kcp.Moment{AsOf: date})
		chains, _ := search.Chains(v, m.Units, "")
		for _, track := range slices.Concat(chains...) {
			status := search.StatusOf(v, track.Unit, "")
			open := status == search.Current || status == search.Superseded
			if track.Valid.Holds(day) != open || track.GivesWay.Holds(day) != (status == search.Superseded) {
				t.Errorf("%s on %s: %s, but the track says %v %v", track.Unit.ID, date, status, track.Valid, track.GivesWay)
			}
		}
	}
}
