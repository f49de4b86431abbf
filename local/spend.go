package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/writ-dev/writ/artifact"
)

// Spend gives what keeps the use of authorizations beside a store: each of them is
// fresh for whoever asks first, and for nobody after that. A copy of the store
// elsewhere knows nothing of it.
func Spend(store string) func(artifact.Digest) (fresh bool, err error) {
	dir := filepath.Join(filepath.Dir(store), "spent")
	return func(d artifact.Digest) (bool, error) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return false, fmt.Errorf("spend authorization: %w", err)
		}
		f, err := os.OpenFile(filepath.Join(dir, d.Hex()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return false, nil
		}
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		if err != nil {
			return false, fmt.Errorf("spend authorization: %w", err)
		}
		return true, nil
	}
}
