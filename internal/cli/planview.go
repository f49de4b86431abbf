package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/load"
	"github.com/writ-dev/writ/planner"
)

// Marks. The same sign means the same thing in every output.
var (
	markGood    = span{text: "✓", style: green}
	markBad     = span{text: "✗", style: red}
	markWarn    = span{text: "⚠", style: yellow}
	markNote    = span{text: "·", style: dim}
	markOpen    = span{text: "●", style: green}
	markBlocked = span{text: "○", style: yellow}
	markFollow  = span{text: "→", style: green}
	space       = span{text: " "}
)

// planView writes a plan for a person.
type planView struct {
	*page
	plan   *planner.LoadPlan
	loaded *load.Loaded
	units  []planner.UnitTrace // only where token sizes or gates are shown
}

// write writes the plan. What was skipped is left out where the trace shows it.
func (v planView) write(withSkipped bool) {
	v.writeHead()
	v.writeSelected()
	v.writeArithmetic()
	v.writeFederation()
	if withSkipped {
		v.writeSkipped()
	}
	v.writeWarnings()
}

func (v planView) writeHead() {
	plan := v.plan
	v.heading("Plan ", text("“"+plan.Task+"”"))
	t := &table{indent: 2}
	label := func(title string, list ...span) { t.add(spans(in(dim, title)), list) }

	manifest := []span{name(bold, plan.Manifest.Project), text(" " + plan.Manifest.Version)}
	if version := plan.Manifest.KCPVersion; version.Set {
		manifest = append(manifest, in(dim, " · kcp "+version.Value))
	}
	label("manifest", manifest...)
	label("source", name(plain, plan.Manifest.Source), in(dim, " · sha256 "+abbreviated(plan.Manifest.SHA256)))
	if v.loaded.Parts > 1 {
		label("", text("composed of "+counted(v.loaded.Parts, "manifest")))
	}
	when := "as of " + plan.AsOf
	if known := plan.Options.KnownAt; known != "" {
		when += " · as known at " + known
	}
	if plan.Environment.Set {
		when += " · env " + plan.Environment.Value
	}
	label("when", text(when))
	label("agent", text(agent(plan.Options.Capabilities)))
	if s := plan.Signature; s != nil {
		label("signature", signatureSpans(s)...)
	}
	if plan.Trust.RequiresAttestation {
		mark := markGood
		if !plan.Trust.AgentCanAttest {
			mark = markWarn
		}
		label("trust", mark, space, text(plan.Trust.Note))
	}
	if s := plan.Serving; s != nil {
		mark := map[string]span{"bound": markGood, "unbound": markWarn}[s.Status]
		if mark.text == "" {
			mark = markNote
		}
		label("serving", mark, space, text(s.Detail))
	}
	v.table(t)
}

func signatureSpans(s *kcp.Signature) []span {
	list := []span{markNote, space, text(s.Detail)}
	switch s.Status {
	case kcp.Verified:
		list[0] = markGood
	case kcp.Invalid:
		list[0] = markBad
	case kcp.Unverifiable:
		list[0] = markWarn
		list = append(list[:2], text("unverifiable: "+s.Detail))
	}
	if s.KeyID != "" {
		list = append(list, in(dim, " · key "), name(dim, s.KeyID))
	}
	return list
}

// abbreviated shows enough of a digest to recognise it.
func abbreviated(digest string) string { return digest[:min(len(digest), 12)] }

func (v planView) writeSelected() {
	selected := v.plan.Selected
	total := len(v.loaded.Manifest.Units)
	v.heading("Load", text(fmt.Sprintf(" %d of %s", len(selected), counted(total, "unit"))))
	if len(selected) == 0 {
		v.line(2, in(dim, "No unit passes every gate."))
		return
	}
	heads := v.heads(selected)
	for i := range selected {
		if i > 0 {
			v.blank()
		}
		v.writeUnit(&selected[i], heads[i])
	}
}

