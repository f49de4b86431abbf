package agentfile

import (
	"cmp"
	"slices"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/graph"
)

// NeededSecret is a secret without which a tool of the graph cannot do its work.
type NeededSecret struct {
	Handle       string
	Variable     string   // of the environment, that has it
	Tools        []string // that need it, sorted
	Line, Column int      // where the file names it
}

// NeededSecrets lists the secrets that tools need which nodes of the graph call, or
// of the graphs that it calls, in the order of the file.
func (a *Agent) NeededSecrets() []NeededSecret {
	needed := map[string]*NeededSecret{}
	for _, name := range a.calledTools() {
		for _, handle := range a.Tools[name].handles() {
			s := needed[handle]
			if s == nil {
				s = &NeededSecret{Handle: handle, Variable: a.Secrets[handle]}
				s.Line, s.Column = a.doc.NamePosition(artifact.PointerTo("/secrets", handle))
				needed[handle] = s
			}
			s.Tools = append(s.Tools, name)
		}
	}
	var list []NeededSecret
	for _, handle := range keysOf(needed) {
		list = append(list, *needed[handle])
	}
	slices.SortStableFunc(list, func(a, b NeededSecret) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	return list
}

// handles lists the secrets that a tool is given, sorted.
func (t Tool) handles() []string {
	var list []string
	if t.Command != nil {
		for _, handle := range t.Command.Secrets {
			list = append(list, handle)
		}
	}
	if t.Endpoint != nil {
		for _, s := range t.Endpoint.Secrets {
			list = append(list, s.Handle)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// calledTools lists the tools that a run may call, sorted.
func (a *Agent) calledTools() []string {
	tools, graphs := map[string]bool{}, map[string]bool{}
	var visit func(g *graph.Compiled)
	visit = func(g *graph.Compiled) {
		for i := range g.Nodes {
			switch n := &g.Nodes[i]; n.Kind {
			case graph.KindTool:
				tools[n.Name] = true
			case graph.KindCall:
				if child := a.Graphs[n.Name].Graph; child != nil && !graphs[n.Name] {
					graphs[n.Name] = true
					visit(child)
				}
			}
		}
	}
	visit(a.Graph)
	return keysOf(tools)
}
