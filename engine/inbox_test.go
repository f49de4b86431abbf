package engine

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/keys"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/memory"
	"github.com/writ-dev/writ/store/sqlite"
	"github.com/writ-dev/writ/store/storetest"
)

// beside is an engine of another process on the same store.
func (l *lab) beside(owner string, st store.Store, defs ...*Definition) *Engine {
	l.t.Helper()
	e, err := New(Config{Store: st, Ports: l.ports, Definitions: defs, Owner: owner})
	if err != nil {
		l.t.Fatal(err)
	}
	return e
}

// inbox gives the ids of the messages in a run's inbox.
func (l *lab) inbox(exec string) []string {
	l.t.Helper()
	list, err := l.store.(store.Inbox).Posted(l.t.Context(), exec, 0, store.MaxMessages)
	if err != nil {
		l.t.Fatal(err)
	}
	ids := []string{}
	for _, m := range list {
		ids = append(ids, m.ID)
	}
	return ids
}

// sleeps is a handler that takes its time, or ends when nobody wants its outcome.
func sleeps(d time.Duration) Handler {
	return Handler{Run: func(ctx context.Context, in graph.Invocation) (graph.NodeResult, error) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return graph.NodeResult{}, ctx.Err()
		}
		return graph.NodeResult{Outcome: graph.Outcome{Kind: graph.Continue, Patch: &graph.Patch{BaseRevision: in.Revision}}}, nil
	}}
}

// runs starts a run on the lab's engine and gives its report when there is one.
func (l *lab) runs(d *Definition, exec string) <-chan Report {
	done := make(chan Report, 1)
	go func() { done <- l.start(d, exec, `{}`) }()
	synctest.Wait()
	return done
}

func TestCancelReachesAHandlerOfAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := define(t, graphText("{/n: number?}", "a: {handler: slow, next: d}\nd: {end: 1}"), packText, Definition{Handlers: map[string]Handler{"slow": sleeps(5 * time.Minute)}})
		l := newLab(t, nil, d)
		done := l.runs(d, "run")
		time.Sleep(40 * time.Second) // by now the lease was renewed more than once
		other := l.beside("other", l.store, d)
		begin := time.Now()
		r, err := other.Cancel(t.Context(), "run", Cancel{By: "bob", Reason: "enough"})
		if err != nil || !r.Posted || r.Kept || r.Status != store.Running {
			t.Fatalf("%+v, %v", r, err)
		}
		wants(t, "cancelled", (<-done).Status, store.Cancelled)
		if took := time.Since(begin); took > other.c.Poll {
			t.Errorf("it took %s, more than a poll", took)
		}
		r, err = other.Await(t.Context(), r)
		wants(t, "whoever posted it", fmt.Sprint(r.Status, r.Posted, err), "cancelledfalse <nil>")
		log := l.events("run")
		wants(t, "requests", count(log, event.TypeCancelRequested), 1)
		_, err = other.Cancel(t.Context(), "run", Cancel{By: "bob"})
		if !isRefused(err, RefusedEnded) {
			t.Errorf("once more: %v", err)
		}
	})
}

// twoWaits waits for one event, works for a minute, and waits for another one.
func twoWaits(t testing.TB) *Definition {
	return define(t, graphText("{/n: any?}", `
a: {wait: {event: shipped}, next: b}
b: {handler: slow, next: c}
c: {wait: {event: paid}, set: {/n: =result}, next: d}
d: {end: =state.n, reads: [/n]}
`), packText, Definition{Handlers: map[string]Handler{"slow": sleeps(time.Minute)}})
}

