package event

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestScrubberFindsEverySpelling looks for a secret in what programs make of it,
// wherever it stands.
func TestScrubberFindsEverySpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringN(shortestSpelled, 24, 64).Draw(t, "secret")
		before, after := rapid.StringN(0, 5, 16).Draw(t, "before"), rapid.StringN(0, 5, 16).Draw(t, "after")
		whole := before + secret + after
		plain := must(json.Marshal(whole))
		var s Scrubber
		s.Learn(secret)
		for name, text := range map[string]string{
			"as it is": whole, "JSON": string(plain), "query": url.QueryEscape(whole), "path": url.PathEscape(whole),
			"hex": hex.EncodeToString([]byte(whole)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(whole))),
			"base64": base64.StdEncoding.EncodeToString([]byte(whole)), "base64url": base64.RawURLEncoding.EncodeToString([]byte(whole)),
		} {
			if name == "JSON" && strings.ContainsAny(secret, "\u2028\u2029\ufffd\x7f") {
				continue // encoding/json writes these in ways of its own
			}
			if scrubbed := s.Text(text); !strings.Contains(scrubbed, Scrubbed) {
				t.Fatalf("%s: %q is in %q", name, secret, scrubbed)
			}
		}
		if again := s.Text(s.Text(whole)); strings.Contains(again, secret) && !strings.Contains(Scrubbed, secret) {
			t.Fatalf("%q is left in %q", secret, again)
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestScrubberTakesTheLongestFirst(t *testing.T) {
	var s Scrubber
	s.Learn("hunter", "hunter2-hunter2", "")
	if got := s.Text("hunter2-hunter2 hunter x"); got != "[redacted] [redacted] x" {
		t.Error(got)
	}
	if s.Longest() < len("hunter2-hunter2") {
		t.Error(s.Longest())
	}
}
