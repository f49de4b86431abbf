package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/store"
)

// Mode says what a replay does again.
type Mode string

// The modes. None of them writes to the run's log.
const (
	// VerifyOnly runs nothing. It checks the chain and works out every event that
	// follows from another: reductions, routes, limits, decisions of policy,
	// budgets and checkpoints.
	VerifyOnly Mode = "verify_only"
	// MockedEffects also runs the handlers again. Effects give their recorded
	// results; one that the log does not have is a divergence.
	MockedEffects Mode = "mocked_effects"
	// LiveEffects also asks the ports again, under keys of its own. It needs a
	// [LiveAuthorization].
	LiveEffects Mode = "live_effects"
)

// Content is where a replay finds what the log names by digest: a store, or the
// files of a dossier. An error means that the bytes are not there. Whatever it
// gives is held against the digest.
type Content interface {
	Blob(d artifact.Digest) ([]byte, error)
	// Checkpoint gives the checkpoint that event seq of a run announced: of the run
	// itself, or of the one that it is a fork of.
	Checkpoint(exec string, seq uint64) ([]byte, error)
}

// ReplayOptions say how a log is replayed. Definitions are those that the run
// may have had; a replay needs neither network nor ports unless it is live.
type ReplayOptions struct {
	Mode        Mode // "" is VerifyOnly
	Definitions []*Definition
	Content     Content

	Ports         map[string]Port // live only
	Authorization *LiveAuthorization
	Caller        string // live only: who asks
	NowMS         int64  // live only
	// Spend takes the digest of an authorization and says whether it was unused.
	Spend func(artifact.Digest) (fresh bool, err error)
}

// Verdict is the outcome of a replay.
type Verdict struct {
	Exec         string
	Mode         Mode
	Events       uint64 // that were held against the machine
	Handlers     int    // that ran
	Calls        int    // that reached a port
	Ended        bool
	State        graph.Snapshot
	Divergence   *Divergence    // the first event that differs; nil for none
	Unverifiable []Unverifiable // steps that could not be worked out in full
}

// Faithful reports whether every event was worked out and equals the recorded
// one.
func (v Verdict) Faithful() bool { return v.Divergence == nil && len(v.Unverifiable) == 0 }

// Divergence is the first event that a replay gives otherwise.
type Divergence struct {
	Seq      uint64
	Type     event.Type
	Node     string
	Pointer  string // into the event
	Recorded string
	Replayed string
	Cause    string // in words
}

func (d *Divergence) String() string {
	return fmt.Sprintf("event %d (%s) at %s: recorded %s, replayed %s: %s", d.Seq, d.Type, d.Pointer, d.Recorded, d.Replayed, d.Cause)
}

// Unverifiable is a step of which some content is gone. What the log says of it
// was taken as given.
type Unverifiable struct {
	Seq    uint64
	Digest artifact.Digest
	Reason string
}

// Replay drives a machine through a recorded log and compares. The error is about
// the reader, the options or an authorization that does not hold (a *[Refusal]),
// never about what the log says.
func Replay(ctx context.Context, log iter.Seq2[event.Record, error], o ReplayOptions) (Verdict, error) {
	if o.Mode == "" {
		o.Mode = VerifyOnly
	}
	r := &replay{ctx: ctx, o: o, v: Verdict{Mode: o.Mode}}
	next, stop := iter.Pull2(log)
	defer stop()
	r.next = next
	for r.v.Divergence == nil {
		more, err := r.step()
		if err != nil || !more {
			r.v.State, r.v.Ended = r.p.state, r.p.ended
			return r.v, err
		}
	}
	r.v.State = r.p.state
	return r.v, nil
}

// Replay replays a run of the engine's store, with its definitions and, if it is
// live, its ports.
func (e *Engine) Replay(ctx context.Context, exec string, o ReplayOptions) (Verdict, error) {
	if o.Content == nil {
		o.Content = storeContent{ctx, e.c.Store}
	}
	if o.Ports == nil {
		o.Ports = e.c.Ports
	}
	e.mu.Lock()
	for _, d := range e.defs {
		o.Definitions = append(o.Definitions, d)
	}
	e.mu.Unlock()
	return Replay(ctx, e.c.Store.Events(ctx, exec, 1), o)
}

type storeContent struct {
	ctx context.Context
	s   store.Store
}

// Blob implements [Content].
func (c storeContent) Blob(d artifact.Digest) ([]byte, error) { return readBlob(c.ctx, c.s, d) }

// Checkpoint implements [Content].
func (c storeContent) Checkpoint(exec string, seq uint64) ([]byte, error) {
	return c.s.Checkpoint(c.ctx, exec, seq)
}

// replay is one replay.
type replay struct {
	ctx  context.Context
	o    ReplayOptions
	next func() (event.Record, error, bool)
	v    Verdict

	m     *Machine
	p     Position
	work  map[string]Work
	queue []event.Event // read ahead
	raw   []event.Record
	check event.Check
	head  event.Head
	cause string // what a difference in the step at hand would mean
}

// peek gives the i-th event that was not consumed; false after the last one.
func (r *replay) peek(i int) (event.Event, bool, error) {
	for len(r.queue) <= i {
		rec, err, ok := r.next()
		if err != nil || !ok {
			return event.Event{}, false, err
		}
		e, err := rec.Decode()
		if err != nil {
			r.diverge(rec.Seq, rec.Type, "", "", "an event", "not an event: "+err.Error(), "the log was changed")
			return event.Event{}, false, nil
		}
		if e.Prev != r.head.Digest || e.Seq != r.head.Seq+1 {
			r.diverge(e.Seq, e.Type, e.Node, "/prev", e.Prev.String(), r.head.Digest.String(), "the chain is broken: the log was changed")
			return event.Event{}, false, nil
		}
		if err := r.check.Add(e); err != nil {
			r.diverge(e.Seq, e.Type, e.Node, "", "an event in its place", err.Error(), "the log was changed")
			return event.Event{}, false, nil
		}
		r.head = event.Head{Exec: rec.Exec, Seq: rec.Seq, Digest: artifact.Sum(rec.Bytes)}
		r.queue, r.raw = append(r.queue, e), append(r.raw, rec)
	}
	return r.queue[i], true, nil
}

