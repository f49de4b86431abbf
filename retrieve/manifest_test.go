package retrieve

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-dev/writ/fetch"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/load"
)

// TestManifestsThatAreNotRead: the class says whether asking again may help, and the
// text names the manifest as the agent file does.
func TestManifestsThatAreNotRead(t *testing.T) {
	dir := tree(t, map[string]string{
		"m/list.yaml": "- a\n", "m/broken.yaml": "a: [\n", "m/large.yaml": strings.Repeat("# x\n", 100), "outside.yaml": handbook, "m/empty/x": "",
		"m/include.yaml": "project: p\nunits: []\n",
	})
	for _, c := range []struct {
		name, class, text string
		change            func(*Source)
	}{
		{"gone.yaml", "unavailable", "manifest not found: gone.yaml", nil},
		{"empty", "unavailable", "no knowledge.yaml found in empty", nil},
		{"list.yaml", "invalid", "list.yaml:1:1: ", nil},
		{"broken.yaml", "invalid", "broken.yaml:", nil},
		{"large.yaml", "invalid", "large.yaml: manifest has more than 100 bytes", func(s *Source) { s.Load.MaxBytes = 100 }},
		{"../outside.yaml", "invalid", "outside.yaml: outside the root directory", nil},
		{"include.yaml", "invalid", "include.yaml: signature required but unsigned", func(s *Source) { s.Load.RequireSignature = true }},
		{"https://docs.example.com/k.yaml", "invalid", "https://docs.example.com/k.yaml: ", nil},
		{"http://docs.example.com/k.yaml", "invalid", "http://docs.example.com/k.yaml: ", func(s *Source) { s.Load.Fetch = fetch.New(fetch.Options{}) }},
		{"https://127.0.0.1/k.yaml", "invalid", "https://127.0.0.1/k.yaml: ", func(s *Source) { s.Load.Fetch = fetch.New(fetch.Options{}) }},
	} {
		s := Source{Manifest: c.name, Load: load.Options{Root: filepath.Join(dir, "m")}}
		if !isRemote(c.name) {
			s.Location = filepath.Join(dir, "m", c.name)
		}
		if c.change != nil {
			c.change(&s)
		}
		o := do(t, port(t, s), effect(t, task))
		expectFailure(t, o, c.class, c.text)
		if strings.Contains(o.Error, dir) || strings.Contains(o.Error, "--") || o.Retryable != (c.class == "unavailable") || o.Usage.Calls != 1 {
			t.Errorf("%+v", o)
		}
	}
}

// sign gives a manifest that declares a key, the signature of its text and the key.
func sign(name, text string) (manifest, signature, public string) {
	seed := make([]byte, ed25519.SeedSize)
	copy(seed, name)
	key := ed25519.NewKeyFromSeed(seed)
	public = base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
	manifest = "signing: {scheme: ed25519, public_key: " + public + ", signature: k.sig}\n" + text
	return manifest, base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(manifest))), public
}

// TestSignatures: an invalid one closes the source, and the key that the agent file
// trusts takes the place of the one that the manifest declares.
func TestSignatures(t *testing.T) {
	manifest, signature, public := sign("publisher", handbook)
	_, _, other := sign("stranger", handbook)
	for _, c := range []struct {
		manifest string
		load     load.Options
		status   kcp.SignatureStatus
		problem  string
	}{
		{manifest, load.Options{RequireSignature: true}, kcp.Verified, ""},
		{manifest, load.Options{RequireSignature: true, TrustKey: public}, kcp.Verified, ""},
		{manifest, load.Options{TrustKey: other}, "", "signature invalid"},
		{manifest + "\n# more", load.Options{}, "", "signature invalid"},
		{handbook, load.Options{TrustKey: public}, kcp.Unsigned, ""},
		{handbook, load.Options{TrustKey: public, RequireSignature: true}, "", "signature required"},
	} {
		dir := tree(t, with(map[string]string{"knowledge.yaml": c.manifest, "k.sig": signature}))
		s := below(dir)
		s.Load = c.load
		s.Load.Root = dir
		o := do(t, port(t, s), effect(t, task))
		if c.problem != "" {
			expectFailure(t, o, "invalid", c.problem)
			continue
		}
		if a := read(t, o); a.Signature.Status != string(c.status) {
			t.Errorf("%+v", a.Signature)
		}
	}
}

