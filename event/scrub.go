package event

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// Scrubbed stands in a text where a secret stood.
const Scrubbed = "[redacted]"

// Scrubber takes secrets out of texts, however they are spelled: as they are,
// escaped for JSON or a URL, in hex, in base64. The zero value knows none. It is
// for one goroutine.
type Scrubber struct {
	secrets   []string
	spellings []string // longest first, so that a secret that contains another one goes first
	replacer  *strings.Replacer
}

// Learn adds secrets. Empty ones are ignored.
func (s *Scrubber) Learn(secrets ...string) {
	for _, secret := range secrets {
		if secret == "" || slices.Contains(s.secrets, secret) {
			continue
		}
		s.secrets = append(s.secrets, secret)
		for _, text := range spellings(secret) {
			if !slices.Contains(s.spellings, text) {
				s.spellings = append(s.spellings, text)
			}
		}
		s.replacer = nil
	}
}

// Text gives text with [Scrubbed] in the place of every secret.
func (s *Scrubber) Text(text string) string {
	if len(s.spellings) == 0 || text == "" {
		return text
	}
	if s.replacer == nil {
		slices.SortStableFunc(s.spellings, func(a, b string) int { return len(b) - len(a) })
		pairs := make([]string, 0, 2*len(s.spellings))
		for _, text := range s.spellings {
			pairs = append(pairs, text, Scrubbed)
		}
		s.replacer = strings.NewReplacer(pairs...)
	}
	return s.replacer.Replace(text)
}

// Longest gives the length in bytes of the longest text that may be a secret, for
// whoever cuts a text before it is scrubbed.
func (s *Scrubber) Longest() int {
	longest := 0
	for _, text := range s.spellings {
		longest = max(longest, len(text))
	}
	return longest
}

// shortestSpelled is the length in bytes from which other spellings of a secret
// are looked for: those of shorter ones occur by chance.
const shortestSpelled = 6

// spellings gives the ways in which programs write a secret.
func spellings(secret string) []string {
	if len(secret) < shortestSpelled {
		return []string{secret}
	}
	quoted := artifact.AppendString(nil, secret)
	hexed := hex.EncodeToString([]byte(secret))
	list := []string{
		secret, string(quoted[1 : len(quoted)-1]), url.QueryEscape(secret), url.PathEscape(secret), hexed, strings.ToUpper(hexed),
	}
	if html := strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(list[1]); html != list[1] {
		list = append(list, html) // as encoding/json writes it
	}
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		list = append(list, insideBase64(alphabet, secret)...)
	}
	return list
}

// insideBase64 gives how a secret looks in the base64 text of something longer, at
// each of the three places where it may begin: without the characters at its ends
// that its neighbours decide too.
func insideBase64(alphabet *base64.Encoding, secret string) []string {
	list := make([]string, 0, 3)
	for before := range 3 {
		text := alphabet.EncodeToString(append(make([]byte, before), secret...))
		from, to := (8*before+5)/6, 8*(before+len(secret))/6
		list = append(list, text[from:to])
	}
	return list
}
