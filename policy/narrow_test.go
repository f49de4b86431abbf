package policy_test

import (
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/policy"
)

func authority(t testing.TB, text string) *policy.Authority {
	t.Helper()
	doc, err := artifact.ParseDocument([]byte(text), "request.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := artifact.NewReader(doc)
	a := policy.ReadAuthority(r.Root())
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return a
}

const parentPack = `version: 2
id: parent
capabilities: {a: h, b: h}
namespaces: {n: write, m: read}
limits: {steps: 10, tokens: 100, cost_micros: {USD: 50}}
tools: {x: {limits: {calls: 2}}, y: {}}
handoffs:
  child: {authority: {tools: {x: {}}, capabilities: [a], limits: {steps: 5}}}
  free: {}
`

func TestNarrow(t *testing.T) {
	parent := compile(t, parentPack, options())
	child, d := policy.Narrow(parent, "handoff c", authority(t, "capabilities: [a]\nnamespaces: {n: read}\ntools: {x: {limits: {calls: 1}}}\nlimits: {steps: 4, cost_micros: {USD: 20}}\n"))
	if d != nil {
		t.Fatal(d)
	}
	for _, c := range []struct {
		call policy.Call
		rule string // of the denial; empty when permitted
	}{
		{policy.Call{Kind: policy.KindTool, Name: "x", Capability: "a", Namespace: "n"}, ""},
		{policy.Call{Kind: policy.KindTool, Name: "x", Namespace: "n", Write: true}, "handoff c: namespaces.n"},
		{policy.Call{Kind: policy.KindTool, Name: "x", Namespace: "m"}, "handoff c"},
		{policy.Call{Kind: policy.KindTool, Name: "x", Capability: "b"}, "handoff c"},
		{policy.Call{Kind: policy.KindTool, Name: "y"}, "handoff c"},
		{policy.Call{Kind: policy.KindTool, Name: "x", Reserve: policy.Amount{Cost: policy.Money{"USD": 21}}}, "handoff c: limits.cost_micros.USD"},
		{policy.Call{Kind: policy.KindTool, Name: "x", Reserve: policy.Amount{Calls: 2}}, "handoff c: tools.x.limits.calls"},
		{policy.Call{Kind: policy.KindTool, Name: "x", Reserve: policy.Amount{Tokens: 101}}, "pack parent: limits.tokens"},
	} {
		_, d := child.Authorize(c.call, nil)
		if (d == nil) != (c.rule == "") || d != nil && (d.Rule != c.rule || strings.HasPrefix(c.rule, "handoff") && d.Fix.YAML != "") {
			t.Errorf("%+v: %v, want %q", c.call, d, c.rule)
		}
	}
	if d := child.Ledger().Charge(policy.Amount{Steps: 5}); d == nil || d.Rule != "handoff c: limits.steps" {
		t.Errorf("%v", d)
	}
}

func TestNarrowRefusesMore(t *testing.T) {
	parent := compile(t, parentPack, options())
	_, d := policy.Narrow(parent, "c", authority(t, `
capabilities: [a, z]
namespaces: {m: write, q: read}
tools: {x: {}, export: {}}
exec: {sh: {program: /bin/sh}}
limits: {steps: 11, tokens: 100, cost_micros: {USD: 51, EUR: 1}}
`))
	if d == nil || d.Code != policy.CodeAuthorityExceeded {
		t.Fatal(d)
	}
	for _, want := range []string{
		"capability z", "write of namespace m", "read of namespace q", "tool export", "exec sh", "11 steps, above 10", "51 micros of USD, above 50", "1 micros of EUR, above 0",
	} {
		if !strings.Contains(d.Message, want) {
			t.Errorf("%s\nwant %q", d.Message, want)
		}
	}
	if strings.Contains(d.Message, "tool x") || strings.Contains(d.Message, "tokens") {
		t.Errorf("%s", d.Message)
	}
}

// The authority of a handoff is looked up in the pack; a request can only take
// away from it.
func TestHandoffAuthority(t *testing.T) {
	parent := compile(t, parentPack, options())
	child, d := parent.Handoff("child", nil)
	if d != nil {
		t.Fatal(d)
	}
	if _, d := child.Authorize(policy.Call{Kind: policy.KindTool, Name: "x", Capability: "a"}, nil); d != nil {
		t.Error(d)
	}
	if _, d := child.Authorize(policy.Call{Kind: policy.KindTool, Name: "y"}, nil); d == nil || d.Rule != "handoff child" {
		t.Errorf("%v", d)
	}
	if d := child.Ledger().Charge(policy.Amount{Steps: 6}); d == nil || d.Rule != "handoff child: limits.steps" {
		t.Errorf("%v", d)
	}
	if _, d := parent.Handoff("child", authority(t, "tools: {y: {}}\n")); d == nil || d.Code != policy.CodeAuthorityExceeded {
		t.Errorf("%v", d)
	}
	if _, d := parent.Handoff("child", authority(t, "limits: {steps: 6}\n")); d == nil {
		t.Error("more steps than the pack gives to the handoff")
	}
	grandchild, d := child.Handoff("free", authority(t, "limits: {steps: 2}\n"))
	if d != nil {
		t.Fatal(d)
	}
	if _, d := grandchild.Authorize(policy.Call{Kind: policy.KindTool, Name: "y"}, nil); d == nil {
		t.Error("a grandchild has what its parent has not")
	}
}

func TestVersion1AuthorityAsRequest(t *testing.T) {
	parent := compile(t, parentPack, options())
	for _, c := range []struct {
		authority policy.AuthorityV1
		refused   bool
	}{
		{policy.AuthorityV1{Capabilities: []string{"a"}, Namespaces: []string{"n"}, MaxSteps: 10, MaxCostMicros: 50}, false},
		{policy.AuthorityV1{}, false},
		{policy.AuthorityV1{MaxSteps: 11}, true},
		{policy.AuthorityV1{MaxCostMicros: 51}, true},
		{policy.AuthorityV1{Capabilities: []string{"z"}}, true},
		{policy.AuthorityV1{Namespaces: []string{"m"}}, true}, // version 1 does not tell reading from writing
	} {
		if _, d := policy.Narrow(parent, "c", c.authority.Authority()); (d != nil) != c.refused {
			t.Errorf("%+v: %v", c.authority, d)
		}
	}
}

func TestDiffInWords(t *testing.T) {
	base := testdata(t, "release.yaml")
	for _, c := range []struct{ old, new, want string }{
		{"  steps: 100", "  steps: 120", "limits.steps: raised from 100 to 120 (wider)"},
		{"  time: 2h", "  time: 90m", "limits.time: lowered from 2h to 90m (narrower)"},
		{"  time: 2h\n", "", "limits.time: no longer limited to 2h (wider)"},
		{"USD: 2000000, EUR: 100000", "USD: 2000000", "limits.cost_micros.EUR: lowered from 100000 to 0 (narrower)"},
		{"expires: 2031-01-01T00:00:00Z\n", "", "expires: changed from 2031-01-01T00:00:00Z to none (wider)"},
		{"git: host:git", "git: host:evil", "capabilities.git: bound to host:evil instead of host:git (other)"},
		{"capabilities: [git, publish, notes]", "capabilities: [git, publish]", "agents.release.capabilities: notes is removed (narrower)"},
		{"release/notes: read\n\n", "release/notes: write\n\n", "namespaces.release/notes: changed from read to write (wider)"},
		{"program: /usr/bin/git", "program: /bin/sh", `exec.git-log.program: changed from "/usr/bin/git" to "/bin/sh" (other)`},
		{"allow_model_flags: false", "allow_model_flags: true", "exec.git-log.allow_model_flags: is set (wider)"},
		{"env: [HOME, LANG]", "env: [HOME, LANG, PATH]", "exec.git-log.env: PATH is added (wider)"},
		{"{1,3}", "{1,4}", "exec.git-log.args: changed from"},
		{"methods: [GET, PUT]", "methods: [GET]", "http.registry.methods: PUT is removed (narrower)"},
		{"hosts: [registry.example.com,", "hosts: [evil.example.com, registry.example.com,", "http.registry.hosts: evil.example.com is added (wider)"},
		{"approval: {minimum_method: key}", "approval: {minimum_method: asserted}", "http.registry.approval.minimum_method: changed from key to asserted (wider)"},
		{"    approval: {minimum_method: key}\n", "", "http.registry.approval: no approval needed any more (wider)"},
		{"when: [size(tainted) == 0]", "when: [size(tainted) == 1]", `tools.changelog.when: condition "size(tainted) == 1" is added (narrower)`},
		{"when: [size(tainted) == 0]\n", "timeout: 30s\n", ""},
		{"  ci-finished: {}", "  ci-done: {}", "events.ci-done: is granted (wider)"},
		{"cortex:\n", "cortex:\n", ""},
		{"actions: [read, propose, commit]", "actions: [read, propose]", "claims.releases.actions: commit is removed (narrower)"},
		{"memory_bytes: 8388608", "memory_bytes: 16777216", "wasm.semver.memory_bytes: raised from 8388608 to 16777216 (wider)"},
		{"      models:\n        small: {}\n", "", "handoffs.review/notes.authority.models: is no longer limited (wider)"},
		{`"result:/token"]`, `"result:/tokens"]`, "redact: result:/tokens is added (narrower)"},
		{"restricted: 1d", "restricted: 2d", "blobs.restricted: bytes are kept for 2d, no longer 1d (wider)"},
		{"condition_cost: 1000", "condition_cost: 500", "condition_cost: lowered from 1000 to 500 (narrower)"},
		{"Prepares a release", "Makes a release", "description: changed from"},
		{"proxied: true", "proxied: false", "tools.changelog.proxied: is no longer set (other)"},
	} {
		changed := strings.Replace(base, c.old, c.new, 1)
		pack, err := policy.ReadPack([]byte(changed), "p.yaml")
		if err != nil {
			continue // a line that is there twice now
		}
		changes := policy.DiffPacks(readPack(t, base), pack)
		if c.want == "" {
			continue
		}
		if len(changes) == 0 || !strings.HasPrefix(changes[0].String(), c.want) {
			t.Errorf("%q -> %q: %v, want %s", c.old, c.new, changes, c.want)
		}
	}
	if changes := policy.DiffPacks(readPack(t, base), readPack(t, readPack(t, base).Value().String())); len(changes) != 0 {
		t.Errorf("one pack in two forms: %v", changes)
	}
}

func TestMergePatch(t *testing.T) {
	// The examples of RFC 7396, appendix A.
	for _, c := range []struct{ target, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`}, {`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`}, {`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`}, {`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`}, {`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`}, {`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`}, {`{"a":"b"}`, `["c"]`, `["c"]`}, {`{"a":"foo"}`, `null`, `null`}, {`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`}, {`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`}, {`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		if got := policy.MergePatch(args(t, c.target), args(t, c.patch)); got.String() != c.want {
			t.Errorf("%s with %s: %s, want %s", c.target, c.patch, got, c.want)
		}
	}
}
