package exec

import (
	"runtime"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/policy"
)

func TestNewChecksCommands(t *testing.T) {
	root := "/"
	if runtime.GOOS == "windows" {
		root = `C:\`
	}
	good := Command{Program: root + "git", Dir: root}
	for part, change := range map[string]func(*Command){
		"":                          func(*Command) {},
		"program \"git\"":           func(c *Command) { c.Program = "git" },
		"without . and .. parts":    func(c *Command) { c.Program = root + "x/../git" },
		"working directory \"\"":    func(c *Command) { c.Dir = "" },
		"working directory \"here":  func(c *Command) { c.Dir = "here" },
		"nothing to give them":      func(c *Command) { c.Secrets = map[string]string{"A": "h"} },
		"variable \"A=B\"":          func(c *Command) { c.Env = []string{"A=B"} },
		"variable \"\"":             func(c *Command) { c.Set = map[string]string{"": "x"} },
		"variable \"A\" is there t": func(c *Command) { c.Env, c.Set = []string{"A"}, map[string]string{"A": "x"} },
	} {
		c := good
		change(&c)
		_, err := New(map[string]Command{"a": c, "b": c}, Options{})
		if part == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || strings.Count(err.Error(), part) != 2 || !strings.Contains(err.Error(), "command b: ") {
			t.Errorf("%v, want %q twice", err, part)
		}
	}
	if !isBatch(`C:\x.BAT`) || !isBatch("x.cmd") || isBatch("x.exe") {
		t.Error("batch files")
	}
}

const pack = `
version: 2
id: test
capabilities: {}
exec:
  log:
    program: /usr/bin/git
    args: [log, {match: ".*"}, {match: ".*", repeat: true}]
    env: [LANG, TOKEN]
  flags:
    program: /usr/bin/git
    args: [log, {match: ".*", repeat: true}]
    env: [LANG]
    allow_model_flags: true
`

// TestPolicyJudges sends calls through shape to policy, as an engine does.
func TestPolicyJudges(t *testing.T) {
	doc, err := policy.ReadPack([]byte(pack), "pack.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pol, _, err := policy.Compile(doc, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	git := Command{Program: "/usr/bin/git", Args: []string{"log"}, Env: []string{"LANG"}}
	for name, c := range map[string]struct {
		grant  string
		change func(*Command)
		args   string
		taint  map[string]policy.Taint
		code   policy.Code
	}{
		"allowed":               {"log", nil, `{"args":["main"]}`, nil, ""},
		"flag of the graph":     {"log", nil, `{"args":["--oneline","x"]}`, nil, ""},
		"flag of the request":   {"log", nil, `{"args":["--oneline"]}`, map[string]policy.Taint{"": policy.FromRequest}, ""},
		"word of a model":       {"log", nil, `{"args":["main"]}`, map[string]policy.Taint{"": policy.FromModel}, ""},
		"flag of a model":       {"log", nil, `{"args":["main","--output=x"]}`, map[string]policy.Taint{"": policy.FromModel}, policy.CodeTaintedArgument},
		"flag of knowledge":     {"log", nil, `{"args":["-x"]}`, map[string]policy.Taint{"/args": policy.FromKnowledge}, policy.CodeTaintedArgument},
		"flag of a tool":        {"log", nil, `{"args":["a","-"]}`, map[string]policy.Taint{"/args/1": policy.FromTool}, policy.CodeTaintedArgument},
		"flag beside a model's": {"log", nil, `{"args":["-x","a"]}`, map[string]policy.Taint{"/args/1": policy.FromModel}, ""},
		"flag that is allowed":  {"flags", nil, `{"args":["-x"]}`, map[string]policy.Taint{"": policy.FromModel}, ""},
		"input of a model":      {"log", nil, `{"args":["a"],"stdin":"-x"}`, map[string]policy.Taint{"/stdin": policy.FromModel}, ""},
		"other program":         {"log", func(c *Command) { c.Program = "/bin/sh" }, `{"args":["x"]}`, nil, policy.CodeArgumentDenied},
		"other fixed argument":  {"log", func(c *Command) { c.Args = []string{"push"} }, `{"args":["x"]}`, nil, policy.CodeArgumentDenied},
		"variable not granted":  {"log", func(c *Command) { c.Set = map[string]string{"PATH": "/"} }, `{"args":["x"]}`, nil, policy.CodeArgumentDenied},
		"secret not granted":    {"log", func(c *Command) { c.Secrets = map[string]string{"KEY": "h"} }, `{"args":["x"]}`, nil, policy.CodeArgumentDenied},
		"secret granted":        {"log", func(c *Command) { c.Secrets = map[string]string{"TOKEN": "h"} }, `{"args":["x"]}`, nil, ""},
		"no grant":              {"rm", nil, `{"args":["x"]}`, nil, policy.CodeEffectNotAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			command := git
			if c.change != nil {
				c.change(&command)
			}
			args, err := artifact.ParseValue([]byte(c.args))
			if err != nil {
				t.Fatal(err)
			}
			call := policy.Call{Kind: policy.KindExec, Name: c.grant, Args: args, Taint: &policy.Marks{}}
			for pointer, taint := range c.taint {
				call.Taint.Set(pointer, taint)
			}
			if call, err = command.Shape(call); err != nil {
				t.Fatal(err)
			}
			permit, denial := pol.Authorize(call, nil)
			switch {
			case c.code == "" && denial != nil:
				t.Errorf("denied: %s", denial)
			case c.code != "" && (denial == nil || denial.Code != c.code):
				t.Errorf("denial %v, want %s", denial, c.code)
			case c.code == "" && permit.TimeoutMS == 0:
				t.Error("the permit gives unlimited time")
			}
		})
	}
}

func TestTools(t *testing.T) {
	p := &Port{commands: map[string]Command{"git": {Program: "/usr/bin/git", Idempotent: true}}}
	tool := p.Tools()["git"]
	if tool.Port != Name || tool.Kind != policy.KindExec {
		t.Errorf("%+v", tool)
	}
	args, _ := artifact.ParseValue([]byte(`{"args":[true]}`))
	if _, err := tool.Shape(policy.Call{Args: args}); err == nil {
		t.Error("malformed arguments pass")
	}
	if call, err := tool.Shape(policy.Call{}); err != nil || call.Program != "/usr/bin/git" {
		t.Errorf("%+v, %v", call, err)
	}
	e := effect()
	e.Name = "git"
	if !p.Idempotent(e) {
		t.Error("not idempotent")
	}
}
