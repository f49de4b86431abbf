package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode"
)

func TestNamesSaySomething(t *testing.T) {
	report(t, checkNames(rootSources(t)))
}

// emptyPackages are names for what nobody named.
var emptyPackages = words("util utils common shared helper helpers misc base lib pkg errors")

// emptyWords say nothing about what a thing is. They are looked for as whole
// words of a package-level name and as names of files.
var emptyWords = words("util utils common helper helpers")

func checkNames(all []source) []string {
	var found []string
	for _, s := range all {
		for _, part := range append(strings.Split(s.dir, "/"), s.file.Name.Name) {
			if slices.Contains(emptyPackages, part) {
				found = append(found, fmt.Sprintf("%s: package name %q says nothing about what is in it", s.name, part))
				break
			}
		}
		if base := strings.TrimSuffix(path.Base(s.name), ".go"); slices.Contains(emptyWords, base) {
			found = append(found, fmt.Sprintf("%s: file name %q says nothing about what is in it", s.name, base))
		}
		for _, id := range packageLevel(s.file) {
			for _, w := range nameWords(id.Name) {
				if slices.Contains(emptyWords, w) {
					found = append(found, fmt.Sprintf("%s: %s: %q says nothing about what it is", s.at(id), id.Name, w))
				}
			}
		}
	}
	return found
}

// packageLevel lists the names that a file declares outside any function.
func packageLevel(file *ast.File) []*ast.Ident {
	var ids []*ast.Ident
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			ids = append(ids, d.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					ids = append(ids, spec.Name)
				case *ast.ValueSpec:
					ids = append(ids, spec.Names...)
				}
			}
		}
	}
	return ids
}

// nameWords splits a Go name at its capitals and underscores, in lower case.
func nameWords(name string) []string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) || r == '_' {
			b.WriteByte(' ')
		}
		if r != '_' {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return words(b.String())
}
