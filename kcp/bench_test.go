package kcp

import (
	"fmt"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/writ-dev/writ/bench/manifests"
)

func BenchmarkParse(b *testing.B) {
	for _, units := range []int{10, 1_000, 10_000, 100_000} {
		text := manifests.YAML(units, 1)
		b.Run(fmt.Sprintf("fast/%d", units), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				m, _, err := Parse(text, "bench")
				if err != nil || len(m.Units) != units {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("library/%d", units), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := parseWithLibrary(text, "bench"); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("nodes/%d", units), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				var n yaml.Node
				if err := yaml.Unmarshal(text, &n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
