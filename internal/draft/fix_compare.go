package draft

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
)

// differences are the fields that read differently in two manifests, with what
// they read as before and after.
type differences map[string][2]string

// compare gives every field of the model that differs. It sees all exported
// fields of [kcp.Manifest], so a field that is added there is compared too.
func compare(before, after *kcp.Manifest) differences {
	found := differences{}
	x, y := reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem()
	for i := range x.NumField() {
		field := x.Type().Field(i)
		if field.IsExported() && field.Name != "Source" {
			found.compare(yamlName(field.Name), x.Field(i), y.Field(i))
		}
	}
	return found
}

// compare looks closer only where something differs: most units are the same.
func (d differences) compare(path string, x, y reflect.Value) {
	if x.Kind() == reflect.Slice && x.Len() == y.Len() {
		for i := range x.Len() {
			if !reflect.DeepEqual(x.Index(i).Interface(), y.Index(i).Interface()) {
				d.flat(path+"["+strconv.Itoa(indexOf(x.Index(i), i))+"]", x.Index(i), y.Index(i))
			}
		}
		return
	}
	if !reflect.DeepEqual(x.Interface(), y.Interface()) {
		d.flat(path, x, y)
	}
}

// flat compares two values field by field.
func (d differences) flat(path string, x, y reflect.Value) {
	a, b := map[string]string{}, map[string]string{}
	flatten(a, path, x)
	flatten(b, path, y)
	for p, text := range a {
		if b[p] != text {
			d[p] = [2]string{text, b[p]}
		}
	}
	for p, text := range b {
		if _, both := a[p]; !both {
			d[p] = [2]string{"", text}
		}
	}
}

// meanings says in one line, for each target of the edits, how it and all below
// it read differently.
func (d differences) meanings(edits []edit) map[string]string {
	targets := map[string]bool{}
	for i := range edits {
		targets[edits[i].target] = true
	}
	said := map[string]string{}
	for _, path := range artifact.SortedNames(d) {
		one := fmt.Sprintf("%s was %s, is %s", path, orNothing(d[path][0]), orNothing(d[path][1]))
		for _, above := range ancestors(path) {
			if targets[above] {
				said[above] = strings.TrimPrefix(said[above]+"; "+one, "; ")
			}
		}
	}
	return said
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

// coveredBy reports whether a field is one of those that are named, is below one,
// or says how one was declared.
func coveredBy(named map[string]bool, path string) bool {
	return slices.ContainsFunc(ancestors(path), func(above string) bool { return named[above] })
}

// ancestors gives a path and every path above it. How a field was declared
// belongs to the field.
func ancestors(path string) []string {
	list := []string{path}
	for _, how := range []string{"_declared", "_malformed"} {
		if field, ok := strings.CutSuffix(path, how); ok {
			list = append(list, field)
		}
	}
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '.' || path[i] == '[' {
			list = append(list, path[:i])
		}
	}
	return list
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
			out[path] = strings.TrimSuffix("malformed "+flowList(x.Items), " []")
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
		if !field.IsExported() || field.Name == "Index" {
			continue
		}
		if field.Name != "Details" {
			flatten(out, path+"."+yamlName(field.Name), v.Field(i))
		} else if !v.Field(i).IsNil() { // fields of the unit itself
			flatten(out, path, v.Field(i).Elem())
		}
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
	return FieldName(name)
}

// FieldName writes a Go name in the way of the format: DocsURL is docs_url.
func FieldName(name string) string {
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
