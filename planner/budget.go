package planner

import (
	"math"
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
)

// ledger is the running account of the greedy part.
type ledger struct {
	spent  float64 // money taken by this plan
	tokens float64
}

// tokenCount is the size of a unit in tokens.
type tokenCount struct {
	value     float64
	measured  bool
	estimated bool // derived from bytes
}

// bytesPerToken turns a declared size in bytes into tokens.
const bytesPerToken = 4

func tokensOf(u *kcp.Unit) tokenCount {
	switch {
	case u.SizeTokens.Set:
		return tokenCount{value: u.SizeTokens.Value, measured: true}
	case u.Bytes.Set:
		return tokenCount{value: math.Ceil(u.Bytes.Value / bytesPerToken), measured: true, estimated: true}
	}
	return tokenCount{}
}

func decideMaxUnits(p *pass, c *candidate) string {
	taken := len(p.selected)
	c.position = taken + 1
	if float64(taken) >= p.options.MaxUnits.Value {
		return "past the cap"
	}
	return ""
}

func explainMaxUnits(p *pass, c *candidate) string { return p.place(c, "within") }

// place says where the unit's turn came relative to the cap.
func (p *pass) place(c *candidate, relation string) string {
	return "position " + artifact.FormatNumber(float64(c.position)) + " " + relation + " cap of " +
		artifact.FormatNumber(p.options.MaxUnits.Value)
}

// decideMoney charges what the budget can bear. The money of a unit that the
// context budget then refuses stays taken: plans of other implementations
// carry the same arithmetic.
func decideMoney(p *pass, c *candidate) string {
	b := p.options.Budget
	if b == nil || !c.eligible || c.payment.price <= 0 {
		return ""
	}
	if !c.payment.in(b.currency()) {
		return "over budget: costs " + c.payment.cost() + ", budget is in " + b.currency()
	}
	c.spent = p.ledger.spent
	if b.Spent.Value+p.ledger.spent+c.payment.price > b.Amount+tolerance {
		return "over budget: " + artifact.FormatNumber(c.payment.price) + " would exceed remaining " +
			artifact.FormatNumber(artifact.RoundMicros(b.Amount-b.Spent.Value-p.ledger.spent)) + " of " +
			artifact.FormatNumber(b.Amount) + " " + b.currency()
	}
	p.ledger.spent += c.payment.price
	c.charged, c.spent = true, p.ledger.spent
	return ""
}

func explainMoney(p *pass, c *candidate) string {
	b := p.options.Budget
	switch {
	case b == nil:
		return "no budget ceiling set"
	case !c.charged:
		return "free unit"
	}
	return artifact.FormatNumber(c.payment.price) + " within budget (" + artifact.FormatNumber(artifact.RoundMicros(c.spent)) + " of " +
		artifact.FormatNumber(b.Amount) + " " + b.currency() + " spent)"
}

func decideContext(p *pass, c *candidate) string {
	budget := p.options.ContextBudget
	if !budget.Set || !c.eligible {
		return ""
	}
	size := tokensOf(c.unit)
	if !size.measured {
		if p.options.Strict {
			return "size undeclared — excluded under strict (declare size_tokens or bytes)"
		}
		return ""
	}
	c.used = p.ledger.tokens
	if p.ledger.tokens+size.value > budget.Value+tolerance {
		return "over context budget: " + tokenText(size.value) + " tokens would exceed remaining " +
			tokenText(budget.Value-p.ledger.tokens) + " of " + tokenText(budget.Value)
	}
	p.ledger.tokens += size.value
	c.used = p.ledger.tokens
	return ""
}

func explainContext(p *pass, c *candidate) string {
	budget, size := p.options.ContextBudget, tokensOf(c.unit)
	switch {
	case !budget.Set:
		return "no context budget set"
	case !c.eligible:
		return "not load-eligible"
	case !size.measured:
		return "unmeasured (admitted, projection is a lower bound)"
	}
	return tokenText(size.value) + " tokens (" + tokenText(c.used) + " of " + grouped(budget.Value, 3) + " used)"
}

// refusalDetail is what the trace says of a greedy refusal: the reason without
// what the name of the gate says already.
func refusalDetail(reason string) string {
	reason = strings.TrimPrefix(reason, "over budget: ")
	reason = strings.TrimPrefix(reason, "over context budget: ")
	return strings.TrimSuffix(reason, " (declare size_tokens or bytes)")
}

