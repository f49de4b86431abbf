package keys

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key.pem")
	made, err := CreateFile(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	read, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !read.Equal(made) {
		t.Error("read another key than was made")
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != PrivateMode {
		t.Errorf("mode %04o, want 0600", info.Mode().Perm())
	}
	before, _ := os.ReadFile(path)
	if _, err := CreateFile(path, nil); !errors.Is(err, ErrKeyExist) {
		t.Errorf("second create: %v", err)
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("a refused create changed the file")
	}
}

// TestKeyFileIsPKCS8 reads what was written with another implementation.
func TestKeyFileIsPKCS8(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := WriteFile(path, testKey(7)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		t.Fatal("not PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil || !testKey(7).Equal(parsed) {
		t.Errorf("got %T, %v", parsed, err)
	}
}

func TestCreateFileFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "target"), link); err != nil {
		t.Skip("no symbolic links here")
	}
	if _, err := CreateFile(link, nil); !errors.Is(err, ErrKeyExist) {
		t.Errorf("dangling link: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "target")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a key was written through a link")
	}
}

func TestReadFileRefuses(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	if err := WriteFile(good, testKey(7)); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(good)
	for name, content := range map[string]string{
		"empty":     "",
		"no PEM":    "secret-bytes",
		"other PEM": strings.ReplaceAll(string(text), "PRIVATE", "PUBLIC"),
		"two keys":  string(text) + string(text),
		"cut":       "-----BEGIN PRIVATE KEY-----\nMC4CAQA=\n-----END PRIVATE KEY-----\n",
	} {
		path := filepath.Join(dir, "bad")
		if err := os.WriteFile(path, []byte(content), PrivateMode); err != nil {
			t.Fatal(err)
		}
		_, err := ReadFile(path)
		if !errors.Is(err, ErrKeyFile) {
			t.Errorf("%s: got %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret-bytes") {
			t.Errorf("%s: the error quotes the file", name)
		}
	}
	if _, err := ReadFile(dir); !errors.Is(err, ErrKeyFile) {
		t.Errorf("directory: %v", err)
	}
	if _, err := ReadFile(filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(good, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(good); !errors.Is(err, ErrExposed) {
		t.Errorf("readable by the group: %v", err)
	}
}
