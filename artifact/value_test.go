package artifact

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// anyValue generates values of at most the given depth.
func anyValue(depth int) *rapid.Generator[Value] {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab01\"\\\n\x00<é\u2028\uffff😀")), 0, 4, -1)
	number := rapid.Custom(func(t *rapid.T) Value {
		literal := rapid.SampledFrom([]string{"0", "-0", "1", "1.0", "10e-1", "0.1", "1e21", "1e-7", "9007199254740993", "18446744073709551616", "-9223372036854775808", "123.456E+2"}).Draw(t, "literal")
		v, err := NumberValue(literal)
		if err != nil {
			t.Fatal(err)
		}
		return v
	})
	leaf := rapid.OneOf(rapid.Just(Value{}), rapid.Map(rapid.Bool(), BoolValue), number, rapid.Map(text, StringValue),
		rapid.Map(rapid.Float64(), FloatValue))
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(anyValue(depth-1), 0, 3), func(list []Value) Value { return ArrayValue(list...) }),
		rapid.Custom(func(t *rapid.T) Value {
			v := ObjectValue()
			for range rapid.IntRange(0, 4).Draw(t, "members") {
				v = v.With(text.Draw(t, "name"), anyValue(depth-1).Draw(t, "value"))
			}
			return v
		}))
}

func TestValueTextComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue(3).Draw(t, "value")
		compact, err := ParseValue([]byte(v.String()))
		if err != nil || compact.String() != v.String() || !compact.Equal(v) {
			t.Fatalf("%s came back as %s, %v", v, compact, err)
		}
		indented, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := ParseValue(indented); err != nil || back.String() != v.String() {
			t.Fatalf("%s came back as %s, %v", v, back, err)
		}
	})
}

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"1", "1.0", true}, {"10e-1", "1", true}, {"0", "-0.0e9", true}, {"100", "1e2", true}, {"0.001", "1E-3", true},
		{"1", "-1", false}, {"9007199254740993", "9007199254740992", false}, {"9007199254740993", "9007199254740993.0", true},
		{"1e99999999999999999999", "1e99999999999999999999", true}, {"1e99999999999999999999", "1e99999999999999999998", false},
		{`{"a":1,"b":2}`, `{"b":2.0,"a":1}`, true}, {`{"a":1}`, `{"a":1,"b":2}`, false}, {`{"a":1,"b":2}`, `{"a":1,"c":2}`, false},
		{"[1,2]", "[2,1]", false}, {"[]", "{}", false}, {`"1"`, "1", false}, {"true", "false", false}, {"null", "false", false},
	} {
		a, b := mustParse(t, c.a), mustParse(t, c.b)
		if a.Equal(b) != c.want || b.Equal(a) != c.want {
			t.Errorf("Equal(%s, %s) = %v, want %v", c.a, c.b, !c.want, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue(3).Draw(t, "value")
		if !v.Equal(reversed(v)) {
			t.Fatalf("%s differs from %s", v, reversed(v))
		}
	})
}

func TestAccessors(t *testing.T) {
	v := mustParse(t, `{"b":true,"n":1,"f":1.5,"s":"x","l":[1,2],"big":18446744073709551615,"huge":1e400}`)
	get := func(name string) Value { got, _ := v.Get(name); return got }
	if !get("b").Bool() || get("s").Bool() || get("s").Text() != "x" || get("f").Text() != "1.5" || get("b").Text() != "" || get("l").Len() != 2 || v.Len() != 7 {
		t.Error("an accessor gives the wrong value")
	}
	if n, ok := get("n").Int(); n != 1 || !ok {
		t.Error("n is 1")
	}
	for _, name := range []string{"f", "s", "big", "none"} {
		if n, ok := get(name).Int(); ok {
			t.Errorf("%s is the integer %d", name, n)
		}
	}
	if u, ok := get("big").Uint(); u != 1<<64-1 || !ok {
		t.Error("big is 2^64-1")
	}
	if _, ok := get("huge").Float(); ok {
		t.Error("1e400 is no float64")
	}
	if got := v.Without("l").With("n", StringValue("y")).With("new", Value{}).String(); got !=
		`{"b":true,"n":"y","f":1.5,"s":"x","big":18446744073709551615,"huge":1e400,"new":null}` {
		t.Error(got)
	}
	if got := ObjectValue(Member{"a", IntValue(1)}, Member{"b", IntValue(2)}, Member{"a", IntValue(3)}).String(); got != `{"a":3,"b":2}` {
		t.Error(got)
	}
	for _, bad := range []string{"", "1 ", " 1", "01", "+1", "1.", ".5", "NaN", "0x1", "null", "1,2"} {
		if v, err := NumberValue(bad); err == nil {
			t.Errorf("NumberValue(%q) = %s", bad, v)
		}
	}
}

