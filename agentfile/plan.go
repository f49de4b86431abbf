package agentfile

import (
	"slices"
	"strconv"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/model"
	"github.com/writ-dev/writ/policy"
)

// plan gives as much as the file says of the call that policy judges when a node
// works, in the form that the ports of package local give it; not ok for a node that
// needs no grant.
func (l *loader) plan(n *graph.Node) (c policy.Planned, ok bool) {
	c.Name = n.Name
	c.Args, c.Unknown = n.PlannedArgs()
	switch n.Kind {
	case graph.KindTool:
		l.agent.Tools[n.Name].plan(&c)
	case graph.KindModel:
		l.agent.Models[n.Name].plan(&c, n.Reserve)
		return c, true
	case graph.KindRetrieve:
		k := l.agent.Knowledge[n.Name]
		c.Kind, c.Manifest, c.Capability, c.Namespace = policy.KindRetrieve, k.Manifest, k.Capability, k.Namespace
	case graph.KindCall:
		c.Kind, c.Graph = policy.KindHandoff, l.agent.Graphs[n.Name].Graph.Digest
	case graph.KindApprove:
		c = policy.Planned{Call: policy.Call{Kind: policy.KindApproval, Name: n.Name}}
	case graph.KindWait:
		c = policy.Planned{Call: policy.Call{Kind: policy.KindEvent, Name: n.Name}}
		return c, n.Name != ""
	default:
		return c, false
	}
	if n.Reserve != (graph.Usage{}) {
		c.Reserve = reserved(n.Reserve)
	}
	return c, true
}

// reserved gives what a node reserves for itself.
func reserved(u graph.Usage) policy.Amount {
	a := policy.Amount{Tokens: u.Tokens}
	if u.CostMicros > 0 {
		a.Cost = policy.Money{"USD": u.CostMicros}
	}
	return a
}

// known gives an argument, and reports whether it is known before a run. One that is
// known to be absent is null.
func known(c *policy.Planned, name string) (artifact.Value, bool) {
	if slices.Contains(c.Unknown, "") || slices.Contains(c.Unknown, artifact.PointerTo("", name)) {
		return artifact.Value{}, false
	}
	v, _ := c.Args.Get(name)
	return v, true
}

// plan says what a call of the tool does.
func (t Tool) plan(c *policy.Planned) {
	c.Kind, c.Capability, c.Namespace, c.Write = t.Kind(), t.Capability, t.Namespace, t.Write
	c.Contract, c.Reserve = t.Arguments, t.Reserve
	switch {
	case t.Command != nil:
		t.Command.plan(c)
	case t.Endpoint != nil:
		method, ok := known(c, "method")
		if c.Action = method.Text(); c.Action == "" {
			c.Action = "GET"
		}
		c.UnknownAction = !ok
		url, ok := known(c, "url")
		c.URL, c.UnknownURL = url.Text(), !ok
	case t.Module != nil:
		c.Module, c.Memory = t.Module.Digest, t.Module.MemoryBytes
		if c.Memory == 0 {
			c.Memory = policy.DefaultMemoryBytes
		}
	case t.Claims != nil:
		action, ok := known(c, "action")
		c.Action, c.UnknownAction = action.Text(), !ok
	}
}

// plan says which program runs, with which arguments and variables.
func (x *Command) plan(c *policy.Planned) {
	c.Program, c.Env = x.Program, slices.Concat(x.Env, keysOf(x.Set), keysOf(x.Secrets))
	for _, text := range x.Args {
		c.Argv = append(c.Argv, policy.ProgramInput{Text: text})
	}
	args, ok := known(c, "args")
	c.OpenArgv, c.UnknownArgv = !ok, make([]bool, len(c.Argv), len(c.Argv)+args.Len())
	for i, v := range args.Elements() {
		c.Argv = append(c.Argv, policy.ProgramInput{Text: v.Text()})
		unknown := v.Kind() != artifact.KindString || slices.Contains(c.Unknown, "/args/"+strconv.Itoa(i))
		c.UnknownArgv = append(c.UnknownArgv, unknown)
	}
}

// plan says how long an answer may be, and what a question uses at least.
func (m Model) plan(c *policy.Planned, reserve graph.Usage) {
	c.Kind, c.Reserve = policy.KindModel, reserved(reserve)
	request := model.Request{System: m.System, MaxOutputTokens: m.MaxOutputTokens}
	switch most, ok := known(c, "max_output_tokens"); {
	case !ok:
		request.MaxOutputTokens = 0
	case most.Kind() == artifact.KindNumber:
		request.MaxOutputTokens, _ = most.Uint()
	}
	for _, name := range []string{"system", "prompt"} {
		if text, ok := known(c, name); ok {
			request.Messages = append(request.Messages, model.Message{Text: text.Text()})
		}
	}
	need := model.Price{Input: m.Input, Output: m.Output}.Reserve(request)
	c.Output = request.MaxOutputTokens
	c.Reserve.Tokens = max(c.Reserve.Tokens, need.Tokens())
	if cost := max(c.Reserve.Cost["USD"], need.CostMicros); cost > 0 {
		c.Reserve.Cost = policy.Money{"USD": cost}
	}
}
