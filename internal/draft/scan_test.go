package draft

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func folder(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

// project is the folder of the reference's recorded runs.
var projectFolder = folder(map[string]string{
	"package.json":          `{"name":"cool","version":"2.0.0"}`,
	"README.md":             "# Readme\n",
	"src/parser_util.ts":    "/**\n * Parses the \"input\" files: quickly\n */\nexport {}\n",
	"src/auth/index.ts":     "// login and session handling here\n",
	"src/plain.go":          "package p\n",
	"docs/deploy.md":        "# Deploy guide\n",
	"docs/no-heading.md":    "hi\n",
	"docs/deep/er/page.md":  "---\ntitle: \"Deeper: a page\"\ndescription: How to go deeper\n---\ntext\n",
	"docs/[gone].md":        "# Brackets\n",
	"examples/one/a.js":     "1\n",
	"examples/two.sh":       "1\n",
	"test/a.test.ts":        "1\n",
	"node_modules/x/big.ts": "1\n",
	".hidden/README.md":     "1\n",
})

func TestScan(t *testing.T) {
	d, err := Scan(projectFolder, ScanOptions{Name: "folder", Publisher: `Acme "X"`, Today: today})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "scan.want"), d.Text())
	checkDraft(t, d)
}

// TestScanNames writes names that mean something to YAML, to paths or to
// terminals.
func TestScanNames(t *testing.T) {
	fsys := folder(map[string]string{
		"package.json":          `{"name":"@acme/cool: #1","version":"1.10"}`,
		"docs/yes.md":           "# yes\n",
		"docs/123.md":           "# 1.10\n",
		"docs/a b # c.md":       "# {a: b} # c\n",
		"docs/quote\"it.md":     "# A [link](x.md) and `code` <b>bold</b> &amp; more\n",
		"docs/new\nline.md":     "# Line\n",
		"docs/esc\x1b[31m.md":   "# Escape\n",
		"docs/per%2e%2ecent.md": "# Percent\n",
		"docs/back\\slash.md":   "# Back\n",
		"docs/größe.md":         "# Größe\n",
		"docs/港湾.md":            "# 港湾\n",
		"docs/Same.md":          "# Same\n",
		"docs/same.md":          "# Same again\n",
		"src/null.py":           "\"\"\"Null: the 'empty' value\n\nMore.\n\"\"\"\n",
		"src/licensed.go":       "// Copyright 2026 Acme\n\n// Package licensed gives out licences of boats.\n// It is small.\npackage licensed\n",
		"src/shebang.py":        "#!/usr/bin/env python\n# Count the ships in a harbour\n",
		"src/generated.ts":      "/* eslint-disable */\nexport {}\n",
	})
	d, err := Scan(fsys, ScanOptions{Name: "folder", Today: today})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "scan-names.want"), d.Text())
	checkDraft(t, d)
}

func TestProjectOf(t *testing.T) {
	for _, c := range []struct{ name, file, text, project, version string }{
		{"scoped", "package.json", `{"name":"@acme/cool","version":"1.0.0"}`, "@acme/cool", "1.0.0"},
		{"numbers", "package.json", `{"name":7,"version":1}`, "7", "1"},
		{"no JSON", "package.json", `{"name":`, "", ""},
		{"the right table", "Cargo.toml", "[workspace]\nname = \"no\"\n[package]\nname = \"ship\" # yes\nversion = '0.3.1'\n[[bin]]\nname = \"no\"\n", "ship", "0.3.1"},
		{"python", "pyproject.toml", "[tool.x]\nname = \"no\"\n[project]\nname = \"ship\"\n", "ship", ""},
		{"the project, not its parent", "pom.xml", "<project><parent><artifactId>parent</artifactId><version>9</version></parent><artifactId>ship</artifactId></project>", "ship", "9"},
		{"a property", "pom.xml", "<project><artifactId>ship</artifactId><version>${revision}</version></project>", "ship", ""},
		{"a major version", "go.mod", "// comment\nmodule example.com/ship/v2 // why\n", "ship", ""},
	} {
		if got := projectOf(folder(map[string]string{c.file: c.text})); got != (project{c.project, c.version}) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	both := folder(map[string]string{"package.json": "{}", "go.mod": "module a/b\n"})
	if got := projectOf(both); got.name != "b" {
		t.Errorf("an empty package.json hides the go.mod: %+v", got)
	}
}

func TestScanNothing(t *testing.T) {
	if d, err := Scan(fstest.MapFS{}, ScanOptions{Name: "x"}); err == nil {
		t.Errorf("an empty folder gives %+v", d)
	}
}

// TestScanBounds counts what is beyond the limits instead of writing it.
func TestScanBounds(t *testing.T) {
	fsys := fstest.MapFS{"README.md": {Data: []byte("# r\n")}}
	for i := range 100 {
		fsys["docs/page-"+strings.Repeat("x", i)+".md"] = &fstest.MapFile{Data: []byte("# Page\n")}
	}
	d, err := Scan(fsys, ScanOptions{Name: "p", Today: today})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Units) != maxScanUnits || !strings.Contains(d.Text(), "# 71 more files could be units") {
		t.Errorf("%d units\n%s", len(d.Units), d.Text())
	}
	checkDraft(t, d)
}

// TestScanStaysInside follows links inside the folder and none that leads out.
func TestScanStaysInside(t *testing.T) {
	outside, inside := t.TempDir(), t.TempDir()
	write := func(dir, name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(outside, "secret.md", "# Secret of the harbour\n")
	write(outside, "docs/secret.md", "# Secret of the docs\n")
	write(inside, "README.md", "# r\n")
	write(inside, "pages/real.md", "# A real page\n")
	for link, target := range map[string]string{
		"guides":       filepath.Join(outside, "docs"),
		"docs":         "pages",
		"pages/out.md": filepath.Join(outside, "secret.md"),
		"pages/up.md":  "../../" + filepath.Base(outside) + "/secret.md",
		"broken.md":    "nowhere.md",
		"loop.md":      "loop.md",
	} {
		if err := os.Symlink(target, filepath.Join(inside, link)); err != nil {
			t.Skip(err)
		}
	}
	root, err := os.OpenRoot(inside)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	d, err := Scan(root.FS(), ScanOptions{Name: "p", Today: today})
	if err != nil {
		t.Fatal(err)
	}
	text := d.Text()
	if strings.Contains(text, "Secret") || !strings.Contains(text, `path: "docs/real.md"`) {
		t.Errorf("got\n%s", text)
	}
	for _, name := range []string{"docs/out.md", "docs/up.md", "broken.md", "loop.md"} {
		if !strings.Contains(text, "#   "+name) {
			t.Errorf("nothing is said of %s\n%s", name, text)
		}
	}
}
