package event

import "github.com/writ-dev/writ/artifact"

// How the person behind a decision is known, from the weakest.
const (
	MethodAsserted    = "asserted"    // a name somebody typed
	MethodOSUser      = "os-user"     // the operating system's user
	MethodElicitation = "elicitation" // an answer through the client of a conversation
	MethodToken       = "token"       // whoever holds the single-use token
	MethodKey         = "key"         // a signature by a known key
	MethodSystem      = "system"      // no person: a timer, a parent run, the engine
)

var methods = [...]string{
	MethodAsserted, MethodOSUser, MethodElicitation, MethodToken, MethodKey, MethodSystem,
}

// ApprovalStaged asks people to decide about exactly the bytes that they are
// shown. It belongs to an open attempt. At most one approval with the same
// proposal is open at a time.
type ApprovalStaged struct {
	Proposal  artifact.Digest   // of the exact bytes shown
	Shown     Recorded          // these bytes
	Action    string            // what is asked, in words
	Effect    string            // key of the effect that waits for it; "" for none
	Schema    artifact.Digest   // that the answer must satisfy; zero for none
	Policy    artifact.Digest   // under which it was staged
	Method    string            // the weakest method that counts
	Need      uint32            // distinct keys or tokens that must approve, from 1
	Tokens    []artifact.Digest // of the tokens, each usable once
	Keys      []string          // ids of the keys that may decide; empty for any known one
	ExpiresMS int64             // since 1970; 0 for never
}

func (*ApprovalStaged) Type() Type { return TypeApprovalStaged }

func (p *ApprovalStaged) fields(c *coder) {
	c.digest("proposal", &p.Proposal)
	c.recorded("shown", &p.Shown)
	c.text("action", &p.Action)
	c.text("effect", &p.Effect)
	c.optDigest("schema", &p.Schema)
	c.digest("policy", &p.Policy)
	choice(c, "method", &p.Method, methods[:]...)
	c.uint32("need", &p.Need)
	c.digests("tokens", &p.Tokens)
	c.texts("keys", &p.Keys)
	c.optMillis("expires_ms", &p.ExpiresMS)
	if p.Need == 0 {
		c.fail("an approval that needs nobody")
	}
}

// What one person decided, and what became of the approval by it.
const (
	DecisionApprove  = "approve"
	DecisionDeny     = "deny"
	DecisionExpire   = "expire"   // nobody decided in time
	DecisionWithdraw = "withdraw" // the run no longer asks

	QuorumPending  = "pending"
	QuorumApproved = "approved"
	QuorumDenied   = "denied"
	QuorumClosed   = "closed" // expired or withdrawn
)

// ApprovalDecided is one decision about an open approval. Quorum closes it
// unless it is pending.
type ApprovalDecided struct {
	Proposal   artifact.Digest // of the approval decided about
	Decision   string          // approve, deny, expire or withdraw
	Method     string          // how the approver is known
	Approver   string          // the name; never what a quorum counts
	Credential artifact.Digest // of the token or key used; zero when there is none
	Signature  *Recorded       // by the key, of proposal and decision; nil for none
	Reason     string
	Have, Need uint32 // distinct keys or tokens that approved so far, and that must
	Quorum     string // pending, approved, denied or closed
}

func (*ApprovalDecided) Type() Type { return TypeApprovalDecided }

func (p *ApprovalDecided) fields(c *coder) {
	c.digest("proposal", &p.Proposal)
	choice(c, "decision", &p.Decision, DecisionApprove, DecisionDeny, DecisionExpire, DecisionWithdraw)
	choice(c, "method", &p.Method, methods[:]...)
	c.text("approver", &p.Approver)
	c.optDigest("credential", &p.Credential)
	c.optRecorded("signature", &p.Signature)
	c.text("reason", &p.Reason)
	c.uint32("have", &p.Have)
	c.uint32("need", &p.Need)
	choice(c, "quorum", &p.Quorum, QuorumPending, QuorumApproved, QuorumDenied, QuorumClosed)
}

// Why a visit is suspended, and what lets it go on.
const (
	CauseApproval = "approval"
	CauseInput    = "input"    // any answer that satisfies the schema
	CauseEffect   = "effect"   // the outcome of an effect, or what a person knows of it
	CauseTimer    = "timer"    // a time
	CauseEvent    = "event"    // a named event from outside
	CauseOperator = "operator" // a person stopped it
)

var causes = [...]string{CauseApproval, CauseInput, CauseEffect, CauseTimer, CauseEvent, CauseOperator}

// Suspended interrupts an open attempt. The patch before it stays.
type Suspended struct {
	Cause     string
	Reason    string          // as the node gave it
	Schema    artifact.Digest // that the input must satisfy; zero for none
	ExpiresMS int64           // since 1970; 0 for never
	Usage     Usage           // of the attempt so far, without its effects
	Left      Budget
}

func (*Suspended) Type() Type { return TypeSuspended }

func (p *Suspended) fields(c *coder) {
	choice(c, "cause", &p.Cause, causes[:]...)
	c.text("reason", &p.Reason)
	c.optDigest("schema", &p.Schema)
	c.optMillis("expires_ms", &p.ExpiresMS)
	c.usage("usage", &p.Usage)
	c.budget("left", &p.Left)
}

// Resumed lets a suspended attempt go on after its suspension.
type Resumed struct {
	Cause  string    // what let it go on
	Input  *Recorded // the validated input, a declared input of the node; nil for none
	By     string
	Method string
}

func (*Resumed) Type() Type { return TypeResumed }

func (p *Resumed) fields(c *coder) {
	choice(c, "cause", &p.Cause, causes[:]...)
	c.optRecorded("input", &p.Input)
	c.text("by", &p.By)
	choice(c, "method", &p.Method, methods[:]...)
}
