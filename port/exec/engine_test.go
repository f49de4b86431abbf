package exec

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/expr/cel"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/store/memory"
)

// sayGraph asks a model for a text and gives it to a program, beside a flag of its
// own. ARGS stands for the program's arguments.
const sayGraph = `
version: 2
id: say
state: {/text: string?, /out: string?}
entry: ask
limits: {max_steps: 9, max_tokens: 9, timeout: 1m}
nodes:
  ask: {model: fast, args: {prompt: hi}, set: {/text: =result.text}, next: run}
  run: {tool: echo, reads: [/text], args: ARGS, set: {/out: =result.stdout}, next: done, routes: {denied: refused}}
  done: {end: =state.out, reads: [/out]}
  refused: {end: refused}
`

// TestFlagsAreJudgedOneByOne has an engine run a program with a constant flag and
// with what a model says.
func TestFlagsAreJudgedOneByOne(t *testing.T) {
	for _, c := range []struct{ args, says, pattern, want string }{
		{`{args: [-v, =state.text]}`, "words", `{match: ".*", repeat: true}`, `"-v|words"`},
		{`{args: [-v, "=state.text"]}`, "--output=x", `{match: ".*", repeat: true}`, `"refused"`},
		{`{args: [-v, --, "='text: ' + state.text"]}`, "--output=x", `{match: ".*", repeat: true}`, `"-v|--|text: --output=x"`},
		{`{args: "=['-v', state.text]"}`, "words", `{match: ".*", repeat: true}`, `"refused"`},
		{`{args: [-v], stdin: =state.text}`, "-x", `{match: ".*", repeat: true}`, `"-v"`},
		{`{args: [-v, =state.text]}`, "-v", `{match: "-v"}, -v`, `"-v|-v"`},
	} {
		programs, err := New(map[string]Command{"echo": echo(t)}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		d := sayDefinition(t, c.args, c.pattern, programs.Tools())
		models := engine.PortFunc(func(context.Context, engine.Effect) (engine.Outcome, error) {
			return engine.Outcome{Result: artifact.ObjectValue(artifact.Member{Name: "text", Value: artifact.StringValue(c.says)})}, nil
		})
		e, err := engine.New(engine.Config{Store: memory.New(nil), Ports: map[string]engine.Port{"model": models, Name: programs}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Start(t.Context(), engine.Request{Exec: "run", Definition: d, State: artifact.ObjectValue()})
		if got := r.Result.String(); err != nil || got != c.want {
			t.Errorf("%s, the model says %s: %s %s %v, want %s", c.args, c.says, got, r.Error, err, c.want)
		}
		if v, err := e.Replay(t.Context(), "run", engine.ReplayOptions{}); err != nil || v.Divergence != nil {
			t.Errorf("%s: replay: %v %v", c.args, v.Divergence, err)
		}
	}
}

func echo(t *testing.T) Command {
	c := self(t)
	c.Args = append(c.Args, "echo")
	return c
}

func sayDefinition(t *testing.T, args, pattern string, tools map[string]engine.Tool) *engine.Definition {
	t.Helper()
	compiled, found, err := graph.Compile([]byte(strings.Replace(sayGraph, "ARGS", args, 1)), "graph.yaml", graph.Options{Expr: cel.Compiler{}})
	if err != nil {
		t.Fatal(err, found)
	}
	text := fmt.Sprintf("version: 2\nid: say\ncapabilities: {}\nlimits: {tokens: 9}\nmodels: {fast: {}}\nexec: {echo: {program: %q, args: [child, echo, %s]}}\n", echo(t).Program, pattern)
	pack, err := policy.ReadPack([]byte(text), "pack.yaml")
	if err != nil {
		t.Fatal(err)
	}
	allowed, _, err := policy.Compile(pack, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := engine.Define(engine.Definition{Graph: compiled, Policy: allowed, Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	return d
}
