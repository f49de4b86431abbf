package archtest

import (
	"fmt"
	"go/ast"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestPurePackages(t *testing.T) {
	report(t, checkPure(rootSources(t)))
}

// TestPurePackagesAreBuilt keeps the list that the Makefile builds for the
// browser and for WASI equal to the one that is checked here.
func TestPurePackagesAreBuilt(t *testing.T) {
	text, err := fs.ReadFile(root(t), "Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if list, ok := strings.CutPrefix(line, "PURE :="); ok {
			if got := words(list); !slices.Equal(got, pure) {
				t.Errorf("Makefile builds %q, picture_test.go checks %q", got, pure)
			}
			return
		}
	}
	t.Error("Makefile has no line that begins with PURE :=")
}

// worldly lists the standard packages that reach outside the arguments; a
// trailing slash means everything below.
var worldly = words("os os/ net net/ math/rand math/rand/v2 crypto/rand syscall")

// harmless are exceptions to worldly: values and parsers only.
var harmless = words("net/url net/netip")

// clock lists what package time offers beyond arithmetic on given times.
var clock = words("Now Since Until After AfterFunc Sleep Tick NewTimer NewTicker")

func checkPure(all []source) []string {
	var found []string
	for _, s := range all {
		if !slices.Contains(pure, s.dir) {
			continue
		}
		say := func(n ast.Node, format string, args ...any) {
			found = append(found, s.at(n)+": "+s.dir+" is pure, but "+fmt.Sprintf(format, args...))
		}
		timeName := checkPureImports(s, say)
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				say(n, "starts a goroutine")
			case *ast.FuncDecl:
				if n.Recv == nil && n.Name.Name == "init" {
					say(n, "has a func init")
				}
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				if ok && timeName != "" && x.Name == timeName && slices.Contains(clock, n.Sel.Name) {
					say(n, "uses time.%s", n.Sel.Name)
				}
			}
			return true
		})
	}
	return found
}

// checkPureImports reports imports that reach outside, and returns the name
// under which the file knows package time.
func checkPureImports(s source, say func(ast.Node, string, ...any)) (timeName string) {
	for _, spec := range s.file.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		if reachesOut(p) {
			say(spec, "imports %s", p)
		}
		if p != "time" {
			continue
		}
		timeName = "time"
		if spec.Name != nil {
			timeName = spec.Name.Name
		}
		if timeName == "." {
			say(spec, "imports time with a dot, which hides its clock")
		}
	}
	return timeName
}

func reachesOut(p string) bool {
	if slices.Contains(harmless, p) {
		return false
	}
	for _, w := range worldly {
		if p == w || strings.HasSuffix(w, "/") && strings.HasPrefix(p, w) {
			return true
		}
	}
	return false
}
