package agentfile_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-dev/writ/agentfile"
	"github.com/writ-dev/writ/artifact"
)

// missingOf gives what the pack of an agent file lacks.
func missingOf(t *testing.T, files map[string]string) *agentfile.GrantError {
	t.Helper()
	_, err := read(files)
	var missing *agentfile.GrantError
	if err != nil && !errors.As(err, &missing) {
		t.Fatal(err)
	}
	return missing
}

// TestEveryMissingGrantIsNamed takes every grant out of the full example: each kind
// of node is named with its place, and the change that would be enough.
func TestEveryMissingGrantIsNamed(t *testing.T) {
	full := testdata(t, "full.yaml")
	for _, section := range []string{"tools", "exec", "http", "claims", "models", "handoffs", "wasm", "retrieve"} {
		grants := regexp.MustCompile(`(?m)^  ` + section + `: \{.*\n`)
		if !grants.MatchString(full) {
			t.Fatalf("no grants in %s", section)
		}
		full = grants.ReplaceAllString(full, "")
	}
	missing := missingOf(t, map[string]string{"agent.yaml": full, "code.wasm": "module", "keys/publisher.pub": publicKey})
	var got []string
	for _, m := range missing.Missing {
		got = append(got, fmt.Sprintf("%s fix: %s", m, m.Denial.Fix.Words))
		if m.Denial.Fix.YAML == "" {
			t.Errorf("%s: no change", m)
		}
	}
	want := []string{
		"agent.yaml:12:5: node a: the pack has no section tools, so no tool is granted fix: grant tool fixed",
		"agent.yaml:13:5: node b: the pack has no section exec, so no exec is granted fix: grant exec program",
		"agent.yaml:14:5: node c: the pack has no section http, so no http is granted fix: grant http request",
		"agent.yaml:15:5: node d: the pack has no section models, so no model is granted fix: grant model fast",
		"agent.yaml:16:5: node e: the pack has no section handoffs, so no handoff is granted fix: grant handoff child",
		"agent.yaml:17:5: node f: the pack has no section wasm, so no wasm is granted fix: grant wasm code",
		"agent.yaml:18:5: node g: the pack has no section claims, so no claims is granted fix: grant claims beliefs",
		"agent.yaml:19:5: node h: the pack has no section retrieve, so no retrieve is granted fix: grant retrieve handbook",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// needy is an agent of which each node needs one thing. The nodes follow each other.
const needy = `version: 1
id: needy
graph:
  state: {/x: string, /n: number, /o: object}
  entry: a
  limits: {max_steps: 20, max_tokens: 5000, max_cost_micros: 5000, timeout: 1m}
  nodes:
    a: {tool: note, args: {text: =state.x}, reads: [/x, /n, /o], next: b}
    b: {tool: show, args: {args: [-n, =state.x]}, reads: [/x, /n, /o], next: c}
    c: {tool: api, args: {method: POST, url: "https://api.example.com/v1"}, reads: [/x, /n, /o], next: d}
    d: {tool: api, args: {url: =state.x}, reads: [/x, /n, /o], next: e}
    e: {model: fast, args: {prompt: =state.x}, reads: [/x, /n, /o], next: f}
    f: {call: child, args: {x: =state.x}, reads: [/x, /n, /o], next: g}
    g: {tool: facts, args: {action: commit, operation: =state.x, justification: so}, reads: [/x, /n, /o], next: h}
    h: {approve: send, next: i}
    i: {wait: {event: reply}, next: j}
    j: {tool: code, next: k}
    k: {end: {}}
graphs:
  child:
    state: {/x: string}
    entry: ask
    limits: {max_steps: 2, max_tokens: 5000, max_cost_micros: 5000, timeout: 1m}
    nodes: {ask: {model: fast, args: {prompt: =state.x, max_output_tokens: 20}, reads: [/x], next: out}, out: {end: {}}}
pack:
  capabilities: {files: host:files}
  namespaces: {notes: write}
  limits: {steps: 20, cost_micros: {USD: 5000}}
  tools: {note: {per_call: {units: 5}, arguments: {required: [text]}}}
  exec: {show: {program: /bin/show, args: [-v, -n, {match: ".*"}], env: [LANG, TOKEN]}}
  http: {api: {hosts: [api.example.com], methods: [GET, POST]}}
  models: {fast: {max_output_tokens: 100}}
  handoffs: {child: {graph: GRAPH}}
  claims: {facts: {actions: [commit]}}
  approvals: {}
  events: {reply: {}}
  wasm: {code: {module: MODULE, memory_bytes: 70000}}
tools:
  note: {capability: files, namespace: notes, write: true, reserve: {units: 5}, answers: [{result: {}}]}
  show: {command: {program: /bin/show, args: [-v], set: {LANG: C}, secrets: {TOKEN: api}}}
  api: {http: {}}
  facts: {claims: {file: facts.jsonl}}
  code: {wasm: {file: code.wasm, memory_bytes: 70000}}
models:
  fast: {max_output_tokens: 100, price: {input: 1000000, output: 1000000}, answers: [{text: a}]}
secrets:
  api: {env: API_TOKEN}
`

// needyFiles gives the agent with some of its text replaced.
func needyFiles(t *testing.T, old, new string) map[string]string {
	t.Helper()
	text := strings.Replace(needy, old, new, 1)
	if old != "" && text == needy {
		t.Fatalf("%q is not there", old)
	}
	graph := childDigest(t)
	text = strings.NewReplacer("GRAPH", graph, "MODULE", artifact.Sum([]byte("module")).String()).Replace(text)
	return map[string]string{"agent.yaml": text, "code.wasm": "module"}
}

// childDigest reads the digest of the child graph.
func childDigest(t *testing.T) string {
	t.Helper()
	text := strings.NewReplacer("{graph: GRAPH}", "{}", "MODULE", artifact.Sum([]byte("module")).String()).Replace(needy)
	a, err := read(map[string]string{"agent.yaml": text, "code.wasm": "module"})
	if err != nil {
		t.Fatal(err)
	}
	return a.Graphs["child"].Graph.Digest.String()
}

// TestGrantsAreCheckedInFull: whatever would deny a node's call in every run is said
// before there is one, in the words of the denial.
func TestGrantsAreCheckedInFull(t *testing.T) {
	if missing := missingOf(t, needyFiles(t, "", "")); missing != nil {
		t.Fatal(missing)
	}
	other := artifact.Sum([]byte("other")).String()
	for _, c := range []struct{ name, old, new, want string }{
		{"no namespace", "  namespaces: {notes: write}\n", "", "8:5: node a: the pack has no section namespaces, so notes is not granted"},
		{"another namespace", "namespaces: {notes: write}", "namespaces: {note: write}", `8:5: node a: namespace notes is not granted; did you mean "note"?`},
		{"read only", "namespaces: {notes: write}", "namespaces: {notes: read}", "8:5: node a: namespace notes may be read only (pack needy: namespaces.notes)"},
		{"no capability", "  capabilities: {files: host:files}\n", "", "8:5: node a: capability files is not bound"},
		{"argument that the pack rules out", "arguments: {required: [text]}", "arguments: {required: [title]}", `8:5: node a: must have the member "title" (pack needy: tools.note.arguments/required)`},
		{"reserve above per_call", "per_call: {units: 5}", "per_call: {units: 4}", "8:5: node a: declares 5 units, of at most 4 for one call (pack needy: tools.note.per_call.units)"},
		{"no call", "tools: {note: {", "tools: {note: {limits: {calls: 0}, ", "8:5: node a: needs 1 calls, and of 0 0 are used or reserved (pack needy: tools.note.limits.calls)"},
		{"arguments that the tool itself refuses", "reserve: {units: 5}", "reserve: {units: 5}, arguments: {properties: {text: true}, required: [body]}", `8:5: node a: must have the member "body"`},

		{"another program", "program: /bin/show, args: [-v, -n", "program: /bin/shown, args: [-v, -n", "9:5: node b: the program is not the one that the pack names (pack needy: exec.show.program)"},
		{"another argument of the command", "args: [-v, -n", "args: [-q, -n", "9:5: node b: argument 1 is not the text that the pack names (pack needy: exec.show.args)"},
		{"another argument of the node", "args: [-v, -n", "args: [-v, -m", "9:5: node b: argument 2 is not the text that the pack names (pack needy: exec.show.args)"},
		{"an argument less", `args: [-v, -n, {match: ".*"}]`, "args: [-v, -n]", "9:5: node b: argument 3 is one more than the pack allows (pack needy: exec.show.args)"},
		{"a variable that is set", "env: [LANG, TOKEN]", "env: [TOKEN]", "9:5: node b: variable LANG is not passed on (pack needy: exec.show.env)"},
		{"a variable with a secret", "env: [LANG, TOKEN]", "env: [LANG]", "9:5: node b: variable TOKEN is not passed on (pack needy: exec.show.env)"},
		{"a program that is proxied", "  exec: {show: {", "  exec: {shown: {", `9:5: node b: exec show is not granted; did you mean "shown"?`},

		{"another method", "methods: [GET, POST]", "methods: [GET]", "10:5: node c: method POST is not granted (pack needy: http.api.methods)"},
		{"the usual method", "methods: [GET, POST]", "methods: [POST]", "11:5: node d: method GET is not granted (pack needy: http.api.methods)"},
		{"another host", "hosts: [api.example.com]", "hosts: [www.example.com]", "10:5: node c: host api.example.com is not granted (pack needy: http.api.hosts)"},
		{"no http at all", "  http: {api: {hosts: [api.example.com], methods: [GET, POST]}}\n", "", "10:5: node c: the pack has no section http, so no http is granted"},

		{"a longer answer than the pack lets be", "models: {fast: {max_output_tokens: 100}}", "models: {fast: {max_output_tokens: 99}}", "12:5: node e: asks for 100 tokens of output, of 99 (pack needy: models.fast.max_output_tokens)"},
		{"the usual length of an answer", "fast: {max_output_tokens: 100, price", "fast: {price", "12:5: node e: asks for 1024 tokens of output, of 100 (pack needy: models.fast.max_output_tokens)"},
		{"fewer tokens than an answer may have", "limits: {steps: 20, cost", "limits: {steps: 20, tokens: 99, cost", "12:5: node e: needs 100 tokens, and of 99 0 are used or reserved (pack needy: limits.tokens)"},
		{"no money", "cost_micros: {USD: 5000}", "cost_micros: {EUR: 5000}", "12:5: node e: needs 100 micros of USD, and of 0 0 are used or reserved (pack needy: limits.cost_micros.USD)"},
		{"fewer tokens in the graph", "max_steps: 20, max_tokens: 5000", "max_steps: 20, max_tokens: 50", "12:5: node e: needs 100 tokens, and of 50 0 are used or reserved (graph needy: tokens)"},

		{"another graph", "GRAPH", other, "13:5: node f: the graph has another digest than the pack names (pack needy: handoffs.child.graph)"},
		{"what the child may not", "child: {graph: GRAPH}", "child: {graph: GRAPH, authority: {models: {}}}", "24:13: node ask: model fast is not granted"},
		{"what the child may not afford", "call: child,", "call: child, authority: {max_tokens: 10},", "24:13: node ask: needs 20 tokens, and of 10 0 are used or reserved (node f: tokens)"},
		{"what the caller may not afford", "limits: {steps: 20, cost", "limits: {steps: 20, tokens: 10, cost", "24:13: node ask: needs 20 tokens, and of 10 0 are used or reserved (pack needy: limits.tokens)"},

		{"another action", "actions: [commit]", "actions: [read, propose]", "14:5: node g: claims of facts may not be used to commit (pack needy: claims.facts.actions)"},
		{"no claims at all", "  claims: {facts: {actions: [commit]}}\n", "", "14:5: node g: the pack has no section claims, so no claims is granted"},
		{"nobody may be asked", "  approvals: {}\n", "", "15:5: node h: the pack has no section approvals, so nobody may be asked"},
		{"another event", "events: {reply: {}}", "events: {replies: {}}", "16:5: node i: event reply is not granted"},
		{"no waiting", "events: {reply: {}}", "events: {reply: {limits: {calls: 0}}}", "16:5: node i: needs 1 calls, and of 0 0 are used or reserved (pack needy: events.reply.limits.calls)"},
		{"another module", "MODULE", other, "17:5: node j: the module has another digest than the pack names (pack needy: wasm.code.module)"},
		{"less memory", ", memory_bytes: 70000}}\ntools", "}}\ntools", ""},
		{"less memory than the module asks for", "memory_bytes: 70000}}\ntools", "memory_bytes: 65536}}\ntools", "17:5: node j: asks for 70000 bytes of memory, of 65536 (pack needy: wasm.code.memory_bytes)"},
		{"no step", "limits: {steps: 20", "limits: {steps: 0", "8:5: node a: needs 1 steps, and of 0 0 are used or reserved (pack needy: limits.steps)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			missing := missingOf(t, needyFiles(t, c.old, c.new))
			if c.want == "" {
				if missing != nil {
					t.Fatal(missing)
				}
				return
			}
			if missing == nil {
				t.Fatalf("nothing is missing; want %s", c.want)
			}
			found := false
			for _, m := range missing.Missing {
				found = found || m.String() == "agent.yaml:"+c.want
				if m.Denial.Fix.Words == "" {
					t.Errorf("%s: nothing to do", m)
				}
			}
			if !found {
				t.Errorf("got\n%s\nwant\nagent.yaml:%s", missing, c.want)
			}
		})
	}
}

// TestUnknownPartsAreNotRefused: what a run may bring is not foreseen as wrong.
func TestUnknownPartsAreNotRefused(t *testing.T) {
	for _, c := range []struct{ name, old, new string }{
		{"the method", "args: {method: POST, url", "args: {method: =state.x, url"},
		{"all arguments of a request", `args: {method: POST, url: "https://api.example.com/v1"}`, "args: =state.o"},
		{"the action", "args: {action: commit,", "args: {action: =state.x,"},
		{"all arguments of a program", "args: {args: [-n, =state.x]}", "args: {args: =state.x}"},
		{"the length of an answer", "args: {prompt: =state.x}", "args: {prompt: =state.x, max_output_tokens: =state.n}"},
		{"an argument that the pack looks at", "arguments: {required: [text]}", "arguments: {properties: {text: {maxLength: 3}}}"},
		{"a condition over it", "arguments: {required: [text]}", "when: [args.text == 'a']"},
		{"an approval", "{actions: [commit]}", "{actions: [commit], approval: {quorum: 2}}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if missing := missingOf(t, needyFiles(t, c.old, c.new)); missing != nil {
				t.Error(missing)
			}
		})
	}
}

