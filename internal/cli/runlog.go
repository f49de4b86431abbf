package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/store"
)

// runLog is what the log of a run says, without the definition that the run
// executes: so runs of any program can be looked at.
type runLog struct {
	exec    string
	started event.Started

	definition event.Definition // that the run has now
	migrations []migration

	first     event.Header
	last      event.Header
	state     graph.Snapshot
	stateless bool // what the state began from is gone
	steps     int
	used      event.Usage
	left      event.Budget
	effects   []effectLine
	children  []childRun
	notes     []string // what was not as the log says

	approvals []openApproval
	waits     []openWait
	timers    map[string]openTimer
	cause     string // of the last suspension; "" when it was resumed
	reason    string
	end       event.Payload
}

// effectLine is one effect and what became of it.
type effectLine struct {
	Key     string      `json:"key"`
	Seq     uint64      `json:"seq"`
	Node    string      `json:"node"`
	Visit   uint32      `json:"visit"`
	Attempt uint32      `json:"attempt"`
	Port    string      `json:"port"`
	Name    string      `json:"name"`
	Status  string      `json:"status"`
	Detail  string      `json:"detail,omitempty"`
	Usage   event.Usage `json:"-"`
}

type childRun struct{ node, kind, exec string }

// migration is a move of the run to another definition.
type migration struct {
	Seq     uint64   `json:"seq"`
	At      string   `json:"at"`
	By      string   `json:"by"`
	Method  string   `json:"method"`
	Reason  string   `json:"reason"`
	Differs []string `json:"differs"`
}

type openApproval struct {
	node   string
	atMS   int64
	have   uint32
	staged *event.ApprovalStaged
}

type openWait struct{ node, name string }

type openTimer struct {
	node string
	set  *event.TimerSet
}

// readRun reads a log up to a sequence; 0 is all of it.
func readRun(ctx context.Context, s store.Store, exec string, at uint64) (*runLog, error) {
	l := &runLog{exec: exec, timers: map[string]openTimer{}}
	for rec, err := range s.Events(ctx, exec, 1) {
		if err != nil {
			return nil, runError(ctx, s, exec, err)
		}
		if at > 0 && rec.Seq > at {
			break
		}
		e, err := rec.Decode()
		if err != nil {
			return nil, fmt.Errorf("run %s, event %d: %w", exec, rec.Seq, err)
		}
		if e.Seq == 1 {
			if err := l.begin(ctx, s, e); err != nil {
				return nil, err
			}
		}
		l.last = e.Header
		l.add(e)
	}
	return l, nil
}

// begin finds the initial state, which a fork has from its parent.
func (l *runLog) begin(ctx context.Context, s store.Store, e event.Event) error {
	started, ok := e.Body.(*event.Started)
	if !ok {
		return fmt.Errorf("run %s does not begin with started", l.exec)
	}
	l.started, l.first, l.left, l.definition = *started, e.Header, started.Limits, started.Definition
	if p := started.Parent; p != nil && p.Kind == event.LinkFork {
		parent, err := readRun(ctx, s, p.Exec, p.Seq)
		if errors.Is(err, store.ErrDeleted) || err == nil && parent.stateless {
			l.loseState("the run " + p.Exec + ", from whose state this one began, was deleted")
			return nil
		}
		if err != nil {
			return err
		}
		l.state = parent.state
		return nil
	}
	data, err := readBlob(ctx, s, started.State)
	if err != nil {
		l.loseState("the initial state is gone: " + err.Error())
		return nil
	}
	v, err := artifact.ParseValue(data)
	if err == nil {
		l.state, err = graph.NewSnapshot("state", v)
	}
	return err
}

// loseState says that the state cannot be worked out.
func (l *runLog) loseState(why string) {
	l.stateless = true
	l.notes = append(l.notes, why)
}

// newestCheckpoint reads the checkpoint that a head names.
func newestCheckpoint(ctx context.Context, s store.Store, head store.Head) ([]byte, error) {
	data, err := s.Checkpoint(ctx, head.Exec, head.Checkpoint.Seq)
	if err == nil && artifact.Sum(data) != head.Checkpoint.Digest {
		err = engine.ErrTampered
	}
	return data, err
}

