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
	return slices.ContainsFunc(c.Unknown, func(u string) bool { return isBelow(pointer, u) })
}

// hasUnknown reports whether anything at or below a pointer is unknown.
func (c *Planned) hasUnknown(pointer string) bool {
	return c.isUnknown(pointer) || slices.ContainsFunc(c.Unknown, func(u string) bool { return isBelow(u, pointer) })
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

// laidOut are the rules of a grant for the arguments of one call, one for each, so
// that those for unknown arguments can be opened.
type laidOut struct {
	grant    *Grant
	patterns []*regexp.Regexp
	mended   []artifact.Value // the rules that would permit the call
	known    bool             // whether they are known
}

// anyText matches what is not known. It is compiled when it is first used.
var anyText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)\A.*\z`) })

// layOut gives the rules that a part has for the arguments of the call.
func (c *Planned) layOut(p *part) laidOut {
	grant := *p.grant
	grant.Args = nil
	x, at := laidOut{grant: &grant, known: true}, 0
	for i, a := range c.Argv {
		unknown := i < len(c.UnknownArgv) && c.UnknownArgv[i]
		if at == len(p.grant.Args) {
			x.known = x.known && !unknown
			x.mended = append(x.mended, artifact.StringValue(a.Text))
			continue
		}
		rule, pattern := p.grant.Args[at], p.args[at]
		if !rule.Repeat {
			at++
		}
		rule.Repeat = false
		fits := unknown || pattern == nil && a.Text == rule.Text || pattern != nil && pattern.MatchString(a.Text)
		if fits {
			x.mended = append(x.mended, rule.value())
		} else {
			x.mended = append(x.mended, artifact.StringValue(a.Text))
		}
		if unknown {
			pattern = anyText()
		}
		grant.Args, x.patterns = append(grant.Args, rule), append(x.patterns, pattern)
	}
	x.finish(p, at, c.OpenArgv)
	return x
}

// finish takes the rules behind the arguments that are there. Where others may
// follow, nobody knows whether they fit.
func (x *laidOut) finish(p *part, at int, open bool) {
	for i, rule := range p.grant.Args[at:] {
		if !open {
			x.grant.Args, x.patterns = append(x.grant.Args, rule), append(x.patterns, p.args[at+i])
		}
		if open || rule.Repeat {
			x.mended = append(x.mended, rule.value())
		}
	}
	x.known = x.known && (!open || at < len(p.grant.Args))
}

// mend writes the rules into the fix that a denial of them has made.
func (x laidOut) mend(f *fixer, p *part) {
	if !x.known {
		f.say("write rules for the arguments of %s, not all of which the graph says", strings.Join(p.path, "."))
		return
	}
	f.set(p.layer, append(slices.Clone(p.path), "args"), artifact.ArrayValue(x.mended...), "name these arguments")
}