func TestMemoryIDVectors(t *testing.T) {
	for want, text := range map[string]string{
		"e91ef9b1749fb03e0464fdd7a6616dbe51b1e796819a61a3fdced77d5aecb9f7": `{"task":"t","selected":[],"b":0.30,"big":1e21,"n":null,"nested":[{"k":1}],"10":"ten","2":"two","uni":"é` + "\u2028" + `<>&\u0007","neg":-0}`,
		"0a8165c93884db0b9ca46e2997c7f3b36786d2dc1fb8944dfeb95c86b4ba33de": `{"plan":{"task":"t","manifest":{"source":"s","sha256":"h"}},"synthesis":{"answer":"a","unitsLoaded":[{"id":"i","path":"p","sha256":"z"},{"id":"j","path":"q"}]},"grounding":{"claims":[]}}`,
	} {
		got, err := CanonicalKCP(mustParse(t, text))
		if err != nil || Sum(got).Hex() != want {
			t.Errorf("%s, %v: %s, want %s", got, err, Sum(got).Hex(), want)
		}
	}
}

func TestCanonicalForms(t *testing.T) {
	const text = `{"b":1.0,"10":-0,"9":1e16,"B":[{"z":0.00001,"a":1E2,"e":1e-6}],"a":1.5e-7,"4294967295":"\/\u00e9\u007f","01":1e15,"😀":0,"\uffff":1}`
	for name, c := range map[string]struct {
		form func(Value) ([]byte, error)
		want string
	}{
		"KCP":     {CanonicalKCP, `{"9":10000000000000000,"10":0,"b":1,"B":[{"z":0.00001,"a":100,"e":0.000001}],"a":1.5e-7,"4294967295":"/é` + "\u007f" + `","01":1000000000000000,"😀":0,"` + "\uffff" + `":1}`},
		"runtime": {CanonicalRuntime, `{"01":1000000000000000.0,"10":-0.0,"4294967295":"/é` + "\u007f" + `","9":1e16,"B":[{"a":100.0,"e":1e-6,"z":0.00001}],"a":1.5e-7,"b":1.0,"` + "\uffff" + `":1,"😀":0}`},
	} {
		got, err := c.form(mustParse(t, text))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, c.want)
		}
	}
	// The sample of RFC 8785 section 3.2.2, without 1E30, which is refused here.
	got, err := CanonicalRFC8785(mustParse(t, `{"numbers":[333333333.33333329,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`))
	const want = `{"literals":[null,true,false],"numbers":[333333333.3333333,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`
	if err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
	// Section 3.2.3: the order of names.
	got, err = CanonicalRFC8785(mustParse(t, `{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`))
	if wantOrder := "{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}"; err != nil || string(got) != wantOrder {
		t.Errorf("%v\n got %s\nwant %s", err, got, wantOrder)
	}
}

func TestCanonicalFormsRefuse(t *testing.T) {
	for _, text := range []string{"9007199254740992", "-9007199254740993", "1e30", "9007199254740993.5", "1e400"} {
		if got, err := CanonicalRFC8785(mustParse(t, "["+text+"]")); err == nil {
			t.Errorf("RFC 8785 wrote %s as %s", text, got)
		}
	}
	if got, err := CanonicalRFC8785(mustParse(t, "[9007199254740991,-9007199254740991,0.5]")); err != nil {
		t.Error(string(got), err)
	}
	deep := Value{}
	for range MaxDepth + 1 {
		deep = ArrayValue(deep)
	}
	for name, form := range canonicalForms {
		if _, err := form(deep); err == nil {
			t.Errorf("%s wrote %d levels", name, MaxDepth+1)
		}
		if _, err := form(deep.Elements()[0]); err != nil {
			t.Errorf("%s refused %d levels: %v", name, MaxDepth, err)
		}
		if _, err := form(mustParse(t, "[-1e400]")); err == nil {
			t.Errorf("%s wrote 1e400", name)
		}
	}
}

