package policy

import (
	"slices"

	"github.com/writ-dev/writ/artifact"
)

// A version 1 pack writes the same grants in other places: here is the table.

func (l *layer) isManifest() bool { return l.pack != nil && l.pack.manifest.Set }
func (l *layer) isNative() bool   { return l.pack != nil && l.pack.native.Set }

// namespace grants access to a namespace.
func (f *fixer) namespace(l *layer, name string, want Access) {
	words := "grant " + want.String() + " of namespace " + name
	if l.agent != "" {
		words += " to " + l.name
	}
	have, added := artifact.SortedNames(l.authority.Namespaces), []string{name}
	switch {
	case l.isNative() && l.agent == "":
		f.extend(l, []string{"authority", "namespaces"}, have, added, "%s", words)
	case l.isManifest() && l.agent == "":
		f.extend(l, []string{"namespaces"}, have, added, "%s", words)
	case l.isManifest():
		f.extend(l, []string{"agents", l.agent, "namespaces"}, have, added, "%s", words)
	case l.isNative():
		f.denied(l)
	default:
		f.set(l, l.at("namespaces", name), artifact.StringValue(want.String()), "%s", words)
	}
}

// at gives a path inside the layer's part of a version 2 pack.
func (l *layer) at(path ...string) []string {
	if l.agent != "" {
		return append([]string{"agents", l.agent}, path...)
	}
	return path
}

// capability binds a capability, or gives it to an agent.
func (f *fixer) capability(l *layer, name string) {
	have, added := artifact.SortedNames(l.authority.Capabilities), []string{name}
	switch {
	case l.agent != "" && l.isNative():
		f.denied(l)
	case l.agent != "":
		f.extend(l, l.at("capabilities"), have, added, "give capability %s to %s", name, l.name)
	case l.isNative():
		f.extend(l, []string{"authority", "capabilities"}, have, added, "grant capability %s", name)
	case l.isManifest():
		f.set(l, []string{"capability_bindings", name}, artifact.StringValue(name), "bind capability %s", name)
	default:
		f.set(l, []string{"capabilities", name}, artifact.StringValue(name), "bind capability %s", name)
	}
}

// grant names the effect of a call, as narrowly as the call can be described.
func (f *fixer) grant(l *layer, c *Call) {
	if l.isNative() || l.isManifest() {
		f.grantV1(l, c)
		return
	}
	f.set(l, []string{c.Kind.Section(), c.Name}, narrowGrant(c), "grant %s %s", c.Kind, c.Name)
}

func (f *fixer) grantV1(l *layer, c *Call) {
	capability := map[Kind]string{
		KindRetrieve: "retrieval.query", KindCortex: "cortex." + c.Name, KindWASM: "wasm.execute", KindHandoff: "handoff.delegate",
		KindClaims: "claims." + map[string]string{"read": "propose", "propose": "propose", "commit": "commit"}[c.Action],
	}[c.Kind]
	switch {
	case c.Kind == KindTool:
		f.extend(l, []string{"tools"}, artifact.SortedNames(l.parts[KindTool]), []string{c.Name}, "grant tool %s", c.Name)
	case capability != "":
		f.capability(l, capability)
		if c.Namespace == "" && c.Kind != KindWASM && c.Kind != KindHandoff {
			f.say("name a namespace in the call, or write a version 2 pack")
		}
	default:
		f.say("version 1 packs cannot grant %s; write a version 2 pack with a section %s", c.Kind, c.Kind.Section())
	}
}

// narrowGrant gives the narrowest grant that covers the call.
func narrowGrant(c *Call) artifact.Value {
	var f fields
	switch c.Kind {
	case KindExec:
		f.text("program", c.Program)
		if len(c.Argv) > 0 {
			f.put("args", exactArguments(c.Argv))
		}
		f.set("env", c.Env)
	case KindHTTP:
		scheme, host, problem := splitURL(c.URL)
		if problem != "" {
			host = "invalid"
		}
		f.set("hosts", []string{host})
		f.set("methods", []string{c.Action})
		if scheme == "http" {
			f.set("schemes", []string{scheme})
		}
	case KindWASM:
		f.digests("module", []artifact.Digest{c.Module})
		if c.Memory > DefaultMemoryBytes {
			f.number("memory_bytes", c.Memory)
		}
	case KindRetrieve:
		if c.Manifest != "" {
			f.set("manifests", []string{c.Manifest})
		}
		f.set("namespaces", c.Namespaces)
	case KindClaims:
		f.set("actions", []string{c.Action})
	case KindHandoff:
		f.digests("graph", []artifact.Digest{c.Graph})
	}
	return f.object()
}

// set puts a set of names, unless it is empty.
func (f *fields) set(name string, list []string) {
	if len(list) > 0 {
		list = slices.Clone(list)
		slices.Sort(list)
		f.names(name, slices.Compact(list))
	}
}

// askPeople lets people be asked.
func (f *fixer) askPeople(l *layer) {
	if l.isNative() || l.isManifest() {
		f.capability(l, "hitl.resume")
		return
	}
	f.set(l, []string{"approvals"}, artifact.ObjectValue(), "let people be asked")
}

// lift raises every bound that a need exceeds.
func (f *fixer) lift(s shortage) {
	to := addSaturating(s.have, s.need)
	for _, by := range s.of.below(s.resource, s.currency, to) {
		if s.currency != "" {
			f.raiseCost(by, s.currency, to)
		} else {
			f.raise(by, s.resource, to)
		}
	}
}

// raise lifts one bound.
func (f *fixer) raise(by *bounder, r resource, to uint64) {
	l := by.layer
	if l == nil || !l.editable {
		f.bounded(by)
		return
	}
	name, shown := resourceNames[r], r.shown(to)
	path := append(slices.Clone(by.path), name)
	if (l.isNative() || l.isManifest()) && l.agent == "" {
		v1, ok := map[resource]string{steps: "max_steps", calls: "max_calls", units: "max_units", duration: "max_duration_ms"}[r]
		if !ok {
			f.denied(l)
			return
		}
		path, shown = []string{"budget", v1}, artifact.UintValue(to)
	}
	f.set(l, path, shown, "raise %s of %s to %s", name, by.name, shown.Text())
}

func (f *fixer) bounded(by *bounder) {
	f.say("no change to the pack is enough: the limit is set by %s", by.name)
}

// raiseCost lifts the bound of a currency.
func (f *fixer) raiseCost(by *bounder, currency string, to uint64) {
	l := by.layer
	if l == nil || !l.editable || l.isNative() && l.agent != "" {
		f.bounded(by)
		return
	}
	path := append(slices.Clone(by.path), "cost_micros", currency)
	if l.isNative() {
		path = []string{"budget", "max_cost_micros"}
	}
	f.set(l, path, artifact.UintValue(to), "raise cost_micros.%s of %s to %d", currency, by.name, to)
}
