package planner

import (
	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
)

// LoadPlan says which units to load for a task, in what order, which are
// skipped and why. Its JSON form has the keys, order and text that other
// implementations of the protocol write, so that plans replay across them.
type LoadPlan struct {
	Task        string          `json:"task"`
	Manifest    PlannedManifest `json:"manifest"`
	Trust       TrustNote       `json:"trust"`
	Environment kcp.String      `json:"environment,omitzero"`
	AsOf        string          `json:"asOf"`
	Options     EchoedOptions   `json:"options"`
	Selected    []Selected      `json:"selected"`
	Skipped     []Skipped       `json:"skipped"`
	Federation  []RefDecision   `json:"federation"`
	Budget      BudgetNote      `json:"budget"`
	Context     ContextNote     `json:"context"`
	Warnings    []string        `json:"warnings"`
	Serving     *ServingCheck   `json:"serving,omitzero"`
	Signature   *kcp.Signature  `json:"signature,omitzero"` // set by whoever verified the bytes
}

// PlannedManifest identifies the manifest that was planned.
type PlannedManifest struct {
	Project    string     `json:"project"`
	Version    string     `json:"version"`
	KCPVersion kcp.String `json:"kcpVersion,omitzero"`
	Source     string     `json:"source,omitzero"`
	SHA256     string     `json:"sha256,omitzero"` // set by whoever read the bytes
}

// TrustNote says what the manifest asks of the agent, and whether it can.
type TrustNote struct {
	RequiresAttestation bool   `json:"requiresAttestation"`
	AgentCanAttest      bool   `json:"agentCanAttest"`
	Note                string `json:"note"`
}

// EchoedOptions are the options a plan was made with; with them it replays.
type EchoedOptions struct {
	Capabilities  Capabilities   `json:"capabilities"`
	MaxUnits      float64        `json:"maxUnits"`
	Strict        bool           `json:"strict"`
	Budget        *Budget        `json:"budget,omitzero"`
	ContextBudget kcp.Number     `json:"contextBudget,omitzero"`
	GrantCeiling  kcp.String     `json:"grantCeiling,omitzero"`
	Spend         *SpendProposal `json:"spend,omitzero"`
	Action        *Action        `json:"action,omitzero"`
	KnownAt       string         `json:"knownAt,omitzero"`
}

// Selected is one unit of the plan.
type Selected struct {
	ID                  string   `json:"id"`
	Path                string   `json:"path"`
	Intent              string   `json:"intent"`
	Score               int      `json:"score"`
	Reasons             []string `json:"reasons"`
	Payment             Payment  `json:"payment"`
	RequiresAttestation bool     `json:"requiresAttestation"`
	LoadEligible        bool     `json:"loadEligible"`
	ActionScope         *Scope   `json:"action_scope,omitzero"`
	*Markers
}

// Skipped is one unit that is not in the plan.
type Skipped struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
	*Markers
}

// Markers are what the gates for governed procedures leave on an entry.
type Markers struct {
	Authority          *AuthorityCeiling `json:"authority,omitzero"`
	Spend              *SpendLimit       `json:"spend,omitzero"`
	GrantRequests      []GrantRequest    `json:"grantRequests,omitempty"`
	ProhibitedAttempts []Prohibited      `json:"prohibitedAttempts,omitempty"`
}

// AuthorityCeiling is the resolved ceiling of a playbook.
type AuthorityCeiling struct {
	Ceiling       string `json:"ceiling"`
	BindingSource string `json:"bindingSource"`
}

// SpendLimit is the spend scope that binds a unit.
type SpendLimit struct {
	MaxSpend       kcp.Number `json:"maxSpend,omitzero"`
	AllowedVendors []string   `json:"allowedVendors,omitempty"`
	Currency       kcp.String `json:"currency,omitzero"`
	BindingSource  string     `json:"bindingSource"`
}

// GrantRequest says that a step needs a person's grant before it is enacted.
type GrantRequest struct {
	Step     string   `json:"step"`
	Triggers []string `json:"triggers"`
	Note     string   `json:"note"`
}

