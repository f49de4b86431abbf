// Package expr is what graphs and packs need of a condition language: an
// interface, and no language. Package expr/cel implements it with CEL; browsers
// and WASI hosts may check documents without one.
//
// A [Compiler] turns a source text into a [Program] once, when a document is
// compiled. The program says what it reads, so that a graph can hold it against
// the declared reads, and is then evaluated over plain values. Implementations
// are deterministic: no clock, no randomness, no map order, and a bounded cost.
package expr

import (
	"fmt"

	"github.com/writ-dev/writ/artifact"
)

// MaxSource is the longest source text, in bytes, that a Compiler accepts.
const MaxSource = 8 << 10

// Type is what is known about a value before evaluation.
type Type uint8

// The types. Any is the zero value: nothing is known.
const (
	Any Type = iota
	Null
	Bool
	Number
	String
	List
	Object
)

func (t Type) String() string {
	return [...]string{"any", "null", "bool", "number", "string", "list", "object"}[t]
}

// Var declares a variable that a source text may name.
type Var struct {
	Name string // letters, digits and _, not beginning with a digit
	Type Type
}

// Compiler compiles source texts.
type Compiler interface {
	// Compile checks source against vars. A problem with the text is an *[Error].
	// The program is safe for concurrent use.
	Compile(source string, vars []Var) (Program, error)
}

// Program is a compiled source text.
type Program interface {
	// Eval gives the value for the variables' values, which stand in the order
	// of Compile's vars. An error says why there is no value: a member that is
	// absent, a wrong type, the cost limit. Objects in the result have their
	// members in the order in which the source builds or the input holds them.
	Eval(values ...artifact.Value) (artifact.Value, error)

	// Type gives what is known about the result.
	Type() Type

	// References lists the parts of the variables on which the result depends:
	// Eval gives the same whatever the rest of the variables holds. They are sorted
	// by variable and path, without duplicates and without any that lies below
	// another one. A program that depends on nothing gives an empty list; nil says
	// that the program cannot tell, and counts as everything.
	References() []Reference
}

// Reference is a part of a variable that a program reads: state.order.id is
// {"state", ["order", "id"]}. The path ends before an index or a name that is
// only known at evaluation, and before a macro's own variables; what follows may
// then be anything below it.
type Reference struct {
	Var  string
	Path []string
}

// Error says why a source text does not compile.
type Error struct {
	Line, Column int // within the source, from 1; the column counts characters
	Problem      string
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Problem)
}
