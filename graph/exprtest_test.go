package graph

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/expr"
)

// miniCompiler is a condition language for tests: literals, paths such as
// state.a.b, and two of them joined by ==, <, + (numbers) or ++ (texts).
type miniCompiler struct{}

type miniProgram struct {
	left, right miniTerm
	op          string
}

type miniTerm struct {
	literal artifact.Value
	index   int // of the variable, or -1
	ref     expr.Reference
}

func (miniCompiler) Compile(source string, vars []expr.Var) (expr.Program, error) {
	fields := strings.Fields(source)
	if len(fields) != 1 && len(fields) != 3 {
		return nil, &expr.Error{Line: 1, Column: 1, Problem: "want a term, or two with an operator"}
	}
	p := &miniProgram{}
	var err error
	if p.left, err = parseMini(fields[0], vars); err != nil || len(fields) == 1 {
		return p, err
	}
	if p.op = fields[1]; !slices.Contains([]string{"==", "<", "+", "++"}, p.op) {
		return nil, &expr.Error{Line: 1, Column: len(fields[0]) + 2, Problem: "no operator " + p.op}
	}
	p.right, err = parseMini(fields[2], vars)
	return p, err
}

func parseMini(text string, vars []expr.Var) (miniTerm, error) {
	if v, err := artifact.ParseValue([]byte(strings.ReplaceAll(text, "'", `"`))); err == nil {
		return miniTerm{literal: v, index: -1}, nil
	}
	path := strings.Split(text, ".")
	for i, v := range vars {
		if v.Name == path[0] {
			return miniTerm{index: i, ref: expr.Reference{Var: path[0], Path: path[1:]}}, nil
		}
	}
	return miniTerm{}, &expr.Error{Line: 1, Column: 1, Problem: fmt.Sprintf("no variable %q", path[0])}
}

func (p *miniProgram) Type() expr.Type {
	switch {
	case p.op == "==" || p.op == "<":
		return expr.Bool
	case p.op == "+":
		return expr.Number
	case p.op == "++":
		return expr.String
	case p.left.index < 0:
		return [...]expr.Type{expr.Null, expr.Bool, expr.Number, expr.String, expr.List, expr.Object}[p.left.literal.Kind()]
	}
	return expr.Any
}

func (p *miniProgram) References() []expr.Reference {
	refs := []expr.Reference{}
	for _, t := range []miniTerm{p.left, p.right} {
		if t.ref.Var != "" {
			refs = append(refs, t.ref)
		}
	}
	return refs
}

func (p *miniProgram) Eval(values ...artifact.Value) (artifact.Value, error) {
	a, err := p.left.eval(values)
	if err != nil || p.op == "" {
		return a, err
	}
	b, err := p.right.eval(values)
	if err != nil {
		return b, err
	}
	x, _ := a.Float()
	y, _ := b.Float()
	switch p.op {
	case "==":
		return artifact.BoolValue(a.Equal(b)), nil
	case "<":
		return artifact.BoolValue(x < y), nil
	case "++":
		return artifact.StringValue(a.Text() + b.Text()), nil
	}
	return artifact.NumberValue(strconv.FormatFloat(x+y, 'f', -1, 64))
}

func (t miniTerm) eval(values []artifact.Value) (artifact.Value, error) {
	if t.index < 0 {
		return t.literal, nil
	}
	v := values[t.index]
	for _, name := range t.ref.Path {
		next, ok := v.Get(name)
		if !ok {
			return v, fmt.Errorf("no member %q", name)
		}
		v = next
	}
	return v, nil
}
