package kcp

import (
	"fmt"
	"github.com/writ-dev/writ/bench/manifests"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

func cpu() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(0, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func TestDevCPU(t *testing.T) {
	if os.Getenv("DEVCPU") == "" {
		t.Skip()
	}
	text := manifests.YAML(100000, 1)
	for range 3 {
		for name, f := range map[string]func(){
			"fast": func() { m, _, _ := Parse(text, "x"); runtime.KeepAlive(m) },
			"lib":  func() { m, _, _ := libOnly(text, "x"); runtime.KeepAlive(m) },
			"node": func() { var n yaml.Node; yaml.Unmarshal(text, &n) },
		} {
			if os.Getenv("DEVCPU") == "fast" && name != "fast" {
				continue
			}
			runtime.GC()
			a := cpu()
			w := time.Now()
			f()
			fmt.Printf("%s cpu %v wall %v\n", name, cpu()-a, time.Since(w))
		}
	}
}
