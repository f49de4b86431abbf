package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/local"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/sqlite"
)

// look tells of runs what their store does not: why one ended badly, whether one was
// migrated, and whether one that is not over can go on here.
type look struct {
	store *sqlite.Store
	fleet *local.Fleet
}

func (o *runsOptions) newLook(s *sqlite.Store) (*look, error) {
	fleet, err := local.NewFleet(o.store.path(o.runner), s, local.Options{Now: o.Now})
	return &look{s, fleet}, err
}

// line gives the line of a run in a list. The log is read for what cannot be known
// otherwise: the last event of a run that ended badly, all of one that was migrated.
func (k *look) line(ctx context.Context, x store.Summary) (runLine, error) {
	line := runLine{
		Run: x.Exec, Status: x.Status, Reason: x.Reason, Owner: x.Owner, Parent: x.Parent, Graph: x.Graph.String(), Events: x.Seq,
		Started: x.Started.UTC().Format(time.RFC3339), Updated: x.Updated.UTC().Format(time.RFC3339),
	}
	switch {
	case !x.Deleted.IsZero():
		line.Deleted = x.Deleted.UTC().Format(time.RFC3339)
		return line, nil
	case x.Status == store.Failed, x.Status == store.Abandoned:
		return line, k.lastWords(ctx, &line)
	case x.Status.Ended():
		return line, nil
	}
	report, why := k.status(ctx, x.Exec)
	line.Pinned = why
	first, err := eventAt(ctx, k.store, x.Exec, 1)
	if err != nil {
		return line, err
	}
	if started, ok := first.Body.(*event.Started); !ok || report == nil || report.Definition == started.Definition {
		return line, nil
	}
	l, err := readRun(ctx, k.store, x.Exec, 0)
	if err != nil {
		return line, err
	}
	line.Migrated = l.migrations
	return line, nil
}

// lastWords takes the reason from the event that ended a run.
func (k *look) lastWords(ctx context.Context, line *runLine) error {
	last, err := eventAt(ctx, k.store, line.Run, line.Events)
	if err != nil {
		return err
	}
	switch end := last.Body.(type) {
	case *event.Failed:
		line.Reason = end.Error
	case *event.Abandoned:
		line.Reason = end.Reason
	}
	return nil
}

// status gives what an engine knows of a run, nil for nothing, and why nobody can go
// on with the run here; "" if somebody can.
func (k *look) status(ctx context.Context, exec string) (*engine.Report, string) {
	e, err := k.fleet.Engine(ctx, exec)
	switch {
	case errors.Is(err, local.ErrNotKept):
		return nil, "its agent is not kept here; name the agent file with --agent"
	case err != nil:
		return nil, err.Error()
	}
	report, err := e.Status(ctx, exec)
	switch {
	case err != nil:
		return nil, err.Error()
	case report.Pinned != nil:
		return &report, "the agent that is kept differs in " + strings.Join(report.Pinned.Differs, ", ") + "; migrate the run or abandon it"
	}
	return &report, ""
}

// eventAt reads one event.
func eventAt(ctx context.Context, s store.Store, exec string, seq uint64) (event.Event, error) {
	for rec, err := range s.Events(ctx, exec, seq) {
		if err != nil {
			return event.Event{}, runError(ctx, s, exec, err)
		}
		e, err := rec.Decode()
		if err != nil {
			err = runError(ctx, s, exec, err)
		}
		return e, err
	}
	return event.Event{}, runError(ctx, s, exec, store.ErrNotFound)
}
