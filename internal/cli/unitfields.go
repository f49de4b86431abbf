package cli

import (
	"reflect"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/internal/draft"
	"github.com/writ-dev/writ/kcp"
)

// unitField is one field of a unit, with what it has from the manifest's root.
type unitField struct {
	name  string
	value artifact.Value
	// inherited lists what comes from the root: the field itself, or the fields
	// in it.
	inherited []string
}

// unitFields gives everything that a manifest says of a unit, under the names of
// the format and in the order of the model. What is inherited is filled in
// (format section 4). malformed lists the fields whose value cannot be read.
func unitFields(m *kcp.Manifest, u *kcp.Unit) (fields []unitField, malformed []string) {
	full, inherited := resolve(m, u)
	w := &modelWriter{}
	add := func(of reflect.Value) {
		for _, member := range w.members(of, "") {
			fields = append(fields, unitField{member.Name, member.Value, inherited[member.Name]})
		}
	}
	add(reflect.ValueOf(full))
	if full.Details != nil {
		add(reflect.ValueOf(*full.Details))
	}
	if full.StepsMalformed {
		w.malformed = append(w.malformed, "steps")
	}
	return fields, w.malformed
}

// resolve fills in what the root has for a unit, and says what that was.
func resolve(m *kcp.Manifest, u *kcp.Unit) (kcp.Unit, map[string][]string) {
	full, details := *u, kcp.Details{}
	if u.Details != nil {
		details = *u.Details
	}
	inherited := map[string][]string{}
	whole := func(name string, taken bool) {
		if taken {
			inherited[name] = []string{name}
		}
	}
	if !details.Language.Set {
		details.Language = m.Language
		whole("language", m.Language.Set)
	}
	whole("license", inherit(&details.License, m.License))
	whole("indexing", inherit(&details.Indexing, m.Indexing))
	whole("payment", inherit(&full.Payment, m.Payment))
	whole("rate_limits", inherit(&full.RateLimits, m.RateLimits))
	whole("freshness_policy", inherit(&details.Freshness, m.Freshness))
	whole("visibility", inherit(&details.Visibility, m.Visibility))
	whole("authority", inherit(&details.Authority, m.Authority))
	whole("auth", inherit(&details.Auth, m.Auth))
	whole("delegation", inherit(&details.Delegation, m.Delegation))
	whole("compliance", inherit(&details.Compliance, m.Compliance))
	full.Temporal = inheritFields(u.Temporal, m.Temporal, inherited, "temporal")
	details.Discovery = inheritFields(details.Discovery, m.Discovery, inherited, "discovery")
	if !reflect.ValueOf(details).IsZero() {
		full.Details = &details
	}
	return full, inherited
}

// inherit takes a block of the root where the unit has none.
func inherit[T any](own **T, root *T) (taken bool) {
	if *own != nil || root == nil {
		return false
	}
	*own = root
	return true
}

// inheritFields takes each field of the root that the unit leaves open.
func inheritFields[T any](own, root *T, inherited map[string][]string, name string) *T {
	if root == nil {
		return own
	}
	var merged T
	if own != nil {
		merged = *own
	}
	to, from := reflect.ValueOf(&merged).Elem(), reflect.ValueOf(root).Elem()
	for i := range to.NumField() {
		field := to.Type().Field(i)
		if to.Field(i).IsZero() && !from.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
			inherited[name] = append(inherited[name], name+"."+draft.FieldName(field.Name))
		}
	}
	return &merged
}

// modelWriter writes values of the model as JSON values, in the shape of the
// format.
type modelWriter struct{ malformed []string }

// formatNames are the fields whose name in the format does not follow from
// their name in the model.
var formatNames = map[string]string{
	"Details.Freshness":   "freshness_policy",
	"RateTier.PerMinute":  "requests_per_minute",
	"RateTier.PerHour":    "requests_per_hour",
	"RateTier.PerDay":     "requests_per_day",
	"TokenTier.PerMinute": "tokens_per_minute",
	"TokenTier.PerDay":    "tokens_per_day",
}

// members lists what a struct declares. Fields that say how something was
// written (its position, whether it was there) are no part of the format.
func (w *modelWriter) members(s reflect.Value, path string) []artifact.Member {
	var list []artifact.Member
	for i := range s.NumField() {
		field := s.Type().Field(i)
		if !field.IsExported() || field.Name == "Index" || field.Name == "Details" {
			continue
		}
		name := formatNames[s.Type().Name()+"."+field.Name]
		if name == "" {
			name = draft.FieldName(field.Name)
		}
		if field.Type.Kind() == reflect.Bool {
			if field.Name == "Malformed" && s.Field(i).Bool() {
				w.malformed = append(w.malformed, path)
			}
			continue
		}
		at := name
		if path != "" {
			at = path + "." + name
		}
		if value, ok := w.value(s.Field(i), at); ok {
			list = append(list, artifact.Member{Name: name, Value: value})
		}
	}
	return list
}

