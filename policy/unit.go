package policy

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/writ-dev/writ/artifact"
)

// durationUnits, the longest first.
var durationUnits = []struct {
	name   string
	millis uint64
}{
	{"d", 86_400_000}, {"h", 3_600_000}, {"m", 60_000}, {"s", 1_000}, {"ms", 1},
}

// Bounds of durations: what a [time.Duration] holds, in milliseconds, and the
// digits of one number.
const (
	maxDuration       = math.MaxInt64 / 1_000_000
	maxDurationDigits = 15
)

// FormatDuration gives milliseconds in canonical form: a whole number and one
// unit, such as 90s. The unit is the longest that fits.
func FormatDuration(millis uint64) string {
	for _, u := range durationUnits {
		if millis%u.millis == 0 && millis > 0 {
			return strconv.FormatUint(millis/u.millis, 10) + u.name
		}
	}
	return "0s"
}

// ParseDuration reads a length of time of packs, graphs and agent files, such as
// 500ms, 30s, 1h30m or 7d, and gives milliseconds. The units are d, h, m, s and
// ms, each once at most and the longer before the shorter.
func ParseDuration(text string) (millis uint64, ok bool) {
	rest, from := text, 0
	for rest != "" {
		digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
		rest = rest[len(digits):]
		name := rest[:len(rest)-len(strings.TrimLeft(rest, "dhms"))]
		rest = rest[len(name):]
		for from < len(durationUnits) && durationUnits[from].name != name {
			from++
		}
		n, err := strconv.ParseUint(digits, 10, 64)
		if err != nil || len(digits) > maxDurationDigits || from == len(durationUnits) {
			return 0, false
		}
		if n > (maxDuration-millis)/durationUnits[from].millis {
			return 0, false
		}
		millis += n * durationUnits[from].millis
		from++
	}
	return millis, text != ""
}

// ReadDuration reads a field as [ParseDuration] does; it is 0 when absent. What
// is no length of time is reported.
func ReadDuration(f artifact.Field) uint64 {
	if !f.Present() {
		return 0
	}
	if f.Kind() != artifact.KindString {
		f.Report("want a length of time with its unit, such as 500ms, 30s, 10m, 1h30m or 7d")
		return 0
	}
	millis, ok := ParseDuration(f.Text())
	if !ok {
		f.Report("%.40q is not a length of time; write 500ms, 30s, 10m, 1h30m or 7d", f.Text())
	}
	return millis
}

// readTime reads an RFC 3339 time as Unix milliseconds, 0 when absent.
func readTime(f artifact.Field) int64 {
	if !f.Present() {
		return 0
	}
	text := f.Text()
	if f.Kind() != artifact.KindString {
		return 0
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.UnixMilli() <= 0 {
		f.Report("time %.40q: write a date and time after 1970 with zone, such as 2030-01-31T00:00:00Z", text)
		return 0
	}
	return t.UnixMilli()
}

// formatTime gives Unix milliseconds as packs write them.
func formatTime(millis int64) string {
	return time.UnixMilli(millis).UTC().Format("2006-01-02T15:04:05.999Z07:00")
}

// readNames reads a set of names: sorted, without empty ones, not nil.
func readNames(f artifact.Field, check func(string) string) []string {
	names := []string{}
	for _, e := range f.List() {
		name := e.Text()
		if e.Kind() != artifact.KindString {
			continue
		}
		if problem := check(name); problem != "" {
			e.Report("%.80q: %s", name, problem)
			continue
		}
		if slices.Contains(names, name) {
			e.Report("%.80q appears twice; keep one", name)
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func notEmpty(s string) string {
	if s == "" {
		return "is empty; write a name or remove it"
	}
	return ""
}

func anIdentifier(s string) string {
	if artifact.CheckIdentifier(s) != nil {
		return "an identifier has 1 to 128 of the characters A-Z a-z 0-9 - _ . /"
	}
	return ""
}
