package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
)

// job is one handler, effect or called run that is under way.
type job struct {
	key        string
	rank       [2]uint64
	handler    bool
	call       bool
	work       Work
	effect     Effect
	startedMS  int64
	deadlineMS int64
	overdue    bool  // its deadline has passed and it was told to end
	giveUpMS   int64 // when an overdue effect without an outcome is given up
	givenUp    bool  // a late outcome is dropped
	done       bool  // its outcome is held
	end        context.CancelCauseFunc
}

// lastWordMS is how long a port may take, after its deadline, to end what it
// does and say what became of the effect. Without this every effect that runs
// into its deadline would be unknown.
const lastWordMS = 2_000

// cancel tells the job that nobody wants its outcome any more.
func (j *job) cancel() { j.end(context.Canceled) }

// expire tells the job that its time is over; the cause says so.
func (j *job) expire() { j.end(context.DeadlineExceeded) }

// result is how a job ended. What is nil when there is nothing to tell.
type result struct {
	job  *job
	what Happening
	err  error // of a port: the outcome is unknown
}

// dispatch begins what a step asks for. Everything in it is durable by now.
func (s *session) dispatch(ctx context.Context, out Out) {
	if out.Stop {
		s.stop(ctx)
	}
	for _, w := range out.Work {
		s.startWork(ctx, w)
	}
	for _, e := range out.Effects {
		s.startEffect(ctx, e)
	}
	for _, c := range out.Calls {
		s.startCall(ctx, c)
	}
}

// pending is a job that has not begun.
type pending struct {
	job *job
	do  func() result
}

// launch begins a job beside the others. The only one waits for the loop to do it.
func (s *session) launch(ctx context.Context, j *job, do func(context.Context) result) {
	ctx, j.end = context.WithCancelCause(ctx)
	s.jobs[j.key] = j
	begun := &pending{j, func() result {
		defer j.cancel()
		r := do(ctx)
		r.job = j
		return r
	}}
	if len(s.jobs) == 1 && !j.call {
		s.next = begun
		return
	}
	if s.next != nil {
		first := s.next
		go func() { s.deliver(first.do()) }()
		s.next = nil
	}
	go func() { s.deliver(begun.do()) }()
}

// deliver gives the outcome of a job to the loop, unless the session is over.
func (s *session) deliver(r result) {
	select {
	case s.results <- r:
	case <-s.gone:
	}
}

func (s *session) startWork(ctx context.Context, w Work) {
	key := fmt.Sprintf("%s %d %d", w.Node, w.Visit, w.Attempt)
	if s.jobs[key] != nil {
		return
	}
	j := &job{key: key, handler: true, work: w, rank: w.Rank, startedMS: s.e.now(), deadlineMS: w.DeadlineMS}
	run := s.m.def.Handlers[w.Handler].Run
	s.launch(ctx, j, func(ctx context.Context) result { return result{what: runHandler(ctx, run, j)} })
}

// runHandler runs a handler and turns what it does into an input.
func runHandler(ctx context.Context, run graph.Handler, j *job) (done NodeDone) {
	w := j.work
	done = NodeDone{Node: w.Node, Visit: w.Visit, Attempt: w.Attempt, StartedMS: j.startedMS}
	defer func() {
		if p := recover(); p != nil {
			done.Host = fmt.Sprintf("the handler panicked: %v", p)
		}
	}()
	if w.Handler == "" {
		done.Host = w.Invocation.Node
		return done
	}
	result, err := run(ctx, w.Invocation)
	switch {
	case err != nil && errors.Is(err, context.DeadlineExceeded):
		done.Timeout = true
	case err != nil:
		done.Host = err.Error()
	default:
		done.Result = result
	}
	return done
}

func (s *session) startEffect(ctx context.Context, e Effect) {
	if s.jobs[e.Key] != nil && !s.jobs[e.Key].givenUp {
		return
	}
	j := &job{key: e.Key, effect: e, startedMS: s.e.now(), deadlineMS: e.DeadlineMS}
	port := s.e.c.Ports[e.Port]
	s.launch(ctx, j, func(ctx context.Context) result {
		if e.Lost {
			return s.findOut(ctx, port, e, "the process ended while it was under way")
		}
		return perform(ctx, port, e)
	})
}

// perform lets a port do an effect.
func perform(ctx context.Context, port Port, e Effect) (r result) {
	if port == nil {
		return result{what: EffectDone{Key: e.Key, Outcome: Outcome{
			Failed: true, Class: graph.ClassUnavailable, Error: "no port " + e.Port + " is connected",
		}}}
	}
	defer func() {
		if p := recover(); p != nil {
			r = result{err: fmt.Errorf("the port panicked: %v", p)}
		}
	}()
	o, err := port.Do(ctx, e)
	var not *NotDoneError
	switch {
	case errors.As(err, &not):
		return result{what: EffectDone{Key: e.Key, Outcome: Outcome{Failed: true, Class: not.Class, Error: not.Text, Usage: o.Usage}}}
	case err != nil:
		return result{err: err}
	}
	return result{what: EffectDone{Key: e.Key, Outcome: o}}
}

