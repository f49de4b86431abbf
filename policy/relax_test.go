package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/schema"
	"github.com/writ-dev/writ/schema/jsonschema"
)

// schemaPack is a pack with one tool whose arguments have a schema.
func schemaPack(t testing.TB, source artifact.Value, more string) *policy.Policy {
	t.Helper()
	return compile(t, `{"version":2,"id":"p","tools":{"pay":{"arguments":`+source.String()+`}}`+more+`}`, options())
}

func pay(v artifact.Value) policy.Call {
	return policy.Call{Kind: policy.KindTool, Name: "pay", Args: v}
}

// applied gives the policy after a fix.
func applied(t testing.TB, p *policy.Policy, d *policy.Denial) *policy.Policy {
	t.Helper()
	changed, err := d.Fix.Apply(p.Pack())
	if err != nil {
		t.Fatalf("%v: %v", d, err)
	}
	after, _, err := policy.Compile(changed, options())
	if err != nil {
		t.Fatalf("%v\n%s", err, d.Fix.YAML)
	}
	return after
}

// The change of a schema that is proposed, keyword by keyword: what it is, what it
// lets pass besides the call, and what it still refuses.
func TestRelaxedKeyword(t *testing.T) {
	for _, c := range []struct {
		schema, call string
		want         string // the schema afterwards
		pass, refuse []string
	}{
		{
			`{"type":"object","properties":{"cents":{"type":"integer","maximum":100},"to":{"enum":["a"]}},"additionalProperties":false}`, `{"cents":101}`,
			`{"type":"object","properties":{"cents":{"type":"integer","maximum":101},"to":{"enum":["a"]}},"additionalProperties":false}`,
			[]string{`{}`, `{"cents":100,"to":"a"}`, `{"cents":101,"to":"a"}`},
			[]string{`{"cents":102}`, `{"cents":101,"to":"mallory"}`, `{"cents":101,"x":1}`, `{"cents":"1"}`},
		},
		{
			`{"properties":{"cents":{"maximum":100},"to":{"enum":["a"]}},"additionalProperties":false}`, `{"cents":101,"to":"mallory","x":1}`,
			`{"properties":{"cents":{"maximum":101},"to":{"enum":["a","mallory"]},"x":{"enum":[1]}},"additionalProperties":false}`,
			[]string{`{"to":"a"}`, `{"x":1}`},
			[]string{`{"to":"b"}`, `{"x":2}`, `{"y":1}`, `{"cents":102}`},
		},
		{`{"properties":{"n":{"minimum":5}}}`, `{"n":3}`, `{"properties":{"n":{"minimum":3}}}`, []string{`{"n":5}`, `{"n":4}`}, []string{`{"n":2}`}},
		{`{"properties":{"n":{"exclusiveMaximum":5}}}`, `{"n":5}`, `{"properties":{"n":{"maximum":5}}}`, []string{`{"n":4}`}, []string{`{"n":5.5}`}},
		{`{"properties":{"n":{"exclusiveMaximum":5,"maximum":9}}}`, `{"n":7}`, `{"properties":{"n":{"maximum":7}}}`, []string{`{"n":4}`}, []string{`{"n":8}`}},
		{`{"properties":{"n":{"exclusiveMinimum":5,"minimum":5}}}`, `{"n":1.5}`, `{"properties":{"n":{"minimum":1.5}}}`, []string{`{"n":6}`}, []string{`{"n":1}`}},
		{`{"properties":{"l":{"items":{"maximum":5}}}}`, `{"l":[7,9,8]}`, `{"properties":{"l":{"items":{"maximum":9}}}}`, []string{`{"l":[9,9]}`}, []string{`{"l":[10]}`}},
		{`{"properties":{"n":{"maximum":9007199254740992}}}`, `{"n":9007199254740993}`, `{"properties":{"n":{"maximum":9007199254740993}}}`, nil, []string{`{"n":9007199254740994}`}},
		{`{"properties":{"n":{"multipleOf":10,"maximum":50}}}`, `{"n":15}`, `{"properties":{"n":{"maximum":50,"anyOf":[{"multipleOf":10},{"enum":[15]}]}}}`, []string{`{"n":20}`, `{"n":15}`}, []string{`{"n":5}`, `{"n":60}`}},
		{`{"properties":{"q":{"maxLength":3}}}`, `{"q":"äöüß"}`, `{"properties":{"q":{"maxLength":4}}}`, []string{`{"q":"abcd"}`}, []string{`{"q":"abcde"}`}},
		{`{"properties":{"q":{"minLength":3}}}`, `{"q":""}`, `{"properties":{"q":{"minLength":0}}}`, []string{`{"q":"a"}`}, nil},
		{`{"properties":{"l":{"minItems":2,"maxItems":3}}}`, `{"l":[1,2,3,4]}`, `{"properties":{"l":{"minItems":2,"maxItems":4}}}`, nil, []string{`{"l":[1]}`, `{"l":[1,2,3,4,5]}`}},
		{`{"maxProperties":1}`, `{"a":1,"b":2}`, `{"maxProperties":2}`, nil, []string{`{"a":1,"b":2,"c":3}`}},
		{`{"minProperties":1}`, `{}`, `{"minProperties":0}`, nil, nil},
		{`{"properties":{"n":{"type":"integer"}}}`, `{"n":"x"}`, `{"properties":{"n":{"type":["integer","string"]}}}`, []string{`{"n":1}`}, []string{`{"n":1.5}`, `{"n":null}`}},
		{`{"properties":{"n":{"type":["string","null"]}}}`, `{"n":7.0}`, `{"properties":{"n":{"type":["string","null","integer"]}}}`, []string{`{"n":null}`}, []string{`{"n":1.5}`, `{"n":true}`}},
		{`{"properties":{"n":{"type":"integer"}}}`, `{"n":1.5}`, `{"properties":{"n":{"type":["integer","number"]}}}`, nil, []string{`{"n":"x"}`}},
		{`{"properties":{"n":{"enum":["a","b"]}}}`, `{"n":null}`, `{"properties":{"n":{"enum":["a","b",null]}}}`, []string{`{"n":"a"}`}, []string{`{"n":"c"}`}},
		{`{"properties":{"n":{"const":"a"}}}`, `{"n":{"x":null}}`, `{"properties":{"n":{"enum":["a",{"x":null}]}}}`, []string{`{"n":"a"}`}, []string{`{"n":"c"}`}},
		{`{"properties":{"l":{"items":{"const":1}}}}`, `{"l":[1,2,3]}`, `{"properties":{"l":{"items":{"enum":[1,2,3]}}}}`, nil, []string{`{"l":[4]}`}},
		{`{"properties":{"n":{"const":"a","enum":["a","b"]}}}`, `{"n":"b"}`, `{"properties":{"n":{"enum":["a","b"],"anyOf":[{"const":"a"},{"enum":["b"]}]}}}`, []string{`{"n":"a"}`}, []string{`{"n":"c"}`}},
		{`{"required":["a","b","c"]}`, `{"b":1}`, `{"required":["b"]}`, []string{`{"b":1,"a":2}`}, []string{`{"a":1}`}},
		{`{"required":["a"],"type":"object"}`, `{}`, `{"type":"object"}`, nil, nil},
		{`{"dependentRequired":{"a":["b","c"],"d":["e"]}}`, `{"a":1,"b":2}`, `{"dependentRequired":{"a":["b"],"d":["e"]}}`, nil, []string{`{"a":1}`, `{"d":1}`}},
		{`{"additionalProperties":{"type":"string"}}`, `{"x":1}`, `{"additionalProperties":{"type":["string","integer"]}}`, []string{`{"y":"a"}`}, []string{`{"x":null}`}},
		{`{"additionalProperties":false,"patternProperties":{"^x-":{"type":"string"}}}`, `{"y":null}`, `{"additionalProperties":false,"patternProperties":{"^x-":{"type":"string"}},"properties":{"y":{"enum":[null]}}}`, []string{`{"x-a":"b"}`}, []string{`{"y":1}`, `{"x-a":1}`}},
		{`{"propertyNames":{"pattern":"^[a-z]$"}}`, `{"AB":1,"CD":2}`, `{"propertyNames":{"anyOf":[{"pattern":"^[a-z]$"},{"enum":["AB","CD"]}]}}`, []string{`{"a":1}`}, []string{`{"ABC":1}`}},
		{`{"properties":{"q":{"type":"string","pattern":"^a"}}}`, `{"q":"b1"}`, `{"properties":{"q":{"type":"string","anyOf":[{"pattern":"^a"},{"enum":["b1"]}]}}}`, []string{`{"q":"ax"}`}, []string{`{"q":"b2"}`, `{"q":1}`}},
		{`{"properties":{"q":{"pattern":"^a","anyOf":[{"maxLength":3},{"const":"abcde"}]}}}`, `{"q":"b1"}`, `{"properties":{"q":{"anyOf":[{"maxLength":3},{"const":"abcde"}],"allOf":[{"anyOf":[{"pattern":"^a"},{"enum":["b1"]}]}]}}}`, []string{`{"q":"ab"}`}, []string{`{"q":"b2"}`, `{"q":"abcd"}`}},
		{`{"properties":{"l":{"items":{"pattern":"^a"}}}}`, `{"l":["b","a","c","d"]}`, `{"properties":{"l":{"items":{"anyOf":[{"pattern":"^a"},{"enum":["b","c","d"]}]}}}}`, nil, []string{`{"l":["e"]}`}},
		{`{"properties":{"l":{"uniqueItems":true}}}`, `{"l":[1,1]}`, `{"properties":{"l":{"anyOf":[{"uniqueItems":true},{"enum":[[1,1]]}]}}}`, []string{`{"l":[1,2]}`}, []string{`{"l":[2,2]}`}},
		{`{"properties":{"l":{"contains":{"const":1},"minContains":2}}}`, `{"l":[1,3]}`, `{"properties":{"l":{"anyOf":[{"contains":{"const":1},"minContains":2},{"enum":[[1,3]]}]}}}`, []string{`{"l":[1,1]}`}, []string{`{"l":[1]}`}},
		{`{"not":{"required":["x"]}}`, `{"x":1}`, `{"anyOf":[{"not":{"required":["x"]}},{"enum":[{"x":1}]}]}`, []string{`{"y":1}`}, []string{`{"x":2}`}},
		{`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{"c":1}`, `{"anyOf":[{"required":["a"]},{"required":["b"]},{"enum":[{"c":1}]}]}`, []string{`{"a":1}`}, []string{`{"c":2}`}},
		{`{"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":1,"b":1}`, `{"anyOf":[{"oneOf":[{"required":["a"]},{"required":["b"]}]},{"enum":[{"a":1,"b":1}]}]}`, []string{`{"a":1}`}, []string{`{"a":2,"b":1}`}},
		{`{"allOf":[{"properties":{"n":{"maximum":1}}},{"required":["n"]}]}`, `{"n":2}`, `{"allOf":[{"properties":{"n":{"maximum":2}}},{"required":["n"]}]}`, []string{`{"n":1}`}, []string{`{}`, `{"n":3}`}},
		{`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"a":1}`, `{"if":{"required":["a"]},"then":{},"else":{"required":["c"]}}`, []string{`{"c":1}`}, []string{`{"d":1}`}},
		{`{"properties":{"q":false}}`, `{"q":1}`, `{"properties":{"q":{"enum":[1]}}}`, nil, []string{`{"q":2}`}},
		{`{"properties":{"additionalProperties":false}}`, `{"additionalProperties":1}`, `{"properties":{"additionalProperties":{"enum":[1]}}}`, nil, []string{`{"additionalProperties":2}`}},
		{`{"properties":{"l":{"prefixItems":[true],"items":false}}}`, `{"l":[0,1,2]}`, `{"properties":{"l":{"prefixItems":[true],"items":{"enum":[1,2]}}}}`, nil, []string{`{"l":[0,3]}`}},
		{`false`, `{"q":[null]}`, `{"enum":[{"q":[null]}]}`, nil, []string{`{}`, `{"q":[]}`}},
		{`{"$defs":{"c":{"maximum":5}},"properties":{"n":{"$ref":"#/$defs/c"}}}`, `{"n":6}`, `{"$defs":{"c":{"maximum":6}},"properties":{"n":{"$ref":"#/$defs/c"}}}`, nil, []string{`{"n":7}`}},
		{ // what a definition permits is ruled out elsewhere: it stays as it is
			`{"$defs":{"c":{"maximum":5}},"properties":{"n":{"$ref":"#/$defs/c"},"m":{"not":{"$ref":"#/$defs/c"}}}}`, `{"n":6}`,
			`{"$defs":{"c":{"maximum":5}},"anyOf":[{"properties":{"n":{"$ref":"#/$defs/c"},"m":{"not":{"$ref":"#/$defs/c"}}}},{"enum":[{"n":6}]}]}`,
			[]string{`{"m":6}`, `{"n":5}`}, []string{`{"n":7}`, `{"n":6,"m":6}`, `{"m":5}`},
		},
	} {
		p := schemaPack(t, args(t, c.schema), "")
		call := args(t, c.call)
		_, d := p.Authorize(pay(call), nil)
		if d == nil || d.Code != policy.CodeArgumentDenied {
			t.Errorf("%s with %s: %v", c.schema, c.call, d)
			continue
		}
		if d.Fix.YAML == "" {
			t.Errorf("%s with %s: %s", c.schema, c.call, d.Fix.Words)
			continue
		}
		after := applied(t, p, d)
		if got := after.Pack().Grants[policy.KindTool]["pay"].Arguments; !got.Equal(args(t, c.want)) {
			t.Errorf("%s with %s:\n got %s\nwant %s\nby %s", c.schema, c.call, got, c.want, d.Fix.Words)
		}
		for _, text := range append(slices.Clone(c.pass), c.call) {
			if _, d := after.Authorize(pay(args(t, text)), nil); d != nil {
				t.Errorf("%s with %s: %s is refused: %v", c.schema, c.call, text, d)
			}
		}
		for _, text := range c.refuse {
			if _, d := p.Authorize(pay(args(t, text)), nil); d == nil {
				t.Fatalf("%s permits %s", c.schema, text)
			}
			if _, d := after.Authorize(pay(args(t, text)), nil); d == nil {
				t.Errorf("%s with %s: %s passes too", c.schema, c.call, text)
			}
		}
	}
}

