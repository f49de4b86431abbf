package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/memory"
	"github.com/writ-dev/writ/store/sqlite"
	"github.com/writ-dev/writ/store/storetest"
)

// fiveSteps is a run of five steps, three of them effects.
func fiveSteps(t testing.TB) *Definition {
	return define(t, graphText("{/n: number}", `
a: {tool: count, reads: [/n], args: {n: =state.n}, set: {/n: =result.n}, next: b}
b: {handler: add, reads: [/n], writes: [/n], next: c}
c: {tool: count, reads: [/n], args: {n: =state.n}, set: {/n: =result.n}, next: d}
d: {tool: count, reads: [/n], args: {n: =state.n}, set: {/n: =result.n}, next: e}
e: {end: =state.n, reads: [/n]}
`), packText, Definition{Handlers: map[string]Handler{"add": {Run: add("/n")}}})
}

// fiveStepsResult is what it ends with: 2n+1 for each effect, n+1 for the handler.
const fiveStepsResult = "19"

func double(e Effect) Outcome {
	v, _ := e.Args.Get("n")
	n, _ := v.Uint()
	return Outcome{Result: artifact.ObjectValue(member("n", artifact.UintValue(2*n+1)))}
}

// askedCounter does effects once by key and can be asked about them.
type askedCounter struct {
	mu   sync.Mutex
	done map[string]Outcome
	new  int
	kill func(key string, after bool)
}

func (c *askedCounter) Do(_ context.Context, e Effect) (Outcome, error) {
	if c.kill != nil {
		c.kill(e.Key, false)
	}
	c.mu.Lock()
	c.new++
	o := double(e)
	c.done[e.Key] = o
	c.mu.Unlock()
	if c.kill != nil {
		c.kill(e.Key, true)
	}
	return o, nil
}

func (c *askedCounter) Ask(_ context.Context, key string) (Outcome, Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o, ok := c.done[key]; ok {
		return o, Happened, nil
	}
	return Outcome{}, Never, nil
}

// TestFaultAtEveryWrite lets the embedded driver meet every fault at every write
// of the store, and the next process finish the run.
func TestFaultAtEveryWrite(t *testing.T) {
	d := fiveSteps(t)
	faults := map[storetest.Fault]string{
		storetest.Refuse: "refused", storetest.Full: "full", storetest.Uncertain: "uncertain", storetest.UncertainKept: "uncertain, kept",
		storetest.CrashBefore: "crash before", storetest.CrashAfter: "crash after",
	}
	points := 0
	for fault, name := range faults {
		for n := 0; ; n++ {
			now := time.UnixMilli(1_000_000)
			st := storetest.Faulty(memory.New(func() time.Time { return now }), storetest.At(n, fault))
			port := &askedCounter{done: map[string]Outcome{}}
			e, err := New(Config{Store: st, Ports: map[string]Port{"tool": port}, Clock: stillClock{}, Owner: "first"})
			if err != nil {
				t.Fatal(err)
			}
			r, err := e.Start(t.Context(), Request{Exec: "run", Definition: d, State: value(`{"n":1}`)})
			before := st.Writes()
			if before <= n {
				break // the run has no such write
			}
			points++
			if err == nil && r.Status != store.Terminated {
				t.Fatalf("%s at write %d: %s without an error", name, n, r.Status)
			}
			st.Restart()
			now = now.Add(time.Hour)
			finish(t, st, d, port, fmt.Sprintf("%s at write %d", name, n))
		}
	}
	t.Logf("%d faults, each at one write", points)
}

// finish takes a run up in a new process until it has ended, and checks it.
func finish(t *testing.T, st store.Store, d *Definition, port *askedCounter, name string) {
	t.Helper()
	finishAs(t, st, d, port, "second", name)
}

