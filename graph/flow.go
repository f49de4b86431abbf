package graph

import (
	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/expr"
)

// Flow says on what the value of one expression depends.
type Flow struct {
	Pointer string // of the value, RFC 6901

	// State are the parts of the state on which it depends, as RFC 6901 pointers:
	// on all that lies below them too, and on whether they are there at all.
	State []string
	// Seen says that it may depend on all that the node sees (see [Shown]): what
	// it reads is not known more closely. State is nil then, and Result set.
	Seen bool

	Result bool // of the node's work
	Visit  bool
}

// flowOf gives the flow of a program, without its pointer.
func flowOf(p expr.Program) Flow {
	references := p.References()
	if references == nil {
		return Flow{Seen: true, Result: true, Visit: true}
	}
	var f Flow
	for _, r := range references {
		switch r.Var {
		case "state":
			f.State = append(f.State, pointerOf(r.Path))
		case "result":
			f.Result = true
		case "visit":
			f.Visit = true
		}
	}
	return f
}

func pointerOf(path []string) string {
	pointer := ""
	for _, token := range path {
		pointer = artifact.PointerTo(pointer, token)
	}
	return pointer
}

// flows gives those of the expressions in a template, whose value will stand at a
// pointer.
func (p programs) flows(v artifact.Value, pointer string) []Flow {
	var list []Flow
	walkTemplate(v, pointer, func(at, source string) {
		f := p[source].flow
		f.Pointer = at
		list = append(list, f)
	})
	return list
}
