package engine

import (
	"context"
	"fmt"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
)

// goneError is content that a replay needs and does not have.
type goneError struct {
	digest artifact.Digest
	what   string
}

func (e *goneError) Error() string { return e.what + " is not kept" }

// damagedError is content that is there and is not what the log names.
type damagedError struct {
	digest, found artifact.Digest
	what          string
}

func (e *damagedError) Error() string { return e.what + " was changed in the store" }

func (r *replay) blob(d artifact.Digest, what string) ([]byte, error) {
	return r.content(d, what, artifact.Sum)
}

func (r *replay) content(d artifact.Digest, what string, sum func([]byte) artifact.Digest) ([]byte, error) {
	return r.held(d, what, sum, func() ([]byte, error) { return r.o.Content.Blob(d) })
}

// checkpoint gives the checkpoint that an event of the run exec announced.
func (r *replay) checkpoint(exec string, seq uint64, announced *event.Checkpointed, what string) ([]byte, error) {
	return r.held(announced.Checkpoint, what, artifact.Sum, func() ([]byte, error) { return r.o.Content.Checkpoint(exec, seq) })
}

// held reads content and holds it against the digest that the log names.
func (r *replay) held(d artifact.Digest, what string, sum func([]byte) artifact.Digest, read func() ([]byte, error)) ([]byte, error) {
	if r.o.Content == nil {
		return nil, &goneError{d, what}
	}
	data, err := read()
	if err != nil {
		return nil, &goneError{d, what}
	}
	if found := sum(data); found != d {
		return nil, &damagedError{d, found, what}
	}
	return data, nil
}

func (r *replay) value(rec event.Recorded, what string) (artifact.Value, error) {
	sum := artifact.Sum
	if !rec.Salt.IsZero() {
		if r.p.salt == (event.Salt{}) {
			return artifact.Value{}, &goneError{rec.Digest, "the salt of " + what}
		}
		sum = r.p.salt.Digest
	}
	data, err := r.content(rec.Digest, what, sum)
	if err != nil {
		return artifact.Value{}, err
	}
	return artifact.ParseValue(data)
}

func (r *replay) optional(rec *event.Recorded, what string) (artifact.Value, error) {
	if rec == nil {
		return artifact.Value{}, nil
	}
	return r.value(*rec, what)
}

// begin finds the definition that the log begins with.
func (r *replay) begin(seg []event.Event) error {
	started, ok := seg[0].Body.(*event.Started)
	if !ok {
		return fmt.Errorf("replay: the log does not begin with started")
	}
	if err := r.define(started.Definition); err != nil {
		return err
	}
	r.v.Exec, r.work = seg[0].Exec, map[string]Work{}
	if r.o.Mode == LiveEffects {
		return r.authorize(seg[0])
	}
	return nil
}

func (r *replay) define(want event.Definition) error {
	var nearest []string
	for _, d := range r.o.Definitions {
		if d.digests == want {
			r.m = NewMachine(d)
			return nil
		}
		if diff := differences(want, d.digests); nearest == nil || len(diff) < len(nearest) {
			nearest = diff
		}
	}
	// A definition whose handlers alone have changed is tried: what they do
	// differently is what the replay is to name.
	for _, d := range r.o.Definitions {
		if diff := differences(want, d.digests); len(diff) == 1 && diff[0] == "node implementations" && r.o.Mode != VerifyOnly {
			changed := *d
			changed.digests = want
			r.m = NewMachine(&changed)
			return nil
		}
	}
	return &PinnedError{Exec: r.v.Exec, Definition: want, Differs: nearest}
}

