package exec

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// group is the job that a program and all that it starts belong to. Closing it
// ends them.
type group struct{ job, leader windows.Handle }

func newGroup(leader *os.Process) (g group, err error) {
	if g.job, err = windows.CreateJobObject(nil, nil); err != nil {
		return group{}, fmt.Errorf("create a job: %w", err)
	}
	defer func() {
		if err != nil {
			g.close()
		}
	}()
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err = windows.SetInformationJobObject(g.job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		return g, fmt.Errorf("limit a job: %w", err)
	}
	const access = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE | windows.SYNCHRONIZE
	if g.leader, err = windows.OpenProcess(access, false, uint32(leader.Pid)); err != nil {
		return g, fmt.Errorf("open the program: %w", err)
	}
	if err = windows.AssignProcessToJobObject(g.job, g.leader); err != nil {
		return g, fmt.Errorf("put the program into its job: %w", err)
	}
	return g, nil
}

// await returns when the program has exited.
func (g group) await() {
	if g.leader != 0 {
		_, _ = windows.WaitForSingleObject(g.leader, windows.INFINITE)
	}
}

// terminate can ask nobody: a program without a window has no way to be told.
func (g group) terminate() bool { return false }

// kill ends all of the job.
func (g group) kill() { _ = windows.TerminateJobObject(g.job, 1) } // none left is no error

func (g *group) close() {
	for _, h := range []*windows.Handle{&g.leader, &g.job} {
		if *h != 0 {
			_ = windows.CloseHandle(*h)
			*h = 0
		}
	}
}

func signalOf(*os.ProcessState) string { return "" }

// sealFiles has nothing to do: a program is given its handles by name.
func sealFiles() {}
