package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/schema"
)

// Authorize decides about one effect before it happens. It gives a permit, or a
// denial with the reason, what decided, and the smallest change to the pack that
// would permit the call. It changes nothing: reserve the permit's amount with
// [Ledger.Reserve] before performing the effect. A nil ledger is an empty one.
//
// The checks, in order: the call is well-formed; the pack is valid now; the
// effect is granted; its namespace; its capabilities; what its kind demands; its
// arguments; conditions; what one call and all calls may use; approvals. The
// first that fails decides, and the others are told too.
func (p *Policy) Authorize(call Call, ledger *Ledger) (Permit, *Denial) {
	j := judge{policy: p, ledger: ledger}
	if !j.wellFormed(&call) {
		return Permit{}, j.verdict(&call)
	}
	j.inTime(call.NowMS)
	switch call.Kind {
	case KindApproval:
		j.mayAsk(&call)
	case KindState:
		j.namespace(call.Name, call.Action == "write")
		j.amount(&call)
	default:
		j.effect(&call)
	}
	if j.denial != nil {
		return Permit{}, j.verdict(&call)
	}
	return j.permit(&call), nil
}

// judge is one decision. The call is handed from check to check and not kept, so
// that it need not be copied to the heap.
type judge struct {
	policy *Policy
	ledger *Ledger
	rule   *rule // nil when nothing grants the effect
	need   Amount

	timeoutMS uint64
	approved  bool
	denial    *Denial // nil as long as nothing refuses
	fix       fixer
	unsaid    bool // not all arguments of the program are known
}

// deny notes a reason. The first one is the denial.
func (j *judge) deny(code Code, rule, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if j.denial == nil {
		j.denial = &Denial{Code: code, Message: message, Rule: rule}
		return
	}
	j.denial.Also = append(j.denial.Also, Reason{code, message, rule})
}

func (j *judge) verdict(c *Call) *Denial {
	j.denial.Kind, j.denial.Name, j.denial.Namespace = c.Kind, c.Name, c.Namespace
	j.denial.Fix = j.fix.build(j.policy.pack)
	return j.denial
}

func (j *judge) permit(c *Call) Permit {
	permit := Permit{Kind: c.Kind, Name: c.Name, Reserve: j.need, Approved: j.approved}
	switch r := j.rule; {
	case r != nil:
		permit.Rule, permit.Account = r.label, r.account
		permit.TimeoutMS, permit.OutputBytes, permit.MemoryBytes, permit.MaxOutputTokens = j.timeoutMS, r.outputBytes, r.memoryBytes, r.maxOutput
		permit.Keeps = j.policy.blobs
	case c.Kind == KindApproval:
		permit.Rule, permit.Approval = j.policy.layers[0].name+": approvals", j.policy.approval
		permit.Approval.Quorum = max(1, permit.Approval.Quorum)
	default:
		permit.Rule = j.policy.layers[0].name + ": namespaces." + c.Name
	}
	return permit
}

// wellFormed refuses what is no call at all, and what no pack could ever grant.
func (j *judge) wellFormed(c *Call) bool {
	problem := c.malformed()
	if problem == "" {
		return true
	}
	j.deny(CodeInvalidContract, "the call", "%s", problem)
	j.fix.say("no change to the pack helps: the call is malformed")
	return false
}

func (c *Call) malformed() string {
	switch {
	case c.Kind >= kinds:
		return "the kind of the effect is unknown"
	case c.Name == "":
		return "the effect has no name"
	case c.Kind != KindApproval && artifact.CheckIdentifier(c.Name) != nil:
		return "the name of the effect is no identifier"
	case c.Namespace != "" && artifact.CheckIdentifier(c.Namespace) != nil:
		return "the namespace is no identifier"
	case c.Capability != "" && artifact.CheckIdentifier(c.Capability) != nil:
		return "the capability is no identifier"
	case c.Args.Kind() != artifact.KindNull && c.Args.Kind() != artifact.KindObject:
		return "arguments are " + c.Args.Kind().String() + ", not an object"
	case c.Kind == KindExec:
		return c.malformedExec()
	}
	return c.malformedKind()
}

func (c *Call) malformedKind() string {
	switch {
	case c.Kind == KindHTTP && methodName(c.Action) != "":
		return "the method is not in upper case"
	case c.Kind == KindWASM && c.Module.IsZero():
		return "the call does not say which module"
	case c.Kind == KindCortex && c.Name != "query" && c.Name != "context":
		return "cortex answers query and context, and nothing else"
	case c.Kind == KindClaims && !contains(claimActions, c.Action):
		return "claims are read, proposed or committed, and the call says neither"
	case c.Kind == KindRetrieve && slices.ContainsFunc(c.Namespaces, func(n string) bool { return artifact.CheckIdentifier(n) != nil }):
		return "a namespace is no identifier"
	case c.Kind == KindHandoff && c.Graph.IsZero():
		return "the call does not say which graph"
	case c.Kind == KindState && c.Action != "read" && c.Action != "write":
		return "state is read or written, and the call says neither"
	}
	return ""
}

