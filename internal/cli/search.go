package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/federation"
	"github.com/writ-dev/writ/load"
	"github.com/writ-dev/writ/planner"
	"github.com/writ-dev/writ/search"
)

type searchOptions struct {
	*runner
	source sourceFlags

	terms, limit                     given
	asOf, knownAt                    given
	audience, scope, sensitivity     given
	capabilities, budget, federation given

	allTemporal, deprecated, noSummaries, notStale, json bool
}

func newSearch(r *runner) *cobra.Command {
	o := &searchOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "search [WORD...]",
		Short: "find the units that match some words, on a date",
		Long: "search scores the units of a manifest by how many of the words occur in their triggers, intent, id, path and " +
			"aliases, and prints the best that are current. It decides nothing about loading: `writ plan` does. Without " +
			"words every unit matches. --as-of asks about another day, and --known-at about what had been recorded by then.",
		Example: `writ search storage temperature
writ search --terms "storage temperature,records" --audience agent --max-token-budget 500
writ search storage --as-of 2026-08-01 --known-at 2025-06-30
writ search storage --include-all-temporal --json`,
		Annotations: exits("the search was made, even if nothing was found", "the manifest cannot be read or verified", wrongUsage),
		RunE: func(cmd *cobra.Command, words []string) error {
			return o.run(cmd, words)
		},
	}
	o.declare(cmd)
	mustComplete(cmd.RegisterFlagCompletionFunc("sensitivity-max", fixed("public", "internal", "confidential", "restricted")))
	mustComplete(cmd.RegisterFlagCompletionFunc("scope", fixed("global", "project", "module")))
	mustComplete(cmd.RegisterFlagCompletionFunc("federation-scope", fixed("local", "declared")))
	return cmd
}

func (o *searchOptions) declare(cmd *cobra.Command) {
	o.terms.any = true
	what := flagGroup{cmd.Flags(), "What to find"}
	what.value(&o.terms, "terms", "LIST", "'storage temperature,records'", "words or phrases, separated by commas, instead of the words of the command line")
	what.value(&o.limit, "limit", "N", "10", "print at most N units (default 5)")

	when := flagGroup{cmd.Flags(), "When"}
	when.value(&o.asOf, "as-of", "DATE", "2026-07-06", "what is valid on this date, YYYY-MM-DD (default today, in UTC)")
	when.value(&o.knownAt, "known-at", "DATE", "2025-06-30", "only what had been recorded by this date")
	when.boolean(&o.allTemporal, "include-all-temporal", "whatever its dates, and whatever supersedes it; contradicts --as-of")

	which := flagGroup{cmd.Flags(), "Which units"}
	which.value(&o.audience, "audience", "ROLE", "agent", "only units that name this role in their audience")
	which.value(&o.scope, "scope", "SCOPE", "global", "only units of this scope: global, project or module")
	which.value(&o.sensitivity, "sensitivity-max", "LEVEL", "internal", "only units up to this level: public, internal, confidential or restricted")
	which.value(&o.capabilities, "has-capabilities", "LIST", "kubectl,role:admin", `only units that require nothing else; "" for none`)
	which.boolean(&o.notStale, "exclude-stale", "leave out units that were validated too long ago")
	which.boolean(&o.deprecated, "include-deprecated", "find deprecated units too")
	which.boolean(&o.source.allowPrivate, "allow-private-hosts", "also read from this machine and from private networks")
	which.value(&o.federation, "federation-scope", "SCOPE", "local", "local, the default, or declared: federated manifests too")

	size := flagGroup{cmd.Flags(), "Size"}
	size.value(&o.budget, "max-token-budget", "TOKENS", "4000", "take units while the sum of their estimates is within this")
	size.boolean(&o.noSummaries, "no-summaries", "with a budget: never take a unit's summary in its place")

	o.source.declare(cmd)
	o.source.declareTrust(cmd)
	flagGroup{cmd.Flags(), outputGroup}.boolean(&o.json, "json", "print the results as JSON, in the shape of the specification")
}

func (o *searchOptions) run(cmd *cobra.Command, words []string) error {
	q, err := o.query(words)
	if err != nil {
		return err
	}
	if err := q.Check(); err != nil {
		return o.wrongQuery(err)
	}
	loaded, sources, err := o.manifests(cmd.Context(), q)
	if err != nil {
		return err
	}
	result, err := search.Find(loaded.Manifest, q, sources...)
	if err != nil {
		return err
	}
	if o.json {
		return o.printDocument(searchDocument{result.Response(q.IncludeAllTemporal), searchExtensionOf(&result, loaded)})
	}
	p := o.newPage()
	searchView{p, &q, &result, loaded}.write()
	o.print(p)
	return nil
}

