package local

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/sqlite"
)

// Fleet drives the runs of a store, each with the agent that was kept for it. Agents
// have engines of their own, so an effect of a run is performed by the ports of its
// agent and of no other one. It is safe for concurrent use.
type Fleet struct {
	path  string
	store *sqlite.Store
	o     Options
	named []member

	mu     sync.Mutex
	copies map[string]*member // by the name of the copy
}

// member is an agent of a fleet.
type member struct {
	agent  *Agent
	engine *engine.Engine
}

// NewFleet gives the fleet of an open store. Agents that are named are the only ones
// whose runs it drives: those of which a copy is kept as that copy, and those that
// have none with the agent as it is named.
func NewFleet(path string, s *sqlite.Store, o Options, named ...*Agent) (*Fleet, error) {
	f := &Fleet{path: path, store: s, o: o, copies: map[string]*member{}}
	for _, a := range named {
		if err := a.CheckSecrets(o); err != nil {
			return nil, err
		}
		e, err := NewEngine(s, a, o)
		if err != nil {
			return nil, err
		}
		f.named = append(f.named, member{a, e})
	}
	return f, nil
}

// ErrNotNamed means that a run is one of an agent that the fleet does not drive.
var ErrNotNamed = errors.New("the run is of another agent")

// Engine gives the engine that drives a run. It fails with [ErrNotKept] where nobody
// can tell which agent the run has, and with [ErrNotNamed] if agents are named and it
// has none of them.
func (f *Fleet) Engine(ctx context.Context, exec string) (*engine.Engine, error) {
	root, err := Root(ctx, f.store, exec)
	if err != nil {
		return nil, err
	}
	m, err := f.kept(root)
	switch {
	case errors.Is(err, ErrNotKept):
		if len(f.named) > 0 {
			return f.unkept(ctx, exec)
		}
		return nil, err
	case err != nil:
		return nil, err
	case !f.drives(m.agent):
		return nil, ErrNotNamed
	}
	return m.engine, nil
}

// kept gives the member that was kept for a run.
func (f *Fleet) kept(exec string) (*member, error) {
	c := copiesOf(f.path)
	name, err := c.newest(exec)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.copies[name]; m != nil {
		return m, nil
	}
	a, err := c.read(name, exec, f.o)
	if err == nil {
		err = a.CheckSecrets(f.o) // its effects would fail, and its runs with them
	}
	if err != nil {
		return nil, err
	}
	e, err := NewEngine(f.store, a, f.o)
	if err != nil {
		return nil, err
	}
	m := &member{a, e}
	f.copies[name] = m
	return m, nil
}

func (f *Fleet) drives(a *Agent) bool {
	for _, m := range f.named {
		if m.agent.ID == a.ID {
			return true
		}
	}
	return len(f.named) == 0
}

// unkept finds the named agent that has the definition of a run.
func (f *Fleet) unkept(ctx context.Context, exec string) (*engine.Engine, error) {
	for _, m := range f.named {
		report, err := m.engine.Status(ctx, exec)
		if err != nil {
			return nil, err
		}
		if report.Pinned == nil {
			return m.engine, nil
		}
	}
	return nil, ErrNotNamed
}

// Root gives the run that a called run descends from, whose agent it shares; for any
// other run the run itself.
func Root(ctx context.Context, s store.Store, exec string) (string, error) {
	for range maxAncestors {
		link, err := Caller(ctx, s, exec)
		if err != nil {
			return "", err
		}
		if link == nil {
			break
		}
		exec = link.Exec
	}
	return exec, nil
}

// maxAncestors bounds how deep runs are called.
const maxAncestors = 64

// Caller gives the link of a called run to the run that called it, and nil for any
// other run: a fork is a run of its own.
func Caller(ctx context.Context, s store.Store, exec string) (*event.Link, error) {
	for rec, err := range s.Events(ctx, exec, 1) {
		if err != nil {
			return nil, err
		}
		e, err := rec.Decode()
		if err != nil {
			return nil, fmt.Errorf("first event of %s: %w", exec, err)
		}
		if started, ok := e.Body.(*event.Started); ok && started.Parent != nil && started.Parent.Kind != event.LinkFork {
			return started.Parent, nil
		}
		break
	}
	return nil, nil
}
