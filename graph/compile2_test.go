package graph

import (
	"fmt"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
)

// refundGraph is the example of the package comment, in the test language.
const refundGraph = `
version: 2
id: refund
state:
  /order: object
  /verdict: string?
  /answer: object?
entry: classify
limits: {max_steps: 40, max_tokens: 20000, max_cost_micros: 50000, timeout: 10m}
nodes:
  classify:
    model: fast
    reads: [/order]
    args: {prompt: "='Refund:' ++ state.order.text", n: [1, =visit]}
    reserve: {tokens: 4000, cost_micros: 9000}
    set: {/verdict: =result.text}
    cases:
      - when: result.text == 'refund'
        to: ask
    next: done
    routes: {failed: sorry}
    retry: 3
    timeout: 30s
  ask:
    approve: pay_refund
    reads: [/order]
    show: {order: =state.order.id}
    answer: {/note: string?}
    quorum: 2
    set: {/answer: =result}
    next: done
    routes: {denied: sorry, timeout: sorry}
    timeout: 2d
  done: {end: =state.verdict, reads: [/verdict]}
  sorry: {fail: no refund}
`

func compileText(t *testing.T, text string) (*Compiled, []Finding) {
	t.Helper()
	c, found, err := Compile([]byte(text), "g.yaml", Options{Expr: miniCompiler{}})
	if err != nil {
		t.Fatal(err)
	}
	return c, found
}

func TestVersion2Compiles(t *testing.T) {
	c, found := compileText(t, refundGraph)
	if len(found) > 0 {
		t.Errorf("findings %v", found)
	}
	n := c.Node("classify")
	if c.Entry != n || n.Kind != KindModel || n.Name != "fast" || n.Retry.Attempts != 3 || n.TimeoutMillis != 30_000 ||
		n.Reserve != (Usage{4000, 9000}) || !n.EnforceReads || c.Limits.TimeoutMillis != 600_000 {
		t.Errorf("node %+v", n)
	}
	for route, want := range map[string]string{"continue": "done", "ask": "ask", "failed": "sorry"} {
		if to, ok := n.Successor(route); !ok || to != want {
			t.Errorf("route %s leads to %q", route, to)
		}
	}
	if _, ok := n.Successor("denied"); ok {
		t.Error("an undeclared route leads somewhere")
	}
	if ask := c.Node("ask"); ask.Quorum != 2 || len(ask.Answer) != 1 || ask.TimeoutMillis != 2*86_400_000 {
		t.Errorf("node %+v", ask)
	}
	if c.Schema.ID != "refund" || c.Schema.Paths["/order"] != TypeObject || len(c.Schema.Required) != 1 {
		t.Errorf("schema %+v", c.Schema)
	}
	if !c.Node("done").Terminal || c.Node("nobody") != nil {
		t.Error("terminal or unknown node is wrong")
	}
}

func TestEvaluation(t *testing.T) {
	c, _ := compileText(t, refundGraph)
	state := value(t, `{"order":{"id":"o1","text":"broken"},"secret":"s"}`)
	n := c.Node("classify")
	args, err := n.EvalArgs(Scope{State: state, Visit: 2})
	if want := `{"n":[1,2],"prompt":"Refund:broken"}`; err != nil || args.String() != want {
		t.Errorf("args %s, error %v, want %s", args, err, want)
	}
	scope := Scope{State: state, Visit: 1, Result: value(t, `{"text":"refund"}`)}
	patch, err := n.EvalPatch(scope, 4)
	if want := `{"base_revision":4,"operations":{"/verdict":{"Set":"refund"}}}`; err != nil || string(patch.Encode()) != want {
		t.Errorf("patch %s, error %v", patch.Encode(), err)
	}
	if edge, ok, err := n.Decide(scope); err != nil || !ok || edge != (Edge{"ask", "ask"}) {
		t.Errorf("decides %v %v, error %v", edge, ok, err)
	}
	scope.Result = value(t, `{"text":"no"}`)
	if edge, ok, err := n.Decide(scope); err != nil || !ok || edge != (Edge{"continue", "done"}) {
		t.Errorf("decides %v %v, error %v", edge, ok, err)
	}
	scope.Result = value(t, `{}`)
	if _, _, err := n.Decide(scope); err == nil {
		t.Error("a condition on an absent member decides")
	}
	if got := n.View(state).String(); got != `{"order":{"id":"o1","text":"broken"}}` {
		t.Errorf("the node sees %s", got)
	}
}

