package kcp

import (
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// String is a text field that may be absent, which is not the same as empty.
type String = artifact.Optional[string]

// Number is a numeric field that may be absent.
type Number = artifact.Optional[float64]

// Bool is a truth value as the publisher wrote it (specification 2.1).
//
// A word such as yes, a quoted "true" or a number is Malformed: it reads as
// undeclared, it grants nothing, and a field that restricts treats it as true.
type Bool struct {
	Declared  bool // the value is one of true True TRUE false False FALSE
	Value     bool
	Malformed bool // something was written that is not a boolean
}

// Grants reports whether the field says true beyond doubt.
func (b Bool) Grants() bool { return b.Declared && b.Value }

// Restricts reports whether the field says true or cannot be understood.
func (b Bool) Restricts() bool { return b.Malformed || b.Declared && b.Value }

// List is a list of strings as the publisher wrote it.
type List struct {
	Items []string
	// Declared says that the field is present and not null. A value that is no
	// list does not declare a field that grants or describes something.
	Declared bool
	// Malformed says that the value is neither a list nor, for the restricting
	// fields audience, not_for, context, deny and allowed_vendors, one scalar.
	// A list with an element that is itself a list or a mapping is malformed
	// too. The gate that reads the field stays closed.
	Malformed bool
}

// Manifest is one knowledge.yaml (specification section 3).
type Manifest struct {
	Source string // where the bytes came from, as given to Parse

	Project    string // "(unnamed)" when absent
	Version    string // the manifest's own version; "0.0.0" when absent
	KCPVersion String // compared as text, never as a number
	Updated    String
	Language   String
	License    *License
	Indexing   *Indexing

	Units     []Unit
	Manifests []Ref

	Trust      Trust
	Signing    *Signing
	Serving    *Serving
	Payment    *Payment
	RateLimits *RateLimits

	// Defaults for units. Temporal and Discovery are inherited field by field,
	// the other blocks as a whole.
	Temporal   *Temporal
	Discovery  *Discovery
	Freshness  *Freshness
	Visibility *Visibility
	Authority  *Authority
	Auth       *Auth
	Delegation *Delegation
	Compliance *Compliance

	AuthorityLevelScale List // Declared only when the value is a list
	TaskTypes           []TaskType
	Agents              []AgentRole
	GrantCeiling        *GrantCeiling

	NotFor                List
	Hints                 *RootHints
	Relationships         []Relationship
	ExternalRelationships []ExternalRelationship
	Composition           *Composition

	src    string  // the text that was read, without a byte order mark
	marked bool    // the bytes began with a byte order mark
	names  *names  // finds units by name; nil in a manifest that was not parsed
	places *places // where Position finds paths; nil in a manifest that was not parsed

	borrowed map[string]borrowed // what includes brought, by root list; nil unless Compose made the manifest
}

// Unit is one declared piece of knowledge (specification section 4).
type Unit struct {
	Index int // position in the manifest's units list, counting every item

	ID     string
	Path   string
	Intent string
	Kind   String // skill and playbook are governed; see Governed

	Audience List
	Triggers List
	NotFor   List
	Aliases  List

	NotForStrict Bool
	Deprecated   Bool
	LoadEligible Bool

	Access      String
	AuthScope   String
	Sensitivity String
	Scope       String

	SizeTokens Number // declared tokens; absent when malformed
	Bytes      Number // declared bytes; absent when malformed

	Temporal    *Temporal
	Payment     *Payment
	RateLimits  *RateLimits
	ActionScope *ActionScope

	AuthorityLevel String
	Steps          []Step
	StepsDeclared  bool // an empty list is not the same as no list
	StepsMalformed bool // something was written that is not a list of steps, each with an id

	ContentHash *ContentHash
	DependsOn   List
	Supersedes  String
	Hints       *Hints
	Details     *Details // nil when the unit declares none of its fields
}

// Details holds the fields of a unit that few manifests declare. They are kept
// apart so that a manifest of a hundred thousand plain units stays small.
type Details struct {
	Format               String
	ContentType          String
	Language             String
	License              *License
	Validated            String
	UpdateFrequency      String
	Indexing             *Indexing
	RequiresCapabilities List
	ContentStructure     *ContentStructure
	ExternalDependsOn    []ExternalDependency

	Auth       *Auth
	Delegation *Delegation
	Compliance *Compliance
	Freshness  *Freshness
	Visibility *Visibility
	Authority  *Authority
	Discovery  *Discovery
	Charter    *Charter
}

// Governed reports whether the unit is a skill or a playbook: a procedure that
// needs an explicit grant (specification 4.3a). A kind that differs from these
// words only in case or blanks is governed too, and never granted.
func (u *Unit) Governed() bool { return u.GovernedKind() != "" }

// GovernedKind gives "skill" or "playbook" when that is the kind of the unit,
// also when it is written with other case or with blanks around it. Else it is
// empty.
func (u *Unit) GovernedKind() string {
	for _, kind := range [...]string{"skill", "playbook"} {
		if u.Kind.Value == kind || strings.EqualFold(strings.TrimSpace(u.Kind.Value), kind) {
			return kind
		}
	}
	return ""
}

// Temporal is a validity window (specification 4.22). Bounds are inclusive.
type Temporal struct {
	ValidFrom    String
	ValidUntil   String
	RecordedAt   String
	SupersededBy String
	Malformed    bool // the block is not a mapping, or a field is not a scalar
}

// ActionScope is what a governed procedure may touch (specification 4.3a).
type ActionScope struct {
	Tools        List
	Paths        List
	Capabilities List
	Spend        *Spend
	Deny         *Deny
	Malformed    bool // the scope, spend or deny is not a mapping
}

// Spend limits one purchase (specification 4.3a.1).
type Spend struct {
	MaxSpend       Number
	AllowedVendors List
	Currency       String
	Malformed      bool // max_spend is not a non-negative number
}

// Deny lists what no grant can allow (specification 4.3b).
type Deny struct {
	Tools        List
	Paths        List
	Capabilities List
}

// Step is one step of a playbook (specification 4.3b).
type Step struct {
	Index            int // position in the steps list, counting every item
	ID               string
	Uses             String
	Action           String
	AuthorityLevel   String
	SuccessCondition String
	OnFailure        String
	Timeout          String
	DependsOn        List
	Escalation       List
}

// Payment says how a unit may be paid for (specification 4.14).
type Payment struct {
	DefaultTier     String
	Methods         []PaymentMethod
	MethodsDeclared bool
	BillingContact  String
	Malformed       bool // the block is not a mapping, or methods not a list of mappings
}

// PaymentMethod is one way to pay, in the publisher's order of preference.
type PaymentMethod struct {
	Type               string // empty when the item is not a mapping
	Currency           String
	PricePerRequest    String // as written: a decimal literal
	Networks           List
	Wallet             String
	Provider           String
	PlansURL           String
	FreeTier           Bool
	FreeRequestsPerDay Number
	UpgradeURL         String
}

// RateLimits are advisory request ceilings by tier (specification 4.15).
type RateLimits struct {
	Default       *RateTier
	Authenticated *RateTier
	Premium       *RateTier
	Backoff       String
	Tokens        *TokenLimits
	Headers       *RateHeaders
}

// RateTier holds the ceilings of one tier.
type RateTier struct {
	PerMinute Count
	PerHour   Count
	PerDay    Count
}

// Count is a number of requests or the word unlimited.
type Count struct {
	Set       bool
	Unlimited bool
	Value     float64
}

// TokenLimits are token ceilings by tier.
type TokenLimits struct{ Default, Authenticated, Premium *TokenTier }

// TokenTier holds the token ceilings of one tier.
type TokenTier struct{ PerMinute, PerDay Count }

// RateHeaders names the HTTP headers that carry the limits.
type RateHeaders struct{ Remaining, Reset, RetryAfter String }

// Ref is another manifest that this one refers to (specification 3.6).
type Ref struct {
	Index           int // position in the manifests list, counting every item
	ID              string
	URL             string
	Label           String
	Relationship    String
	LocalMirror     String
	Context         List
	AgentIdentity   *AgentIdentity
	VersionPin      String
	VersionPolicy   String
	UpdateFrequency String
	Auth            *Auth
	Temporal        *Temporal
}

// AgentIdentity says which credential a federated manifest needs.
type AgentIdentity struct {
	Required       Bool
	CredentialHint String
	IssuerHint     String
	DocsURL        String
	Malformed      bool
}

// Serving lists where the publisher serves the manifest (specification 3.12).
type Serving struct {
	Manifest List
	MCP      List
}

// Signing is the root signing block that kcp-agent reads. No specification
// text defines it.
type Signing struct {
	Scheme    String
	Scope     String
	PublicKey String
	Signature String
	KeyID     String
	Legacy    bool // read from trust.content_integrity (up to version 0.20)
}