// value writes one value; ok is false when nothing was declared.
func (w *modelWriter) value(v reflect.Value, path string) (value artifact.Value, ok bool) {
	switch x := v.Interface().(type) {
	case kcp.String:
		return artifact.StringValue(x.Value), x.Set
	case kcp.Number:
		return artifact.FloatValue(x.Value), x.Set
	case kcp.Bool:
		if x.Malformed {
			w.malformed = append(w.malformed, path)
		}
		return artifact.BoolValue(x.Value), x.Declared
	case kcp.List:
		if x.Malformed {
			w.malformed = append(w.malformed, path)
		}
		return stringsValue(x.Items), x.Declared || len(x.Items) > 0
	case kcp.Count:
		if x.Unlimited {
			return artifact.StringValue("unlimited"), true
		}
		return artifact.FloatValue(x.Value), x.Set
	case *kcp.License:
		if x != nil && x.SPDX.Set && (kcp.License{SPDX: x.SPDX}) == *x {
			return artifact.StringValue(x.SPDX.Value), true
		}
	case *kcp.Indexing:
		if x != nil && x.Shorthand.Set {
			return artifact.StringValue(x.Shorthand.Value), true
		}
	case *kcp.Authority:
		return authorityValue(x), x != nil
	case kcp.VisibilityCondition:
		return w.condition(&x, path), true
	case *kcp.Charter:
		if x != nil {
			return w.charter(x, path), true
		}
	}
	return w.composite(v, path)
}

func (w *modelWriter) composite(v reflect.Value, path string) (value artifact.Value, ok bool) {
	switch v.Kind() {
	case reflect.String:
		return artifact.StringValue(v.String()), v.String() != ""
	case reflect.Pointer:
		if v.IsNil() {
			return value, false
		}
		return w.value(v.Elem(), path)
	case reflect.Struct:
		return artifact.ObjectValue(w.members(v, path)...), true
	case reflect.Slice:
		var items []artifact.Value
		for i := range v.Len() {
			if item, ok := w.value(v.Index(i), path+"["+artifact.FormatNumber(float64(i))+"]"); ok {
				items = append(items, item)
			}
		}
		return artifact.ArrayValue(items...), len(items) > 0
	}
	return value, false
}

func stringsValue(items []string) artifact.Value {
	values := make([]artifact.Value, len(items))
	for i, item := range items {
		values[i] = artifact.StringValue(item)
	}
	return artifact.ArrayValue(values...)
}

// authorityValue writes the actions as the mapping that they were.
func authorityValue(a *kcp.Authority) artifact.Value {
	if a == nil {
		return artifact.Value{}
	}
	var members []artifact.Member
	for _, action := range a.Actions {
		members = append(members, artifact.Member{Name: action.Name, Value: artifact.StringValue(action.Value.Value)})
	}
	return artifact.ObjectValue(members...)
}

// condition puts the fields of a visibility condition back below when and then.
func (w *modelWriter) condition(c *kcp.VisibilityCondition, path string) artifact.Value {
	when := w.members(reflect.ValueOf(struct{ Environment, AgentRole kcp.List }{c.Environment, c.AgentRole}), path+".when")
	then := w.members(reflect.ValueOf(struct {
		Sensitivity  kcp.String
		RequiresAuth kcp.Bool
		Authority    *kcp.Authority
	}{c.Sensitivity, c.RequiresAuth, c.ThenAuthority}), path+".then")
	return artifact.ObjectValue(
		artifact.Member{Name: "when", Value: artifact.ObjectValue(when...)},
		artifact.Member{Name: "then", Value: artifact.ObjectValue(then...)})
}

// charter puts what a charter lists back below scope.
func (w *modelWriter) charter(c *kcp.Charter, path string) artifact.Value {
	var members []artifact.Member
	if c.ScopeDeclared {
		scope := w.members(reflect.ValueOf(struct{ Read, Propose, Never kcp.List }{c.Read, c.Propose, c.Never}), path+".scope")
		members = append(members, artifact.Member{Name: "scope", Value: artifact.ObjectValue(scope...)})
	}
	rest := *c
	rest.Read, rest.Propose, rest.Never = kcp.List{}, kcp.List{}, kcp.List{}
	return artifact.ObjectValue(append(members, w.members(reflect.ValueOf(rest), path)...)...)
}