func (c *Call) malformedExec() string {
	switch {
	case !isAbsolute(c.Program):
		return "the program is not an absolute path"
	case len(c.Argv) > maxArgumentRules:
		return fmt.Sprintf("the program has more than %d arguments", maxArgumentRules)
	case slices.ContainsFunc(c.Argv, func(a ProgramInput) bool { return strings.ContainsRune(a.Text, 0) }):
		return "an argument holds a zero byte"
	case slices.ContainsFunc(c.Env, func(name string) bool { return variableName(name) != "" }):
		return "an environment variable has no proper name"
	}
	return ""
}

func (j *judge) inTime(now int64) {
	p := j.policy
	if now >= p.notBeforeMS && (p.expiresMS == 0 || now < p.expiresMS) {
		return
	}
	for _, l := range p.layers {
		if now < l.notBeforeMS {
			j.deny(CodePackNotYetValid, l.name+": not_before", "valid from %s on", formatTime(l.notBeforeMS))
			j.fix.set(l, []string{"not_before"}, artifact.StringValue(formatTime(max(1, now))), "let %s begin at %s", l.name, formatTime(max(1, now)))
		}
		if l.expiresMS != 0 && now >= l.expiresMS {
			later := now - now%day + 2*day
			j.deny(CodePackExpired, l.name+": expires", "expired at %s", formatTime(l.expiresMS))
			j.fix.set(l, []string{"expires"}, artifact.StringValue(formatTime(later)), "let %s expire at %s", l.name, formatTime(later))
		}
	}
}

// day is a day in milliseconds.
const day = 86_400_000

func (j *judge) mayAsk(c *Call) {
	if !j.policy.asks {
		for _, l := range j.policy.layers {
			if !l.asksPeople() {
				j.deny(CodeCapabilityUnavailable, l.name, "the pack has no section approvals, so nobody may be asked")
				j.fix.askPeople(l)
			}
		}
	}
	if c.Capability != "" {
		j.capability(c.Capability)
	}
}

// effect judges a kind that is granted by name.
func (j *judge) effect(c *Call) {
	p := j.policy
	j.rule = p.wild[c.Kind]
	if r, ok := p.rules[c.Kind][c.Name]; ok {
		j.rule = r
	}
	if j.rule == nil {
		j.notGranted(c)
	}
	if c.Namespace != "" {
		j.namespace(c.Namespace, c.Write)
	}
	if c.Capability != "" {
		j.capability(c.Capability)
	}
	for _, part := range p.parts(j.rule, c) {
		j.part(c, part)
	}
	if c.Contract != nil {
		if v := c.Contract.Validate(c.Args); v != nil {
			j.deny(CodeArgumentDenied, "the contract of "+c.Name, "%s", schema.Explain(v))
			j.fix.say("no change to the pack helps: %s itself refuses the arguments", c.Name)
		}
	}
	j.amount(c)
	if j.rule != nil {
		j.approvals(c)
	}
}

// parts gives what the layers say about an effect, also where not all of them
// grant it.
func (p *Policy) parts(r *rule, c *Call) []*part {
	if r != nil {
		return r.parts
	}
	var list []*part
	for _, l := range p.layers {
		if part := l.parts[c.Kind][c.Name]; part != nil {
			list = append(list, part)
		} else if part := l.anyName[c.Kind]; part != nil {
			list = append(list, part)
		}
	}
	return list
}

// notGranted says which layers do not name the effect.
func (j *judge) notGranted(c *Call) {
	for _, l := range j.policy.layers {
		named, _, open := l.section(c.Kind)
		if open || named[c.Name] != nil {
			continue
		}
		code, message := CodeEffectNotAllowed, fmt.Sprintf("%s %s is not granted%s", c.Kind, c.Name, artifact.Suggest(c.Name, artifact.SortedNames(named)))
		switch {
		case l.parts[c.Kind] == nil && l.authority.isMissing(c.Kind):
			code, message = CodeCapabilityUnavailable, fmt.Sprintf("the pack has no section %s, so no %s is granted", c.Kind.Section(), c.Kind)
		case c.Kind == KindTool:
			code = CodeToolNotAllowed
		}
		j.deny(code, l.name, "%s", message)
		if c.Kind != KindExec || !j.hidesArguments() {
			j.fix.grant(l, c)
		}
	}
}

// isMissing reports whether a kind has no section at all. An empty one, and the
// list of tools that version 1 always has, are not missing.
func (a *Authority) isMissing(k Kind) bool { return a.Grants[k] == nil }

