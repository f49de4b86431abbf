package graph

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-dev/writ/artifact"
)

func TestProject(t *testing.T) {
	state := value(t, `{"z":{"a":1,"b":{"c":2,"d":3}},"list":[{"x":1,"y":2}],"a/b":4,"n":null,"s":"t"}`)
	for _, c := range []struct {
		reads string
		want  string
	}{
		{"", `{}`},
		{"/z", `{"z":{"a":1,"b":{"c":2,"d":3}}}`},
		{"/z/b/d /s", `{"z":{"b":{"d":3}},"s":"t"}`},
		{"/z/b/d /z", `{"z":{"a":1,"b":{"c":2,"d":3}}}`},
		{"/list/0/x", `{"list":[{"x":1,"y":2}]}`},
		{"/a~1b /n", `{"a/b":4,"n":null}`},
		{"/nothing /s/below", `{}`},
		{"/z/none", `{"z":{}}`},
		{"bad", `{}`},
	} {
		if got := Project(state, strings.Fields(c.reads)).String(); got != c.want {
			t.Errorf("%q: got %s, want %s", c.reads, got, c.want)
		}
	}
	if got := Project(state, []string{""}); got.String() != state.String() {
		t.Errorf("the empty pointer gives %s", got)
	}
}

func TestLookup(t *testing.T) {
	v := value(t, `{"a":[10,{"b":11}],"":12,"x/y":13,"~":14}`)
	for pointer, want := range map[string]string{
		"/a/0": "10", "/a/1/b": "11", "/": "12", "/x~1y": "13", "/~0": "14",
		"/a/01": "", "/a/2": "", "/a/-": "", "/a/+1": "", "a": "", "/a/0/x": "", "/a//": "",
	} {
		got, ok := Lookup(v, pointer)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%q: got %s %v, want %q", pointer, got, ok, want)
		}
	}
}

func TestNewSnapshot(t *testing.T) {
	s, err := NewSnapshot("s", value(t, `{"b":1.0,"a":1e2}`))
	if err != nil || string(s.Encode()) != `{"schema_id":"s","revision":0,"value":{"a":100.0,"b":1.0},"provenance":null}` {
		t.Errorf("got %s, error %v", s.Encode(), err)
	}
	deep := artifact.IntValue(1)
	for range maxStateDepth + 1 {
		deep = artifact.ArrayValue(deep)
	}
	if _, err := NewSnapshot("s", deep); err == nil {
		t.Error("a state that is too deep is accepted")
	}
	patch := Patch{Operations: map[string]Operation{"/a": Set(deep)}}
	empty := Snapshot{Value: artifact.ObjectValue()}
	if _, err := Reduce(empty, patch, []string{"/a"}, &Schema{Version: 1}, Provenance{}); err == nil {
		t.Error("a patch that is too deep is accepted")
	}
}

func TestMergeAndDifference(t *testing.T) {
	schema := &Schema{Version: 1, ID: "s"}
	base := Snapshot{SchemaID: "s", Revision: 3, Value: value(t, `{"l":{"n":1},"r":2,"keep":0}`)}
	step := func(s Snapshot, writes []string, ops map[string]Operation) Snapshot {
		next, err := Reduce(s, Patch{s.Revision, ops}, writes, schema, Provenance{})
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	leftWrites, rightWrites := []string{"/l", "/l/n"}, []string{"/r", "/new"}
	left := step(base, leftWrites, map[string]Operation{"/l": Set(value(t, `{}`))})
	left = step(left, leftWrites, map[string]Operation{"/l/n": Set(value(t, `1.0`))})
	right := step(base, rightWrites, map[string]Operation{"/r": Remove(), "/new": Set(value(t, "5"))})
	a, b := Difference(base, left, leftWrites), Difference(base, right, rightWrites)
	merged, err := Merge(3, a, b)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"base_revision":3,"operations":{"/l":{"Set":{"n":1.0}},"/new":{"Set":5},"/r":"Remove"}}`
	if got := string(merged.Encode()); got != want {
		t.Errorf("merged %s, want %s", got, want)
	}
	other, err := Merge(3, b, a)
	if err != nil || string(other.Encode()) != want {
		t.Errorf("another order gives %s, error %v", other.Encode(), err)
	}
	if p := Difference(base, base, leftWrites); len(p.Operations) != 0 {
		t.Errorf("no change gives %s", p.Encode())
	}
	for _, clash := range []string{"/l", "/l/n", "/l/n/x"} {
		c := Patch{3, map[string]Operation{clash: Remove()}}
		if _, err := Merge(3, a, c); err == nil {
			t.Errorf("branches that both write %s merge", clash)
		}
	}
	if _, err := Merge(4, a); err == nil {
		t.Error("a branch of another revision merges")
	}
}

func TestShown(t *testing.T) {
	v, err := artifact.ParseValue([]byte(`{"o":{"p":{"q":1},"a/b":[[1]]},"l":[{"x":1}],"n":1,"":{"":[]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for read, want := range map[string]string{
		"": "", "/o": "/o", "/o/p/q": "/o/p/q", "/o/none/x": "/o/none/x", "/none": "/none", "/n/x/y": "/n/x/y",
		"/l": "/l", "/l/0": "/l", "/l/0/x": "/l", "/l/7/none": "/l", "/o/a~1b/0/0": "/o/a~1b", "//": "//", "///0": "//",
	} {
		if got := Shown(v, read); got != want {
			t.Errorf("%q shows %q, want %q", read, got, want)
		}
	}
	if got := Shown(artifact.ArrayValue(), "/0/x"); got != "" {
		t.Errorf("an array shows %q", got)
	}
}

// TestNothingElseIsShown takes away all that lies outside of what a read shows.
func TestNothingElseIsShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawValue(3).Draw(t, "state")
		read := rapid.SampledFrom([]string{"", "/a", "/a/b", "/a/0/b", "/10", "/b/c/9", "/9/1", "/a/b/c/10"}).Draw(t, "read")
		shown := Shown(v, read)
		if got, want := Project(only(v, shown), []string{read}), Project(v, []string{read}); !got.Equal(want) {
			t.Fatalf("%s: read %q shows %q, but %s becomes %s without the rest", v, read, shown, want, got)
		}
		if _, ok := Lookup(v, read); ok && !artifact.PointerWithin(read, shown) {
			t.Fatalf("%s: read %q shows %q", v, read, shown)
		}
	})
}

