package artifact

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	json "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func mustParse(t *testing.T, text string) Value {
	t.Helper()
	v, err := ParseValue([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestFormatNumber(t *testing.T) {
	for want, x := range map[string]float64{
		"0": math.Copysign(0, -1), "1": 1, "-2.5": -2.5, "0.30000000000000004": math.Nextafter(0.3, 1),
		"100000000000000000000": 1e20, "1e+21": 1e21, "-1.5e+300": -1.5e300,
		"0.000001": 1e-6, "1e-7": 1e-7, "1.25e-7": 1.25e-7, "5e-324": 5e-324,
		"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1),
	} {
		if got := FormatNumber(x); got != want {
			t.Errorf("FormatNumber(%g) = %s, want %s", x, got, want)
		}
	}
}

func TestRoundMicros(t *testing.T) {
	for x, want := range map[float64]float64{
		0.0078125: 0.007813, -0.0078125: -0.007813, 3 / 128.0: 0.023438, 0.1234565: 0.123456, 1.5: 1.5, 1e21: 1e21, 5e-324: 0,
	} {
		if got := RoundMicros(x); got != want {
			t.Errorf("RoundMicros(%v) = %v, want %v", x, got, want)
		}
	}
	if !math.IsNaN(RoundMicros(math.NaN())) || !math.IsInf(RoundMicros(math.Inf(-1)), -1) {
		t.Error("non-finite numbers must stay")
	}
	// Against exact decimal arithmetic.
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.OneOf(rapid.Float64Range(-1e6, 1e6), rapid.Map(rapid.IntRange(-9999, 9999), func(n int) float64 { return float64(n) / 128 })).Draw(t, "x")
		scaled := new(big.Rat).Mul(new(big.Rat).SetFloat64(x), big.NewRat(1_000_000, 1))
		rounded := new(big.Rat).SetFrac(roundHalfAway(scaled), big.NewInt(1_000_000))
		want, _ := strconv.ParseFloat(rounded.FloatString(6), 64)
		if got := RoundMicros(x); got != want {
			t.Fatalf("RoundMicros(%v) = %v, want %v", x, got, want)
		}
	})
}

func roundHalfAway(x *big.Rat) *big.Int {
	half := big.NewRat(int64(x.Sign()), 2)
	sum := new(big.Rat).Add(x, half)
	return new(big.Int).Quo(sum.Num(), sum.Denom())
}

type sample struct {
	Name  string            `json:"name"`
	Limit Optional[float64] `json:"limit,omitzero"`
	List  Optional[[]int]   `json:"list,omitzero"`
	Tags  []string          `json:"tags"`
	Rates map[string]any    `json:"rates"`
	Score float64           `json:"score"`
	Free  Value             `json:"free"`
}

