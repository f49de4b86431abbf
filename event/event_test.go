package event

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
)

func TestRoundTrip(t *testing.T) {
	seen := map[Type]bool{}
	for _, e := range append(samples(), empties()...) {
		data, err := Encode(e)
		if err != nil {
			t.Fatalf("%s: %v", e.Type, err)
		}
		got, err := Decode(data)
		if err != nil {
			t.Fatalf("%s: %v\n%s", e.Type, err, data)
		}
		if !reflect.DeepEqual(got, e) {
			t.Errorf("%s: wrote\n%+v\nread\n%+v", e.Type, e.Body, got.Body)
		}
		// The stored text is the canonical form of its own value, apart from the
		// order of members, which is that of the fields.
		v, err := artifact.ParseValue(data)
		if err != nil {
			t.Fatalf("%s is not JSON: %v", e.Type, err)
		}
		if again := v.AppendCompact(nil); !bytes.Equal(again, data) {
			t.Errorf("%s: not compact:\n%s\n%s", e.Type, data, again)
		}
		r, err := Read(data)
		if err != nil || r.Header != e.Header || r.Digest != artifact.Sum(data) {
			t.Errorf("%s: Read gives %+v, %v", e.Type, r.Header, err)
		}
		seen[e.Type] = true
	}
	for typ := range allTypes() {
		if !seen[typ] {
			t.Errorf("no sample of %s", typ)
		}
	}
}

// allTypes finds the types by their payloads.
func allTypes() map[Type]bool {
	types := map[Type]bool{}
	for _, e := range samples() {
		types[e.Body.Type()] = newPayload(e.Body.Type()) != nil
	}
	return types
}

