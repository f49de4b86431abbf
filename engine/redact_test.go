package engine

import (
	"context"
	"encoding/base64"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/expr/cel"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/schema/jsonschema"
	"github.com/writ-dev/writ/store"
)

// The secrets that are planted: what an effect is given and gives, what a person
// answers, what an event says, what a handler is given. None is hexadecimal, so
// that no digest has one by chance.
const (
	plantedPassword = `hunter2 "hunter" zz/+?`
	plantedPIN      = "zq9!" // too short to be looked for by its text
	plantedKey      = "topsecret-key-wx"
	plantedAnswer   = "answer-secret-yy"
	plantedEvent    = "event-secret-vv"
	plantedInput    = "input-secret-uu"
)

const redactGraph = `
a: {tool: pay, args: {password: '` + plantedPassword + `', pin: '` + plantedPIN + `', user: ann}, set: {/echo: =result}, next: b}
b: {tool: count, args: {}, set: {/later: =result.line}, next: c}
c: {approve: publish, show: {password: '` + plantedPassword + `'}, set: {/answer: =result}, next: e}
e: {wait: {event: paid}, set: {/event: =result}, next: h}
h: {handler: ask, writes: [/input], next: d}
d: {end: {password: '` + plantedPassword + `', said: =state.echo}, reads: [/echo]}
`

// TestPlantedSecrets looks for secrets in every byte that a run leaves, in all the
// ways in which programs write them, and replays what is left.
func TestPlantedSecrets(t *testing.T) {
	ask := func(_ context.Context, in graph.Invocation) (graph.NodeResult, error) {
		o := graph.Outcome{Kind: graph.Suspend, Reason: "say the code"}
		if in.Input.Set {
			o = graph.Outcome{Kind: graph.Continue, Patch: &graph.Patch{BaseRevision: in.Revision, Operations: map[string]graph.Operation{"/input": graph.Set(in.Input.Value)}}}
		}
		return graph.NodeResult{Outcome: o}, nil
	}
	d := define(t, graphText("{/echo: any?, /later: any?, /answer: any?, /event: any?, /input: any?}", redactGraph), packText+
		"redact: ['args:/password', 'args:/pin', 'args:/code', 'result:/key', 'result:/password']\nblobs: {effect: forever, args: forever}\n",
		Definition{Handlers: map[string]Handler{"ask": {Run: ask}}})
	port := &counter{do: func(_ context.Context, e Effect, _ int) (Outcome, error) {
		if e.Node == "b" {
			return Outcome{Result: value(`{"line":"it was ` + base64.StdEncoding.EncodeToString([]byte("x"+plantedPassword)) + `"}`)}, nil
		}
		password, _ := e.Args.Get("password")
		wants(t, "the port is given", password.Text(), plantedPassword)
		return Outcome{Result: value(`{"escaped":"hunter2 \\\"hunter\\\" zz/+?","query":"` + url.QueryEscape(plantedPassword) + `","key":"` + plantedKey + `","again":"` + plantedKey + `"}`)}, nil
	}}
	l := newLab(t, map[string]Port{"tool": port}, d)
	r := l.start(d, "run", `{}`)
	fresh, err := l.e.Reissue(t.Context(), "run", Reissue{Proposal: r.Proposals[0].Digest, By: "bob"})
	approve := func(answer string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		fresh, err = l.e.Decide(t.Context(), "run", Decision{
			Proposal: fresh.Proposals[0].Digest, Approve: true, Token: fresh.Issued[0].Tokens[0], Approver: "bob", Answer: value(answer),
		})
	}
	approve(`null`)
	approve(`{"code":"` + plantedAnswer + `"}`)
	if err != nil {
		t.Fatal(err)
	}
	r, err = l.e.Signal(t.Context(), "run", Signal{Name: "paid", ID: "1", Payload: value(`{"code":"` + plantedEvent + `"}`)})
	if err != nil || r.Status != store.Suspended {
		t.Fatal(r.Status, r.Error, err)
	}
	r, err = l.e.Resume(t.Context(), "run", r.Issued[0].Tokens[0], value(`{"code":"`+plantedInput+`"}`), "bob")
	if err != nil || r.Status != store.Terminated {
		t.Fatal(r.Status, r.Error, err)
	}
	all := l.everyByte("run") + r.State.Value.String() + r.Result.String()
	for _, secret := range []string{plantedPassword, plantedPIN, plantedKey, plantedAnswer, plantedEvent, plantedInput} {
		var s event.Scrubber
		s.Learn(secret)
		if s.Text(all) != all {
			t.Errorf("%s is in what was stored:\n%.3000s", secret, s.Text(all)[max(0, strings.Index(s.Text(all), event.Scrubbed)-200):])
		}
	}
	l.events("run")
	v, err := l.e.Replay(t.Context(), "run", ReplayOptions{})
	if err != nil || !v.Faithful() {
		t.Errorf("replay: %v, %+v", err, v)
	}
}

