package load

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/fetch"
	"github.com/writ-dev/writ/kcp"
)

// TestBadEntries puts every kind of bad entry in place of a good one. None may
// be used, and all are replaced.
func TestBadEntries(t *testing.T) {
	c := newCached(t)
	c.plant()
	good, err := os.ReadFile(c.entry())
	if err != nil {
		t.Fatal(err)
	}
	key, err := readCacheKey(c.cache.keys)
	if err != nil {
		t.Fatal(err)
	}
	head, ok := newEntryHead(c.fresh.Digest)
	if !ok {
		t.Fatal("this program does not know itself")
	}
	body := good[len(head)+32:]
	reseal := func(h entryHead, key, body []byte) []byte {
		return h.seal(func(b []byte) []byte { return append(b, body...) }, key)
	}
	if !bytes.Equal(reseal(head, key, body), good) {
		t.Fatal("sealing again gives another entry")
	}
	changed := func(b []byte, at int) []byte {
		b = bytes.Clone(b)
		b[at] ^= 0x10
		return b
	}
	bad := map[string][]byte{
		"empty":         {},
		"head only":     good[:len(head)],
		"torn":          good[:len(good)/2],
		"last byte off": good[:len(good)-1],
		"longer":        append(bytes.Clone(good), 0),
		"zeros":         make([]byte, len(good)),
		"foreign key":   reseal(head, changed(key, 5), body),
		"other version": reseal(changed(head, len(entryMagic)-1), key, body),
		"other build":   reseal(changed(head, len(entryMagic)), key, body),
		"other digest":  reseal(changed(head, len(head)-1), key, body),
		"junk, sealed":  reseal(head, key, []byte("junk")),
	}
	for at := 0; at < len(good); at += 1 + len(good)/12 {
		bad[fmt.Sprintf("byte %d flipped", at)] = changed(good, at)
	}
	for name, entry := range bad {
		if err := os.WriteFile(c.entry(), entry, 0o600); err != nil {
			t.Fatal(err)
		}
		if c.usesCache(Options{}) {
			t.Errorf("%s: used", name)
		}
		if m, ok := c.stored(); !ok || m.Project == "planted" {
			t.Errorf("%s: not replaced", name)
		}
	}
}

// TestEntryOfOtherBytes renames a good entry to the digest of another manifest.
func TestEntryOfOtherBytes(t *testing.T) {
	c := newCached(t)
	c.plant()
	old := c.entry()
	c.text = append(bytes.Clone(c.text), "# more\n"...)
	write(t, c.file, string(c.text))
	c.fresh = c.load(Options{})
	if err := os.Rename(old, c.entry()); err != nil {
		t.Fatal(err)
	}
	if c.usesCache(Options{}) {
		t.Error("used")
	}
}

func TestBuildIdentity(t *testing.T) {
	id, ok := buildIdentity()
	if !ok || id == [32]byte{} {
		t.Errorf("%x, %t", id, ok)
	}
	head, _ := newEntryHead(artifact.Sum(nil))
	if want := len(entryMagic) + 32 + 32; len(head) != want {
		t.Errorf("a head of %d bytes, want %d", len(head), want)
	}
}

func TestSymbolicLinksAndModes(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("access lists instead of modes")
	}
	move := func(c *cached, name string) {
		if err := os.Rename(name, name+".real"); err != nil {
			c.t.Fatal(err)
		}
		if err := os.Symlink(name+".real", name); err != nil {
			c.t.Fatal(err)
		}
	}
	mode := func(c *cached, name string, mode os.FileMode) {
		if err := os.Chmod(name, mode); err != nil {
			c.t.Fatal(err)
		}
	}
	key := func(c *cached) string { return filepath.Join(c.cache.keys, cacheKeyName) }
	for name, spoil := range map[string]func(*cached){
		"entries linked":        func(c *cached) { move(c, c.cache.entries) },
		"key directory linked":  func(c *cached) { move(c, c.cache.keys) },
		"key linked":            func(c *cached) { move(c, key(c)) },
		"entries for all":       func(c *cached) { mode(c, c.cache.entries, 0o755) },
		"key directory for all": func(c *cached) { mode(c, c.cache.keys, 0o777) },
		"key for all":           func(c *cached) { mode(c, key(c), 0o644) },
		"entries of another": func(c *cached) {
			if err := os.Chown(c.cache.entries, 12345, -1); err != nil {
				c.t.Skip("only the superuser can give files away")
			}
		},
		"key of another": func(c *cached) {
			if err := os.Chown(key(c), 12345, -1); err != nil {
				c.t.Skip("only the superuser can give files away")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCached(t)
			c.plant()
			spoil(c)
			if c.usesCache(Options{}) {
				t.Error("used")
			}
			if _, ok := c.stored(); ok {
				t.Error("used after a load")
			}
		})
	}
	t.Run("key directory readable", func(t *testing.T) {
		c := newCached(t)
		c.plant()
		mode(c, c.cache.keys, 0o755)
		if !c.usesCache(Options{}) {
			t.Error("not used")
		}
	})
}

