package load

import (
	"context"
	"errors"
	"path"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
)

// maxKeyBytes is the largest signature or key file that is read.
const maxKeyBytes = 64 << 10

// named reads what a manifest names, from where the manifest is. The error has
// the location as the manifest writes it.
type named interface {
	readNamed(ctx context.Context, location string, limit int) ([]byte, error)
}

// verify checks the signature over the bytes that were parsed. It refuses an
// invalid one always, and one that is not verified where it is required.
func (l *Loaded) verify(ctx context.Context, from named, o Options) error {
	load := func(location string) ([]byte, error) {
		if isRemote(location) {
			return l.origin.readText(ctx, location, maxKeyBytes)
		}
		return from.readNamed(ctx, location, maxKeyBytes)
	}
	signing := l.Manifest.Signing
	verify := kcp.VerifyOptions{
		TrustedKey:  o.TrustKey,
		Load:        load,
		LoadTrusted: func(location string) ([]byte, error) { return l.readTrusted(ctx, location) },
	}
	if s := signsBeside(l.Manifest); s != nil {
		signing, verify.Load = l.beside(signing, load)
		verify.JWSKey = s.VerificationURL.Value
	}
	s := kcp.Verify(l.Bytes, signing, verify)
	l.Signature = &s
	switch {
	case s.Status == kcp.Invalid:
		return refuse(SignatureInvalid, l.Source, "signature invalid: "+s.Detail)
	case s.Status != kcp.Verified && o.RequireSignature:
		return refuse(SignatureRequired, l.Source, "signature required but "+string(s.Status)+": "+s.Detail)
	}
	return nil
}

// signsBeside gives trust.content_integrity.signing when it says that there is a
// JWS and no root signing block takes its place.
func signsBeside(m *kcp.Manifest) *kcp.IntegritySigning {
	c := m.Trust.ContentIntegrity
	if m.Signing == nil || !m.Signing.Legacy || c == nil || c.Signing == nil {
		return nil
	}
	if !c.Signing.Enabled.Grants() || c.Signing.Method.Value != "jws" {
		return nil
	}
	return c.Signing
}

// beside finds the signature of a block that names no location for it: the file
// <manifest>.sig beside the manifest (format section 12.2). Where there is none
// the block stays as it is.
func (l *Loaded) beside(s *kcp.Signing, load func(string) ([]byte, error)) (*kcp.Signing, func(string) ([]byte, error)) {
	if s.Signature.Value != "" {
		return s, load
	}
	location := path.Base(l.Source) + ".sig"
	if isRemote(l.Source) {
		location = kcp.ResolveLocation(l.Source, "./"+remoteName(l.Source)+".sig")
	}
	data, err := load(location)
	if err != nil {
		return s, load
	}
	found := *s
	found.Signature = artifact.Some(location)
	return &found, func(asked string) ([]byte, error) {
		if asked == location {
			return data, nil
		}
		return load(asked)
	}
}

// readTrusted reads a key that the operator names.
func (l *Loaded) readTrusted(ctx context.Context, location string) ([]byte, error) {
	if isRemote(location) {
		return l.origin.readText(ctx, location, maxKeyBytes)
	}
	data, err := readSmall(anywhere{}, location, maxKeyBytes)
	if err != nil {
		return nil, errors.New(location + ": " + problemOf(err))
	}
	return data, nil
}
