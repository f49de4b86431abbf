package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/schema"
)

// Fix is the smallest change to a pack that would permit a denied call. It is a
// proposal for a person to judge; nothing applies it by itself.
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
}

func (f *fixer) say(format string, args ...any) {
	f.beyond = append(f.beyond, fmt.Sprintf(format, args...))
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
	if words := "no change to the pack is enough: " + name + " refuses"; !slices.Contains(f.beyond, words) {
		f.beyond = append(f.beyond, words)
	}
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

// add puts names into a set of a grant.
func (f *fixer) add(p *part, field string, have []string, names ...string) {
	f.extend(p.layer, append(slices.Clone(p.path), field), have, names, "add %s to %s of %s", joinWords(names), field, strings.Join(p.path, "."))
}

// build checks that the change gives a pack at all.
func (f *fixer) build(p *Pack) *Fix {
	words := slices.Concat(f.beyond, f.words)
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

// arguments drops the keywords that the arguments break, or the whole schema
// where that is not possible or not enough.
func (f *fixer) arguments(p *part, compiler schema.Compiler, arguments artifact.Value, violations []schema.Violation) {
	path := append(slices.Clone(p.path), "arguments")
	dropped := artifact.Value{}
	var keywords []string
	for _, v := range violations {
		tokens := strings.Split(strings.TrimPrefix(v.Rule, "/"), "/")
		patch := artifact.Value{}
		for _, token := range slices.Backward(tokens) {
			patch = object(artifact.Member{Name: unescape(token), Value: patch})
		}
		dropped = merge(dropped, patch, true)
		if !slices.Contains(keywords, v.Rule) {
			keywords = append(keywords, v.Rule)
		}
	}
	changed := MergePatch(p.grant.Arguments, dropped)
	s, err := compiler.Compile(changed)
	if err == nil && s.Validate(arguments) == nil && !hasIndex(violations) {
		f.set(p.layer, path, dropped, "drop %s from the schema of %s", joinWords(keywords), strings.Join(p.path, "."))
		return
	}
	f.remove(p.layer, path, "drop the schema of %s", strings.Join(p.path, "."))
}

// hasIndex reports whether a rule stands inside a list, which a merge patch can
// only replace as a whole.
func hasIndex(violations []schema.Violation) bool {
	return slices.ContainsFunc(violations, func(v schema.Violation) bool {
		return slices.ContainsFunc(strings.Split(v.Rule, "/"), func(token string) bool {
			_, ok := arrayIndex(token)
			return ok || token == ""
		}) && v.Rule != ""
	})
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
