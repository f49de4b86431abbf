package fetch

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCache reads one URL again and again. The server is asked each time, and
// sends its bytes only when they have changed.
func TestCache(t *testing.T) {
	w := newWorld(t)
	w.name("a.test", "8.8.8.8")
	body, tag, modified := "one", `"1"`, ""
	var seen []string
	w.serve("a.test/moved", redirect(302, "/k.yaml"))
	w.serve("a.test/k.yaml", func(rw http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("If-None-Match")+r.Header.Get("If-Modified-Since"))
		if tag != "" {
			rw.Header().Set("ETag", tag)
		}
		if modified != "" {
			rw.Header().Set("Last-Modified", modified)
		}
		if tag != "" && r.Header.Get("If-None-Match") == tag || modified != "" && r.Header.Get("If-Modified-Since") == modified {
			rw.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(rw, body)
	})
	dir := filepath.Join(t.TempDir(), "cache")
	read := func(url, want string, cached bool, asked ...string) {
		t.Helper()
		seen = nil
		r, _ := get(t, w.client(Options{Cache: OpenCache(dir)}), Request{URL: "https://a.test" + url, Text: true}, "")
		if r == nil || string(r.Bytes) != want || r.Cached != cached || !slices.Equal(seen, asked) {
			t.Errorf("%+v, asked %q", r, seen)
		}
	}
	read("/k.yaml", "one", false, "")
	read("/k.yaml", "one", true, `"1"`)
	read("/moved", "one", true, `"1"`)
	body, tag = "two", `W/"2"`
	read("/moved", "two", false, `"1"`)
	read("/k.yaml", "two", true, `W/"2"`)
	tag, modified = "", "Mon, 02 Jan 2006 15:04:05 GMT"
	read("/k.yaml", "two", false, `W/"2"`)
	read("/k.yaml", "two", true, modified)
	read("/k.yaml?other", "two", false, "")
	if r, _ := get(t, w.client(Options{}), Request{URL: "https://a.test/k.yaml"}, ""); r.Cached {
		t.Error("cached without a cache")
	}
	if _, r := get(t, w.client(Options{Cache: OpenCache(dir)}), Request{URL: "https://a.test/k.yaml", MaxBytes: 2}, TooLarge); r.Problem != "response too large: 3 bytes exceeds cap 2" {
		t.Error(r)
	}
	files, _ := os.ReadDir(dir)
	if len(files) != 4 {
		t.Errorf("files %v, want two bodies and two URLs", files)
	}
}

// TestCacheDamaged damages every file in turn. The bytes always come from the
// server then.
func TestCacheDamaged(t *testing.T) {
	w := newWorld(t)
	w.name("a.test", "8.8.8.8")
	w.serve("/", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") != "" {
			rw.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(rw, "good")
	})
	dir := filepath.Join(t.TempDir(), "cache")
	read := func() *Response {
		r, _ := get(t, w.client(Options{Cache: OpenCache(dir)}), Request{URL: "https://a.test/"}, "")
		return r
	}
	read()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 || !read().Cached {
		t.Fatal(files, err)
	}
	for _, f := range files {
		name := filepath.Join(dir, f.Name())
		good, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for what, damage := range map[string]func() error{
			"gone":    func() error { return os.Remove(name) },
			"empty":   func() error { return os.WriteFile(name, nil, 0o600) },
			"changed": func() error { return os.WriteFile(name, []byte(strings.Replace(string(good), "o", "0", 1)), 0o600) },
			"more":    func() error { return os.WriteFile(name, append(slices.Clone(good), 'x'), 0o600) },
			"header": func() error {
				return os.WriteFile(name, []byte(strings.Replace(string(good), `\"1\"`, `\n`, 1)), 0o600)
			},
			"a link": func() error { _ = os.Remove(name); return os.Symlink("/etc/hostname", name) },
		} {
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			damaged, _ := os.ReadFile(name)
			r := read()
			if string(r.Bytes) != "good" || r.Cached && string(damaged) != string(good) {
				t.Errorf("%s %s: %+v", f.Name(), what, r)
			}
			if !read().Cached {
				t.Errorf("%s %s: not written again", f.Name(), what)
			}
		}
	}
	for what, spoil := range map[string]func() error{
		"open to others": func() error { return os.Chmod(dir, 0o755) },
		"a link": func() error {
			_ = os.Rename(dir, dir+"2")
			_ = os.Chmod(dir+"2", 0o700)
			return os.Symlink(dir+"2", dir)
		},
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if r := read(); r.Cached || string(r.Bytes) != "good" {
			t.Errorf("%s: %+v", what, r)
		}
		_ = os.Chmod(dir, 0o700)
	}
}

func TestNotCached(t *testing.T) {
	w := newWorld(t)
	w.name("a.test", "8.8.8.8")
	header := http.Header{}
	w.serve("/", func(rw http.ResponseWriter, _ *http.Request) {
		for name, values := range header {
			rw.Header()[name] = values
		}
		fmt.Fprint(rw, "x")
	})
	for name, h := range map[string]http.Header{
		"no validator": {},
		"no-store":     {"Etag": {`"1"`}, "Cache-Control": {"private, No-Store"}},
		"not ASCII":    {"Etag": {"\"\xff\""}},
		"very long":    {"Etag": {`"` + strings.Repeat("x", 2000) + `"`}},
	} {
		header = h
		dir := filepath.Join(t.TempDir(), "cache")
		get(t, w.client(Options{Cache: OpenCache(dir)}), Request{URL: "https://a.test/"}, "")
		if files, _ := os.ReadDir(dir); len(files) != 0 {
			t.Errorf("%s: %v", name, files)
		}
	}
}
