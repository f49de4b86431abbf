package load

import (
	"context"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/fetch"
	"github.com/writ-dev/writ/kcp"
)

// withUnits gives a manifest with one unit for each block of fields.
func withUnits(blocks ...string) string {
	text := "project: p\nunits:\n"
	for _, b := range blocks {
		text += "  - {intent: x, " + b + "}\n"
	}
	return text
}

func loaded(t *testing.T, location string, o Options) *Loaded {
	t.Helper()
	l, err := Manifest(t.Context(), location, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// unit reads a unit and checks the code; an empty one means that it is read.
func unit(t *testing.T, l *Loaded, id string, code fetch.Code) (Unit, *fetch.Refusal) {
	t.Helper()
	u, refusal := l.Unit(t.Context(), id)
	switch {
	case refusal == nil && code != "":
		t.Errorf("%s: read %q, want %s", id, u.Bytes, code)
	case refusal != nil && refusal.Code != code:
		t.Errorf("%s: %s %q, want %q", id, refusal.Code, refusal, code)
	case refusal != nil && (u.Bytes != nil || refusal.Location == "" || refusal.Problem == ""):
		t.Errorf("%s: %+v with %+v", id, u, refusal)
	}
	return u, refusal
}

func TestUnit(t *testing.T) {
	dir := tree(t, map[string]string{
		"m/knowledge.yaml": withUnits("id: a, path: docs/a.md, access: restricted", "id: b, path: none.md", "id: c", "id: d, path: docs", "id: e, path: a.md",
			"id: e, path: b.md", "id: s, path: a.md, kind: skill", "id: g, path: a.md, kind: skill, load_eligible: true", "id: q, path: a.md, kind: skill, load_eligible: 'true'",
			"id: k, path: a.md, kind: Skill, load_eligible: true", "id: p, path: a.md, kind: playbook", "id: big, path: big", "id: n, path: n.md, kind: odd"),
		"m/docs/a.md": "A", "m/a.md": "skill", "m/big": strings.Repeat("x", 101), "m/n.md": "N",
	})
	for _, o := range []Options{{MaxUnitBytes: 100}, {MaxUnitBytes: 100, Root: "."}, {MaxUnitBytes: 100, Root: dir}} {
		for _, location := range []string{"m", "m/knowledge.yaml", "./m", filepath.Join(dir, "m")} {
			l := loaded(t, location, o)
			u, _ := unit(t, l, "a", "")
			if string(u.Bytes) != "A" || u.SHA256 != artifact.Sum([]byte("A")) || u.Access != "restricted" {
				t.Errorf("%+v", u)
			}
			for id, c := range map[string]struct {
				code    fetch.Code
				problem string
			}{
				"b":   {fetch.NotFound, "file not found on disk"},
				"c":   {NoPath, "the unit has no path"},
				"d":   {fetch.NotRegular, "a directory, not a regular file"},
				"e":   {SharedID, `not load-eligible: several units have the id "e"`},
				"s":   {NotGranted, "not load-eligible: a skill without load_eligible: true"},
				"q":   {NotGranted, "not load-eligible: a skill without load_eligible: true"},
				"k":   {NotGranted, "not load-eligible: a skill without load_eligible: true"},
				"p":   {NotGranted, "not load-eligible: a playbook without load_eligible: true"},
				"x":   {NoUnit, `no unit has the id "x"`},
				"":    {NoUnit, `no unit has the id ""`},
				"big": {fetch.TooLarge, "larger than 100 bytes"},
			} {
				if _, refusal := unit(t, l, id, c.code); refusal != nil && refusal.Problem != c.problem {
					t.Errorf("%s: %q, want %q", id, refusal.Problem, c.problem)
				}
			}
			unit(t, l, "g", "")
			unit(t, l, "n", "")
		}
	}
	m, _, err := kcp.Parse([]byte(withUnits("id: a, path: a.md")), "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, refusal := (&Loaded{Manifest: m}).Unit(t.Context(), "a"); refusal == nil || refusal.Problem != "manifest has no source; content not loadable" {
		t.Error(refusal)
	}
	t.Chdir("m") // the current directory changes after loading
	l := loaded(t, ".", Options{})
	t.Chdir("..")
	unit(t, l, "a", "")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, refusal := l.Unit(ended, "a"); refusal == nil || refusal.Code != fetch.Cancelled {
		t.Error(refusal)
	}
}

// TestUnitEscapes reads every path that could lead out of the manifest's
// directory, through symbolic links as well.
func TestUnitEscapes(t *testing.T) {
	base := tree(t, map[string]string{"secret": "SECRET", "other/x": "SECRET", "m/in": "in", "m/sub/deep/in": "in"})
	for name, target := range map[string]string{
		"up": "..", "upup": "../..", "abs": base, "file": filepath.Join(base, "secret"), "rel": "../secret", "dots": "sub/../../secret", "one": "two", "two": "../secret",
		"loop": "loop", "slash": "/", "proc": "/proc/self/root", "cwd": "/proc/self/cwd", "twin": "../other", "dev": "/dev/zero", "again": "../m/../secret",
		"sub/up": "../..", "sub/out": "../../secret", "sub/deep/out": "../../../secret",
	} {
		if err := os.Symlink(target, filepath.Join("m", name)); err != nil {
			t.Skip("no symbolic links here")
		}
	}
	paths := []string{
		"../secret", "./../secret", "sub/../../secret", "sub/deep/../../../secret", "..", "../", "../..", "../../../../etc/passwd", "/etc/passwd", "//etc/passwd",
		base + "/secret", "/", "sub//../../secret", "../other/x", ".././secret", "..//secret", "in/../../secret", "missing/../../secret",
		"up/secret", "upup/etc/passwd", "abs/secret", "file", "rel", "dots", "one", "two", "loop", "slash/etc/passwd", "proc/etc/passwd", "cwd/secret", "twin/x", "dev", "again",
		"sub/up/secret", "sub/out", "sub/deep/out", "slash/dev/zero", "up/m/../secret",
		"%2e%2e/secret", "..%2fsecret", "%2e%2e%2fsecret", "..%252fsecret", "%252e%252e/secret", ".%2e/secret", "%2E%2E/secret", "..%5csecret", "%2fetc%2fpasswd", "sub%2f..%2f..%2fsecret",
		"%25252e%25252e/secret", "%2525252525252e./x", `..\secret`, `sub\..\..\secret`, `C:\secret`, `C:secret`, `C:/secret`, `\\server\share`, `\secret`, `\\?\C:\x`, `\\.\pipe\x`, `..\/secret`, `.\..\secret`,
		"file:///etc/passwd", "file:/etc/passwd", "https://x.test/y", "http:x", "data:,x", "FILE:///etc/passwd", "javascript:x", "x-y+z.1:x", "CON", "NUL.txt", "in::$DATA", "in:stream", "in.", "in ",
		"..\u2215secret", "\uff0e\uff0e/secret", "..\uff0fsecret", "~/.ssh/x", "$HOME/x", "in\x00", "../secret\x00.md", "a\nb", "in\r", "\x1b]0;x", "\u0085x", "sub", ".", "./", "in/x", "in/",
	}
	var blocks []string
	for i, p := range paths {
		blocks = append(blocks, fmt.Sprintf("id: u%d, path: %s", i, yamlText(p)))
	}
	write(t, "m/knowledge.yaml", withUnits(blocks...))
	for _, o := range []Options{{}, {Root: "."}, {Root: "m"}} {
		l := loaded(t, "m", o)
		for i, p := range paths {
			if l.Manifest.Units[i].Path != p {
				t.Fatalf("%q is read as %q", p, l.Manifest.Units[i].Path)
			}
			u, refusal := l.Unit(t.Context(), fmt.Sprintf("u%d", i))
			if refusal == nil {
				t.Errorf("%q: read %q", p, u.Bytes)
				continue
			}
			switch refusal.Code {
			case UnsafePath, fetch.Outside, fetch.NotFound, fetch.NotRegular, fetch.Unreadable:
			default:
				t.Errorf("%q: %+v", p, refusal)
			}
		}
	}
	t.Logf("%d paths", len(paths))
}

// yamlText quotes any text for YAML.
func yamlText(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ' || 0x7f <= r && r < 0xa0:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

// TestDirectorySwapped replaces the manifest's own directory after it was read.
func TestDirectorySwapped(t *testing.T) {
	tree(t, map[string]string{"secrets/a.md": "SECRET", "root/m/knowledge.yaml": withUnits("id: a, path: a.md"), "root/m/a.md": "A"})
	l := loaded(t, "root/m", Options{Root: "root"})
	if err := os.RemoveAll("root/m"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../secrets", "root/m"); err != nil {
		t.Skip("no symbolic links here")
	}
	unit(t, l, "a", fetch.Outside)
}

func TestContentHash(t *testing.T) {
	sum384, sum512 := sha512.Sum384([]byte("hello\n")), sha512.Sum512([]byte("hello\n"))
	const sum256 = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
	hash := func(id, fields string) string { return "id: " + id + ", path: f, content_hash: " + fields }
	tree(t, map[string]string{"f": "hello\n", "d/x": "x", "d/y/z": "z", "knowledge.yaml": withUnits(
		hash("good256", "{algorithm: sha256, value: "+sum256+"}"),
		hash("good384", "{algorithm: sha384, value: "+hex.EncodeToString(sum384[:])+"}"),
		hash("good512", "{algorithm: sha512, value: "+hex.EncodeToString(sum512[:])+"}"),
		hash("capitals", "{algorithm: sha256, value: "+strings.ToUpper(sum256)+"}"),
		hash("other", "{algorithm: sha256, value: '"+strings.Repeat("0", 64)+"'}"),
		hash("flipped", "{algorithm: sha256, value: "+sum256[:63]+"4}"),
		hash("short", "{algorithm: sha256, value: "+sum256[:62]+"}"),
		hash("md5", "{algorithm: md5, value: b1946ac92492d2347c6235b4d2611184}"),
		hash("noalgorithm", "{value: "+sum256+"}"),
		hash("novalue", "{algorithm: sha256}"),
		hash("nothex", "{algorithm: sha256, value: zz}"),
		hash("scalar", sum256),
		hash("list", "[sha256, "+sum256+"]"),
		hash("empty", "{}"),
		"id: dir, path: d", "id: out, path: ../f")})
	l := loaded(t, ".", Options{})
	for id, code := range map[string]fetch.Code{
		"good256": "", "good384": "", "good512": "", "capitals": "", "other": fetch.HashMismatch, "flipped": fetch.HashMismatch, "short": fetch.BadHash, "md5": fetch.BadHash,
		"noalgorithm": fetch.BadHash, "novalue": fetch.BadHash, "nothex": fetch.BadHash, "scalar": fetch.BadHash, "list": fetch.BadHash, "empty": fetch.BadHash,
	} {
		unit(t, l, id, code)
	}
	if sum, refusal := l.ContentHash(t.Context(), "good256", "sha256"); refusal != nil || sum != sum256 {
		t.Error(sum, refusal)
	}
	if sum, refusal := l.ContentHash(t.Context(), "dir", "sha256"); refusal != nil || len(sum) != 64 {
		t.Error(sum, refusal)
	}
	for id, algorithm := range map[string]string{"dir": "md5", "out": "sha256", "none": "sha256"} {
		if sum, refusal := l.ContentHash(t.Context(), id, algorithm); refusal == nil {
			t.Error(id, sum)
		}
	}
	write(t, "f", "hello!\n") // changed after loading
	unit(t, l, "good256", fetch.HashMismatch)
}

func BenchmarkUnit(b *testing.B) {
	dir := b.TempDir()
	write(b, filepath.Join(dir, "knowledge.yaml"), withUnits("id: a, path: a.md"))
	write(b, filepath.Join(dir, "a.md"), strings.Repeat("x", 4096))
	l, err := Manifest(b.Context(), dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, refusal := l.Unit(b.Context(), "a"); refusal != nil {
			b.Fatal(refusal)
		}
	}
}
