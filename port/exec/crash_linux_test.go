package exec

import (
	"context"
	"os"
	"os/exec"
	"testing"
)

// hostProgram is a process that runs a program through a port.
func hostProgram(addr string) {
	c := Command{Program: os.Args[0], Args: []string{"child"}, Dir: "/"}
	p, err := New(map[string]Command{"self": c}, Options{})
	if err != nil {
		panic(err)
	}
	_, _ = p.Do(context.Background(), effect("hang", addr, "child"))
}

// TestProgramEndsWithHost kills the process that runs a program: no program goes
// on changing things while another process recovers the run.
func TestProgramEndsWithHost(t *testing.T) {
	b := newBeacon(t)
	host := exec.Command(self(t).Program, "child", "host", b.Addr().String())
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	_, conns := b.running(1)
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait() // it was killed
	b.gone(conns)
}
