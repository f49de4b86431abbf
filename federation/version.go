package federation

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// The values of version_policy. What is none of them stands for compatible.
const (
	policyExact   = "exact"
	policyMinimum = "minimum"
)

// checkVersion warns when the manifest that was found, in a mirror or at its
// url, is not of the version that the reference pins (format section 9.1).
func (s *step) checkVersion(node *Node) {
	if s.ref == nil || s.ref.VersionPin.Value == "" {
		return
	}
	pin, found, policy := s.ref.VersionPin.Value, node.Loaded.Manifest.Version, s.ref.VersionPolicy.Value
	if policy != policyExact && policy != policyMinimum {
		policy = "compatible"
	}
	problem := mismatch(found, pin, policy)
	if problem == "" {
		return
	}
	node.warn("version-mismatch", refPlace(s.id), "version_pin",
		"the manifest is version "+quoted(found)+", and the reference pins "+quoted(pin)+" ("+policy+"): "+problem,
		"ask the publisher of the reference to move the pin, or use the version that it names")
}

// mismatch says how a version fails a pin, or nothing.
func mismatch(found, pin, policy string) string {
	have, ok1 := parseVersion(found)
	want, ok2 := parseVersion(pin)
	switch {
	case found == pin:
		return ""
	case !ok1 || !ok2:
		return "they are not both semantic versions"
	case policy == policyExact && have.compare(want) != 0:
		return "it is another version"
	case policy == policyMinimum && have.compare(want) < 0:
		return "it is older"
	case have.numbers[0] != want.numbers[0] && policy != policyExact && policy != policyMinimum:
		return "it is another major version"
	}
	return ""
}

// version is a semantic version without its build metadata, which does not
// count. Missing numbers are zero: manifests write 1 and 1.2 for 1.0.0 and 1.2.0.
type version struct {
	numbers [3]uint64
	pre     []string
}

func parseVersion(text string) (version, bool) {
	var v version
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "v"), "+")
	text, pre, isPre := strings.Cut(text, "-")
	if isPre {
		v.pre = strings.Split(pre, ".")
	}
	parts := strings.Split(text, ".")
	if len(parts) > len(v.numbers) {
		return v, false
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil {
			return v, false
		}
		v.numbers[i] = n
	}
	return v, true
}

// compare orders versions as semver.org section 11 does.
func (v version) compare(other version) int {
	if c := slices.Compare(v.numbers[:], other.numbers[:]); c != 0 {
		return c
	}
	switch {
	case len(v.pre) == 0 || len(other.pre) == 0:
		return cmp.Compare(len(other.pre), len(v.pre)) // a pre-release comes before its release
	}
	return slices.CompareFunc(v.pre, other.pre, compareIdentifiers)
}

func compareIdentifiers(a, b string) int {
	x, err1 := strconv.ParseUint(a, 10, 64)
	y, err2 := strconv.ParseUint(b, 10, 64)
	switch {
	case err1 == nil && err2 == nil:
		return cmp.Compare(x, y)
	case err1 == nil:
		return -1
	case err2 == nil:
		return 1
	}
	return strings.Compare(a, b)
}
