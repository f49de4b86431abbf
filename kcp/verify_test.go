package kcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

type verifyRecord struct {
	Name, Text, Source string

	Signing *struct {
		Scheme    *string `json:"scheme"`
		PublicKey *string `json:"public_key"`
		Signature *string `json:"signature"`
		KeyID     *string `json:"key_id"`
	}
	Options struct {
		Files      map[string]string
		TrustedKey string
	}
	Result Signature
}

func (r *verifyRecord) signing() *Signing {
	if r.Signing == nil {
		return nil
	}
	text := func(s *string) String {
		if s == nil {
			return String{}
		}
		return String{Value: *s, Set: true}
	}
	return &Signing{
		Scheme:    text(r.Signing.Scheme),
		PublicKey: text(r.Signing.PublicKey),
		Signature: text(r.Signing.Signature),
		KeyID:     text(r.Signing.KeyID),
	}
}

// options lets Verify read the record's files, the manifest's relative to it.
func (r *verifyRecord) options() VerifyOptions {
	read := func(location string) ([]byte, error) {
		if text, ok := r.Options.Files[location]; ok {
			return []byte(text), nil
		}
		return nil, fmt.Errorf("not found: %s", location)
	}
	return VerifyOptions{
		TrustedKey:  r.Options.TrustedKey,
		Load:        func(location string) ([]byte, error) { return read(ResolveLocation(r.Source, location)) },
		LoadTrusted: read,
	}
}

func TestVerifyMatchesReference(t *testing.T) {
	// A key that comes with the signature vouches for nothing, and an unreadable
	// declared key is not replaced by it.
	deviations := map[string]Signature{
		"envelope-key": {Unverifiable, detailSelfAttested, "M"},
		"key-fallback": {Unverifiable, "cannot load public key: not found: dir/gone.pem", ""},
	}
	// After these the reference shows a text of its platform.
	const platform = "cannot import public key: "
	matched, deviated := 0, 0
	for _, r := range records[verifyRecord](t, "vectors", "differential", "verify.jsonl") {
		want := r.Result
		if d, ok := deviations[r.Name]; ok {
			want = d
			deviated++
		} else {
			matched++
		}
		got := Verify([]byte(r.Text), r.signing(), r.options())
		if strings.HasPrefix(want.Detail, platform) && strings.HasPrefix(got.Detail, platform) {
			got.Detail = want.Detail
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", r.Name, got, want)
		}
	}
	t.Logf("verify.jsonl: %d matched, %d deviated by name", matched, deviated)
}

// The material of the record "envelope-key" of verify.jsonl.
const (
	signedText = "project: x\nversion: 1\n"
	signature  = "LSAtdsSCP5emLdcGOA3xQwD1+af//wgWB8Aym0QO0ea6nC9VajWw57VKZI6/AGFlA8LxF9xtDIUnpdoqX3gNAQ=="
	publicKey  = "MCowBQYDK2VwAyEAjQ7vY3XkJbDDWBo0beLiETfE2y03pOJHp3j4wgy49UA="
	otherKey   = "MCowBQYDK2VwAyEA5ex6YTMLG9TWSPgS/P/OtOrpHJplPrRqWfbi4iQzjAY="
	smallKey   = "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"
)

func text(s string) String { return String{Value: s, Set: true} }

// withEnvelope lets Verify load one signature file and nothing else.
func withEnvelope(envelope string) VerifyOptions {
	return VerifyOptions{Load: func(location string) ([]byte, error) {
		if location == "k.sig" {
			return []byte(envelope), nil
		}
		return nil, fmt.Errorf("no such file")
	}}
}

