package agentfile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/writ-dev/writ/agentfile"
	"github.com/writ-dev/writ/expr/cel"
	"github.com/writ-dev/writ/schema/jsonschema"
)

// TestPlacesInParts: whatever is wrong with a file that the agent file names has its
// place in that file.
func TestPlacesInParts(t *testing.T) {
	const rest = "version: 1\nid: small\n"
	graph := "graph:\n  state: {/n: number}\n  entry: a\n  limits: {max_steps: 1, timeout: 1m}\n  nodes: {a: {end: {}}}\n"
	const v1 = `{"version":1,"id":"g","state_schema":"s","entry":"b","nodes":[{"id":"a","terminal":true,"reads":[],"writes":[]}],` +
		`"transitions":[],"cycles":[],"limits":{"max_steps":1,"max_tokens":0,"max_cost_micros":0,"timeout_ms":1}}`
	const manifest = `{"version":1,"id":"a","metadata":{"name":"A","description":"d"},"agents":{},"tools":[],"namespaces":[],` + "\n" + `"argument_constraints":{},"capability_bindings":{}`
	for _, c := range []struct{ name, agent, part, want string }{
		{"number without JSON form", "graph: part\npack: {}\n", "version: 2\nlimit: .inf\n", "part:2:8: .inf has no JSON form"},
		{"key twice", "graph: part\npack: {}\n", "version: 2\nversion: 2\n", `part:2:1: key "version" appears twice, first on line 1`},
		{"not YAML", "graph: part\npack: {}\n", "a: [\n", "part:1:1: not YAML"},
		{"not UTF-8", "graph: part\npack: {}\n", "a: b\nc: \xff\n", "part:2:4: text is not UTF-8"},
		{"zero byte", "graph: part\npack: {}\n", "a: b\nc: \x00\n", "part:"},
		{"empty", "graph: part\npack: {}\n", "", "part:1:1: document is empty"},
		{"not JSON", "graph: part\npack: {}\n", `{"version": 2,` + "\n" + `"id": }`, "part:2:7: "},
		{"an unknown key", "graph: part\npack: {}\n", "version: 2\nentri: b\nid: a\nlimits: {max_steps: 1, timeout: 1m}\nnodes: {a: {end: {}}}\n", "part:1:1: entry is missing\npart:2:1: unknown member \"entri\""},
		{"a graph of version 1", "graph: part\npack: {}\nstate: {version: 1, id: s, paths: {}, required: []}\n", v1, `part:1:50: entry "b" is not a node`},
		{"a graph of version 1 in the file", "graph: " + v1 + "\npack: {}\nstate: {version: 1, id: s, paths: {}, required: []}\n", "", `agent.yaml:3:57: entry "b" is not a node`},
		{"a handler of version 1", "graph: part\npack: {}\nstate: {version: 1, id: s, paths: {}, required: []}\n",
			strings.Replace(v1, `"entry":"b"`, `"entry":"a"`, 1), "part:1:63: node a runs the handler a"},
		{"a called graph", "graphs: {x: part}\n" + graph + "pack: {}\n", "version: 2\nid: [\n", "part:"},
		{"a state", "state: part\n" + graph + "pack: {}\n", "{\"version\": 1,\n\"id\": 3}", "part:2:7: "},
		{"a pack", graph + "pack: part\n", "version: 2\nid: a\nlimits: {steps: .nan}\n", "part:3:17: .nan has no JSON form"},
		{"an unknown key of a pack", graph + "pack: part\n", "version: 2\nid: a\nlimit: {}\n", `part:3:1: unknown member "limit"`},
		{"a condition of a pack", graph + "pack: part\n", "version: 2\nid: a\ntools:\n  x: {when: ['a +']}\n", "part:4:14: condition"},
		{"a native pack", graph + "pack: part\n", "version: 1\nid: a\nbudget:\n  max_cals: 3\n", `part:4:3: PackLoad("invalid native pack line:   max_cals: 3"); did you mean "max_calls"?`},
		{"the agent of a native pack", "agent: r\n" + graph + "pack: part\n", "version: 1\nid: a\nbudget:\n  max_calls: 3\n", `part:1:1: PackLoad("agent r is not referenced by pack")`},
		{"a manifest", graph + "pack: part\n", manifest + "}", "part:1:1: budget is missing"},
		{"a budget of none", graph + "pack: part\n", manifest + `,"budget":{"max_calls":0,"max_units":0,"max_duration_ms":0}}`, "part:1:1: "},
		{"a manifest in the file", graph + "pack: " + strings.ReplaceAll(manifest, "\n", "") + "}\n", "", "agent.yaml:8:7: budget is missing"},
		{"a module", graph + "pack: {}\ntools: {x: {wasm: {file: gone}}}\n", "", "agent.yaml:9:26: gone: no such file"},
		{"nothing at all", "", "", "agent.yaml:1:1: graph is missing\nagent.yaml:1:1: pack is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(map[string]string{"agent.yaml": rest + c.agent, "part": c.part})
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if err != nil && !placed.MatchString(err.Error()) {
				t.Errorf("no place: %v", err)
			}
		})
	}
}

