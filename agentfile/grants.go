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

// GrantError is a pack that grants less than the graph needs.
type GrantError struct {
	Pack    string         // its id
	Missing []MissingGrant // in the order of the graphs, without repetitions
}

// MissingGrant is one reason why a node could never do its work, whatever the run
// brings.
type MissingGrant struct {
	Source       string // where the node stands
	Line, Column int
	Node         string // "" where the agent as a whole is refused
	Reason       policy.Reason
	Denial       *policy.Denial // of the node's call, with all its reasons and the smallest change
}

// String gives the missing grant in one line.
func (m MissingGrant) String() string {
	about := "node " + m.Node
	if m.Node == "" {
		about = "the pack does not admit the agent"
	}
	text := fmt.Sprintf("%s:%d:%d: %s: %s", m.Source, m.Line, m.Column, about, m.Reason.Message)
	if strings.Contains(m.Reason.Rule, ": ") { // a rule within a pack, which the message does not name
		text += " (" + m.Reason.Rule + ")"
	}
	return text
}

// Error gives a line for each missing grant.
func (e *GrantError) Error() string {
	lines := make([]string, len(e.Missing))
	for i, m := range e.Missing {
		lines[i] = m.String()
	}
	return strings.Join(lines, "\n")
}

// add notes every reason of a denial that is not there yet: a graph that is called
// twice has its nodes once.
func (e *GrantError) add(source string, line, column int, node string, d *policy.Denial) {
	for _, reason := range d.Reasons() {
		m := MissingGrant{source, line, column, node, reason, d}
		text := m.String()
		if !slices.ContainsFunc(e.Missing, func(other MissingGrant) bool { return other.String() == text }) {
			e.Missing = append(e.Missing, m)
		}
	}
}

// checkGrants holds the graphs against the sections of the file and the pack.
func (l *loader) checkGrants() error {
	a := l.agent
	missing := &GrantError{Pack: a.Policy.Pack().ID}
	if denial := a.Policy.Admit(policy.Run{Graph: a.Graph.Digest, Definition: a.Digest, NowMS: l.o.NowMS}); denial != nil {
		missing.add(a.Source, 1, 1, "", denial)
	}
	l.walk("", visit{policy: a.Policy}, missing)
	if err := l.refusal(nil); err != nil {
		return err
	}
	if missing.Missing != nil {
		return missing
	}
	return nil
}

// visit is how a graph is come to: what it may do there, within which bounds.
type visit struct {
	policy *policy.Policy
	bounds []policy.Bound // of whoever calls
	above  []string       // the graphs that call it, "" for the agent's own
}

// walk checks a graph and those that it calls, each under the authority that it
// would have there.
func (l *loader) walk(name string, v visit, missing *GrantError) {
	i := slices.IndexFunc(l.graphs, func(g placedGraph) bool { return g.name == name })
	if i < 0 || slices.Contains(v.above, name) {
		return
	}
	g := l.graphs[i]
	bounds := append(slices.Clip(v.bounds), graphBound(g.compiled))
	unknown := &artifact.DocumentError{Source: g.at.doc.Source()}
	for i := range g.compiled.Nodes {
		n := &g.compiled.Nodes[i]
		problem := artifact.Problem{Pointer: g.at.prefix + nodePointer(g.compiled, n)}
		problem.Line, problem.Column = g.at.doc.NamePosition(problem.Pointer)
		if problem.Text = l.unknownName(n, v.above); problem.Text != "" {
			unknown.Problems = append(unknown.Problems, problem)
			continue
		}
		note := func(d *policy.Denial) { missing.add(unknown.Source, problem.Line, problem.Column, n.ID, d) }
		if n == g.compiled.Entry {
			note(v.policy.Ledger(bounds...).Charge(policy.Amount{Steps: 1}))
		}
		if planned, ok := l.plan(n); ok {
			note(v.policy.Foresee(planned, bounds...))
		}
		if n.Kind != graph.KindCall {
			continue
		}
		child, denial := v.policy.Handoff(n.Name, policy.Request(n.Authority.Capabilities, n.Authority.Namespaces))
		if note(denial); child != nil {
			l.walk(n.Name, visit{child, childBounds(bounds, n), append(slices.Clone(v.above), name)}, missing)
		}
	}
	if unknown.Problems != nil {
		l.problems = append(l.problems, unknown)
	}
}

// graphBound gives the limits of a graph as the engine bounds its runs by them.
func graphBound(c *graph.Compiled) policy.Bound {
	l := c.Limits
	return policy.Bound{Source: "graph " + c.ID, Limits: policy.Limits{
		Steps: artifact.Some(l.MaxSteps), Tokens: artifact.Some(l.MaxTokens), Cost: policy.Money{"USD": l.MaxCostMicros},
	}}
}

// childBounds gives what bounds a graph that a node calls: what it uses counts
// against its callers, steps aside.
func childBounds(bounds []policy.Bound, n *graph.Node) []policy.Bound {
	var own []policy.Bound
	for _, b := range bounds {
		b.Limits.Steps = artifact.Optional[uint64]{}
		own = append(own, b)
	}
	node := policy.Bound{Source: "node " + n.ID, Limits: policy.Limits{Steps: n.Authority.MaxSteps, Tokens: n.Authority.MaxTokens}}
	if cost := n.Authority.MaxCostMicros; cost.Set {
		node.Limits.Cost = policy.Money{"USD": cost.Value}
	}
	return append(own, node)
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
		if g := a.Graphs[n.Name].Graph; g != nil && !n.Digest.IsZero() && n.Digest != g.Digest {
			return fmt.Sprintf("node %s names another digest than graph %s has, which is %s", n.ID, n.Name, g.Digest)
		}
		return missing("graph", "graphs", keysOf(a.Graphs))
	}
	return ""
}
