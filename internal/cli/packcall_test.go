package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
)

const callsPack = `version: 2
id: calls
limits: {duration: 10m, tokens: 10000, cost_micros: {USD: 500}}
capabilities: {notes: host}
namespaces: {n: read}
tools:
  pay: {arguments: {properties: {cents: {maximum: 100}}, additionalProperties: false}}
  note: {capability: notes}
exec:
  log: {program: /usr/bin/git, args: [log, {match: "--max-count=[0-9]+"}], timeout: 5s}
http:
  api: {hosts: [api.test], methods: [GET]}
wasm:
  sum: {module: sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae, memory_bytes: 1048576}
models:
  small: {max_output_tokens: 200}
retrieve:
  docs: {manifests: [a.yaml], namespaces: [n]}
claims:
  facts: {actions: [read]}
handoffs:
  pinned: {graph: [sha256:fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9, sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae]}
  free: {}
events: {paid: {}}
approvals: {}
`

func callsFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pack.yaml")
	must(t, os.WriteFile(file, []byte(callsPack), 0o600))
	return file
}

// A call of each kind is judged as a run would make it, and what was judged is
// shown.
func TestExplainJudgesEveryKind(t *testing.T) {
	file := callsFile(t)
	for _, c := range []struct {
		words string // kind, name and flags, separated by |
		exit  int
		call  string // what was judged, without kind and name
		want  string // the rule that permits, or the code of the refusal
	}{
		{`tool|pay|--args|{"cents": 100}`, 0, `"arguments":{"cents":100}`, "pack calls: tools.pay"},
		{`tool|pay|--args|{"cents": 101}`, 1, `"arguments":{"cents":101}`, "argument_denied"},
		{`tool|pay|--with|{"reserve": {"tokens": 9, "duration": "1m30s", "cost_micros": {"USD": 501}}}`, 1, ``, "budget_exhausted"},
		{`tool|note`, 0, ``, "pack calls: tools.note"},
		{`tool|note|--with|{"capability": "other"}`, 1, `"capability":"other"`, "capability_unavailable"},
		{`tool|note|--with|{"namespace": "n"}`, 0, `"namespace":"n"`, "pack calls: tools.note"},
		{`tool|note|--with|{"namespace": "n", "write": true}`, 1, `"namespace":"n","write":true`, "namespace_denied"},
		{`exec|log|--args|{"args": ["log", "--max-count=5"], "stdin": "x"}`, 0, `"program":"/usr/bin/git","args":["log","--max-count=5"],"arguments":{"args":["log","--max-count=5"],"stdin":"x"}`, "pack calls: exec.log"},
		{`exec|log|--args|{"args": ["--max-count=5"]}|--with|{"args": ["log"]}`, 0, `"program":"/usr/bin/git","args":["log","--max-count=5"],"arguments":{"args":["--max-count=5"]}`, "pack calls: exec.log"},
		{`exec|log|--args|{"args": ["log", "--all"]}`, 1, `"program":"/usr/bin/git","args":["log","--all"],"arguments":{"args":["log","--all"]}`, "argument_denied"},
		{`exec|log|--with|{"program": "/bin/sh", "args": ["log", "--max-count=1"], "env": ["HOME"]}`, 1, `"program":"/bin/sh","args":["log","--max-count=1"],"env":["HOME"]`, "argument_denied"},
		{`exec|sh|--args|{"args": ["x"]}`, 1, `"args":["x"],"arguments":{"args":["x"]}`, "effect_not_allowed"},
		{`http|api|--args|{"url": "https://api.test/x", "headers": {"Accept": "a/b"}}`, 0, `"action":"GET","url":"https://api.test/x","arguments":{"url":"https://api.test/x","headers":{"Accept":"a/b"}}`, "pack calls: http.api"},
		{`http|api|--args|{"method": "POST", "url": "https://api.test/x", "json": {"a": 1}}`, 1, `"action":"POST","url":"https://api.test/x","arguments":{"method":"POST","url":"https://api.test/x","json":{"a":1}}`, "argument_denied"},
		{`http|api|--args|{"url": "http://evil.test/"}`, 1, `"action":"GET","url":"http://evil.test/","arguments":{"url":"http://evil.test/"}`, "argument_denied"},
		{`wasm|sum|--args|{"a": 1}`, 0, `"module":"sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae","memory_bytes":1048576,"arguments":{"a":1}`, "pack calls: wasm.sum"},
		{`wasm|sum|--with|{"memory_bytes": 2000000}`, 1, `"module":"sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae","memory_bytes":2000000`, "call_too_large"},
		{`wasm|sum|--with|{"module": "sha256:fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9"}`, 1, `"module":"sha256:fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9","memory_bytes":1048576`, "argument_denied"},
		{`wasm|other`, 1, `"memory_bytes":16777216`, "effect_not_allowed"},
		{`model|small`, 0, `"output_tokens":200`, "pack calls: models.small"},
		{`model|small|--args|{"prompt": "hello there"}`, 0, `"output_tokens":200,"arguments":{"prompt":"hello there"}`, "pack calls: models.small"},
		{`model|small|--args|{"prompt": "x", "max_output_tokens": 300}`, 1, `"output_tokens":300,"arguments":{"prompt":"x","max_output_tokens":300}`, "call_too_large"},
		{`model|small|--with|{"max_output_tokens": 4096}`, 1, `"output_tokens":4096`, "call_too_large"},
		{`retrieve|docs|--args|{"task": "x"}|--with|{"namespaces": ["n"]}`, 0, `"manifest":"a.yaml","namespaces":["n"],"arguments":{"task":"x"}`, "pack calls: retrieve.docs"},
		{`retrieve|docs|--with|{"manifest": "b.yaml"}`, 1, `"manifest":"b.yaml"`, "argument_denied"},
		{`claims|facts|--args|{"action": "read", "query": {}}`, 0, `"action":"read","arguments":{"action":"read","query":{}}`, "pack calls: claims.facts"},
		{`claims|facts|--args|{"action": "commit", "operation": {}, "justification": "why"}`, 1, `"action":"commit","arguments":{"action":"commit","operation":{},"justification":"why"}`, "argument_denied"},
		{`handoff|pinned|--args|{"a": 1}`, 0, `"graph":"sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae","arguments":{"a":1}`, "pack calls: handoffs.pinned"},
		{`handoff|pinned|--with|{"graph": "sha256:baa5a0964d3320fbc0c6a922140453c8513ea24ab8fd0577034804a967248096"}`, 1, `"graph":"sha256:baa5a0964d3320fbc0c6a922140453c8513ea24ab8fd0577034804a967248096"`, "graph_not_allowed"},
		{`handoff|free`, 0, ``, "pack calls: handoffs.free"},
		{`handoff|other`, 1, ``, "effect_not_allowed"},
		{`event|paid`, 0, ``, "pack calls: events.paid"},
		{`event|other`, 1, ``, "effect_not_allowed"},
		{`approval|publish`, 0, ``, "pack calls: approvals"},
		{`state|n|--args|{"action": "read"}`, 0, `"action":"read"`, "pack calls: namespaces.n"},
		{`state|n|--args|{"action": "write"}`, 1, `"action":"write"`, "namespace_denied"},
		{`cortex|query|--args|{"q": 1}`, 1, `"arguments":{"q":1}`, "capability_unavailable"},
	} {
		words := strings.Split(c.words, "|")
		got := writ(append([]string{"pack", "explain", file, "--json"}, words...)...)
		if got.exit != c.exit || got.stderr != "" {
			t.Errorf("%s: exit %d\n%s%s", c.words, got.exit, got.stdout, got.stderr)
			continue
		}
		v, err := artifact.ParseValue([]byte(got.stdout))
		if err != nil {
			t.Fatal(err)
		}
		call, _ := v.Get("call")
		shown := `{"kind":"` + words[0] + `","name":"` + words[1] + `"`
		if c.call != "" {
			shown += "," + c.call
		}
		if call.String() != shown+"}" {
			t.Errorf("%s: judged %s\nwant %s}", c.words, call, shown)
		}
		key := map[int]string{0: "rule", 1: "code"}[c.exit]
		if have, _ := v.Get(key); have.Text() != c.want {
			t.Errorf("%s: %s %s, want %s\n%s", c.words, key, have, c.want, got.stdout)
		}
		if strings.Contains(got.stdout, "malformed") {
			t.Errorf("%s: %s", c.words, got.stdout)
		}
	}
}

