package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Place opens files: [Anywhere], or [*os.Root], which keeps them below a
// directory.
type Place interface {
	Stat(name string) (fs.FileInfo, error)
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
}

// Anywhere is the whole file system. Only what the operator names is read there.
type Anywhere struct{}

// Stat is [os.Stat].
func (Anywhere) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// OpenFile is [os.OpenFile].
func (Anywhere) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

// ErrTooLarge is a file with more bytes than its reader takes.
var ErrTooLarge = errors.New("too large")

// OpenRegular opens a regular file for reading and never blocks. The first look
// keeps it from touching a device, which can act on being opened; the second is
// at the file that was really opened.
func OpenRegular(p Place, name string) (*os.File, error) {
	info, err := p.Stat(name)
	if err != nil {
		return nil, err
	}
	if err := checkRegular(info.Mode()); err != nil {
		return nil, err
	}
	file, err := p.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err == nil {
		err = checkRegular(info.Mode())
	}
	if err != nil {
		_ = file.Close() // the first error says more
		return nil, err
	}
	return file, nil
}

// ReadAll reads a file that is at most limit bytes long, whatever its size is
// said to be. The error for a longer one is [ErrTooLarge].
func ReadAll(ctx context.Context, file *os.File, limit int64) ([]byte, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, ErrTooLarge
	}
	b := make([]byte, 0, info.Size()+1) // one more, to see the end without growing
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := file.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case int64(len(b)) > limit:
			return nil, ErrTooLarge
		case err == io.EOF:
			return b, nil
		case err != nil:
			return nil, err
		}
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
	}
}

// ReadSmall opens and reads a regular file of at most limit bytes.
func ReadSmall(ctx context.Context, p Place, name string, limit int64) ([]byte, error) {
	file, err := OpenRegular(p, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := ReadAll(ctx, file, limit)
	if err == ErrTooLarge {
		err = fmt.Errorf("larger than %d bytes", limit)
	}
	return data, err
}

// Irregular is what stands where a regular file is expected.
type Irregular struct{ What string }

func (e Irregular) Error() string { return e.What + ", not a regular file" }

// checkRegular gives an [Irregular] error for everything but a regular file.
func checkRegular(mode fs.FileMode) error {
	switch {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return Irregular{"a directory"}
	case mode&fs.ModeNamedPipe != 0:
		return Irregular{"a named pipe"}
	case mode&fs.ModeSocket != 0:
		return Irregular{"a socket"}
	case mode&fs.ModeDevice != 0:
		return Irregular{"a device"}
	}
	return Irregular{"something special"}
}

// IsMissing reports whether err says that a path leads nowhere.
func IsMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// escapeText is how [os.Root] says that a path leads out; it exports no value to
// compare with.
const escapeText = "path escapes from parent"

// Escapes reports whether err says that a path leads out of an [*os.Root].
func Escapes(err error) bool {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err != nil && err.Error() == escapeText
}
