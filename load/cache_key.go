package load

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"

	"github.com/writ-dev/writ/fetch"
)

const (
	cacheKeyName = "cache.key"
	cacheKeySize = 32 // bytes, random
)

var errKeyDamaged = errors.New("cache key does not have 32 bytes")

// readCacheKey reads the key in a directory. Its file must belong to this user,
// and nobody else may read it.
func readCacheKey(dir string) ([]byte, error) {
	root, err := fetch.OpenOwned(dir, 0o022)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return keyIn(root)
}

func keyIn(root *os.Root) ([]byte, error) {
	info, err := root.Lstat(cacheKeyName)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || !fetch.OwnedAlone(info, 0o077) {
		return nil, fetch.ErrNotOwned
	}
	key, err := readSmall(root, cacheKeyName, cacheKeySize)
	if err != nil && info.Size() == cacheKeySize {
		return nil, err
	}
	if len(key) != cacheKeySize {
		return nil, errKeyDamaged
	}
	return key, nil
}

// makeCacheKey reads the key, and makes one where there is none or a damaged
// one. Of two programs that make it at the same time one wins, and both use that
// key: a link never replaces a file, and has all its bytes from the start.
func makeCacheKey(dir string) ([]byte, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := fetch.OpenOwned(dir, 0o022)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	key, err := keyIn(root)
	publish := (*os.Root).Link
	switch {
	case err == errKeyDamaged:
		publish = (*os.Root).Rename
	case !errors.Is(err, fs.ErrNotExist):
		return key, err
	}
	key = make([]byte, cacheKeySize)
	_, _ = rand.Read(key) // never fails
	if err := fetch.WriteWhole(root, cacheKeyName, key, publish); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return keyIn(root)
}
