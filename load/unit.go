package load

import (
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/fetch"
	"github.com/writ-dev/writ/kcp"
)

// Unit is the content of one unit as it was read.
type Unit struct {
	Bytes  []byte
	SHA256 artifact.Digest // of Bytes
	// Access is the unit's access class as the manifest writes it: empty means
	// public. Whoever keeps the bytes must treat them accordingly.
	Access string
}

// The codes of a unit that its manifest keeps from being read.
const (
	NoSource   fetch.Code = "no-source"   // the manifest was not loaded from anywhere
	NoUnit     fetch.Code = "no-unit"     // no unit has that id
	SharedID   fetch.Code = "shared-id"   // several have, and none of them can be meant
	NotGranted fetch.Code = "not-granted" // a skill or playbook without load_eligible
	NoPath     fetch.Code = "no-path"     // nothing to read
	UnsafePath fetch.Code = "unsafe-path" // the path leads out of the manifest's directory
)

// Unit reads the content of the unit with that id, below the directory or the URL
// of its own manifest. The gates that need no options are checked once more;
// whether the unit may be loaded for a task is for the plan to say, and the
// caller asks it first. Where the unit declares a content_hash the bytes fit it.
//
// The refusal is nil exactly when the unit was read. Its Problem has the words
// with which the reference agent reports an unavailable unit.
func (l *Loaded) Unit(ctx context.Context, id string) (Unit, *fetch.Refusal) {
	u, refusal := l.unit(id)
	if refusal != nil {
		return Unit{}, refusal
	}
	location := kcp.ResolveLocation(l.Source, u.Path)
	want, refusal := declaredHash(u)
	if refusal != nil {
		refusal.Location = location
		return Unit{}, refusal
	}
	var data []byte
	if isRemote(l.Source) {
		data, refusal = l.origin.fetchUnit(ctx, location, want.algorithm != "")
	} else {
		data, refusal = l.origin.readUnit(ctx, u.Path)
	}
	if refusal == nil {
		refusal = want.check(data)
	}
	if refusal != nil {
		refusal.Location = location
		return Unit{}, refusal
	}
	return Unit{Bytes: data, SHA256: artifact.Sum(data), Access: u.Access.Value}, nil
}

// unit finds a unit and checks what does not depend on a task.
func (l *Loaded) unit(id string) (*kcp.Unit, *fetch.Refusal) {
	names := l.Manifest.Names()
	u := names.Unit(id)
	refuse := func(code fetch.Code, problem, advice string) (*kcp.Unit, *fetch.Refusal) {
		return nil, &fetch.Refusal{Code: code, Location: l.Source + "#" + id, Problem: problem, Advice: advice}
	}
	switch {
	case u == nil:
		return refuse(NoUnit, "no unit has the id "+strconv.Quote(id), "take an id from the plan")
	case names.Shared(id):
		return refuse(SharedID, "not load-eligible: several units have the id "+strconv.Quote(id), "give each unit its own id")
	case u.Governed() && !(u.Kind.Value == u.GovernedKind() && u.LoadEligible.Grants()):
		return refuse(NotGranted, "not load-eligible: a "+u.GovernedKind()+" without load_eligible: true", "ask the publisher for the grant")
	case u.Path == "":
		return refuse(NoPath, "the unit has no path", "ask the publisher")
	case kcp.SafeUnitPath(u.Path) != "":
		return refuse(UnsafePath, "unsafe path (absolute, traversing, or a URL)", kcp.SafeUnitPath(u.Path))
	case l.origin == origin{}:
		return refuse(NoSource, "manifest has no source; content not loadable", "")
	}
	return u, nil
}

