package kcp

import (
	"fmt"
	"slices"
)

// IncludeState says how far an included manifest can be believed
// (specification 3.11, RFC-0022).
type IncludeState int

// The states. An include that nothing vouches for is unverified, also when it is
// a file next to the manifest.
const (
	IncludeUnverified IncludeState = iota
	IncludeVerified                // the declared hash or signer was found
	IncludeFailed                  // it was not read, or is not what was declared
)

// Included is what was read for one entry of composition.includes.
type Included struct {
	// Manifest has its own composition resolved already; its Source is where the
	// bytes were found. Nil when it was not read.
	Manifest *Manifest
	State    IncludeState
	// Problem says, of a failed include, which field was expected to be what and
	// what it is.
	Problem string
	// Circular says that the include leads back to a manifest that includes it.
	Circular bool
}

// Compose resolves the composition of a manifest (specification 3.11):
// includes in the order of the list, where the later wins an id, then overrides,
// then excludes, and the manifest's own units win what is left. includes[i]
// belongs to m.Composition.Includes[i]; one that is missing counts as not read.
//
// Ids and references of included units get the prefix of as, their paths are
// written relative to m, and the defaults of their own manifest are written into
// them. Trust, and everything else at the root, stays that of m. Units of a
// failed include are left out, together with those of earlier includes that they
// would have replaced. Skills and playbooks of an unverified one are not
// load-eligible.
//
// The result has no Composition and positions only in the text of m: that of an
// included unit is its include. Neither m nor the included manifests change, and
// the result shares memory with them. Without a composition it is m itself.
func Compose(m *Manifest, includes []Included) (*Manifest, []Finding) {
	if m.Composition == nil {
		return m, nil
	}
	c := &composer{m: m, at: map[string][]int{}}
	for i := range m.Composition.Includes {
		in := Included{State: IncludeFailed, Problem: "it was not read"}
		if i < len(includes) {
			in = includes[i]
		}
		c.include(&m.Composition.Includes[i], in)
	}
	c.override()
	c.exclude()
	for i := range m.Units {
		c.remove(m.Units[i].ID)
	}
	return c.finish(), c.findings
}

// composer is one composition under way.
type composer struct {
	m        *Manifest
	guests   []guest
	at       map[string][]int // places in guests by id; several for an id that one include declares twice
	links    []link
	findings []Finding
}

// guest is a unit from an include.
type guest struct {
	unit    Unit
	include int  // Include.Index
	trusted bool // its include is verified, so that its grants hold
	gone    bool // excluded, or another unit has its id
}

// link is a relationship between units of one include.
type link struct {
	Relationship
	include int
}

// warn reports what is wrong with the include, override or exclude at a path.
func (c *composer) warn(code, path, message, hint string) {
	c.report(Finding{Severity: Warning, Code: code, Path: path, Message: message, Hint: hint})
}

func (c *composer) report(f Finding) {
	f.Where, f.Path = "manifest", "composition."+f.Path
	f.Pos = c.m.Position(f.Path)
	c.findings = append(c.findings, f)
}

// include adds the units of one include.
func (c *composer) include(inc *Include, in Included) {
	prefix := prefixOf(inc)
	if in.State == IncludeFailed || in.Manifest == nil {
		c.failed(inc, in, prefix)
		return
	}
	other := in.Manifest
	c.replaced(other, prefix)
	base := rebaseFrom(c.m.Source, other.Source)
	trusted := in.State == IncludeVerified && sameScale(c.m, other)
	closed := strictlyAttested(c.m, other)
	var escaping, unattested []string
	for i := range other.Units {
		u := composedUnit(&other.Units[i], other, prefix)
		u.Path = base.path(u.Path)
		if closed && restrictedAccess(&u) {
			unattested = append(unattested, u.ID)
			continue
		}
		if SafeUnitPath(other.Units[i].Path) == "" && SafeUnitPath(u.Path) != "" {
			escaping = append(escaping, u.ID)
		}
		c.at[u.ID] = append(c.at[u.ID], len(c.guests))
		c.guests = append(c.guests, guest{unit: u, include: inc.Index, trusted: trusted})
	}
	for _, r := range other.Relationships {
		r.From, r.To = prefix.name(r.From), prefix.name(r.To)
		c.links = append(c.links, link{r, inc.Index})
	}
	c.reportLeftOut(inc, escaping, unattested)
}

