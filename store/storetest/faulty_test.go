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
			if _, err := s.Checkpoint(t.Context(), "run", 1); c.crashed != errors.Is(err, storetest.ErrCrashed) {
				t.Errorf("checkpoint after the fault: %v", err)
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

// TestFaultyInbox makes a message, and then the batch that takes it, go wrong: it
// is there or it is not, and its effect is there exactly when it is not.
func TestFaultyInbox(t *testing.T) {
	for _, fault := range []storetest.Fault{
		storetest.Refuse, storetest.Full, storetest.Uncertain, storetest.UncertainKept, storetest.CrashBefore, storetest.CrashAfter,
	} {
		for n, stored := range map[int]bool{1: true, 2: false} {
			s := storetest.Faulty(memory.New(nil), storetest.At(n, fault))
			l := storetest.NewLog(t, "run")
			if err := s.Append(t.Context(), l.Batch(l.Start())); err != nil {
				t.Fatal(err)
			}
			seq, postErr := s.Post(t.Context(), "run", store.Message{ID: "m"})
			if n == 2 {
				step := l.Batch(l.Step("x")...)
				step.Taken = []uint64{seq}
				if err := s.Append(t.Context(), step); err == nil {
					t.Errorf("fault %d of the batch passed", fault)
				}
			} else if postErr == nil || seq != 0 {
				t.Errorf("fault %d of the message passed: %d, %v", fault, seq, postErr)
			}
			kept := fault == storetest.UncertainKept || fault == storetest.CrashAfter
			s.Restart()
			list, err := s.Posted(t.Context(), "run", 0, 9)
			if err != nil || (len(list) == 1) != (kept == stored) {
				t.Errorf("fault %d of write %d: %d messages, %v", fault, n, len(list), err)
			}
			if h, err := s.Head(t.Context(), "run"); err != nil || n == 2 && (h.Seq == 4) != kept {
				t.Errorf("fault %d of write %d: head at %d, %v", fault, n, h.Seq, err)
			}
		}
	}
}
