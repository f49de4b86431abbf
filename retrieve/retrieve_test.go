package retrieve

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/load"
	"github.com/writ-dev/writ/planner"
	"github.com/writ-dev/writ/policy"
)

// handbook is a manifest in which the task "install the server" meets most gates.
const handbook = `project: tern
version: "1.2.0"
units:
  - {id: install, path: start/install.md, intent: "How do I install the server?", size_tokens: 10, triggers: [install]}
  - {id: old, path: start/old.md, intent: "How do I install the old server?", deprecated: true}
  - {id: backups, path: backups.md, intent: "How is the server backed up?"}
  - {id: people, path: people.md, intent: "Who may install the server?", audience: [human]}
  - {id: prices, path: prices.md, intent: "What does it cost?"}
  - {id: report, path: report.md, intent: "How much does the server carry?", payment: {methods: [{type: x402, currency: USDC, price_per_request: "0.25"}]}}
  - {id: secret, path: secret.md, intent: "How is the server hardened?", access: restricted}
`

var pages = map[string]string{
	"knowledge.yaml": handbook, "start/install.md": "Run the image.", "start/old.md": "Unpack.", "backups.md": "Write one file.",
	"people.md": "Ann.", "prices.md": "Nothing.", "report.md": "400 planners.", "secret.md": "Let only the proxy in.",
}

// tree writes files into a new folder.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// with gives the pages with some changed.
func with(changes map[string]string) map[string]string {
	files := map[string]string{}
	for name, text := range pages {
		files[name] = text
	}
	for name, text := range changes {
		files[name] = text
	}
	return files
}

// below gives the source of a folder, named as an agent file in it would.
func below(dir string) Source {
	return Source{Manifest: "knowledge.yaml", Location: filepath.Join(dir, "knowledge.yaml"), Load: load.Options{Root: dir}}
}

var day = time.Date(2026, 7, 6, 23, 30, 0, 0, time.FixedZone("west", -3600)) // the 7th in UTC

