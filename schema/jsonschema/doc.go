// Package jsonschema checks values against JSON Schema (draft 2020-12), for
// [schema.Compiler].
//
// Make one with [New], or use the zero [Compiler]. A schema is read whole or not
// at all: an unknown keyword, and a known one that would not be enforced
// (format, contentMediaType, unevaluatedProperties and their like), is an error
// at load that names it and its place. References stay inside the document: #,
// #/$defs/name and other pointers; a URL or a file is refused, so no schema makes
// the program read anything.
//
// # Why no library
//
// Two were measured (Go 1.26, two shared cores, CPU of a process start; that of
// an empty main is 1.0 ms):
//
//	                            process start   binary    one validation
//	santhosh-tekuri v6.0.3      6.9 ms          4.9 MB    4.2 us
//	google/jsonschema-go 0.4.3  1.5 ms          3.3 MB    5.5 us
//	this package                1.2 ms          3.5 MB    0.4 us
//
// (The last row holds package artifact with its YAML reader, which writ has
// anyway.)
//
// The second takes 9007199254740992 for {"const": 9007199254740993}, counts a
// number read exactly as a string, stops at the first error, which it quotes,
// and ends the process by a stack overflow on {"$ref": "#"}. The first judges
// well, but costs six milliseconds in every start of a command that never sees a
// schema, opens file: references unless told otherwise, and orders its errors by
// a map. Neither refuses an unknown keyword. So the evaluator is ours, small and
// closed, and the first library is its judge in the tests: both must agree on
// every case.
package jsonschema

// Limits on schemas and on the work that one validation may cost.
const (
	maxDepth      = 200     // nested evaluations; a deeper value is a violation
	maxWork       = 200_000 // evaluations of a subschema per validation
	maxViolations = 100     // reported for one value
	maxExponent   = 400     // of a number that multipleOf is tested on
)