// manifests reads what is searched: the manifest, and with declared scope those
// it refers to, one hop away. A reference that needs an environment or a
// credential is not followed; one that cannot be read is named, and the rest is
// searched.
func (o *searchOptions) manifests(ctx context.Context, q search.Query) (*load.Loaded, []search.Source, error) {
	if q.FederationScope != "declared" {
		loaded, err := o.source.open(ctx, o.runner, "")
		return loaded, nil, err
	}
	reading, err := o.source.reading(o.runner)
	if err != nil {
		return nil, nil, err
	}
	location, err := o.source.location("")
	if err != nil {
		return nil, nil, err
	}
	tree, err := federation.Walk(ctx, location, "", federation.Options{
		MaxDepth: 1, Load: reading, Plan: planner.Options{AsOf: q.AsOf.Or(q.Today)},
	})
	switch {
	case err != nil:
		return nil, nil, err
	case tree.Err != nil:
		return nil, nil, rootError(tree)
	}
	for _, ref := range tree.NotFollowed {
		o.say(ref.ID + " is not searched: " + ref.Reason)
	}
	var sources []search.Source
	for _, child := range tree.Children {
		if child.Err != nil {
			o.say(child.RefID.Value + " is not searched: " + child.Error)
			continue
		}
		sources = append(sources, search.Source{ID: child.RefID.Value, Index: search.NewIndex(child.Loaded.Manifest)})
	}
	return tree.Loaded, sources, nil
}

// query reads the flags. What the search itself refuses is left to it.
func (o *searchOptions) query(words []string) (search.Query, error) {
	q := search.Query{
		Audience: o.audience.text, Scope: o.scope.text, SensitivityMax: o.sensitivity.text,
		IncludeSummaries:  artifact.Some(!o.noSummaries),
		ExcludeDeprecated: artifact.Some(!o.deprecated), ExcludeStale: o.notStale,
		HasCapabilities: o.capabilities.list(), FederationScope: o.federation.text,
		AsOf: o.asOf.optional(), IncludeAllTemporal: o.allTemporal, KnownAt: o.knownAt.text,
		Today: o.today(),
	}
	for _, word := range words {
		q.Terms = append(q.Terms, strings.Fields(word)...)
	}
	if o.terms.set {
		q.Terms = o.terms.list()
	}
	limit, err := o.limit.count("limit")
	if err == nil && o.limit.set && (limit.Value < 1 || limit.Value > 1e9) {
		err = badValue("limit", o.limit.text, "is not a positive number", o.limit.example)
	}
	if err != nil {
		return q, err
	}
	q.Limit = int(limit.Value)
	if q.MaxTokenBudget, err = o.budget.count("max-token-budget"); err != nil {
		return q, err
	}
	switch {
	case q.MaxTokenBudget.Value < 0:
		return q, badValue("max-token-budget", o.budget.text, "is negative", o.budget.example)
	case o.federation.set && q.FederationScope != "local" && q.FederationScope != "declared":
		return q, badValue("federation-scope", o.federation.text, "is neither local nor declared", "local")
	}
	if o.knownAt.set {
		if _, err := o.knownAt.date("known-at"); err != nil {
			return q, err
		}
	}
	if o.noSummaries && !o.budget.set {
		o.say("--no-summaries has no effect without --max-token-budget")
	}
	return q, nil
}

// wrongQuery says which flag a refused query is about.
func (o *searchOptions) wrongQuery(err error) error {
	var bad *search.QueryError
	if !errors.As(err, &bad) {
		return err
	}
	switch bad.Code {
	case search.TemporalQueryConflict:
		return usagef("Leave out one of them.", "--as-of contradicts --include-all-temporal")
	case search.InvalidAsOf:
		_, err := o.asOf.date("as-of")
		return err
	case search.InvalidSensitivity:
		return badValue("sensitivity-max", o.sensitivity.text, "is none of public, internal, confidential and restricted", "internal")
	}
	return usagef("Leave some out.", "%s", bad.Message)
}

// searchDocument is the response of the specification, with what writ adds.
type searchDocument struct {
	search.Response
	Writ *searchExtension `json:"writ,omitzero"`
}

type searchExtension struct {
	AsOf      string               `json:"as_of"`
	KnownAt   string               `json:"known_at,omitzero"`
	Omitted   search.Omitted       `json:"omitted,omitzero"`
	Summaries map[string]string    `json:"summary_of,omitempty"` // units by the summary that stands for them
	Findings  []federation.Finding `json:"findings,omitempty"`
}

func searchExtensionOf(r *search.Result, loaded *load.Loaded) *searchExtension {
	e := &searchExtension{AsOf: r.Moment.AsOf, KnownAt: r.Moment.KnownAt, Omitted: r.Omitted}
	for _, h := range r.Hits {
		if h.SummaryOf != nil {
			if e.Summaries == nil {
				e.Summaries = map[string]string{}
			}
			e.Summaries[h.Unit.ID] = h.SummaryOf.ID
		}
	}
	if x := federation.Extend(loaded.Findings); x != nil {
		e.Findings = x.Findings
	}
	return e
}
