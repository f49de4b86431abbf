package fetch

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// What caches are made of: directories of this user's own, and files that appear
// whole.

// ErrNotOwned is a directory that others could have written to.
var ErrNotOwned = errors.New("not this user's own")

// OpenOwned opens a directory that belongs to this user, is no symbolic link and
// gives others none of the permissions in mask.
func OpenOwned(dir string, mask fs.FileMode) (*os.Root, error) {
	named, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	if err != nil || !os.SameFile(named, opened) || !OwnedAlone(opened, mask) {
		return nil, errors.Join(ErrNotOwned, err, root.Close())
	}
	return root, nil
}

const temporaryPrefix = ".new-"

// WriteWhole writes a file under a temporary name and then publishes it, by
// [os.Root.Rename] or [os.Root.Link], so that no reader sees a part of it.
func WriteWhole(dir *os.Root, name string, data []byte, publish func(dir *os.Root, from, to string) error) error {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	temporary := temporaryPrefix + hex.EncodeToString(random[:])
	file, err := dir.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err == nil {
		err = publish(dir, temporary, name)
	}
	_ = dir.Remove(temporary) // gone already when it was renamed
	return err
}

// staleAfter is the age at which a temporary file is one that a crash has left.
const staleAfter = time.Hour

// Evict removes the oldest files with one of the suffixes until those left have
// at most limit bytes, and temporary files that are stale beside the newest
// file. Whatever else is in the directory stays.
func Evict(dir *os.Root, limit int64, suffixes ...string) {
	files, total := cacheFiles(dir, suffixes)
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

// cacheFiles lists the files that a cache writes, oldest first, and their size.
func cacheFiles(dir *os.Root, suffixes []string) (files []fs.FileInfo, total int64) {
	list, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return nil, 0
	}
	for _, e := range list {
		ours := slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(e.Name(), suffix) })
		if !ours && !strings.HasPrefix(e.Name(), temporaryPrefix) {
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
