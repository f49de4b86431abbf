package graph

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// units of durations, largest first.
var units = []struct {
	name   string
	millis uint64
}{{"d", 86_400_000}, {"h", 3_600_000}, {"m", 60_000}, {"s", 1_000}, {"ms", 1}}

// maxDurationMillis is the longest length of time: what a time.Duration holds.
const maxDurationMillis = math.MaxInt64 / 1_000_000

// readDuration reads a length of time such as 500ms, 30s, 1h30m or 2d, in
// milliseconds. Zero is refused.
func readDuration(f artifact.Field) uint64 {
	if !f.Present() {
		return 0
	}
	if f.Kind() != artifact.KindString {
		f.Report("want a length of time with its unit, such as 500ms, 30s, 10m, 2h or 7d")
		return 0
	}
	millis, ok := parseDuration(f.Text())
	switch {
	case !ok:
		f.Report("%q is not a length of time; write 500ms, 30s, 10m, 1h30m, 2h or 7d", f.Text())
	case millis == 0:
		f.Report("a length of time must be longer than 0")
	}
	return millis
}

func parseDuration(text string) (millis uint64, ok bool) {
	for rest := text; rest != ""; {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if digits == 0 || digits > 15 {
			return 0, false
		}
		var n uint64
		for _, c := range rest[:digits] {
			n = n*10 + uint64(c-'0')
		}
		rest = rest[digits:]
		name := rest[:len(rest)-len(strings.TrimLeft(rest, "dhms"))]
		i := slices.IndexFunc(units, func(u struct {
			name   string
			millis uint64
		}) bool {
			return u.name == name
		})
		if i < 0 || n > (maxDurationMillis-millis)/units[i].millis {
			return 0, false
		}
		millis += n * units[i].millis
		rest = rest[len(name):]
	}
	return millis, text != ""
}

// formatDuration writes milliseconds in the largest unit that divides them.
func formatDuration(millis uint64) string {
	for _, u := range units {
		if millis%u.millis == 0 {
			return fmt.Sprintf("%d%s", millis/u.millis, u.name)
		}
	}
	return ""
}
