package keys

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

// jws signs with another implementation.
func jws(t *testing.T, key ed25519.PrivateKey, payload string, o *jose.SignerOptions) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: key}, o)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.DetachedCompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func options(pairs ...any) *jose.SignerOptions {
	o := &jose.SignerOptions{}
	for i := 0; i < len(pairs); i += 2 {
		o = o.WithHeader(jose.HeaderKey(pairs[i].(string)), pairs[i+1])
	}
	return o
}

const manifestText = "project: p\nunits: []\n"

func TestDetachedJWS(t *testing.T) {
	key, other := testKey(1), testKey(2)
	for name, o := range map[string]*jose.SignerOptions{
		"plain":     nil,
		"kid":       options("kid", "k1"),
		"typed":     options("typ", "JOSE", "cty", "yaml"),
		"unencoded": options().WithBase64(false),
		"encoded":   options().WithBase64(true),
	} {
		text := jws(t, key, manifestText, o)
		if !IsDetachedJWS(text) || !IsDetachedJWS(" "+text+"\n") {
			t.Errorf("%s: not recognised: %s", name, text)
		}
		header, signature, _ := strings.Cut(text, "..")
		for _, form := range []string{text, text + "\n", `{"protected":"` + header + `","signature":"` + signature + `","header":{}}`} {
			j, err := ParseDetachedJWS(form)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if !j.Verify(public(key), []byte(manifestText)) || j.Verify(public(other), []byte(manifestText)) || j.Verify(public(key), []byte(manifestText+"#")) || j.Verify(nil, nil) {
				t.Errorf("%s: wrong verdict", name)
			}
			if j.HasKeyID() != (name == "kid") || name == "kid" && j.KeyID != "k1" {
				t.Errorf("%s: kid %q", name, j.KeyID)
			}
		}
	}
}

// TestJWSRefusesEveryChange changes each byte: header and signature are covered.
func TestJWSRefusesEveryChange(t *testing.T) {
	key := testKey(1)
	text := jws(t, key, manifestText, options("kid", "k1"))
	for i := range text {
		for _, flip := range []byte{1, 2, 0x20} {
			changed := []byte(text)
			changed[i] ^= flip
			if j, err := ParseDetachedJWS(string(changed)); err == nil && j.Verify(public(key), []byte(manifestText)) {
				t.Errorf("byte %d changed and accepted: %s", i, changed)
			}
		}
	}
}

func TestBadJWS(t *testing.T) {
	key := testKey(1)
	encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	signed := func(header string) string {
		h := encode(header)
		message := h + "." + encode(manifestText)
		return h + ".." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, []byte(message)))
	}
	good := signed(`{"alg":"EdDSA"}`)
	if j, err := ParseDetachedJWS(good); err != nil || !j.Verify(public(key), []byte(manifestText)) {
		t.Fatal(err)
	}
	if _, err := ParseDetachedJWS(signed(`{"alg":"Ed25519"}`)); err != nil {
		t.Errorf("RFC 9864: %v", err)
	}
	header, signature, _ := strings.Cut(good, "..")
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"empty":            {"", ErrJWS},
		"no algorithm":     {signed(`{}`), ErrJWS},
		"none":             {signed(`{"alg":"none"}`), ErrJWSAlgorithm},
		"HMAC":             {signed(`{"alg":"HS256"}`), ErrJWSAlgorithm},
		"lower case":       {signed(`{"alg":"eddsa"}`), ErrJWSAlgorithm},
		"Ed448":            {signed(`{"alg":"Ed448"}`), ErrJWSAlgorithm},
		"algorithm a list": {signed(`{"alg":["EdDSA"]}`), ErrJWS},
		"twice":            {signed(`{"alg":"none","alg":"EdDSA"}`), ErrJWS},
		"no object":        {signed(`[]`), ErrJWS},
		"no JSON":          {signed(`alg`), ErrJWS},
		"kid a number":     {signed(`{"alg":"EdDSA","kid":1}`), ErrJWS},
		"unknown critical": {signed(`{"alg":"EdDSA","crit":["exp"],"exp":1}`), ErrJWSCritical},
		"two critical":     {signed(`{"alg":"EdDSA","crit":["b64","exp"],"b64":true,"exp":1}`), ErrJWSCritical},
		"no critical":      {signed(`{"alg":"EdDSA","crit":[]}`), ErrJWSCritical},
		"critical absent":  {signed(`{"alg":"EdDSA","crit":["b64"]}`), ErrJWSCritical},
		"b64 not critical": {signed(`{"alg":"EdDSA","b64":false}`), ErrJWSCritical},
		"b64 a text":       {signed(`{"alg":"EdDSA","crit":["b64"],"b64":"false"}`), ErrJWS},
		"with a payload":   {header + "." + encode(manifestText) + "." + signature, ErrJWS},
		"one dot":          {header + "." + signature, ErrJWS},
		"short":            {header + ".." + signature[:80], ErrLength},
		"padded":           {header + ".." + signature + "=", ErrJWS},
		"JSON payload":     {`{"protected":"` + header + `","payload":"","signature":"` + signature + `"}`, ErrJWS},
		"JSON, general":    {`{"signatures":[{"protected":"` + header + `","signature":"` + signature + `"}]}`, ErrJWS},
		"JSON, twice":      {`{"protected":"` + header + `","signature":"x","signature":"` + signature + `"}`, ErrJWS},
		"too long":         {strings.Repeat("A", maxJWS) + "..AA", ErrJWS},
	} {
		if j, err := ParseDetachedJWS(c.text); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v, want %v", name, j, err, c.want)
		}
	}
	// Keys in the header do not vouch.
	inHeader := jws(t, key, manifestText, &jose.SignerOptions{EmbedJWK: true})
	if j, err := ParseDetachedJWS(inHeader); err != nil || j.Verify(public(testKey(2)), []byte(manifestText)) {
		t.Error(err)
	}
	small := ed25519.PublicKey(bytes.Repeat([]byte{0}, 32))
	if j, _ := ParseDetachedJWS(good); j.Verify(small, []byte(manifestText)) {
		t.Error("a key of small order verifies")
	}
	for _, text := range []string{"", "..", "a..", "..a", "a.b.c", "a...b", "keys/k.sig", "../k.sig", "a/..b", "https://x..y", "a b..c", "a+..b", "k..sig", "aa..bb"} {
		if IsDetachedJWS(text) {
			t.Errorf("%q has the form of a JWS", text)
		}
	}
}