// replaced removes the units of earlier includes whose ids this one brings too.
func (c *composer) replaced(other *Manifest, prefix idPrefix) {
	for i := range other.Units {
		c.remove(prefix.id(other.Units[i].ID))
	}
}

// failed leaves an include out. What it would have replaced goes too: an earlier
// unit may be the looser one.
func (c *composer) failed(inc *Include, in Included, prefix idPrefix) {
	path := element("includes", inc.Index) + ".source"
	if in.Circular {
		c.report(Finding{Severity: Error, Code: "composition-include-circular", Path: path,
			Message: in.Problem, Hint: "remove one of these includes"})
		return
	}
	message := "the include " + show(inc.Source.Value) + " failed, and its units are left out"
	if in.Problem != "" {
		message += ": " + in.Problem
	}
	c.warn("composition-include-failed", path, message, "correct the source or its integrity, or remove the include")
	if in.Manifest != nil {
		c.replaced(in.Manifest, prefix)
	}
}

func (c *composer) reportLeftOut(inc *Include, escaping, unattested []string) {
	path := element("includes", inc.Index) + ".source"
	if n := len(escaping); n > 0 {
		c.warn("composition-path-escapes", path, fmt.Sprintf("%s of this include not below the folder of the manifest and cannot be loaded, such as %s",
			some(n, "unit is", "units are"), show(escaping[0])), "move the included manifest below the folder of this one")
	}
	if n := len(unattested); n > 0 {
		c.warn("composition-attestation", path, fmt.Sprintf("%s of this include left out, such as %s: its manifest requires an attestation that this one does not",
			some(n, "restricted unit is", "restricted units are"), show(unattested[0])), "declare trust.agent_requirements here as the included manifest does")
	}
}

func some(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// remove takes the included units with an id out and reports whether there were any.
func (c *composer) remove(id string) bool {
	places := c.at[id]
	for _, i := range places {
		c.guests[i].gone = true
	}
	delete(c.at, id)
	return len(places) > 0
}

// override replaces the named fields of included units.
func (c *composer) override() {
	for i := range c.m.Composition.Overrides {
		o := &c.m.Composition.Overrides[i]
		places := c.at[o.ID.Value]
		if len(places) == 0 {
			c.missing(element("overrides", o.Index), o.ID.Value)
		}
		for _, at := range places {
			for _, field := range o.Fields {
				overrideField(&c.guests[at].unit, &o.Unit, field)
			}
		}
	}
}

func (c *composer) exclude() {
	for i := range c.m.Composition.Excludes {
		e := &c.m.Composition.Excludes[i]
		if !c.remove(e.ID.Value) {
			c.missing(element("excludes", e.Index), e.ID.Value)
		}
	}
}

func (c *composer) missing(path, id string) {
	c.warn("composition-target-missing", path+".id", show(id)+" is a unit of none of the included manifests",
		"name the id as it is after the includes, with the prefix of as: <prefix>:<unit id>")
}

// sameScale reports whether authority levels mean the same in both manifests.
func sameScale(m, other *Manifest) bool {
	scale := func(m *Manifest) []string {
		if m.AuthorityLevelScale.Declared {
			return m.AuthorityLevelScale.Items
		}
		return authorityScale
	}
	return slices.Equal(scale(m), scale(other))
}

// strictlyAttested reports whether other asks for an attestation of agents with
// restricted access that m does not ask for.
func strictlyAttested(m, other *Manifest) bool {
	asks := func(t *Trust) bool {
		r := t.Requirements
		return t.Malformed || r != nil && (r.Malformed || r.RequireAttestation.Restricts())
	}
	if !asks(&other.Trust) {
		return false
	}
	if !asks(&m.Trust) {
		return true
	}
	var accepted []string
	if r := other.Trust.Requirements; r != nil {
		accepted = r.TrustedProviders.Items
	}
	if m.Trust.Requirements == nil {
		return false // nobody can attest
	}
	return slices.ContainsFunc(m.Trust.Requirements.TrustedProviders.Items, func(provider string) bool {
		return !slices.Contains(accepted, provider)
	})
}

func restrictedAccess(u *Unit) bool {
	return u.Access.Set && u.Access.Value != "public" && u.Access.Value != "authenticated"
}

// prefixOf gives what stands before the ids of an include.
func prefixOf(inc *Include) idPrefix {
	if inc.As.Value == "" {
		return ""
	}
	return idPrefix(inc.As.Value + ":")
}
