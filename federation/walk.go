// Package federation follows the references of a manifest to other manifests and
// plans one task in each of them.
//
// Open this package at [Walk]. It gives a tree of [Node]: the root manifest and
// below each manifest the ones that it names, each with its own plan, or with the
// error that kept it from having one. Nothing that fails loses the rest of the
// tree: who reads it sees what is missing, and why.
//
// What the tree holds depends on the manifests and the options only. It is the
// tree of a walk that goes depth first, in the order of declaration, and reads
// one manifest at a time: its money, its limits and its cycles. Reading several
// at once changes how long it takes, and neither a byte of the tree nor which
// locations are asked for.
package federation

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/load"
	"github.com/writ-dev/writ/planner"
)

// The limits of a walk.
const (
	DefaultMaxDepth    = 1 // of the command line; the zero value of Options is 0
	DefaultMaxNodes    = 64
	DefaultConcurrency = 8

	// DeepestWalk bounds MaxDepth. The artifact of a deeper tree would be nested
	// more than a reader accepts.
	DeepestWalk = 50
)

// Options say how to plan, how to read, and how far to go. The zero value plans
// the root alone.
type Options struct {
	// Plan is for every manifest. Its budget is one ceiling for the whole walk:
	// each plan starts with what the plans before it have committed.
	Plan planner.Options
	// Load is for every manifest, and so is its demand for a signature. What a
	// local manifest refers to is read below Load.Root; empty stands for the
	// current directory if it contains the root manifest, else for the root
	// manifest's own.
	Load load.Options
	// MaxDepth is how many references lie between the root and the deepest
	// manifest that is read. More than [DeepestWalk] is taken as that.
	MaxDepth int
	// MaxNodes is how many manifests are asked for, the root included; the root
	// always is. Unset stands for [DefaultMaxNodes], an infinite number for no
	// limit.
	MaxNodes kcp.Number
	// Concurrency is how many manifests are read at once. Zero stands for
	// [DefaultConcurrency].
	Concurrency int
	// Timeout is for the whole walk. What has not been read by then is an error in
	// the tree. Zero sets no limit beside that of the context.
	Timeout time.Duration
	// Progress, if it is set, is told how far the walk has come each time that
	// reading a manifest begins or ends. Walk calls it from its own goroutine.
	Progress func(Progress)
	// Open reads a manifest. Nil stands for [load.Manifest].
	Open func(ctx context.Context, location string, o load.Options) (*load.Loaded, error)
}

// Progress is how far a walk has come.
type Progress struct {
	Done    int    // manifests that were read, or could not be
	Reading int    // manifests that are being read
	Latest  string // the location of the last one that was begun
}

func (o Options) withDefaults() Options {
	o.MaxDepth = min(max(o.MaxDepth, 0), DeepestWalk)
	if !o.MaxNodes.Set || math.IsNaN(o.MaxNodes.Value) {
		o.MaxNodes = kcp.Number{Value: DefaultMaxNodes, Set: true}
	}
	if o.Concurrency <= 0 {
		o.Concurrency = DefaultConcurrency
	}
	if o.Open == nil {
		o.Open = load.Manifest
	}
	return o
}

// Walk plans the task in the manifest at location and in those that it refers
// to. What fails is an error in the tree, the root's failure included. The error
// beside the tree is not nil only when ctx was cancelled; the tree then holds
// what was done.
func Walk(ctx context.Context, location, task string, o Options) (*Node, error) {
	o = o.withDefaults()
	running, cancel := context.WithCancel(ctx)
	if o.Timeout > 0 {
		cancel()
		running, cancel = context.WithTimeout(ctx, o.Timeout)
	}
	w := &walk{o: o, task: task, caller: ctx, ctx: running, visited: newVisits()}
	w.readers = newReaders(w)
	defer func() {
		cancel()
		w.readers.wait()
		w.area.close()
	}()
	if b := o.Plan.Budget; b != nil {
		w.committed = b.Spent.Value
	}
	root, _ := w.visit(&step{location: location, key: finalKey(location)}, 0)
	return root, w.cancelled()
}

// walk is one walk under way. It belongs to the goroutine of Walk.
type walk struct {
	o    Options
	task string

	caller context.Context // of whoever wants the tree
	ctx    context.Context // the caller's, with the deadline of the walk

	area      *area // where local manifests are read; nil below a remote root
	readers   *readers
	frames    []*frame // the manifests whose references are being followed, the root first
	visited   visits
	count     int     // manifests that were asked for
	committed float64 // money, in walk order
}

// frame is a manifest whose references are being followed.
type frame struct {
	steps []*step
	next  int // the first step that has not been taken
}