func TestVerify(t *testing.T) {
	const self = `{"signature": "` + signature + `", "public_key": "` + publicKey + `"}`
	tests := []struct {
		name    string
		signing Signing
		options VerifyOptions
		status  SignatureStatus
		detail  string
	}{
		{"nothing can be loaded", Signing{Signature: text("k.sig")}, VerifyOptions{}, Unverifiable, "cannot load signature: " + errNoLoader.Error()},
		{"inline needs no loader", Signing{Signature: text(signature), PublicKey: text(publicKey)}, VerifyOptions{}, Verified, "ed25519 signature verified (declared key)"},
		{"self-attested", Signing{Signature: text("k.sig")}, withEnvelope(self), Unverifiable, detailSelfAttested},
		{"self-attested and wrong", Signing{Signature: text("k.sig")}, withEnvelope(strings.Replace(self, publicKey, otherKey, 1)), Invalid, detailMismatch},
		{"declared beats envelope", Signing{Signature: text("k.sig"), PublicKey: text(otherKey)}, withEnvelope(self), Invalid, detailMismatch},
		{"unreadable declared key", Signing{Signature: text("k.sig"), PublicKey: text("gone.pem")}, withEnvelope(self), Unverifiable, "cannot load public key: no such file"},
		{"empty declared key", Signing{Signature: text("k.sig"), PublicKey: text("")}, withEnvelope(self), Unverifiable, detailSelfAttested},
		{"small-order key", Signing{Signature: text(signature), PublicKey: text(smallKey)}, VerifyOptions{}, Unverifiable, "cannot import public key: ed25519 public key has small order"},
		{"folded PEM", Signing{Signature: text(signature), PublicKey: text("-----BEGIN PUBLIC KEY----- " + publicKey + " -----END PUBLIC KEY-----")}, VerifyOptions{}, Verified, "ed25519 signature verified (declared key)"},
		{"escaped line breaks", Signing{Signature: text(signature), PublicKey: text("-----BEGIN PUBLIC KEY-----\\n" + publicKey + "\\n-----END PUBLIC KEY-----")}, VerifyOptions{}, Unverifiable, "cannot import public key: unrecognized public key encoding"},
		{"base64url key", Signing{Signature: text(signature), PublicKey: text(strings.NewReplacer("+", "-", "/", "_").Replace("jQ7vY3XkJbDDWBo0beLiETfE2y03pOJHp3j4wgy49UA_"))}, VerifyOptions{}, Unverifiable, "cannot load public key: " + errNoLoader.Error()},
		{"envelope names one member twice", Signing{Signature: text("k.sig"), PublicKey: text(publicKey)}, withEnvelope(`{"signature": "", ` + self[1:]), Invalid, detailLength},
		{"scheme of another family", Signing{Scheme: text("ECDSA"), Signature: text(signature)}, VerifyOptions{}, Unverifiable, "unsupported signing scheme 'ECDSA'"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := Verify([]byte(signedText), &test.signing, test.options)
			if got.Status != test.status || got.Detail != test.detail {
				t.Errorf("got %+v, want %s: %s", got, test.status, test.detail)
			}
		})
	}
}

func TestVerifyPinNeverFallsBack(t *testing.T) {
	s := &Signing{Signature: text(signature), PublicKey: text(publicKey)}
	got := Verify([]byte(signedText), s, VerifyOptions{
		TrustedKey: "pin.pem",
		Load:       func(string) ([]byte, error) { return []byte(publicKey), nil },
	})
	if want := "cannot load public key: " + errNoLoader.Error(); got.Status != Unverifiable || got.Detail != want {
		t.Errorf("got %+v, want %s", got, want)
	}
}

func TestSignatureJSON(t *testing.T) {
	for want, s := range map[string]Signature{
		`{"status":"unsigned","detail":"manifest declares no signature"}`: Verify(nil, nil, VerifyOptions{}),
		`{"status":"verified","detail":"d","keyId":"k"}`:                  {Verified, "d", "k"},
	} {
		if got, err := json.Marshal(s); err != nil || string(got) != want {
			t.Errorf("got %s (%v), want %s", got, err, want)
		}
	}
}
