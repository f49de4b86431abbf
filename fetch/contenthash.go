package fetch

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Limits of a directory that is hashed.
const (
	maxTreeFiles = 100_000
	maxTreeBytes = 4 << 30
)

// NewHash gives the hash that a content_hash names; nil for a name that the
// specification does not have (section 4.21).
func NewHash(algorithm string) hash.Hash {
	switch algorithm {
	case "sha256":
		return sha256.New()
	case "sha384":
		return sha512.New384()
	case "sha512":
		return sha512.New()
	}
	return nil
}

// HashBytes gives the digest of bytes in lower-case hex. False means an unknown
// algorithm.
func HashBytes(data []byte, algorithm string) (string, bool) {
	h := NewHash(algorithm)
	if h == nil {
		return "", false
	}
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil)), true
}

// HashBelow gives the digest of a file or of a directory below root in
// lower-case hex. That of a directory covers every regular file in it, however
// deep; symbolic links are not followed and no name is left out: the lines
// <path> NUL <digest of the file> LF, sorted bytewise.
func HashBelow(ctx context.Context, root *os.Root, name, algorithm string) (string, *Refusal) {
	if NewHash(algorithm) == nil {
		r := refuse(BadHash, "unknown hash algorithm "+strconv.Quote(algorithm), "use sha256, sha384 or sha512")
		r.Location = name
		return "", r
	}
	info, err := root.Stat(name)
	if err != nil {
		return "", RefuseFile(name, err)
	}
	if !info.IsDir() {
		sum, _, err := hashFile(root, name, algorithm)
		if err != nil {
			return "", RefuseFile(name, err)
		}
		return sum, nil
	}
	sub, err := root.OpenRoot(name)
	if err != nil {
		return "", RefuseFile(name, err)
	}
	defer sub.Close()
	sum, err := hashTree(ctx, sub, algorithm)
	if err == ErrTooLarge {
		r := refuse(TooLarge, "a directory with too many files or bytes to be hashed", "name a smaller one")
		r.Location = name
		return "", r
	}
	if err != nil {
		return "", RefuseFile(name, err)
	}
	return sum, nil
}

func hashTree(ctx context.Context, root *os.Root, algorithm string) (string, error) {
	var lines []string
	var total int64
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		sum, size, err := hashFile(root, name, algorithm)
		if err != nil {
			return err
		}
		lines = append(lines, name+"\x00"+sum+"\n")
		if total += size; total > maxTreeBytes || len(lines) > maxTreeFiles {
			return ErrTooLarge
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	slices.Sort(lines)
	sum, _ := HashBytes([]byte(strings.Join(lines, "")), algorithm)
	return sum, nil
}

func hashFile(root *os.Root, name, algorithm string) (sum string, size int64, err error) {
	file, err := OpenRegular(root, name)
	if err != nil {
		return "", 0, err
	}
	defer file.Close()
	h := NewHash(algorithm)
	size, err = io.Copy(h, io.LimitReader(file, maxTreeBytes+1))
	if err == nil && size > maxTreeBytes {
		err = ErrTooLarge
	}
	return hex.EncodeToString(h.Sum(nil)), size, err
}