// What a permit reserves is what a run would reserve.
func TestExplainShowsWhatIsReserved(t *testing.T) {
	file := callsFile(t)
	for words, want := range map[string]string{
		`model|small|--args|{"prompt": "hello there"}`:                                              `{"calls":1,"tokens":204,"duration":"10m","timeout":"10m"}`,
		`exec|log|--args|{"args": ["log", "--max-count=5"]}`:                                        `{"calls":1,"duration":"5s","timeout":"5s"}`,
		`tool|note|--with|{"reserve": {"units": 2, "duration": "1s", "cost_micros": {"USD": 400}}}`: `{"calls":1,"units":2,"cost_micros":{"USD":400},"duration":"1s","timeout":"1s"}`,
		`event|paid`: `{"calls":1}`,
	} {
		got := writ(append([]string{"pack", "explain", file, "--json"}, strings.Split(words, "|")...)...)
		v, err := artifact.ParseValue([]byte(got.stdout))
		if err != nil {
			t.Fatalf("%s: %v %s", words, err, got.stderr)
		}
		if reserves, _ := v.Get("reserves"); reserves.String() != want {
			t.Errorf("%s: reserves %s, want %s", words, reserves, want)
		}
	}
}

// The page shows the call; a change that depends on what nobody said is not made up.
func TestExplainShowsTheCall(t *testing.T) {
	file := callsFile(t)
	for words, want := range map[string]string{
		`exec|log|--args|{"args": ["log", "a b"]}`: "\nCall exec log  under calls\n\n  runs  /usr/bin/git log 'a b'\n\n" +
			"✗ refused  argument 2 does not match --max-count=[0-9]+ (argument_denied, pack\n  calls: exec.log.args)\n" +
			"  ↳ permit this program with exactly these arguments too\n      exec:\n        log:\n          also:\n            - {args: [log, \"a b\"]}\n",
		`exec|sh|--args|{"args": ["x"]}`: "\nCall exec sh  under calls\n\n  runs  x\n\n✗ refused  exec sh is not granted (effect_not_allowed, pack calls)\n" +
			"  ↳ name the program with --with to see the change\n",
		`handoff|free`: "\nCall handoff free  under calls\n\n  graph  any, since the pack names none\n\n✓ permitted  by pack calls: handoffs.free\n" +
			"  reserves 1 call, 10m of effects; ended after 10m\n",
		`tool|note|--with|{"namespace": "n"}`: "\nCall tool note  under calls\n\n  namespace  n, to read\n\n✓ permitted  by pack calls: tools.note\n" +
			"  reserves 1 call, 10m of effects; ended after 10m\n",
		`model|small|--args|{"prompt": "hi"}`: "\nCall model small  under calls\n\n  answer     at most 200 tokens\n  arguments  {\"prompt\":\"hi\"}\n\n" +
			"✓ permitted  by pack calls: models.small\n  reserves 1 call, 201 tokens, 10m of effects; ended after 10m\n",
	} {
		got := terminal{width: 80, env: map[string]string{"NO_COLOR": "1"}}.writ(append([]string{"pack", "explain", file}, strings.Split(words, "|")...)...)
		if got.stdout != want {
			t.Errorf("%s:\n%s\nwant\n%s", words, got.stdout, want)
		}
	}
}

