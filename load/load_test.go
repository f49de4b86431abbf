package load

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/fetch"
	"github.com/writ-dev/writ/kcp"
)

const small = "kcp_version: \"0.32\"\nproject: small\nversion: 1.0.0\nunits:\n  - id: a\n    path: a.md\n    intent: What a is\n"

// tree writes files below a new directory and makes it the current one.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range files {
		write(t, name, text)
	}
	return dir
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// refusal loads what must be refused and checks the code and the whole text.
func refusal(t *testing.T, location string, o Options, code Code, text string) {
	t.Helper()
	l, err := Manifest(context.Background(), location, o)
	var r *Refusal
	switch {
	case !errors.As(err, &r):
		t.Errorf("%q: error %v, want a refusal", location, err)
	case l != nil:
		t.Errorf("%q: a manifest beside the error", location)
	case r.Code != code || r.Error() != text:
		t.Errorf("%q: %s %q, want %s %q", location, r.Code, r, code, text)
	}
}

func TestLocating(t *testing.T) {
	dir := tree(t, map[string]string{
		"one/knowledge.yaml":             small,
		"two/.well-known/knowledge.yaml": small,
		"both/knowledge.yaml":            small,
		"both/.well-known/knowledge.yaml": strings.Replace(
			small, "small", "other", 1),
		"x.yaml": small,
	})
	if err := os.Symlink("x.yaml", "link.yaml"); err != nil {
		t.Skip("no symbolic links here")
	}
	if err := os.Symlink("one", "linked"); err != nil {
		t.Fatal(err)
	}
	for location, source := range map[string]string{
		"one":                        "one/knowledge.yaml",
		"./one":                      "one/knowledge.yaml",
		"one/":                       "one/knowledge.yaml",
		"one/../two":                 "two/.well-known/knowledge.yaml",
		"both":                       "both/knowledge.yaml",
		"linked":                     "linked/knowledge.yaml",
		"x.yaml":                     "x.yaml",
		"./x.yaml":                   "./x.yaml",
		"one/../x.yaml":              "one/../x.yaml",
		"link.yaml":                  "link.yaml",
		filepath.Join(dir, "two"):    filepath.ToSlash(filepath.Join(dir, "two/.well-known/knowledge.yaml")),
		filepath.Join(dir, "x.yaml"): filepath.Join(dir, "x.yaml"),
	} {
		for _, root := range []string{"", ".", dir} {
			l, err := Manifest(context.Background(), location, Options{Root: root})
			if err != nil {
				t.Errorf("%q with root %q: %v", location, root, err)
				continue
			}
			if l.Source != source || l.Manifest.Source != source {
				t.Errorf("%q with root %q: source %q and %q, want %q", location, root, l.Source, l.Manifest.Source, source)
			}
			if string(l.Bytes) != small || l.Digest != artifact.Sum(l.Bytes) || l.Manifest.Project != "small" {
				t.Errorf("%q: wrong bytes, digest or manifest", location)
			}
			if l.Signature == nil || l.Signature.Status != kcp.Unsigned {
				t.Errorf("%q: signature %v", location, l.Signature)
			}
		}
	}
}

func TestNotFound(t *testing.T) {
	tree(t, map[string]string{"x.yaml": small, "empty/notes.md": "", "file/.well-known": ""})
	for location, text := range map[string]string{
		"nope.yaml":    "manifest not found: nope.yaml",
		"no/such/dir":  "manifest not found: no/such/dir",
		"x.yaml/below": "manifest not found: x.yaml/below",
		"HTTPS://x/y":  "manifest not found: HTTPS://x/y",
		"":             "manifest not found: ",
	} {
		refusal(t, location, Options{}, NotFound, text)
		refusal(t, location, Options{Root: "."}, NotFound, text)
	}
	refusal(t, "empty", Options{}, NoManifest, "no knowledge.yaml found in empty")
	refusal(t, "./empty/", Options{}, NoManifest, "no knowledge.yaml found in ./empty/")
	refusal(t, "file", Options{}, NoManifest, "no knowledge.yaml found in file")
}

func TestRefusedLocations(t *testing.T) {
	tree(t, map[string]string{"dir/knowledge.yaml/x": "", "x.yaml": small})
	for _, location := range []string{"http://example.test/k.yaml", "https://example.test"} {
		refusal(t, location, Options{}, Remote, location+
			": reading over the network is off; fetch the file first and name the copy")
	}
	refusal(t, "dir", Options{}, NotRegular,
		"dir/knowledge.yaml: a directory, not a regular file; name a knowledge.yaml or its directory")
	refusal(t, "x.yaml", Options{NoVerify: true, RequireSignature: true}, Contradiction,
		"x.yaml: a signature cannot be both required and left unverified; drop one of the two options")
}

func TestRootHoldsTheManifest(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "secret.yaml"), small)
	tree(t, map[string]string{"root/knowledge.yaml": small, "x.yaml": small})
	const text = ": outside the root directory; name a file below it, or a higher directory with --root"
	for _, location := range []string{"x.yaml", "root/../x.yaml", filepath.Join(outside, "secret.yaml"), "..", filepath.Join(outside, "missing")} {
		refusal(t, location, Options{Root: "root"}, OutsideRoot, location+text)
	}
	if err := os.Symlink(filepath.Join(outside, "secret.yaml"), "root/out.yaml"); err != nil {
		t.Skip("no symbolic links here")
	}
	refusal(t, "root/out.yaml", Options{Root: "root"}, OutsideRoot, "root/out.yaml"+text)
	if _, err := Manifest(context.Background(), "root/out.yaml", Options{}); err != nil {
		t.Errorf("without a root a symbolic link is followed: %v", err)
	}
	refusal(t, "root/x", Options{Root: "root/x"}, Unreadable, "root/x: cannot open the root directory: no such file")

	// The same directory under another spelling.
	if err := os.Symlink("root", "alias"); err != nil {
		t.Fatal(err)
	}
	if _, err := Manifest(context.Background(), "root", Options{Root: "alias"}); err != nil {
		t.Error(err)
	}
}

