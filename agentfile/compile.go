package agentfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
)

// compileGraph compiles one graph and notes where it stands.
func (l *loader) compileGraph(name string, p part, state *graph.Schema) (*graph.Compiled, *graph.Schema) {
	c, findings, err := graph.Compile(p.data, p.source, graph.Options{Expr: l.o.Conditions, Schema: state})
	if err != nil {
		l.problems = append(l.problems, p.at.error(err))
		return nil, nil
	}
	for _, f := range findings {
		x := p.at.problem(f.Pointer, f.Text)
		l.agent.Warnings = append(l.agent.Warnings, Warning{p.at.doc.Source(), x.Line, x.Column, x.Text})
	}
	if c.Schema == nil {
		if !l.stated {
			l.refuse(p.at, "", "the graph does not declare its state; give the agent file a state schema")
		}
		return nil, nil
	}
	l.graphs = append(l.graphs, placedGraph{name, c, p.at})
	return c, c.Schema
}

func (l *loader) refuse(at place, pointer, format string, args ...any) {
	l.problems = append(l.problems, &artifact.DocumentError{
		Source: at.doc.Source(), Problems: []artifact.Problem{at.problem(pointer, fmt.Sprintf(format, args...))},
	})
}

// compilePack reads the pack and makes the policy of it.
func (l *loader) compilePack(p part, agent string) {
	pack, err := policy.ReadPack(p.data, p.source)
	if err != nil {
		l.problems = append(l.problems, p.at.error(err))
		return
	}
	o := policy.Options{Agent: agent, Host: l.o.Host, Conditions: l.o.Conditions, Schemas: l.o.Schemas}
	compiled, findings, err := policy.Compile(pack, o)
	if err != nil {
		l.problems = append(l.problems, p.at.error(err))
		return
	}
	for _, f := range findings {
		x := p.at.problem(f.Pointer, f.Text)
		l.agent.Warnings = append(l.agent.Warnings, Warning{p.at.doc.Source(), x.Line, x.Column, x.Text})
	}
	l.agent.Policy = compiled
}

// GrantError is a pack that grants less than the graph needs.
type GrantError struct {
	Pack    string // its id
	Missing []MissingGrant
}

// MissingGrant is one node that could never do its work.
type MissingGrant struct {
	Source       string // where the node stands
	Line, Column int
	Node         string // "" where the agent as a whole is refused
	Denial       *policy.Denial
}

// String gives the missing grant in one line.
func (m MissingGrant) String() string {
	if m.Node == "" {
		return fmt.Sprintf("%s:%d:%d: the pack does not admit the agent: %s", m.Source, m.Line, m.Column, m.Denial.Message)
	}
	return fmt.Sprintf("%s:%d:%d: node %s: %s", m.Source, m.Line, m.Column, m.Node, m.Denial.Message)
}

// Error gives a line for each missing grant.
func (e *GrantError) Error() string {
	lines := make([]string, len(e.Missing))
	for i, m := range e.Missing {
		lines[i] = m.String()
	}
	return strings.Join(lines, "\n")
}

// checkGrants holds the graphs against the sections of the file and the pack.
func (l *loader) checkGrants() error {
	a := l.agent
	if denial := a.Policy.Admit(policy.Run{Graph: a.Graph.Digest, Definition: a.Digest, NowMS: l.o.NowMS}); denial != nil {
		return &GrantError{a.Policy.Pack().ID, []MissingGrant{{Source: a.Source, Line: 1, Column: 1, Denial: denial}}}
	}
	missing := &GrantError{Pack: a.Policy.Pack().ID}
	l.walk("", a.Policy, missing, nil)
	if l.problems != nil {
		return l.problems[0]
	}
	if missing.Missing != nil {
		return missing
	}
	return nil
}

// walk checks a graph and those that it calls, each under the authority that it
// would have there.
func (l *loader) walk(name string, p *policy.Policy, missing *GrantError, above []string) {
	i := slices.IndexFunc(l.graphs, func(g placedGraph) bool { return g.name == name })
	if i < 0 || slices.Contains(above, name) {
		return
	}
	g := l.graphs[i]
	unknown := &artifact.DocumentError{Source: g.at.doc.Source()}
	for i := range g.compiled.Nodes {
		n := &g.compiled.Nodes[i]
		pointer := nodePointer(g.compiled, n)
		problem := artifact.Problem{Pointer: g.at.prefix + pointer}
		problem.Line, problem.Column = g.at.doc.NamePosition(problem.Pointer)
		if problem.Text = l.unknownName(n, above); problem.Text != "" {
			unknown.Problems = append(unknown.Problems, problem)
			continue
		}
		denial, child := l.needs(n, p)
		if denial != nil {
			missing.Missing = append(missing.Missing, MissingGrant{g.at.doc.Source(), problem.Line, problem.Column, n.ID, denial})
		}
		if child != nil {
			l.walk(n.Name, child, missing, append(slices.Clone(above), name))
		}
	}
	if unknown.Problems != nil {
		l.problems = append(l.problems, unknown)
	}
}

func nodePointer(c *graph.Compiled, n *graph.Node) string {
	if c.Version == 1 {
		return "/nodes/" + strconv.Itoa(n.Index)
	}
	return artifact.PointerTo("/nodes", n.ID)
}

