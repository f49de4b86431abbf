package local_test

import (
	"runtime"
	"testing"

	"github.com/writ-dev/writ/local"
)

// TestPortsAreCheckedWithPlaces: what the ports refuse is said at its place in the
// agent file, all of it at once.
func TestPortsAreCheckedWithPlaces(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("names /bin/true")
	}
	t.Chdir(t.TempDir())
	write(t, "code.wasm", []byte("module"))
	write(t, "agent.yaml", []byte(`version: 1
id: a
graph: {state: {/n: number?}, entry: a, limits: {max_steps: 1, timeout: 1m}, nodes: {a: {end: {}}}}
pack: {}
tools:
  a:
    command:
      program: entry
      env: [HOME, "A=B"]
      set: {"": C, HOME: /}
  b:
    http:
      headers: [Cookie, x-a]
      set:
        X-A: a
        X-B: "a\nb"
      secrets: {Host: {handle: h}}
      answer: ["x y"]
      key_header: Connection
  c: {wasm: {file: code.wasm, memory_bytes: 1000}}
  d: {command: {program: /bin/../bin/true}}
  e: {command: {}}
secrets: {h: {env: H}}
`))
	_, err := local.ReadAgent("agent.yaml", local.Options{})
	if err == nil {
		t.Fatal("nothing is wrong")
	}
	want := `agent.yaml:8:16: tool a: program "entry": write an absolute path without . and .. parts
agent.yaml:9:12: tool a: environment variable "A=B": write a name
agent.yaml:10:17: tool a: environment variable "": write a name
agent.yaml:10:26: tool a: environment variable "HOME" is there twice
agent.yaml:13:16: tool b: header Cookie holds credentials, which belong under secrets
agent.yaml:13:16: tool b: header X-A is there twice
agent.yaml:16:14: tool b: header "X-B" has a value that no header can have
agent.yaml:17:23: tool b: header Host belongs to the connection, not to the request
agent.yaml:18:15: tool b: header "x y" has no proper name
agent.yaml:19:19: tool b: header Connection belongs to the connection, not to the request
agent.yaml:20:45: tool c: 1000 bytes of memory are less than a page of 65536
agent.yaml:21:26: tool d: program "/bin/../bin/true": write an absolute path without . and .. parts
agent.yaml:22:16: program is missing`
	if err.Error() != want {
		t.Errorf("got\n%s\nwant\n%s", err, want)
	}
}