// infer gives the input that the machine was told, from the events that followed.
func (r *replay) infer(seg []event.Event) (Input, error) {
	first := seg[0]
	in := Input{NowMS: seg[len(seg)-1].AtMS}
	r.cause = "the log was changed, or the machine follows other rules"
	var err error
	switch b := first.Body.(type) {
	case *event.Started:
		in.What, err = r.inferStart(seg, b)
	case *event.EffectSettled:
		in.What, err = r.inferSettled(seg, b)
	case *event.EffectFailed:
		in.What = EffectDone{Key: b.Key, Source: b.Source, By: resumedBy(seg), Outcome: Outcome{
			Failed: true, Class: b.Class, Error: b.Error, Retryable: b.Retryable, Usage: amountFrom(b.Usage),
		}}
	case *event.EffectUnknown:
		in.What = EffectLost{Key: b.Key, Reason: b.Reason, Again: authorizedAgain(seg[1:])}
	case *event.Resumed:
		if th := r.p.at(first.Node, first.Visit, first.Attempt); th != nil && th.effect != nil {
			in.What = EffectLost{Key: th.effect.key, Again: true}
		}
	case *event.ApprovalDecided:
		in.What, err = r.inferDecision(seg, b)
	case *event.TimerStopped:
		if d, ok := seg[1].Body.(*event.ApprovalDecided); ok {
			in.What, err = r.inferDecision(seg[1:], d)
		}
	case *event.TimerFired:
		in.What = TimerDue{b.Timer}
	case *event.EventReceived:
		var payload artifact.Value
		payload, err = r.value(b.Payload, "the payload of an event")
		in.What = Signal{Name: b.Wait, ID: b.ID, Payload: payload, By: b.By, Method: b.Method}
	case *event.CallReturned:
		in.What, err = r.inferReturn(b)
	case *event.CancelRequested:
		in.What = Cancel{By: b.By, Method: b.Method, Reason: b.Reason}
	case *event.Abandoned:
		in.What = Abandon{By: b.By, Method: b.Method, Reason: b.Reason}
	case *event.Migrated:
		if err = r.define(b.To); err == nil {
			in.What = Migrate{By: b.By, Method: b.Method, Reason: b.Reason}
		}
	default:
		in.What, err = r.inferNode(seg)
	}
	return in, err
}

// inferStart takes what the first event does not say from the first checkpoint,
// whose digest the log has.
func (r *replay) inferStart(seg []event.Event, started *event.Started) (Happening, error) {
	s := Start{Exec: seg[0].Exec, Owner: started.Owner, By: started.By, Method: started.Method, Parent: started.Parent}
	last := seg[len(seg)-1]
	announced, ok := last.Body.(*event.Checkpointed)
	if !ok {
		return s, &goneError{started.State, "the first checkpoint"}
	}
	data, err := r.checkpoint(s.Exec, last.Seq, announced, "the first checkpoint")
	if err != nil {
		return s, err
	}
	reader, err := checkpointReader(data, "checkpoint")
	if err != nil {
		return s, err
	}
	o := reader.Root().Object()
	s.Key, s.Taint = readDigest(o.May("key")), policy.ReadMarks(o.May("given"))
	if ref := readDigest(o.May("salt")); !ref.IsZero() {
		salt, err := r.blob(ref, "the salt")
		if err != nil {
			return s, err
		}
		copy(s.Salt[:], salt)
	}
	if s.Parent != nil && s.Parent.Kind == event.LinkFork {
		return r.inferFork(s)
	}
	bounds, _ := o.Need("ledger").Value().Get("bounds")
	if s.ledger, err = emptyLedger(r.m.def.Policy, bounds); err != nil {
		return s, err
	}
	initial, err := r.blob(started.State, "the initial state")
	if err != nil {
		return s, err
	}
	state, err := artifact.ParseValue(initial)
	s.State = graph.Snapshot{SchemaID: r.m.def.Schema.ID, Revision: started.Revision, Value: state}
	return s, err
}

// emptyLedger gives a ledger with the bounds of another one.
func emptyLedger(p *policy.Policy, bounds artifact.Value) (*policy.Ledger, error) {
	empty := artifact.ObjectValue()
	doc := artifact.ObjectValue(
		member("version", artifact.UintValue(2)), member("bounds", bounds), member("accounts", empty),
		member("holds", empty), member("overrun", artifact.StringValue("")),
	)
	reader := artifact.NewFirstReader(artifact.DocumentOf(doc, "ledger"))
	l := p.RestoreLedger(reader.Root())
	return l, reader.Err()
}

// inferFork takes the position of the checkpoint that a fork began from.
func (r *replay) inferFork(s Start) (Happening, error) {
	linked, err := r.blob(s.Parent.Digest, "the event that the fork began from")
	if err != nil {
		return s, err
	}
	e, err := event.Decode(linked)
	if err != nil {
		return s, err
	}
	announced, ok := e.Body.(*event.Checkpointed)
	if !ok {
		return s, fmt.Errorf("replay: the link of the fork names a %s", e.Type)
	}
	data, err := r.checkpoint(s.Parent.Exec, s.Parent.Seq, announced, "the checkpoint that the fork began from")
	if err != nil {
		return s, err
	}
	from, err := r.m.Restore(data, event.Head{Exec: s.Parent.Exec, Seq: s.Parent.Seq, Digest: s.Parent.Digest})
	if err != nil {
		return s, err
	}
	s.From = &from
	return s, nil
}

