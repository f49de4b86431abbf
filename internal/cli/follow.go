package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/federation"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/planner"
)

// followFlags are the flags of commands that go on to federated manifests.
type followFlags struct {
	follow                          bool
	maxDepth, maxNodes, concurrency given
}

// mostNodes and mostReaders bound what a command line may ask for.
const (
	mostNodes   = 10_000
	mostReaders = 256
)

func (f *followFlags) declare(cmd *cobra.Command, source *sourceFlags) {
	g := flagGroup{cmd.Flags(), "Federated manifests"}
	g.boolean(&f.follow, "follow", "plan the manifests that it refers to, too, within one budget")
	g.value(&f.maxDepth, "max-depth", "N", "2", "follow references N deep (default 1); implies --follow")
	g.value(&f.maxNodes, "max-nodes", "N", "200", "read at most N manifests, the first included (default 64)")
	g.value(&f.concurrency, "concurrency", "N", "16", "read N manifests at once (default 8); it changes no result")
	g.boolean(&source.allowPrivate, "allow-private-hosts", "also read from this machine and from private networks")
}

// options gives how to walk, and whether to.
func (f *followFlags) options(r *runner) (o federation.Options, on bool, err error) {
	o.MaxDepth = federation.DefaultMaxDepth
	for _, limit := range []struct {
		flag     *given
		name     string
		most     int
		assigned func(n int)
	}{
		{&f.maxDepth, "max-depth", federation.DeepestWalk, func(n int) { o.MaxDepth = n }},
		{&f.maxNodes, "max-nodes", mostNodes, func(n int) { o.MaxNodes = kcp.Number{Value: float64(n), Set: true} }},
		{&f.concurrency, "concurrency", mostReaders, func(n int) { o.Concurrency = max(n, 1) }},
	} {
		n, err := limit.flag.count(limit.name)
		switch {
		case err != nil:
			return o, false, err
		case n.Value < 0:
			return o, false, badValue(limit.name, limit.flag.text, "is negative", limit.flag.example)
		case n.Value > float64(limit.most):
			return o, false, badValue(limit.name, limit.flag.text, "is more than "+strconv.Itoa(limit.most), limit.flag.example)
		case n.Set:
			limit.assigned(int(n.Value))
		}
	}
	on = f.follow || f.maxDepth.set
	if !on && (f.maxNodes.set || f.concurrency.set) {
		r.say("--max-nodes and --concurrency have no effect without --follow")
	}
	return o, on, nil
}

// walk walks the tree below the manifest that the flags name, and shows on a
// terminal how far it has come.
func (r *runner) walk(ctx context.Context, f *planFlags, task string, o federation.Options) (*federation.Node, error) {
	location, err := f.source.location("")
	if err != nil {
		return nil, err
	}
	if o.Load, err = f.source.reading(r); err != nil {
		return nil, err
	}
	progress, done := r.newProgress(), 0
	o.Progress = func(now federation.Progress) {
		done = now.Done
		progress.line(fmt.Sprintf("%s read, %d under way  %s", counted(now.Done, "manifest"), now.Reading, visible(now.Latest)))
	}
	tree, err := federation.Walk(ctx, location, task, o)
	progress.clear()
	switch {
	case err != nil:
		return nil, fmt.Errorf("the walk was interrupted after %s", counted(done, "manifest"))
	case tree.Err != nil:
		return nil, rootError(tree)
	}
	return tree, nil
}

// rootError is the failure of the manifest that was named: without it there is no
// tree to show.
func rootError(root *federation.Node) error {
	if text := root.Err.Error(); strings.HasPrefix(text, root.Location) || strings.HasSuffix(text, root.Location) {
		return root.Err
	}
	return errors.New(root.Location + ": " + root.Error)
}

// nodeOptions are the options that a node was planned with: the caller's, with
// what the plans before it have committed.
func nodeOptions(o planner.Options, n *federation.Node) planner.Options {
	o.Budget = n.Plan.Options.Budget
	return o
}
