package kcp

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/writ-dev/writ/bench/manifests"
)

// parseWithLibrary parses without the fast reader.
func parseWithLibrary(data []byte, source string) (*Manifest, []Finding, error) {
	limits := Limits{}.withDefaults()
	text, problem := checkInput(data, source, limits.MaxBytes)
	if problem != nil {
		return nil, nil, problem
	}
	d := newDecoder(source, text, limits)
	readLibrary(d, text, doubt{})
	d.m.src = exactText(text, data)
	return d.finish()
}

// parseFast parses without the library reader; read is false where the fast
// reader gives up.
func parseFast(data []byte, source string) (_ *Manifest, _ []Finding, err error, read bool) {
	limits := Limits{}.withDefaults()
	text, problem := checkInput(data, source, limits.MaxBytes)
	if problem != nil {
		return nil, nil, problem, true
	}
	d := newDecoder(source, text, limits)
	if _, read = readFast(d, text); !read {
		return nil, nil, nil, false
	}
	d.m.src = exactText(text, data)
	m, findings, err := d.finish()
	return m, findings, err, true
}

// checkOneModel demands that both readers give the same wherever the fast reader
// reads at all, and reports whether it did. Of several errors the fast reader
// names the first; the library reader sees those of syntax before all others.
func checkOneModel(t testing.TB, name string, data []byte) bool {
	t.Helper()
	fast, fastFindings, fastErr, read := parseFast(data, "f")
	if !read {
		return false
	}
	library, libraryFindings, libraryErr := parseWithLibrary(data, "f")
	switch {
	case (fastErr == nil) != (libraryErr == nil):
		t.Errorf("%s: fast reader says %v, library reader %v\n%q", name, fastErr, libraryErr, clipped(data))
	case fastErr == nil && !reflect.DeepEqual(fast, library):
		t.Errorf("%s: the readers give different models\n%q\n fast %s\n libr %s", name, clipped(data), asJSON(fast), asJSON(library))
	case fastErr == nil && !reflect.DeepEqual(fastFindings, libraryFindings):
		t.Errorf("%s: the readers give different findings\n%q\n fast %+v\n libr %+v", name, clipped(data), fastFindings, libraryFindings)
	}
	return true
}

func clipped(data []byte) string { return string(data[:min(len(data), 2000)]) }

func asJSON(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// TestOneModel runs both readers on every text at hand.
func TestOneModel(t *testing.T) {
	texts := map[string][]byte{}
	for _, units := range []int{1, 10, 2_000} {
		for seed := range uint64(3) {
			texts["generated"+string(rune('a'+seed))+asJSON(units)] = manifests.YAML(units, seed)
		}
	}
	for _, h := range hostile() {
		texts["hostile: "+h.name] = []byte(h.text)
	}
	addFiles(t, texts, filepath.Join("..", "examples"))
	addFiles(t, texts, "testdata")
	root := os.Getenv("WRIT_FIXTURES")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	addFiles(t, texts, root)
	if _, err := os.Stat(root); err == nil {
		for _, file := range []string{"yaml-documents.jsonl", "yaml-scalars.jsonl"} {
			for i, r := range records[struct{ Text string }](t, "vectors", "differential", file) {
				texts[file+asJSON(i+1)] = []byte(r.Text)
			}
		}
		for i, r := range records[struct{ Manifest string }](t, "vectors", "differential", "edge-plans.jsonl") {
			texts["edge-plans.jsonl"+asJSON(i+1)] = []byte(r.Manifest)
		}
	}
	fast := 0
	for name, text := range texts {
		if checkOneModel(t, name, text) {
			fast++
		}
	}
	t.Logf("%d texts, %d of them read by the fast reader", len(texts), fast)
}

// addFiles adds every YAML file below a folder that is there.
func addFiles(t *testing.T, texts map[string][]byte, root string) {
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasSuffix(path, ".yaml") {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Error(err)
			}
			texts[path] = data
		}
		return nil
	})
}

func FuzzParse(f *testing.F) {
	for _, h := range hostile() {
		if len(h.text) < 2_000 {
			f.Add([]byte(h.text))
		}
	}
	f.Add(manifests.YAML(3, 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		checkOneModel(t, "fuzz", data)
		m, findings, err := Parse(data, "f")
		if err != nil {
			if _, ok := err.(*SyntaxError); !ok {
				t.Errorf("error of type %T", err)
			}
			return
		}
		for _, finding := range findings {
			if p := m.Position(finding.Path); finding.Path != "" && p.Line == 0 {
				t.Errorf("no position for %q", finding.Path)
			}
		}
	})
}
