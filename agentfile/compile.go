package agentfile

import (
	"errors"
	"fmt"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
)

// compileGraph compiles one graph and notes where it stands.
func (l *loader) compileGraph(name string, p part, state *graph.Schema) (*graph.Compiled, *graph.Schema) {
	c, findings, err := graph.Compile(p.data, p.source, graph.Options{Expr: l.o.Conditions, Schema: state})
	if err != nil {
		l.problems = append(l.problems, p.at.error(graphError(err, p.source, findings)))
		return nil, nil
	}
	for _, f := range findings {
		x := p.at.problem(f.Pointer, f.Text)
		l.agent.Warnings = append(l.agent.Warnings, Warning{p.at.doc.Source(), x.Line, x.Column, x.Text})
	}
	if c.Schema == nil {
		if !l.stated {
			l.refuse(p.at, "", "the graph does not declare its state; give the agent file a state schema")
		}
		return nil, nil
	}
	l.graphs = append(l.graphs, placedGraph{name, c, p.at})
	return c, c.Schema
}

// graphError gives what is wrong with a graph. An error of version 1 has no place;
// the findings say the same, and where.
func graphError(err error, source string, findings []graph.Finding) error {
	var document *artifact.DocumentError
	if errors.As(err, &document) {
		return err
	}
	document = &artifact.DocumentError{Source: source}
	for _, f := range findings {
		if f.Severity == graph.Error {
			document.Problems = append(document.Problems, artifact.Problem{Pointer: f.Pointer, Line: f.Line, Column: f.Column, Text: f.Text})
		}
	}
	if document.Problems == nil {
		return err
	}
	return document
}

func (l *loader) refuse(at place, pointer, format string, args ...any) {
	l.problems = append(l.problems, &artifact.DocumentError{
		Source: at.doc.Source(), Problems: []artifact.Problem{at.problem(pointer, fmt.Sprintf(format, args...))},
	})
}

// compilePack reads the pack and makes the policy of it.
func (l *loader) compilePack(p part, agent string) {
	pack, err := policy.ReadPack(p.data, p.source)
	if err != nil {
		l.problems = append(l.problems, p.at.error(err))
		return
	}
	o := policy.Options{Agent: agent, Host: l.o.Host, Conditions: l.o.Conditions, Schemas: l.o.Schemas}
	compiled, findings, err := policy.Compile(pack, o)
	if err != nil {
		l.problems = append(l.problems, p.at.error(err))
		return
	}
	for _, f := range findings {
		x := p.at.problem(f.Pointer, f.Text)
		l.agent.Warnings = append(l.agent.Warnings, Warning{p.at.doc.Source(), x.Line, x.Column, x.Text})
	}
	l.agent.Policy = compiled
}
