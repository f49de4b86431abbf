package fetch

import (
	"context"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// Suffixes and bounds of the cache directory.
const (
	bodySuffix = ".body" // named by the digest of its bytes
	urlSuffix  = ".url"  // named by the digest of the URL; says which body it had

	maxCacheBytes     = 256 << 20 // all files; beyond it the oldest go
	maxValidatorBytes = 1 << 10
	maxEntryBytes     = 64 << 10
)

// Cache keeps bodies on disk under their digest, and for each URL which body it
// had with which validators (RFC 9110 section 8.8). Nothing comes out of it
// before the server has said, over the guard, that it still holds: it saves
// bytes, never a request. Damaged files are ignored; where a file cannot be
// written nothing is kept. No failure is reported. A nil Cache is empty.
type Cache struct{ dir string }

// OpenCache gives the cache in a directory, which is used only if it belongs to
// this user and nobody else may enter it. Empty stands for writ/remote in the
// user's cache directory; without one it gives nil. It touches no file.
func OpenCache(dir string) *Cache {
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil
		}
		dir = filepath.Join(user, "writ", "remote")
	}
	return &Cache{dir: dir}
}

// keptBody is what a URL had when it was last read.
type keptBody struct {
	URL          string `json:"url"`
	ETag         string `json:"etag,omitzero"`
	LastModified string `json:"lastModified,omitzero"`
	ContentType  string `json:"contentType,omitzero"`
	SHA256       string `json:"sha256"`

	body []byte
}

// ask makes a request conditional.
func (k *keptBody) ask(header http.Header) {
	if k == nil {
		return
	}
	if k.ETag != "" {
		header.Set("If-None-Match", k.ETag)
	}
	if k.LastModified != "" {
		header.Set("If-Modified-Since", k.LastModified)
	}
}

// find gives what is kept for a URL; nil when there is nothing to be trusted.
func (c *Cache) find(url string) *keptBody {
	if c == nil {
		return nil
	}
	dir, err := OpenOwned(c.dir, 0o077)
	if err != nil {
		return nil
	}
	defer dir.Close()
	text, err := ReadSmall(context.Background(), dir, nameOf(url), maxEntryBytes)
	if err != nil {
		return nil
	}
	var kept keptBody
	if artifact.Decode(text, &kept, artifact.RefuseUnknown) != nil || kept.URL != url || !kept.valid() {
		return nil
	}
	kept.body, err = ReadSmall(context.Background(), dir, kept.SHA256+bodySuffix, maxCacheBytes)
	if err != nil || artifact.Sum(kept.body).Hex() != kept.SHA256 {
		return nil
	}
	return &kept
}

// keep writes a body, if the server allows that and gave something to ask by.
func (c *Cache) keep(url string, header http.Header, body []byte) {
	kept := keptBody{
		URL:          url,
		ETag:         header.Get("ETag"),
		LastModified: header.Get("Last-Modified"),
		ContentType:  header.Get("Content-Type"),
		SHA256:       artifact.Sum(body).Hex(),
	}
	if c == nil || !kept.valid() || strings.Contains(strings.ToLower(strings.Join(header.Values("Cache-Control"), ",")), "no-store") {
		return
	}
	text, err := artifact.EncodeCompact(kept)
	if err != nil || os.MkdirAll(c.dir, 0o700) != nil {
		return
	}
	dir, err := OpenOwned(c.dir, 0o077)
	if err != nil {
		return
	}
	defer dir.Close()
	// Not flushed to the disk: what a crash tears fails its digest.
	if WriteWhole(dir, kept.SHA256+bodySuffix, body, (*os.Root).Rename) == nil &&
		WriteWhole(dir, nameOf(url), text, (*os.Root).Rename) == nil {
		Evict(dir, maxCacheBytes, bodySuffix, urlSuffix)
	}
}

// valid checks what will be sent back in a header and used as a name.
func (k *keptBody) valid() bool {
	digest, err := hex.DecodeString(k.SHA256)
	if err != nil || len(digest) != len(artifact.Digest{}) || k.ETag == "" && k.LastModified == "" {
		return false
	}
	for _, value := range []string{k.ETag, k.LastModified, k.ContentType} {
		if len(value) > maxValidatorBytes || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
			return false
		}
	}
	return true
}

func nameOf(url string) string { return artifact.Sum([]byte(url)).Hex() + urlSuffix }
