package load

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-dev/writ/kcp"
)

// signer signs with a key that is the same in every run.
type signer struct {
	private ed25519.PrivateKey
	public  string
}

func newSigner(name string) signer {
	seed := make([]byte, ed25519.SeedSize)
	copy(seed, name)
	private := ed25519.NewKeyFromSeed(seed)
	return signer{private, base64.StdEncoding.EncodeToString(private.Public().(ed25519.PublicKey))}
}

func (s signer) sign(text string) string {
	return base64.StdEncoding.EncodeToString(ed25519.Sign(s.private, []byte(text)))
}

// signed gives a manifest that declares a signature and a key.
func signed(signature, key string) string {
	return fmt.Sprintf("signing:\n  scheme: ed25519\n  signature: %q\n  public_key: %q\n%s", signature, key, small)
}

func status(t *testing.T, location string, o Options) kcp.Signature {
	t.Helper()
	l, err := Manifest(context.Background(), location, o)
	if err != nil {
		t.Errorf("%s: %v", location, err)
		return kcp.Signature{}
	}
	if l.Signature == nil {
		t.Errorf("%s: no signature", location)
		return kcp.Signature{}
	}
	return *l.Signature
}

func TestVerify(t *testing.T) {
	publisher, stranger := newSigner("publisher"), newSigner("stranger")
	text := signed("k.sig", "keys/k.pub")
	tree(t, map[string]string{
		"good/knowledge.yaml": text, "good/k.sig": publisher.sign(text), "good/keys/k.pub": publisher.public,
		"bad/knowledge.yaml": text + "# more\n", "bad/k.sig": publisher.sign(text), "bad/keys/k.pub": publisher.public,
		"keyless/knowledge.yaml": text, "keyless/k.sig": publisher.sign(text),
		"unsigned.yaml": small, "trusted.pub": publisher.public, "stranger.pub": stranger.public,
	})
	if s := status(t, "good", Options{RequireSignature: true}); s.Detail != "ed25519 signature verified (declared key)" {
		t.Errorf("good: %+v", s)
	}
	for _, pin := range []string{publisher.public, "trusted.pub", "good/../trusted.pub"} {
		if s := status(t, "good", Options{RequireSignature: true, TrustKey: pin, Root: "good"}); s.Detail != "ed25519 signature verified (pinned key)" {
			t.Errorf("pin %q: %+v", pin, s)
		}
	}
	const invalid = "signature invalid: ed25519 signature does not match manifest bytes"
	refusal(t, "bad", Options{}, SignatureInvalid, "bad/knowledge.yaml: "+invalid)
	refusal(t, "good", Options{TrustKey: "stranger.pub"}, SignatureInvalid, "good/knowledge.yaml: "+invalid)
	l, err := Manifest(context.Background(), "bad", Options{NoVerify: true})
	if err != nil || l.Signature != nil {
		t.Errorf("not verified: %v, %v", l, err)
	}

	const required = "signature required but "
	refusal(t, "unsigned.yaml", Options{RequireSignature: true}, SignatureRequired,
		"unsigned.yaml: "+required+"unsigned: manifest declares no signature")
	refusal(t, "keyless", Options{RequireSignature: true}, SignatureRequired,
		"keyless/knowledge.yaml: "+required+"unverifiable: cannot load public key: keys/k.pub: no such file")
	for pin, detail := range map[string]string{
		"none.pub":           "cannot load public key: none.pub: no such file",
		"good":               "cannot load public key: good: a directory, not a regular file",
		"https://x.test/key": "cannot load public key: https://x.test/key: " + problemRemote,
	} {
		if s := status(t, "good", Options{TrustKey: pin}); s.Status != kcp.Unverifiable || s.Detail != detail {
			t.Errorf("pin %q: %+v, want %q", pin, s, detail)
		}
	}
}

