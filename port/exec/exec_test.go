package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/policy"
)

// TestMain makes the test's own binary the program that the tests run.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "child" {
		syscall.Exit(child(os.Args[2], os.Args[3:])) // at once, also with the race detector
	}
	os.Exit(m.Run())
}

func child(what string, args []string) int {
	switch what {
	case "echo":
		fmt.Print(strings.Join(args, "|"))
	case "cat":
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "env":
		list := os.Environ()
		slices.Sort(list)
		fmt.Print(strings.Join(list, "\n"))
	case "dir":
		dir, _ := os.Getwd()
		fmt.Print(dir)
	case "files":
		entries, err := os.ReadDir("/dev/fd")
		fmt.Print(len(entries), err)
	case "write": // what, how often, to both streams
		var n int
		_, _ = fmt.Sscan(args[1], &n)
		for range n {
			_, _ = io.WriteString(os.Stdout, args[0])
			_, _ = io.WriteString(os.Stderr, args[0])
		}
	case "exit":
		var n int
		_, _ = fmt.Sscan(args[0], &n)
		fmt.Fprintln(os.Stderr, "says", strings.Join(args[1:], " "))
		return n
	case "kill":
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		select {}
	case "host":
		hostProgram(args[0])
	case "hang":
		hang(args)
	case "parent": // starts a child that hangs, and exits or hangs as well
		c := exec.Command(os.Args[0], "child", "hang", args[1], "grandchild")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Start(); err != nil {
			panic(err)
		}
		if args[0] == "hang" {
			hang([]string{args[1], "child"})
		}
		conn, err := net.Dial("tcp", args[1])
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(conn, "child\n")
		_, _ = conn.Read(make([]byte, 1)) // until the test knows both
	}
	return 0
}

// hang says over a connection that it runs, and never ends by itself. With
// ignore it does not end when it is told to either.
func hang(args []string) {
	if len(args) > 2 && args[2] == "polite" {
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGTERM)
		defer func() {
			<-told
			fmt.Print("goodbye")
		}()
	}
	if len(args) > 2 && args[2] == "ignore" {
		signal.Ignore(syscall.SIGTERM)
	}
	conn, err := net.Dial("tcp", args[0])
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(conn, args[1]+"\n")
	if len(args) > 2 && args[2] == "polite" {
		return
	}
	_, _ = io.Copy(io.Discard, conn)
	select {}
}

// self gives the command that is this test's binary.
func self(t *testing.T) Command {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command{Program: program, Args: []string{"child"}, Dir: t.TempDir()}
}

