package search_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/writ-dev/writ/bench/manifests"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/search"
)

// large parses a generated manifest of many units.
func large(b *testing.B, units int) *kcp.Manifest {
	b.Helper()
	m, _, err := kcp.ParseWith(manifests.YAML(units, 1), "bench.yaml", kcp.Limits{MaxBytes: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// recorded gives every unit a recording time, half of them by the root.
func recorded(m *kcp.Manifest) *kcp.Manifest {
	stamped := *m
	stamped.Temporal = &kcp.Temporal{RecordedAt: kcp.String{Value: "2025-01-01", Set: true}}
	stamped.Units = slices.Clone(m.Units)
	for i := range stamped.Units {
		if u := &stamped.Units[i]; i%2 == 0 {
			own := kcp.Temporal{}
			if u.Temporal != nil {
				own = *u.Temporal
			}
			own.RecordedAt = kcp.String{Value: fmt.Sprintf("2025-%02d-15", 1+i%12), Set: true}
			u.Temporal = &own
		}
	}
	return &stamped
}

var benchQueries = []struct {
	name  string
	query search.Query
}{
	{"words", search.Query{Terms: []string{"deploy", "billing", "service"}}},
	{"filters", search.Query{Terms: []string{"deploy", "billing"}, Audience: "agent", SensitivityMax: "internal", ExcludeStale: true,
		HasCapabilities: []string{"kubectl"}, MaxTokenBudget: kcp.Number{Value: 8000, Set: true}}},
	{"known-at", search.Query{Terms: []string{"deploy", "billing", "service"}, KnownAt: "2025-06-30"}},
	{"nothing", search.Query{Terms: []string{"zebra"}}},
	{"everything", search.Query{}},
}

// BenchmarkFind reports the time of a unit, which must not grow with their
// number.
func BenchmarkFind(b *testing.B) {
	sizes := []int{1000, 10_000, 100_000}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, n := range sizes {
		m := large(b, n)
		plain, stamped := search.NewIndex(m), search.NewIndex(recorded(m))
		for _, c := range benchQueries {
			ix := plain
			if c.query.KnownAt != "" {
				ix = stamped
			}
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				q := c.query
				q.Today = "2026-07-06"
				b.ReportAllocs()
				before := processCPU()
				for b.Loop() {
					if _, err := ix.Find(q); err != nil {
						b.Fatal(err)
					}
				}
				used := float64((processCPU() - before).Nanoseconds()) / float64(b.N)
				b.ReportMetric(used/1e6, "cpu-ms/op")
				b.ReportMetric(used/float64(n), "cpu-ns/unit")
			})
		}
	}
}

func BenchmarkNewIndex(b *testing.B) {
	m := large(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		search.NewIndex(m)
	}
}
