package planner_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/planner"
)

// optionOrder is the order in which ties are broken.
var optionOrder = []string{"role", "methods", "credentials", "attestation", "as-of", "max units", "strict", "budget",
	"context budget", "grant ceiling", "proposed spend", "proposed action"}

type setting func(*planner.Options)

// settings lists, for each option, other values a caller could choose: more
// than Why itself considers, and written without looking at the gates.
func settings(o planner.Options) map[string][]setting {
	all := map[string][]setting{}
	add := func(name string, s setting) { all[name] = append(all[name], s) }
	for _, role := range []string{"agent", "human", "operator", "stranger"} {
		add("role", func(o *planner.Options) { o.Capabilities.Role = role })
	}
	for _, method := range []string{"x402", "meter", "free"} {
		add("methods", func(o *planner.Options) {
			o.Capabilities.PaymentMethods = append(slices.Clone(o.Capabilities.PaymentMethods), method)
		})
	}
	add("credentials", func(o *planner.Options) { o.Capabilities.Credentials = []string{"any"} })
	add("attestation", func(o *planner.Options) { o.Capabilities.AttestationProvider = text("tp") })
	for _, day := range days {
		d, _ := time.Parse("2006-01-02", day)
		for offset := -2; offset <= 2; offset++ {
			add("as-of", func(o *planner.Options) { o.AsOf = d.AddDate(0, 0, offset).Format("2006-01-02") })
		}
	}
	for n := 1.0; n <= 7; n++ {
		if n > o.MaxUnits.Or(planner.DefaultMaxUnits) {
			add("max units", func(o *planner.Options) { o.MaxUnits = number(n) })
		}
	}
	add("strict", func(o *planner.Options) { o.Strict = false })
	if b := o.Budget; b != nil {
		for cents := 0; cents <= 300; cents += 5 {
			amount := float64(cents) / 100
			if amount > b.Amount {
				add("budget", func(o *planner.Options) { o.Budget = &planner.Budget{Amount: amount, Currency: b.Currency} })
			}
			add("budget", func(o *planner.Options) { o.Budget = &planner.Budget{Amount: amount, Currency: text("EUR")} })
		}
	}
	if o.ContextBudget.Set {
		for n := o.ContextBudget.Value + 10; n <= 500; n += 10 {
			add("context budget", func(o *planner.Options) { o.ContextBudget = number(n) })
		}
	}
	procedureSettings(o, add)
	return all
}

func procedureSettings(o planner.Options, add func(string, setting)) {
	if o.GrantCeiling.Set {
		for _, level := range []string{"explain", "suggest", "prepare", "commit"} {
			add("grant ceiling", func(o *planner.Options) { o.GrantCeiling = text(level) })
		}
		add("grant ceiling", func(o *planner.Options) { o.GrantCeiling = kcp.String{} })
	}
	if o.Spend != nil {
		for _, amount := range []float64{1, 5, 20} {
			for _, vendor := range []kcp.String{o.Spend.Vendor, text("acme"), text("other")} {
				if amount <= o.Spend.Amount.Value {
					add("proposed spend", func(o *planner.Options) {
						o.Spend = &planner.SpendProposal{Amount: number(amount), Vendor: vendor, Currency: o.Spend.Currency}
					})
				}
			}
		}
		add("proposed spend", func(o *planner.Options) { o.Spend = nil })
	}
	if o.Action != nil {
		add("proposed action", func(o *planner.Options) { o.Action = nil })
		add("proposed action", func(o *planner.Options) { o.Action = &planner.Action{Tool: o.Action.Tool} })
		add("proposed action", func(o *planner.Options) { o.Action = &planner.Action{Path: o.Action.Path} })
	}
}

func opens(m *kcp.Manifest, o planner.Options, id string) bool {
	plan, _ := planner.Plan(m, propertyTask, o)
	return slices.Contains(eligible(plan), id)
}

// anyOpens tries every combination of settings of exactly these options.
func anyOpens(m *kcp.Manifest, o planner.Options, id string, names []string, all map[string][]setting) bool {
	if len(names) == 0 {
		return opens(m, o, id)
	}
	for _, set := range all[names[0]] {
		changed := o
		set(&changed)
		if anyOpens(m, changed, id, names[1:], all) {
			return true
		}
	}
	return false
}