func (j *judge) namespace(name string, write bool) {
	want := AccessRead
	if write {
		want = AccessWrite
	}
	if j.policy.namespaces[name] >= want {
		return
	}
	for _, l := range j.policy.layers {
		have, listed := l.authority.Namespaces[name]
		if l.authority.Namespaces == nil && !l.grants || have >= want {
			continue
		}
		switch {
		case l.authority.Namespaces == nil:
			j.deny(CodeCapabilityUnavailable, l.name, "the pack has no section namespaces, so %s is not granted", name)
		case !listed:
			j.deny(CodeNamespaceDenied, l.name, "namespace %s is not granted%s", name, artifact.Suggest(name, artifact.SortedNames(l.authority.Namespaces)))
		default:
			j.deny(CodeNamespaceDenied, l.name+": namespaces."+name, "namespace %s may be read only", name)
		}
		j.fix.namespace(l, name, want)
	}
}

func (j *judge) capability(name string) {
	if j.policy.capabilities[name] {
		return
	}
	for _, l := range j.policy.layers {
		if l.authority.Capabilities == nil && !l.grants {
			continue
		}
		if _, bound := l.authority.Capabilities[name]; !bound {
			j.deny(CodeCapabilityUnavailable, l.name, "capability %s is not bound%s", name, artifact.Suggest(name, artifact.SortedNames(l.authority.Capabilities)))
			j.fix.capability(l, name)
		}
	}
}

// part judges what one layer says about the effect.
func (j *judge) part(c *Call, p *part) {
	if g := p.grant.Capability; g != "" && g != c.Capability {
		j.capability(g)
	}
	if p.needsSpace && c.Namespace == "" {
		j.deny(CodeNamespaceDenied, p.rule, "the call names no namespace, which is all that bounds it under version 1")
		j.fix.say("name a namespace in the call, or write a version 2 pack")
	}
	j.specific(c, p)
	j.arguments(c, p)
	j.conditions(c, p)
}

func (j *judge) arguments(c *Call, p *part) {
	switch {
	case p.v1:
		if !SatisfiesV1(p.grant.Arguments, c.arguments()) {
			j.deny(CodeArgumentDenied, p.rule+".arguments", "arguments violate policy")
			j.fix.argumentsV1(p, c.Name, c.arguments())
		}
	case p.schema != nil:
		if v := p.schema.Validate(c.arguments()); v != nil {
			j.deny(CodeArgumentDenied, p.rule+".arguments"+v[0].Rule, "%s", schema.Explain(v))
			j.fix.arguments(p, j.policy.options, j.policy.redact, c.arguments())
		}
	}
}

// arguments gives an object also where the call has none.
func (c *Call) arguments() artifact.Value {
	if c.Args.IsNull() {
		return artifact.ObjectValue()
	}
	return c.Args
}

func (j *judge) conditions(c *Call, p *part) {
	if p.conditions == nil {
		return
	}
	values := [...]artifact.Value{
		c.arguments(), artifact.StringValue(c.Kind.String()), artifact.StringValue(c.Name), artifact.StringValue(c.Action),
		artifact.StringValue(c.Namespace), artifact.StringValue(j.policy.agent), artifact.ArrayValue(),
	}
	if p.asksTaint {
		values[len(values)-1] = stringList(c.Taint.Derived(c.Args))
	}
	var failed []string
	for i, condition := range p.conditions {
		result, err := condition.program.Eval(values[:]...)
		if err == nil && result.Bool() {
			continue
		}
		failed = append(failed, condition.source)
		rule := fmt.Sprintf("%s.when[%d]", p.rule, i)
		switch {
		case err != nil:
			j.deny(CodeConditionFailed, rule, "condition %.120q gives no answer: %v", condition.source, err)
		case result.Kind() != artifact.KindBool:
			j.deny(CodeConditionFailed, rule, "condition %.120q gives a %s, not true or false", condition.source, result.Kind())
		default:
			j.deny(CodeConditionDenied, rule, "condition %.120q is false", condition.source)
		}
	}
	if failed != nil {
		j.fix.conditions(p, failed)
	}
}

func (j *judge) approvals(c *Call) {
	r := j.rule.approval
	if r.Quorum == 0 {
		return
	}
	d := r.Check(c.Proposal, c.Starter, c.NowMS, c.Decisions)
	if d == nil {
		j.approved = true
		return
	}
	j.deny(d.Code, d.Rule, "%s", d.Message)
	j.denial.Also = append(j.denial.Also, d.Also...)
	j.denial.Approval = d.Approval
	j.fix.people = "ask for " + strings.Replace(count(r.Quorum, "approval"), "1 ", "an ", 1)
}
