package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/store"
)

// runWatch follows a run while it is driven. With --json each event is a line on
// standard output once it is durable; on a terminal, progress goes to standard
// error, so that standard output stays the answer.
type runWatch struct {
	*runner
	json bool

	mu     sync.Mutex
	failed error // of standard output
}

func (r *runner) watchRun(asJSON bool) *runWatch { return &runWatch{runner: r, json: asJSON} }

// see is told of every batch that became durable.
func (w *runWatch) see(b store.Batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.json {
		for _, rec := range b.Events {
			if w.failed == nil {
				_, w.failed = fmt.Fprintf(w.Out, "%s\n", rec.Bytes)
			}
		}
		return
	}
	if !w.OutTerminal {
		return
	}
	p := w.newPage()
	for _, rec := range b.Events {
		if e, err := rec.Decode(); err == nil {
			p.progress(e)
		}
	}
	fmt.Fprint(w.Err, p.b.String())
}

// progress writes what a person wants to know of one event: the node, the attempt
// and the budget that is left.
func (p *page) progress(e event.Event) {
	at := []span{name(bold, e.Node)}
	if e.Visit > 1 {
		at = append(at, in(dim, fmt.Sprintf(" visit %d", e.Visit)))
	}
	if e.Attempt > 1 {
		at = append(at, in(yellow, fmt.Sprintf(" attempt %d", e.Attempt)))
	}
	say := func(mark span, rest ...span) {
		p.hang(2, 6, append(append([]span{mark, space}, at...), rest...)...)
	}
	switch x := e.Body.(type) {
	case *event.NodeStarted:
		say(in(cyan, "▸"))
	case *event.EffectAuthorized:
		say(in(dim, "·"), text("  performs an effect"), in(dim, "  by "+x.Rule))
	case *event.EffectDenied:
		say(markBad, text("  refused: "+x.Message+" ("+x.Code+")"))
	case *event.EffectFailed:
		say(markWarn, text("  failed: "+x.Error))
	case *event.EffectUnknown:
		say(markWarn, text("  nobody knows whether the effect happened: "+x.Reason))
	case *event.Retrying:
		say(markWarn, text(fmt.Sprintf("  again in %s: %s", policy.FormatDuration(x.DelayMS), x.Error)))
	case *event.Routed:
		say(markGood, text("  → "+x.To), in(dim, leftWords(x.Left)))
	case *event.CallStarted:
		say(in(dim, "·"), text("  calls "), name(plain, x.Exec))
	case *event.EventReceived:
		say(markGood, text("  received "+x.Wait))
	case *event.Suspended:
		say(in(yellow, "‖"), text("  waits: "+x.Reason), in(dim, leftWords(x.Left)))
	}
}

// runReport is the JSON form of what became of a run, the last line of --json.
type runReport struct {
	Kind    string         `json:"kind"` // report
	Run     string         `json:"run"`
	Status  store.Status   `json:"status"`
	Reason  string         `json:"reason,omitempty"`
	Code    string         `json:"code,omitempty"`
	Error   string         `json:"error,omitempty"`
	Result  artifact.Value `json:"result"`
	Events  uint64         `json:"events"`
	Head    string         `json:"head"`
	Steps   uint64         `json:"steps"`
	Tokens  uint64         `json:"tokens"`
	Cost    event.Money    `json:"cost_micros,omitempty"`
	Waits   []waitReport   `json:"waits,omitempty"`
	Refused string         `json:"refused,omitempty"` // code of a signal or decision that was refused
	Kept    bool           `json:"kept,omitzero"`     // the event is kept until the run waits for it
	Posted  bool           `json:"posted,omitzero"`   // another process has the run, and has not taken the input yet
}

// waitReport is one thing that a suspended run waits for.
type waitReport struct {
	For      string   `json:"for"` // approval, input, event, time or effect
	Node     string   `json:"node,omitempty"`
	Name     string   `json:"name,omitempty"`
	Key      string   `json:"key,omitempty"`
	Proposal string   `json:"proposal,omitempty"`
	Need     uint32   `json:"need,omitzero"`
	Have     uint32   `json:"have,omitzero"`
	Method   string   `json:"method,omitempty"`
	DueMS    int64    `json:"due_ms,omitzero"`
	Tokens   []string `json:"tokens,omitempty"`
}

