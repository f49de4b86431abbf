package kcp

// Trust is the root trust block (specification 3.2).
type Trust struct {
	Declared         bool
	Malformed        bool // the block is not a mapping
	Provenance       *Provenance
	Audit            *Audit
	ContentIntegrity *ContentIntegrity
	Requirements     *AgentRequirements
}

// AgentRequirements says who may load restricted units.
type AgentRequirements struct {
	RequireAttestation  Bool
	TrustedProviders    List
	AttestationURL      String
	AttestationJWKS     String
	PropagateToGoverned Bool
	Malformed           bool // the block is not a mapping
}

// Provenance names the publisher.
type Provenance struct {
	Publisher    String
	PublisherURL String
	PublisherDID String
	Contact      String
}

// Audit says what the publisher wants logged.
type Audit struct {
	AgentMustLog           Bool
	RequireTraceContext    Bool
	ProvidesAccessReceipts Bool
	ReceiptFormat          String
}

// ContentIntegrity is trust.content_integrity (specification 3.2, version 0.16).
type ContentIntegrity struct {
	ManifestHash *ContentHash
	Signing      *IntegritySigning
	Signature    String // signature_file of the older profile
}

// IntegritySigning is trust.content_integrity.signing.
type IntegritySigning struct {
	Enabled         Bool
	Method          String
	VerificationURL String
	KeyID           String
}

// ContentHash pins content by digest (specification 4.21).
type ContentHash struct {
	Algorithm String
	Value     String
	Malformed bool // present but not a mapping
}

// License is a licence identifier, or a mapping with more to say.
type License struct {
	SPDX                String
	URL                 String
	AttributionRequired Bool
}

// Indexing says what an index may do with the content (specification 4.7).
type Indexing struct {
	Shorthand           String
	Allow               List
	Deny                List
	AttributionRequired Bool
}

// Hints are a unit's advisory loading hints (specification 4.10).
type Hints struct {
	TokenEstimate        Number
	TokenEstimateMethod  String
	SizeBytes            Number
	LoadStrategy         String
	Priority             String
	Density              String
	SummaryAvailable     Bool
	SummaryUnit          String
	SummaryOf            String
	PartialLoadSupported Bool
	Chunked              Bool
	ChunkCount           Number
	ChunkOf              String
	ChunkIndex           Number
	TotalChunks          Number
	ChunkTopic           String
}

// RootHints are a manifest's aggregate hints.
type RootHints struct {
	TotalTokenEstimate    Number
	UnitCount             Number
	RecommendedEntryPoint String
	HasSummaries          Bool
	HasChunks             Bool
}

// ContentStructure describes what a unit's content is made of (specification 4.20).
type ContentStructure struct {
	Primary  String
	Contains List
	Density  String
}

// ExternalDependency is a dependency on a unit of another manifest.
type ExternalDependency struct {
	Index     int
	Manifest  String
	Unit      String
	OnFailure String
}

// Relationship links two units of one manifest (specification 5).
type Relationship struct {
	Index          int
	From, To, Type String
}

// ExternalRelationship links units across manifests (specification 3.6).
type ExternalRelationship struct {
	Index                  int
	FromManifest, FromUnit String
	ToManifest, ToUnit     String
	Type                   String
}

// Auth lists accepted ways to authenticate (specification 3.3).
type Auth struct {
	Methods         []AuthMethod
	MethodsDeclared bool
}

// AuthMethod is one way to authenticate, in order of preference.
type AuthMethod struct {
	Type             String
	Issuer           String
	Scopes           List
	Header           String
	RegistrationURL  String
	TrustDomain      String
	SupportedMethods List
	KeyID            String
	Algorithm        String
}

// Delegation limits how far authority may be passed on (specification 3.4).
type Delegation struct {
	MaxDepth                     Number
	RequireCapabilityAttenuation Bool
	RequireDelegationProof       Bool
	AuditChain                   Bool
	HumanInTheLoop               *HumanInTheLoop
}

// HumanInTheLoop says when a person must approve.
type HumanInTheLoop struct {
	Required          Bool
	ApprovalMechanism String
	DocsURL           String
	Malformed         bool // present but not a mapping
}

// Compliance carries regulatory metadata (specification 3.5).
type Compliance struct {
	DataResidency List
	Regulations   List
	Sensitivity   String
	Restrictions  List
}

// Freshness is a freshness_policy block (specification 4.13).
type Freshness struct {
	MaxAgeDays    Number
	OnStale       String
	ReviewContact String
}

// Visibility adapts sensitivity to environment and role (specification 4.16).
type Visibility struct {
	Default    String
	Conditions []VisibilityCondition
}

// VisibilityCondition is one rule; the first that matches wins.
type VisibilityCondition struct {
	Index         int
	WhenDeclared  bool
	Environment   List // one string or a list: any of them matches
	AgentRole     List
	ThenDeclared  bool
	Sensitivity   String
	RequiresAuth  Bool
	ThenAuthority *Authority
}

// Authority says what an agent may do on its own (specification 4.17).
type Authority struct {
	// Actions in declaration order, custom ones included.
	Actions []AuthorityAction
}

// AuthorityAction is one action and its value: initiative, requires_approval
// or denied.
type AuthorityAction struct {
	Name  string
	Value String
}

// Discovery says how a claim came to be known (specification 4.18).
type Discovery struct {
	VerificationStatus String
	Source             String
	ObservedAt         String
	VerifiedAt         String
	Confidence         Number
	ContradictedBy     String
	VerifiedBy         String
	Evidence           String
	Malformed          bool // contradicted_by is not a string
}

// TaskType is one entry of task_types (specification 3.13).
type TaskType struct {
	Index               int
	ID                  String
	Intent              String
	AuthorityLevel      String
	ConfidenceThreshold Number
}

// AgentRole is one entry of agents (specification 3.13).
type AgentRole struct {
	Index          int
	ID             String
	Name           String
	AuthorityLevel String
}

// GrantCeiling bounds authority by the minimum of its sources.
type GrantCeiling struct {
	Sources          []CeilingSource
	MandatorySources List
}

// CeilingSource is one source of a ceiling.
type CeilingSource struct {
	Index          int
	ID             String
	AuthorityLevel String
	UnitRef        String
	TaskTypeRef    String
	AgentRef       String
}

// Composition builds a manifest from others (specification 3.11).
type Composition struct {
	Includes  []Include
	Overrides []Override
	Excludes  []Exclude
}

// Include is one source manifest.
type Include struct {
	Index          int
	Source         String
	As             String
	Integrity      bool // an integrity block is declared
	ManifestHash   *ContentHash
	ExpectedSigner String
}

// Override replaces named fields of an included unit. Fields lists the names
// that the publisher wrote, in order; Unit holds their values.
type Override struct {
	Index  int
	ID     String
	Fields []string
	Unit   Unit
}

// Exclude removes an included unit.
type Exclude struct {
	Index int
	ID    String
}

// Charter is an agent charter (RFC-0031, a draft). It grants nothing.
type Charter struct {
	Read, Propose, Never List
	ScopeDeclared        bool
	Authority            String
	Rules                []CharterRule
	EscalateWhen         List
	AuthorityRequired    String
	Persona              String
	Malformed            bool
}

// CharterRule is one rule of a charter.
type CharterRule struct {
	Index             int
	ID                String
	Text              String
	Decision          String
	AuthorityRequired String
}
