package kcp

import "fmt"

// Severity says how bad a finding is.
type Severity string

// The severities. An Error makes a manifest invalid; a Warning does not.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Position is a place in a manifest's text. Line and Column count from 1,
// Column in bytes; the zero value means that no place is known.
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Finding is one thing a publisher should know about a manifest.
type Finding struct {
	Severity Severity
	Code     string   // stable, kebab-case, such as "unit-path-escapes"
	Where    string   // "manifest", "unit 'id'" or "manifest ref 'id'"
	Path     string   // the field, such as "units[3].temporal.valid_until"
	Pos      Position // where Path is in the text
	Message  string
	Hint     string // how to mend it
}

// SyntaxError says why bytes are not one YAML mapping. Its text is
// "SOURCE:LINE:COL: problem".
type SyntaxError struct {
	Source  string
	Pos     Position
	Problem string
}

func (e *SyntaxError) Error() string {
	if e.Pos.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Source, e.Problem)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Source, e.Pos.Line, e.Pos.Column, e.Problem)
}