func port(t *testing.T, c Command, o Options) *Port {
	t.Helper()
	p, err := New(map[string]Command{"self": c}, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func effect(args ...string) engine.Effect {
	list := make([]artifact.Value, len(args))
	for i, a := range args {
		list[i] = artifact.StringValue(a)
	}
	return engine.Effect{
		Key: "k", Port: Name, Name: "self", Kind: policy.KindExec,
		Args:   artifact.ObjectValue(artifact.Member{Name: "args", Value: artifact.ArrayValue(list...)}),
		Permit: policy.Permit{Kind: policy.KindExec, Name: "self"},
	}
}

func do(t *testing.T, p *Port, e engine.Effect) engine.Outcome {
	t.Helper()
	o, err := p.Do(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if !o.Failed && o.Usage.Calls != 1 {
		t.Errorf("usage %+v", o.Usage)
	}
	return o
}

// text gives a member of a result as text.
func text(o engine.Outcome, name string) string {
	v, _ := o.Result.Get(name)
	if v.Kind() == artifact.KindBool {
		return fmt.Sprint(v.Bool())
	}
	return v.Text()
}

func expect(t *testing.T, o engine.Outcome, members ...string) {
	t.Helper()
	if o.Failed {
		t.Fatalf("failed: %s: %s", o.Class, o.Error)
	}
	for i := 0; i < len(members); i += 2 {
		if got := text(o, members[i]); got != members[i+1] {
			t.Errorf("%s is %q, want %q", members[i], got, members[i+1])
		}
	}
}

func expectFailure(t *testing.T, o engine.Outcome, class, part string) {
	t.Helper()
	if !o.Failed || o.Class != class || !strings.Contains(o.Error, part) {
		t.Errorf("%+v, want class %s and %q", o, class, part)
	}
}

func TestArgumentsAreNoShell(t *testing.T) {
	o := do(t, port(t, self(t), Options{}), effect("echo", "a b", "$(id)", ";", "*", "", "`x`", "\n"))
	expect(t, o, "stdout", "a b|$(id)|;|*||`x`|\n", "exit_code", "0", "signal", "", "stderr", "", "truncated", "false", "stdout_encoding", "text")
}

func TestInput(t *testing.T) {
	p := port(t, self(t), Options{})
	e := effect("cat")
	e.Args = e.Args.With("stdin", artifact.StringValue("line\nwörd"))
	expect(t, do(t, p, e), "stdout", "line\nwörd", "stdout_bytes", "10")
	// A program that does not read its input is none the worse for it.
	e = effect("echo", "x")
	e.Args = e.Args.With("stdin", artifact.StringValue(strings.Repeat("x", 1<<20)))
	expect(t, do(t, p, e), "stdout", "x")
	expect(t, do(t, p, effect("cat")), "stdout", "")
}

func TestEnvironment(t *testing.T) {
	c := self(t)
	host := map[string]string{"HOME": "/home/somebody", "AWS_SECRET": "planted", "LANG": "C"}
	lookup := func(name string) (string, bool) {
		v, ok := host[name]
		return v, ok
	}
	t.Setenv("PLANTED", "planted")
	expect(t, do(t, port(t, c, Options{LookupEnv: lookup}), effect("env")), "stdout", "")
	c.Env = []string{"LANG", "MISSING"}
	c.Set = map[string]string{"MODE": "strict"}
	c.Secrets = map[string]string{"TOKEN": "vault/token"}
	secret := func(_ context.Context, handle string) (string, error) { return "s3cr3t of " + handle, nil }
	p := port(t, c, Options{LookupEnv: lookup, Secret: secret})
	expect(t, do(t, p, effect("env")), "stdout", "LANG=C\nMODE=strict\nTOKEN=[redacted]")
	broken := func(context.Context, string) (string, error) { return "", errors.New("the vault is sealed") }
	expectFailure(t, do(t, port(t, c, Options{Secret: broken}), effect("env")), "internal", "secret vault/token: the vault is sealed")
}

func TestDirectory(t *testing.T) {
	c := self(t)
	want, err := filepath.EvalSymlinks(c.Dir)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, do(t, port(t, c, Options{}), effect("dir")), "stdout", want)
}

func TestOutputIsCapped(t *testing.T) {
	p := port(t, self(t), Options{})
	e := effect("write", "0123456789", "2000")
	e.Permit.OutputBytes = 25
	expect(t, do(t, p, e), "stdout", "0123456789012345678901234", "stdout_bytes", "20000", "stderr_bytes", "20000", "truncated", "true")
	e = effect("write", "ö", "3")
	e.Permit.OutputBytes = 5 // in the middle of a character
	expect(t, do(t, p, e), "stdout", "öö", "stderr", "öö", "stdout_encoding", "text", "truncated", "true")
	e.Permit.OutputBytes = 6
	expect(t, do(t, p, e), "stdout", "ööö", "truncated", "false")
	expect(t, do(t, p, effect("write", "\xff\xfe", "1")), "stdout", "//4=", "stdout_encoding", "base64", "stderr_encoding", "base64")
	if o := do(t, p, effect("write", strings.Repeat("x", 1<<16), "20")); len(text(o, "stdout")) != policy.DefaultOutputBytes {
		t.Errorf("%d bytes by default", len(text(o, "stdout")))
	}
}

func TestExitCodes(t *testing.T) {
	c := self(t)
	p := port(t, c, Options{})
	expectFailure(t, do(t, p, effect("exit", "3", "no", "luck")), "internal", "the program exited with 3: says no luck")
	c.ExitCodes = []int{0, 1}
	p = port(t, c, Options{})
	expect(t, do(t, p, effect("exit", "1")), "exit_code", "1", "stderr", "says \n")
	expectFailure(t, do(t, p, effect("exit", "2")), "internal", "exited with 2")
	expectFailure(t, do(t, p, effect("kill")), "internal", "the program was ended by SIGKILL")
}

func TestSecretsStayOutOfErrors(t *testing.T) {
	c := self(t)
	c.Secrets = map[string]string{"TOKEN": "h"}
	p := port(t, c, Options{Secret: func(context.Context, string) (string, error) { return "planted-secret", nil }})
	o := do(t, p, effect("exit", "1", "bad", "token", "planted-secret"))
	expectFailure(t, o, "internal", "says bad token [redacted]")
	e := effect("echo", "1234planted-secret")
	e.Permit.OutputBytes = 10 // in the middle of the secret
	expect(t, do(t, p, e), "stdout", "1234[redac", "truncated", "true")
	if o = do(t, p, effect("exit", "1", "planted-secret"+strings.Repeat("x", tailBytes-4))); strings.Contains(o.Error, "secret") {
		t.Errorf("a part of the secret is in %q", o.Error)
	}
}

func TestJSONOutput(t *testing.T) {
	c := self(t)
	c.JSON = true
	p := port(t, c, Options{})
	o := do(t, p, effect("echo", `{"a":[1,2]}`))
	if v, _ := o.Result.Get("json"); v.String() != `{"a":[1,2]}` {
		t.Errorf("%+v", o)
	}
	expectFailure(t, do(t, p, effect("echo", "{")), "invalid", "stdout is not JSON")
	e := effect("write", "1", "100")
	e.Permit.OutputBytes = 50
	expectFailure(t, do(t, p, e), "invalid", "longer than 50 bytes")
}

// beacon is what hanging programs connect to. A connection ends with the process
// that made it.
type beacon struct {
	net.Listener
	t *testing.T
}

func newBeacon(t *testing.T) beacon {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return beacon{l, t}
}

// running waits for n processes to say that they run.
func (b beacon) running(n int) (names []string, conns []net.Conn) {
	b.t.Helper()
	for range n {
		conn, err := b.Accept()
		if err != nil {
			b.t.Fatal(err)
		}
		buf := make([]byte, 100)
		k, _ := conn.Read(buf)
		names, conns = append(names, strings.TrimSpace(string(buf[:k]))), append(conns, conn)
	}
	slices.Sort(names)
	return names, conns
}

// gone waits until the processes are no more.
func (b beacon) gone(conns []net.Conn) {
	b.t.Helper()
	for _, c := range conns {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			b.t.Error("a process that should be gone says something")
		}
		_ = c.Close()
	}
}

// TestGroupEnds has a child and a grandchild that hold the output open.
func TestGroupEnds(t *testing.T) {
	b := newBeacon(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan engine.Outcome, 1)
	p := port(t, self(t), Options{})
	go func() {
		o, _ := p.Do(ctx, effect("parent", "hang", b.Addr().String()))
		done <- o
	}()
	names, conns := b.running(2)
	if !slices.Equal(names, []string{"child", "grandchild"}) {
		t.Fatalf("%q run", names)
	}
	cancel()
	expectFailure(t, <-done, "cancelled", "the program was ended by SIGKILL with the run")
	b.gone(conns)
}

// passed is a context whose deadline the test lets pass.
type passed struct {
	context.Context
	done chan struct{}
}

func (p passed) Done() <-chan struct{} { return p.done }

func (p passed) Err() error {
	select {
	case <-p.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestDeadline(t *testing.T) {
	b := newBeacon(t)
	ctx := passed{t.Context(), make(chan struct{})}
	done := make(chan engine.Outcome, 1)
	p := port(t, self(t), Options{})
	go func() {
		o, _ := p.Do(ctx, effect("hang", b.Addr().String(), "child"))
		done <- o
	}()
	_, conns := b.running(1)
	close(ctx.done)
	expectFailure(t, <-done, "timeout", "the program was ended by SIGKILL at its deadline")
	b.gone(conns)
	o, err := p.Do(ctx, effect("echo")) // not started at all
	if err != nil {
		t.Fatal(err)
	}
	expectFailure(t, o, "timeout", "the program was ended at its deadline")
	e := effect("hang", b.Addr().String(), "child")
	e.Permit.TimeoutMS = 1
	expectFailure(t, do(t, p, e), "timeout", "at its deadline")
}

// TestLeftBehind has a program that exits and leaves a child with its output.
func TestLeftBehind(t *testing.T) {
	b := newBeacon(t)
	c := self(t)
	p := port(t, c, Options{})
	done := make(chan engine.Outcome, 1)
	go func() {
		o, _ := p.Do(t.Context(), effect("parent", "exit", b.Addr().String()))
		done <- o
	}()
	_, conns := b.running(2)
	for _, c := range conns { // the grandchild takes no notice
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, <-done, "exit_code", "0", "stdout", "")
	b.gone(conns)
}

func TestGrace(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nobody can be told to end")
	}
	c := self(t)
	c.Grace = time.Hour // the program ends when it is told to, and is not waited for
	for how, want := range map[string]string{"polite": "ended with the run", "": "ended by SIGTERM with the run"} {
		b := newBeacon(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan engine.Outcome, 1)
		p := port(t, c, Options{})
		go func() {
			o, _ := p.Do(ctx, effect("hang", b.Addr().String(), "child", how))
			done <- o
		}()
		_, conns := b.running(1)
		cancel()
		expectFailure(t, <-done, "cancelled", want)
		b.gone(conns)
	}
	c.Grace = time.Millisecond
	b := newBeacon(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan engine.Outcome, 1)
	p := port(t, c, Options{})
	go func() {
		o, _ := p.Do(ctx, effect("hang", b.Addr().String(), "child", "ignore"))
		done <- o
	}()
	_, conns := b.running(1)
	cancel()
	expectFailure(t, <-done, "cancelled", "ended by SIGKILL")
	b.gone(conns)
}

func TestProgramFile(t *testing.T) {
	c := self(t)
	data, err := os.ReadFile(c.Program)
	if err != nil {
		t.Fatal(err)
	}
	c.Digest = artifact.Sum(data)
	expect(t, do(t, port(t, c, Options{}), effect("echo", "x")), "stdout", "x")
	c.Digest[0]++
	expectFailure(t, do(t, port(t, c, Options{}), effect("echo")), "internal", "another digest")
	c.Program = filepath.Join(c.Dir, "missing")
	expectFailure(t, do(t, port(t, c, Options{}), effect("echo")), "internal", "read the program")
	c.Digest = artifact.Digest{}
	expectFailure(t, do(t, port(t, c, Options{}), effect("echo")), "internal", "the program cannot be started")
	// A link is followed, as those in /usr/bin are.
	link := filepath.Join(c.Dir, "link")
	if err := os.Symlink(self(t).Program, link); err != nil {
		t.Skip(err)
	}
	c.Program = link
	expect(t, do(t, port(t, c, Options{}), effect("echo", "x")), "stdout", "x")
}

func TestRefusals(t *testing.T) {
	p := port(t, self(t), Options{})
	e := effect("echo")
	e.Name = "other"
	expectFailure(t, do(t, p, e), "invalid", "there is no command other")
	e = effect("echo")
	e.Permit = policy.Permit{}
	expectFailure(t, do(t, p, e), "invalid", "has no permit")
	for args, part := range map[string]string{
		`{"argv":["x"]}`:   "argv",
		`{"args":[1]}`:     "0: 1 is not a string",
		`{"args":"x"}`:     "args",
		`{"stdin":["x"]}`:  "stdin",
		`["x"]`:            "arguments",
		`{"shell":"true"}`: "shell",
	} {
		e = effect()
		e.Args, _ = artifact.ParseValue([]byte(args))
		expectFailure(t, do(t, p, e), "invalid", part)
	}
}
