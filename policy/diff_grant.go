package policy

import (
	"slices"

	"github.com/writ-dev/writ/artifact"
)

// grant compares two grants of one name.
func (d *differ) grant(k Kind, path string, before, after *Grant) {
	d.text(path+".capability", before.Capability, after.Capability, Narrower, Wider)
	d.specificTo(k, path, before, after)
	switch a, b := before.Arguments, after.Arguments; {
	case a.IsNull() && !b.IsNull():
		d.say(path+".arguments", Narrower, "arguments are constrained")
	case !a.IsNull() && b.IsNull():
		d.say(path+".arguments", Wider, "arguments are no longer constrained")
	case !a.Equal(b):
		d.say(path+".arguments", Other, "the schema of the arguments changes")
	}
	for _, c := range after.When {
		if !slices.Contains(before.When, c) {
			d.say(path+".when", Narrower, "condition %q is added", c)
		}
	}
	for _, c := range before.When {
		if !slices.Contains(after.When, c) {
			d.say(path+".when", Wider, "condition %q is removed", c)
		}
	}
	d.limits(path+".limits", before.Limits, after.Limits, false)
	d.limits(path+".per_call", before.PerCall, after.PerCall, false)
	d.bound(path+".timeout", given(before.TimeoutMS), given(after.TimeoutMS), FormatDuration)
	switch a, b := before.Approval, after.Approval; {
	case a == nil && b != nil:
		d.say(path+".approval", Narrower, "%s needed", count(b.Quorum, "approval"))
	case a != nil && b == nil:
		d.say(path+".approval", Wider, "no approval needed any more")
	case a != nil:
		d.approval(path+".approval", a, b)
	}
}

// given is a number of which 0 means that it is absent.
func given(n uint64) artifact.Optional[uint64] {
	return artifact.Optional[uint64]{Value: n, Set: n != 0}
}

func (d *differ) approval(path string, before, after *ApprovalRule) {
	switch {
	case after.Quorum > before.Quorum:
		d.say(path+".quorum", Narrower, "raised from %d to %d", before.Quorum, after.Quorum)
	case after.Quorum < before.Quorum:
		d.say(path+".quorum", Wider, "lowered from %d to %d", before.Quorum, after.Quorum)
	}
	if a, b := before.Method, after.Method; a != b {
		shown := func(m artifact.Optional[Method]) string {
			if !m.Set {
				return "the default"
			}
			return m.Value.String()
		}
		effect := Other
		switch {
		case a.Set && b.Set && b.Value > a.Value:
			effect = Narrower
		case a.Set && b.Set:
			effect = Wider
		}
		d.say(path+".minimum_method", effect, "changed from %s to %s", shown(a), shown(b))
	}
	d.bound(path+".expires", given(before.ExpiresMS), given(after.ExpiresMS), FormatDuration)
}

// specificTo compares what only one kind has.
func (d *differ) specificTo(k Kind, path string, before, after *Grant) {
	switch k {
	case KindTool:
		d.flag(path+".proxied", before.Proxied, after.Proxied, Other)
	case KindExec:
		d.text(path+".program", before.Program, after.Program, Other, Other)
		if !slices.Equal(before.Args, after.Args) {
			d.say(path+".args", Other, "changed from %s to %s", showArguments(before.Args), showArguments(after.Args))
		}
		d.names(path+".env", before.Env, after.Env, Wider)
		d.size(path+".output_bytes", before.OutputBytes, after.OutputBytes, DefaultOutputBytes)
		d.flag(path+".allow_model_flags", before.AllowModelFlags, after.AllowModelFlags, Wider)
		d.names(path+".also", exactTexts(before.Also), exactTexts(after.Also), Wider)
	case KindHTTP:
		d.names(path+".hosts", before.Hosts, after.Hosts, Wider)
		d.names(path+".methods", before.Methods, after.Methods, Wider)
		d.names(path+".schemes", schemesOf(before), schemesOf(after), Wider)
		d.size(path+".output_bytes", before.OutputBytes, after.OutputBytes, DefaultOutputBytes)
	case KindWASM:
		d.digests(path+".module", before.Modules, after.Modules)
		d.size(path+".memory_bytes", before.MemoryBytes, after.MemoryBytes, DefaultMemoryBytes)
	case KindModel:
		d.bound(path+".max_output_tokens", given(before.MaxOutputTokens), given(after.MaxOutputTokens), plainNumber)
	case KindRetrieve:
		d.names(path+".manifests", before.Manifests, after.Manifests, Wider)
		d.names(path+".namespaces", before.Namespaces, after.Namespaces, Wider)
		d.size(path+".output_bytes", before.OutputBytes, after.OutputBytes, DefaultOutputBytes)
	case KindClaims:
		d.names(path+".actions", before.Actions, after.Actions, Wider)
	case KindHandoff:
		d.digests(path+".graph", before.Graphs, after.Graphs)
		d.childAuthority(path+".authority", before.Authority, after.Authority)
	}
}

func (d *differ) childAuthority(path string, before, after *Authority) {
	switch {
	case before == nil && after != nil:
		d.say(path, Narrower, "the child's authority is limited")
	case before != nil && after == nil:
		d.say(path, Wider, "the child's authority is that of the parent")
	case before != nil:
		if !d.appears(path+".capabilities", before.Capabilities == nil, after.Capabilities == nil) {
			d.names(path+".capabilities", artifact.SortedNames(before.Capabilities), artifact.SortedNames(after.Capabilities), Wider)
		}
		d.authority(path, before, after, false)
	}
}

func (d *differ) flag(path string, before, after bool, set Effect) {
	switch {
	case before == after:
	case after:
		d.say(path, set, "is set")
	default:
		d.say(path, opposite(set), "is no longer set")
	}
}

// size compares sizes that have a default.
func (d *differ) size(path string, before, after, normal uint64) {
	or := func(n uint64) artifact.Optional[uint64] {
		if n == 0 {
			n = normal
		}
		return artifact.Some(n)
	}
	d.bound(path, or(before), or(after), plainNumber)
}

func schemesOf(g *Grant) []string {
	if g.Schemes == nil {
		return []string{"https"}
	}
	return g.Schemes
}

// exactTexts gives each program with its arguments as one text.
func exactTexts(list []Exact) []string {
	texts := make([]string, len(list))
	for i, v := range exactValues(list, "").Elements() {
		texts[i] = v.String()
	}
	return texts
}

func showArguments(rules []Argument) string {
	list := make([]artifact.Value, len(rules))
	for i, r := range rules {
		list[i] = r.value()
	}
	return artifact.ArrayValue(list...).String()
}
