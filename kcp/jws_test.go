package kcp

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/writ-dev/writ/artifact"
)

// detached signs with another implementation.
func detached(t *testing.T, private ed25519.PrivateKey, text, kid string) string {
	t.Helper()
	o := &jose.SignerOptions{}
	if kid != "" {
		o = o.WithHeader("kid", kid)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: private}, o)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	compact, err := signed.DetachedCompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return compact
}

func TestVerifyJWS(t *testing.T) {
	seed := make([]byte, ed25519.SeedSize)
	private := ed25519.NewKeyFromSeed(seed)
	key := base64.StdEncoding.EncodeToString(private.Public().(ed25519.PublicKey))
	jwk, err := (jose.JSONWebKey{Key: private.Public(), KeyID: "k1"}).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	const text = "project: p\n"
	good := detached(t, private, text, "")
	named := detached(t, private, text, "k1")
	stranger := detached(t, ed25519.NewKeyFromSeed([]byte(strings.Repeat("s", 32))), text, "k1")
	header := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256"}`))
	files := map[string]string{"k.jws": named, "set.json": `{"keys":[` + string(jwk) + `]}`, "other.json": strings.Replace(string(jwk), "k1", "k2", 1),
		"k.json": `{"protected":"` + strings.Replace(named, "..", `","signature":"`, 1) + `"}`}
	load := func(name string) ([]byte, error) {
		if data, ok := files[name]; ok {
			return []byte(data), nil
		}
		return nil, errors.New("no such file")
	}
	signing := func(signature, key string) *Signing {
		s := &Signing{Signature: artifact.Some(signature), KeyID: artifact.Some("label")}
		if key != "" {
			s.PublicKey = artifact.Some(key)
		}
		return s
	}
	const declared, pinned = "ed25519 signature verified (declared key)", "ed25519 signature verified (pinned key)"
	for name, c := range map[string]struct {
		text   string
		s      *Signing
		o      VerifyOptions
		status SignatureStatus
		detail string
		keyID  string
	}{
		"inline":               {text, signing(good, key), VerifyOptions{}, Verified, declared, "label"},
		"file":                 {text, signing("k.jws", key), VerifyOptions{}, Verified, declared, "k1"},
		"JSON file":            {text, signing("k.json", key), VerifyOptions{}, Verified, declared, "k1"},
		"no final line feed":   {"project: p", signing(good, key), VerifyOptions{}, Verified, declared, "label"},
		"pinned":               {text, signing(good, ""), VerifyOptions{TrustedKey: key}, Verified, pinned, "label"},
		"pinned set":           {text, signing(named, ""), VerifyOptions{TrustedKey: "set.json"}, Verified, pinned, "k1"},
		"declared set":         {text, signing(named, "set.json"), VerifyOptions{}, Verified, declared, "k1"},
		"verification URL":     {text, signing(named, ""), VerifyOptions{JWSKey: "set.json"}, Verified, declared, "k1"},
		"declared key first":   {text, signing(named, key), VerifyOptions{JWSKey: "missing"}, Verified, declared, "k1"},
		"set without that key": {text, signing(named, "other.json"), VerifyOptions{}, Unverifiable, "cannot import public key: unrecognized public key encoding", "k1"},
		"no key":               {text, signing(good, ""), VerifyOptions{}, Unverifiable, "no public key available", "label"},
		"key missing":          {text, signing(good, ""), VerifyOptions{JWSKey: "missing"}, Unverifiable, "cannot load public key: no such file", "label"},
		"changed":              {text + "#", signing(good, key), VerifyOptions{}, Invalid, detailMismatch, "label"},
		"CRLF":                 {"project: p\r\n", signing(good, key), VerifyOptions{}, Invalid, detailMismatch, "label"},
		"stranger":             {text, signing(stranger, key), VerifyOptions{}, Invalid, detailMismatch, "k1"},
		"pin against declared": {text, signing(stranger, key), VerifyOptions{TrustedKey: key}, Invalid, detailMismatch, "k1"},
		"HMAC":                 {text, signing(header+".."+strings.Repeat("A", 86), key), VerifyOptions{}, Unverifiable, "unsupported signature algorithm 'HS256'", "label"},
		"short":                {text, signing(good[:len(good)-2], key), VerifyOptions{}, Invalid, detailLength, "label"},
		"damaged":              {text, signing(good[:len(good)-1], key), VerifyOptions{}, Unverifiable, "not a detached JWS", "label"},
	} {
		c.o.Load, c.o.LoadTrusted = load, load
		got := Verify([]byte(c.text), c.s, c.o)
		if got.Status != c.status || got.Detail != c.detail || got.KeyID != c.keyID {
			t.Errorf("%s: %+v, want %s %q %q", name, got, c.status, c.detail, c.keyID)
		}
	}
}
