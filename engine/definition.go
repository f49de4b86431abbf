package engine

import (
	"fmt"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/schema"
)

// Semantics is the version of the rules by which events follow from a
// definition. It is in the first event of every run.
const Semantics = 1

// contracts are the names and versions of the documents that a run is made of.
const contracts = `["checkpoint/2","event/2","proposal/1"]`

// Handler is a node's implementation. Change Version with the code: a run goes on
// only with the implementations that it began with, or is migrated.
type Handler struct {
	Run     graph.Handler
	Version string
}

// Tool says how an effect node's work is authorized and done.
type Tool struct {
	Port string      // that performs it; "" is tool, model or retrieve, as the node
	Kind policy.Kind // as what it is authorized, where the port is not the node's own

	Capability string        // that policy must grant
	Namespace  string        // that it works in
	Write      bool          // whether it changes what is there
	Contract   schema.Schema // of the arguments; nil for any
	Reserve    policy.Amount // what one call may use, unless the node says

	// Shape completes the call from its arguments, for ports such as programs and
	// requests of which the policy judges more. It depends on nothing else.
	Shape func(call policy.Call) (policy.Call, error)
}

// Definition is everything that a run executes. It is immutable after [Define].
type Definition struct {
	Graph    *graph.Compiled
	Schema   *graph.Schema // of the state; nil for the graph's own
	Policy   *policy.Policy
	Handlers map[string]Handler // by name
	Tools    map[string]Tool    // by the name of an effect node; may lack those of the default
	Calls    map[string]*Definition

	// RetriesV1 is how often a version 1 node is repeated after a failure that
	// says it is retryable. Version 2 nodes have policies of their own.
	RetriesV1 uint32

	digests event.Definition
	digest  artifact.Digest
	secrets []artifact.Value // constants of the graph that the pack redacts
}

// Define completes and checks a definition and works out its digests. It fails
// with the names of all handlers and graphs that are missing.
func Define(d Definition) (*Definition, error) {
	if d.Graph == nil {
		return nil, fmt.Errorf("define: no graph")
	}
	if d.Schema == nil {
		d.Schema = d.Graph.Schema
	}
	if d.Schema == nil {
		return nil, fmt.Errorf("define %s: no state schema; give the definition one", d.Graph.ID)
	}
	if d.Policy == nil {
		var err error
		if d.Policy, err = noAuthority(); err != nil {
			return nil, fmt.Errorf("define %s: %w", d.Graph.ID, err)
		}
	}
	var missing []string
	for i := range d.Graph.Nodes {
		n := &d.Graph.Nodes[i]
		switch n.Kind {
		case graph.KindHandler:
			if d.Handlers[n.Name].Run == nil {
				missing = append(missing, "handler "+n.Name+" of node "+n.ID)
			}
		case graph.KindCall:
			child := d.Calls[n.Name]
			if child == nil || !n.Digest.IsZero() && n.Digest != child.Graph.Digest {
				missing = append(missing, "graph "+n.Name+" of node "+n.ID)
			}
		}
	}
	if missing != nil {
		return nil, fmt.Errorf("define %s: missing %s", d.Graph.ID, joined(missing))
	}
	if err := d.findSecrets(); err != nil {
		return nil, fmt.Errorf("define %s: %w", d.Graph.ID, err)
	}
	d.digests = event.Definition{
		Graph: d.Graph.Digest, Schema: artifact.Sum(d.Schema.Encode()), Pack: d.Policy.Pack().Digest(),
		Policy: d.Policy.Digest(), Nodes: d.nodesDigest(), Contract: artifact.Sum([]byte(contracts)),
	}
	d.digest = sumOf(d.digests)
	return &d, nil
}

// findSecrets collects what the graph itself holds under the pack's args:
// pointers, so that every step knows it and finds it wherever something echoes it.
// What a redacted argument must not come from is the state, which is stored as it
// is.
func (d *Definition) findSecrets() error {
	pointers := d.Policy.Redactions()
	for i := range d.Graph.Nodes {
		n := &d.Graph.Nodes[i]
		switch n.Kind {
		case graph.KindTool, graph.KindModel, graph.KindRetrieve, graph.KindApprove, graph.KindCall:
		default:
			continue // its expressions are no arguments
		}
		list, err := event.Pointed(pointers, event.ScopeArgs, n.Args)
		if err != nil {
			return err
		}
		if len(list) > 0 && n.Kind == graph.KindCall {
			return fmt.Errorf("node %s gives a called run what the pack redacts, and the run would store it in its state", n.ID)
		}
		d.secrets = append(d.secrets, list...)
		for _, p := range pointers {
			scope, pointer, _ := event.ParsePointer(p)
			for _, f := range n.ArgsFlow {
				if scope == event.ScopeArgs && (f.Seen || len(f.State) > 0) && artifact.PointersOverlap(f.Pointer, pointer) {
					return fmt.Errorf("node %s: the pack redacts %s, which comes from the state (%s), where it is stored as it is; "+
						"let the port take it from a secret, or redact it where it comes into the state", n.ID, p, stateWords(f))
				}
			}
		}
	}
	return nil
}

