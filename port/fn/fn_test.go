package fn

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/policy"
)

type addArgs struct {
	A int `json:"a"`
	B int `json:"b"`
}

type sum struct {
	Sum int `json:"sum"`
}

func add(_ context.Context, a addArgs) (sum, error) { return sum{a.A + a.B}, nil }

func port(t *testing.T, functions ...Function) *Port {
	t.Helper()
	p, err := New(functions...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func effect(name, args string) engine.Effect {
	v, err := artifact.ParseValue([]byte(args))
	if err != nil {
		panic(err)
	}
	return engine.Effect{
		Key: "key-1", Port: Name, Name: name, Exec: "run-1", Node: "n", Visit: 2, Attempt: 3, Args: v,
		Permit: policy.Permit{Kind: policy.KindTool, Name: name}, Reserve: policy.Amount{Units: 9},
	}
}

func expectFailure(t *testing.T, o engine.Outcome, err error, class, part string) {
	t.Helper()
	if err != nil || !o.Failed || o.Class != class || !strings.Contains(o.Error, part) {
		t.Errorf("%+v, %v, want class %s and %q", o, err, class, part)
	}
}

func TestFunctions(t *testing.T) {
	p := port(t,
		Func("add", add),
		Func("free", func(_ context.Context, v artifact.Value) (artifact.Value, error) { return v, nil }),
		Func("nothing", func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil }),
		FuncOf("knows", func(_ context.Context, c *Call, _ struct{}) (string, error) {
			c.Charge(policy.Amount{Units: 4, Cost: policy.Money{"USD": 5}})
			return fmt.Sprint(c.Key, c.Exec, c.Node, c.Visit, c.Attempt, c.Reserve.Units), nil
		}),
	)
	for _, c := range []struct{ name, args, want string }{
		{"add", `{"a":2,"b":3}`, `{"sum":5}`}, {"add", `{}`, `{"sum":0}`}, {"add", `null`, `{"sum":0}`},
		{"free", `{"x":[1.50,null]}`, `{"x":[1.50,null]}`}, {"nothing", `{}`, `{}`}, {"knows", `{}`, `"key-1run-1n2 3 9"`},
	} {
		o, err := p.Do(t.Context(), effect(c.name, c.args))
		if err != nil || o.Failed || o.Result.String() != c.want || o.Usage.Calls != 1 {
			t.Errorf("%s %s: %+v, %v, want %s", c.name, c.args, o, err, c.want)
		}
		if c.name == "knows" && (o.Usage.Units != 4 || o.Usage.Cost["USD"] != 5) {
			t.Errorf("usage %+v", o.Usage)
		}
	}
	for args, part := range map[string]string{
		`{"a":"x"}`: "the arguments do not fit", `{"c":1}`: "the arguments do not fit", `[1]`: "the arguments do not fit", `{"a":1.5}`: "do not fit",
	} {
		o, err := p.Do(t.Context(), effect("add", args))
		expectFailure(t, o, err, "invalid", part)
	}
	if got := strings.Join(p.Names(), " "); got != "add free knows nothing" {
		t.Error(got)
	}
}

func TestEndings(t *testing.T) {
	ends := func(name string, end func() error) Function {
		return FuncOf(name, func(_ context.Context, c *Call, _ struct{}) (func(), error) {
			c.Charge(policy.Amount{Tokens: 7})
			return func() {}, end()
		})
	}
	p := port(t,
		ends("known", func() error {
			return fmt.Errorf("call: %w", &Error{Class: "conflict", Message: "too late", Retryable: true})
		}),
		ends("plain", func() error { return errors.New("broken") }),
		ends("classless", func() error { return &Error{Message: "no"} }),
		ends("unknown", func() error { return fmt.Errorf("sent, no answer: %w", ErrUnknown) }),
		ends("panics", func() error { panic("ouch") }),
		ends("exits", func() error { runtime.Goexit(); return nil }),
		ends("unfit", func() error { return nil }), // a func has no JSON form
	)
	var name string
	var stack []byte
	p.Panicked = func(n string, _ any, s []byte) { name, stack = n, s }
	for _, c := range []struct{ name, class, part string }{
		{"known", "conflict", "too late"}, {"plain", "internal", "broken"}, {"classless", "internal", "no"},
		{"panics", "internal", "the function panicked: ouch"}, {"exits", "internal", "ended its goroutine"}, {"unfit", "invalid", "no JSON form"},
	} {
		o, err := p.Do(t.Context(), effect(c.name, `{}`))
		expectFailure(t, o, err, c.class, c.part)
		if o.Usage.Tokens != 7 || o.Usage.Calls != 1 || o.Retryable != (c.name == "known") {
			t.Errorf("%s: %+v", c.name, o)
		}
		if strings.Contains(o.Error, ".go:") {
			t.Errorf("%s: a stack in %q", c.name, o.Error)
		}
	}
	if name != "panics" || !strings.Contains(string(stack), "TestEndings") {
		t.Errorf("panic of %q: %s", name, stack)
	}
	if o, err := p.Do(t.Context(), effect("unknown", `{}`)); !errors.Is(err, ErrUnknown) || o.Failed || o.Usage.Tokens != 7 {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		polite := Func("polite", func(ctx context.Context, _ struct{}) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		late := Func("late", func(ctx context.Context, _ struct{}) (int, error) {
			<-ctx.Done()
			return 7, nil // the work was done after all
		})
		release := make(chan struct{})
		stubborn := Func("stubborn", func(context.Context, struct{}) (int, error) {
			<-release
			return 0, nil
		})
		p := port(t, polite, late, stubborn)
		e := effect("polite", `{}`)
		e.Permit.TimeoutMS = 50
		begin := time.Now()
		o, err := p.Do(t.Context(), e)
		expectFailure(t, o, err, "timeout", "no answer before the deadline")
		if took := time.Since(begin); took != 50*time.Millisecond || o.Usage.DurationMS != 50 {
			t.Errorf("took %s, %+v", took, o.Usage)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		o, err = p.Do(ctx, effect("polite", `{}`))
		expectFailure(t, o, err, "cancelled", "ended with the run")
		o, err = p.Do(ctx, effect("polite", `{}`)) // never called
		expectFailure(t, o, err, "cancelled", "")
		e = effect("late", `{}`)
		e.Permit.TimeoutMS = 50
		if o, err = p.Do(t.Context(), e); err != nil || o.Result.String() != "7" {
			t.Errorf("%+v, %v", o, err)
		}
		e = effect("stubborn", `{}`)
		e.Permit.TimeoutMS = 50
		begin = time.Now()
		if o, err = p.Do(t.Context(), e); !errors.Is(err, ErrUnknown) || time.Since(begin) != 50*time.Millisecond+patience {
			t.Errorf("%+v, %v after %s", o, err, time.Since(begin))
		}
		close(release)
	})
}

func TestRefusals(t *testing.T) {
	p := port(t, Func("add", add))
	o, err := p.Do(t.Context(), effect("other", `{}`))
	expectFailure(t, o, err, "invalid", "there is no function other")
	e := effect("add", `{}`)
	e.Permit = policy.Permit{}
	o, err = p.Do(t.Context(), e)
	expectFailure(t, o, err, "invalid", "has no permit")
	_, err = New(Func("a b", add), Func("x", add), Func("x", add), Function{Name: "y"})
	for _, part := range []string{`function "a b": its name`, "function x is there twice", "function y: make it with Func"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v, want %q", err, part)
		}
	}
}

func TestTools(t *testing.T) {
	f := Func("add", add)
	f.Capability, f.Namespace, f.Write, f.Idempotent, f.Reserve = "math", "sums", true, true, policy.Amount{Units: 2}
	p := port(t, f, Func("other", add))
	tool := p.Tools()["add"]
	if tool.Port != Name || tool.Kind != policy.KindTool || tool.Capability != "math" || tool.Namespace != "sums" || !tool.Write || tool.Reserve.Units != 2 {
		t.Errorf("%+v", tool)
	}
	if !p.Idempotent(effect("add", `{}`)) || p.Idempotent(effect("other", `{}`)) {
		t.Error("idempotent")
	}
}
