package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/policy"
)

const ledgerPack = `version: 2
id: p
limits: {steps: 5, calls: 6, tokens: 1000, cost_micros: {USD: 100, EUR: 10}}
tools:
  a: {limits: {calls: 3, cost_micros: {USD: 60}}, per_call: {cost_micros: {USD: 30}}}
  b: {}
models:
  m: {limits: {tokens: 500}}
`

// budget is the reference model of the ledger: sums and limits, nothing else.
type budget struct{ calls, tokens, usd, eur uint64 }

func (b budget) plus(a policy.Amount) budget {
	return budget{b.calls + a.Calls, b.tokens + a.Tokens, b.usd + a.Cost["USD"], b.eur + a.Cost["EUR"]}
}

func (b budget) minus(a policy.Amount) budget {
	return budget{b.calls - a.Calls, b.tokens - a.Tokens, b.usd - a.Cost["USD"], b.eur - a.Cost["EUR"]}
}

// Under any interleaving of authorizing, reserving, settling, failing, releasing
// and restarting, what is used and held never exceeds a limit, and the sums are
// those of the model.
func TestLedgerNeverExceeds(t *testing.T) {
	p := compile(t, ledgerPack, options())
	limits := map[string]budget{"run": {6, 1000, 100, 10}, "tools.a": {3, 1 << 60, 60, 0}, "tools.b": {1 << 60, 1 << 60, 1 << 60, 1 << 60}, "models.m": {1 << 60, 500, 1 << 60, 1 << 60}}
	rapid.Check(t, func(t *rapid.T) {
		l := p.Ledger()
		want := map[string]budget{}
		open := map[string]policy.Permit{}
		permits := map[string]policy.Permit{} // given, and perhaps used later than they should
		move := func(permit policy.Permit, f func(budget) budget) {
			want["run"], want[permit.Account] = f(want["run"]), f(want[permit.Account])
		}
		for i := range rapid.IntRange(1, 40).Draw(t, "length") {
			key := fmt.Sprint(rapid.IntRange(0, 6).Draw(t, "key"))
			switch pick(t, "operation", "authorize", "reserve", "settle", "fail", "release", "restart") {
			case "authorize":
				kind, name := policy.KindTool, pick(t, "name", "a", "b")
				if maybe(t, "model") {
					kind, name = policy.KindModel, "m"
				}
				permit, d := p.Authorize(policy.Call{Kind: kind, Name: name, Reserve: policy.Amount{
					Tokens: pick[uint64](t, "tokens", 0, 100, 300), Cost: policy.Money{"USD": pick[uint64](t, "usd", 0, 10, 30), "EUR": pick[uint64](t, "eur", 0, 4)},
				}}, l)
				if d == nil {
					permits[key] = permit
				}
			case "reserve":
				permit, ok := permits[key]
				_, twice := open[key]
				if ok && l.Reserve(key, permit) == nil && !twice {
					open[key] = permit
					move(permit, func(b budget) budget { return b.plus(permit.Reserve) })
				}
			case "settle", "fail":
				permit, ok := open[key]
				used := permit.Reserve
				used.Tokens /= 2
				used.Cost = policy.Money{"USD": used.Cost["USD"] / 3}
				if kept := l.Settle(key, used); !kept {
					t.Fatalf("step %d: less than reserved, and not kept", i)
				}
				if ok {
					delete(open, key)
					move(permit, func(b budget) budget { return b.minus(permit.Reserve).plus(used) })
				}
			case "release":
				l.Release(key)
				if permit, ok := open[key]; ok {
					delete(open, key)
					move(permit, func(b budget) budget { return b.minus(permit.Reserve) })
				}
			case "restart":
				before := l.Value().String()
				if l = rebind(t, l, p); l.Value().String() != before {
					t.Fatalf("a restart changes\n%s\ninto\n%s", before, l.Value())
				}
			}
			compareBudgets(t, l, want, limits)
		}
	})
}

func compareBudgets(t *rapid.T, l *policy.Ledger, want, limits map[string]budget) {
	total := budget{}.plus(l.Used()).plus(l.Held())
	if total != want["run"] {
		t.Fatalf("ledger has %+v, the model %+v", total, want["run"])
	}
	for account, b := range want {
		limit := limits[account]
		if b.calls > limit.calls || b.tokens > limit.tokens || b.usd > limit.usd || b.eur > limit.eur {
			t.Fatalf("%s has %+v of %+v", account, b, limit)
		}
	}
}

