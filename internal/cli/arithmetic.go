package cli

import (
	"math"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/planner"
)

// writeArithmetic shows what the selection costs in money and in tokens, unit
// by unit, against the ceilings.
func (v planView) writeArithmetic() {
	budget, context := &v.plan.Budget, &v.plan.Context
	rate := "tier " + budget.RateTier
	if rpm := budget.RequestsPerMinute; rpm != nil {
		rate += " · " + perMinute(rpm)
	}
	v.heading("Budget", in(dim, "  "+rate))
	money := budget.Ceiling.Set || len(budget.PerRequestCosts) > 0
	if money {
		v.rightTable(v.moneyTable())
	} else {
		v.line(2, in(dim, budget.Note))
	}
	if !context.Ceiling.Set {
		return
	}
	v.blank()
	v.rightTable(v.tokenTable())
	v.blank()
	v.writeGauge(context)
}

// rightTable writes a table with all columns but the first aligned right.
func (v planView) rightTable(t *table) {
	t.indent, t.right = 2, 1
	v.table(t)
}

func perMinute(c *planner.RequestCeiling) string {
	if c.Unlimited {
		return "unlimited requests"
	}
	return artifact.FormatNumber(c.Value) + " requests a minute"
}

// moneyTable lists each paid unit with the running sum and what is left.
func (v planView) moneyTable() *table {
	budget := &v.plan.Budget
	t := &table{}
	head := row{cell(dim, "unit"), cell(dim, "price"), cell(dim, "sum")}
	if budget.Ceiling.Set {
		head = append(head, cell(dim, "left of "+artifact.FormatNumber(budget.Ceiling.Value)+" "+budget.Currency.Value))
	}
	t.rows = append(t.rows, head)
	sum := budget.AlreadyCommitted.Value
	if sum > 0 {
		t.rows = append(t.rows, v.moneyRow("committed upstream", sum, sum))
	}
	for i := range v.plan.Selected {
		s := &v.plan.Selected[i]
		if !s.LoadEligible || !s.Payment.PricePerRequest.Set {
			continue
		}
		price := s.Payment.PricePerRequest.Value
		sum += price
		r := v.moneyRow(s.ID, price, sum)
		if !budget.Ceiling.Set {
			r[1] = cell(cyan, s.Payment.Cost.Value)
			r = r[:2]
		}
		t.rows = append(t.rows, r)
	}
	switch {
	case !budget.Ceiling.Set:
		t.rows[0] = t.rows[0][:2]
	case len(t.rows) == 1:
		t.rows = append(t.rows, v.moneyRow("nothing is paid for", 0, sum))
	}
	return t
}

func (v planView) moneyRow(unit string, price, sum float64) row {
	r := row{cell(plain, unit), cell(cyan, amountText(price)), cell(plain, amountText(sum))}
	if ceiling := v.plan.Budget.Ceiling; ceiling.Set {
		r = append(r, cell(leftStyle(ceiling.Value-sum), amountText(ceiling.Value-sum)))
	}
	return r
}

// tokenTable lists each selected unit with its size, the running sum and what
// is left.
func (v planView) tokenTable() *table {
	context := &v.plan.Context
	t := &table{rows: []row{{cell(dim, "unit"), cell(dim, "tokens"), cell(dim, "sum"),
		cell(dim, "left of "+grouped(context.Ceiling.Value))}}}
	eligible := map[string]bool{}
	for i := range v.plan.Selected {
		eligible[v.plan.Selected[i].ID] = v.plan.Selected[i].LoadEligible
	}
	sizes := map[string]*planner.TokenTrace{}
	for i := range v.units {
		if u := &v.units[i]; u.Tokens != nil {
			sizes[u.ID] = u.Tokens
		}
	}
	sum := 0.0
	for i := range v.plan.Selected {
		id := v.plan.Selected[i].ID
		size := sizes[id]
		if !eligible[id] || size == nil {
			continue
		}
		sum += size.Value.Value
		t.rows = append(t.rows, row{cell(plain, id), cell(cyan, sizeText(size)), cell(plain, grouped(sum)),
			cell(leftStyle(context.Ceiling.Value-sum), grouped(context.Ceiling.Value-sum))})
	}
	return t
}

func sizeText(size *planner.TokenTrace) string {
	switch size.Source {
	case "estimated":
		return "~" + grouped(size.Value.Value)
	case "declared":
		return grouped(size.Value.Value)
	}
	return "unknown"
}

func leftStyle(left float64) style {
	if left < 0 {
		return red
	}
	return plain
}

// writeGauge draws how much of the context is used.
func (v planView) writeGauge(c *planner.ContextNote) {
	const cells = 40
	v.hang(2, 2, append(gauge(c.ProjectedTokens, c.Ceiling, cells),
		text("  "+grouped(c.ProjectedTokens.Value)+" of "+grouped(c.Ceiling.Value)+" tokens"+caveat(c)))...)
}

func caveat(c *planner.ContextNote) string {
	var notes []string
	if c.Approximate {
		notes = append(notes, "some estimated")
	}
	if c.Unmeasured > 0 {
		notes = append(notes, strconv.Itoa(c.Unmeasured)+" unknown")
	}
	if len(notes) == 0 {
		return ""
	}
	return " (" + strings.Join(notes, ", ") + ")"
}

// gauge is a bar of blocks, exact to an eighth of one.
func gauge(used, ceiling kcp.Number, cells int) []span {
	share := 0.0
	if ceiling.Value > 0 {
		share = min(max(used.Value/ceiling.Value, 0), 1)
	}
	eighths := int(math.Round(share * float64(cells) * 8))
	full := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		full += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	colour := green
	if share > 0.9 {
		colour = yellow
	}
	empty := strings.Repeat("░", cells-len([]rune(full)))
	return spans(name(colour, full), name(dim, empty))
}

// amountText writes money as the planner does: at most six decimals.
func amountText(x float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'f', 6, 64), 64)
	if err != nil {
		rounded = x
	}
	if rounded == 0 {
		rounded = 0 // no minus sign
	}
	return artifact.FormatNumber(rounded)
}
