package graph

import (
	"errors"
	"fmt"
	"slices"

	"github.com/writ-dev/writ/artifact"
)

// Severity says whether a finding refuses a graph.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // the graph is refused
	Warning Severity = "warning" // the graph is accepted, and probably not what was meant
)

// Code names a rule. Codes are stable.
type Code string

// The codes of findings.
const (
	CodeMalformed           Code = "malformed"            // the document cannot be decoded
	CodeUnsupported         Code = "unsupported"          // version, or limits that bound nothing
	CodeDuplicateNode       Code = "duplicate_node"       // two nodes with one id
	CodeUnknownEntry        Code = "unknown_entry"        // the entry is no node
	CodeNoTerminal          Code = "no_terminal"          // nothing ends the run
	CodeDuplicateTransition Code = "duplicate_transition" // two transitions with one id
	CodeUnknownNode         Code = "unknown_node"         // an edge leads from or to no node
	CodeDuplicateRoute      Code = "duplicate_route"      // one route leads to two nodes
	CodeUnreachable         Code = "unreachable_node"     // no path from the entry
	CodeUnboundedCycle      Code = "unbounded_cycle"      // a cycle without a bound
	CodeUndeclaredCycle     Code = "undeclared_cycle"     // version 1: a cycle that no declaration covers
	CodeUnknownMember       Code = "unknown_cycle_member" // version 1: a declared cycle names no node
	CodeOverlappingCycles   Code = "overlapping_cycles"   // version 1: the second declaration is ignored
	CodeNoCycle             Code = "not_a_cycle"          // version 1: the declared nodes form no cycle
	CodeUnreachableTerminal Code = "unreachable_terminal" // no path from a node to an end
	CodeTerminalWithEdges   Code = "terminal_with_edges"  // version 1: a terminal node goes on
	CodeMissingContinue     Code = "missing_continue"     // a node without an ordinary successor
	CodeMalformedPointer    Code = "malformed_pointer"    // reads or writes that can never succeed
	CodeUndeclaredPath      Code = "undeclared_path"      // the schema does not know the path
	CodeOverlappingWrites   Code = "overlapping_writes"   // a node writes a path and a part of it
	CodeSchemaMismatch      Code = "schema_mismatch"      // the schema has another id
	CodeBadExpression       Code = "bad_expression"       // an expression does not compile
	CodeUndeclaredRead      Code = "undeclared_read"      // an expression reads what reads does not name
	CodeNotBoolean          Code = "not_boolean"          // a condition is not true or false
	CodeMissingBound        Code = "missing_bound"        // the route exhausted without max_visits
	CodeNoBudget            Code = "no_budget"            // a model, and limits that allow no token
	CodeBadFork             Code = "bad_fork"             // branches that do not form a region
	CodeBranchConflict      Code = "branch_conflict"      // branches that write the same path
	CodeBranchRead          Code = "branch_read"          // a branch reads what another one writes
	CodeTooMany             Code = "too_many_expressions" // more than a graph may have
)

// Finding is one thing that compilation has to say about a graph.
type Finding struct {
	Severity     Severity
	Code         Code
	Pointer      string // RFC 6901, into the document
	Line, Column int    // from 1; 0 for a graph that was made in Go
	Text         string // what is wrong and what to do
}

// findings collects what is wrong with one document.
type findings struct {
	doc   *artifact.Document
	list  []Finding
	count map[Severity]int
}

// maxFindings bounds the findings of one graph, per severity.
const maxFindings = 200

func (f *findings) report(s Severity, code Code, pointer, format string, args ...any) {
	if f.count == nil {
		f.count = map[Severity]int{}
	}
	if f.count[s]++; f.count[s] > maxFindings {
		return
	}
	line, column := f.doc.Position(pointer)
	f.list = append(f.list, Finding{s, code, pointer, line, column, fmt.Sprintf(format, args...)})
}

func (f *findings) fail(code Code, pointer, format string, args ...any) {
	f.report(Error, code, pointer, format, args...)
}

func (f *findings) warn(code Code, pointer, format string, args ...any) {
	f.report(Warning, code, pointer, format, args...)
}

// sorted gives the findings in the order of the text.
func (f *findings) sorted() []Finding {
	slices.SortStableFunc(f.list, func(a, b Finding) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return f.list
}

// err gives nil or an *[artifact.DocumentError] with the errors.
func (f *findings) err() error {
	var problems []artifact.Problem
	for _, x := range f.sorted() {
		if x.Severity == Error {
			problems = append(problems, artifact.Problem{Pointer: x.Pointer, Line: x.Line, Column: x.Column, Text: x.Text})
		}
	}
	if problems == nil {
		return nil
	}
	return &artifact.DocumentError{Source: f.doc.Source(), Problems: problems}
}

// findingsOf turns a decoding error into findings.
func findingsOf(err error) []Finding {
	var document *artifact.DocumentError
	if !errors.As(err, &document) {
		return nil
	}
	list := make([]Finding, len(document.Problems))
	for i, p := range document.Problems {
		list[i] = Finding{Error, CodeMalformed, p.Pointer, p.Line, p.Column, p.Text}
	}
	return list
}
