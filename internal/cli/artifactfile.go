package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// maxArtifactBytes bounds a saved artifact. A plan over a hundred thousand
// units has some ten megabytes.
const maxArtifactBytes = 128 << 20

// readArtifact reads a file that the caller names; - is standard input. Pipes
// are read too, so that a shell can substitute a command for a file.
func (r *runner) readArtifact(name string) ([]byte, error) {
	source := r.In
	if name == "-" {
		name = "standard input"
	} else {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, reasonOf(err))
		}
		defer file.Close()
		source = file
	}
	data, err := io.ReadAll(io.LimitReader(source, maxArtifactBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, reasonOf(err))
	case len(data) > maxArtifactBytes:
		return nil, fmt.Errorf("%s: more than %s bytes, which is no saved plan", name, grouped(maxArtifactBytes))
	}
	return data, nil
}

// reasonOf leaves the operation and the path out of a file error.
func reasonOf(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
