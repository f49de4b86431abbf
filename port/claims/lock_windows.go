package claims

import "golang.org/x/sys/windows"

// lock waits until no other process has the journal. The byte that is locked lies
// beyond its content, which others may read meanwhile.
func (j *journal) lock() error {
	return windows.LockFileEx(windows.Handle(j.file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, beyond())
}

func (j *journal) unlock() { _ = windows.UnlockFileEx(windows.Handle(j.file.Fd()), 0, 1, 0, beyond()) } // ends with the file at the latest

func beyond() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30} }
