package planner

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/writ-dev/writ/kcp"
)

// DefaultMaxUnits is how many units a plan selects when the caller sets no cap.
const DefaultMaxUnits = 5

// DefaultCurrency is the currency of a budget that names none.
const DefaultCurrency = "USDC"

// Options are what the caller brings to a plan. The zero value is a plain
// agent that pays nothing, holds nothing and selects [DefaultMaxUnits] units.
type Options struct {
	Capabilities Capabilities

	// Env is the federation environment. An empty string is declared.
	Env kcp.String

	// AsOf is the date of the plan, YYYY-MM-DD. It is compared as text; the
	// package has no clock, so a caller that wants today says so.
	AsOf string

	// KnownAt, when set, plans with what had been recorded by then: a unit whose
	// recorded_at is later is stopped. See kcp.Moment.
	KnownAt string

	// MaxUnits caps the selection; unset means DefaultMaxUnits, NaN no cap.
	MaxUnits kcp.Number

	// Strict drops every unit that may not be loaded.
	Strict bool

	Budget        *Budget        // money; nil means no ceiling
	ContextBudget kcp.Number     // tokens; unset means no ceiling
	GrantCeiling  kcp.String     // the authority level granted to this agent
	Spend         *SpendProposal // a purchase the agent proposes to make
	Action        *Action        // an action the agent proposes to take
}

// Capabilities say who the agent is and what it holds.
type Capabilities struct {
	Role                string     `json:"role"`           // "agent" when empty
	PaymentMethods      []string   `json:"paymentMethods"` // ["free"] when nil; empty means none
	Credentials         []string   `json:"credentials"`
	AttestationProvider kcp.String `json:"attestationProvider,omitzero"`
}

// Budget is a spending ceiling in one currency.
type Budget struct {
	Amount   float64    `json:"amount"`
	Currency kcp.String `json:"currency,omitzero"` // DefaultCurrency when unset
	Spent    kcp.Number `json:"spent,omitzero"`    // committed by plans upstream
}

// SpendProposal is a purchase that a governed procedure would make.
type SpendProposal struct {
	Amount   kcp.Number `json:"amount,omitzero"`
	Vendor   kcp.String `json:"vendor,omitzero"`
	Currency kcp.String `json:"currency,omitzero"`
}

// Action is what a governed procedure would do.
type Action struct {
	Tool       kcp.String `json:"tool,omitzero"`
	Path       kcp.String `json:"path,omitzero"`
	Capability kcp.String `json:"capability,omitzero"`
}

// withDefaults fills in what the caller left open, without touching what the
// caller owns.
func (o Options) withDefaults() Options {
	o = o.validUTF8()
	if o.Capabilities.Role == "" {
		o.Capabilities.Role = "agent"
	}
	if o.Capabilities.PaymentMethods == nil {
		o.Capabilities.PaymentMethods = []string{"free"}
	}
	if o.Capabilities.Credentials == nil {
		o.Capabilities.Credentials = []string{}
	}
	if !o.MaxUnits.Set {
		o.MaxUnits = kcp.Number{Value: DefaultMaxUnits, Set: true}
	}
	return o
}

// validUTF8 replaces what is not UTF-8 in the caller's texts, since a plan
// echoes them as JSON. The caller's own values are left alone.
func (o Options) validUTF8() Options {
	o.AsOf, o.KnownAt = valid(o.AsOf), valid(o.KnownAt)
	o.Env.Value, o.GrantCeiling.Value = valid(o.Env.Value), valid(o.GrantCeiling.Value)
	c := &o.Capabilities
	c.Role, c.AttestationProvider.Value = valid(c.Role), valid(c.AttestationProvider.Value)
	c.PaymentMethods, c.Credentials = validList(c.PaymentMethods), validList(c.Credentials)
	if o.Budget != nil {
		b := *o.Budget
		b.Currency.Value = valid(b.Currency.Value)
		o.Budget = &b
	}
	if o.Spend != nil {
		s := *o.Spend
		s.Vendor.Value, s.Currency.Value = valid(s.Vendor.Value), valid(s.Currency.Value)
		o.Spend = &s
	}
	if o.Action != nil {
		a := *o.Action
		a.Tool.Value, a.Path.Value, a.Capability.Value = valid(a.Tool.Value), valid(a.Path.Value), valid(a.Capability.Value)
		o.Action = &a
	}
	return o
}

func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

func validList(list []string) []string {
	if !slices.ContainsFunc(list, func(s string) bool { return !utf8.ValidString(s) }) {
		return list
	}
	clean := make([]string, len(list))
	for i, s := range list {
		clean[i] = valid(s)
	}
	return clean
}

// moment is where the plan stands on both clocks.
func (o *Options) moment() kcp.Moment { return kcp.Moment{AsOf: o.AsOf, KnownAt: o.KnownAt} }

// currency is the currency that prices are compared with.
func (b *Budget) currency() string {
	if b.Currency.Set {
		return b.Currency.Value
	}
	return DefaultCurrency
}

// proposes reports whether the spend gate has something to decide.
func (s *SpendProposal) proposes() bool {
	return s != nil && (s.Amount.Set || s.Vendor.Set)
}

// request is one proposed action on one dimension of an action scope.
type request struct {
	dimension string // tools, paths or capabilities
	token     string
}

// requests lists what the caller proposes, in the order in which dimensions
// are checked.
func (a *Action) requests() []request {
	if a == nil {
		return nil
	}
	var list []request
	for _, r := range []struct {
		dimension string
		token     kcp.String
	}{{"tools", a.Tool}, {"paths", a.Path}, {"capabilities", a.Capability}} {
		if r.token.Set {
			list = append(list, request{r.dimension, r.token.Value})
		}
	}
	return list
}
