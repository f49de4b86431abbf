package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
)

// together is a port that begins to work when so many effects are under way.
type together struct {
	number int
	take   time.Duration // each effect, unless it is ended before

	mu    sync.Mutex
	begun []string
	all   chan struct{}
}

func (p *together) Do(ctx context.Context, e Effect) (Outcome, error) {
	p.mu.Lock()
	if p.all == nil {
		p.all = make(chan struct{})
	}
	p.begun = append(p.begun, fmt.Sprintf("%s %s", e.Name, policy.FormatDuration(e.Permit.TimeoutMS)))
	if len(p.begun) == p.number {
		close(p.all)
	}
	p.mu.Unlock()
	select {
	case <-p.all:
	case <-ctx.Done():
	}
	began := time.Now()
	o := Outcome{Result: value(`{"n":1}`)}
	select {
	case <-time.After(p.take):
	case <-ctx.Done():
		o = Failed(graph.ClassTimeout, "ended")
	}
	o.Usage.DurationMS = uint64(time.Since(began).Milliseconds())
	return o, nil
}

// sorted gives what began, with its time, in the order of names.
func (p *together) sorted() string {
	slices.Sort(p.begun)
	return strings.Join(p.begun, ", ")
}

const threeBranches = `
a: {fork: [x, y, z]}
x: {tool: count, set: {/x: =result.n}, next: meet, routes: {timeout: meet}}
y: {tool: flaky, set: {/y: =result.n}, next: meet, routes: {timeout: meet}}
z: {tool: slow, set: {/z: =result.n}, next: meet, routes: {timeout: meet}}
meet: {join: a, next: d}
d: {end: done}
`

// A limit of the durations of effects is shared by branches whose effects run at
// once: none takes it all, and together they never exceed it.
func TestBranchesShareTheDuration(t *testing.T) {
	for _, c := range []struct {
		name, limit string
		take        time.Duration
		begun       string
		used        time.Duration
		after       time.Duration
	}{
		{"each within its share", "1h", 15 * time.Minute, "count 20m, flaky 20m, slow 20m", 45 * time.Minute, 15 * time.Minute},
		{"each longer than its share", "9m", 5 * time.Minute, "count 3m, flaky 3m, slow 3m", 9 * time.Minute, 3 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				text := strings.Replace(graphText("{/x: number?, /y: number?, /z: number?}", threeBranches), "timeout: 10m", "timeout: 2h", 1)
				pack := strings.Replace(packText, "limits: {", "limits: {duration: "+c.limit+", ", 1)
				d := define(t, text, pack, Definition{})
				port := &together{number: 3, take: c.take}
				l := newLab(t, map[string]Port{"tool": port}, d)
				began := time.Now()
				r := l.start(d, "run", `{}`)
				wants(t, "status", fmt.Sprint(r.Status, r.Error), "terminated")
				wants(t, "begun", port.sorted(), c.begun)
				wants(t, "used", time.Duration(r.Used.DurationMS)*time.Millisecond, c.used)
				wants(t, "after", time.Since(began), c.after)
				l.events("run")
			})
		})
	}
}

// A branch that is through gives back what it did not use, for what comes later.
func TestSharesAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Replace(graphText("{/x: number?, /y: number?, /z: number?}", strings.Replace(threeBranches, "next: d}\nd:", "next: b}\nb: {tool: pay2, next: d}\nd:", 1)), "timeout: 10m", "timeout: 2h", 1)
		pack := strings.Replace(strings.Replace(packText, "limits: {", "limits: {duration: 1h, ", 1), "  slow: {}", "  slow: {}\n  pay2: {}", 1)
		d := define(t, text, pack, Definition{})
		port := &together{number: 3, take: 10 * time.Minute}
		l := newLab(t, map[string]Port{"tool": port}, d)
		wants(t, "status", l.start(d, "run", `{}`).Status, "terminated")
		wants(t, "begun", port.sorted(), "count 20m, flaky 20m, pay2 30m, slow 20m")
	})
}

// A called run gets a share as a branch does, and its effects share that.
func TestCalledRunSharesTheDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pack := strings.Replace(packText, "limits: {", "limits: {duration: 1h, ", 1)
		text := func(nodes string) string {
			return strings.Replace(graphText("{/x: number?, /y: number?, /z: number?}", nodes), "timeout: 10m", "timeout: 2h", 1)
		}
		child := define(t, text("a: {fork: [x, y]}\nx: {tool: count, next: meet}\ny: {tool: flaky, next: meet}\nmeet: {join: a, next: d}\nd: {end: done}"), pack, Definition{})
		d := define(t, text("a: {fork: [x, y]}\nx: {call: child, next: meet}\ny: {tool: slow, next: meet}\nmeet: {join: a, next: d}\nd: {end: done}"), pack,
			Definition{Calls: map[string]*Definition{"child": child}})
		port := &together{number: 3, take: 10 * time.Minute}
		l := newLab(t, map[string]Port{"tool": port}, d, child)
		r := l.start(d, "run", `{}`)
		wants(t, "status", fmt.Sprint(r.Status, r.Error), "terminated")
		wants(t, "begun", port.sorted(), "count 15m, flaky 15m, slow 30m")
		wants(t, "used", r.Used.DurationMS, 30*60_000)
		l.events("run")
	})
}
