package policy

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/expr"
	"github.com/writ-dev/writ/schema"
)

// isUnknown reports whether the value at a pointer into the arguments, or what it is
// in, is unknown.
func (c *Planned) isUnknown(pointer string) bool {
	return slices.ContainsFunc(c.Unknown, func(u string) bool { return artifact.PointerWithin(pointer, u) })
}

// hasUnknown reports whether anything at or below a pointer is unknown.
func (c *Planned) hasUnknown(pointer string) bool {
	return c.isUnknown(pointer) || slices.ContainsFunc(c.Unknown, func(u string) bool { return artifact.PointerWithin(u, pointer) })
}

// decides reports whether what is not known before a run may decide a condition.
func (c *Planned) decides(p expr.Program) bool {
	references := p.References()
	return references == nil || slices.ContainsFunc(references, func(r expr.Reference) bool {
		pointer := ""
		for _, token := range r.Path {
			pointer = artifact.PointerTo(pointer, token)
		}
		return r.Var == "tainted" || r.Var == "action" && c.UnknownAction || r.Var == "args" && c.hasUnknown(pointer)
	})
}

// holding is a condition that holds.
type holding struct{ expr.Program }

func (holding) Eval(...artifact.Value) (artifact.Value, error) { return artifact.BoolValue(true), nil }

// certainCompiler and certainSchema find what is wrong with the known parts of
// arguments.
type certainCompiler struct {
	schema.Compiler
	c *Planned
}

func (x certainCompiler) Compile(source artifact.Value) (schema.Schema, error) {
	s, err := x.Compiler.Compile(source)
	if err != nil {
		return nil, err
	}
	return certainSchema{s, x.c}, nil
}

type certainSchema struct {
	schema.Schema
	c *Planned
}

func (x certainSchema) Validate(v artifact.Value) []schema.Violation {
	return x.c.certain(x.Schema.Validate(v))
}

// certain keeps the violations that are there whatever the unknown arguments are.
func (c *Planned) certain(list []schema.Violation) []schema.Violation {
	if c.Unknown == nil {
		return list
	}
	var kept []schema.Violation
	for _, v := range list {
		if c.isCertain(v) {
			kept = append(kept, v)
		}
	}
	return kept
}

// isCertain judges one violation. It counts where its rule always applies to its
// value, and where that value is known as far as the keyword looks.
func (c *Planned) isCertain(v schema.Violation) bool {
	at, cut := v.Pointer, strings.LastIndexByte(v.Rule, '/')
	if cut < 0 {
		return false
	}
	keyword := v.Rule[cut+1:]
	aboutName := keyword == "additionalProperties" || keyword == "propertyNames"
	if aboutName {
		at = at[:max(0, strings.LastIndexByte(at, '/'))]
	}
	if subject, ok := subjectOf(v.Rule[:cut]); !ok || subject != at || c.isUnknown(at) {
		return false
	}
	return aboutName || slices.Contains(shapeKeywords, keyword) || !c.hasUnknown(at)
}

// shapeKeywords look at the kind of a value, the names of its members and the
// number of its elements, not at what they are.
var shapeKeywords = []string{"type", "required", "dependentRequired", "minProperties", "maxProperties", "minItems", "maxItems"}

// subjectOf gives the pointer of the value that a part of a schema is always applied
// to: one that is reached by names alone, and not if something else holds.
func subjectOf(rule string) (pointer string, ok bool) {
	tokens := strings.Split(rule, "/")[1:]
	if rule == "" {
		return "", true
	}
	for i := 0; i < len(tokens); i += 2 {
		switch {
		case i+1 == len(tokens):
			return "", false
		case tokens[i] == "properties":
			pointer += "/" + tokens[i+1]
		case tokens[i] != "allOf":
			return "", false
		}
	}
	return pointer, true
}

func (c *Planned) hasUnknownArgv() bool { return c.OpenArgv || slices.Contains(c.UnknownArgv, true) }

// anyText matches what is not known. It is compiled when it is first used.
var anyText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)\A.*\z`) })

// layOut gives the grant of a part and its patterns with a rule for each argument of
// the call, so that those for unknown arguments can be opened. Where others may
// follow, nobody knows whether they fit.
func (c *Planned) layOut(p *part) (*Grant, []*regexp.Regexp) {
	grant := *p.grant
	grant.Args = nil
	var patterns []*regexp.Regexp
	at := 0
	for i := range c.Argv {
		if at == len(p.grant.Args) {
			break
		}
		rule, pattern := p.grant.Args[at], p.args[at]
		if !rule.Repeat {
			at++
		}
		rule.Repeat = false
		if c.isUnknownArg(i) {
			pattern = anyText()
		}
		grant.Args, patterns = append(grant.Args, rule), append(patterns, pattern)
	}
	if !c.OpenArgv {
		grant.Args, patterns = append(grant.Args, p.grant.Args[at:]...), append(patterns, p.args[at:]...)
	}
	if slices.ContainsFunc(grant.Also, c.mayBe) {
		exact := Exact{Program: c.Program}
		for _, a := range c.Argv {
			exact.Args = append(exact.Args, a.Text)
		}
		grant.Also = append(slices.Clone(grant.Also), exact)
	}
	return &grant, patterns
}

func (c *Planned) isUnknownArg(i int) bool { return i < len(c.UnknownArgv) && c.UnknownArgv[i] }

// mayBe reports whether the call may turn out to be one that a pack has word for
// word.
func (c *Planned) mayBe(x Exact) bool {
	if x.Program != c.Program || len(x.Args) < len(c.Argv) || len(x.Args) > len(c.Argv) && !c.OpenArgv {
		return false
	}
	for i, a := range c.Argv {
		if !c.isUnknownArg(i) && a.Text != x.Args[i] {
			return false
		}
	}
	return true
}
