package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/policy"
)

type explainOptions struct {
	*runner
	pack packFlags
	args given
	with given
	json bool
}

func newPackExplain(r *runner) *cobra.Command {
	o := &explainOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "explain FILE [KIND NAME]",
		Short: "say what a pack permits, or judge one call",
		Long: "explain lists in words what a pack grants and how much of it. With a kind (tool, model, approval, event, ...) and a " +
			"name it judges one call of a new run instead: which rule permits it, or why it is refused and which smallest change " +
			"to the pack would permit it. --args are the arguments of the node, such as {\"args\": [\"log\"]} of a program or " +
			"{\"url\": ...} of a request. What the agent file adds is told by --with: program, args (before those of the node), env; " +
			"module, memory_bytes; max_output_tokens; manifest, namespaces; graph; and for every kind capability, namespace, write " +
			"and reserve. What it does not name is what the pack names. The call that was judged is shown.",
		Example: `writ pack explain research.yaml --agent research
writ pack explain research.yaml tool file_ticket --agent research --args '{"title": "printer"}'
writ pack explain release.yaml exec git-log --args '{"args": ["--oneline"]}' --with '{"args": ["log"]}'`,
		Annotations: exits("the pack was explained, and the call, if one is named, is permitted", "the call is refused, or the pack is", wrongUsage),
		RunE: func(_ *cobra.Command, words []string) error {
			switch len(words) {
			case 1:
				return o.list(words[0])
			case 3:
				return o.judge(words[0], words[1], words[2])
			}
			return usagef("Write it like writ pack explain research.yaml tool search", "explain takes a file, and a kind and a name where a call is to be judged")
		},
	}
	o.pack.declare(cmd)
	call := flagGroup{cmd.Flags(), "Call"}
	call.value(&o.args, "args", "JSON", `'{"q": "x"}'`, "the arguments of the call")
	call.value(&o.with, "with", "JSON", `'{"capability": "lookup"}'`, "what the agent file says of the tool")
	flagGroup{cmd.Flags(), outputGroup}.boolean(&o.json, "json", "print the answer as JSON")
	return cmd
}

// judge authorizes one call as the first of a run.
func (o *explainOptions) judge(file, kindName, target string) error {
	kind, ok := policy.ParseKind(kindName)
	if !ok {
		var names []string
		for k := policy.KindTool; k <= policy.KindState; k++ {
			names = append(names, k.String())
		}
		return usagef("The kinds are "+strings.Join(names, ", ")+".", "unknown kind %q%s", kindName, didYouMean(kindName, names, ""))
	}
	p, _, err := o.pack.read(o.runner, file)
	if err != nil {
		return err
	}
	call, err := o.call(p, kind, target)
	if err != nil {
		return err
	}
	permit, denial := p.Authorize(call.Call, p.Ledger())
	if denial != nil && call.unknown != "" {
		denial.Fix = &policy.Fix{Words: fmt.Sprintf("name the %s with --with to see the change", call.unknown)}
	}
	return o.present(o.json, judgementOf(call, permit, denial), func(page *page) {
		page.heading("Call ", name(plain, kind.String()+" "+target), in(dim, "  under "+p.Pack().ID))
		call.shown().write(page)
		writeJudgement(page, permit, denial)
	}, denial == nil)
}

// judgement is the JSON form of a decision.
type judgement struct {
	Call      callShown       `json:"call"`
	Permitted bool            `json:"permitted"`
	Rule      string          `json:"rule"`
	Code      policy.Code     `json:"code,omitempty"`
	Message   string          `json:"message,omitempty"`
	Also      []policy.Reason `json:"also,omitempty"`
	Fix       string          `json:"fix,omitempty"`
	Patch     string          `json:"patch,omitempty"`
	Reserves  reserved        `json:"reserves,omitzero"`
}

func judgementOf(call *judgedCall, permit policy.Permit, d *policy.Denial) judgement {
	if d == nil {
		return judgement{Call: call.shown(), Permitted: true, Rule: permit.Rule, Reserves: reservedOf(permit)}
	}
	return judgement{Call: call.shown(), Rule: d.Rule, Code: d.Code, Message: d.Message, Also: d.Also, Fix: d.Fix.Words, Patch: d.Fix.YAML}
}

func writeJudgement(p *page, permit policy.Permit, d *policy.Denial) {
	if d == nil {
		p.line(0, markGood, space, in(bold, "permitted"), text("  by "+permit.Rule))
		if r := reservedOf(permit); r.isMore() {
			p.hang(2, 4, in(dim, r.words()))
		}
		return
	}
	if d.Code == policy.CodeApprovalRequired && d.Approval != nil {
		p.hang(0, 2, markWarn, space, in(bold, "permitted after approval"), text(fmt.Sprintf("  of %s, by %s or stronger (%s)",
			counted(max(d.Approval.Quorum, 1), "approver"), d.Approval.Method, d.Rule)))
		return
	}
	p.hang(0, 2, markBad, space, in(bold, "refused"), text("  "+d.Message+" ("+string(d.Code)+", "+d.Rule+")"))
	for _, also := range d.Also {
		p.hang(2, 4, text("also: "+also.Message))
	}
	p.hang(2, 4, in(dim, "↳ "+d.Fix.Words))
	for line := range strings.Lines(d.Fix.YAML) {
		p.line(6, name(plain, strings.TrimSuffix(line, "\n")))
	}
}

