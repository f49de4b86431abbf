package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/storetest"
)

// BenchmarkAppend measures one durable append at a time against what it cannot
// be cheaper than: the same bytes appended to a file and synced. The metric ratio
// is that of the medians of both, taken alternately.
func BenchmarkAppend(b *testing.B) {
	dir := b.TempDir()
	s := openStore(b, filepath.Join(dir, "writ.db"), nil)
	f, err := os.OpenFile(filepath.Join(dir, "plain"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	l := storetest.NewLog(b, "run")
	if err := s.Append(b.Context(), l.Batch(l.Start())); err != nil {
		b.Fatal(err)
	}
	var durable, plain []time.Duration
	for b.Loop() {
		batch := l.Batch(l.Step("step")...)
		began := time.Now()
		if err := s.Append(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
		durable = append(durable, time.Since(began))
		began = time.Now()
		for _, r := range batch.Events {
			if _, err := f.Write(r.Bytes); err != nil {
				b.Fatal(err)
			}
		}
		if err := fdatasync(f); err != nil {
			b.Fatal(err)
		}
		plain = append(plain, time.Since(began))
	}
	b.ReportMetric(float64(median(durable).Microseconds()), "p50-us")
	b.ReportMetric(float64(median(durable))/float64(median(plain)), "ratio")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkGroupCommit measures many runs that append at once, each append
// durable before the run goes on.
func BenchmarkGroupCommit(b *testing.B) {
	for _, c := range []struct{ runs, events int }{{64, 1}, {64, 3}, {8, 1}} {
		b.Run(fmt.Sprintf("runs=%d,events=%d", c.runs, c.events), func(b *testing.B) {
			s := openStore(b, filepath.Join(b.TempDir(), "writ.db"), nil)
			logs := make([]*storetest.Log, c.runs)
			for i := range logs {
				logs[i] = storetest.NewLog(b, fmt.Sprintf("run-%d", i))
				if err := s.Append(b.Context(), logs[i].Batch(logs[i].Start())); err != nil {
					b.Fatal(err)
				}
			}
			each := b.N/c.runs + 1
			b.ResetTimer()
			var group sync.WaitGroup
			for _, l := range logs {
				group.Go(func() { appendSteps(b, s, l, each, c.events) })
			}
			group.Wait()
			b.ReportMetric(float64(each*c.runs)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// appendSteps appends n events, some at a time.
func appendSteps(b *testing.B, s store.Store, l *storetest.Log, n, some int) {
	var waiting []event.Record
	for n > 0 {
		if len(waiting) < some {
			waiting = append(waiting, l.Step("step")...)
		}
		if err := s.Append(b.Context(), l.Batch(waiting[:some]...)); err != nil {
			b.Error(err)
			return
		}
		waiting = waiting[some:]
		n -= some
	}
}
