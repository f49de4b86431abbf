package artifact

import (
	"errors"
	"slices"
	"strings"
	"testing"

	json "github.com/go-json-experiment/json"
)

func TestIdentifierFixtures(t *testing.T) {
	var file struct {
		Cases []struct {
			Case  string
			Input struct{ Text string }
			Rust  struct {
				OK    bool
				Error struct{ Display string }
			}
		}
	}
	runtimeFixture(t, &file, "contracts", "identifiers.json")
	for _, c := range file.Cases {
		err := CheckIdentifier(c.Input.Text)
		if (err == nil) != c.Rust.OK {
			t.Errorf("%s: error %v, want ok %v", c.Case, err, c.Rust.OK)
		}
		if err != nil && err.Error() != c.Rust.Error.Display {
			t.Errorf("%s: %s, want %s", c.Case, err, c.Rust.Error.Display)
		}
	}
	t.Logf("%d identifiers agree", len(file.Cases))
}

func TestIdentifierRule(t *testing.T) {
	for c := range 128 {
		s := string(rune(c))
		want := strings.Contains("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./", s)
		if got := CheckIdentifier(s) == nil; got != want {
			t.Errorf("%q: got %v, want %v", s, got, want)
		}
	}
	var typed *InvalidIdentifierError
	if err := CheckIdentifier("é"); !errors.As(err, &typed) || typed.Value != "é" {
		t.Errorf("error %v", err)
	}
	if got := QuoteDebug("a\"\\\n\x00\x01\u0301é"); got != `"a\"\\\n\0\u{1}\u{301}é"` {
		t.Errorf("quoted as %s", got)
	}
}

// TestFreeValueFixtures reads the version 1 free values and writes them back.
func TestFreeValueFixtures(t *testing.T) {
	var file struct {
		Cases []struct {
			Case  string
			Input struct{ Type, Text string }
			Rust  struct {
				OK    bool
				Bytes string
			}
		}
	}
	runtimeFixture(t, &file, "contracts", "decoding.json")
	count := 0
	for _, c := range file.Cases {
		if c.Input.Type != "Value" {
			continue
		}
		count++
		var got string
		doc, err := ParseVersion1([]byte(c.Input.Text), "f")
		if err == nil {
			r := NewFirstReader(doc)
			got = r.Root().Value().String()
			err = r.Err()
		}
		if (err == nil) != c.Rust.OK || err == nil && got != c.Rust.Bytes {
			t.Errorf("%s: got %s, error %v; want %s", c.Case, got, err, c.Rust.Bytes)
		}
	}
	t.Logf("%d free values agree", count)
}

func read(t *testing.T, text string) (*Reader, *Object) {
	t.Helper()
	doc, err := ParseDocument([]byte(text), "f")
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(doc)
	return r, r.Root().Object()
}

func TestReaderTakesFields(t *testing.T) {
	r, o := read(t, `
name: a.b
on: true
small: 65535
big: 18446744073709551615
signed: -3
set: [b, a, b]
map: {z: 1, a: 2}
none: null
`)
	var keys []string
	for k := range o.Need("map").Map() {
		keys = append(keys, k)
	}
	for k := range o.Need("map").Members() {
		keys = append(keys, k)
	}
	ok := o.Need("name").Identifier() == "a.b" && o.Need("on").Bool() && o.Need("small").Uint16() == 65535 &&
		o.Need("big").Uint64() == 1<<64-1 && o.Need("signed").Int64() == -3 &&
		slices.Equal(o.Need("set").Set(), []string{"a", "b"}) && slices.Equal(keys, []string{"a", "z", "z", "a"}) &&
		!o.May("none").Present() && o.Need("none").Present() && o.Has("none") && o.May("absent").Uint32() == 0
	o.RefuseUnknown()
	if err := r.Err(); err != nil || !ok {
		t.Errorf("fields read %v, error %v", ok, err)
	}
}

func TestReaderCollectsEveryProblem(t *testing.T) {
	r, o := read(t, "nmae: x\nfloat: 10.0\nexponent: 1e1\nnegative: -1\nwide: 65536\nid: a b\nlist: {a: 1}\nkind: tol\n")
	o.Need("float").Uint64()
	o.Need("exponent").Uint64()
	o.Need("negative").Uint64()
	o.Need("wide").Uint16()
	o.Need("id").Identifier()
	o.Need("list").Set()
	o.Need("kind").Enum("tool", "model")
	o.Need("name").Text()
	o.May("absent").Text()
	o.RefuseUnknown()
	var typed *DocumentError
	if !errors.As(r.Err(), &typed) {
		t.Fatal(r.Err())
	}
	want := []string{
		`f:1:1: unknown member "nmae"; did you mean "name"?`,
		`f:1:1: name is missing`,
		`f:2:8: float: 10.0 is not a whole number from 0 to 18446744073709551615`,
		`f:3:11: exponent: 1e1 is not a whole number`,
		`f:4:11: negative: -1 is not a whole number`,
		`f:5:7: wide: 65536 is not a whole number from 0 to 65535`,
		`f:6:5: InvalidIdentifier("a b")`,
		`f:7:7: list: an object is not a list`,
		`f:8:7: kind: "tol" is not one of tool, model; did you mean "tool"?`,
	}
	got := strings.Split(r.Err().Error(), "\n")
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for _, w := range want {
		if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, w) }) {
			t.Errorf("no line %q in %q", w, got)
		}
	}
}

func TestReaderLimits(t *testing.T) {
	doc, err := ParseDocument([]byte("["+strings.Repeat("1,", 150)+"1]"), "f")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		r    *Reader
		want int
	}{{NewReader(doc), MaxProblems + 1}, {NewFirstReader(doc), 1}} {
		c.r.Root().Set()
		var typed *DocumentError
		if !errors.As(c.r.Err(), &typed) || len(typed.Problems) != c.want {
			t.Errorf("%d problems, want %d", len(typed.Problems), c.want)
		}
	}
}

func TestReaderOfOtherTypes(t *testing.T) {
	for _, text := range []string{"1", "x", "[]", "null", `{"a":1}`} {
		doc, err := ParseDocument([]byte(text), "f")
		if err != nil {
			t.Fatal(err)
		}
		r := NewReader(doc)
		f := r.Root()
		f.Text()
		f.Bool()
		f.Uint64()
		f.Int64()
		f.Identifier()
		f.Enum("x")
		f.List()
		o := f.Object()
		o.Need("a").Object().Need("b").Object().RefuseUnknown()
		if err := r.Err(); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func TestCanonicalValueIsTheCanonicalText(t *testing.T) {
	var v Value
	if err := json.Unmarshal([]byte(`{"b":[1.0,-0,1e2,{"z":1,"a":18446744073709551615}],"a":"\u2028<\u007f😀"}`), &v); err != nil {
		t.Fatal(err)
	}
	c, err := CanonicalValue(v)
	if err != nil {
		t.Fatal(err)
	}
	want, err := CanonicalRuntime(v)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.String(); got != string(want) {
		t.Errorf("got %s, want %s", got, want)
	}
}
