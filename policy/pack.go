package policy

import (
	"github.com/writ-dev/writ/artifact"
)

// Pack is declared authority: what an agent may do, and how much of it. It is
// read by [ReadPack], never changed, and has no effect before [Compile].
type Pack struct {
	Version     int // 1 or 2
	ID          string
	Description string
	NotBeforeMS int64 // Unix milliseconds; 0 for none
	ExpiresMS   int64 // first millisecond at which it is void; 0 for never
	Agents      map[string]Agent

	Authority

	ConditionCost uint64 // limit of one condition; 0 for the compiler's own

	doc      *artifact.Document
	native   artifact.Optional[NativeV1]
	manifest artifact.Optional[ManifestV1]
}

// Agent narrows a pack for one agent.
type Agent struct {
	Definitions  []artifact.Digest // of the agent's own document; nil for any
	Graphs       []artifact.Digest // that it may run; nil for any
	Capabilities []string          // never nil: what is not listed is not given
	Namespaces   map[string]Access // never nil
	Limits       Limits            // of a run
}

// Authority is a set of grants. In a pack a section that is missing grants
// nothing. Where an Authority narrows another one (of a host, of a handoff, of a
// parent), a section that is missing changes nothing.
type Authority struct {
	Capabilities map[string]string // capability -> what the host binds to it; nil when missing
	Namespaces   map[string]Access // nil when missing
	Limits       Limits            // of a run
	Grants       [namedKinds]map[string]*Grant
	Approvals    *ApprovalRule // for every question to a person; nil when missing
	Redact       []string      // typed pointers, such as args:/password
	Blobs        map[string]uint64
}

// Forever is the retention of bytes that are kept until somebody deletes them.
const Forever = ^uint64(0)

// Grant allows one named effect. Fields beyond the first group belong to one
// kind.
type Grant struct {
	Capability string         // that the agent must hold; empty for none
	Arguments  artifact.Value // JSON Schema; null for any arguments
	When       []string       // conditions, all of which must hold
	Limits     Limits         // of all calls in a run
	PerCall    Limits         // of one call
	TimeoutMS  uint64         // of one call; 0 for none
	Approval   *ApprovalRule  // nil when nobody need be asked

	Proxied bool // tool: another program performs it

	Program         string     // exec: absolute path
	Args            []Argument // exec: one rule for each argument
	Env             []string   // exec: variables that are passed on
	OutputBytes     uint64     // exec, http, retrieve: of the output that is kept; 0 for the default
	AllowModelFlags bool       // exec: whether arguments of a model may begin with -
	Also            []Exact    // exec: what is permitted besides

	Hosts   []string // http: host or host:port, lower case
	Methods []string // http: upper case
	Schemes []string // http: https, http

	Modules     []artifact.Digest // wasm: of a module's bytes
	MemoryBytes uint64            // wasm: 0 for the default

	MaxOutputTokens uint64 // model: of one answer; 0 for none

	Manifests  []string // retrieve: locations of manifests
	Namespaces []string // retrieve: namespaces that may be asked for

	Actions []string // claims: read, propose, commit

	Graphs    []artifact.Digest // handoff: the exact graphs; nil for any of that id
	Authority *Authority        // handoff: what the child may do at most; nil for the parent's
}

// Defaults of grants.
const (
	DefaultOutputBytes = 1 << 20
	DefaultMemoryBytes = 16 << 20
	DefaultExecTimeout = 30_000 // milliseconds
)

// Argument is the rule for one argument of a program: a fixed text, or a pattern
// that the whole argument must match.
type Argument struct {
	Text    string
	Pattern string // RE2, matched against the whole argument; empty for a fixed text
	Repeat  bool   // any number of such arguments, also none; the last rule only
}

// Exact is a program with its arguments, all of them fixed texts. Where they come
// from does not matter: a person wrote them into the pack.
type Exact struct {
	Program string // absolute path
	Args    []string
}

// ApprovalRule says how people decide.
type ApprovalRule struct {
	Method    artifact.Optional[Method] // the weakest that counts
	Quorum    uint64                    // distinct keys or tokens; at least 1
	ExpiresMS uint64                    // after which a decision is void; 0 for never
}

// Source names where the pack was read from.
func (p *Pack) Source() string { return p.doc.Source() }

// Manifest gives the version 1 manifest that the pack was read from, if it was.
func (p *Pack) Manifest() (ManifestV1, bool) { return p.manifest.Value, p.manifest.Set }

// Declaration gives the version 1 declaration that the pack was read from, if it
// was.
func (p *Pack) Declaration() (DeclarationV1, bool) {
	switch {
	case p.native.Set:
		return p.native.Value.DeclarationV1, true
	case p.manifest.Set:
		return p.manifest.Value.DeclarationV1, true
	}
	return DeclarationV1{}, false
}

// Canonical gives the bytes whose digest is the pack hash: those of the
// declaration in version 1, else those of [Pack.Value] in canonical form.
func (p *Pack) Canonical() []byte {
	if d, ok := p.Declaration(); ok {
		return d.Canonical()
	}
	return canonical(p.Value())
}

// Digest gives the pack hash.
func (p *Pack) Digest() artifact.Digest { return artifact.Sum(p.Canonical()) }

// canonical gives the canonical bytes of a value made of what was read before,
// whose numbers and depth are known to be fit.
func canonical(v artifact.Value) []byte {
	data, err := artifact.CanonicalRuntime(v)
	if err != nil {
		return v.AppendCompact(nil)
	}
	return data
}
