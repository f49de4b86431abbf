package jsonschema_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	oracle "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/schema"
	"github.com/writ-dev/writ/schema/jsonschema"
)

func parse(t testing.TB, text string) artifact.Value {
	t.Helper()
	v, err := artifact.ParseValue([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func compile(t testing.TB, text string) schema.Schema {
	t.Helper()
	s, err := jsonschema.New().Compile(parse(t, text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

// judge asks the library.
func judge(t testing.TB, schemaText, value string) bool {
	t.Helper()
	document, err := oracle.UnmarshalJSON(strings.NewReader(schemaText))
	if err != nil {
		t.Fatal(err)
	}
	c := oracle.NewCompiler()
	c.UseLoader(oracle.SchemeURLLoader{})
	if err := c.AddResource("memory:schema", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("memory:schema")
	if err != nil {
		t.Fatalf("%s: the judge refuses it: %v", schemaText, err)
	}
	v, err := oracle.UnmarshalJSON(strings.NewReader(value))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v) == nil
}

// Each line is a schema, values that must pass and values that must not. The
// judge must say the same of every one.
var cases = []struct{ schema, pass, refuse string }{
	{`{}`, `1 "a" null [] {}`, ``},
	{`true`, `1 {}`, ``},
	{`false`, ``, `1 {} null`},
	{`{"type":"integer"}`, `1 1.0 1e3 -0 18446744073709551615`, `1.5 "1" null true`},
	{`{"type":"number"}`, `1 1.5 1e-7`, `"1"`},
	{`{"type":["string","null"]}`, `"a" null`, `1 [] {}`},
	{`{"type":"boolean"}`, `true false`, `null 0 "true"`},
	{`{"type":"array"}`, `[]`, `{}`},
	{`{"type":"object"}`, `{}`, `[]`},
	{`{"enum":[1,"a",null,{"x":[1,2]}]}`, `1 1.0 "a" null {"x":[1,2.0]}`, `2 "b" {"x":[2,1]} [1]`},
	{`{"const":{"a":1,"b":[true]}}`, `{"b":[true],"a":1.0}`, `{"a":1} {"a":1,"b":[false]}`},
	{`{"const":9007199254740993}`, `9007199254740993`, `9007199254740992`},
	{`{"const":null}`, `null`, `false 0 ""`},
	{`{"minimum":3}`, `3 3.0 4 "2" null`, `2 2.9999999999999999999 -4`},
	{`{"maximum":3}`, `3 -1e9 "9"`, `3.0000000000000000001 4 1e2`},
	{`{"maximum":9007199254740993}`, `9007199254740993`, `9007199254740994`},
	{`{"maximum":9007199254740992}`, `9007199254740992`, `9007199254740993`},
	{`{"exclusiveMinimum":0}`, `0.0001 1`, `0 -0 -1`},
	{`{"exclusiveMaximum":10}`, `9.99`, `10 1e1 11`},
	{`{"minimum":-5,"maximum":-1}`, `-5 -1 -3.5`, `-5.1 -0.9 0 1`},
	{`{"multipleOf":0.1}`, `0.3 0 1e2 -0.7`, `0.35`},
	{`{"multipleOf":7}`, `0 14 -21 7e0`, `15 7.5`},
	{`{"minLength":2,"maxLength":3}`, `"ab" "abc" "é😀" 1`, `"a" "abcd" ""`},
	{`{"minLength":2.0}`, `"ab"`, `"a"`},
	{`{"pattern":"^[a-z]+$"}`, `"abc" 3`, `"ABC" "a1" ""`},
	{`{"pattern":"b"}`, `"abc"`, `"ac"`},
	{`{"items":{"type":"integer"}}`, `[] [1,2] "x" {}`, `[1,"a"] [null]`},
	{`{"prefixItems":[{"type":"string"},{"type":"integer"}],"items":false}`, `[] ["a"] ["a",1]`, `["a",1,2] [1]`},
	{`{"prefixItems":[{"type":"string"}],"items":{"type":"integer"}}`, `["a",1,2]`, `["a","b"] [1]`},
	{`{"minItems":1,"maxItems":2}`, `[1] [1,2] {}`, `[] [1,2,3]`},
	{`{"uniqueItems":true}`, `[1,2,"1"] [] [{"a":1},{"a":2}]`, `[1,1.0] [{"a":1,"b":2},{"b":2,"a":1}] [[1],[1]]`},
	{`{"uniqueItems":false}`, `[1,1]`, ``},
	{`{"contains":{"type":"string"}}`, `[1,"a"] {}`, `[] [1]`},
	{`{"contains":{"const":1},"minContains":2,"maxContains":3}`, `[1,1] [1,1,1,2]`, `[1] [1,1,1,1]`},
	{`{"contains":{"const":1},"minContains":0}`, `[] [2]`, ``},
	{`{"required":["a","b"]}`, `{"a":1,"b":null} []`, `{"a":1} {}`},
	{`{"properties":{"a":{"type":"string"}}}`, `{"a":"x"} {} {"b":1} 3`, `{"a":1}`},
	{`{"properties":{"a":false}}`, `{} {"b":1}`, `{"a":1}`},
	{`{"additionalProperties":false}`, `{} []`, `{"a":1}`},
	{`{"properties":{"a":true},"additionalProperties":{"type":"integer"}}`, `{"a":"x","b":1}`, `{"a":1,"b":"x"}`},
	{`{"patternProperties":{"^x-":{"type":"integer"}},"additionalProperties":false}`, `{"x-a":1}`, `{"x-a":"1"} {"y":1}`},
	{`{"properties":{"ab":{"minimum":1}},"patternProperties":{"a":{"maximum":3}}}`, `{"ab":2} {"xa":3}`, `{"ab":4} {"ab":0} {"ca":4}`},
	{`{"propertyNames":{"maxLength":2}}`, `{"ab":1} {}`, `{"abc":1}`},
	{`{"minProperties":1,"maxProperties":2}`, `{"a":1} {"a":1,"b":2}`, `{} {"a":1,"b":2,"c":3}`},
	{`{"dependentRequired":{"a":["b"]}}`, `{"b":1} {"a":1,"b":2} {}`, `{"a":1}`},
	{`{"dependentSchemas":{"a":{"required":["b"]}}}`, `{"b":1} {"a":1,"b":2} []`, `{"a":1}`},
	{`{"allOf":[{"minimum":1},{"maximum":3}]}`, `1 2 "x"`, `0 4`},
	{`{"anyOf":[{"type":"string"},{"minimum":3}]}`, `"a" 3 null`, `1`},
	{`{"oneOf":[{"multipleOf":2},{"multipleOf":3}]}`, `2 3 9`, `6 1 "a"`},
	{`{"not":{"type":"string"}}`, `1`, `"a"`},
	{`{"not":{}}`, ``, `1 null`},
	{`{"if":{"properties":{"k":{"const":"a"}},"required":["k"]},"then":{"required":["x"]},"else":{"required":["y"]}}`, `{"k":"a","x":1} {"k":"b","y":1} {"y":1}`, `{"k":"a"} {"k":"b"} {}`},
	{`{"if":{"type":"string"},"then":{"minLength":2}}`, `"ab" 1`, `"a"`},
	{`{"$defs":{"p":{"type":"integer","minimum":1}},"properties":{"a":{"$ref":"#/$defs/p"}}}`, `{"a":1} {}`, `{"a":0} {"a":"x"}`},
	{`{"definitions":{"a/b~c":{"type":"null"}},"$ref":"#/definitions/a~1b~0c"}`, `null`, `1`},
	{`{"$ref":"#/$defs/p","maximum":5,"$defs":{"p":{"minimum":1}}}`, `3 "x"`, `0 6`},
	{`{"properties":{"next":{"$ref":"#"},"v":{"type":"integer"}},"required":["v"]}`, `{"v":1} {"v":1,"next":{"v":2}}`, `{"v":1,"next":{}} {"v":1,"next":{"v":"x"}}`},
	{`{"type":"array","items":{"$ref":"#"}}`, `[] [[],[[]]]`, `[1] [[1]]`},
	{`{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.org/s","title":"t","description":"d","default":1,"examples":[1],"$comment":"c","deprecated":true,"readOnly":true,"writeOnly":false,"type":"integer"}`, `1`, `"a"`},
	{`{"properties":{"":{"const":1},"a/b":{"const":2},"~":{"const":3}}}`, `{"":1,"a/b":2,"~":3}`, `{"":2} {"a/b":1} {"~":1}`},
	{`{"type":"object","additionalProperties":false,"required":["q"],"properties":{"q":{"type":"string","minLength":1},"limit":{"type":"integer","minimum":1,"maximum":50}}}`, `{"q":"a"} {"q":"a","limit":50}`, `{} {"q":""} {"q":"a","limit":51} {"q":"a","limit":1.5} {"q":"a","x":1} []`},
	{`{"not":{"not":{"type":"string"}}}`, `"a"`, `1`},
	{`{"anyOf":[{"properties":{"a":{"const":1}}},{"required":["b"]}]}`, `{"a":1} {"b":1} {}`, `{"a":2}`},
}

func TestAgreesWithTheJudge(t *testing.T) {
	values := 0
	for _, c := range cases {
		s := compile(t, c.schema)
		for want, list := range map[bool]string{true: c.pass, false: c.refuse} {
			for text := range strings.FieldsSeq(list) {
				values++
				found := s.Validate(parse(t, text))
				if (found == nil) != want {
					t.Errorf("%s of %s: %v", c.schema, text, found)
				}
				if judge(t, c.schema, text) != want {
					t.Errorf("%s of %s: the judge disagrees with the table", c.schema, text)
				}
			}
		}
	}
	t.Logf("%d schemas, %d values, 0 differences", len(cases), values)
	if len(cases) < 60 {
		t.Errorf("the table has %d schemas; 60 are promised", len(cases))
	}
}

func TestRefusedAtLoad(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`{"minLenght":3}`, `schema /minLenght: unknown keyword "minLenght"; did you mean "minLength"?`},
		{`{"properties":{"a":{"minimun":1}}}`, `schema /properties/a/minimun: unknown keyword "minimun"; did you mean "minimum"?`},
		{`{"x-note":1}`, `unknown keyword "x-note"`},
		{`{"format":"email"}`, `keyword "format" is not checked; use pattern`},
		{`{"unevaluatedProperties":false}`, `use additionalProperties`},
		{`{"$dynamicRef":"#x"}`, `is not followed`},
		{`{"$ref":"file:///etc/hostname"}`, `leaves the document, and files and addresses are never read`},
		{`{"$ref":"https://example.org/s"}`, `leaves the document`},
		{`{"$ref":"other.json"}`, `leaves the document`},
		{`{"$ref":"#name"}`, `leaves the document`},
		{`{"$ref":"#/$defs/none"}`, `schema /$ref: there is no schema at "#/$defs/none"`},
		{`{"$ref":1}`, `is a number; write a string`},
		{`{"$ref":"#"}`, `refers back to itself for the same value`},
		{`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"type":"null"},{"$ref":"#"}]}}}`, `refers back to itself`},
		{`{"type":"intger"}`, `unknown type "intger"; did you mean "integer"?`},
		{`{"type":[]}`, `is empty`},
		{`{"type":["null","null"]}`, `null appears twice`},
		{`{"type":3}`, `unknown type 3`},
		{`{"enum":[]}`, `is empty`},
		{`{"enum":"a"}`, `is a string; write an array`},
		{`{"minimum":"3"}`, `schema /minimum: is a string; write a number`},
		{`{"minLength":-1}`, `is -1; write a whole number from 0 up`},
		{`{"minLength":1.5}`, `is 1.5; write a whole number`},
		{`{"maxItems":1e99}`, `write a whole number`},
		{`{"multipleOf":0}`, `a multiple is of a number above 0`},
		{`{"pattern":"(?=a)"}`, `without look-around`},
		{`{"pattern":"("}`, `missing closing )`},
		{`{"patternProperties":{"(":{}}}`, `schema /patternProperties/(: `},
		{`{"required":["a","a"]}`, `"a" appears twice`},
		{`{"required":[1]}`, `holds a number`},
		{`{"required":"a"}`, `write an array`},
		{`{"properties":[]}`, `write an object`},
		{`{"properties":{"a":1}}`, `schema /properties/a: is a number; a schema is an object, true or false`},
		{`{"items":[{}]}`, `schema /items: is an array`},
		{`{"allOf":[]}`, `is empty`},
		{`{"uniqueItems":1}`, `write true or false`},
		{`{"then":{}}`, `does nothing without "if"`},
		{`{"minContains":1}`, `does nothing without "contains"`},
		{`{"$id":"x","properties":{"a":{"$id":"y"}}}`, `at the top of a document only`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#"}`, `unknown dialect`},
		{`3`, `is a number; a schema is an object`},
	} {
		_, err := jsonschema.New().Compile(parse(t, c.schema))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.schema, err, c.want)
		}
		var problems *schema.Error
		if err != nil && !errors.As(err, &problems) {
			t.Errorf("%s: %T is not a *schema.Error", c.schema, err)
		}
	}
}

func TestEveryProblemIsNamed(t *testing.T) {
	_, err := jsonschema.New().Compile(parse(t, `{"minLenght":1,"properties":{"a":{"type":"strin"},"b":{"$ref":"http://x"}}}`))
	var problems *schema.Error
	if !errors.As(err, &problems) || len(problems.Problems) != 3 {
		t.Errorf("%v, want three problems", err)
	}
}

func TestFormatOfForeignSchemas(t *testing.T) {
	s, err := jsonschema.Compiler{AllowFormat: true}.Compile(parse(t, `{"type":"string","format":"email"}`))
	if err != nil {
		t.Fatal(err)
	}
	if v := s.Validate(parse(t, `1`)); len(v) != 1 {
		t.Errorf("%v", v)
	}
}

func TestViolationsAreCompleteAndOrdered(t *testing.T) {
	s := compile(t, `{"type":"object","required":["z","y"],"additionalProperties":false,
		"properties":{"a":{"type":"string","maxLength":2},"b":{"items":{"minimum":3,"multipleOf":2}},"colour":{}}}`)
	v := parse(t, `{"b":[1,4,3.5],"a":17,"color":1,"secret":"hunter2"}`)
	want := []string{
		`must have the member "z"`, `must have the member "y"`,
		`/b/0 must be at least 3`, `/b/0 must be a multiple of 2`, `/b/2 must be a multiple of 2`,
		`/a must be a string`,
		`/color is not a known member; did you mean "colour"?`, `/secret is not a known member`,
	}
	for range 20 {
		var got []string
		for _, violation := range s.Validate(v) {
			got = append(got, violation.String())
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got  %q\nwant %q", got, want)
		}
	}
	found := s.Validate(v)
	if got := found[2].Rule; got != "/properties/b/items/minimum" {
		t.Errorf("rule is %q", got)
	}
	if got := schema.Explain(found); !strings.HasSuffix(got, "; and others") || strings.Contains(got, "hunter2") {
		t.Errorf("explained as %q", got)
	}
}

// A limit that is reached must refuse, also where false would be a pass.
func TestLimitsFailClosed(t *testing.T) {
	deep := strings.Repeat("[", 120) + strings.Repeat("]", 120)
	chain := `{"items":{"$ref":"#/$defs/a"},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#"}}}`
	for _, c := range []struct{ schema, value, want string }{
		{chain, deep, "nested too deep"},
		{`{"not":{"items":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/not"}}}`, deep, "nested too deep"},
		{`{"multipleOf":1e-300}`, `1e300`, "too far"},
		{`{"not":{"multipleOf":1e-300}}`, `1e300`, "too far"},
		{`{"not":{"items":{"anyOf":[false,false,false,false,{}]}}}`, "[" + strings.Repeat("1,", 60000) + "1]", "too much work"},
	} {
		s, err := jsonschema.New().Compile(parse(t, c.schema))
		if err != nil {
			t.Errorf("%.80s: %v", c.schema, err)
			continue
		}
		found := s.Validate(parse(t, c.value))
		if len(found) != 1 || !strings.Contains(found[0].Message, c.want) {
			t.Errorf("%.80s: %v, want %q", c.schema, found, c.want)
		}
	}
}

func TestViolationsAreBounded(t *testing.T) {
	s := compile(t, `{"items":{"type":"string"}}`)
	found := s.Validate(parse(t, "["+strings.Repeat("1,", 5000)+"1]"))
	if len(found) != 100 {
		t.Errorf("%d violations", len(found))
	}
}

func BenchmarkValidate(b *testing.B) {
	s := compile(b, `{"type":"object","additionalProperties":false,"required":["q"],
		"properties":{"q":{"type":"string","maxLength":200},"limit":{"type":"integer","minimum":1,"maximum":50}}}`)
	v := parse(b, `{"q":"hello","limit":10}`)
	b.ReportAllocs()
	for b.Loop() {
		if s.Validate(v) != nil {
			b.Fatal("refused")
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	v := parse(b, `{"type":"object","additionalProperties":false,"required":["q"],"properties":{"q":{"type":"string","maxLength":200}}}`)
	for b.Loop() {
		if _, err := jsonschema.New().Compile(v); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzAgainstTheJudge makes schemas and values of bytes, and asks both.
func FuzzAgainstTheJudge(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"))
	f.Add([]byte("integer minimum properties anyOf not if then else contains"))
	f.Add([]byte("\x13\x10\x0f\x11\x22\x31\x9a\xff\x40\x41\x42\x12\x12\x12\x01\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		g := &generator{data: data}
		schemaText := g.schema(0)
		s, err := jsonschema.New().Compile(parse(t, schemaText))
		if err != nil {
			t.Skip() // not a schema of the supported kind
		}
		for range 4 {
			value := g.value(0)
			if got := s.Validate(parse(t, value)) == nil; got != judge(t, schemaText, value) {
				t.Fatalf("%s of %s: we say %v", schemaText, value, got)
			}
		}
	})
}

// generator spends bytes on choices; when they are gone every choice is 0.
type generator struct{ data []byte }

func (g *generator) choose(n int) int {
	if len(g.data) == 0 {
		return 0
	}
	c := int(g.data[0]) % n
	g.data = g.data[1:]
	return c
}

func (g *generator) value(depth int) string {
	leaves := []string{"null", "true", "false", "0", "1", "1.0", "2", "-3", "2.5", "1e2", `""`, `"a"`, `"ab"`, `"x-é"`, "9007199254740993"}
	if depth > 2 {
		return leaves[g.choose(len(leaves))]
	}
	switch n := g.choose(len(leaves) + 6); {
	case n < len(leaves):
		return leaves[n]
	case n < len(leaves)+3:
		var list []string
		for range g.choose(4) {
			list = append(list, g.value(depth+1))
		}
		return "[" + strings.Join(list, ",") + "]"
	default:
		var list []string
		for _, name := range []string{"a", "b", "x-c"} {
			if g.choose(2) == 1 {
				list = append(list, fmt.Sprintf("%q:%s", name, g.value(depth+1)))
			}
		}
		return "{" + strings.Join(list, ",") + "}"
	}
}

func (g *generator) schema(depth int) string {
	if depth > 3 {
		return []string{"true", "false", `{"type":"integer"}`, `{"type":["string","null"]}`}[g.choose(4)]
	}
	sub := func() string { return g.schema(depth + 1) }
	list := func() string {
		parts := []string{sub()}
		for range g.choose(3) {
			parts = append(parts, sub())
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	count := func() string { return fmt.Sprint(g.choose(4)) }
	number := func() string { return []string{"0", "1", "2.5", "-3", "9007199254740993"}[g.choose(5)] }
	kinds := []func() string{
		func() string {
			return `"type":"` + []string{"null", "boolean", "integer", "number", "string", "array", "object"}[g.choose(7)] + `"`
		},
		func() string { return `"enum":[` + g.value(2) + `,` + g.value(2) + `]` },
		func() string { return `"const":` + g.value(1) },
		func() string { return `"minimum":` + number() },
		func() string { return `"maximum":` + number() },
		func() string { return `"exclusiveMinimum":` + number() },
		func() string { return `"exclusiveMaximum":` + number() },
		func() string { return `"multipleOf":` + []string{"1", "0.5", "3"}[g.choose(3)] },
		func() string { return `"minLength":` + count() },
		func() string { return `"maxLength":` + count() },
		func() string { return `"pattern":` + []string{`"^a"`, `"b$"`, `"."`}[g.choose(3)] },
		func() string { return `"items":` + sub() },
		func() string { return `"prefixItems":` + list() },
		func() string { return `"contains":` + sub() + `,"minContains":` + count() },
		func() string { return `"minItems":` + count() },
		func() string { return `"maxItems":` + count() },
		func() string { return `"uniqueItems":true` },
		func() string { return `"properties":{"a":` + sub() + `,"b":` + sub() + `}` },
		func() string { return `"patternProperties":{"^x-":` + sub() + `}` },
		func() string { return `"additionalProperties":` + sub() },
		func() string { return `"propertyNames":` + sub() },
		func() string { return `"required":["a"]` },
		func() string { return `"minProperties":` + count() },
		func() string { return `"maxProperties":` + count() },
		func() string { return `"dependentRequired":{"a":["b"]}` },
		func() string { return `"dependentSchemas":{"b":` + sub() + `}` },
		func() string { return `"allOf":` + list() },
		func() string { return `"anyOf":` + list() },
		func() string { return `"oneOf":` + list() },
		func() string { return `"not":` + sub() },
		func() string { return `"if":` + sub() + `,"then":` + sub() + `,"else":` + sub() },
		func() string { return `"$ref":"#/properties/a"` },
	}
	var parts []string
	seen := map[int]bool{}
	for range 1 + g.choose(4) {
		if i := g.choose(len(kinds)); !seen[i] {
			seen[i] = true
			parts = append(parts, kinds[i]())
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}
