package graph

import (
	"slices"
	"testing"

	"github.com/writ-dev/writ/policy"
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

func compileSmall(text string) (*Compiled, []Finding, error) {
	return Compile([]byte(text), "graph.yaml", Options{})
}

// A graph takes the lengths of time that a pack takes, and no others.
func TestDurationsAreThoseOfPacks(t *testing.T) {
	for text, want := range map[string]uint64{"500ms": 500, "30s": 30_000, "1h30m": 5_400_000, "2d": 172_800_000, "90m": 5_400_000} {
		c, findings, err := compileSmall(small("n: {tool: t, next: e, timeout: " + text + "}" + end))
		if err != nil || c.Node("n").TimeoutMillis != want {
			t.Errorf("%s: %v %v, want %d", text, err, findings, want)
		}
	}
	for _, text := range []string{"30m1h", "1.5s", "5x", "999999999999999d", "-5s"} {
		if _, ok := policy.ParseDuration(text); ok {
			t.Errorf("a pack takes %s", text)
		}
		if _, _, err := compileSmall(small("n: {tool: t, next: e, timeout: " + text + "}" + end)); err == nil {
			t.Errorf("a graph takes %s", text)
		}
	}
}
