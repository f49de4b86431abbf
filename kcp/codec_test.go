package kcp

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/writ-dev/writ/bench/manifests"
)

// filler sets every field below a value, each to another non-zero value.
type filler struct {
	t *testing.T
	n int
	// choose makes a filler random: it gives false for a value to leave zero.
	choose func() bool
	src    string // every other text is a part of it, if it is not empty
}

func (f *filler) fill(v reflect.Value, path string) {
	if f.choose != nil && !f.choose() {
		return
	}
	f.n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", f.n))
		if n := len(f.src); n > 0 && f.n%2 == 0 {
			v.SetString(f.src[f.n%n : f.n%n+f.n%(n-f.n%n+1)])
		}
	case reflect.Int:
		v.SetInt(int64(f.n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(f.n) + 0.5*float64(f.n%2))
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				f.fill(v.Field(i), path+"."+field.Name)
			} else if path != ".Manifest" {
				f.t.Errorf("%s.%s is not exported: the binary form does not carry it", path, field.Name)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), f.n%3, 3))
		if f.choose == nil {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		}
		for i := range v.Len() {
			f.fill(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), path)
	default:
		f.t.Errorf("%s has kind %s: teach the filler and the binary form about it", path, v.Kind())
	}
}

// sample gives a filled manifest over src, and findings.
func (f *filler) sample(src string) *parsed {
	p := &parsed{}
	f.fill(reflect.ValueOf(p).Elem(), "")
	p.Manifest.Source = ""
	p.Manifest.index(src, true)
	return p
}

var equalWithUnexported = cmp.Exporter(func(reflect.Type) bool { return true })

func roundTrip(t *testing.T, p *parsed) []byte {
	t.Helper()
	src := p.Manifest.src
	b := AppendManifest([]byte("before"), &p.Manifest, p.Findings)
	b = bytes.TrimPrefix(b, []byte("before"))
	m, findings, err := DecodeManifest(b, []byte(byteOrderMark+src))
	if err != nil {
		t.Fatal(err)
	}
	got := &parsed{*m, findings}
	if !reflect.DeepEqual(p, got) {
		t.Fatalf("round trip changes the manifest: -want +got\n%s", cmp.Diff(p, got, equalWithUnexported))
	}
	return b
}

// TestBinaryCarriesEveryField fails when a field of the model is lost, whoever
// adds it.
func TestBinaryCarriesEveryField(t *testing.T) {
	f := &filler{t: t}
	p := f.sample("")
	if f.n < 500 {
		t.Fatalf("only %d values filled: the filler does not see the model", f.n)
	}
	roundTrip(t, p)
	t.Logf("%d values", f.n)
}

func TestBinaryRandomModels(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		odds := r.IntN(100)
		f := &filler{t: t, choose: func() bool { return r.IntN(100) >= odds/2 }}
		f.src = strings.Repeat("0123456789", 1+r.IntN(200))
		roundTrip(t, f.sample(f.src))
	}
}

func TestBinaryOddValues(t *testing.T) {
	numbers := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), 0.1, 1 << 53, -(1 << 60), math.MaxFloat64}
	p := &parsed{Manifest: Manifest{
		Project: strings.Repeat("long ", 1000),
		NotFor:  List{Items: []string{}},
		Units:   []Unit{},
	}}
	for i, x := range numbers {
		p.Manifest.TaskTypes = append(p.Manifest.TaskTypes, TaskType{
			Index:               -i,
			ID:                  String{Value: "", Set: true},
			Intent:              String{Value: "not set"},
			ConfidenceThreshold: Number{Value: x, Set: i%2 == 0},
		})
	}
	p.Manifest.index("", true)
	roundTrip(t, p)

	p.Manifest.TaskTypes[0].ConfidenceThreshold.Value = math.NaN()
	m, _, err := DecodeManifest(AppendManifest(nil, &p.Manifest, nil), nil)
	if err != nil || !math.IsNaN(m.TaskTypes[0].ConfidenceThreshold.Value) {
		t.Errorf("NaN does not survive: %v", err)
	}
}

