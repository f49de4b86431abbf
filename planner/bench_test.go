package planner_test

import (
	"fmt"
	"testing"

	"github.com/writ-dev/writ/bench/manifests"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/planner"
)

// large parses a generated manifest of many units.
func large(b *testing.B, units int) *kcp.Manifest {
	b.Helper()
	m, _, err := kcp.ParseWith(manifests.YAML(units, 1), "bench.yaml", kcp.Limits{MaxBytes: 1 << 30, MaxUnits: 2_000_000})
	if err != nil {
		b.Fatal(err)
	}
	return m
}

var benchOptions = planner.Options{
	AsOf:          "2026-07-06",
	Capabilities:  planner.Capabilities{PaymentMethods: []string{"free", "x402"}},
	Budget:        &planner.Budget{Amount: 1},
	ContextBudget: kcp.Number{Value: 8000, Set: true},
}

const benchTask = "how do I deploy and test the billing service"

func sizes(b *testing.B) []int {
	if testing.Short() {
		return []int{1000}
	}
	return []int{1000, 10_000, 100_000, 1_000_000}
}

// BenchmarkPlan reports the time of a unit, which must not grow with the
// number of units.
func BenchmarkPlan(b *testing.B) {
	for _, n := range sizes(b) {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := large(b, n)
			b.ReportAllocs()
			for b.Loop() {
				planner.Plan(m, benchTask, benchOptions)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/unit")
		})
	}
}

func BenchmarkTrace(b *testing.B) {
	m := large(b, 1000)
	for b.Loop() {
		_, trace := planner.Plan(m, benchTask, benchOptions)
		trace.Document()
	}
}

func BenchmarkPlanJSON(b *testing.B) {
	m := large(b, 1000)
	plan, _ := planner.Plan(m, benchTask, benchOptions)
	for b.Loop() {
		if _, err := plan.JSON(""); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTraceJSON(b *testing.B) {
	m := large(b, 1000)
	_, trace := planner.Plan(m, benchTask, benchOptions)
	for b.Loop() {
		if _, err := trace.JSON(""); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWhy(b *testing.B) {
	m := large(b, 1000)
	for b.Loop() {
		if _, err := planner.Why(m, benchTask, benchOptions, m.Units[500].ID); err != nil {
			b.Fatal(err)
		}
	}
}
