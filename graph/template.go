package graph

import (
	"errors"
	"fmt"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/expr"
)

// A template is any JSON value in which a text that begins with = stands for the
// value of the expression behind it. Expressions see three variables:
//
//	state   what the node reads of the state, as an object
//	visit   how often the run has come to this node, counting from 1
//	result  what the node's work gave; only in set and cases
//
// args, show, key and until are evaluated before the work, on the state as the
// node finds it; set after it, all on that same state; cases last, on the state
// that set has made.

// The variables, before and after a node's work.
var (
	varsBefore = []expr.Var{{Name: "state", Type: expr.Object}, {Name: "visit", Type: expr.Number}}
	varsAfter  = append(varsBefore[:2:2], expr.Var{Name: "result"})
)

// ErrNoCompiler is the error of evaluating a graph that was compiled without an
// [expr.Compiler].
var ErrNoCompiler = errors.New("graph was compiled without a condition language")

// Scope is what expressions are evaluated on.
type Scope struct {
	State  artifact.Value // the whole state; expressions see what the node reads
	Result artifact.Value // of the node's work; null before it
	Visit  uint64         // from 1
}

// programs are the compiled expressions of one node, by source text.
type programs map[string]program

// program is a compiled expression and what its value depends on.
type program struct {
	expr.Program
	flow Flow // without a pointer
}

// expression gives the source text of a template's text.
func expression(v artifact.Value) (source string, ok bool) {
	if v.Kind() != artifact.KindString {
		return "", false
	}
	return strings.CutPrefix(v.Text(), "=")
}

// walkTemplate calls visit for every expression below v, with its pointer.
func walkTemplate(v artifact.Value, pointer string, visit func(pointer, source string)) {
	if source, ok := expression(v); ok {
		visit(pointer, source)
		return
	}
	for i, e := range v.Elements() {
		walkTemplate(e, fmt.Sprintf("%s/%d", pointer, i), visit)
	}
	for _, m := range v.Members() {
		walkTemplate(m.Value, artifact.PointerTo(pointer, m.Name), visit)
	}
}

// evalTemplate fills in the expressions of a template. The result is canonical.
func (p programs) evalTemplate(v artifact.Value, values []artifact.Value) (artifact.Value, error) {
	filled, err := p.fill(v, values)
	if err != nil {
		return artifact.Value{}, err
	}
	return artifact.CanonicalValue(filled)
}

func (p programs) fill(v artifact.Value, values []artifact.Value) (artifact.Value, error) {
	if source, ok := expression(v); ok {
		return p.eval(source, values)
	}
	switch v.Kind() {
	case artifact.KindArray:
		list := make([]artifact.Value, v.Len())
		for i, e := range v.Elements() {
			var err error
			if list[i], err = p.fill(e, values); err != nil {
				return v, err
			}
		}
		return artifact.ArrayValue(list...), nil
	case artifact.KindObject:
		members := make([]artifact.Member, v.Len())
		for i, m := range v.Members() {
			value, err := p.fill(m.Value, values)
			if err != nil {
				return v, err
			}
			members[i] = member(m.Name, value)
		}
		return artifact.ObjectValue(members...), nil
	}
	return v, nil
}

func (p programs) eval(source string, values []artifact.Value) (artifact.Value, error) {
	program, ok := p[source]
	if !ok {
		return artifact.Value{}, ErrNoCompiler
	}
	v, err := program.Eval(values...)
	if err != nil {
		return v, fmt.Errorf("expression %.80q: %w", source, err)
	}
	return v, nil
}

func (n *Node) before(s Scope) []artifact.Value {
	return []artifact.Value{Project(s.State, n.Reads), artifact.UintValue(s.Visit)}
}

// EvalArgs gives what the node works on: see Args of [NodeDefinition].
func (n *Node) EvalArgs(s Scope) (artifact.Value, error) {
	return n.programsBefore.evalTemplate(n.Args, n.before(s))
}

// PlannedArgs gives as much of the arguments as is known before a run, and the
// pointers of what is not: the values of expressions, "" when that is all of them.
// Texts of expressions stand in their place.
func (n *Node) PlannedArgs() (args artifact.Value, unknown []string) {
	walkTemplate(n.Args, "", func(pointer, _ string) { unknown = append(unknown, pointer) })
	if len(unknown) == 1 && unknown[0] == "" {
		return artifact.Value{}, unknown
	}
	return n.Args, unknown
}

// EvalWait gives the key and the time in ms since 1970 that a wait node waits
// for. Both are null where the node has none.
func (n *Node) EvalWait(s Scope) (key, until artifact.Value, err error) {
	values := n.before(s)
	if key, err = n.programsBefore.evalTemplate(n.Key, values); err != nil {
		return key, until, err
	}
	if until, err = n.programsBefore.evalTemplate(n.Until, values); err != nil {
		return key, until, err
	}
	if _, ok := until.Uint(); !ok && !until.IsNull() {
		return key, until, fmt.Errorf("until gives %.80s; want milliseconds since 1970 as a whole number", until)
	}
	return key, until, nil
}

// EvalPatch gives the patch that set makes of the node's result. It has no
// operations for a node without set.
func (n *Node) EvalPatch(s Scope, baseRevision uint64) (Patch, error) {
	p := Patch{BaseRevision: baseRevision, Operations: make(map[string]Operation, len(n.Set))}
	values := append(n.before(s), s.Result)
	for _, a := range n.Set {
		v, err := n.programsAfter.evalTemplate(a.Value, values)
		if err != nil {
			return Patch{}, fmt.Errorf("set %s: %w", a.Path, err)
		}
		p.Operations[a.Path] = Set(v)
	}
	return p, nil
}

// Decide gives the edge that the node takes after ordinary work: that of the
// first case that holds, else the one named "continue". The scope holds the state
// after the node's own patch. The edge is false if the node has neither, which
// only version 1 nodes and handlers can lack.
func (n *Node) Decide(s Scope) (Edge, bool, error) {
	if len(n.Cases) > 0 {
		values := append(n.before(s), s.Result)
		for i, c := range n.Cases {
			v, err := n.programsAfter.eval(c.When, values)
			if err != nil {
				return Edge{}, false, fmt.Errorf("case %d: %w", i+1, err)
			}
			if v.Kind() != artifact.KindBool {
				return Edge{}, false, fmt.Errorf("case %d: %.80q gives %.80s, not true or false", i+1, c.When, v)
			}
			if v.Bool() {
				return Edge{Route: c.Route(), To: c.To}, true, nil
			}
		}
	}
	to, ok := n.Successor(RouteContinue)
	return Edge{Route: RouteContinue, To: to}, ok, nil
}

// Route gives the name of the case's route.
func (c Case) Route() string {
	if c.Name != "" {
		return c.Name
	}
	return c.To
}
