// Package sim runs machines in a world where everything goes wrong, and where
// nothing is left to chance: one seed decides about the clock, about what happens
// next, about faults of the store and the ports, and about crashes. The same seed
// gives the same run, step by step, so a seed that fails is a bug report.
//
// [Run] does one run and checks it: the log verifies and replays, every effect
// happened once as new, every event from outside was consumed once, the budget was
// never exceeded, a worker that lost its lease wrote nothing and took no message,
// there is one terminal event, and state and result are those of a run to which
// nothing happened ([Quiet]). Events and answers come straight or through the inbox,
// also while nobody has the run and before it waits for them.
//
// The simulator has no goroutine and no clock. It drives the same [engine.Machine]
// as the embedded driver.
package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/memory"
	"github.com/writ-dev/writ/store/storetest"
)

// Scenario is what is run.
type Scenario struct {
	Definition *engine.Definition
	State      artifact.Value

	// Perform is what a port does and answers. It depends on what is asked alone,
	// not on the attempt.
	Perform func(engine.Effect) engine.Outcome
	// Kind says how a port behaves when an outcome is lost.
	Kind PortKind
	// Signals are delivered, in no certain order and some of them twice, until each
	// is consumed.
	Signals []engine.Signal
	// Answer gives the answer to an approval or an input.
	Answer artifact.Value
}

// PortKind is what can be learned from a port about an effect.
type PortKind int

// The kinds.
const (
	Silent     PortKind = iota // nothing: a person has to look
	Asks                       // it can be asked
	Idempotent                 // it may be given the key again
)

// Result is what came of a run.
type Result struct {
	Status  store.Status
	State   string
	Output  string // of a run that terminated
	Steps   uint64
	Crashes int
	Faults  int
	Zombies int // workers that lost their lease and tried to write
	Taken   int // inputs that came through the inbox
	Trace   []string
}

// limit of actions: a run that needs more does not end.
const maxActions = 20_000

// lease of the simulated workers.
const lease = 10 * time.Second

// Quiet runs a scenario to which nothing happens.
func Quiet(s Scenario) (Result, error) { return run(s, 0, false) }

// Run runs a scenario under the seed's faults and checks it against want, the
// result of [Quiet]. An error names the seed.
func Run(s Scenario, seed uint64, want Result) (Result, error) {
	got, err := run(s, seed, true)
	if err == nil && (got.Status != want.Status || got.State != want.State || got.Output != want.Output || got.Steps != want.Steps) {
		err = fmt.Errorf("ends %s %s %s after %d steps, undisturbed %s %s %s after %d",
			got.Status, got.State, got.Output, got.Steps, want.Status, want.State, want.Output, want.Steps)
	}
	if err != nil {
		return got, fmt.Errorf("seed %d: %w", seed, err)
	}
	return got, nil
}

// world is the simulation.
type world struct {
	s     Scenario
	rng   *rand.Rand
	wild  bool
	m     *engine.Machine
	store *storetest.FaultyStore
	inner *memory.Store // as other processes see it
	now   time.Time
	r     Result

	alive   *worker
	zombies []*worker
	workers int

	performed map[string]engine.Outcome // what ports have done, by key
	failures  map[string]int
	signals   map[string]int // deliveries that are left
	posts     map[string]int // of signals, by somebody outside, that are left
	mailOnly  bool           // no signal comes any other way
}

// worker is a process: what it knows is gone when it crashes.
type worker struct {
	name    string
	fence   uint64
	p       engine.Position
	started bool
	work    []engine.Work
	effects []engine.Effect
}

func run(s Scenario, seed uint64, wild bool) (Result, error) {
	w := &world{
		s: s, rng: rand.New(rand.NewPCG(seed, 0x5eed)), wild: wild, m: engine.NewMachine(s.Definition), now: time.UnixMilli(1_000_000),
		performed: map[string]engine.Outcome{}, failures: map[string]int{}, signals: map[string]int{}, posts: map[string]int{},
	}
	w.inner = memory.New(func() time.Time { return w.now })
	w.store = storetest.Faulty(w.inner, w.fault)
	w.mailOnly = w.chance(2) == 1
	for _, sig := range s.Signals {
		w.signals[sig.ID], w.posts[sig.ID] = 1+w.chance(3), w.chance(3)
		if w.mailOnly {
			w.signals[sig.ID], w.posts[sig.ID] = 0, 1+w.posts[sig.ID]
		}
	}
	for n := 0; ; n++ {
		if n > maxActions {
			return w.r, fmt.Errorf("does not end; the last actions: %v", w.r.Trace[max(0, len(w.r.Trace)-10):])
		}
		done, err := w.act()
		if err != nil {
			return w.r, err
		}
		if done {
			break
		}
	}
	return w.r, w.check()
}

