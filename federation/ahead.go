package federation

import (
	"context"
	"math"
	"sync"

	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/load"
	"github.com/writ-dev/writ/planner"
)

// readers read manifests, several at once. They read ahead of the walk only what
// the walk is certain to ask for: a reference that may be followed, that was not
// visited when its manifest was planned, and that the limit on manifests cannot
// cut off, however many the references before it lead to.
type readers struct {
	w        *walk
	readings map[string]*reading
	running  int
	done     chan *reading // as wide as readers there are, so that none waits
	group    sync.WaitGroup
	progress Progress
}

// reading is one manifest that is read, was read or will be.
type reading struct {
	location       string
	begun, settled bool

	loaded *load.Loaded
	err    error
	plan   *planner.LoadPlan // where it does not depend on the plans before it
	trace  *planner.Trace
	refs   int // references that may be followed
}

func newReaders(w *walk) *readers {
	return &readers{w: w, readings: map[string]*reading{}, done: make(chan *reading, w.o.Concurrency)}
}

// wait waits until nobody reads any more.
func (rs *readers) wait() { rs.group.Wait() }

// of gives the reading of a step's location. A location is asked for once: who
// comes back to one that failed gets the same failure.
func (rs *readers) of(s *step) *reading {
	location := s.location // of a file, whose spelling gets into the plan
	if isRemote(location) {
		location = s.key
	}
	r := rs.readings[location]
	if r == nil {
		r = &reading{location: location}
		rs.readings[location] = r
	}
	return r
}

// await gives what a step leads to, and reads ahead meanwhile.
func (rs *readers) await(s *step, depth int) *reading {
	r := rs.of(s)
	for !r.settled {
		if rs.w.ctx.Err() != nil {
			return &reading{location: r.location, err: rs.w.ctx.Err()}
		}
		rs.begin(r)
		rs.ahead(s, depth)
		select {
		case other := <-rs.done:
			rs.settle(other)
		case <-rs.w.ctx.Done():
		}
	}
	return r
}

// begin starts a reading, if a reader is free.
func (rs *readers) begin(r *reading) {
	if r.begun || rs.running == rs.w.o.Concurrency {
		return
	}
	r.begun = true
	rs.running++
	rs.progress.Latest = r.location
	rs.report()
	o := rs.w.loadOptions(r.location)
	rs.group.Go(func() {
		r.read(rs.w.ctx, &rs.w.o, rs.w.task, o)
		rs.done <- r
	})
}

func (rs *readers) settle(r *reading) {
	r.settled = true
	rs.running--
	rs.progress.Done++
	rs.report()
}

func (rs *readers) report() {
	if rs.w.o.Progress != nil {
		rs.progress.Reading = rs.running
		rs.w.o.Progress(rs.progress)
	}
}

// read runs in a goroutine of its own. Without a budget a plan depends on its
// manifest alone, and is made here.
func (r *reading) read(ctx context.Context, o *Options, task string, lo load.Options) {
	r.loaded, r.err = o.Open(ctx, r.location, lo)
	if r.err != nil {
		return
	}
	m := r.loaded.Manifest
	if o.Plan.Budget == nil {
		r.plan, r.trace = planner.Plan(m, task, o.Plan)
		r.refs = followable(r.plan)
		return
	}
	decided, _ := planner.Plan(&kcp.Manifest{Manifests: m.Manifests}, task, o.Plan)
	r.refs = followable(decided)
}

func followable(plan *planner.LoadPlan) int {
	n := 0
	for i := range plan.Federation {
		if ref := &plan.Federation[i]; ref.Selected && ref.CredentialNeeded == "" {
			n++
		}
	}
	return n
}

// window is how many manifests for each reader may be read ahead of the walk. It
// bounds the memory that they take.
const window = 4

// ahead begins readings while the walk waits at a step. It looks at the steps
// that are left in walk order and stops where nothing is certain any more.
func (rs *readers) ahead(at *step, depth int) {
	w := rs.w
	limited := !math.IsInf(w.o.MaxNodes.Value, 1)
	count := float64(w.count-1) + rs.most(at, depth)
	looked := 0
	for i := len(w.frames) - 1; i >= 0; i-- {
		f := w.frames[i]
		for _, s := range f.steps[f.next:] {
			if s.refused != nil {
				count++ // it takes a place in the tree
			}
			if !s.mayFollow() {
				continue
			}
			if rs.running == w.o.Concurrency || looked == window*w.o.Concurrency || limited && count >= w.o.MaxNodes.Value {
				return
			}
			rs.begin(rs.of(s))
			looked++
			count += rs.most(s, i+1)
		}
	}
}

// most is how many manifests a step can lead to at most, as far as is known.
func (rs *readers) most(s *step, depth int) float64 {
	if depth >= rs.w.o.MaxDepth || s.refused != nil {
		return 1
	}
	switch r := rs.of(s); {
	case !r.settled:
		return math.Inf(1)
	case r.err != nil || r.refs == 0:
		return 1
	case depth+1 == rs.w.o.MaxDepth:
		return 1 + float64(r.refs)
	}
	return math.Inf(1)
}