// TestBinaryRefersToTheText checks that texts are not written twice.
func TestBinaryRefersToTheText(t *testing.T) {
	text := manifests.YAML(1000, 1)
	m, findings, err := Parse(text, "")
	if err != nil {
		t.Fatal(err)
	}
	b := AppendManifest(nil, m, findings)
	if len(b) > len(text)/5 {
		t.Errorf("%d bytes for a manifest of %d", len(b), len(text))
	}
	m, findings, err = DecodeManifest(b, text)
	if err != nil {
		t.Fatal(err)
	}
	if again := AppendManifest(nil, m, findings); !bytes.Equal(again, b) {
		t.Error("what was decoded is written in another way")
	}
}

func TestBinarySchemaFollowsTheModel(t *testing.T) {
	describe := func(v any) string {
		var b strings.Builder
		describeType(&b, reflect.TypeOf(v), map[reflect.Type]bool{})
		return b.String()
	}
	type inner struct{ A string }
	type renamed struct{ B string }
	shapes := []any{
		struct{ X []inner }{}, struct{ X []renamed }{}, struct{ X *inner }{}, struct{ Y []inner }{},
		struct{ X, Z []inner }{}, struct{ Z, X []inner }{},
	}
	seen := map[string]bool{}
	for _, s := range shapes {
		seen[describe(s)] = true
	}
	if len(seen) != len(shapes) {
		t.Errorf("%d descriptions of %d models", len(seen), len(shapes))
	}
	if len(BinarySchema()) != 64 {
		t.Errorf("BinarySchema() = %q", BinarySchema())
	}
}

func TestShapesRefuseWhatTheyCannotCarry(t *testing.T) {
	type loop struct{ Next []loop }
	for _, v := range []any{
		loop{}, struct{}{}, struct{ a int }{}, []bool{}, []*Unit{}, [][]string{}, map[string]int{}, new(*Unit), int32(0),
	} {
		t.Run(fmt.Sprintf("%T", v), func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("a shape")
				}
			}()
			shapeOf(reflect.TypeOf(v), map[reflect.Type]*shape{})
		})
	}
}

func TestDecodeManifestRefusesDamage(t *testing.T) {
	f := &filler{t: t, src: "text 1 text 2 text 3 text 10 text 11"}
	p := f.sample(f.src)
	b := AppendManifest(nil, &p.Manifest, p.Findings)
	for n := 0; n < len(b); n += 1 + n/100 {
		if _, _, err := DecodeManifest(b[:n], []byte(p.Manifest.src)); err == nil {
			t.Fatalf("the first %d of %d bytes decode", n, len(b))
		}
	}
	if _, _, err := DecodeManifest(append(b, 0), []byte(p.Manifest.src)); err == nil {
		t.Error("trailing data decodes")
	}
	if _, _, err := DecodeManifest(b, nil); err == nil {
		t.Error("places outside the text decode")
	}
}

// FuzzDecodeManifest checks that no data makes the decoder panic or allocate
// without bound, and that what decodes survives a round trip.
func FuzzDecodeManifest(f *testing.F) {
	f.Add([]byte{}, "")
	f.Add(AppendManifest(nil, &Manifest{}, nil), "")
	r := rand.New(rand.NewPCG(5, 6))
	for range 20 { // small ones: the fuzzer mutates these better
		fill := &filler{choose: func() bool { return r.IntN(100) < 60 }}
		fill.src = "text 1 text 2 text 3 text 10 text 11"
		p := fill.sample(fill.src)
		f.Add(AppendManifest(nil, &p.Manifest, p.Findings), p.Manifest.src)
	}
	f.Fuzz(func(t *testing.T, data []byte, src string) {
		m, findings, err := DecodeManifest(data, []byte(src))
		if err != nil {
			return
		}
		again := AppendManifest(nil, m, findings)
		m2, findings2, err := DecodeManifest(again, []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		if third := AppendManifest(nil, m2, findings2); !bytes.Equal(again, third) {
			t.Error("a second round trip writes something else")
		}
	})
}

// TestDecodeManifestMemory measures what hostile data costs: counts and masks
// that promise as much as their bytes allow.
func TestDecodeManifestMemory(t *testing.T) {
	const size = 64 << 10
	r := rand.New(rand.NewPCG(3, 4))
	inputs := [][]byte{
		bytes.Repeat([]byte{0xff}, size),
		bytes.Repeat([]byte{0x7f}, size),
		bytes.Repeat([]byte{0xff, 0xff, 0x03}, size/3),
	}
	for range 200 {
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(r.Uint32() & r.Uint32())
		}
		inputs = append(inputs, b)
	}
	var before, after runtime.MemStats
	for _, b := range inputs {
		runtime.ReadMemStats(&before)
		_, _, _ = DecodeManifest(b, nil)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 500*size {
			t.Fatalf("%d bytes of memory for %d of data", n, size)
		}
	}
}

