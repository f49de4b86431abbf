package policy

import "github.com/writ-dev/writ/artifact"

// AuthorityV1 is the authority that a version 1 handoff passes on. Sets are
// sorted by bytes.
type AuthorityV1 struct {
	Capabilities  []string
	Namespaces    []string
	MaxSteps      uint64
	MaxCostMicros uint64 // micro-USD
}

// HandoffV1 is a version 1 handoff envelope.
type HandoffV1 struct {
	Version             uint16
	Destination         string            // graph id
	StateProjection     map[string]string // destination pointer -> parent pointer, not validated
	AuthorityProjection AuthorityV1
	ReturnContract      string
}

// Check reports whether the envelope asks for no more than the parent and the
// pack have; equal is allowed. Errors are *[V1Error].
func (h HandoffV1) Check(parent, pack AuthorityV1) error {
	if h.Version != 1 || h.ReturnContract == "" {
		return &V1Error{KindInvalidGraph, "invalid handoff contract"}
	}
	child := h.AuthorityProjection
	if !child.within(parent) || !child.within(pack) {
		return &V1Error{KindAuthorityEscalation, "handoff authority exceeds parent execution or pack policy"}
	}
	return nil
}

func (a AuthorityV1) within(b AuthorityV1) bool {
	return isSubset(a.Capabilities, b.Capabilities) && isSubset(a.Namespaces, b.Namespaces) &&
		a.MaxSteps <= b.MaxSteps && a.MaxCostMicros <= b.MaxCostMicros
}

func isSubset(a, b []string) bool {
	for _, s := range a {
		if !contains(b, s) {
			return false
		}
	}
	return true
}

// Canonical gives the authority's canonical bytes.
func (a AuthorityV1) Canonical() []byte { return a.value().AppendCompact(nil) }

func (a AuthorityV1) value() artifact.Value {
	return object(
		artifact.Member{Name: "capabilities", Value: stringList(a.Capabilities)},
		artifact.Member{Name: "namespaces", Value: stringList(a.Namespaces)},
		artifact.Member{Name: "max_steps", Value: artifact.UintValue(a.MaxSteps)},
		artifact.Member{Name: "max_cost_micros", Value: artifact.UintValue(a.MaxCostMicros)},
	)
}

// Canonical gives the envelope's canonical bytes.
func (h HandoffV1) Canonical() []byte {
	return object(
		artifact.Member{Name: "version", Value: artifact.UintValue(uint64(h.Version))},
		artifact.Member{Name: "destination", Value: artifact.StringValue(h.Destination)},
		artifact.Member{Name: "state_projection", Value: stringMap(h.StateProjection)},
		artifact.Member{Name: "authority_projection", Value: h.AuthorityProjection.value()},
		artifact.Member{Name: "return_contract", Value: artifact.StringValue(h.ReturnContract)},
	).AppendCompact(nil)
}

// ParseAuthority reads an authority, in the native spelling or in that of the
// TypeScript package (maxSteps, maxCostMicros).
func ParseAuthority(data []byte, source string) (AuthorityV1, error) {
	return decodeV1(data, source, readAuthorityV1)
}

func readAuthorityV1(o *artifact.Object) AuthorityV1 {
	return AuthorityV1{
		Capabilities: o.Need("capabilities").Set(), Namespaces: o.Need("namespaces").Set(),
		MaxSteps: either(o, "max_steps", "maxSteps").Uint64(), MaxCostMicros: either(o, "max_cost_micros", "maxCostMicros").Uint64(),
	}
}

// either reads the native spelling, or the TypeScript one where only that is
// there.
func either(o *artifact.Object, native, typescript string) artifact.Field {
	if o.Has(typescript) && !o.Has(native) {
		return o.Need(typescript)
	}
	return o.Need(native)
}

// ParseHandoff reads an envelope, in either spelling.
func ParseHandoff(data []byte, source string) (HandoffV1, error) {
	return decodeV1(data, source, func(o *artifact.Object) HandoffV1 {
		h := HandoffV1{
			Version: o.Need("version").Uint16(), Destination: o.Need("destination").Identifier(),
			StateProjection: map[string]string{},
		}
		for to, f := range either(o, "state_projection", "stateProjection").Map() {
			h.StateProjection[to] = f.Text()
		}
		authority := either(o, "authority_projection", "authorityProjection").Object()
		h.AuthorityProjection = readAuthorityV1(authority)
		authority.RefuseUnknown()
		h.ReturnContract = either(o, "return_contract", "returnContract").Text()
		return h
	})
}