// list says what the pack grants.
func (o *explainOptions) list(file string) error {
	p, _, err := o.pack.read(o.runner, file)
	if err != nil {
		return err
	}
	e := explanationOf(p)
	return o.present(o.json, e, e.write, true)
}

// explanation is the JSON form of what a pack grants.
type explanation struct {
	ID          string    `json:"id"`
	Version     int       `json:"version"`
	Description string    `json:"description,omitempty"`
	Agent       string    `json:"agent,omitempty"`
	Limits      string    `json:"limits"`
	Grants      []granted `json:"grants"`
	Namespaces  []granted `json:"namespaces"`
	Approvals   string    `json:"approvals,omitempty"`
}

type granted struct {
	Kind  string `json:"kind,omitempty"`
	Name  string `json:"name"`
	Words string `json:"words"`
}

func explanationOf(p *policy.Policy) explanation {
	pack := p.Pack()
	e := explanation{
		ID: pack.ID, Version: pack.Version, Description: pack.Description, Agent: p.Agent(),
		Limits: limitWords(p.Limits()), Grants: []granted{}, Namespaces: []granted{},
	}
	for k := policy.KindTool; k <= policy.KindEvent; k++ {
		for _, grant := range p.Granted(k) {
			e.Grants = append(e.Grants, granted{k.String(), grant, grantWords(pack.Grants[k][grant])})
		}
	}
	for _, namespace := range artifact.SortedNames(pack.Namespaces) {
		if access := p.Namespace(namespace); access != policy.AccessNone {
			e.Namespaces = append(e.Namespaces, granted{"", namespace, access.String()})
		}
	}
	if pack.Approvals != nil {
		e.Approvals = approvalWords(p.Approvals())
	}
	return e
}

func approvalWords(r policy.Requirement) string {
	words := "people may be asked; " + counted(max(r.Quorum, 1), "approver") + " by " + r.Method.String() + " or stronger"
	if r.ExpiresMS > 0 {
		words += ", valid for " + policy.FormatDuration(r.ExpiresMS)
	}
	return words
}

// grantWords gives what bounds a grant; a grant of version 1 may have nothing.
func grantWords(g *policy.Grant) string {
	if g == nil {
		return "granted as a whole"
	}
	var words []string
	say := func(present bool, format string, args ...any) {
		if present {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	say(g.Program != "", "runs %s", g.Program)
	say(len(g.Hosts) > 0, "%s %s", strings.Join(g.Methods, " "), strings.Join(g.Hosts, " "))
	say(len(g.Also) > 0, "and %s word for word", counted(len(g.Also), "other call"))
	say(g.Capability != "", "needs capability %s", g.Capability)
	say(!g.Arguments.IsNull(), "arguments by schema")
	say(len(g.When) > 0, "when %s", strings.Join(g.When, " and "))
	say(!g.Limits.IsZero(), "in a run %s", limitWords(g.Limits))
	say(!g.PerCall.IsZero(), "in a call %s", limitWords(g.PerCall))
	say(g.TimeoutMS > 0, "timeout %s", policy.FormatDuration(g.TimeoutMS))
	say(g.MaxOutputTokens > 0, "answers of at most %d tokens", g.MaxOutputTokens)
	say(len(g.Manifests) > 0, "from %s", strings.Join(g.Manifests, " "))
	say(len(g.Actions) > 0, "may %s", strings.Join(g.Actions, ", "))
	if g.Approval != nil {
		say(true, "after approval by %s", counted(max(g.Approval.Quorum, 1), "approver"))
	}
	if words == nil {
		return "without bounds of its own"
	}
	return strings.Join(words, "; ")
}

func (e explanation) write(p *page) {
	p.heading("Pack ", name(plain, e.ID), in(dim, fmt.Sprintf("  version %d", e.Version)))
	if e.Description != "" {
		p.line(2, text(e.Description))
		p.blank()
	}
	t := &table{indent: 2}
	if e.Agent != "" {
		t.add(cell(dim, "agent"), spans(text(e.Agent)))
	}
	t.add(cell(dim, "run"), spans(text(e.Limits)))
	if e.Approvals != "" {
		t.add(cell(dim, "approvals"), spans(text(e.Approvals)))
	}
	p.table(t)
	p.heading("Grants")
	if len(e.Grants) == 0 {
		p.line(2, text("No effect is granted: every call is refused."))
	}
	grants := &table{indent: 2}
	for _, g := range e.Grants {
		grants.add(cell(dim, g.Kind), cell(bold, g.Name), spans(text(g.Words)))
	}
	p.table(grants)
	if len(e.Namespaces) > 0 {
		p.heading("Namespaces")
		t := &table{indent: 2}
		for _, n := range e.Namespaces {
			t.add(cell(bold, n.Name), spans(text(n.Words)))
		}
		p.table(t)
	}
}
