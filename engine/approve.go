package engine

import (
	"crypto/subtle"
	"fmt"
	"slices"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/store"
)

// proposal is what people are asked to decide about.
type proposal struct {
	action string
	show   artifact.Value
	effect string // key of the effect that waits
	schema artifact.Digest
	need   uint32
	method string
	due    int64 // when nobody is asked any more; 0 for never
}

// propose asks people about an approve node.
func (t *turn) propose(th *thread, n *graph.Node) {
	t.announce(th)
	show, err := n.EvalArgs(graph.Scope{State: t.view(th).Value, Visit: t.p.visitsAt(n, th.visit)})
	if err != nil {
		t.failNode(th, n, failure{class: graph.ClassInvalid, code: "invalid", text: err.Error()})
		return
	}
	permit, denial := t.def.Policy.Authorize(policy.Call{Kind: policy.KindApproval, Name: n.Name, NowMS: t.now, Starter: t.p.starter}, t.p.ledger)
	if denial != nil {
		t.failNode(th, n, failure{class: classDenied, code: string(denial.Code), text: denial.Message + " (" + denial.Rule + ")"})
		return
	}
	p := proposal{action: n.Name, show: t.redact(event.ScopeArgs, show), need: uint32(max(uint64(n.Quorum), permit.Approval.Quorum, 1)), method: permit.Approval.Method.String()}
	if n.Answer != nil {
		p.schema = n.Answer.Digest()
	}
	p.due = t.deadline(th, n)
	t.ask(th, p)
}

// proposeEffect asks people about an effect that policy lets happen only then.
func (t *turn) proposeEffect(th *thread, n *graph.Node, call policy.Call, r *policy.Requirement) {
	show := artifact.ObjectValue(
		member("kind", artifact.StringValue(call.Kind.String())), member("name", artifact.StringValue(call.Name)),
		member("args", t.redact(event.ScopeArgs, call.Args)),
	)
	due := int64(0) // people are not held to the timeout of an attempt
	if n.DeadlineMillis > 0 {
		due = th.visitMS + int64(n.DeadlineMillis)
	}
	t.ask(th, proposal{
		action: call.Kind.String() + " " + call.Name, show: show, effect: th.effect.key, need: uint32(max(r.Quorum, 1)),
		method: r.Method.String(), due: due,
	})
}

// ask stages an approval and suspends the thread until it is decided.
func (t *turn) ask(th *thread, p proposal) {
	t.stage(th, p)
	th.phase = approval
	th.asked.effect = p.effect != ""
	if p.due > 0 {
		t.setTimer(th, "expiry", p.due)
	}
	t.emit(th, &event.Suspended{Cause: event.CauseApproval, Reason: clip(p.action), Schema: p.schema, ExpiresMS: p.due, Left: t.budget()})
}

// stage records a proposal with its tokens. The digest is that of the exact bytes
// to be shown, which name run, node and visit: an approval of one is never one of
// another.
func (t *turn) stage(th *thread, p proposal) {
	doc := artifact.ObjectValue(
		member("version", artifact.UintValue(1)),
		member("exec", artifact.StringValue(t.p.exec)), member("node", artifact.StringValue(th.node)),
		member("visit", artifact.UintValue(uint64(th.visit))), member("attempt", artifact.UintValue(uint64(th.attempt))),
		member("seq", artifact.UintValue(t.next())), member("action", artifact.StringValue(p.action)),
		member("show", p.show), member("policy", artifact.StringValue(t.p.definition.Policy.String())),
		member("expires_ms", artifact.IntValue(p.due)),
	)
	shown := t.keep(event.ScopeArgs, "proposal", accessRun, doc)
	a := &openApproval{
		proposal: shown.Digest, action: p.action, schema: p.schema, need: p.need, method: p.method, policy: t.p.definition.Policy, expiresMS: p.due,
	}
	if t.mint != nil && p.method != event.MethodKey { // which no token can replace
		a.tokens = slices.Clone(t.mint.Mint(a.proposal, int(p.need)))
	}
	th.asked = a
	t.emit(th, &event.ApprovalStaged{
		Proposal: a.proposal, Shown: shown, Action: clip(p.action), Effect: p.effect, Schema: p.schema, Policy: a.policy,
		Method: p.method, Need: p.need, Tokens: a.tokens, ExpiresMS: p.due,
	})
}

