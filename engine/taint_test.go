package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
)

// taintPack grants a program that takes any arguments, but no flags of a model.
const taintPack = packText + `
exec:
  run: {program: /bin/run, args: [{match: ".*", repeat: true}]}
`

const taintState = "{/text: any?, /x: any?, /y: any?, /o: object?, /l: any?}"

// program is a tool that policy judges as the exec port's: argument by argument.
var program = map[string]Tool{"run": {Port: "tool", Kind: policy.KindExec, Shape: func(call policy.Call) (policy.Call, error) {
	call.Program = "/bin/run"
	list, _ := call.Args.Get("args")
	for i, a := range list.Elements() {
		call.Argv = append(call.Argv, policy.ProgramInput{Text: a.Text(), Taint: call.Taint.At(fmt.Sprint("/args/", i))})
	}
	return call, nil
}}}

// answering are ports that say -rf: a model, a tool and a retrieval.
func answering() map[string]Port {
	port := PortFunc(func(context.Context, Effect) (Outcome, error) {
		return Outcome{Result: value(`{"text":"-rf","list":["-rf"]}`)}, nil
	})
	return map[string]Port{"model": port, "tool": port, "retrieve": port}
}

// patching is a handler that sets one path to a text.
func patching(path, text string) Handler {
	return Handler{Run: func(_ context.Context, in graph.Invocation) (graph.NodeResult, error) {
		patch := &graph.Patch{BaseRevision: in.Revision, Operations: map[string]graph.Operation{path: graph.Set(value(text))}}
		return graph.NodeResult{Outcome: graph.Outcome{Kind: graph.Continue, Patch: patch}}, nil
	}}
}

