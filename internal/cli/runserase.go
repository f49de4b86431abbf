package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/sqlite"
)

type eraseOptions struct {
	*runner
	store storeFlags
	salt  bool
}

func newErase(r *runner) *cobra.Command {
	o := &eraseOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "erase RUN [DIGEST...]",
		Short: "overwrite content that a run's log names by its digest",
		Long: "erase overwrites the bytes of blobs in every file of the store: results, answers and payloads that the pack let be kept, " +
			"or with --salt the salt of the run's redactions, after which nobody can find out by trying what a redacted value was. The " +
			"log stays as it is and is still intact; a replay says that it cannot be verified in full. Other runs with the same bytes " +
			"lose them, too. What the state took over stands in the log: only `writ runs delete` removes that.",
		Example: `writ runs erase refund-o7 --salt
writ runs erase refund-o7 sha256:9f86...`,
		Annotations: exits("the bytes are overwritten", "the run does not name them, is not over, or the store cannot be changed", wrongUsage),
		RunE:        func(cmd *cobra.Command, words []string) error { return o.run(cmd.Context(), words) },
	}
	cmd.ValidArgsFunction = o.store.completeRuns(r, 1)
	flagGroup{cmd.Flags(), "Erase"}.boolean(&o.salt, "salt", "the salt of the run's redactions")
	o.store.declare(cmd)
	o.store.declareJSON(cmd, "print what was erased as JSON")
	return cmd
}

// erased is what erase has overwritten.
type erased struct {
	Run    string            `json:"run"`
	Erased []artifact.Digest `json:"erased"`
}

func (e erased) write(p *page) {
	p.heading("Erased ", name(plain, e.Run))
	t := &table{indent: 2}
	for _, d := range e.Erased {
		t.add(spans(markGood), cell(plain, d.String()))
	}
	p.table(t)
	p.hang(2, 4, in(dim, "The bytes are gone. The log still names their digest, and is intact."))
}

func (o *eraseOptions) run(ctx context.Context, words []string) error {
	if len(words) == 0 || len(words) == 1 && !o.salt {
		return usagef("Write it like writ runs erase RUN DIGEST, or writ runs erase RUN --salt", "erase takes a run and what is to be erased of it")
	}
	done := erased{Run: words[0]}
	for _, word := range words[1:] {
		d, err := artifact.ParseDigest(word)
		if err != nil {
			return usagef("`writ runs events "+shellWord(words[0])+" --json` has them.", "%q is no digest: sha256:, then 64 digits", word)
		}
		done.Erased = append(done.Erased, d)
	}
	s, err := o.store.open(ctx, o.runner)
	if err != nil {
		return err
	}
	defer s.Close()
	head, err := s.Head(ctx, words[0])
	switch {
	case err != nil:
		return runError(ctx, s, words[0], err)
	case !head.Deleted.IsZero():
		return deletedError(ctx, s, words[0])
	case !head.Status.Ended():
		return hintedError{
			fmt.Errorf("run %s is not over: it is %s, and may need the bytes", head.Exec, head.Status),
			"End it first: writ cancel " + shellWord(head.Exec),
		}
	}
	if err := checkNamed(ctx, s, head.Exec, done.Erased); err != nil {
		return err
	}
	if o.salt {
		salt, err := saltOf(ctx, s, head)
		if err != nil {
			return err
		}
		done.Erased = append(done.Erased, salt)
	}
	for _, d := range done.Erased {
		if err := s.Erase(ctx, d); err != nil {
			return eraseError(d, err)
		}
	}
	return o.present(o.store.json, done, done.write, true)
}

func eraseError(d artifact.Digest, err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("%s is no blob of the store: its bytes were not kept", d)
	case errors.Is(err, store.ErrBusy):
		return fmt.Errorf("%s: %w", d, err)
	}
	return err
}

// checkNamed refuses digests that the log of the run does not name, so that a slip
// of the hand erases nothing of another run.
func checkNamed(ctx context.Context, s *sqlite.Store, exec string, digests []artifact.Digest) error {
	open := map[artifact.Digest]bool{}
	for _, d := range digests {
		open[d] = true
	}
	for rec, err := range s.Events(ctx, exec, 1) {
		if err != nil {
			return runError(ctx, s, exec, err)
		}
		for d := range open {
			if strings.Contains(string(rec.Bytes), `"`+d.String()+`"`) {
				delete(open, d)
			}
		}
		if len(open) == 0 {
			return nil
		}
	}
	for _, d := range digests {
		if open[d] {
			return fmt.Errorf("the log of run %s does not name %s", exec, d)
		}
	}
	return nil
}

// saltOf gives the salt of a run's redactions.
func saltOf(ctx context.Context, s *sqlite.Store, head store.Head) (artifact.Digest, error) {
	checkpoint, err := newestCheckpoint(ctx, s, head)
	if err != nil {
		return artifact.Digest{}, runError(ctx, s, head.Exec, err)
	}
	salt, err := engine.SaltOf(checkpoint)
	if err == nil && salt.IsZero() {
		err = fmt.Errorf("run %s has no salt: nothing of it is redacted", head.Exec)
	}
	return salt, err
}
