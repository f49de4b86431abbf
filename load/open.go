package load

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// place opens files: anywhere, or [*os.Root], which keeps them below a directory.
type place interface {
	Stat(name string) (fs.FileInfo, error)
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
}

// anywhere is the whole file system.
type anywhere struct{}

func (anywhere) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

func (anywhere) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

// openRegular opens a regular file for reading and never blocks. The first look
// keeps it from touching a device, which can act on being opened; the second is
// at the file that was really opened.
func openRegular(p place, name string) (*os.File, error) {
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

// readFile reads a file that is at most limit bytes long, whatever its size is
// said to be. The error for a longer one is errTooLarge.
func readFile(ctx context.Context, file *os.File, limit int) ([]byte, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > int64(limit) {
		return nil, errTooLarge
	}
	b := make([]byte, 0, info.Size()+1) // one more, to see the end without growing
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := file.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case len(b) > limit:
			return nil, errTooLarge
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

// readSmall opens and reads a regular file of at most limit bytes.
func readSmall(p place, name string, limit int) ([]byte, error) {
	file, err := openRegular(p, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := readFile(context.Background(), file, limit)
	if err == errTooLarge {
		err = fmt.Errorf("larger than %d bytes", limit)
	}
	return data, err
}