func readBlob(ctx context.Context, s store.Store, d artifact.Digest) ([]byte, error) {
	r, err := s.Blob(ctx, d)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// add takes one event.
func (l *runLog) add(e event.Event) {
	switch p := e.Body.(type) {
	case *event.StatePatched:
		l.patch(e, p)
	case *event.Routed:
		l.steps++
		l.left = p.Left
		l.spend(p.Usage)
	case *event.Retrying:
		l.left = p.Left
		l.spend(p.Usage)
	case *event.Suspended:
		l.cause, l.reason, l.left = p.Cause, p.Reason, p.Left
	case *event.Resumed:
		l.cause, l.reason = "", ""
	case *event.CallStarted:
		l.children = append(l.children, childRun{e.Node, p.Kind, p.Exec})
	case *event.CallReturned:
		l.left = p.Left
		l.spend(p.Usage)
	case *event.Terminated:
		l.left = p.Left
		l.finish(p)
	case *event.Failed:
		l.left = p.Left
		l.finish(p)
	case *event.Cancelled, *event.Abandoned:
		l.finish(p)
	case *event.Migrated:
		l.migrations = append(l.migrations, migration{
			e.Seq, timeText(e.AtMS), p.By, p.Method, p.Reason, differences(l.definition, p.To),
		})
		l.definition = p.To
	default:
		l.addWait(e)
	}
}

// addWait takes an event about what a run waits for.
func (l *runLog) addWait(e event.Event) {
	switch p := e.Body.(type) {
	case *event.ApprovalStaged:
		l.approvals = append(l.approvals, openApproval{e.Node, e.AtMS, 0, p})
	case *event.ApprovalDecided:
		l.decided(p)
	case *event.WaitStarted:
		l.waits = append(l.waits, openWait{e.Node, p.Wait})
	case *event.EventReceived:
		l.waits = slices.DeleteFunc(l.waits, func(w openWait) bool { return w.node == e.Node && w.name == p.Wait })
	case *event.TimerSet:
		l.timers[p.Timer] = openTimer{e.Node, p}
	case *event.TimerFired:
		delete(l.timers, p.Timer)
		l.waits = slices.DeleteFunc(l.waits, func(w openWait) bool { return w.node == e.Node })
	case *event.TimerStopped:
		delete(l.timers, p.Timer)
	default:
		l.addEffect(e)
	}
}

func (l *runLog) finish(p event.Payload) {
	l.end, l.cause, l.reason = p, "", ""
	l.approvals, l.waits = nil, nil
	clear(l.timers)
}

func (l *runLog) decided(p *event.ApprovalDecided) {
	for i := range l.approvals {
		if l.approvals[i].staged.Proposal == p.Proposal {
			l.approvals[i].have = p.Have
			if p.Quorum != event.QuorumPending {
				l.approvals = slices.Delete(l.approvals, i, i+1)
			}
			return
		}
	}
}

// addEffect takes an event of the life of an effect.
func (l *runLog) addEffect(e event.Event) {
	switch p := e.Body.(type) {
	case *event.EffectRequested:
		l.effects = append(l.effects, effectLine{
			Key: p.Key, Seq: e.Seq, Node: e.Node, Visit: e.Visit, Attempt: e.Attempt, Port: p.Port, Name: p.Name, Status: "requested",
		})
	case *event.EffectAuthorized:
		l.left = p.Left
		l.effect(p.Key, "under way", p.Rule, event.Usage{})
	case *event.EffectDenied:
		l.left = p.Left
		l.effect(p.Key, "denied", p.Message+" ("+p.Code+")", event.Usage{})
	case *event.EffectSettled:
		l.left = p.Left
		l.effect(p.Key, "settled", "", p.Usage)
	case *event.EffectFailed:
		l.left = p.Left
		l.effect(p.Key, "failed", p.Error+" ("+p.Class+")", p.Usage)
	case *event.EffectUnknown:
		l.effect(p.Key, "unknown", p.Reason, event.Usage{})
	}
}

func (l *runLog) effect(key, status, detail string, used event.Usage) {
	for i := range l.effects {
		if x := &l.effects[i]; x.Key == key {
			x.Status, x.Detail, x.Usage = status, detail, used
			l.spend(used)
			return
		}
	}
}

func (l *runLog) spend(u event.Usage) {
	l.used.Calls = plus(l.used.Calls, u.Calls)
	l.used.Tokens = plus(l.used.Tokens, u.Tokens)
	l.used.Units = plus(l.used.Units, u.Units)
	l.used.DurationMS = plus(l.used.DurationMS, u.DurationMS)
	for currency, n := range u.Cost {
		if l.used.Cost == nil {
			l.used.Cost = event.Money{}
		}
		l.used.Cost[currency] = plus(l.used.Cost[currency], n)
	}
}

// patch applies what the log says and holds it against the digest beside it.
func (l *runLog) patch(e event.Event, p *event.StatePatched) {
	if l.stateless {
		return
	}
	patch, err := graph.DecodePatch(p.Patch, "patch")
	if err == nil {
		patch.BaseRevision = l.state.Revision
		l.state, err = graph.Reduce(l.state, *patch, patch.Paths(), anyState, graph.Provenance{})
	}
	switch {
	case err != nil:
		l.notes = append(l.notes, fmt.Sprintf("event %d: the patch does not apply: %v", e.Seq, err))
	case artifact.Sum(l.state.Value.AppendCompact(nil)) != p.State:
		l.notes = append(l.notes, fmt.Sprintf("event %d: the state after the patch has another digest than the log says", e.Seq))
	}
	l.state.Revision = p.Revision
}

// unknown gives the effects of which nobody knows the outcome.
func (l *runLog) unknown() []effectLine {
	var list []effectLine
	for _, x := range l.effects {
		if x.Status == "unknown" {
			list = append(list, x)
		}
	}
	return list
}

// due gives the earliest time at which the run goes on by itself; 0 for none.
func (l *runLog) due() int64 {
	var due int64
	for _, t := range l.timers {
		if t.set.Purpose == "wait" && (due == 0 || t.set.DueMS < due) {
			due = t.set.DueMS
		}
	}
	return due
}

// splitWait takes the name of a wait apart: events of one name are told apart by
// a key.
func splitWait(wait string) (name, key string) {
	name, key, _ = strings.Cut(wait, " ")
	return name, key
}

// anyState is a schema that every state satisfies.
var anyState = &graph.Schema{Version: 1, ID: "state"}
