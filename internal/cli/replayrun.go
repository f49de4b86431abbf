package cli

import (
	"context"

	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/local"
)

// replayVerdict is the JSON form of the replay of a run.
type replayVerdict struct {
	Run          string             `json:"run"`
	Mode         engine.Mode        `json:"mode"`
	OK           bool               `json:"ok"`
	Events       uint64             `json:"events"`
	Calls        int                `json:"calls"`
	Ended        bool               `json:"ended"`
	Divergence   *replayDivergence  `json:"divergence,omitempty"`
	Unverifiable []replayIncomplete `json:"unverifiable"`
}

type replayDivergence struct {
	Seq      uint64 `json:"seq"`
	Type     string `json:"type"`
	Node     string `json:"node,omitempty"`
	Pointer  string `json:"pointer"`
	Recorded string `json:"recorded"`
	Replayed string `json:"replayed"`
	Cause    string `json:"cause"`
}

type replayIncomplete struct {
	Seq    uint64 `json:"seq"`
	Digest string `json:"digest"`
	Reason string `json:"reason"`
}

// replayRun drives the machine through the log of a run and compares. Ports are
// there only if the replay is live.
func (o *replayOptions) replayRun(ctx context.Context, exec string) error {
	s, err := o.store.open(ctx, o.runner)
	if err != nil {
		return err
	}
	defer s.Close()
	path := o.store.path(o.runner)
	agent, err := o.agent.of(ctx, o.runner, s, path, exec)
	if err != nil {
		return grantHint(err)
	}
	before, err := o.agent.before(ctx, o.runner, s, path, exec)
	if err != nil {
		return grantHint(err)
	}
	replay := engine.ReplayOptions{Mode: engine.MockedEffects}
	switch {
	case o.verify:
		replay.Mode = engine.VerifyOnly
	case o.live.file.set:
		if err := o.goLive(&replay, agent, before); err != nil {
			return err
		}
	}
	e, err := local.NewEngine(s, agent, local.Options{Now: o.Now})
	if err != nil {
		return err
	}
	for _, a := range before {
		if err := e.Register(a.Definition); err != nil {
			return err
		}
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	got, err := e.Replay(ctx, exec, replay)
	if refusedInput(err) {
		return err
	}
	if err != nil {
		return runError(ctx, s, exec, err)
	}
	v := replayVerdictOf(exec, got)
	return o.present(o.json, v, v.write, v.OK)
}

func replayVerdictOf(exec string, got engine.Verdict) replayVerdict {
	v := replayVerdict{
		Run: exec, Mode: got.Mode, OK: got.Faithful(), Events: got.Events, Calls: got.Calls, Ended: got.Ended, Unverifiable: []replayIncomplete{},
	}
	if d := got.Divergence; d != nil {
		v.Divergence = &replayDivergence{d.Seq, string(d.Type), d.Node, d.Pointer, d.Recorded, d.Replayed, d.Cause}
	}
	for _, u := range got.Unverifiable {
		v.Unverifiable = append(v.Unverifiable, replayIncomplete{u.Seq, u.Digest.String(), u.Reason})
	}
	return v
}

func (v replayVerdict) write(p *page) {
	p.heading("Replay ", name(plain, v.Run))
	count := "  " + counted(v.Events, "event") + " worked out again, nothing was called"
	if v.Mode == engine.LiveEffects {
		count = "  " + counted(v.Events, "event") + " worked out again, " + counted(v.Calls, "effect") + " performed again"
	}
	switch d := v.Divergence; {
	case d != nil:
		p.hang(0, 2, markBad, space, in(bold, "diverged"), text("  at event "+grouped(float64(d.Seq))+" ("+d.Type+"): "+d.Cause))
		t := &table{indent: 2}
		t.add(cell(dim, "where"), spans(text(d.Node+" "+d.Pointer)))
		t.add(cell(dim, "recorded"), spans(text(d.Recorded)))
		t.add(cell(dim, "replayed"), spans(text(d.Replayed)))
		p.table(t)
	case len(v.Unverifiable) > 0:
		p.line(0, markWarn, space, in(bold, "not verifiable in full"), text(count))
		for _, u := range v.Unverifiable {
			p.hang(2, 4, text("event "+grouped(float64(u.Seq))+": "+u.Reason))
		}
		p.hang(2, 4, in(dim, "The pack does not keep these bytes; grant their class under blobs to replay such runs in full."))
	default:
		p.line(0, markGood, space, in(bold, "reproduced"), text(count))
	}
}
