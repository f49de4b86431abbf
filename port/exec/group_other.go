//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd && !windows

package exec

import (
	"errors"
	"os"
	"syscall"
)

// group is missing here: a program that cannot be ended with all that it has
// started is not run.
type group struct{}

func groupAttributes() *syscall.SysProcAttr { return nil }

func newGroup(*os.Process) (group, error) {
	return group{}, errors.New("this system has no process groups that writ knows")
}

func (group) await()          {}
func (group) terminate() bool { return false }
func (group) kill()           {}
func (group) close()          {}

func signalOf(*os.ProcessState) string { return "" }

func sealFiles() {}