// A permit that was given before others reserved is judged again.
func TestReserveJudgesAgain(t *testing.T) {
	p := compile(t, "version: 2\nid: p\nlimits: {calls: 1}\ntools: {a: {}}\n", options())
	l := p.Ledger()
	call := policy.Call{Kind: policy.KindTool, Name: "a"}
	first, _ := p.Authorize(call, l)
	second, d := p.Authorize(call, l)
	if d != nil {
		t.Fatal(d)
	}
	if d := l.Reserve("1", first); d != nil {
		t.Fatal(d)
	}
	d = l.Reserve("2", second)
	if d == nil || d.Code != policy.CodeBudgetExhausted || d.Rule != "pack p: limits.calls" || d.Fix.YAML != "limits:\n  calls: 2\n" {
		t.Errorf("%v %+v", d, d)
	}
	if d := l.Reserve("1", first); d != nil {
		t.Errorf("one key reserved twice: %v", d)
	}
	if used, held := l.Used().Calls, l.Held().Calls; used != 0 || held != 1 {
		t.Errorf("used %d, held %d", used, held)
	}
}

// However many branches there are and in whatever order they reserve, each gets an
// equal share of the time that is left, none is refused, and all of them together
// hold no more than the limit.
func TestSharesOfTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Uint64Range(64, 10_000_000).Draw(t, "limit")
		text := fmt.Sprintf("version: 2\nid: p\nlimits: {duration: %dms}\ntools: {a: {}, short: {timeout: 5ms}}\n", limit)
		p := compileDrawn(t, text, "")
		l := p.Ledger()
		branches := rapid.IntRange(1, 32).Draw(t, "branches")
		var used uint64
		for round := range 3 {
			left := limit - used
			var held []uint64
			for i := range branches {
				if left < uint64(branches) {
					return // less than a millisecond for each
				}
				beside := uint64(branches - 1 - i)
				call := policy.Call{Kind: policy.KindTool, Name: pick(t, "name", "a", "a", "short"), Beside: beside}
				permit, d := p.Authorize(call, l)
				if d != nil {
					t.Fatalf("branch %d of %d, round %d: %v", i, branches, round, d)
				}
				free := left - l.Held().DurationMS
				want := free / (beside + 1)
				if call.Name == "short" {
					want = min(want, 5)
				}
				if permit.Reserve.DurationMS != want || permit.TimeoutMS != want {
					t.Fatalf("branch %d of %d: %+v, want %d of %d", i, branches, permit, want, free)
				}
				if d := l.Reserve(fmt.Sprint(round, i), permit); d != nil {
					t.Fatal(d)
				}
				held = append(held, want)
			}
			if l.Held().DurationMS > left {
				t.Fatalf("%d held of %d", l.Held().DurationMS, left)
			}
			for i, most := range held {
				spent := rapid.Uint64Range(0, most).Draw(t, "spent")
				used += spent
				if !l.Settle(fmt.Sprint(round, i), policy.Amount{DurationMS: spent}) || l.Used().DurationMS != used {
					t.Fatalf("spent %d of %d: used %d, want %d", spent, most, l.Used().DurationMS, used)
				}
			}
		}
	})
}

