package policy_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/schema"
	"github.com/writ-dev/writ/schema/jsonschema"
)

// packSchema gives the published JSON Schema of packs.
func packSchema(t testing.TB) (artifact.Value, schema.Schema) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "docs", "schema", "pack.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := artifact.ParseValue(data)
	if err != nil {
		t.Fatal(err)
	}
	s, err := jsonschema.New().Compile(source)
	if err != nil {
		t.Fatal(err)
	}
	return source, s
}

func packValue(t testing.TB, name string) artifact.Value {
	t.Helper()
	doc, err := artifact.ParseDocument([]byte(testdata(t, name)), name)
	if err != nil {
		t.Fatal(err)
	}
	return doc.Value()
}

func TestExamplesFitTheSchema(t *testing.T) {
	_, s := packSchema(t)
	for _, name := range []string{"research.yaml", "release.yaml"} {
		if v := s.Validate(packValue(t, name)); v != nil {
			t.Errorf("%s: %v", name, v)
		}
	}
}

// The full example, with what all grants have in every grant, uses every property
// of the schema, and the reader accepts it: so the reader knows every property.
func TestReaderKnowsEveryProperty(t *testing.T) {
	source, s := packSchema(t)
	full := everything(t, packValue(t, "release.yaml"))
	if _, err := policy.ReadPack([]byte(full.String()), "full.json"); err != nil {
		t.Fatal(err)
	}
	if v := s.Validate(full); v != nil {
		t.Fatal(v)
	}
	used := map[string]bool{}
	mark(source, source, full, "", used)
	for _, pointer := range propertyPointers(source, "") {
		// The child's authority repeats the sections of the pack.
		if !used[pointer] && !strings.HasPrefix(pointer, "/$defs/authority/") {
			t.Errorf("%s is used nowhere", pointer)
		}
	}
}

// everything gives every grant what all grants may have.
func everything(t *testing.T, pack artifact.Value) artifact.Value {
	common, err := artifact.ParseDocument([]byte(`
capability: git
when: ["true"]
limits: {calls: 1, tokens: 1, units: 1, duration: 1s, cost_micros: {USD: 1}}
per_call: {tokens: 1, units: 1, cost_micros: {USD: 1}}
timeout: 1s
approval: {minimum_method: key, quorum: 2, expires: 1h}
`), "common")
	if err != nil {
		t.Fatal(err)
	}
	for kind := policy.KindTool; kind <= policy.KindEvent; kind++ {
		section, ok := pack.Get(kind.Section())
		if !ok {
			t.Fatalf("release.yaml has no section %s", kind.Section())
		}
		for _, grant := range section.Members() {
			v := policy.MergePatch(grant.Value, common.Value())
			if kind != policy.KindHandoff && kind != policy.KindEvent {
				v = v.With("arguments", artifact.ObjectValue())
			}
			section = section.With(grant.Name, v)
		}
		pack = pack.With(kind.Section(), section)
	}
	return pack
}

// mark follows a value through the schema and notes the properties that it has.
func mark(root, s, v artifact.Value, pointer string, used map[string]bool) {
	if ref, ok := s.Get("$ref"); ok {
		pointer = strings.TrimPrefix(ref.Text(), "#")
		s, _ = root.Get("$defs")
		s, _ = s.Get(strings.TrimPrefix(pointer, "/$defs/"))
	}
	if alternatives, ok := s.Get("anyOf"); ok {
		for i, a := range alternatives.Elements() {
			mark(root, a, v, pointer+"/anyOf/"+string(rune('0'+i)), used)
		}
	}
	properties, _ := s.Get("properties")
	additional, _ := s.Get("additionalProperties")
	for _, m := range v.Members() {
		if p, ok := properties.Get(m.Name); ok {
			used[pointer+"/properties/"+m.Name] = true
			mark(root, p, m.Value, pointer+"/properties/"+m.Name, used)
		} else if additional.Kind() == artifact.KindObject {
			mark(root, additional, m.Value, pointer+"/additionalProperties", used)
		}
	}
	if items, ok := s.Get("items"); ok {
		for _, e := range v.Elements() {
			mark(root, items, e, pointer+"/items", used)
		}
	}
}

// propertyPointers lists every property that the schema knows.
func propertyPointers(s artifact.Value, pointer string) []string {
	var list []string
	for _, m := range s.Members() {
		at := pointer + "/" + m.Name
		if m.Name == "properties" {
			for _, p := range m.Value.Members() {
				list = append(list, at+"/"+p.Name)
			}
		}
		list = append(list, propertyPointers(m.Value, at)...)
	}
	for i, e := range s.Elements() {
		list = append(list, propertyPointers(e, pointer+"/"+string(rune('0'+i)))...)
	}
	return list
}

// What the reader accepts the schema accepts.
func TestReaderAndSchemaAgree(t *testing.T) {
	_, s := packSchema(t)
	rapid.Check(t, func(t *rapid.T) {
		text, _ := drawPack(t)
		doc, err := artifact.ParseDocument([]byte(text), "p.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if v := s.Validate(doc.Value()); v != nil {
			t.Fatalf("%v\n%s", v, text)
		}
	})
}

// A key that nobody knows is refused by both, wherever it stands.
func TestUnknownKeysAreRefusedEverywhere(t *testing.T) {
	_, s := packSchema(t)
	full := packValue(t, "release.yaml")
	free := []string{"/tools/changelog/arguments"} // a JSON Schema, judged by its own rules at compile
	objects := 0
	for _, pointer := range objectPointers(full, "") {
		if slices.Contains(free, pointer) {
			continue
		}
		objects++
		changed := insert(full, pointer, "un known")
		if s.Validate(changed) == nil {
			t.Errorf("the schema accepts an unknown key at %s", pointer)
		}
		if _, err := policy.ReadPack([]byte(changed.String()), "p.json"); err == nil {
			t.Errorf("the reader accepts an unknown key at %s", pointer)
		}
	}
	t.Logf("%d objects", objects)
}

func objectPointers(v artifact.Value, pointer string) []string {
	var list []string
	if v.Kind() == artifact.KindObject {
		list = append(list, pointer)
	}
	for _, m := range v.Members() {
		list = append(list, objectPointers(m.Value, artifact.PointerTo(pointer, m.Name))...)
	}
	for i, e := range v.Elements() {
		list = append(list, objectPointers(e, pointer+"/"+string(rune('0'+i)))...)
	}
	return list
}

// insert adds a member with the value null at a pointer.
func insert(v artifact.Value, pointer, name string) artifact.Value {
	if pointer == "" {
		return v.With(name, artifact.Value{})
	}
	token, rest, _ := strings.Cut(pointer[1:], "/")
	if rest != "" {
		rest = "/" + rest
	}
	token = strings.ReplaceAll(token, "~1", "/")
	if v.Kind() == artifact.KindArray {
		elements := slices.Clone(v.Elements())
		i := int(token[0] - '0')
		elements[i] = insert(elements[i], rest, name)
		return artifact.ArrayValue(elements...)
	}
	child, _ := v.Get(token)
	return v.With(token, insert(child, rest, name))
}
