package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/policy"
)

// The packs and calls of the properties are made of few names, so that calls hit
// grants, and of values near their bounds.

func pick[T any](t *rapid.T, label string, list ...T) T {
	return rapid.SampledFrom(list).Draw(t, label)
}

func maybe(t *rapid.T, label string) bool { return rapid.Bool().Draw(t, label) }

// doc builds a pack as text.
type doc struct{ lines []string }

func (d *doc) add(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *doc) String() string { return strings.Join(d.lines, "\n") + "\n" }

func drawLimits(t *rapid.T, run bool) string {
	var parts []string
	add := func(name string, values ...string) {
		if maybe(t, name) {
			parts = append(parts, name+": "+pick(t, name, values...))
		}
	}
	if run {
		add("steps", "0", "3")
	}
	add("calls", "0", "1", "5")
	add("tokens", "0", "100", "1000")
	add("units", "5", "50")
	add("duration", "1s", "1m")
	add("cost_micros", "{}", "{USD: 10}", "{USD: 100, EUR: 5}", "{EUR: 50}")
	return "{" + strings.Join(parts, ", ") + "}"
}

func drawCommon(t *rapid.T, kind policy.Kind) []string {
	var parts []string
	if maybe(t, "capability") {
		parts = append(parts, "capability: "+pick(t, "capability", "a", "b"))
	}
	if kind != policy.KindHandoff && kind != policy.KindEvent && maybe(t, "arguments") {
		parts = append(parts, "arguments: "+pick(t, "arguments",
			`{}`, `false`, `{type: object, required: [q]}`, `{properties: {q: {type: string, maxLength: 3}, n: {maximum: 5}}}`,
			`{additionalProperties: false, properties: {q: {}}}`, `{anyOf: [{required: [q]}, {required: [n]}]}`, `{not: {required: [n]}}`,
			`{properties: {q: false}, maxProperties: 1}`))
	}
	if maybe(t, "when") {
		parts = append(parts, "when: "+pick(t, "when", `["args.n < 3"]`, `["true", "has(args.q)"]`, `["size(tainted) == 0"]`, `["name != 'x'", "args.n < 9"]`))
	}
	if maybe(t, "limits") {
		parts = append(parts, "limits: "+drawLimits(t, false))
	}
	if maybe(t, "per_call") {
		parts = append(parts, "per_call: "+pick(t, "per_call", "{}", "{tokens: 50}", "{units: 5, cost_micros: {USD: 5}}", "{cost_micros: {}}"))
	}
	if maybe(t, "timeout") {
		parts = append(parts, "timeout: "+pick(t, "timeout", "500ms", "30s"))
	}
	if pick(t, "approval", 0, 0, 0, 1) == 1 {
		parts = append(parts, "approval: "+pick(t, "approval", "{}", "{quorum: 2}", "{minimum_method: key}"))
	}
	return parts
}

// drawDigests gives one digest, or a list.
func drawDigests(t *rapid.T, of ...string) string {
	if maybe(t, "list") {
		return "[" + digest(pick(t, "digest", of...)).String() + ", " + digest("other").String() + "]"
	}
	return digest(pick(t, "digest", of...)).String()
}

