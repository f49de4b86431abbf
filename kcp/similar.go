package kcp

import "strings"

// unitFields are the fields of a unit that a misspelt key may have meant
// (format section 5, with the two that only kcp-agent reads).
var unitFields = []string{
	"id", "aliases", "path", "kind", "load_eligible", "action_scope", "steps", "intent",
	"format", "content_type", "language", "scope", "audience", "license", "validated",
	"update_frequency", "indexing", "depends_on", "supersedes", "triggers", "hints",
	"access", "auth_scope", "sensitivity", "deprecated", "payment", "rate_limits",
	"delegation", "compliance", "auth", "external_depends_on", "requires_capabilities",
	"freshness_policy", "visibility", "authority", "discovery", "content_structure",
	"not_for", "not_for_strict", "content_hash", "temporal", "authority_level", "charter",
	"size_tokens", "bytes",
}

// similarEnough is the similarity from which an unknown key counts as a slip.
const similarEnough = 0.8

// similarUnitField gives the field that an unknown key resembles most, or "". A
// key with the prefix of an extension is never a slip.
func similarUnitField(key string) string {
	if strings.HasPrefix(key, "x-") {
		return ""
	}
	best, bestRatio := "", 0.0
	for _, known := range unitFields {
		// The ratio cannot exceed what the lengths allow.
		shorter, sum := min(len(key), len(known)), len(key)+len(known)
		if 2*float64(shorter) < similarEnough*float64(sum) {
			continue
		}
		if r := similarity(known, key); r >= similarEnough && r > bestRatio {
			best, bestRatio = known, r
		}
	}
	return best
}

// similarity is the ratio of Python's difflib.SequenceMatcher: twice the bytes
// in matching blocks over the length of both.
func similarity(a, b string) float64 {
	if len(a)+len(b) == 0 {
		return 1
	}
	return 2 * float64(matching(a, b)) / float64(len(a)+len(b))
}

// matching counts the bytes of the longest common substring and, recursively,
// of what lies left and right of it. Keys are short: unitFields bounds a, and
// the length check bounds b.
func matching(a, b string) int {
	bestA, bestB, size := 0, 0, 0
	for i := range len(a) {
		for j := range len(b) {
			k := 0
			for i+k < len(a) && j+k < len(b) && a[i+k] == b[j+k] {
				k++
			}
			if k > size {
				bestA, bestB, size = i, j, k
			}
		}
	}
	if size == 0 {
		return 0
	}
	return size + matching(a[:bestA], b[:bestB]) + matching(a[bestA+size:], b[bestB+size:])
}
