package local

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/writ-dev/writ/agentfile"
	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/model"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/port/claims"
	"github.com/writ-dev/writ/port/exec"
	"github.com/writ-dev/writ/port/http"
	portmodel "github.com/writ-dev/writ/port/model"
	"github.com/writ-dev/writ/port/wasm"
	"github.com/writ-dev/writ/retrieve"
)

// answersPort is the port of tools with fixed answers.
const answersPort = "answers"

// wire makes the ports and the definition of an agent.
func (a *Agent) wire(o Options) error {
	lookup := o.lookupEnv()
	secret := func(_ context.Context, handle string) (string, error) {
		variable, ok := a.Secrets[handle]
		if !ok {
			return "", fmt.Errorf("no secret has the handle %q", handle)
		}
		if value, _ := lookup(variable); value != "" {
			return value, nil
		}
		return "", fmt.Errorf("the secret %s is not set: export %s", handle, variable)
	}
	a.ports = map[string]engine.Port{answersPort: answers(a.Tools)}
	tools, err := a.openPorts(lookup, secret, o)
	if err != nil {
		return err
	}
	calls := map[string]*engine.Definition{}
	for name := range a.Graphs {
		if err := a.child(name, tools, calls, 0); err != nil {
			return err
		}
	}
	a.Definition, err = engine.Define(engine.Definition{Graph: a.Graph, Schema: a.Schema, Policy: a.Policy, Tools: tools, Calls: calls})
	return err
}

// openPorts makes the ports and gives how their effects are authorized. It opens
// nothing: files and modules are read when they are first used.
func (a *Agent) openPorts(lookup func(string) (string, bool), secret secrets, o Options) (map[string]engine.Tool, error) {
	commands, endpoints := map[string]exec.Command{}, map[string]http.Endpoint{}
	modules, graphs := map[string]wasm.Module{}, map[string]claims.Config{}
	for name, t := range a.Tools {
		switch {
		case t.Command != nil:
			commands[name] = a.command(t.Command)
		case t.Endpoint != nil:
			endpoints[name] = endpoint(t.Endpoint)
		case t.Module != nil:
			modules[name] = module(t.Module)
		case t.Claims != nil:
			graphs[name] = claims.Config{Graph: &journal{path: a.path(t.Claims.File), name: name, now: o.now}}
		}
	}
	models := map[string]portmodel.Model{}
	for name, m := range a.Models {
		models[name] = portmodel.Model{
			Provider: script(m.Answers), ID: m.Model, Price: model.Price{Input: m.Input, Output: m.Output}, System: m.System,
			MaxOutputTokens: m.MaxOutputTokens,
		}
	}
	programs, err1 := exec.New(commands, exec.Options{LookupEnv: lookup, Secret: secret})
	requests, err2 := http.New(endpoints, http.Options{Secret: secret})
	code, err3 := wasm.New(modules)
	claimed, err4 := claims.New(graphs, claims.Options{Now: o.now})
	asked, err5 := portmodel.New(models)
	known, err6 := a.openKnowledge(o)
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		return nil, err
	}
	asked.Now = o.now
	a.ports[exec.Name], a.ports[http.Name], a.ports[wasm.Name] = programs, requests, code
	a.ports[claims.Name], a.ports[portmodel.Name], a.ports[retrieve.Name] = claimed, asked, known
	return a.tools(programs.Tools(), requests.Tools(), code.Tools(), claimed.Tools(), asked.Tools(), known.Tools()), nil
}

// secrets gives the secret of a handle.
type secrets func(ctx context.Context, handle string) (string, error)

// path gives the file of a name of the agent file.
func (a *Agent) path(name string) string {
	if path := filepath.FromSlash(name); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.Dir, filepath.FromSlash(name))
}

// child defines a graph that call nodes run, and before it those that it calls
// itself. Reading has refused circles.
func (a *Agent) child(name string, tools map[string]engine.Tool, calls map[string]*engine.Definition, depth int) error {
	if calls[name] != nil || depth > len(a.Graphs) {
		return nil
	}
	c := a.Graphs[name]
	for i := range c.Graph.Nodes {
		if n := &c.Graph.Nodes[i]; n.Kind == graph.KindCall {
			if err := a.child(n.Name, tools, calls, depth+1); err != nil {
				return err
			}
		}
	}
	d, err := engine.Define(engine.Definition{Graph: c.Graph, Schema: c.Schema, Policy: a.Policy, Tools: tools, Calls: calls})
	calls[name] = d
	return err
}

func (a *Agent) command(c *agentfile.Command) exec.Command {
	return exec.Command{
		Program: c.Program, Args: c.Args, Dir: a.path(c.Dir), Env: c.Env, Set: c.Set, Secrets: c.Secrets, ExitCodes: c.ExitCodes, JSON: c.JSON,
		Grace: time.Duration(c.GraceMS) * time.Millisecond, Idempotent: c.Idempotent,
	}
}