// The words of a fix name the places, and hold no text of the arguments.
func TestRelaxedInWords(t *testing.T) {
	p := schemaPack(t, args(t, `{"properties":{"cents":{"maximum":100},"to":{"enum":["a"]},"q":{"pattern":"^a"}},"required":["q","z"],"additionalProperties":false}`), "")
	_, d := p.Authorize(pay(args(t, `{"cents":101,"to":"mallory","x":"hush","q":"secret"}`)), nil)
	want := "in the schema of tools.pay drop z from /required, move /properties/cents/maximum to 101, add a value to /properties/to/enum, " +
		"add the member x, with this value, beside /additionalProperties and permit this value besides /properties/q/pattern"
	if d == nil || d.Fix.Words != want {
		t.Fatalf("%v\n got %s\nwant %s", d, d.Fix.Words, want)
	}
	const yaml = `tools:
  pay:
    arguments:
      properties:
        cents:
          maximum: 101
        q:
          pattern: null
          anyOf:
            - {pattern: "^a"}
            - {enum: [secret]}
        to:
          enum: [a, mallory]
        x:
          enum: [hush]
      required: [q]
`
	if d.Fix.YAML != yaml {
		t.Errorf("got\n%s", d.Fix.YAML)
	}
}

// A value that the pack redacts is in no fix; one beside it may be.
func TestRedactedValuesAreNotQuoted(t *testing.T) {
	source := args(t, `{"properties":{"pin":{"maximum":100,"maxLength":1},"n":{"maximum":5},"o":{"properties":{"key":{}},"not":{}}}}`)
	p := schemaPack(t, source, `,"redact":["args:/pin","args:/o/key"],"exec":{"e":{"program":"/a"}}`)
	for text, yaml := range map[string]string{
		`{"pin":4711}`:         "",
		`{"o":{"key":"hush"}}`: "",
		`{"pin":"4711"}`:       "tools:\n  pay:\n    arguments:\n      properties:\n        pin:\n          maxLength: 4\n",
		`{"n":6,"pin":1}`:      "tools:\n  pay:\n    arguments:\n      properties:\n        \"n\":\n          maximum: 6\n",
	} {
		_, d := p.Authorize(pay(args(t, text)), nil)
		if d == nil || d.Fix.YAML != yaml || strings.Contains(d.Fix.Words, "hush") || strings.Contains(d.Fix.Words, "4711") {
			t.Errorf("%s: %v, fix %+v", text, d, d.Fix)
		}
		if yaml == "" && !strings.HasPrefix(d.Fix.Words, "no change is shown: it would hold the value of ") {
			t.Errorf("%s: %s", text, d.Fix.Words)
		}
	}
	program := func(more, name string) *policy.Denial {
		p := schemaPack(t, source, `,"exec":{"e":{"program":"/a"}}`+more)
		_, d := p.Authorize(policy.Call{Kind: policy.KindExec, Name: name, Program: "/a", Argv: inputs("hush")}, nil)
		return d
	}
	for _, name := range []string{"e", "other"} {
		for _, redact := range []string{`,"redact":["args:/args/0"]`, `,"redact":["args:/args"]`, `,"redact":["args:"]`} {
			if d := program(redact, name); d == nil || d.Fix.YAML != "" || strings.Contains(d.Fix.Words, "hush") {
				t.Errorf("%s %s: %v, fix %+v", name, redact, d, d.Fix)
			}
		}
		if d := program(`,"redact":["args:/stdin"]`, name); d == nil || !strings.Contains(d.Fix.YAML, "hush") {
			t.Errorf("%s: %v, fix %+v", name, d, d.Fix)
		}
	}
}