// only gives a value without what lies beside a pointer.
func only(v artifact.Value, pointer string) artifact.Value {
	if pointer == "" || v.Kind() != artifact.KindObject {
		return v
	}
	token, rest, more := strings.Cut(pointer[1:], "/")
	if more {
		rest = "/" + rest
	}
	below, ok := v.Get(unescape(token))
	if !ok {
		return artifact.ObjectValue()
	}
	return artifact.ObjectValue(member(unescape(token), only(below, rest)))
}

// drawValue draws a value with few names, so that patches meet it.
func drawValue(depth int) *rapid.Generator[artifact.Value] {
	scalar := rapid.OneOf(
		rapid.Just(artifact.Value{}),
		rapid.Map(rapid.Int64(), artifact.IntValue),
		rapid.Map(rapid.Float64Range(-1e20, 1e20), artifact.FloatValue),
		rapid.Map(rapid.SampledFrom([]string{"", "x", "=state.a", "é\u2028"}), artifact.StringValue))
	if depth == 0 {
		return scalar
	}
	object := rapid.Map(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) artifact.Member {
		name := rapid.SampledFrom([]string{"a", "b", "c", "10", "9"}).Draw(t, "name")
		return artifact.Member{Name: name, Value: drawValue(depth-1).Draw(t, "value")}
	}), 0, 4), func(m []artifact.Member) artifact.Value { return artifact.ObjectValue(m...) })
	list := rapid.Map(rapid.SliceOfN(drawValue(depth-1), 0, 3), func(l []artifact.Value) artifact.Value { return artifact.ArrayValue(l...) })
	return rapid.OneOf(scalar, list, object, object)
}

func drawPatch(t *rapid.T, revision uint64) Patch {
	p := Patch{BaseRevision: revision, Operations: map[string]Operation{}}
	for range rapid.IntRange(0, 4).Draw(t, "operations") {
		path := rapid.SampledFrom([]string{"/a", "/a/b", "/a/b/c", "/10", "/9/a", "/b/", "x", "/c~1"}).Draw(t, "path")
		op := Remove()
		if rapid.Bool().Draw(t, "set") {
			op = Set(drawValue(2).Draw(t, "value"))
		}
		p.Operations[path] = op
	}
	return p
}

// TestReductionIsAtomicAndPure: the input never changes; the result is canonical,
// one revision on, and differs at written paths only; replaying the difference
// gives the same state.
func TestReductionIsAtomicAndPure(t *testing.T) {
	schema := &Schema{Version: 1, ID: "s", Paths: map[string]Type{"/a": TypeObject}}
	reduced := 0
	rapid.Check(t, func(t *rapid.T) {
		before, err := NewSnapshot("s", drawValue(3).Draw(t, "state"))
		if err != nil {
			t.Fatal(err)
		}
		text := string(before.Encode())
		p := drawPatch(t, before.Revision)
		paths := p.Paths()
		after, err := Reduce(before, p, paths, schema, Provenance{ExecutionID: "e", NodeID: "n"})
		if string(before.Encode()) != text {
			t.Fatal("reduction changed its input")
		}
		if err != nil {
			return
		}
		reduced++
		canonical, err := artifact.CanonicalRuntime(after.Value)
		if err != nil || string(canonical) != after.Value.String() || after.Revision != 1 {
			t.Fatalf("result %s is not canonical", after.Value)
		}
		again, err := DecodeSnapshot(after.Encode(), "f")
		if err != nil || string(again.Encode()) != string(after.Encode()) {
			t.Fatalf("result does not read back: %v", err)
		}
		diff := Difference(before, after, paths)
		replayed, err := Reduce(before, diff, paths, schema, Provenance{ExecutionID: "e", NodeID: "n"})
		if err != nil || string(replayed.Encode()) != string(after.Encode()) {
			t.Fatalf("difference %s gives %s, want %s (%v)", diff.Encode(), replayed.Encode(), after.Encode(), err)
		}
	})
	if reduced == 0 {
		t.Error("no patch was accepted")
	}
}

