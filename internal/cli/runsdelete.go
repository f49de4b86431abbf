package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/local"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/sqlite"
)

// tombstone is what remains of a run that was deleted.
type tombstone struct {
	Run     string       `json:"run"`
	Status  store.Status `json:"status"`
	Events  uint64       `json:"events"`
	Head    string       `json:"head"`
	Signed  bool         `json:"signed"`
	Deleted string       `json:"deleted"`
}

func tombstoneOf(head store.Head) tombstone {
	t := tombstone{Run: head.Exec, Status: head.Status, Events: head.Seq, Head: head.Digest.String(), Signed: len(head.Signed) > 0}
	if !head.Deleted.IsZero() {
		t.Deleted = timeText(head.Deleted.UnixMilli())
	}
	return t
}

// write shows it to a person.
func (t tombstone) write(p *page) {
	p.heading("Run ", name(plain, t.Run))
	p.line(0, markNote, space, in(bold, "deleted"), text("  at "+t.Deleted))
	rows := &table{indent: 2}
	rows.add(cell(dim, "status"), spans(text(string(t.Status))))
	rows.add(cell(dim, "events"), spans(text(grouped(float64(t.Events)))))
	rows.add(cell(dim, "head"), spans(name(plain, fmt.Sprintf("%d:%s", t.Events, t.Head))))
	p.table(rows)
	p.hang(2, 4, in(dim, tombstoneNote))
}

const tombstoneNote = "This is all that remains. A log that was exported before can still be held against the head, and the id is not used again."

// removal deletes runs of one store, and with them the copies of their agents.
type removal struct {
	*runner
	store *sqlite.Store
	path  string
	gone  []string // the runs that were deleted
}

// mostCalls bounds how deep runs that are deleted called each other.
const mostCalls = 64

// family gives a run and the runs that it called, directly or not, the called ones
// first: they are parts of it. Forks are runs of their own.
func (m *removal) family(ctx context.Context, exec string, depth int) ([]store.Head, error) {
	head, err := m.store.Head(ctx, exec)
	if err == nil && depth > mostCalls {
		err = fmt.Errorf("runs call each other more than %d deep", mostCalls)
	}
	if err != nil {
		return nil, runError(ctx, m.store, exec, err)
	}
	var all []store.Head
	for x, err := range m.store.List(ctx, store.Query{Parent: exec}) {
		if err != nil {
			return nil, err
		}
		link, err := local.Caller(ctx, m.store, x.Exec)
		if err != nil {
			return nil, err
		}
		if link == nil {
			continue
		}
		called, err := m.family(ctx, x.Exec, depth+1)
		if err != nil {
			return nil, err
		}
		all = append(all, called...)
	}
	return append(all, head), nil
}

// refuse says why a run may not be deleted; nil if it may.
func (m *removal) refuse(ctx context.Context, head store.Head, force bool) error {
	switch {
	case !head.Deleted.IsZero():
		return deletedError(ctx, m.store, head.Exec)
	case head.Leased(m.Now()):
		return leasedError(ctx, m.store, head.Exec)
	case !head.Status.Ended() && !force:
		return hintedError{
			fmt.Errorf("run %s is not over: it is %s", head.Exec, head.Status),
			"End it with `writ cancel " + shellWord(head.Exec) + "`, or delete it as it is with --force.",
		}
	}
	return nil
}

// delete deletes one run.
func (m *removal) delete(ctx context.Context, exec string, force bool) (tombstone, error) {
	tomb, err := m.store.Delete(ctx, exec, force)
	if errors.Is(err, store.ErrBusy) && !tomb.Deleted.IsZero() {
		m.say("run " + exec + " is deleted, but its bytes are not yet overwritten: another process reads the store; the next deletion does it")
		err = nil
	}
	switch {
	case errors.Is(err, store.ErrRunning):
		return tombstone{}, fmt.Errorf("run %s went on meanwhile", exec)
	case err != nil:
		return tombstone{}, runError(ctx, m.store, exec, err)
	}
	m.gone = append(m.gone, exec)
	return tombstoneOf(tomb), nil
}

