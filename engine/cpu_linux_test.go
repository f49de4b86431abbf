package engine

import (
	"os"
	"syscall"
	"time"
)

// cpuTime gives the processor time that the process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func fdatasync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