func endpoint(e *agentfile.Endpoint) http.Endpoint {
	credentials := map[string]http.Secret{}
	for header, s := range e.Secrets {
		credentials[header] = http.Secret{Prefix: s.Prefix, Handle: s.Handle}
	}
	return http.Endpoint{
		Headers: e.Headers, Set: e.Set, Secrets: credentials, Answer: e.Answer, Statuses: e.Statuses, Redirects: e.Redirects,
		KeyHeader: e.KeyHeader, Idempotent: e.Idempotent,
	}
}

func module(m *agentfile.Module) wasm.Module {
	return wasm.Module{
		Open: func() ([]byte, error) { return m.Bytes, nil }, Digest: m.Digest, Export: m.Function, MemoryBytes: m.MemoryBytes,
	}
}

// tools gives how each tool and model is authorized and done.
func (a *Agent) tools(groups ...map[string]engine.Tool) map[string]engine.Tool {
	tools := map[string]engine.Tool{}
	for _, group := range groups {
		for name, t := range group {
			tools[name] = t
		}
	}
	for name, spec := range a.Tools {
		t, ok := tools[name]
		if !ok {
			t = engine.Tool{Port: answersPort, Kind: policy.KindTool}
		}
		t.Capability, t.Namespace, t.Write, t.Contract, t.Reserve = spec.Capability, spec.Namespace, spec.Write, spec.Arguments, spec.Reserve
		tools[name] = t
	}
	return tools
}

// answers is the port of tools with fixed answers.
type answers map[string]agentfile.Tool

// Idempotent implements [engine.Idempotent]: a fixed answer changes nothing.
func (answers) Idempotent(engine.Effect) bool { return true }

// Do implements [engine.Port].
func (p answers) Do(_ context.Context, e engine.Effect) (engine.Outcome, error) {
	for _, a := range p[e.Name].Answers {
		if !contains(e.Args, a.When) {
			continue
		}
		if a.Failure != nil {
			return engine.Outcome{Failed: true, Class: a.Failure.Class, Error: a.Failure.Message, Usage: a.Usage}, nil
		}
		return engine.Outcome{Result: a.Result, Usage: a.Usage}, nil
	}
	return engine.Outcome{Failed: true, Class: graph.ClassInvalid, Error: "the agent file has no answer for these arguments"}, nil
}

// contains reports whether v has all members of part, at every depth.
func contains(v, part artifact.Value) bool {
	if part.IsNull() {
		return true
	}
	if part.Kind() != artifact.KindObject || v.Kind() != artifact.KindObject {
		return v.Equal(part)
	}
	for _, m := range part.Members() {
		have, ok := v.Get(m.Name)
		if !ok || !contains(have, m.Value) {
			return false
		}
	}
	return true
}

// script is a model with fixed answers.
type script []agentfile.Reply

// Generate implements [model.Provider].
func (p script) Generate(_ context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		prompt := r.Messages[len(r.Messages)-1].Text
		for _, a := range p {
			if !strings.Contains(prompt, a.Contains) {
				continue
			}
			u := model.Usage{InputTokens: model.EstimateTokens(r.Bytes()), OutputTokens: model.EstimateTokens(uint64(len(a.Text)))}
			yield(model.Chunk{Text: a.Text, Usage: &u, Stop: model.StopEnd}, nil)
			return
		}
		yield(model.Chunk{}, &model.Error{Reason: model.ReasonInvalid, Message: "the agent file has no answer to this prompt"})
	}
}

// journal is a claim graph whose file is made when it is first used.
type journal struct {
	path, name string
	now        func() time.Time
	once       sync.Once
	store      *claims.Store
	err        error
}

func (j *journal) open() (*claims.Store, error) {
	j.once.Do(func() { j.store, j.err = claims.Open(j.path, j.name, claims.StoreOptions{Now: j.now}) })
	if j.err != nil {
		return nil, &claims.Error{Class: graph.ClassUnavailable, Message: "the claim graph cannot be opened: " + j.err.Error()}
	}
	return j.store, nil
}

// Read implements [claims.Graph].
func (j *journal) Read(ctx context.Context, query artifact.Value) (artifact.Value, error) {
	s, err := j.open()
	if err != nil {
		return artifact.Value{}, err
	}
	return s.Read(ctx, query)
}

// Propose implements [claims.Graph].
func (j *journal) Propose(ctx context.Context, key string, p claims.Proposal) error {
	s, err := j.open()
	if err != nil {
		return err
	}
	return s.Propose(ctx, key, p)
}

// Approvals implements [claims.Graph].
func (j *journal) Approvals(ctx context.Context, proposal artifact.Digest) ([]claims.Approval, error) {
	s, err := j.open()
	if err != nil {
		return nil, err
	}
	return s.Approvals(ctx, proposal)
}

// Commit implements [claims.Graph].
func (j *journal) Commit(ctx context.Context, key string, p claims.Proposal, approvals []claims.Approval) (string, error) {
	s, err := j.open()
	if err != nil {
		return "", err
	}
	return s.Commit(ctx, key, p, approvals)
}

// Outcome implements [claims.Graph].
func (j *journal) Outcome(ctx context.Context, key string) (claims.Outcome, engine.Answer, error) {
	s, err := j.open()
	if err != nil {
		return claims.Outcome{}, engine.Unknown, err
	}
	return s.Outcome(ctx, key)
}