// Where no time is left, a call asks for its timeout or a usual one, and the change
// that is proposed gives every branch a share of that.
func TestNoTimeIsLeft(t *testing.T) {
	text := "version: 2\nid: p\nlimits: {duration: 1h}\ntools: {a: {}, b: {timeout: 5m}, c: {limits: {duration: 10s}}}\n"
	p := compile(t, text, options())
	l := p.Ledger()
	first, d := p.Authorize(policy.Call{Kind: policy.KindTool, Name: "a"}, l)
	if d != nil || l.Reserve("first", first) != nil || first.TimeoutMS != 3_600_000 {
		t.Fatal(d, first)
	}
	for name, want := range map[string][2]string{
		"a": {"needs 30s duration, and of 1h 1h are used or reserved", "limits:\n  duration: \"3630s\"\n"},
		"b": {"needs 5m duration, and of 1h 1h are used or reserved", "limits:\n  duration: \"65m\"\n"},
		"c": {"needs 10s duration, and of 1h 1h are used or reserved", "limits:\n  duration: \"3610s\"\n"},
	} {
		call := policy.Call{Kind: policy.KindTool, Name: name, Beside: 2}
		_, d := p.Authorize(call, l)
		if d == nil || d.Code != policy.CodeBudgetExhausted || d.Message != want[0] || d.Fix.YAML != want[1] {
			t.Errorf("%s: %v, fix %+v", name, d, d.Fix)
			continue
		}
		changed, err := d.Fix.Apply(p.Pack())
		if err != nil {
			t.Fatal(err)
		}
		after, _, err := policy.Compile(changed, options())
		if err != nil {
			t.Fatal(err)
		}
		again := rebindT(t, l, after)
		for i := range uint64(3) {
			permit, d := after.Authorize(policy.Call{Kind: policy.KindTool, Name: name, Beside: 2 - i}, again)
			if d != nil || permit.TimeoutMS < 3333 {
				t.Fatalf("%s, branch %d: %v %+v", name, i, d, permit)
			}
			if d := again.Reserve(fmt.Sprint(i), permit); d != nil {
				t.Fatal(d)
			}
		}
	}
}

// What a call declares is what it may take.
func TestDeclaredTimeIsTheDeadline(t *testing.T) {
	p := compile(t, "version: 2\nid: p\nlimits: {duration: 10s}\ntools: {a: {}, b: {timeout: 1s}}\n", options())
	for _, c := range []struct {
		name                    string
		declared, want, reserve uint64
	}{{"a", 4000, 4000, 4000}, {"b", 4000, 1000, 4000}, {"b", 500, 500, 500}} {
		permit, d := p.Authorize(policy.Call{Kind: policy.KindTool, Name: c.name, Reserve: policy.Amount{DurationMS: c.declared}, Beside: 9}, p.Ledger())
		if d != nil || permit.TimeoutMS != c.want || permit.Reserve.DurationMS != c.reserve {
			t.Errorf("%+v: %v %+v", c, d, permit)
		}
	}
	_, d := p.Authorize(policy.Call{Kind: policy.KindTool, Name: "a", Reserve: policy.Amount{DurationMS: 10_001}}, p.Ledger())
	if d == nil || d.Fix.YAML != "limits:\n  duration: \"10001ms\"\n" {
		t.Errorf("%v %+v", d, d.Fix)
	}
	free := compile(t, "version: 2\nid: p\ntools: {a: {}}\n", options())
	if permit, d := free.Authorize(policy.Call{Kind: policy.KindTool, Name: "a", Reserve: policy.Amount{DurationMS: 5}, Beside: 2}, free.Ledger()); d != nil || permit.TimeoutMS != 0 {
		t.Errorf("without a limit: %v %+v", d, permit)
	}
}

// An effect that uses more than it reserved is charged in full, and ends the
// spending of the run where that breaks a limit.
func TestOverrun(t *testing.T) {
	p := compile(t, "version: 2\nid: p\nlimits: {cost_micros: {USD: 100}}\ntools: {a: {}}\n", options())
	l := p.Ledger()
	permit, d := p.Authorize(policy.Call{Kind: policy.KindTool, Name: "a", Reserve: policy.Amount{Cost: policy.Money{"USD": 10}}}, l)
	if d != nil || l.Reserve("k", permit) != nil {
		t.Fatal(d)
	}
	if l.Settle("k", policy.Amount{Cost: policy.Money{"USD": 500}}) {
		t.Error("500 of 10 is kept")
	}
	if got := l.Used().Cost["USD"]; got != 500 {
		t.Errorf("charged %d", got)
	}
	for _, ledger := range []*policy.Ledger{l, rebindT(t, l, p)} {
		if _, d := p.Authorize(policy.Call{Kind: policy.KindTool, Name: "a"}, ledger); d == nil || d.Code != policy.CodeOverrun || d.Fix.YAML != "" {
			t.Errorf("%v", d)
		}
	}
}

