package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/writ-dev/writ/fetch"
)

// maxArtifactBytes bounds a file that a command line names. A saved plan over a
// hundred thousand units has some ten megabytes.
const maxArtifactBytes = 128 << 20

// readArtifact reads a file that the caller names; - is standard input. Only
// regular files are read, and what a shell hands over as an open descriptor, so that
// it can substitute a command for a file: a pipe by another name may wait for ever,
// and a device may have no end.
func (r *runner) readArtifact(name string) ([]byte, error) {
	var data []byte
	var err error
	switch {
	case name == "-":
		name = "standard input"
		if data, err = io.ReadAll(io.LimitReader(r.In, maxArtifactBytes+1)); len(data) > maxArtifactBytes {
			err = fetch.ErrTooLarge
		}
	case isDescriptor(name):
		data, err = readOpened(os.Open(name))
	default:
		data, err = readOpened(fetch.OpenRegular(fetch.Anywhere{}, name))
	}
	if errors.Is(err, fetch.ErrTooLarge) {
		err = fmt.Errorf("more than %s bytes", grouped(maxArtifactBytes))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, reasonOf(err))
	}
	return data, nil
}

func readOpened(file *os.File, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return fetch.ReadAll(context.Background(), file, maxArtifactBytes)
}

// isDescriptor reports whether a name stands for a file that this process was
// started with.
func isDescriptor(name string) bool {
	return name == "/dev/stdin" || strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(name, "/proc/self/fd/")
}

// reasonOf leaves the operation and the path out of a file error.
func reasonOf(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
