// Package retrieve performs effects by planning over a KCP manifest and loading
// what the plan lets it load.
//
// Open it at [New], which takes the [Source]s that runs may be granted, each with
// who asks, what may be spent and how far its manifest is trusted. [Port.Do] reads
// the manifest, plans with planner.Plan, and loads the units that are eligible,
// the best first. The same manifest, task and date give the same bytes.
//
// The arguments of an effect are an object; all but the task may be left out:
//
//	{"task": "how do we install it?", "max_units": 3, "context_budget": 2000,
//	 "budget": 0.25, "strict": true}
//
// They come from the state of a run, and so perhaps from a model. Therefore they
// only narrow: a lower bound than the source's is taken, a higher one is refused,
// and who asks, what they hold and as of when is the source's alone.
//
// The result is an object:
//
//	{"manifest": {"source", "sha256", "project", "version", "included"},
//	 "plan": {"digest", "task", "as_of",
//	   "selected": [{"id", "path", "eligible", "why", "tokens", "cost", "sha256"}],
//	   "skipped": [{"id", "gate", "reason"}], "skipped_more", "irrelevant", "warnings"},
//	 "documents": [{"id", "title", "text", "source", "sha256"}],
//	 "refused": [{"id", "code", "reason"}],
//	 "signature": {"status", "detail", "key_id"}}
//
// plan.digest is that of the plan as `writ plan --json` prints it. documents are
// what a model node takes. Every selected unit is in documents or, with the reason,
// in refused. Units that have nothing to do with the task are counted only.
//
// What a source costs is planned within its budget and reserved in the ledger
// under its own currency; it is charged for every unit that was asked for. A text
// whose access is restricted is given only where the pack keeps that class: a graph
// that uses a text has it in its state, and the state is in the record.
//
// All that comes from here is tainted by knowledge: the engine marks it so.
// Knowledge that somebody else keeps and ranks is asked by package port/cortex.
package retrieve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/load"
	"github.com/writ-dev/writ/planner"
	"github.com/writ-dev/writ/policy"
)

// Name is what the engine calls this port.
const Name = "retrieve"

// DefaultMaxBytes bounds a result where its source does not.
const DefaultMaxBytes = 256 << 10

// Source is knowledge that runs may be granted, by its name in the pack.
type Source struct {
	// Manifest is its location as the pack names it, and as results show it.
	Manifest string
	// Location is where it is read: a file, a folder or a URL. Empty is Manifest.
	Location string
	// Load says how far the location is trusted. Its MaxUnitBytes is never more
	// than MaxBytes.
	Load load.Options
	// Plan is who asks and with which ceilings. An AsOf that is empty is the day of
	// the effect, in UTC. Whoever pays by request needs a budget.
	Plan planner.Options
	// MaxBytes bounds a result; 0 is [DefaultMaxBytes]. The pack may say less.
	MaxBytes uint64

	Capability string // that the agent must hold; empty for none
	Namespace  string // that the source belongs to; empty for none
}

// Options are what the port needs of its surroundings.
type Options struct {
	Now func() time.Time // nil for time.Now
}

// Port plans and loads. It is safe for concurrent use.
type Port struct {
	sources map[string]*Source
	now     func() time.Time
}

var (
	_ engine.Port       = (*Port)(nil)
	_ engine.Idempotent = (*Port)(nil)
)

// New checks the sources and gives the port that reads them. It reads nothing
// itself. The error names everything that is wrong.
func New(sources map[string]Source, o Options) (*Port, error) {
	p := &Port{sources: make(map[string]*Source, len(sources)), now: o.Now}
	if p.now == nil {
		p.now = time.Now
	}
	var problems []error
	for _, name := range artifact.SortedNames(sources) {
		s := sources[name]
		for _, problem := range s.complete() {
			problems = append(problems, fmt.Errorf("knowledge %s: %s", name, problem))
		}
		p.sources[name] = &s
	}
	if problems != nil {
		return nil, errors.Join(problems...)
	}
	return p, nil
}

// maxBudget bounds a budget, so that millionths of it are counted exactly.
const maxBudget = 1e9

