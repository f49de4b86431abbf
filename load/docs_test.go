package load

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// TestCodesAreDocumented compares the codes of refusals with the table in the
// documentation.
func TestCodesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/network.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	for _, name := range []string{"../fetch/refusal.go", "unit.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 || !isCode(spec.Type) {
				return true
			}
			codes[strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`)] = true
			return true
		})
	}
	for code := range codes {
		if !strings.Contains(string(page), "| `"+code+"` |") {
			t.Errorf("docs/network.md does not explain the code %s", code)
		}
	}
	for line := range strings.Lines(string(page)) {
		if code, _, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` |"); ok && strings.HasPrefix(line, "| `") && !codes[code] {
			t.Errorf("docs/network.md explains %s, which is no code", code)
		}
	}
	if len(codes) < 30 {
		t.Errorf("found only %d codes", len(codes))
	}
}

func isCode(n ast.Expr) bool {
	switch n := n.(type) {
	case *ast.Ident:
		return n.Name == "Code"
	case *ast.SelectorExpr:
		return n.Sel.Name == "Code"
	}
	return false
}