func (p *Position) withProposal(d artifact.Digest) *thread {
	for i := range p.threads {
		if a := p.threads[i].asked; a != nil && a.proposal == d && p.threads[i].phase == approval {
			return &p.threads[i]
		}
	}
	return nil
}

// decide takes one person's decision. A refused one leaves everything as it was,
// the token too.
func (t *turn) decide(in Decide) *Refusal {
	th := t.p.withProposal(in.Proposal)
	if th == nil {
		return t.noProposal(in)
	}
	n, a := t.node(th), th.asked
	credential, refusal := t.checkDecision(th, in)
	if refusal != nil {
		return refusal
	}
	method, _ := policy.ParseMethod(in.Method)
	d := policy.Decision{
		Proposal: in.Proposal, Approve: in.Approve, By: policy.Principal{Name: in.Approver, Credential: credential}, Method: method, DecidedMS: t.now,
	}
	after := *a
	after.decisions = append(slices.Clip(a.decisions), d)
	th.asked = &after
	have := distinct(after.decisions)
	quorum := event.QuorumPending
	switch {
	case !in.Approve:
		quorum = event.QuorumDenied
	case have >= a.need:
		quorum = event.QuorumApproved
	}
	decision := event.DecisionApprove
	if !in.Approve {
		decision = event.DecisionDeny
	}
	t.p.lastMS = max(t.p.lastMS, t.now)
	t.emit(th, &event.ApprovalDecided{
		Proposal: in.Proposal, Decision: decision, Method: in.Method, Approver: clip(in.Approver), Credential: credential, Signature: t.keepSignature(in.Signature),
		Reason: t.text(in.Reason), Have: have, Need: a.need, Quorum: quorum,
	})
	if quorum != event.QuorumPending {
		t.spend(&after)
		t.decided(th, n, in, quorum == event.QuorumApproved)
	}
	return nil
}

// spend remembers the tokens that were used for an approval that closes, so that a
// second use is told apart from a token that never was.
func (t *turn) spend(a *openApproval) {
	for _, d := range a.decisions {
		if d.Method == policy.MethodToken {
			t.remember(tokenMark(d.By.Credential))
		}
	}
}

// keepSignature keeps the bytes of a signature, which hold digests and nothing else.
func (t *turn) keepSignature(data []byte) *event.Recorded {
	if len(data) == 0 {
		return nil
	}
	r := event.NewRecorded("signature", accessRun, data)
	t.out.Blobs = append(t.out.Blobs, store.Blob{Digest: r.Digest, Bytes: data})
	return &r
}

// distinct counts approvers: each credential is one, and all without are one.
func distinct(decisions []policy.Decision) uint32 {
	seen := map[artifact.Digest]bool{}
	for _, d := range decisions {
		if d.Approve {
			seen[d.By.Credential] = true
		}
	}
	return uint32(len(seen))
}

// noProposal says why no approval is open for a decision.
func (t *turn) noProposal(in Decide) *Refusal {
	if !in.Token.IsZero() && slices.Contains(t.p.seen, tokenMark(in.Token)) {
		return &Refusal{Code: RefusedUsed, Message: "the token was used"}
	}
	for i := range t.p.threads {
		if a := t.p.threads[i].asked; a != nil && t.p.threads[i].phase == approval {
			return &Refusal{Code: RefusedProposal, Message: "the run asks about " + a.proposal.String() + ", not about " + in.Proposal.String()}
		}
	}
	return &Refusal{Code: RefusedNotWaiting, Message: "the run waits for no decision about " + in.Proposal.String()}
}

