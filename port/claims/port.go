package claims

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
)

// Config is a claim graph that runs may be granted, by its name in the pack.
type Config struct {
	Graph Graph

	// People says how people are to approve in the graph. The zero value stands for
	// one person who holds a token or a key.
	People policy.Requirement
	// Policy approves in the name of the host: an id of its decision, or "" for
	// none. Nil approves nothing.
	Policy func(ctx context.Context, p Proposal) (id string, err error)
}

// Options are what claim graphs share.
type Options struct {
	// Starter gives who started a run, and is no approver of it. Nil when nobody
	// knows.
	Starter func(exec string) policy.Principal
	// Now is the clock that approvals expire by; nil for the machine's.
	Now func() time.Time
}

// Name is what the engine calls this port.
const Name = "claims"

// Port reads and changes claims. It is safe for concurrent use.
type Port struct {
	graphs  map[string]Config
	options Options
}

var (
	_ engine.Port  = (*Port)(nil)
	_ engine.Asker = (*Port)(nil)
)

// New checks the graphs and gives the port that serves them. The error names
// everything that is wrong.
func New(graphs map[string]Config, o Options) (*Port, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	checked := make(map[string]Config, len(graphs))
	var problems []error
	for _, name := range artifact.SortedNames(graphs) {
		c := graphs[name]
		if c.Graph == nil {
			problems = append(problems, fmt.Errorf("claims %s: there is no graph", name))
		}
		if c.People == (policy.Requirement{}) {
			c.People = policy.Requirement{Quorum: 1, Method: policy.MethodToken}
		}
		checked[name] = c
	}
	if problems != nil {
		return nil, errors.Join(problems...)
	}
	return &Port{checked, o}, nil
}

// Tools gives how each graph's effects are authorized: by their action.
func (p *Port) Tools() map[string]engine.Tool {
	tools := make(map[string]engine.Tool, len(p.graphs))
	for name := range p.graphs {
		tools[name] = engine.Tool{Port: Name, Kind: policy.KindClaims, Shape: Shape}
	}
	return tools
}

// Shape tells policy what is to be done. Its error says what is wrong with the
// arguments.
func Shape(call policy.Call) (policy.Call, error) {
	q, err := readRequest(call.Name, call.Args)
	call.Action = q.action
	return call, err
}

// request is what the arguments of an effect ask for.
type request struct {
	action   string
	query    artifact.Value
	proposal Proposal
	digest   artifact.Digest // of the proposal
}

// The actions.
const (
	actionRead    = "read"
	actionPropose = "propose"
	actionCommit  = "commit"
)

func readRequest(graph string, args artifact.Value) (request, error) {
	r := artifact.NewReader(artifact.DocumentOf(args, "arguments"))
	o := r.Root().Object()
	q := request{action: o.Need("action").Enum(actionRead, actionPropose, actionCommit)}
	var named artifact.Field
	switch q.action {
	case actionRead:
		q.query = o.Need("query").Value()
	case actionPropose, actionCommit:
		q.proposal = Proposal{graph, o.Need("operation").Value(), o.Need("justification").Text()}
		if named = o.May("proposal"); q.action == actionPropose && named.Present() {
			named.Report("proposal: only a commit names one")
		}
		if o.Has("justification") && q.proposal.Justification == "" {
			o.Need("justification").Report("justification is empty; say why the change is right")
		}
	}
	o.RefuseUnknown()
	if err := r.Err(); err != nil || q.action == actionRead {
		return q, err
	}
	var err error
	if q.digest, err = q.proposal.Digest(); err == nil && named.Present() && named.Text() != q.digest.String() {
		err = fmt.Errorf("the change is %s, and the commit is meant for %.80s", q.digest, named.Text())
	}
	return q, err
}

