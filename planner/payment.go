package planner

import (
	"slices"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/kcp"
)

// payment is how a unit would be paid for: the first method, in the
// publisher's order, that the agent can use.
type payment struct {
	method  *kcp.PaymentMethod // nil when nothing has to be paid
	price   float64            // of one request, 0 when nothing is charged
	refusal string             // why the agent cannot pay, "" when it can
}

func decidePayment(p *pass, c *candidate) string {
	c.payment = p.choosePayment(c.unit)
	if c.payment.refusal != "" {
		c.refuse("unaffordable: " + c.payment.refusal)
	}
	return ""
}

func explainPayment(_ *pass, c *candidate) string {
	switch {
	case c.payment.refusal != "":
		return "unaffordable: " + c.payment.refusal + ineligible
	case c.payment.free():
		return "free"
	case c.payment.is("x402"):
		return "x402: " + c.payment.cost()
	}
	return c.payment.method.Type + ": undefined" // no cost is known; other implementations print it so
}

// free reports whether the unit costs nothing.
func (p payment) free() bool { return p.refusal == "" && (p.method == nil || p.method.Type == "free") }

// is reports whether the unit is paid for by the method.
func (p payment) is(method string) bool { return p.method != nil && p.method.Type == method }

// in reports whether the price is stated in the currency.
func (p payment) in(currency string) bool {
	return p.method.Currency.Set && p.method.Currency.Value == currency
}

// cost is the price of one request in words. Only x402 states one.
func (p payment) cost() string {
	return written(p.method.PricePerRequest) + " " + written(p.method.Currency) + "/request"
}

// written prints a field that may be absent as other implementations do.
func written(s kcp.String) string {
	if s.Set {
		return s.Value
	}
	return "undefined"
}

// entry is the payment as the plan shows it.
func (p payment) entry() Payment {
	e := Payment{Method: "free", Affordable: p.refusal == ""}
	if p.method != nil {
		e.Method = p.method.Type
	}
	if p.is("x402") {
		e.Cost = kcp.String{Value: p.cost(), Set: true}
		e.Currency = p.method.Currency
		if e.Affordable {
			e.PricePerRequest = number(p.price)
		}
	}
	if !e.Affordable {
		e.Method = p.refusal
	}
	return e
}

// choosePayment reads a unit's own block, or else the manifest's.
func (p *pass) choosePayment(u *kcp.Unit) payment {
	if u.Payment == nil {
		return p.chooseMethod(p.manifest.Payment)
	}
	if u.Payment.Malformed && p.manifest.Payment != nil {
		// What the manifest asks for is asked first: it can be met.
		if general := p.chooseMethod(p.manifest.Payment); general.refusal != "" {
			return general
		}
	}
	return p.chooseMethod(u.Payment)
}

func (p *pass) chooseMethod(block *kcp.Payment) payment {
	switch {
	case block == nil:
		return payment{}
	case block.Malformed:
		return payment{refusal: closed("payment", "is not a mapping with a list of methods")}
	case len(block.Methods) == 0:
		return payment{}
	}
	for i := range block.Methods {
		if slices.Contains(p.options.Capabilities.PaymentMethods, block.Methods[i].Type) {
			return pay(&block.Methods[i])
		}
	}
	var needs []string
	for i := range block.Methods {
		if method := block.Methods[i].Type; method != "free" {
			needs = append(needs, method)
		}
	}
	return payment{refusal: "needs " + strings.Join(needs, " or ")}
}

// pay says what one request costs by a method. A price that cannot be read is
// not affordable at any budget.
func pay(method *kcp.PaymentMethod) payment {
	if method.Type != "x402" {
		return payment{method: method}
	}
	price, ok := parsePrice(method.PricePerRequest)
	if !ok {
		return payment{method: method,
			refusal: closed("x402 price", "'"+method.PricePerRequest.Value+"' is not a plain decimal number")}
	}
	return payment{method: method, price: price}
}

// parsePrice reads a plain decimal literal: no sign, no hexadecimal, no
// separators. A literal that is not zero but rounds to zero is refused, since
// it would be free by accident.
func parsePrice(s kcp.String) (float64, bool) {
	text := strings.TrimSpace(s.Value)
	if text == "" || !strings.Contains("0123456789.", text[:1]) || strings.Trim(text, "0123456789.eE+-") != "" {
		return 0, false
	}
	price, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, false
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	return price, price > 0 || !strings.ContainsAny(mantissa, "123456789")
}