// fetchUnit reads a unit of a remote manifest. A redirect stays below the
// manifest's folder, unless a digest vouches for the bytes.
func (f origin) fetchUnit(ctx context.Context, location string, vouched bool) ([]byte, *fetch.Refusal) {
	if f.client == nil {
		return nil, &fetch.Refusal{Code: fetch.NoNetwork, Problem: problemRemote}
	}
	response, refusal := f.client.Get(ctx, fetch.Request{
		URL: location, MaxBytes: f.maxUnitBytes, Within: f.source, Vouched: vouched, Trace: f.trace,
	})
	if refusal != nil {
		refusal.Problem = "fetch failed: " + refusal.Problem
		return nil, refusal
	}
	return response.Bytes, nil
}

// readUnit reads a unit of a local manifest, below the manifest's directory.
func (f origin) readUnit(ctx context.Context, name string) ([]byte, *fetch.Refusal) {
	dir, err := f.open()
	if err != nil {
		return nil, fetch.RefuseFile(name, err)
	}
	defer dir.Close()
	limit := f.maxUnitBytes
	if limit <= 0 {
		limit = fetch.DefaultMaxBytes
	}
	data, refusal := fetch.File(ctx, dir, filepath.FromSlash(name), limit)
	if refusal != nil && refusal.Code == fetch.NotFound {
		refusal.Problem = "file not found on disk"
	}
	return data, refusal
}

// open opens the manifest's directory, below the root if there is one.
func (f origin) open() (*os.Root, error) {
	if f.root == "" {
		return os.OpenRoot(f.folder)
	}
	root, err := os.OpenRoot(f.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenRoot(f.folder)
}

// contentHash is what a unit says about its bytes; the zero value says nothing.
type contentHash struct{ algorithm, value string }

// declaredHash reads a unit's content_hash. One that cannot be checked closes the
// unit: it was declared so that other bytes are not used.
func declaredHash(u *kcp.Unit) (contentHash, *fetch.Refusal) {
	h := u.ContentHash
	if h == nil {
		return contentHash{}, nil
	}
	want := contentHash{h.Algorithm.Value, strings.ToLower(h.Value.Value)}
	sum, err := hex.DecodeString(want.value)
	hash := fetch.NewHash(want.algorithm)
	if h.Malformed || hash == nil || err != nil || len(sum) != hash.Size() {
		return want, &fetch.Refusal{Code: fetch.BadHash, Problem: "the content_hash of the unit cannot be checked",
			Advice: "it needs an algorithm (sha256, sha384 or sha512) and a digest in hex"}
	}
	return want, nil
}

func (c contentHash) check(data []byte) *fetch.Refusal {
	if c.algorithm == "" {
		return nil
	}
	if got, _ := fetch.HashBytes(data, c.algorithm); got != c.value {
		return &fetch.Refusal{Code: fetch.HashMismatch, Problem: "the content does not fit its content_hash: " + c.algorithm + " is " + got + ", not " + c.value,
			Advice: "the content or the manifest is out of date, or somebody changed it"}
	}
	return nil
}

// ContentHash gives the digest that a unit's content_hash should have now, in
// lower-case hex: of its file, or of all files of its directory (format section
// 12.3). It is for checking a manifest and for making one.
func (l *Loaded) ContentHash(ctx context.Context, id, algorithm string) (string, *fetch.Refusal) {
	u, refusal := l.unit(id)
	if refusal != nil {
		return "", refusal
	}
	if isRemote(l.Source) {
		data, refusal := l.origin.fetchUnit(ctx, kcp.ResolveLocation(l.Source, u.Path), true)
		if refusal != nil {
			return "", refusal
		}
		sum, ok := fetch.HashBytes(data, algorithm)
		if !ok {
			return "", &fetch.Refusal{Code: fetch.BadHash, Location: l.Source, Problem: "unknown hash algorithm " + strconv.Quote(algorithm),
				Advice: "use sha256, sha384 or sha512"}
		}
		return sum, nil
	}
	dir, err := l.origin.open()
	if err != nil {
		return "", fetch.RefuseFile(l.Source, err)
	}
	defer dir.Close()
	return fetch.HashBelow(ctx, dir, filepath.FromSlash(u.Path), algorithm)
}
