// Package load turns a location into a manifest that can be trusted as far as
// its caller asked: it finds the bytes, reads them once, parses them, and checks
// the signature over exactly those bytes.
//
// Open this package at [Manifest]. Everything that plans, validates, traces or
// replays calls it, so that all of them find, bound and verify a manifest in the
// same way, and read what it includes (specification 3.11). [OpenCache] gives a cache of parsed manifests for the large ones.
//
// A manifest is somebody else's text. What it names is read only below a root
// directory, or over the network with the client that the caller gives; what the
// operator names (the manifest itself, a trusted key) may be anywhere.
// [Loaded.Unit] reads a unit of a loaded manifest, below its own directory only.
package load

import (
	"context"
	"fmt"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/fetch"
	"github.com/writ-dev/writ/kcp"
)

// Options says how far to trust a location. The zero value reads any local
// manifest, verifies its signature when there is one, and caches nothing.
type Options struct {
	// MaxBytes is the largest manifest that is read. Zero stands for
	// [kcp.DefaultMaxBytes], and over the network for the limit of the client.
	MaxBytes int
	// MaxUnitBytes is the largest unit that [Loaded.Unit] reads. Zero stands for
	// [fetch.DefaultMaxBytes].
	MaxUnitBytes int64
	// NoVerify leaves the signature alone: neither it nor a key is read, and
	// Loaded.Signature is nil. It contradicts RequireSignature. Signatures of
	// included manifests are checked all the same.
	NoVerify bool
	// RequireSignature refuses every manifest whose signature is not verified by
	// a declared or a trusted key. By default only an invalid one is refused.
	RequireSignature bool
	// TrustKey is the only key that may vouch: its text, or a file that may be
	// anywhere. Empty means the key that the manifest declares.
	TrustKey string
	// Pins are the publishers whose key the user has pinned. A manifest from a
	// pinned place must be signed with that key; it is as if TrustKey and
	// RequireSignature were set. Nil pins nobody.
	Pins *Pins
	// Root is the directory that the manifest and all that it names must be below.
	// Empty lets the manifest be anywhere, and what it names below the current
	// directory if that contains the manifest, else below the manifest's own.
	Root string
	// Cache keeps large manifests in parsed form. Nil means no cache. It is not
	// used with RequireSignature or TrustKey.
	Cache *Cache
	// Fetch reads what has an http or https location: manifests, signatures, keys
	// and units. Nil reads nothing over the network.
	Fetch *fetch.Client
	// Trace is the trace context for manifests that require one. The zero value
	// stands for a new one for each of them.
	Trace fetch.TraceParent
	// NoCompose leaves the composition of the manifest unresolved, and reads none
	// of its includes.
	NoCompose bool

	inclusion *inclusion
}

// Part is a manifest that was included.
type Part struct {
	Source string
	Digest artifact.Digest // of its bytes
}

// Loaded is one manifest as it was read.
type Loaded struct {
	// Manifest is what was parsed, with its composition resolved (specification
	// 3.11), unless Options.NoCompose says otherwise.
	Manifest *kcp.Manifest
	Findings []kcp.Finding // of parsing and composing; kcp.Validate gives the others
	// Parts counts the manifests that Manifest is made of, itself first. Included
	// lists the others, each before what it includes.
	Parts    int
	Included []Part
	// Bytes is what was read. The manifest refers to it: nobody may change it.
	Bytes  []byte
	Digest artifact.Digest // of Bytes
	// Source is the location of the file: as it was given, or joined with "/" to
	// the directory that was given; of a remote manifest the URL that gave it,
	// after redirects.
	Source string
	// Hops lists the URLs that were asked for a remote manifest, Source the last.
	Hops []string
	// Trace is the trace context that the manifest requires, to be sent and kept
	// with what is read for it; zero when it requires none.
	Trace fetch.TraceParent
	// Signature is what verification found; nil with NoVerify.
	Signature *kcp.Signature

	origin  origin
	vouched bool // a key that the user trusts signed the bytes
}

// Manifest reads the manifest at location: an http(s) URL, a file, or a directory
// that holds knowledge.yaml or .well-known/knowledge.yaml.
//
// The error is a [*Refusal], a [*fetch.Refusal] for a URL that was not read, a
// [*kcp.SyntaxError] for bytes that are not one YAML mapping, or that of a
// context that has ended. Its text begins with the location, and with the line
// and column where there is one.
func Manifest(ctx context.Context, location string, o Options) (*Loaded, error) {
	if o.NoVerify && o.RequireSignature {
		return nil, refuse(Contradiction, location,
			"a signature cannot be both required and left unverified; drop one of the two options")
	}
	if isRemote(location) {
		l, err := o.fetchManifest(ctx, location)
		if err != nil {
			return nil, err
		}
		if l, err = l.finish(ctx, location, &l.origin, o); err != nil {
			return nil, err
		}
		return l.compose(ctx, "", o)
	}
	asked := o
	if o.MaxBytes <= 0 {
		o.MaxBytes = kcp.DefaultMaxBytes
	}
	area, err := openArea(location, o.Root)
	if err != nil {
		return nil, err
	}
	defer area.close()
	l, err := area.read(ctx, location, o.MaxBytes)
	if err != nil {
		return nil, err
	}
	l.origin = o.origin(area)
	if l, err = l.finish(ctx, location, area, o); err != nil {
		return nil, err
	}
	return l.composeBelow(ctx, area, asked)
}

// finish parses and verifies what was read. What the manifest names is read from
// where the manifest is.
func (l *Loaded) finish(ctx context.Context, location string, from named, o Options) (*Loaded, error) {
	o, err := o.pinned(location, l.Source)
	if err != nil {
		return nil, err
	}
	if err := l.enter(o.inclusion); err != nil {
		return nil, err
	}
	l.Digest = artifact.Sum(l.Bytes)
	if err := l.parse(o); err != nil {
		return nil, err
	}
	l.follow(o)
	if o.NoVerify {
		return l, nil
	}
	if err := l.verify(ctx, from, o); err != nil {
		return nil, err
	}
	l.vouched = l.Signature.Status == kcp.Verified && o.TrustKey != ""
	return l, nil
}

// read finds and reads the manifest; the result has its bytes and its source.
func (a *area) read(ctx context.Context, location string, limit int) (*Loaded, error) {
	file, source, err := a.locate(location)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := fetch.ReadAll(ctx, file, int64(limit))
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", source, ctx.Err())
	case err == fetch.ErrTooLarge:
		return nil, refuse(TooLarge, source, fmt.Sprintf(
			"manifest has more than %d bytes; raise the limit with --max-manifest-bytes, or split the manifest", limit))
	case err != nil:
		return nil, refuse(Unreadable, source, problemOf(err))
	}
	return &Loaded{Bytes: data, Source: source}, nil
}

// parse fills in the manifest and its findings, from the cache where it may be
// used and has them.
func (l *Loaded) parse(o Options) error {
	cache := o.Cache
	if len(l.Bytes) < CacheThreshold || o.RequireSignature || o.TrustKey != "" {
		cache = nil
	}
	if m, findings, ok := cache.get(l.Digest, l.Bytes); ok {
		m.Source = l.Source
		l.Manifest, l.Findings = m, findings
		return nil
	}
	m, findings, err := kcp.ParseWith(l.Bytes, l.Source, kcp.Limits{MaxBytes: o.MaxBytes})
	if err != nil {
		return err
	}
	cache.put(l.Digest, m, findings)
	l.Manifest, l.Findings = m, findings
	return nil
}