// combinations yields the sets of a size in lexicographic order of options.
func combinations(size int, from int, prefix []string, yield func([]string) bool) bool {
	if size == 0 {
		return yield(prefix)
	}
	for i := from; i < len(optionOrder); i++ {
		if !combinations(size-1, i+1, append(slices.Clone(prefix), optionOrder[i]), yield) {
			return false
		}
	}
	return true
}

// apply makes a change that Why reported.
func apply(t *rapid.T, o *planner.Options, c planner.Change) {
	float := func(s string) float64 {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatalf("change %+v: %v", c, err)
		}
		return x
	}
	switch c.Option {
	case "role":
		o.Capabilities.Role = c.To
	case "methods":
		o.Capabilities.PaymentMethods = strings.Split(c.To, ",")
	case "credentials":
		o.Capabilities.Credentials = []string{c.To}
	case "attestation":
		o.Capabilities.AttestationProvider = text(c.To)
	case "as-of":
		o.AsOf = c.To
	case "max units":
		o.MaxUnits = number(float(c.To))
	case "strict":
		o.Strict = false
	case "budget":
		amount, currency, changed := strings.Cut(c.To, " ")
		b := planner.Budget{Amount: float(amount), Currency: o.Budget.Currency}
		if changed {
			b.Currency = text(currency)
		}
		o.Budget = &b
	case "context budget":
		o.ContextBudget = number(float(c.To))
	case "grant ceiling":
		o.GrantCeiling = text(c.To)
		if c.To == "none" {
			o.GrantCeiling = kcp.String{}
		}
	case "proposed spend":
		o.Spend = spendFrom(t, c.Flag)
	case "proposed action":
		o.Action = actionWithout(*o.Action, c.Flag)
	default:
		t.Fatalf("unknown option in %+v", c)
	}
}

func spendFrom(t *rapid.T, flags string) *planner.SpendProposal {
	if strings.HasPrefix(flags, "without") {
		return nil
	}
	p := new(planner.SpendProposal)
	words := strings.Fields(flags)
	for i := 0; i+1 < len(words); i += 2 {
		switch words[i] {
		case "--spend-amount":
			x, err := strconv.ParseFloat(words[i+1], 64)
			if err != nil {
				t.Fatal(err)
			}
			p.Amount = number(x)
		case "--spend-vendor":
			p.Vendor = text(words[i+1])
		case "--spend-currency":
			p.Currency = text(words[i+1])
		}
	}
	return p
}

func actionWithout(a planner.Action, flags string) *planner.Action {
	for _, f := range strings.Fields(flags) {
		switch f {
		case "--action-tool":
			a.Tool = kcp.String{}
		case "--action-path":
			a.Path = kcp.String{}
		case "--action-capability":
			a.Capability = kcp.String{}
		}
	}
	return &a
}

// What Why says opens a unit does, and nothing smaller does.
func TestWhyIsRightAndMinimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, o := drawManifest(t, 4), drawOptions(t)
		id := m.Units[rapid.IntRange(0, len(m.Units)-1).Draw(t, "target")].ID
		e, err := planner.Why(m, propertyTask, o, id)
		if err != nil {
			t.Fatal(err)
		}
		if e.Gate == "" {
			if !opens(m, o, id) {
				t.Fatalf("%s needs no change but is not loaded", id)
			}
			return
		}
		for _, set := range append(slices.Clone(e.Alternatives), e.Changes) {
			changed := o
			for _, c := range set {
				apply(t, &changed, c)
			}
			if len(set) > 0 && !opens(m, changed, id) {
				t.Fatalf("%s: %+v does not open it", id, set)
			}
		}
		provenMinimal(t, m, o, id, e)
	})
}