// maxAgain bounds how often one session gives an idempotent port the same key.
const maxAgain = 3

// findOut learns what became of an effect: by asking, or by giving an idempotent
// port the same key. If neither is possible, a person has to look.
func (s *session) findOut(ctx context.Context, port Port, e Effect, reason string) result {
	if asker, ok := port.(Asker); ok {
		o, answer, err := asker.Ask(ctx, e.Key)
		switch {
		case err != nil:
			reason += "; asked, the port said: " + err.Error()
		case answer == Happened:
			return result{what: EffectDone{Key: e.Key, Outcome: o, Source: event.SourceAsked}}
		case answer == Never:
			return result{what: EffectLost{Key: e.Key, Reason: reason + "; the port never saw it", Again: true}}
		}
	}
	again := false
	if port, ok := port.(Idempotent); ok {
		again = port.Idempotent(e)
	}
	return result{what: EffectLost{Key: e.Key, Reason: reason, Again: again}}
}

// collect takes the end of a job. A handler's waits for those before it in rank.
func (s *session) collect(r result) {
	if s.jobs[r.job.key] == r.job {
		r.job.done = true
		s.held = append(s.held, r)
	}
}

// deliverable gives the next outcome that the machine may be told: of effects and
// calls at once, of handlers in the order of their ranks.
func (s *session) deliverable() (result, bool) {
	for drained := false; !drained; {
		select {
		case r := <-s.results:
			s.collect(r)
		default:
			drained = true
		}
	}
	best := -1
	for i, r := range s.held {
		if !r.job.handler {
			best = i
			break
		}
		if best < 0 || before(r.job.rank, s.held[best].job.rank) {
			best = i
		}
	}
	if best < 0 {
		return result{}, false
	}
	if r := s.held[best]; r.job.handler {
		for _, j := range s.jobs {
			if j.handler && !j.done && before(j.rank, r.job.rank) {
				return result{}, false
			}
		}
	}
	r := s.held[best]
	s.held = slices.Delete(s.held, best, best+1)
	if s.jobs[r.job.key] == r.job {
		delete(s.jobs, r.job.key)
	}
	return r, true
}

func before(a, b [2]uint64) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }

// take tells the machine an outcome.
func (s *session) take(ctx context.Context, r result) error {
	if r.err != nil {
		return s.giveUp(ctx, r.job, r.err.Error())
	}
	if r.what == nil {
		return nil
	}
	if lost, ok := r.what.(EffectLost); ok && lost.Again {
		if s.tries[lost.Key]++; s.tries[lost.Key] > maxAgain {
			lost.Again = false
		}
		r.what = lost
	}
	return s.quiet(s.step(ctx, r.what))
}

// giveUp turns a job without an answer into an input.
func (s *session) giveUp(ctx context.Context, j *job, reason string) error {
	if s.jobs[j.key] == j {
		delete(s.jobs, j.key)
	}
	switch {
	case j.handler:
		done := NodeDone{Node: j.work.Node, Visit: j.work.Visit, Attempt: j.work.Attempt, StartedMS: j.startedMS, Timeout: true}
		j.done = true
		s.jobs[j.key] = j
		s.held = append(s.held, result{job: j, what: done})
		return nil
	case j.call:
		return nil
	}
	port := s.e.c.Ports[j.effect.Port]
	ask := &job{key: j.key, effect: j.effect, startedMS: s.e.now()}
	s.launch(ctx, ask, func(ctx context.Context) result { return s.findOut(ctx, port, j.effect, reason) })
	return nil
}

// ordered gives the jobs in an order that does not depend on a map's.
func (s *session) ordered() []*job {
	list := make([]*job, 0, len(s.jobs))
	for _, j := range s.jobs {
		list = append(list, j)
	}
	slices.SortFunc(list, func(a, b *job) int { return cmp.Compare(a.key, b.key) })
	return list
}

// stop ends what is under way because the run is ending. Handlers are dropped;
// what became of effects is found out or unknown; called runs are cancelled.
func (s *session) stop(ctx context.Context) {
	for _, j := range s.ordered() {
		j.cancel()
		switch {
		case j.handler:
			delete(s.jobs, j.key)
		case j.call, j.done && !s.p.ended:
		case s.p.ended:
			delete(s.jobs, j.key)
		case s.next != nil && s.next.job == j:
			delete(s.jobs, j.key)
			s.held = append(s.held, result{job: j, what: EffectDone{Key: j.effect.Key, Outcome: Failed(graph.ClassCancelled, "stopped before it began")}})
		default:
			delete(s.jobs, j.key)
			s.held = append(s.held, result{job: j, what: EffectLost{Key: j.effect.Key, Reason: "stopped while it was under way"}})
		}
	}
	s.next = nil
	s.held = slices.DeleteFunc(s.held, func(r result) bool { return r.job.handler })
	if s.p.ended {
		s.held, s.jobs = nil, map[string]*job{}
		return
	}
	for i := range s.p.threads {
		if th := &s.p.threads[i]; th.phase == inCall {
			s.cancelCall(ctx, th.call)
		}
	}
}