var canonicalForms = map[string]func(Value) ([]byte, error){"KCP": CanonicalKCP, "runtime": CanonicalRuntime, "RFC 8785": CanonicalRFC8785}

// checkCanonical checks that each form is stable when it is read back, and does
// not depend on how the text was spelled.
func checkCanonical(t interface {
	Helper()
	Fatalf(string, ...any)
}, v Value) {
	t.Helper()
	for name, form := range canonicalForms {
		once, err := form(v)
		if err != nil {
			continue
		}
		back, err := ParseValue(once)
		if err != nil {
			t.Fatalf("%s wrote %s, which is not read: %v", name, once, err)
		}
		if twice, err := form(back); err != nil || string(twice) != string(once) {
			t.Fatalf("%s is not stable: %s became %s, %v", name, once, twice, err)
		}
	}
}

func TestCanonicalFormsAreStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkCanonical(t, anyValue(3).Draw(t, "value")) })
}

func TestSortedFormsIgnoreOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue(2).Draw(t, "value")
		for _, form := range []func(Value) ([]byte, error){CanonicalRuntime, CanonicalRFC8785} {
			a, errA := form(v)
			b, errB := form(reversed(v))
			if (errA == nil) != (errB == nil) || string(a) != string(b) {
				t.Fatalf("%s and %s differ", a, b)
			}
		}
	})
}

// reversed reverses the members of every object.
func reversed(v Value) Value {
	switch v.Kind() {
	case KindArray:
		list := make([]Value, 0, v.Len())
		for _, e := range v.Elements() {
			list = append(list, reversed(e))
		}
		return ArrayValue(list...)
	case KindObject:
		members := make([]Member, 0, v.Len())
		for _, m := range slices.Backward(v.Members()) {
			members = append(members, Member{m.Name, reversed(m.Value)})
		}
		return ObjectValue(members...)
	}
	return v
}

func FuzzParseValue(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.50,"x\u00e9",null,true]}`, `{"a":1,"a":2}`, "\"\\ud800\"", "\xef\xbb\xbf1", "[1,]", "-0", "1e400", strings.Repeat("[", 200)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := ParseValue(data)
		if strict := jsontext.Value(data).IsValid() && tooDeep(data) < 0; strict != (err == nil) {
			t.Fatalf("strict %v, but %v", strict, err)
		}
		if err != nil {
			var problem *SyntaxError
			if !errors.As(err, &problem) || problem.Line < 1 || problem.Column < 1 || problem.Offset > int64(len(data)) || problem.Problem == "" {
				t.Fatalf("not a usable error: %#v", err)
			}
			return
		}
		if back, err := ParseValue(v.AppendCompact(nil)); err != nil || !back.Equal(v) {
			t.Fatalf("%s came back as %s, %v", v, back, err)
		}
		checkCanonical(t, v)
	})
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"name":"x","limit":1,"tags":["a"],"rates":{"a":1},"score":-0,"free":{}}`, `{"nmae":1}`, `{"limit":null,"list":[1]}`, `{"score":"x"}`, "[]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s sample
		if err := Decode(data, &s, RefuseUnknown); err != nil {
			var problem *SyntaxError
			if !errors.As(err, &problem) {
				t.Fatalf("not a SyntaxError: %v", err)
			}
			return
		}
		var lenient sample
		if err := Decode(data, &lenient, IgnoreUnknown); err != nil {
			t.Fatalf("refusing reads what ignoring does not: %v", err)
		}
		text, err := Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		var back sample
		if err := Decode(text, &back, RefuseUnknown); err != nil {
			t.Fatalf("%v in our own text %s", err, text)
		}
		if again, err := Encode(back); err != nil || string(again) != string(text) {
			t.Fatalf("%s became %s, %v", text, again, err)
		}
	})
}