// TestMissingGrantsOfAChild: what a called graph lacks is said at once with what its
// callers lack, and once although two nodes call it.
func TestMissingGrantsOfAChild(t *testing.T) {
	files := needyFiles(t, "models: {fast: {max_output_tokens: 100}}", "models: {}")
	files["agent.yaml"] = strings.NewReplacer(
		"handoffs: {child: {graph", "handoffs: {other: {graph",
		"g: {tool: facts, args: {action: commit, operation: =state.x, justification: so}, reads: [/x, /n, /o], next: h}", "g: {call: child, args: {x: =state.x}, reads: [/x, /n, /o], next: h}",
	).Replace(files["agent.yaml"])
	missing := missingOf(t, files)
	want := "agent.yaml:12:5: node e: model fast is not granted\n" +
		"agent.yaml:13:5: node f: handoff child is not granted\n" +
		"agent.yaml:24:13: node ask: model fast is not granted\n" +
		"agent.yaml:14:5: node g: handoff child is not granted"
	if missing == nil || missing.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", missing, want)
	}
}

// TestMissingGrantsOfAFile: the place is in the file that has the graph.
func TestMissingGrantsOfAFile(t *testing.T) {
	_, graph, _ := strings.Cut(small, "graph:\n")
	graph, rest, _ := strings.Cut(graph, "pack:\n")
	graph = "version: 2\nid: small\n" + strings.ReplaceAll(graph, "\n  ", "\n")[2:]
	missing := missingOf(t, map[string]string{
		"agent.yaml": "version: 1\nid: small\ngraph: parts/graph.yaml\npack:\n" + strings.Replace(rest, "calls: 2", "calls: 0", 1), "parts/graph.yaml": graph,
	})
	want := "parts/graph.yaml:7:3: node ask: needs 1 calls, and of 0 0 are used or reserved (pack small: tools.lookup.limits.calls)"
	if missing == nil || missing.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", missing, want)
	}
}

// TestCallOfAnotherGraph: a node that names the digest of the graph it calls.
func TestCallOfAnotherGraph(t *testing.T) {
	digest := childDigest(t)
	if missing := missingOf(t, needyFiles(t, "call: child,", "call: child, digest: "+digest+",")); missing != nil {
		t.Error(missing)
	}
	_, err := read(needyFiles(t, "call: child,", "call: child, digest: "+artifact.Sum([]byte("other")).String()+","))
	if want := "agent.yaml:13:5: node f names another digest than graph child has, which is " + digest; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
