package policy

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// Fix is the smallest change to a pack that would permit a denied call. What was
// permitted stays permitted: bounds move as far as the call needs, sets and lists
// get what it has, and only a condition is dropped as a whole. It is a proposal for
// a person to judge; nothing applies it by itself. It may hold arguments of the
// call, but none that the pack redacts.
type Fix struct {
	Words string // what to do
	// YAML is the change as a merge patch (RFC 7396): mappings are merged into
	// the pack, other values replace, null removes. It is empty where no change
	// of the pack alone would permit the call.
	YAML string

	patch artifact.Value
}

// Apply gives the changed pack. It fails where no change of the pack helps.
func (f *Fix) Apply(p *Pack) (*Pack, error) {
	if f.YAML == "" {
		return nil, errors.New("the pack cannot be changed so that the call is permitted: " + f.Words)
	}
	return applyPatch(p, f.patch)
}

func applyPatch(p *Pack, patch artifact.Value) (*Pack, error) {
	if p.native.Set {
		return readNativePack([]byte(writeNative(MergePatch(p.native.Value.value(), patch))), p.Source())
	}
	changed := MergePatch(p.doc.Value(), patch)
	if p.manifest.Set {
		return readManifestPack(changed.AppendCompact(nil), p.Source())
	}
	return packFrom(changed, p.Source())
}

// value gives a native pack as the mapping that its text looks like.
func (n NativeV1) value() artifact.Value {
	budget := fields{{Name: "max_calls", Value: artifact.UintValue(n.Budget.MaxCalls)}}
	budget.put("max_units", artifact.UintValue(n.Budget.MaxUnits))
	budget.put("max_duration_ms", artifact.UintValue(n.Budget.MaxDurationMS))
	if n.MaxSteps.Set {
		budget.put("max_steps", artifact.UintValue(n.MaxSteps.Value))
	}
	if n.MaxCostMicros.Set {
		budget.put("max_cost_micros", artifact.UintValue(n.MaxCostMicros.Value))
	}
	return object(
		artifact.Member{Name: "version", Value: artifact.UintValue(1)},
		artifact.Member{Name: "id", Value: artifact.StringValue(n.ID)},
		artifact.Member{Name: "tools", Value: stringList(n.Tools)},
		artifact.Member{Name: "authority", Value: object(
			artifact.Member{Name: "capabilities", Value: stringList(artifact.SortedNames(n.CapabilityBindings))},
			artifact.Member{Name: "namespaces", Value: stringList(n.Namespaces)},
		)},
		artifact.Member{Name: "budget", Value: budget.object()},
	)
}

// MergePatch applies a merge patch (RFC 7396) to a document.
func MergePatch(target, patch artifact.Value) artifact.Value { return merge(target, patch, false) }

// merge keeps null where keepNull, to join two patches into one.
func merge(target, patch artifact.Value, keepNull bool) artifact.Value {
	if patch.Kind() != artifact.KindObject {
		return patch
	}
	if target.Kind() != artifact.KindObject {
		target = artifact.ObjectValue()
	}
	for _, m := range patch.Members() {
		old, _ := target.Get(m.Name)
		if m.Value.IsNull() && !keepNull {
			target = target.Without(m.Name)
			continue
		}
		target = target.With(m.Name, merge(old, m.Value, keepNull))
	}
	return target
}

// fixer collects the changes that would undo each reason of a denial.
type fixer struct {
	patch  artifact.Value
	words  []string
	beyond []string // what the pack cannot change
	people string   // what people have to do besides; empty for nothing
}

func (f *fixer) say(format string, args ...any) {
	if words := fmt.Sprintf(format, args...); !slices.Contains(f.beyond, words) {
		f.beyond = append(f.beyond, words)
	}
}

// set puts a value at a path of the layer's document.
func (f *fixer) set(l *layer, path []string, v artifact.Value, format string, args ...any) {
	if l == nil || !l.editable {
		f.denied(l)
		return
	}
	for _, token := range slices.Backward(path) {
		v = object(artifact.Member{Name: token, Value: v})
	}
	f.patch = merge(f.patch, v, true)
	if words := fmt.Sprintf(format, args...); !slices.Contains(f.words, words) {
		f.words = append(f.words, words)
	}
}

func (f *fixer) remove(l *layer, path []string, format string, args ...any) {
	f.set(l, path, artifact.Value{}, format, args...)
}

func (f *fixer) denied(l *layer) {
	name := "whoever set the limit"
	if l != nil {
		name = "the " + l.name
	}
	f.say("no change to the pack is enough: %s refuses", name)
}