// TestComposition: the result says of which manifests it is made, and which could
// not be read.
func TestComposition(t *testing.T) {
	dir := tree(t, map[string]string{
		"m/knowledge.yaml": "project: p\ncomposition:\n  includes:\n    - {source: more/knowledge.yaml}\n    - {source: ../outside.yaml}\nunits:\n  - {id: a, path: a.md, intent: alpha}\n",
		"m/a.md":           "A", "m/more/knowledge.yaml": "project: q\nunits:\n  - {id: b, path: b.md, intent: alpha}\n", "m/more/b.md": "B",
		"outside.yaml": "project: o\nunits:\n  - {id: c, path: c.md, intent: alpha}\n", "c.md": "C",
	})
	a := read(t, do(t, port(t, below(filepath.Join(dir, "m"))), effect(t, `{"task":"alpha"}`)))
	if a.ids() != "a b" || a.Documents[1].Source != "more/b.md" || len(a.Manifest.Included) != 1 || a.Manifest.Included[0].Source != "more/knowledge.yaml" {
		t.Errorf("%s, %+v", a.ids(), a.Manifest)
	}
	if text := strings.Join(a.Plan.Warnings, "\n"); !strings.Contains(text, "outside.yaml") || strings.Contains(text, dir) {
		t.Errorf("warnings %q", a.Plan.Warnings)
	}
}

// site is a publisher's server; a path without a page has the status of its name.
func site(t *testing.T, files map[string]string) (string, load.Options) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := files[r.URL.Path]
		var status int
		if n, _ := fmt.Sscanf(r.URL.Path, "/%d", &status); n == 1 {
			w.WriteHeader(status)
		} else if !ok {
			http.NotFound(w, r)
		}
		fmt.Fprint(w, body)
	}))
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	client := fetch.New(fetch.Options{AllowPrivateHosts: true, RootCAs: pool})
	t.Cleanup(func() { client.Close(); server.Close() })
	return server.URL, load.Options{Fetch: client}
}

func TestOverTheNetwork(t *testing.T) {
	files := map[string]string{}
	for name, text := range pages {
		files["/docs/"+name] = text
	}
	delete(files, "/docs/backups.md")
	url, o := site(t, files)
	a := read(t, do(t, port(t, Source{Manifest: url + "/docs/knowledge.yaml", Load: o}), effect(t, task)))
	if a.ids() != "install backups:status report:payment secret:access" || a.Documents[0].Source != url+"/docs/start/install.md" || a.Manifest.Source != url+"/docs/knowledge.yaml" {
		t.Errorf("%s, %+v, %s", a.ids(), a.Documents, a.Manifest.Source)
	}
	for path, class := range map[string]string{"/404": "invalid", "/403": "invalid", "/402": "invalid", "/429": "rate_limited", "/500": "unavailable", "/503": "unavailable"} {
		out := do(t, port(t, Source{Manifest: url + path, Load: o}), effect(t, task))
		expectFailure(t, out, class, url+path)
		if out.Retryable != (class != "invalid") {
			t.Errorf("%s: %+v", path, out)
		}
	}
}

func TestClassesOfTheNetwork(t *testing.T) {
	for code, class := range map[fetch.Code]string{
		fetch.Timeout: "timeout", fetch.Unresolved: "unavailable", fetch.Unreachable: "unavailable", fetch.Incomplete: "unavailable",
		fetch.Private: "invalid", fetch.Certificate: "invalid", fetch.HTML: "invalid", fetch.TooLarge: "invalid", fetch.NoNetwork: "invalid",
	} {
		s := &Source{Manifest: "https://h/k", Location: "https://h/k"}
		if o := s.failure(t.Context(), &fetch.Refusal{Code: code, Location: "https://h/k"}); o.Class != class || o.Retryable != (class != "invalid") {
			t.Errorf("%s: %+v", code, o)
		}
	}
}

// TestShown: names of this machine are replaced where they stand for a file, and
// nothing else is.
func TestShown(t *testing.T) {
	s := &Source{Manifest: "docs/k.yaml", Location: filepath.FromSlash("/srv/agent/docs/k.yaml")}
	if filepath.Separator != '/' {
		t.Skip("the paths are those of another system")
	}
	for text, want := range map[string]string{
		"/srv/agent/docs/k.yaml:3:1: x":          "docs/k.yaml:3:1: x",
		"cannot open /srv/agent: x":              "cannot open .: x",
		"'/srv/agent/other.md' and /srv/more.md": "'other.md' and ../more.md",
		"/srv/agent/docs: x":                     "docs: x",
		"/srv":                                   "..",
		"/srvice /srv/agentless/x":               "/srvice ../agentless/x",
		"https://h/srv/agent/docs/k.yaml":        "https://h/srv/agent/docs/k.yaml",
		"the unit '/etc/passwd' of a/srv/agent":  "the unit '/etc/passwd' of a/srv/agent",
		"":                                       "",
	} {
		if got := s.shown(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	remote := &Source{Manifest: "https://h/k.yaml", Location: "https://h/k.yaml"}
	if got := remote.shown("/srv/x"); got != "/srv/x" {
		t.Error(got)
	}
}
