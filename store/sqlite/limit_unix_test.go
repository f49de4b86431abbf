//go:build unix

package sqlite_test

import (
	"os/signal"
	"syscall"
)

const canLimitFiles = true

// limitFiles makes writes beyond that many bytes of a file fail.
func limitFiles(bytes uint64) error {
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	limit.Cur = bytes
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
}
