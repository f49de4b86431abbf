package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/sqlite"
	"github.com/writ-dev/writ/store/storetest"
)

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes here")
	}
	root := t.TempDir()
	s := openStore(t, filepath.Join(root, "a", "b", "writ.db"), nil)
	l := storetest.NewLog(t, "../../x")
	mustAppend(t, s, l.Batch(l.Start()))
	files := 0
	err := filepath.WalkDir(filepath.Join(root, "a"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := sqlite.FileMode
		if d.IsDir() {
			want = sqlite.DirMode
		} else {
			files++
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %04o, want %04o", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil || files != 3 { // the file, its log, and the index of the log
		t.Errorf("%d files, %v", files, err)
	}
}

func mustAppend(t testing.TB, s store.Store, b store.Batch) {
	t.Helper()
	if err := s.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// TestPathIsNoURI opens files whose names mean something in a connection string.
func TestPathIsNoURI(t *testing.T) {
	for _, name := range []string{"a?mode=memory", "b&_pragma=x", "c#d", "e%41", "f g", "h;i", "ü"} {
		dir := t.TempDir()
		s, err := sqlite.Open(t.Context(), filepath.Join(dir, name), nil)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 || entries[0].Name() != name {
			t.Errorf("%q: the folder holds %v, %v", name, entries, err)
		}
	}
}

func TestForeignFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	content := []byte(strings.Repeat("this is no database. ", 100))
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), path, nil); !errors.Is(err, store.ErrForeign) {
		t.Errorf("got %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, content) {
		t.Errorf("the file was changed (%v)", err)
	}
}

func TestClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "writ.db")
	s := openStore(t, path, nil)
	logs := make([]*storetest.Log, 16)
	var group sync.WaitGroup
	acknowledged := make([]uint64, len(logs))
	started := make(chan bool, len(logs))
	for i := range logs {
		logs[i] = storetest.NewLog(t, fmt.Sprintf("run-%d", i))
		batches := []store.Batch{logs[i].Batch(logs[i].Start())}
		for range 200 {
			batches = append(batches, logs[i].Batch(logs[i].Step("s")...))
		}
		group.Go(func() {
			for _, b := range batches {
				err := s.Append(t.Context(), b)
				if errors.Is(err, store.ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				acknowledged[i] = b.Next + uint64(len(b.Events)) - 1
				select {
				case started <- true:
				default:
				}
			}
		})
	}
	for range len(logs) {
		<-started
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if err := s.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if _, err := s.Head(t.Context(), "run-0"); !errors.Is(err, store.ErrClosed) {
		t.Errorf("head of a closed store: %v", err)
	}
	for _, err := range s.Events(t.Context(), "run-0", 1) {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("events of a closed store: %v", err)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("a closed store leaves %v, %v", entries, err)
	}
	s = openStore(t, path, nil)
	for i, l := range logs {
		h, err := s.Head(t.Context(), l.Head().Exec)
		if acknowledged[i] > 0 && (err != nil || h.Seq != acknowledged[i]) {
			t.Errorf("%s: %d acknowledged, %d stored, %v", l.Head().Exec, acknowledged[i], h.Seq, err)
		}
	}
}

// TestSize is a run of 1,000 steps, each with a checkpoint of a state of 1 MiB
// that never changes and 1 KiB that always does. Both are random.
func TestSize(t *testing.T) {
	if raceDetector {
		t.Skip("slow, and one goroutine")
	}
	const limit = 4 << 20
	random := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
		b := make([]byte, n)
		for i := range b {
			b[i] = letters[random.IntN(len(letters))]
		}
		return string(b)
	}
	path := filepath.Join(t.TempDir(), "writ.db")
	s := openStore(t, path, nil)
	l := storetest.NewLog(t, "run")
	mustAppend(t, s, l.Batch(l.Start()))
	constant := text(1 << 20)
	state := func(i int, changing string) string {
		return fmt.Sprintf(`{"revision":%d,"state":{"changing":"%s","constant":"%s"},"steps":%d}`, i, changing, constant, i)
	}
	states := map[uint64]string{}
	for i := range 1000 {
		changing := text(1 << 10)
		b := l.Batch(l.Step(changing)...)
		b.Checkpoint = &store.Checkpoint{Seq: b.Next + 2, Bytes: []byte(state(i, changing))}
		mustAppend(t, s, b)
		if i%111 == 0 || i == 999 {
			states[b.Checkpoint.Seq] = state(i, changing)
		}
		if i == 500 { // the second half starts without what was in memory
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openStore(t, path, nil)
		}
	}
	for seq, text := range states {
		wantCheckpoint(t, s, seq, text)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.2f MiB", float64(info.Size())/(1<<20))
	if info.Size() >= limit {
		t.Errorf("%d bytes, want fewer than %d", info.Size(), limit)
	}
}

// TestBytesPerStep compares what a step adds to the file in a store of few runs
// and in one of many.
func TestBytesPerStep(t *testing.T) {
	perStep := func(runs int) float64 {
		path := filepath.Join(t.TempDir(), "writ.db")
		s := openStore(t, path, nil)
		var group sync.WaitGroup
		for part := range 8 {
			group.Go(func() {
				for i := part; i < runs; i += 8 {
					l := storetest.NewLog(t, fmt.Sprintf("run-%d", i))
					if err := s.Append(t.Context(), l.Batch(append([]event.Record{l.Start()}, l.Step("s")...)...)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openStore(t, path, nil)
		l := storetest.NewLog(t, "measured")
		mustAppend(t, s, l.Batch(l.Start()))
		const steps = 200
		before := walSize(t, path)
		for range steps {
			mustAppend(t, s, l.Batch(l.Step("step")...))
		}
		return float64(walSize(t, path)-before) / steps
	}
	few, many := perStep(10), perStep(2000)
	t.Logf("%.0f bytes a step among 10 runs, %.0f among 2,000", few, many)
	if many > 2*few {
		t.Errorf("a step writes %.0f bytes among many runs, %.0f among few", many, few)
	}
}

func walSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestErasedIsOverwritten looks for erased and deleted bytes in every file.
func TestErasedIsOverwritten(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, filepath.Join(dir, "writ.db"), nil)
	salt := event.Salt([]byte("salt-to-be-erased-salt-to-be-era"))
	erased := store.Blob{Digest: salt.Ref(), Bytes: salt[:]}
	l := storetest.NewLog(t, "run")
	b := l.Batch(append([]event.Record{l.Start()}, l.Step("text-to-be-deleted")...)...)
	b.Blobs = []store.Blob{erased}
	b.Checkpoint = &store.Checkpoint{Seq: 2, Bytes: []byte("checkpoint-to-be-deleted")}
	mustAppend(t, s, b)
	if _, err := s.Post(t.Context(), "run", store.Message{ID: "m", Body: []byte("message-to-be-deleted")}); err != nil {
		t.Fatal(err)
	}
	present := func() (found []string) {
		for _, secret := range []string{string(salt[:]), "text-to-be-deleted", "checkpoint-to-be-deleted", "message-to-be-deleted"} {
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				data, err := os.ReadFile(filepath.Join(dir, e.Name()))
				if err != nil {
					t.Fatal(err)
				}
				if bytes.Contains(data, []byte(secret)) {
					found = append(found, secret)
					break
				}
			}
		}
		return found
	}
	if found := present(); len(found) != 4 {
		t.Fatalf("before: found %q", found)
	}
	if err := s.Erase(t.Context(), salt.Ref()); err != nil {
		t.Fatal(err)
	}
	if found := present(); len(found) != 3 || found[0] == string(salt[:]) {
		t.Errorf("after erasing: found %q", found)
	}
	if _, err := s.Delete(t.Context(), "run", true); err != nil {
		t.Fatal(err)
	}
	if found := present(); len(found) != 0 {
		t.Errorf("after deleting: found %q", found)
	}
}

// TestFull lets the file be full at every page of a run's life. A batch is
// stored or refused, and what was refused fits once there is room.
func TestFull(t *testing.T) {
	clock := &storetest.Clock{}
	refused, step := 0, 1
	if raceDetector {
		step = 6
	}
	for pages := 30; ; pages += step {
		path := filepath.Join(t.TempDir(), "writ.db")
		s, err := sqlite.Open(t.Context(), path, &sqlite.Options{Now: clock.Now, MaxPages: pages})
		if err != nil {
			t.Fatalf("%d pages: %v", pages, err)
		}
		l := storetest.NewLog(t, "run")
		batches := []store.Batch{l.Batch(l.Start())}
		for i := range 12 {
			b := l.Batch(l.Step(strings.Repeat("x", 3000))...)
			b.Checkpoint = &store.Checkpoint{Seq: b.Next, Bytes: fmt.Appendf(nil, "checkpoint %d", i)}
			b.Blobs = []store.Blob{sum(strings.Repeat("blob", 3000) + fmt.Sprint(i))}
			b.Intents = []store.Intent{{Key: fmt.Sprint(i), Seq: b.Next}}
			b.Timers = []store.Timer{{ID: fmt.Sprint(i), Due: clock.Now()}}
			batches = append(batches, b)
		}
		stored := appendUntilFull(t, s, batches)
		checkStored(t, s, batches[:stored])
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openStore(t, path, &sqlite.Options{Now: clock.Now})
		checkStored(t, s, batches[:stored])
		for _, b := range batches[stored:] {
			mustAppend(t, s, b)
		}
		checkStored(t, s, batches)
		if stored == len(batches) {
			break
		}
		refused++
	}
	if refused < 10/step {
		t.Errorf("the file was full in %d cases only", refused)
	}
}

func appendUntilFull(t *testing.T, s store.Store, batches []store.Batch) (stored int) {
	t.Helper()
	for _, b := range batches {
		err := s.Append(t.Context(), b)
		if errors.Is(err, store.ErrFull) {
			return stored
		}
		if err != nil {
			t.Fatal(err)
		}
		stored++
	}
	return stored
}

// checkStored checks that the run is what exactly these batches make of it.
func checkStored(t *testing.T, s store.Store, batches []store.Batch) {
	t.Helper()
	h, err := s.Head(t.Context(), "run")
	if len(batches) == 0 {
		if !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("head of nothing: %+v, %v", h, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	last := batches[len(batches)-1]
	if want := last.Next + uint64(len(last.Events)) - 1; h.Seq != want {
		t.Fatalf("head at %d, want %d", h.Seq, want)
	}
	r, err := event.Verify(event.Bytes(s.Events(t.Context(), "run", 1)), event.VerifyOptions{Stored: &h.Head})
	if err != nil || !r.Intact {
		t.Fatalf("%s, %v", r.Verdict(), err)
	}
	due, err := s.Due(t.Context(), time.Unix(1e9, 0), 99)
	if err != nil || len(due) != len(batches)-1 || len(h.Intents) != len(batches)-1 {
		t.Fatalf("%d timers and %d intents of %d batches, %v", len(due), len(h.Intents), len(batches), err)
	}
	for _, b := range batches[1:] {
		wantBlob(t, s, string(b.Blobs[0].Bytes))
		wantCheckpoint(t, s, b.Checkpoint.Seq, string(b.Checkpoint.Bytes))
	}
}

// TestFullTogether puts batches that cannot fit into the same commits as batches
// that do. The former fail alone.
func TestFullTogether(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "writ.db"), &sqlite.Options{MaxPages: 500}) // 2 MiB
	const runs, steps = 24, 10
	large := sum(strings.Repeat("larger than the file", 200_000))
	var group sync.WaitGroup
	for i := range runs {
		exec := fmt.Sprintf("run-%02d", i)
		l := storetest.NewLog(t, exec)
		batches := []store.Batch{l.Batch(l.Start())}
		for range steps {
			batches = append(batches, l.Batch(l.Step("s")...))
		}
		group.Go(func() {
			for n, b := range batches {
				if i%2 == 0 && n == 1 {
					b.Blobs = []store.Blob{large}
					for range steps {
						if err := s.Append(t.Context(), b); !errors.Is(err, store.ErrFull) {
							t.Errorf("%s: %v", exec, err)
						}
					}
					return
				}
				if err := s.Append(t.Context(), b); err != nil {
					t.Errorf("%s: %v", exec, err)
				}
			}
		})
	}
	group.Wait()
	for i := range runs {
		h, err := s.Head(t.Context(), fmt.Sprintf("run-%02d", i))
		want := uint64(1)
		if i%2 == 1 {
			want += 3 * steps
		}
		if err != nil || h.Seq != want {
			t.Errorf("run %d: head at %d, want %d, %v", i, h.Seq, want, err)
		}
	}
}
