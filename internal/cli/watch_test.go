package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// watched is a watch over a folder, in a bubble with a clock of its own.
type watched struct {
	t    *testing.T
	dir  string
	out  lockedBuffer
	end  context.CancelFunc
	exit chan int
}

// lockedBuffer is written by the watch and read by the test.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// take gives what was written and forgets it.
func (l *lockedBuffer) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	return l.b.String()
}

func watchFolder(t *testing.T, args ...string) *watched {
	w := &watched{t: t, dir: t.TempDir(), exit: make(chan int, 1)}
	w.write("knowledge.yaml", oneUnit)
	w.write("a.md", "a")
	ctx, cancel := context.WithCancel(t.Context())
	w.end = cancel
	args = append([]string{"watch", w.dir, "--color", "never", "--no-cache"}, args...)
	go func() {
		w.exit <- Run(ctx, args, Streams{Out: &w.out, Err: &w.out, Now: time.Now})
	}()
	return w
}

const oneUnit = "kcp_version: \"0.32\"\nproject: harbour\nversion: \"1\"\nunits:\n" +
	"  - {id: a, path: a.md, intent: Where may a ship lie?, scope: global, audience: [agent], triggers: [berth]}\n"

const secondUnit = "  - {id: b, path: b.md, intent: Which berth is deep?, scope: global, audience: [agent], triggers: [depth]}\n"

func (w *watched) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// after lets time go by and gives what was written meanwhile.
func (w *watched) after(d time.Duration) string {
	time.Sleep(d) // of the bubble: no time passes outside
	synctest.Wait()
	return w.out.take()
}

func (w *watched) stop() {
	w.t.Helper()
	w.end()
	if exit := <-w.exit; exit != exitGood {
		w.t.Errorf("exit %d", exit)
	}
}

func (w *watched) expect(text string, parts ...string) {
	w.t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			w.t.Errorf("%q is not in\n%s", part, text)
		}
	}
}

// TestWatchShowsWhatChanges edits a manifest and its files under a watch.
func TestWatchShowsWhatChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watchFolder(t, "--task", "deep berth")
		w.expect(w.after(time.Second), "✓ valid", "Load 1 unit", "● a")
		if text := w.after(time.Hour); text != "" {
			t.Errorf("nothing changed, and there is\n%s", text)
		}

		w.write("b.md", "b")
		w.write("knowledge.yaml", oneUnit+secondUnit)
		w.expect(w.after(time.Second), "Load 2 units", "only in B")

		// The file of the new unit is watched from now on.
		w.write("b.md", "longer")
		w.expect(w.after(time.Second), "✓ valid", "the plan is the same")
		if err := os.Remove(filepath.Join(w.dir, "b.md")); err != nil {
			t.Fatal(err)
		}
		w.expect(w.after(time.Second), "path 'b.md'", "✗ invalid")

		// A manifest that cannot be read does not end the watch.
		w.write("knowledge.yaml", "a: [\n")
		w.expect(w.after(time.Second), "does not parse", "✗ invalid")
		if err := os.Remove(filepath.Join(w.dir, "knowledge.yaml")); err != nil {
			t.Fatal(err)
		}
		w.expect(w.after(time.Second), "no knowledge.yaml found")

		// An editor that writes a new file and renames it.
		w.write("new.yaml", oneUnit)
		if err := os.Rename(filepath.Join(w.dir, "new.yaml"), filepath.Join(w.dir, "knowledge.yaml")); err != nil {
			t.Fatal(err)
		}
		w.expect(w.after(time.Second), "✓ valid", "Load 1 unit", "only in A")
		w.stop()
	})
}

// TestWatchWaitsForRest makes one cycle of a burst of writes.
func TestWatchWaitsForRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watchFolder(t)
		w.after(time.Second)
		for i := range 20 {
			w.write("a.md", strings.Repeat("x", i+2))
			time.Sleep(100 * time.Millisecond)
		}
		if text := w.after(0); text != "" {
			t.Errorf("the files are not at rest, and there is\n%s", text)
		}
		if n := strings.Count(w.after(time.Second), "✓ valid"); n != 1 {
			t.Errorf("%d cycles for one burst", n)
		}
		w.stop()
	})
}

// TestWatchEvents gives programs one line for each event.
func TestWatchEvents(t *testing.T) {
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--json"}, "validate validate"},
		{[]string{"--json", "--task", "berth"}, "validate plan validate plan"},
		{[]string{"--json", "--task", "berth", "--diff"}, "validate plan validate plan diff"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := watchFolder(t, c.flags...)
			text := w.after(time.Second)
			w.write("b.md", "b")
			w.write("knowledge.yaml", oneUnit+secondUnit)
			text += w.after(time.Second)
			w.stop()
			var types []string
			for line := range strings.Lines(text) {
				kind, ok := strings.CutPrefix(line, `{"type":"`)
				kind, rest, _ := strings.Cut(kind, `"`)
				if !ok || !strings.HasPrefix(rest, `,"timestamp":"2000-01-01T00:00:0`) || !strings.HasSuffix(rest, "}\n") {
					t.Errorf("no event: %s", line)
				}
				types = append(types, kind)
			}
			if got := strings.Join(types, " "); got != c.want {
				t.Errorf("%v: events %s, want %s", c.flags, got, c.want)
			}
		})
	}
}

// TestFileWatch counts looks, so that a watch does not keep a machine busy.
func TestFileWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var version atomic.Int32 // of file a
		looks := 0
		w := fileWatch{look: func(path string) string { looks++; return fmt.Sprint(path, version.Load()) }, every: time.Second, quiet: 100 * time.Millisecond}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10500*time.Millisecond, func() { version.Add(1) })
		if !w.changed(ctx, []string{"a", "b"}, w.all([]string{"a"})) {
			t.Error("the change was not seen")
		}
		if looks > 30 {
			t.Errorf("%d looks", looks)
		}
		time.AfterFunc(time.Hour, cancel)
		if w.changed(ctx, []string{"a"}, w.all([]string{"a"})) {
			t.Error("a change where there is none")
		}
	})
}
