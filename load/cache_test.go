package load

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/bench/manifests"
	"github.com/writ-dev/writ/fetch"
	"github.com/writ-dev/writ/kcp"
)

// large is a manifest of a little more than the threshold, most of it a comment
// so that it is quick to parse.
var large = sync.OnceValue(func() []byte {
	text := manifests.YAML(200, 1)
	for len(text) <= CacheThreshold {
		text = append(text, "# A line that says nothing about any of the units, only that there is more of it.\n"...)
	}
	return text
})

// cached is a large manifest in a file, and a cache in new directories.
type cached struct {
	t     *testing.T
	dir   string
	file  string
	text  []byte
	cache *Cache
	fresh *Loaded // without a cache
}

func newCached(t *testing.T) *cached { return newCachedOf(t, large()) }

func newCachedOf(t *testing.T, text []byte) *cached {
	c := &cached{t: t, dir: t.TempDir(), text: text}
	c.file = filepath.Join(c.dir, "knowledge.yaml")
	write(t, c.file, string(c.text))
	c.cache = OpenCache(CacheDirs{Entries: filepath.Join(c.dir, "cache", "entries"), Key: filepath.Join(c.dir, "config")})
	c.fresh = c.load(Options{})
	return c
}

func (c *cached) load(o Options) *Loaded {
	c.t.Helper()
	l, err := Manifest(context.Background(), c.file, o)
	if err != nil {
		c.t.Fatal(err)
	}
	return l
}

func (c *cached) entry() string {
	return filepath.Join(c.cache.entries, entryName(artifact.Sum(c.text)))
}

// plant stores another manifest under the digest of the text. Whoever loads it
// has used the cache.
func (c *cached) plant() {
	c.t.Helper()
	m := *c.fresh.Manifest
	m.Project = "planted"
	c.cache.put(c.fresh.Digest, &m, nil)
	if _, err := os.Stat(c.entry()); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cached) usesCache(o Options) bool {
	c.t.Helper()
	o.Cache = c.cache
	l := c.load(o)
	if l.Manifest.Project == "planted" {
		return true
	}
	if !reflect.DeepEqual(l, c.fresh) && !o.NoVerify && !o.RequireSignature && o.TrustKey == "" {
		c.t.Error("the cache changes the result")
	}
	return false
}

func TestCacheGivesWhatParsingGives(t *testing.T) {
	c := newCachedOf(t, manifests.YAML(3900, 2))
	first := c.load(Options{Cache: c.cache})
	if _, ok := c.stored(); !ok {
		t.Fatal("no entry was written")
	}
	second := c.load(Options{Cache: c.cache})
	if !reflect.DeepEqual(first, c.fresh) || !reflect.DeepEqual(second, c.fresh) {
		t.Error("the cache changes the result")
	}
	// The same bytes elsewhere have another source.
	c.file = filepath.Join(c.dir, "elsewhere.yaml")
	write(t, c.file, string(c.text))
	c.fresh = c.load(Options{})
	c.usesCache(Options{})
	c.plant()
	if l := c.load(Options{Cache: c.cache}); l.Manifest.Project != "planted" || l.Manifest.Source != c.file {
		t.Errorf("project %q, source %q", l.Manifest.Project, l.Manifest.Source)
	}
}

// stored gives what the cache holds for the text.
func (c *cached) stored() (*kcp.Manifest, bool) {
	m, _, ok := c.cache.get(c.fresh.Digest, c.text)
	return m, ok
}

func TestCacheFilesArePrivate(t *testing.T) {
	c := newCached(t)
	c.load(Options{Cache: c.cache})
	for name, want := range map[string]os.FileMode{
		c.cache.entries: 0o700 | os.ModeDir,
		c.cache.keys:    0o700 | os.ModeDir,
		c.entry():       0o600,
		filepath.Join(c.cache.keys, cacheKeyName): 0o600,
	} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if !fetch.OwnedAlone(info, 0o077) || info.IsDir() != want.IsDir() {
			t.Errorf("%s has mode %s, want %s", name, info.Mode(), want)
		}
	}
	for _, dir := range []string{c.cache.entries, c.cache.keys} {
		if n := filesIn(t, dir); n != 1 {
			t.Errorf("%s holds %d files, want 1", dir, n)
		}
	}
}

func TestCacheIsNotUsed(t *testing.T) {
	c := newCached(t)
	c.plant()
	if !c.usesCache(Options{}) || !c.usesCache(Options{NoVerify: true}) {
		t.Fatal("the planted entry is not used")
	}
	if c.usesCache(Options{TrustKey: newSigner("pin").public}) {
		t.Error("used with a pin")
	}
	if _, err := Manifest(context.Background(), c.file, Options{RequireSignature: true, Cache: c.cache}); err == nil {
		t.Error("an unsigned manifest is loaded")
	}

	// A verified manifest, with and without the requirement.
	publisher := newSigner("publisher")
	text := append(bytes.Clone(c.text), "signing:\n  signature: k.sig\n  public_key: "+publisher.public+"\n"...)
	write(t, c.file, string(text))
	write(t, filepath.Join(c.dir, "k.sig"), publisher.sign(string(text)))
	c.text, c.fresh = text, c.load(Options{RequireSignature: true})
	c.plant()
	if c.usesCache(Options{RequireSignature: true}) {
		t.Error("used where a signature is required")
	}
	if !c.usesCache(Options{}) {
		t.Error("not used where none is required")
	}
	write(t, filepath.Join(c.dir, "k.sig"), newSigner("stranger").sign(string(text)))
	if _, err := Manifest(context.Background(), c.file, Options{Cache: c.cache}); err == nil {
		t.Error("a cached manifest hides an invalid signature")
	}
}