// checkDecision holds a decision against what was staged and gives the credential
// that counts.
func (t *turn) checkDecision(th *thread, in Decide) (artifact.Digest, *Refusal) {
	a := th.asked
	refuse := func(code, format string, args ...any) (artifact.Digest, *Refusal) {
		return artifact.Digest{}, &Refusal{Code: code, Message: fmt.Sprintf(format, args...)}
	}
	method, known := policy.ParseMethod(in.Method)
	least, _ := policy.ParseMethod(a.method)
	credential := in.Key
	if in.Method == event.MethodToken {
		credential = in.Token
	}
	switch {
	case a.expiresMS != 0 && t.now >= a.expiresMS:
		return refuse(RefusedExpired, "the approval expired")
	case a.policy != t.p.definition.Policy:
		return refuse(RefusedPolicy, "the approval was staged under another policy")
	case !known:
		return refuse(RefusedWeak, "%q is no way to know an approver", clip(in.Method))
	case in.Method == event.MethodToken && !holds(a.tokens, in.Token):
		return refuse(RefusedToken, "the token is not one of this approval")
	case !credential.IsZero() && usedBefore(a.decisions, credential):
		return refuse(RefusedUsed, "the token or key was used for this approval before")
	case method >= policy.MethodToken && credential.IsZero():
		return refuse(RefusedToken, "a decision by %s needs the %s", in.Method, in.Method)
	case in.Approve && method < least:
		return refuse(RefusedWeak, "needs %s or stronger, is %s", a.method, in.Method)
	case in.Approve && policy.SamePrincipal(policy.Principal{Name: in.Approver, Credential: credential}, t.p.starter):
		return refuse(RefusedStarter, "whoever started the run cannot approve it")
	}
	if !in.Approve {
		return credential, nil
	}
	return credential, t.checkAnswer(th, in)
}

// checkAnswer holds the answer against its schema, and the decision against the
// policy as it is now.
func (t *turn) checkAnswer(th *thread, in Decide) *Refusal {
	n := t.node(th)
	if n.Answer != nil && !th.asked.effect && !in.replayed {
		if err := n.Answer.Validate(in.Answer); err != nil {
			return &Refusal{Code: RefusedInput, Message: err.Error(), Pointer: lastPath(err)}
		}
	}
	if !th.asked.effect && !in.replayed {
		if refusal := t.takes(th, n, in.Answer); refusal != nil {
			return refusal
		}
	}
	_, denial := t.def.Policy.Authorize(policy.Call{Kind: policy.KindApproval, Name: th.asked.action, NowMS: t.now, Starter: t.p.starter}, t.p.ledger)
	if denial != nil {
		return &Refusal{Code: string(denial.Code), Message: denial.Message + " (" + denial.Rule + ")"}
	}
	return nil
}

// lastPath gives the path that a schema violation ends with.
func lastPath(err error) string {
	v, ok := err.(*graph.SchemaViolationError)
	if !ok {
		return ""
	}
	for i := range len(v.Text) {
		if v.Text[i] == '/' {
			return v.Text[i:]
		}
	}
	return ""
}

// holds looks for a digest in constant time.
func holds(tokens []artifact.Digest, token artifact.Digest) bool {
	found := 0
	for _, have := range tokens {
		found |= subtle.ConstantTimeCompare(have[:], token[:])
	}
	return found == 1 && !token.IsZero()
}

func usedBefore(decisions []policy.Decision, credential artifact.Digest) bool {
	return slices.ContainsFunc(decisions, func(d policy.Decision) bool { return d.By.Credential == credential })
}

// decided goes on after the last decision.
func (t *turn) decided(th *thread, n *graph.Node, in Decide, approved bool) {
	t.stopTimer(th)
	answer := t.redact(event.ScopeArgs, in.Answer)
	resumed := &event.Resumed{Cause: event.CauseApproval, By: clip(in.Approver), Method: in.Method}
	if approved && !answer.IsNull() {
		r := t.keep(event.ScopeArgs, "json", accessRun, answer)
		resumed.Input = &r
	}
	t.emit(th, resumed)
	th.fromMS = t.now
	a := th.asked
	switch {
	case a.effect:
		t.decidedEffect(th, n, approved)
	case approved:
		th.asked = nil
		t.complete(th, n, answer, graph.Usage{})
	default:
		th.asked = nil
		t.failNode(th, n, failure{class: classDenied, code: string(policy.CodeApprovalRejected), text: "denied by " + clip(in.Approver) + ": " + in.Reason})
	}
}

// decidedEffect authorizes again the effect that was waiting: policy, budget and
// arguments are those of now.
func (t *turn) decidedEffect(th *thread, n *graph.Node, approved bool) {
	a := th.asked
	if !approved {
		t.denied(th, n, &policy.Denial{Code: policy.CodeApprovalRejected, Message: "the proposal was rejected", Rule: "people"})
		return
	}
	_, call, err := t.effectCall(th, n)
	if err != nil {
		t.fail(err)
		return
	}
	call.Proposal, call.Decisions = a.proposal, a.decisions
	permit, denial := t.def.Policy.Authorize(call, t.p.ledger)
	if denial != nil {
		t.denied(th, n, denial)
		return
	}
	th.effect.proposal = a.proposal
	th.effect.deadlineMS = t.deadline(th, n)
	t.authorize(th, n, permit)
}