// sameAfterRoundTrip checks that the binary form of what Parse gives is equal to
// it in every respect, unexported fields included.
func sameAfterRoundTrip(t *testing.T, text []byte) bool {
	t.Helper()
	m, findings, err := Parse(text, "")
	if err != nil {
		return false
	}
	m2, findings2, err := DecodeManifest(AppendManifest(nil, m, findings), text)
	if err != nil {
		t.Fatal(err)
	}
	want, got := &parsed{*m, findings}, &parsed{*m2, findings2}
	if !reflect.DeepEqual(want, got) && !cmp.Equal(want, got, equalWithUnexported, cmpopts.EquateNaNs()) {
		t.Fatalf("-parsed +decoded\n%s", cmp.Diff(want, got, equalWithUnexported))
	}
	return true
}

// everyStyle is a manifest whose texts are not all spelt in it as they are read.
const everyStyle = `kcp_version: "0.32"
project: "quoted \u00e9 and \"escaped\""
version: 1.10
trust: yes
signing: {scheme: ed25519, signature: knowledge.yaml.sig}
units:
  - id: plain
    path: docs/plain.md
    intent: >
      folded over
      two lines
    audience: [agent, human, "agent"]
    triggers: ['it''s', 429, ~, true]
    hints: {token_estimate: 0x10, priority: critical}
    size_tokens: .nan
    temporal: {valid_from: 2024-01-01, valid_until: [x]}
  - id: paid
    intent: |
      literal

    deprecated: "yes"
    payment: {methods: [{type: x402, price_per_request: 0.10, currency: USDC}]}
    kind: playbook
    steps:
      - id: one
        uses: plain
      - not a step
`

func TestBinaryEqualsParse(t *testing.T) {
	for _, text := range []string{everyStyle, byteOrderMark + everyStyle, strings.ReplaceAll(everyStyle, "\n", "\r\n"), "a: b", "units: []"} {
		if !sameAfterRoundTrip(t, []byte(text)) {
			t.Errorf("does not parse: %q", text)
		}
	}
	for _, units := range []int{0, 1, 10, 500} {
		sameAfterRoundTrip(t, manifests.YAML(units, uint64(units)))
	}
	m, _, err := DecodeManifest(AppendManifest(nil, mustParse(t, everyStyle), nil), []byte(everyStyle))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.Position("units[1].payment"), mustParse(t, everyStyle).Position("units[1].payment"); got != want || got.Line == 0 {
		t.Errorf("position %v, want %v", got, want)
	}
}

func mustParse(t *testing.T, text string) *Manifest {
	t.Helper()
	m, _, err := Parse([]byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestBinaryEqualsParseOnFixtures(t *testing.T) {
	count := 0
	for _, folder := range []string{"examples", "conformance"} {
		root := os.DirFS(filepath.Join(fixtures(t), folder))
		err := fs.WalkDir(root, ".", func(name string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, ".yaml") {
				return err
			}
			text, err := fs.ReadFile(root, name)
			if err == nil && sameAfterRoundTrip(t, text) {
				count++
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d manifests", count)
}

// FuzzBinaryEqualsParse looks for a text whose binary form loses something.
func FuzzBinaryEqualsParse(f *testing.F) {
	f.Add([]byte(everyStyle))
	f.Add([]byte(byteOrderMark + "a: b"))
	f.Add(manifests.YAML(3, 1))
	f.Fuzz(func(t *testing.T, text []byte) { sameAfterRoundTrip(t, text) })
}