// inferSettled gives the recorded result, or where it is not kept what the log
// says came of it.
func (r *replay) inferSettled(seg []event.Event, b *event.EffectSettled) (Happening, error) {
	done := EffectDone{Key: b.Key, Source: b.Source, By: resumedBy(seg), Outcome: Outcome{Kind: b.Result.Kind, Access: b.Result.Access, Usage: amountFrom(b.Usage)}}
	if r.o.Mode == LiveEffects {
		return r.again(done)
	}
	result, err := r.value(b.Result, "the result of an effect")
	if err == nil {
		done.Outcome.Result = result
		return done, nil
	}
	if _, gone := err.(*goneError); !gone {
		return nil, err
	}
	r.v.Unverifiable = append(r.v.Unverifiable, Unverifiable{seg[0].Seq, b.Result.Digest, err.Error()})
	step := &recordedStep{result: b.Result}
	for _, e := range seg[1:] {
		if e.Node != seg[0].Node || e.Visit != seg[0].Visit {
			continue
		}
		switch x := e.Body.(type) {
		case *event.StatePatched:
			if step.patch, err = graph.DecodePatch([]byte(x.Patch), "patch"); err != nil {
				return nil, err
			}
		case *event.Routed:
			step.edge, step.way = graph.Edge{Route: x.Route, To: x.To}, x.Outcome
		}
	}
	done.recorded = step
	return done, nil
}

// again asks a port once more, under a key of the replay's own. What it gives is held
// against the digest of the recorded result, so that need not be kept.
func (r *replay) again(done EffectDone) (Happening, error) {
	if r.p.withEffect(done.Key) == nil {
		return done, nil // the machine refuses what was not asked for
	}
	out, err := r.m.Step(r.p, Input{NowMS: r.p.lastMS, What: Recover{}})
	if err != nil {
		return nil, err
	}
	for _, e := range out.Effects {
		if e.Key != done.Key {
			continue
		}
		e.Key, e.Lost = "replay-"+artifact.Sum([]byte(e.Key+r.o.Authorization.Nonce)).Hex(), false
		r.v.Calls++
		r.cause = "the effect gives another outcome today"
		switch what := perform(r.ctx, r.o.Ports[e.Port], e).what.(type) {
		case EffectDone:
			what.Key, what.Source, what.By = done.Key, done.Source, done.By
			what.Outcome.Usage.DurationMS = done.Outcome.Usage.DurationMS // no two calls take equally long
			return what, nil
		}
	}
	return nil, fmt.Errorf("replay: effect %s gave no outcome", done.Key)
}

func resumedBy(seg []event.Event) string {
	for _, e := range seg {
		if b, ok := e.Body.(*event.Resumed); ok {
			return b.By
		}
	}
	return ""
}

func authorizedAgain(seg []event.Event) bool {
	for _, e := range seg {
		switch e.Body.(type) {
		case *event.EffectAuthorized, *event.EffectDenied:
			return true
		case *event.Suspended:
			return false
		}
	}
	return false
}

func (r *replay) inferDecision(seg []event.Event, b *event.ApprovalDecided) (Happening, error) {
	if b.Decision == event.DecisionWithdraw {
		return Reissue{Proposal: b.Proposal, By: b.Approver, Method: b.Method}, nil
	}
	var input artifact.Value
	var by, method string
	for _, e := range seg {
		if x, ok := e.Body.(*event.Resumed); ok && e.Node == seg[0].Node {
			var err error
			if input, err = r.optional(x.Input, "the answer of a person"); err != nil {
				return nil, err
			}
			by, method = x.By, x.Method
			break
		}
	}
	if th := r.p.at(seg[0].Node, seg[0].Visit, seg[0].Attempt); th != nil && th.phase == awaitInput {
		return Resume{Token: b.Credential, Input: input, By: by, Method: method, Node: seg[0].Node}, nil
	}
	d := Decide{Proposal: b.Proposal, Approve: b.Decision == event.DecisionApprove, Approver: b.Approver, Method: b.Method, Answer: input, Reason: b.Reason, replayed: b.Quorum == event.QuorumPending}
	if b.Method == event.MethodToken {
		d.Token = b.Credential
		return d, nil
	}
	d.Key = b.Credential
	if b.Signature != nil {
		var err error
		if d.Signature, err = r.blob(b.Signature.Digest, "the signature of a decision"); err != nil {
			return nil, err
		}
		if err := checkSignature(b, d.Signature); err != nil {
			r.diverge(seg[0].Seq, b.Type(), seg[0].Node, "/body/signature", "a signature by "+b.Approver, err.Error(), "the decision was not signed so")
			return nil, nil
		}
	}
	return d, nil
}

