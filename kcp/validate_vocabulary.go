package kcp

// The words that a manifest may use (specification sections 4 and 5, and those
// named beside them).
var (
	kinds            = []string{"knowledge", "schema", "service", "policy", "executable", "skill", "playbook"}
	scopes           = []string{"global", "project", "module"}
	audiences        = []string{"human", "agent", "developer", "architect", "operator", "devops"}
	accessLevels     = []string{"public", "authenticated", "restricted"}
	sensitivities    = []string{"public", "internal", "confidential", "restricted"}
	unitFormats      = []string{"markdown", "pdf", "openapi", "json-schema", "jupyter", "html", "asciidoc", "rst", "vtt", "yaml", "json", "csv", "text"}
	frequencies      = []string{"hourly", "daily", "weekly", "monthly", "rarely", "never"}
	indexings        = []string{"open", "read-only", "no-train", "none"}
	hashAlgorithms   = []string{"sha256", "sha384", "sha512"}
	linkTypes        = []string{"enables", "context", "supersedes", "contradicts", "depends_on", "governs"}
	refRelationships = []string{"child", "foundation", "governs", "peer", "archive"}
	versionPolicies  = []string{"exact", "minimum", "compatible"}
	dependencyFaults = []string{"skip", "warn", "degrade"}
	stepFaults       = []string{"abort", "continue", "escalate"}
	authMethods      = []string{"none", "oauth2", "api_key", "bearer_token", "spiffe", "did", "http_signature"}
	approvals        = []string{"oauth_consent", "uma", "custom"}
	paymentMethods   = []string{"free", "x402", "meter", "subscription"}
	backoffs         = []string{"linear", "exponential", "none"}
	permissions      = []string{"initiative", "requires_approval", "denied"}
	verifications    = []string{"rumored", "declared", "observed", "verified", "deprecated"}
	discoverySources = []string{"manual", "web_traversal", "openapi", "llm_inference", "manifest-self-description"}
	contentShapes    = []string{"prose", "table", "code", "list", "diagram", "reference", "mixed"}
	contentDensities = []string{"sparse", "normal", "dense"}
	authorityScale   = []string{"observe", "explain", "suggest", "prepare", "commit"}
)

// The newest specification version that the rules follow, and the one number
// between 0.1 and it that was never a version.
const (
	newestMinor  = 32
	skippedMinor = 15
)

// Limits of the specification.
const (
	maxTriggers     = 20
	maxTriggerRunes = 60
	maxAliases      = 100
	rumoredBelow    = 0.5 // confidence of a rumour
	declaredBelow   = 0.8 // confidence of a self-description, from rumoredBelow
	verifiedAtLeast = 0.8
)

// What Parse gives for fields that are absent.
const (
	unnamedProject = "(unnamed)"
	unsetVersion   = "0.0.0"
)

// Hints that both rule sets give.
const (
	mendKCPVersion    = `say which version of the specification you follow: kcp_version: "0.32"`
	mendUnits         = "declare at least one unit under units, each with id, path, intent, scope and audience"
	mendUnitID        = "give the unit an id of lower-case letters, digits, dots and hyphens: id: refund-policy"
	mendDuplicateID   = "give each unit an id of its own"
	mendPathNotFound  = "correct the path, which is relative to the manifest's folder, or add the file"
	mendIntent        = "say in one sentence which question the unit answers: intent: How do I request a refund?"
	mendAudience      = "say whom the unit serves: audience: [agent, human]"
	mendAccess        = "write access: public, authenticated or restricted"
	mendKind          = "write kind: knowledge, schema, service, policy, executable, skill or playbook, in lower case"
	mendDate          = `write a date that exists, year first, and quote it: "2026-01-31"`
	mendWindow        = "swap or correct valid_from and valid_until"
	mendExpired       = "name the unit that takes its place: superseded_by: <unit id>, or remove the unit"
	mendSuccessor     = "name a unit that this manifest declares, or declare that unit"
	mendCycle         = "remove superseded_by from the unit that is current"
	mendScope         = "list what the skill may touch: action_scope: {tools: [git], paths: [docs/**]}"
	mendDenyEmpty     = "list what is prohibited under tools, paths or capabilities, or remove deny"
	mendDenyConflict  = "remove the token from deny if it is allowed, or from the allow list if it is not"
	mendNullified     = "remove the deny that covers the unit's scope, or remove the step"
	mendPaymentMethod = "name the way to pay: type: free, x402, meter or subscription"
	mendX402          = `state the price and its currency: price_per_request: "0.01", currency: USDC`
	mendRefID         = "give the entry an id of lower-case letters, digits, dots and hyphens"
	mendRefDuplicate  = "give each entry of manifests an id of its own"
	mendRefURL        = "give the address of the other manifest: url: https://example.com/knowledge.yaml"
	mendIdentityHint  = "say which credential to get: credential_hint: oauth2"
	mendServing       = "write the full address: https://example.com/knowledge.yaml"
)