func TestEncode(t *testing.T) {
	got, err := Encode(sample{
		Name:  "a\"\\/<>&\u007f\u2028\u2029é\b\t\n\f\r\x01\x1f",
		Limit: Some(math.Copysign(0, -1)),
		List:  Some([]int(nil)),
		Rates: map[string]any{"b": math.NaN(), "a": 1e21},
		Score: 1e-7,
		Free:  mustParse(t, `{"z":1.50,"a":[]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "name": "a\"\\/<>&` + "\u007f\u2028\u2029é" + `\b\t\n\f\r\u0001\u001f",
  "limit": 0,
  "list": [],
  "tags": [],
  "rates": {
    "a": 1e+21,
    "b": null
  },
  "score": 1e-7,
  "free": {
    "z": 1.50,
    "a": []
  }
}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if compact, err := EncodeCompact(sample{}); err != nil ||
		string(compact) != `{"name":"","tags":[],"rates":{},"score":0,"free":null}` {
		t.Errorf("%s, %v", compact, err)
	}
	if _, err := Encode("a\xff"); err == nil {
		t.Error("invalid UTF-8 was encoded")
	}
}

func TestStringList(t *testing.T) {
	for want, list := range map[string][]string{`[]`: nil, `["agent","human"]`: {"agent", "human"}, `["<\"\\\u0000"]`: {"<\"\\\x00"}} {
		if got := StringList(list); got != want {
			t.Errorf("StringList(%q) = %s, want %s", list, got, want)
		}
	}
}

func TestOptional(t *testing.T) {
	var s sample
	if err := Decode([]byte(`{"limit":0,"list":null}`), &s, RefuseUnknown); err != nil {
		t.Fatal(err)
	}
	if !s.Limit.Set || s.Limit.Value != 0 || s.List.Set {
		t.Errorf("limit %+v, list %+v", s.Limit, s.List)
	}
	if s.Limit.Or(3) != 0 || (Optional[int]{}).Or(3) != 3 {
		t.Error("Or gives the wrong value")
	}
	if err := Decode([]byte(`{"limit":"x"}`), &s, RefuseUnknown); err == nil {
		t.Error("a string was read as a number")
	}
}

// The number rules hold under any encoder, since a program may nest artifacts in
// documents of its own.
func TestNumbersUnderAForeignEncoder(t *testing.T) {
	for _, v := range []any{
		[]Optional[float64]{Some(math.Copysign(0, -1)), Some(math.NaN()), Some(1e21), {}},
		[]Number{Number(math.Copysign(0, -1)), Number(math.NaN()), 1e21, Number(math.Inf(1))},
	} {
		if got, err := json.Marshal(v); err != nil || string(got) != "[0,null,1e+21,null]" {
			t.Errorf("%T: %s, %v", v, got, err)
		}
	}
}

func TestNumberNull(t *testing.T) {
	var n Number
	if err := Decode([]byte("null"), &n, RefuseUnknown); err != nil || !math.IsNaN(float64(n)) {
		t.Errorf("%v, %v", n, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct {
		text, problem string
		line, column  int
	}{
		{"\xef\xbb\xbf{}", "byte order mark", 1, 1},
		{"", "text ends", 1, 1},
		{"{\n  \"name\": \"x\",\n  \"name\": \"y\"}", `member "name" appears twice`, 3, 3},
		{"{\"free\":{\"é\":1,\"é\":2}}", `member "é" appears twice`, 1, 16},
		{`{"name":"x"} 1`, "after top-level value", 1, 14},
		{"{\"name\":\"a\xff\"}", "invalid UTF-8", 1, 11},
		{`{"name":"\ud800"}`, "surrogate", 1, 10},
		{`{"nmae":1}`, `unknown member "nmae"; did you mean "name"?`, 1, 2},
		{`{"entirelyOther":1}`, `unknown member "entirelyOther"`, 1, 2},
		{`{"Name":"x"}`, `did you mean "name"?`, 1, 2},
		{`{"score":"x"}`, "a string is not a number", 1, 10},
		{`{"score":1e400}`, "1e400 is not a number in range", 1, 10},
		{`{"tags":[1]}`, "a number is not a string", 1, 10},
		{`{"free":` + strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth) + `}`, "nested more than", 1, 135},
		{`{"free":` + strings.Repeat("[", 1<<20), "nested more than", 1, 135},
	} {
		var s sample
		var problem *SyntaxError
		if err := Decode([]byte(c.text), &s, RefuseUnknown); !errors.As(err, &problem) {
			t.Errorf("%.40q: got %v, want a *SyntaxError", c.text, err)
			continue
		}
		if !strings.Contains(problem.Error(), c.problem) || problem.Line != c.line || problem.Column != c.column {
			t.Errorf("%.40q: got %v; want line %d, column %d: %s", c.text, problem, c.line, c.column, c.problem)
		}
	}
	if err := Decode([]byte(`{"other":{"x":[1]},"name":"n"}`), new(sample), IgnoreUnknown); err != nil {
		t.Error(err)
	}
	if err := Decode([]byte(`{"other":{"x":1,"x":2}}`), new(sample), IgnoreUnknown); err == nil {
		t.Error("a duplicate below an ignored member was read")
	}
	var i struct {
		N uint16 `json:"n"`
	}
	for _, text := range []string{`{"n":1.0}`, `{"n":1e1}`, `{"n":-1}`, `{"n":65536}`} {
		if err := Decode([]byte(text), &i, RefuseUnknown); err == nil {
			t.Errorf("%s was read as %d", text, i.N)
		}
	}
}

func TestDigest(t *testing.T) {
	d := Sum([]byte("abc"))
	const digits = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if d.Hex() != digits || d.String() != "sha256:"+digits {
		t.Errorf("digest of abc is %s", d)
	}
	if got, err := ParseDigest(d.String()); err != nil || got != d {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := ParseHexDigest(digits); err != nil || got != d {
		t.Errorf("%s, %v", got, err)
	}
	for _, bad := range []string{"", digits, "sha256:", "SHA256:" + digits, "sha256:" + strings.ToUpper(digits), "sha256:" + digits + "0", "sha256: " + digits[1:], "sha512:" + digits} {
		if _, err := ParseDigest(bad); err == nil {
			t.Errorf("ParseDigest(%q) succeeded", bad)
		}
	}
	text, err := EncodeCompact(map[string]Digest{"d": d})
	if err != nil || string(text) != `{"d":"sha256:`+digits+`"}` {
		t.Errorf("%s, %v", text, err)
	}
	var back map[string]Digest
	if err := Decode(text, &back, RefuseUnknown); err != nil || back["d"] != d {
		t.Errorf("%v, %v", back, err)
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{}`, `{"schemaVersion":1,"kind":"plan","correlationId":"c"}`},
		{`{"a":{"kind":"x"}}`, `{"a":{"kind":"x"},"schemaVersion":1,"kind":"plan","correlationId":"c"}`},
		{`{"kind":[1,{}],"a":[]}`, `{"kind":"plan","a":[],"schemaVersion":1,"correlationId":"c"}`},
		{`{"correlationId":null,"schemaVersion":"7","kind":{}}`, `{"correlationId":"c","schemaVersion":1,"kind":"plan"}`},
	} {
		got, err := Wrap(mustParse(t, c.body), Envelope{SchemaVersion: 1, Kind: "plan", CorrelationID: "c"})
		if err != nil {
			t.Fatal(err)
		}
		want, err := Encode(mustParse(t, c.want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s: %s", c.body, diff)
		}
	}
	got, err := Wrap(sample{}, Envelope{SchemaVersion: 2, Kind: "tree"})
	if err != nil || !strings.HasSuffix(string(got), "\"free\": null,\n  \"schemaVersion\": 2,\n  \"kind\": \"tree\"\n}") {
		t.Errorf("%s, %v", got, err)
	}
	e, err := ReadEnvelope(got)
	if err != nil || e != (Envelope{SchemaVersion: 2, Kind: "tree"}) {
		t.Errorf("%+v, %v", e, err)
	}
	for _, body := range []any{[]int{}, "x", nil} {
		if _, err := Wrap(body, Envelope{}); !errors.Is(err, ErrNotObject) {
			t.Errorf("Wrap(%v): %v", body, err)
		}
	}
	if _, err := ReadEnvelope([]byte(" [1]")); !errors.Is(err, ErrNotObject) {
		t.Error(err)
	}
	if _, err := ReadEnvelope([]byte(`{"kind":1}`)); err == nil || errors.Is(err, ErrNotObject) {
		t.Error(err)
	}
}

func TestWrapIsReplaceOrAppend(t *testing.T) {
	names := rapid.SampledFrom([]string{"a", "b", "kind", "schemaVersion", "correlationId", "é"})
	rapid.Check(t, func(t *rapid.T) {
		body := ObjectValue()
		for _, name := range rapid.SliceOfDistinct(names, rapid.ID).Draw(t, "names") {
			body = body.With(name, anyValue(2).Draw(t, name))
		}
		e := Envelope{SchemaVersion: 1, Kind: "plan", CorrelationID: rapid.SampledFrom([]string{"", "id"}).Draw(t, "id")}
		want := body.With("schemaVersion", IntValue(1)).With("kind", StringValue("plan"))
		if e.CorrelationID != "" {
			want = want.With("correlationId", StringValue("id"))
		}
		wantText, err := Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Wrap(body, e)
		if err != nil || string(got) != string(wantText) {
			t.Fatalf("%v\n got %s\nwant %s", err, got, wantText)
		}
	})
}

type largePlan struct {
	Units []largeUnit `json:"units"`
}

type largeUnit struct {
	ID      string            `json:"id"`
	Score   float64           `json:"score"`
	Reasons []string          `json:"reasons"`
	Price   Optional[float64] `json:"price,omitzero"`
}

func newLargePlan() largePlan {
	plan := largePlan{Units: make([]largeUnit, 1000)}
	for i := range plan.Units {
		plan.Units[i] = largeUnit{"unit-id", float64(i), []string{"intent matches 2 term(s)"}, Some(0.25)}
	}
	return plan
}

func BenchmarkEncode(b *testing.B) {
	plan := newLargePlan()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Encode(plan); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWrap(b *testing.B) {
	plan := newLargePlan()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Wrap(plan, Envelope{SchemaVersion: 1, Kind: "plan"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseValue(b *testing.B) {
	text, err := Encode(newLargePlan())
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseValue(text); err != nil {
			b.Fatal(err)
		}
	}
}
