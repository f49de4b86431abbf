package local

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/writ-dev/writ/artifact"
)

// agentsDir is where the copies of agents are kept. It never depends on a run's id,
// which may look like a path.
func agentsDir(store string) string { return filepath.Join(filepath.Dir(store), "agents") }

// copied is an agent as it is kept: every file that its file names.
type copied struct {
	Version int               `json:"version"`
	Source  string            `json:"source"`
	Dir     string            `json:"dir"`
	Files   map[string]string `json:"files"`
	Binary  map[string]string `json:"binary"` // base64 of files that are no text
}

// ErrNotKept means that no copy of a run's agent is here, such as for a run that
// was started by a Go program or on another machine.
var ErrNotKept = errors.New("the agent of the run is not kept here")

// copies are the copies of agents beside a store: each is a file under the digest
// of its text, and each run has a file that names its copies, one a line. The last
// one is the run's; those before it are what the run was migrated from.
type copies struct{ dir, store string }

func copiesOf(store string) copies { return copies{agentsDir(store), filepath.Base(store)} }

func (c copies) file(name string) string { return filepath.Join(c.dir, name+".json") }

// run gives the file of a run. Another store in the same folder may have a run of
// the same id.
func (c copies) run(exec string) string {
	return filepath.Join(c.dir, "runs", artifact.Sum([]byte(c.store+"\n"+exec)).Hex())
}

// Keep keeps a copy of the agent for a run, before the run is started. A run that
// has not started has no other copy afterwards.
func (a *Agent) Keep(store, exec string) error { return a.keep(store, exec, nil) }

// KeepNext keeps a copy of the agent for a run that was migrated to it. The copies
// of before stay, so that the run can still be replayed.
func (a *Agent) KeepNext(store, exec string) error {
	before, err := copiesOf(store).names(exec)
	if err != nil {
		return fmt.Errorf("keep agent: %w", err)
	}
	return a.keep(store, exec, before)
}

func (a *Agent) keep(store, exec string, before []string) error {
	text, err := a.copied()
	if err != nil {
		return fmt.Errorf("keep agent: %w", err)
	}
	c, name := copiesOf(store), artifact.Sum(text).Hex()
	if len(before) == 0 || before[len(before)-1] != name {
		before = append(before, name)
	}
	// The run's file is first: whoever removes a copy looks afterwards whether a
	// run has come to name it.
	if err := writeFile(c.run(exec), []byte(strings.Join(before, "\n")+"\n")); err != nil {
		return fmt.Errorf("keep agent: %w", err)
	}
	if _, err := os.Lstat(c.file(name)); err == nil {
		return nil
	}
	if err := writeFile(c.file(name), text); err != nil {
		return fmt.Errorf("keep agent: %w", err)
	}
	return nil
}

// copied gives the text of the agent's copy.
func (a *Agent) copied() ([]byte, error) {
	c := copied{Version: 1, Source: a.Source, Dir: a.Dir, Files: map[string]string{}, Binary: map[string]string{}}
	for name, data := range a.Files {
		if utf8.Valid(data) {
			c.Files[name] = string(data)
		} else {
			c.Binary[name] = base64.StdEncoding.EncodeToString(data)
		}
	}
	return artifact.Encode(c)
}

// writeFile writes a file whole or not at all, for this user only.
func writeFile(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// names gives the copies of a run, the oldest first; none if nothing is kept.
func (c copies) names(exec string) ([]string, error) {
	data, err := os.ReadFile(c.run(exec))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(data)), nil
}

// newest gives the copy that a run goes on with.
func (c copies) newest(exec string) (string, error) {
	names, err := c.names(exec)
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s: %w", exec, ErrNotKept)
	}
	if err != nil {
		return "", err
	}
	return names[len(names)-1], nil
}

// Kept gives the agent that was kept for a run. A pack that has expired since is no
// reason not to: the engine refuses what it no longer grants, and the run can still
// be looked at, verified and ended.
func Kept(store, exec string, o Options) (*Agent, error) {
	c := copiesOf(store)
	name, err := c.newest(exec)
	if err != nil {
		return nil, err
	}
	return c.read(name, exec, o)
}

// KeptBefore gives the agents that a run was migrated from, the newest first.
func KeptBefore(store, exec string, o Options) ([]*Agent, error) {
	c := copiesOf(store)
	names, err := c.names(exec)
	if err != nil {
		return nil, err
	}
	var agents []*Agent
	for i := len(names) - 2; i >= 0; i-- {
		a, err := c.read(names[i], exec, o)
		if err != nil {
			return nil, err
		}
		agents = append(agents, a)
	}
	return agents, nil
}

// read reads a copy and makes the agent of it.
func (c copies) read(name, exec string, o Options) (*Agent, error) {
	if _, err := artifact.ParseHexDigest(name); err != nil {
		return nil, fmt.Errorf("kept agent of %s: %w", exec, err)
	}
	text, err := os.ReadFile(c.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", exec, ErrNotKept)
	}
	if err != nil {
		return nil, fmt.Errorf("kept agent of %s: %w", exec, reason(err))
	}
	if artifact.Sum(text).Hex() != name {
		return nil, fmt.Errorf("kept agent of %s: the copy was changed", exec)
	}
	var kept copied
	if err := artifact.Decode(text, &kept, artifact.RefuseUnknown); err != nil {
		return nil, fmt.Errorf("kept agent of %s: %w", exec, err)
	}
	open := func(name string, _ int) ([]byte, error) {
		if text, ok := kept.Files[name]; ok {
			return []byte(text), nil
		}
		text, ok := kept.Binary[name]
		if !ok {
			return nil, fmt.Errorf("%s: not in the kept copy", name)
		}
		return base64.StdEncoding.DecodeString(text)
	}
	return read(kept.Source, kept.Dir, open, nil, 0, o)
}

// Forget removes the copies of agents that were kept for runs, unless another run
// has them, too. Runs of which nothing is kept are passed over.
func Forget(store string, execs ...string) error {
	c, gone := copiesOf(store), map[string]bool{}
	for _, exec := range execs {
		names, err := c.names(exec)
		if err == nil && names != nil {
			err = os.Remove(c.run(exec))
		}
		if err != nil {
			return fmt.Errorf("forget agent: %w", err)
		}
		for _, name := range names {
			if _, err := artifact.ParseHexDigest(name); err == nil { // else it is no copy's
				gone[name] = true
			}
		}
	}
	if err := c.sweep(gone); err != nil {
		return fmt.Errorf("forget agent: %w", err)
	}
	return nil
}

// sweep removes those of the copies that no run names. A run that is being started
// meanwhile finds its copy gone and writes it, or is found here and gets it back.
func (c copies) sweep(names map[string]bool) error {
	if err := c.keepNamed(names); err != nil {
		return err
	}
	away := func(name string) string { return c.file(name) + ".gone" }
	for name := range names {
		if err := os.Rename(c.file(name), away(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	unnamed := maps.Clone(names)
	if err := c.keepNamed(unnamed); err != nil {
		return err
	}
	for name := range names {
		var err error
		if unnamed[name] {
			err = os.Remove(away(name))
		} else {
			err = os.Rename(away(name), c.file(name))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// keepNamed takes those out of names that a run names.
func (c copies) keepNamed(names map[string]bool) error {
	if len(names) == 0 {
		return nil
	}
	dir := filepath.Join(c.dir, "runs")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return err
		}
		for name := range strings.FieldsSeq(string(data)) {
			delete(names, name)
		}
		if len(names) == 0 {
			return nil
		}
	}
	return nil
}
