//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package exec

import (
	"os"
	"strconv"
	"syscall"
)

// group is the process group of a program. Its id is that of the program, and
// belongs to the group as long as the program has not been waited for.
type group struct{ leader *os.Process }

func newGroup(leader *os.Process) (group, error) { return group{leader}, nil }

// await returns when the program has exited. Where the system can say so without
// taking note of it, the group's id still is the group's then.
func (g group) await() { awaitExit(g.leader) }

// terminate asks all of the group to end.
func (g group) terminate() bool { return syscall.Kill(-g.leader.Pid, syscall.SIGTERM) == nil }

// kill ends all of the group.
func (g group) kill() { _ = syscall.Kill(-g.leader.Pid, syscall.SIGKILL) } // none left is no error

func (g group) close() {}

// signalOf names the signal that ended a program, or gives "".
func signalOf(state *os.ProcessState) string {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return ""
	}
	if name, ok := signalNames[status.Signal()]; ok {
		return name
	}
	return status.Signal().String()
}

var signalNames = map[syscall.Signal]string{
	syscall.SIGABRT: "SIGABRT", syscall.SIGALRM: "SIGALRM", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE",
	syscall.SIGHUP: "SIGHUP", syscall.SIGILL: "SIGILL", syscall.SIGINT: "SIGINT", syscall.SIGKILL: "SIGKILL",
	syscall.SIGPIPE: "SIGPIPE", syscall.SIGQUIT: "SIGQUIT", syscall.SIGSEGV: "SIGSEGV", syscall.SIGSYS: "SIGSYS",
	syscall.SIGTERM: "SIGTERM", syscall.SIGXCPU: "SIGXCPU", syscall.SIGXFSZ: "SIGXFSZ",
}

// sealFiles makes sure that a program gets none of the files which this process
// has open. Go opens all of its own so; whoever started this process may not have.
func sealFiles() {
	if sealAtOnce() {
		return
	}
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
