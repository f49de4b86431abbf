package archtest

import (
	"fmt"
	"go/ast"
	"testing"
)

// Sizes that a reader can take in at one sitting, and sizes that nobody can.
// What lies between is printed with -v and is a matter of judgement. Generated
// files are exempt.
const (
	longFile = 500
	hugeFile = 800
	longFunc = 45
	hugeFunc = 90
)

func TestSizes(t *testing.T) {
	long, huge := checkSizes(rootSources(t))
	for _, l := range long {
		t.Log(l)
	}
	report(t, huge)
}

func checkSizes(all []source) (long, huge []string) {
	weigh := func(where string, what string, size, much, tooMuch int) {
		line := fmt.Sprintf("%s: %s has %d lines", where, what, size)
		switch {
		case size > tooMuch:
			huge = append(huge, fmt.Sprintf("%s, and %d is the limit: split it", line, tooMuch))
		case size > much:
			long = append(long, line)
		}
	}
	for _, s := range all {
		if ast.IsGenerated(s.file) {
			continue
		}
		weigh(s.name, "the file", s.size, longFile, hugeFile)
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				weigh(s.at(n), n.Name.Name, s.lines(n), longFunc, hugeFunc)
				return false
			case *ast.FuncLit: // outside a declared function
				weigh(s.at(n), "a function literal", s.lines(n), longFunc, hugeFunc)
				return false
			}
			return true
		})
	}
	return long, huge
}

func (s source) lines(n ast.Node) int {
	return s.set.Position(n.End()).Line - s.set.Position(n.Pos()).Line + 1
}
