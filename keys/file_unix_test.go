//go:build unix

package keys

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// TestReadFileWaitsForNobody would hang if the pipe were opened.
func TestReadFileWaitsForNobody(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := ReadFile(pipe); !errors.Is(err, ErrKeyFile) {
		t.Error(err)
	}
}
