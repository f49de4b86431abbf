package engine

import (
	"strings"
	"testing"

	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
)

// TestHandoffsAreCounted: a call of a graph is a call of its grant, and runs that
// are called side by side share what the caller has left.
func TestHandoffsAreCounted(t *testing.T) {
	const childText = "version: 2\nid: child\nstate: {/n: any?}\nentry: a\nlimits: {max_steps: 9, timeout: 1m}\nnodes:\n" +
		"  a: {tool: count, set: {/n: 1}, next: b}\n  b: {tool: count, next: c}\n  c: {tool: count, next: d}\n  d: {end: =state.n, reads: [/n]}\n"
	const two = "a: {call: child, args: {}, set: {/x: =result}, next: b}\nb: {call: child, args: {}, set: {/y: =result}, next: d, routes: {denied: late}}\nd: {end: both}\nlate: {end: one}"
	const beside = "f: {fork: [a, b]}\na: {call: child, args: {}, set: {/x: =result}, next: j, routes: {failed: j}}\nb: {call: child, args: {}, set: {/y: =result}, next: j, routes: {failed: j}}\nj: {join: f, next: d}\nd: {end: both}"
	for name, c := range map[string]struct {
		nodes, limits, grant string
		result               string
		calls                uint64 // at most
		effects              int
	}{
		"a grant for one":           {two, "", "{limits: {calls: 1}}", `"one"`, 100, 3},
		"a grant for two":           {two, "", "{limits: {calls: 2}}", `"both"`, 100, 6},
		"one after the other":       {two, "calls: 8, ", "{}", `"both"`, 8, 6},
		"enough for two":            {beside, "calls: 8, ", "{}", `"both"`, 8, 6},
		"not enough for both":       {beside, "calls: 6, ", "{}", `"both"`, 6, 4},
		"side by side, one for all": {beside, "calls: 2, ", "{}", `"both"`, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			pack := replace(packText, "limits: {tokens", "limits: {"+c.limits+"tokens", "handoffs: {child: {}}", "handoffs: {child: "+c.grant+"}")
			child := define(t, childText, pack, Definition{})
			text := replace(graphText("{/x: any?, /y: any?}", c.nodes), "max_tokens: 10000", "max_tokens: 0")
			if strings.HasPrefix(c.nodes, "f:") {
				text = replace(text, "entry: a", "entry: f")
			}
			d := define(t, text, pack, Definition{Calls: map[string]*Definition{"child": child}})
			port := &counter{}
			l := newLab(t, map[string]Port{"tool": port}, d)
			r := l.start(d, "run", `{}`)
			if r.Status != store.Terminated {
				t.Fatal(r.Status, r.Error)
			}
			wants(t, "result", r.Result, c.result)
			if r.Used.Calls > c.calls {
				t.Errorf("%d calls, of %d", r.Used.Calls, c.calls)
			}
			wants(t, "effects", port.total, c.effects)
			if n := count(l.events("run"), event.TypeCallStarted); uint64(n)+uint64(port.total) != r.Used.Calls {
				t.Errorf("%d calls are counted, %d happened", r.Used.Calls, n+port.total)
			}
		})
	}
}
