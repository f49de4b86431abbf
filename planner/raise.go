package planner

import (
	"iter"
	"math"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
)

// ceiling is an option that opens by being raised.
type ceiling struct {
	// lift takes the ceiling out of the way.
	lift func(*Options)
	// steps yields the settings at which a decision can change, least first.
	steps func(s *search, o Options) iter.Seq[raised]
}

// raised is one setting of a ceiling and the options with it.
type raised struct {
	options Options
	value   value
}

// unitsCeiling raises the cap on units. The cap decides nothing about units
// ranked before the target, so one plan without it tells the place it needs.
func unitsCeiling() *ceiling {
	lift := func(o *Options) { o.MaxUnits = number(math.NaN()) }
	return &ceiling{lift: lift, steps: func(s *search, o Options) iter.Seq[raised] {
		return func(yield func(raised) bool) {
			free := o
			lift(&free)
			for _, other := range []func(*Options){nil, liftMoney, liftTokens, func(o *Options) { liftMoney(o); liftTokens(o) }} {
				trial := free
				if other != nil {
					other(&trial)
				}
				_, c := s.plan(trial)
				need := float64(c.position)
				if c.position == 0 || need <= o.MaxUnits.Value {
					continue
				}
				next := o
				next.MaxUnits = number(need)
				text := artifact.FormatNumber(need)
				if !yield(raised{next, value{from: artifact.FormatNumber(o.MaxUnits.Value), to: text, flag: "--max-units " + text}}) {
					return
				}
			}
		}
	}}
}

func liftMoney(o *Options) {
	if o.Budget != nil {
		b := *o.Budget
		b.Amount = math.Inf(1)
		o.Budget = &b
	}
}

func liftTokens(o *Options) {
	if o.ContextBudget.Set {
		o.ContextBudget = number(math.Inf(1))
	}
}

// moneyCeiling raises the budget, or changes its currency to the one the unit
// is priced in.
func (s *search) moneyCeiling() *ceiling {
	if s.base.Budget == nil {
		return nil
	}
	currency := s.base.Budget.currency()
	if price := s.priced(); price.Set && price.Value != currency {
		currency = price.Value
	}
	changed := currency != s.base.Budget.currency()
	set := func(o *Options, amount float64) {
		b := *o.Budget
		b.Amount = amount
		if changed {
			b.Currency = kcp.String{Value: currency, Set: true}
		}
		o.Budget = &b
	}
	return &ceiling{
		lift: func(o *Options) { set(o, math.Inf(1)) },
		steps: func(s *search, o Options) iter.Seq[raised] {
			start := o.Budget.Amount
			if changed {
				start = o.Budget.Spent.Value
			}
			return s.raising(o, start, set, nextMoney, func(amount float64) value {
				text, flag := artifact.FormatNumber(amount), "--budget "+artifact.FormatNumber(amount)
				if changed {
					text, flag = text+" "+currency, flag+" --currency "+quote(currency)
				}
				return value{from: artifact.FormatNumber(s.base.Budget.Amount) + " " + s.base.Budget.currency(), to: text, flag: flag}
			})
		},
	}
}

// priced is the currency of the first price among the unit's methods.
func (s *search) priced() kcp.String {
	for _, block := range []*kcp.Payment{s.target.Payment, s.manifest.Payment} {
		if block == nil {
			continue
		}
		for i := range block.Methods {
			if block.Methods[i].Type == "x402" {
				return block.Methods[i].Currency
			}
		}
		return kcp.String{}
	}
	return kcp.String{}
}

func (s *search) tokenCeiling() *ceiling {
	if !s.base.ContextBudget.Set {
		return nil
	}
	set := func(o *Options, amount float64) { o.ContextBudget = number(amount) }
	return &ceiling{
		lift: liftTokens,
		steps: func(s *search, o Options) iter.Seq[raised] {
			return s.raising(o, o.ContextBudget.Value, set, nextTokens, func(amount float64) value {
				text := artifact.FormatNumber(amount)
				return value{from: artifact.FormatNumber(s.base.ContextBudget.Value), to: text, flag: "--context-budget " + text}
			})
		},
	}
}

// raising walks the amounts above start at which some decision changes.
func (s *search) raising(o Options, start float64, set func(*Options, float64),
	next func(*pass, float64) float64, describe func(float64) value) iter.Seq[raised] {
	return func(yield func(raised) bool) {
		amount := start
		for range maxRaises {
			trial := o
			set(&trial, amount)
			if amount != start || trial.Budget != nil && o.Budget != nil && trial.Budget.currency() != o.Budget.currency() {
				if !yield(raised{trial, describe(amount)}) {
					return
				}
			}
			p, _ := s.plan(trial)
			higher := next(p, amount)
			if s.exhausted() || math.IsInf(higher, 1) || higher <= amount {
				return
			}
			amount = higher
		}
	}
}

// nextMoney is the least budget above amount that admits a unit refused for
// money, in whole micros.
func nextMoney(p *pass, amount float64) float64 {
	least := math.Inf(1)
	for _, c := range p.refused {
		if c.stopped == gateMoney && c.payment.in(p.options.Budget.currency()) {
			need := ceilMicro(p.options.Budget.Spent.Value + c.spent + c.payment.price)
			if need > amount && need < least {
				least = need
			}
		}
	}
	return least
}

// ceilMicro rounds an amount up to six decimals, unless only binary noise
// would lift it.
func ceilMicro(x float64) float64 {
	rounded := artifact.RoundMicros(x)
	if rounded+tolerance >= x {
		return rounded
	}
	return artifact.RoundMicros(x + 5e-7)
}

func nextTokens(p *pass, amount float64) float64 {
	least := math.Inf(1)
	for _, c := range p.refused {
		if size := tokensOf(c.unit); c.stopped == gateContext && size.measured {
			if need := ceilMicro(c.used + size.value); need > amount && need < least {
				least = need
			}
		}
	}
	return least
}
