package cli

import (
	"strconv"
	"strings"

	"github.com/writ-dev/writ/federation"
	"github.com/writ-dev/writ/kcp"
)

// treeView writes the plans of a walk for a person: the manifests as a tree, each
// with what to load from it, and the arithmetic of all together.
type treeView struct {
	*page
	root *federation.Node
	task string
}

func (v treeView) write() {
	plan := v.root.Plan
	v.heading("Plan ", text("“"+v.task+"”"))
	t := &table{indent: 2}
	when := "as of " + plan.AsOf
	if known := plan.Options.KnownAt; known != "" {
		when += " · as known at " + known
	}
	if plan.Environment.Set {
		when += " · env " + plan.Environment.Value
	}
	t.add(spans(in(dim, "when")), spans(text(when)))
	t.add(spans(in(dim, "agent")), spans(text(agent(plan.Options.Capabilities))))
	v.table(t)
	v.blank()
	v.node(v.root, "  ", "  ")
	v.writeMoney()
	v.writeCredentials()
	v.writeSum()
}

// The guides of a tree.
const (
	guideBranch = "├─ "
	guideLast   = "└─ "
	guideDown   = "│  "
	guideNone   = "   "
)

// branch is one reference of a node: followed, or not.
type branch struct {
	child *federation.Node
	not   *federation.NotFollowed
}

// branches gives the references of a node in the order of declaration.
func branches(n *federation.Node) []branch {
	children, not := n.Children, n.NotFollowed
	var list []branch
	for i := range n.Plan.Federation {
		d := &n.Plan.Federation[i]
		switch {
		case len(children) > 0 && children[0].RefID.Value == d.ID && (len(not) == 0 || not[0].ID != d.ID || not[0].URL != d.URL):
			list, children = append(list, branch{child: children[0]}), children[1:]
		case len(not) > 0:
			list, not = append(list, branch{not: &not[0]}), not[1:]
		case len(children) > 0:
			list, children = append(list, branch{child: children[0]}), children[1:]
		}
	}
	return list
}

// node writes a manifest and all below it. The first line follows one guide, the
// others another.
func (v treeView) node(n *federation.Node, first, rest string) {
	if n.Plan == nil {
		v.block(first, rest, func(p *page) { writeFailed(p, n) })
		return
	}
	list := branches(n)
	inner := rest
	if len(list) > 0 {
		inner += guideDown
	} else {
		inner += guideNone
	}
	v.block(first, inner, func(p *page) { nodeView{p, n}.write() })
	for i, b := range list {
		head, below := guideBranch, guideDown
		if i == len(list)-1 {
			head, below = guideLast, guideNone
		}
		if b.child != nil {
			v.guide(rest + guideDown)
			v.blank()
			v.node(b.child, rest+head, rest+below)
			continue
		}
		if i == 0 || list[i-1].child != nil {
			v.guide(rest + guideDown)
			v.blank()
		}
		v.block(rest+head, rest+below+guideNone, func(p *page) {
			p.line(0, markNote, space, name(plain, b.not.ID), in(dim, "  not followed: "), text(b.not.Reason))
		})
	}
}

// guide writes the lines of the tree that pass by, without blanks at the end.
func (v treeView) guide(g string) { v.put(in(dim, strings.TrimRight(g, " "))) }

// block writes what a page of its own holds behind the guides. Below the narrowest
// width the tree sticks out instead of being squeezed.
func (v treeView) block(first, rest string, write func(*page)) {
	inner := &page{width: max(v.width-columns(rest), narrowestWidth), colour: v.colour}
	write(inner)
	for i, line := range strings.Split(strings.TrimSuffix(inner.b.String(), "\n"), "\n") {
		g := rest
		if i == 0 {
			g = first
		}
		if line == "" {
			v.guide(g)
		} else {
			v.put(in(dim, g))
			v.switchTo(plain)
			v.b.WriteString(line)
		}
		v.blank()
	}
}

// writeFailed writes a manifest without a plan.
func writeFailed(p *page, n *federation.Node) {
	p.line(0, name(bold, n.RefID.Value), text("  "), name(dim, n.Location))
	p.hang(0, 2, markBad, space, text(n.Error))
}

// nodeView writes one planned manifest, as short as it can be read.
type nodeView struct {
	*page
	*federation.Node
}

func (v nodeView) write() {
	m := v.Plan.Manifest
	head := spans(name(bold, m.Project), text(" "+m.Version))
	if v.RefID.Set && v.RefID.Value != m.Project {
		head = append(spans(name(bold, v.RefID.Value), in(dim, " · ")), head...)
		head[2].style = plain
	}
	v.hang(0, 2, append(head, text("  "), name(dim, v.Location))...)
	if s := v.Signature; s != nil && s.Status != kcp.Unsigned {
		v.hang(0, 2, signatureSpans(s)...)
	}
	if s := v.Plan.Serving; s != nil && s.Status == "unbound" {
		v.hang(0, 2, markWarn, space, text(s.Detail))
	}
	v.writeUnits()
	v.writeLeftOut()
	for _, warning := range v.Plan.Warnings {
		v.hang(0, 2, markWarn, space, text(warning))
	}
	for _, f := range v.Findings[:min(mostFindings, len(v.Findings))] {
		v.hang(0, 2, markWarn, space, text(f.Message))
	}
	if more := len(v.Findings) - mostFindings; more > 0 {
		v.line(2, in(dim, "and "+counted(more, "other finding")+"; `writ validate` shows them"))
	}
}

