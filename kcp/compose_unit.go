package kcp

import (
	"math"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// idPrefix stands before the ids of included units: "" or the as of the include
// and a colon.
type idPrefix string

func (p idPrefix) id(id string) string {
	if id == "" {
		return ""
	}
	return string(p) + id
}

func (p idPrefix) name(id String) String {
	id.Value = p.id(id.Value)
	return id
}

func (p idPrefix) list(l List) List {
	if p == "" || len(l.Items) == 0 {
		return l
	}
	items := make([]string, len(l.Items))
	for i, id := range l.Items {
		items[i] = p.id(id)
	}
	l.Items = items
	return l
}

// composedUnit gives an included unit as it stands in the composing manifest:
// with the defaults of its own manifest and the prefix before every id. The path
// is still its own.
func composedUnit(from *Unit, root *Manifest, p idPrefix) Unit {
	u := *from
	inheritDefaults(&u, root)
	u.ID = p.id(u.ID)
	u.Aliases, u.DependsOn, u.Supersedes = p.list(u.Aliases), p.list(u.DependsOn), p.name(u.Supersedes)
	if p == "" {
		return u
	}
	if u.Temporal != nil {
		t := *u.Temporal
		t.SupersededBy = p.name(t.SupersededBy)
		u.Temporal = &t
	}
	if u.Hints != nil {
		h := *u.Hints
		h.SummaryUnit, h.SummaryOf, h.ChunkOf = p.name(h.SummaryUnit), p.name(h.SummaryOf), p.name(h.ChunkOf)
		u.Hints = &h
	}
	if u.Details != nil && u.Details.Discovery != nil {
		details, discovery := *u.Details, *u.Details.Discovery
		discovery.ContradictedBy = p.name(discovery.ContradictedBy)
		details.Discovery = &discovery
		u.Details = &details
	}
	u.Steps = slices.Clone(u.Steps)
	for i := range u.Steps {
		u.Steps[i].Uses = p.name(u.Steps[i].Uses)
	}
	return u
}

// inheritDefaults writes the defaults of a manifest's root into one of its units
// (format section 4, the table of inheritance).
func inheritDefaults(u *Unit, root *Manifest) {
	u.Temporal = root.TemporalOf(u)
	inherit(&u.Payment, root.Payment)
	inherit(&u.RateLimits, root.RateLimits)
	var d Details
	if u.Details != nil {
		d = *u.Details
	}
	if !d.Language.Set {
		d.Language = root.Language
	}
	inherit(&d.License, root.License)
	inherit(&d.Indexing, root.Indexing)
	inherit(&d.Freshness, root.Freshness)
	inherit(&d.Visibility, root.Visibility)
	inherit(&d.Authority, root.Authority)
	inherit(&d.Auth, root.Auth)
	inherit(&d.Compliance, root.Compliance)
	d.Discovery = inheritDiscovery(d.Discovery, root.Discovery)
	d.Delegation = tighter(d.Delegation, root.Delegation)
	if u.Details != nil || root.hasDetailDefaults() {
		u.Details = &d
	}
}

// hasDetailDefaults reports whether the root has a default for one of [Details].
func (m *Manifest) hasDetailDefaults() bool {
	return m.Language.Set || m.License != nil || m.Indexing != nil || m.Freshness != nil || m.Visibility != nil ||
		m.Authority != nil || m.Auth != nil || m.Compliance != nil || m.Discovery != nil || m.Delegation != nil
}

func inherit[T any](own **T, root *T) {
	if *own == nil {
		*own = root
	}
}

// inheritDiscovery takes the fields that a unit leaves open from the root.
func inheritDiscovery(own, root *Discovery) *Discovery {
	if own == nil || root == nil {
		if own == nil {
			return root
		}
		return own
	}
	d := *own
	for _, f := range []struct{ field, fallback *String }{
		{&d.VerificationStatus, &root.VerificationStatus}, {&d.Source, &root.Source},
		{&d.ObservedAt, &root.ObservedAt}, {&d.VerifiedAt, &root.VerifiedAt},
		{&d.ContradictedBy, &root.ContradictedBy}, {&d.VerifiedBy, &root.VerifiedBy}, {&d.Evidence, &root.Evidence},
	} {
		if !f.field.Set {
			*f.field = *f.fallback
		}
	}
	if !d.Confidence.Set {
		d.Confidence = root.Confidence
	}
	d.Malformed = own.Malformed || root.Malformed
	return &d
}

// tighter gives the delegation of a unit under that of the root, which it can
// only tighten.
func tighter(own, root *Delegation) *Delegation {
	if own == nil || root == nil {
		if own == nil {
			return root
		}
		return own
	}
	d := *own
	if root.MaxDepth.Set {
		depth := root.MaxDepth.Value
		if own.MaxDepth.Set {
			depth = math.Min(depth, own.MaxDepth.Value)
		}
		d.MaxDepth = artifact.Some(depth)
	}
	d.RequireCapabilityAttenuation = either(own.RequireCapabilityAttenuation, root.RequireCapabilityAttenuation)
	d.RequireDelegationProof = either(own.RequireDelegationProof, root.RequireDelegationProof)
	d.AuditChain = either(own.AuditChain, root.AuditChain)
	human := own.HumanInTheLoop
	if human == nil || root.HumanInTheLoop != nil && !human.Required.Restricts() && !human.Malformed {
		d.HumanInTheLoop = root.HumanInTheLoop
	}
	return &d
}

// either gives the one of two demands that restricts, else the first that is
// declared.
func either(own, root Bool) Bool {
	if own.Restricts() || !root.Restricts() && own.Declared {
		return own
	}
	return root
}

// rebase writes paths of an included manifest relative to the including one.
type rebase struct{ prefix string }

// rebaseFrom compares the folders of two manifests as they are written. Where
// the included one is not below, the prefix is one that no unit's path may have.
func rebaseFrom(base, included string) rebase {
	if isHTTP(base) || isHTTP(included) {
		return rebase{urlBetween(base, included)}
	}
	from, to := path.Dir(base), path.Dir(included)
	switch {
	case from == to:
		return rebase{}
	case from == "." && !strings.HasPrefix(to, "/") && to != ".." && !strings.HasPrefix(to, "../"):
		return rebase{to + "/"}
	case from == "/":
		return rebase{strings.TrimPrefix(to, "/") + "/"}
	}
	if rest, below := strings.CutPrefix(to, from+"/"); below && rest != ".." && !strings.HasPrefix(rest, "../") {
		return rebase{rest + "/"}
	}
	if strings.HasPrefix(to, "/") {
		return rebase{to + "/"}
	}
	return rebase{"../" + to + "/"}
}

// urlBetween gives what leads from the folder of one URL to that of another: an
// absolute URL unless the other is below.
func urlBetween(base, included string) string {
	to, err := url.Parse(included)
	if err != nil || !isHTTP(included) {
		return "../"
	}
	folder := to.EscapedPath()
	folder = folder[:strings.LastIndexByte(folder, '/')+1]
	from, err := url.Parse(base)
	if err == nil && isHTTP(base) && from.Scheme == to.Scheme && strings.EqualFold(from.Host, to.Host) {
		above := from.EscapedPath()
		above = above[:strings.LastIndexByte(above, '/')+1]
		if rest, below := strings.CutPrefix(folder, above); below {
			return rest
		}
	}
	return to.Scheme + "://" + to.Host + folder
}

// path gives a unit's path from the including manifest. One that leads out of
// its own manifest's folder stays as it is, because it must go on being refused.
func (r rebase) path(unitPath string) string {
	if r.prefix == "" || SafeUnitPath(unitPath) != "" {
		return unitPath
	}
	return r.prefix + strings.TrimPrefix(unitPath, "./")
}
