package planner

import (
	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
)

// Trace is every decision of one plan. It holds what the pass decided; the
// sentences are written when they are asked for.
type Trace struct {
	pass *pass
	plan *LoadPlan
}

// Outcomes of a unit.
const (
	OutcomeSelected = "selected"
	OutcomeSkipped  = "skipped"
)

// UnitTrace is the walk of one unit through the cascade, up to the gate that
// stopped it.
type UnitTrace struct {
	ID          string        `json:"id"`
	Path        string        `json:"path"`
	Intent      string        `json:"intent"`
	Outcome     string        `json:"outcome"`
	Gates       []GateVerdict `json:"gates"`
	RejectedBy  string        `json:"rejectedBy,omitzero"`
	Score       int           `json:"score,omitzero"`
	Tokens      *TokenTrace   `json:"tokens,omitzero"`
	Cost        *CostTrace    `json:"cost,omitzero"`
	ActionScope *Scope        `json:"action_scope,omitzero"`
}

// GateVerdict is what one gate said of one unit.
type GateVerdict struct {
	Gate   string `json:"gate"`
	Passed bool   `json:"passed"`
	Detail string `json:"detail"`
}

// TokenTrace is the size of a selected unit: declared, estimated or unmeasured.
type TokenTrace struct {
	Value  kcp.Number `json:"value,omitzero"`
	Source string     `json:"source"`
}

// CostTrace is the price of a selected unit.
type CostTrace struct {
	Amount   float64    `json:"amount"`
	Currency kcp.String `json:"currency,omitzero"`
	Method   string     `json:"method"`
}

// GateCount says how many units reached a gate, and how they fared.
type GateCount struct {
	Gate   string `json:"gate"`
	Passed int    `json:"passed"`
	Failed int    `json:"failed"`
}

// TraceDocument is the JSON form of a trace.
type TraceDocument struct {
	Task         string       `json:"task"`
	TaskTerms    []string     `json:"taskTerms"`
	AsOf         string       `json:"asOf"`
	Capabilities Capabilities `json:"capabilities"`
	Plan         *LoadPlan    `json:"plan"`
	Units        []UnitTrace  `json:"units"`
	GateSummary  []GateCount  `json:"gateSummary"`
}

// GateNames lists the gates in the order in which they are asked.
func GateNames() []string {
	names := make([]string, len(cascade))
	for i, g := range cascade {
		names[i] = g.name
	}
	return names
}

// Terms are the words of the task that units are matched with.
func (t *Trace) Terms() []string {
	words := make([]string, len(t.pass.terms))
	for i, term := range t.pass.terms {
		words[i] = term.text
	}
	return words
}

// Units gives the walk of every unit, in manifest order.
func (t *Trace) Units() []UnitTrace {
	units := make([]UnitTrace, len(t.pass.candidates))
	for i := range t.pass.candidates {
		units[i] = t.pass.trace(&t.pass.candidates[i])
	}
	return units
}

// Document puts the trace in its JSON form.
func (t *Trace) Document() TraceDocument {
	doc := TraceDocument{
		Task:         t.plan.Task,
		TaskTerms:    t.Terms(),
		AsOf:         t.plan.AsOf,
		Capabilities: t.plan.Options.Capabilities,
		Plan:         t.plan,
		Units:        t.Units(),
	}
	doc.GateSummary = summarise(doc.Units)
	return doc
}

// JSON encodes the trace as an artifact, with its envelope.
func (t *Trace) JSON(correlationID string) ([]byte, error) {
	return artifact.Wrap(t.Document(), artifact.Envelope{SchemaVersion: 1, Kind: "trace", CorrelationID: correlationID})
}

// trace writes down the walk of one unit.
func (p *pass) trace(c *candidate) UnitTrace {
	u := UnitTrace{ID: c.unit.ID, Path: c.unit.Path, Intent: c.unit.Intent, Outcome: OutcomeSkipped}
	last := p.lastGate(c)
	for g := 0; g < len(cascade); g++ {
		verdict := GateVerdict{Gate: cascade[g].name, Passed: g != last}
		if verdict.Passed {
			verdict.Detail = p.passDetail(g, c)
		} else {
			verdict.Detail = p.stopDetail(g, c)
		}
		u.Gates = append(u.Gates, verdict)
		if g == last {
			u.RejectedBy = cascade[g].name
			break
		}
	}
	if c.evaluation != nil {
		u.Score = int(c.score)
	}
	if c.stopped == passed {
		u.Outcome = OutcomeSelected
		u.Tokens, u.Cost = tokenTrace(c), costTrace(c)
		u.ActionScope = echoScope(c.unit.ActionScope)
	}
	return u
}

// lastGate is where the trace ends. Under strict, an objection of the gate for
// governed procedures ends it there and not at the strict gate, which only
// carries it out.
func (p *pass) lastGate(c *candidate) int {
	if c.stopped == gateStrict && c.procedure != "" {
		return gateProcedure
	}
	return c.stopped
}

func (p *pass) passDetail(g int, c *candidate) string {
	detail := cascade[g].explain(p, c)
	if g == gateProcedure && c.procedure != "" {
		detail += ineligible
	}
	return detail
}

func (p *pass) stopDetail(g int, c *candidate) string {
	switch g {
	case gateProcedure:
		return c.procedure
	case gateMaxUnits:
		return p.place(c, "exceeds")
	case gateStrict:
		return "not load-eligible under strict mode"
	case gateMoney, gateContext:
		return refusalDetail(c.reason)
	}
	return c.reason
}

func tokenTrace(c *candidate) *TokenTrace {
	size := tokensOf(c.unit)
	switch {
	case size.estimated:
		return &TokenTrace{number(size.value), "estimated"}
	case size.measured:
		return &TokenTrace{number(size.value), "declared"}
	}
	return &TokenTrace{Source: "unmeasured"}
}

func costTrace(c *candidate) *CostTrace {
	if !c.payment.is("x402") || c.payment.refusal != "" {
		return nil
	}
	return &CostTrace{c.payment.price, c.payment.method.Currency, "x402"}
}

func summarise(units []UnitTrace) []GateCount {
	counts := make([]GateCount, len(cascade))
	for i, g := range cascade {
		counts[i].Gate = g.name
	}
	for i := range units {
		for g, verdict := range units[i].Gates {
			if verdict.Passed {
				counts[g].Passed++
			} else {
				counts[g].Failed++
			}
		}
	}
	return counts
}
