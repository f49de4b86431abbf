package engine

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
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
	"github.com/writ-dev/writ/store/sqlite"
	"github.com/writ-dev/writ/store/storetest"
)

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
			if exec == "waits" {
				begin := time.Now()
				r, err = other.Await(t.Context(), r, 3*other.c.Poll)
				wants(t, "nobody takes it in time", fmt.Sprint(r.Posted, time.Since(begin), err), "true 3s <nil>")
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
		r, err = other.Await(t.Context(), r, 0)
		wants(t, "approved", fmt.Sprint(r.Status, r.Posted, len(r.Proposals), err), "runningfalse 0 <nil>")
		late, err = other.Await(t.Context(), late, 0)
		if !isRefused(err, RefusedUsed) || late.Posted {
			t.Errorf("a late decision: %v", err)
		}
		answer, err = other.Await(t.Context(), answer, 0)
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
			r, err = tell("second").Await(t.Context(), r, 0)
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
