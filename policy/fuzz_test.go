package policy_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/policy"
)

// FuzzNative: no panic, errors of the contract only, and what is accepted is
// written and read back as itself.
func FuzzNative(f *testing.F) {
	f.Add([]byte("version: 1\nid: a\ntools: [b, c]\nauthority:\n  capabilities: [d]\nbudget:\n  max_calls: +01\n  max_steps: 4\n"))
	f.Add([]byte("version: 1\r\nid : a\n\u00a0max_calls: 1\n"))
	f.Add([]byte("\xff"))
	f.Add([]byte("version: 1\nid: a\xe2\x82"))
	f.Fuzz(func(t *testing.T, data []byte) {
		pack, err := policy.ParseNative(data)
		var v1 *policy.V1Error
		if err != nil {
			if !errors.As(err, &v1) || v1.Kind != policy.KindPackLoad {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		again, err := policy.ParseDeclaration(pack.Canonical(), "again")
		if err != nil || string(again.Canonical()) != string(pack.Canonical()) || pack.Check() != nil {
			t.Fatalf("%q: %s, %v, %s", data, pack.Canonical(), err, again.Canonical())
		}
	})
}

// FuzzReadPack: no panic, errors with a position, and what is accepted is written
// and read back as itself.
func FuzzReadPack(f *testing.F) {
	f.Add([]byte(testdata(f, "research.yaml")))
	f.Add([]byte(testdata(f, "release.yaml")))
	f.Add([]byte(`{"version":2,"id":"a","tools":{"x":{"arguments":{"type":"object"}}}}`))
	f.Add([]byte("version: 2\nid: a\nlimits: {time: 1h}\nexec: {e: {program: /a, args: [{match: \".*\", repeat: true}]}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		pack, err := policy.ReadPack(data, "p")
		if err != nil {
			var document *artifact.DocumentError
			var v1 *policy.V1Error
			if !errors.As(err, &document) && !errors.As(err, &v1) {
				t.Fatalf("%q: %T %v", data, err, err)
			}
			return
		}
		if pack.Version != 2 {
			return
		}
		again, err := policy.ReadPack([]byte(pack.Value().String()), "again")
		if err != nil || again.Digest() != pack.Digest() {
			t.Fatalf("%q\n%v\n%v", data, pack.Value(), err)
		}
		if changes := policy.DiffPacks(pack, again); len(changes) != 0 {
			t.Fatalf("%q: %v", data, changes)
		}
	})
}

// FuzzAuthorize: no panic, and nothing is permitted that the declaration lacks.
func FuzzAuthorize(f *testing.F) {
	f.Add([]byte(testdata(f, "release.yaml")), uint8(0), "changelog", "read", "release/notes", "notes", "https://registry.example.com/", []byte(`{"a":1}`), uint64(1))
	f.Add([]byte(testdata(f, "research.yaml")), uint8(1), "git-log", "commit", "", "", "/usr/bin/git", []byte(`{}`), uint64(1))
	f.Add([]byte("version: 1\nid: a\ntools: [x]\nauthority:\n  capabilities: [c]\n  namespaces: [n]\nbudget:\n  max_calls: 1\n"), uint8(0), "x", "", "n", "c", "", []byte(`{}`), uint64(0))
	f.Add([]byte("version: 2\nid: a\nexec: {e: {program: /a, args: [{match: \".*\", repeat: true}]}}\n"), uint8(1), "e", "", "", "", "/a", []byte(`{}`), uint64(3))
	f.Fuzz(func(t *testing.T, text []byte, kind uint8, name, action, namespace, capability, target string, arguments []byte, amount uint64) {
		pack, err := policy.ReadPack(text, "p")
		if err != nil {
			return
		}
		o := options()
		o.AcceptV1Gaps = true
		for agent := range pack.Agents {
			o.Agent = agent
		}
		p, _, err := policy.Compile(pack, o)
		if err != nil {
			return
		}
		v, err := artifact.ParseValue(arguments)
		if err != nil {
			v = artifact.Value{}
		}
		call := policy.Call{
			Kind: policy.Kind(kind % 13), Name: name, Action: action, Namespace: namespace, Capability: capability, Write: amount%2 == 1,
			Args: v, Program: target, Argv: inputs(target, action), Env: []string{action}, URL: target, Module: digest(target), Memory: amount,
			Output: amount, Manifest: target, Namespaces: []string{namespace}, Graph: digest(target),
			Reserve: policy.Amount{Tokens: amount, Cost: policy.Money{"USD": amount / 2}}, NowMS: now, Proposal: digest(target),
		}
		permit, d := p.Authorize(call, p.Ledger())
		if d != nil {
			if d.Fix == nil || d.Code == "" || d.Rule == "" || d.Message == "" {
				t.Fatalf("%+v", d)
			}
			return
		}
		if lacks := missing(pack, o.Agent, call); lacks != "" {
			t.Fatalf("permitted by %s without %s\n%+v\n%s", permit.Rule, lacks, call, text)
		}
	})
}

// missing says what a pack does not declare that a call needs, by looking at the
// declaration alone.
func missing(p *policy.Pack, agent string, c policy.Call) string {
	a, bound := p.Agents[agent]
	if c.Capability != "" {
		if _, ok := p.Capabilities[c.Capability]; !ok || bound && !slices.Contains(a.Capabilities, c.Capability) {
			return "capability"
		}
	}
	namespace, want := c.Namespace, policy.AccessRead
	if c.Kind == policy.KindState {
		namespace = c.Name
	}
	if c.Kind == policy.KindState && c.Action == "write" || c.Kind != policy.KindState && c.Write {
		want = policy.AccessWrite
	}
	asks := c.Kind != policy.KindApproval
	if asks && namespace != "" && (p.Namespaces[namespace] < want || bound && a.Namespaces[namespace] < want) {
		return "namespace"
	}
	switch {
	case p.Version == 1 && c.Kind != policy.KindTool:
		return "" // granted by the names of capabilities
	case c.Kind == policy.KindApproval:
		if p.Approvals == nil {
			return "approvals"
		}
		return ""
	case c.Kind == policy.KindState:
		return ""
	}
	g := p.Grants[c.Kind][c.Name]
	switch {
	case g == nil:
		return "grant"
	case g.Approval != nil:
		return "approval"
	case c.Kind == policy.KindExec && g.Program != c.Program && g.Also == nil:
		return "program"
	case c.Kind == policy.KindWASM && !slices.Contains(g.Modules, c.Module):
		return "module"
	case c.Kind == policy.KindClaims && !slices.Contains(g.Actions, c.Action):
		return "action"
	case c.Kind == policy.KindHTTP && !slices.Contains(g.Methods, c.Action):
		return "method"
	case g.Limits.Calls.Set && g.Limits.Calls.Value == 0:
		return "calls"
	case p.Version == 2 && p.Limits.Cost["USD"] < c.Reserve.Cost["USD"]:
		return "money"
	case p.Limits.Tokens.Set && p.Limits.Tokens.Value < c.Reserve.Tokens:
		return "tokens"
	}
	return ""
}