func (r *replay) inferReturn(b *event.CallReturned) (Happening, error) {
	done := CallDone{Exec: b.Exec, Outcome: b.Outcome, Head: event.Head{Exec: b.Exec, Seq: b.Events, Digest: b.Head}, Used: amountFrom(b.Usage)}
	if b.Outcome != event.EndTerminated {
		done.Error = b.Error
	}
	var err error
	done.Result, err = r.optional(b.Result, "the result of a called run")
	return done, err
}

// inferNode gives the outcome of a handler, or for other nodes that the walk went
// on by itself.
func (r *replay) inferNode(seg []event.Event) (Happening, error) {
	first := seg[0]
	th := r.p.at(first.Node, first.Visit, first.Attempt)
	if th == nil || th.phase != working {
		if r.p.ready() {
			return Recover{}, nil
		}
		return nil, nil
	}
	done := NodeDone{Node: th.node, Visit: th.visit, Attempt: th.attempt, StartedMS: th.fromMS}
	if first.Type == event.TypeNodeStarted {
		done.StartedMS = first.AtMS
	}
	if err := r.recorded(seg, th, &done); err != nil {
		return nil, err
	}
	if r.o.Mode != VerifyOnly && !done.Timeout {
		return r.rerun(done)
	}
	return done, nil
}

// recorded reads the outcome of a handler off the log.
func (r *replay) recorded(seg []event.Event, th *thread, done *NodeDone) error {
	o := &done.Result.Outcome
	o.Kind = graph.Continue
	use := func(u event.Usage) { done.Result.Tokens, done.Result.CostMicros = u.Tokens, u.Cost["USD"] }
	var err error
	for _, e := range seg {
		if e.Node != th.node || e.Visit != th.visit || e.Attempt != th.attempt {
			continue
		}
		switch b := e.Body.(type) {
		case *event.StatePatched:
			if o.Patch, err = graph.DecodePatch([]byte(b.Patch), "patch"); err != nil {
				return err
			}
			o.Patch.BaseRevision = (&turn{p: r.p}).view(th).Revision
		case *event.Routed:
			use(b.Usage)
			if b.Outcome == event.OutcomeRoute {
				o.Kind, o.Route = graph.Routed, b.Route
			}
			return nil
		case *event.Retrying:
			use(b.Usage)
			done.failed = &failure{class: b.Class, text: b.Error, retryable: true, used: graph.Usage{Tokens: done.Result.Tokens, CostMicros: done.Result.CostMicros}}
			return nil
		case *event.Suspended:
			use(b.Usage)
			o.Kind, o.Reason = graph.Suspend, b.Reason
			return nil
		case *event.Terminated:
			use(b.Usage)
			o.Kind = graph.Terminate
			o.Result, err = r.value(b.Result, "the result of the run")
			return err
		case *event.Failed:
			use(b.Usage)
			r.recordedFailure(b, done)
			return nil
		}
	}
	return nil
}

func (r *replay) recordedFailure(b *event.Failed, done *NodeDone) {
	switch {
	case b.Code == string(policy.CodeBudgetExhausted) && len(b.Error) >= 7 && b.Error[:7] == "timeout":
		done.Timeout = true
	case b.Code == string(policy.CodeBudgetExhausted): // follows from the usage
	case done.Result.Outcome.Patch != nil: // follows from the graph: it has no way on
	default:
		done.failed = &failure{code: b.Code, text: b.Error, used: graph.Usage{Tokens: done.Result.Tokens, CostMicros: done.Result.CostMicros}}
	}
}

// rerun runs the handler again, on what it was given then.
func (r *replay) rerun(recorded NodeDone) (Happening, error) {
	w, ok := r.work[workKey(recorded.Node, recorded.Visit, recorded.Attempt)]
	if !ok {
		return recorded, nil
	}
	if f := recorded.failed; f != nil && f.class == graph.ClassTimeout {
		return recorded, nil
	}
	r.v.Handlers++
	r.cause = "the handler of " + recorded.Node + " gives another outcome"
	j := &job{work: w, startedMS: recorded.StartedMS}
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	return runHandler(ctx, r.m.def.Handlers[w.Handler].Run, j), nil
}

func amountFrom(u event.Usage) policy.Amount {
	a := policy.Amount{Calls: u.Calls, Tokens: u.Tokens, Units: u.Units, DurationMS: u.DurationMS}
	if len(u.Cost) > 0 {
		a.Cost = policy.Money(u.Cost)
	}
	return a
}