func TestCacheThreshold(t *testing.T) {
	c := newCached(t)
	for size, want := range map[int]bool{CacheThreshold - 1: false, CacheThreshold: true} {
		text := []byte(small + "#")
		for len(text) < size {
			text = append(text, '#')
		}
		write(t, c.file, string(text))
		c.text, c.fresh = text, c.load(Options{})
		c.load(Options{Cache: c.cache})
		if _, ok := c.stored(); ok != want {
			t.Errorf("%d bytes: cached %t", size, ok)
		}
	}
	write(t, c.file, "project: [")
	if _, err := Manifest(context.Background(), c.file, Options{Cache: c.cache}); err == nil {
		t.Error("no error")
	}
}

func TestCacheOfNobody(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "LocalAppData", "AppData"} {
		t.Setenv(name, "")
	}
	if c := OpenCache(CacheDirs{}); c != nil {
		t.Errorf("a cache in %+v", c)
	}
	home := t.TempDir()
	for _, name := range []string{"HOME", "LocalAppData", "AppData"} {
		t.Setenv(name, home)
	}
	c := OpenCache(CacheDirs{})
	if c == nil || filepath.Base(c.entries) != "manifests" || filepath.Base(c.keys) != "writ" {
		t.Errorf("a cache in %+v", c)
	}
	if list, err := os.ReadDir(home); err != nil || len(list) != 0 {
		t.Errorf("opening a cache writes %v, %v", list, err)
	}
}

// TestCacheWithoutDirectory has nowhere to write, and loads all the same.
func TestCacheWithoutDirectory(t *testing.T) {
	c := newCached(t)
	blocked := filepath.Join(c.dir, "file", "below")
	write(t, filepath.Join(c.dir, "file"), "")
	good := *c.cache
	for _, dirs := range []CacheDirs{
		{Entries: blocked, Key: good.keys},
		{Entries: good.entries, Key: blocked},
		{Entries: filepath.Join(c.dir, "file"), Key: good.keys},
	} {
		c.cache = OpenCache(dirs)
		for range 2 {
			if c.usesCache(Options{}) {
				t.Errorf("a cache in %+v", dirs)
			}
		}
		if _, ok := c.stored(); ok {
			t.Errorf("an entry in %+v", dirs)
		}
	}
}

func TestCacheThatCannotBeWritten(t *testing.T) {
	if os.Geteuid() == 0 || os.PathSeparator != '/' {
		t.Skip("whoever runs this may write everywhere")
	}
	c := newCached(t)
	c.plant()
	for _, dir := range []string{c.cache.entries, c.cache.keys} {
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(dir, 0o700) // so that it can be removed
	}
	if !c.usesCache(Options{}) {
		t.Error("a cache that can only be read is not used")
	}
	c.text = append(bytes.Clone(c.text), "# more\n"...)
	write(t, c.file, string(c.text))
	c.fresh = c.load(Options{})
	if c.usesCache(Options{}) || filesIn(t, c.cache.entries) != 1 {
		t.Error("something was written")
	}
}

func filesIn(t *testing.T, dir string) int {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestCacheWriters shares one new cache among goroutines and processes. Each
// must load what parsing gives, whoever makes the key and whoever writes.
func TestCacheWriters(t *testing.T) {
	c := newCached(t)
	if os.Getenv(sharedCache) != "" {
		t.Skip("this is one of the processes")
	}
	program, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			p := exec.Command(program, "-test.run=^TestCacheProcess$", "-test.v")
			p.Env = append(os.Environ(), sharedCache+"="+c.dir)
			if out, err := p.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	for range 4 {
		all.Go(func() { loadTogether(t, c.dir) })
	}
	all.Wait()
	if _, ok := c.stored(); !ok {
		t.Error("nobody wrote an entry that lasts")
	}
	if n := filesIn(t, c.cache.entries); n != 1 {
		t.Errorf("%d files where one entry should be", n)
	}
}

const sharedCache = "WRIT_TEST_SHARED_CACHE"

func TestCacheProcess(t *testing.T) {
	dir := os.Getenv(sharedCache)
	if dir == "" {
		t.Skip("run by TestCacheWriters")
	}
	loadTogether(t, dir)
}

func loadTogether(t *testing.T, dir string) {
	cache := OpenCache(CacheDirs{Entries: filepath.Join(dir, "cache", "entries"), Key: filepath.Join(dir, "config")})
	file := filepath.Join(dir, "knowledge.yaml")
	fresh, err := Manifest(context.Background(), file, Options{})
	if err != nil {
		t.Error(err)
		return
	}
	for i := range 3 {
		l, err := Manifest(context.Background(), file, Options{Cache: cache})
		if err != nil || !reflect.DeepEqual(l, fresh) {
			t.Errorf("the cache changes the result: %v", err)
		}
		if i%2 == 1 {
			cache.put(l.Digest, l.Manifest, l.Findings) // others read meanwhile
		}
	}
}