// TestFlagsOfModels lets a program be called with what a model said, and with what
// stands beside it. A model's answer is in /text when b is entered.
func TestFlagsOfModels(t *testing.T) {
	const run = "run: {tool: run, reads: [/x, /text], args: {args: [=state.x]}, next: d, routes: {denied: n}}"
	for _, c := range []struct {
		name, nodes string
		denied      bool
	}{
		{"a flag of the graph beside the text", `b: {tool: run, reads: [/text], args: {args: ["-v", "--", "='x' + state.text"]}, next: d, routes: {denied: n}}`, false},
		{"the text itself", `b: {tool: run, reads: [/text], args: {args: ["-v", =state.text]}, next: d, routes: {denied: n}}`, true},
		{"the text in a list", `b: {tool: run, reads: [/text], args: {args: "=['-v', state.text]"}, next: d, routes: {denied: n}}`, true},
		{"all arguments in one expression", `b: {tool: run, reads: [/text], args: "={'args': ['-v'], 'stdin': state.text}", next: d, routes: {denied: n}}`, true},
		{"the text as input", `b: {tool: run, reads: [/text], args: {args: ["-v"], stdin: =state.text}, next: d, routes: {denied: n}}`, false},
		{"a flag that is fixed, after a read", "b: {set: {/x: '-v'}, reads: [/text], next: run}\n" + run, false},
		{"a flag that an expression fixes", "b: {set: {/x: \"='-v'\"}, reads: [/text], next: run}\n" + run, false},
		{"a flag by a route", "b: {set: {}, reads: [/text], cases: [{when: state.text == '-rf', to: c}], next: d}\nc: {set: {/x: '-f'}, next: run}\n" + run, false},
		{"a flag by a comparison", "b: {set: {/x: \"=state.text == '-rf' ? '-f' : '-v'\"}, reads: [/text], next: run}\n" + run, true},
		{"a flag by presence", "b: {set: {/x: \"=has(state.text) ? '-f' : '-v'\"}, reads: [/text], next: run}\n" + run, true},
		{"a copy", "b: {set: {/x: =state.text}, reads: [/text], next: run}\n" + run, true},
		{"a copy that is written over", "b: {set: {/x: =state.text}, reads: [/text], next: c}\nc: {set: {/x: '-v'}, reads: [/x], next: run}\n" + run, false},
		{"two at once", "b: {set: {/x: '-v', /text: =state.text}, reads: [/text], next: run}\n" + run, false},
		{"places exchanged", "b: {set: {/x: '-v'}, next: c}\nc: {set: {/x: =state.text, /text: =state.x}, reads: [/x, /text], next: run}\n" + run, true},
		{"places exchanged back", "b: {set: {/x: =state.text, /text: '-v'}, reads: [/text], next: c}\nc: {set: {/x: =state.text, /text: =state.x}, reads: [/x, /text], next: run}\n" + run, false},
		{"a member beside the text", "b: {set: {/o: {t: =state.text, f: '-v'}}, reads: [/text], next: c}\nc: {set: {/x: =state.o.f}, reads: [/o], next: run}\n" + run, false},
		{"a member with the text", "b: {set: {/o: {t: =state.text, f: '-v'}}, reads: [/text], next: c}\nc: {set: {/x: =state.o.t}, reads: [/o], next: run}\n" + run, true},
		{"a member of what is the text", "b: {set: {/o: \"={'f': state.text}\"}, reads: [/text], next: c}\nc: {set: {/x: =state.o.f}, reads: [/o], next: run}\n" + run, true},
		{"a member written into it", "b: {set: {/o: \"={'f': state.text}\"}, reads: [/text], next: e}\ne: {set: {/o/f: '-v'}, next: c}\nc: {set: {/x: =state.o.f}, reads: [/o], next: run}\n" + run, false},
		{"what holds a member", "b: {set: {/o: {f: x}}, next: e}\ne: {set: {/o/f: =state.text}, reads: [/text], next: c}\nc: {set: {/x: \"=state.o.map(k, state.o[k])[0]\"}, reads: [/o], next: run}\n" + run, true},
		{"an element beside the text", "b: {set: {/l: ['-v', =state.text]}, reads: [/text], next: c}\nc: {set: {/x: \"=state.l[0]\"}, reads: [/l], next: run}\n" + run, true},
		{"a handler that reads it", "b: {handler: fixed, reads: [/text], writes: [/x], next: run}\n" + run, true},
		{"a handler that does not", "b: {handler: fixed, writes: [/x], next: run}\n" + run, false},
		{"a handler that sees the list", "b: {set: {/l: [y, =state.text]}, reads: [/text], next: c}\nc: {handler: fixed, reads: [/l/0], writes: [/x], next: run}\n" + run, true},
		{"a handler that replaces the list", "b: {set: {/l: [y, =state.text]}, reads: [/text], next: c}\nc: {handler: replacing, reads: [/l/0], writes: [/l], next: e}\ne: {set: {/x: \"=state.l['0']\"}, reads: [/l], next: run}\n" + run, true},
		{"what a handler might have written", "b: {set: {/x: '-v'}, next: c}\nc: {handler: other, reads: [/text], writes: [/x, /y], next: run}\n" + run, true},
		{"a tool's result, given the text", "b: {tool: count, reads: [/text], args: {q: =state.text}, set: {/x: '-v'}, next: run}\n" + run, false},
		{"a tool's own flag", "b: {tool: count, set: {/x: =result.text}, next: run}\n" + run, true},
		{"a flag from knowledge", "b: {retrieve: docs, set: {/x: =result.text}, next: run}\n" + run, true},
		{"a set that uses no result", "b: {set: {/x: \"=visit == 1 ? '-v' : '-w'\"}, reads: [/text], next: run}\n" + run, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := define(t, graphText(taintState, "a: {model: fast, args: {prompt: hi}, set: {/text: =result.text}, next: b}\n"+c.nodes+"\nd: {end: ran}\nn: {end: denied}"), taintPack,
				Definition{Tools: program, Handlers: map[string]Handler{"fixed": patching("/x", `"-v"`), "other": patching("/y", "1"), "replacing": patching("/l", `{"0":"-v"}`)}})
			l := newLab(t, answering(), d)
			r := l.start(d, "run", `{}`)
			want := map[bool]string{true: `"denied"`, false: `"ran"`}[c.denied]
			if r.Result.String() != want {
				t.Errorf("%s %s %s, want %s", r.Status, r.Error, r.Result, want)
			}
			log := l.events("run")
			for _, e := range log {
				if b, ok := e.Body.(*event.EffectDenied); ok && b.Code != string(policy.CodeTaintedArgument) {
					t.Errorf("denied: %s %s", b.Code, b.Message)
				}
			}
			if c.denied != (count(log, event.TypeEffectDenied) == 1) {
				t.Errorf("events %s", types(log))
			}
		})
	}
}