// What is no call at all is said before policy is asked.
func TestExplainRefusesWhatIsNoCall(t *testing.T) {
	file := callsFile(t)
	for _, c := range []struct {
		words string
		exit  int
		want  string
	}{
		{`http|api`, 2, `--args '{"method": "GET"`},
		{`claims|facts`, 2, "--args is missing"},
		{`state|n`, 2, "--args is missing"},
		{`event|paid|--args|{}`, 2, "policy judges no arguments of event"},
		{`tool|pay|--args|[1]`, 2, "the arguments are no object"},
		{`tool|pay|--args|{`, 1, "--args"},
		{`tool|pay|--with|[]`, 1, "--with"},
		{`tool|pay|--with|{"program": "/bin/sh"}`, 1, `unknown member "program"`},
		{`tool|pay|--with|{"namespaec": "n"}`, 1, `did you mean "namespace"?`},
		{`exec|log|--with|{"args": "log"}`, 1, "--with"},
		{`wasm|sum|--with|{"module": "abc"}`, 1, "sha256:"},
		{`http|api|--args|{"url": 7}`, 1, "arguments: url: 7 is not a string"},
		{`exec|log|--args|{"argz": []}`, 1, `did you mean "args"?`},
		{`model|small|--args|{"prompt": "a", "messages": []}`, 1, "write one of prompt and messages"},
		{`model|small|--args|{"messages": []}`, 1, "model small refuses the arguments before any policy is asked: "},
		{`claims|facts|--args|{"action": "commit"}`, 1, "operation is missing"},
		{`state|n|--args|{"action": "see"}`, 1, "action"},
	} {
		got := writ(append([]string{"pack", "explain", file}, strings.Split(c.words, "|")...)...)
		if got.exit != c.exit || !strings.Contains(got.stderr, c.want) || got.stdout != "" {
			t.Errorf("%s: exit %d, want %d and %q\n%s%s", c.words, got.exit, c.exit, c.want, got.stdout, got.stderr)
		}
	}
}
