package cel_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/expr"
	"github.com/writ-dev/writ/expr/cel"
)

var vars = []expr.Var{{Name: "state"}, {Name: "args", Type: expr.Object}, {Name: "n", Type: expr.Number}}

const (
	state = `{"z":1,"a":2.5,"order":{"id":"x","lines":[{"sku":"b","n":2},{"sku":"a","n":3}]},"big":18446744073709551615,"f":3.0,"m":{"k9":1,"k1":2,"k5":3},"t":"2026-01-02T03:04:05Z"}`
	args  = `{"q":"hello","limit":10,"tags":["y","x"]}`
)

func value(t testing.TB, text string) artifact.Value {
	t.Helper()
	v, err := artifact.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func eval(t testing.TB, source string) (string, error) {
	t.Helper()
	p, err := cel.Compiler{}.Compile(source, vars)
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	v, err := p.Eval(value(t, state), value(t, args), artifact.IntValue(7))
	return v.String(), err
}

func TestEval(t *testing.T) {
	for source, want := range map[string]string{
		`args.q == "hello" && args.limit <= 50`: `true`,
		`args.limit < 9.5`:                      `false`,
		`state.a < 3`:                           `true`,
		`state.big > 5`:                         `true`,
		`n + 1`:                                 `8`,
		`state.f`:                               `3.0`,
		`state.f * 2.0`:                         `6.0`,
		`state`:                                 state,
		`state.order.lines[1].sku`:              `"a"`,
		`state["order"]["id"]`:                  `"x"`,
		`has(state.order.id) && !has(state.nope)`:         `true`,
		`"q" in args && !("x" in args)`:                   `true`,
		`"x" in args.tags`:                                `true`,
		`size(args.tags) + size(args.q)`:                  `7`,
		`state.m.map(k, k)`:                               `["k9","k1","k5"]`,
		`state.m.filter(k, state.m[k] > 1)`:               `["k1","k5"]`,
		`{"z": 1, "a": [2], "m": {"y": 1, "b": 2}}`:       `{"z":1,"a":[2],"m":{"y":1,"b":2}}`,
		`{"z": 1, "a": 2, "m": 3}.map(k, k)`:              `["z","a","m"]`,
		`state.order.lines.map(l, {"s": l.sku})`:          `[{"s":"b"},{"s":"a"}]`,
		`state.order.lines.exists(l, l.n == 3)`:           `true`,
		`args.tags + ["z"]`:                               `["y","x","z"]`,
		`args.tags == ["y", "x"]`:                         `true`,
		`state.m == {"k1": 2, "k5": 3, "k9": 1}`:          `true`,
		`{"k1": 2, "k5": 3, "k9": 1.0} == state.m`:        `true`,
		`state.m == {"k1": 2, "k5": 3}`:                   `false`,
		`state.order == state.m`:                          `false`,
		`args.q.matches("^h.*o$")`:                        `true`,
		`args.q.startsWith("he") ? "y" : "n"`:             `"y"`,
		`timestamp(state.t).getFullYear()`:                `2026`,
		`string(timestamp(state.t))`:                      `"2026-01-02T03:04:05Z"`,
		`null`:                                            `null`,
		`type(state.m) == map && type(args.tags) == list`: `true`,
		`args.tags[1.0]`:                                  `"x"`,
		`9007199254740993 == 9007199254740992`:            `false`,
		`dyn(1) == 1.0`:                                   `true`,
	} {
		if got, err := eval(t, source); err != nil || got != want {
			t.Errorf("%s: %s %v, want %s", source, got, err, want)
		}
	}
}

func TestEvalErrors(t *testing.T) {
	double := "[0]" + strings.Repeat(".map(a, [a, a])", 40)
	for source, want := range map[string]string{
		`state.nope == 1`:       `no such key: nope`,
		`args.tags[7]`:          `index out of bounds: 7`,
		`args.tags["1"] == "x"`: `index`,
		`state.a + 1`:           `no such overload`,
		`1 / 0`:                 `division by zero`,
		`1.0 / 0.0`:             `no JSON form`,
		`timestamp(state.t)`:    `no JSON form; convert it with string()`,
		`b"x"`:                  `no JSON form`,
		`{1: 2}`:                `names are strings`,
		`{"a": 1, "a": 2}`:      `appears twice`,
		`[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, a + b + c + d > 0))))`: `evaluation costs more than 10000`,
		double:                   `more than`,
		double + " == " + double: `more than`,
	} {
		got, err := eval(t, source)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %.40s, %v; want %q", source, got, err, want)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	for _, c := range []struct {
		source       string
		line, column int
		want         string
	}{
		{`args.q ==`, 1, 10, `Syntax error`},
		{"true &&\n  sate.x == 1", 2, 3, `unknown name "sate"; did you mean "state"?`},
		{`now() < 3`, 1, 4, `now`},
		{`"é" + nope.x`, 1, 7, `unknown name "nope"; known are state, args, n`},
		{`timestamp("2026-01-01T00:00:00Z").getHours("Europe/Berlin")`, 1, 43, `no matching overload`},
		{`1 + "a"`, 1, 3, `no matching overload`},
		{`args.q.matches("(")`, 1, 16, `no pattern in RE2 syntax`},
		{strings.Repeat("(", 300) + "1" + strings.Repeat(")", 300), 1, 1, `recursion`},
		{strings.Repeat("x", expr.MaxSource+1), 1, 1, `at most`},
		{``, 1, 1, ``},
	} {
		_, err := cel.Compiler{}.Compile(c.source, vars)
		var e *expr.Error
		if !errors.As(err, &e) {
			t.Errorf("%.40s: %v is no *expr.Error", c.source, err)
			continue
		}
		if !strings.Contains(e.Problem, c.want) || c.want != "recursion" && c.want != "at most" && e.Line != c.line {
			t.Errorf("%.40q: %v, want line %d, %q", c.source, e, c.line, c.want)
		}
		if c.line == 2 && e.Column != c.column {
			t.Errorf("%.40q: column %d, want %d", c.source, e.Column, c.column)
		}
	}
}

func TestDeclaredTypesAreChecked(t *testing.T) {
	p, err := cel.Compiler{}.Compile(`args.q`, vars)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Eval(value(t, `{}`), value(t, `[]`), artifact.IntValue(1)); err == nil || err.Error() != "args is array, not object" {
		t.Errorf("%v", err)
	}
	if _, err := p.Eval(value(t, `{}`)); err == nil {
		t.Error("too few values are accepted")
	}
}

func TestCostLimit(t *testing.T) {
	p, err := cel.Compiler{}.WithCostLimit(3).Compile(`args.q == "a" || args.q == "b" || args.q == "hello"`, vars)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Eval(value(t, state), value(t, args), artifact.IntValue(7)); err == nil || err.Error() != "evaluation costs more than 3" {
		t.Errorf("%v", err)
	}
}

func TestTypeAndReferences(t *testing.T) {
	for _, c := range []struct {
		source string
		result expr.Type
		reads  string
	}{
		{`args.q == "a"`, expr.Bool, `args.q`},
		{`state`, expr.Any, `state`},
		{`state.order.id + string(n)`, expr.String, `n state.order.id`},
		{`state.order.lines[0].sku`, expr.Any, `state.order.lines`},
		{`state[args.q]`, expr.Any, `args.q state`},
		{`state.a > 1 && state.order.id == "" && state.order != null`, expr.Bool, `state.a state.order`},
		{`has(state.a.b) ? 1 : 2`, expr.Number, `state.a.b`},
		{`state.m.map(n, n)`, expr.List, `state.m`},
		{`state.m.all(state, state == args.limit)`, expr.Bool, `args.limit state.m`},
		{`{"a": state.x, "b": [args.y]}`, expr.Object, `args.y state.x`},
		{`args.q.startsWith(args.p)`, expr.Bool, `args.p args.q`},
		{`state.m.all(state, .state.a > 1)`, expr.Bool, `state.a state.m`},
		{`[1].map(state, .state.order)`, expr.List, `state.order`},
		{`[1].map(x, [2].map(state, [x, state, .args.q]))`, expr.List, `args.q`},
		{`[1].map(n, n) + [n]`, expr.List, `n`},
		{`.state.a`, expr.Any, `state.a`},
		{"state.`a-b`", expr.Any, `state.a-b`},
		{`dyn(state.m).k`, expr.Any, `state.m`},
		{`{"x": state.m}.x.k`, expr.Any, `state.m`},
		{`state.m[args.q].k`, expr.Any, `args.q state.m`},
		{`(state.a > 1 ? args.q : state.z).k`, expr.Any, `args.q state.a state.z`},
		{`state.m.exists_one(k, k == args.q)`, expr.Bool, `args.q state.m`},
		{`state.m.filter(k, size(state.order.lines) > 0)`, expr.List, `state.m state.order.lines`},
		{`"x"`, expr.String, ``},
		{`null`, expr.Null, ``},
	} {
		p, err := cel.Compiler{}.Compile(c.source, vars)
		if err != nil {
			t.Errorf("%s: %v", c.source, err)
			continue
		}
		var reads []string
		for _, r := range p.References() {
			reads = append(reads, strings.Join(append([]string{r.Var}, r.Path...), "."))
		}
		if got := strings.Join(reads, " "); got != c.reads || p.Type() != c.result {
			t.Errorf("%s: reads %q as %s, want %q as %s", c.source, got, p.Type(), c.reads, c.result)
		}
	}
}

// A constant is told apart from a program that cannot tell what it reads.
func TestConstantsReferToNothing(t *testing.T) {
	p, err := cel.Compiler{}.Compile(`"a" + "b"`, vars)
	if err != nil || p.References() == nil || len(p.References()) != 0 {
		t.Errorf("%v, %v", p.References(), err)
	}
}

// What lies beyond its references must not change a program's result.
func TestReferencesAreComplete(t *testing.T) {
	for range 20 {
		rapid.Check(t, func(t *rapid.T) {
			source := genSource(t, 3, []string{"state", "args", "n"})
			p, err := cel.Compiler{}.Compile(source, vars)
			if err != nil {
				return // a type that does not fit
			}
			checkReferences(t, source, p)
		})
	}
}

// genSource draws a source over paths that are there and paths that are not,
// with macros whose variables hide those of the host.
func genSource(t *rapid.T, depth int, names []string) string {
	pick := func(list ...string) string { return rapid.SampledFrom(list).Draw(t, "pick") }
	one := func() string { return genSource(t, depth-1, names) }
	if depth == 0 {
		return pick(`"k1"`, `1`, `true`, `[1, 2]`, `{"a": 1}`, `.n`, `.state.a`, `.args.q`, pick(names...),
			`state.order.`+pick("id", "lines", "none"), `state.`+pick("a", "z", "m", "order", "nope"), `args.`+pick("q", "tags", "limit"))
	}
	switch pick("leaf", "op", "if", "has", "index", "list", "object", "macro", "call") {
	case "op":
		return "(" + one() + pick(" + ", " == ", " < ", " && ", " || ", " in ") + one() + ")"
	case "if":
		return "(" + one() + " == " + one() + " ? " + one() + " : " + one() + ")"
	case "has":
		return "has(" + pick("state.", ".state.", "args.", "state.m.", "state.order.") + pick("a", "k1", "id", "q", "nope") + ")"
	case "index":
		return one() + "[" + pick(`"id"`, `"k1"`, `0`, one()) + "]"
	case "list":
		return "[" + one() + ", " + one() + "]"
	case "object":
		return `{"x": ` + one() + `, "y": ` + one() + "}"
	case "macro":
		name := pick("x", "state", "args", "n")
		body := genSource(t, depth-1, append(slices.Clip(names), name))
		return pick(one(), "[1, 2]", "state.m", "args.tags") + "." + pick("map", "filter", "all", "exists", "exists_one") + "(" + name + ", " + body + ")"
	case "call":
		return pick("size", "string", "dyn", "type") + "(" + one() + ")"
	}
	return genSource(t, 0, names)
}

// checkReferences evaluates a program on all there is, and on what it refers to
// alone.
func checkReferences(t interface{ Fatalf(string, ...any) }, source string, p expr.Program) {
	must := func(text string) artifact.Value {
		v, err := artifact.ParseValue([]byte(text))
		if err != nil {
			t.Fatalf("%v", err)
		}
		return v
	}
	all := map[string]artifact.Value{"state": must(state), "args": must(args), "n": artifact.IntValue(7)}
	less := map[string]artifact.Value{"state": must(`{"other":[1]}`), "args": must(`{}`), "n": artifact.IntValue(8)}
	for _, r := range p.References() {
		less[r.Var] = withPart(less[r.Var], all[r.Var], r.Path)
	}
	want, err := p.Eval(all["state"], all["args"], all["n"])
	got, again := p.Eval(less["state"], less["args"], less["n"])
	if (err == nil) != (again == nil) || err == nil && got.String() != want.String() {
		t.Fatalf("%s refers to %v, and gives %v (%v), then %v (%v)", source, p.References(), want, err, got, again)
	}
}

// withPart copies the part at a path, as far as it is there.
func withPart(into, from artifact.Value, path []string) artifact.Value {
	if len(path) == 0 || from.Kind() != artifact.KindObject {
		return from
	}
	part, ok := from.Get(path[0])
	if !ok {
		return into
	}
	below, ok := into.Get(path[0])
	if !ok {
		below = artifact.ObjectValue()
	}
	return into.With(path[0], withPart(below, part, path[1:]))
}

// A Go map would answer in another order now and then.
func TestOrderIsStable(t *testing.T) {
	var members []string
	for i := range 40 {
		members = append(members, fmt.Sprintf("%q:%d", fmt.Sprint("k", (i*17)%40), i))
	}
	in := value(t, "{"+strings.Join(members, ",")+"}")
	p, err := cel.Compiler{}.Compile(`state.map(k, state[k])`, vars)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 40 {
		want = append(want, fmt.Sprint(i))
	}
	for range 50 {
		got, err := p.Eval(in, value(t, `{}`), artifact.IntValue(1))
		if err != nil || got.String() != "["+strings.Join(want, ",")+"]" {
			t.Fatalf("%v, %v", got, err)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	p, err := cel.Compiler{}.Compile(`state.m.filter(k, state.m[k] > 1)`, vars)
	if err != nil {
		t.Fatal(err)
	}
	s, a := value(t, state), value(t, args)
	var wait sync.WaitGroup
	results := make([]string, 8)
	for i := range results {
		wait.Go(func() {
			for range 50 {
				v, err := p.Eval(s, a, artifact.IntValue(1))
				if err != nil {
					v = artifact.StringValue(err.Error())
				}
				results[i] = v.String()
			}
		})
	}
	wait.Wait()
	if slices.ContainsFunc(results, func(r string) bool { return r != `["k1","k5"]` }) {
		t.Errorf("%q", results)
	}
}

func BenchmarkEval(b *testing.B) {
	p, err := cel.Compiler{}.Compile(`args.q.size() < 200 && args.limit <= 50`, []expr.Var{{Name: "args", Type: expr.Object}})
	if err != nil {
		b.Fatal(err)
	}
	a := value(b, args)
	b.ReportAllocs()
	for b.Loop() {
		if v, err := p.Eval(a); err != nil || !v.Bool() {
			b.Fatal(v, err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := (cel.Compiler{}).Compile(`args.q.size() < 200 && args.limit <= 50`, vars); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzEval looks for panics, for results that differ, and for work without end.
func FuzzEval(f *testing.F) {
	f.Add(`state.m.map(k, state.m[k]) == [1,2,3]`)
	f.Add(`{"a": args.tags + [n], "b": args.q.matches("a*")}`)
	f.Add(`[[1]].map(a, a + a).exists(b, b == state.order)`)
	f.Fuzz(func(t *testing.T, source string) {
		p, err := cel.Compiler{}.Compile(source, vars)
		if err != nil {
			var e *expr.Error
			if !errors.As(err, &e) || e.Line < 1 || e.Column < 1 {
				t.Fatalf("%q: %v", source, err)
			}
			return
		}
		checkReferences(t, source, p)
		first, err := p.Eval(value(t, state), value(t, args), artifact.IntValue(7))
		second, again := p.Eval(value(t, state), value(t, args), artifact.IntValue(7))
		if (err == nil) != (again == nil) || err == nil && first.String() != second.String() {
			t.Fatalf("%q: %v %v, then %v %v", source, first, err, second, again)
		}
	})
}