func TestSizeLimit(t *testing.T) {
	tree(t, map[string]string{"x.yaml": small})
	if _, err := Manifest(context.Background(), "x.yaml", Options{MaxBytes: len(small)}); err != nil {
		t.Error(err)
	}
	refusal(t, "x.yaml", Options{MaxBytes: 100}, TooLarge,
		"x.yaml: manifest has more than 100 bytes; raise the limit with --max-manifest-bytes, or split the manifest")
}

// TestSizeLimitWhileReading reads files whose size is not what the system says.
func TestSizeLimitWhileReading(t *testing.T) {
	name := filepath.Join(t.TempDir(), "growing")
	write(t, name, "12345")
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	grown := &growing{Context: context.Background(), grow: func() { write(t, name, strings.Repeat("1", 5000)) }}
	if _, err := fetch.ReadAll(grown, file, 1000); err != fetch.ErrTooLarge {
		t.Errorf("error %v for a file that grows", err)
	}
	// Files of the proc file system say that they are empty.
	if file, err := fetch.OpenRegular(anywhere{}, "/proc/self/status"); err == nil {
		defer file.Close()
		if _, err := fetch.ReadAll(context.Background(), file, 10); err != fetch.ErrTooLarge {
			t.Errorf("error %v for a file that says it is empty", err)
		}
		if _, err := file.Seek(0, 0); err != nil {
			t.Fatal(err)
		}
		if b, err := fetch.ReadAll(context.Background(), file, 1<<20); err != nil || !bytes.Contains(b, []byte("Name:")) {
			t.Errorf("%q, %v from a file that says it is empty", b, err)
		}
	}
}

// growing lets a file grow between the look at its size and the first read.
type growing struct {
	context.Context
	grow func()
}

func (g *growing) Err() error {
	if g.grow != nil {
		g.grow()
		g.grow = nil
	}
	return nil
}

func TestEndedContext(t *testing.T) {
	tree(t, map[string]string{"x.yaml": small})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	l, err := Manifest(ctx, "x.yaml", Options{})
	if !errors.Is(err, context.Canceled) || l != nil || err.Error() != "x.yaml: context canceled" {
		t.Errorf("%v, %v", l, err)
	}
}

// TestUnparsable names the place of everything that is not one YAML mapping.
func TestUnparsable(t *testing.T) {
	tree(t, nil)
	for name, c := range map[string]struct{ text, place, problem string }{
		"empty":          {"", "1:1", "not a YAML mapping"},
		"only a comment": {"# nothing\n", "1:1", "not a YAML mapping"},
		"a list":         {"- a\n", "1:1", "not a YAML mapping"},
		"a scalar":       {"hello\n", "1:1", "not a YAML mapping"},
		"two documents":  {"project: a\n---\nproject: b\n", "2:1", "single document"},
		"tabs":           {"project: a\nunits:\n\t- id: x\n", "3:1", "tab"},
		"inner BOM":      {"project: a\n\ufeffversion: 1\n", "2:1", "byte order mark"},
		"invalid UTF-8":  {"project: a\xff\n", "1:11", "UTF-8"},
		"UTF-16":         {"\xff\xfep\x00", "1:1", "UTF-8"},
		"a NUL":          {"project: a\x00\n", "1:11", "not printable"},
		"duplicate key":  {"project: a\nversion: 1\nproject: b\n", "3:1", `"project", first at line 1, column 1`},
		"unit's key":     {"units:\n  - id: a\n    path: b\n    id: c\n", "4:5", `"id", first at line 2, column 5`},
		"unknown tag":    {"project: !foo a\n", "1:10", "unknown tag !foo"},
		"CRLF and a tab": {"project: a\r\nunits:\r\n\t- id: x\r\n", "3:1", "tab"},
		"unclosed":       {"project: [a\n", "2:1", "not closed"},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, "k.yaml", c.text)
			_, err := Manifest(context.Background(), "k.yaml", Options{})
			var syntax *kcp.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("error %v, want a syntax error", err)
			}
			prefix := "k.yaml:" + c.place + ": "
			if text := err.Error(); !strings.HasPrefix(text, prefix) || !strings.Contains(text, c.problem) || strings.ContainsAny(text, "\r\n") {
				t.Errorf("error %q, want one line with %q and %q", text, prefix, c.problem)
			}
		})
	}
}

// TestOddButFine loads what some reader or other stumbles over.
func TestOddButFine(t *testing.T) {
	tree(t, nil)
	for name, text := range map[string]string{
		"BOM":             "\ufeff" + small,
		"CRLF":            strings.ReplaceAll(small, "\n", "\r\n"),
		"no final break":  strings.TrimSuffix(small, "\n"),
		"malformed units": small + "  - 7\n  - path: [a]\n    audience: {a: b}\n",
	} {
		write(t, "k.yaml", text)
		l, err := Manifest(context.Background(), "k.yaml", Options{})
		if err != nil || l.Manifest.Project != "small" || string(l.Bytes) != text {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if (len(l.Findings) > 0) != (name == "malformed units") {
			t.Errorf("%s: findings %v", name, l.Findings)
		}
	}
}
