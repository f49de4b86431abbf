package load

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/keys"
)

// Pin says which key must have signed every manifest from one place. The place
// is where a manifest came from, never what it says of itself.
type Pin struct {
	// Scope is a host with an optional path (docs.example.com/team), or an
	// absolute folder. It covers what is below it, whole path segments only.
	Scope string `json:"scope"`
	Key   string `json:"key"`   // ed25519 public key, base64
	Added string `json:"added"` // date, for people
}

// Pins is a local list of pinned publishers. A nil list pins nobody.
type Pins struct {
	path string
	list []Pin
}

// pinsFile is the form of the list on disk.
type pinsFile struct {
	Version int   `json:"version"`
	Pins    []Pin `json:"pins"`
}

const (
	pinsVersion = 1
	maxPinsFile = 1 << 20 // bytes
)

// PinsPath is where the user's list is kept.
func PinsPath() (string, error) {
	config, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the folder of the trust list: %w", err)
	}
	return filepath.Join(config, "writ", "trust.json"), nil
}

// ReadPins reads a list; a file that is not there is an empty one. A list that
// cannot be read is an error, since treating it as empty would lift every pin.
func ReadPins(path string) (*Pins, error) {
	data, err := readSmall(anywhere{}, path, maxPinsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return &Pins{path: path}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the trust list cannot be read: %s", path, problemOf(err))
	}
	var file pinsFile
	if err := artifact.Decode(data, &file, artifact.RefuseUnknown); err != nil {
		return nil, fmt.Errorf("%s: the trust list is damaged: %w", path, err)
	}
	if file.Version != pinsVersion {
		return nil, fmt.Errorf("%s: the trust list has version %d, and this writ reads %d", path, file.Version, pinsVersion)
	}
	for _, pin := range file.Pins {
		if _, err := keys.ParsePublic(pin.Key); err != nil {
			return nil, fmt.Errorf("%s: the key of %s: %w", path, pin.Scope, err)
		}
	}
	return &Pins{path: path, list: file.Pins}, nil
}

// All lists the pins by scope.
func (p *Pins) All() []Pin { return slices.Clone(p.list) }

// Add pins a scope to a key, in place of the key it may have had.
func (p *Pins) Add(pin Pin) error {
	scope, err := normalScope(pin.Scope)
	if err != nil {
		return err
	}
	key, err := keys.ParsePublic(pin.Key)
	if err != nil {
		return err
	}
	pin.Scope, pin.Key = scope, keys.Text(key)
	p.Remove(scope)
	p.list = append(p.list, pin)
	slices.SortFunc(p.list, func(a, b Pin) int { return cmp.Compare(a.Scope, b.Scope) })
	return nil
}

// Remove lifts the pin of a scope and says whether there was one.
func (p *Pins) Remove(scope string) bool {
	if normal, err := normalScope(scope); err == nil {
		scope = normal
	}
	before := len(p.list)
	p.list = slices.DeleteFunc(p.list, func(pin Pin) bool { return pin.Scope == scope })
	return len(p.list) < before
}

// Write stores the list, readable by the user only. Readers see the old list or
// the new one, never a part.
func (p *Pins) Write() error {
	data, err := artifact.Encode(pinsFile{pinsVersion, p.list})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p.path), 0o700); err != nil {
		return fmt.Errorf("write the trust list: %w", err)
	}
	return ReplaceFile(p.path, append(data, '\n'), 0o600)
}

// ReplaceFile writes a file whole or not at all: a new file takes the old one's
// name when all of it is on disk.
func ReplaceFile(path string, data []byte, mode fs.FileMode) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// pinned gives the options with what a pin demands. The place that was named
// counts, and the place that the manifest finally came from.
func (o Options) pinned(location, source string) (Options, error) {
	pin, found := o.Pins.For(location)
	if !found {
		pin, found = o.Pins.For(source)
	}
	switch {
	case !found:
		return o, nil
	case o.NoVerify:
		return o, refuse(Contradiction, source, "signatures from "+pin.Scope+
			" are pinned and cannot be left unverified; lift the pin with `writ trust remove` first")
	}
	o.RequireSignature = true
	if o.TrustKey == "" {
		o.TrustKey = pin.Key
	}
	return o, nil
}

// For gives the pin that covers a source, the one with the longest scope.
func (p *Pins) For(source string) (Pin, bool) {
	if p == nil || len(p.list) == 0 {
		return Pin{}, false
	}
	place := placeOf(source)
	var found Pin
	for _, pin := range p.list {
		if covers(pin.Scope, place) && len(pin.Scope) > len(found.Scope) {
			found = pin
		}
	}
	return found, found.Scope != ""
}

// placeOf writes a source as scopes are written.
func placeOf(source string) string {
	if isRemote(source) {
		u, err := url.Parse(source)
		if err != nil {
			return ""
		}
		return strings.ToLower(u.Host) + u.EscapedPath()
	}
	absolute, err := filepath.Abs(source)
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(absolute); err == nil {
		absolute = real
	}
	return filepath.ToSlash(absolute)
}

// covers reports whether a place is the scope or lies below it. A host in a
// scope covers no other host that begins with the same letters.
func covers(scope, place string) bool {
	rest, below := strings.CutPrefix(place, scope)
	return below && (rest == "" || rest[0] == '/' || strings.HasSuffix(scope, "/"))
}

// normalScope reads what a person writes: a URL, a host with a path, a folder.
func normalScope(scope string) (string, error) {
	switch {
	case isRemote(scope):
		u, err := url.Parse(scope)
		if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return "", fmt.Errorf("'%s' is no scope: write a host and a path, such as docs.example.com/team", scope)
		}
		return strings.TrimSuffix(strings.ToLower(u.Host)+u.EscapedPath(), "/"), nil
	case filepath.IsAbs(scope), strings.HasPrefix(scope, "."):
		place := placeOf(scope)
		if place == "" {
			return "", fmt.Errorf("'%s' is no scope: the folder cannot be found", scope)
		}
		return place, nil
	case scope == "" || strings.ContainsAny(scope, " \t\\?#@:*"):
		return "", fmt.Errorf("'%s' is no scope: write a host and a path (docs.example.com/team) or a folder (./docs)", scope)
	}
	host, path, _ := strings.Cut(scope, "/")
	return strings.TrimSuffix(strings.ToLower(host)+"/"+path, "/"), nil
}