func finishAs(t *testing.T, st store.Store, d *Definition, port *askedCounter, owner, name string) {
	t.Helper()
	e, err := New(Config{Store: st, Ports: map[string]Port{"tool": port}, Clock: stillClock{}, Owner: owner, Definitions: []*Definition{d}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Drive(t.Context(), "run")
	if errors.Is(err, store.ErrNotFound) {
		r, err = e.Start(t.Context(), Request{Exec: "run", Definition: d, State: value(`{"n":1}`)})
	}
	var refusal *Refusal
	if errors.As(err, &refusal) {
		r, err = e.Status(t.Context(), "run")
	}
	if err != nil || r.Status != store.Terminated || r.Result.String() != fiveStepsResult || port.new != 3 {
		t.Fatalf("%s: %s %s %v, %d effects", name, r.Status, r.Result, err, port.new)
	}
	log := logOf(t, st, "run")
	if n := count(log, event.TypeTerminated); n != 1 {
		t.Fatalf("%s: %d ends", name, n)
	}
	v, err := e.Replay(t.Context(), "run", ReplayOptions{})
	if err != nil || v.Divergence != nil {
		t.Fatalf("%s: %v %v", name, err, v.Divergence)
	}
}

// fileCounter is an external counter: a file with a line for every effect that
// happened as new. It survives the process.
type fileCounter struct {
	path string
	at   func(point string)
}

func (c fileCounter) lines() []string {
	data, _ := os.ReadFile(c.path)
	return strings.Fields(string(data))
}

func (c fileCounter) Do(_ context.Context, e Effect) (Outcome, error) {
	c.at("before effect")
	f, err := os.OpenFile(c.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return Outcome{}, err
	}
	defer f.Close()
	o := double(e)
	n, _ := o.Result.Get("n")
	if _, err := f.WriteString(e.Key + ":" + n.Text() + "\n"); err != nil {
		return Outcome{}, err
	}
	c.at("after effect")
	return o, nil
}

func (c fileCounter) Ask(_ context.Context, key string) (Outcome, Answer, error) {
	for _, line := range c.lines() {
		if k, n, _ := strings.Cut(line, ":"); k == key {
			return Outcome{Result: value(`{"n":` + n + `}`)}, Happened, nil
		}
	}
	return Outcome{}, Never, nil
}

// killing is a store whose process dies around one of its writes.
type killing struct {
	store.Store
	at func(point string)
}

func (s killing) Append(ctx context.Context, b store.Batch) error {
	s.at("before append")
	err := s.Store.Append(ctx, b)
	s.at("after append")
	return err
}

func (s killing) Lease(ctx context.Context, exec, owner string, ttl time.Duration) (uint64, error) {
	s.at("before lease")
	fence, err := s.Store.Lease(ctx, exec, owner, ttl)
	s.at("after lease")
	return fence, err
}

// TestMain is the process that is killed, when the environment says so.
func TestMain(m *testing.M) {
	if dir := os.Getenv("WRIT_CRASH_DIR"); dir != "" {
		crashProcess(dir)
		return
	}
	if dir := os.Getenv("WRIT_INBOX_DIR"); dir != "" {
		inboxProcess(dir)
		return
	}
	os.Exit(m.Run())
}

// crashProcess runs the five steps and kills itself at a point: at the n-th
// place, or some microseconds after it, in the middle of what comes then.
func crashProcess(dir string) {
	var t testing.T
	n, _ := strconv.Atoi(os.Getenv("WRIT_CRASH_AT"))
	after, _ := strconv.Atoi(os.Getenv("WRIT_CRASH_AFTER_US"))
	var seen atomic.Int64
	at := func(string) {
		if seen.Add(1) != int64(n)+1 {
			return
		}
		if after == 0 {
			kill()
		}
		go func() {
			time.Sleep(time.Duration(after) * time.Microsecond)
			kill()
		}()
	}
	fail := func(err error) {
		if err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
	}
	st, err := sqlite.Open(context.Background(), filepath.Join(dir, "writ.db"), nil)
	fail(err)
	d := fiveSteps(&t)
	e, err := New(Config{
		Store: killing{st, at}, Ports: map[string]Port{"tool": fileCounter{filepath.Join(dir, "counter"), at}}, Owner: os.Getenv("WRIT_CRASH_OWNER"),
		Definitions: []*Definition{d}, Lease: 5 * time.Second,
	})
	fail(err)
	if os.Getenv("WRIT_CRASH_MODE") == "drive" {
		r, err := e.Drive(context.Background(), "run")
		fmt.Println(r.Status, err)
		return
	}
	_, err = e.Start(context.Background(), Request{Exec: "run", Definition: d, State: value(`{"n":1}`)})
	fail(err)
	fmt.Println("points", seen.Load())
}

func kill() {
	p, _ := os.FindProcess(os.Getpid())
	_ = p.Kill()
	select {}
}

func crashCommand(dir string, env ...string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "WRIT_CRASH_DIR="+dir)
	c.Env = append(c.Env, env...)
	return c
}

// TestKilledProcesses kills a process with SIGKILL at, and at times within, every
// write and effect of a run of five steps, and takes the run up again.
func TestKilledProcesses(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("starts some hundred processes")
	}
	out, err := crashCommand(t.TempDir(), "WRIT_CRASH_AT=1000000", "WRIT_CRASH_OWNER=probe").Output()
	points, perr := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(string(out), "points")))
	if err != nil || perr != nil {
		t.Fatalf("%v %v %s", err, perr, out)
	}
	var delays []int
	for us := 0; len(delays)*points < 200; us += 150 {
		delays = append(delays, us)
	}
	d := fiveSteps(t)
	killed, started := 0, 0
	for point := range points {
		for _, us := range delays {
			dir := t.TempDir()
			err := crashCommand(dir, fmt.Sprint("WRIT_CRASH_AT=", point), fmt.Sprint("WRIT_CRASH_AFTER_US=", us), "WRIT_CRASH_OWNER=first").Run()
			if started++; err != nil {
				killed++
			}
			takeUp(t, d, dir, fmt.Sprintf("point %d and %d us", point, us))
		}
	}
	t.Logf("%d points, %d processes, %d killed before they were done", points, started, killed)
}

