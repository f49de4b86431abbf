package sqlite_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/sqlite"
	"github.com/writ-dev/writ/store/storetest"
)

// roleVariable makes the test binary do the work of one of the processes below.
const roleVariable = "WRIT_SQLITE_TEST_ROLE"

// TestMain runs a role where one is asked for. A role's arguments follow --.
func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		os.Exit(m.Run())
	default:
		at := slices.Index(os.Args, "--")
		if err := roles[role](os.Args[at+1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

var roles = map[string]func(args []string) error{
	"race":  raceRole,
	"lease": leaseRole,
	"write": writeRole,
}

func roleCommand(t *testing.T, role string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"-test.run=^$", "--"}, args...)...)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	return cmd
}

func sum(text string) store.Blob {
	return store.Blob{Digest: artifact.Sum([]byte(text)), Bytes: []byte(text)}
}

func wantBlob(t *testing.T, s store.Store, text string) {
	t.Helper()
	r, err := s.Blob(t.Context(), artifact.Sum([]byte(text)))
	if err != nil {
		t.Fatalf("blob %.40q: %v", text, err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || string(got) != text {
		t.Errorf("blob %.40q: got %.40q, %v", text, got, err)
	}
}

func wantCheckpoint(t *testing.T, s store.Store, seq uint64, text string) {
	t.Helper()
	if got, err := s.Checkpoint(t.Context(), "run", seq); err != nil || string(got) != text {
		t.Errorf("checkpoint at event %d: got %.40q, %v; want %.40q", seq, got, err, text)
	}
}

// goal is the sequence at which racing processes stop.
const goal = 120

// TestProcesses lets eight processes extend one run: first with nothing but
// compare-and-swap, then with leases. There is one history either way.
func TestProcesses(t *testing.T) {
	for _, role := range []string{"race", "lease"} {
		t.Run(role, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "writ.db")
			s := openStore(t, path, nil)
			l := storetest.NewLog(t, "run")
			mustAppend(t, s, l.Batch(l.Start()))
			outputs := make([]strings.Builder, 8)
			commands := make([]*exec.Cmd, len(outputs))
			for i := range outputs {
				commands[i] = roleCommand(t, role, path, fmt.Sprint(i))
				commands[i].Stdout = &outputs[i]
				if err := commands[i].Start(); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range commands {
				if err := c.Wait(); err != nil {
					t.Fatal(err)
				}
			}
			won := map[string]int{}
			for i := range outputs {
				for _, seq := range strings.Fields(outputs[i].String()) {
					won[seq]++
				}
			}
			h, err := s.Head(t.Context(), "run")
			if err != nil || h.Seq < goal {
				t.Fatalf("head at %d, %v", h.Seq, err)
			}
			for seq := uint64(2); seq <= h.Seq; seq++ {
				if won[fmt.Sprint(seq)] != 1 {
					t.Errorf("event %d was appended by %d processes", seq, won[fmt.Sprint(seq)])
				}
			}
			r, err := event.Verify(event.Bytes(s.Events(t.Context(), "run", 1)), event.VerifyOptions{Stored: &h.Head})
			if err != nil || !r.Intact {
				t.Errorf("%s, %v", r.Verdict(), err)
			}
		})
	}
}

// note is an event that may stand anywhere.
func note(h event.Head, worker string) (store.Batch, error) {
	chain, err := event.NewChain(h)
	if err != nil {
		return store.Batch{}, err
	}
	r, err := chain.Append(event.Event{Body: &event.TimerSet{Timer: fmt.Sprintf("w%s.%d", worker, h.Seq), Purpose: "race"}})
	return store.Batch{Exec: h.Exec, Next: r.Seq, Events: []event.Record{r}}, err
}

func raceRole(args []string) error {
	ctx := background()
	s, err := sqlite.Open(ctx, args[0], &sqlite.Options{Busy: time.Minute})
	if err != nil {
		return err
	}
	for {
		h, err := s.Head(ctx, "run")
		if err != nil {
			return err
		}
		if h.Seq >= goal {
			return s.Close()
		}
		b, err := note(h.Head, args[1])
		if err != nil {
			return err
		}
		switch err := s.Append(ctx, b); {
		case err == nil:
			fmt.Println(b.Next)
		case !errors.Is(err, store.ErrConflict):
			return err
		}
	}
}

func leaseRole(args []string) error {
	ctx := background()
	s, err := sqlite.Open(ctx, args[0], &sqlite.Options{Busy: time.Minute})
	if err != nil {
		return err
	}
	for {
		h, err := s.Head(ctx, "run")
		if err != nil {
			return err
		}
		if h.Seq >= goal {
			return s.Close()
		}
		fence, err := s.Lease(ctx, "run", "process "+args[1], time.Hour)
		if errors.Is(err, store.ErrLeased) {
			continue
		}
		if err != nil {
			return err
		}
		if err := workUnderLease(s, args[1], fence); err != nil {
			return err
		}
		if _, err := s.Lease(ctx, "run", "process "+args[1], 0); err != nil {
			return err
		}
	}
}

// workUnderLease appends a few events. Nothing may come in between.
func workUnderLease(s store.Store, worker string, fence uint64) error {
	h, err := s.Head(background(), "run")
	if err != nil {
		return err
	}
	for range 5 {
		b, err := note(h.Head, worker)
		if err != nil {
			return err
		}
		b.Fence = fence
		if err := s.Append(background(), b); err != nil {
			return fmt.Errorf("under a lease: %w", err)
		}
		fmt.Println(b.Next)
		last := b.Events[0]
		h.Head = event.Head{Exec: "run", Seq: last.Seq, Digest: last.Digest}
	}
	return nil
}

// writeRole appends notes for ever and says after each that it is stored. A
// second argument limits the size of files, so that writes fail at that point.
func writeRole(args []string) error {
	ctx := background()
	s, err := sqlite.Open(ctx, args[0], nil)
	if err != nil {
		return err
	}
	if len(args) > 1 {
		limit, err := strconv.ParseUint(args[1], 10, 64)
		if err != nil {
			return err
		}
		if err := limitFiles(limit); err != nil {
			return err
		}
	}
	h, err := s.Head(ctx, "run")
	if err != nil {
		return err
	}
	head := h.Head
	for {
		b, err := note(head, "w")
		if err != nil {
			return err
		}
		b.Blobs = []store.Blob{sum(strings.Repeat("blob", 2000) + fmt.Sprint(b.Next))}
		if err := s.Append(ctx, b); err != nil {
			fmt.Println("end", errors.Is(err, store.ErrUncertain))
			return nil // without Close: the process ends as it is
		}
		fmt.Println("stored", b.Next)
		head = event.Head{Exec: "run", Seq: b.Next, Digest: b.Events[0].Digest}
	}
}

// TestKill ends a writing process at many points. What it said is stored is
// there, and the log is whole.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "writ.db")
	s := openStore(t, path, nil)
	l := storetest.NewLog(t, "run")
	mustAppend(t, s, l.Batch(l.Start()))
	for round := range 12 {
		cmd := roleCommand(t, "write", path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		said := uint64(0)
		for n := 0; lines.Scan(); n++ {
			if _, err := fmt.Sscanf(lines.Text(), "stored %d", &said); err != nil {
				t.Fatalf("process says %q", lines.Text())
			}
			if n == round*3 {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // killed
		checkLog(t, s, said, 1)
	}
}

// checkLog checks that the run has at least the given events and at most some
// more, that they verify, and that the last one's blob is there.
func checkLog(t *testing.T, s store.Store, least, more uint64) {
	t.Helper()
	h, err := s.Head(t.Context(), "run")
	if err != nil || h.Seq < least || more == 0 && h.Seq != least {
		t.Fatalf("head at %d, %d were acknowledged, %v", h.Seq, least, err)
	}
	r, err := event.Verify(event.Bytes(s.Events(t.Context(), "run", 1)), event.VerifyOptions{Stored: &h.Head})
	if err != nil || !r.Intact {
		t.Fatalf("%s, %v", r.Verdict(), err)
	}
	if h.Seq > 1 {
		wantBlob(t, s, strings.Repeat("blob", 2000)+fmt.Sprint(h.Seq))
	}
}

// TestWriteErrors makes the writing system calls of a process fail from some
// size of the files on. The process learns it, and the run has advanced by
// whole batches.
func TestWriteErrors(t *testing.T) {
	if !canLimitFiles {
		t.Skip("file sizes cannot be limited here")
	}
	ends, step := 0, 1500
	if raceDetector {
		step *= 10
	}
	for limit := 96 << 10; limit < 160<<10; limit += step {
		path := filepath.Join(t.TempDir(), "writ.db")
		s := openStore(t, path, nil)
		l := storetest.NewLog(t, "run")
		mustAppend(t, s, l.Batch(l.Start()))
		out, err := roleCommand(t, "write", path, fmt.Sprint(limit)).Output()
		if err != nil {
			t.Fatal(err)
		}
		said, uncertain := uint64(1), false
		for line := range strings.Lines(string(out)) {
			if n, _ := fmt.Sscanf(line, "end %t", &uncertain); n == 1 {
				ends++
				break
			}
			if _, err := fmt.Sscanf(line, "stored %d", &said); err != nil {
				t.Fatalf("process says %q", line)
			}
		}
		more := uint64(0)
		if uncertain {
			more = 1
		}
		checkLog(t, s, said, more)
	}
	if ends < 30_000/step {
		t.Errorf("only %d processes met a failing write", ends)
	}
}

// TestPowerLoss cuts the log of the file at every page and in between, as if what
// came later had not reached the disk: a store opened on it holds a whole number
// of batches, never fewer than were acknowledged by the sync before the cut.
func TestPowerLoss(t *testing.T) {
	path := filepath.Join(t.TempDir(), "writ.db")
	s := openStore(t, path, nil)
	l := storetest.NewLog(t, "run")
	mustAppend(t, s, l.Batch(l.Start()))
	type point struct {
		size int64
		seq  uint64
	}
	points := []point{{walSize(t, path), 1}}
	for range 8 {
		h := l.Head()
		b := l.Batch(l.Step("step")...)
		b.Blobs = []store.Blob{sum(strings.Repeat("blob", 2000) + fmt.Sprint(h.Seq+3))}
		mustAppend(t, s, b)
		points = append(points, point{walSize(t, path), h.Seq + 3})
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wal, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	const frame = 4096 + 24
	for cut := points[0].size; cut <= int64(len(wal)); cut += frame / 3 {
		copied := filepath.Join(t.TempDir(), "writ.db")
		if err := errors.Join(os.WriteFile(copied, file, 0o600), os.WriteFile(copied+"-wal", wal[:cut], 0o600)); err != nil {
			t.Fatal(err)
		}
		want := uint64(0)
		for _, p := range points {
			if p.size <= cut {
				want = p.seq
			}
		}
		crashed, err := sqlite.Open(t.Context(), copied, nil)
		if err != nil {
			t.Fatal(err)
		}
		checkLog(t, crashed, want, 0)
		if err := crashed.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
