package event

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
)

func parse(t *testing.T, text string) artifact.Value {
	t.Helper()
	v, err := artifact.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func redactor(t *testing.T, pointers ...string) *Redactor {
	t.Helper()
	r, err := NewRedactor(Salt{1, 2, 3}, pointers)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRedact(t *testing.T) {
	const mark = `{"redacted":"sha256:`
	for _, c := range []struct {
		pointers, in, want string // ◆ stands for a placeholder
	}{
		{"args:/a", `{"a":"secret","b":1}`, `{"a":◆,"b":1}`},
		{"args:/a", `{"b":1}`, `{"b":1}`},
		{"args:/a/b", `{"a":{"b":null,"c":2}}`, `{"a":{"b":◆,"c":2}}`},
		{"args:/a/1", `{"a":[0,[1],2]}`, `{"a":[0,◆,2]}`},
		{"args:/a/01", `{"a":[0,1]}`, `{"a":[0,1]}`},
		{"args:/a/-", `{"a":[0]}`, `{"a":[0]}`},
		{"args:/a~1b/~0", `{"a/b":{"~":7}}`, `{"a/b":{"~":◆}}`},
		{"args:", `{"a":1}`, `◆`},
		{"args:/a args:/a/b", `{"a":{"b":1}}`, `{"a":◆}`},
		{"result:/a", `{"a":1}`, `{"a":1}`},
		{"args:/", `{"":1,"a":2}`, `{"":◆,"a":2}`},
	} {
		r := redactor(t, strings.Fields(c.pointers)...)
		got, changed, err := r.Redact(ScopeArgs, parse(t, c.in))
		if err != nil {
			t.Fatal(err)
		}
		text := got.String()
		for {
			at := strings.Index(text, mark)
			if at < 0 {
				break
			}
			text = text[:at] + "◆" + text[at+len(mark)+64+len(`"}`):]
		}
		if text != c.want || changed != strings.Contains(c.want, "◆") {
			t.Errorf("%s of %s: got %s (%t), want %s", c.pointers, c.in, text, changed, c.want)
		}
	}
}

func TestRedactorRefuses(t *testing.T) {
	for _, p := range []string{"", "/a", "args", "args:a", "env:/a", "args:/~2", "args:/a~", "Args:/a"} {
		if _, err := NewRedactor(Salt{1}, []string{p}); err == nil {
			t.Errorf("%q is accepted", p)
		}
	}
	if _, err := NewRedactor(Salt{}, nil); err == nil {
		t.Error("a zero salt is accepted")
	}
}

// TestSecretIsNowhere sends a secret through everything that can become bytes of
// an event: arguments under a pointer, a result and an error that echo it.
func TestSecretIsNowhere(t *testing.T) {
	const secret = `hunter2 "quoted" ü`
	r := redactor(t, "args:/token", "result:/session/id", "args:/pin")
	args := parse(t, `{"pin":123456,"token":`+string(artifact.AppendString(nil, secret))+`,"url":"x"}`)
	argsRec, argsKept, err := r.Document(ScopeArgs, "json", "public", args)
	if err != nil {
		t.Fatal(err)
	}
	echo := artifact.ObjectValue(
		artifact.Member{Name: "said " + secret, Value: artifact.ArrayValue(artifact.StringValue("got "+secret), artifact.UintValue(123456))},
		artifact.Member{Name: "session", Value: parse(t, `{"id":{"deep":["session-key"]}}`)},
		artifact.Member{Name: "twice", Value: artifact.StringValue("session-key")},
	)
	resultRec, resultKept, err := r.Document(ScopeResult, "json", AccessRestricted, echo)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := NewChain(Head{Exec: "run"})
	if err != nil {
		t.Fatal(err)
	}
	stored := slices.Concat(argsKept, resultKept)
	for _, p := range []Payload{
		&Started{Definition: samples()[0].Body.(*Started).Definition, State: digestOf("s"), Method: MethodSystem},
		&EffectRequested{Key: "k", Port: "http", Name: "get", Args: argsRec},
		&EffectFailed{Key: "k", Class: "host_error", Error: r.Text("cannot use " + secret + " for session-key"), Source: SourcePort},
		&EffectSettled{Key: "k", Result: resultRec, Source: SourcePort},
	} {
		record, err := chain.Append(Event{Body: p})
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, record.Bytes...)
	}
	for _, s := range []string{secret, "hunter2", "session-key", "123456"} {
		if bytes.Contains(stored, []byte(s)) {
			t.Errorf("%q is in the stored bytes:\n%s", s, stored)
		}
	}
	if !argsRec.Redacted || !resultRec.Redacted || !argsRec.Salt.IsZero() || resultRec.Salt.IsZero() {
		t.Errorf("args %+v, result %+v", argsRec, resultRec)
	}
	if argsRec.Digest != artifact.Sum(argsKept) || resultRec.Digest != (Salt{1, 2, 3}).Digest(resultKept) {
		t.Error("the digests are not those of the kept bytes")
	}
	// Nobody without the salt finds a digest of what was taken out.
	for _, guess := range []string{
		secret, string(artifact.AppendString(nil, secret)), "123456", `"session-key"`, "session-key", `{"deep":["session-key"]}`,
	} {
		if d := artifact.Sum([]byte(guess)); bytes.Contains(stored, []byte(d.Hex())) {
			t.Errorf("the plain digest of %q is stored", guess)
		}
		if d := (Salt{9}).Digest([]byte(guess)); bytes.Contains(stored, []byte(d.Hex())) {
			t.Errorf("%q is found under another salt", guess)
		}
	}
	// Whoever has the salt can prove what was there.
	if d := (Salt{1, 2, 3}).Digest([]byte("123456")); !bytes.Contains(stored, []byte(d.Hex())) {
		t.Error("the salt does not prove the redacted value")
	}
}

func TestRedactorLeavesTheRest(t *testing.T) {
	r := redactor(t, "args:/a")
	if _, _, err := r.Redact(ScopeArgs, parse(t, `{"a":"abc"}`)); err != nil {
		t.Fatal(err)
	}
	if got := r.Text("abcdef abc"); got != "abcdef abc" {
		t.Errorf("a secret too short to be told from chance was replaced: %q", got)
	}
	rec, kept, err := r.Document(ScopeResult, "json", "public", parse(t, `{"b":1.50,"a":2}`))
	if err != nil || string(kept) != `{"a":2,"b":1.5}` || rec.Redacted || rec.hidden() || rec.Size != uint64(len(kept)) {
		t.Errorf("got %s, %+v, %v", kept, rec, err)
	}
}