func (r *replay) diverge(seq uint64, typ event.Type, node, pointer, recorded, replayed, cause string) {
	if r.v.Divergence == nil {
		r.v.Divergence = &Divergence{Seq: seq, Type: typ, Node: node, Pointer: pointer, Recorded: recorded, Replayed: replayed, Cause: cause}
	}
}

// segment gives the events up to the next checkpoint or the end: at least what
// one step gave.
func (r *replay) segment() ([]event.Event, error) {
	for i := 0; ; i++ {
		e, ok, err := r.peek(i)
		if err != nil || !ok {
			return r.queue, err
		}
		if e.Type == event.TypeCheckpointed || e.Type.Ends() {
			return r.queue[:i+1], nil
		}
	}
}

// step infers an input from what follows it, gives it to the machine and compares.
func (r *replay) step() (more bool, err error) {
	seg, err := r.segment()
	if err != nil || len(seg) == 0 || r.v.Divergence != nil {
		return false, err
	}
	if r.m == nil {
		if err := r.begin(seg); err != nil {
			return false, err
		}
	}
	in, err := r.infer(seg)
	if err != nil {
		var gone *goneError
		if errors.As(err, &gone) {
			r.v.Unverifiable = append(r.v.Unverifiable, Unverifiable{seg[0].Seq, gone.digest, gone.Error()})
			return false, nil
		}
		var damaged *damagedError
		if errors.As(err, &damaged) {
			r.diverge(seg[0].Seq, seg[0].Type, seg[0].Node, "", damaged.digest.String(), damaged.found.String(), damaged.Error())
			return false, nil
		}
		return false, err
	}
	if in.What == nil || r.v.Divergence != nil {
		r.diverge(seg[0].Seq, seg[0].Type, seg[0].Node, "/type", string(seg[0].Type), "nothing", "nothing that the run could be told leads to this event")
		return false, nil
	}
	in.Mint = recordedTokens(seg)
	out, err := r.m.Step(r.p, in)
	switch {
	case err != nil:
		r.diverge(seg[0].Seq, seg[0].Type, seg[0].Node, "", string(seg[0].Type), err.Error(), r.cause)
		return false, nil
	case out.Refusal != nil:
		r.diverge(seg[0].Seq, seg[0].Type, seg[0].Node, "", string(seg[0].Type), out.Refusal.Error(), "the machine refuses what the log says happened")
		return false, nil
	}
	return r.compare(out)
}

// compare holds the events of a step against the recorded ones.
func (r *replay) compare(out Out) (bool, error) {
	for i, got := range out.Events {
		e, ok, err := r.peek(i)
		if err != nil || r.v.Divergence != nil {
			return false, err
		}
		if !ok {
			if i == 0 || !r.p.ended {
				// The log ends in the middle of a step, which no writer does.
				r.diverge(got.Seq, got.Type, got.Node, "", "nothing", string(got.Type), "the log ends before the step does: it was cut off")
			}
			return false, nil
		}
		if !bytes.Equal(got.Bytes, r.raw[i].Bytes) {
			pointer, recorded, replayed := firstDifference(r.raw[i].Bytes, got.Bytes)
			r.diverge(e.Seq, e.Type, e.Node, pointer, recorded, replayed, r.cause)
			return false, nil
		}
		r.v.Events++
	}
	r.queue, r.raw = r.queue[len(out.Events):], r.raw[len(out.Events):]
	r.p = out.Position
	for _, w := range out.Work {
		r.work[workKey(w.Node, w.Visit, w.Attempt)] = w
	}
	return true, nil
}

func workKey(node string, visit, attempt uint32) string {
	return fmt.Sprint(node, " ", visit, " ", attempt)
}

// firstDifference names the first value in which two events differ.
func firstDifference(recorded, replayed []byte) (pointer, a, b string) {
	x, errX := artifact.ParseValue(recorded)
	y, errY := artifact.ParseValue(replayed)
	if errX != nil || errY != nil {
		return "", string(recorded), string(replayed)
	}
	return differenceAt("", x, y, 0)
}

func differenceAt(at string, x, y artifact.Value, depth int) (pointer, a, b string) {
	if depth < artifact.MaxDepth && x.Kind() == artifact.KindObject && y.Kind() == artifact.KindObject {
		for _, m := range x.Members() {
			other, ok := y.Get(m.Name)
			if !ok {
				return artifact.PointerTo(at, m.Name), clip(m.Value.String()), "nothing"
			}
			if m.Value.String() != other.String() {
				return differenceAt(artifact.PointerTo(at, m.Name), m.Value, other, depth+1)
			}
		}
		for _, m := range y.Members() {
			if _, ok := x.Get(m.Name); !ok {
				return artifact.PointerTo(at, m.Name), "nothing", clip(m.Value.String())
			}
		}
	}
	return at, clip(x.String()), clip(y.String())
}

// recordedTokens gives the tokens' digests of the approvals in a segment.
type recordedTokens []event.Event

// Mint implements [Minter].
func (seg recordedTokens) Mint(proposal artifact.Digest, _ int) []artifact.Digest {
	for _, e := range seg {
		if staged, ok := e.Body.(*event.ApprovalStaged); ok && staged.Proposal == proposal {
			return staged.Tokens
		}
	}
	return nil
}