// chance gives a number below n, 0 in a quiet world.
func (w *world) chance(n int) int {
	if !w.wild {
		return 0
	}
	return w.rng.IntN(n)
}

func (w *world) note(format string, args ...any) {
	w.r.Trace = append(w.r.Trace, fmt.Sprintf(format, args...))
}

// fault decides about one write.
func (w *world) fault(wr storetest.Write) storetest.Fault {
	if !w.wild || wr.Lease || w.rng.IntN(6) != 0 {
		return storetest.Pass
	}
	w.r.Faults++
	return storetest.Fault(1 + w.rng.IntN(6))
}

// act does one thing that can happen.
func (w *world) act() (done bool, err error) {
	if w.store.Crashed() {
		w.crash()
	}
	if w.chance(10) == 1 {
		return false, w.postAny()
	}
	if w.alive == nil {
		return false, w.restart()
	}
	if len(w.zombies) > 0 && w.chance(4) == 0 {
		return false, w.wakeZombie()
	}
	k := w.alive
	if k.started && k.p.Ended() {
		return true, nil
	}
	if !k.started {
		return false, w.begin()
	}
	switch w.chance(40) {
	case 1:
		w.crash()
		return false, nil
	case 2:
		return false, w.pause()
	}
	return false, w.advance(k)
}

// begin starts the run.
func (w *world) begin() error {
	state, err := graph.NewSnapshot(w.s.Definition.Schema.ID, w.s.State)
	if err != nil {
		return err
	}
	return w.step(w.alive, engine.Start{Exec: "run", State: state, By: "ann", Method: event.MethodAsserted})
}

// crash ends the process. What ports were doing they may still do, or not.
func (w *world) crash() {
	w.note("crash")
	w.r.Crashes++
	if w.alive != nil {
		w.abandonEffects(w.alive)
	}
	w.alive = nil
	w.store.Restart()
	w.now = w.now.Add(2 * lease)
}

// abandonEffects lets the effects of a dead process happen or not.
func (w *world) abandonEffects(k *worker) {
	for _, e := range k.effects {
		if !e.Lost && w.chance(2) == 0 {
			w.perform(e)
		}
	}
}

// restart is a new process that takes the run up.
func (w *world) restart() error {
	w.workers++
	k := &worker{name: fmt.Sprint("worker-", w.workers)}
	fence, err := w.store.Lease(context.Background(), "run", k.name, lease)
	if err != nil {
		return w.bearable(err)
	}
	k.fence = fence
	head, err := w.store.Head(context.Background(), "run")
	switch {
	case errors.Is(err, store.ErrNotFound):
		w.alive = k
		return nil
	case err != nil:
		return w.bearable(err)
	}
	data, err := w.store.Checkpoint(context.Background(), "run", head.Checkpoint.Seq)
	if err == nil && artifact.Sum(data) != head.Checkpoint.Digest {
		err = engine.ErrTampered
	}
	if err != nil {
		return w.bearable(err)
	}
	if k.p, err = w.m.Restore(data, head.Head); err != nil {
		return err
	}
	k.started = true
	w.alive = k
	if k.p.Ended() {
		return nil
	}
	w.note("restart at %d", head.Seq)
	return w.step(k, engine.Recover{})
}

// pause lets the worker sleep past its lease, while another one takes over.
func (w *world) pause() error {
	w.note("pause %s", w.alive.name)
	w.zombies = append(w.zombies, w.alive)
	w.alive = nil
	w.now = w.now.Add(2 * lease)
	return nil
}

