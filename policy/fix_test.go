package policy_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/policy"
)

// What is proposed for each kind of reason: the change, calls that were permitted
// and still are, and calls that were refused and still are.
func TestFixOfEachKind(t *testing.T) {
	exec := func(program string, argv ...policy.ProgramInput) policy.Call {
		return policy.Call{Kind: policy.KindExec, Name: "e", Program: program, Argv: argv}
	}
	get := func(method, url string) policy.Call {
		return policy.Call{Kind: policy.KindHTTP, Name: "h", Action: method, URL: url}
	}
	wasm := func(module string, memory uint64) policy.Call {
		return policy.Call{Kind: policy.KindWASM, Name: "w", Module: digest(module), Memory: memory}
	}
	graph := func(name string) policy.Call {
		return policy.Call{Kind: policy.KindHandoff, Name: "g", Graph: digest(name)}
	}
	claims := func(action string) policy.Call {
		return policy.Call{Kind: policy.KindClaims, Name: "c", Action: action}
	}
	retrieve := func(manifest string, namespaces ...string) policy.Call {
		return policy.Call{Kind: policy.KindRetrieve, Name: "r", Manifest: manifest, Namespaces: namespaces}
	}
	event := func(name string) policy.Call { return policy.Call{Kind: policy.KindEvent, Name: name} }
	state := func(name, action string) policy.Call {
		return policy.Call{Kind: policy.KindState, Name: name, Action: action}
	}
	model := func(tokens uint64) policy.Call {
		return policy.Call{Kind: policy.KindModel, Name: "m", Output: tokens}
	}
	tool := func(a policy.Amount) policy.Call { return policy.Call{Kind: policy.KindTool, Name: "t", Reserve: a} }
	flag := policy.ProgramInput{Text: "-d", Taint: policy.FromModel}
	c, word, ab1 := policy.ProgramInput{Text: "-c"}, policy.ProgramInput{Text: "abc"}, policy.ProgramInput{Text: "ab1"}
	const sh = "exec: {e: {program: /bin/sh, args: [-c, {match: '[a-z]+'}]}}"
	const also = "exec:\n  e:\n    also:\n      - "
	for _, tt := range []struct {
		pack         string
		call         policy.Call
		yaml         string
		keep, refuse []policy.Call
	}{
		{sh, exec("/bin/sh", c, ab1), also + `{args: ["-c", ab1]}` + "\n", []policy.Call{exec("/bin/sh", c, word)}, []policy.Call{exec("/bin/sh", c), exec("/bin/sh", ab1, c), exec("/bin/sh", c, ab1, ab1), exec("/bin/bash", c, ab1)}},
		{sh, exec("/bin/sh", c), also + `{args: ["-c"]}` + "\n", []policy.Call{exec("/bin/sh", c, word)}, []policy.Call{exec("/bin/sh"), exec("/bin/sh", c, ab1)}},
		{sh, exec("/bin/sh", c, word, word), also + `{args: ["-c", abc, abc]}` + "\n", []policy.Call{exec("/bin/sh", c, word)}, []policy.Call{exec("/bin/sh", c, word, word, word)}},
		{sh, exec("/bin/sh"), also + `{args: []}` + "\n", []policy.Call{exec("/bin/sh", c, word)}, []policy.Call{exec("/bin/sh", c)}},
		{sh, exec("/bin/env", c, word), also + `{program: /bin/env, args: ["-c", abc]}` + "\n", []policy.Call{exec("/bin/sh", c, word)}, []policy.Call{exec("/bin/env"), exec("/bin/env", c, ab1)}},
		{
			"exec: {e: {program: /bin/sh, args: [{match: '-?[a-z]+'}], also: [{args: [-x]}]}}", exec("/bin/sh", flag),
			also + `{args: ["-x"]}` + "\n      - " + `{args: ["-d"]}` + "\n", []policy.Call{exec("/bin/sh", word), exec("/bin/sh", policy.ProgramInput{Text: "-x", Taint: policy.FromModel})},
			[]policy.Call{exec("/bin/sh", policy.ProgramInput{Text: "-e", Taint: policy.FromTool})},
		},
		{
			"exec: {e: {program: /bin/sh, env: [HOME]}}", policy.Call{Kind: policy.KindExec, Name: "e", Program: "/bin/sh", Env: []string{"LANG"}},
			"exec:\n  e:\n    env: [HOME, LANG]\n", []policy.Call{{Kind: policy.KindExec, Name: "e", Program: "/bin/sh", Env: []string{"HOME"}}},
			[]policy.Call{{Kind: policy.KindExec, Name: "e", Program: "/bin/sh", Env: []string{"PATH"}}},
		},
		{"http: {h: {hosts: [a.test], methods: [GET]}}", get("POST", "https://a.test/"), "http:\n  h:\n    methods: [GET, POST]\n", []policy.Call{get("GET", "https://a.test/")}, []policy.Call{get("PUT", "https://a.test/"), get("POST", "https://b.test/")}},
		{"http: {h: {hosts: [a.test], methods: [GET]}}", get("GET", "https://b.test/"), "http:\n  h:\n    hosts: [a.test, b.test]\n", []policy.Call{get("GET", "https://a.test/")}, []policy.Call{get("GET", "http://b.test/"), get("GET", "https://c.test/")}},
		{"wasm: {w: {module: " + digest("m1").String() + "}}", wasm("m2", 0), "wasm:\n  w:\n    module: [" + quotedDigests("m1", "m2") + "]\n", []policy.Call{wasm("m1", 0)}, []policy.Call{wasm("m3", 0), wasm("m2", 64<<20)}},
		{"wasm: {w: {module: " + digest("m1").String() + "}}", wasm("m1", 32<<20), "wasm:\n  w:\n    memory_bytes: 33554432\n", []policy.Call{wasm("m1", 16<<20)}, []policy.Call{wasm("m1", 32<<20+1)}},
		{"handoffs: {g: {graph: " + digest("g1").String() + "}}", graph("g2"), "handoffs:\n  g:\n    graph: [" + quotedDigests("g1", "g2") + "]\n", []policy.Call{graph("g1")}, []policy.Call{graph("g3")}},
		{"claims: {c: {actions: [read]}}", claims("propose"), "claims:\n  c:\n    actions: [propose, read]\n", []policy.Call{claims("read")}, []policy.Call{claims("commit")}},
		{"retrieve: {r: {manifests: [a.yaml], namespaces: [n]}}", retrieve("b.yaml", "m"), "retrieve:\n  r:\n    manifests: [a.yaml, b.yaml]\n    namespaces: [m, \"n\"]\n", []policy.Call{retrieve("a.yaml", "n"), retrieve("")}, []policy.Call{retrieve("c.yaml")}},
		{"events: {x: {}}", event("z"), "events:\n  z: {}\n", []policy.Call{event("x")}, []policy.Call{event("w")}},
		{"namespaces: {n: read, m: read}", state("n", "write"), "namespaces:\n  \"n\": write\n", []policy.Call{state("n", "read")}, []policy.Call{state("m", "write"), state("o", "read")}},
		{"models: {m: {max_output_tokens: 10}}", model(20), "models:\n  m:\n    max_output_tokens: 20\n", []policy.Call{model(10)}, []policy.Call{model(21)}},
		{"limits: {tokens: 10}\ntools: {t: {limits: {tokens: 20}}}", tool(policy.Amount{Tokens: 15}), "limits:\n  tokens: 15\n", []policy.Call{tool(policy.Amount{Tokens: 10})}, []policy.Call{tool(policy.Amount{Tokens: 16})}},
		{"limits: {cost_micros: {USD: 5}}\ntools: {t: {}}", tool(policy.Amount{Cost: policy.Money{"EUR": 7}}), "limits:\n  cost_micros:\n    EUR: 7\n", []policy.Call{tool(policy.Amount{Cost: policy.Money{"USD": 5}})}, []policy.Call{tool(policy.Amount{Cost: policy.Money{"EUR": 8}})}},
	} {
		p := compile(t, "version: 2\nid: p\n"+tt.pack+"\n", options())
		for _, c := range tt.keep {
			if _, d := p.Authorize(c, nil); d != nil {
				t.Fatalf("%s: before: %v", tt.pack, d)
			}
		}
		_, d := p.Authorize(tt.call, nil)
		if d == nil || d.Fix.YAML != tt.yaml {
			t.Errorf("%s: %v, fix %+v\nwant\n%s", tt.pack, d, d.Fix, tt.yaml)
			continue
		}
		after := applied(t, p, d)
		for _, c := range append(tt.keep, tt.call) {
			if _, d := after.Authorize(c, nil); d != nil {
				t.Errorf("%s: after the fix %+v: %v", tt.pack, c, d)
			}
		}
		for _, c := range tt.refuse {
			if permit, d := after.Authorize(c, nil); d == nil {
				t.Errorf("%s: after the fix by %s: %+v", tt.pack, permit.Rule, c)
			}
		}
	}
}

