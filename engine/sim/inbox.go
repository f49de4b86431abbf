package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/store"
)

// postAny lets somebody outside post one of the signals, whoever has the run by
// then, if anybody. Sometimes they do not learn that it is there, and post it again.
func (w *world) postAny() error {
	for _, sig := range w.s.Signals {
		if w.posts[sig.ID] > 0 {
			return w.postSignal(sig)
		}
	}
	return nil
}

func (w *world) postSignal(sig engine.Signal) error {
	m, err := w.m.Message(engine.Position{}, sig)
	if err != nil {
		return err
	}
	_, err = w.inner.Post(context.Background(), "run", m)
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrEnded): // too early or too late
		return nil
	case err != nil:
		return err
	}
	w.note("post signal %s", sig.ID)
	if w.chance(4) != 1 {
		w.posts[sig.ID]--
	}
	return nil
}

// tell lets a person tell the worker something, or post it.
func (w *world) tell(k *worker, what engine.Happening) error {
	if w.chance(2) == 0 {
		return w.step(k, what)
	}
	m, err := w.m.Message(k.p, what)
	if err != nil {
		return err
	}
	w.note("post %T", what)
	_, err = w.inner.Post(context.Background(), "run", m)
	return err
}

// mail gives what is in the inbox.
func (w *world) mail() []store.Message {
	list, err := w.inner.Posted(context.Background(), "run", 0, store.MaxMessages)
	if err != nil {
		panic(err) // the store is in memory
	}
	return list
}

// mailChoices are what a worker can do about the inbox: post what is to be posted,
// and take what is there and not early.
func (w *world) mailChoices(k *worker) (choices []func() error) {
	for _, sig := range w.s.Signals {
		if w.posts[sig.ID] > 0 {
			choices = append(choices, func() error { return w.postSignal(sig) })
		}
	}
	for _, m := range w.mail() {
		what, err := engine.ReadMessage(m)
		if err != nil {
			return []func() error{func() error { return err }}
		}
		out, err := w.m.Step(k.p, engine.Input{NowMS: w.now.UnixMilli(), What: what, Mint: minter{}})
		_, early := what.(engine.Signal)
		switch {
		case err != nil:
			return []func() error{func() error { return err }}
		case out.Refusal != nil && !early, out.Duplicate:
			choices = append(choices, func() error { return w.drop(k, m.Seq) })
		case out.Refusal == nil:
			choices = append(choices, func() error { return w.step(k, what, m.Seq) })
		}
	}
	return choices
}

// drop takes a message out that leads to nothing.
func (w *world) drop(k *worker, seq uint64) error {
	w.note("drop message %d", seq)
	b := store.Batch{Exec: "run", Next: k.p.Head().Seq + 1, Fence: k.fence, Taken: []uint64{seq}}
	if err := w.store.Append(context.Background(), b); err != nil {
		return w.bearable(fmt.Errorf("drop: %w", err))
	}
	return nil
}
