// Package ground decides whether an answer rests on what was loaded, and how sure
// one may be of it.
//
// [SplitClaims] cuts an answer into claims, a model judges each, [ParseVerdict]
// reads its reply, and [Adjudicate] turns the verdicts into a [Grounding]: a
// claim is grounded only by a unit that was really loaded. What stays open seeds
// another round with [SeedTerms]; every term that a model proposes, also those of
// [ParseCritique], passes [GateTerms] first. [Assess] is the confidence gate.
//
// The package is pure. It asks no model itself; replies come in as text, and
// whatever cannot be read counts against the answer.
package ground

import (
	"strings"
	"unicode"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/match"
)

// MaxGaps is the number of gaps that a [Grounding] lists; it counts the others.
const MaxGaps = 20

// The states of a [Grounding].
const (
	StatusGrounded           = "grounded"            // no claim is open, also for an empty answer
	StatusPartialUnsupported = "partial-unsupported" // at least one claim has no unit behind it
)

// Unit is a loaded unit as far as grounding needs it.
type Unit struct {
	ID     string
	SHA256 string // of the loaded bytes, bare hexadecimal
}

// Verdict is a verifier's opinion on one claim.
type Verdict struct {
	SupportedBy string // id of the supporting unit; empty when there is none
	Note        string
}

// Claim is one claim of an answer and what became of it.
type Claim struct {
	Claim    string                    `json:"claim"`
	Grounded bool                      `json:"grounded"`
	UnitID   artifact.Optional[string] `json:"unitId,omitzero"` // only when grounded
	SHA256   artifact.Optional[string] `json:"sha256,omitzero"` // only when grounded
	Reason   artifact.Optional[string] `json:"reason,omitzero"` // only when not grounded
}

// Gap is a claim that no loaded unit supports.
type Gap struct {
	Claim  string `json:"claim"`
	Reason string `json:"reason"`
}

// Grounding says for each claim of an answer which unit supports it. Its JSON
// has the members and order of the reference agent's artifacts.
type Grounding struct {
	Status        string  `json:"status"` // StatusGrounded or StatusPartialUnsupported
	Claims        []Claim `json:"claims"` // all, in the order of the answer
	Grounded      []Claim `json:"grounded"`
	Gaps          []Gap   `json:"gaps"`          // at most MaxGaps
	GapsTruncated int     `json:"gapsTruncated"` // gaps beyond MaxGaps
}

// SplitClaims cuts an answer at white space that follows a full stop, an
// exclamation or a question mark, and at newlines. It is blunt on purpose: an
// abbreviation makes two claims, but no text escapes judgement.
func SplitClaims(answer string) []string {
	var claims []string
	start, previous := 0, rune(0)
	for i, r := range answer {
		if r == '\n' || isSpace(r) && (previous == '.' || previous == '!' || previous == '?') {
			claims = appendClaim(claims, answer[start:i])
			start = i
		}
		previous = r
	}
	return appendClaim(claims, answer[start:])
}

func appendClaim(claims []string, text string) []string {
	if text = trimSpace(text); text != "" {
		claims = append(claims, text)
	}
	return claims
}

// Adjudicate compares the verdicts, one for each claim in order, with the units
// that were loaded. A claim without a verdict, or whose verdict names a unit that
// was not loaded, is a gap. Of units with the same id the last counts.
func Adjudicate(claims []string, verdicts []Verdict, loaded []Unit) Grounding {
	digests := make(map[string]string, len(loaded))
	for _, u := range loaded {
		digests[u.ID] = u.SHA256
	}
	g := Grounding{Status: StatusGrounded}
	for i, text := range claims {
		var verdict Verdict
		if i < len(verdicts) {
			verdict = verdicts[i]
		}
		claim := adjudicate(text, verdict, digests)
		g.Claims = append(g.Claims, claim)
		switch {
		case claim.Grounded:
			g.Grounded = append(g.Grounded, claim)
		case len(g.Gaps) < MaxGaps:
			g.Gaps = append(g.Gaps, Gap{Claim: text, Reason: claim.Reason.Value})
		default:
			g.GapsTruncated++
		}
	}
	if len(g.Gaps) > 0 {
		g.Status = StatusPartialUnsupported
	}
	return g
}

func adjudicate(text string, v Verdict, digests map[string]string) Claim {
	if v.SupportedBy == "" {
		reason := "no loaded unit supports this claim"
		if v.Note != "" {
			reason = "unsupported: " + v.Note
		}
		return Claim{Claim: text, Reason: artifact.Some(reason)}
	}
	digest, ok := digests[v.SupportedBy]
	if !ok {
		reason := "verifier cited unit '" + v.SupportedBy + "' that was not loaded — fail-closed"
		return Claim{Claim: text, Reason: artifact.Some(reason)}
	}
	return Claim{Claim: text, Grounded: true, UnitID: artifact.Some(v.SupportedBy), SHA256: artifact.Some(digest)}
}

// SeedTerms gives the words of the claims that are not grounded, as [match.Terms]
// reads them: the proposals for another round, for [GateTerms] to judge.
func SeedTerms(g Grounding) []string {
	var open []string
	for _, claim := range g.Claims {
		if !claim.Grounded {
			open = append(open, claim.Claim)
		}
	}
	return match.Terms(strings.Join(open, " "))
}

// isSpace is ECMAScript's white space, which knows the byte order mark but not
// U+0085.
func isSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', '\u2028', '\u2029', '\ufeff':
		return true
	}
	return unicode.Is(unicode.Zs, r)
}

func trimSpace(s string) string { return strings.TrimFunc(s, isSpace) }
