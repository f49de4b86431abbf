package kcp

import "github.com/writ-dev/writ/artifact"

// Digest is the digest of the exact bytes that were parsed, a byte order mark
// included. A manifest that was not parsed has the digest of no bytes.
func (m *Manifest) Digest() artifact.Digest {
	if m.marked {
		return artifact.Sum([]byte(byteOrderMark + m.src))
	}
	return artifact.Sum([]byte(m.src))
}