// unknownName says that a node names what the file does not have.
func (l *loader) unknownName(n *graph.Node, above []string) string {
	a := l.agent
	missing := func(what, section string, known []string) string {
		if slices.Contains(known, n.Name) {
			return ""
		}
		return fmt.Sprintf("node %s: %s is not under %s%s", n.ID, what+" "+n.Name, section, artifact.Suggest(n.Name, known))
	}
	switch n.Kind {
	case graph.KindHandler:
		return fmt.Sprintf("node %s runs the handler %s, which is Go code; make it a tool, or embed writ as a library", n.ID, n.Name)
	case graph.KindTool:
		return missing("tool", "tools", keysOf(a.Tools))
	case graph.KindModel:
		return missing("model", "models", keysOf(a.Models))
	case graph.KindRetrieve:
		return missing("knowledge", "knowledge", keysOf(a.Knowledge))
	case graph.KindCall:
		if slices.Contains(above, n.Name) {
			return fmt.Sprintf("node %s: graph %s would call itself", n.ID, n.Name)
		}
		return missing("graph", "graphs", keysOf(a.Graphs))
	}
	return ""
}

// needs gives the denial that the node would meet whatever its arguments are, and
// for a call the policy of the child.
func (l *loader) needs(n *graph.Node, p *policy.Policy) (*policy.Denial, *policy.Policy) {
	call := policy.Call{Name: n.Name, NowMS: l.o.NowMS}
	switch n.Kind {
	case graph.KindTool:
		t := l.agent.Tools[n.Name]
		call.Kind, call.Capability = t.Kind(), t.Capability
		if t.Module != nil {
			call.Module = t.Module.Digest
		}
		if c := t.Command; c != nil {
			call.Program, call.Env = c.Program, slices.Concat(c.Env, keysOf(c.Set), keysOf(c.Secrets))
			for _, arg := range c.Args {
				call.Argv = append(call.Argv, policy.ProgramInput{Text: arg})
			}
		}
	case graph.KindModel:
		call.Kind = policy.KindModel
	case graph.KindRetrieve:
		k := l.agent.Knowledge[n.Name]
		call.Kind, call.Capability, call.Namespace, call.Manifest = policy.KindRetrieve, k.Capability, k.Namespace, k.Manifest
		return deniedSource(p, call), nil
	case graph.KindCall:
		call.Kind, call.Graph = policy.KindHandoff, l.agent.Graphs[n.Name].Graph.Digest
		if !granted(p, call) {
			break
		}
		child, denial := p.Handoff(n.Name, policy.Request(n.Authority.Capabilities, n.Authority.Namespaces))
		return denial, child
	case graph.KindApprove:
		call.Kind = policy.KindApproval
		_, denial := p.Authorize(call, p.Ledger())
		return denial, nil
	case graph.KindWait:
		if n.Name == "" {
			return nil, nil
		}
		call.Kind = policy.KindEvent
	default:
		return nil, nil
	}
	if granted(p, call) {
		return nil, nil
	}
	_, denial := p.Authorize(call, p.Ledger())
	return denial, nil
}

// deniedSource gives the denial that every retrieval of a source would meet: the
// pack does not grant it, its namespace or its capability, or names other
// manifests. What depends on arguments and on what was used is not judged yet.
func deniedSource(p *policy.Policy, call policy.Call) *policy.Denial {
	_, denial := p.Authorize(call, p.Ledger())
	if denial == nil {
		return nil
	}
	switch denial.Code {
	case policy.CodeCapabilityUnavailable, policy.CodeEffectNotAllowed, policy.CodeNamespaceDenied:
		return denial
	}
	if strings.HasSuffix(denial.Rule, ".manifests") {
		return denial
	}
	return nil
}

// granted reports whether a policy grants a name at all.
func granted(p *policy.Policy, call policy.Call) bool {
	names := p.Granted(call.Kind)
	if !slices.Contains(names, call.Name) && !slices.Contains(names, "*") {
		return false
	}
	if call.Capability == "" {
		return true
	}
	_, bound := p.Binding(call.Capability)
	return bound
}

// State gives the initial state for an input: the members of the input over those
// of initial. The error names every violation.
func (a *Agent) State(input artifact.Value) (artifact.Value, error) {
	if input.IsNull() {
		input = artifact.ObjectValue()
	}
	if input.Kind() != artifact.KindObject {
		return artifact.Value{}, fmt.Errorf("the input is %s, and must be an object", input.Kind())
	}
	if a.Input != nil {
		var problems []artifact.Problem
		for _, v := range a.Input.Validate(input) {
			problems = append(problems, artifact.Problem{Pointer: v.Pointer, Text: strings.TrimSpace(v.Pointer + " " + v.Message)})
		}
		if problems != nil {
			return artifact.Value{}, &artifact.DocumentError{Source: "input", Problems: problems}
		}
	}
	state := a.Initial
	for _, m := range input.Members() {
		state = state.With(m.Name, m.Value)
	}
	if err := a.Schema.Validate(state); err != nil {
		return artifact.Value{}, fmt.Errorf("input: the state does not fit the graph: %w", err)
	}
	return state, nil
}