// takeUp finishes a killed run in this process. The lease of the dead one is for
// its name, which the next one takes over.
func takeUp(t *testing.T, d *Definition, dir, name string) {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(dir, "writ.db"), nil)
	if err != nil {
		t.Fatal(name, err)
	}
	defer st.Close()
	counter := fileCounter{filepath.Join(dir, "counter"), func(string) {}}
	e, err := New(Config{Store: st, Ports: map[string]Port{"tool": counter}, Owner: "first", Definitions: []*Definition{d}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Drive(t.Context(), "run")
	if errors.Is(err, store.ErrNotFound) {
		r, err = e.Start(t.Context(), Request{Exec: "run", Definition: d, State: value(`{"n":1}`)})
	}
	var refusal *Refusal
	if errors.As(err, &refusal) {
		r, err = e.Status(t.Context(), "run")
	}
	keys := map[string]bool{}
	for _, line := range counter.lines() {
		keys[line] = true
	}
	if err != nil || r.Result.String() != fiveStepsResult || len(counter.lines()) != 3 || len(keys) != 3 {
		t.Fatalf("%s: %s %s %v, counter %v", name, r.Status, r.Result, err, counter.lines())
	}
	logOf(t, st, "run")
}

// TestEightProcessesResumeOneRun lets eight processes take up one killed run at
// once: one history, every effect once.
func TestEightProcessesResumeOneRun(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	// The first process dies after its second effect and holds no lease by then.
	_ = crashCommand(dir, "WRIT_CRASH_AT=9", "WRIT_CRASH_OWNER=worker-0").Run()
	var all sync.WaitGroup
	answers := make([]string, 8)
	for i := range answers {
		all.Go(func() {
			out, _ := crashCommand(dir, "WRIT_CRASH_AT=1000000", "WRIT_CRASH_MODE=drive", fmt.Sprint("WRIT_CRASH_OWNER=worker-", i)).CombinedOutput()
			answers[i] = strings.TrimSpace(string(out))
		})
	}
	all.Wait()
	finished := 0
	for _, a := range answers {
		if a == "terminated <nil>" {
			finished++
		}
	}
	t.Logf("answers: %v", answers)
	if finished == 0 {
		t.Errorf("nobody finished the run: %v", answers)
	}
	takeUp(t, fiveSteps(t), dir, "eight processes")
}

// TestWorkerPastItsLeaseCannotWrite lets a worker sleep inside an effect until
// another one has taken the run over.
func TestWorkerPastItsLeaseCannotWrite(t *testing.T) {
	d := fiveSteps(t)
	var mu sync.Mutex
	now := time.UnixMilli(1_000_000)
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	st := memory.New(clock)
	port := &askedCounter{done: map[string]Outcome{}}
	asleep, wake := make(chan struct{}), make(chan struct{})
	var once sync.Once
	sleepy := PortFunc(func(ctx context.Context, e Effect) (Outcome, error) {
		o, err := port.Do(ctx, e)
		once.Do(func() { close(asleep) })
		<-wake
		return o, err
	})
	a, err := New(Config{Store: st, Ports: map[string]Port{"tool": sleepy}, Clock: movedClock{clock}, Owner: "a"})
	if err != nil {
		t.Fatal(err)
	}
	lost := make(chan error)
	go func() {
		_, err := a.Start(t.Context(), Request{Exec: "run", Definition: d, State: value(`{"n":1}`)})
		lost <- err
	}()
	<-asleep
	mu.Lock()
	now = now.Add(time.Hour)
	mu.Unlock()
	finish(t, st, d, port, "after the lease")
	close(wake)
	if err := <-lost; !errors.Is(err, ErrLost) {
		t.Errorf("the worker that slept: %v", err)
	}
	wants(t, "effects", port.new, 3)
}

// movedClock is a clock that a test moves; nothing waits for it.
type movedClock struct{ now func() time.Time }

func (c movedClock) Now() time.Time { return c.now() }

func (c movedClock) AfterFunc(time.Duration, func()) func() { return func() {} }
