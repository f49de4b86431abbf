package local

import (
	"context"
	"errors"

	"github.com/writ-dev/writ/agentfile"
	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/fetch"
	"github.com/writ-dev/writ/load"
	"github.com/writ-dev/writ/retrieve"
)

// openKnowledge makes the port of retrieve nodes. Manifests are read when a node
// asks: a run sees the knowledge of that moment, and its record says which.
func (a *Agent) openKnowledge(o Options) (*retrieve.Port, error) {
	sources := map[string]retrieve.Source{}
	if len(a.Knowledge) > 0 {
		path, err := load.PinsPath()
		if err != nil {
			return nil, err
		}
		pins, err := load.ReadPins(path)
		if err != nil {
			return nil, err
		}
		for name, k := range a.Knowledge {
			sources[name] = a.source(k, pins, o.Network)
		}
	}
	port, err := retrieve.New(sources, retrieve.Options{Now: o.now})
	a.knowledge = port
	return port, err
}

// source says how one manifest is found, read and planned over.
func (a *Agent) source(k agentfile.Knowledge, pins *load.Pins, network fetch.Options) retrieve.Source {
	s := retrieve.Source{
		Manifest: k.Manifest, Location: k.Manifest, Plan: k.Plan, MaxBytes: k.MaxBytes, Capability: k.Capability, Namespace: k.Namespace,
		Load: load.Options{RequireSignature: k.RequireSignature, TrustKey: k.TrustKey, Pins: pins},
	}
	if k.Path != "" {
		s.Location, s.Load.Root = a.path(k.Path), a.path(k.Root)
	}
	if !k.Offline {
		network.AllowPrivateHosts = k.PrivateHosts
		s.Load.Fetch = fetch.New(network)
	}
	return s
}

// Known is a manifest that an agent may read, as it is now.
type Known struct {
	Name string
	*load.Loaded
}

// CheckKnowledge reads the manifests of this machine that the agent names, as its
// runs will. The error names each that cannot be read or trusted, with its place.
// What is on the network is left alone.
func (a *Agent) CheckKnowledge(ctx context.Context) ([]Known, error) {
	var known []Known
	var problems []error
	for _, name := range artifact.SortedNames(a.Knowledge) {
		k := a.Knowledge[name]
		if k.Path == "" {
			continue
		}
		loaded, err := a.knowledge.Check(ctx, name)
		if err != nil {
			problems = append(problems, &artifact.DocumentError{Source: a.Source, Problems: []artifact.Problem{
				{Line: k.Line, Column: k.Column, Text: "knowledge " + name + ": " + err.Error()},
			}})
			continue
		}
		known = append(known, Known{name, loaded})
	}
	return known, errors.Join(problems...)
}