// Do reads, proposes or commits. What was not approved is a failed outcome, and the
// graph is not asked. An error means that nobody knows whether the graph changed.
func (p *Port) Do(ctx context.Context, e engine.Effect) (engine.Outcome, error) {
	c, ok := p.graphs[e.Name]
	if !ok {
		return failed(graph.ClassInvalid, "there is no claim graph "+e.Name), nil
	}
	if e.Permit.Kind != policy.KindClaims || e.Permit.Name != e.Name {
		return failed(graph.ClassInvalid, "claim graph "+e.Name+" has no permit"), nil
	}
	q, err := readRequest(e.Name, e.Args)
	if err != nil {
		return failed(graph.ClassInvalid, err.Error()), nil
	}
	ctx, cancel := e.Bound(ctx)
	defer cancel()
	if ctx.Err() != nil {
		return ended(ctx), nil
	}
	result, err := p.perform(ctx, c, q, e)
	var known *Error
	switch {
	case errors.As(err, &known):
		return failed(known.Class, known.Message), nil
	case err != nil && q.action == actionRead && ctx.Err() != nil:
		return ended(ctx), nil
	case err != nil && q.action == actionRead:
		return failed(graph.ClassUnavailable, err.Error()), nil
	case err != nil:
		return engine.Outcome{}, err
	}
	return engine.Outcome{Result: result, Usage: policy.Amount{Calls: 1}}, nil
}

func failed(class, text string) engine.Outcome {
	outcome := engine.Failed(class, text)
	outcome.Usage = policy.Amount{Calls: 1}
	return outcome
}

func ended(ctx context.Context) engine.Outcome {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return failed(graph.ClassTimeout, "no answer before the deadline")
	}
	return failed(graph.ClassCancelled, "the effect was ended with the run")
}

func (p *Port) perform(ctx context.Context, c Config, q request, e engine.Effect) (artifact.Value, error) {
	switch q.action {
	case actionRead:
		return c.Graph.Read(ctx, q.query)
	case actionPropose:
		return result(Outcome{Proposal: q.digest}), c.Graph.Propose(ctx, e.Key, q.proposal)
	}
	approvals, err := p.approvals(ctx, c, q, e)
	if err != nil {
		return artifact.Value{}, err
	}
	claim, err := c.Graph.Commit(ctx, e.Key, q.proposal, approvals)
	return result(Outcome{q.digest, claim}), err
}

// approvals gives what approves a commit. Nothing has happened when it fails.
func (p *Port) approvals(ctx context.Context, c Config, q request, e engine.Effect) ([]Approval, error) {
	all, err := c.Graph.Approvals(ctx, q.digest)
	if err != nil {
		return nil, &Error{graph.ClassUnavailable, "the graph does not say who approved: " + err.Error()}
	}
	now := p.options.Now().UnixMilli()
	yes := policy.Decision{Proposal: q.digest, Approve: true, DecidedMS: now}
	if e.Permit.Approved {
		all = append(all, Approval{Kind: ByRun, Graph: e.Name, Decision: yes, ID: e.Exec + " " + e.Key})
	}
	if c.Policy != nil {
		id, err := c.Policy(ctx, q.proposal)
		if err != nil {
			return nil, &Error{graph.ClassUnavailable, "the host's policy does not decide: " + err.Error()}
		}
		if id != "" {
			all = append(all, Approval{Kind: ByPolicy, Graph: e.Name, Decision: yes, ID: id})
		}
	}
	var starter policy.Principal
	if p.options.Starter != nil {
		starter = p.options.Starter(e.Exec)
	}
	return Check(q.proposal, all, c.People, starter, now)
}

func result(o Outcome) artifact.Value {
	v := artifact.ObjectValue(artifact.Member{Name: "proposal", Value: artifact.StringValue(o.Proposal.String())})
	if o.Claim != "" {
		v = v.With("claim", artifact.StringValue(o.Claim))
	}
	return v
}

// Ask finds out what became of an effect, from the graph that has its key.
func (p *Port) Ask(ctx context.Context, key string) (engine.Outcome, engine.Answer, error) {
	all := engine.Never
	for _, name := range artifact.SortedNames(p.graphs) {
		o, answer, err := p.graphs[name].Graph.Outcome(ctx, key)
		switch {
		case err != nil:
			return engine.Outcome{}, engine.Unknown, fmt.Errorf("claim graph %s: %w", name, err)
		case answer == engine.Happened:
			return engine.Outcome{Result: result(o), Usage: policy.Amount{Calls: 1}}, engine.Happened, nil
		case answer == engine.Unknown:
			all = engine.Unknown
		}
	}
	return engine.Outcome{}, all, nil
}

// Idempotent reports whether the effect may be performed again under its key: a
// [Graph] performs each key once.
func (p *Port) Idempotent(engine.Effect) bool { return true }