// TestContainment tries to make a manifest read what is not below the root.
func TestContainment(t *testing.T) {
	publisher := newSigner("publisher")
	base := tree(t, map[string]string{"trap": publisher.sign("x"), "root/below/sub/k.sig": "x", "root/k.sig": "x", "root/huge.sig": strings.Repeat("x", maxKeyBytes+1)})
	t.Chdir("root")
	if err := os.Symlink("../../trap", "below/out"); err != nil {
		t.Skip("no symbolic links here")
	}
	if err := os.Symlink("..", "up"); err != nil {
		t.Fatal(err)
	}
	const outside = ": outside the root directory; name a file below it, or a higher directory with --root"
	for location, problem := range map[string]string{
		"../../trap":                outside,
		"../../../../../etc/passwd": outside,
		"/etc/passwd":               outside,
		filepath.Join(base, "trap"): outside,
		"sub/../../../trap":         outside,
		"out":                       outside,
		"../up/trap":                outside,
		"/dev/zero":                 outside,
		"https://x.test/k.sig":      ": " + problemRemote,
		"missing.sig":               ": no such file",
		"sub":                       ": a directory, not a regular file",
		"../huge.sig":               fmt.Sprintf(": larger than %d bytes", maxKeyBytes),
	} {
		write(t, "below/knowledge.yaml", signed(location, publisher.public))
		for _, root := range []string{"", "."} {
			if s := status(t, "below", Options{Root: root}); s.Status != kcp.Unverifiable || s.Detail != "cannot load signature: "+location+problem {
				t.Errorf("%q with root %q: %+v", location, root, s)
			}
		}
	}
	real, err := filepath.EvalSymlinks(".")
	if err != nil {
		t.Fatal(err)
	}
	if real, err = filepath.Abs(real); err != nil {
		t.Fatal(err)
	}
	for _, location := range []string{"sub/k.sig", "../k.sig", filepath.Join(real, "k.sig")} { // read, and no signature
		write(t, "below/knowledge.yaml", signed(location, publisher.public))
		refusal(t, "below", Options{}, SignatureInvalid, "below/knowledge.yaml: signature invalid: signature is not 64 ed25519 signature bytes")
	}
}

// TestDefaultRoot reads "../k.sig" with the current directory in different places.
func TestDefaultRoot(t *testing.T) {
	publisher := newSigner("publisher")
	text := signed("../k.sig", publisher.public)
	base := tree(t, map[string]string{"a/k.sig": publisher.sign(text), "a/m/knowledge.yaml": text, "a/other/x": ""})
	if err := os.Symlink(filepath.Join(base, "a"), "link"); err != nil {
		t.Skip("no symbolic links here")
	}
	for _, c := range []struct {
		current, location string
		want              kcp.SignatureStatus
	}{
		{".", "a/m", kcp.Verified},
		{"a", "m", kcp.Verified},
		{".", "link/m", kcp.Verified}, // the link leads below the current directory
		{"a/m", ".", kcp.Unverifiable},
		{"a/other", "../m", kcp.Unverifiable},
		{"a/other", "../../link/m", kcp.Unverifiable},
	} {
		t.Run(c.current+" "+c.location, func(t *testing.T) {
			t.Chdir(filepath.Join(base, c.current))
			if s := status(t, c.location, Options{}); s.Status != c.want {
				t.Errorf("%+v, want %s", s, c.want)
			}
		})
	}
}

// TestSignedFixtures reads the examples that the reference agent's makers signed.
func TestSignedFixtures(t *testing.T) {
	root := os.Getenv("WRIT_FIXTURES")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	examples := filepath.Join(root, "examples")
	if _, err := os.Stat(examples); err != nil {
		t.Skipf("no shared fixtures in %s; set WRIT_FIXTURES to their folder", root)
	}
	t.Chdir(examples)
	const selfAttested = "ed25519 signature matches, but only the envelope's own key vouches (self-attested)"
	for name, keyID := range map[string]string{"sealed": "sealed-2026", "governed-skills": "governed-skills-2026"} {
		if s := status(t, name, Options{}); s.Status != kcp.Unverifiable || s.Detail != selfAttested || s.KeyID != keyID {
			t.Errorf("%s: %+v", name, s)
		}
		refusal(t, name, Options{RequireSignature: true}, SignatureRequired,
			name+"/knowledge.yaml: signature required but unverifiable: "+selfAttested)
	}
	if s := status(t, "sealed", Options{RequireSignature: true, TrustKey: "MCowBQYDK2VwAyEAG9ReBP9qIJZzRIaEuzCViBeCJuNFyDP16oKyaHhZRcI="}); s.Status != kcp.Verified {
		t.Errorf("pinned: %+v", s)
	}
	refusal(t, "governed-skills/knowledge.tampered.yaml", Options{}, SignatureInvalid,
		"governed-skills/knowledge.tampered.yaml: signature invalid: ed25519 signature does not match manifest bytes")
}