func (v nodeView) writeUnits() {
	if len(v.Plan.Selected) == 0 {
		v.line(0, in(dim, "nothing to load"))
		return
	}
	heads := planView{page: v.page}.heads(v.Plan.Selected)
	beside := true // whether all paths fit behind what comes before them
	for i := range heads {
		beside = beside && 2+spanColumns(heads[i])+gutter+columns(visible(v.Plan.Selected[i].Path)) <= v.width
	}
	for i := range v.Plan.Selected {
		s := &v.Plan.Selected[i]
		mark := markOpen
		if !s.LoadEligible {
			mark = markBlocked
		}
		line := append([]span{mark, space}, heads[i]...)
		if beside {
			v.hang(0, 4, append(line, text("  "), name(cyan, s.Path))...)
		} else {
			v.hang(0, 4, line...)
			v.hang(2, 4, name(cyan, s.Path))
		}
		if s.LoadEligible {
			continue
		}
		_, others := splitReasons(s.Reasons)
		for _, reason := range others {
			v.hang(2, 4, markBad, space, text(reason))
		}
	}
}

// mostLeftOut bounds the units that are named with the reason why they are left
// out of a plan in a tree.
const mostLeftOut = 3

// writeLeftOut says what is left out, and why where that is worth knowing.
func (v nodeView) writeLeftOut() {
	irrelevants, named := 0, 0
	for i := range v.Plan.Skipped {
		s := &v.Plan.Skipped[i]
		switch {
		case s.Reason == irrelevant:
			irrelevants++
		case named < mostLeftOut:
			v.hang(0, 2, markBad, space, name(plain, s.ID), text("  "), in(dim, s.Reason))
			named++
		default:
			named++
		}
	}
	var more []string
	if named > mostLeftOut {
		more = append(more, grouped(float64(named-mostLeftOut))+" more stopped")
	}
	if irrelevants > 0 {
		more = append(more, grouped(float64(irrelevants))+" not about this task")
	}
	if len(more) > 0 {
		v.hang(0, 2, markNote, in(dim, " "+strings.Join(more, ", ")))
	}
}

// writeMoney threads the budget through the tree, in the order of the walk.
func (v treeView) writeMoney() {
	budget := &v.root.Plan.Budget
	if !budget.Ceiling.Set {
		return
	}
	v.heading("Budget", in(dim, "  one for the whole tree"))
	sums := planView{page: v.page, plan: v.root.Plan}
	t := &table{}
	t.rows = append(t.rows, row{cell(dim, "manifest"), cell(dim, "committed"), cell(dim, "sum"),
		cell(dim, "left of "+amountText(budget.Ceiling.Value)+" "+budget.Currency.Value)})
	sum := budget.AlreadyCommitted.Value
	if sum > 0 {
		t.rows = append(t.rows, sums.moneyRow("before this walk", sum, sum))
	}
	free := 0
	for _, plan := range federation.Plans(v.root) {
		if spend := plan.Budget.ProjectedSpend.Value; spend > 0 {
			sum += spend
			t.rows = append(t.rows, sums.moneyRow(plan.Manifest.Project, spend, sum))
		} else {
			free++
		}
	}
	if len(t.rows) == 1 {
		t.rows = append(t.rows, sums.moneyRow("nothing is paid for", 0, sum))
	}
	sums.rightTable(t)
	if free > 0 && len(t.rows) > 2 {
		v.line(2, in(dim, counted(free, "other manifest")+" cost nothing"))
	}
}

// writeCredentials says which credentials open references that were left alone.
func (v treeView) writeCredentials() {
	t := &table{indent: 2}
	seen := map[string]bool{}
	for _, plan := range federation.Plans(v.root) {
		for i := range plan.Federation {
			d := &plan.Federation[i]
			if !d.Selected || d.CredentialNeeded == "" || seen[d.CredentialNeeded+"\x00"+d.ID] {
				continue
			}
			seen[d.CredentialNeeded+"\x00"+d.ID] = true
			opens := spans(in(dim, "opens "), name(plain, d.ID))
			if d.DocsURL.Value != "" {
				opens = append(opens, in(dim, " · see "), name(cyan, d.DocsURL.Value))
			}
			t.add(cell(yellow, d.CredentialNeeded), opens)
		}
	}
	if len(t.rows) > 0 {
		v.heading("Credentials to acquire")
		v.table(t)
	}
}

// writeSum says on one line what the walk came to.
func (v treeView) writeSum() {
	planned, failed, left, units, open := 0, 0, 0, 0, 0
	for _, n := range v.root.All() {
		left += len(n.NotFollowed)
		if n.Plan == nil {
			failed++
			continue
		}
		planned++
		units += len(n.Plan.Selected)
		for i := range n.Plan.Selected {
			if n.Plan.Selected[i].LoadEligible {
				open++
			}
		}
	}
	v.blank()
	list := spans(in(bold, counted(planned, "manifest")), text(" planned"))
	if failed > 0 {
		list = append(list, text(", "), in(red, strconv.Itoa(failed)+" failed"))
	}
	if left > 0 {
		list = append(list, text(", "+counted(left, "reference")+" not followed"))
	}
	list = append(list, text(" · "+counted(units, "unit")+" selected, "+strconv.Itoa(open)+" may be loaded"))
	v.line(0, list...)
}
