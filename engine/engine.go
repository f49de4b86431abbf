package engine

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/store"
)

// Config is what an engine needs of its host.
type Config struct {
	Store       store.Store     // needed
	Definitions []*Definition   // that runs may have; see [Engine.Register]
	Ports       map[string]Port // by the name that effects ask for
	Clock       Clock           // nil is the machine's
	Random      io.Reader       // of tokens, salts and ids; nil is crypto/rand
	Owner       string          // of leases; "" draws one. No two engines of a store share it
	Lease       time.Duration   // how long a run stays with a worker that gives no sign; 0 is 30 s
	Poll        time.Duration   // how often Work looks for what is due, and who drives a run into its inbox; 0 is 1 s
	Parallel    int             // runs that Work drives at once; 0 is 64

	// Sign are the keys that sign the head of a log when its run is suspended or
	// over. Nil signs nothing, and a log is then never more than intact.
	Sign []ed25519.PrivateKey

	// Tokens is told of fresh tokens once the suspension that they end is durable.
	// Nil leaves them to the report of the call that led to them.
	Tokens func(Issued)
}

// Engine is the embedded driver: it lets machines run against a store, ports and
// a clock. A run that waits is nowhere but in the store. It is safe for
// concurrent use.
type Engine struct {
	c Config

	mu       sync.Mutex
	defs     map[artifact.Digest]*Definition
	sessions map[string]*session
}

