// Package local makes agents run on this machine with the embedded defaults: a
// SQLite file as the store, CEL for conditions, the ports of the agent file. It is
// the only library package that links drivers.
//
// [ReadAgent] reads an agent file, [Open] opens the store and gives a [Runtime]
// whose engine drives runs of the agent. [Agent.Keep] keeps a copy of the agent's
// files beside the store under the run's id, and [Kept] finds it again: so a run
// that was suspended goes on with the agent that it began with, also when the files
// have changed since. A [Fleet] drives all runs of a store so; [Forget] removes the
// copies of runs that were deleted.
package local

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/writ-dev/writ/agentfile"
	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/expr/cel"
	"github.com/writ-dev/writ/fetch"
	"github.com/writ-dev/writ/retrieve"
	"github.com/writ-dev/writ/schema/jsonschema"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/sqlite"
)

// DefaultStore is the store of a folder where nothing else is said.
const DefaultStore = ".writ/writ.db"

// Agent is an agent of this machine.
type Agent struct {
	*agentfile.Agent
	Dir        string             // absolute; the names of the agent's files are relative to it
	Definition *engine.Definition // what its runs execute

	ports     map[string]engine.Port
	knowledge *retrieve.Port
}

// Options are what an agent needs of its surroundings.
type Options struct {
	Now       func() time.Time                 // nil for time.Now
	LookupEnv func(name string) (string, bool) // nil for os.LookupEnv
	Observe   func(b store.Batch)              // told of every batch once it is durable; nil for nobody
	Random    io.Reader                        // of ids and tokens; nil for the system's
	Sign      []ed25519.PrivateKey             // sign the heads of logs; nil for none

	// Network says how knowledge is read over the network. Whether private hosts
	// may be reached is for the agent file to say.
	Network fetch.Options
}

func (o Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

func (o Options) lookupEnv() func(string) (string, bool) {
	if o.LookupEnv == nil {
		return os.LookupEnv
	}
	return o.LookupEnv
}

// ReadAgent reads an agent file and checks everything about it. It starts nothing.
func ReadAgent(file string, o Options) (*Agent, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("read agent: %w", err)
	}
	open := func(name string, limit int) ([]byte, error) {
		data, err := fetch.ReadSmall(context.Background(), fetch.Anywhere{}, filepath.FromSlash(name), int64(limit))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, reason(err))
		}
		return data, nil
	}
	exists := func(name string) bool {
		_, err := os.Stat(filepath.FromSlash(name))
		return err == nil
	}
	return read(filepath.ToSlash(file), dir, open, exists, o.now().UnixMilli(), o)
}

// reason leaves the operation and the path out of a file error.
func reason(err error) error {
	if path, ok := err.(*fs.PathError); ok {
		return path.Err
	}
	return err
}

func read(source, dir string, open agentfile.Open, exists func(string) bool, nowMS int64, o Options) (*Agent, error) {
	a := &Agent{Dir: dir}
	var err error
	a.Agent, err = agentfile.Read(source, open, agentfile.Options{
		Conditions: cel.Compiler{}, Schemas: jsonschema.New(), NowMS: nowMS, Exists: exists, Check: a.check,
	})
	if err != nil {
		return nil, err
	}
	if err := a.wire(o); err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return a, nil
}

// Runtime is an open store and an engine. Close it.
type Runtime struct {
	Store  *sqlite.Store
	Engine *engine.Engine
}

// Open opens the store at path, creating it where it does not exist, for an engine
// that knows the agent's definition.
func Open(ctx context.Context, path string, a *Agent, o Options) (*Runtime, error) {
	s, err := sqlite.Open(ctx, path, &sqlite.Options{Now: o.Now})
	if err != nil {
		return nil, err
	}
	e, err := NewEngine(s, a, o)
	if err != nil {
		s.Close()
		return nil, err
	}
	return &Runtime{Store: s, Engine: e}, nil
}

// NewEngine gives an engine over an open store, with the definition and the ports of
// the agent. With a nil agent it has neither, and can only look at runs and end them.
func NewEngine(s *sqlite.Store, a *Agent, o Options) (*engine.Engine, error) {
	config := engine.Config{Store: s, Clock: clock{now: o.now}, Random: o.Random, Sign: o.Sign, Poll: poll}
	if a != nil {
		config.Ports, config.Definitions = a.ports, []*engine.Definition{a.Definition}
	}
	if o.Observe != nil {
		config.Store = observed{s, o.Observe}
	}
	return engine.New(config)
}

// ErrNoStore means that there is no store to read.
var ErrNoStore = errors.New("there is no store; `writ run` makes one")

// OpenStore opens a store that exists.
func OpenStore(ctx context.Context, path string, now func() time.Time) (*sqlite.Store, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", path, ErrNoStore)
	}
	return sqlite.Open(ctx, path, &sqlite.Options{Now: now})
}

// Close closes the store.
func (r *Runtime) Close() error { return r.Store.Close() }

// poll is how often a run's inbox is looked into: somebody may wait at a terminal.
const poll = 200 * time.Millisecond

// observed tells of batches when they are durable.
type observed struct {
	*sqlite.Store
	tell func(store.Batch)
}

// Append implements [store.Store].
func (s observed) Append(ctx context.Context, b store.Batch) error {
	err := s.Store.Append(ctx, b)
	if err == nil {
		s.tell(b)
	}
	return err
}

// clock is the machine's, with the time of the options.
type clock struct {
	engine.SystemClock
	now func() time.Time
}

// Now implements [engine.Clock].
func (c clock) Now() time.Time { return c.now() }

// NewID draws the id of a run: the agent's id and a random part.
func NewID(agent string, o Options) (string, error) {
	source := o.Random
	if source == nil {
		source = rand.Reader
	}
	var random [6]byte
	if _, err := io.ReadFull(source, random[:]); err != nil {
		return "", fmt.Errorf("draw an id: %w", err)
	}
	if len(agent) > artifact.MaxIdentifier-13 {
		agent = agent[:artifact.MaxIdentifier-13]
	}
	return agent + "-" + hex.EncodeToString(random[:]), nil
}
