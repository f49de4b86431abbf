//go:build unix

package exec

import (
	"syscall"
	"testing"
)

func TestNoFilesAreInherited(t *testing.T) {
	p := port(t, self(t), Options{})
	before := text(do(t, p, effect("files")), "stdout")
	fd, err := syscall.Dup(2) // as somebody might who started this process
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if after := text(do(t, p, effect("files")), "stdout"); after != before {
		t.Errorf("the program has %s files, and %s before one was opened", after, before)
	}
}