// TestBranchesKeepTheirTaint lets a branch clean a path while another one still
// sees what the path had at the fork, and looks at it after the join.
func TestBranchesKeepTheirTaint(t *testing.T) {
	d := define(t, graphText(taintState, `
a: {model: fast, args: {prompt: hi}, set: {/text: =result.text, /x: =result.text}, next: f}
f: {fork: [b, c]}
b: {set: {/x: '-v'}, next: b2}
b2: {wait: {event: paid}, set: {}, next: b3}
b3: {tool: run, reads: [/x], args: {args: [=state.x]}, set: {/y: =result.text}, next: j, routes: {denied: j}}
c: {wait: {event: shipped}, set: {}, next: c2}
c2: {tool: run, reads: [/x], args: {args: [=state.x]}, next: j, routes: {denied: c3}}
c3: {set: {/l: seen}, next: j}
j: {join: f, next: k}
k: {tool: run, reads: [/x], args: {args: [=state.x]}, next: k2, routes: {denied: n}}
k2: {tool: run, reads: [/y], args: {args: [=state.y]}, next: n, routes: {denied: d}}
d: {end: =state.l, reads: [/l]}
n: {end: denied}
`), taintPack, Definition{Tools: program})
	l := newLab(t, answering(), d)
	l.start(d, "run", `{}`)
	for _, name := range []string{"paid", "shipped"} {
		l.restart(d) // the marks of each branch come from the checkpoint
		if _, err := l.e.Signal(t.Context(), "run", Signal{Name: name, ID: name}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := l.e.Status(t.Context(), "run")
	wants(t, "result", fmt.Sprint(r.Result, err), `"seen" <nil>`)
	l.events("run")
}

// TestCalledGraphsKnowWhatTheyWereGiven hands a model's text to another graph,
// beside a fixed one.
func TestCalledGraphsKnowWhatTheyWereGiven(t *testing.T) {
	child := define(t, strings.Replace(graphText("{/fixed: string, /said: string, /out: any?}", `
a: {set: {/out: =state.said}, reads: [/said], next: w}
w: {wait: {event: paid}, set: {}, next: b}
b: {tool: run, reads: [/fixed], args: {args: [=state.fixed]}, next: c, routes: {denied: no}}
c: {tool: run, reads: [/out], args: {args: [=state.out]}, next: no, routes: {denied: e}}
e: {tool: run, reads: [/said], args: {args: [=state.said]}, next: no, routes: {denied: d}}
d: {end: "-v"}
no: {fail: "the wrong call was refused"}
`), "id: g", "id: child", 1), taintPack, Definition{Tools: program})
	parent := define(t, graphText(taintState, `
a: {model: fast, args: {prompt: hi}, set: {/text: =result.text}, next: b}
b: {call: child, reads: [/text], args: {fixed: "-v", said: =state.text}, set: {/x: =result}, next: c}
c: {tool: run, reads: [/x], args: {args: [=state.x]}, next: no, routes: {denied: d}}
d: {end: fine}
no: {end: the result is trusted}
`), taintPack, Definition{Tools: program, Calls: map[string]*Definition{"child": child}})
	l := newLab(t, answering(), parent)
	l.start(parent, "run", `{}`)
	exec := childExec("run", "b", 1, 1)
	head, err := l.store.Head(t.Context(), exec)
	if err != nil {
		t.Fatal(err)
	}
	l.restart(parent)
	if _, err := l.e.Fork(t.Context(), exec, head.Seq, "forked", "bob"); err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{exec, "forked"} {
		l.restart(parent)
		if _, err := l.e.Signal(t.Context(), run, Signal{Name: "paid", ID: "1"}); err != nil {
			t.Fatal(err)
		}
		r, err := l.e.Status(t.Context(), run)
		wants(t, run, fmt.Sprint(r.Result, r.Error, err), `"-v"<nil>`)
		l.events(run)
	}
	r, err := l.e.Status(t.Context(), "run")
	wants(t, "result", fmt.Sprint(r.Result, r.Error, err), `"fine"<nil>`)
	l.events("run")
}

// TestHandoffsAreJudgedByTaint refuses to hand a model's text over.
func TestHandoffsAreJudgedByTaint(t *testing.T) {
	child := define(t, strings.Replace(graphText("{/x: string}", "a: {end: =state.x, reads: [/x]}"), "id: g", "id: child", 1), packText, Definition{})
	pack := replace(packText, "handoffs: {child: {}}", `handoffs: {child: {when: ['!("/x" in tainted)']}}`)
	for args, want := range map[string]string{`{x: fixed}`: `"fixed"`, `{x: =state.text}`: `"denied"`, `"={'x': state.text}"`: `"denied"`} {
		d := define(t, graphText(taintState, `
a: {model: fast, args: {prompt: hi}, set: {/text: =result.text}, next: b}
b: {call: child, reads: [/text], args: `+args+`, set: {/x: =result}, next: d, routes: {denied: n}}
d: {end: =state.x, reads: [/x]}
n: {end: denied}
`), pack, Definition{Calls: map[string]*Definition{"child": child}})
		r := newLab(t, answering(), d).start(d, "run", `{}`)
		wants(t, args, fmt.Sprint(r.Result, r.Error), want)
	}
}

// TestInputOfHandlers marks what a handler makes of the answer that it waited for.
func TestInputOfHandlers(t *testing.T) {
	ask := func(_ context.Context, in graph.Invocation) (graph.NodeResult, error) {
		o := graph.Outcome{Kind: graph.Suspend, Reason: "which?"}
		if in.Input.Set {
			o = graph.Outcome{Kind: graph.Continue, Patch: &graph.Patch{BaseRevision: in.Revision, Operations: map[string]graph.Operation{"/x": graph.Set(in.Input.Value)}}}
		}
		return graph.NodeResult{Outcome: o}, nil
	}
	var seen *policy.Marks
	tools := map[string]Tool{"count": {Port: "tool", Kind: policy.KindTool, Shape: func(c policy.Call) (policy.Call, error) { seen = c.Taint; return c, nil }}}
	d := define(t, graphText(taintState, `
a: {handler: ask, writes: [/x], next: b}
b: {approve: publish, answer: {/y: string}, set: {/y: =result.y}, next: c, routes: {denied: d}}
c: {tool: count, reads: [/x, /y], args: {x: =state.x, y: =state.y, z: 1}, next: d}
d: {end: 1}
`), packText, Definition{Handlers: map[string]Handler{"ask": {Run: ask}}, Tools: tools})
	l := newLab(t, answering(), d)
	r := l.start(d, "run", `{}`)
	r, err := l.e.Resume(t.Context(), "run", r.Issued[0].Tokens[0], value(`"that"`), "bob")
	if err != nil {
		t.Fatal(err)
	}
	l.restart(d)
	_, err = l.e.Decide(t.Context(), "run", Decision{
		Proposal: r.Issued[0].Proposal, Token: r.Issued[0].Tokens[0], Approve: true, Approver: "bob", Answer: value(`{"y":"yes"}`),
	})
	wants(t, "marks", fmt.Sprint(seen.Value(), err), `{"/x":"request","/y":"request"} <nil>`)
	l.events("run")
}