// TestDirectoryAsEntry has something that cannot be replaced.
func TestDirectoryAsEntry(t *testing.T) {
	c := newCached(t)
	if err := os.MkdirAll(filepath.Join(c.entry(), "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if c.usesCache(Options{}) {
			t.Error("used")
		}
	}
	if n := filesIn(t, c.cache.entries); n != 1 {
		t.Errorf("%d files where one entry should be", n)
	}
}

func TestCacheKeyIsMadeOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	var all sync.WaitGroup
	keys := make([][]byte, 16)
	for i := range keys {
		all.Go(func() {
			key, err := makeCacheKey(dir)
			if err != nil {
				t.Error(err)
			}
			keys[i] = key
		})
	}
	all.Wait()
	for _, key := range keys {
		if len(key) != cacheKeySize || !bytes.Equal(key, keys[0]) || bytes.Equal(key, make([]byte, cacheKeySize)) {
			t.Fatalf("keys %x", keys)
		}
	}
	if n := filesIn(t, dir); n != 1 {
		t.Errorf("%d files where one key should be", n)
	}
}

func TestDamagedCacheKey(t *testing.T) {
	c := newCached(t)
	c.plant()
	for _, damaged := range []string{"", "short", string(make([]byte, cacheKeySize+1)), string(make([]byte, 1<<20))} {
		write(t, filepath.Join(c.cache.keys, cacheKeyName), damaged)
		if _, err := readCacheKey(c.cache.keys); err != errKeyDamaged {
			t.Errorf("a key of %d bytes: %v", len(damaged), err)
		}
		if c.usesCache(Options{}) {
			t.Errorf("used after a key of %d bytes", len(damaged))
		}
		if _, ok := c.stored(); !ok {
			t.Errorf("a key of %d bytes is not replaced", len(damaged))
		}
	}
}

func TestEvict(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	put := func(name string, age time.Duration, size int) {
		write(t, filepath.Join(dir, name), string(make([]byte, size)))
		if err := os.Chtimes(filepath.Join(dir, name), start, start.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	put("new.manifest", 0, 40)
	put("middle.manifest", time.Minute, 40)
	put("old.manifest", time.Hour, 40)
	put("oldest.manifest", 24*time.Hour, 40)
	put(".new-1", 30*time.Minute, 10)
	put(".new-2", 61*time.Minute, 10)
	put("README", 48*time.Hour, 1000)
	for _, step := range []struct {
		limit int64
		left  string
	}{
		{1000, "[.new-1 README middle.manifest new.manifest old.manifest oldest.manifest]"},
		{130, "[.new-1 README middle.manifest new.manifest old.manifest]"},
		{90, "[.new-1 README middle.manifest new.manifest]"},
		{80, "[README middle.manifest new.manifest]"},
		{1, "[README new.manifest]"},
	} {
		fetch.Evict(root, step.limit, entrySuffix)
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range list {
			names = append(names, e.Name())
		}
		if got := fmt.Sprint(names); got != step.left {
			t.Errorf("limit %d: left %s, want %s", step.limit, got, step.left)
		}
	}
}

// TestNilCache is what a caller without a cache has.
func TestNilCache(t *testing.T) {
	var c *Cache
	c.put(artifact.Digest{}, &kcp.Manifest{}, nil)
	if _, _, ok := c.get(artifact.Digest{}, nil); ok {
		t.Error("a nil cache holds something")
	}
}