// heads are the first lines of all selected units, with their columns aligned.
func (v planView) heads(selected []planner.Selected) [][]span {
	t := &table{}
	for i := range selected {
		s := &selected[i]
		t.add(cell(bold, s.ID), spans(in(dim, "score "), text(strconv.Itoa(s.Score))), cell(costStyle(s), costOf(s)))
	}
	widths := t.widest(func(int) int { return v.width * 2 / 5 })
	heads := make([][]span, len(selected))
	for i, r := range t.rows {
		for k, c := range r {
			heads[i] = append(heads[i], c...)
			if k < 2 {
				heads[i] = append(heads[i], span{text: strings.Repeat(" ", max(widths[k]-spanColumns(c), 0)+gutter)})
			}
		}
	}
	return heads
}

func costOf(s *planner.Selected) string {
	switch {
	case s.Payment.Method == "free":
		return "free"
	case s.Payment.Cost.Set && s.Payment.Affordable:
		return s.Payment.Cost.Value
	}
	return s.Payment.Method
}

func costStyle(s *planner.Selected) style {
	switch {
	case !s.Payment.Affordable:
		return red
	case s.Payment.Method == "free":
		return plain
	}
	return cyan
}

func (v planView) writeUnit(s *planner.Selected, head []span) {
	mark := markOpen
	if !s.LoadEligible {
		mark = markBlocked
	}
	v.hang(2, 4, append([]span{mark, space}, head...)...)
	v.hang(4, 4, name(cyan, s.Path))
	v.line(4, text(strings.TrimSpace(s.Intent)))
	matches, others := splitReasons(s.Reasons)
	if len(matches) > 0 {
		v.line(4, in(dim, "terms matched: "+strings.Join(matches, ", ")))
	}
	for _, reason := range others {
		mark := markNote
		if !s.LoadEligible {
			mark = markBad
		}
		v.hang(4, 6, mark, space, text(reason))
	}
	if !s.LoadEligible {
		v.line(4, in(yellow, "not load-eligible: listed, but must not be loaded"))
	}
	v.writeGoverned(s.ActionScope, s.Markers)
}

// splitReasons tells why a unit is relevant from what the gates objected to.
// "intent matches 3 term(s)" is shortened to "intent 3".
func splitReasons(reasons []string) (matches, others []string) {
	for _, reason := range reasons {
		field, count, ok := strings.Cut(strings.TrimSuffix(reason, " term(s)"), " match")
		if ok && strings.HasSuffix(reason, " term(s)") {
			matches = append(matches, field+strings.TrimPrefix(count, "es"))
		} else {
			others = append(others, reason)
		}
	}
	return matches, others
}

// writeGoverned shows what a skill or playbook may touch, and whose grant it
// needs.
func (v planView) writeGoverned(scope *planner.Scope, m *planner.Markers) {
	t := &table{indent: 4}
	fact := func(title, value string) {
		if value != "" {
			t.add(spans(in(dim, title)), spans(text(value)))
		}
	}
	list := func(title string, items ...[]string) { fact(title, strings.Join(slices.Concat(items...), ", ")) }
	if scope != nil {
		list("tools", scope.Tools)
		list("paths", scope.Paths)
		list("capabilities", scope.Capabilities)
		if limit := scope.Spend; limit != nil && (m == nil || m.Spend == nil) {
			fact("spend", spendText(limit.MaxSpend, limit.Currency, limit.AllowedVendors))
		}
		if scope.Deny != nil {
			list("never", scope.Deny.Tools, scope.Deny.Paths, scope.Deny.Capabilities)
		}
	}
	if m != nil {
		if m.Authority != nil {
			fact("authority", "at most "+m.Authority.Ceiling+", bound by "+m.Authority.BindingSource)
		}
		if m.Spend != nil {
			fact("spend", spendText(m.Spend.MaxSpend, m.Spend.Currency, m.Spend.AllowedVendors)+", bound by "+m.Spend.BindingSource)
		}
		for _, g := range m.GrantRequests {
			fact("ask first", g.Note)
		}
		for _, d := range m.ProhibitedAttempts {
			fact("prohibited", d.Note)
		}
	}
	v.table(t)
}

func spendText(most kcp.Number, currency kcp.String, vendors []string) string {
	var parts []string
	if most.Set {
		parts = append(parts, strings.TrimSpace("at most "+artifact.FormatNumber(most.Value)+" "+currency.Value))
	}
	if len(vendors) > 0 {
		parts = append(parts, "from "+strings.Join(vendors, ", "))
	}
	return strings.Join(parts, ", ")
}