// Arguments that are too large to check are no reason to check nothing.
func TestUncheckableArguments(t *testing.T) {
	p := schemaPack(t, args(t, `{"properties":{"n":{"multipleOf":7}}}`), "")
	_, d := p.Authorize(pay(args(t, `{"n":1e450}`)), nil)
	if d == nil || d.Fix.YAML != "" || d.Fix.Words != "no change of the schema of tools.pay is enough but to drop it" {
		t.Fatalf("%v, fix %+v", d, d.Fix)
	}
}

var memberNames = []string{"q", "n", "l"}

// drawText gives a JSON text of a small set, so that values meet the bounds of
// schemas.
func drawText(t *rapid.T, depth int) string {
	if depth == 0 || maybe(t, "plain") {
		return pick(t, "scalar", `null`, `true`, `0`, `1`, `2`, `2.5`, `3.0`, `5`, `7`, `""`, `"a"`, `"ab"`, `"b"`, `"bcd"`)
	}
	if maybe(t, "list") {
		var parts []string
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			parts = append(parts, drawText(t, depth-1))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return drawObject(t, depth)
}

func drawObject(t *rapid.T, depth int) string {
	var parts []string
	for _, name := range memberNames {
		if maybe(t, "member") {
			parts = append(parts, `"`+name+`":`+drawText(t, depth-1))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// drawSchema gives a schema of a few keywords.
func drawSchema(t *rapid.T, depth int) string {
	if pick(t, "never", 0, 0, 0, 0, 0, 0, 0, 1) == 1 {
		return "false"
	}
	sub := func() string { return drawSchema(t, depth-1) }
	names := func() string { return pick(t, "names", `["q"]`, `["n","q"]`, `["l","n"]`) }
	keywords := map[string]func() string{
		"type": func() string {
			return pick(t, "type", `"object"`, `"integer"`, `"string"`, `["string","null"]`, `["object","array"]`)
		},
		"enum":    func() string { return "[" + drawText(t, 1) + `,"a"]` },
		"const":   func() string { return drawText(t, 1) },
		"maximum": func() string { return pick(t, "bound", "1", "2.5", "5") }, "minimum": func() string { return pick(t, "bound", "1", "2.5", "5") },
		"exclusiveMaximum": func() string { return pick(t, "bound", "1", "2.5", "5") }, "exclusiveMinimum": func() string { return pick(t, "bound", "1", "2.5", "5") },
		"multipleOf": func() string { return pick(t, "multiple", "2", "5") },
		"minLength":  func() string { return "2" }, "maxLength": func() string { return "1" }, "pattern": func() string { return `"^a"` },
		"minItems": func() string { return "2" }, "maxItems": func() string { return "1" }, "uniqueItems": func() string { return "true" },
		"minProperties": func() string { return "2" }, "maxProperties": func() string { return "1" },
		"required": names, "dependentRequired": func() string { return `{"q":` + names() + `,"l":["n"]}` },
		"propertyNames": func() string { return pick(t, "name", `{"pattern":"^[ql]"}`, `{"enum":["q"]}`, "false") },
	}
	if depth > 0 {
		list := func() string { return "[" + sub() + "," + sub() + "]" }
		for name, draw := range map[string]func() string{
			"properties":           func() string { return `{"q":` + sub() + `,"n":` + sub() + "}" },
			"patternProperties":    func() string { return `{"^l":` + sub() + "}" },
			"additionalProperties": func() string { return pick(t, "additional", "false", "false", sub()) },
			"items":                sub, "prefixItems": func() string { return "[" + sub() + "]" }, "contains": sub,
			"allOf": list, "anyOf": list, "oneOf": list, "not": sub, "dependentSchemas": func() string { return `{"q":` + sub() + "}" },
			"if": sub, "then": sub, "else": sub,
		} {
			keywords[name] = draw
		}
		if maybe(t, "reference") {
			keywords["$ref"] = func() string { return `"#/$defs/d"` }
		}
	}
	known := artifact.SortedNames(keywords)
	var parts []string
	chosen := rapid.SliceOfNDistinct(rapid.SampledFrom(known), 1, 3, rapid.ID[string]).Draw(t, "keywords")
	if !slices.Contains(chosen, "if") {
		chosen = slices.DeleteFunc(chosen, func(k string) bool { return k == "then" || k == "else" })
	}
	for _, name := range chosen {
		parts = append(parts, `"`+name+`":`+keywords[name]())
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// withoutBroken drops every keyword that a value breaks, until it breaks none: what
// a change without measure would do.
func withoutBroken(t *rapid.T, source, v artifact.Value) (schema.Schema, bool) {
	for range 20 {
		s, err := jsonschema.New().Compile(source)
		if err != nil {
			return nil, false
		}
		violations := s.Validate(v)
		if violations == nil {
			return s, true
		}
		for _, broken := range violations {
			source = without(source, broken.Rule)
		}
	}
	return nil, false
}

// without removes what stands at a pointer of a schema, and puts true where false
// stands.
func without(v artifact.Value, pointer string) artifact.Value {
	if pointer == "" {
		return artifact.BoolValue(true)
	}
	token, rest, more := strings.Cut(pointer[1:], "/")
	if more {
		rest = "/" + rest
	}
	if v.Kind() == artifact.KindArray {
		elements := slices.Clone(v.Elements())
		i := int(token[0] - '0')
		elements[i] = without(elements[i], rest)
		return artifact.ArrayValue(elements...)
	}
	child, there := v.Get(token)
	switch {
	case !there:
		return v
	case more:
		return v.With(token, without(child, rest))
	case child.Kind() == artifact.KindBool && !child.Bool():
		return v.With(token, artifact.BoolValue(true))
	case token == "contains":
		return v.Without("contains").Without("minContains").Without("maxContains")
	}
	return v.Without(token)
}

// For any schema and arguments: the change lets them pass, what passed before
// passes after it, and nothing passes that would not if the broken keywords were
// dropped.
func TestRelaxedSchemaIsBetween(t *testing.T) {
	relaxed, compared, without := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text := drawSchema(t, 2)
		if strings.Contains(text, "$ref") {
			text = `{"$defs":{"d":` + drawSchema(t, 0) + `},"allOf":[` + text + `]}`
		}
		parse := func(text string) artifact.Value {
			v, err := artifact.ParseValue([]byte(text))
			if err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			return v
		}
		source, call := parse(text), parse(drawObject(t, 2))
		before := compileDrawn(t, `{"version":2,"id":"p","tools":{"pay":{"arguments":`+source.String()+`}}}`, "")
		_, d := before.Authorize(pay(call), nil)
		if d == nil {
			return
		}
		if d.Fix.YAML == "" {
			without++
			return
		}
		relaxed++
		changed, err := d.Fix.Apply(before.Pack())
		if err != nil {
			t.Fatal(err)
		}
		after, _, err := policy.Compile(changed, options())
		if err != nil {
			t.Fatal(err)
		}
		show := func() string {
			return fmt.Sprintf("%s\nwith %s\ngives %s", text, call, changed.Grants[policy.KindTool]["pay"].Arguments)
		}
		if _, d := after.Authorize(pay(call), nil); d != nil {
			t.Fatalf("%v\n%s", d, show())
		}
		most, known := withoutBroken(t, source, call)
		isWhole := strings.Contains(d.Fix.Words, "besides all of it")
		for range 12 {
			other := parse(drawObject(t, 2))
			_, was := before.Authorize(pay(other), nil)
			_, is := after.Authorize(pay(other), nil)
			switch {
			case was == nil && is != nil:
				t.Fatalf("%s was permitted: %v\n%s", other, is, show())
			case was != nil && is == nil && isWhole && !other.Equal(call):
				t.Fatalf("%s is permitted too\n%s", other, show())
			case was != nil && is == nil && !isWhole && known && most.Validate(other) != nil:
				t.Fatalf("%s is permitted, although it breaks another keyword: %v\n%s", other, most.Validate(other), show())
			case was != nil && is != nil:
				compared++
			}
		}
	})
	t.Logf("%d schemas relaxed, %d without a change; %d other calls still refused", relaxed, without, compared)
}
