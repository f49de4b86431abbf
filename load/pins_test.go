package load

import (
	"context"
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/keys"
)

func testKey(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(seed)), ed25519.SeedSize)))
}

func publicText(key ed25519.PrivateKey) string { return keys.Text(key.Public().(ed25519.PublicKey)) }

// signedFolder makes a folder with a manifest signed by the key.
func signedFolder(t *testing.T, key ed25519.PrivateKey) string {
	t.Helper()
	dir := t.TempDir()
	text := kcp.DeclareSigning([]byte("project: p\nversion: \"1\"\nunits: []"), publicText(key), "k", "knowledge.yaml.sig")
	envelope, err := kcp.Sign(text, key, "k")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"knowledge.yaml": text, "knowledge.yaml.sig": envelope} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func pinsFor(t *testing.T, scope, key string) *Pins {
	t.Helper()
	pins := &Pins{path: filepath.Join(t.TempDir(), "writ", "trust.json")}
	if err := pins.Add(Pin{Scope: scope, Key: key, Added: "2026-07-06"}); err != nil {
		t.Fatal(err)
	}
	if err := pins.Write(); err != nil {
		t.Fatal(err)
	}
	again, err := ReadPins(pins.path)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// A pinned place is refused whatever a tamperer does to it: he cannot sign, and
// leaving the signature out does not help him.
func TestPinnedPublisher(t *testing.T) {
	ours, theirs := testKey('a'), testKey('b')
	for _, tt := range []struct {
		name   string
		tamper func(t *testing.T, dir string)
		want   string
	}{
		{"untouched", func(*testing.T, string) {}, ""},
		{"one byte", func(t *testing.T, dir string) { edit(t, dir, "project: p", "project: q") }, "signature invalid"},
		{"line ends", func(t *testing.T, dir string) { edit(t, dir, "\n", "\r\n") }, "signature invalid"},
		{"a unit more", func(t *testing.T, dir string) { edit(t, dir, "units: []", "units: [{id: x}]") }, "signature invalid"},
		{"no signing block", func(t *testing.T, dir string) {
			edit(t, dir, string(manifestText(t, dir)), "project: p\nversion: \"1\"\nunits: []\n")
		}, "signature required but unsigned"},
		{"no signature file", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "knowledge.yaml.sig")) }, "signature required but unverifiable"},
		{"signed with another key", func(t *testing.T, dir string) {
			text := strings.ReplaceAll(string(manifestText(t, dir)), publicText(ours), publicText(theirs))
			envelope, err := kcp.Sign([]byte(text), theirs, "k")
			if err != nil {
				t.Fatal(err)
			}
			os.WriteFile(filepath.Join(dir, "knowledge.yaml"), []byte(text), 0o644)
			os.WriteFile(filepath.Join(dir, "knowledge.yaml.sig"), envelope, 0o644)
		}, "signature invalid"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := signedFolder(t, ours)
			tt.tamper(t, dir)
			_, err := Manifest(context.Background(), dir, Options{Pins: pinsFor(t, dir, publicText(ours))})
			var refusal *Refusal
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (!errors.As(err, &refusal) || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func manifestText(t *testing.T, dir string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "knowledge.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func edit(t *testing.T, dir, old, new string) {
	t.Helper()
	text := strings.ReplaceAll(string(manifestText(t, dir)), old, new)
	if err := os.WriteFile(filepath.Join(dir, "knowledge.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestPinCannotBeSkipped(t *testing.T) {
	key := testKey('a')
	dir := signedFolder(t, key)
	_, err := Manifest(context.Background(), dir, Options{NoVerify: true, Pins: pinsFor(t, dir, publicText(key))})
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Code != Contradiction {
		t.Errorf("%v, want a contradiction", err)
	}
}

func TestScopes(t *testing.T) {
	key := publicText(testKey('a'))
	pins := &Pins{}
	for _, scope := range []string{"https://Docs.Example.com/team/", "example.org", "/srv/docs"} {
		if err := pins.Add(Pin{Scope: scope, Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	for source, want := range map[string]string{
		"https://docs.example.com/team/knowledge.yaml": "docs.example.com/team",
		"https://docs.example.com/team":                "docs.example.com/team",
		"https://docs.example.com/teammates/k.yaml":    "",
		"https://docs.example.com/other/k.yaml":        "",
		"https://example.org/k.yaml":                   "example.org",
		"https://example.org.evil.example/k.yaml":      "",
		"https://evil.example/example.org/k.yaml":      "",
		"/srv/docs/knowledge.yaml":                     "/srv/docs",
		"/srv/docs2/knowledge.yaml":                    "",
	} {
		if pin, _ := pins.For(source); pin.Scope != want {
			t.Errorf("%s is covered by %q, want %q", source, pin.Scope, want)
		}
	}
	for _, scope := range []string{"", "a b", "user@example.com", "example.com?x", "https://", "*.example.com", "example.com:443:1"} {
		if err := pins.Add(Pin{Scope: scope, Key: key}); err == nil {
			t.Errorf("scope %q was accepted", scope)
		}
	}
	if err := pins.Add(Pin{Scope: "example.net", Key: "not a key"}); err == nil {
		t.Error("a key that is none was accepted")
	}
}

// A damaged list is an error: reading it as empty would lift every pin.
func TestDamagedPins(t *testing.T) {
	for _, text := range []string{"", "{", `{"version":2,"pins":[]}`, `{"version":1,"pins":[{"scope":"x","key":"y","added":""}]}`, `{"version":1,"pins":[],"more":1}`} {
		path := filepath.Join(t.TempDir(), "trust.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if pins, err := ReadPins(path); err == nil {
			t.Errorf("%q: read as %v", text, pins)
		}
	}
	if pins, err := ReadPins(filepath.Join(t.TempDir(), "nothing")); err != nil || len(pins.All()) != 0 {
		t.Errorf("no file: %v %v", pins, err)
	}
}
