package load

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/writ-dev/writ/fetch"
	"github.com/writ-dev/writ/kcp"
)

// site is an HTTPS server on the loopback address with files that may change.
type site struct {
	*httptest.Server
	mu     sync.Mutex
	files  map[string]string // by path; "-> x" redirects to x
	traces []string
}

func newSite(t *testing.T, files map[string]string) (*site, Options) {
	t.Helper()
	s := &site{files: files}
	s.Server = httptest.NewTLSServer(s)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	client := fetch.New(fetch.Options{AllowPrivateHosts: true, RootCAs: pool})
	t.Cleanup(func() { client.Close(); s.Close() })
	return s, Options{Fetch: client}
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.traces = append(s.traces, r.URL.Path+" "+r.Header.Get("Traceparent"))
	body, ok := s.files[r.URL.Path]
	target, redirects := strings.CutPrefix(body, "-> ")
	switch {
	case !ok:
		http.NotFound(w, r)
	case redirects:
		w.Header().Set("Location", target)
		w.WriteHeader(http.StatusFound)
	default:
		w.Header().Set("Content-Type", "application/yaml")
		fmt.Fprint(w, body)
	}
}

func (s *site) put(path, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = body
}

func TestRemoteManifest(t *testing.T) {
	publisher, stranger := newSigner("publisher"), newSigner("stranger")
	text := signed("k.sig", "/keys/k.pub")
	s, o := newSite(t, map[string]string{
		"/docs/knowledge.yaml": text, "/docs/k.sig": publisher.sign(text), "/keys/k.pub": publisher.public,
		"/moved": "-> /docs/knowledge.yaml", "/page": "<!doctype html><title>Log in</title>", "/login": "-> /page", "/list": "- a\n", "/large": strings.Repeat("# x\n", 1000),
	})
	l := loaded(t, s.URL+"/docs/knowledge.yaml", o)
	if l.Signature.Status != kcp.Verified || l.Source != s.URL+"/docs/knowledge.yaml" || l.Manifest.Source != l.Source || !slices.Equal(l.Hops, []string{l.Source}) || !l.Trace.IsZero() {
		t.Errorf("%+v", l)
	}
	l = loaded(t, s.URL+"/moved", o)
	if l.Source != s.URL+"/docs/knowledge.yaml" || !slices.Equal(l.Hops, []string{s.URL + "/moved", l.Source}) || l.Signature.Status != kcp.Verified {
		t.Errorf("%+v", l)
	}
	for path, code := range map[string]fetch.Code{"/none": fetch.Status, "/page": fetch.HTML, "/login": fetch.HTML} {
		_, err := Manifest(t.Context(), s.URL+path, o)
		var refusal *fetch.Refusal
		if !errors.As(err, &refusal) || refusal.Code != code || refusal.Location != s.URL+path {
			t.Errorf("%s: %v", path, err)
		}
	}
	var syntax *kcp.SyntaxError
	if _, err := Manifest(t.Context(), s.URL+"/list", o); !errors.As(err, &syntax) || syntax.Source != s.URL+"/list" {
		t.Errorf("%v", err)
	}
	small := o
	small.MaxBytes = 100
	var refusal *fetch.Refusal
	if _, err := Manifest(t.Context(), s.URL+"/large", small); !errors.As(err, &refusal) || refusal.Code != fetch.TooLarge {
		t.Errorf("%v", err)
	}
	s.put("/docs/k.sig", stranger.sign(text))
	var invalid *Refusal
	if _, err := Manifest(t.Context(), s.URL+"/moved", o); !errors.As(err, &invalid) || invalid.Code != SignatureInvalid || invalid.Location != s.URL+"/docs/knowledge.yaml" {
		t.Errorf("%v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Manifest(ended, s.URL+"/moved", o); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	closed := Options{Fetch: fetch.New(fetch.Options{})}
	if _, err := Manifest(t.Context(), s.URL+"/moved", closed); !errors.As(err, &refusal) || refusal.Code != fetch.Private {
		t.Errorf("%v", err)
	}
}

// TestRemoteNamesNoFile lets a remote manifest name files of this machine.
func TestRemoteNamesNoFile(t *testing.T) {
	publisher := newSigner("publisher")
	tree(t, map[string]string{"k.sig": "x", "k.pub": publisher.public})
	s, o := newSite(t, map[string]string{})
	for _, location := range []string{"file:///etc/passwd", "/etc/passwd", "../../../../../etc/passwd", "k.sig", "./k.sig", "file:k.sig", "data:,x", `C:\k.sig`, `\\server\k.sig`} {
		text := signed(location, publisher.public)
		s.put("/knowledge.yaml", text)
		l := loaded(t, s.URL+"/knowledge.yaml", o)
		if l.Signature.Status != kcp.Unverifiable || !strings.HasPrefix(l.Signature.Detail, "cannot load signature: ") {
			t.Errorf("%s: %+v", location, l.Signature)
		}
	}
}

// TestLocalNamesURL lets a local manifest name a signature and a key on a server.
func TestLocalNamesURL(t *testing.T) {
	publisher := newSigner("publisher")
	s, o := newSite(t, map[string]string{})
	text := signed(s.URL+"/k.sig", s.URL+"/k.pub")
	s.put("/k.sig", publisher.sign(text))
	s.put("/k.pub", publisher.public)
	tree(t, map[string]string{"knowledge.yaml": text})
	if got := status(t, ".", o); got.Status != kcp.Verified {
		t.Errorf("%+v", got)
	}
	if got := status(t, ".", Options{}); got.Detail != "cannot load signature: "+s.URL+"/k.sig: "+problemRemote {
		t.Errorf("%+v", got)
	}
	o.TrustKey = s.URL + "/k.pub"
	if got := status(t, ".", o); got.Detail != "ed25519 signature verified (pinned key)" {
		t.Errorf("%+v", got)
	}
	o.TrustKey = s.URL + "/none"
	if got := status(t, ".", o); got.Status != kcp.Unverifiable || !strings.Contains(got.Detail, "404 Not Found") {
		t.Errorf("%+v", got)
	}
}

func TestRemoteUnits(t *testing.T) {
	const sum = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
	vouched := ", content_hash: {algorithm: sha256, value: " + sum + "}"
	paths := []string{"%2e%2e/secret", "..%2fsecret", "../secret", "/secret", "//127.0.0.1/secret", `..\secret`, "%252e%252e/secret", "https://x.test/", "a/%2e%2e/%2e%2e/secret", ".%2e/secret", "%5c..%5csecret"}
	blocks := []string{"id: a, path: sub/a.md", "id: q, path: 'a.md?x=1'", "id: gone, path: gone", "id: out, path: out", "id: far, path: far" + vouched, "id: wrong, path: sub/a.md" + vouched,
		"id: inside, path: inside", "id: page, path: page.html", "id: good, path: f" + vouched, "id: big, path: big"}
	for i, p := range paths {
		blocks = append(blocks, fmt.Sprintf("id: u%d, path: %s", i, yamlText(p)))
	}
	s, o := newSite(t, map[string]string{
		"/docs/knowledge.yaml": withUnits(blocks...), "/docs/sub/a.md": "A", "/docs/a.md": "Q", "/secret": "SECRET", "/docs/out": "-> /secret", "/docs/far": "-> /cdn/f", "/cdn/f": "hello\n",
		"/docs/inside": "-> sub/a.md", "/docs/page.html": "<!doctype html>", "/docs/f": "hello\n", "/docs/big": strings.Repeat("x", 5000),
	})
	o.MaxUnitBytes = 4096
	l := loaded(t, s.URL+"/docs/knowledge.yaml", o)
	for id, want := range map[string]string{"a": "A", "q": "Q", "far": "hello\n", "inside": "A", "page": "<!doctype html>", "good": "hello\n"} {
		if u, _ := unit(t, l, id, ""); string(u.Bytes) != want {
			t.Errorf("%s: %q", id, u.Bytes)
		}
	}
	for id, code := range map[string]fetch.Code{"gone": fetch.Status, "out": fetch.Outside, "wrong": fetch.HashMismatch, "big": fetch.TooLarge} {
		unit(t, l, id, code)
	}
	if _, refusal := unit(t, l, "gone", fetch.Status); refusal.Problem != "fetch failed: 404 Not Found" || refusal.Location != s.URL+"/docs/gone" {
		t.Errorf("%+v", refusal)
	}
	for i := range paths {
		unit(t, l, fmt.Sprintf("u%d", i), UnsafePath)
	}
	if got, refusal := l.ContentHash(t.Context(), "good", "sha256"); refusal != nil || got != sum {
		t.Error(got, refusal)
	}
	for _, seen := range s.traces {
		if strings.HasPrefix(seen, "/secret") {
			t.Error("the secret was asked for")
		}
	}
}

// TestTrace sends a trace context where the manifest requires one, and only there.
func TestTrace(t *testing.T) {
	publisher := newSigner("publisher")
	text := "trust: {audit: {require_trace_context: true}}\nsigning: {signature: k.sig, public_key: k.pub}\n" + withUnits("id: a, path: a.md")
	s, o := newSite(t, map[string]string{"/knowledge.yaml": text, "/k.sig": publisher.sign(text), "/k.pub": publisher.public, "/a.md": "A"})
	l := loaded(t, s.URL+"/knowledge.yaml", o)
	unit(t, l, "a", "")
	trace := l.Trace.String()
	want := []string{"/knowledge.yaml ", "/k.sig " + trace, "/k.pub " + trace, "/a.md " + trace}
	if trace == "" || !slices.Equal(s.traces, want) {
		t.Errorf("%q, want %q", s.traces, want)
	}
	s.traces, o.Trace = nil, fetch.NewTraceParent()
	if l := loaded(t, s.URL+"/knowledge.yaml", o); l.Trace != o.Trace || s.traces[0] != "/knowledge.yaml "+o.Trace.String() {
		t.Errorf("%s, %q", l.Trace, s.traces)
	}
	tree(t, map[string]string{"knowledge.yaml": text})
	if l := loaded(t, ".", Options{}); l.Trace.IsZero() {
		t.Error("a local manifest that requires a trace has none")
	}
	if l := loaded(t, ".", Options{NoVerify: true, Trace: o.Trace}); l.Trace != o.Trace {
		t.Error("another trace than the one that was given")
	}
}

// TestDetachedJWS verifies trust.content_integrity with the signature beside the
// manifest, locally and over the network.
func TestDetachedJWS(t *testing.T) {
	publisher, stranger := newSigner("publisher"), newSigner("stranger")
	sign := func(by signer, text string) string {
		s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: by.private}, (&jose.SignerOptions{}).WithHeader("kid", "k1"))
		if err != nil {
			t.Fatal(err)
		}
		signed, err := s.Sign([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		compact, err := signed.DetachedCompactSerialize()
		if err != nil {
			t.Fatal(err)
		}
		return compact + "\n"
	}
	jwk := `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k1","x":"` + base64.RawURLEncoding.EncodeToString(publisher.private.Public().(ed25519.PublicKey)) + `"}]}`
	text := "trust:\n  content_integrity:\n    signing: {enabled: true, method: jws, key_id: k1, verification_url: keys.json}\n" + small
	off := strings.Replace(text, "enabled: true", "enabled: false", 1)
	s, o := newSite(t, map[string]string{})
	for name, c := range map[string]struct {
		text, signature string
		o               Options
		status          kcp.SignatureStatus
		detail          string
	}{
		"good":      {text, sign(publisher, text), Options{RequireSignature: true}, kcp.Verified, "ed25519 signature verified (declared key)"},
		"pinned":    {text, sign(publisher, text), Options{RequireSignature: true, TrustKey: publisher.public}, kcp.Verified, "ed25519 signature verified (pinned key)"},
		"missing":   {text, "", Options{}, kcp.Unverifiable, "manifest declares a signing block but no signature location — treating as unverified"},
		"not meant": {off, sign(publisher, off), Options{}, kcp.Unverifiable, "manifest declares a signing block but no signature location — treating as unverified"},
		"envelope": {text, `{"signature":"` + publisher.sign(text) + `","public_key":"` + publisher.public + `"}`, Options{}, kcp.Unverifiable,
			"ed25519 signature matches, but only the envelope's own key vouches (self-attested)"},
		"stranger": {text, sign(stranger, text), Options{}, kcp.Invalid, "ed25519 signature does not match manifest bytes"},
		"changed":  {text + "# more\n", sign(publisher, text), Options{}, kcp.Invalid, "ed25519 signature does not match manifest bytes"},
	} {
		files := map[string]string{"m/knowledge.yaml": c.text, "m/keys.json": jwk}
		if c.signature != "" {
			files["m/knowledge.yaml.sig"] = c.signature
		}
		tree(t, files)
		s.mu.Lock()
		s.files = map[string]string{}
		for path, body := range files {
			s.files["/"+path] = body
		}
		s.mu.Unlock()
		for _, location := range []string{"m", s.URL + "/m/knowledge.yaml"} {
			c.o.Fetch = o.Fetch
			l, err := Manifest(t.Context(), location, c.o)
			var refusal *Refusal
			switch {
			case c.status == kcp.Invalid:
				if !errors.As(err, &refusal) || refusal.Problem != "signature invalid: "+c.detail {
					t.Errorf("%s at %s: %v", name, location, err)
				}
			case err != nil || l.Signature.Status != c.status || l.Signature.Detail != c.detail:
				t.Errorf("%s at %s: %+v, %v", name, location, l, err)
			}
		}
	}
}