// TestEncodingIsAFixedPoint: what is written reads back as the same bytes.
func TestEncodingIsAFixedPoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPatch(t, rapid.Uint64().Draw(t, "revision"))
		for path, op := range p.Operations {
			v, err := artifact.CanonicalValue(op.Value)
			if err != nil {
				t.Fatal(err)
			}
			p.Operations[path] = Operation{op.Remove, v}
			if op.Remove {
				p.Operations[path] = Remove()
			}
		}
		again, err := DecodePatch(p.Encode(), "f")
		if err != nil || string(again.Encode()) != string(p.Encode()) {
			t.Fatalf("patch %s becomes %v, %v", p.Encode(), again, err)
		}
		d := drawDefinition(t)
		def, err := DecodeV1(d.Encode(), "f")
		if err != nil || string(def.Encode()) != string(d.Encode()) {
			t.Fatalf("definition %s: %v", d.Encode(), err)
		}
	})
}

func FuzzReduce(f *testing.F) {
	f.Add([]byte(`{"a":{"b":1}}`), []byte(`{"base_revision":0,"operations":{"/a/b":{"Set":2},"/c":"Remove"}}`))
	f.Fuzz(func(t *testing.T, state, patch []byte) {
		v, err := artifact.ParseValue(state)
		if err != nil {
			return
		}
		before, err := NewSnapshot("s", v)
		if err != nil {
			return
		}
		p, err := DecodePatch(patch, "f")
		if err != nil {
			return
		}
		text := string(before.Encode())
		p.BaseRevision = 0
		after, err := Reduce(before, *p, slices.Clone(p.Paths()), &Schema{Version: 1}, Provenance{ExecutionID: "e", NodeID: "n"})
		if string(before.Encode()) != text {
			t.Fatal("reduction changed its input")
		}
		if err == nil {
			if again, err := DecodeSnapshot(after.Encode(), "f"); err != nil || string(again.Encode()) != string(after.Encode()) {
				t.Fatalf("result does not read back: %v", err)
			}
		}
	})
}

func FuzzVersion1(f *testing.F) {
	f.Add([]byte(version1("", "", "", "")))
	f.Add([]byte(`{"Continue":{"patch":{"base_revision":0,"operations":{"/a":"Remove"}}}}`))
	f.Add([]byte(`{"schema_id":"s","revision":1,"value":{"z":1,"a":2},"provenance":{"execution_id":"e","node_id":"n","event_sequence":3}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, contract := range []string{"StatePatch", "StateSnapshot", "StateSchemaV1", "CheckpointV1", "NodeOutcomeV1", "NodeExecutionV1"} {
			out, err, _ := roundTrip(contract, data)
			if err != nil {
				continue
			}
			if again, err, _ := roundTrip(contract, out); err != nil || string(again) != string(out) {
				t.Fatalf("%s: %s becomes %s, %v", contract, out, again, err)
			}
		}
		if d, err := DecodeV1(data, "f"); err == nil {
			again, err := DecodeV1(d.Encode(), "f")
			if err != nil || again.Digest() != d.Digest() {
				t.Fatalf("%s: %v", d.Encode(), err)
			}
		}
		Inspect(data)
	})
}

func FuzzVersion2(f *testing.F) {
	f.Add([]byte(refundGraph))
	f.Add([]byte(everyMember))
	f.Add([]byte(small(forkGraph)))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, found, err := Compile(data, "f", Options{Expr: miniCompiler{}})
		if err != nil {
			if c != nil {
				t.Fatal("a graph and an error")
			}
			return
		}
		for _, x := range found {
			if x.Severity == Error {
				t.Fatalf("accepted with %v", x)
			}
		}
		again, _, err := Compile(c.Canonical, "f", Options{Expr: miniCompiler{}})
		if err != nil || again.Digest != c.Digest {
			t.Fatalf("%s: %v", c.Canonical, err)
		}
	})
}

// TestPlannedArgs: constants are known before a run, and values of expressions not.
func TestPlannedArgs(t *testing.T) {
	for text, want := range map[string]string{
		`null`: `null []`, `{"a":1,"b":"=state.x"}`: `{"a":1,"b":"=state.x"} [/b]`, `"=state"`: `null []`,
		`{"a":[1,"="],"b/c":{"d":"=1"}}`: `{"a":[1,"="],"b/c":{"d":"=1"}} [/a/1 /b~1c/d]`, `"a"`: `"a" []`,
	} {
		v, err := artifact.ParseValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		args, unknown := (&Node{NodeDefinition: NodeDefinition{Args: v}}).PlannedArgs()
		if got := fmt.Sprint(args, " ", unknown); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		if whole := len(unknown) == 1 && unknown[0] == ""; whole != (text == `"=state"`) {
			t.Errorf("%s: unknown %q", text, unknown)
		}
	}
}
