//go:build unix

package fetch

import (
	"io/fs"
	"os"
	"syscall"
)

// openFlags keep open from waiting for the other end of a pipe, and from making
// a terminal the controlling one.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY

// OwnedAlone reports whether a file belongs to this user and grants others none
// of the permissions in mask.
func OwnedAlone(info fs.FileInfo, mask fs.FileMode) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&mask == 0
}
