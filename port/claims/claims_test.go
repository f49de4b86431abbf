package claims

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/policy"
)

func value(t testing.TB, text string) artifact.Value {
	t.Helper()
	v, err := artifact.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err, text)
	}
	return v
}

func proposal(t testing.TB, operation string) Proposal {
	t.Helper()
	return Proposal{Graph: "releases", Operation: value(t, operation), Justification: "the tests pass"}
}

func digestOf(t testing.TB, p Proposal) artifact.Digest {
	t.Helper()
	d, err := p.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// at is a clock that stands.
func at(ms int64) func() time.Time { return func() time.Time { return time.UnixMilli(ms) } }

func person(d artifact.Digest, name string, approve bool) Approval {
	return Approval{Kind: ByPerson, Graph: "releases", Decision: policy.Decision{
		Proposal: d, Approve: approve, By: policy.Principal{Name: name, Credential: artifact.Sum([]byte(name))}, Method: policy.MethodToken, DecidedMS: 1000,
	}}
}

func expectError(t *testing.T, err error, class, part string) {
	t.Helper()
	var known *Error
	if !errors.As(err, &known) || known.Class != class || !strings.Contains(known.Message, part) {
		t.Errorf("%v, want class %s and %q", err, class, part)
	}
}

func TestDigest(t *testing.T) {
	a := proposal(t, `{"set":{"version":"1.2","n":1.50}}`)
	text, err := a.Canonical()
	want := `{"graph":"releases","justification":"the tests pass","operation":{"set":{"n":1.5,"version":"1.2"}},"version":2}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
	if digestOf(t, a) != digestOf(t, proposal(t, `{"set":{"n":1.5,"version":"1.2"}}`)) {
		t.Error("two spellings of one change differ")
	}
	if _, err := proposal(t, `{"n":1e999}`).Digest(); err == nil {
		t.Error("a number without a canonical form passes")
	}
}

func TestCheck(t *testing.T) {
	p := proposal(t, `{"publish":"1.2"}`)
	d := digestOf(t, p)
	other := artifact.Sum([]byte("other"))
	byPolicy := Approval{Kind: ByPolicy, Graph: "releases", Decision: policy.Decision{Proposal: d, Approve: true}, ID: "rule-7"}
	change := func(a Approval, f func(*Approval)) Approval { f(&a); return a }
	two := policy.Requirement{Quorum: 2, Method: policy.MethodToken, ExpiresMS: 500}
	for name, c := range map[string]struct {
		approvals []Approval
		people    policy.Requirement
		decided   int
		class     string
		part      string
	}{
		"nobody":               {nil, policy.Requirement{}, 0, ClassApproval, "needs 1 approval"},
		"one person":           {[]Approval{person(d, "ann", true)}, policy.Requirement{}, 1, "", ""},
		"policy":               {[]Approval{byPolicy}, two, 1, "", ""},
		"run":                  {[]Approval{change(byPolicy, func(a *Approval) { a.Kind = ByRun })}, two, 1, "", ""},
		"policy without an id": {[]Approval{change(byPolicy, func(a *Approval) { a.ID = "" })}, policy.Requirement{}, 0, ClassApproval, "needs 1 approval"},
		"unknown kind":         {[]Approval{change(byPolicy, func(a *Approval) { a.Kind = "robot" })}, policy.Requirement{}, 0, ClassApproval, `unknown kind "robot"`},
		"unknown kind besides": {[]Approval{byPolicy, change(byPolicy, func(a *Approval) { a.Kind = "" })}, policy.Requirement{}, 0, ClassApproval, `unknown kind ""`},
		"other bytes":          {[]Approval{person(other, "ann", true)}, policy.Requirement{}, 0, ClassApproval, "decisions about other changes: 1"},
		"other graph":          {[]Approval{change(byPolicy, func(a *Approval) { a.Graph = "x" })}, policy.Requirement{}, 0, ClassApproval, "other changes: 1"},
		"no bytes":             {[]Approval{change(byPolicy, func(a *Approval) { a.Decision.Proposal = artifact.Digest{} })}, policy.Requirement{}, 0, ClassApproval, "other changes: 1"},
		"a no":                 {[]Approval{person(d, "ann", true), person(d, "bob", false)}, policy.Requirement{}, 0, ClassRejected, "was rejected"},
		"a no beats policy":    {[]Approval{byPolicy, person(d, "bob", false)}, policy.Requirement{}, 0, ClassRejected, "was rejected"},
		"a no about others":    {[]Approval{byPolicy, person(other, "bob", false)}, policy.Requirement{}, 1, "", ""},
		"two of two":           {[]Approval{person(d, "ann", true), person(d, "bob", true)}, two, 2, "", ""},
		"one of two":           {[]Approval{person(d, "ann", true)}, two, 0, ClassApproval, "needs 2 approvals by token or stronger, has 1"},
		"one person twice":     {[]Approval{person(d, "ann", true), person(d, "ann", true)}, two, 0, ClassApproval, "has 1"},
		"the starter":          {[]Approval{person(d, "ann", true), person(d, "eve", true)}, two, 0, ClassApproval, "by whoever started the run"},
		"weak": {[]Approval{person(d, "ann", true), change(person(d, "bob", true), func(a *Approval) { a.Decision.Method = policy.MethodAsserted })},
			two, 0, ClassApproval, "by a method that is too weak"},
		"expired": {[]Approval{person(d, "ann", true), change(person(d, "bob", true), func(a *Approval) { a.Decision.DecidedMS = 600 })},
			two, 0, ClassApproval, "too old"},
	} {
		t.Run(name, func(t *testing.T) {
			decided, err := Check(p, c.approvals, c.people, policy.Principal{Name: "eve"}, 1100)
			if len(decided) != c.decided {
				t.Errorf("%d decided", len(decided))
			}
			if c.class != "" {
				expectError(t, err, c.class, c.part)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestApprovalIsOfItsBytes changes each byte of an approved change.
func TestApprovalIsOfItsBytes(t *testing.T) {
	approved := []byte(`{"publish":"1.2.3","to":["eu","us"],"n":12345}`)
	all := []Approval{person(digestOf(t, proposal(t, string(approved))), "ann", true)}
	changed := 0
	for i := range approved {
		for _, b := range []byte{'0', '9', 'x', ' '} {
			text := append([]byte(nil), approved...)
			text[i] = b
			v, err := artifact.ParseValue(text)
			if err != nil || v.Equal(value(t, string(approved))) {
				continue
			}
			changed++
			if _, err := Check(proposal(t, string(text)), all, policy.Requirement{}, policy.Principal{}, 0); err == nil {
				t.Errorf("%s is committed by an approval of %s", text, approved)
			}
		}
	}
	if changed < 80 {
		t.Errorf("only %d changes", changed)
	}
	p := proposal(t, string(approved))
	p.Justification += "."
	if _, err := Check(p, all, policy.Requirement{}, policy.Principal{}, 0); err == nil {
		t.Error("another justification is committed")
	}
}

func port(t *testing.T, c Config, o Options) *Port {
	t.Helper()
	if o.Now == nil {
		o.Now = at(2000)
	}
	p, err := New(map[string]Config{"releases": c}, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func effect(t *testing.T, key, args string) engine.Effect {
	t.Helper()
	return engine.Effect{
		Key: key, Port: Name, Name: "releases", Exec: "run-1", Kind: policy.KindClaims, Args: value(t, args),
		Permit: policy.Permit{Kind: policy.KindClaims, Name: "releases", Rule: "pack test: claims.releases"},
	}
}

func do(t *testing.T, p *Port, e engine.Effect) engine.Outcome {
	t.Helper()
	o, err := p.Do(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func expectFailure(t *testing.T, o engine.Outcome, class, part string) {
	t.Helper()
	if !o.Failed || o.Class != class || !strings.Contains(o.Error, part) {
		t.Errorf("%+v, want class %s and %q", o, class, part)
	}
}

const (
	propose = `{"action":"propose","operation":{"publish":"1.2"},"justification":"the tests pass"}`
	commit  = `{"action":"commit","operation":{"publish":"1.2"},"justification":"the tests pass"}`
	readAll = `{"action":"read","query":{}}`
)

func TestProposeApproveCommit(t *testing.T) {
	store := NewMemory("releases", StoreOptions{Now: at(1000)})
	p := port(t, Config{Graph: store}, Options{})
	d := digestOf(t, proposal(t, `{"publish":"1.2"}`))
	if o := do(t, p, effect(t, "k1", propose)); o.Failed || o.Result.String() != `{"proposal":"`+d.String()+`"}` || o.Usage.Calls != 1 {
		t.Fatalf("%+v", o)
	}
	expectFailure(t, do(t, p, effect(t, "k2", commit)), ClassApproval, "the change "+d.String()+" needs 1 approval by token or stronger, has 0")
	if o := do(t, p, effect(t, "k3", readAll)); o.Result.String() != `{"claims":[],"more":false}` {
		t.Errorf("%s", o.Result)
	}
	if err := store.Decide(t.Context(), person(d, "ann", true)); err != nil {
		t.Fatal(err)
	}
	pending, err := store.Pending(t.Context())
	if err != nil || len(pending) != 1 || pending[0].Digest != d || len(pending[0].Approvals) != 1 || pending[0].AtMS != 1000 {
		t.Errorf("%+v, %v", pending, err)
	}
	expectFailure(t, do(t, p, effect(t, "k4", strings.Replace(commit, "1.2", "1.3", 1))), ClassApproval, "has 0")
	want := `{"proposal":"` + d.String() + `","claim":"1"}`
	for range 2 { // the second time under the same key changes nothing
		if o := do(t, p, effect(t, "k5", commit)); o.Failed || o.Result.String() != want {
			t.Errorf("%+v, want %s", o, want)
		}
	}
	expectFailure(t, do(t, p, effect(t, "k6", commit)), "conflict", "was committed as claim 1")
	expectFailure(t, do(t, p, effect(t, "k5", strings.Replace(propose, "1.2", "1.3", 1))), "conflict", "the key was used for another change")
	o := do(t, p, effect(t, "k7", readAll))
	want = `{"claims":[{"claim":"1","proposal":"` + d.String() + `","operation":{"publish":"1.2"},"justification":"the tests pass",` +
		`"approved_by":[{"kind":"person","approve":true,"at_ms":1000,"by":"ann","method":"token","credential":"` + artifact.Sum([]byte("ann")).String() + `"}]}],"more":false}`
	if o.Result.String() != want {
		t.Errorf("%s, want %s", o.Result, want)
	}
	if pending, _ = store.Pending(t.Context()); len(pending) != 0 {
		t.Errorf("%+v", pending)
	}
	for key, want := range map[string]engine.Answer{"k1": engine.Happened, "k5": engine.Happened, "k2": engine.Never, "k6": engine.Never, "x": engine.Never} {
		o, answer, err := p.Ask(t.Context(), key)
		if err != nil || answer != want || (key == "k5") != strings.Contains(o.Result.String(), `"claim":"1"`) {
			t.Errorf("%s: %+v, %v, %v", key, o, answer, err)
		}
	}
}

func TestWhoApproves(t *testing.T) {
	yes := func(_ context.Context, p Proposal) (string, error) { return "rule of " + p.Graph, nil }
	no := func(context.Context, Proposal) (string, error) { return "", nil }
	broken := func(context.Context, Proposal) (string, error) { return "", errors.New("asleep") }
	for name, c := range map[string]struct {
		policy   func(context.Context, Proposal) (string, error)
		approved bool
		reject   bool
		class    string
		by       string
	}{
		"nobody":             {class: ClassApproval},
		"policy":             {policy: yes, by: `{"kind":"policy","approve":true,"at_ms":2000,"id":"rule of releases"}`},
		"policy says no":     {policy: no, class: ClassApproval},
		"policy is broken":   {policy: broken, class: "unavailable"},
		"run":                {approved: true, by: `{"kind":"run","approve":true,"at_ms":2000,"id":"run-1 k"}`},
		"run and policy":     {approved: true, policy: no, by: `{"kind":"run"`},
		"run against person": {approved: true, reject: true, class: ClassRejected},
	} {
		t.Run(name, func(t *testing.T) {
			store := NewMemory("releases", StoreOptions{Now: at(1000)})
			p := port(t, Config{Graph: store, Policy: c.policy}, Options{})
			if c.reject {
				do(t, p, effect(t, "p", propose))
				if err := store.Decide(t.Context(), person(digestOf(t, proposal(t, `{"publish":"1.2"}`)), "bob", false)); err != nil {
					t.Fatal(err)
				}
			}
			e := effect(t, "k", commit)
			e.Permit.Approved = c.approved
			o := do(t, p, e)
			if c.class != "" {
				expectFailure(t, o, c.class, "")
			} else if o.Failed {
				t.Errorf("%+v", o)
			}
			if all := do(t, p, effect(t, "r", readAll)).Result.String(); strings.Contains(all, c.by) != true || (c.by == "") != (all == `{"claims":[],"more":false}`) {
				t.Errorf("%s", all)
			}
		})
	}
}

func TestStarterDoesNotCount(t *testing.T) {
	store := NewMemory("releases", StoreOptions{Now: at(1000)})
	started := ""
	p := port(t, Config{Graph: store}, Options{Starter: func(exec string) policy.Principal {
		started = exec
		return policy.Principal{Name: "ann"}
	}})
	do(t, p, effect(t, "k1", propose))
	if err := store.Decide(t.Context(), person(digestOf(t, proposal(t, `{"publish":"1.2"}`)), "ann", true)); err != nil {
		t.Fatal(err)
	}
	expectFailure(t, do(t, p, effect(t, "k2", commit)), ClassApproval, "by whoever started the run")
	if started != "run-1" {
		t.Errorf("asked who started %q", started)
	}
}

func TestArguments(t *testing.T) {
	p := port(t, Config{Graph: NewMemory("releases", StoreOptions{})}, Options{})
	shape := p.Tools()["releases"].Shape
	for args, part := range map[string]string{
		`{}`:                  "action",
		`{"action":"delete"}`: "delete",
		`{"action":"read"}`:   "query",
		`{"action":"read","query":{},"operation":1}`:                             "operation",
		`{"action":"commit","operation":{}}`:                                     "justification",
		`{"action":"commit","operation":{},"justification":""}`:                  "say why the change is right",
		`{"action":"commit","justification":"x"}`:                                "operation",
		`{"action":"propose","operation":{},"justification":"x","proposal":"y"}`: "only a commit names one",
		`{"action":"commit","operation":{},"justification":"x","proposal":"y"}`:  "and the commit is meant for y",
		`{"action":"commit","operation":{},"justification":"x","approved":true}`: "approved",
		`{"action":"commit","operation":{"n":1e999},"justification":"x"}`:        "",
	} {
		expectFailure(t, do(t, p, effect(t, "k", args)), "invalid", part)
		if _, err := shape(policy.Call{Name: "releases", Args: value(t, args)}); err == nil {
			t.Errorf("%s passes", args)
		}
	}
	for args, action := range map[string]string{propose: "propose", commit: "commit", readAll: "read"} {
		if call, err := shape(policy.Call{Name: "releases", Args: value(t, args)}); err != nil || call.Action != action {
			t.Errorf("%+v, %v", call, err)
		}
	}
	named := strings.TrimSuffix(commit, "}") + `,"proposal":"` + digestOf(t, proposal(t, `{"publish":"1.2"}`)).String() + `"}`
	expectFailure(t, do(t, p, effect(t, "k", named)), ClassApproval, "")
	e := effect(t, "k", readAll)
	e.Permit = policy.Permit{}
	expectFailure(t, do(t, p, e), "invalid", "has no permit")
	e.Name = "other"
	expectFailure(t, do(t, p, e), "invalid", "there is no claim graph other")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(context.DeadlineExceeded)
	o, err := p.Do(ctx, effect(t, "k", readAll))
	if err != nil {
		t.Fatal(err)
	}
	expectFailure(t, o, "timeout", "")
	if _, err := New(map[string]Config{"a": {}, "b": {}}, Options{}); err == nil || err.Error() != "claims a: there is no graph\nclaims b: there is no graph" {
		t.Error(err)
	}
}

// remote is a claim graph elsewhere, that breaks.
type remote struct {
	Graph
	err     error
	answer  engine.Answer
	commits int
}

func (r *remote) Read(context.Context, artifact.Value) (artifact.Value, error) {
	return artifact.Value{}, r.err
}
func (r *remote) Propose(context.Context, string, Proposal) error { return r.err }
func (r *remote) Approvals(context.Context, artifact.Digest) ([]Approval, error) {
	return nil, nil
}
func (r *remote) Commit(context.Context, string, Proposal, []Approval) (string, error) {
	r.commits++
	return "", r.err
}
func (r *remote) Outcome(context.Context, string) (Outcome, engine.Answer, error) {
	return Outcome{}, r.answer, nil
}

func TestRemoteGraph(t *testing.T) {
	r := &remote{err: errors.New("connection lost")}
	p := port(t, Config{Graph: r}, Options{})
	expectFailure(t, do(t, p, effect(t, "k", readAll)), "unavailable", "connection lost")
	expectFailure(t, do(t, p, effect(t, "k", commit)), ClassApproval, "")
	if r.commits != 0 {
		t.Error("the graph was asked to commit what nobody approved")
	}
	e := effect(t, "k", commit)
	e.Permit.Approved = true
	for _, e := range []engine.Effect{e, effect(t, "k", propose)} {
		if o, err := p.Do(t.Context(), e); err == nil || o.Failed {
			t.Errorf("a broken connection is no known outcome: %+v, %v", o, err)
		}
	}
	r.err = &Error{"conflict", "someone was faster"}
	expectFailure(t, do(t, p, e), "conflict", "someone was faster")
	if _, answer, err := p.Ask(t.Context(), "k"); err != nil || answer != engine.Unknown {
		t.Errorf("%v, %v", answer, err)
	}
	if !p.Idempotent(e) {
		t.Error("not idempotent")
	}
}