// complete fills in what was left open and says what is wrong.
func (s *Source) complete() (problems []string) {
	check := func(ok bool, problem string) {
		if !ok {
			problems = append(problems, problem)
		}
	}
	if s.Location == "" {
		s.Location = s.Manifest
	}
	if s.MaxBytes == 0 {
		s.MaxBytes = DefaultMaxBytes
	}
	if most := int64(min(s.MaxBytes, math.MaxInt64)); s.Load.MaxUnitBytes <= 0 || s.Load.MaxUnitBytes > most {
		s.Load.MaxUnitBytes = most
	}
	o := &s.Plan
	if !o.MaxUnits.Set {
		o.MaxUnits = kcp.Number{Value: planner.DefaultMaxUnits, Set: true}
	}
	check(s.Manifest != "", "it has no manifest")
	check(isCount(o.MaxUnits.Value), "max units is not a whole number of at least 1")
	check(!o.ContextBudget.Set || isCount(o.ContextBudget.Value), "the context budget is not a whole number of tokens")
	check(o.AsOf == "" || kcp.ValidDate(o.AsOf), "as of is not a date")
	check(o.KnownAt == "" || kcp.ValidDate(o.KnownAt), "known at is not a date")
	if b := o.Budget; b != nil {
		check(b.Amount >= 0 && b.Amount <= maxBudget, "the budget is not an amount of money")
		check(policy.IsCurrency(currency(b)), "the currency is not 2 to 12 upper-case letters and digits")
	}
	check(o.Budget != nil || !slices.Contains(o.Capabilities.PaymentMethods, "x402"), "whoever pays by request needs a budget")
	return problems
}

func isCount(x float64) bool { return x >= 1 && x <= 1<<53 && x == math.Trunc(x) }

func currency(b *planner.Budget) string { return b.Currency.Or(planner.DefaultCurrency) }

// Tools gives how each source is authorized, and what a retrieval reserves.
func (p *Port) Tools() map[string]engine.Tool {
	tools := make(map[string]engine.Tool, len(p.sources))
	for name, s := range p.sources {
		tools[name] = engine.Tool{
			Port: Name, Kind: policy.KindRetrieve, Capability: s.Capability, Namespace: s.Namespace, Shape: s.shape,
		}
	}
	return tools
}

// shape tells policy which manifest is read, and what is reserved: the units that
// may be loaded and the money that may be spent. Where the node reserves more,
// that is kept. Arguments that are wrong narrow nothing here: the port refuses
// them, so that the record says what was wrong.
func (s *Source) shape(call policy.Call) (policy.Call, error) {
	plan := s.Plan
	if q, err := s.question(call.Args); err == nil {
		plan = q.plan
	}
	call.Manifest = s.Manifest
	call.Reserve.Units = max(call.Reserve.Units, uint64(plan.MaxUnits.Value))
	b := plan.Budget
	if b == nil || b.Amount == 0 {
		return call, nil
	}
	call.Reserve.Cost = maps.Clone(call.Reserve.Cost)
	if call.Reserve.Cost == nil {
		call.Reserve.Cost = policy.Money{}
	}
	call.Reserve.Cost[currency(b)] = max(call.Reserve.Cost[currency(b)], micros(b.Amount))
	return call, nil
}

// micros gives an amount in millionths, rounded up. What binary fractions add to
// a decimal amount is far below the thousandth that is taken off first.
func micros(x float64) uint64 {
	if x <= 0 {
		return 0
	}
	return max(1, uint64(math.Ceil(x*1e6-1e-3)))
}

// Idempotent reports that an effect may be performed again under its key: reading
// changes nothing.
func (p *Port) Idempotent(engine.Effect) bool { return true }

// Check reads the manifest of a source, as a retrieval would.
func (p *Port) Check(ctx context.Context, name string) (*load.Loaded, error) {
	s, ok := p.sources[name]
	if !ok {
		return nil, fmt.Errorf("there is no knowledge %s", name)
	}
	l, err := load.Manifest(ctx, s.Location, s.Load)
	if err != nil {
		return nil, errors.New(s.shown(withoutFlags(err.Error())))
	}
	return l, nil
}
