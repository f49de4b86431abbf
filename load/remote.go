package load

import (
	"context"
	"errors"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/writ-dev/writ/fetch"
	"github.com/writ-dev/writ/kcp"
)

// origin is where a manifest came from, and how what belongs to it is read later.
type origin struct {
	source       string
	root, folder string // of a file: the root directory if one was given, and the manifest's own below it, or absolute
	client       *fetch.Client
	trace        fetch.TraceParent
	maxUnitBytes int64
}

// fetchManifest reads a manifest over the network.
func (o Options) fetchManifest(ctx context.Context, location string) (*Loaded, error) {
	if o.Fetch == nil {
		return nil, refuse(Remote, location, problemRemote)
	}
	response, refusal := o.Fetch.Get(ctx, fetch.Request{URL: location, MaxBytes: int64(o.MaxBytes), Text: true, Trace: o.Trace})
	if refusal != nil {
		return nil, refusal
	}
	return &Loaded{
		Bytes: response.Bytes, Source: response.URL, Hops: response.Hops,
		origin: origin{source: response.URL, client: o.Fetch, maxUnitBytes: o.MaxUnitBytes},
	}, nil
}

// origin says where units of a local manifest are read. Without a root directory
// the manifest's own directory bounds them, where its name stands.
func (o Options) origin(a *area) origin {
	from := origin{client: o.Fetch, maxUnitBytes: o.MaxUnitBytes, root: a.path, folder: a.dir}
	if a.root == nil {
		from.root = ""
		if absolute, err := filepath.Abs(a.dir); err == nil {
			from.folder = absolute
		}
	}
	return from
}

// follow takes over what the manifest itself asks of whoever reads for it.
func (l *Loaded) follow(o Options) {
	l.origin.source = l.Source
	if audit := l.Manifest.Trust.Audit; audit != nil && (audit.RequireTraceContext.Grants() || audit.RequireTraceContext.Malformed) {
		l.Trace = o.Trace
		if l.Trace.IsZero() {
			l.Trace = fetch.NewTraceParent()
		}
		l.origin.trace = l.Trace
	}
}

var errNotRemote = errors.New("leads to no http(s) location")

// readNamed reads what a remote manifest names, relative to its URL. It never
// leads to a file.
func (f origin) readNamed(ctx context.Context, location string, limit int) ([]byte, error) {
	resolved := kcp.ResolveLocation(f.source, location)
	if !isRemote(resolved) {
		return nil, errors.New(location + ": " + errNotRemote.Error())
	}
	return f.readText(ctx, resolved, limit)
}

// readText reads a signature or a key over the network.
func (f origin) readText(ctx context.Context, location string, limit int) ([]byte, error) {
	if f.client == nil {
		return nil, errors.New(location + ": " + problemRemote)
	}
	response, refusal := f.client.Get(ctx, fetch.Request{URL: location, MaxBytes: int64(limit), Text: true, Trace: f.trace})
	if refusal != nil {
		return nil, errors.New(refusal.Error())
	}
	return response.Bytes, nil
}

// remoteName gives the last part of a URL's path, as it is escaped.
func remoteName(source string) string {
	u, err := url.Parse(source)
	if err != nil || strings.HasSuffix(u.Path, "/") {
		return "knowledge.yaml"
	}
	return path.Base(u.EscapedPath())
}
