package cel

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"

	"github.com/writ-dev/writ/expr"
)

// references finds which parts of the variables a source reads. It takes the
// checked syntax tree: there a name that a macro hides, and that the source reads
// all the same as .name, begins with a dot.
func references(root ast.Expr, vars []string) []expr.Reference {
	f := finder{vars: vars, bound: map[string]int{}}
	f.visit(root)
	slices.SortFunc(f.found, compareReferences)
	kept := []expr.Reference{}
	for _, r := range f.found {
		if len(kept) == 0 || !covers(kept[len(kept)-1], r) {
			kept = append(kept, r)
		}
	}
	return kept
}

func compareReferences(a, b expr.Reference) int {
	if a.Var != b.Var {
		return slices.Compare([]string{a.Var}, []string{b.Var})
	}
	return slices.Compare(a.Path, b.Path)
}

// covers reports whether b is a or lies below it. Sorted references put what
// covers directly before all that it covers.
func covers(a, b expr.Reference) bool {
	return a.Var == b.Var && len(a.Path) <= len(b.Path) && slices.Equal(a.Path, b.Path[:len(a.Path)])
}

// finder walks over a syntax tree, whose depth the parser has bounded.
type finder struct {
	vars  []string
	bound map[string]int // names that a macro has taken, with how often
	found []expr.Reference
}

func (f *finder) visit(e ast.Expr) {
	switch e.Kind() {
	case ast.IdentKind, ast.SelectKind:
		f.chain(e)
	case ast.CallKind:
		call := e.AsCall()
		if call.IsMemberFunction() {
			f.visit(call.Target())
		}
		for _, arg := range call.Args() {
			f.visit(arg)
		}
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			f.visit(element)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			f.visit(entry.AsMapEntry().Key())
			f.visit(entry.AsMapEntry().Value())
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			f.visit(field.AsStructField().Value())
		}
	case ast.ComprehensionKind:
		f.comprehension(e.AsComprehension())
	}
}

// chain reads a.b.c; has(a.b.c) reads it too.
func (f *finder) chain(e ast.Expr) {
	var path []string
	for e.Kind() == ast.SelectKind {
		path = append(path, e.AsSelect().FieldName())
		e = e.AsSelect().Operand()
	}
	if e.Kind() != ast.IdentKind {
		f.visit(e)
		return
	}
	name, global := strings.CutPrefix(e.AsIdent(), ".")
	if !global && f.bound[name] > 0 || !slices.Contains(f.vars, name) {
		return
	}
	slices.Reverse(path)
	f.found = append(f.found, expr.Reference{Var: name, Path: path})
}

// comprehension visits the parts of a macro, each with the names that it sees.
func (f *finder) comprehension(c ast.ComprehensionExpr) {
	f.visit(c.IterRange())
	f.visit(c.AccuInit())
	f.bound[c.AccuVar()]++
	f.visit(c.Result())
	f.bound[c.IterVar()]++
	f.bound[c.IterVar2()]++
	f.visit(c.LoopCondition())
	f.visit(c.LoopStep())
	f.bound[c.IterVar2()]--
	f.bound[c.IterVar()]--
	f.bound[c.AccuVar()]--
}