// resume gives a suspended handler the input that it asked for.
func (t *turn) resume(in Resume) *Refusal {
	var th *thread
	waits := false
	for i := range t.p.threads {
		x := &t.p.threads[i]
		if x.phase != awaitInput || in.Node != "" && in.Node != x.node {
			continue
		}
		waits = true
		if holds(x.asked.tokens, in.Token) {
			th = x
		}
	}
	switch {
	case !waits:
		return &Refusal{Code: RefusedNotWaiting, Message: "the run waits for no input"}
	case th == nil && slices.Contains(t.p.seen, tokenMark(in.Token)):
		return &Refusal{Code: RefusedUsed, Message: "the token was used"}
	case th == nil:
		return &Refusal{Code: RefusedToken, Message: "the token is not one that the run waits for"}
	}
	value, err := artifact.CanonicalValue(in.Input)
	if err != nil {
		return &Refusal{Code: RefusedInput, Message: err.Error()}
	}
	value = t.redact(event.ScopeArgs, value)
	a := th.asked
	t.p.lastMS = max(t.p.lastMS, t.now)
	t.emit(th, &event.ApprovalDecided{
		Proposal: a.proposal, Decision: event.DecisionApprove, Method: event.MethodToken, Approver: clip(in.By), Credential: in.Token,
		Have: 1, Need: 1, Quorum: event.QuorumApproved,
	})
	r := t.keep(event.ScopeArgs, "json", accessRun, value)
	t.emit(th, &event.Resumed{Cause: event.CauseInput, Input: &r, By: clip(in.By), Method: methodOr(in.Method)})
	t.remember(tokenMark(in.Token))
	th.asked, th.phase, th.fromMS, th.fresh = nil, working, t.now, true
	th.input = artifact.Some(value)
	return nil
}

func methodOr(method string) string {
	if method == "" {
		return event.MethodToken
	}
	return method
}

// tokenMark is how a used token is remembered, by its digest.
func tokenMark(d artifact.Digest) string { return "token:" + d.Hex() }

// remember keeps an id so that it is not consumed twice.
func (t *turn) remember(id string) {
	seen := append(slices.Clip(t.p.seen), id)
	t.p.seen = seen[max(0, len(seen)-maxSeen):]
}

// reissue withdraws an approval and stages it again.
func (t *turn) reissue(in Reissue) *Refusal {
	var th *thread
	for i := range t.p.threads {
		if a := t.p.threads[i].asked; a != nil && a.proposal == in.Proposal {
			th = &t.p.threads[i]
		}
	}
	if th == nil || th.phase != approval && th.phase != awaitInput {
		return &Refusal{Code: RefusedNotWaiting, Message: "the run waits for no decision about " + in.Proposal.String()}
	}
	n, a := t.node(th), th.asked
	cause := event.CauseApproval
	if th.phase == awaitInput {
		cause = event.CauseInput
	}
	t.stopTimer(th)
	method := methodFor(in.By, in.Method)
	t.emit(th, &event.ApprovalDecided{
		Proposal: a.proposal, Decision: event.DecisionWithdraw, Method: method, Approver: clip(in.By), Need: a.need, Quorum: event.QuorumClosed,
	})
	t.spend(a)
	t.emit(th, &event.Resumed{Cause: cause, By: clip(in.By), Method: method})
	switch {
	case cause == event.CauseInput:
		t.stage(th, proposal{action: a.action, show: artifact.StringValue(a.action), need: 1, method: event.MethodToken})
		t.emit(th, &event.Suspended{Cause: cause, Reason: clip(a.action), Left: t.budget()})
	case a.effect:
		_, call, err := t.effectCall(th, n)
		if err != nil {
			t.fail(err)
			return nil
		}
		least, _ := policy.ParseMethod(a.method)
		t.proposeEffect(th, n, call, &policy.Requirement{Quorum: uint64(a.need), Method: least})
	default:
		t.propose(th, n)
	}
	return nil
}
