package policy_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/expr/cel"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/schema/jsonschema"
)

// options has both languages and no agent.
func options() policy.Options {
	return policy.Options{Conditions: cel.Compiler{}, Schemas: jsonschema.New()}
}

func readPack(t testing.TB, text string) *policy.Pack {
	t.Helper()
	p, err := policy.ReadPack([]byte(text), "pack.yaml")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

func compile(t testing.TB, text string, o policy.Options) *policy.Policy {
	t.Helper()
	p, _, err := policy.Compile(readPack(t, text), o)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

func testdata(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A pack in YAML, the same in JSON, and what Value writes are one pack.
func TestFormsOfOnePack(t *testing.T) {
	for name, agent := range map[string]string{"research.yaml": "research", "release.yaml": "release"} {
		o := options()
		o.Agent = agent
		yaml := compile(t, testdata(t, name), o)
		doc, err := artifact.ParseDocument([]byte(testdata(t, name)), name)
		if err != nil {
			t.Fatal(err)
		}
		fromJSON := compile(t, doc.Value().String(), o)
		again := compile(t, yaml.Pack().Value().String(), o)
		if yaml.Digest() != fromJSON.Digest() || yaml.Digest() != again.Digest() {
			t.Errorf("%s: three forms, policies %v %v %v", name, yaml.Digest(), fromJSON.Digest(), again.Digest())
		}
		if yaml.Pack().Digest() != fromJSON.Pack().Digest() || yaml.Pack().Digest() != again.Pack().Digest() {
			t.Errorf("%s: three forms, packs differ", name)
		}
	}
}

// The native and the JSON form of one version 1 pack compile to one policy.
func TestFormsOfOneVersion1Pack(t *testing.T) {
	native := "version: 1\nid: a\ntools: [search]\nauthority:\n  capabilities: [cortex]\n  namespaces: [n]\nbudget:\n  max_calls: 1\n"
	manifest := `{"version":1,"id":"a","metadata":{"name":"A","description":"d"},"agents":{},"tools":["search"],"namespaces":["n"],
		"argument_constraints":{},"budget":{"max_calls":1,"max_units":0,"max_duration_ms":0},"capability_bindings":{"cortex":"cortex"}}`
	a, b := compile(t, native, policy.Options{}), compile(t, manifest, policy.Options{})
	if a.Digest() != b.Digest() || a.Pack().Digest() != b.Pack().Digest() {
		t.Errorf("policies %v %v, packs %v %v", a.Digest(), b.Digest(), a.Pack().Digest(), b.Pack().Digest())
	}
	o := policy.Options{Agent: "r", Overlay: &policy.AgentV1{Capabilities: []string{"cortex"}, Namespaces: []string{"n"}}}
	withAgent := strings.Replace(manifest, `"agents":{}`, `"agents":{"r":{"graph":"g","definition":"d","capabilities":["cortex"],"namespaces":["n"]}}`, 1)
	if a, b := compile(t, native, o), compile(t, withAgent, policy.Options{Agent: "r"}); a.Digest() != b.Digest() {
		t.Error("bound to one agent the two forms differ")
	}
}

// Whatever changes a decision changes the policy hash.
func TestDigestCoversEverything(t *testing.T) {
	base := testdata(t, "release.yaml")
	o := options()
	o.Agent = "release"
	seen := map[artifact.Digest]string{compile(t, base, o).Digest(): "unchanged"}
	for _, edit := range [][2]string{
		{"expires: 2031-01-01T00:00:00Z", "expires: 2031-01-02T00:00:00Z"}, {"not_before: 2025", "not_before: 2024"},
		{"capabilities: [git, publish, notes]\n    namespaces", "capabilities: [git, publish]\n    namespaces"},
		{"limits: {steps: 80}", "limits: {steps: 81}"}, {"git: host:git", "git: host:other"}, {"release/notes: read\n\nlimits", "release/notes: write\n\nlimits"},
		{"  steps: 100", "  steps: 101"}, {"EUR: 100000", "EUR: 100001"}, {"proxied: true", "proxied: false"},
		{"arguments: {type: object}", "arguments: {type: object, maxProperties: 1}"}, {"size(tainted) == 0", "size(tainted) == 1"},
		{"/usr/bin/git", "/usr/bin/got"}, {"- --oneline", "- --twoline"}, {"{1,3}", "{1,2}"}, {"repeat: true", "repeat: false"},
		{"env: [HOME, LANG]", "env: [HOME]"}, {"output_bytes: 65536", "output_bytes: 65537"}, {"allow_model_flags: false", "allow_model_flags: true"},
		{"methods: [GET, PUT]", "methods: [GET]"}, {"schemes: [https]", "schemes: [http]"}, {"8388608", "8388609"}, {"semver:\n    module: sha256:b", "semver:\n    module: sha256:c"},
		{"output_bytes: 131072", "output_bytes: 131073"}, {"max_output_tokens: 2048", "max_output_tokens: 2049"}, {"[knowledge.yaml]", "[other.yaml]"}, {"context: {}", "context: {limits: {calls: 1}}"},
		{"[read, propose, commit]", "[read, propose]"}, {"graph: sha256:4", "graph: sha256:5"}, {"steps: 10,", "steps: 11,"}, {"ci-finished: {}", "ci-done: {}"},
		{"minimum_method: token", "minimum_method: key"}, {"\n  quorum: 1", "\n  quorum: 2"}, {"expires: 24h", "expires: 25h"},
		{"result:/token", "result:/tokens"}, {"restricted: 1d", "restricted: 2d"}, {"condition_cost: 1000", "condition_cost: 1001"}, {"expires: 1h", "expires: 2h"},
	} {
		changed := strings.Replace(base, edit[0], edit[1], 1)
		if changed == base {
			t.Fatalf("%q does not occur", edit[0])
		}
		digest := compile(t, changed, o).Digest()
		if other, twice := seen[digest]; twice {
			t.Errorf("%q and %q give one hash", edit[1], other)
		}
		seen[digest] = edit[1]
	}
	described := strings.Replace(base, "Prepares a release", "Does a release", 1)
	if _, same := seen[compile(t, described, o).Digest()]; !same {
		t.Error("the description changes the hash")
	}
}

func TestRefusedPacks(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"version: 2\nid: a\ntols: {}\n", `pack.yaml:3:1: unknown member "tols"; did you mean "tools"?`},
		{"version: 2\nid: a\ntools:\n  x: {limit: {calls: 1}}\n", `pack.yaml:4:7: unknown member "limit"; did you mean "limits"?`},
		{"version: 2\nid: a\ntools:\n  x:\n", `pack.yaml:4:5: x is null; write {} to grant it`},
		{"version: 3\nid: a\n", `pack.yaml:1:10: version is not 2`},
		{"version: 2\n", `id is missing`},
		{"id: a\n", `version is missing`},
		{"version: 2\nid: a b\n", `pack.yaml:2:5: `},
		{"version: 2\nid: a\nlimits: {time: 10}\n", `pack.yaml:3:16: want a length of time with its unit`},
		{"version: 2\nid: a\nlimits: {time: 10 min}\n", `"10 min" is not a length of time`},
		{"version: 2\nid: a\nlimits: {cost_micros: 5}\n", `cost_micros`},
		{"version: 2\nid: a\nlimits: {cost_micros: {usd: 5}}\n", `currency "usd"`},
		{"version: 2\nid: a\nlimits: {steps: -1}\n", `steps: -1 is not a whole number`},
		{"version: 2\nid: a\nexpires: tomorrow\n", `time "tomorrow": write a date and time`},
		{"version: 2\nid: a\nnot_before: 2030-01-01T00:00:00Z\nexpires: 2029-01-01T00:00:00Z\n", `expires is not after not_before`},
		{"version: 2\nid: a\nnamespaces: {n: writ}\n", `"writ" is not one of read, write; did you mean "write"?`},
		{"version: 2\nid: a\nexec:\n  e: {program: git}\n", `write an absolute path`},
		{"version: 2\nid: a\nexec:\n  e: {program: /usr/../bin/git}\n", `write an absolute path without . and .. parts`},
		{"version: 2\nid: a\nexec:\n  e: {program: /a, args: [{match: \"(\"}]}\n", `RE2`},
		{"version: 2\nid: a\nexec:\n  e: {program: /a, args: [{match: x, repeat: true}, y]}\n", `only the last argument may repeat`},
		{"version: 2\nid: a\nexec:\n  e: {program: /a, args: [1]}\n", `an argument is text; put it in quotes`},
		{"version: 2\nid: a\nhttp:\n  h: {hosts: [\"*.example.com\"], methods: [GET]}\n", `there are no wildcards`},
		{"version: 2\nid: a\nhttp:\n  h: {hosts: [Example.com], methods: [get]}\n", `write a method in upper case`},
		{"version: 2\nid: a\nhttp:\n  h: {hosts: [a.b]}\n", `methods is missing`},
		{"version: 2\nid: a\nwasm:\n  w: {module: abc}\n", `digest "abc": want sha256:`},
		{"version: 2\nid: a\nclaims:\n  c: {actions: [comit]}\n", `"comit": is not one of read, propose, commit; did you mean "commit"?`},
		{"version: 2\nid: a\ncortex:\n  quary: {}\n", `did you mean "query"?`},
		{"version: 2\nid: a\nredact: [/password]\n", `write args:, result: or state: before the pointer`},
		{"version: 2\nid: a\nredact: [\"state:/token\"]\n", `state:/token is not declared as a secret handle`},
		{"version: 2\nid: a\napprovals: {minimum_method: tokn}\n", `did you mean "token"?`},
		{"version: 2\nid: a\ntools:\n  x: {approval: {quorum: 0}}\n", `quorum is 0`},
		{"version: 2\nid: a\ntools:\n  x:\n    arguments: {type: object, properties: {q: {maxLenght: 3}}}\n", `pack.yaml:5:59: arguments/properties/q/maxLenght: unknown keyword "maxLenght"; did you mean "maxLength"?`},
		{"version: 2\nid: a\ntools:\n  x: {arguments: {format: email}}\n", `is not checked; use pattern`},
		{"version: 2\nid: a\ntools:\n  x:\n    when:\n      - argz.q == 1\n", `pack.yaml:6:9: condition: line 1, column 1: unknown name "argz"; did you mean "args"?`},
		{"version: 2\nid: a\ntools:\n  x: {when: [size(args)]}\n", `condition gives a number; write one that is true or false`},
		{"version: 2\nid: a\ntools:\n  x: {when: args.q == 1}\n", `when: `},
		{"version: 2\nid: a\ntools: [x]\n", `tools: `},
		{"version: 2\nid: a\nagents: {r: {capabilities: [c]}}\n", `the pack names agents r; say which of them runs`},
		{"version: 2\nid: a\nblobs: {public: 0s}\n", `retention of public is no time`},
		{"version: 2\nid: a\ncondition_cost: 0\n", `no condition could hold`},
		{`{"version":2,"id":"a","id":"b"}`, `member "id" appears twice`},
		{"version: 2\nid: &x a\n", `anchors`},
	} {
		p, err := policy.ReadPack([]byte(c.text), "pack.yaml")
		if err == nil {
			_, _, err = policy.Compile(p, options())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

// All problems are named at once, in the order of the text.
func TestAllProblemsAtOnce(t *testing.T) {
	_, err := policy.ReadPack([]byte("version: 2\nid: a\nlimits: {steps: x}\ntols: {}\nexec: {e: {program: git}}\n"), "pack.yaml")
	if err == nil {
		t.Fatal("accepted")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 3 || !slices.IsSorted(lines) {
		t.Errorf("%d problems: %v", len(lines), err)
	}
}

func TestAgentMustFit(t *testing.T) {
	text := "version: 2\nid: a\ncapabilities: {c: h}\nnamespaces: {n: read}\nagents:\n  r: {capabilities: [c, d], namespaces: {n: write, m: read}}\n"
	o := options()
	o.Agent = "r"
	_, _, err := policy.Compile(readPack(t, text), o)
	for _, want := range []string{"agent r asks for capability d", "agent r asks to write namespace n, for which the pack grants read", "for which the pack grants none"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	o.Agent = "s"
	if _, _, err := policy.Compile(readPack(t, text), o); err == nil || !strings.Contains(err.Error(), "agent s is not named by the pack") {
		t.Errorf("%v", err)
	}
}

func TestSecretHandles(t *testing.T) {
	o := options()
	o.SecretState = func(pointer string) bool { return pointer == "/token" }
	p := compile(t, "version: 2\nid: a\nredact: [\"state:/token\", args:/x]\n", o)
	if got := p.Redactions(); !slices.Equal(got, []string{"args:/x", "state:/token"}) {
		t.Errorf("%q", got)
	}
}

// A pack with conditions or schemas is refused by a program that cannot check
// them, not run without them.
func TestMissingLanguages(t *testing.T) {
	for text, want := range map[string]string{
		"version: 2\nid: a\ntools: {x: {when: [\"true\"]}}\n":                               "no condition language",
		"version: 2\nid: a\ntools: {x: {arguments: {}}}\n":                                  "no JSON Schema compiler",
		"version: 2\nid: a\ntools: {x: {arguments: true}}\n":                                "no JSON Schema compiler",
		"version: 2\nid: a\nhandoffs: {g: {authority: {tools: {x: {when: [\"true\"]}}}}}\n": "no condition language",
	} {
		if _, _, err := policy.Compile(readPack(t, text), policy.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFindings(t *testing.T) {
	_, findings, err := policy.Compile(readPack(t, "version: 2\nid: a\ntools: {x: {}}\nexec: {e: {program: /a}}\napprovals: {minimum_method: asserted}\n"), options())
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, f := range findings {
		texts = append(texts, f.Text)
	}
	all := strings.Join(texts, "\n")
	for _, want := range []string{"names no agents", "asserted is weaker than token", "tools are granted without a limit of calls", "exec are granted"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s\nwant %q", all, want)
		}
	}
}

// The texts of durations, and what is none. The published schema takes and refuses
// the same, but for what is too long to count.
func TestDurations(t *testing.T) {
	_, packs := packSchema(t)
	fits := func(text string) bool {
		return packs.Validate(args(t, `{"version":2,"id":"p","limits":{"time":`+artifact.StringValue(text).String()+`}}`)) == nil
	}
	for text, want := range map[string]uint64{
		"0s": 0, "1ms": 1, "500ms": 500, "90s": 90_000, "10m": 600_000, "24h": 86_400_000, "7d": 604_800_000,
		"1h30m": 5_400_000, "1d1h1m1s1ms": 90_061_001, "2h0m5ms": 7_200_005, "106751d23h47m16s854ms": 9_223_372_036_854,
	} {
		if got, ok := policy.ParseDuration(text); !ok || got != want || !fits(text) {
			t.Errorf("%s: %d %v, schema %v", text, got, ok, fits(text))
		}
	}
	for _, text := range []string{
		"", "s", "1", "1.5h", "-1s", "+1s", "1 s", "1S", " 1s", "30m1h", "1h1h", "1ms1s", "5sm", "5s3", "5mss", "1hm", "0000000000000001s",
	} {
		if got, ok := policy.ParseDuration(text); ok || fits(text) {
			t.Errorf("%q: %d, schema %v", text, got, fits(text))
		}
	}
	for _, text := range []string{"106751d23h47m16s855ms", "106752d", "999999999999999d", "18446744073709551615ms"} {
		if got, ok := policy.ParseDuration(text); ok {
			t.Errorf("%q: %d", text, got)
		}
	}
	for _, millis := range []uint64{0, 1, 999, 1000, 60_000, 90_000, 5_400_000, 86_400_000, 123_456_789} {
		if got, ok := policy.ParseDuration(policy.FormatDuration(millis)); !ok || got != millis {
			t.Errorf("%d: %s", millis, policy.FormatDuration(millis))
		}
	}
	if got := policy.FormatDuration(5_400_000); got != "90m" {
		t.Errorf("canonical form of 1h30m is %s", got)
	}
}

// A quorum that no run could serve is refused where it is read, with its place.
func TestQuorumIsBounded(t *testing.T) {
	for _, at := range []string{"approvals: {quorum: %s}\n", "tools: {t: {approval: {quorum: %s}}}\n", "handoffs: {h: {authority: {approvals: {quorum: %s}}}}\n"} {
		for text, want := range map[string]string{
			"1": "", "32": "",
			"0":                    "quorum is 0; write at least 1",
			"33":                   "quorum is 33; write at most 32",
			"100000000":            "quorum is 100000000; write at most 32",
			"18446744073709551615": "write at most 32",
			"-1":                   "quorum: -1 is not a whole number",
			"two":                  "quorum: \"two\" is not a whole number",
		} {
			_, err := policy.ReadPack([]byte("version: 2\nid: p\n"+fmt.Sprintf(at, text)), "pack.yaml")
			column := strings.Index(at, "%s") + 1
			if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), fmt.Sprintf("pack.yaml:3:%d: ", column)+strings.TrimSuffix(want, "write at most 32")) {
				t.Errorf("quorum %s: %v, want %q", text, err, want)
			}
		}
	}
}

// TestPlacesOfVersion1: errors keep the text of the contract, and say where and
// what to do.
func TestPlacesOfVersion1(t *testing.T) {
	const manifest = `{"version":1,"id":"a","metadata":{"name":"A","description":"d"},"agents":{},` + "\n" + `"tools":[],"namespaces":[],"argument_constraints":{},"capability_bindings":{},`
	for _, c := range []struct{ text, want, v1 string }{
		{"version: 1\nid: a\nbudget:\n  max_cals: 3\n", `p:4:3: PackLoad("invalid native pack line:   max_cals: 3"); did you mean "max_calls"?`, ""},
		{"version: 1\nID: a\n", `p:2:1: PackLoad("invalid native pack line: ID: a"); did you mean "id"?`, ""},
		{"version: 1\n\nid: a\nversion: 1\n", `p:4:1: PackLoad("invalid native pack line: version: 1"); version is there already`, ""},
		{"version: 1\nbudget:\n    max_calls: 1\n", `p:3:5: PackLoad("invalid native pack line:     max_calls: 1"); begin keys of authority and budget with two blanks, and others with none`, ""},
		{"version: 1\nid\n", `p:2:1: PackLoad("invalid native pack line: id"); write KEY: VALUE`, ""},
		{"version: 1\ntools: a\n", `p:2:1: PackLoad("native tools must be a bracketed list")`, ""},
		{"version: 1\nid: a\n", `p:1:1: PackLoad("native pack is incomplete or unsupported"); it needs version: 1, an id, and a budget with max_calls above 0`, ""},
		{"version: 1\nid: \u00e4\xff\n", `p:2:6: PackLoad("native pack is not UTF-8: invalid utf-8 sequence of 1 bytes from index 17")`, ""},
		{manifest + `"budget":{"max_calls":1,"max_units":0}}`, "p:2:88: max_duration_ms is missing", `PackLoad("p:2:88: max_duration_ms is missing")`},
	} {
		_, err := policy.ReadPack([]byte(c.text), "p")
		var v1 *policy.V1Error
		var document *artifact.DocumentError
		if err == nil || err.Error() != c.want || !errors.As(err, &v1) || !errors.As(err, &document) || document.Error() != c.want {
			t.Errorf("%q\ngot  %v\nwant %s", c.text, err, c.want)
			continue
		}
		if want := cmp.Or(c.v1, v1.Error()); v1.Error() != want || c.v1 == "" && !strings.Contains(c.want, v1.Error()) {
			t.Errorf("%q: the contract's text is %s, want %s", c.text, v1, want)
		}
		if _, err := policy.ParseNative([]byte(c.text)); c.v1 == "" && (err == nil || err.Error() != v1.Error()) {
			t.Errorf("%q: %v", c.text, err)
		}
	}
}