// quotedDigests gives digests as a fix has them: sorted.
func quotedDigests(a, b string) string {
	x, y := digest(a).String(), digest(b).String()
	if x > y {
		x, y = y, x
	}
	return `"` + x + `", "` + y + `"`
}

// A document beside the one that is named is named too; the first may still run.
func TestAdmitNamesOneMore(t *testing.T) {
	o := options()
	o.Agent = "r"
	p := compile(t, "version: 2\nid: p\nagents: {r: {definition: "+digest("a").String()+"}}\n", o)
	d := p.Admit(policy.Run{Definition: digest("b")})
	if d == nil || d.Fix.YAML != "agents:\n  r:\n    definition: ["+quotedDigests("a", "b")+"]\n" {
		t.Fatalf("%v, fix %+v", d, d.Fix)
	}
	changed, err := d.Fix.Apply(p.Pack())
	if err != nil {
		t.Fatal(err)
	}
	after, _, err := policy.Compile(changed, o)
	if err != nil {
		t.Fatal(err)
	}
	for name, admitted := range map[string]bool{"a": true, "b": true, "c": false} {
		if d := after.Admit(policy.Run{Definition: digest(name)}); (d == nil) != admitted {
			t.Errorf("%s: %v", name, d)
		}
	}
}

// Constraints of version 1 are relaxed by what their language has: no alternatives,
// and one type.
func TestRelaxedConstraintOfVersion1(t *testing.T) {
	const s = `{"type":"object","required":["to","cents"],"properties":{"cents":{"type":"number","maximum":100},"to":{"const":"a"},"x":{"type":"string"},"y":false}}`
	text := `{"version":1,"id":"a","metadata":{"name":"A","description":"d"},"agents":{},"tools":["pay"],"namespaces":[],` +
		`"argument_constraints":{"pay":` + s + `},"budget":{"max_calls":9,"max_units":0,"max_duration_ms":9000},"capability_bindings":{}}`
	p, _, err := policy.Compile(readPack(t, text), policy.Options{AcceptV1Gaps: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		call, want string
		refuse     []string
	}{
		{
			`{"cents":101,"to":"a"}`, `{"type":"object","required":["to","cents"],"properties":{"cents":{"type":"number","maximum":101},"to":{"const":"a"},"x":{"type":"string"},"y":false}}`,
			[]string{`{"cents":102,"to":"a"}`, `{"cents":101,"to":"b"}`, `{"cents":101}`, `{"cents":101,"to":"a","x":1}`},
		},
		{
			`{"cents":1,"to":"b"}`, `{"type":"object","required":["to","cents"],"properties":{"cents":{"type":"number","maximum":100},"to":{"type":"string"},"x":{"type":"string"},"y":false}}`,
			[]string{`{"cents":1,"to":7}`, `{"cents":101,"to":"a"}`},
		},
		{
			`{"to":"a","x":1}`, `{"type":"object","required":["to"],"properties":{"cents":{"type":"number","maximum":100},"to":{"const":"a"},"x":{},"y":false}}`,
			[]string{`{"cents":1}`, `{"to":"b"}`},
		},
		{
			`{"cents":1,"to":"a","y":"z"}`, `{"type":"object","required":["to","cents"],"properties":{"cents":{"type":"number","maximum":100},"to":{"const":"a"},"x":{"type":"string"},"y":{"type":"string","const":"z"}}}`,
			[]string{`{"cents":1,"to":"a","y":"x"}`},
		},
		{
			`{"cents":1,"to":"a","y":null}`, `{"type":"object","required":["to","cents"],"properties":{"cents":{"type":"number","maximum":100},"to":{"const":"a"},"x":{"type":"string"},"y":{"type":"null"}}}`,
			[]string{`{"cents":1,"to":"a","y":"x"}`},
		},
	} {
		_, d := p.Authorize(pay(args(t, c.call)), nil)
		if d == nil || d.Code != policy.CodeArgumentDenied || d.Fix.Words != "relax the constraint of pay" {
			t.Fatalf("%s: %v, fix %+v", c.call, d, d.Fix)
		}
		changed, err := d.Fix.Apply(p.Pack())
		if err != nil {
			t.Fatal(c.call, err)
		}
		if got := changed.Grants[policy.KindTool]["pay"].Arguments; !got.Equal(args(t, c.want)) {
			t.Errorf("%s: %s, want %s", c.call, got, c.want)
		}
		after, _, err := policy.Compile(changed, policy.Options{AcceptV1Gaps: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{c.call, `{"cents":100,"to":"a"}`} {
			if _, d := after.Authorize(pay(args(t, text)), nil); d != nil {
				t.Errorf("%s: %s is refused: %v", c.call, text, d)
			}
		}
		for _, text := range c.refuse {
			if _, d := after.Authorize(pay(args(t, text)), nil); d == nil {
				t.Errorf("%s: %s is permitted", c.call, text)
			}
		}
	}
}

// What a pack says about digests and exact calls is read strictly, and written as
// it was read.
func TestReadListsOfDigestsAndExactCalls(t *testing.T) {
	one, two := digest("1").String(), digest("2").String()
	for _, c := range []struct{ text, want string }{
		{"wasm: {w: {module: " + one + "}}", ""},
		{"wasm: {w: {module: [" + one + ", " + two + "]}}", ""},
		{"wasm: {w: {module: [" + one + "]}}", ""},
		{"wasm: {w: {module: []}}", "the list is empty"},
		{"wasm: {w: {module: [" + one + ", " + one + "]}}", "appears twice"},
		{"wasm: {w: {module: [x]}}", "digest"},
		{"wasm: {w: {}}", "module is missing"},
		{"handoffs: {g: {graph: [" + two + ", " + one + "]}}", ""},
		{"exec: {e: {program: /a, also: [{args: [x]}, {program: /b, args: []}]}}", ""},
		{"exec: {e: {program: /a, also: [{program: /b}]}}", "args is missing"},
		{"exec: {e: {program: /a, also: [{program: b, args: []}]}}", "write an absolute path"},
		{"exec: {e: {program: /a, also: [{args: [1]}]}}", "put it in quotes"},
		{"exec: {e: {program: /a, also: [{args: [], env: []}]}}", "unknown member"},
		{"exec: {e: {program: /a, also: [" + strings.Repeat("{args: []},", 129) + "]}}", "more than 128 entries"},
		{"exec: {e: {program: /a, also: [{args: [" + strings.Repeat("x,", 129) + "]}]}}", "more than 128 entries"},
	} {
		pack, err := policy.ReadPack([]byte("version: 2\nid: p\n"+c.text+"\n"), "p.yaml")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
			continue
		}
		if err != nil {
			continue
		}
		again, err := policy.ReadPack([]byte(pack.Value().String()), "p.json")
		if err != nil || again.Digest() != pack.Digest() {
			t.Errorf("%s: %v, written as %s", c.text, err, pack.Value())
		}
	}
	sorted := func(list string) artifact.Digest {
		return readPack(t, "version: 2\nid: p\nwasm: {w: {module: ["+list+"]}}\n").Digest()
	}
	if sorted(one+", "+two) != sorted(two+", "+one) {
		t.Error("the order of digests changes the pack hash")
	}
}

// byPeople are denials that people undo and no change of the pack.
var byPeople = []policy.Code{policy.CodeApprovalRequired, policy.CodeApprovalStale, policy.CodeApprovalMethod, policy.CodeApprovalSelf}

// onlyPeople reports whether people are all that is missing.
func onlyPeople(d *policy.Denial) bool {
	if d == nil {
		return true
	}
	return slices.Contains(byPeople, d.Code) && !slices.ContainsFunc(d.Also, func(r policy.Reason) bool { return !slices.Contains(byPeople, r.Code) })
}

// The change that a denial proposes permits the call, and is read from its YAML
// alone, but for what people have to say. It refuses nothing that was permitted, and no part of it is needless.
func TestFixPermits(t *testing.T) {
	fixed, without, kept, parts := 0, 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text, agent := drawPack(t)
		p := compileDrawn(t, text, agent)
		l := use(t, p, []policy.Call{drawCall(t), drawCall(t), drawCall(t)})
		call := drawCall(t)
		_, d := p.Authorize(call, l)
		if d == nil {
			return
		}
		if d.Code == policy.CodeInvalidContract || onlyPeople(d) {
			without++
			if d.Fix.YAML != "" || d.Fix.Words == "" {
				t.Fatalf("%v: fix %+v", d, d.Fix)
			}
			return
		}
		patch, err := artifact.ParseDocument([]byte(d.Fix.YAML), "fix.yaml")
		if err != nil {
			t.Fatalf("%v: the fix is no YAML: %v\n%s\n%s", d, err, d.Fix.YAML, text)
		}
		before, _ := artifact.ParseDocument([]byte(text), "p.yaml")
		changed := policy.MergePatch(before.Value(), patch.Value())
		after := compileDrawn(t, changed.String(), agent)
		if _, again := after.Authorize(call, rebind(t, l, after)); !onlyPeople(again) {
			t.Fatalf("%v\nalso %v\nfix: %s\n%s\nstill: %v\n%+v\n%s", d, d.Also, d.Fix.Words, d.Fix.YAML, again, call, text)
		}
		fixed++
		for range 8 {
			other := drawCallOf(t, call.Kind)
			if maybe(t, "same name") {
				other.Name, other.Namespace, other.Capability, other.Reserve = call.Name, "", "", policy.Amount{}
			}
			for _, state := range []*policy.Ledger{l, p.Ledger()} {
				if _, d := p.Authorize(other, state); d != nil {
					continue
				}
				kept++
				if _, narrowed := after.Authorize(other, rebind(t, state, after)); narrowed != nil {
					t.Fatalf("fix: %s\n%s\n%s\nrefuses what was permitted: %v\n%+v", d.Fix.Words, d.Fix.YAML, text, narrowed, other)
				}
			}
		}
		for _, smaller := range smallerPatches(before.Value(), patch.Value(), false) {
			pack, err := policy.ReadPack([]byte(policy.MergePatch(before.Value(), smaller).String()), "p.yaml")
			if err != nil {
				continue // no pack at all
			}
			parts++
			o := options()
			o.Agent = agent
			less, _, err := policy.Compile(pack, o)
			if err != nil {
				continue
			}
			if _, d2 := less.Authorize(call, rebind(t, l, less)); onlyPeople(d2) {
				t.Fatalf("fix: %s\n%s\n%s\nis enough without a part: %s\n%+v", d.Fix.Words, d.Fix.YAML, text, smaller, call)
			}
		}
	})
	t.Logf("%d denials undone by their fix, %d without one; %d calls still permitted, %d smaller changes that are not enough", fixed, without, kept, parts)
}

