package cli

import (
	"fmt"
	"strings"

	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/store"
)

// runView is the JSON form of one run.
type runView struct {
	Run      string       `json:"run"`
	Status   store.Status `json:"status"`
	Reason   string       `json:"reason,omitempty"`
	Code     string       `json:"code,omitempty"`
	Error    string       `json:"error,omitempty"`
	Owner    string       `json:"owner"`
	By       string       `json:"by"`
	Method   string       `json:"method"`
	Started  string       `json:"started"`
	Updated  string       `json:"updated"`
	Parent   string       `json:"parent,omitempty"`
	Events   uint64       `json:"events"`
	Head     string       `json:"head"`
	Steps    int          `json:"steps"`
	Tokens   uint64       `json:"tokens"`
	Cost     event.Money  `json:"cost_micros,omitempty"`
	Graph    string       `json:"graph"`
	Pack     string       `json:"pack"`
	Policy   string       `json:"policy"`
	Effects  []effectLine `json:"effects"`
	Children []childLine  `json:"children,omitempty"`
	Waits    []waitReport `json:"waits,omitempty"`
	Inbox    int          `json:"inbox,omitzero"`   // messages that were not taken yet
	Pinned   string       `json:"pinned,omitempty"` // why nobody can continue it here
	Migrated []migration  `json:"migrated,omitempty"`
	EndedBy  string       `json:"ended_by,omitempty"`
	Notes    []string     `json:"notes,omitempty"`

	left event.Budget
}

type childLine struct {
	Node string `json:"node"`
	Kind string `json:"kind"`
	Run  string `json:"run"`
}

func runShown(head store.Head, l *runLog) runView {
	v := runView{
		Run: l.exec, Status: head.Status, Reason: head.Reason, Owner: l.started.Owner, By: l.started.By, Method: l.started.Method,
		Started: timeText(l.first.AtMS), Updated: timeText(l.last.AtMS), Events: head.Seq, Head: head.Digest.String(),
		Steps: l.steps, Tokens: l.used.Tokens, Cost: l.used.Cost, Graph: l.definition.Graph.String(), Pack: l.definition.Pack.String(),
		Policy: l.definition.Policy.String(), Migrated: l.migrations, Effects: l.effects, Waits: l.waitsFor(), Notes: l.notes, left: l.left,
	}
	if v.Effects == nil {
		v.Effects = []effectLine{}
	}
	if p := l.started.Parent; p != nil {
		v.Parent = fmt.Sprintf("%s of %s at event %d", p.Kind, p.Exec, p.Seq)
	}
	for _, c := range l.children {
		v.Children = append(v.Children, childLine{c.node, c.kind, c.exec})
	}
	switch end := l.end.(type) {
	case *event.Terminated:
		v.Reason, v.Tokens, v.Cost, v.Steps = "", end.Totals.Tokens, end.Totals.Cost, int(end.Steps)
	case *event.Failed:
		v.Reason, v.Code, v.Error, v.Tokens, v.Cost, v.Steps = "", end.Code, end.Error, end.Totals.Tokens, end.Totals.Cost, int(end.Steps)
	case *event.Abandoned:
		v.Reason, v.Error, v.EndedBy = "", end.Reason, end.By+" ("+end.Method+")"
	}
	return v
}

// write shows a run to a person.
func (v runView) write(p *page) {
	p.heading("Run ", name(plain, v.Run))
	t := &table{indent: 2}
	status := spans(runMark(v.Status), space, in(bold, string(v.Status)))
	if v.Error != "" {
		status = append(status, text("  "+v.Error))
		if v.Code != "" {
			status = append(status, text(" ("+v.Code+")"))
		}
	} else if v.Reason != "" {
		status = append(status, text("  "+v.Reason))
	}
	t.add(cell(dim, "status"), status)
	if v.EndedBy != "" {
		t.add(cell(dim, "ended by"), spans(text(v.EndedBy)))
	}
	if v.Pinned != "" {
		t.add(cell(dim, "pinned"), spans(in(yellow, v.Pinned)))
	}
	t.add(cell(dim, "started"), spans(text(v.Started+" by "+v.By+" ("+v.Method+"), owner "+v.Owner)))
	if v.Parent != "" {
		t.add(cell(dim, "parent"), spans(text(v.Parent)))
	}
	for _, m := range v.Migrated {
		t.add(cell(dim, "migrated"), spans(text(m.words())))
	}
	t.add(cell(dim, "used"), spans(text(usedWords(uint64(v.Steps), v.Tokens, v.Cost)), in(dim, leftWords(v.left))))
	t.add(cell(dim, "graph"), spans(name(plain, v.Graph)))
	t.add(cell(dim, "pack"), spans(name(plain, v.Pack)))
	t.add(cell(dim, "log"), spans(text(counted(v.Events, "event")+" "), name(dim, v.Head)))
	if v.Inbox > 0 {
		t.add(cell(dim, "inbox"), spans(text(counted(v.Inbox, "message")+" for later")))
	}
	p.table(t)
	v.writeEffects(p)
	for _, c := range v.Children {
		p.line(2, text(c.Node+" runs "), name(cyan, c.Run))
	}
	for _, w := range v.Waits {
		p.blank()
		w.write(p, v.Run)
	}
	for _, note := range v.Notes {
		p.hang(2, 4, markBad, space, text(note))
	}
}

