package agentfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-dev/writ/agentfile"
	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/expr/cel"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/schema"
	"github.com/writ-dev/writ/schema/jsonschema"
)

// read reads the agent file agent.yaml of a folder that has the given files.
func read(files map[string]string) (*agentfile.Agent, error) {
	open := func(name string, _ int) ([]byte, error) {
		text, ok := files[name]
		if !ok {
			return nil, fmt.Errorf("%s: no such file", name)
		}
		return []byte(text), nil
	}
	return agentfile.Read("agent.yaml", open, agentfile.Options{
		Conditions: cel.Compiler{}, Schemas: jsonschema.New(), NowMS: 1_783_000_000_000,
		Exists: func(name string) bool { return name == "docs/knowledge.yaml" },
	})
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

const small = `version: 1
id: small
graph:
  state: {/n: number, /r: string?}
  entry: ask
  limits: {max_steps: 5, timeout: 1m}
  nodes:
    ask:
      tool: lookup
      reads: [/n]
      args: {n: =state.n}
      set: {/r: =result.r}
      next: done
    done: {end: =state.r, reads: [/r]}
pack:
  limits: {steps: 5}
  tools: {lookup: {limits: {calls: 2}}}
tools:
  lookup:
    answers: [{result: {r: ok}}]
`

// TestProblems: what is wrong is named with its place, in whichever file it is,
// and everything that is wrong at once.
func TestProblems(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"unknown key", "tools:\n  lookup:\n    answers", "toolz:\n  lookup:\n    answers", `agent.yaml:18:1: unknown member "toolz"; did you mean "tools"?`},
		{"unknown key in a graph", "entry: ask", "entri: ask", `agent.yaml:5:3: unknown member "entri"; did you mean "entry"?`},
		{"unknown key in a pack", "  limits: {steps: 5}\n  tools", "  limit: {steps: 5}\n  tools", `agent.yaml:16:3: unknown member "limit"`},
		{"undeclared read", "reads: [/n]", "reads: [/m]", `agent.yaml:10:14: the state has no path /m`},
		{"tool that is nowhere", "tool: lookup", "tool: lokup", `agent.yaml:8:5: node ask: tool lokup is not under tools; did you mean "lookup"?`},
		{"handler", "tool: lookup\n      reads: [/n]\n      args: {n: =state.n}\n      set: {/r: =result.r}", "handler: lookup\n      writes: [/r]", `agent.yaml:8:5: node ask runs the handler lookup, which is Go code`},
		{"no way to do it", "answers: [{result: {r: ok}}]", "write: true", `agent.yaml:20:5: tool lookup: write one of answers, command, http, wasm and claims`},
		{"another version", "version: 1", "version: 3", `agent.yaml:1:10: version 3 is not known`},
		{"no room for an answer", "tools:\n  lookup:\n    answers", "models: {m: {max_output_tokens: 0, answers: [{text: a}]}}\ntools:\n  lookup:\n    answers", "agent.yaml:18:33: max_output_tokens is 0, so that no model could answer"},
		{"missing file", "graph:\n  state", "state: nowhere.json\ngraph:\n  state", `agent.yaml:3:8: nowhere.json: no such file`},
		{"not granted", "tools: {lookup: {limits: {calls: 2}}}", "models: {}", "agent.yaml:8:5: node ask: the pack has no section tools, so no tool is granted"},
		{"expired", "  limits: {steps: 5}\n  tools", "  expires: 2020-01-01T00:00:00Z\n  limits: {steps: 5}\n  tools", "agent.yaml:1:1: the pack does not admit the agent: expired at 2020-01-01"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(small, c.old, c.new, 1)
			if text == small {
				t.Fatal("nothing is replaced")
			}
			_, err := read(map[string]string{"agent.yaml": text})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestFullExample(t *testing.T) {
	a, err := read(map[string]string{"agent.yaml": testdata(t, "full.yaml"), "code.wasm": "module", "keys/publisher.pub": publicKey})
	if err != nil {
		t.Fatal(err)
	}
	if a.Graph.ID != "full" || a.Policy.Pack().ID != "full" || a.Graphs["child"].Graph.ID != "child" {
		t.Error("ids are not filled in")
	}
	if a.Digest != artifact.Sum([]byte(testdata(t, "full.yaml"))) {
		t.Error("the digest is not that of the file")
	}
	c := a.Tools["program"].Command
	if c.Dir != "work" || c.GraceMS != 2000 || a.Tools["program"].Kind() != policy.KindExec {
		t.Errorf("command %+v", c)
	}
	if needed := a.NeededSecrets(); len(needed) != 1 || needed[0].Handle != "api" || needed[0].Variable != "API_TOKEN" || strings.Join(needed[0].Tools, " ") != "program request" || needed[0].Line == 0 {
		t.Errorf("secrets %+v", needed)
	}
	state, err := a.State(artifact.DocumentOf(artifact.ObjectValue(), "input"))
	if err != nil || state.String() != `{"n":1}` {
		t.Errorf("state %s, %v", state, err)
	}
}

// TestApprovers: whose decision a signature is never depends on the order in which
// names are looked at.
func TestApprovers(t *testing.T) {
	const k1, k2 = "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=", "MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw="
	for _, c := range []struct{ approvers, want string }{
		{"  maria: " + k1 + "\n  john: " + k2, ""},
		{"  maria: " + k1 + "\n  john: " + k1, "agent.yaml:23:9: approver john has the key of maria, agent.yaml:22:3; write one name for one key"},
		{"  maria: " + k1 + "\n  Maria: " + k2, `agent.yaml:23:3: approver "Maria" is "maria" but for case and blanks, agent.yaml:22:3; write one name for one person`},
		{"  maria: " + k1 + "\n  \" maria\\t\": " + k2, `agent.yaml:23:3: approver " maria\t" is "maria" but for case and blanks, agent.yaml:22:3; write one name for one person`},
		{"  STRASSE: " + k1 + "\n  straſse: " + k2, `agent.yaml:23:3: approver "straſse" is "STRASSE" but for case and blanks, agent.yaml:22:3; write one name for one person`},
		{"  maria: " + k1 + "\n  MARIA: " + k1, `agent.yaml:23:3: approver "MARIA" is "maria" but for case and blanks, agent.yaml:22:3; write one name for one person` +
			"\nagent.yaml:23:10: approver MARIA has the key of maria, agent.yaml:22:3; write one name for one key"},
		{"  maria: abc", "agent.yaml:22:10: approver maria: "},
	} {
		a, err := read(map[string]string{"agent.yaml": small + "approvers:\n" + c.approvers + "\n"})
		if c.want == "" {
			if err != nil || len(a.Approvers) != 2 {
				t.Errorf("%v", err)
			}
		} else if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Count(err.Error(), "\n") != strings.Count(c.want, "\n") {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// agentSchema gives the published JSON Schema.
func agentSchema(t *testing.T) (artifact.Value, schema.Schema) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "docs", "schema", "agent.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := artifact.ParseValue(data)
	if err != nil {
		t.Fatal(err)
	}
	s, err := jsonschema.New().Compile(source)
	if err != nil {
		t.Fatal(err)
	}
	return source, s
}

// TestSchema: the full example and every example agent satisfy the schema.
func TestSchema(t *testing.T) {
	_, s := agentSchema(t)
	files, err := filepath.Glob(filepath.Join("..", "examples", "agents", "*", "agent.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range append(files, filepath.Join("testdata", "full.yaml")) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := artifact.ParseDocument(data, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range s.Validate(doc.Value()) {
			t.Errorf("%s: %s", file, v)
		}
	}
}

var asked = regexp.MustCompile(`\b(?:o|x|p)\.(?:May|Need)\("([a-z_]+)"\)`)

// TestSchemaAndReaderKnowTheSameKeys holds the names of the schema against those
// that the reader asks for, and against the full example.
func TestSchemaAndReaderKnowTheSameKeys(t *testing.T) {
	source, _ := agentSchema(t)
	inSchema := map[string]bool{}
	properties(source, inSchema)
	inReader := map[string]bool{}
	for _, file := range []string{"read.go", "tools.go", "knowledge.go"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range asked.FindAllStringSubmatch(string(data), -1) {
			inReader[m[1]] = true
		}
	}
	full := testdata(t, "full.yaml")
	for name := range inSchema {
		if !inReader[name] {
			t.Errorf("the schema has %q, and the reader does not ask for it", name)
		}
		if !regexp.MustCompile(`\b` + name + `:`).MatchString(full) {
			t.Errorf("testdata/full.yaml does not use %q", name)
		}
	}
	for name := range inReader {
		if !inSchema[name] {
			t.Errorf("the reader asks for %q, and the schema does not have it", name)
		}
	}
}

// properties collects the names of all properties.
func properties(v artifact.Value, into map[string]bool) {
	for _, m := range v.Members() {
		if m.Name == "properties" {
			for _, p := range m.Value.Members() {
				into[p.Name] = true
				properties(p.Value, into)
			}
			continue
		}
		properties(m.Value, into)
	}
}
