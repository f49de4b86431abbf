// Package artifact is content addressing: the exact JSON text of everything
// writ writes, reads back, hashes or signs.
//
// Call [Encode] to write an artifact for a person or a file and [Decode] to
// read one; both speak typed Go values. Where the shape is not known, or where
// order and number text must survive, use [ParseValue] and [Value]. A digest is
// [Sum] over one of the three canonical forms: [CanonicalKCP] for knowledge
// artifacts and memory ids, [CanonicalRuntime] for graphs, packs, state and
// events, [CanonicalRFC8785] for signed statements. [Wrap] adds the versioned
// envelope.
//
// The package is pure and imports nothing of this module. The text rules are
// those of ECMAScript's JSON.stringify, because artifacts are exchanged with
// implementations in that language.
package artifact

// MaxDepth is the deepest nesting of arrays and objects that a reader accepts
// and a canonical form writes. A document of MaxDepth levels is read, one more
// is refused. The runtime's version 1 documents fix the number, and one limit
// for all readers means that whatever one part wrote another can read.
const MaxDepth = 127