func (v planView) writeFederation() {
	if len(v.plan.Federation) == 0 {
		return
	}
	v.heading("Federated manifests", in(dim, "  decided on, not followed"))
	t := &table{indent: 2}
	for i := range v.plan.Federation {
		ref := &v.plan.Federation[i]
		mark := markNote
		if ref.Selected {
			mark = markFollow
		}
		reason := spans(text(ref.Reason))
		if ref.CredentialNeeded != "" {
			reason = append(reason, in(yellow, " · acquire "), name(yellow, ref.CredentialNeeded))
		}
		t.add(spans(mark, space, name(plain, ref.ID)), reason)
	}
	v.table(t)
}

func (v planView) writeSkipped() {
	skipped := v.plan.Skipped
	if len(skipped) == 0 {
		return
	}
	v.heading("Skipped", text(" "+counted(len(skipped), "unit")))
	list := &reasonList{}
	for i := range skipped {
		list.add(markBad, skipped[i].ID, skipped[i].Reason)
	}
	v.writeReasons(2, list)
}

// irrelevant is what the planner says of a unit that has no term of the task.
const irrelevant = "no task-relevance match"

// Units that share a reason are named together when there are this many of
// them, or when the reason is that they are not about the task.
const together = 4

// mostListed bounds how many units are named for one reason, and how many
// reasons stand alone. --json leaves none out.
const mostListed = 20

// reasonList holds units by the reason why they were stopped, in the order in
// which the reasons first came up.
type reasonList struct {
	groups []*reasonGroup
	byText map[string]*reasonGroup
}

type reasonGroup struct {
	mark   span
	reason string
	units  []string
}

func (l *reasonList) add(mark span, unit, reason string) {
	g := l.byText[reason]
	if g == nil {
		if l.byText == nil {
			l.byText = map[string]*reasonGroup{}
		}
		g = &reasonGroup{mark: mark, reason: reason}
		l.byText[reason] = g
		l.groups = append(l.groups, g)
	}
	g.units = append(g.units, unit)
}

// writeReasons writes the units that have a reason of their own, then the
// others.
func (p *page) writeReasons(indent int, l *reasonList) {
	t := &table{indent: indent}
	var shared []*reasonGroup
	unlisted := 0
	for _, g := range l.groups {
		if len(g.units) >= together || g.reason == irrelevant {
			shared = append(shared, g)
			continue
		}
		for _, unit := range g.units {
			if len(t.rows) == mostListed {
				unlisted++
				continue
			}
			t.add(spans(g.mark, space, name(plain, unit)), spans(text(g.reason)))
		}
	}
	p.table(t)
	if unlisted > 0 {
		p.line(indent, in(dim, "and "+grouped(float64(unlisted))+" more with a reason of their own; --json lists every one"))
	}
	slices.SortStableFunc(shared, func(a, b *reasonGroup) int { return len(b.units) - len(a.units) })
	for _, g := range shared[:min(mostListed, len(shared))] {
		title := spans(g.mark, text(" "+g.reason+": "))
		if g.reason == irrelevant {
			title = spans(markNote, in(dim, " not about this task: "))
		}
		p.hang(indent, indent+2, append(title, listed(g.units)...)...)
	}
	if more := len(shared) - mostListed; more > 0 {
		p.line(indent, in(dim, "and "+counted(more, "other reason")+"; --json lists every one"))
	}
}

// listed joins names with commas and says how many are not shown.
func listed(names []string) []span {
	var list []span
	for i, n := range names {
		if i == mostListed {
			return append(list, in(dim, ", and "+grouped(float64(len(names)-i))+" more"))
		}
		if i > 0 {
			list = append(list, in(dim, ", "))
		}
		list = append(list, name(dim, n))
	}
	return list
}

func (v planView) writeWarnings() {
	if len(v.plan.Warnings) == 0 {
		return
	}
	v.blank()
	for _, warning := range v.plan.Warnings {
		v.hang(2, 4, markWarn, space, text(warning))
	}
}

// grouped writes a number with its thousands apart.
func grouped(x float64) string {
	digits, fraction, _ := strings.Cut(artifact.FormatNumber(x), ".")
	if strings.ContainsAny(digits, "eIN") {
		return digits
	}
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	digits = thousands(digits)
	if fraction != "" {
		digits += "." + fraction
	}
	return sign + digits
}
