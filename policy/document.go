package policy

import "github.com/writ-dev/writ/artifact"

// fields collects the members of an object, leaving out what is absent.
type fields []artifact.Member

func (f *fields) put(name string, v artifact.Value) {
	*f = append(*f, artifact.Member{Name: name, Value: v})
}

func (f *fields) text(name, s string) {
	if s != "" {
		f.put(name, artifact.StringValue(s))
	}
}

func (f *fields) number(name string, n uint64) {
	if n != 0 {
		f.put(name, artifact.UintValue(n))
	}
}

func (f *fields) flag(name string, set bool) {
	if set {
		f.put(name, artifact.BoolValue(true))
	}
}

func (f *fields) duration(name string, millis uint64) {
	if millis != 0 {
		f.put(name, artifact.StringValue(FormatDuration(millis)))
	}
}

func (f *fields) time(name string, millis int64) {
	if millis != 0 {
		f.put(name, artifact.StringValue(formatTime(millis)))
	}
}

// digests puts one digest as text, and several as a list.
func (f *fields) digests(name string, list []artifact.Digest) {
	if len(list) > 0 {
		f.put(name, digestsValue(list))
	}
}

func digestsValue(list []artifact.Digest) artifact.Value {
	if len(list) == 1 {
		return artifact.StringValue(list[0].String())
	}
	return stringList(digestTexts(list))
}

func digestTexts(list []artifact.Digest) []string {
	texts := make([]string, len(list))
	for i, d := range list {
		texts[i] = d.String()
	}
	return texts
}

func (f *fields) names(name string, list []string) {
	if list != nil {
		f.put(name, stringList(list))
	}
}

func (f *fields) limits(name string, l Limits) {
	if !l.IsZero() {
		f.put(name, l.value())
	}
}

func (f *fields) object() artifact.Value { return artifact.ObjectValue(*f...) }

// Value gives a version 2 document that [ReadPack] reads as an equal pack. Of a
// version 1 pack it gives what version 2 would call it, for people to compare.
func (p *Pack) Value() artifact.Value {
	var f fields
	f.put("version", artifact.UintValue(2))
	f.text("id", p.ID)
	f.text("description", p.Description)
	f.time("not_before", p.NotBeforeMS)
	f.time("expires", p.ExpiresMS)
	if p.Agents != nil {
		var agents fields
		for _, id := range artifact.SortedNames(p.Agents) {
			agents.put(id, p.Agents[id].value())
		}
		f.put("agents", agents.object())
	}
	if p.Capabilities != nil {
		f.put("capabilities", stringMap(p.Capabilities))
	}
	f = append(f, p.members()...)
	f.number("condition_cost", p.ConditionCost)
	return f.object()
}

func (a Agent) value() artifact.Value {
	var f fields
	f.digests("definition", a.Definitions)
	if a.Graphs != nil {
		f.names("graphs", digestTexts(a.Graphs))
	}
	f.names("capabilities", a.Capabilities)
	f.put("namespaces", accessMap(a.Namespaces))
	f.limits("limits", a.Limits)
	return f.object()
}

func accessMap(m map[string]Access) artifact.Value {
	var f fields
	for _, name := range artifact.SortedNames(m) {
		f.text(name, m[name].String())
	}
	return f.object()
}

// Value gives the authority as the member authority of a handoff has it.
func (a *Authority) Value() artifact.Value {
	var f fields
	if a.Capabilities != nil {
		f.names("capabilities", artifact.SortedNames(a.Capabilities))
	}
	f = append(f, a.members()...)
	return f.object()
}

// members gives every section but capabilities.
func (a *Authority) members() fields {
	var f fields
	if a.Namespaces != nil {
		f.put("namespaces", accessMap(a.Namespaces))
	}
	f.limits("limits", a.Limits)
	for k := range namedKinds {
		if a.Grants[k] == nil {
			continue
		}
		var grants fields
		for _, name := range artifact.SortedNames(a.Grants[k]) {
			grants.put(name, a.Grants[k][name].value(k))
		}
		f.put(k.Section(), grants.object())
	}
	if a.Approvals != nil {
		f.put("approvals", a.Approvals.value())
	}
	f.names("redact", a.Redact)
	if a.Blobs != nil {
		var blobs fields
		for _, class := range artifact.SortedNames(a.Blobs) {
			if a.Blobs[class] == Forever {
				blobs.text(class, "forever")
			} else {
				blobs.duration(class, a.Blobs[class])
			}
		}
		f.put("blobs", blobs.object())
	}
	return f
}

func (r *ApprovalRule) value() artifact.Value {
	var f fields
	if r.Method.Set {
		f.text("minimum_method", r.Method.Value.String())
	}
	if r.Quorum > 1 {
		f.number("quorum", r.Quorum)
	}
	f.duration("expires", r.ExpiresMS)
	return f.object()
}

func (g *Grant) value(k Kind) artifact.Value {
	var f fields
	f.text("capability", g.Capability)
	g.specific(k, &f)
	if !g.Arguments.IsNull() {
		f.put("arguments", g.Arguments)
	}
	f.names("when", g.When)
	f.limits("limits", g.Limits)
	f.limits("per_call", g.PerCall)
	f.duration("timeout", g.TimeoutMS)
	if g.Approval != nil {
		f.put("approval", g.Approval.value())
	}
	return f.object()
}

// specific writes what only one kind has.
func (g *Grant) specific(k Kind, f *fields) {
	switch k {
	case KindTool:
		f.flag("proxied", g.Proxied)
	case KindExec:
		f.text("program", g.Program)
		if g.Args != nil {
			rules := make([]artifact.Value, len(g.Args))
			for i, a := range g.Args {
				rules[i] = a.value()
			}
			f.put("args", artifact.ArrayValue(rules...))
		}
		f.names("env", g.Env)
		f.number("output_bytes", g.OutputBytes)
		f.flag("allow_model_flags", g.AllowModelFlags)
		if g.Also != nil {
			f.put("also", exactValues(g.Also, g.Program))
		}
	case KindHTTP:
		f.names("hosts", g.Hosts)
		f.names("methods", g.Methods)
		f.names("schemes", g.Schemes)
		f.number("output_bytes", g.OutputBytes)
	case KindWASM:
		f.digests("module", g.Modules)
		f.number("memory_bytes", g.MemoryBytes)
	case KindModel:
		f.number("max_output_tokens", g.MaxOutputTokens)
	case KindRetrieve:
		f.names("manifests", g.Manifests)
		f.names("namespaces", g.Namespaces)
		f.number("output_bytes", g.OutputBytes)
	case KindClaims:
		f.names("actions", g.Actions)
	case KindHandoff:
		f.digests("graph", g.Graphs)
		if g.Authority != nil {
			f.put("authority", g.Authority.Value())
		}
	}
}

func exactValues(list []Exact, program string) artifact.Value {
	values := make([]artifact.Value, len(list))
	for i, x := range list {
		var f fields
		if x.Program != program {
			f.text("program", x.Program)
		}
		f.put("args", stringList(x.Args))
		values[i] = f.object()
	}
	return artifact.ArrayValue(values...)
}

func (a Argument) value() artifact.Value {
	if a.Pattern == "" {
		return artifact.StringValue(a.Text)
	}
	var f fields
	f.text("match", a.Pattern)
	f.flag("repeat", a.Repeat)
	return f.object()
}