// wakeZombie lets a worker go on that does not know it has lost its lease. What it
// begins must not be stored.
func (w *world) wakeZombie() error {
	z := w.zombies[0]
	w.zombies = w.zombies[1:]
	w.note("wake %s", z.name)
	if !z.started || z.p.Ended() {
		return nil
	}
	what := engine.Happening(engine.Cancel{Method: event.MethodSystem})
	if len(z.work) > 0 {
		what = w.answer(z.work[0])
	}
	out, err := w.m.Step(z.p, engine.Input{NowMS: w.now.UnixMilli(), What: what, Mint: minter{}})
	if err != nil || len(out.Events) == 0 {
		return err
	}
	before, beforeErr := w.store.Head(context.Background(), "run")
	mail := w.mail()
	b := out.Batch(z.fence)
	for _, m := range mail {
		b.Taken = append(b.Taken, m.Seq)
	}
	err = w.store.Append(context.Background(), b)
	after, afterErr := w.store.Head(context.Background(), "run")
	w.r.Zombies++
	if len(w.mail()) != len(mail) {
		return fmt.Errorf("a worker that lost its lease took a message: %v", err)
	}
	if beforeErr == nil && afterErr == nil && (err == nil || before.Seq != after.Seq) {
		return fmt.Errorf("a worker that lost its lease wrote: %v", err)
	}
	return nil
}

// advance does the next thing of the living worker.
func (w *world) advance(k *worker) error {
	var choices []func() error
	for i := range k.work {
		choices = append(choices, func() error { return w.finishWork(k, i) })
	}
	for i := range k.effects {
		choices = append(choices, func() error { return w.finishEffect(k, i) })
	}
	if due := k.p.NextDue(); due > 0 {
		choices = append(choices, func() error { return w.fire(k, due) })
	}
	if k.p.Ready() {
		choices = append(choices, func() error { return w.step(k, engine.Recover{}) })
	}
	for _, p := range k.p.Proposals() {
		choices = append(choices, func() error { return w.decide(k, p) })
	}
	for _, token := range k.p.InputTokens() {
		choices = append(choices, func() error { return w.tell(k, engine.Resume{Token: token, Input: w.s.Answer, By: "bob"}) })
	}
	for _, sig := range w.s.Signals {
		if w.signals[sig.ID] > 0 {
			choices = append(choices, func() error { return w.deliver(k, sig) })
		}
	}
	choices = append(choices, w.mailChoices(k)...)
	if len(choices) == 0 {
		for _, key := range k.p.UnknownEffects() {
			choices = append(choices, func() error { return w.look(k, key) })
		}
	}
	if len(choices) == 0 {
		return fmt.Errorf("nothing can happen, and the run has not ended: %v", k.p.Pending())
	}
	w.now = w.now.Add(time.Duration(w.chance(50)) * time.Millisecond)
	if err := w.renew(k); err != nil {
		return w.bearable(err)
	}
	return choices[w.chance(len(choices))]()
}

// renew keeps the lease while the worker is awake.
func (w *world) renew(k *worker) error {
	fence, err := w.store.Lease(context.Background(), "run", k.name, lease)
	if err == nil && fence != k.fence {
		w.alive = nil // it ended meanwhile: begin again from the store
	}
	return err
}

func (w *world) finishWork(k *worker, i int) error {
	work := k.work[i]
	k.work = append(k.work[:i:i], k.work[i+1:]...)
	return w.step(k, w.answer(work))
}

// answer runs a handler.
func (w *world) answer(work engine.Work) engine.Happening {
	done := engine.NodeDone{Node: work.Node, Visit: work.Visit, Attempt: work.Attempt, StartedMS: w.now.UnixMilli()}
	result, err := w.s.Definition.Handlers[work.Handler].Run(context.Background(), work.Invocation)
	if err != nil {
		done.Host = err.Error()
	}
	done.Result = result
	return done
}

func (w *world) fire(k *worker, due int64) error {
	if at := time.UnixMilli(due); w.now.Before(at) {
		w.now = at
	}
	for _, id := range k.p.DueTimers(w.now.UnixMilli()) {
		w.note("timer %s", id)
		return w.step(k, engine.TimerDue{ID: id})
	}
	return nil
}

func (w *world) decide(k *worker, p engine.Proposal) error {
	token := minter{}.Mint(p.Digest, int(p.Need))[p.Have]
	return w.tell(k, engine.Decide{
		Proposal: p.Digest, Approve: true, Token: token, Approver: fmt.Sprint("approver-", p.Have), Method: event.MethodToken, Answer: w.s.Answer,
	})
}

func (w *world) deliver(k *worker, sig engine.Signal) error {
	out, err := w.m.Step(k.p, engine.Input{NowMS: w.now.UnixMilli(), What: sig})
	if err != nil {
		return err
	}
	if out.Refusal == nil {
		w.note("signal %s, duplicate %v", sig.ID, out.Duplicate)
		if out.Duplicate {
			w.signals[sig.ID]--
		}
	}
	return w.step(k, sig)
}
