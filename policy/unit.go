package policy

import (
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

// maxDuration is the longest duration: one hundred years, in milliseconds.
const maxDuration = 36_525 * 86_400_000

// FormatDuration gives milliseconds as packs write them: a whole number and one
// unit, such as 90s. The unit is the longest that fits.
func FormatDuration(millis uint64) string {
	for _, u := range durationUnits {
		if millis%u.millis == 0 && millis > 0 {
			return strconv.FormatUint(millis/u.millis, 10) + u.name
		}
	}
	return "0s"
}

// ParseDuration reads a whole number and one of the units ms, s, m, h and d, and
// gives milliseconds.
func ParseDuration(text string) (millis uint64, ok bool) {
	digits := strings.TrimRight(text, "dhms")
	for _, u := range durationUnits {
		if text != digits+u.name {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 64)
		if err != nil || digits[0] == '+' || n > maxDuration/u.millis {
			return 0, false
		}
		return n * u.millis, true
	}
	return 0, false
}

func readDuration(f artifact.Field) uint64 {
	if !f.Present() {
		return 0
	}
	if f.Kind() == artifact.KindNumber {
		f.Report("a duration needs a unit: write 30s, 10m, 24h or 7d")
		return 0
	}
	text := f.Text()
	if f.Kind() != artifact.KindString {
		return 0
	}
	millis, ok := ParseDuration(text)
	if !ok {
		f.Report("duration %.40q: write a whole number and ms, s, m, h or d, such as 30s", text)
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
