package keys

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// PrivateMode is the mode of a private key's file.
const PrivateMode fs.FileMode = 0o600

// maxKeyFile is far more than any file that holds one key needs, in bytes.
const maxKeyFile = 16 << 10

// pkcs8Prefix is the DER of a PKCS #8 private key for ed25519 up to the seed (RFC
// 8410 section 7). Spelling it out keeps crypto/x509 out of the binaries that
// only verify.
var pkcs8Prefix = []byte{0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20}

// The reasons why a private key's file is not used. Neither names the content.
var (
	ErrKeyFile  = errors.New("not a private ed25519 key in PKCS #8 PEM")
	ErrExposed  = errors.New("private key file can be read by others: want mode 0600")
	ErrKeyExist = errors.New("key file exists and is not overwritten")
)

// CreateFile draws a key from random, nil being the system's, writes it to path
// (PKCS #8 in PEM, mode 0600) and syncs it. It fails with [ErrKeyExist] where
// anything exists at path, a dangling link included, and leaves no partial file
// behind.
func CreateFile(path string, random io.Reader) (ed25519.PrivateKey, error) {
	if random == nil {
		random = rand.Reader
	}
	var seed [ed25519.SeedSize]byte
	if _, err := io.ReadFull(random, seed[:]); err != nil {
		return nil, fmt.Errorf("generate key: %w", err)
	}
	private := ed25519.NewKeyFromSeed(seed[:])
	if err := WriteFile(path, private); err != nil {
		return nil, err
	}
	return private, nil
}

// WriteFile is [CreateFile] for a key that exists already.
func WriteFile(path string, private ed25519.PrivateKey) (err error) {
	if len(private) != ed25519.PrivateKeySize {
		return fmt.Errorf("write key: %w", ErrKeyFile)
	}
	der := append(bytes.Clone(pkcs8Prefix), private.Seed()...)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, PrivateMode)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s", ErrKeyExist, path)
	}
	if err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			os.Remove(path)
			err = fmt.Errorf("write key: %w", err)
		}
	}()
	if err := pem.Encode(f, &pem.Block{Type: "PRIVATE KEY", Bytes: der}); err != nil {
		return err
	}
	return f.Sync()
}

// ReadFile gives the private key in the file at path. It fails with
// [ErrExposed] where group or others have any access, on systems that have file
// modes, and with [ErrKeyFile] for anything but one PKCS #8 block of ed25519.
func ReadFile(path string) (ed25519.PrivateKey, error) {
	data, err := readPrivate(path)
	if err != nil {
		return nil, err
	}
	block, rest := pem.Decode(data)
	if block == nil || block.Type != "PRIVATE KEY" || len(rest) != 0 {
		return nil, fmt.Errorf("%w: %s", ErrKeyFile, path)
	}
	seed, ok := bytes.CutPrefix(block.Bytes, pkcs8Prefix)
	if !ok || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("%w: %s", ErrKeyFile, path)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// readPrivate checks the file that it has open, not the name: the name may be
// moved to another file in between.
func readPrivate(path string) ([]byte, error) {
	path = filepath.Clean(path)
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // a pipe would wait for somebody
		return nil, fmt.Errorf("%w: %s", ErrKeyFile, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxKeyFile {
		return nil, fmt.Errorf("%w: %s", ErrKeyFile, path)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%w: %s has mode %04o", ErrExposed, path, info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	return data, nil
}
