package cli

import (
	"cmp"
	"context"
	"errors"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/local"
	"github.com/writ-dev/writ/store/sqlite"
)

// storeFlags say where runs are kept.
type storeFlags struct {
	store given
	json  bool
}

func (f *storeFlags) declare(cmd *cobra.Command) {
	flagGroup{cmd.Flags(), "Store"}.value(&f.store, "store", "FILE", "runs.db", "where runs are kept (default: WRIT_STORE, else "+local.DefaultStore+")")
}

func (f *storeFlags) declareJSON(cmd *cobra.Command, usage string) {
	flagGroup{cmd.Flags(), outputGroup}.boolean(&f.json, "json", usage)
}

func (f *storeFlags) path(r *runner) string {
	return cmp.Or(f.store.text, r.Env("WRIT_STORE"), local.DefaultStore)
}

// open opens a store that exists, to read it.
func (f *storeFlags) open(ctx context.Context, r *runner) (*sqlite.Store, error) {
	return local.OpenStore(ctx, f.path(r), r.Now)
}

// person is who runs the command, and how that is known.
type person struct{ name, method string }

// personFlag lets somebody say who they are.
type personFlag struct{ as given }

func (f *personFlag) declare(cmd *cobra.Command, usage string) {
	flagGroup{cmd.Flags(), "Person"}.value(&f.as, "as", "NAME", "maria", usage+" (default: the user of this machine)")
}

func (f *personFlag) who() person {
	if f.as.set {
		return person{f.as.text, event.MethodAsserted}
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return person{u.Username, event.MethodOSUser}
	}
	return person{"somebody", event.MethodAsserted}
}

// agentFlag names an agent file in place of the one that was kept for a run.
type agentFlag struct{ agent given }

func (f *agentFlag) declare(cmd *cobra.Command) {
	flagGroup{cmd.Flags(), "Agent"}.value(&f.agent, "agent", "FILE", "agent.yaml", "the agent file (default: the copy that was kept when the run started)")
}

// of gives the agent of a run.
func (f *agentFlag) of(ctx context.Context, r *runner, storePath, exec string) (*local.Agent, error) {
	o := local.Options{Now: r.Now}
	if f.agent.set {
		return local.ReadAgent(f.agent.text, o)
	}
	root, err := rootRun(ctx, r, storePath, exec)
	if err != nil {
		return nil, err
	}
	a, err := local.Kept(storePath, root, o)
	if errors.Is(err, local.ErrNotKept) {
		return nil, hintedError{err, "Name its agent file with --agent agent.yaml."}
	}
	return a, err
}

// rootRun gives the run that a called run descends from, whose agent it shares.
func rootRun(ctx context.Context, r *runner, storePath, exec string) (string, error) {
	s, err := local.OpenStore(ctx, storePath, r.Now)
	if err != nil {
		return "", err
	}
	defer s.Close()
	for range maxAncestors {
		parent := ""
		for rec, err := range s.Events(ctx, exec, 1) {
			if err != nil {
				return "", runError(exec, err)
			}
			e, err := rec.Decode()
			if err != nil {
				return "", runError(exec, err)
			}
			if started, ok := e.Body.(*event.Started); ok && started.Parent != nil && started.Parent.Kind != event.LinkFork {
				parent = started.Parent.Exec
			}
			break
		}
		if parent == "" {
			break
		}
		exec = parent
	}
	return exec, nil
}

// maxAncestors bounds how deep runs are called.
const maxAncestors = 64

// hintedError is an error with a line on what to do about it.
type hintedError struct {
	error
	hint string
}

func (e hintedError) Unwrap() error { return e.error }

// oneRun checks that a command got the id of one run.
func oneRun(cmd *cobra.Command, words []string) error {
	if len(words) == 1 {
		return nil
	}
	return usagef("Write it like "+cmd.CommandPath()+" RUN; `writ runs` lists them.", "%s takes one run, and %d are named", cmd.Name(), len(words))
}

// jsonFlag reads a JSON or YAML value that was given on the command line, or in a
// file after @.
func (r *runner) jsonFlag(f *given, flag string) (artifact.Value, error) {
	doc, err := r.documentFlag(f, flag)
	if err != nil || !f.set {
		return artifact.Value{}, err
	}
	return doc.Value(), nil
}

// documentFlag is jsonFlag with the places of what was given. It is an empty object
// where nothing was.
func (r *runner) documentFlag(f *given, flag string) (*artifact.Document, error) {
	text, source := []byte(f.text), "--"+flag
	switch {
	case !f.set:
		return artifact.DocumentOf(artifact.ObjectValue(), source), nil
	case strings.HasPrefix(f.text, "@"):
		var err error
		if source = f.text[1:]; source == "" {
			return nil, badValue(flag, f.text, "names no file", f.example)
		}
		if text, err = r.readArtifact(source); err != nil {
			return nil, err
		}
	}
	return parseGiven(text, source)
}