func port(t testing.TB, s Source) *Port {
	t.Helper()
	p, err := New(map[string]Source{"handbook": s}, Options{Now: func() time.Time { return day }})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func value(t testing.TB, text string) artifact.Value {
	t.Helper()
	v, err := artifact.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func effect(t testing.TB, args string) engine.Effect {
	return engine.Effect{
		Name: "handbook", Kind: policy.KindRetrieve, Args: value(t, args), Permit: policy.Permit{Kind: policy.KindRetrieve, Name: "handbook"},
	}
}

// keeping is an effect whose permit keeps restricted bytes.
func keeping(t testing.TB, args string) engine.Effect {
	e := effect(t, args)
	e.Permit.Keeps = map[string]uint64{"restricted": 1}
	return e
}

func do(t testing.TB, p *Port, e engine.Effect) engine.Outcome {
	t.Helper()
	o, err := p.Do(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// answer is a result as a reader of the documentation would decode it.
type answer struct {
	Manifest struct {
		Source, SHA256, Project, Version string
		Included                         []struct{ Source, SHA256 string }
	}
	Plan struct {
		Digest, Task string
		AsOf         string `json:"as_of"`
		Selected     []struct {
			ID, Path, Cost, SHA256 string
			Eligible               bool
			Why                    []string
			Tokens                 float64
		}
		Skipped     []struct{ ID, Gate, Reason string }
		SkippedMore int `json:"skipped_more"`
		Irrelevant  int
		Warnings    []string
	}
	Documents []struct{ ID, Title, Text, Source, SHA256 string }
	Refused   []struct{ ID, Code, Reason string }
	Signature struct{ Status, Detail string }
}

func read(t testing.TB, o engine.Outcome) answer {
	t.Helper()
	if o.Failed {
		t.Fatalf("%s: %s", o.Class, o.Error)
	}
	var a answer
	if err := json.Unmarshal(o.Result.AppendCompact(nil), &a); err != nil {
		t.Fatal(err)
	}
	for _, d := range a.Documents {
		if d.SHA256 != artifact.Sum([]byte(d.Text)).Hex() {
			t.Errorf("%s: the digest is not that of the text", d.ID)
		}
	}
	if len(a.Documents)+len(a.Refused) != len(a.Plan.Selected) {
		t.Errorf("%d documents and %d refused, of %d selected", len(a.Documents), len(a.Refused), len(a.Plan.Selected))
	}
	return a
}

// ids gives the documents and, with their codes, the refused.
func (a answer) ids() string {
	var list []string
	for _, d := range a.Documents {
		list = append(list, d.ID)
	}
	for _, r := range a.Refused {
		list = append(list, r.ID+":"+r.Code)
	}
	return strings.Join(list, " ")
}

func expectFailure(t testing.TB, o engine.Outcome, class, part string) {
	t.Helper()
	if !o.Failed || o.Class != class || !strings.Contains(o.Error, part) {
		t.Errorf("%+v, want class %s and %q", o, class, part)
	}
}

const task = `{"task":"install the server"}`

func TestResult(t *testing.T) {
	o := do(t, port(t, below(tree(t, pages))), effect(t, task))
	a := read(t, o)
	if got, want := a.ids(), "install backups report:payment secret:access"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if d := a.Documents[0]; d.Text != "Run the image." || d.Title != "How do I install the server?" || d.Source != "start/install.md" {
		t.Errorf("%+v", d)
	}
	if s := a.Plan.Selected[0]; s.ID != "install" || s.Path != "start/install.md" || !s.Eligible || s.Tokens != 10 || s.SHA256 != a.Documents[0].SHA256 || len(s.Why) == 0 {
		t.Errorf("%+v", s)
	}
	if s := a.Plan.Selected[1]; s.Tokens != 4 { // of 15 bytes
		t.Errorf("%+v", s)
	}
	if a.Plan.AsOf != "2026-07-07" || a.Plan.Task != "install the server" || a.Plan.Irrelevant != 1 || a.Plan.SkippedMore != 0 {
		t.Errorf("%+v", a.Plan)
	}
	var skipped []string
	for _, s := range a.Plan.Skipped {
		skipped = append(skipped, s.ID+":"+s.Gate)
	}
	if got := strings.Join(skipped, " "); got != "old:deprecated people:audience" {
		t.Errorf("skipped %s", got)
	}
	if m := a.Manifest; m.Source != "knowledge.yaml" || m.Project != "tern" || m.Version != "1.2.0" || m.SHA256 != artifact.Sum([]byte(handbook)).Hex() {
		t.Errorf("%+v", m)
	}
	if a.Signature.Status != "unsigned" || o.Access != "" || o.Usage.Calls != 1 || o.Usage.Units != 2 || o.Usage.Cost != nil {
		t.Errorf("%+v, %+v", a.Signature, o)
	}
}

// TestSameBytesEverywhere: a result depends on the manifest, the task and the date,
// and not on where the files are. It names no place on this machine.
func TestSameBytesEverywhere(t *testing.T) {
	dirs := []string{tree(t, pages), tree(t, pages)}
	if err := os.Mkdir(filepath.Join(dirs[1], "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	folder := below(dirs[1])
	folder.Manifest, folder.Location = "knowledge.yaml", filepath.Join(dirs[1], "x", "..", "knowledge.yaml")
	var texts []string
	for _, s := range []Source{below(dirs[0]), below(dirs[0]), folder} {
		text := do(t, port(t, s), effect(t, task)).Result.String()
		for _, dir := range dirs {
			if strings.Contains(text, dir) {
				t.Errorf("names %s: %s", dir, text)
			}
		}
		texts = append(texts, text)
	}
	if texts[0] != texts[1] || texts[0] != texts[2] {
		t.Error(texts)
	}
}

// TestNamesOfFolders: what results show follows from the name in the agent file.
func TestNamesOfFolders(t *testing.T) {
	files := map[string]string{}
	for name, text := range pages {
		files["docs/"+name] = text
	}
	dir := tree(t, files)
	for name, want := range map[string]string{"docs": "docs/knowledge.yaml", "docs/knowledge.yaml": "docs/knowledge.yaml", "../x/docs": "../x/docs/knowledge.yaml"} {
		s := Source{Manifest: name, Location: filepath.Join(dir, "docs"), Load: load.Options{Root: dir}}
		if filepath.Ext(name) != "" {
			s.Location = filepath.Join(s.Location, "knowledge.yaml")
		}
		a := read(t, do(t, port(t, s), effect(t, task)))
		if a.Manifest.Source != want || a.Documents[0].Source != strings.TrimSuffix(want, "knowledge.yaml")+"start/install.md" {
			t.Errorf("%s: %s, %s", name, a.Manifest.Source, a.Documents[0].Source)
		}
	}
}

// TestFixedDates: the agent file may fix the day, on both clocks.
func TestFixedDates(t *testing.T) {
	s := below(tree(t, with(map[string]string{"knowledge.yaml": `project: p
units:
  - {id: a, path: backups.md, intent: "the server", temporal: {valid_from: "2025-01-01", valid_until: "2025-12-31", recorded_at: "2024-12-01"}}
  - {id: b, path: backups.md, intent: "the server", temporal: {valid_from: "2025-06-01", recorded_at: "2025-05-01"}}
`})))
	for _, c := range []struct{ asOf, knownAt, want string }{{"", "", "b"}, {"2025-03-01", "", "a"}, {"2025-07-01", "", "a b"}, {"2025-07-01", "2025-02-01", "a"}} {
		s.Plan.AsOf, s.Plan.KnownAt = c.asOf, c.knownAt
		a := read(t, do(t, port(t, s), effect(t, `{"task":"server"}`)))
		if a.ids() != c.want || c.asOf != "" && a.Plan.AsOf != c.asOf {
			t.Errorf("%+v: %s as of %s", c, a.ids(), a.Plan.AsOf)
		}
	}
}

// TestArguments: what comes from a state is checked, and never widens anything.
func TestArguments(t *testing.T) {
	s := below(tree(t, pages))
	s.Plan.MaxUnits, s.Plan.ContextBudget = kcp.Number{Value: 3, Set: true}, kcp.Number{Value: 500, Set: true}
	s.Plan.Strict = true
	s.Plan.Capabilities.PaymentMethods = []string{"free", "x402"}
	s.Plan.Budget = &planner.Budget{Amount: 0.3}
	p := port(t, s)
	for args, part := range map[string]string{
		`{}`:               "task is missing",
		`{"task":1}`:       "1 is not a string",
		`{"task":null}`:    "null is not a string",
		`{"task":["a"]}`:   "not a string",
		`{"task":""}`:      "task is empty",
		`{"task":" \n\t"}`: "task is empty",
		`{"task":"` + strings.Repeat("a", maxTask+1) + `"}`: "of at most 4096",
		`{"task":"a","max_units":4}`:                        "max_units of 4 is more than the 3",
		`{"task":"a","max_units":0}`:                        "max_units is not at least 1",
		`{"task":"a","max_units":-1}`:                       "not a whole number",
		`{"task":"a","max_units":1.5}`:                      "not a whole number",
		`{"task":"a","max_units":1e0}`:                      "not a whole number",
		`{"task":"a","max_units":"3"}`:                      "not a whole number",
		`{"task":"a","max_units":18446744073709551615}`:     "is more than the 3",
		`{"task":"a","max_units":18446744073709551616}`:     "not a whole number",
		`{"task":"a","context_budget":501}`:                 "context_budget of 501 is more than the 500",
		`{"task":"a","budget":0.31}`:                        "budget of 0.31 is more than the 0.3",
		`{"task":"a","budget":-0.1}`:                        "not an amount of money",
		`{"task":"a","budget":"0.1"}`:                       "not an amount of money",
		`{"task":"a","budget":{"amount":0.1}}`:              "not an amount of money",
		`{"task":"a","strict":false}`:                       "strict cannot be lifted",
		`{"task":"a","strict":1}`:                           "not true or false",
		`{"task":"a","role":"human"}`:                       `unknown member "role"`,
		`{"task":"a","credentials":["api_key"]}`:            `unknown member "credentials"`,
		`{"task":"a","as_of":"2020-01-01"}`:                 `unknown member "as_of"`,
		`{"task":"a","manifest":"/etc/passwd"}`:             `unknown member "manifest"`,
		`{"task":"a","max_unit":1}`:                         `did you mean "max_units"?`,
		`[]`:                                                "not an object",
		`"a"`:                                               "not an object",
		`null`:                                              "not an object",
	} {
		expectFailure(t, do(t, p, effect(t, args)), "invalid", part)
		call, err := p.Tools()["handbook"].Shape(policy.Call{Args: value(t, args)})
		if err != nil || call.Manifest != "knowledge.yaml" || call.Reserve.Units != 3 || call.Reserve.Cost["USDC"] != 300_000 {
			t.Errorf("%s: shape: %+v, %v", args, call, err)
		}
	}
	other := effect(t, task)
	other.Name = "other"
	expectFailure(t, do(t, p, other), "invalid", "there is no knowledge other")
	for _, permit := range []policy.Permit{{}, {Kind: policy.KindTool, Name: "handbook"}, {Kind: policy.KindRetrieve, Name: "other"}} {
		e := effect(t, task)
		e.Permit = permit
		expectFailure(t, do(t, p, e), "invalid", "has no permit")
	}
	if !p.Idempotent(engine.Effect{}) {
		t.Error("reading is not idempotent")
	}
}

func TestNarrowing(t *testing.T) {
	s := below(tree(t, pages))
	s.Plan.Capabilities = planner.Capabilities{PaymentMethods: []string{"free", "x402"}, Credentials: []string{"api_key"}}
	s.Plan.Budget = &planner.Budget{Amount: 0.3}
	p := port(t, s)
	for args, want := range map[string]string{
		`{"task":"install the server"}`:                     "install backups report secret",
		`{"task":"install the server","max_units":1}`:       "install",
		`{"task":"install the server","budget":0.2}`:        "install backups secret",
		`{"task":"install the server","context_budget":13}`: "install backups:context_budget report:context_budget secret:context_budget",
		`{"task":"install the server","context_budget":14}`: "install backups report:context_budget secret:context_budget",
		`{"task":"install the server","strict":true}`:       "install backups report secret",
		`{"task":"install the server","max_units":null}`:    "install backups report secret",
	} {
		if got := read(t, do(t, p, keeping(t, args))).ids(); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}

// TestReserve: what a retrieval may use is reserved before it, and a narrower
// question reserves less.
func TestReserve(t *testing.T) {
	s := below(tree(t, pages))
	s.Capability, s.Namespace = "reading", "docs"
	s.Plan.Capabilities.PaymentMethods = []string{"x402"}
	s.Plan.Budget = &planner.Budget{Amount: 0.3, Currency: kcp.String{Value: "EURC", Set: true}}
	tool := port(t, s).Tools()["handbook"]
	if tool.Port != Name || tool.Kind != policy.KindRetrieve || tool.Capability != "reading" || tool.Namespace != "docs" || tool.Write {
		t.Errorf("%+v", tool)
	}
	for _, c := range []struct {
		args  string
		units uint64
		cost  uint64
	}{{task, 5, 300_000}, {`{"task":"a","max_units":2,"budget":0.1}`, 2, 100_000}, {`{"task":"a","budget":0.0000001}`, 5, 1}, {`{"task":"a","budget":0}`, 5, 0}} {
		call, err := tool.Shape(policy.Call{Args: value(t, c.args)})
		if err != nil || call.Manifest != "knowledge.yaml" || call.Reserve.Units != c.units || call.Reserve.Cost["EURC"] != c.cost || len(call.Reserve.Cost) > 1 {
			t.Errorf("%s: %+v, %v", c.args, call, err)
		}
	}
	own := policy.Money{"USD": 7, "EURC": 400_000}
	call, err := tool.Shape(policy.Call{Args: value(t, task), Reserve: policy.Amount{Units: 9, Cost: own}})
	if err != nil || call.Reserve.Units != 9 || call.Reserve.Cost["EURC"] != 400_000 || call.Reserve.Cost["USD"] != 7 {
		t.Errorf("%+v, %v", call, err)
	}
	if _, err := tool.Shape(policy.Call{Args: value(t, task), Reserve: policy.Amount{Cost: policy.Money{"USD": 7}}}); err != nil || len(own) != 2 {
		t.Errorf("the caller's money was changed: %v, %v", own, err)
	}
}

func TestSourcesAreChecked(t *testing.T) {
	number := func(x float64) kcp.Number { return kcp.Number{Value: x, Set: true} }
	for part, s := range map[string]Source{
		"it has no manifest":                     {},
		"max units":                              {Manifest: "k", Plan: planner.Options{MaxUnits: number(1.5)}},
		"max units is not":                       {Manifest: "k", Plan: planner.Options{MaxUnits: number(0)}},
		"context budget":                         {Manifest: "k", Plan: planner.Options{ContextBudget: number(-1)}},
		"as of is not a date":                    {Manifest: "k", Plan: planner.Options{AsOf: "2026-02-30"}},
		"known at is not a date":                 {Manifest: "k", Plan: planner.Options{KnownAt: "today"}},
		"not an amount":                          {Manifest: "k", Plan: planner.Options{Budget: &planner.Budget{Amount: -1}}},
		"is not an amount of money":              {Manifest: "k", Plan: planner.Options{Budget: &planner.Budget{Amount: 2e9}}},
		"currency":                               {Manifest: "k", Plan: planner.Options{Budget: &planner.Budget{Currency: kcp.String{Value: "usd", Set: true}}}},
		"whoever pays by request needs a budget": {Manifest: "k", Plan: planner.Options{Capabilities: planner.Capabilities{PaymentMethods: []string{"free", "x402"}}}},
	} {
		if p, err := New(map[string]Source{"one": s}, Options{}); err == nil || p != nil || !strings.Contains(err.Error(), "knowledge one: ") || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", part, err)
		}
	}
	_, err := New(map[string]Source{"b": {}, "a": {Plan: planner.Options{AsOf: "x"}}}, Options{})
	if err == nil || !slices.Equal(strings.Split(err.Error(), "\n"), []string{"knowledge a: it has no manifest", "knowledge a: as of is not a date", "knowledge b: it has no manifest"}) {
		t.Errorf("%v", err)
	}
}

func TestCheck(t *testing.T) {
	dir := tree(t, pages)
	p := port(t, below(dir))
	if l, err := p.Check(t.Context(), "handbook"); err != nil || len(l.Manifest.Units) != 7 {
		t.Errorf("%v", err)
	}
	if _, err := p.Check(t.Context(), "other"); err == nil {
		t.Error("there is another")
	}
	if err := os.Remove(filepath.Join(dir, "knowledge.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Check(t.Context(), "handbook"); err == nil || err.Error() != "manifest not found: knowledge.yaml" {
		t.Errorf("%v", err)
	}
}
