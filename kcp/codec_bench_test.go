package kcp

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/writ-dev/writ/bench/manifests"
)

func BenchmarkDecodeManifest(b *testing.B) {
	for _, units := range []int{1_000, 10_000, 100_000} {
		if testing.Short() && units > 10_000 {
			continue
		}
		text := manifests.YAML(units, 1)
		m, findings, err := Parse(text, "")
		if err != nil {
			b.Fatal(err)
		}
		data := AppendManifest(nil, m, findings)
		b.Run(fmt.Sprintf("parse/units=%d", units), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _, _ = Parse(text, "")
			}
		})
		b.Run(fmt.Sprintf("encode/units=%d", units), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				data = AppendManifest(data[:0], m, findings)
			}
			b.ReportMetric(float64(len(data))/float64(units), "B/unit")
		})
		b.Run(fmt.Sprintf("decode/units=%d", units), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := DecodeManifest(data, text); err != nil {
					b.Fatal(err)
				}
			}
		})
		m2, f2, err := DecodeManifest(data, text)
		if err != nil || !reflect.DeepEqual(m, m2) || !reflect.DeepEqual(findings, f2) {
			b.Fatalf("decoded differs: %v", err)
		}
	}
}