// end removes the copies of agents that the runs leave.
func (m *removal) end() error { return local.Forget(m.path, m.gone...) }

type deleteOptions struct {
	*runner
	store storeFlags
	force bool
}

func newDelete(r *runner) *cobra.Command {
	o := &deleteOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "delete RUN...",
		Short: "delete runs; of each a tombstone remains",
		Long: "delete removes the log of a run, its state, its blobs and the copy of its agent, and with it the runs that it called. " +
			"What remains is a tombstone: the id, the status, the number of events and the final digest. Bytes and copies that another " +
			"run has, too, stay. A run that another process has is not deleted, and one that is not over only with --force. Unless all " +
			"of the runs may be deleted, none is.",
		Example: `writ runs delete refund-o7
writ runs delete refund-o7 refund-o8 --force`,
		Annotations: exits("the runs were deleted", "one may not be deleted, and none was, or the store cannot be changed", wrongUsage),
		RunE:        func(cmd *cobra.Command, words []string) error { return o.run(cmd.Context(), words) },
	}
	cmd.ValidArgsFunction = o.store.completeRuns(r, maxDeleted)
	flagGroup{cmd.Flags(), "Delete"}.boolean(&o.force, "force", "also runs that are not over, if no process has them")
	o.store.declare(cmd)
	o.store.declareJSON(cmd, "print what remains as JSON")
	return cmd
}

// maxDeleted bounds the runs that one command line names.
const maxDeleted = 1000

func (o *deleteOptions) run(ctx context.Context, words []string) (err error) {
	if len(words) == 0 {
		return usagef("Write it like writ runs delete RUN; `writ runs` lists them.", "delete takes the runs to delete, and none is named")
	}
	s, err := o.store.open(ctx, o.runner)
	if err != nil {
		return err
	}
	defer s.Close()
	m := &removal{runner: o.runner, store: s, path: o.store.path(o.runner)}
	heads, err := o.check(ctx, m, words)
	if err != nil {
		return err
	}
	done := deletedRuns{}
	for _, head := range heads {
		t, failed := m.delete(ctx, head.Exec, o.force)
		if failed != nil {
			return errors.Join(failed, m.end())
		}
		done.Deleted = append(done.Deleted, t)
	}
	if err := m.end(); err != nil {
		return err
	}
	return o.present(o.store.json, done, done.write, true)
}

// check gives all that is to be deleted, or every reason against it.
func (o *deleteOptions) check(ctx context.Context, m *removal, words []string) ([]store.Head, error) {
	var heads []store.Head
	var problems []error
	seen := map[string]bool{}
	for _, word := range words {
		family, err := m.family(ctx, word, 0)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		for _, head := range family {
			if seen[head.Exec] {
				continue
			}
			seen[head.Exec] = true
			if err := m.refuse(ctx, head, o.force); err != nil {
				problems = append(problems, err)
			}
			heads = append(heads, head)
		}
	}
	return heads, errors.Join(problems...)
}

// deletedRuns are what was deleted.
type deletedRuns struct {
	Deleted []tombstone `json:"deleted"`
}

func (d deletedRuns) write(p *page) {
	p.heading("Deleted", text("  "+counted(len(d.Deleted), "run")))
	writeTombstones(p, d.Deleted)
	p.hang(2, 4, in(dim, strings.Replace(tombstoneNote, "the id is", "ids are", 1)))
}

func writeTombstones(p *page, list []tombstone) {
	t := &table{indent: 2}
	for _, x := range list {
		t.add(spans(markGood), cell(bold, x.Run), cell(plain, string(x.Status)), spans(name(dim, fmt.Sprintf("%d:%s", x.Events, x.Head))))
	}
	p.table(t)
}

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