// TestEarlyEvents delivers an event before the run comes to its wait, in every way
// in which a process may stand to the run by then.
func TestEarlyEvents(t *testing.T) {
	for name, c := range map[string]struct {
		posted bool // another process has the run
		from   func(l *lab, d *Definition) *Engine
		at     time.Duration // after the run has begun to work; 0 is before
	}{
		"while it waits for another":        {false, func(l *lab, _ *Definition) *Engine { return l.e }, 0},
		"from another process":              {false, func(l *lab, d *Definition) *Engine { return l.beside("other", l.store, d) }, 0},
		"while it works":                    {false, func(l *lab, _ *Definition) *Engine { return l.e }, time.Second},
		"while it works in another process": {true, func(l *lab, d *Definition) *Engine { return l.beside("other", l.store, d) }, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := twoWaits(t)
				l := newLab(t, nil, d)
				l.start(d, "run", `{}`)
				l.restart(d)
				done := make(chan Report, 1)
				ship := func() {
					r, err := l.e.Signal(t.Context(), "run", Signal{Name: "shipped", ID: "s1"})
					if err != nil {
						t.Error(err)
					}
					done <- r
				}
				if c.at > 0 {
					go ship()
					time.Sleep(c.at)
				}
				e := c.from(l, d)
				for range 2 {
					r, err := e.Signal(t.Context(), "run", Signal{Name: "paid", ID: "p1", Payload: value(`{"by":"card"}`), By: "shop"})
					if err != nil || !r.Kept || r.Posted != c.posted || r.Duplicate {
						t.Fatalf("%+v, %v", r, err)
					}
				}
				wants(t, "messages", len(l.inbox("run")), 1)
				if c.at == 0 {
					ship()
				}
				r := <-done
				wants(t, "end", fmt.Sprint(r.Status, r.Result), `terminated{"by":"card"}`)
				wants(t, "received", count(l.events("run"), event.TypeEventReceived), 2)
				wants(t, "left", l.inbox("run"), []string{})
			})
		})
	}
}

