package retrieve

import (
	"context"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/load"
	"github.com/writ-dev/writ/planner"
	"github.com/writ-dev/writ/policy"
)

// Why a unit that is in the plan is not in the result, beside the codes of load
// and fetch and the names of the gates.
const (
	codeRestricted = "restricted"     // the pack keeps no restricted bytes
	codeNotText    = "not-text"       // no UTF-8
	codeTooLarge   = "too-large"      // it does not fit into the result
	codeTokens     = "context_budget" // the gate, asked again with the size that was found
)

// reading loads the units of one plan.
type reading struct {
	source *Source
	loaded *load.Loaded
	plan   *planner.LoadPlan
	trace  *planner.Trace
	names  *kcp.Names
	permit policy.Permit
	most   uint64 // bytes of the result

	documents []document
	refused   []refusal
	bytes     uint64  // of the documents' texts
	access    string  // the strictest class of the documents
	tokens    float64 // that the documents count for
	spent     float64 // of the budget
}

// document is the text of one unit.
type document struct {
	id, title, text, source, sha256 string
	tokens                          float64
}

// refusal is a unit of the plan whose text is not given.
type refusal struct{ id, code, reason string }

// read loads what may be loaded, in the order of the plan. It reports whether the
// context lasted.
func (r *reading) read(ctx context.Context) bool {
	closed := map[string]planner.Stop{}
	for s := range r.trace.Stops() {
		if s.Selected {
			closed[s.ID] = s
		}
	}
	for i := range r.plan.Selected {
		selected := &r.plan.Selected[i]
		if !selected.LoadEligible {
			r.refuse(selected.ID, closed[selected.ID].Gate, closed[selected.ID].Reason)
			continue
		}
		if !r.readUnit(ctx, selected) {
			return false
		}
	}
	return true
}

func (r *reading) refuse(id, code, reason string) {
	r.refused = append(r.refused, refusal{id, code, r.source.shown(reason)})
}

// readUnit loads one unit that the plan lets it load.
func (r *reading) readUnit(ctx context.Context, selected *planner.Selected) bool {
	unit := r.names.Unit(selected.ID)
	class := accessClass(unit.Access)
	if _, kept := r.permit.Keeps[classRestricted]; class == classRestricted && !kept {
		r.refuse(unit.ID, codeRestricted, "the pack keeps no bytes of the class restricted, and what a graph uses is in the record")
		return true
	}
	r.spent += selected.Payment.PricePerRequest.Value
	content, refused := r.loaded.Unit(ctx, unit.ID)
	if ctx.Err() != nil {
		return false
	}
	if refused != nil {
		r.refuse(unit.ID, string(refused.Code), withoutFlags(strings.TrimSuffix(refused.Problem+"; "+refused.Advice, "; ")))
		return true
	}
	d := document{
		id: unit.ID, title: unit.Intent, text: string(content.Bytes), sha256: content.SHA256.Hex(),
		source: kcp.ResolveLocation(r.loaded.Manifest.Source, unit.Path), tokens: tokensOf(unit, len(content.Bytes)),
	}
	budget := r.plan.Options.ContextBudget
	switch {
	case !utf8.ValidString(d.text):
		r.refuse(unit.ID, codeNotText, "the unit is not text in UTF-8")
	case budget.Set && r.tokens+d.tokens > budget.Value:
		r.refuse(unit.ID, codeTokens, fmt.Sprintf("the text counts for %.0f tokens, and %.0f of %.0f are left", d.tokens, budget.Value-r.tokens, budget.Value))
	case r.bytes+uint64(len(d.text)) > r.most:
		r.tooLarge(unit.ID, len(d.text))
	default:
		r.documents, r.access = append(r.documents, d), stricter(r.access, class)
		r.bytes, r.tokens = r.bytes+uint64(len(d.text)), r.tokens+d.tokens
	}
	return true
}

// How many bytes stand for a token: of a text that declares no size, and at most
// of one that does. So nobody gets round a context budget by declaring little.
const (
	bytesPerToken     = 4
	mostBytesPerToken = 8
)

// tokensOf gives for how many tokens a text of a unit counts.
func tokensOf(u *kcp.Unit, bytes int) float64 {
	atLeast := func(per float64) float64 { return math.Ceil(float64(bytes) / per) }
	switch {
	case u.SizeTokens.Set:
		return max(u.SizeTokens.Value, atLeast(mostBytesPerToken))
	case u.Bytes.Set:
		return max(math.Ceil(u.Bytes.Value/bytesPerToken), atLeast(mostBytesPerToken))
	}
	return atLeast(bytesPerToken)
}

// usage is what the reading has used: the units that were given, and what all that
// were asked for cost. The plan stays within its budget, so only rounding could
// lead beyond it.
func (r *reading) usage() policy.Amount {
	a := policy.Amount{Units: uint64(len(r.documents))}
	if b := r.plan.Options.Budget; b != nil && r.spent > 0 {
		a.Cost = policy.Money{currency(b): min(micros(r.spent), micros(b.Amount))}
	}
	return a
}

// clip bounds a text of the manifest that is shown, not used.
func clip(s string, most int) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
