package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/store"
)

const approveGraph = `
a: {approve: publish, reads: [/n], show: {n: =state.n}, answer: {/note: string}, quorum: 2, timeout: 2d, set: {/answer: =result}, next: d, routes: {denied: x, timeout: late}}
d: {end: =state.answer.note, reads: [/answer]}
x: {fail: denied}
late: {end: late}
`

// TestApprovalRefusals tries everything that must not approve, each with its own
// code, and then what must.
func TestApprovalRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := define(t, graphText("{/n: number, /answer: object?}", approveGraph), packText, Definition{})
		l := newLab(t, nil, d)
		r := l.start(d, "run", `{"n":7}`)
		wants(t, "status", r.Status, store.Suspended)
		p := r.Proposals[0]
		tokens := r.Issued[0].Tokens
		wants(t, "tokens", len(tokens), 2)
		shown, err := l.e.Shown(t.Context(), p.Digest)
		if err != nil || artifact.Sum(shown) != p.Digest || !strings.Contains(string(shown), `"n":7`) {
			t.Fatalf("shown %s, %v", shown, err)
		}
		other := define(t, graphText("{/n: number, /answer: object?}", approveGraph), packText+"wasm: {}\n", Definition{})
		yes := value(`{"note":"fine"}`)
		base := Decision{Proposal: p.Digest, Approve: true, Token: tokens[0], Approver: "bob", Answer: yes}
		for _, c := range []struct {
			code   string
			change func(*Decision)
		}{
			{RefusedToken, func(d *Decision) { d.Token = "wt_forged" }},
			{RefusedToken, func(d *Decision) { d.Token = p.Digest.String() }}, // all that a reader of the log knows
			{RefusedProposal, func(d *Decision) { d.Proposal[0] ^= 1 }},
			{RefusedStarter, func(d *Decision) { d.Approver = "ann" }},
			{RefusedWeak, func(d *Decision) { d.Token, d.Method = "", event.MethodAsserted }},
			{RefusedWeak, func(d *Decision) { d.Method = "telepathy" }},
			{RefusedInput, func(d *Decision) { d.Answer = value(`{"note":7}`) }},
			{RefusedInput, func(d *Decision) { d.Answer = value(`{}`) }},
		} {
			bad := base
			c.change(&bad)
			before, _ := l.store.Head(t.Context(), "run")
			_, err := l.e.Decide(t.Context(), "run", bad)
			after, _ := l.store.Head(t.Context(), "run")
			if !isRefused(err, c.code) || after.Seq != before.Seq || after.Status != store.Suspended {
				t.Errorf("want %s, got %v; %d to %d, %s", c.code, err, before.Seq, after.Seq, after.Status)
			}
		}
		restarted, err := New(Config{Store: l.store, Definitions: []*Definition{other}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = restarted.Decide(t.Context(), "run", base)
		if err == nil || !strings.Contains(err.Error(), "differs in pack, policy") {
			t.Errorf("a changed pack: %v", err)
		}
		if r, err = l.e.Decide(t.Context(), "run", base); err != nil || r.Status != store.Suspended {
			t.Fatal("first of two: ", r.Status, err)
		}
		again := base
		again.Approver = "carol"
		if _, err = l.e.Decide(t.Context(), "run", again); !isRefused(err, RefusedUsed) {
			t.Errorf("two names with one token: %v", err)
		}
		again.Token = tokens[1]
		if r, err = l.e.Decide(t.Context(), "run", again); err != nil {
			t.Fatal(err)
		}
		wants(t, "result", r.Result, `"fine"`)
		_, err = l.e.Decide(t.Context(), "run", again)
		if !isRefused(err, RefusedEnded) {
			t.Errorf("after the end: %v", err)
		}
		var names []string
		for _, e := range l.events("run") {
			if d, ok := e.Body.(*event.ApprovalDecided); ok {
				names = append(names, fmt.Sprint(d.Approver, d.Method, d.Have, d.Quorum))
			}
		}
		wants(t, "the log names the approvers", names, "[bobtoken1pending caroltoken2approved]")
	})
}

func TestApprovalDeniedExpiredReissued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := define(t, graphText("{/n: number, /answer: object?}", approveGraph), packText, Definition{})
		l := newLab(t, nil, d)
		r := l.start(d, "denied", `{"n":7}`)
		r, err := l.e.Decide(t.Context(), "denied", Decision{Proposal: r.Proposals[0].Digest, Approver: "bob", Reason: "no", Token: r.Issued[0].Tokens[0]})
		wants(t, "denied", fmt.Sprint(r.Status, " ", r.Error, " ", err), "failed denied <nil>")

		r = l.start(d, "late", `{"n":7}`)
		old := Decision{Proposal: r.Proposals[0].Digest, Approve: true, Approver: "bob", Token: r.Issued[0].Tokens[0], Answer: value(`{"note":""}`)}
		fresh, err := l.e.Reissue(t.Context(), "late", Reissue{Proposal: old.Proposal, By: "bob"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.e.Decide(t.Context(), "late", old); !isRefused(err, RefusedProposal) {
			t.Errorf("a withdrawn token: %v", err)
		}
		time.Sleep(49 * time.Hour)
		old.Proposal, old.Token = fresh.Proposals[0].Digest, fresh.Issued[0].Tokens[0]
		r, err = l.e.Decide(t.Context(), "late", old)
		if !isRefused(err, RefusedExpired) && !isRefused(err, RefusedNotWaiting) && !isRefused(err, RefusedEnded) {
			t.Errorf("expired: %v", err)
		}
		if err := l.e.DriveDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err = l.e.Status(t.Context(), "late")
		wants(t, "late", fmt.Sprint(r.Result, " ", err), `"late" <nil>`)
	})
}

