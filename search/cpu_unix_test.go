//go:build unix

package search_test

import (
	"syscall"
	"time"
)

// processCPU is the processor time that this process has used. Other processes
// on the machine do not count, as they do in wall time.
func processCPU() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