// extend puts names into a set. Several reasons may extend the same one.
func (f *fixer) extend(l *layer, path, have []string, names []string, format string, args ...any) {
	list := append(slices.Clone(have), names...)
	at := f.patch
	for _, token := range path {
		at, _ = at.Get(token)
	}
	for _, e := range at.Elements() {
		list = append(list, e.Text())
	}
	slices.Sort(list)
	f.set(l, path, stringList(slices.Compact(list)), format, args...)
}

// pin adds a digest to those that are named already.
func (f *fixer) pin(l *layer, path []string, have []artifact.Digest, d artifact.Digest, what string) {
	list := append(slices.Clone(have), d)
	slices.SortFunc(list, func(a, b artifact.Digest) int { return bytes.Compare(a[:], b[:]) })
	f.set(l, path, digestsValue(list), "name %s %s too", what, d)
}

// add puts names into a set of a grant.
func (f *fixer) add(p *part, field string, have []string, names ...string) {
	f.extend(p.layer, append(slices.Clone(p.path), field), have, names, "add %s to %s of %s", joinWords(names), field, strings.Join(p.path, "."))
}

// build checks that the change gives a pack at all.
func (f *fixer) build(p *Pack) *Fix {
	words := slices.Concat(f.beyond, f.words)
	switch {
	case f.people == "":
	case words == nil:
		words = []string{"no change to the pack is needed: " + f.people}
	default:
		words = append(words, "and "+f.people)
	}
	fix := &Fix{Words: strings.Join(words, "; ")}
	if len(f.beyond) > 0 || f.patch.IsNull() {
		return fix
	}
	if _, err := applyPatch(p, f.patch); err != nil {
		return fix
	}
	fix.patch, fix.YAML = f.patch, writeYAML(f.patch)
	if p.native.Set {
		fix.YAML = writeNative(f.patch)
	}
	return fix
}

// arguments lets a schema permit the arguments.
func (f *fixer) arguments(p *part, o Options, redact []string, arguments artifact.Value) {
	grant := strings.Join(p.path, ".")
	r := relaxation{compiler: o.Schemas, schema: p.grant.Arguments, arguments: arguments, redact: redact}
	if certain, ok := o.Schemas.(certainCompiler); ok {
		r.planned = certain.c
	}
	passes := r.run()
	patch := patchBetween(p.grant.Arguments, r.schema)
	switch {
	case r.quoted != "":
		f.say("no change is shown: it would hold the value of %s, which the pack redacts", r.quoted)
	case r.unknown != "":
		f.say("no change is shown: it depends on %s, which the graph does not say", r.unknown)
	case !passes || !MergePatch(p.grant.Arguments, patch).Equal(r.schema):
		f.say("no change of the schema of %s is enough but to drop it", grant)
	default:
		f.set(p.layer, append(slices.Clone(p.path), "arguments"), patch, "in the schema of %s %s", grant, joinWords(r.words))
	}
}

// argumentsV1 does the same in the contract language of version 1.
func (f *fixer) argumentsV1(p *part, name string, arguments artifact.Value) {
	changed := relaxV1(p.grant.Arguments, arguments)
	patch := patchBetween(p.grant.Arguments, changed)
	if !MergePatch(p.grant.Arguments, patch).Equal(changed) {
		f.say("no change of the constraint of %s is enough but to drop it", name)
		return
	}
	f.set(p.layer, []string{"argument_constraints", name}, patch, "relax the constraint of %s", name)
}

// patchBetween gives the smallest merge patch that turns a value into another one.
// A member that becomes null it cannot express.
func patchBetween(before, after artifact.Value) artifact.Value {
	if before.Kind() != artifact.KindObject || after.Kind() != artifact.KindObject {
		return after
	}
	patch := artifact.ObjectValue()
	for _, m := range before.Members() {
		if _, kept := after.Get(m.Name); !kept {
			patch = patch.With(m.Name, artifact.Value{})
		}
	}
	for _, m := range after.Members() {
		if old, there := before.Get(m.Name); !there || !old.Equal(m.Value) {
			patch = patch.With(m.Name, patchBetween(old, m.Value))
		}
	}
	return patch
}

// conditions drops those that do not hold.
func (f *fixer) conditions(p *part, failed []string) {
	var kept []string
	for _, source := range p.grant.When {
		if !slices.Contains(failed, source) {
			kept = append(kept, source)
		}
	}
	path := append(slices.Clone(p.path), "when")
	quoted := make([]string, len(failed))
	for i, source := range failed {
		quoted[i] = fmt.Sprintf("%q", source)
	}
	if kept == nil {
		f.remove(p.layer, path, "drop the condition %s of %s", joinWords(quoted), strings.Join(p.path, "."))
		return
	}
	f.set(p.layer, path, stringList(kept), "drop the condition %s of %s", joinWords(quoted), strings.Join(p.path, "."))
}
