package storetest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/memory"
	"github.com/writ-dev/writ/store/storetest"
)

// TestFaults tells, for each fault, what the writer learns and what a process
// that comes afterwards finds.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name    string
		fault   storetest.Fault
		want    error
		stored  bool
		crashed bool
	}{
		{"pass", storetest.Pass, nil, true, false},
		{"refuse", storetest.Refuse, storetest.ErrInjected, false, false},
		{"full", storetest.Full, store.ErrFull, false, false},
		{"uncertain", storetest.Uncertain, store.ErrUncertain, false, false},
		{"uncertain and kept", storetest.UncertainKept, store.ErrUncertain, true, false},
		{"crash before", storetest.CrashBefore, storetest.ErrCrashed, false, true},
		{"crash after", storetest.CrashAfter, storetest.ErrCrashed, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := storetest.Faulty(memory.New(nil), storetest.At(1, c.fault))
			l := storetest.NewLog(t, "run")
			if err := s.Append(t.Context(), l.Batch(l.Start())); err != nil {
				t.Fatal(err)
			}
			if err := s.Append(t.Context(), l.Batch(l.Step("x")...)); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if _, err := s.Head(t.Context(), "run"); c.crashed != errors.Is(err, storetest.ErrCrashed) {
				t.Errorf("head after the fault: %v", err)
			}
			s.Restart()
			h, err := s.Head(t.Context(), "run")
			if err != nil || (h.Seq == 4) != c.stored {
				t.Errorf("head at %d, %v; stored must be %t", h.Seq, err, c.stored)
			}
			if s.Writes() != 2 {
				t.Errorf("%d writes", s.Writes())
			}
		})
	}
}

func TestFaultyLease(t *testing.T) {
	s := storetest.Faulty(memory.New(nil), storetest.At(0, storetest.CrashAfter))
	if _, err := s.Lease(t.Context(), "run", "a", time.Hour); !errors.Is(err, storetest.ErrCrashed) {
		t.Fatal(err)
	}
	s.Restart()
	if _, err := s.Lease(t.Context(), "run", "b", time.Hour); !errors.Is(err, store.ErrLeased) {
		t.Errorf("the lease of the crashed process: %v", err)
	}
}
