package load

import (
	"errors"

	"github.com/writ-dev/writ/kcp"
)

// maxKeyBytes is the largest signature or key file that is read.
const maxKeyBytes = 64 << 10

// verify checks the signature over the bytes that were parsed. It refuses an
// invalid one always, and one that is not verified where it is required.
func (l *Loaded) verify(a *area, o Options) error {
	s := kcp.Verify(l.Bytes, l.Manifest.Signing, kcp.VerifyOptions{
		TrustedKey:  o.TrustKey,
		Load:        func(location string) ([]byte, error) { return a.readNamed(location, maxKeyBytes) },
		LoadTrusted: readTrusted,
	})
	l.Signature = &s
	switch {
	case s.Status == kcp.Invalid:
		return refuse(SignatureInvalid, l.Source, "signature invalid: "+s.Detail)
	case s.Status != kcp.Verified && o.RequireSignature:
		return refuse(SignatureRequired, l.Source, "signature required but "+string(s.Status)+": "+s.Detail)
	}
	return nil
}

// readTrusted reads a key file that the operator names.
func readTrusted(location string) ([]byte, error) {
	if isRemote(location) {
		return nil, errors.New(location + ": " + problemRemote)
	}
	data, err := readSmall(anywhere{}, location, maxKeyBytes)
	if err != nil {
		return nil, errors.New(location + ": " + problemOf(err))
	}
	return data, nil
}
