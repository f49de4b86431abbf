package draft

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/writ-dev/writ/kcp"
)

// differences are the fields that read differently in two manifests, with what
// they read as before and after.
type differences map[string][2]string

// compare gives every field of the model that differs. It sees all exported
// fields of [kcp.Manifest], so a field that is added there is compared too.
func compare(before, after *kcp.Manifest) differences {
	a, b := map[string]string{}, map[string]string{}
	flatten(a, "", reflect.ValueOf(before).Elem())
	flatten(b, "", reflect.ValueOf(after).Elem())
	found := differences{}
	for path, text := range a {
		if b[path] != text {
			found[path] = [2]string{text, b[path]}
		}
	}
	for path, text := range b {
		if _, both := a[path]; !both {
			found[path] = [2]string{"", text}
		}
	}
	return found
}

// below says in one line how a field and all below it read differently.
func (d differences) below(path string) string {
	var parts []string
	for p := range d {
		if covers(path, p) {
			parts = append(parts, p)
		}
	}
	slices.Sort(parts)
	for i, p := range parts {
		parts[i] = fmt.Sprintf("%s was %s, is %s", p, orNothing(d[p][0]), orNothing(d[p][1]))
	}
	return strings.Join(parts, "; ")
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

// covers reports whether a field is the one that is named, is below it, or says
// how that was declared.
func covers(path, field string) bool {
	rest, ok := strings.CutPrefix(field, path)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[' || rest == "_declared" || rest == "_malformed")
}

// flatten writes what a manifest says as paths and texts. The paths are those of
// the YAML fields, as far as the names of the model allow; where they are not,
// a change looks like one of another field, and is refused.
func flatten(out map[string]string, path string, v reflect.Value) {
	switch x := v.Interface().(type) {
	case kcp.Bool:
		switch {
		case x.Malformed:
			out[path] = "malformed"
		case x.Declared:
			out[path] = strconv.FormatBool(x.Value)
		}
		return
	case kcp.List:
		switch {
		case x.Malformed:
			out[path] = fmt.Sprintf("malformed %q", x.Items)
		case x.Declared:
			out[path] = flowList(x.Items)
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out[path] = "there"
			flatten(out, path, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			flatten(out, path+"["+strconv.Itoa(indexOf(v.Index(i), i))+"]", v.Index(i))
		}
	case reflect.Struct:
		flattenStruct(out, path, v)
	default:
		if !v.IsZero() {
			out[path] = fmt.Sprint(v.Interface())
			if v.Kind() == reflect.String {
				out[path] = quote(v.String())
			}
		}
	}
}

func flattenStruct(out map[string]string, path string, v reflect.Value) {
	if set := v.FieldByName("Set"); set.IsValid() && v.NumField() == 2 { // an optional value
		if set.Bool() {
			value := v.FieldByName("Value")
			out[path] = fmt.Sprint(value.Interface())
			if value.Kind() == reflect.String {
				out[path] = quote(value.String())
			}
		}
		return
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() || field.Name == "Index" || field.Name == "Source" && path == "" {
			continue
		}
		below := yamlName(field.Name)
		switch {
		case below == "details": // fields of the unit itself
			if !v.Field(i).IsNil() {
				flatten(out, path, v.Field(i).Elem())
			}
			continue
		case path != "":
			below = path + "." + below
		}
		flatten(out, below, v.Field(i))
	}
}

// indexOf gives the place of an item in the YAML list, which counts items that
// the model leaves out.
func indexOf(item reflect.Value, i int) int {
	if item.Kind() == reflect.Struct {
		if index := item.FieldByName("Index"); index.IsValid() && index.Kind() == reflect.Int {
			return int(index.Int())
		}
	}
	return i
}

// yamlName gives the field of the format that a field of the model stands for.
func yamlName(name string) string {
	if name == "Freshness" {
		return "freshness_policy"
	}
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
