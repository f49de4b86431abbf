package load

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

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

// staleAfter is the age at which a temporary file is one that a crash has left.
const staleAfter = time.Hour

// evict removes the oldest entries until those left have at most limit bytes,
// and temporary files that are stale beside the newest file. Whatever else is in
// the directory stays.
func evict(dir *os.Root, limit int64) {
	files, total := entryFiles(dir)
	for i, f := range files {
		newest := files[len(files)-1].ModTime()
		stale := strings.HasPrefix(f.Name(), temporaryPrefix) && newest.Sub(f.ModTime()) > staleAfter
		if !stale && (total <= limit || i == len(files)-1) {
			continue
		}
		if dir.Remove(f.Name()) == nil {
			total -= f.Size()
		}
	}
}

// entryFiles lists the files that a cache writes, oldest first, and their size.
func entryFiles(dir *os.Root) (files []fs.FileInfo, total int64) {
	list, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return nil, 0
	}
	for _, e := range list {
		if !strings.HasSuffix(e.Name(), entrySuffix) && !strings.HasPrefix(e.Name(), temporaryPrefix) {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
			total += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		if c := a.ModTime().Compare(b.ModTime()); c != 0 {
			return c
		}
		return strings.Compare(a.Name(), b.Name())
	})
	return files, total
}