// TestEventsThatNothingWaitsFor are refused, as far as that can be known.
func TestEventsThatNothingWaitsFor(t *testing.T) {
	d := twoWaits(t)
	l := newLab(t, nil, d)
	l.start(d, "run", `{}`)
	other := l.beside("other", l.store, d)
	refused := func(name string, signal Signal, code string) {
		t.Helper()
		_, err := l.e.Signal(t.Context(), "run", signal)
		if !isRefused(err, code) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := l.store.Lease(t.Context(), "run", "third", time.Minute); err == nil {
			defer l.store.Lease(t.Context(), "run", "third", 0)
		}
		if _, err = other.Signal(t.Context(), "run", signal); !isRefused(err, code) {
			t.Errorf("%s, to another process: %v", name, err)
		}
	}
	refused("no such wait", Signal{Name: "lost", ID: "1"}, RefusedNotWaiting)
	refused("too large", Signal{Name: "paid", ID: "1", Payload: artifact.StringValue(strings.Repeat("x", store.MaxMessage))}, RefusedInput)
	refused("too deep", Signal{Name: "paid", ID: "1", Payload: value(strings.Repeat("[", artifact.MaxDepth) + strings.Repeat("]", artifact.MaxDepth))}, RefusedInput)
	for i := range store.MaxMessages - spareMessages {
		if _, err := l.e.Signal(t.Context(), "run", Signal{Name: "paid", ID: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	refused("too many", Signal{Name: "paid", ID: "one more"}, RefusedFull)

	if _, err := l.store.Lease(t.Context(), "run", "third", time.Minute); err != nil {
		t.Fatal(err)
	}
	r, err := other.Cancel(t.Context(), "run", Cancel{}) // there is room for it
	if err != nil || !r.Posted {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := l.store.Lease(t.Context(), "run", "third", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := l.e.Drive(t.Context(), "run"); err != nil {
		t.Fatal(err)
	}
	wants(t, "left", l.inbox("run"), []string{})
	refused("over", Signal{Name: "paid", ID: "1"}, RefusedEnded)
	if _, err := other.Signal(t.Context(), "nothing", Signal{Name: "paid"}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no such run: %v", err)
	}
}

// TestMessagesThatLeadToNothing are taken out and do the run no harm.
func TestMessagesThatLeadToNothing(t *testing.T) {
	d := twoWaits(t)
	l := newLab(t, nil, d)
	l.start(d, "run", `{}`)
	for i, body := range []string{"", "{", `{"v":2,"kind":"cancel"}`, `{"v":1,"kind":"abandon"}`, `{"v":1,"kind":"cancel","more":1}`, `{"v":1,"kind":"resume"}`} {
		if _, err := l.store.(store.Inbox).Post(t.Context(), "run", store.Message{ID: fmt.Sprint(i), Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	// An event that no log can hold shows when the run comes to it.
	r, err := l.e.Signal(t.Context(), "run", Signal{Name: "shipped", Method: "no such method", ID: "s0"})
	if err == nil {
		t.Fatalf("a method that nobody knows: %s", r.Status)
	}
	m, err := NewMachine(d).Message(Position{}, Signal{Name: "shipped", Method: "no such method", ID: "s0"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.store.(store.Inbox).Post(t.Context(), "run", m); err != nil {
		t.Fatal(err)
	}
	before := len(l.events("run"))
	if _, err := l.e.Drive(t.Context(), "run"); err != nil {
		t.Fatal(err)
	}
	wants(t, "left", l.inbox("run"), []string{})
	wants(t, "events", len(l.events("run")), before)
}

// TestPostedToADeadProcess posts to a process that dies before it looks. The next
// one to take the run up takes the message, whoever that is.
func TestPostedToADeadProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := twoWaits(t)
		l := newLab(t, nil, d)
		dying := storetest.Faulty(l.store, nil)
		dead := l.beside("dead", dying, d)
		for _, exec := range []string{"works", "waits"} {
			l.start(d, exec, `{}`)
		}
		go dead.Signal(t.Context(), "works", Signal{Name: "shipped", ID: "s"})
		synctest.Wait()
		if _, err := dying.Lease(t.Context(), "waits", "dead", time.Minute); err != nil {
			t.Fatal(err)
		}
		other := l.beside("other", l.store, d)
		for exec, name := range map[string]string{"works": "paid", "waits": "shipped"} {
			r, err := other.Signal(t.Context(), exec, Signal{Name: name, ID: "e"})
			if err != nil || !r.Posted {
				t.Fatalf("%s: %+v, %v", exec, r, err)
			}
		}
		dying.Crash()

		ctx, stop := context.WithCancel(t.Context())
		worked := make(chan error)
		go func() { worked <- other.Work(ctx) }()
		time.Sleep(5 * time.Minute)
		stop()
		if err := <-worked; err != nil {
			t.Fatal(err)
		}
		r, err := l.e.Status(t.Context(), "works")
		wants(t, "works", fmt.Sprint(r.Status, err), "terminated<nil>")
		log := l.events("waits")
		wants(t, "waits", fmt.Sprint(count(log, event.TypeEventReceived), log[len(log)-1].Type), "1checkpointed")
		if r, err := l.e.Status(t.Context(), "waits"); err != nil || r.Reason != "waiting at c" {
			t.Errorf("waits: %q, %v", r.Reason, err)
		}
	})
}

// TestWorkNoticesWhatWasPosted posts to a run that nobody has, as a process does
// that dies right after.
func TestWorkNoticesWhatWasPosted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := twoWaits(t)
		l := newLab(t, nil, d)
		busy := l.runs(define(t, graphText("{/n: number?}", "a: {handler: slow, next: d}\nd: {end: 1}"), packText,
			Definition{Handlers: map[string]Handler{"slow": sleeps(5 * time.Minute)}}), "busy")
		l.start(d, "run", `{}`)
		l.start(d, "once", `{}`)
		ctx, stop := context.WithCancel(t.Context())
		worked := make(chan error)
		worker := l.beside("worker", l.store, d)
		m, err := NewMachine(d).Message(Position{}, Cancel{By: "bob", Method: event.MethodAsserted})
		if err != nil {
			t.Fatal(err)
		}
		post := func(exec string) {
			t.Helper()
			if _, err := l.store.(store.Inbox).Post(t.Context(), exec, m); err != nil {
				t.Fatal(err)
			}
		}
		post("once")
		wants(t, "once", worker.worker().Once(t.Context()), nil)
		r, err := l.e.Status(t.Context(), "once")
		wants(t, "after one look", fmt.Sprint(r.Status, err), "cancelled<nil>")
		go func() { worked <- worker.Work(ctx) }()
		time.Sleep(10 * time.Second)
		post("run")
		time.Sleep(worker.c.Poll)
		synctest.Wait()
		r, err = l.e.Status(t.Context(), "run")
		wants(t, "after a poll", fmt.Sprint(r.Status, err), "cancelled<nil>")
		stop()
		wants(t, "work", <-worked, nil)
		wants(t, "busy", (<-busy).Status, store.Terminated)
	})
}

// TestLastLook posts while a step is under way that is shorter than a poll. The
// message is taken under the lease that is in force, without giving it up first.
func TestLastLook(t *testing.T) {
	var other *Engine
	d := define(t, graphText("{/n: any?}", "a: {handler: tells, next: c}\nc: {wait: {event: paid}, set: {/n: =result}, next: d}\nd: {end: =state.n, reads: [/n]}"),
		packText, Definition{Handlers: map[string]Handler{"tells": {Run: func(ctx context.Context, in graph.Invocation) (graph.NodeResult, error) {
			r, err := other.Signal(ctx, "run", Signal{Name: "paid", ID: "e1", Payload: value("7")})
			if err == nil && !r.Posted {
				err = errors.New("nobody has the run")
			}
			return graph.NodeResult{Outcome: graph.Outcome{Kind: graph.Continue, Patch: &graph.Patch{BaseRevision: in.Revision}}}, err
		}}}})
	l := newLab(t, nil, d)
	other = l.beside("other", l.store, d)
	r := l.start(d, "run", `{}`)
	wants(t, "end", fmt.Sprint(r.Status, r.Result), "terminated7")
	head, err := l.store.Head(t.Context(), "run")
	wants(t, "leases", fmt.Sprint(head.Fence, err), "1 <nil>")
}

// TestDecisionsReachARunThatIsDriven lets people answer one branch while another
// process is busy with the other one.
func TestDecisionsReachARunThatIsDriven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := define(t, graphText("{/ok: bool?, /n: number?}", `
a: {fork: [x, y, z]}
x: {approve: publish, show: {n: 1}, answer: {/ok: bool}, set: {/ok: =result.ok}, next: m}
y: {handler: ask, reads: [/n], writes: [/n], next: m}
z: {handler: slow, next: m}
m: {join: a, next: d}
d: {end: {ok: =state.ok, n: =state.n}, reads: [/ok, /n]}
`), packText, Definition{Handlers: map[string]Handler{"slow": sleeps(5 * time.Minute), "ask": {Run: asks}}})
		var mu sync.Mutex
		var tokens []Issued
		l := newLab(t, nil, d)
		l.e.c.Tokens = func(i Issued) { mu.Lock(); defer mu.Unlock(); tokens = append(tokens, i) }
		done := l.runs(d, "run")
		other := l.beside("other", l.store, d)
		r, err := other.Status(t.Context(), "run")
		if err != nil || len(r.Proposals) != 1 || len(tokens) != 2 {
			t.Fatalf("%+v %v, %d tokens", r.Proposals, err, len(tokens))
		}
		approval, input := tokens[0].Tokens[0], tokens[1].Tokens[0]
		if tokens[0].Proposal != r.Proposals[0].Digest {
			approval, input = input, approval
		}
		yes := Decision{Proposal: r.Proposals[0].Digest, Approve: true, Token: approval, Approver: "bob", Answer: value(`{"ok":true}`)}

		wrong := yes
		wrong.Token = "wt_wrong"
		_, err = other.Decide(t.Context(), "run", wrong)
		if !isRefused(err, RefusedToken) {
			t.Errorf("a wrong token: %v", err)
		}
		wants(t, "posted", l.inbox("run"), []string{})

		r, err = other.Decide(t.Context(), "run", yes)
		if err != nil || !r.Posted {
			t.Fatalf("%+v, %v", r, err)
		}
		no := yes
		no.Approve, no.Approver = false, "eve" // she is a moment too late
		late, err := l.beside("third", l.store, d).Decide(t.Context(), "run", no)
		if err != nil || !late.Posted {
			t.Fatalf("%+v, %v", late, err)
		}
		answer, err := other.Resume(t.Context(), "run", input, value(`5`), "cat")
		if err != nil || !answer.Posted {
			t.Fatalf("%+v, %v", answer, err)
		}
		l.wantNowhere("run", approval, input)
		r, err = other.Await(t.Context(), r)
		wants(t, "approved", fmt.Sprint(r.Status, r.Posted, len(r.Proposals), err), "runningfalse 0 <nil>")
		late, err = other.Await(t.Context(), late)
		if !isRefused(err, RefusedUsed) || late.Posted {
			t.Errorf("a late decision: %v", err)
		}
		answer, err = other.Await(t.Context(), answer)
		wants(t, "answered", fmt.Sprint(answer.Posted, err), "false <nil>")
		wants(t, "end", (<-done).Result, `{"n":5,"ok":true}`)
		wants(t, "decided", count(l.events("run"), event.TypeApprovalDecided), 2)
	})
}

// TestPostedKeys: a message claims no key that it does not prove.
func TestPostedKeys(t *testing.T) {
	d := define(t, graphText("{/n: any?}", "a: {approve: publish, answer: {/n: number}, set: {/n: =result.n}, next: d}\nd: {end: =state.n, reads: [/n]}"),
		replace(packText, "approvals: {minimum_method: token}", "approvals: {minimum_method: key}"), Definition{})
	l := newLab(t, nil, d)
	proposal := l.start(d, "run", `{}`).Proposals[0].Digest
	_, private, err := ed25519.GenerateKey(bytes.NewReader(make([]byte, 64)))
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := ed25519.GenerateKey(bytes.NewReader(bytes.Repeat([]byte{7}, 64)))
	if err != nil {
		t.Fatal(err)
	}
	signature, err := SignDecision(proposal, true, value(`{"n":1}`), private)
	if err != nil {
		t.Fatal(err)
	}
	yes := Decision{Proposal: proposal, Approve: true, Approver: "maria", Answer: value(`{"n":1}`), Signature: signature}
	if _, err := l.store.Lease(t.Context(), "run", "other", time.Hour); err != nil {
		t.Fatal(err)
	}
	r, err := l.e.Decide(t.Context(), "run", yes)
	if err != nil || !r.Posted {
		t.Fatalf("%+v, %v", r, err)
	}
	list, err := l.store.(store.Inbox).Posted(t.Context(), "run", 0, 9)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	m := list[0]
	for name, change := range map[string][2]string{
		"another answer":   {`"answer":{"n":1}`, `"answer":{"n":2}`},
		"a no for a yes":   {`"approve":true,`, ``},
		"another proposal": {proposal.String()[:20], proposal.String()[:12] + "00000000"},
		"another key":      {keys.Text(private.Public().(ed25519.PublicKey)), keys.Text(other)},
		"a key, unproven":  {`"signature":`, `"key":"` + artifact.Sum(nil).String() + `","reason":`},
	} {
		forged := m
		forged.Body = bytes.Replace(bytes.Clone(m.Body), []byte(change[0]), []byte(change[1]), 1)
		if bytes.Equal(forged.Body, m.Body) {
			t.Fatalf("%s: nothing was changed in %s", name, m.Body)
		}
		if what, err := ReadMessage(forged); err == nil {
			t.Errorf("%s: read as %+v", name, what)
		}
	}
	if _, err := l.store.Lease(t.Context(), "run", "other", 0); err != nil {
		t.Fatal(err)
	}
	r, err = l.e.Drive(t.Context(), "run")
	wants(t, "decided", fmt.Sprint(r.Status, r.Result, " ", err), "terminated1 <nil>")
	for _, x := range l.events("run") {
		if b, ok := x.Body.(*event.ApprovalDecided); ok && (b.Signature == nil || b.Credential != keyDigest(private.Public().(ed25519.PublicKey))) {
			t.Errorf("recorded %+v", b)
		}
	}
}

// asks wants an input and puts it into the state.
func asks(_ context.Context, in graph.Invocation) (graph.NodeResult, error) {
	if !in.Input.Set {
		return graph.NodeResult{Outcome: graph.Outcome{Kind: graph.Suspend, Reason: "how many?", Patch: &graph.Patch{BaseRevision: in.Revision}}}, nil
	}
	set := &graph.Patch{BaseRevision: in.Revision, Operations: map[string]graph.Operation{"/n": graph.Set(in.Input.Value)}}
	return graph.NodeResult{Outcome: graph.Outcome{Kind: graph.Continue, Patch: set}}, nil
}

// wantNowhere looks for texts in everything that is stored of a run.
func (l *lab) wantNowhere(exec string, texts ...string) {
	l.t.Helper()
	all := l.everyByte(exec)
	list, err := l.store.(store.Inbox).Posted(l.t.Context(), exec, 0, store.MaxMessages)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, m := range list {
		all += m.ID + string(m.Body)
	}
	for _, text := range texts {
		if strings.Contains(all, text) {
			l.t.Errorf("%q is in what was stored", text)
		}
	}
}

// TestPostedSecrets looks for a planted secret in every byte of the file, while a
// message is in the inbox and after it was taken. The log is as if it had come
// straight.
func TestPostedSecrets(t *testing.T) {
	const secret = "hunter2-hunter2"
	d := define(t, graphText("{/n: any?, /m: any?}", `
a: {wait: {event: shipped}, next: b}
b: {wait: {event: paid}, set: {/n: =result}, next: c}
c: {handler: ask, reads: [/n], writes: [/n], next: d}
d: {end: =state.n, reads: [/n]}
`), packText+"redact: ['args:/password']\nblobs: {args: forever}\n", Definition{Handlers: map[string]Handler{"ask": {Run: asks}}})
	dir := t.TempDir()
	st, err := sqlite.Open(t.Context(), filepath.Join(dir, "writ.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	l := &lab{t: t, store: st}
	l.restart(d)
	paid := Signal{Name: "paid", ID: "p1", Payload: value(`{"by":"card","password":"` + secret + `","note":"it is ` + secret + `"}`)}
	clean := func(when string) {
		t.Helper()
		for _, file := range []string{"writ.db", "writ.db-wal"} {
			data, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(data), secret) {
				t.Errorf("%s: %s has the secret", when, file)
			}
		}
	}
	for _, exec := range []string{"early", "straight"} {
		l.start(d, exec, `{}`)
	}
	held := func(by string, ttl time.Duration) {
		t.Helper()
		if _, err := st.Lease(t.Context(), "early", by, ttl); err != nil {
			t.Fatal(err)
		}
	}
	held("other", time.Hour)
	r, err := l.e.Signal(t.Context(), "early", paid)
	if err != nil || !r.Kept || !r.Posted {
		t.Fatalf("%+v, %v", r, err)
	}
	clean("posted")
	token := ""
	echo := paid
	echo.ID = "p2 " + secret
	if _, err := l.e.Signal(t.Context(), "early", echo); !isRefused(err, RefusedRedacted) {
		t.Errorf("the secret stands in the id too: %v", err)
	}
	held("other", 0)
	for _, exec := range []string{"early", "straight"} {
		if r, err = l.e.Signal(t.Context(), exec, Signal{Name: "shipped", ID: "s1"}); err != nil {
			t.Fatal(err)
		}
		if exec == "straight" {
			if r, err = l.e.Signal(t.Context(), exec, paid); err != nil {
				t.Fatal(err)
			}
		}
		clean(exec)
		wants(t, exec, r.Reason, "input at c")
		if exec == "early" {
			token = r.Issued[0].Tokens[0]
		}
		l.events(exec)
	}
	for _, exec := range []string{"early", "straight"} {
		run := &session{e: l.e, exec: exec}
		if err := run.load(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		want := run.p.salt.Digest([]byte(`"` + secret + `"`)).String()
		got, _ := graph.Lookup(run.p.state.Value, "/n/password/redacted")
		wants(t, exec+": in the place of the secret", got.Text(), want)
		for _, x := range logOf(t, st, exec) {
			if received, ok := x.Body.(*event.EventReceived); ok && received.Wait == "paid" && !received.Payload.Redacted {
				t.Errorf("%s: the log does not say that it was redacted", exec)
			}
		}
	}

	held("other", time.Hour)
	if r, err = l.e.Resume(t.Context(), "early", token, value(`{"password":"`+secret+`"}`), "bob"); err != nil || !r.Posted {
		t.Fatalf("an input: %+v, %v", r, err)
	}
	clean("an input")
	l.wantNowhere("early", secret, token)
	held("other", 0)
	r, err = l.e.Drive(t.Context(), "early")
	wants(t, "end", fmt.Sprint(r.Status, err), "terminated<nil>")
	l.events("early")
	clean("at the end")
}

// TestFaultAtEveryWriteBesideMessages lets the process that takes messages meet every
// fault at every write, and the next one finish: each message is taken once.
func TestFaultAtEveryWriteBesideMessages(t *testing.T) {
	d := define(t, graphText("{/n: number, /m: any?}", `
a: {wait: {event: shipped}, next: b}
b: {handler: add, reads: [/n], writes: [/n], next: c}
c: {wait: {event: paid}, set: {/m: =result}, next: d}
d: {end: {n: =state.n, m: =state.m}, reads: [/n, /m]}
`), packText, Definition{Handlers: map[string]Handler{"add": {Run: add("/n")}}})
	points := 0
	for fault := storetest.Refuse; fault <= storetest.CrashAfter; fault++ {
		for n := 0; ; n++ {
			now := time.UnixMilli(1_000_000)
			inner := memory.New(func() time.Time { return now })
			faulty := storetest.Faulty(inner, storetest.At(n, fault))
			engine := func(st store.Store, owner string) *Engine {
				e, err := New(Config{Store: st, Clock: movedClock{func() time.Time { return now }}, Owner: owner, Definitions: []*Definition{d}})
				if err != nil {
					t.Fatal(err)
				}
				return e
			}
			if _, err := engine(inner, "zero").Start(t.Context(), Request{Exec: "run", Definition: d, State: value(`{"n":1}`)}); err != nil {
				t.Fatal(err)
			}
			for _, what := range []Happening{
				Signal{Name: "paid", ID: "p", Payload: value(`7`)}, Resume{Token: TokenDigest("nobody's")}, Signal{Name: "shipped", ID: "s"},
			} {
				m, err := NewMachine(d).Message(Position{}, what)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := inner.Post(t.Context(), "run", m); err != nil {
					t.Fatal(err)
				}
			}
			_, _ = engine(faulty, "first").Drive(t.Context(), "run")
			if faulty.Writes() <= n {
				break // there is no such write
			}
			points++
			now = now.Add(time.Hour)
			r, err := engine(inner, "second").Drive(t.Context(), "run")
			if err != nil && !isRefused(err, RefusedEnded) {
				t.Fatalf("fault %d at write %d: %v", fault, n, err)
			}
			r, err = engine(inner, "third").Status(t.Context(), "run")
			left, leftErr := inner.Posted(t.Context(), "run", 0, 9)
			if err != nil || leftErr != nil || r.Result.String() != `{"m":7,"n":2}` || len(left) > 0 || count(logOf(t, inner, "run"), event.TypeEventReceived) != 2 {
				t.Fatalf("fault %d at write %d: %s %s %s %v, %d messages left", fault, n, r.Status, r.Reason, r.Result, err, len(left))
			}
		}
	}
	if points < 6*5 {
		t.Errorf("only %d faults", points)
	}
}

// gate lets the calls of several engines to their store happen in an order that a
// seed decides.
type gate struct {
	mu      sync.Mutex
	waiting []chan struct{}
}

func (g *gate) pass() {
	turn := make(chan struct{})
	g.mu.Lock()
	g.waiting = append(g.waiting, turn)
	g.mu.Unlock()
	<-turn
}

// shuffle lets one call after the other through until all is done.
func (g *gate) shuffle(rng *rand.Rand, done func() bool) {
	for {
		synctest.Wait()
		g.mu.Lock()
		n := len(g.waiting)
		if n == 0 && done() {
			g.mu.Unlock()
			return
		}
		if n == 0 {
			g.mu.Unlock()
			time.Sleep(time.Millisecond) // everybody waits for the time
			continue
		}
		i := rng.IntN(n)
		turn := g.waiting[i]
		g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
		g.mu.Unlock()
		close(turn)
	}
}

// gated is a store behind a gate.
type gated struct {
	*memory.Store
	gate *gate
}

func (s gated) Append(ctx context.Context, b store.Batch) error {
	s.gate.pass()
	return s.Store.Append(ctx, b)
}

func (s gated) Lease(ctx context.Context, exec, owner string, ttl time.Duration) (uint64, error) {
	s.gate.pass()
	return s.Store.Lease(ctx, exec, owner, ttl)
}

func (s gated) Head(ctx context.Context, exec string) (store.Head, error) {
	s.gate.pass()
	return s.Store.Head(ctx, exec)
}

func (s gated) Events(ctx context.Context, exec string, from uint64) iter.Seq2[event.Record, error] {
	s.gate.pass()
	return s.Store.Events(ctx, exec, from)
}

func (s gated) Blob(ctx context.Context, d artifact.Digest) (io.ReadCloser, error) {
	s.gate.pass()
	return s.Store.Blob(ctx, d)
}

func (s gated) Post(ctx context.Context, exec string, m store.Message) (uint64, error) {
	s.gate.pass()
	return s.Store.Post(ctx, exec, m)
}

func (s gated) Posted(ctx context.Context, exec string, after uint64, n int) ([]store.Message, error) {
	s.gate.pass()
	return s.Store.Posted(ctx, exec, after, n)
}

// TestNoMessageIsStranded lets two processes tell one run something at once, in a
// thousand orders of all that they ask of the store. Nobody else drives the run:
// whatever one of them posts, one of the two has to take.
func TestNoMessageIsStranded(t *testing.T) {
	d := define(t, graphText("{/n: any?}", `
a: {wait: {event: shipped}, next: b}
b: {wait: {event: paid}, set: {/n: =result}, next: d}
d: {end: =state.n, reads: [/n]}
`), packText, Definition{})
	posted, kept := 0, 0
	for seed := range uint64(1000) {
		synctest.Test(t, func(t *testing.T) {
			g := &gate{}
			st := memory.New(nil)
			l := &lab{t: t, store: st}
			l.restart(d)
			l.start(d, "run", `{}`)
			last := Cancel{By: "bob"}
			ends := seed%2 == 0 // the second input ends the run, or is an event
			var done sync.WaitGroup
			var mu sync.Mutex
			tell := func(owner string, what func(e *Engine) (Report, error)) {
				e := l.beside(owner, gated{st, g}, d)
				done.Go(func() {
					r, err := what(e)
					mu.Lock()
					defer mu.Unlock()
					if err != nil && !(ends && isRefused(err, RefusedEnded)) {
						t.Errorf("seed %d, %s: %v", seed, owner, err)
					}
					if r.Posted {
						posted++
					}
					if r.Kept {
						kept++
					}
				})
			}
			tell("one", func(e *Engine) (Report, error) {
				return e.Signal(t.Context(), "run", Signal{Name: "shipped", ID: "s1"})
			})
			tell("two", func(e *Engine) (Report, error) {
				if ends {
					return e.Cancel(t.Context(), "run", last)
				}
				return e.Signal(t.Context(), "run", Signal{Name: "paid", ID: "p1", Payload: value(`1`)})
			})
			over := make(chan struct{})
			go func() { done.Wait(); close(over) }()
			g.shuffle(rand.New(rand.NewPCG(seed, 1)), func() bool {
				select {
				case <-over:
					return true
				default:
					return false
				}
			})
			want, events := store.Terminated, 2
			if ends {
				want, events = store.Cancelled, 1
			}
			r, err := l.e.Status(t.Context(), "run")
			if err != nil || r.Status != want || len(l.inbox("run")) != 0 {
				t.Errorf("seed %d: %s %s, %v, left %q", seed, r.Status, r.Reason, err, l.inbox("run"))
			}
			if n := count(logOf(t, st, "run"), event.TypeEventReceived); n > events || !ends && n != events {
				t.Errorf("seed %d: %d events were received", seed, n)
			}
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%d inputs were posted, %d events were kept", posted, kept)
	if posted < 100 || kept < 100 {
		t.Errorf("the orders tell little: %d inputs were posted, %d events were kept", posted, kept)
	}
}

// inboxProcess is a process with a run that is stuck in a handler until it is told
// to stop.
func inboxProcess(dir string) {
	fail := func(err error) {
		if err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
	}
	st, err := sqlite.Open(context.Background(), filepath.Join(dir, "writ.db"), nil)
	fail(err)
	poll, err := time.ParseDuration(os.Getenv("WRIT_INBOX_POLL"))
	fail(err)
	var t testing.T
	d := stuck(&t)
	e, err := New(Config{Store: st, Definitions: []*Definition{d}, Owner: "first", Poll: poll})
	fail(err)
	r, err := e.Start(context.Background(), Request{Exec: "run", Definition: d, State: value(`{}`)})
	fail(err)
	fmt.Println(r.Status)
}

func stuck(t testing.TB) *Definition {
	return define(t, graphText("{/n: number?}", "a: {handler: stuck, next: d}\nd: {end: 1}"), packText, Definition{Handlers: map[string]Handler{
		"stuck": {Run: func(ctx context.Context, _ graph.Invocation) (graph.NodeResult, error) {
			fmt.Println("under way")
			<-ctx.Done()
			return graph.NodeResult{}, ctx.Err()
		}},
	}})
}

// TestCancelReachesAnotherProcess cancels a run in a handler of another process,
// and one whose process is killed before it looks.
func TestCancelReachesAnotherProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for poll, killed := range map[string]bool{"10ms": false, "1h": true} {
		dir := t.TempDir()
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "WRIT_INBOX_DIR="+dir, "WRIT_INBOX_POLL="+poll)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		if !lines.Scan() || lines.Text() != "under way" {
			t.Fatalf("the process says %q", lines.Text())
		}
		st, err := sqlite.Open(t.Context(), filepath.Join(dir, "writ.db"), nil)
		if err != nil {
			t.Fatal(err)
		}
		d := stuck(t)
		tell := func(owner string) *Engine {
			e, err := New(Config{Store: st, Definitions: []*Definition{d}, Owner: owner, Poll: 10 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		r, err := tell("second").Cancel(t.Context(), "run", Cancel{By: "bob"})
		if err != nil || !r.Posted {
			t.Fatalf("%+v, %v", r, err)
		}
		if killed {
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			r, err = tell("first").Drive(t.Context(), "run") // its lease is for its name
		} else {
			r, err = tell("second").Await(t.Context(), r)
			if !lines.Scan() || lines.Text() != "cancelled" {
				t.Errorf("the process says %q", lines.Text())
			}
		}
		_ = c.Wait()
		wants(t, "poll every "+poll, fmt.Sprint(r.Status, r.Posted, err), "cancelledfalse <nil>")
		wants(t, "requests", count(logOf(t, st, "run"), event.TypeCancelRequested), 1)
		st.Close()
	}
}