// visit reads and plans the manifest that a step leads to, and follows its
// references. It reports whether the step leads to a manifest that was visited
// before, which only a redirect can hide until it was followed.
func (w *walk) visit(s *step, depth int) (node *Node, seen bool) {
	w.count++
	node = &Node{RefID: s.refID(), Location: s.location, NotFollowed: []NotFollowed{}, Children: []*Node{}}
	if s.refused != nil {
		node.fail(s.refused, s.location)
		return node, false
	}
	r := w.readers.await(s, depth)
	if r.err != nil {
		node.fail(w.ended(r.err), r.location)
	} else {
		node.Location, node.Signature, node.Loaded = r.loaded.Source, r.loaded.Signature, r.loaded
	}
	if r.err == nil || readBytes(r.err) {
		if w.visited.arrive(s.key, finalKey(node.Location), node.Loaded) {
			return node, true
		}
	}
	if r.err == nil {
		w.plan(node, r)
		s.checkVersion(node)
		w.follow(node, depth)
		unmet := node.unmet()
		if node.Writ = Extend(node.Findings); unmet != nil {
			node.Writ.Unmet = unmet
		}
	}
	return node, false
}

// plan gives the node its plan, and the ledger what the plan commits.
func (w *walk) plan(node *Node, r *reading) {
	node.Plan, node.Trace = r.plan, r.trace
	if node.Plan == nil {
		node.Plan, node.Trace = planner.Plan(node.Loaded.Manifest, w.task, w.planOptions())
	}
	node.Plan.Manifest.SHA256, node.Plan.Signature = node.Loaded.Digest.Hex(), node.Loaded.Signature
	node.Findings = append(node.Findings, node.Loaded.Findings...)
	w.committed = artifact.RoundMicros(w.committed + node.Plan.Budget.ProjectedSpend.Value)
}

// planOptions are the options of the next plan: the budget, less what the plans
// before it have committed.
func (w *walk) planOptions() planner.Options {
	o := w.o.Plan
	if o.Budget == nil {
		return o
	}
	b := *o.Budget
	b.Spent = kcp.Number{}
	if w.committed > 0 {
		b.Spent = kcp.Number{Value: w.committed, Set: true}
	}
	o.Budget = &b
	return o
}

// follow takes the references of a manifest in the order of declaration.
func (w *walk) follow(node *Node, depth int) {
	if depth == 0 {
		w.area = openArea(w.o.Load.Root, node.Loaded.Source)
	}
	f := &frame{steps: w.stepsOf(node, depth)}
	w.frames = append(w.frames, f)
	for _, s := range f.steps {
		f.next++
		reason := w.reasonAgainst(s)
		if reason == "" {
			child, seen := w.visit(s, depth+1)
			if !seen {
				node.Children = append(node.Children, child)
				continue
			}
			reason = reasonVisited
		}
		node.NotFollowed = append(node.NotFollowed, NotFollowed{ID: s.id, URL: s.url, Reason: reason})
	}
	w.frames = w.frames[:len(w.frames)-1]
}

const reasonVisited = "already visited (cycle)"

// reasonAgainst says why a step is not taken when its turn has come. Where a
// redirect led since the manifest was planned does not count: whether the step's
// location is asked for must not depend on how many are asked at once.
func (w *walk) reasonAgainst(s *step) string {
	switch {
	case s.reason != "":
		return s.reason
	case s.known || w.visited.asked[s.key]:
		return reasonVisited
	case float64(w.count) >= w.o.MaxNodes.Value:
		return "beyond max nodes " + artifact.FormatNumber(w.o.MaxNodes.Value) + " (fan-out cap)"
	case w.cancelled() != nil:
		return errCancelled.Error()
	}
	return ""
}

// cancelled gives the error of a caller that gave up. Running out of time is
// none: the tree says what that left out.
func (w *walk) cancelled() error {
	if err := w.caller.Err(); errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// ended says why reading failed when the walk ended meanwhile.
func (w *walk) ended(err error) error {
	switch {
	case w.ctx.Err() == nil, !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded):
		return err
	case w.cancelled() != nil:
		return errCancelled
	}
	return errDeadline
}

var (
	errCancelled = errors.New("the walk was cancelled")
	errDeadline  = errors.New("the deadline of the walk has passed; allow more time or follow fewer manifests")
)

// visits are the manifests that were read, by where they were asked for, where
// they were found, and where redirects led on the way.
type visits struct{ asked, found, passed map[string]bool }

func newVisits() visits { return visits{map[string]bool{}, map[string]bool{}, map[string]bool{}} }

// knows reports whether a location leads to a manifest that was read.
func (v visits) knows(key string) bool { return v.asked[key] || v.found[key] || v.passed[key] }

// arrive records a manifest and reports whether it was found before.
func (v visits) arrive(asked, found string, l *load.Loaded) (again bool) {
	again = v.found[found]
	v.asked[asked], v.found[found] = true, true
	if l != nil {
		for _, hop := range l.Hops {
			v.passed[canonicalURL(hop)] = true
		}
	}
	return again
}