// placed are lines that begin with a place.
var placed = regexp.MustCompile(`\A([^:\n]+:[1-9][0-9]*:[1-9][0-9]*: [^\n]+(\n|\z))+\z`)

// TestEveryErrorHasAPlace changes the example agents at random places: whatever
// comes of it is read, or refused with a place for everything that is wrong.
func TestEveryErrorHasAPlace(t *testing.T) {
	agents, err := filepath.Glob(filepath.Join("..", "examples", "agents", "*", "agent.yaml"))
	if err != nil || len(agents) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	refused, accepted := 0, 0
	for i, agent := range agents {
		files := folder(t, filepath.Dir(agent))
		names := textFiles(files)
		r := rand.New(rand.NewPCG(7, uint64(i)))
		for range mutations {
			name := names[r.IntN(len(names))]
			changed := map[string]string{}
			for other, text := range files {
				changed[other] = text
			}
			changed[name] = mutated(r, files[name])
			if _, err := readFolder(changed); err == nil {
				accepted++
			} else if refused++; !placed.MatchString(err.Error()) {
				t.Errorf("%s: %s has no place: %q\n%s", agent, name, err, changed[name])
			}
		}
	}
	if refused < accepted/10 || accepted < refused/100 {
		t.Errorf("%d are refused and %d accepted", refused, accepted)
	}
}

// mutations is how many changes of each example are tried.
const mutations = 400

// readFolder reads the agent of a folder. A file that is not there is an error of
// the place that names it.
func readFolder(files map[string]string) (*agentfile.Agent, error) {
	open := func(name string, _ int) ([]byte, error) {
		text, ok := files[name]
		if !ok {
			return nil, fmt.Errorf("%s: %w", name, errors.New("no such file"))
		}
		return []byte(text), nil
	}
	return agentfile.Read("agent.yaml", open, agentfile.Options{
		Conditions: cel.Compiler{}, Schemas: jsonschema.New(), NowMS: 1_783_000_000_000, Exists: func(name string) bool { return files[name] != "" },
	})
}

// folder gives the texts of a folder.
func folder(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// textFiles lists the YAML files, sorted.
func textFiles(files map[string]string) []string {
	var names []string
	for name := range files {
		if strings.HasSuffix(name, ".yaml") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// mutated changes a text in one to three places.
func mutated(r *rand.Rand, text string) string {
	for range 1 + r.IntN(3) {
		lines := strings.SplitAfter(text, "\n")
		i := r.IntN(len(lines))
		switch r.IntN(8) {
		case 0: // a line less
			lines[i] = ""
		case 1: // a line twice
			lines[i] += lines[i]
		case 2: // two lines change places
			j := r.IntN(len(lines))
			lines[i], lines[j] = lines[j], lines[i]
		case 3: // another indentation
			lines[i] = strings.Repeat(" ", r.IntN(4)) + strings.TrimPrefix(lines[i], "  ")
		case 4: // another value
			if key, _, ok := strings.Cut(lines[i], ":"); ok {
				lines[i] = key + ": " + hostile[r.IntN(len(hostile))] + "\n"
			}
		default: // another character
			if at := r.IntN(len(lines[i]) + 1); at < len(lines[i]) {
				c := `{}[]:,-#'"=/&*!|>%@ a0A` + "\x00\t\xff\r"
				lines[i] = lines[i][:at] + string(c[r.IntN(len(c))]) + lines[i][at+r.IntN(2):]
			}
		}
		text = strings.Join(lines, "")
	}
	return text
}

// hostile are values that some reader may not expect.
var hostile = []string{
	"null", "true", "-1", "1.5", "18446744073709551616", ".inf", `""`, `"\0"`, "[]", "{}", "[1, 2]", "{a: b}", "=", "= a +", "=state", "agent.yaml", "gone.yaml", "..", "/",
	"'\\'", "1h", "sha256:00", "9999999999d", "{/a: string}", "[/a]", "*a", "&a b", "!!str a", "{type: nothing}", "{$ref: '#/a'}", `"\ud800"`,
}