func rebindT(t *testing.T, l *policy.Ledger, p *policy.Policy) *policy.Ledger {
	t.Helper()
	doc, err := artifact.ParseDocument([]byte(l.Value().String()), "ledger")
	if err != nil {
		t.Fatal(err)
	}
	r := artifact.NewReader(doc)
	again := p.RestoreLedger(r.Root())
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return again
}

func TestFailedAttemptsAreCharged(t *testing.T) {
	p := compile(t, "version: 2\nid: p\nlimits: {calls: 3, tokens: 90}\nmodels: {m: {}}\n", options())
	l := p.Ledger()
	for i := range 3 {
		permit, d := p.Authorize(policy.Call{Kind: policy.KindModel, Name: "m", Reserve: policy.Amount{Tokens: 30}}, l)
		if d != nil || l.Reserve(fmt.Sprint(i), permit) != nil {
			t.Fatal(i, d)
		}
		l.SettleUnknown(fmt.Sprint(i))
		l.SettleUnknown(fmt.Sprint(i)) // an outcome that is recorded twice
	}
	if used := l.Used(); used.Tokens != 90 || used.Calls != 3 {
		t.Errorf("%+v", used)
	}
	_, d := p.Authorize(policy.Call{Kind: policy.KindModel, Name: "m", Reserve: policy.Amount{Tokens: 1}}, l)
	if d == nil || len(d.Also) != 1 || d.Fix.YAML != "limits:\n  calls: 4\n  tokens: 91\n" {
		t.Errorf("%v %+v", d, d)
	}
}

// Limits are the lowest of graph, pack, parent and request; the denial says whose.
func TestLowestBoundDecides(t *testing.T) {
	p := compile(t, "version: 2\nid: p\nlimits: {steps: 10, cost_micros: {USD: 50, EUR: 5}}\ntools: {a: {}}\n", options())
	bound := func(source string, steps, usd uint64) policy.Bound {
		return policy.Bound{Source: source, Limits: policy.Limits{Steps: artifact.Some(steps), Cost: policy.Money{"USD": usd}}}
	}
	l := p.Ledger(bound("graph g", 20, 40), bound("parent run", 3, 45), bound("the request", 7, 1000))
	d := l.Charge(policy.Amount{Steps: 4})
	if d == nil || d.Rule != "parent run: steps" || d.Fix.YAML != "" || !strings.Contains(d.Fix.Words, "the limit is set by parent run") {
		t.Errorf("%v %+v", d, d)
	}
	_, d = p.Authorize(policy.Call{Kind: policy.KindTool, Name: "a", Reserve: policy.Amount{Cost: policy.Money{"USD": 41}}}, l)
	if d == nil || d.Rule != "graph g: cost_micros.USD" {
		t.Errorf("%v", d)
	}
	// The graph's limit in USD says nothing about EUR.
	if _, d := p.Authorize(policy.Call{Kind: policy.KindTool, Name: "a", Reserve: policy.Amount{Cost: policy.Money{"EUR": 5}}}, l); d != nil {
		t.Error(d)
	}
	if left := l.Left(); left.Steps.Value != 3 || left.Cost["USD"] != 40 || left.Cost["EUR"] != 5 {
		t.Errorf("%+v", left)
	}
	if again := rebindT(t, l, p).Left(); fmt.Sprint(again) != fmt.Sprint(l.Left()) {
		t.Errorf("restored: %+v", again)
	}
}

func TestRefusedLedgers(t *testing.T) {
	p := compile(t, ledgerPack, options())
	for _, text := range []string{
		`{}`, `{"version":1,"bounds":[],"accounts":{},"holds":{},"overrun":""}`,
		`{"version":2,"bounds":[],"accounts":{"run":{"used":{"calls":-1},"held":{}}},"holds":{},"overrun":""}`,
		`{"version":2,"bounds":[],"accounts":{"run":{"used":{"coins":1},"held":{}}},"holds":{},"overrun":""}`,
		`{"version":2,"bounds":[],"accounts":{},"holds":{"k":{"account":"run"}},"overrun":""}`,
		`{"version":2,"bounds":[],"accounts":{},"holds":{},"overrun":"","x":1}`,
	} {
		doc, err := artifact.ParseDocument([]byte(text), "ledger")
		if err != nil {
			t.Fatal(err)
		}
		r := artifact.NewReader(doc)
		p.RestoreLedger(r.Root())
		if r.Err() == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}