// New gives an engine. It starts nothing: see [Engine.Start] and [Engine.Work].
func New(c Config) (*Engine, error) {
	if c.Store == nil {
		return nil, errors.New("new engine: no store")
	}
	if c.Clock == nil {
		c.Clock = SystemClock{}
	}
	if c.Random == nil {
		c.Random = rand.Reader
	}
	if c.Owner == "" {
		text, err := randomText(c.Random)
		if err != nil {
			return nil, err
		}
		c.Owner = "worker-" + text
	}
	c.Lease = orDefault(c.Lease, 30*time.Second)
	c.Poll = orDefault(c.Poll, time.Second)
	c.Parallel = orDefault(c.Parallel, 64)
	e := &Engine{c: c, defs: map[artifact.Digest]*Definition{}, sessions: map[string]*session{}}
	for _, d := range c.Definitions {
		if err := e.Register(d); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func orDefault[T ~int | ~int64](v, fallback T) T {
	if v == 0 {
		return fallback
	}
	return v
}

// maxCallDepth bounds how deep graphs call each other.
const maxCallDepth = 16

// Register adds a definition and those of the graphs that it calls, each under
// the authority that it would have there.
func (e *Engine) Register(d *Definition) error {
	if d == nil || d.digest.IsZero() {
		return errors.New("register: the definition was not made by Define")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.register(d, 0)
}

func (e *Engine) register(d *Definition, depth int) error {
	if depth > maxCallDepth {
		return fmt.Errorf("register %s: graphs call each other more than %d deep", d.Graph.ID, maxCallDepth)
	}
	if e.defs[d.digest] != nil {
		return nil
	}
	e.defs[d.digest] = d
	for i := range d.Graph.Nodes {
		n := &d.Graph.Nodes[i]
		if n.Kind != graph.KindCall {
			continue
		}
		// A call that is refused now is refused when it happens, and recorded then.
		if narrowed, denial := d.Policy.Handoff(n.Name, policy.Request(n.Authority.Capabilities, n.Authority.Namespaces)); denial == nil {
			if err := e.register(d.Calls[n.Name].narrowed(narrowed), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *Engine) definition(d artifact.Digest) *Definition {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.defs[d]
}

// Request starts a run.
type Request struct {
	Exec       string // execution id; "" draws one
	Definition *Definition
	State      artifact.Value // the initial state
	Owner      string         // the principal to whom the run belongs
	By         string         // who starts it; cannot decide its approvals
	Method     string         // how By is known; "" is asserted
	Key        artifact.Digest
	Agent      artifact.Digest // of the agent's document
	Limits     policy.Limits
}

// Report is what became of a run so far. Posted says that another process has the
// run: the input is in the run's inbox, that process takes it within a
// [Config.Poll], and [Engine.Await] waits for it. The rest of such a report is of
// the run as it was before.
type Report struct {
	Exec      string
	Status    store.Status
	Reason    string         // why it is suspended
	Code      string         // of a failure
	Error     string         // of a failure
	Result    artifact.Value // of a run that terminated
	State     graph.Snapshot
	Head      event.Head
	Steps     uint64
	Used      policy.Amount
	ElapsedMS uint64
	Proposals []Proposal // that are open
	Issued    []Issued   // tokens that the call led to
	Duplicate bool       // the signal was delivered before
	Kept      bool       // the signal is kept until the run comes to a wait for it
	Posted    bool       // the input is in the inbox of the run, for the process that has it

	Definition event.Definition // that the run has now
	Pinned     *PinnedError     // why this engine cannot continue it; nil if it can

	posting posting // of an input that is posted
}

// The reasons why a call on a run fails, besides a *[Refusal], a *[DeniedError]
// and the errors of the store.
var (
	// ErrLost means that another worker has the run now. Nothing that this one
	// does is stored any more.
	ErrLost = errors.New("the run belongs to another worker")
	// ErrStopped means that the context ended first. The run goes on when it is
	// driven again.
	ErrStopped = errors.New("stopped before the run could go on")
	// ErrExists means that the execution id is taken, for good.
	ErrExists = errors.New("the execution id is taken")
	// ErrTampered means that a stored checkpoint is not the one that the log names.
	ErrTampered = errors.New("the checkpoint is not the one that the log names")
)

// PinnedError is a run whose definition the engine does not have.
type PinnedError struct {
	Exec       string
	Definition event.Definition // of the run
	Differs    []string         // artifacts in which the nearest known definition differs
}

func (e *PinnedError) Error() string {
	return "run " + e.Exec + " is pinned to a definition that is not loaded; the nearest one differs in " + joined(e.Differs) +
		": load the old one, migrate the run or abandon it"
}

// Start begins a run and drives it until it waits for somebody or is over. When
// the context ends the run stays as it is, for [Engine.Work] or [Engine.Drive].
func (e *Engine) Start(ctx context.Context, r Request) (Report, error) {
	d := r.Definition
	if d == nil {
		return Report{}, errors.New("start: no definition")
	}
	if err := e.Register(d); err != nil {
		return Report{}, err
	}
	state, err := graph.NewSnapshot(d.Schema.ID, r.State)
	if err != nil {
		return Report{}, err
	}
	start := Start{
		Exec: r.Exec, State: state, Owner: r.Owner, By: r.By, Method: r.Method, Key: r.Key, Agent: r.Agent, Limits: r.Limits,
	}
	if start.Method == "" {
		start.Method = event.MethodAsserted
	}
	return e.start(ctx, d, start)
}

func (e *Engine) start(ctx context.Context, d *Definition, start Start) (Report, error) {
	if start.Exec == "" {
		text, err := randomText(e.c.Random)
		if err != nil {
			return Report{}, err
		}
		start.Exec = "run-" + strings.NewReplacer("-", ".", "_", ".").Replace(text)
	}
	if err := e.salt(d, &start); err != nil {
		return Report{Exec: start.Exec}, err
	}
	s, err := e.open(ctx, start.Exec, d)
	if errors.Is(err, errOpen) || errors.Is(err, store.ErrDeleted) {
		return Report{Exec: start.Exec}, fmt.Errorf("start %s: %w", start.Exec, ErrExists)
	}
	if err != nil {
		return Report{Exec: start.Exec}, err
	}
	r, err := s.run(ctx, start)
	if s.p.exec == "" && (errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrEnded)) {
		return Report{Exec: start.Exec}, fmt.Errorf("start %s: %w", start.Exec, ErrExists)
	}
	return r, err
}

// salt draws the salt of a run's redactions, where there may be any.
func (e *Engine) salt(d *Definition, start *Start) error {
	if _, restricted := d.Policy.Retention(event.AccessRestricted); !restricted && len(d.Policy.Redactions()) == 0 {
		return nil
	}
	if _, err := io.ReadFull(e.c.Random, start.Salt[:]); err != nil {
		return fmt.Errorf("draw the salt of %s: %w", start.Exec, err)
	}
	return nil
}

// Drive takes a run up where it stands: after a crash, or when its timers are
// due.
func (e *Engine) Drive(ctx context.Context, exec string) (Report, error) {
	return e.tell(ctx, exec, Recover{})
}

// Resume answers a node that waits for an input, with the token that it was
// given. A run that another process has gets it through its inbox, see [Report].
func (e *Engine) Resume(ctx context.Context, exec, token string, input artifact.Value, by string) (Report, error) {
	return e.tell(ctx, exec, Resume{Token: TokenDigest(token), Input: input, By: by})
}

// Decision is a person's decision about an approval.
type Decision struct {
	Proposal artifact.Digest // of the exact bytes that were shown
	Approve  bool
	Token    string // for the method token
	Approver string
	Method   string // "" is key where there is a signature, token where there is one, else asserted
	Answer   artifact.Value
	Reason   string

	// Signature is that of [SignDecision], for the method key. The engine checks it;
	// whose key it is, the caller knows.
	Signature []byte
}

// Decide takes a decision about an approval that is open, and drives the run on
// when it was the last one needed. A run that another process has gets it through
// its inbox, see [Report].
func (e *Engine) Decide(ctx context.Context, exec string, d Decision) (Report, error) {
	in := Decide{
		Proposal: d.Proposal, Approve: d.Approve, Approver: d.Approver, Method: d.Method, Answer: d.Answer, Reason: d.Reason, Signature: d.Signature,
	}
	if len(d.Signature) > 0 {
		key, err := decisionKey(d.Signature, d.Proposal, d.Approve, d.Answer)
		if err != nil {
			return Report{Exec: exec}, &Refusal{Code: RefusedSignature, Message: err.Error()}
		}
		in.Key = keyDigest(key)
	}
	if d.Token != "" {
		in.Token = TokenDigest(d.Token)
	}
	switch {
	case in.Method != "":
	case len(d.Signature) > 0:
		in.Method = event.MethodKey
	case d.Token != "":
		in.Method = event.MethodToken
	default:
		in.Method = event.MethodAsserted
	}
	return e.tell(ctx, exec, in)
}

// Reissue gives fresh tokens for an approval or an input whose tokens were lost.
// The old ones are void, and so is what was decided by then.
func (e *Engine) Reissue(ctx context.Context, exec string, r Reissue) (Report, error) {
	return e.tell(ctx, exec, r)
}

// Settle tells what a person knows of an effect whose outcome is unknown.
func (e *Engine) Settle(ctx context.Context, exec, key string, o Outcome, by string) (Report, error) {
	return e.tell(ctx, exec, EffectDone{Key: key, Outcome: o, Source: event.SourcePerson, By: by})
}

// Signal delivers an event from outside. A second delivery of one id has no
// effect, which the report says. An event that comes before the run waits for it is
// kept until it does, where the store has an inbox and the graph a wait for it. A
// run that another process has gets it through its inbox, see [Report].
func (e *Engine) Signal(ctx context.Context, exec string, s Signal) (Report, error) {
	return e.tell(ctx, exec, s)
}

// Cancel asks a run to stop, also inside a node and in the wait before a retry,
// and gives its end. A run that another process has is asked through its inbox: see
// [Report], and [Engine.Await] for its end.
func (e *Engine) Cancel(ctx context.Context, exec string, c Cancel) (Report, error) {
	if c.Method == "" {
		c.Method = methodOf(c.By)
	}
	return e.tell(ctx, exec, c)
}

// Migrate moves a run that waits to another definition.
func (e *Engine) Migrate(ctx context.Context, exec string, to *Definition, m Migrate) (Report, error) {
	if err := e.Register(to); err != nil {
		return Report{}, err
	}
	if m.Method == "" {
		m.Method = methodOf(m.By)
	}
	return e.tellAs(ctx, exec, to, m)
}

// Abandon ends a run that nobody can continue, such as one whose definition is
// gone. It needs none: nothing is waited for, and what is under way stays unknown.
func (e *Engine) Abandon(ctx context.Context, exec string, a Abandon) (Report, error) {
	if a.Method == "" {
		a.Method = methodOf(a.By)
	}
	nothing, err := noDefinition()
	if err != nil {
		return Report{}, err
	}
	return e.tellAs(ctx, exec, nothing, a)
}

func (e *Engine) tell(ctx context.Context, exec string, what Happening) (Report, error) {
	return e.tellAs(ctx, exec, nil, what)
}

// tellAs gives an input to the session that drives the run in this process, or
// drives the run itself until it waits again. A definition is given for runs that
// are pinned to another one.
func (e *Engine) tellAs(ctx context.Context, exec string, as *Definition, what Happening) (Report, error) {
	for {
		if done, ok := e.post(exec, what); ok {
			select {
			case a := <-done:
				if a.again {
					continue
				}
				return a.report, a.err
			case <-ctx.Done():
				return Report{Exec: exec}, fmt.Errorf("%w: %w", ErrStopped, context.Cause(ctx))
			}
		}
		s, err := e.open(ctx, exec, as)
		if errors.Is(err, errOpen) {
			continue
		}
		if errors.Is(err, store.ErrLeased) {
			return e.deliver(ctx, exec, what, err)
		}
		if err != nil {
			return Report{Exec: exec}, err
		}
		if err := s.load(ctx, as); err != nil {
			s.close(ctx)
			return Report{Exec: exec}, err
		}
		return s.run(ctx, what)
	}
}