func drawGrant(t *rapid.T, kind policy.Kind, depth int) string {
	parts := drawCommon(t, kind)
	add := func(s string) { parts = append(parts, s) }
	switch kind {
	case policy.KindTool:
		if maybe(t, "proxied") {
			add("proxied: true")
		}
	case policy.KindExec:
		add("program: " + pick(t, "program", "/bin/a", "/bin/b"))
		if maybe(t, "args") {
			add("args: " + pick(t, "args", `[]`, `[x]`, `[x, {match: "-?[a-z]+"}]`, `[{match: "[a-z]*", repeat: true}]`, `["-x"]`))
		}
		if maybe(t, "env") {
			add("env: " + pick(t, "env", "[]", "[HOME]", "[HOME, LANG]"))
		}
		if maybe(t, "flags") {
			add("allow_model_flags: true")
		}
		if maybe(t, "also") {
			add("also: " + pick(t, "also", `[]`, `[{args: ["-x"]}]`, `[{program: /bin/c, args: [x]}, {args: []}]`))
		}
	case policy.KindHTTP:
		add("hosts: " + pick(t, "hosts", "[a.test]", `["a.test:8080", b.test]`))
		add("methods: " + pick(t, "methods", "[GET]", "[GET, POST]"))
		if maybe(t, "schemes") {
			add("schemes: " + pick(t, "schemes", "[http]", "[http, https]"))
		}
	case policy.KindWASM:
		add("module: " + drawDigests(t, "m1", "m2"))
		if maybe(t, "memory") {
			add("memory_bytes: " + pick(t, "memory", "1000", "99999999"))
		}
	case policy.KindModel:
		if maybe(t, "output") {
			add("max_output_tokens: " + pick(t, "output", "10", "100"))
		}
	case policy.KindRetrieve:
		if maybe(t, "manifests") {
			add("manifests: " + pick(t, "manifests", "[]", "[k.yaml]"))
		}
		if maybe(t, "spaces") {
			add("namespaces: " + pick(t, "spaces", "[]", "[n]"))
		}
	case policy.KindClaims:
		add("actions: " + pick(t, "actions", "[read]", "[propose, read]", "[commit, propose, read]"))
	case policy.KindHandoff:
		if maybe(t, "graph") {
			add("graph: " + drawDigests(t, "g1", "g2"))
		}
		if depth == 0 && maybe(t, "authority") {
			add("authority: " + drawAuthority(t, 1))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func namesOf(kind policy.Kind) []string {
	if kind == policy.KindCortex {
		return []string{"query", "context"}
	}
	return []string{"x", "y"}
}

func drawSections(t *rapid.T, depth int) []string {
	var parts []string
	if maybe(t, "namespaces") {
		parts = append(parts, "namespaces: "+pick(t, "namespaces", "{}", "{n: read}", "{n: write, m: read}"))
	}
	if maybe(t, "limits") {
		parts = append(parts, "limits: "+drawLimits(t, true))
	}
	for kind := policy.KindTool; kind <= policy.KindEvent; kind++ {
		if pick(t, "section", 0, 0, 1) == 0 {
			continue
		}
		var grants []string
		for _, name := range namesOf(kind) {
			if maybe(t, "grant") {
				grants = append(grants, name+": "+drawGrant(t, kind, depth))
			}
		}
		parts = append(parts, kind.Section()+": {"+strings.Join(grants, ", ")+"}")
	}
	if maybe(t, "approvals") {
		parts = append(parts, "approvals: "+pick(t, "approvals", "{}", "{quorum: 2}", "{minimum_method: key, expires: 1h}", "{minimum_method: os-user}"))
	}
	return parts
}

func drawAuthority(t *rapid.T, depth int) string {
	parts := drawSections(t, depth)
	if maybe(t, "capabilities") {
		parts = append(parts, "capabilities: "+pick(t, "capabilities", "[]", "[a]", "[a, b]"))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// drawPack gives the text of a pack that compiles, with or without an agent r.
func drawPack(t *rapid.T) (text string, agent string) {
	d := &doc{}
	d.add("version: 2")
	d.add("id: p")
	if pick(t, "validity", 0, 0, 0, 1) == 1 {
		d.add("not_before: 2020-01-01T00:00:00Z")
		d.add("expires: 2021-01-01T00:00:00Z")
	}
	capabilities := pick(t, "bindings", "", "{}", "{a: h}", "{a: h, b: h}")
	if capabilities != "" {
		d.add("capabilities: %s", capabilities)
	}
	for _, part := range drawSections(t, 0) {
		d.add("%s", part)
	}
	if maybe(t, "agent") {
		agent = "r"
		held := "[]"
		if strings.Contains(capabilities, "a: h") {
			held = pick(t, "held", "[]", "[a]")
		}
		spaces := "{}"
		if strings.Contains(d.String(), "\nnamespaces: {n: ") {
			spaces = pick(t, "spaces", "{}", "{n: read}")
		}
		d.add("agents: {r: {capabilities: %s, namespaces: %s, limits: %s}}", held, spaces, drawLimits(t, true))
	}
	return d.String(), agent
}

// drawGenerousPack gives a pack that has most of what a child may ask for.
func drawGenerousPack(t *rapid.T) string {
	d := &doc{}
	d.add("version: 2\nid: p\ncapabilities: {a: h, b: h}\nnamespaces: {n: write, m: read}\napprovals: {}")
	d.add("limits: {cost_micros: {USD: 100, EUR: 50}, tokens: 1000}")
	for kind := policy.KindTool; kind <= policy.KindEvent; kind++ {
		var grants []string
		for _, name := range namesOf(kind) {
			grants = append(grants, name+": "+drawGrant(t, kind, 0))
		}
		d.add("%s: {%s}", kind.Section(), strings.Join(grants, ", "))
	}
	return d.String()
}

func compileDrawn(t *rapid.T, text, agent string) *policy.Policy {
	pack, err := policy.ReadPack([]byte(text), "p.yaml")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	o := options()
	o.Agent = agent
	p, _, err := policy.Compile(pack, o)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

func drawAmount(t *rapid.T) policy.Amount {
	a := policy.Amount{
		Calls: pick[uint64](t, "calls", 0, 1, 2), Tokens: pick[uint64](t, "tokens", 0, 50, 200), Units: pick[uint64](t, "units", 0, 5, 20),
		DurationMS: pick[uint64](t, "duration", 0, 400, 5000),
	}
	switch pick(t, "cost", 0, 0, 1, 2) {
	case 1:
		a.Cost = policy.Money{"USD": pick[uint64](t, "usd", 1, 5, 50)}
	case 2:
		a.Cost = policy.Money{"USD": 1, "EUR": pick[uint64](t, "eur", 1, 10)}
	}
	return a
}

func drawCall(t *rapid.T) policy.Call {
	return drawCallOf(t, policy.Kind(rapid.IntRange(0, int(policy.KindState)).Draw(t, "kind")))
}

func drawCallOf(t *rapid.T, kind policy.Kind) policy.Call {
	c := policy.Call{
		Kind: kind, Name: pick(t, "name", namesOf(kind)...), Namespace: pick(t, "namespace", "", "", "n", "m"), Write: maybe(t, "write"),
		Capability: pick(t, "capability", "", "", "a", "b"), Reserve: drawAmount(t), NowMS: pick[int64](t, "now", now, 1_590_000_000_000),
		Proposal: digest("p"),
	}
	c.Args = pick(t, "args", artifact.Value{}, artifact.ObjectValue(),
		artifact.ObjectValue(artifact.Member{Name: "q", Value: artifact.StringValue("abcd")}),
		artifact.ObjectValue(artifact.Member{Name: "q", Value: artifact.StringValue("a")}, artifact.Member{Name: "n", Value: artifact.IntValue(pick[int64](t, "n", 2, 7))}))
	if maybe(t, "taint") {
		c.Taint = marks("/q", policy.FromModel)
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "decisions") {
		c.Decisions = append(c.Decisions, policy.Decision{
			Proposal: digest("p"), Approve: true, Method: pick(t, "method", policy.MethodAsserted, policy.MethodToken, policy.MethodKey),
			By: policy.Principal{Name: fmt.Sprint(i), Credential: digest(fmt.Sprint(i))}, DecidedMS: c.NowMS,
		})
	}
	switch kind {
	case policy.KindExec:
		c.Program = pick(t, "program", "/bin/a", "/bin/b")
		c.Argv = pick(t, "argv", nil, inputs("x"), inputs("x", "-ab"), inputs("-x"), inputs("x", "ab1"), inputs("x", "ab", "cd"))
		if len(c.Argv) > 0 && maybe(t, "tainted") {
			c.Argv[len(c.Argv)-1].Taint = policy.FromModel
		}
		c.Env = pick(t, "env", nil, []string{"HOME"}, []string{"LANG", "HOME"})
	case policy.KindHTTP:
		c.Action = pick(t, "method", "GET", "POST")
		c.URL = pick(t, "url", "https://a.test/", "http://a.test:8080/x", "https://b.test:443/")
	case policy.KindWASM:
		c.Module, c.Memory = digest(pick(t, "module", "m1", "m2")), pick[uint64](t, "memory", 0, 5000, 50_000_000)
	case policy.KindModel:
		c.Output = pick[uint64](t, "output", 0, 10, 50)
	case policy.KindRetrieve:
		c.Manifest, c.Namespaces = pick(t, "manifest", "", "k.yaml"), pick(t, "spaces", nil, []string{"n"})
	case policy.KindClaims:
		c.Action = pick(t, "action", "read", "propose", "commit")
	case policy.KindHandoff:
		c.Graph = digest(pick(t, "graph", "g1", "g2"))
	case policy.KindState:
		c.Name, c.Action, c.Namespace = pick(t, "space", "n", "m"), pick(t, "action", "read", "write"), ""
	}
	return c
}

// use makes a ledger in which some is used already.
func use(t *rapid.T, p *policy.Policy, calls []policy.Call) *policy.Ledger {
	l := p.Ledger()
	for i, c := range calls {
		if permit, d := p.Authorize(c, l); d == nil {
			if d := l.Reserve(fmt.Sprint(i), permit); d != nil {
				t.Fatalf("permitted, and then not reserved: %v", d)
			}
			if i%2 == 0 {
				l.Settle(fmt.Sprint(i), permit.Reserve)
			}
		}
	}
	return l
}

// rebind gives the same use under another policy.
func rebind(t *rapid.T, l *policy.Ledger, p *policy.Policy) *policy.Ledger {
	r := artifact.NewReader(artifact.DocumentOf(l.Value(), "ledger"))
	again := p.RestoreLedger(r.Root())
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return again
}

// What a narrowed policy permits its parent permits.
func TestNarrowIsNeverWider(t *testing.T) {
	permitted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text := drawGenerousPack(t)
		parent := compileDrawn(t, text, "")
		request, err := artifact.ParseDocument([]byte("authority: "+drawAuthority(t, 1)), "request")
		if err != nil {
			t.Fatal(err)
		}
		r := artifact.NewReader(request)
		authority := policy.ReadAuthority(r.Root().Object().Need("authority"))
		if err := r.Err(); err != nil {
			t.Fatal(err)
		}
		child, d := policy.Narrow(parent, "child", authority)
		if d != nil {
			if d.Code != policy.CodeAuthorityExceeded {
				t.Fatal(d)
			}
			refused++
			return
		}
		calls := []policy.Call{drawCall(t), drawCall(t)}
		for range 8 {
			call := drawCall(t)
			l := use(t, child, calls)
			if _, d := child.Authorize(call, l); d != nil {
				continue
			}
			permitted++
			if _, d := parent.Authorize(call, rebind(t, l, parent)); d != nil {
				t.Fatalf("the child may, the parent not: %v\n%+v\n%s\n%v", d, call, text, request.Value())
			}
		}
		if child.Digest() == parent.Digest() {
			t.Fatal("child and parent have one policy hash")
		}
	})
	t.Logf("%d calls permitted to children, %d requests refused as too wide", permitted, refused)
}

// mutate drops a line of a pack, or takes one of another pack in its place.
func mutate(t *rapid.T, text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	i := rapid.IntRange(2, len(lines)).Draw(t, "line")
	if i == len(lines) {
		return text
	}
	if key, _, _ := strings.Cut(lines[i], ":"); maybe(t, "replace") {
		donor, _ := drawPack(t)
		for line := range strings.Lines(donor) {
			if strings.HasPrefix(line, key+":") {
				lines[i] = strings.TrimSuffix(line, "\n")
			}
		}
	} else {
		lines = slices.Delete(lines, i, i+1)
	}
	return strings.Join(lines, "\n") + "\n"
}

// A diff that says nothing got wider is right.
func TestDiffTellsWhatIsWider(t *testing.T) {
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		text, agent := drawPack(t)
		a := compileDrawn(t, text, agent)
		other, otherAgent := mutate(t, text), agent
		if agent != "" && !strings.Contains(other, "agents:") {
			return // a pack that names no agents is another question
		}
		pack, err := policy.ReadPack([]byte(other), "p.yaml")
		if err != nil {
			t.Fatal(err)
		}
		o := options()
		o.Agent = otherAgent
		b, _, err := policy.Compile(pack, o)
		if err != nil {
			return // the agent asks for what is no longer there
		}
		for _, pair := range [][2]*policy.Policy{{a, b}, {b, a}} {
			changes := policy.DiffPacks(pair[0].Pack(), pair[1].Pack())
			if slices.ContainsFunc(changes, func(c policy.Change) bool { return c.Effect != policy.Narrower }) {
				continue
			}
			compared++
			for range 6 {
				call := drawCall(t)
				_, after := pair[1].Authorize(call, nil)
				_, before := pair[0].Authorize(call, nil)
				if after == nil && before != nil {
					t.Fatalf("not wider, but permits %+v\n%v\n%v\n%s", call, before, changes, text)
				}
			}
		}
	})
	t.Logf("%d pairs that only narrow", compared)
}
