package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/store"
)

// runError says what is wrong with a run that a command names.
func runError(ctx context.Context, s store.Store, exec string, err error) error {
	var pinned *engine.PinnedError
	switch {
	case errors.Is(err, store.ErrNotFound):
		return hintedError{errors.New("there is no run " + exec + likeRun(ctx, s, exec)), "The runs of a store: writ runs"}
	case errors.Is(err, store.ErrDeleted):
		return deletedError(ctx, s, exec)
	case errors.Is(err, store.ErrLeased):
		return leasedError(ctx, s, exec)
	case errors.As(err, &pinned):
		return hintedError{err, "Name the agent file that it began with: --agent agent.yaml. Or: writ migrate, writ abandon."}
	}
	if strings.HasPrefix(err.Error(), "run "+exec) {
		return err
	}
	return fmt.Errorf("run %s: %w", exec, err)
}

// mostLike bounds the ids that a mistyped one is compared with.
const mostLike = 5_000

// likeRun gives "; did you mean RUN?" for the run whose id resembles most what was
// typed, or "".
func likeRun(ctx context.Context, s store.Store, typed string) string {
	var known []string
	for x, err := range s.List(ctx, store.Query{Limit: mostLike}) {
		if err != nil {
			return ""
		}
		known = append(known, x.Exec)
	}
	return didYouMean(typed, known, "")
}

// deletedError says what remains of a run that was deleted.
func deletedError(ctx context.Context, s store.Store, exec string) error {
	head, err := s.Head(ctx, exec)
	if err != nil {
		return err
	}
	if head.Deleted.IsZero() { // the run that called it was
		return fmt.Errorf("run %s: the run that called it was %w", exec, store.ErrDeleted)
	}
	return hintedError{
		fmt.Errorf("run %s was %w at %s", exec, store.ErrDeleted, timeText(head.Deleted.UnixMilli())),
		"What remains of it: writ runs show " + shellWord(exec),
	}
}
