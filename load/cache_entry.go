package load

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
)

// entryMagic begins every entry; its last byte is the version of the format.
const entryMagic = "writ cache\x00\x01"

// entryHead is how an entry begins: the magic, who wrote it, and the digest of
// the manifest. The code of authentication follows, over the head and the body
// behind it.
type entryHead []byte

// newEntryHead gives the head that this program writes and accepts, if it knows
// itself well enough to tell another build apart.
func newEntryHead(digest artifact.Digest) (entryHead, bool) {
	build, ok := buildIdentity()
	if !ok {
		return nil, false
	}
	return slices.Concat([]byte(entryMagic), build[:], digest[:]), true
}

// open gives the body of an entry if it has this head and is authentic.
func (h entryHead) open(entry, key []byte) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(entry, h)
	if !ok || len(rest) < sha256.Size {
		return nil, false
	}
	code, body := rest[:sha256.Size], rest[sha256.Size:]
	return body, hmac.Equal(code, authenticate(key, h, body))
}

// seal gives an entry with the body that appendBody appends.
func (h entryHead) seal(appendBody func([]byte) []byte, key []byte) []byte {
	entry := append(bytes.Clone(h), make([]byte, sha256.Size)...)
	entry = appendBody(entry)
	body := entry[len(h)+sha256.Size:]
	copy(entry[len(h):], authenticate(key, h, body))
	return entry
}

// buildIdentity tells one build of the parser from another: a mended parser must
// not find what the faulty one made of the same bytes. Versions alone do not do
// that while somebody works on it, so the program's file counts too.
var buildIdentity = sync.OnceValues(func() (id [sha256.Size]byte, ok bool) {
	path, err := os.Executable()
	if err != nil {
		return id, false
	}
	file, err := os.Stat(path)
	if err != nil {
		return id, false
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return id, false
	}
	return sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d %d\n%s",
		kcp.BinarySchema(), path, file.Size(), file.ModTime().UnixNano(), build)), true
})
