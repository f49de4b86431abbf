package keys

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// speccheck is what we answer to the cases of "Taming the many EdDSAs" (Chalkias,
// Garillot, Nikolaenko, 2020), in their order. A is the key, R and S are the
// halves of the signature, L is the order of the group.
var speccheck = []struct {
	name string
	key  error // what ImportPublic says about A
	want bool
}{
	{"A and R of small order, S = 0", ErrSmallOrder, false},
	{"A of small order, R mixed", ErrSmallOrder, false},
	{"A mixed, R of small order", nil, false},
	{"A and R mixed", nil, true},
	{"A and R mixed, holds only after multiplication by the cofactor", nil, false},
	{"A mixed, holds only after multiplication by the cofactor", nil, false},
	{"S above L", nil, false},
	{"S far above L", nil, false},
	{"R of small order and not canonical, hashed as sent", nil, false},
	{"R of small order and not canonical, hashed reduced", nil, false},
}

func TestSpeccheck(t *testing.T) {
	root := os.Getenv("WRIT_FIXTURES")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	data, err := os.ReadFile(filepath.Join(root, "vectors", "ed25519-speccheck.json"))
	if err != nil {
		t.Skipf("no shared fixtures in %s; set WRIT_FIXTURES to their folder", root)
	}
	var cases []struct {
		Message, Signature string
		Key                string `json:"pub_key"`
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) != len(speccheck) {
		t.Fatalf("%d cases, want %d", len(cases), len(speccheck))
	}
	for i, want := range speccheck {
		key, message, sig := unhex(t, cases[i].Key), unhex(t, cases[i].Message), unhex(t, cases[i].Signature)
		if _, err := ImportPublic(key); !errors.Is(err, want.key) {
			t.Errorf("case %d (%s): key %v, want %v", i, want.name, err, want.key)
		}
		if got := Verify(key, message, sig); got != want.want {
			t.Errorf("case %d (%s): %v, want %v", i, want.name, got, want.want)
		}
	}
}

// The first two tests of RFC 8032 section 7.1.
func TestVerifyRFC8032(t *testing.T) {
	for _, test := range []struct{ key, message, sig string }{
		{
			"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
			"e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
		},
		{
			"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
			"92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
		},
	} {
		key, message, sig := unhex(t, test.key), unhex(t, test.message), unhex(t, test.sig)
		if !Verify(key, message, sig) {
			t.Errorf("key %s: not verified", test.key)
		}
		if Verify(key, message, plusOrder(sig)) {
			t.Errorf("key %s: S + L verifies too", test.key)
		}
		if Verify(key, append(message, 'x'), sig) || Verify(key, message, sig[:63]) || Verify(key[:31], message, sig) {
			t.Errorf("key %s: something else verifies too", test.key)
		}
	}
}

// plusOrder adds the order of the group to S, which changes nothing for a
// verifier that does not look.
func plusOrder(sig []byte) []byte {
	order, _ := new(big.Int).SetString("1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed", 16)
	s := slices.Clone(sig[32:])
	slices.Reverse(s)
	sum := new(big.Int).Add(new(big.Int).SetBytes(s), order).FillBytes(make([]byte, 32))
	slices.Reverse(sum)
	return append(slices.Clone(sig[:32]), sum...)
}

func TestImportPublicRefuses(t *testing.T) {
	ff := strings.Repeat("ff", 30)
	zero := strings.Repeat("00", 30)
	for encoded, want := range map[string]error{
		// The eight points whose order divides 8.
		"01" + zero + "00": ErrSmallOrder,
		"ec" + ff + "7f":   ErrSmallOrder,
		"00" + zero + "00": ErrSmallOrder,
		"00" + zero + "80": ErrSmallOrder,
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a": ErrSmallOrder,
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa": ErrSmallOrder,
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05": ErrSmallOrder,
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85": ErrSmallOrder,
		// Other encodings of some of them.
		"01" + zero + "80": ErrSmallOrder,
		"ec" + ff + "ff":   ErrSmallOrder,
		"ed" + ff + "7f":   ErrSmallOrder,
		"ed" + ff + "ff":   ErrSmallOrder,
		"ee" + ff + "7f":   ErrSmallOrder,
		"ee" + ff + "ff":   ErrSmallOrder,
		// y = 3 + p and y = 18 + p, the largest.
		"f0" + ff + "7f": ErrNonCanonical,
		"ff" + ff + "ff": ErrNonCanonical,
		// Lengths and other algorithms.
		"":          ErrLength,
		"00" + zero: ErrLength,
		"302a300506032b656f032100" + "03" + zero + "00": ErrLength,
		"302a300506032b6570032100" + "03" + zero:        ErrLength,
		"302a300506032b6570032100" + "01" + zero + "00": ErrSmallOrder,
	} {
		if _, err := ImportPublic(unhex(t, encoded)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", encoded, err, want)
		}
	}
}

func TestImportPublicCopies(t *testing.T) {
	raw := unhex(t, "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
	key, err := ImportPublic(raw)
	if err != nil {
		t.Fatal(err)
	}
	raw[0]++
	if key.Equal(ed25519.PublicKey(raw)) {
		t.Error("the key shares memory with the input")
	}
}

func TestDecode(t *testing.T) {
	raw := unhex(t, "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
	b64, digits := base64.StdEncoding.EncodeToString(raw), hex.EncodeToString(raw)
	for name, text := range map[string]string{
		"base64":              b64,
		"base64, no padding":  strings.TrimRight(b64, "="),
		"base64, wrapped":     b64[:10] + "\n" + b64[10:] + "\n",
		"base64, text after":  b64 + "AAAA",
		"hex":                 digits,
		"hex, upper case":     strings.ToUpper(digits),
		"hex, grouped":        digits[:32] + " " + digits[32:],
		"PEM":                 "-----BEGIN PUBLIC KEY-----\n" + b64 + "\n-----END PUBLIC KEY-----\n",
		"PEM, text around it": "x\n-----BEGIN A KEY-----\n" + b64 + "\n-----END A KEY-----\ny",
		"PEM on one line":     "-----BEGIN PUBLIC KEY----- " + b64 + " -----END PUBLIC KEY-----",
	} {
		if got, ok := Decode(text); !ok || string(got) != string(raw) {
			t.Errorf("%s: %x %v", name, got, ok)
		}
	}
	for name, text := range map[string]string{
		"empty":             "",
		"blank":             " \n",
		"base64url":         strings.NewReplacer("+", "-", "/", "_").Replace(b64[:42]) + "_",
		"other characters":  "%%%",
		"after the padding": b64 + "%",
		"PEM without end":   "-----BEGIN PUBLIC KEY-----\n" + b64,
	} {
		if got, ok := Decode(text); ok {
			t.Errorf("%s: %x", name, got)
		}
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
