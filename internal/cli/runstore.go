package cli

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/keys"
	"github.com/writ-dev/writ/local"
	"github.com/writ-dev/writ/store"
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
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if f.as.set && strings.TrimSpace(f.as.text) == "" {
			return badValue("as", f.as.text, "names nobody", f.as.example)
		}
		return nil
	}
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

// of gives the agent of a run: the one that is named, or the copy that was kept for
// the run or for the one that called it.
func (f *agentFlag) of(ctx context.Context, r *runner, s *sqlite.Store, storePath, exec string) (*local.Agent, error) {
	o := local.Options{Now: r.Now}
	if f.agent.set {
		return readAgent(f.agent.text, o)
	}
	root, err := local.Root(ctx, s, exec)
	if err != nil {
		return nil, runError(ctx, s, exec, err)
	}
	a, err := local.Kept(storePath, root, o)
	if errors.Is(err, local.ErrNotKept) {
		return nil, hintedError{err, "Name its agent file with --agent agent.yaml."}
	}
	return a, err
}

// before gives the agents that a run was migrated from, the newest first.
func (f *agentFlag) before(ctx context.Context, r *runner, s *sqlite.Store, storePath, exec string) ([]*local.Agent, error) {
	if f.agent.set {
		return nil, nil
	}
	root, err := local.Root(ctx, s, exec)
	if err != nil {
		return nil, runError(ctx, s, exec, err)
	}
	return local.KeptBefore(storePath, root, local.Options{Now: r.Now})
}

// signFlag names the key that signs the heads of logs.
type signFlag struct{ key given }

func (f *signFlag) declare(cmd *cobra.Command) {
	flagGroup{cmd.Flags(), "Record"}.value(&f.key, "sign", "KEYFILE", "runs.key",
		"sign the head of the log with this private key when the run waits or is over (default: WRIT_SIGN_KEY, else it is not signed)")
}

func (f *signFlag) keys(r *runner) ([]ed25519.PrivateKey, error) {
	path := f.key.text
	if !f.key.set {
		path = r.Env("WRIT_SIGN_KEY")
	}
	if path == "" {
		return nil, nil
	}
	key, err := readPrivate(path)
	var hinted hintedError
	switch {
	case err == nil:
		return []ed25519.PrivateKey{key}, nil
	case f.key.set:
		return nil, err
	case errors.As(err, &hinted):
		return nil, hintedError{fmt.Errorf("WRIT_SIGN_KEY: %w", hinted.error), hinted.hint}
	}
	return nil, fmt.Errorf("WRIT_SIGN_KEY: %w", err)
}

// readPrivate reads a private key for a command that signs with it.
func readPrivate(path string) (ed25519.PrivateKey, error) {
	key, err := keys.ReadFile(path)
	switch {
	case errors.Is(err, keys.ErrExposed):
		return nil, hintedError{err, "Nobody else may have read it: chmod 600 " + shellWord(path) + ", or make another one."}
	case errors.Is(err, fs.ErrNotExist):
		return nil, hintedError{fmt.Errorf("%s: no such file", path), "Make a key with: writ keygen " + shellWord(path)}
	}
	return key, err
}

// completeRuns completes the ids of runs.
func (f *storeFlags) completeRuns(r *runner, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, words []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		s, err := f.open(cmd.Context(), r)
		if err != nil || len(words) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer s.Close()
		var offers []cobra.Completion
		for x, err := range s.List(cmd.Context(), store.Query{}) {
			if err != nil || len(offers) == mostLike {
				break
			}
			if strings.HasPrefix(x.Exec, typed) {
				offers = append(offers, cobra.CompletionWithDesc(x.Exec, string(x.Status)+" "+visible(x.Reason)))
			}
		}
		return offers, cobra.ShellCompDirectiveNoFileComp
	}
}

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
