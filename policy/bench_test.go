package policy_test

import (
	"testing"

	"github.com/writ-dev/writ/policy"
)

const benchPack = `version: 2
id: bench
expires: 2031-01-01T00:00:00Z
agents: {r: {capabilities: [search], namespaces: {n: read}}}
capabilities: {search: h, other: h}
namespaces: {n: read, m: write}
limits: {steps: 1000000, tokens: 100000000, calls: 1000000, cost_micros: {USD: 1000000000}}
tools:
  plain: {limits: {calls: 1000000, cost_micros: {USD: 100000000}}, per_call: {cost_micros: {USD: 1000}}}
  condition: {when: ["size(args.q) < 200 && args.limit <= 50"], limits: {calls: 1000000}}
  schema:
    arguments:
      type: object
      required: [q]
      additionalProperties: false
      properties: {q: {type: string, maxLength: 200}, limit: {type: integer, minimum: 1, maximum: 50}}
`

func benchmark(b *testing.B, tool string) {
	o := options()
	o.Agent = "r"
	o.Host = readPack(b, "version: 2\nid: house\nlimits: {steps: 5000000}\n")
	p := compile(b, benchPack, o)
	l := p.Ledger()
	call := policy.Call{
		Kind: policy.KindTool, Name: tool, Namespace: "n", Capability: "search", Args: args(b, `{"q":"hello","limit":10}`),
		Reserve: policy.Amount{Cost: policy.Money{"USD": 10}}, NowMS: now,
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, d := p.Authorize(call, l); d != nil {
			b.Fatal(d)
		}
	}
}

func BenchmarkAuthorize(b *testing.B)          { benchmark(b, "plain") }
func BenchmarkAuthorizeCondition(b *testing.B) { benchmark(b, "condition") }
func BenchmarkAuthorizeSchema(b *testing.B)    { benchmark(b, "schema") }

func BenchmarkAuthorizeVersion1(b *testing.B) {
	p := compile(b, `{"version":1,"id":"a","metadata":{"name":"A","description":"d"},"agents":{},"tools":["s"],"namespaces":["n"],
		"argument_constraints":{"s":{"type":"object","required":["q"],"properties":{"q":{"type":"string"}}}},
		"budget":{"max_calls":9,"max_units":9,"max_duration_ms":9},"capability_bindings":{"c":"c"}}`, policy.Options{})
	call := policy.Call{Kind: policy.KindTool, Name: "s", Namespace: "n", Capability: "c", Args: args(b, `{"q":"hello"}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, d := p.Authorize(call, nil); d != nil {
			b.Fatal(d)
		}
	}
}

func BenchmarkDenial(b *testing.B) {
	p := research(b)
	call := searchCall(b)
	call.Args = args(b, `{"q":"hello","limit":1000}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, d := p.Authorize(call, nil); d == nil {
			b.Fatal("permitted")
		}
	}
}

func BenchmarkReserveAndSettle(b *testing.B) {
	p := compile(b, "version: 2\nid: p\nlimits: {tokens: 1000000}\ntools: {a: {limits: {tokens: 100000}}}\n", options())
	l := p.Ledger()
	permit, d := p.Authorize(policy.Call{Kind: policy.KindTool, Name: "a", Reserve: policy.Amount{Tokens: 10}}, l)
	if d != nil {
		b.Fatal(d)
	}
	b.ReportAllocs()
	for b.Loop() {
		if d := l.Reserve("k", permit); d != nil {
			b.Fatal(d)
		}
		l.Settle("k", policy.Amount{})
	}
}

func BenchmarkCompile(b *testing.B) {
	text := []byte(testdata(b, "release.yaml"))
	o := options()
	o.Agent = "release"
	for b.Loop() {
		p, err := policy.ReadPack(text, "p")
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := policy.Compile(p, o); err != nil {
			b.Fatal(err)
		}
	}
}
