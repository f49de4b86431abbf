package agentfile_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/writ-dev/writ/agentfile"
	"github.com/writ-dev/writ/policy"
)

const publicKey = "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="

const asking = `version: 1
id: asking
graph:
  state: {/r: object?}
  entry: ask
  limits: {max_steps: 5, timeout: 1m}
  nodes:
    ask: {retrieve: handbook, args: {task: install}, set: {/r: =result}, next: done}
    done: {end: {}}
pack:
  retrieve: {handbook: {manifests: [docs/knowledge.yaml]}}
knowledge:
  handbook:
    manifest: docs/knowledge.yaml
`

// TestKnowledge: what the file says is read, and what it leaves out has the plan's
// own defaults.
func TestKnowledge(t *testing.T) {
	a, err := read(map[string]string{"agent.yaml": testdata(t, "full.yaml"), "code.wasm": "module", "keys/publisher.pub": publicKey})
	if err != nil {
		t.Fatal(err)
	}
	k := a.Knowledge["handbook"]
	if k.Manifest != "docs/knowledge.yaml" || k.Path != "docs/knowledge.yaml" || k.Root != "." || k.Capability != "files" || k.Namespace != "notes" ||
		!k.Offline || k.PrivateHosts || !k.RequireSignature || k.TrustKey != publicKey || k.MaxBytes != 65536 {
		t.Errorf("%+v", k)
	}
	p := k.Plan
	if c := p.Capabilities; c.Role != "operator" || strings.Join(c.Credentials, ",") != "api_key" || strings.Join(c.PaymentMethods, ",") != "free,x402" || c.AttestationProvider.Value != "soc.example" {
		t.Errorf("%+v", c)
	}
	if p.Budget.Amount != 0.4 || p.Budget.Currency.Value != "USDC" || p.MaxUnits.Value != 3 || p.ContextBudget.Value != 3000 || p.AsOf != "2026-07-06" ||
		p.KnownAt != "2026-01-01" || !p.Strict || p.GrantCeiling.Value != "act-reversible" {
		t.Errorf("%+v", p)
	}
	if string(a.Files["keys/publisher.pub"]) != publicKey {
		t.Error("the key is not kept with the agent")
	}
	a, err = read(map[string]string{"agent.yaml": asking})
	if err != nil {
		t.Fatal(err)
	}
	k = a.Knowledge["handbook"]
	if p := k.Plan; p.Capabilities.PaymentMethods != nil || p.Capabilities.AttestationProvider.Set || p.GrantCeiling.Set || p.Budget != nil || p.MaxUnits.Set || p.ContextBudget.Set {
		t.Errorf("%+v", p)
	}
	if k.Line != 14 || k.Column != 15 || k.Offline || k.RequireSignature || k.TrustKey != "" {
		t.Errorf("%+v", k)
	}
}

