package policy_test

import (
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/policy"
)

// now lies within the validity of the packs in testdata.
const now = 1_790_000_000_000

func args(t testing.TB, text string) artifact.Value {
	t.Helper()
	v, err := artifact.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func digest(text string) artifact.Digest { return artifact.Sum([]byte(text)) }

func inputs(texts ...string) []policy.ProgramInput {
	list := make([]policy.ProgramInput, len(texts))
	for i, s := range texts {
		list[i].Text = s
	}
	return list
}

func release(t testing.TB) *policy.Policy {
	o := options()
	o.Agent = "release"
	return compile(t, testdata(t, "release.yaml"), o)
}

// searchCall is a call that the research pack permits.
func searchCall(t testing.TB) policy.Call {
	return policy.Call{
		Kind: policy.KindTool, Name: "search", Namespace: "knowledge/private", Capability: "search",
		Args: args(t, `{"q":"hello","limit":10}`), NowMS: now,
	}
}

func research(t testing.TB) *policy.Policy {
	o := options()
	o.Agent = "research"
	return compile(t, testdata(t, "research.yaml"), o)
}

func TestAuthorize(t *testing.T) {
	log := func(argv ...string) policy.Call {
		return policy.Call{Kind: policy.KindExec, Name: "git-log", Capability: "git", Program: "/usr/bin/git", Argv: inputs(argv...), NowMS: now}
	}
	tainted := log("log", "--oneline", "--max-count=5", "-x")
	tainted.Argv[3].Taint = policy.FromModel
	taintedFixed := log("log", "--oneline", "--max-count=5")
	taintedFixed.Argv[1].Taint = policy.FromModel
	taintedPattern := log("log", "--oneline", "--max-count=5")
	taintedPattern.Argv[2].Taint = policy.FromKnowledge
	get := func(method, url string) policy.Call {
		return policy.Call{Kind: policy.KindHTTP, Name: "registry", Action: method, URL: url, NowMS: now, Proposal: digest("p"),
			Decisions: []policy.Decision{{Proposal: digest("p"), Approve: true, Method: policy.MethodKey, DecidedMS: now, By: policy.Principal{Name: "ann", Credential: digest("k")}}}}
	}
	semver := digest("x")
	_ = semver
	module, _ := artifact.ParseDigest("sha256:baa5a0964d3320fbc0c6a922140453c8513ea24ab8fd0577034804a967248096")
	child, _ := artifact.ParseDigest("sha256:486ea46224d1bb4fb680f34f7c9ad96a8f24ec88be73ea8e5a6c65260e9cb8a7")
	p := release(t)
	for _, c := range []struct {
		name string
		call policy.Call
		code policy.Code // empty: permitted
		rule string
	}{
		{"exec", log("log", "--oneline", "--max-count=5", "main", "a/b"), "", "pack examples.release: exec.git-log"},
		{"exec without the repeated ones", log("log", "--oneline", "--max-count=5"), "", ""},
		{"exec wrong fixed argument", log("push", "--oneline", "--max-count=5"), policy.CodeArgumentDenied, "exec.git-log.args"},
		{"exec pattern is anchored", log("log", "--oneline", "x--max-count=5"), policy.CodeArgumentDenied, "exec.git-log.args"},
		{"exec pattern and newline", log("log", "--oneline", "--max-count=5\n"), policy.CodeArgumentDenied, "exec.git-log.args"},
		{"exec too few", log("log", "--oneline"), policy.CodeArgumentDenied, "exec.git-log.args"},
		{"exec other program", func() policy.Call { c := log("log", "--oneline", "--max-count=5"); c.Program = "/bin/sh"; return c }(), policy.CodeArgumentDenied, "exec.git-log.program"},
		{"exec relative program", func() policy.Call { c := log(); c.Program = "git"; return c }(), policy.CodeInvalidContract, "the call"},
		{"exec variable", func() policy.Call {
			c := log("log", "--oneline", "--max-count=5")
			c.Env = []string{"HOME", "AWS_SECRET"}
			return c
		}(), policy.CodeArgumentDenied, "exec.git-log.env"},
		{"exec flag of a model", tainted, policy.CodeTaintedArgument, "exec.git-log.allow_model_flags"},
		{"exec fixed text that a model chose", taintedFixed, "", ""},
		{"exec pattern flag of knowledge", taintedPattern, policy.CodeTaintedArgument, "exec.git-log.allow_model_flags"},
		{"exec unknown", policy.Call{Kind: policy.KindExec, Name: "git-push", Program: "/usr/bin/git", NowMS: now}, policy.CodeEffectNotAllowed, "pack examples.release"},

		{"http", get("PUT", "https://registry.example.com/v2/x?y=1"), "", ""},
		{"http usual port", get("PUT", "https://registry.example.com:443/"), "", ""},
		{"http upper case host", get("PUT", "https://Registry.Example.com/"), "", ""},
		{"http listed port", get("PUT", "https://registry.example.com:8443/"), "", ""},
		{"http other port", get("PUT", "https://registry.example.com:8444/"), policy.CodeArgumentDenied, "http.registry.hosts"},
		{"http other host", get("PUT", "https://registry.example.com.evil.test/"), policy.CodeArgumentDenied, "http.registry.hosts"},
		{"http user name", get("PUT", "https://registry.example.com@evil.test/"), policy.CodeArgumentDenied, "http.registry.hosts"},
		{"http plain", get("PUT", "http://registry.example.com/"), policy.CodeArgumentDenied, "http.registry.schemes"},
		{"http file", get("GET", "file:///etc/passwd"), policy.CodeArgumentDenied, "http.registry.hosts"},
		{"http method", get("DELETE", "https://registry.example.com/"), policy.CodeArgumentDenied, "http.registry.methods"},
		{"http no approval", func() policy.Call { c := get("PUT", "https://registry.example.com/"); c.Decisions = nil; return c }(), policy.CodeApprovalRequired, "http.registry.approval"},

		{"wasm", policy.Call{Kind: policy.KindWASM, Name: "semver", Module: module, Memory: 8 << 20, NowMS: now}, "", ""},
		{"wasm other module", policy.Call{Kind: policy.KindWASM, Name: "semver", Module: digest("other"), NowMS: now}, policy.CodeArgumentDenied, "wasm.semver.module"},
		{"wasm memory", policy.Call{Kind: policy.KindWASM, Name: "semver", Module: module, Memory: 16 << 20, NowMS: now}, policy.CodeCallTooLarge, "wasm.semver.memory_bytes"},

		{"model", policy.Call{Kind: policy.KindModel, Name: "small", Output: 2048, Reserve: policy.Amount{Tokens: 3000, Cost: policy.Money{"USD": 10}}, NowMS: now}, "", ""},
		{"model output", policy.Call{Kind: policy.KindModel, Name: "small", Output: 2049, NowMS: now}, policy.CodeCallTooLarge, "models.small.max_output_tokens"},
		{"model tokens of the run", policy.Call{Kind: policy.KindModel, Name: "small", Reserve: policy.Amount{Tokens: 100_001}, NowMS: now}, policy.CodeBudgetExhausted, "pack examples.release: limits.tokens"},
		{"model currency", policy.Call{Kind: policy.KindModel, Name: "small", Reserve: policy.Amount{Cost: policy.Money{"GBP": 1}}, NowMS: now}, policy.CodeBudgetExhausted, "pack examples.release: limits.cost_micros.GBP"},
		{"model other", policy.Call{Kind: policy.KindModel, Name: "large", NowMS: now}, policy.CodeEffectNotAllowed, ""},

		{"retrieve", policy.Call{Kind: policy.KindRetrieve, Name: "policies", Manifest: "knowledge.yaml", Namespaces: []string{"release/notes"}, NowMS: now}, "", ""},
		{"retrieve other manifest", policy.Call{Kind: policy.KindRetrieve, Name: "policies", Manifest: "../other.yaml", NowMS: now}, policy.CodeArgumentDenied, "retrieve.policies.manifests"},
		{"retrieve other namespace", policy.Call{Kind: policy.KindRetrieve, Name: "policies", Namespaces: []string{"hr"}, NowMS: now}, policy.CodeArgumentDenied, "retrieve.policies.namespaces"},
		{"cortex", policy.Call{Kind: policy.KindCortex, Name: "query", NowMS: now}, "", ""},
		{"cortex other", policy.Call{Kind: policy.KindCortex, Name: "write", NowMS: now}, policy.CodeInvalidContract, ""},
		{"claims", policy.Call{Kind: policy.KindClaims, Name: "releases", Action: "commit", NowMS: now}, "", ""},
		{"claims other graph", policy.Call{Kind: policy.KindClaims, Name: "people", Action: "read", NowMS: now}, policy.CodeEffectNotAllowed, ""},
		{"handoff", policy.Call{Kind: policy.KindHandoff, Name: "review/notes", Graph: child, NowMS: now}, "", ""},
		{"handoff other graph", policy.Call{Kind: policy.KindHandoff, Name: "review/notes", Graph: digest("other"), NowMS: now}, policy.CodeGraphNotAllowed, "handoffs.review/notes.graph"},
		{"event", policy.Call{Kind: policy.KindEvent, Name: "ci-finished", NowMS: now}, "", ""},
		{"event other", policy.Call{Kind: policy.KindEvent, Name: "ci-finishd", NowMS: now}, policy.CodeEffectNotAllowed, ""},
		{"approval", policy.Call{Kind: policy.KindApproval, Name: "publish the release", NowMS: now}, "", ""},
		{"state", policy.Call{Kind: policy.KindState, Name: "release/state", Action: "write", NowMS: now}, "", ""},
		{"state read only for the agent", policy.Call{Kind: policy.KindState, Name: "release/notes", Action: "read", NowMS: now}, policy.CodeNamespaceDenied, "agent release"},

		{"tool with a tainted argument", policy.Call{Kind: policy.KindTool, Name: "changelog", Taint: marks("/q", policy.FromTool), NowMS: now}, policy.CodeConditionDenied, "tools.changelog.when[0]"},
		{"tool misspelt", policy.Call{Kind: policy.KindTool, Name: "changelogs", NowMS: now}, policy.CodeToolNotAllowed, ""},
		{"too early", policy.Call{Kind: policy.KindEvent, Name: "timer", NowMS: 1}, policy.CodePackNotYetValid, "pack examples.release: not_before"},
		{"too late", policy.Call{Kind: policy.KindEvent, Name: "timer", NowMS: now * 2}, policy.CodePackExpired, "pack examples.release: expires"},
		{"no name", policy.Call{Kind: policy.KindTool, NowMS: now}, policy.CodeInvalidContract, ""},
		{"no kind", policy.Call{Kind: 99, Name: "x", NowMS: now}, policy.CodeInvalidContract, ""},
		{"arguments are a list", policy.Call{Kind: policy.KindTool, Name: "changelog", Args: artifact.ArrayValue(), NowMS: now}, policy.CodeInvalidContract, ""},
	} {
		permit, d := p.Authorize(c.call, p.Ledger())
		switch {
		case c.code == "" && d != nil:
			t.Errorf("%s: %v", c.name, d)
		case c.code != "" && d == nil:
			t.Errorf("%s: permitted by %s, want %s", c.name, permit.Rule, c.code)
		case c.code != "" && (d.Code != c.code || !strings.Contains(d.Rule, c.rule) || d.Fix == nil || d.Fix.Words == ""):
			t.Errorf("%s: %v, fix %+v; want %s by %s", c.name, d, d.Fix, c.code, c.rule)
		case c.code == "" && c.rule != "" && permit.Rule != c.rule:
			t.Errorf("%s: permitted by %s, want %s", c.name, permit.Rule, c.rule)
		}
	}
}

// TestConditionsSeeTaint asks about one argument by its pointer, wherever the mark
// is: on it, in it, or on what it is in.
func TestConditionsSeeTaint(t *testing.T) {
	const text = "version: 2\nid: p\ncapabilities: {}\ntools:\n" +
		"  whole: {when: ['!(\"/q\" in tainted)']}\n" +
		"  part: {when: ['!(\"/q/to/0\" in tainted)']}\n" +
		"  none: {when: [size(tainted) == 0]}\n" +
		"  any: {when: ['!tainted.exists(p, p.startsWith(\"/q/\"))']}\n" +
		"  blind: {when: [args.n == 1]}\n"
	p := compile(t, text, options())
	for _, c := range []struct {
		pointer string
		taint   policy.Taint
		refused string // the tools that are
	}{
		{"", 0, ""},
		{"/q", policy.FromRequest, ""},
		{"", policy.FromModel, "whole part none any"},
		{"/q", policy.FromModel, "whole part none any"},
		{"/q/to", policy.FromTool, "whole part none any"},
		{"/q/to/0", policy.FromKnowledge, "whole part none any"},
		{"/q/to/1", policy.FromKnowledge, "whole none any"},
		{"/n", policy.FromModel, "none"},
		{"/qq", policy.FromModel, "none"},
	} {
		var refused []string
		for _, tool := range []string{"whole", "part", "none", "any", "blind"} {
			call := policy.Call{Kind: policy.KindTool, Name: tool, Args: args(t, `{"n":1,"q":{"to":["a","b"]}}`), Taint: marks(c.pointer, c.taint)}
			if _, d := p.Authorize(call, nil); d != nil {
				refused = append(refused, tool)
				if d.Code != policy.CodeConditionDenied {
					t.Errorf("%q: %v", c.pointer, d)
				}
			}
		}
		if got := strings.Join(refused, " "); got != c.refused {
			t.Errorf("%s at %q: %s refused, want %s", c.taint, c.pointer, got, c.refused)
		}
	}
}

func marks(pointer string, taint policy.Taint) *policy.Marks {
	m := &policy.Marks{}
	m.Set(pointer, taint)
	return m
}

// An empty pack grants nothing of any kind, and says so with one code.
func TestEmptyPackRefusesEveryKind(t *testing.T) {
	p := compile(t, "version: 2\nid: empty\n", options())
	for kind := policy.KindTool; kind <= policy.KindState; kind++ {
		c := policy.Call{
			Kind: kind, Name: "query", Action: "read", Program: "/bin/true", URL: "https://a.b/", Module: digest("m"), Graph: digest("g"), NowMS: now,
		}
		if kind == policy.KindHTTP {
			c.Action = "GET"
		}
		_, d := p.Authorize(c, nil)
		if d == nil || d.Code != policy.CodeCapabilityUnavailable {
			t.Errorf("%s: %v", kind, d)
		}
	}
}

func TestPermitCarriesBounds(t *testing.T) {
	p := release(t)
	permit, d := p.Authorize(policy.Call{
		Kind: policy.KindExec, Name: "git-log", Program: "/usr/bin/git", Argv: inputs("log", "--oneline", "--max-count=5"), NowMS: now,
	}, nil)
	if d != nil {
		t.Fatal(d)
	}
	if permit.TimeoutMS != 10_000 || permit.OutputBytes != 65536 || permit.Account != "exec.git-log" || permit.Reserve.Calls != 1 {
		t.Errorf("%+v", permit)
	}
	// What a call does not declare is reserved at its bound.
	permit, d = p.Authorize(policy.Call{
		Kind: policy.KindTool, Name: "changelog", Proposal: digest("p"), NowMS: now,
		Decisions: []policy.Decision{{Proposal: digest("p"), Approve: true, Method: policy.MethodToken, DecidedMS: now, By: policy.Principal{Credential: digest("t")}}},
	}, nil)
	if d != nil {
		t.Fatal(d)
	}
	if r := permit.Reserve; r.Units != 10 || r.Tokens != 500 || r.DurationMS != 30_000 || r.Cost["USD"] != 500 || !permit.Approved {
		t.Errorf("%+v", permit)
	}
	// exec has a deadline even where the pack says none.
	bare := compile(t, "version: 2\nid: a\nexec: {e: {program: /a}}\n", options())
	if permit, d := bare.Authorize(policy.Call{Kind: policy.KindExec, Name: "e", Program: "/a"}, nil); d != nil || permit.TimeoutMS != policy.DefaultExecTimeout {
		t.Errorf("%+v %v", permit, d)
	}
}

// A permit says which bytes may be kept, under a narrower policy fewer.
func TestPermitSaysWhatIsKept(t *testing.T) {
	p := release(t)
	call := policy.Call{Kind: policy.KindRetrieve, Name: "policies", Manifest: "knowledge.yaml", NowMS: now}
	permit, d := p.Authorize(call, nil)
	if d != nil || permit.OutputBytes != 131_072 || permit.Keeps["restricted"] != 86_400_000 || len(permit.Keeps) != 2 {
		t.Errorf("%+v, %v", permit, d)
	}
	child, d := policy.Narrow(p, "child", &policy.Authority{Blobs: map[string]uint64{"public": 1}})
	if d != nil {
		t.Fatal(d)
	}
	if permit, d = child.Authorize(call, nil); d != nil || permit.Keeps["public"] != 1 || len(permit.Keeps) != 1 {
		t.Errorf("%+v, %v", permit, d)
	}
}

// Limited time is reserved, and what is left of it is the deadline.
func TestTimeIsReserved(t *testing.T) {
	p := compile(t, "version: 2\nid: p\nlimits: {duration: 10s}\ntools: {a: {}, b: {timeout: 4s}}\nexec: {e: {program: /a}}\n", options())
	l := p.Ledger()
	reserve := func(call policy.Call, key string, timeout uint64) {
		t.Helper()
		permit, d := p.Authorize(call, l)
		if d != nil || permit.TimeoutMS != timeout || permit.Reserve.DurationMS != timeout || l.Reserve(key, permit) != nil {
			t.Fatalf("%s: %v, %+v", key, d, permit)
		}
	}
	reserve(policy.Call{Kind: policy.KindTool, Name: "b"}, "1", 4000)
	reserve(policy.Call{Kind: policy.KindExec, Name: "e", Program: "/a"}, "2", 6000)
	if _, d := p.Authorize(policy.Call{Kind: policy.KindTool, Name: "a"}, l); d == nil || d.Rule != "pack p: limits.duration" {
		t.Errorf("%v", d)
	}
	l.Settle("2", policy.Amount{DurationMS: 1000})
	reserve(policy.Call{Kind: policy.KindTool, Name: "a"}, "3", 5000)
}

// B22: an agent that holds one capability cannot use what needs another,
// although the pack grants both; neither can it beyond the host's policy.
func TestAgentAndHostNarrow(t *testing.T) {
	text := `version: 2
id: a
agents:
  one: {capabilities: [a], namespaces: {n: read}}
capabilities: {a: h, b: h}
namespaces: {n: write}
tools: {x: {}, y: {capability: b}}
`
	o := options()
	o.Agent = "one"
	p := compile(t, text, o)
	for _, c := range []struct {
		call policy.Call
		code policy.Code
	}{
		{policy.Call{Kind: policy.KindTool, Name: "x", Capability: "a", Namespace: "n"}, ""},
		{policy.Call{Kind: policy.KindTool, Name: "x", Capability: "b"}, policy.CodeCapabilityUnavailable},
		{policy.Call{Kind: policy.KindTool, Name: "y"}, policy.CodeCapabilityUnavailable},
		{policy.Call{Kind: policy.KindTool, Name: "x", Namespace: "n", Write: true}, policy.CodeNamespaceDenied},
	} {
		if _, d := p.Authorize(c.call, nil); (d == nil) != (c.code == "") || d != nil && (d.Code != c.code || d.Rule != "agent one" && !strings.HasPrefix(d.Rule, "agent one:")) {
			t.Errorf("%+v: %v", c.call, d)
		}
	}
	o.Host = readPack(t, "version: 2\nid: house\ntools: {x: {limits: {calls: 0}}}\nexpires: 2029-01-01T00:00:00Z\n")
	p = compile(t, text, o)
	_, d := p.Authorize(policy.Call{Kind: policy.KindTool, Name: "x"}, nil)
	if d == nil || d.Code != policy.CodeBudgetExhausted || !strings.HasPrefix(d.Rule, "host policy house: tools.x.limits.calls") || d.Fix.YAML != "" {
		t.Errorf("%v, fix %+v", d, d)
	}
	if _, d := p.Authorize(policy.Call{Kind: policy.KindTool, Name: "y"}, nil); d == nil || d.Rule != "host policy house" {
		t.Errorf("%v", d)
	}
	if d := p.Admit(policy.Run{NowMS: now * 2}); d == nil || d.Code != policy.CodePackExpired {
		t.Errorf("%v", d)
	}
}

func TestAdmit(t *testing.T) {
	p := release(t)
	graph, _ := artifact.ParseDigest("sha256:fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9")
	agent, _ := artifact.ParseDigest("sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae")
	for _, c := range []struct {
		run  policy.Run
		code policy.Code
	}{
		{policy.Run{Graph: graph, Definition: agent, NowMS: now}, ""},
		{policy.Run{Graph: digest("other"), Definition: agent, NowMS: now}, policy.CodeGraphNotAllowed},
		{policy.Run{Graph: graph, Definition: digest("other"), NowMS: now}, policy.CodeAgentNotAllowed},
		{policy.Run{Graph: graph, NowMS: now}, policy.CodeAgentNotAllowed},
		{policy.Run{Graph: graph, Definition: agent, NowMS: 1}, policy.CodePackNotYetValid},
		{policy.Run{Graph: graph, Definition: agent, NowMS: 1_924_992_000_000}, policy.CodePackExpired}, // the first millisecond of 2031
		{policy.Run{Graph: graph, Definition: agent, NowMS: 1_924_991_999_999}, ""},
	} {
		d := p.Admit(c.run)
		if (d == nil) != (c.code == "") || d != nil && d.Code != c.code {
			t.Errorf("%+v: %v, want %q", c.run, d, c.code)
			continue
		}
		if d == nil {
			continue
		}
		fixed, err := d.Fix.Apply(p.Pack())
		if err != nil {
			t.Errorf("%v: %v", d, err)
			continue
		}
		o := options()
		o.Agent = "release"
		again, _, err := policy.Compile(fixed, o)
		if err != nil {
			t.Fatal(err)
		}
		if d := again.Admit(c.run); d != nil {
			t.Errorf("after the fix: %v", d)
		}
	}
}

// B21: the pack of 4 steps stops a graph of 100, and the denial names it.
func TestPackLimitsTheGraph(t *testing.T) {
	p := compile(t, "version: 2\nid: small\nlimits: {steps: 4}\n", options())
	l := p.Ledger(policy.Bound{Source: "graph g", Limits: policy.Limits{Steps: artifact.Some[uint64](100)}})
	for i := range 4 {
		if d := l.Charge(policy.Amount{Steps: 1}); d != nil {
			t.Fatal(i, d)
		}
	}
	d := l.Charge(policy.Amount{Steps: 1})
	if d == nil || d.Rule != "pack small: limits.steps" || d.Fix.YAML != "limits:\n  steps: 5\n" {
		t.Errorf("%v, %+v", d, d)
	}
}

func TestGapsOfVersion1(t *testing.T) {
	text := `{"version":1,"id":"a","metadata":{"name":"A","description":"d"},"agents":{},"tools":["s"],"namespaces":[],
		"argument_constraints":{"s":{"properties":{"q":{"type":"string","maxLength":3},"n":{"type":"integer"}}}},
		"budget":{"max_calls":1,"max_units":0,"max_duration_ms":9},"capability_bindings":{}}`
	_, _, err := policy.Compile(readPack(t, text), policy.Options{})
	for _, want := range []string{"s/properties/q/maxLength: keyword is ignored", `s/properties/n/type: an unknown type refuses every value`, "--accept-v1-gaps", "pack.yaml:2:"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	p, findings, err := policy.Compile(readPack(t, text), policy.Options{AcceptV1Gaps: true})
	if err != nil || len(findings) != 2 {
		t.Fatal(err, findings)
	}
	if _, d := p.Authorize(policy.Call{Kind: policy.KindTool, Name: "s", Args: args(t, `{"q":"far too long"}`)}, nil); d != nil {
		t.Errorf("accepted gaps are gaps: %v", d)
	}
}

// Version 1 packs grant the other kinds by the names of capabilities.
func TestKindsOfVersion1(t *testing.T) {
	pack := func(capability string) *policy.Policy {
		return compile(t, "version: 1\nid: a\nauthority:\n  capabilities: ["+capability+"]\n  namespaces: [n]\nbudget:\n  max_calls: 9\n  max_duration_ms: 9\n", policy.Options{})
	}
	for _, c := range []struct {
		capability string
		call       policy.Call
	}{
		{"retrieval.query", policy.Call{Kind: policy.KindRetrieve, Name: "x", Namespace: "n"}},
		{"cortex.context", policy.Call{Kind: policy.KindCortex, Name: "context", Namespace: "n"}},
		{"claims.commit", policy.Call{Kind: policy.KindClaims, Name: "x", Action: "commit", Namespace: "n"}},
		{"wasm.execute", policy.Call{Kind: policy.KindWASM, Name: "x", Module: digest("m")}},
		{"handoff.delegate", policy.Call{Kind: policy.KindHandoff, Name: "x", Graph: digest("g")}},
		{"hitl.resume", policy.Call{Kind: policy.KindApproval, Name: "x"}},
	} {
		if _, d := pack(c.capability).Authorize(c.call, nil); d != nil {
			t.Errorf("%s: %v", c.capability, d)
		}
		_, d := pack("other").Authorize(c.call, nil)
		if d == nil || d.Code != policy.CodeCapabilityUnavailable || d.Fix.YAML == "" {
			t.Errorf("without %s: %v", c.capability, d)
			continue
		}
		if !strings.Contains(d.Fix.YAML, "capabilities: ["+c.capability) && !strings.Contains(d.Fix.YAML, ", "+c.capability) {
			t.Errorf("without %s: %s", c.capability, d.Fix.YAML)
		}
		if c.call.Namespace != "" {
			c.call.Namespace = ""
			if _, d := pack(c.capability).Authorize(c.call, nil); d == nil || d.Code != policy.CodeNamespaceDenied {
				t.Errorf("%s without a namespace: %v", c.capability, d)
			}
		}
	}
	if _, d := pack("claims.propose").Authorize(policy.Call{Kind: policy.KindClaims, Name: "x", Action: "commit", Namespace: "n"}, nil); d == nil {
		t.Error("a proposer may commit")
	}
}