// Prohibited is an action that the manifest denies for good.
type Prohibited struct {
	Step          string `json:"step"`
	Dimension     string `json:"dimension"`
	Token         string `json:"token"`
	BindingSource string `json:"bindingSource"`
	Note          string `json:"note"`
}

// Payment is how a unit would be paid for.
type Payment struct {
	Method          string     `json:"method"`
	Cost            kcp.String `json:"cost,omitzero"`
	PricePerRequest kcp.Number `json:"pricePerRequest,omitzero"`
	Currency        kcp.String `json:"currency,omitzero"`
	Affordable      bool       `json:"affordable"`
}

// Scope echoes a unit's action scope.
type Scope struct {
	Tools        []string    `json:"tools"`
	Paths        []string    `json:"paths"`
	Capabilities []string    `json:"capabilities"`
	Spend        *ScopeSpend `json:"spend,omitzero"`
	Deny         *ScopeDeny  `json:"deny,omitzero"`
}

// ScopeSpend echoes action_scope.spend.
type ScopeSpend struct {
	MaxSpend       kcp.Number `json:"max_spend,omitzero"`
	AllowedVendors []string   `json:"allowed_vendors"`
	Currency       kcp.String `json:"currency,omitzero"`
}

// ScopeDeny echoes action_scope.deny.
type ScopeDeny struct {
	Tools        []string `json:"tools"`
	Paths        []string `json:"paths"`
	Capabilities []string `json:"capabilities"`
}

// RefDecision is the decision on one federated manifest. Nothing is fetched.
type RefDecision struct {
	ID               string     `json:"id"`
	URL              string     `json:"url"`
	Selected         bool       `json:"selected"`
	Reason           string     `json:"reason"`
	CredentialNeeded string     `json:"credentialNeeded,omitzero"`
	DocsURL          kcp.String `json:"docsUrl,omitzero"`
	LocalMirror      string     `json:"localMirror,omitzero"`
}

// BudgetNote is the money arithmetic of the plan.
type BudgetNote struct {
	RateTier          string          `json:"rateTier"`
	RequestsPerMinute *RequestCeiling `json:"requestsPerMinute,omitzero"`
	PerRequestCosts   []UnitCost      `json:"perRequestCosts"`
	Ceiling           kcp.Number      `json:"ceiling,omitzero"`
	Currency          kcp.String      `json:"currency,omitzero"`
	AlreadyCommitted  kcp.Number      `json:"alreadyCommitted,omitzero"`
	ProjectedSpend    kcp.Number      `json:"projectedSpend,omitzero"`
	Remaining         kcp.Number      `json:"remaining,omitzero"`
	Note              string          `json:"note"`
}

// UnitCost is the price of one unit.
type UnitCost struct {
	Unit string `json:"unit"`
	Cost string `json:"cost"`
}

// ContextNote is the token arithmetic of the plan.
type ContextNote struct {
	Ceiling         kcp.Number `json:"ceiling,omitzero"`
	ProjectedTokens kcp.Number `json:"projectedTokens,omitzero"`
	Remaining       kcp.Number `json:"remaining,omitzero"`
	Approximate     bool       `json:"approximate"`
	Unmeasured      int        `json:"unmeasured"`
	Note            string     `json:"note"`
}

// ServingCheck says whether the manifest came from where its publisher serves it.
type ServingCheck struct {
	Status       string   `json:"status"` // bound, unbound, no-binding or local
	Detail       string   `json:"detail"`
	RetrievalURL string   `json:"retrievalUrl,omitzero"`
	Declared     []string `json:"declared,omitempty"`
}

// JSON encodes the plan as an artifact: two-space indented, with its envelope.
func (p *LoadPlan) JSON(correlationID string) ([]byte, error) {
	return artifact.Wrap(p, artifact.Envelope{SchemaVersion: 1, Kind: "plan", CorrelationID: correlationID})
}
