package load

import (
	"crypto/hmac"
	"crypto/sha256"
	"os"
	"path/filepath"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/fetch"
	"github.com/writ-dev/writ/kcp"
)

// CacheThreshold is the size in bytes from which a manifest is cached. Below it
// parsing takes some ten milliseconds, and a file for each manifest that was
// ever read is not worth them.
const CacheThreshold = 1 << 20

// Bounds of the cache directory. An entry takes an eighth of its
// manifest, or as much where the manifest is not in the usual style.
const (
	maxCacheBytes = 256 << 20 // all entries; beyond it the oldest go
	maxEntryBytes = 64 << 20
)

// Cache keeps parsed manifests in files named by the digest of the manifest's
// bytes. It never changes a result: an entry that is damaged, foreign or of
// another build is ignored and written again, and where a file cannot be written
// nothing is cached. No failure is reported.
//
// Each entry is authenticated with a key of this user, so that nobody else can
// plant one. Programs and goroutines may share a cache. A nil Cache is empty.
type Cache struct {
	entries string // directory
	keys    string // directory
}

// CacheDirs says where a cache is.
type CacheDirs struct {
	// Entries holds the entries. It is used only if it is a directory of this
	// user that nobody else may enter, and made like that. Empty stands for
	// writ/manifests in the user's cache directory.
	Entries string
	// Key holds cache.key. It is used only if it is a directory of this user that
	// nobody else may write. Empty stands for writ in the user's configuration
	// directory.
	Key string
}

// OpenCache gives the cache in dirs. It touches no file: that happens when the
// first manifest is large enough. Without a user's directory it gives nil.
func OpenCache(dirs CacheDirs) *Cache {
	if dirs.Entries == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil
		}
		dirs.Entries = filepath.Join(user, "writ", "manifests")
	}
	if dirs.Key == "" {
		user, err := os.UserConfigDir()
		if err != nil {
			return nil
		}
		dirs.Key = filepath.Join(user, "writ")
	}
	return &Cache{entries: dirs.Entries, keys: dirs.Key}
}

// get gives the manifest with that digest and those bytes, if it is there.
func (c *Cache) get(digest artifact.Digest, data []byte) (*kcp.Manifest, []kcp.Finding, bool) {
	if c == nil {
		return nil, nil, false
	}
	head, ok := newEntryHead(digest)
	if !ok {
		return nil, nil, false
	}
	key, err := readCacheKey(c.keys)
	if err != nil {
		return nil, nil, false
	}
	dir, err := fetch.OpenOwned(c.entries, 0o077)
	if err != nil {
		return nil, nil, false
	}
	defer dir.Close()
	entry, err := readSmall(dir, entryName(digest), maxEntryBytes)
	if err != nil {
		return nil, nil, false
	}
	body, ok := head.open(entry, key)
	if !ok {
		return nil, nil, false
	}
	m, findings, err := kcp.DecodeManifest(body, data)
	return m, findings, err == nil
}

// put writes the manifest with that digest.
func (c *Cache) put(digest artifact.Digest, m *kcp.Manifest, findings []kcp.Finding) {
	if c == nil {
		return
	}
	head, ok := newEntryHead(digest)
	if !ok {
		return
	}
	key, err := makeCacheKey(c.keys)
	if err != nil {
		return
	}
	if os.MkdirAll(c.entries, 0o700) != nil {
		return
	}
	dir, err := fetch.OpenOwned(c.entries, 0o077)
	if err != nil {
		return
	}
	defer dir.Close()
	entry := head.seal(func(b []byte) []byte { return kcp.AppendManifest(b, m, findings) }, key)
	if len(entry) > maxEntryBytes {
		return
	}
	// Not flushed to the disk: what a crash tears fails its authentication.
	if fetch.WriteWhole(dir, entryName(digest), entry, (*os.Root).Rename) == nil {
		fetch.Evict(dir, maxCacheBytes, entrySuffix)
	}
}

const entrySuffix = ".manifest"

func entryName(digest artifact.Digest) string { return digest.Hex() + entrySuffix }

// authenticate gives the code over the parts of an entry.
func authenticate(key []byte, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, key)
	for _, p := range parts {
		mac.Write(p)
	}
	return mac.Sum(nil)
}