// smallerPatches gives the patches that do a little less: without one of the
// members or of what is new in a list, or with a number that is one less. Times are
// as long as people can use, and stay. In a schema a keyword that is added only
// restricts, and so does the graph of a handoff.
func smallerPatches(before, patch artifact.Value, inSchema bool) []artifact.Value {
	var list []artifact.Value
	for _, m := range patch.Members() {
		old, there := before.Get(m.Name)
		if m.Name == "schemes" && !there {
			old = artifact.StringValue("https") // the default
		}
		if there && !m.Value.IsNull() || !inSchema && m.Name != "expires" && m.Name != "duration" && m.Name != "graph" {
			list = append(list, patch.Without(m.Name))
		}
		if m.Value.IsNull() && inSchema {
			list = append(list, patch.Without(m.Name))
		}
		switch n, isNumber := m.Value.Uint(); {
		case isNumber && n > 0 && !strings.HasPrefix(m.Name, "min"):
			list = append(list, patch.With(m.Name, artifact.UintValue(n-1)))
		case m.Value.Kind() == artifact.KindObject:
			for _, smaller := range smallerPatches(old, m.Value, inSchema || m.Name == "arguments") {
				list = append(list, patch.With(m.Name, smaller))
			}
		case m.Value.Kind() == artifact.KindArray && m.Name != "required":
			for i, e := range m.Value.Elements() {
				_, isValue := e.Get("enum")
				isNew := !slices.ContainsFunc(old.Elements(), e.Equal) && !e.Equal(old)
				if isNew && (isValue || !inSchema || m.Name == "enum" || m.Name == "type") {
					list = append(list, patch.With(m.Name, artifact.ArrayValue(slices.Delete(slices.Clone(m.Value.Elements()), i, i+1)...)))
				}
			}
		}
	}
	return list
}
