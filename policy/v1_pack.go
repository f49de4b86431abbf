package policy

import (
	"slices"

	"github.com/writ-dev/writ/artifact"
)

// BudgetV1 bounds the tool calls under a version 1 pack.
type BudgetV1 struct {
	MaxCalls      uint64
	MaxUnits      uint64
	MaxDurationMS uint64 // milliseconds
}

// DeclarationV1 is the authority of a version 1 pack. Sets are sorted by bytes
// and free of duplicates.
type DeclarationV1 struct {
	Version             uint16
	ID                  string
	Tools               []string
	Namespaces          []string
	ArgumentConstraints []Constraint // sorted by tool
	Budget              BudgetV1
	CapabilityBindings  map[string]string // capability -> name of what the host binds
}

// Constraint is a schema in the version 1 contract language for the arguments of
// one tool.
type Constraint struct {
	Tool   string
	Schema artifact.Value
}

// Canonical gives the declaration's canonical bytes. Their digest is the pack
// hash.
func (d DeclarationV1) Canonical() []byte {
	return object(append([]artifact.Member{
		{Name: "version", Value: artifact.UintValue(uint64(d.Version))},
		{Name: "id", Value: artifact.StringValue(d.ID)},
	}, d.authority()...)...).AppendCompact(nil)
}

func (d DeclarationV1) authority() []artifact.Member {
	constraints := make([]artifact.Member, len(d.ArgumentConstraints))
	for i, c := range d.ArgumentConstraints {
		constraints[i] = artifact.Member{Name: c.Tool, Value: c.Schema}
	}
	return []artifact.Member{
		{Name: "tools", Value: stringList(d.Tools)},
		{Name: "namespaces", Value: stringList(d.Namespaces)},
		{Name: "argument_constraints", Value: object(constraints...)},
		{Name: "budget", Value: d.Budget.value()},
		{Name: "capability_bindings", Value: stringMap(d.CapabilityBindings)},
	}
}

func (b BudgetV1) value() artifact.Value {
	return object(
		artifact.Member{Name: "max_calls", Value: artifact.UintValue(b.MaxCalls)},
		artifact.Member{Name: "max_units", Value: artifact.UintValue(b.MaxUnits)},
		artifact.Member{Name: "max_duration_ms", Value: artifact.UintValue(b.MaxDurationMS)},
	)
}

// constraint gives the schema for a tool's arguments.
func (d DeclarationV1) constraint(tool string) (artifact.Value, bool) {
	for _, c := range d.ArgumentConstraints {
		if c.Tool == tool {
			return c.Schema, true
		}
	}
	return artifact.Value{}, false
}

// Check reports whether a policy can be made of the declaration. The text of the
// error is part of the version 1 contract.
func (d DeclarationV1) Check() error {
	if d.Version != 1 || d.Budget.MaxCalls == 0 {
		return packLoad("unsupported pack or zero call budget")
	}
	for _, c := range d.ArgumentConstraints {
		if !contains(d.Tools, c.Tool) {
			return packLoad("constraint references undeclared tool")
		}
	}
	return nil
}

// AgentV1 is what a version 1 pack says about one agent.
type AgentV1 struct {
	Graph        string // graph id, not compared with any graph
	Definition   string // a locator that is never opened
	Capabilities []string
	Namespaces   []string
}

// ManifestV1 is a version 1 pack with its agents: the .knolo.json file.
type ManifestV1 struct {
	DeclarationV1
	Name        string
	Description string
	Agents      map[string]AgentV1
}

// Canonical gives the manifest's canonical bytes.
func (m ManifestV1) Canonical() []byte {
	agents := make([]artifact.Member, 0, len(m.Agents))
	for _, id := range artifact.SortedNames(m.Agents) {
		agents = append(agents, artifact.Member{Name: id, Value: m.Agents[id].value()})
	}
	return object(append([]artifact.Member{
		{Name: "version", Value: artifact.UintValue(uint64(m.Version))},
		{Name: "id", Value: artifact.StringValue(m.ID)},
		{Name: "metadata", Value: object(
			artifact.Member{Name: "name", Value: artifact.StringValue(m.Name)},
			artifact.Member{Name: "description", Value: artifact.StringValue(m.Description)},
		)},
		{Name: "agents", Value: object(agents...)},
	}, m.authority()...)...).AppendCompact(nil)
}

func (a AgentV1) value() artifact.Value {
	return object(
		artifact.Member{Name: "graph", Value: artifact.StringValue(a.Graph)},
		artifact.Member{Name: "definition", Value: artifact.StringValue(a.Definition)},
		artifact.Member{Name: "capabilities", Value: stringList(a.Capabilities)},
		artifact.Member{Name: "namespaces", Value: stringList(a.Namespaces)},
	)
}

// BoundV1 is a pack bound to one of its agents.
type BoundV1 struct {
	Manifest ManifestV1
	AgentID  string
	Agent    AgentV1
}

// Bind chooses an agent and checks that the pack grants all that it asks for.
func (m ManifestV1) Bind(agent string) (BoundV1, error) {
	a, ok := m.Agents[agent]
	if !ok {
		return BoundV1{}, packLoad("agent " + agent + " is not referenced by pack")
	}
	for _, c := range a.Capabilities {
		if _, bound := m.CapabilityBindings[c]; !bound {
			return BoundV1{}, packLoad("agent " + agent + " requests an ungranted capability")
		}
	}
	for _, n := range a.Namespaces {
		if !contains(m.Namespaces, n) {
			return BoundV1{}, packLoad("agent " + agent + " requests an ungranted namespace")
		}
	}
	if err := m.Check(); err != nil {
		return BoundV1{}, err
	}
	return BoundV1{m, agent, a}, nil
}

// Overlay makes the manifest of a native pack, which names no agent, with one
// agent that the host supplies.
func (d DeclarationV1) Overlay(agent string, reference AgentV1) ManifestV1 {
	return ManifestV1{
		DeclarationV1: d, Name: d.ID, Description: "native .knolo pack",
		Agents: map[string]AgentV1{agent: reference},
	}
}

// contains searches a sorted set.
func contains(set []string, s string) bool {
	_, found := slices.BinarySearch(set, s)
	return found
}