func TestEvaluationWithoutCompiler(t *testing.T) {
	c, _, err := Compile([]byte(refundGraph), "g", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Node("classify").EvalArgs(Scope{}); err != ErrNoCompiler {
		t.Errorf("error %v", err)
	}
}

func value(t *testing.T, text string) artifact.Value {
	t.Helper()
	v, err := artifact.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// small makes a version 2 graph of the given nodes.
func small(nodes string) string {
	return "version: 2\nid: g\nstate: {/a: number, /o: object}\nentry: n\nlimits: {max_steps: 9, timeout: 1m}\nnodes:\n  " +
		strings.ReplaceAll(strings.TrimSpace(nodes), "\n", "\n  ") + "\n"
}

const end = "\ne: {end: null}"

func TestVersion2Refuses(t *testing.T) {
	for _, c := range []struct {
		code Code
		text string
		want string // the finding, from the position on
	}{
		{CodeMalformed, small("n: {tool: t, nxet: e}" + end), `7:16: unknown member "nxet"; did you mean "next"?`},
		{CodeMalformed, small("n: {toll: t}" + end), `7:6: node does nothing: give it one of handler, tool, model, retrieve, approve, wait, call, fork, join, end, fail or set; did you mean "tool"?`},
		{CodeMalformed, small("n: {tool: t, model: m}" + end), `node has both tool and model`},
		{CodeMalformed, small("n: {set: {}, retry: 3, next: e}" + end), `7:16: retry does not apply to set nodes`},
		{CodeMalformed, small("n: {tool: t, next: e, retry: 0}" + end), `must be from 1 to 1000`},
		{CodeMalformed, small("n: {tool: t, next: e, retry: {attempts: 2, on: [timeut]}}" + end), `did you mean "timeout"?`},
		{CodeMalformed, small("n: {tool: t, next: e, timeout: 30}" + end), `want a length of time with its unit`},
		{CodeMalformed, small("n: {tool: t, next: e, timeout: 3x}" + end), `"3x" is not a length of time`},
		{CodeMalformed, small("n: {tool: t, next: e, timeout: 0s}" + end), `longer than 0`},
		{CodeMalformed, small("n: {tool: t, next: e, routes: {fail: e}}" + end), `tool nodes have no outcome "fail"; they have failed, timeout, denied, exhausted; did you mean "failed"?`},
		{CodeMalformed, small("n: {tool: t, routes: {next: e}}" + end), `write the ordinary successor as next`},
		{CodeMalformed, small("n: {tool: t, next: e, cases: [{when: =visit, to: e}]}" + end), `write it without =`},
		{CodeMalformed, small("n: {tool: t, next: e, max_visits: 0}" + end), `max_visits: must be at least 1`},
		{CodeMalformed, small("n: {approve: a, next: e, quorum: 0}" + end), `7:36: quorum is 0; write at least 1`},
		{CodeMalformed, small("n: {approve: a, next: e, quorum: 33}" + end), `7:36: quorum is 33; write at most 32`},
		{CodeMalformed, small("n: {approve: a, next: e, quorum: 100000000}" + end), `7:36: quorum is 100000000; write at most 32`},
		{CodeMalformed, small("n: {approve: a, next: e, answer: {/x: text}}" + end), `"text" is not a type`},
		{CodeMalformed, small("n: {wait: {event: x, for: 1s}, next: e}" + end), `wait needs exactly one of event, for, until`},
		{CodeMalformed, small("n: {wait: {for: 1s, key: k}, next: e}" + end), `key tells events apart`},
		{CodeMalformed, small("n: {call: c, digest: abc, next: e}" + end), `want sha256:`},
		{CodeMalformed, small("n: {fork: [a]}" + end), `fork needs at least two branches`},
		{CodeMalformed, small("n: {fork: [a, a]}" + end), `branch "a" appears twice`},
		{CodeMalformed, small("n: {fail: {a: 1}}"), `fail needs a message`},
		{CodeMalformed, small("n: {tool: a b, next: e}" + end), `InvalidIdentifier("a b")`},
		{CodeMalformed, strings.Replace(small("n: {end: 1}"), "version: 2", "version: 3", 1), `1:10: version: want 2`},
		{CodeMalformed, strings.Replace(small("n: {end: 1}"), "entry: n\n", "", 1), `entry is missing`},
		{CodeMalformed, strings.Replace(small("n: {end: 1}"), "max_steps: 9", "max_steps: 0", 1), `0 steps run nothing`},
		{CodeMalformed, strings.Replace(small("n: {end: 1}"), "max_steps: 9", "max_step: 9", 1), `unknown member "max_step"; did you mean "max_steps"?`},
		{CodeMalformed, small("n: {set: {}, next: e, cases: [" + strings.Repeat("{when: 'true', to: e},", maxCases+1) + "]}" + end), `at most 256 are read`},
		{CodeMalformed, small("n: {fork: [" + strings.Repeat("x,", maxBranches+1) + "]}" + end), `at most 256 are read`},
		{CodeMalformed, small("n: {approve: a, next: e, answer: {x: string}}" + end), `"x" is not a JSON pointer`},
		{CodeMalformedPointer, small("n: {set: {}, reads: [" + strings.Repeat("/a", maxPath) + "], next: e}" + end), `at most 1024 are read`},
		{CodeBadExpression, small("n: {tool: t, next: e, args: {x: '=" + strings.Repeat("1", 9_000) + "'}}" + end), `at most 8192 are read`},
		{CodeUnknownEntry, strings.Replace(small("n: {end: 1}"), "entry: n", "entry: m", 1), `4:8: entry "m" is not a node`},
		{CodeUnknownNode, small("n: {tool: t, next: ee}" + end), `7:22: "ee" is not a node; did you mean "e"?`},
		{CodeNoTerminal, small("n: {tool: t, next: n, max_visits: 2}"), `no node ends the run`},
		{CodeUnreachable, small("n: {end: 1}\nx: {end: 2}"), `8:6: no path leads from the entry to node "x"`},
		{CodeUnreachableTerminal, small("n: {tool: t, next: m, routes: {failed: e}}\nm: {set: {}, next: m, max_visits: 2}" + end), `no path leads from node "m" to an end`},
		{CodeMissingContinue, small("n: {tool: t, routes: {failed: e}}" + end), `node "n" has no next`},
		{CodeMissingContinue, small("n: {handler: h, routes: {failed: e}}" + end), `neither next nor a route of its own`},
		{CodeDuplicateRoute, small("n: {handler: h, routes: {x: e}, next: e}" + end + "\nk: {tool: t, next: n, cases: [{name: failed, when: 'true', to: n}], routes: {failed: e}}"), `route "failed" of node "k" leads to both`},
		{CodeMissingBound, small("n: {tool: t, next: e, routes: {exhausted: e}}" + end), `add max_visits`},
		{CodeUnboundedCycle, small("n: {tool: t, next: m}\nm: {set: {}, cases: [{when: 'true', to: n}], next: e}" + end), `nodes m, n form a cycle without a bound`},
		{CodeUnboundedCycle, small("n: {handler: h, next: e, routes: {again: n}}" + end), `node n form a cycle`},
		{CodeUnboundedCycle, small("n: {tool: t, next: e, max_visits: 2, routes: {exhausted: m}}\nm: {set: {}, next: n}" + end), `nodes m, n form a cycle`},
		{CodeMalformedPointer, small("n: {tool: t, next: e, reads: [a]}" + end), `"a" is not a path`},
		{CodeMalformedPointer, small("n: {tool: t, next: e, set: {/a~1: 1}}" + end), `"/a~1" is not a path: a written path`},
		{CodeMalformedPointer, small("n: {handler: h, next: e, writes: [/a/]}" + end), `"/a/" is not a path`},
		{CodeUndeclaredPath, small("n: {tool: t, next: e, set: {/b: 1}}" + end), `7:35: the state has no path /b`},
		{CodeUndeclaredPath, small("n: {tool: t, next: e, reads: [/b]}" + end), `the state has no path /b`},
		{CodeOverlappingWrites, small("n: {tool: t, next: e, set: {/o: 1, /o/x: 1}}" + end), `set already gives /o, which /o/x is in`},
		{CodeBadExpression, small("n: {tool: t, next: e, args: {x: '=1 ** 2'}}" + end), `7:35: expression "1 ** 2", character 3: no operator **`},
		{CodeBadExpression, small("n: {tool: t, next: e, args: {x: =result.y}}" + end), `no variable "result"`},
		{CodeUndeclaredRead, small("n: {tool: t, next: e, reads: [/o/y], args: {x: =state.o.x}}" + end), `expression reads /o/x; add "/o/x" to reads`},
		{CodeUndeclaredRead, small("n: {tool: t, next: e, args: [{x: =state}]}" + end), `expression reads the whole state; add ""`},
		{CodeNotBoolean, small("n: {set: {}, next: e, cases: [{when: 1 + 2, to: e}]}" + end), `condition gives a number`},
	} {
		t.Run(string(c.code)+" "+c.want, func(t *testing.T) {
			compiled, found, err := Compile([]byte(c.text), "g", Options{Expr: miniCompiler{}})
			if err == nil || compiled != nil {
				t.Fatal("compiles")
			}
			expectFinding(t, found, Error, c.code, c.want)
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v lacks it", err)
			}
		})
	}
}

func expectFinding(t *testing.T, found []Finding, s Severity, code Code, want string) {
	t.Helper()
	for _, f := range found {
		line := fmt.Sprintf("%d:%d: %s", f.Line, f.Column, f.Text)
		if f.Severity == s && f.Code == code && strings.Contains(line, want) {
			return
		}
	}
	t.Errorf("no %s %s with %q in %+v", s, code, want, found)
}

func TestSchemaOfTheCaller(t *testing.T) {
	text := "version: 2\nid: g\nstate_schema: s\nentry: n\nlimits: {max_steps: 9, timeout: 1m}\nnodes:\n  n: {end: 1, reads: [/x]}\n"
	_, found, err := Compile([]byte(text), "g", Options{Schema: &Schema{Version: 1, ID: "other", Paths: map[string]Type{"/a": TypeNumber}}})
	if err == nil {
		t.Fatal("compiles")
	}
	expectFinding(t, found, Error, CodeSchemaMismatch, `3:15: state_schema is "s", but the schema in use is "other"`)
	expectFinding(t, found, Error, CodeUndeclaredPath, `the state has no path /x`)
	if _, _, err := Compile([]byte(text), "g", Options{}); err != nil {
		t.Errorf("without a schema: %v", err)
	}
}

func TestShape(t *testing.T) {
	c, _ := compileText(t, everyMember)
	returns := c.Node("c").Returns
	for text, want := range map[string]string{
		`{}`: "", `{"z":"x"}`: "", `{"z":1}`: `SchemaViolation("wrong type at /z")`, `[]`: `SchemaViolation("wrong type at ")`,
	} {
		err := returns.Validate(value(t, text))
		if got := fmt.Sprint(err); err == nil && want != "" || err != nil && got != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if returns.Digest() == c.Node("ap").Answer.Digest() {
		t.Error("two shapes have one digest")
	}
}

func TestModelWithoutBudgetIsWarned(t *testing.T) {
	_, found := compileText(t, small("n: {model: m, next: e}"+end))
	expectFinding(t, found, Warning, CodeNoBudget, "allows no token")
}

const forkGraph = `
n: {fork: [left, right]}
left: {tool: t, set: {/o/l: 1}, next: left2}
left2: {fork: [in1, in2]}
in1: {set: {/o/i: 1}, next: meet2}
in2: {set: {/o/j: 1}, next: meet2}
meet2: {join: left2, next: meet}
right: {tool: t, reads: [/o/l], set: {/a: 1}, next: meet}
meet: {join: n, next: e}
e: {end: null}`

func TestForks(t *testing.T) {
	c, found := compileText(t, small(forkGraph))
	fork := c.Node("n").Fork
	if len(fork.Branches) != 2 || fork.Join.ID != "meet" || c.Node("meet").Join.ID != "n" {
		t.Fatalf("fork %+v", fork)
	}
	left := fork.Branches[0]
	if left.Name != "left" || strings.Join(left.Nodes, " ") != "in1 in2 left left2 meet2" || strings.Join(left.Writes, " ") != "/o/i /o/j /o/l" {
		t.Errorf("branch %+v", left)
	}
	inner := c.Node("in1").Branch
	if inner.Name != "in1" || inner.Parent != left || c.Node("meet2").Branch != left || c.Node("meet").Branch != nil {
		t.Error("branches are not nested")
	}
	expectFinding(t, found, Warning, CodeBranchRead, `node "right" reads /o/l as it was at fork "n"`)
}

func TestForksRefused(t *testing.T) {
	for _, c := range []struct {
		code        Code
		nodes, want string
	}{
		{CodeBadFork, "n: {fork: [a, b]}\na: {set: {}, next: e}\nb: {set: {}, next: e}" + end, `no join ends fork "n"`},
		{CodeBadFork, "n: {fork: [a, b]}\na: {set: {}, next: j}\nb: {set: {}, next: e}\nj: {join: n, next: e}" + end, `node "e" ends the run inside branch "b"`},
		{CodeBadFork, "n: {fork: [a, b]}\na: {set: {}, next: c}\nb: {set: {}, next: c}\nc: {set: {}, next: j}\nj: {join: n, next: e}" + end, `node "c" belongs to branch "a" of fork "n", but "b" leads into it too`},
		{CodeBadFork, "n: {fork: [a, b]}\na: {set: {}, next: j}\nb: {set: {}, next: j}\nj: {join: n, next: k}\nk: {join: n, next: e}" + end, `fork "n" is ended by "j" already`},
		{CodeBadFork, "n: {fork: [a, b]}\na: {set: {}, next: n, max_visits: 2}\nb: {set: {}, next: j}\nj: {join: n, next: e}" + end, `branch "a" of fork "n" leads back to the fork`},
		{CodeBadFork, "n: {fork: [a, j]}\na: {set: {}, next: j}\nj: {join: n, next: e}" + end, `branch "j" of fork "n" is the join itself`},
		{CodeBadFork, "n: {set: {}, cases: [{when: 'true', to: j}], next: f}\nf: {fork: [a, b]}\na: {set: {}, next: j}\nb: {set: {}, next: j}\nj: {join: f, next: e}" + end, `node "n" leads to join "j"`},
		{CodeBadFork, "n: {set: {}, next: j}\nj: {join: m, next: e}" + end, `"m" is not a fork`},
		{CodeBranchConflict, "n: {fork: [a, b]}\na: {set: {/a: 1}, next: j}\nb: {set: {/a: 2}, next: j}\nj: {join: n, next: e}" + end, `branches "a" and "b" both write /a`},
		{CodeBranchConflict, "n: {fork: [a, b]}\na: {set: {/o: {}}, next: j}\nb: {set: {/o/x: 2}, next: j}\nj: {join: n, next: e}" + end, `branch "a" writes /o and branch "b" writes /o/x in it`},
	} {
		t.Run(c.want, func(t *testing.T) {
			_, found, err := Compile([]byte(small(c.nodes)), "g", Options{Expr: miniCompiler{}})
			if err == nil {
				t.Fatal("compiles")
			}
			expectFinding(t, found, Error, c.code, c.want)
		})
	}
}

// TestForkBudget: forks that share all their nodes end the analysis early.
func TestForkBudget(t *testing.T) {
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, "f%d: {fork: [a%d, b%d]}\na%d: {set: {}, next: f%d}\nb%d: {set: {}, next: j%d}\nj%d: {join: f%d, next: j%d}\n", i, i, i, i, i+1, i, i, i, i, max(i-1, 0))
	}
	text := strings.Replace(small(b.String()+"f30: {set: {}, next: j29}\nn: {set: {}, next: f0}"+end), "next: j0}\n  f1:", "next: e}\n  f1:", 1)
	_, found, err := Compile([]byte(text), "g", Options{Expr: miniCompiler{}})
	if err == nil {
		t.Fatal("compiles")
	}
	expectFinding(t, found, Error, CodeBadFork, "nest deeper than 8")
}