func TestParseJWK(t *testing.T) {
	key := public(testKey(1))
	jwk := func(kid string, key ed25519.PublicKey) string {
		data, err := (jose.JSONWebKey{Key: key, KeyID: kid, Algorithm: "EdDSA", Use: "sig"}).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	one, two := jwk("a", key), jwk("b", public(testKey(2)))
	const rsa = `{"kty":"RSA","n":"AQAB","e":"AQAB","kid":"a"}`
	for name, c := range map[string]struct {
		text, id string
		ok       bool
	}{
		"one":            {one, "", true},
		"one by id":      {one, "a", true},
		"one, other id":  {one, "b", false},
		"set":            {`{"keys":[` + rsa + "," + one + "," + two + `]}`, "a", true},
		"set, no id":     {`{"keys":[` + one + "," + two + `]}`, "", false},
		"set of one":     {`{"keys":[` + rsa + "," + one + `]}`, "", true},
		"same id twice":  {`{"keys":[` + one + "," + one + `]}`, "a", false},
		"empty set":      {`{"keys":[]}`, "", false},
		"other kind":     {rsa, "", false},
		"for encryption": {strings.Replace(one, `"sig"`, `"enc"`, 1), "", false},
		"X25519":         {strings.Replace(one, "Ed25519", "X25519", 1), "", false},
		"short":          {`{"kty":"OKP","crv":"Ed25519","x":"AAAA"}`, "", false},
		"small order":    {`{"kty":"OKP","crv":"Ed25519","x":"` + base64.RawURLEncoding.EncodeToString(make([]byte, 32)) + `"}`, "", false},
		"no x":           {`{"kty":"OKP","crv":"Ed25519"}`, "", false},
		"not JSON":       {"AAAA", "", false},
		"twice":          {`{"kty":"OKP","kty":"OKP"}`, "", false},
		"a list":         {"[" + one + "]", "", false},
	} {
		got, err := ParseJWK(c.text, c.id)
		if (err == nil) != c.ok || c.ok && !got.Equal(key) {
			t.Errorf("%s: %x, %v", name, got, err)
		}
	}
}

func FuzzDetachedJWS(f *testing.F) {
	f.Add("eyJhbGciOiJFZERTQSJ9..AAAA")
	f.Add(`{"protected":"eyJhbGciOiJFZERTQSJ9","signature":"AAAA"}`)
	key := public(testKey(1))
	f.Fuzz(func(t *testing.T, text string) {
		j, err := ParseDetachedJWS(text)
		if err == nil && j.Verify(key, []byte(manifestText)) {
			t.Errorf("%q verifies without the key", text)
		}
		_, _ = ParseJWK(text, "")
		_ = IsDetachedJWS(text)
	})
}
