package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/local"
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
	p.line(2, text(string(t.Status)+" after "+counted(int(t.Events), "event")+", with the head"))
	p.line(4, name(plain, fmt.Sprintf("%d:%s", t.Events, t.Head)))
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
	for _, x := range list {
		p.line(2, markGood, space, name(bold, x.Run), text("  "+string(x.Status)))
		p.line(4, name(dim, fmt.Sprintf("%d:%s", x.Events, x.Head))) // it fills a line
	}
}