func TestAllProblemsAtOnce(t *testing.T) {
	text := small("n: {tool: t, next: x, args: {q: =state.a}, reads: [b]}\nm: {toll: t}" + end)
	_, found, err := Compile([]byte(text), "g", Options{Expr: miniCompiler{}})
	if err == nil {
		t.Fatal("compiles")
	}
	for _, code := range []Code{CodeUnknownNode, CodeUndeclaredRead, CodeMalformedPointer, CodeMalformed} {
		expectFinding(t, found, Error, code, "")
	}
	for i := 1; i < len(found); i++ {
		if found[i].Line < found[i-1].Line {
			t.Errorf("findings are not in the order of the text: %+v", found)
		}
	}
}

// everyMember uses every member of the wire form.
const everyMember = `
version: 2
id: all
description: d
state_schema: s
state: {/a: any, /b: null?, /c: bool, /d: array, /o: object, /n: number, /s: string}
entry: h
limits: {max_steps: 9, max_tokens: 1, max_cost_micros: 2, timeout: 1h30m}
nodes:
  h: {handler: fn, description: x, reads: [/a, ""], args: {k: [1.50, "=visit"]}, writes: [/o, /a], next: t, routes: {own: t, failed: f}, retry: {attempts: 2, backoff: 10ms, factor: 3, max_backoff: 1m, jitter_percent: 0, on: []}, timeout: 1s, deadline: 90s, max_visits: 2}
  t: {tool: t1, reserve: {tokens: 1, cost_micros: 2}, set: {/a: null, /o: {z: 1, a: "=result"}}, cases: [{name: c, when: "true", to: r}, {when: "false", to: r}], next: r}
  r: {retrieve: k, next: ap, retry: 2}
  ap: {approve: act, show: {x: 1}, answer: {/y: number}, quorum: 3, next: w1, routes: {denied: f, timeout: f, exhausted: f}, max_visits: 1, timeout: 2d}
  w1: {wait: {event: ev, key: "='k'"}, next: w2, timeout: 1d}
  w2: {wait: {for: 100ms}, next: w3}
  w3: {wait: {until: "=visit"}, next: c}
  c: {call: child, digest: "sha256:0000000000000000000000000000000000000000000000000000000000000001", args: {q: 1}, authority: {capabilities: [b, a], namespaces: [], max_steps: 1, max_tokens: 0, max_cost_micros: 2}, returns: {"": object, /z: "string?"}, next: fk}
  fk: {fork: [x1, x2]}
  x2: {set: {/n: 1}, next: j}
  x1: {model: m, next: j}
  j: {join: fk, next: e, routes: {failed: f}}
  e: {end: {v: 1}}
  f: {fail: "='no'"}
`

