package sim

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/storetest"
)

// maxFailures bounds how often one visit fails, so that its retries are enough.
const maxFailures = 2

// perform does an effect, once as new.
func (w *world) perform(e engine.Effect) engine.Outcome {
	if o, ok := w.performed[e.Key]; ok {
		return o
	}
	o := w.s.Perform(e)
	w.performed[e.Key] = o
	return o
}

// finishEffect lets an effect end: it happens, it fails, or its outcome is lost.
func (w *world) finishEffect(k *worker, i int) error {
	e := k.effects[i]
	k.effects = append(k.effects[:i:i], k.effects[i+1:]...)
	if e.Lost {
		return w.findOut(k, e, "the process before this one ended")
	}
	visit := fmt.Sprint(e.Node, e.Visit)
	switch w.chance(6) {
	case 1:
		if _, happened := w.performed[e.Key]; !happened && w.failures[visit] < maxFailures {
			w.failures[visit]++
			w.note("effect %s fails", e.Node)
			return w.step(k, engine.EffectDone{Key: e.Key, Outcome: engine.Outcome{Failed: true, Class: graph.ClassUnavailable, Error: "not now"}})
		}
	case 2:
		if w.chance(2) == 0 {
			w.perform(e)
		}
		return w.findOut(k, e, "no answer")
	}
	w.note("effect %s", e.Node)
	return w.step(k, engine.EffectDone{Key: e.Key, Outcome: w.perform(e)})
}

// findOut does what a driver does about a lost outcome.
func (w *world) findOut(k *worker, e engine.Effect, reason string) error {
	w.note("effect %s is lost", e.Node)
	switch w.s.Kind {
	case Asks:
		if o, ok := w.performed[e.Key]; ok {
			return w.step(k, engine.EffectDone{Key: e.Key, Outcome: o, Source: event.SourceAsked})
		}
		return w.step(k, engine.EffectLost{Key: e.Key, Reason: reason, Again: true})
	case Idempotent:
		return w.step(k, engine.EffectLost{Key: e.Key, Reason: reason, Again: true})
	}
	return w.step(k, engine.EffectLost{Key: e.Key, Reason: reason})
}

// look is a person who finds out what became of an effect.
func (w *world) look(k *worker, key string) error {
	w.note("a person looks")
	if o, ok := w.performed[key]; ok {
		return w.step(k, engine.EffectDone{Key: key, Outcome: o, Source: event.SourcePerson, By: "bob"})
	}
	return w.step(k, engine.EffectLost{Key: key, Reason: "it did not happen", Again: true})
}

// minter gives tokens that follow from the proposal.
type minter struct{}

// Mint implements [engine.Minter].
func (minter) Mint(proposal artifact.Digest, n int) []artifact.Digest {
	list := make([]artifact.Digest, n)
	for i := range list {
		list[i] = engine.TokenDigest(fmt.Sprint(proposal, i))
	}
	return list
}

// step gives an input to a worker's machine and stores what follows, together with
// the messages that it takes.
func (w *world) step(k *worker, what engine.Happening, taken ...uint64) error {
	out, err := w.m.Step(k.p, engine.Input{NowMS: w.now.UnixMilli(), What: what, Mint: minter{}})
	if err != nil {
		return fmt.Errorf("%T: %w", what, err)
	}
	if out.Refusal != nil {
		return nil // somebody was faster
	}
	if len(out.Events) > 0 {
		w.note("%T: %d to %d", what, out.Events[0].Seq, out.Events[len(out.Events)-1].Seq)
		if err := w.append(k, out, taken); err != nil {
			return w.bearable(err)
		}
		w.r.Taken += len(taken)
	}
	k.p, k.started = out.Position, true
	if out.Stop {
		k.work = nil
	}
	k.work = append(k.work, out.Work...)
	k.effects = append(k.effects, out.Effects...)
	return nil
}

// append stores a step. When the store does not know whether it did, its head
// does. When it refuses, the process ends: it has nowhere to put what it knows.
func (w *world) append(k *worker, out engine.Out, taken []uint64) error {
	b := out.Batch(k.fence)
	b.Taken = taken
	err := w.store.Append(context.Background(), b)
	if errors.Is(err, store.ErrUncertain) {
		head, headErr := w.store.Head(context.Background(), "run")
		if headErr == nil && head.Digest == out.Events[len(out.Events)-1].Digest {
			return nil
		}
	}
	if err != nil && w.alive == k && !w.store.Crashed() {
		w.crash()
	}
	return err
}

