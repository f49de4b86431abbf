package kcp

// Limits on what a manifest may cost. A manifest beyond one of them is refused
// with a [SyntaxError] that names the limit; nothing is cut short silently,
// except the list of findings, which then says so.
const (
	// DefaultMaxBytes is the largest manifest that Parse reads. The limit of the
	// HTTP reader is lower.
	DefaultMaxBytes = 64 << 20

	// DefaultMaxUnits bounds the units of one manifest.
	DefaultMaxUnits = 500_000

	// A mapping in a list costs hundreds of bytes of memory however short it is,
	// so a text may have freeItems of them and one more for each itemBytes bytes;
	// a unit counts for unitItems. Real entries are several times as long.
	freeItems = 20_000
	itemBytes = 16
	unitItems = 2

	// maxDepth is the deepest nesting of collections and scalars, as in the
	// reference's YAML reader. It bounds every recursion in this package.
	maxDepth = 100

	// maxNodes bounds the YAML nodes that are in memory at one time. The library
	// spends some 130 bytes on each, the fast reader 48.
	maxNodes = 6_000_000

	// maxMergedKeys bounds the keys that "<<" brings in over the whole manifest,
	// as in the reference's YAML reader.
	maxMergedKeys = 10_000

	// maxAliasVisits bounds the values that are read again through aliases, and
	// every stretch of aliasTextUnit bytes of text made from them.
	maxAliasVisits = 1_000_000
	aliasTextUnit  = 64

	// maxKeyBytes is the longest key that stands before its colon on one line
	// (YAML 1.2, section 7.4, where it counts characters).
	maxKeyBytes = 1024

	// maxFindings bounds the findings of Parse.
	maxFindings = 1_000
)

// Limits are the bounds that a caller may move. Zero stands for the default.
type Limits struct {
	MaxBytes int
	MaxUnits int
}

func (l Limits) withDefaults() Limits {
	if l.MaxBytes == 0 {
		l.MaxBytes = DefaultMaxBytes
	}
	if l.MaxUnits == 0 {
		l.MaxUnits = DefaultMaxUnits
	}
	return l
}