// TestWireForm pins the bytes: what was stored once is read for ever.
func TestWireForm(t *testing.T) {
	e := Event{Header: Header{Seq: 2, Prev: digestOf("1"), Exec: "run", Node: "n", Visit: 1, Attempt: 1, AtMS: 17}, Body: &Routed{
		Outcome: OutcomeContinue, Route: "continue", To: "m",
		Usage: Usage{Calls: 1, Cost: Money{"b": 2, "a": 1}}, Left: Budget{Steps: artifact.Some(uint64(3))},
	}}
	got, err := Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"v":2,"seq":2,"prev":"sha256:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b",` +
		`"exec":"run","node":"n","visit":1,"attempt":1,"at_ms":17,"type":"routed","body":{"outcome":"continue","route":"continue",` +
		`"to":"m","usage":{"calls":1,"tokens":0,"units":0,"duration_ms":0,"cost":{"a":1,"b":2}},` +
		`"left":{"steps":3,"calls":null,"tokens":null,"units":null,"time_ms":null,"cost":{}}}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestEncodeRefuses(t *testing.T) {
	good := samples()[1]
	for name, change := range map[string]func(*Event){
		"no payload":       func(e *Event) { e.Body = nil },
		"sequence 0":       func(e *Event) { e.Seq = 0 },
		"no prev":          func(e *Event) { e.Prev = artifact.Digest{} },
		"bad id":           func(e *Event) { e.Exec = "a b" },
		"no id":            func(e *Event) { e.Exec = "" },
		"node, no visit":   func(e *Event) { e.Visit = 0 },
		"visit, no node":   func(e *Event) { e.Node = "" },
		"negative time":    func(e *Event) { e.AtMS = -1 },
		"not UTF-8":        func(e *Event) { e.Body = &EffectUnknown{Key: "\xff"} },
		"long text":        func(e *Event) { e.Body = &EffectUnknown{Key: strings.Repeat("x", MaxText+1)} },
		"missing digest":   func(e *Event) { e.Body = &StatePatched{Patch: JSON("1")} },
		"patch not JSON":   func(e *Event) { e.Body = &StatePatched{Patch: JSON("{"), State: digestOf("s")} },
		"patch not sorted": func(e *Event) { e.Body = &StatePatched{Patch: JSON(`{"b":1,"a":1}`), State: digestOf("s")} },
		"patch and more":   func(e *Event) { e.Body = &StatePatched{Patch: JSON("1 "), State: digestOf("s")} },
		"unknown outcome":  func(e *Event) { e.Body = &Routed{Outcome: "jump", To: "n"} },
		"unsalted": func(e *Event) {
			e.Body = &EffectSettled{Result: NewRecorded("json", AccessRestricted, nil), Source: SourcePort}
		},
		"salted but public": func(e *Event) {
			r := Salt{1}.Recorded("", nil)
			r.Access = "public"
			e.Body = &EffectSettled{Result: r, Source: SourcePort}
		},
		"long list": func(e *Event) {
			e.Body = &Checkpointed{Checkpoint: digestOf(""), State: digestOf(""), Pending: make([]string, MaxItems+1)}
		},
		"too large": func(e *Event) {
			e.Body = &StatePatched{Patch: JSON(`"` + strings.Repeat("x", MaxBytes) + `"`), State: digestOf("s")}
		},
		"nobody approves":   func(e *Event) { p := *samples()[11].Body.(*ApprovalStaged); p.Need = 0; e.Body = &p },
		"unproven approval": func(e *Event) { e.Body = &EffectAuthorized{Decision: DecisionApproved} },
	} {
		e := good
		change(&e)
		if data, err := Encode(e); err == nil {
			t.Errorf("%s: encoded as %.200s", name, data)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	good, err := Encode(samples()[3])
	if err != nil {
		t.Fatal(err)
	}
	text := string(good)
	swap := func(old, new string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("%q is not in %s", old, text)
		}
		return strings.Replace(text, old, new, 1)
	}
	for name, data := range map[string]string{
		"empty":             "",
		"null":              "null",
		"cut":               text[:len(text)-1],
		"text after":        text + "\n",
		"text before":       " " + text,
		"white space":       swap(`"seq":`, `"seq": `),
		"unknown member":    swap(`"body"`, `"extra":1,"body"`),
		"unknown in body":   swap(`"body":{`, `"body":{"extra":1,`),
		"member missing":    swap(`"visit":2,`, ``),
		"members swapped":   swap(`"visit":2,"attempt":3`, `"attempt":3,"visit":2`),
		"duplicate":         swap(`"visit":2`, `"visit":2,"visit":2`),
		"version 1":         swap(`"v":2`, `"v":1`),
		"version 3":         swap(`"v":2`, `"v":3`),
		"string for number": swap(`"visit":2`, `"visit":"2"`),
		"float":             swap(`"visit":2`, `"visit":2.0`),
		"leading zero":      swap(`"visit":2`, `"visit":02`),
		"negative":          swap(`"at_ms":3000`, `"at_ms":-1`),
		"beyond 32 bits":    swap(`"visit":2`, `"visit":4294967296`),
		"beyond 64 bits":    swap(`"tokens":2`, `"tokens":18446744073709551616`),
		"type unknown":      swap(`"type":"routed"`, `"type":"jumped"`),
		"other type":        swap(`"type":"routed"`, `"type":"started"`),
		"null for text":     swap(`"outcome":"route"`, `"outcome":null`),
		"upper-case hex":    strings.Replace(text, "sha256:", "sha256:A", 1),
		"escaped slash":     swap(`slash /`, `slash \/`),
		"escaped letter":    swap(`quote`, `\u0071uote`),
		"long escape":       swap(`tab\t`, `tab\u0009`),
		"upper-case escape": swap(`nul\u0000`, `nul\u000A`),
		"raw control":       swap(`tab\t`, "tab\t"),
		"not UTF-8":         swap(`ü`, "\xfc"),
		"surrogate":         swap(`ü`, `\ud800`),
		"money unsorted":    swap(`{"EUR":6,"USD":5}`, `{"USD":5,"EUR":6}`),
		"money twice":       swap(`{"EUR":6,"USD":5}`, `{"EUR":6,"EUR":6}`),
		"usage of nothing":  swap(`{"calls":1,"tokens":2,"units":3,"duration_ms":4,"cost":{"EUR":6,"USD":5}}`, `{"calls":0,"tokens":0,"units":0,"duration_ms":0,"cost":{}}`),
	} {
		e, err := Decode([]byte(data))
		var format *FormatError
		if !errors.As(err, &format) {
			t.Errorf("%s: got %v, %v", name, e, err)
			continue
		}
		if strings.Contains(err.Error(), "quote") {
			t.Errorf("%s: the error quotes content: %v", name, err)
		}
	}
}

// TestDecodeEveryByte changes each byte of each sample: whatever is still read
// is written as the same bytes.
func TestDecodeEveryByte(t *testing.T) {
	for _, e := range samples() {
		data, err := Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		for i := range data {
			for _, flip := range []byte{1, 2, 0x20, 0x80} {
				changed := bytes.Clone(data)
				changed[i] ^= flip
				checkFixedPoint(t, changed)
			}
		}
	}
}

func checkFixedPoint(t *testing.T, data []byte) {
	t.Helper()
	e, err := Decode(data)
	if err != nil {
		return
	}
	again, err := Encode(e)
	if err != nil {
		t.Fatalf("read but not written: %v\n%s", err, data)
	}
	if !bytes.Equal(again, data) {
		t.Fatalf("read  %s\nwrote %s", data, again)
	}
}

func FuzzDecode(f *testing.F) {
	for _, e := range append(samples(), empties()...) {
		data, err := Encode(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkFixedPoint(t, data)
		e, err := Decode(data)
		r, readErr := Read(data)
		if err == nil && (readErr != nil || r.Header != e.Header) {
			t.Fatalf("Decode and Read disagree about the header of %s", data)
		}
		if err == nil && e.Type != e.Body.Type() {
			t.Fatalf("type %s with the body of %s", e.Type, e.Body.Type())
		}
	})
}

// FuzzCanonicalJSON compares the scanner with the canonical form that is built
// from a parsed value.
func FuzzCanonicalJSON(f *testing.F) {
	for _, s := range []string{
		`{"":1,"a":{"b":[1,2]},"é":null}`, `1.5e16`, `-0.0`, `-0`, `1e400`, `18446744073709551615`, `18446744073709551616`, `-9223372036854775808`,
		`{"a":1,"a":2}`, `"\u0000\b\t\n\f\r\"\\"`, `"\u2028"`, `[[[]]]`, `{"\n":1,"a":1}`, `1.0`, `100000.0`, `0.00001`, `1e-7`, `01`, `-`, `1.`,
		strings.Repeat("[", 127) + strings.Repeat("]", 127), strings.Repeat("[", 128) + strings.Repeat("]", 128),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, problem := canonicalValue(data, 0)
		got := problem == "" && n == len(data)
		v, err := artifact.ParseValue(data)
		want := false
		if err == nil {
			canonical, err := artifact.CanonicalRuntime(v)
			want = err == nil && bytes.Equal(canonical, data)
		}
		if got != want {
			t.Fatalf("%q: scanner says %t (%s), canonical form says %t", data, got, problem, want)
		}
	})
}

func TestChain(t *testing.T) {
	for _, bad := range []Head{{}, {Exec: "a b"}, {Exec: "a", Seq: 1}, {Exec: "a", Digest: digestOf("x")}} {
		if _, err := NewChain(bad); err == nil {
			t.Errorf("%+v: accepted", bad)
		}
	}
	records := aRun(t)
	for i, r := range records {
		if r.Seq != uint64(i+1) || r.Exec != "run" || i > 0 && r.Prev != records[i-1].Digest || r.Digest != artifact.Sum(r.Bytes) {
			t.Errorf("record %d: %+v", i, r.Header)
		}
	}
	half := records[10]
	chain, err := NewChain(Head{Exec: "run", Seq: half.Seq, Digest: half.Digest})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chain.Append(Event{Body: &Routed{}}); err == nil {
		t.Error("appended an invalid event")
	}
	next, err := records[11].Decode()
	if err != nil {
		t.Fatal(err)
	}
	r, err := chain.Append(next)
	if err != nil || r.Digest != records[11].Digest {
		t.Errorf("continuing a chain gives other bytes (%v)", err)
	}
	last, _ := records[len(records)-1].Decode()
	if _, err := chain.Append(last); err != nil {
		t.Fatal(err)
	}
	if _, err := chain.Append(next); err == nil {
		t.Error("appended after the end")
	}
}
