// Package schema is what writ needs of JSON Schema, as two small interfaces.
//
// Packs, graphs and ports hold schemas and ask them; none of them knows how a
// schema is checked. The program hands in a [Compiler], which is
// [github.com/writ-dev/writ/schema/jsonschema] in the command and in tests. The
// package is pure, and so are its callers.
package schema

import (
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// Compiler reads schemas.
type Compiler interface {
	// Compile reads one JSON Schema. A schema that cannot be applied in full is
	// refused with an *[Error] that names every problem: a keyword that nobody
	// would check is worse than none, since a reviewer believes in it. A
	// reference that leaves the document is never followed.
	Compile(source artifact.Value) (Schema, error)
}

// Schema is a compiled schema. It is immutable and safe for concurrent use.
type Schema interface {
	// Validate gives every violation: in the order of the document, and for one
	// value in a fixed order of keywords. It is nil when v is valid, and always
	// the same for the same v.
	Validate(v artifact.Value) []Violation
}

// Violation says which value breaks which rule. It never quotes the value, which
// may be a secret.
type Violation struct {
	Pointer string // RFC 6901 pointer of the value; empty for the whole document
	Rule    string // pointer of the keyword inside the schema, such as /properties/q/maxLength
	Message string // what the value must be, such as "must be at most 50"
}

// String gives the pointer and the message.
func (v Violation) String() string {
	if v.Pointer == "" {
		return v.Message
	}
	return v.Pointer + " " + v.Message
}

// Explain gives the violations in one line, at most the first few and the
// number of the others.
func Explain(violations []Violation) string {
	const shown = 3
	var b strings.Builder
	for i, v := range violations {
		if i == shown {
			b.WriteString("; and others")
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(v.String())
	}
	return b.String()
}

// Problem is one reason why a schema cannot be used.
type Problem struct {
	Pointer string // RFC 6901 pointer into the schema
	Message string // what is wrong and what to write instead
}

// Error is every problem of a schema, in the order of the document.
type Error struct {
	Problems []Problem
}

// Error gives all problems in one line.
func (e *Error) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = "schema " + p.Pointer + ": " + p.Message
		if p.Pointer == "" {
			texts[i] = "schema: " + p.Message
		}
	}
	return strings.Join(texts, "; ")
}
