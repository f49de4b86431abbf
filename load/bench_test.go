package load

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/writ-dev/writ/bench/manifests"
)

func BenchmarkManifest(b *testing.B) {
	for _, units := range []int{1_000, 3_900, 10_000, 100_000} {
		if testing.Short() && units > 10_000 {
			continue
		}
		dir := b.TempDir()
		file := filepath.Join(dir, "knowledge.yaml")
		text := manifests.YAML(units, 1)
		write(b, file, string(text))
		cache := OpenCache(CacheDirs{Entries: filepath.Join(dir, "entries"), Key: filepath.Join(dir, "config")})
		for _, o := range []struct {
			name string
			Options
		}{{"fresh", Options{}}, {"cached", Options{Cache: cache}}} {
			b.Run(fmt.Sprintf("%s/units=%d", o.name, units), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Manifest(context.Background(), file, o.Options); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
