package local

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
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

// Keep keeps a copy of the agent for a run, before the run is started. What is
// there is not written again.
func (a *Agent) Keep(store, exec string) error {
	c := copied{Version: 1, Source: a.Source, Dir: a.Dir, Files: map[string]string{}, Binary: map[string]string{}}
	for name, data := range a.Files {
		if utf8.Valid(data) {
			c.Files[name] = string(data)
		} else {
			c.Binary[name] = base64.StdEncoding.EncodeToString(data)
		}
	}
	text, err := artifact.Encode(c)
	if err != nil {
		return fmt.Errorf("keep agent: %w", err)
	}
	name := artifact.Sum(text).Hex()
	dir := agentsDir(store)
	if err := writeNew(filepath.Join(dir, name+".json"), text); err != nil {
		return fmt.Errorf("keep agent: %w", err)
	}
	if err := writeNew(runFile(dir, exec), []byte(name+"\n")); err != nil {
		return fmt.Errorf("keep agent: %w", err)
	}
	return nil
}

func runFile(dir, exec string) string {
	return filepath.Join(dir, "runs", artifact.Sum([]byte(exec)).Hex())
}

// writeNew writes a file whole or not at all, for this user only.
func writeNew(path string, data []byte) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
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

// Kept gives the agent that was kept for a run. A pack that has expired since is no
// reason not to: the engine refuses what it no longer grants, and the run can still
// be looked at, verified and ended.
func Kept(store, exec string, o Options) (*Agent, error) {
	dir := agentsDir(store)
	name, err := os.ReadFile(runFile(dir, exec))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", exec, ErrNotKept)
	}
	if err != nil {
		return nil, err
	}
	digest, err := artifact.ParseHexDigest(strings.TrimSpace(string(name)))
	if err != nil {
		return nil, fmt.Errorf("kept agent of %s: %w", exec, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, digest.Hex()+".json"))
	if err != nil {
		return nil, fmt.Errorf("kept agent of %s: %w", exec, reason(err))
	}
	if artifact.Sum(text) != digest {
		return nil, fmt.Errorf("kept agent of %s: the copy was changed", exec)
	}
	var c copied
	if err := artifact.Decode(text, &c, artifact.RefuseUnknown); err != nil {
		return nil, fmt.Errorf("kept agent of %s: %w", exec, err)
	}
	open := func(name string, _ int) ([]byte, error) {
		if text, ok := c.Files[name]; ok {
			return []byte(text), nil
		}
		text, ok := c.Binary[name]
		if !ok {
			return nil, fmt.Errorf("%s: not in the kept copy", name)
		}
		return base64.StdEncoding.DecodeString(text)
	}
	return read(c.Source, c.Dir, open, nil, 0, o)
}