// bearable drops the errors that the world makes on purpose.
func (w *world) bearable(err error) error {
	for _, known := range []error{
		storetest.ErrInjected, storetest.ErrCrashed, store.ErrFull, store.ErrUncertain, store.ErrFenced, store.ErrConflict, store.ErrLeased,
	} {
		if errors.Is(err, known) {
			if errors.Is(err, store.ErrLeased) {
				w.now = w.now.Add(lease)
			}
			return nil
		}
	}
	return err
}

func readBlob(s store.Store, d artifact.Digest) ([]byte, error) {
	r, err := s.Blob(context.Background(), d)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// content gives a replay what the store keeps.
type content struct{ s store.Store }

// Blob implements [engine.Content].
func (c content) Blob(d artifact.Digest) ([]byte, error) { return readBlob(c.s, d) }

// Checkpoint implements [engine.Content].
func (c content) Checkpoint(exec string, seq uint64) ([]byte, error) {
	return c.s.Checkpoint(context.Background(), exec, seq)
}

// check holds the finished run against what must be true of every run.
func (w *world) check() error {
	p := w.alive.p
	w.r.State, w.r.Steps = p.State().Value.String(), p.Steps()
	log := w.store.Events(context.Background(), "run", 1)
	report, err := event.Verify(event.Bytes(log), event.VerifyOptions{Exec: "run"})
	if err != nil || !report.Intact || !report.Ended {
		return fmt.Errorf("the log does not verify: %v, %s", err, report.Verdict())
	}
	verdict, err := engine.Replay(context.Background(), log, engine.ReplayOptions{Definitions: []*engine.Definition{w.s.Definition}, Content: content{w.store}})
	if err != nil || verdict.Divergence != nil {
		return fmt.Errorf("the log does not replay: %v, %v", err, verdict.Divergence)
	}
	terminal, settled, received := 0, map[string]int{}, map[string]int{}
	for r, err := range log {
		if err != nil {
			return err
		}
		e, err := r.Decode()
		if err != nil {
			return err
		}
		if e.Type.Ends() {
			terminal++
			w.r.Status = map[event.Type]store.Status{
				event.TypeTerminated: store.Terminated, event.TypeFailed: store.Failed, event.TypeCancelled: store.Cancelled,
			}[e.Type]
		}
		switch b := e.Body.(type) {
		case *event.EffectSettled:
			settled[b.Key]++
		case *event.EventReceived:
			received[b.ID]++
		case *event.Terminated:
			data, err := readBlob(w.store, b.Result.Digest)
			if err != nil {
				return err
			}
			w.r.Output = string(data)
		}
	}
	if terminal != 1 {
		return fmt.Errorf("%d terminal events", terminal)
	}
	for _, sig := range w.s.Signals {
		if received[sig.ID] != 1 {
			return fmt.Errorf("event %s was consumed %d times", sig.ID, received[sig.ID])
		}
	}
	if left := w.mail(); len(left) > 0 {
		return fmt.Errorf("%d messages are left of a run that has ended", len(left))
	}
	return w.checkEffects(settled)
}

// checkEffects holds the log against what the ports did: what is settled happened,
// and what happened is settled, once.
func (w *world) checkEffects(settled map[string]int) error {
	for key, n := range settled {
		if _, ok := w.performed[key]; !ok || n != 1 {
			return fmt.Errorf("effect %.8s is settled %d times, performed: %v", key, n, ok)
		}
	}
	for key := range w.performed {
		if settled[key] != 1 {
			return fmt.Errorf("effect %.8s happened and is settled %d times", key, settled[key])
		}
	}
	used, limits := w.alive.p.Used(), w.s.Definition.Graph.Limits
	if used.Tokens > limits.MaxTokens || used.Cost["USD"] > limits.MaxCostMicros {
		return fmt.Errorf("used %d tokens and %d micros of %d and %d", used.Tokens, used.Cost["USD"], limits.MaxTokens, limits.MaxCostMicros)
	}
	return nil
}
