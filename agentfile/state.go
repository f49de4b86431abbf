package agentfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/graph"
)

// State gives the initial state for an input: the members of the input over those
// of initial. The error names every violation with its place in the input, or in
// the agent file where initial is to blame.
func (a *Agent) State(input *artifact.Document) (artifact.Value, error) {
	v := input.Value()
	if v.Kind() != artifact.KindObject {
		return artifact.Value{}, refuseInput(input, "", "the input is of type %s, and must be an object", v.Kind())
	}
	if a.Input != nil {
		refused := &artifact.DocumentError{Source: input.Source()}
		for _, x := range a.Input.Validate(v) {
			about := x.Pointer
			if about == "" {
				about = "the input"
			}
			refused.Problems = append(refused.Problems, problemAt(input, x.Pointer, about+" "+x.Message))
		}
		if refused.Problems != nil {
			return artifact.Value{}, refused
		}
	}
	state := a.Initial
	for _, m := range v.Members() {
		state = state.With(m.Name, m.Value)
	}
	if err := a.Schema.Validate(state); err != nil {
		return artifact.Value{}, a.misfit(input, state, err)
	}
	return state, nil
}

func problemAt(doc *artifact.Document, pointer, text string) artifact.Problem {
	line, column := doc.Position(pointer)
	return artifact.Problem{Pointer: pointer, Line: line, Column: column, Text: text}
}

func refuseInput(doc *artifact.Document, pointer, format string, args ...any) error {
	return &artifact.DocumentError{Source: doc.Source(), Problems: []artifact.Problem{problemAt(doc, pointer, fmt.Sprintf(format, args...))}}
}

// misfit says which paths of the state the graph needs otherwise.
func (a *Agent) misfit(input *artifact.Document, state artifact.Value, err error) error {
	in := &artifact.DocumentError{Source: input.Source()}
	initial := &artifact.DocumentError{Source: a.Source}
	note := func(path, text string) {
		if _, ok := graph.Lookup(input.Value(), topOf(path)); !ok {
			if _, ok := graph.Lookup(a.Initial, topOf(path)); ok {
				initial.Problems = append(initial.Problems, problemAt(a.doc, "/initial"+path, text))
				return
			}
		}
		in.Problems = append(in.Problems, problemAt(input, path, text))
	}
	for _, path := range a.Schema.Required {
		if _, ok := graph.Lookup(state, path); !ok {
			note(path, path+" is missing, and the graph needs it")
		}
	}
	for _, path := range artifact.SortedNames(a.Schema.Paths) {
		if v, ok := graph.Lookup(state, path); ok && graph.TypeOf(v) != a.Schema.Paths[path] {
			is, want := strings.ToLower(string(graph.TypeOf(v))), strings.ToLower(string(a.Schema.Paths[path]))
			note(path, path+" is of type "+is+", and the graph needs "+want)
		}
	}
	var errs []error
	for _, document := range []*artifact.DocumentError{in, initial} {
		if document.Problems != nil {
			errs = append(errs, document)
		}
	}
	if errs != nil {
		return errors.Join(errs...)
	}
	return refuseInput(input, "", "the state does not fit the graph: %v", err)
}

// topOf gives the pointer of the member of the state that a path begins with.
func topOf(path string) string {
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			return path[:i]
		}
	}
	return path
}
