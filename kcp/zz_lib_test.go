package kcp

import (
	"testing"

	"github.com/writ-dev/writ/bench/manifests"
)

func BenchmarkDevLib(b *testing.B) {
	text := manifests.YAML(20000, 1)
	for b.Loop() {
		libOnly(text, "x")
	}
}
