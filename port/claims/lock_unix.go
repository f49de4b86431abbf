//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package claims

import (
	"errors"

	"golang.org/x/sys/unix"
)

// lock waits until no other process has the journal.
func (j *journal) lock() error {
	for {
		err := unix.Flock(int(j.file.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (j *journal) unlock() { _ = unix.Flock(int(j.file.Fd()), unix.LOCK_UN) } // ends with the file at the latest