// TestKnowledgeProblems: each is named with its place.
func TestKnowledgeProblems(t *testing.T) {
	for _, c := range []struct{ name, manifest, more, want string }{
		{"unknown key", "docs/knowledge.yaml", "max_unit: 3", `agent.yaml:15:5: unknown member "max_unit"; did you mean "max_units"?`},
		{"not there", "docs/other.yaml", "", "agent.yaml:14:15: docs/other.yaml: there is no such file"},
		{"outside", "../docs/knowledge.yaml", "", "agent.yaml:14:15: ../docs/knowledge.yaml is outside of the agent file's folder, below which it is read; set root"},
		{"outside of the root", "docs/knowledge.yaml", "root: other", "agent.yaml:14:15: docs/knowledge.yaml is outside of other"},
		{"absolute", "/etc/knowledge.yaml", "", "agent.yaml:14:15: /etc/knowledge.yaml: there is no such file"},
		{"no name", `""`, "", "agent.yaml:14:15: write the name of a file"},
		{"cleartext", "http://docs.example.com/k.yaml", "", "agent.yaml:14:15: http://docs.example.com/k.yaml: public hosts are read over https only"},
		{"on the network, offline", "https://docs.example.com/k.yaml", "offline: true", "agent.yaml:14:15: https://docs.example.com/k.yaml is on the network, and offline is set"},
		{"no key", "docs/knowledge.yaml", "trust_key: keys/none.pub", "agent.yaml:15:16: write an ed25519 public key, or the name of a file with one: keys/none.pub: no such file"},
		{"a file that is no key", "docs/knowledge.yaml", "trust_key: agent.yaml", "agent.yaml:15:16: agent.yaml: "},
		{"pays without budget", "docs/knowledge.yaml", "methods: [free, x402]", "agent.yaml:15:14: whoever pays by request needs a budget"},
		{"no amount", "docs/knowledge.yaml", "budget: {currency: USDC}", "agent.yaml:15:13: amount is missing"},
		{"amount in quotes", "docs/knowledge.yaml", `budget: {amount: "0.4"}`, "agent.yaml:15:22: write an amount of money"},
		{"negative amount", "docs/knowledge.yaml", `budget: {amount: -1}`, "agent.yaml:15:22: write an amount of money"},
		{"huge amount", "docs/knowledge.yaml", `budget: {amount: 1e10}`, "agent.yaml:15:22: write an amount of money"},
		{"currency", "docs/knowledge.yaml", `budget: {amount: 1, currency: usdc}`, `agent.yaml:15:35: currency "usdc": write 2 to 12 upper-case`},
		{"unknown key of a budget", "docs/knowledge.yaml", `budget: {amount: 1, spent: 1}`, `unknown member "spent"`},
		{"no units", "docs/knowledge.yaml", "max_units: 0", "agent.yaml:15:16: write a whole number of at least 1"},
		{"no number", "docs/knowledge.yaml", "context_budget: many", "agent.yaml:15:21: context_budget"},
		{"no date", "docs/knowledge.yaml", "as_of: 2026-02-30", `agent.yaml:15:12: "2026-02-30" is not a date`},
		{"no date of the record", "docs/knowledge.yaml", "known_at: yesterday", `agent.yaml:15:15: "yesterday" is not a date`},
		{"no truth value", "docs/knowledge.yaml", "strict: yes", "agent.yaml:15:13: strict"},
		{"credentials are a list", "docs/knowledge.yaml", "credentials: api_key", "agent.yaml:15:18: credentials"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(asking, "manifest: docs/knowledge.yaml\n", "manifest: "+c.manifest+"\n    "+c.more+"\n", 1)
			_, err := read(map[string]string{"agent.yaml": text})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// TestKnowledgeOnTheNetwork is not looked for on this machine.
func TestKnowledgeOnTheNetwork(t *testing.T) {
	const url = "https://docs.example.com/knowledge.yaml"
	a, err := read(map[string]string{"agent.yaml": strings.ReplaceAll(asking, "docs/knowledge.yaml", url)})
	if err != nil || a.Knowledge["handbook"].Path != "" || a.Knowledge["handbook"].Manifest != url {
		t.Errorf("%+v, %v", a, err)
	}
	local := strings.ReplaceAll(asking, "docs/knowledge.yaml", "http://127.0.0.1/k.yaml") + "    private_hosts: true\n"
	if a, err = read(map[string]string{"agent.yaml": local}); err != nil || !a.Knowledge["handbook"].PrivateHosts {
		t.Errorf("%v", err)
	}
}

// TestKnowledgeAndPack: a node that could never retrieve is refused, and one that
// may, depending on its arguments, is not.
func TestKnowledgeAndPack(t *testing.T) {
	const grant = "handbook: {manifests: [docs/knowledge.yaml]}"
	for _, c := range []struct {
		grant, more string
		code        policy.Code
		want        string
	}{
		{"other: {}", "", policy.CodeEffectNotAllowed, "retrieve handbook is not granted"},
		{"handbook: {}", "", policy.CodeArgumentDenied, "the manifest is not one that the pack names"},
		{"handbook: {manifests: [docs]}", "", policy.CodeArgumentDenied, "the manifest is not one that the pack names"},
		{grant, "capability: reading", policy.CodeCapabilityUnavailable, "capability reading is not bound"},
		{grant, "namespace: docs", policy.CodeCapabilityUnavailable, "the pack has no section namespaces"},
		{"handbook: {manifests: [docs/knowledge.yaml], when: ['size(args.task) > 100']}", "", policy.CodeConditionDenied, "condition \"size(args.task) > 100\" is false"},
		{"handbook: {manifests: [docs/knowledge.yaml], when: ['size(args.task) > 3']}", "", "", ""},
		{"handbook: {manifests: [docs/knowledge.yaml], approval: {quorum: 1}}", "", "", ""},
	} {
		text := strings.Replace(asking, grant, c.grant, 1)
		if c.more != "" {
			text += "    " + c.more + "\n"
		}
		_, err := read(map[string]string{"agent.yaml": text})
		var missing *agentfile.GrantError
		switch {
		case c.code == "":
			if err != nil {
				t.Errorf("%s: %v", c.grant, err)
			}
		case !errors.As(err, &missing) || len(missing.Missing) != 1 || missing.Missing[0].Denial.Code != c.code || !strings.Contains(err.Error(), "agent.yaml:8:5: node ask: "+c.want):
			t.Errorf("%s %s: %v", c.grant, c.more, err)
		case missing.Missing[0].Denial.Fix.YAML == "":
			t.Errorf("%s %s: no fix", c.grant, c.more)
		}
	}
	text := strings.Replace(asking, "retrieve: handbook", "retrieve: handbok", 1)
	if _, err := read(map[string]string{"agent.yaml": text}); err == nil || !strings.Contains(err.Error(), `node ask: knowledge handbok is not under knowledge; did you mean "handbook"?`) {
		t.Errorf("%v", err)
	}
	text = asking + "tools: {handbook: {answers: [{result: {}}]}}\n"
	if _, err := read(map[string]string{"agent.yaml": text}); err == nil || !strings.Contains(err.Error(), "handbook is the name of a tool or a model, too") {
		t.Errorf("%v", err)
	}
}
