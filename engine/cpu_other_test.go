//go:build !linux

package engine

import (
	"os"
	"time"
)

func cpuTime() time.Duration { return 0 }

func fdatasync(f *os.File) error { return f.Sync() }
