package local_test

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/writ-dev/writ/agentfile"
	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/local"
)

// oneNode is an agent whose one node of work says by its routes how it went.
const oneNode = `version: 1
id: one
graph:
  state: {/x: string?}
  entry: work
  limits: {max_steps: 5, max_tokens: 1000, max_cost_micros: 1000, timeout: 1m}
  nodes:
    work: {WORK, next: done, routes: {denied: denied, failed: failed}}
    done: {end: done}
    denied: {end: denied}
    failed: {end: failed}
graphs:
  child:
    state: {/x: string?}
    entry: out
    limits: {max_steps: 2, timeout: 1m}
    nodes: {out: {end: {}}}
pack:
  capabilities: {files: host:files}
  namespaces: {notes: write, terms: read}
  limits: {steps: 5, tokens: 500, cost_micros: {USD: 500}}
  tools: {note: {per_call: {units: 5}, arguments: {required: [text]}, when: [args.text != 'no']}, other: {}, spent: {limits: {calls: 0}}}
  exec: {show: {program: /bin/true, args: [-v, {match: "[a-z]+"}], env: [LANG]}}
  http: {api: {hosts: ["127.0.0.1:1"], methods: [GET], schemes: [http]}}
  models: {fast: {max_output_tokens: 100}, slow: {}, dear: {}}
  handoffs: {child: {limits: {calls: HANDOFFS}}}
  claims: {facts: {actions: [read, propose]}}
  wasm: {code: {module: "MODULE", memory_bytes: 200000}, big: {module: "MODULE", memory_bytes: 70000}}
tools:
  note: {TOOL, answers: [{result: {}}]}
  other: {answers: [{result: {}}]}
  spent: {answers: [{result: {}}]}
  gone: {answers: [{result: {}}]}
  show: {command: {program: PROGRAM, args: [-v], set: {VARIABLE: C}}}
  api: {http: {}}
  facts: {claims: {file: facts.jsonl}}
  code: {wasm: {file: code.wasm, function: run, memory_bytes: 131072}}
  big: {wasm: {file: code.wasm, function: run, memory_bytes: 131072}}
models:
  fast: {max_output_tokens: 100, answers: [{text: a}]}
  slow: {max_output_tokens: 501, answers: [{text: a}]}
  dear: {max_output_tokens: 300, price: {input: 1000000, output: 2000000}, answers: [{text: a}]}
`

// TestWhatIsForeseenHappens runs agents that were not checked: each node whose call
// is known in full is denied exactly where the check says so.
func TestWhatIsForeseenHappens(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("runs /bin/true")
	}
	code, err := hex.DecodeString(module)
	if err != nil {
		t.Fatal(err)
	}
	denied, other := 0, 0
	for i, c := range []string{
		"tool: note, args: {text: a}", "tool: note, args: {text: no}", "tool: note, args: {title: a}", "tool: note", "tool: spent", "tool: gone", "tool: other",
		"tool: note, args: {text: a}|TOOL>namespace: terms", "tool: note, args: {text: a}|TOOL>namespace: terms, write: true", "tool: note, args: {text: a}|TOOL>namespace: nots",
		"tool: note, args: {text: a}|TOOL>capability: files", "tool: note, args: {text: a}|TOOL>capability: file", "tool: note, args: {text: a}|TOOL>reserve: {units: 6}",
		"tool: note, args: {text: a}|TOOL>reserve: {tokens: 501}", "tool: note, args: {text: a}, reserve: {tokens: 501}", "tool: note, args: {text: a}|TOOL>arguments: {required: [body]}",
		"tool: show, args: {args: [abc]}", "tool: show, args: {args: [ABC]}", "tool: show", "tool: show, args: {args: [abc, abc]}",
		"tool: show, args: {args: [abc]}|PROGRAM>/bin/false", "tool: show, args: {args: [abc]}|VARIABLE>HOME",
		`tool: api, args: {url: "http://127.0.0.1:1/"}`, `tool: api, args: {url: "http://127.0.0.1:1/", method: POST}`,
		`tool: api, args: {url: "https://127.0.0.1:1/"}`, `tool: api, args: {url: "http://127.0.0.1:2/"}`, `tool: api, args: {url: "http://127.0.0.1:1/", method: get}`,
		"tool: facts, args: {action: read, query: {}}", "tool: facts, args: {action: commit, operation: {}, justification: a}",
		"tool: code", "tool: big",
		"model: fast, args: {prompt: a}", "model: fast, args: {prompt: a, max_output_tokens: 101}", "model: slow, args: {prompt: a}", "model: slow, args: {prompt: a, max_output_tokens: 9}",
		"model: dear, args: {prompt: a}", "model: dear, args: {prompt: a, max_output_tokens: 9}", "model: dear, args: {prompt: a, max_output_tokens: 9}, reserve: {cost_micros: 501}",
		"call: child, args: {}", "call: child, args: {}|HANDOFFS>0", "call: child, args: {}, authority: {namespaces: [terms]}", "call: child, args: {}, authority: {namespaces: [nots]}",
	} {
		t.Run(c, func(t *testing.T) {
			t.Chdir(t.TempDir())
			work, change, _ := strings.Cut(c, "|")
			old, new, _ := strings.Cut(change, ">")
			text := strings.Replace(oneNode, "WORK", work, 1)
			if old != "" {
				text = strings.Replace(text, old, new, 1)
			}
			text = strings.NewReplacer("TOOL, ", "", "PROGRAM", "/bin/true", "VARIABLE", "LANG", "HANDOFFS", "3", "MODULE", artifact.Sum(code).String()).Replace(text)
			write(t, "agent.yaml", []byte(text))
			write(t, "code.wasm", code)
			_, err := local.ReadAgent("agent.yaml", local.Options{})
			var missing *agentfile.GrantError
			if err != nil && !errors.As(err, &missing) {
				t.Fatal(err)
			}
			result := runUnchecked(t, fmt.Sprintf("run-%d", i), text, code)
			if (result == `"denied"`) != (missing != nil) {
				t.Errorf("the run ends with %s, and the check says %v", result, missing)
			}
			if missing != nil {
				denied++
			} else {
				other++
			}
		})
	}
	if denied < 20 || other < 12 {
		t.Errorf("%d are denied and %d are not", denied, other)
	}
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// runUnchecked runs an agent as one that was admitted before: grants are not held
// against it again when it is read.
func runUnchecked(t *testing.T, exec, text string, code []byte) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := artifact.Encode(map[string]any{
		"version": 1, "source": "agent.yaml", "dir": dir, "files": map[string]string{"agent.yaml": text}, "binary": map[string]string{"code.wasm": base64.StdEncoding.EncodeToString(code)},
	})
	if err != nil {
		t.Fatal(err)
	}
	digest := artifact.Sum(kept).Hex()
	write(t, filepath.Join("agents", digest+".json"), kept)
	write(t, filepath.Join("agents", "runs", artifact.Sum([]byte("writ.db\n"+exec)).Hex()), []byte(digest+"\n"))
	agent, err := local.Kept("writ.db", exec, local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := local.Open(t.Context(), "writ.db", agent, local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	report, err := rt.Engine.Start(t.Context(), engine.Request{Exec: exec, Definition: agent.Definition, State: artifact.ObjectValue(), By: "sam"})
	if err != nil {
		t.Fatal(err)
	}
	return report.Result.String()
}