// TestThreeNamesOfOneProcess holds a quorum against names without credentials.
func TestThreeNamesOfOneProcess(t *testing.T) {
	weak := strings.Replace(packText, "approvals: {minimum_method: token}", "approvals: {minimum_method: asserted}", 1)
	d := define(t, graphText("{/n: number, /answer: object?}", approveGraph), weak, Definition{})
	l := newLab(t, nil, d)
	r := l.start(d, "run", `{"n":7}`)
	for _, name := range []string{"bob", "carol", "dave"} {
		r2, err := l.e.Decide(t.Context(), "run", Decision{Proposal: r.Proposals[0].Digest, Approve: true, Approver: name, Answer: value(`{"note":"x"}`)})
		if err != nil || r2.Status != store.Suspended || r2.Proposals[0].Need != 2 {
			t.Fatalf("%s: %s, %v", name, r2.Status, err)
		}
	}
}

func TestEffectThatPeopleMustApprove(t *testing.T) {
	d := define(t, graphText("{/n: number, /r: any?}", `
a: {tool: pay, reads: [/n], args: {amount: =state.n}, set: {/r: =result.n}, next: d}
d: {end: =state.r, reads: [/r]}
`), packText, Definition{})
	port := &counter{}
	l := newLab(t, map[string]Port{"tool": port}, d)
	r := l.start(d, "run", `{"n":50}`)
	wants(t, "before the decision", fmt.Sprint(r.Status, port.effects()), "suspended0")
	l.restart(d)
	shown, _ := l.e.Shown(t.Context(), r.Proposals[0].Digest)
	if !strings.Contains(string(shown), `"amount":50`) {
		t.Errorf("shown %s", shown)
	}
	r, err := l.e.Decide(t.Context(), "run", Decision{Proposal: r.Proposals[0].Digest, Approve: true, Approver: "bob", Token: r.Issued[0].Tokens[0]})
	wants(t, "after", fmt.Sprint(r.Status, r.Result, " ", port.effects(), " ", err), "terminated1 1 <nil>")
	wants(t, "log", types(l.events("run")), "started node_started effect_requested approval_staged suspended approval_decided resumed "+
		"effect_authorized effect_settled state_patched routed node_started terminated")
}

func TestUnknownOutcomes(t *testing.T) {
	d := define(t, graphText("{/r: any?}", "a: {tool: count, set: {/r: =result.n}, next: d}\nd: {end: =state.r, reads: [/r]}"), packText, Definition{})
	for _, c := range []struct {
		name, want string
		effects    int
		port       func(*counter) Port
	}{
		{"idempotent", `terminated1`, 1, func(c *counter) Port { c.idempotent = true; return c }},
		{"asked and happened", `terminated1`, 1, func(c *counter) Port { return asker{c, Happened} }},
		{"asked and never", `terminated2`, 2, func(c *counter) Port { return asker{c, Never} }},
		{"nobody knows", `suspendednull`, 1, func(c *counter) Port { return PortFunc(c.Do) }},
	} {
		counts := &counter{}
		port := c.port(counts)
		ctx, kill := context.WithCancel(t.Context())
		l := newLab(t, map[string]Port{"tool": PortFunc(func(ctx context.Context, e Effect) (Outcome, error) {
			o, err := port.Do(ctx, e)
			kill() // the process ends after the effect and before its outcome is stored
			<-t.Context().Done()
			return o, err
		})}, d)
		_, err := l.e.Start(ctx, Request{Exec: "run", Definition: d, State: value(`{}`), By: "ann"})
		if err == nil {
			t.Fatalf("%s: the process did not end", c.name)
		}
		l.ports = map[string]Port{"tool": port}
		l.restart(d)
		r, err := l.e.Drive(t.Context(), "run")
		wants(t, c.name, fmt.Sprint(r.Status, r.Result, " ", err), c.want+" <nil>")
		wants(t, c.name+": effects", counts.effects(), c.effects)
		if r.Status != store.Suspended {
			continue
		}
		key := l.events("run")[2].Body.(*event.EffectRequested).Key
		r, err = l.e.Settle(t.Context(), "run", key, Outcome{Result: value(`{"n":9}`), Usage: policy.Amount{}}, "bob")
		wants(t, "settled by a person", fmt.Sprint(r.Status, r.Result, " ", err), "terminated9 <nil>")
	}
}

type asker struct {
	*counter
	answer Answer
}

func (a asker) Idempotent(Effect) bool { return false }

func (a asker) Ask(_ context.Context, key string) (Outcome, Answer, error) {
	return a.outcomes[key], a.answer, nil
}