// RequestCeiling is a number of requests a minute, or the word unlimited.
type RequestCeiling struct {
	Unlimited bool
	Value     float64
}

// MarshalJSON writes the number or "unlimited".
func (c RequestCeiling) MarshalJSON() ([]byte, error) {
	if c.Unlimited {
		return []byte(`"unlimited"`), nil
	}
	return []byte(jsonNumber(c.Value)), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *RequestCeiling) UnmarshalJSON(data []byte) error {
	if string(data) == `"unlimited"` {
		c.Unlimited = true
		return nil
	}
	return artifact.Decode(data, &c.Value, artifact.RefuseUnknown)
}

func jsonNumber(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "null"
	}
	return artifact.FormatNumber(x)
}

// rateTier chooses the tier whose limits apply.
func (p *pass) rateTier() (string, *kcp.RateTier) {
	limits := p.manifest.RateLimits
	if limits == nil {
		return "default", nil
	}
	switch {
	case slices.Contains(p.options.Capabilities.PaymentMethods, "subscription") && limits.Premium != nil:
		return "premium", limits.Premium
	case len(p.options.Capabilities.Credentials) > 0 && limits.Authenticated != nil:
		return "authenticated", limits.Authenticated
	}
	return "default", limits.Default
}

func (p *pass) budgetNote() BudgetNote {
	note := BudgetNote{PerRequestCosts: []UnitCost{}}
	tier, limits := p.rateTier()
	note.RateTier = tier
	if limits != nil && limits.PerMinute.Set {
		note.RequestsPerMinute = &RequestCeiling{limits.PerMinute.Unlimited, limits.PerMinute.Value}
	}
	projected := 0.0
	for _, c := range p.selected {
		if !c.eligible {
			continue
		}
		projected += c.payment.price
		if c.payment.is("x402") {
			note.PerRequestCosts = append(note.PerRequestCosts, UnitCost{c.unit.ID, c.payment.cost()})
		}
	}
	p.settle(&note, projected)
	return note
}

// settle writes the arithmetic against the ceiling, if there is one.
func (p *pass) settle(note *BudgetNote, projected float64) {
	b := p.options.Budget
	if b == nil {
		note.Note = "all selected units are free to load at the resolved tier."
		if n := len(note.PerRequestCosts); n > 0 {
			note.Note = artifact.FormatNumber(float64(n)) + " selected unit(s) are pay-per-request; budget before loading."
		}
		return
	}
	spent := artifact.RoundMicros(b.Spent.Value)
	projected = artifact.RoundMicros(projected)
	remaining := artifact.RoundMicros(b.Amount - spent - projected)
	note.Ceiling = number(b.Amount)
	note.Currency = kcp.String{Value: b.currency(), Set: true}
	upstream := ""
	if spent > 0 {
		note.AlreadyCommitted = number(spent)
		upstream = " (+" + artifact.FormatNumber(spent) + " committed upstream)"
	}
	note.ProjectedSpend, note.Remaining = number(projected), number(remaining)
	note.Note = "projected spend " + artifact.FormatNumber(projected) + upstream + " of " + artifact.FormatNumber(b.Amount) +
		" " + b.currency() + "; " + artifact.FormatNumber(remaining) + " remaining."
}

func number(x float64) kcp.Number { return kcp.Number{Value: x, Set: true} }

func (p *pass) contextNote() ContextNote {
	var note ContextNote
	projected := 0.0
	for _, c := range p.selected {
		if !c.eligible {
			continue
		}
		size := tokensOf(c.unit)
		if !size.measured {
			note.Unmeasured++
			continue
		}
		projected += size.value
		note.Approximate = note.Approximate || size.estimated
	}
	if !p.options.ContextBudget.Set {
		note.Note = "no context budget set."
		return note
	}
	ceiling := p.options.ContextBudget.Value
	note.Ceiling, note.ProjectedTokens, note.Remaining = number(ceiling), number(projected), number(ceiling-projected)
	var caveats []string
	if note.Approximate {
		caveats = append(caveats, "some sizes estimated")
	}
	if note.Unmeasured > 0 {
		caveats = append(caveats, artifact.FormatNumber(float64(note.Unmeasured))+" unmeasured")
	}
	note.Note = "projected " + tokenText(projected) + " of " + tokenText(ceiling) + " tokens; " + tokenText(ceiling-projected) + " remaining"
	if len(caveats) > 0 {
		note.Note += " (" + strings.Join(caveats, ", ") + ")"
	}
	note.Note += "."
	return note
}