func provenMinimal(t *rapid.T, m *kcp.Manifest, o planner.Options, id string, e *planner.Explanation) {
	all := settings(o)
	var found []string
	for _, c := range e.Changes {
		found = append(found, c.Option)
	}
	size := len(found)
	if size == 0 {
		size = 2 // nothing was found: then no pair opens it
	}
	for n := 0; n <= min(size, 2); n++ {
		combinations(n, 0, nil, func(names []string) bool {
			if n == len(found) && slices.Compare(ranks(names), ranks(found)) >= 0 {
				return false
			}
			if anyOpens(m, o, id, names, all) {
				t.Fatalf("%s: changing %v opens it, but Why says %+v (%s)", id, names, e.Changes, e.Remedy)
			}
			return true
		})
	}
}

func ranks(names []string) []int {
	list := make([]int, len(names))
	for i, name := range names {
		list[i] = slices.Index(optionOrder, name)
	}
	return list
}

const whyManifest = `
project: shop
version: "1.0.0"
units:
  - {id: free, path: free.md, intent: alpha deploy, size_tokens: 50}
  - {id: paid, path: paid.md, intent: alpha, size_tokens: 60, payment: {methods: [{type: x402, currency: USDC, price_per_request: "0.25"}]}}
  - {id: dear, path: dear.md, intent: alpha, size_tokens: 70, payment: {methods: [{type: x402, currency: USDC, price_per_request: "0.30"}]}}
  - {id: staff, path: staff.md, intent: alpha, audience: [human], access: restricted}
  - {id: next, path: next.md, intent: alpha, temporal: {valid_from: "2026-08-01"}}
  - {id: last, path: last.md, intent: alpha, temporal: {valid_until: "2026-06-30"}}
  - {id: other, path: other.md, intent: zeta}
  - {id: never, path: never.md, intent: alpha, not_for: [alpha users]}
  - {id: skill, path: skill.md, intent: alpha, kind: skill}
`

func TestWhy(t *testing.T) {
	m := parse(t, whyManifest, "shop.yaml")
	budget := planner.Options{AsOf: "2026-07-06", MaxUnits: number(20), Budget: &planner.Budget{Amount: 0.4},
		Capabilities: planner.Capabilities{PaymentMethods: []string{"free", "x402"}}}
	plain := planner.Options{AsOf: "2026-07-06", MaxUnits: number(20)}
	one := plain
	one.MaxUnits = number(1)
	tokens := plain
	tokens.ContextBudget = number(60)
	tokens.Capabilities.PaymentMethods = []string{"x402"}
	for _, tt := range []struct {
		unit   string
		o      planner.Options
		gate   string
		flags  string
		remedy string
	}{
		{"free", plain, "", "", ""},
		{"paid", plain, "payment", "--methods free,x402", ""},
		{"paid", budget, "money_budget", "--budget 0.55", ""},
		{"paid", one, "payment", "--methods free,x402 --max-units 3", ""},
		{"paid", tokens, "context_budget", "--context-budget 110", ""},
		{"staff", plain, "audience", "--role human --credentials CREDENTIAL", ""},
		{"next", plain, "temporal", "--as-of 2026-08-01", ""},
		{"last", plain, "temporal", "--as-of 2026-06-30", ""},
		{"other", plain, "relevance", "", "ask for another task, or the publisher adds triggers that name it"},
		{"never", plain, "not_for", "", "ask for another task, or the publisher changes not_for"},
		{"skill", plain, "skill_eligibility", "", "only the publisher can grant this procedure or mend its declaration"},
	} {
		e, err := planner.Why(m, "alpha deploy", tt.o, tt.unit)
		if err != nil {
			t.Fatal(err)
		}
		var flags []string
		for _, c := range e.Changes {
			flags = append(flags, c.Flag)
		}
		if got := strings.Join(flags, " "); e.Gate != tt.gate || got != tt.flags || e.Remedy != tt.remedy {
			t.Errorf("%s: gate %q flags %q remedy %q, want %q %q %q", tt.unit, e.Gate, got, e.Remedy, tt.gate, tt.flags, tt.remedy)
		}
	}
	var unknown *planner.UnknownUnitError
	if _, err := planner.Why(m, "alpha", plain, "nobody"); !errors.As(err, &unknown) || unknown.Unit != "nobody" {
		t.Errorf("unknown unit: %v", err)
	}
}
