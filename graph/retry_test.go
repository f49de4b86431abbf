package graph

import (
	"slices"
	"testing"
)

func TestRetryDelays(t *testing.T) {
	r := Retry{Attempts: 5, BackoffMillis: 100, Factor: 3, MaxBackoffMillis: 1_000}
	var got []uint64
	for attempt := range uint32(5) {
		got = append(got, r.Delay("e", "n", 1, attempt+1))
	}
	if want := []uint64{100, 300, 900, 1_000, 1_000}; !slices.Equal(got, want) {
		t.Errorf("delays %v, want %v", got, want)
	}
	if d := r.Delay("e", "n", 1, 1<<31); d != 1_000 {
		t.Errorf("a late attempt waits %d", d)
	}
}

// TestRetryJitter pins delays: they are part of what a recorded run has seen.
func TestRetryJitter(t *testing.T) {
	r := Retry{Attempts: 9, BackoffMillis: 1_000, Factor: 2, MaxBackoffMillis: 60_000, JitterPercent: 20}
	var got []uint64
	for attempt := range uint32(4) {
		got = append(got, r.Delay("run-1", "fetch", 2, attempt+1))
	}
	if want := []uint64{823, 1802, 3281, 7419}; !slices.Equal(got, want) {
		t.Errorf("delays %v, want %v", got, want)
	}
	seen := map[uint64]bool{}
	for visit := range uint64(200) {
		d := r.Delay("run-1", "fetch", visit, 1)
		if d < 800 || d > 1_000 {
			t.Fatalf("delay %d is out of range", d)
		}
		seen[d] = true
	}
	if len(seen) < 50 {
		t.Errorf("only %d different delays", len(seen))
	}
	if r.Delay("run-1", "a", 1, 1) == r.Delay("run-2", "a", 1, 1) && r.Delay("run-1", "b", 1, 1) == r.Delay("run-2", "b", 1, 1) {
		t.Error("two runs wait the same")
	}
}

func TestRetryCovers(t *testing.T) {
	r := Retry{Attempts: 3, On: []string{ClassTimeout}}
	for _, c := range []struct {
		class   string
		attempt uint32
		want    bool
	}{{ClassTimeout, 1, true}, {ClassTimeout, 2, true}, {ClassTimeout, 3, false}, {ClassInternal, 1, false}, {"", 1, false}} {
		if got := r.Covers(c.class, c.attempt); got != c.want {
			t.Errorf("%s after attempt %d: %v", c.class, c.attempt, got)
		}
	}
	if (Retry{}).Covers(ClassTimeout, 1) {
		t.Error("no policy retries")
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]uint64{
		"500ms": 500, "30s": 30_000, "1h30m": 5_400_000, "2d": 172_800_000, "1d1h1m1s1ms": 90_061_001, "0s": 0,
	} {
		got, ok := parseDuration(text)
		if !ok || got != want {
			t.Errorf("%s gives %d, %v", text, got, ok)
		}
		if again, ok := parseDuration(formatDuration(got)); !ok || again != got {
			t.Errorf("%s is written as %s", text, formatDuration(got))
		}
	}
	for _, text := range []string{"", "5", "s", "5x", "-5s", "1.5s", "5 s", "99999999999999999s", "999999999999999d", "5sm", "5s3"} {
		if got, ok := parseDuration(text); ok {
			t.Errorf("%q gives %d", text, got)
		}
	}
}
