package ground

import (
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// ParseVerdict reads a verifier's reply, {"supportedBy": id or null, "note": text},
// with or without a code fence around it. A reply that cannot be read supports
// nothing and says so in its note.
func ParseVerdict(reply string) Verdict {
	v, ok := parseReply(reply)
	if !ok {
		return Verdict{Note: "verifier returned an unparseable verdict"}
	}
	return Verdict{SupportedBy: textOf(v, "supportedBy"), Note: textOf(v, "note")}
}

// ParseScore reads an evaluator's reply, {"score": number, "reasoning": text}, as
// [ParseVerdict] does. A reply that cannot be read scores 0. The score is not
// checked to be in 0..1; [Assess] does that.
func ParseScore(reply string) (score float64, reasoning string) {
	if v, ok := parseReply(reply); ok {
		member, _ := v.Get("score")
		if score, ok := member.Float(); ok {
			return score, textOf(v, "reasoning")
		}
	}
	return 0, "evaluator returned an unparseable verdict"
}

// parseReply reads a reply that is one JSON object, possibly fenced. It is
// stricter than the reference: a repeated member makes the reply unreadable.
func parseReply(reply string) (artifact.Value, bool) {
	const fence = "```"
	text := trimSpace(reply)
	if rest, ok := strings.CutPrefix(text, fence); ok {
		text = rest
		if len(text) >= len("json") && strings.EqualFold(text[:len("json")], "json") {
			text = text[len("json"):]
		}
	}
	text = trimSpace(strings.TrimSuffix(text, fence))
	v, err := artifact.ParseValue([]byte(text))
	return v, err == nil && v.Kind() == artifact.KindObject
}

// textOf gives a member that is a string; "" when it is absent or something else.
func textOf(v artifact.Value, name string) string {
	member, _ := v.Get(name)
	if member.Kind() != artifact.KindString {
		return ""
	}
	return member.Text()
}

// Critique is a critic's proposal of further search terms.
type Critique struct {
	Terms []string // as proposed, for GateTerms to judge
	Note  string
}

// ParseCritique reads a critic's reply, {"terms": [text], "note": text}, from the
// first opening to the last closing brace. A reply that cannot be read proposes
// nothing and says so in its note.
func ParseCritique(reply string) Critique {
	failed := Critique{Note: "critic output was not valid JSON — treated as no proposals"}
	first, last := strings.IndexByte(reply, '{'), strings.LastIndexByte(reply, '}')
	if first < 0 || last < first {
		return failed
	}
	v, err := artifact.ParseValue([]byte(reply[first : last+1]))
	if err != nil {
		return failed
	}
	c := Critique{Note: textOf(v, "note")}
	terms, _ := v.Get("terms")
	for _, term := range terms.Elements() {
		c.Terms = append(c.Terms, asText(term))
	}
	return c
}

// asText is ECMAScript's String(v), so that a proposal which is no string is
// judged, and reported, by its text.
func asText(v artifact.Value) string {
	switch v.Kind() {
	case artifact.KindString:
		return v.Text()
	case artifact.KindNumber:
		x, _ := v.Float() // out of range reads as infinite, as in ECMAScript
		return artifact.FormatNumber(x)
	case artifact.KindObject:
		return "[object Object]"
	case artifact.KindArray:
		parts := make([]string, 0, v.Len())
		for _, e := range v.Elements() {
			if e.IsNull() {
				parts = append(parts, "")
				continue
			}
			parts = append(parts, asText(e))
		}
		return strings.Join(parts, ",")
	}
	return v.String()
}
