//go:build unix

package load

import (
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/writ-dev/writ/fetch"
)

// TestSpecialFiles would hang if one of them were read, or opened to wait for
// somebody at the other end.
func TestSpecialFiles(t *testing.T) {
	tree(t, map[string]string{"dir/x": "", "signed.yaml": small + "signing: {signature: pipe}\n"})
	for _, name := range []string{"pipe", "dir/knowledge.yaml"} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Skip(err)
		}
	}
	const hint = ", not a regular file; name a knowledge.yaml or its directory"
	for _, root := range []string{"", "."} {
		o := Options{Root: root}
		refusal(t, "pipe", o, NotRegular, "pipe: a named pipe"+hint)
		refusal(t, "dir", o, NotRegular, "dir/knowledge.yaml: a named pipe"+hint)
		refusal(t, "signed.yaml", Options{Root: root, RequireSignature: true}, SignatureRequired,
			"signed.yaml: signature required but unverifiable: cannot load signature: pipe: a named pipe, not a regular file")
	}
	for _, device := range []string{"/dev/null", "/dev/zero", "/dev/tty"} {
		if _, err := os.Stat(device); err == nil {
			refusal(t, device, Options{}, NotRegular, device+": a device"+hint)
		}
	}
	listener, err := net.Listen("unix", "socket")
	if err != nil {
		t.Skip(err)
	}
	defer listener.Close()
	refusal(t, "socket", Options{}, NotRegular, "socket: a socket"+hint)
}

// TestSwappedForPipe opens a file that stops being regular after the first look.
func TestSwappedForPipe(t *testing.T) {
	tree(t, map[string]string{"x.yaml": small})
	p := swapping{swap: func() {
		if err := os.Remove("x.yaml"); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo("x.yaml", 0o600); err != nil {
			t.Skip(err)
		}
	}}
	if file, err := fetch.OpenRegular(p, "x.yaml"); err == nil || err.Error() != "a named pipe, not a regular file" {
		t.Errorf("%v, %v", file, err)
	}
}

type swapping struct {
	anywhere
	swap func()
}

func (s swapping) OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	s.swap()
	return s.anywhere.OpenFile(name, flag, perm)
}

func TestUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("the superuser may read everything")
	}
	tree(t, map[string]string{"x.yaml": small})
	if err := os.Chmod("x.yaml", 0); err != nil {
		t.Fatal(err)
	}
	refusal(t, "x.yaml", Options{}, Unreadable, "x.yaml: permission denied")
}