// end writes what became of the run and gives the error that stands for it.
func (w *runWatch) end(ctx context.Context, s store.Store, r engine.Report, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var denied *engine.DeniedError
	switch {
	case w.failed != nil:
		return fmt.Errorf("cannot write to standard output: %w", w.failed)
	case errors.As(err, &denied):
		return hintedError{errors.New("the run is not admitted: " + denied.Denial.Message), denied.Denial.Fix.Words}
	case errors.Is(err, engine.ErrStopped):
		w.say("stopped; nothing is lost")
		w.hint("Go on with: writ resume " + shellWord(r.Exec))
		return errSuspended
	case err != nil && !refusedInput(err):
		return fmt.Errorf("run %s: %w", r.Exec, err)
	}
	l, readErr := readRun(ctx, s, r.Exec, 0)
	if readErr != nil {
		return readErr
	}
	rep := reportOf(r, l)
	if r.Posted && !r.Kept {
		w.sayPosted(ctx, s, r.Exec)
	}
	if err != nil {
		rep.Refused = err.Error()
		w.say(err.Error())
	}
	switch {
	case w.json:
		line, encodeErr := artifact.EncodeCompact(rep)
		if encodeErr != nil {
			return encodeErr
		}
		w.out.Write(append(line, '\n'))
	case err == nil && !r.Posted:
		p := w.newPage()
		rep.write(p)
		w.print(p)
	case err == nil: // it was posted
	case l.end == nil:
		w.hint("Nothing has changed, the run still waits" + waitWords(rep.Waits) + ": writ runs show " + shellWord(r.Exec))
	default:
		w.hint("What became of it: writ runs show " + shellWord(r.Exec))
	}
	if err != nil {
		return errNegative
	}
	return statusError(r.Status)
}

// waitWords says in short what a run waits for.
func waitWords(waits []waitReport) string {
	var words []string
	for _, x := range waits {
		switch x.For {
		case "time":
			words = append(words, "the time "+timeText(x.DueMS))
		case "effect":
			words = append(words, "word on the effect "+x.Name)
		default:
			words = append(words, "the "+x.For+" "+x.Name)
		}
	}
	if words == nil {
		return ""
	}
	return " for " + strings.Join(words, " and ")
}

// statusError gives the exit that stands for a status.
func statusError(s store.Status) error {
	switch s {
	case store.Terminated:
		return nil
	case store.Suspended, store.Running:
		return errSuspended
	}
	return errNegative
}

func refusedInput(err error) bool {
	var refusal *engine.Refusal
	return errors.As(err, &refusal)
}

func reportOf(r engine.Report, l *runLog) runReport {
	rep := runReport{
		Kind: "report", Run: r.Exec, Status: r.Status, Reason: r.Reason, Code: r.Code, Error: r.Error, Result: r.Result,
		Events: r.Head.Seq, Head: r.Head.Digest.String(), Steps: r.Steps, Tokens: r.Used.Tokens, Cost: event.Money(r.Used.Cost),
		Waits: l.waitsFor(), Kept: r.Kept, Posted: r.Posted,
	}
	for i := range rep.Waits {
		for _, issued := range r.Issued {
			if issued.Proposal.String() == rep.Waits[i].Proposal || rep.Waits[i].For == "input" {
				rep.Waits[i].Tokens = issued.Tokens
			}
		}
	}
	return rep
}

// waitsFor lists what lets the run go on.
func (l *runLog) waitsFor() []waitReport {
	var list []waitReport
	for _, a := range l.approvals {
		list = append(list, waitReport{
			For: "approval", Node: a.node, Name: a.staged.Action, Proposal: a.staged.Proposal.String(), Need: a.staged.Need, Have: a.have,
			Method: a.staged.Method, DueMS: a.staged.ExpiresMS,
		})
	}
	for _, x := range l.waits {
		name, key := splitWait(x.name)
		list = append(list, waitReport{For: "event", Node: x.node, Name: name, Key: key})
	}
	for _, x := range l.unknown() {
		list = append(list, waitReport{For: "effect", Node: x.Node, Name: x.Name, Key: x.Key})
	}
	if due := l.due(); due > 0 {
		list = append(list, waitReport{For: "time", DueMS: due})
	}
	if list == nil && l.cause == event.CauseInput {
		list = append(list, waitReport{For: "input", Node: l.last.Node, Name: l.reason})
	}
	return list
}
