package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/policy"
)

// shade is where a value comes from, and what is in it as far as it was given
// part by part.
type shade struct {
	taint policy.Taint
	in    map[string]shade
}

func (s shade) all() policy.Taint {
	taint := s.taint
	for _, below := range s.in {
		taint |= below.all()
	}
	return taint
}

func (s shade) at(pointer string) policy.Taint {
	for _, token := range tokensOf(pointer) {
		below, ok := s.in[token]
		if !ok {
			return s.taint
		}
		s = below
	}
	return s.all()
}

func tokensOf(pointer string) []string {
	if pointer == "" {
		return nil
	}
	return strings.Split(pointer[1:], "/")
}

// with gives the shade with another one at a path.
func (s shade) with(tokens []string, x shade) shade {
	if len(tokens) == 0 {
		return x
	}
	in := maps.Clone(s.in)
	if in == nil {
		in = map[string]shade{}
	}
	below, ok := in[tokens[0]]
	if !ok {
		below = shade{taint: s.taint}
	}
	in[tokens[0]] = below.with(tokens[1:], x)
	return shade{s.taint, in}
}

// get gives the shade at a path, as with would put it back.
func (s shade) get(tokens []string) shade {
	for _, token := range tokens {
		below, ok := s.in[token]
		if !ok {
			return shade{taint: s.taint}
		}
		s = below
	}
	return s
}

// joined gives the shade with more taint on all of it.
func (s shade) joined(taint policy.Taint) shade {
	x := shade{s.taint | taint, nil}
	for name, below := range s.in {
		x = x.with([]string{name}, below.joined(taint))
	}
	return x
}

// pointers gives every pointer that the shade knows, with the taint there.
func (s shade) pointers() map[string]policy.Taint {
	found := map[string]policy.Taint{}
	var walk func(s shade, pointer string)
	walk = func(s shade, pointer string) {
		found[pointer] = s.all()
		for name, below := range s.in {
			walk(below, artifact.PointerTo(pointer, name))
		}
	}
	walk(s, "")
	return found
}

func (x *taintTemplate) shade(state shade, result policy.Taint) shade {
	s := shade{in: map[string]shade{}}
	for i, e := range x.list {
		name := fmt.Sprint(i)
		if x.names != nil {
			name = x.names[i]
		}
		s.in[name] = e.shade(state, result)
	}
	for _, p := range x.deps {
		s.taint |= state.at(p)
	}
	if x.result {
		s.taint |= result
	}
	return s
}

// walkShades is the second implementation: what the state is made of, node by node.
func walkShades(steps []taintStep, state shade, wrote map[string]map[string]bool, calls map[string]shade) shade {
	for _, s := range steps {
		switch s.kind {
		case "fork":
			after := state
			for _, branch := range s.branches {
				own := walkShades(branch, state, wrote, calls)
				for _, path := range writesOf(branch) {
					after = after.with(tokensOf(path), own.get(tokensOf(path)))
				}
			}
			state = after
		case "handler":
			var seen policy.Taint
			for _, read := range s.reads {
				seen |= state.at(strings.TrimSuffix(read, "/0")) // the array is shown whole
			}
			after := state
			for _, path := range s.writes {
				x := shade{taint: seen}
				if !wrote[s.id][path] {
					x = state.get(tokensOf(path)).joined(seen)
				}
				after = after.with(tokensOf(path), x)
			}
			state = after
		default:
			result := taintSources[s.kind]
			if s.args != nil {
				calls[s.id] = s.args.shade(state, 0)
				result |= calls[s.id].all()
			}
			after := state
			for _, x := range s.set {
				after = after.with(tokensOf(x.path), x.value.shade(state, result))
			}
			state = after
		}
	}
	return state
}

func writesOf(steps []taintStep) []string {
	var paths []string
	for _, s := range steps {
		for _, x := range s.set {
			paths = append(paths, x.path)
		}
		paths = append(paths, s.writes...)
		for _, branch := range s.branches {
			paths = append(paths, writesOf(branch)...)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
