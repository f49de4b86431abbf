//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package exec

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func groupAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func awaitExit(p *os.Process) {
	queue, err := unix.Kqueue()
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(queue) }()
	var watch [1]unix.Kevent_t
	unix.SetKevent(&watch[0], p.Pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	watch[0].Fflags = unix.NOTE_EXIT
	for {
		// A program that has exited already is reported as missing.
		n, err := unix.Kevent(queue, watch[:], watch[:], nil)
		if n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func sealAtOnce() bool { return false }
