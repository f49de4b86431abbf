package keys

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

const statementType = "application/vnd.example+json"

func testKey(b byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, ed25519.SeedSize))
}

func public(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

func TestPreAuthentication(t *testing.T) {
	// The example of the DSSE protocol description.
	const want = "DSSEv1 29 http://example.com/HelloWorld 11 hello world"
	if got := preAuthentication("http://example.com/HelloWorld", []byte("hello world")); string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSealOpen(t *testing.T) {
	a, b, c := testKey(1), testKey(2), testKey(3)
	data, err := Seal(statementType, []byte(`{"x":1}`), a, b)
	if err != nil {
		t.Fatal(err)
	}
	payload, by, err := Open(data, statementType, public(c), public(b), public(a))
	if err != nil {
		t.Fatal(err)
	}
	if string(payload) != `{"x":1}` || len(by) != 2 || by[0] != ID(public(b)) || by[1] != ID(public(a)) {
		t.Errorf("got %q signed by %q", payload, by)
	}
	if _, _, err := Open(data, statementType, public(c)); !errors.Is(err, ErrUnverified) {
		t.Errorf("key that did not sign: %v", err)
	}
	if _, _, err := Open(data, "application/other", public(a)); !errors.Is(err, ErrPayloadType) {
		t.Errorf("other payload type: %v", err)
	}
	if _, err := Seal(statementType, nil); err == nil {
		t.Error("sealed without a signer")
	}
}

// TestOpenRefusesEveryChange changes each byte of an envelope: what opens must
// still be the sealed payload.
func TestOpenRefusesEveryChange(t *testing.T) {
	key := testKey(1)
	data, err := Seal(statementType, []byte("statement"), key)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		for _, flip := range []byte{1, 0x20, 0x80} {
			changed := bytes.Clone(data)
			changed[i] ^= flip
			payload, _, err := Open(changed, statementType, public(key))
			if err == nil && string(payload) != "statement" {
				t.Fatalf("byte %d changed: opened as %q", i, payload)
			}
		}
	}
}

func TestOpenRefusesBadEnvelopes(t *testing.T) {
	key := testKey(1)
	good, err := Seal(statementType, []byte("s"), key)
	if err != nil {
		t.Fatal(err)
	}
	var e map[string]any
	if err := json.Unmarshal(good, &e); err != nil {
		t.Fatal(err)
	}
	with := func(name string, v any) []byte {
		copied := map[string]any{}
		for k, old := range e {
			copied[k] = old
		}
		copied[name] = v
		data, _ := json.Marshal(copied)
		return data
	}
	for name, data := range map[string][]byte{
		"empty":               nil,
		"not JSON":            []byte("DSSEv1"),
		"no signatures":       with("signatures", []any{}),
		"too many signatures": with("signatures", make([]struct{}, MaxSignatures+1)),
		"payload not base64":  with("payload", "?"),
		"loose base64":        with("payload", "c3=="), // its last bits are not zero
		"too long":            append(bytes.Repeat([]byte(" "), MaxEnvelope), good...),
		"duplicate member":    []byte(strings.Replace(string(good), "{", `{"payload":"cw==",`, 1)),
	} {
		if _, _, err := Open(data, statementType, public(key)); !errors.Is(err, ErrEnvelope) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	extra := with("extension", 1)
	if _, _, err := Open(extra, statementType, public(key)); err != nil {
		t.Errorf("a further member is allowed: %v", err)
	}
	urlPayload := base64.URLEncoding.EncodeToString([]byte{0xff, 0xfe})
	data, _ := Seal(statementType, []byte{0xff, 0xfe}, key)
	data = bytes.Replace(data, []byte(base64.StdEncoding.EncodeToString([]byte{0xff, 0xfe})), []byte(urlPayload), 1)
	if _, _, err := Open(data, statementType, public(key)); err != nil {
		t.Errorf("URL alphabet: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	key := testKey(1)
	good, err := Seal(statementType, []byte("s"), key)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"payloadType":"","payload":"","signatures":[{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		payload, by, err := Open(data, statementType, public(key))
		if err == nil && (string(payload) != "s" || len(by) != 1) {
			t.Fatalf("opened %q signed by %q without the key", payload, by)
		}
	})
}
