package graph

import (
	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/policy"
)

// readDuration reads a length of time as [policy.ReadDuration] does, and refuses
// zero: nothing in a graph takes no time.
func readDuration(f artifact.Field) uint64 {
	millis := policy.ReadDuration(f)
	if f.Kind() != artifact.KindString || millis > 0 {
		return millis
	}
	if _, ok := policy.ParseDuration(f.Text()); ok {
		f.Report("a length of time must be longer than 0")
	}
	return millis
}