func stateWords(f graph.Flow) string {
	if f.Seen {
		return "all that the node reads"
	}
	return joined(f.State)
}

// Digest identifies the definition as a whole.
func (d *Definition) Digest() artifact.Digest { return d.digest }

// Digests gives the digests that a run is bound to.
func (d *Definition) Digests() event.Definition { return d.digests }

// nodesDigest covers the handlers, the tools and the called graphs.
func (d *Definition) nodesDigest() artifact.Digest {
	var list []artifact.Value
	line := func(kind, name, version string) {
		list = append(list, artifact.ArrayValue(artifact.StringValue(kind), artifact.StringValue(name), artifact.StringValue(version)))
	}
	for i := range d.Graph.Nodes {
		n := &d.Graph.Nodes[i]
		switch n.Kind {
		case graph.KindHandler:
			line("handler", n.Name, d.Handlers[n.Name].Version)
		case graph.KindCall:
			line("call", n.Name, d.Calls[n.Name].digest.String())
		}
	}
	for _, name := range artifact.SortedNames(d.Tools) {
		t := d.Tools[name]
		line("tool", name, t.Port+" "+t.Kind.String()+" "+t.Capability+" "+t.Namespace+" "+fmt.Sprint(t.Write))
	}
	line("retries", "version 1", fmt.Sprint(d.RetriesV1))
	return artifact.Sum(artifact.ArrayValue(list...).AppendCompact(nil))
}

func sumOf(d event.Definition) artifact.Digest {
	var all []byte
	for _, x := range [...]artifact.Digest{d.Graph, d.Schema, d.Pack, d.Policy, d.Nodes, d.Contract} {
		all = append(all, x[:]...)
	}
	return artifact.Sum(all)
}

// differences names the artifacts in which two definitions differ.
func differences(a, b event.Definition) []string {
	var names []string
	for _, x := range []struct {
		name string
		a, b artifact.Digest
	}{
		{"graph", a.Graph, b.Graph}, {"schema", a.Schema, b.Schema}, {"pack", a.Pack, b.Pack},
		{"policy", a.Policy, b.Policy}, {"node implementations", a.Nodes, b.Nodes}, {"contracts", a.Contract, b.Contract},
	} {
		if x.a != x.b {
			names = append(names, x.name)
		}
	}
	return names
}

// narrowed gives the definition of a called graph under a narrower policy.
func (d *Definition) narrowed(p *policy.Policy) *Definition {
	c := *d
	c.Policy = p
	c.digests.Pack, c.digests.Policy = p.Pack().Digest(), p.Digest()
	c.digest = sumOf(c.digests)
	return &c
}

// tool gives how an effect node is done.
func (d *Definition) tool(n *graph.Node) Tool {
	t := d.Tools[n.Name]
	if t.Port == "" {
		t.Port = string(n.Kind)
		switch n.Kind {
		case graph.KindModel:
			t.Kind = policy.KindModel
		case graph.KindRetrieve:
			t.Kind = policy.KindRetrieve
		default:
			t.Kind = policy.KindTool
		}
	}
	return t
}

// noAuthority gives the policy of a run that needs none: every effect is refused,
// and only the graph bounds what its handlers say they have used.
func noAuthority() (*policy.Policy, error) {
	pack, err := policy.ReadPack([]byte(`{"version":2,"id":"none","limits":{"cost_micros":{"USD":18446744073709551615}}}`), "no authority")
	if err != nil {
		return nil, err
	}
	p, _, err := policy.Compile(pack, policy.Options{})
	return p, err
}

// noDefinition gives a definition that reads the checkpoints of all runs and can
// continue none.
func noDefinition() (*Definition, error) {
	p, err := noAuthority()
	return &Definition{Graph: &graph.Compiled{}, Policy: p}, err
}

func joined(words []string) string {
	text := ""
	for i, w := range words {
		if i > 0 {
			text += ", "
		}
		text += w
	}
	return text
}