func (v runView) writeEffects(p *page) {
	if len(v.Effects) == 0 {
		return
	}
	p.heading("Effects")
	marks := map[string]span{"settled": markGood, "failed": markWarn, "denied": markBad, "unknown": in(yellow, "?")}
	t := &table{indent: 2}
	for _, x := range v.Effects {
		mark, ok := marks[x.Status]
		if !ok {
			mark = in(dim, "·")
		}
		t.add(spans(mark), cell(bold, x.Node), cell(plain, x.Port+" "+x.Name), spans(text(effectWords(x))))
	}
	p.table(t)
}

func (m migration) words() string {
	differs := "nothing but tools or models"
	if len(m.Differs) > 0 {
		differs = strings.Join(m.Differs, ", ")
	}
	return fmt.Sprintf("%s by %s (%s) at event %d: %s; differs in %s", m.At, m.By, m.Method, m.Seq, m.Reason, differs)
}

func effectWords(x effectLine) string {
	words := x.Status
	if x.Status != "under way" && x.Detail != "" {
		words += ": " + x.Detail
	}
	if x.Visit > 1 {
		words += fmt.Sprintf(", visit %d", x.Visit)
	}
	if x.Attempt > 1 {
		words += fmt.Sprintf(", attempt %d", x.Attempt)
	}
	return words
}

// eventWords says in a line what an event says.
func eventWords(e event.Event) string {
	switch x := e.Body.(type) {
	case *event.Started:
		return "by " + x.By + " (" + x.Method + ")"
	case *event.StatePatched:
		return fmt.Sprintf("revision %d: %s", x.Revision, x.Patch)
	case *event.Routed:
		return "to " + x.To + leftWords(x.Left)
	case *event.Retrying:
		return "again in " + policy.FormatDuration(x.DelayMS) + ": " + x.Error
	case *event.EffectRequested:
		return x.Port + " " + x.Name
	case *event.EffectAuthorized:
		return x.Decision + " by " + x.Rule
	case *event.EffectDenied:
		return x.Message + " (" + x.Code + ")"
	case *event.EffectSettled:
		return fmt.Sprintf("%s of %d bytes, by %s", x.Result.Kind, x.Result.Size, x.Source)
	case *event.EffectFailed:
		return x.Error + " (" + x.Class + ")"
	case *event.EffectUnknown:
		return x.Reason
	case *event.ApprovalStaged:
		return fmt.Sprintf("%s needs %d by %s: %s", x.Action, x.Need, x.Method, x.Proposal)
	case *event.ApprovalDecided:
		return fmt.Sprintf("%s by %s (%s), %d of %d: %s", x.Decision, x.Approver, x.Method, x.Have, x.Need, x.Quorum)
	case *event.Suspended:
		return x.Cause + ": " + x.Reason
	case *event.Resumed:
		return x.Cause + " " + x.By
	case *event.TimerSet:
		return x.Purpose + " until " + timeText(x.DueMS)
	case *event.WaitStarted:
		return x.Wait
	case *event.EventReceived:
		return x.Wait + " " + x.ID
	}
	return endWords(e.Body)
}

func endWords(body event.Payload) string {
	switch x := body.(type) {
	case *event.BranchStarted:
		return x.Branch
	case *event.BranchJoined:
		return x.Branch + " " + x.Outcome
	case *event.CallStarted:
		return x.Kind + " " + x.Exec
	case *event.CallReturned:
		return x.Exec + " " + x.Outcome
	case *event.CancelRequested:
		return "by " + x.By + ": " + x.Reason
	case *event.Failed:
		return x.Error + " (" + x.Code + ")"
	case *event.Abandoned:
		return "by " + x.By + ": " + x.Reason
	case *event.Migrated:
		return "by " + x.By + ": " + x.Reason
	}
	return ""
}
