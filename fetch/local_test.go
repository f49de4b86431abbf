package fetch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree makes a directory with a secret beside it, and opens it.
func tree(t *testing.T) (root *os.Root, outside string) {
	t.Helper()
	base := t.TempDir()
	for name, text := range map[string]string{
		"secret": "SECRET", "secrets/deep/x": "SECRET", "area2/x": "SECRET", "area/in": "in", "area/sub/deep/in": "in", "area/..in": "in", "area/...": "in",
	} {
		file := filepath.Join(base, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(filepath.Join(base, "area"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root, base
}

// TestEscapes tries to read the secret in every way that a path can lead out.
func TestEscapes(t *testing.T) {
	root, base := tree(t)
	links := map[string]string{
		"up": "..", "upup": "../..", "abs": base, "file": filepath.Join(base, "secret"), "rel": "../secret", "dots": "sub/../../secret",
		"chain1": "chain2", "chain2": "../secret", "loop1": "loop2", "loop2": "loop1", "self": "self", "slash": "/", "proc": "/proc/self/root",
		"cwd": "/proc/self/cwd", "deep": "sub/deep/../../../secret", "twin": "../area2", "again": "../area/../secret", "dev": "/dev/zero", "fd": "/dev/fd/0",
		"sub/up": "../..", "sub/out": "../../secret", "sub/deep/out": "../../../secret", "many": strings.Repeat("sub/../", 50) + "../secret",
	}
	for name, target := range links {
		if err := root.Symlink(target, name); err != nil {
			t.Skip("no symbolic links here")
		}
	}
	escapes := []string{
		"../secret", "./../secret", "sub/../../secret", "sub/deep/../../../secret", "../area/../secret", "..", "../", "../..", "../../../../../../etc/passwd",
		"/etc/passwd", "//etc/passwd", base + "/secret", base + "/area/in", "/", "./..", "sub/..//../secret", "../area2/x", "....//secret", "..//secret", ".././secret",
		"up/secret", "upup/etc/passwd", "abs/secret", "file", "rel", "dots", "chain1", "chain2", "loop1", "self", "slash/etc/passwd", "proc/etc/passwd", "cwd/../secret",
		"deep", "twin/x", "again", "sub/up/secret", "sub/out", "sub/deep/out", "many", "in/../../secret", "in/..", "missing/../../secret", "dev", "fd", "slash/dev/zero",
		"%2e%2e/secret", "..%2fsecret", "%2e%2e%2fsecret", "..%252fsecret", "%252e%252e/secret", ".%2e/secret", "..%c0%afsecret", "..%5csecret", "%2fetc%2fpasswd",
		`..\secret`, `sub\..\..\secret`, `C:\secret`, `C:secret`, `C:/secret`, `\\server\share\x`, `//server/share/x`, `\secret`, `\\?\C:\x`, `\\.\C:\x`, `..\/secret`,
		"CON", "NUL", "aux.txt", "COM1", "in::$DATA", "in:stream", "in.", "in ", "..\u2215secret", "..\uff0fsecret", "\uff0e\uff0e/secret", "..\u29f5secret",
		"file:///etc/passwd", "file://localhost/etc/passwd", "~/.ssh/id_ed25519", "~root/x", "$HOME/x", "${HOME}/x", "../secret\x00", "in\x00", "in\x00.md", "\x00", "..\n/secret",
		"", ".", "sub", "sub/", "in/", "in/x", "in/.", "./", "\r../secret", "...//secret", " ../secret", "../secret ",
	}
	allowed := map[Code]bool{NotFound: true, NotRegular: true, Outside: true, Unreadable: true}
	for _, name := range escapes {
		data, refusal := File(t.Context(), root, name, 100)
		if refusal == nil || !allowed[refusal.Code] || refusal.Location != name {
			t.Errorf("%q: read %q, %+v", name, data, refusal)
		}
		if refusal != nil && strings.Contains(refusal.Error(), base) && !strings.Contains(name, base) {
			t.Errorf("%q: the message tells where the directory is: %s", name, refusal)
		}
	}
	t.Logf("%d escapes", len(escapes))
	for _, name := range []string{"in", "./in", "sub/deep/in", "sub/../in", "..in", "...", "sub//deep/in"} {
		if data, refusal := File(t.Context(), root, name, 100); refusal != nil || string(data) != "in" {
			t.Errorf("%q: %q, %v", name, data, refusal)
		}
	}
	if err := root.Symlink("sub/deep", "inner"); err != nil {
		t.Fatal(err)
	}
	if data, refusal := File(t.Context(), root, "inner/in", 100); refusal != nil {
		t.Errorf("a link that stays inside: %q, %v", data, refusal)
	}
}

// swapping changes the tree between the look at a file and its opening.
type swapping struct {
	*os.Root
	swap func()
}

func (s swapping) OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	s.swap()
	return s.Root.OpenFile(name, flag, perm)
}

func TestSwapped(t *testing.T) {
	for name, swap := range map[string]func(base string) error{
		"file for a link out":          func(b string) error { return relink(b+"/secret", b+"/area/sub/deep/in") },
		"file for a relative link out": func(b string) error { return relink("../../../secret", b+"/area/sub/deep/in") },
		"folder for a link out":        func(b string) error { return relink(b+"/secrets/deep", b+"/area/sub/deep") },
		"higher folder for a link out": func(b string) error { return relink("../secrets", b+"/area/sub") },
		"file for a device":            func(b string) error { return relink("/dev/zero", b+"/area/sub/deep/in") },
		"file for a folder": func(b string) error {
			return errors.Join(os.Remove(b+"/area/sub/deep/in"), os.Mkdir(b+"/area/sub/deep/in", 0o700))
		},
		"file for nothing": func(b string) error { return os.Remove(b + "/area/sub/deep/in") },
		"root for a link": func(b string) error {
			return errors.Join(os.Rename(b+"/area", b+"/moved"), os.Symlink(b+"/secrets", b+"/area"), os.WriteFile(b+"/moved/sub/deep/in", []byte("moved"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			root, base := tree(t)
			s := swapping{root, func() {
				if err := swap(base); err != nil {
					t.Skip(err)
				}
			}}
			data, refusal := File(t.Context(), s, "sub/deep/in", 100)
			if name == "root for a link" { // what is open stays what it was
				if refusal != nil || string(data) != "moved" {
					t.Errorf("%q, %v", data, refusal)
				}
				return
			}
			if refusal == nil {
				t.Errorf("read %q", data)
			}
		})
	}
}

func relink(target, name string) error {
	return errors.Join(os.RemoveAll(name), os.Symlink(target, name))
}

func TestFileRefusals(t *testing.T) {
	root, base := tree(t)
	if err := os.WriteFile(base+"/area/large", make([]byte, 101), 0o600); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		name string
		code Code
		text string
	}{
		{t.Context(), "none", NotFound, "none: no such file; check the spelling"},
		{t.Context(), "in/none", NotFound, "in/none: no such file; check the spelling"},
		{t.Context(), "sub", NotRegular, "sub: a directory, not a regular file; name a file"},
		{t.Context(), "../secret", Outside, "../secret: leads out of the directory that bounds it; keep what a manifest names below its directory"},
		{t.Context(), "large", TooLarge, "large: larger than 100 bytes; split the file"},
		{ended, "in", Cancelled, "in: cancelled"},
	} {
		data, refusal := File(c.ctx, root, c.name, 100)
		if refusal == nil || refusal.Code != c.code || refusal.Error() != c.text {
			t.Errorf("%s: %q, %v, want %s", c.name, data, refusal, c.text)
		}
	}
	if data, refusal := File(t.Context(), Anywhere{}, base+"/secret", 100); refusal != nil || string(data) != "SECRET" {
		t.Errorf("%q, %v", data, refusal)
	}
}

// TestHashBelow compares with digests that were made by sha256sum.
func TestHashBelow(t *testing.T) {
	root, base := tree(t)
	if err := os.RemoveAll(base + "/area"); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"d/a": "x", "d/b/c": "y", "d/.hidden": "", "d/a b": "z", "d/a-b": "w", "d/ä": "v", "f": "hello\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(base, "area", name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(base, "area", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_ = root.Close()
	root, err := os.OpenRoot(base + "/area")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	_ = root.Symlink("../../secret", "d/link")
	_ = root.Symlink("b", "d/folder")
	for _, c := range []struct{ name, algorithm, want string }{
		{"f", "sha256", "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"},
		{"f", "sha384", "1d0f284efe3edea4b9ca3bd514fa134b17eae361ccc7a1eefeff801b9bd6604e01f21f6bf249ef030599f0c218f2ba8c"},
		{"f", "sha512", "e7c22b994c59d9cf2b48e549b1e24666636045930d3da7c1acb299d1c3b7f931f94aae41edda2c2b207a36e10f8bcb8d45223e54878f5b316e7ce3b6bc019629"},
		{"d", "sha256", "9ce4dde9da2a6530ae30567b4d9d7b4797d8d197d20aae54b236611dcaf3a840"},
	} {
		got, refusal := HashBelow(t.Context(), root, c.name, c.algorithm)
		if refusal != nil || got != c.want {
			t.Errorf("%s %s: %s, %v, want %s", c.name, c.algorithm, got, refusal, c.want)
		}
	}
	for name, c := range map[string]struct {
		path, algorithm string
		code            Code
	}{
		"md5": {"f", "md5", BadHash}, "capitals": {"f", "SHA256", BadHash}, "none": {"f", "", BadHash}, "missing": {"x", "sha256", NotFound},
		"outside": {"../secret", "sha256", Outside}, "outside folder": {"../secrets", "sha256", Outside}, "link out": {"d/link", "sha256", NotFound},
	} {
		if got, refusal := HashBelow(t.Context(), root, c.path, c.algorithm); refusal == nil || refusal.Code != c.code && name != "link out" {
			t.Errorf("%s: %s, %v", name, got, refusal)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, refusal := HashBelow(ended, root, "d", "sha256"); refusal == nil || refusal.Code != Cancelled {
		t.Error(refusal)
	}
}

func BenchmarkFile(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), make([]byte, 4096), 0o600); err != nil {
		b.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	for name, p := range map[string]Place{"root": root, "anywhere": Anywhere{}} {
		b.Run(name, func(b *testing.B) {
			file := "x"
			if name == "anywhere" {
				file = filepath.Join(dir, "x")
			}
			for b.Loop() {
				if _, refusal := File(b.Context(), p, file, 1<<20); refusal != nil {
					b.Fatal(refusal)
				}
			}
		})
	}
}