// TestSendersMistakeDoesNotEndTheRun sends what the graph cannot take.
func TestSendersMistakeDoesNotEndTheRun(t *testing.T) {
	d := define(t, graphText("{/n: number?, /m: number?}", `
a: {wait: {event: paid}, set: {/n: =result.by + 1}, next: b}
b: {approve: publish, set: {/m: =result}, cases: [{when: state.m > 3, to: d}], next: d, reads: [/m]}
d: {end: =state.n, reads: [/n]}
`), packText, Definition{})
	l := newLab(t, nil, d)
	r := l.start(d, "run", `{}`)
	for _, payload := range []string{`{"by":"five"}`, `{}`, `null`, `7`} {
		_, err := l.e.Signal(t.Context(), "run", Signal{Name: "paid", ID: "bad " + payload, Payload: value(payload)})
		if !isRefused(err, RefusedInput) {
			t.Errorf("payload %s: %v", payload, err)
		}
	}
	r, err := l.e.Signal(t.Context(), "run", Signal{Name: "paid", ID: "1", Payload: value(`{"by":5}`)})
	if err != nil || r.Status != store.Suspended {
		t.Fatal(r.Status, r.Error, err)
	}
	decision := Decision{Proposal: r.Proposals[0].Digest, Approve: true, Token: r.Issued[0].Tokens[0], Approver: "bob", Answer: value(`"many"`)}
	if _, err := l.e.Decide(t.Context(), "run", decision); !isRefused(err, RefusedInput) {
		t.Errorf("an answer of another type: %v", err)
	}
	decision.Answer = value(`4`)
	r, err = l.e.Decide(t.Context(), "run", decision)
	if err != nil || r.Status != store.Terminated {
		t.Fatal(r.Status, r.Error, err)
	}
	l.events("run")
}

// TestUsedTokenIsKnownAfterItsApproval uses a token again while the run waits for
// something else.
func TestUsedTokenIsKnownAfterItsApproval(t *testing.T) {
	d := define(t, graphText("{/n: number?}", "a: {approve: publish, next: b}\nb: {wait: {event: paid}, next: d}\nd: {end: 1}"), packText, Definition{})
	l := newLab(t, nil, d)
	r := l.start(d, "run", `{}`)
	decision := Decision{Proposal: r.Proposals[0].Digest, Approve: true, Token: r.Issued[0].Tokens[0], Approver: "bob"}
	if _, err := l.e.Decide(t.Context(), "run", decision); err != nil {
		t.Fatal(err)
	}
	if _, err := l.e.Decide(t.Context(), "run", decision); !isRefused(err, RefusedUsed) {
		t.Errorf("a second use: %v", err)
	}
	decision.Token = "wt_another"
	if _, err := l.e.Decide(t.Context(), "run", decision); !isRefused(err, RefusedNotWaiting) {
		t.Errorf("a token that never was: %v", err)
	}
}

// TestStarterUnderAnotherSpelling approves as whoever started the run.
func TestStarterUnderAnotherSpelling(t *testing.T) {
	pack := replace(packText, "approvals: {minimum_method: token}", "approvals: {minimum_method: asserted}")
	d := define(t, graphText("{/n: number?}", "a: {approve: publish, next: d}\nd: {end: 1}"), pack, Definition{})
	l := newLab(t, nil, d)
	for starter, approvers := range map[string][]string{"Maria": {"Maria", "maria", " MARIA\t", "Maria "}, "": {""}, "é": {"e\u0301"}} {
		r, err := l.e.Start(t.Context(), Request{Definition: d, State: value(`{}`), By: starter})
		if err != nil {
			t.Fatal(err)
		}
		for _, approver := range approvers {
			_, err := l.e.Decide(t.Context(), r.Exec, Decision{Proposal: r.Proposals[0].Digest, Approve: true, Approver: approver})
			if !isRefused(err, RefusedStarter) {
				t.Errorf("started by %q, approved by %q: %v", starter, approver, err)
			}
		}
		if _, err := l.e.Decide(t.Context(), r.Exec, Decision{Proposal: r.Proposals[0].Digest, Approve: true, Approver: "bob"}); err != nil {
			t.Errorf("started by %q, approved by bob: %v", starter, err)
		}
	}
}

// damaged is a store in which the blobs of one text hold another one.
type damaged struct {
	store.Store
	was, is string
}

func (s damaged) Blob(ctx context.Context, d artifact.Digest) (io.ReadCloser, error) {
	data, err := readBlob(ctx, s.Store, d)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(strings.NewReader(strings.ReplaceAll(string(data), s.was, s.is))), nil
}