func TestCanonicalFormIsAFixedPoint(t *testing.T) {
	for _, text := range []string{refundGraph, everyMember, small(forkGraph)} {
		c, _ := compileText(t, text)
		def, err := Decode(c.Canonical, "canonical")
		if err != nil {
			t.Fatalf("%s: %v", c.Canonical, err)
		}
		if again := def.Encode(); string(again) != string(c.Canonical) {
			t.Errorf("canonical form changes from\n%s\nto\n%s", c.Canonical, again)
		}
		again, _, err := def.Compile(Options{Expr: miniCompiler{}})
		if err != nil || again.Digest != c.Digest || !strings.HasPrefix(again.Digest.String(), "sha256:") {
			t.Errorf("digest %s becomes %s, error %v", c.Digest, again.Digest, err)
		}
	}
}

// TestCanonicalBytes pins the form itself: a change of these bytes changes every
// hash that was ever recorded.
func TestCanonicalBytes(t *testing.T) {
	c, _ := compileText(t, refundGraph)
	const want = `{"version":2,"id":"refund","state":{"/answer":"object?","/order":"object","/verdict":"string?"},"entry":"classify",` +
		`"limits":{"max_steps":40,"max_tokens":20000,"max_cost_micros":50000,"timeout":"10m"},"nodes":{` +
		`"ask":{"approve":"pay_refund","show":{"order":"=state.order.id"},"answer":{"/note":"string?"},"quorum":2,"reads":["/order"],"set":{"/answer":"=result"},"next":"done","routes":{"denied":"sorry","timeout":"sorry"},"timeout":"2d"},` +
		`"classify":{"model":"fast","reads":["/order"],"args":{"n":[1,"=visit"],"prompt":"='Refund:' ++ state.order.text"},"reserve":{"tokens":4000,"cost_micros":9000},"set":{"/verdict":"=result.text"},"cases":[{"when":"result.text == 'refund'","to":"ask"}],"next":"done","routes":{"failed":"sorry"},"retry":{"attempts":3,"backoff":"1s","factor":2,"max_backoff":"1m","jitter_percent":20,"on":["rate_limited","timeout","unavailable"]},"timeout":"30s"},` +
		`"done":{"end":"=state.verdict","reads":["/verdict"]},"sorry":{"fail":"no refund"}}}`
	if string(c.Canonical) != want {
		t.Errorf("canonical bytes are\n%s\nwant\n%s", c.Canonical, want)
	}
	const digest = "sha256:20ee00309ec1f197aaebb6eba167ad2f25290ae5ed76bc612fe06c1354d6659e"
	if c.Digest.String() != digest {
		t.Errorf("digest is %s", c.Digest)
	}
	if shuffled, _ := compileText(t, strings.Replace(refundGraph, "id: refund\n", "", 1)+"id: refund\n"); shuffled.Digest != c.Digest {
		t.Error("the order of members changes the digest")
	}
}
