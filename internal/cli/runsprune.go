package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/local"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/sqlite"
)

type pruneOptions struct {
	*runner
	store         storeFlags
	before, limit given
	dry           bool
}

func newPrune(r *runner) *cobra.Command {
	o := &pruneOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "prune --before DATE|AGE",
		Short: "delete the runs that ended long ago",
		Long: "prune deletes the runs that ended before a day, or longer ago than an age, oldest first, as `writ runs delete` does: " +
			"with the runs that they called, and with a tombstone for each. Runs that are not over are never pruned.",
		Example: `writ runs prune --before 30d --dry-run
writ runs prune --before 2026-01-31 --limit 100`,
		Annotations: exits("the runs were deleted, or there are none", "the store cannot be changed, or it was interrupted", wrongUsage),
		Args:        cobra.NoArgs,
		RunE:        func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	prune := flagGroup{cmd.Flags(), "Prune"}
	prune.value(&o.before, "before", "DATE|AGE", "30d", "runs that ended before this day (UTC), or longer ago than this: 12h, 30d")
	prune.value(&o.limit, "limit", "N", "100", "at most so many")
	prune.boolean(&o.dry, "dry-run", "say which runs would be deleted, and delete none")
	o.store.declare(cmd)
	o.store.declareJSON(cmd, "print the runs as JSON")
	return cmd
}

// moment reads --before.
func (o *pruneOptions) moment() (time.Time, error) {
	if !o.before.set {
		return time.Time{}, usagef("Write it like writ runs prune --before 30d", "prune needs to know how old: --before DATE|AGE")
	}
	if kcp.ValidDate(o.before.text) {
		if day, err := time.Parse(time.DateOnly, o.before.text); err == nil {
			return day, nil
		}
	}
	if age, ok := policy.ParseDuration(o.before.text); ok {
		return o.Now().Add(-time.Duration(age) * time.Millisecond), nil
	}
	return time.Time{}, badValue("before", o.before.text, "is neither a day such as 2026-01-31 nor an age such as 12h or 30d", o.before.example)
}

func (o *pruneOptions) run(ctx context.Context) error {
	before, err := o.moment()
	if err != nil {
		return err
	}
	limit, err := o.limit.count("limit")
	if err == nil && o.limit.set && limit.Value < 1 {
		err = badValue("limit", o.limit.text, "is not a positive number", o.limit.example)
	}
	if err != nil {
		return err
	}
	s, err := o.store.open(ctx, o.runner)
	if err != nil {
		return err
	}
	defer s.Close()
	old, err := o.old(ctx, s, before)
	if err != nil {
		return err
	}
	if limit.Set {
		old = old[:min(len(old), int(limit.Value))]
	}
	done := prunedRuns{Before: before.UTC().Format(time.RFC3339), DryRun: o.dry, Runs: []tombstone{}}
	if o.dry {
		for _, x := range old {
			done.Runs = append(done.Runs, tombstone{Run: x.Exec, Status: x.Status, Events: x.Seq, Head: x.Digest.String()})
		}
		return o.present(o.store.json, done, done.write, true)
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	m := &removal{runner: o.runner, store: s, path: o.store.path(o.runner)}
	if err := errors.Join(o.prune(ctx, m, old, &done), m.end()); err != nil {
		return err
	}
	return o.present(o.store.json, done, done.write, true)
}

// old gives the runs that ended before a moment, the oldest first. A called run goes
// with the one that called it.
func (o *pruneOptions) old(ctx context.Context, s *sqlite.Store, before time.Time) ([]store.Summary, error) {
	var old []store.Summary
	ended := []store.Status{store.Terminated, store.Failed, store.Cancelled, store.Abandoned}
	for x, err := range s.List(ctx, store.Query{Status: ended}) {
		if err != nil {
			return nil, err
		}
		if !x.Updated.Before(before) {
			continue
		}
		if x.Parent != "" {
			link, err := local.Caller(ctx, s, x.Exec)
			if err != nil {
				return nil, err
			}
			if link != nil && !deleted(ctx, s, link.Exec) {
				continue
			}
		}
		old = append(old, x)
	}
	slices.SortStableFunc(old, func(a, b store.Summary) int { return a.Updated.Compare(b.Updated) })
	return old, nil
}

func deleted(ctx context.Context, s store.Store, exec string) bool {
	head, err := s.Head(ctx, exec)
	return err == nil && !head.Deleted.IsZero()
}

// prune deletes the runs, and passes over those that a process has.
func (o *pruneOptions) prune(ctx context.Context, m *removal, old []store.Summary, done *prunedRuns) error {
	progress := o.newProgress()
	defer progress.clear()
	for i, x := range old {
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted after %s of %d", counted(len(done.Runs), "run"), len(old))
		}
		family, err := m.family(ctx, x.Exec, 0)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(family, func(h store.Head) bool { return m.refuse(ctx, h, false) != nil }) {
			done.Skipped = append(done.Skipped, x.Exec)
			continue
		}
		for _, head := range family {
			t, err := m.delete(context.WithoutCancel(ctx), head.Exec, false)
			if err != nil {
				return err
			}
			done.Runs = append(done.Runs, t)
		}
		progress.line(fmt.Sprintf("%d of %s deleted  %s", i+1, counted(len(old), "run"), visible(x.Exec)))
	}
	return nil
}

// prunedRuns are the runs that were pruned, or would be.
type prunedRuns struct {
	Before  string      `json:"before"`
	DryRun  bool        `json:"dry_run"`
	Runs    []tombstone `json:"runs"`
	Skipped []string    `json:"skipped,omitempty"` // a process has them, or what they called is not over
}

func (d prunedRuns) write(p *page) {
	title := "Deleted"
	if d.DryRun {
		title = "Would be deleted"
	}
	p.heading(title, text("  "+counted(len(d.Runs), "run")+" that ended before "+d.Before))
	writeTombstones(p, d.Runs)
	for _, exec := range d.Skipped {
		p.hang(2, 4, markWarn, space, name(bold, exec), text("  stays: a process has it, or a run that it called is not over"))
	}
}