// TestReplayFindsDamagedContent tells content that was changed in the store from
// content that is not kept.
func TestReplayFindsDamagedContent(t *testing.T) {
	d := define(t, graphText("{/n: any?}", "a: {tool: count, set: {/n: =result.n}, next: w}\nw: {wait: {event: paid}, set: {/n: =result}, next: d}\nd: {end: =state.n, reads: [/n]}"),
		packText+"blobs: {effect: forever}\n", Definition{})
	l := newLab(t, map[string]Port{"tool": &counter{}}, d)
	l.start(d, "run", `{}`)
	if _, err := l.e.Signal(t.Context(), "run", Signal{Name: "paid", ID: "1", Payload: value(`"the invoice"`)}); err != nil {
		t.Fatal(err)
	}
	whole := l.store
	for was, is := range map[string]string{`{"n":1}`: `{"n":2}`, "invoice": "inv0ice"} {
		l.store = damaged{whole, was, is}
		l.restart(d)
		v, err := l.e.Replay(t.Context(), "run", ReplayOptions{})
		if err != nil || v.Divergence == nil || !strings.Contains(v.Divergence.Cause, "was changed in the store") {
			t.Errorf("%s in place of %s: %v %+v", is, was, err, v)
		}
		all, err := l.e.Verify(t.Context(), "run", nil)
		if err != nil || len(all[0].Damaged) == 0 || !all[0].Intact {
			t.Errorf("%s in place of %s: %v %+v", is, was, err, all[0])
		}
	}
	l.store = whole
	l.restart(d)
	all, err := l.e.Verify(t.Context(), "run", nil)
	if err != nil || all[0].Damaged != nil || all[0].Contents < 3 || all[0].Problem != "" {
		t.Errorf("untouched: %v %+v", err, all[0])
	}
}

// TestRedactedArgumentsFromTheState refuses definitions that would store what they
// redact.
func TestRedactedArgumentsFromTheState(t *testing.T) {
	for nodes, want := range map[string]string{
		`a: {tool: count, reads: [/n], args: {pin: =state.n}, next: d}`:                "args:/pin, which comes from the state (/n)",
		`a: {tool: count, reads: [/n], args: {pin: {code: =state.n}}, next: d}`:        "args:/pin, which comes from the state (/n)",
		`a: {tool: count, reads: [/n], args: "=state.n", next: d}`:                     "args:/pin, which comes from the state (/n)",
		`a: {approve: publish, reads: [/n], show: {pin: "=string(state.n)"}, next: d}`: "args:/pin, which comes from the state (/n)",
		`a: {tool: count, reads: [/n], args: {pin: '1234', other: =state.n}, next: d}`: "",
		`a: {tool: count, reads: [/n], args: {pins: =state.n}, next: d}`:               "",
	} {
		graphText := graphText("{/n: any?}", nodes+"\nd: {end: 1}")
		d := define(t, graphText, packText, Definition{})
		pack, err := policy.ReadPack([]byte(packText+"redact: ['args:/pin']\n"), "pack.yaml")
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := policy.Compile(pack, policy.Options{Conditions: cel.Compiler{}, Schemas: jsonschema.Compiler{}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = Define(Definition{Graph: d.Graph, Policy: p})
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s\n  %v, want %q", nodes, err, want)
		}
	}
}

// TestErasedSalt goes on with a run whose salt was erased: it can end, and records
// nothing more that the pack redacts.
func TestErasedSalt(t *testing.T) {
	d := define(t, graphText("{/n: any?}", "a: {wait: {event: paid}, set: {/n: =result}, next: d}\nd: {end: 1}"), packText+"redact: ['args:/code']\n", Definition{})
	l := newLab(t, nil, d)
	l.start(d, "run", `{}`)
	head, err := l.store.Head(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	checkpoint, err := l.store.Checkpoint(t.Context(), "run", head.Checkpoint.Seq)
	if err != nil {
		t.Fatal(err)
	}
	salt, err := SaltOf(checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.store.(store.Remover).Erase(t.Context(), salt); err != nil {
		t.Fatal(err)
	}
	l.restart(d)
	before := l.everyByte("run")
	_, err = l.e.Signal(t.Context(), "run", Signal{Name: "paid", ID: "1", Payload: value(`{"code":"` + plantedEvent + `"}`)})
	if err == nil || !strings.Contains(err.Error(), "salt") || l.everyByte("run") != before {
		t.Errorf("without its salt: %v", err)
	}
	r, err := l.e.Cancel(t.Context(), "run", Cancel{By: "ann"})
	if err != nil || r.Status != store.Cancelled {
		t.Errorf("cancelled: %s %v", r.Status, err)
	}
}
