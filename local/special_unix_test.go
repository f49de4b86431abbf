//go:build unix

package local_test

import (
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/local"
)

// TestSpecialFiles would hang, or end for want of memory, if one of them were read:
// as the agent file, and in every place of it that names a file.
func TestSpecialFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", "socket")
	if err != nil {
		t.Skip(err)
	}
	defer listener.Close()
	large(t, "large", artifact.MaxDocumentBytes+1)
	large(t, "module", 32<<20+1)
	special := map[string]string{
		"/dev/zero": "a device, not a regular file", "pipe": "a named pipe, not a regular file", "folder": "a directory, not a regular file",
		"socket": "a socket, not a regular file", "large": "larger than 4194304 bytes", "gone": "no such file or directory",
	}
	const head = "version: 1\nid: a\n"
	const graph, pack = "graph: {state: {/n: number?}, entry: a, limits: {max_steps: 1, timeout: 1m}, nodes: {a: {end: {}}}}\n", "pack: {}\n"
	for name, problem := range special {
		for text, place := range map[string]string{
			"graph: FILE\n" + pack: ":3:8: ", "pack: FILE\n" + graph: ":3:7: ", "state: FILE\n" + graph + pack: ":3:8: ",
			"graphs: {x: FILE}\n" + graph + pack: ":3:13: ", graph + pack + "tools: {x: {wasm: {file: FILE}}}\n": ":5:26: ",
		} {
			if name == "large" && strings.Contains(text, "wasm") {
				continue // that is not too large for a module
			}
			write(t, "agent.yaml", []byte(head+strings.Replace(text, "FILE", name, 1)))
			want := "agent.yaml" + place + name + ": " + problem
			if _, err := local.ReadAgent("agent.yaml", local.Options{}); err == nil || err.Error() != want {
				t.Errorf("%s: %v, want %s", text, err, want)
			}
		}
		if _, err := local.ReadAgent(name, local.Options{}); err == nil || err.Error() != name+": "+problem {
			t.Errorf("agent %s: %v", name, err)
		}
	}
	write(t, "agent.yaml", []byte(head+graph+pack+"tools: {x: {wasm: {file: module}}}\n"))
	if _, err := local.ReadAgent("agent.yaml", local.Options{}); err == nil || err.Error() != "agent.yaml:5:26: module: larger than 33554432 bytes" {
		t.Errorf("a large module: %v", err)
	}
}

// large makes a file without content.
func large(t *testing.T, name string, size int64) {
	t.Helper()
	write(t, name, nil)
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
}
